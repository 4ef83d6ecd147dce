package lakehouse_test

import (
	"fmt"
	"maps"
	"testing"

	"leat/lakehouse"
)

// BenchmarkEngines merges five overlapping runs of 200,000 rows by every engine, as a read.
func BenchmarkEngines(b *testing.B) {
	const rows = 1_000_000
	for _, c := range []struct {
		name    string
		options map[string]string
	}{
		{"deduplicate", nil},
		{"sequence", map[string]string{"sequence.field": "create_time"}},
		{"partial-update", map[string]string{"merge-engine": "partial-update"}},
		{"aggregation", map[string]string{"merge-engine": "aggregation", "fields.amount.aggregate-function": "sum", "fields.user_id.aggregate-function": "max"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			o := map[string]string{"bucket": "1", "write-only": "true"}
			maps.Copy(o, c.options)
			tab := newTable(b, localFS(b), b.TempDir()+"/orders", ordersSchema(o))
			j := newJob(b, tab, "bench")
			for i, batch := range orderBatches(tab, rows, 1_200_000) {
				j.write(batch)
				if i%25 == 24 {
					j.commit()
				}
			}
			j.commit()
			for b.Loop() {
				countRows(b, tab)
			}
			b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkLookupEpoch is an epoch of 2,000 changes to a bucket of a million
// rows with changelog producer lookup: the files of the bucket are read whole, or
// their rows looked up.
func BenchmarkLookupEpoch(b *testing.B) {
	for _, spread := range []int64{1_000_000, 20_000} {
		for _, how := range []string{"whole", "lookup"} {
			b.Run(fmt.Sprintf("keys=%d/%s", spread, how), func(b *testing.B) {
				tab := newTable(b, localFS(b), b.TempDir()+"/orders", ordersSchema(map[string]string{
					"bucket": "1", "changelog-producer": "lookup", "target-file-size": "2 mb",
				}))
				cfg := lakehouse.WriteConfig{}
				if how == "lookup" {
					cfg.Scratch = b.TempDir()
				}
				j := newJobWith(b, tab, "bench", cfg)
				for _, batch := range orderBatches(tab, 1_000_000, 0) {
					j.write(batch)
				}
				j.commit()
				batches := orderBatches(tab, 2000, spread)
				epoch := func() {
					for _, batch := range batches {
						batch.Retain()
						j.write(batch)
					}
					j.commit()
				}
				epoch()
				epoch()
				for b.Loop() {
					epoch()
				}
			})
		}
	}
}
