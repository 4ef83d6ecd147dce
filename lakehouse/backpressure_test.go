package lakehouse_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
)

// gateFS holds back whoever opens data files, which compactions alone do here.
type gateFS struct {
	fileio.FS
	mu   sync.Mutex
	gate chan struct{}
}

func (g *gateFS) Open(ctx context.Context, path string) (fileio.File, error) {
	g.mu.Lock()
	gate := g.gate
	g.mu.Unlock()
	if gate != nil && strings.Contains(path, "/data-") {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return g.FS.Open(ctx, path)
}

func (g *gateFS) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gate = make(chan struct{})
}

func (g *gateFS) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.gate)
	g.gate = nil
}

// TestWritingWaitsForSlowCompactions has compactions that do not get on: writing
// waits at the stop trigger, can be cancelled there, and goes on after them;
// closing the writer in the middle of one loses nothing.
func TestWritingWaitsForSlowCompactions(t *testing.T) {
	t.Parallel()
	fs := &gateFS{FS: crashfs.New()}
	tab := newTable(t, fs, "/wh/db.db/t", ordersSchema(map[string]string{
		"bucket": "1", "num-sorted-run.compaction-trigger": "2", "num-sorted-run.stop-trigger": "4",
	}))
	j := newJob(t, tab, "attempt1")
	next := int64(0)
	// write adds a row unless it has to wait longer than patience.
	write := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err := j.w.Write(ctx, orderRange(tab.Schema, columnar.Insert, next, next+1, "a"))
		if err == nil {
			next++
		}
		return err
	}
	// untilStalled commits epochs of a row until writing waits.
	untilStalled := func() int {
		for n := range 20 {
			if err := write(200 * time.Millisecond); err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				return n
			}
			j.commit()
		}
		t.Fatal("writing did not wait")
		return 0
	}
	fs.shut()
	if n := untilStalled(); n != 5 {
		t.Errorf("writing waited after %d epochs of a run each, want 5: one more than the stop trigger", n)
	}
	done := make(chan error, 1)
	go func() { done <- write(time.Minute) }()
	select {
	case err := <-done:
		t.Fatalf("writing did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	fs.open()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	j.commit()
	if _, rows := readAll(t, tab, lakehouse.ScanOptions{}); len(rows) != int(next) {
		t.Errorf("%d rows, want %d", len(rows), next)
	}

	fs.shut()
	untilStalled()
	if err := j.w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	fs.open()
	j = newJob(t, tab, "attempt2")
	for range 4 {
		if err := write(time.Minute); err != nil {
			t.Fatal(err)
		}
		j.commit()
	}
	if _, rows := readAll(t, tab, lakehouse.ScanOptions{}); len(rows) != int(next) {
		t.Errorf("%d rows after closing in the middle of a compaction, want %d", len(rows), next)
	}
}

// TestTenThousandBuckets writes all buckets of 5,000 partitions with two buckets
// each within a small budget, and leaves them.
func TestTenThousandBuckets(t *testing.T) {
	t.Parallel()
	const partitions, limit = 5000, 4 << 20
	budget := lakehouse.NewMemoryBudget(limit)
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(map[string]string{"bucket": "2"}, "dt"))
	j := newJobWith(t, tab, "attempt1", lakehouse.WriteConfig{Budget: budget})
	address := strings.Repeat("x", 100)
	most := int64(0)
	var rows []order
	for p := range partitions {
		for id := range int64(6) {
			rows = append(rows, order{kind: columnar.Insert, id: id, status: "s", address: address, dt: fmt.Sprint("d", p)})
		}
		if len(rows) >= 3000 {
			j.write(orders(tab.Schema, rows...))
			rows, most = rows[:0], max(most, budget.Used())
		}
	}
	if n := j.w.OpenBuckets(); n != 2*partitions {
		t.Errorf("%d buckets are open, want %d", n, 2*partitions)
	}
	j.commit()
	if most > limit {
		t.Errorf("%d bytes were in use, the limit is %d", most, limit)
	}
	for range 10 {
		j.write(orders(tab.Schema, order{kind: columnar.Insert, id: 1, status: "t", dt: "d1"}))
		j.commit()
	}
	if n := j.w.OpenBuckets(); n != 1 {
		t.Errorf("%d buckets are open after ten epochs with rows of one", n)
	}
	count := 0
	if err := tab.Scan(t.Context(), lakehouse.ScanOptions{Columns: []string{"order_id"}}, func(b *columnar.Batch) error {
		count += b.Rows()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if count != 6*partitions {
		t.Errorf("%d rows, want %d", count, 6*partitions)
	}
}
