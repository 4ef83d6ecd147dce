package query

import (
	"context"
	"sync/atomic"
)

// Progress tells how far a query has come; it may be read while the query runs.
type Progress struct{ read, of atomic.Int64 }

// Rows gives the rows read so far, and of how many, before filters and merging; 0
// if that is not known.
func (p *Progress) Rows() (read, of int64) { return p.read.Load(), p.of.Load() }

type progressKey struct{}

// Watch gives a context whose queries count into the Progress.
func Watch(ctx context.Context) (context.Context, *Progress) {
	p := &Progress{}
	return context.WithValue(ctx, progressKey{}, p), p
}

// progressOf gives the Progress of ctx, or one that nobody reads.
func progressOf(ctx context.Context) *Progress {
	if p, ok := ctx.Value(progressKey{}).(*Progress); ok {
		return p
	}
	return &Progress{}
}
