package lakehouse

import (
	"context"
	"sync"
	"sync/atomic"
)

// DefaultBudget is the memory limit in bytes of a MemoryBudget made with 0.
const DefaultBudget = 256 << 20

// MemoryBudget counts the memory of all writers of a process: retained
// batches, their buffers and frozen epochs that are not durable yet. Beyond
// half of the limit the largest buffers are flushed to files early; at the limit
// Write waits until flushes have given memory back.
type MemoryBudget struct {
	limit int64

	mu      sync.Mutex
	open    int64 // in buffers that still take rows
	frozen  int64 // on the way to files
	writers map[*Writer]struct{}
	changed chan struct{}
}

// NewMemoryBudget makes a budget of limit bytes; 0 means DefaultBudget.
func NewMemoryBudget(limit int64) *MemoryBudget {
	if limit <= 0 {
		limit = DefaultBudget
	}
	return &MemoryBudget{limit: limit, writers: map[*Writer]struct{}{}, changed: make(chan struct{})}
}

// Limit is the limit in bytes.
func (b *MemoryBudget) Limit() int64 { return b.limit }

// Used is the memory in use, in bytes.
func (b *MemoryBudget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open + b.frozen
}

func (b *MemoryBudget) register(w *Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writers[w] = struct{}{}
}

func (b *MemoryBudget) unregister(w *Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.writers, w)
}

// grow counts n bytes taken into a buffer of w.
func (b *MemoryBudget) grow(w *Writer, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open += n
	w.openBytes += n
}

// freeze moves what the buffers of w hold to the frozen side and gives how much that was.
func (b *MemoryBudget) freeze(w *Writer) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := w.openBytes
	w.openBytes = 0
	b.open -= n
	b.frozen += n
	return n
}

// release gives frozen memory back.
func (b *MemoryBudget) release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frozen -= n
	close(b.changed)
	b.changed = make(chan struct{})
}

// largest gives the writer whose buffers hold most if buffers have to be flushed, else nil.
func (b *MemoryBudget) largest() *Writer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open <= b.limit/2 {
		return nil
	}
	var top *Writer
	for w := range b.writers {
		if w.openBytes > 0 && (top == nil || w.openBytes > top.openBytes) {
			top = w
		}
	}
	return top
}

// wait blocks while the limit is exceeded and frozen epochs can give memory back.
func (b *MemoryBudget) wait(ctx context.Context) error {
	for {
		b.mu.Lock()
		over, changed := b.open+b.frozen > b.limit && b.frozen > 0, b.changed
		b.mu.Unlock()
		if !over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// WorkPool bounds the workers for encoding and, apart from them, for
// compaction, over all writers of a process. Waiting for a disk to confirm a
// file takes no encoder's place: many files may wait together.
type WorkPool struct {
	encode  chan struct{}
	compact chan struct{}
	confirm chan struct{}
	// names counts the files of all writers, so that one attempt never uses a name twice.
	names atomic.Int64
}

// confirming is how many files may wait for their disk at once: those that wait
// together are confirmed together.
const confirming = 256

// NewWorkPool makes a pool of n encoders and half as many compactors, at least one of each.
func NewWorkPool(n int) *WorkPool {
	return &WorkPool{encode: make(chan struct{}, max(1, n)), compact: make(chan struct{}, max(1, n/2)), confirm: make(chan struct{}, confirming)}
}

// confirmFile runs commit, which waits for a disk, for the holder of an
// encoder's place, and gives the place away meanwhile. No one waits for a place
// while it keeps others from confirming, so this cannot block for ever.
func (p *WorkPool) confirmFile(commit func() error) error {
	p.confirm <- struct{}{}
	<-p.encode
	err := commit()
	<-p.confirm
	p.encode <- struct{}{}
	return err
}

// run calls f with a place in slots, or gives the error of ctx.
func run(ctx context.Context, slots chan struct{}, f func() error) error {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-slots }()
	return f()
}
