package lakehouse_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"leat/internal/columnar"
	"leat/lakehouse"
	"leat/lakehouse/commit"
)

// BenchmarkManyPartitions writes epochs that touch every one of n partitions of
// a table, so that each epoch makes n files.
func BenchmarkManyPartitions(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			fs := localFS(b)
			tab := newTable(b, fs, b.TempDir(), ordersSchema(map[string]string{"bucket": "1"}, "dt"))
			w, err := tab.NewWriter(b.Context(), lakehouse.WriteConfig{Attempt: "attempt1", Pool: lakehouse.NewWorkPool(2)})
			if err != nil {
				b.Fatal(err)
			}
			c := commit.New(fs, tab.Path, tab.Schema, commit.Options{Attempt: "attempt1"}, nil)
			id := int64(0)
			for b.Loop() {
				id++
				start := time.Now()
				rows := make([]order, n)
				for i := range rows {
					rows[i] = order{kind: columnar.Insert, id: int64(i), status: "x", dt: fmt.Sprint("d", i)}
				}
				if err := w.Write(b.Context(), orders(tab.Schema, rows...)); err != nil {
					b.Fatal(err)
				}
				p, err := w.Prepare(b.Context(), id)
				if err != nil {
					b.Fatal(err)
				}
				msgs, err := p.Wait(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				files := time.Since(start)
				ids, err := c.Commit(b.Context(), commit.Request{User: "u", Identifier: id, Messages: msgs})
				if err != nil {
					b.Fatal(err)
				}
				if err := w.Committed(b.Context(), id, ids, false); err != nil {
					b.Fatal(err)
				}
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.Logf("epoch %d: files %s, commit %s, heap %d MB of %d", id, files.Round(time.Millisecond), (time.Since(start) - files).Round(time.Millisecond), m.HeapAlloc>>20, m.Sys>>20)
			}
			if err := w.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
