package fileio

import "context"

// Batch is new files that become durable together, with the file that names them
// coming last. A disk confirms them in one go then, and those of other batches
// that wait with them. One goroutine uses it.
type Batch interface {
	// Create puts content under path as CreateExclusive does, but leaves making it
	// durable to Publish: when power is lost before, nothing or a part of it may
	// stand there. So nothing may look for the path until something durable names it.
	Create(ctx context.Context, path string, content []byte) error
	// Publish makes what Create has put durable and then does what CreateExclusive
	// does; its errors are the same. After any but ErrExist it is not known whether
	// the files are durable: they have to be written anew, by another Batch. After
	// ErrExist they are, and more may follow.
	Publish(ctx context.Context, path string, content []byte) error
	// Close gives up what Publish was not called for; its files stay.
	Close() error
}

// Batcher is a file system that is faster with batches, and can do without
// durable hints.
type Batcher interface {
	FS
	NewBatch() Batch
	// ReplaceHint is Replace of a file that nobody relies on: after power is lost
	// an older content, none or the new one may stand there, and an older one only
	// until a Commit, CreateExclusive or Replace in the same folder is confirmed.
	ReplaceHint(ctx context.Context, path string, content []byte) error
}

// NewBatch begins a batch on fs. On a file system that makes each file durable
// by itself, that is what happens.
func NewBatch(fs FS) Batch {
	if b, ok := fs.(Batcher); ok {
		return b.NewBatch()
	}
	return single{fs}
}

// ReplaceHint replaces a hint: see Batcher.
func ReplaceHint(ctx context.Context, fs FS, path string, content []byte) error {
	if b, ok := fs.(Batcher); ok {
		return b.ReplaceHint(ctx, path, content)
	}
	return fs.Replace(ctx, path, content)
}

// single makes each file durable by itself.
type single struct{ fs FS }

func (s single) Create(ctx context.Context, path string, content []byte) error {
	return s.fs.CreateExclusive(ctx, path, content)
}

func (s single) Publish(ctx context.Context, path string, content []byte) error {
	return s.fs.CreateExclusive(ctx, path, content)
}

func (single) Close() error { return nil }
