package lakehouse_test

import (
	"fmt"
	"testing"
	"time"

	"leat/internal/columnar"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
)

// manyFiles writes epochs into n partitions, one file each.
func manyFiles(tb testing.TB, tab *lakehouse.Table, j *job, epochs, n int) {
	tb.Helper()
	for e := range epochs {
		rows := make([]order, n)
		for i := range rows {
			rows[i] = order{kind: columnar.Insert, id: int64(i), status: fmt.Sprint("e", e), dt: fmt.Sprint("d", i)}
		}
		j.write(orders(tab.Schema, rows...))
		j.commit()
	}
}

// A job of its own compacts what write-only writers leave, bucket by bucket, in several commits.
func TestCompactionJob(t *testing.T) {
	t.Parallel()
	const epochs, partitions = 6, 300
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(map[string]string{"bucket": "1", "write-only": "true"}, "dt"))
	j := newJob(t, tab, "attempt1")
	manyFiles(t, tab, j, epochs, partitions)
	minor, err := tab.RunCompaction(t.Context(), lakehouse.WriteConfig{Attempt: "attempt2", Pool: lakehouse.NewWorkPool(4)}, lakehouse.Compaction{})
	if err != nil || minor.Buckets != partitions || minor.Dropped != 0 || len(minor.Snapshots) != 2 {
		t.Errorf("%+v, %v", minor, err)
	}
	// The writer goes on beside it.
	manyFiles(t, tab, j, 2, partitions)
	if again, err := tab.RunCompaction(t.Context(), lakehouse.WriteConfig{Attempt: "attempt3"}, lakehouse.Compaction{}); err != nil || again.Buckets != 0 {
		t.Errorf("below the trigger: %+v, %v", again, err)
	}
	full, err := tab.RunCompaction(t.Context(), lakehouse.WriteConfig{Attempt: "attempt4", Pool: lakehouse.NewWorkPool(4)}, lakehouse.Compaction{Full: true})
	if err != nil || full.Buckets != partitions {
		t.Errorf("%+v, %v", full, err)
	}
	plan, err := tab.ScanPlan(t.Context(), lakehouse.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Splits {
		if s.Files != 1 || s.Rows != 1 {
			t.Errorf("a bucket of %d files and %d rows", s.Files, s.Rows)
		}
	}
	manyFiles(t, tab, j, 1, partitions)
	if _, rows := readAll(t, tab, lakehouse.ScanOptions{}); len(rows) != partitions {
		t.Errorf("%d rows", len(rows))
	}
}

// BenchmarkCompactionJob compacts n partitions of five files each.
func BenchmarkCompactionJob(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				tab := newTable(b, localFS(b), b.TempDir(), ordersSchema(map[string]string{"bucket": "1", "write-only": "true"}, "dt"))
				manyFiles(b, tab, newJob(b, tab, "attempt1"), 2, n)
				b.StartTimer()
				start := time.Now()
				done, err := tab.RunCompaction(b.Context(), lakehouse.WriteConfig{Attempt: "attempt2", Pool: lakehouse.NewWorkPool(4)}, lakehouse.Compaction{Full: true})
				if err != nil {
					b.Fatal(err)
				}
				b.Logf("%d buckets in %d snapshots, %s", done.Buckets, len(done.Snapshots), time.Since(start).Round(time.Millisecond))
			}
		})
	}
}
