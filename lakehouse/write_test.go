package lakehouse_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
	"leat/lakehouse/spec"
)

func appendSchema(options map[string]string, partitions ...string) *spec.TableSchema {
	s := ordersSchema(options)
	s.PrimaryKeys, s.PartitionKeys = []string{}, append([]string{}, partitions...)
	return s
}

func someOrders(s *spec.TableSchema, from, n int, dt string) *columnar.Batch {
	rows := make([]order, n)
	for i := range rows {
		rows[i] = order{id: int64(from + i), user: 1, amount: 100, status: "new", time: 1000, dt: dt}
	}
	return orders(s, rows...)
}

// listFiles gives the names of all files below dir.
func listFiles(t testing.TB, fs fileio.FS, dir string) []string {
	t.Helper()
	infos, err := fs.List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range infos {
		if i.IsDir {
			out = append(out, listFiles(t, fs, i.Path)...)
		} else {
			out = append(out, i.Path)
		}
	}
	return out
}

func TestAppendTable(t *testing.T) {
	t.Parallel()
	fs := crashfs.New()
	tab := newTable(t, fs, "/wh/a", appendSchema(map[string]string{"compaction.min.file-num": "3"}, "dt"))
	j := newJob(t, tab, "one")
	compacted := false
	for e := range 20 {
		j.write(someOrders(tab.Schema, e*10, 10, "2026-03-0"+fmt.Sprint(1+e%2)))
		msgs, ids := j.commit()
		for _, m := range msgs {
			if m.Bucket != 0 || m.TotalBuckets != -1 {
				t.Fatalf("bucket %d of %d, want 0 of -1", m.Bucket, m.TotalBuckets)
			}
			if len(m.CompactBefore) > 0 {
				compacted = true
				if len(m.CompactAfter) != 1 || len(ids) != 2 {
					t.Errorf("compaction to %d files in snapshots %v", len(m.CompactAfter), ids)
				}
			}
		}
		// The compaction goes on in the background; give it time to end before the next epoch.
		time.Sleep(2 * time.Millisecond)
	}
	if !compacted {
		t.Error("20 small files were never joined")
	}
	_, rows := readAll(t, tab, lakehouse.ScanOptions{Columns: []string{"order_id"}})
	if len(rows) != 200 {
		t.Errorf("%d rows, want 200", len(rows))
	}
	_, rows = readAll(t, tab, lakehouse.ScanOptions{Columns: []string{"dt", "order_id"}, Partition: func(p spec.BinaryRow) bool {
		v, err := p.Bytes(0)
		return err == nil && string(v) == "2026-03-02"
	}})
	if len(rows) != 100 || !strings.HasPrefix(rows[0], "2026-03-02|") {
		t.Errorf("%d rows of one partition, want 100: first %v", len(rows), rows[0])
	}
}

