package faultfs

import (
	"context"

	"leat/internal/fileio"
)

var _ fileio.Batcher = (*FS)(nil)

// batch counts both kinds of files as exclusive creates.
type batch struct {
	inner fileio.Batch
	fs    *FS
}

// NewBatch begins a batch; it is not counted.
func (f *FS) NewBatch() fileio.Batch { return &batch{inner: fileio.NewBatch(f.inner), fs: f} }

func (b *batch) Create(ctx context.Context, name string, content []byte) error {
	return b.fs.run(CreateExclusive, name,
		func() error { return b.inner.Create(ctx, name, content) },
		func() error { return b.fs.leaveTemp(ctx, name, content) })
}

// Publish counts once; cut has the disk confirm nothing.
func (b *batch) Publish(ctx context.Context, name string, content []byte) error {
	return b.fs.run(CreateExclusive, name,
		func() error { return b.inner.Publish(ctx, name, content) },
		func() error { return b.fs.leaveTemp(ctx, name, content) })
}

func (b *batch) Close() error { return b.inner.Close() }

// ReplaceHint counts as Replace.
func (f *FS) ReplaceHint(ctx context.Context, name string, content []byte) error {
	return f.run(Replace, name,
		func() error { return fileio.ReplaceHint(ctx, f.inner, name, content) },
		func() error { return f.leaveTemp(ctx, name, content) })
}
