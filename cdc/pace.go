package cdc

import (
	"context"
	"sync"
	"time"
)

// pace keeps the sessions that read chunks, all together, to so many rows and
// bytes a second. The zero limits let them run.
type pace struct {
	rows, bytes int64
	mu          sync.Mutex
	// free is when what was read so far is paid for.
	free time.Time
}

const (
	// saved is how much time that nobody used may be made up for.
	saved = 100 * time.Millisecond
	// shortest is a wait that is not worth while.
	shortest = 5 * time.Millisecond
)

func newPace(rows, bytes int64) *pace { return &pace{rows: rows, bytes: bytes} }

// wait accounts for rows that were read, and waits until they are paid for or
// stop is closed. The rows behind them wait in the server, which does not go on
// while nobody takes what it sends.
func (p *pace) wait(ctx context.Context, stop <-chan struct{}, rows, bytes int64) error {
	if p.rows <= 0 && p.bytes <= 0 {
		return nil
	}
	var cost time.Duration
	if p.rows > 0 {
		cost = time.Duration(rows * int64(time.Second) / p.rows)
	}
	if p.bytes > 0 {
		cost = max(cost, time.Duration(float64(bytes)/float64(p.bytes)*float64(time.Second)))
	}
	p.mu.Lock()
	if least := time.Now().Add(-saved); p.free.Before(least) {
		p.free = least
	}
	p.free = p.free.Add(cost)
	d := time.Until(p.free)
	p.mu.Unlock()
	if d < shortest {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-stop:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}
