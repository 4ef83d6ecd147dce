package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"leat/lakehouse"
)

// Progress tells how far a query has come; it may be read while the query runs.
type Progress struct {
	read, of atomic.Int64
	waiting  atomic.Pointer[string]

	mu    sync.Mutex
	reads []Read
}

// Read is what one scan of a table reads of its snapshot, which AllFiles make up.
type Read struct {
	Table           string
	Files, AllFiles int
	Bytes, AllBytes int64
	// Rows counts those of the files, before merging.
	Rows int64
}

func (r *Read) add(s *lakehouse.Split) {
	r.Files += s.Files
	r.Bytes += s.Bytes
	r.Rows += s.Rows
}

// String says it in words.
func (r *Read) String() string {
	return fmt.Sprintf("%s: %d of %d files, %d of %d bytes, %d rows before merging", r.Table, r.Files, r.AllFiles, r.Bytes, r.AllBytes, r.Rows)
}

func (p *Progress) note(r Read) {
	p.mu.Lock()
	p.reads = append(p.reads, r)
	p.mu.Unlock()
}

// Reads gives what was read so far, by table.
func (p *Progress) Reads() []Read {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := slices.Clone(p.reads)
	slices.SortStableFunc(out, func(a, b Read) int { return strings.Compare(a.Table, b.Table) })
	return out
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

// Observe is Watch, but gives the Progress that ctx has already.
func Observe(ctx context.Context) (context.Context, *Progress) {
	if p, ok := ctx.Value(progressKey{}).(*Progress); ok {
		return ctx, p
	}
	return Watch(ctx)
}

// progressOf gives the Progress of ctx, or one that nobody reads.
func progressOf(ctx context.Context) *Progress {
	if p, ok := ctx.Value(progressKey{}).(*Progress); ok {
		return p
	}
	return &Progress{}
}
