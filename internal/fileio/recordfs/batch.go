package recordfs

import (
	"context"

	"leat/internal/fileio"
)

var _ fileio.Batcher = (*FS)(nil)

// batch logs its files as batched, and the last one as published.
type batch struct {
	inner fileio.Batch
	fs    *FS
}

// NewBatch begins a batch; it is not logged.
func (f *FS) NewBatch() fileio.Batch { return &batch{inner: fileio.NewBatch(f.inner), fs: f} }

func (b *batch) Create(ctx context.Context, path string, content []byte) error {
	err := b.inner.Create(ctx, path, content)
	b.fs.note("batch", path, len(content), err)
	return err
}

func (b *batch) Publish(ctx context.Context, path string, content []byte) error {
	err := b.inner.Publish(ctx, path, content)
	b.fs.note("publish", path, len(content), err)
	return err
}

func (b *batch) Close() error { return b.inner.Close() }

// ReplaceHint replaces a hint.
func (f *FS) ReplaceHint(ctx context.Context, path string, content []byte) error {
	err := fileio.ReplaceHint(ctx, f.inner, path, content)
	f.note("hint", path, len(content), err)
	return err
}
