package lakehouse

import (
	"fmt"
	"runtime"
	"testing"

	"leat/internal/columnar"
	"leat/internal/fileio/local"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// BenchmarkOpenBucketAmongFiles is what a writer pays for its first bucket of a
// table with 100,000 live files in 100 partitions: time, and memory that stays,
// with one partition known and with all.
func BenchmarkOpenBucketAmongFiles(b *testing.B) {
	const partitions, each = 100, 1000
	ctx, fs, dir := b.Context(), local.New(), b.TempDir()
	schema := &spec.TableSchema{
		Version: 3, HighestFieldID: 1, PartitionKeys: []string{"dt"}, PrimaryKeys: []string{"dt", "id"}, Options: map[string]string{"bucket": "1"},
		Fields: []columnar.Field{{ID: 0, Name: "id", Type: columnar.Of(columnar.BigInt).NotNull()}, {ID: 1, Name: "dt", Type: columnar.StringType().NotNull()}},
	}
	content, err := spec.MarshalSchema(schema)
	if err == nil {
		err = fs.CreateExclusive(ctx, fs.Join(dir, spec.SchemaDir, spec.SchemaName(0)), content)
	}
	if err != nil {
		b.Fatal(err)
	}
	c := commit.New(fs, dir, schema, commit.Options{Attempt: "attempt-1"}, nil)
	row := func(t columnar.DataType, set func(w *spec.RowWriter)) spec.BinaryRow {
		w := spec.NewRowWriter([]columnar.DataType{t})
		w.Reset()
		set(w)
		return w.Row().Clone()
	}
	var first spec.BinaryRow
	for p := range partitions {
		m := spec.CommitMessage{Partition: row(columnar.StringType(), func(w *spec.RowWriter) { w.SetString(0, fmt.Sprint("d", p)) }), TotalBuckets: 1}
		if p == 0 {
			first = m.Partition
		}
		for i := range each {
			key := row(columnar.Of(columnar.BigInt), func(w *spec.RowWriter) { w.SetInt64(0, int64(i)) })
			stats := spec.SimpleStats{Min: key, Max: key, NullCounts: []*int64{new(int64)}}
			m.NewFiles = append(m.NewFiles, spec.DataFileMeta{
				FileName: fmt.Sprintf("data-4c25e9fb-fbcc-4930-9b87-b8eb5e6e5e2e-%d.parquet", p*each+i), FileSize: 1, RowCount: 1, MinKey: key, MaxKey: key, KeyStats: stats, ValueStats: stats,
			})
		}
		if _, err := c.Commit(ctx, commit.Request{User: "u", Identifier: int64(p), Messages: []spec.CommitMessage{m}}); err != nil {
			b.Fatal(err)
		}
	}
	t, err := Open(ctx, fs, dir)
	if err != nil {
		b.Fatal(err)
	}
	s, err := t.LatestSnapshot(ctx)
	if err != nil {
		b.Fatal(err)
	}
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	for name, reads := range map[string]int{"one": 0, "all": wholeAfter + 1} {
		b.Run(name, func(b *testing.B) {
			before := heap()
			var kept []*liveCache
			for b.Loop() {
				live := &liveCache{reads: reads}
				if _, _, err := live.at(ctx, t, s, map[bucketID]*bucket{idOf(first, 0): nil}); err != nil {
					b.Fatal(err)
				}
				kept = append(kept, live)
			}
			b.ReportMetric((heap()-before)/float64(len(kept)), "heap-MB")
			runtime.KeepAlive(kept)
		})
	}
}
