package commit

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"leat/internal/fileio/local"
	"leat/lakehouse/spec"
)

// timings collects what commits took.
type timings []time.Duration

func (d timings) report(b *testing.B, name string) {
	b.Helper()
	slices.Sort(d)
	at := func(share float64) float64 {
		return float64(d[min(int(share*float64(len(d))), len(d)-1)]) / float64(time.Millisecond)
	}
	b.ReportMetric(at(0.5), name+"p50-ms")
	b.ReportMetric(at(0.99), name+"p99-ms")
}

// cpu is the processor time the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// liveHeap is what the heap holds after a collection, in MB.
func liveHeap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// fill makes snapshots of one file each until the table has n.
func fill(b *testing.B, c *Committer, n int64) {
	b.Helper()
	for id := c.view.id() + 1; id <= n; id++ {
		small(b.Context(), b, c, id)
	}
}

// small is the commit of an epoch with one new file, as a small job makes it.
func small(ctx context.Context, b *testing.B, c *Committer, id int64) {
	b.Helper()
	m := message(fmt.Sprint("d", id/500), int32(id%2))
	m.NewFiles = []spec.DataFileMeta{dataFile(fmt.Sprint("data-small-", id), 0, id, id)}
	if _, err := c.Commit(ctx, Request{User: "u", Identifier: id, Messages: []spec.CommitMessage{m}}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCommitHistory is a small commit to a table with a long history: the
// n-th snapshot of a running committer, and the first of one opened anew.
func BenchmarkCommitHistory(b *testing.B) {
	for _, n := range []int64{10, 1000, 10000} {
		b.Run(fmt.Sprint("snapshots=", n), func(b *testing.B) {
			fs, dir := local.New(), b.TempDir()
			opt := fastOptions()
			c := New(fs, dir, pkSchema(), opt, nil)
			if err := c.refresh(b.Context()); err != nil {
				b.Fatal(err)
			}
			before := liveHeap()
			fill(b, c, n)
			heap := liveHeap() - before
			var running, first timings
			var used time.Duration
			for b.Loop() {
				start, before := time.Now(), cpu()
				small(b.Context(), b, c, c.view.id()+1)
				running, used = append(running, time.Since(start)), used+cpu()-before
			}
			for range 20 {
				start := time.Now()
				c = New(fs, dir, pkSchema(), fastOptions(), nil)
				if err := c.refresh(b.Context()); err != nil {
					b.Fatal(err)
				}
				small(b.Context(), b, c, c.view.id()+1)
				first = append(first, time.Since(start))
			}
			running.report(b, "")
			first.report(b, "first-")
			b.ReportMetric(float64(used)/float64(b.N)/1e6, "CPU-ms/op")
			b.ReportMetric(heap, "heap-MB")
			b.ReportMetric(float64(len(c.view.metas)), "manifests")
		})
	}
}

// BenchmarkCommitManyFiles is a small commit, with the compaction of one of them, to a
// table of 100,000 live files.
func BenchmarkCommitManyFiles(b *testing.B) {
	const files = 100_000
	for _, compact := range []bool{false, true} {
		b.Run(fmt.Sprint("compact=", compact), func(b *testing.B) {
			fs, dir := local.New(), b.TempDir()
			c := New(fs, dir, pkSchema(), fastOptions(), nil)
			for at := 0; at < files; at += 1000 {
				m := message(fmt.Sprint("d", at/1000), 0)
				for i := range 1000 {
					m.NewFiles = append(m.NewFiles, dataFile(fmt.Sprintf("data-%d", at+i), 0, int64(at+i), int64(at+i)))
				}
				if _, err := c.Commit(b.Context(), Request{User: "u", Identifier: int64(at), Messages: []spec.CommitMessage{m}}); err != nil {
					b.Fatal(err)
				}
			}
			c = New(fs, dir, pkSchema(), fastOptions(), nil)
			before := liveHeap()
			id := int64(files)
			one := func() time.Duration {
				start := time.Now()
				id++
				r := appendRequest("u", id)
				if compact {
					r.Messages[0].CompactBefore = r.Messages[0].NewFiles
				}
				if _, err := c.Commit(b.Context(), r); err != nil {
					b.Fatal(err)
				}
				return time.Since(start)
			}
			start := time.Now()
			one()
			first := time.Since(start)
			var running timings
			var used time.Duration
			for b.Loop() {
				before := cpu()
				running = append(running, one())
				used += cpu() - before
			}
			running.report(b, "")
			b.ReportMetric(float64(used)/float64(b.N)/1e6, "CPU-ms/op")
			b.ReportMetric(float64(first)/float64(time.Millisecond), "first-ms")
			b.ReportMetric(liveHeap()-before, "heap-MB")
			runtime.KeepAlive(c)
		})
	}
}
