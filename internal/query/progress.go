package query

import (
	"context"
	"sync/atomic"
)

// Progress tells how far a query has come; it may be read while the query runs.
type Progress struct {
	read, of atomic.Int64
	waiting  atomic.Pointer[string]
}

// Rows gives the rows read so far, and of how many, before filters and merging; 0
// if that is not known.
func (p *Progress) Rows() (read, of int64) { return p.read.Load(), p.of.Load() }

// Waiting says what the query waits for before it reads, "" for nothing.
func (p *Progress) Waiting() string {
	if s := p.waiting.Load(); s != nil {
		return *s
	}
	return ""
}

// Waiting gives what sets the text of Progress.Waiting.
func Waiting(ctx context.Context) func(string) {
	p := progressOf(ctx)
	return func(text string) { p.waiting.Store(&text) }
}

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
