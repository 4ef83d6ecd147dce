package lakehouse_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// eventSchema is an append table whose rows are numbered.
func eventSchema(options map[string]string) *spec.TableSchema {
	return &spec.TableSchema{
		Fields: []columnar.Field{
			{Name: "n", Type: columnar.Of(columnar.BigInt)},
			{Name: "device", Type: columnar.StringType()},
			{Name: "dt", Type: columnar.StringType()},
		},
		PartitionKeys: []string{"dt"}, Options: options,
	}
}

// events gives rows from to to-1, dealt over 7 devices and 2 days.
func events(s *spec.TableSchema, from, to int64) *columnar.Batch {
	b := columnar.NewBuilders(memory.DefaultAllocator, s.Columns())
	for n := from; n < to; n++ {
		b[0].(*array.Int64Builder).Append(n)
		b[1].(*array.StringBuilder).Append(fmt.Sprint("device", n%7))
		b[2].(*array.StringBuilder).Append(fmt.Sprint("d", n/3%2))
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	return columnar.NewBatch(s.Columns(), nil, cols, int(to-from))
}

// checkOrder wants rows 0 to n-1, those of one device in order, and gives the number of files.
func checkOrder(t *testing.T, tab *lakehouse.Table, n int64) int {
	t.Helper()
	plan, err := tab.ScanPlan(t.Context(), lakehouse.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, s := range plan.Splits {
		files += s.Files
	}
	last := map[string]int64{}
	seen := map[int64]bool{}
	err = tab.Scan(t.Context(), lakehouse.ScanOptions{}, func(b *columnar.Batch) error {
		no, device, dt := b.Cols[0].(*array.Int64), b.Cols[1].(*array.String), b.Cols[2].(*array.String)
		for i := range b.Rows() {
			key := device.Value(i) + dt.Value(i)
			if before, ok := last[key]; ok && before >= no.Value(i) {
				t.Fatalf("%s: row %d after row %d", key, no.Value(i), before)
			}
			last[key] = no.Value(i)
			seen[no.Value(i)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(seen)) != n {
		t.Errorf("%d rows, want %d", len(seen), n)
	}
	return files
}

func TestFixedAppendBucketsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	const epochs, rows = 12, 50
	for _, writeOnly := range []string{"false", "true"} {
		t.Run(writeOnly, func(t *testing.T) {
			t.Parallel()
			s := eventSchema(map[string]string{"bucket": "2", "bucket-key": "device", "compaction.min.file-num": "3", "write-only": writeOnly})
			tab := newTable(t, crashfs.New(), "/wh/db.db/t", s)
			j := newJob(t, tab, "attempt1")
			for e := range int64(epochs) {
				j.write(events(tab.Schema, e*rows, (e+1)*rows))
				msgs, _ := j.commit()
				for _, m := range msgs {
					if m.TotalBuckets != 2 || m.Bucket < 0 || m.Bucket > 1 {
						t.Errorf("bucket %d of %d", m.Bucket, m.TotalBuckets)
					}
				}
			}
			before := checkOrder(t, tab, epochs*rows)
			compactFully(t, tab, "attempt2")
			after := checkOrder(t, tab, epochs*rows)
			if after > 8 || writeOnly == "true" && before != 4*epochs {
				t.Errorf("%d files, %d after compaction", before, after)
			}
			j.write(events(tab.Schema, epochs*rows, (epochs+1)*rows))
			j.commit()
			checkOrder(t, tab, (epochs+1)*rows)
		})
	}
}

// compactFully compacts and commits as a job of its own until nothing is left to do.
func compactFully(t *testing.T, tab *lakehouse.Table, attempt string) {
	t.Helper()
	c := commit.New(tab.FS, tab.Path, tab.Schema, commit.Options{Attempt: attempt}, nil)
	for id := int64(1); ; id++ {
		msgs, err := tab.Compact(t.Context(), lakehouse.WriteConfig{Attempt: fmt.Sprint(attempt, "-", id)}, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(msgs) == 0 {
			return
		}
		if _, err := c.Commit(t.Context(), commit.Request{User: "compactor", Identifier: id, Messages: msgs}); err != nil {
			t.Fatal(err)
		}
	}
}
