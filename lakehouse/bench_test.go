package lakehouse_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"leat/internal/columnar"
	"leat/lakehouse"
)

// orderBatches makes rows orders in batches of 8,192; ids rise, or jump about
// among span ids as updates do.
func orderBatches(tab *lakehouse.Table, rows int, span int64) []*columnar.Batch {
	rnd := rand.New(rand.NewPCG(1, 2))
	states := []string{"created", "paid", "shipped", "delivered", "cancelled"}
	base := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	var out []*columnar.Batch
	for at := 0; at < rows; at += 8192 {
		var batch []order
		for i := at; i < min(at+8192, rows); i++ {
			id := int64(i)
			kind := columnar.Insert
			if span > 0 {
				id, kind = rnd.Int64N(span), columnar.UpdateAfter
			}
			batch = append(batch, order{
				kind: kind, id: id, user: rnd.Int64N(100_000), amount: rnd.Int64N(1_000_000), status: states[rnd.IntN(5)],
				address: fmt.Sprintf("%d Main Street, City %d", rnd.IntN(10_000), rnd.IntN(500)), time: base + int64(i)*86, dt: "2026-03-01",
			})
		}
		out = append(out, orders(tab.Schema, batch...))
	}
	return out
}

// cpuSeconds is the processor time the process has used.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkFlushOrders writes a million rows through Write, Prepare and Wait.
func BenchmarkFlushOrders(b *testing.B) {
	const rows = 1_000_000
	for _, c := range []struct {
		name   string
		format string
		span   int64
		dt     []string
	}{
		{"inserts", "parquet", 0, nil},
		{"updates", "parquet", 500_000, nil},
		{"partitioned", "parquet", 0, []string{"dt"}},
		{"orc-inserts", "orc", 0, nil},
		{"orc-updates", "orc", 500_000, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			tab := newTable(b, localFS(b), b.TempDir()+"/orders", ordersSchema(map[string]string{"bucket": "4", "file.format": c.format}, c.dt...))
			batches := orderBatches(tab, rows, c.span)
			w, err := tab.NewWriter(b.Context(), lakehouse.WriteConfig{Attempt: "bench", Budget: lakehouse.NewMemoryBudget(1 << 30), Pool: lakehouse.NewWorkPool(2)})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close(b.Context())
			var cpu float64
			var id, size int64
			for b.Loop() {
				before := cpuSeconds()
				for _, batch := range batches {
					batch.Retain()
					if err := w.Write(b.Context(), batch); err != nil {
						b.Fatal(err)
					}
				}
				id++
				p, err := w.Prepare(b.Context(), id)
				if err != nil {
					b.Fatal(err)
				}
				msgs, err := p.Wait(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				cpu += cpuSeconds() - before
				size = 0
				for _, m := range msgs {
					for _, f := range m.NewFiles {
						size += f.FileSize
					}
				}
			}
			b.ReportMetric(float64(b.N)*rows/cpu, "rows/CPU-s")
			b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(size)/rows, "B/row")
		})
	}
}

// BenchmarkReadOrders scans a table, raw (one file a bucket) and merged (five overlapping runs).
func BenchmarkReadOrders(b *testing.B) {
	const rows = 1_000_000
	for _, runs := range []int{1, 5} {
		b.Run(fmt.Sprint("runs=", runs), func(b *testing.B) {
			b.ReportAllocs()
			tab := newTable(b, localFS(b), b.TempDir()+"/orders", ordersSchema(map[string]string{"bucket": "1", "write-only": "true"}))
			j := newJob(b, tab, "bench")
			for i, batch := range orderBatches(tab, rows, int64(runs-1)*300_000) {
				j.write(batch)
				if runs > 1 && i%25 == 24 {
					j.commit()
				}
			}
			j.commit()
			var n int64
			for b.Loop() {
				n = countRows(b, tab)
			}
			b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(n), "merged-rows")
		})
	}
}

func countRows(b *testing.B, tab *lakehouse.Table) int64 {
	b.Helper()
	var n int64
	err := tab.Scan(b.Context(), lakehouse.ScanOptions{}, func(batch *columnar.Batch) error {
		n += int64(batch.Rows())
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkCompactOrders merges five overlapping runs of 200,000 rows.
func BenchmarkCompactOrders(b *testing.B) {
	const rows = 1_000_000
	b.ReportAllocs()
	tab := newTable(b, localFS(b), b.TempDir()+"/orders", ordersSchema(map[string]string{"bucket": "1", "write-only": "true"}))
	j := newJob(b, tab, "bench")
	for i, batch := range orderBatches(tab, rows, 1_200_000) {
		j.write(batch)
		if i%25 == 24 {
			j.commit()
		}
	}
	j.commit()
	for i := 0; b.Loop(); i++ {
		if _, err := tab.Compact(b.Context(), lakehouse.WriteConfig{Attempt: fmt.Sprint("c", i)}, true); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkSmallEpoch is the time from Prepare to durable of an epoch of 2,000
// changes over 16 buckets with changelog files, as at a checkpoint interval of a second.
func BenchmarkSmallEpoch(b *testing.B) {
	tab := newTable(b, localFS(b), b.TempDir()+"/orders", ordersSchema(map[string]string{"bucket": "16", "changelog-producer": "input", "write-only": "true"}))
	j := newJob(b, tab, "bench")
	batches := orderBatches(tab, 2000, 100_000)
	var cpu float64
	for b.Loop() {
		before := cpuSeconds()
		for _, batch := range batches {
			batch.Retain()
			j.write(batch)
		}
		j.id++
		p, err := j.w.Prepare(b.Context(), j.id)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
		cpu += cpuSeconds() - before
	}
	b.ReportMetric(cpu/float64(b.N)*1000, "CPU-ms/op")
}