func TestAppendTableRefusesUpdates(t *testing.T) {
	t.Parallel()
	for _, kind := range []columnar.RowKind{columnar.UpdateBefore, columnar.UpdateAfter, columnar.Delete} {
		tab := newTable(t, crashfs.New(), "/wh/a", appendSchema(nil))
		w, err := tab.NewWriter(t.Context(), lakehouse.WriteConfig{Attempt: "x"})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Write(t.Context(), orders(tab.Schema, order{kind: kind, id: 1}))
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != diag.CodeNoPrimaryKey || e.Table != "/wh/a" || e.Hint == "" {
			t.Errorf("%s: error %v, want code %s naming the table", kind, err, diag.CodeNoPrimaryKey)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMovedRowLeavesItsOldPlaceFirst(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/o", ordersSchema(map[string]string{"bucket": "1", "changelog-producer": "input"}, "dt"))
	j := newJob(t, tab, "one")
	j.write(orders(tab.Schema, order{id: 7, status: "new", dt: "d1"}, order{id: 8, status: "new", dt: "d1"}))
	j.commit()
	j.write(orders(tab.Schema,
		order{kind: columnar.UpdateBefore, id: 7, status: "new", dt: "d1"}, order{kind: columnar.UpdateAfter, id: 7, status: "moved", dt: "d2"},
		order{kind: columnar.UpdateBefore, id: 8, status: "new", dt: "d1"}, order{kind: columnar.UpdateAfter, id: 8, status: "paid", dt: "d1"}))
	_, ids := j.commit()
	var got []string
	err := tab.ReadChangelog(t.Context(), ids[0], func(b *columnar.Batch) error {
		for _, r := range renderRows(b) {
			c := strings.Split(r, "|")
			got = append(got, strings.Join([]string{c[0], c[1], c[4], c[7]}, " "))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-D 7 new d1", "-U 8 new d1", "+U 8 paid d1", "+I 7 moved d2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changelog (-want +got):\n%s", diff)
	}
	_, rows := readAll(t, tab, lakehouse.ScanOptions{Columns: []string{"order_id", "status", "dt"}})
	if diff := cmp.Diff([]string{"7|moved|d2", "8|paid|d1"}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestIgnoreOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		option string
		want   []string
	}{
		{"ignore-delete", []string{"1|a", "2|b2"}},
		{"ignore-update-before", []string{"2|b2"}},
	} {
		t.Run(c.option, func(t *testing.T) {
			t.Parallel()
			tab := newTable(t, crashfs.New(), "/wh/o", ordersSchema(map[string]string{"bucket": "1", c.option: "true"}))
			j := newJob(t, tab, "one")
			j.write(orders(tab.Schema, order{id: 1, status: "a"}, order{id: 2, status: "b"}, order{kind: columnar.Delete, id: 1, status: "a"},
				order{kind: columnar.UpdateBefore, id: 2, status: "b"}, order{kind: columnar.UpdateAfter, id: 2, status: "b2"}))
			j.commit()
			_, rows := readAll(t, tab, lakehouse.ScanOptions{Columns: []string{"order_id", "status"}})
			if diff := cmp.Diff(c.want, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusedTables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options map[string]string
		append  bool
		option  string
		code    diag.Code
	}{
		{options: map[string]string{"bucket": "-3"}, option: "bucket", code: diag.CodeRefusedOption},
		{options: map[string]string{"bucket": "2", "file.format": "csv"}, option: "file.format", code: diag.CodeRefusedOption},
		{options: map[string]string{"bucket": "2", "merge-engine": "aggregation", "fields.status.aggregate-function": "hll_sketch"}, option: "fields.status.aggregate-function", code: diag.CodeRefusedOption},
		{options: map[string]string{"bucket": "-2"}, append: true, option: "bucket", code: diag.CodeRefusedOption},
	} {
		s := ordersSchema(c.options)
		if c.append {
			s = appendSchema(c.options)
		}
		tab := newTable(t, crashfs.New(), "/wh/o", s)
		_, err := tab.NewWriter(t.Context(), lakehouse.WriteConfig{Attempt: "x"})
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != c.code || e.Option != c.option || e.Hint == "" {
			t.Errorf("options %v: error %v, want code %s for %s with a hint", c.options, err, c.code, c.option)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	_, err := lakehouse.Open(t.Context(), crashfs.New(), "/wh/none")
	var e *diag.Error
	if !errors.As(err, &e) || e.Code != diag.CodeLakeMissing {
		t.Errorf("no table: %v, want code %s", err, diag.CodeLakeMissing)
	}
	fs := crashfs.New()
	if err := fs.CreateExclusive(t.Context(), "/wh/bad/schema/schema-0", []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, err = lakehouse.Open(t.Context(), fs, "/wh/bad"); diag.DomainOf(err) != diag.Corrupt {
		t.Errorf("damaged schema: %v, want domain Corrupt", err)
	}
	s := ordersSchema(map[string]string{"bucket": "2", "target-file-size": "many"})
	b, err := spec.MarshalSchema(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.CreateExclusive(t.Context(), "/wh/opt/schema/schema-0", b); err != nil {
		t.Fatal(err)
	}
	if _, err = lakehouse.Open(t.Context(), fs, "/wh/opt"); !errors.As(err, &e) || e.Code != diag.CodeBadOption || e.Option != "target-file-size" {
		t.Errorf("bad option: %v, want code %s", err, diag.CodeBadOption)
	}
}

func TestNullInNotNullColumn(t *testing.T) {
	t.Parallel()
	s := ordersSchema(map[string]string{"bucket": "1"})
	s.Fields[4].Type = s.Fields[4].Type.NotNull() // address, which the row leaves out
	tab := newTable(t, crashfs.New(), "/wh/o", s)
	w, err := tab.NewWriter(t.Context(), lakehouse.WriteConfig{Attempt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(context.Background())
	err = w.Write(t.Context(), orders(tab.Schema, order{id: 1}))
	var e *diag.Error
	if !errors.As(err, &e) || e.Code != diag.CodeNullability || !strings.Contains(e.Msg, "address") {
		t.Errorf("error %v, want code %s naming address", err, diag.CodeNullability)
	}
}

func TestBudgetFlushesEarlyIntoTheSameEpoch(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/o", ordersSchema(map[string]string{"bucket": "1"}))
	budget := lakehouse.NewMemoryBudget(200_000)
	w, err := tab.NewWriter(t.Context(), lakehouse.WriteConfig{Attempt: "x", Budget: budget, Pool: lakehouse.NewWorkPool(1)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(context.Background())
	var peak int64
	for e := range 20 {
		if err := w.Write(t.Context(), someOrders(tab.Schema, e*500, 500, "d")); err != nil {
			t.Fatal(err)
		}
		peak = max(peak, budget.Used())
	}
	p, err := w.Prepare(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	msgs, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(msgs) != 1 || len(msgs[0].NewFiles) < 3 {
		t.Fatalf("messages %d, want one with several files", len(msgs))
	}
	next := int64(0)
	for _, f := range msgs[0].NewFiles {
		if f.MinSequenceNumber != next || f.Level != 0 {
			t.Errorf("file %s begins at sequence number %d of level %d, want %d of level 0", f.FileName, f.MinSequenceNumber, f.Level, next)
		}
		next = f.MaxSequenceNumber + 1
	}
	if next != 10_000 {
		t.Errorf("sequence numbers end at %d, want 10000", next)
	}
	if budget.Used() != 0 {
		t.Errorf("%d bytes in use when all is durable", budget.Used())
	}
	if peak > budget.Limit()+100_000 {
		t.Errorf("%d bytes in use at most, the limit is %d", peak, budget.Limit())
	}
}

func TestIdleBucketsAreForgotten(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/o", ordersSchema(map[string]string{"bucket": "2"}, "dt"))
	j := newJob(t, tab, "one")
	for e := range 60 {
		j.write(someOrders(tab.Schema, 0, 20, fmt.Sprint("day", e)))
		j.commit()
	}
	if n := j.w.OpenBuckets(); n > 2*12 {
		t.Errorf("%d buckets open after 60 days, want at most those of the last 12", n)
	}
	// A forgotten bucket is opened again and goes on with its sequence numbers.
	j.write(someOrders(tab.Schema, 0, 20, "day0"))
	msgs, _ := j.commit()
	for _, m := range msgs {
		if m.NewFiles[0].MinSequenceNumber == 0 {
			t.Error("the sequence numbers of a reopened bucket begin at 0")
		}
	}
	if _, rows := readAll(t, tab, lakehouse.ScanOptions{Columns: []string{"order_id"}}); len(rows) != 60*20 {
		t.Errorf("%d rows, want %d", len(rows), 60*20)
	}
}

func TestCloseRemovesWhatNoMessageNames(t *testing.T) {
	t.Parallel()
	fs := crashfs.New()
	tab := newTable(t, fs, "/wh/o", ordersSchema(map[string]string{"bucket": "1"}))
	w, err := tab.NewWriter(t.Context(), lakehouse.WriteConfig{Attempt: "x", Budget: lakehouse.NewMemoryBudget(1000)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), someOrders(tab.Schema, 0, 500, "d")); err != nil {
		t.Fatal(err)
	}
	p, err := w.Prepare(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	msgs, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), someOrders(tab.Schema, 500, 500, "d")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := listFiles(t, fs, "/wh/o/bucket-0")
	if len(files) != 1 || path.Base(files[0]) != msgs[0].NewFiles[0].FileName {
		t.Errorf("files left: %v, want only %s", files, msgs[0].NewFiles[0].FileName)
	}
}

// TestWritersOfOneAttempt has two subtasks of one job write to the same append bucket.
func TestWritersOfOneAttempt(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/a", appendSchema(nil))
	cfg := lakehouse.WriteConfig{Attempt: "same", Budget: lakehouse.NewMemoryBudget(0), Pool: lakehouse.NewWorkPool(2)}
	names := map[string]bool{}
	for range 2 {
		w, err := tab.NewWriter(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close(context.Background())
		for e := range int64(3) {
			if err := w.Write(t.Context(), someOrders(tab.Schema, 0, 3, "d")); err != nil {
				t.Fatal(err)
			}
			p, err := w.Prepare(t.Context(), e+1)
			if err != nil {
				t.Fatal(err)
			}
			msgs, err := p.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range msgs {
				for _, f := range m.NewFiles {
					if names[f.FileName] {
						t.Errorf("name %s is used twice", f.FileName)
					}
					names[f.FileName] = true
				}
			}
		}
	}
	if len(names) != 6 {
		t.Errorf("%d files, want 6", len(names))
	}
}
