package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"leat/internal/fileio"
)

var _ fileio.Batcher = (*FS)(nil)

// batch keeps its files open until they are durable.
type batch struct {
	files []*os.File
	names names
	// err is set after files did not become durable: another try may say they are.
	err error
}

// NewBatch begins a batch.
func (*FS) NewBatch() fileio.Batch { return &batch{} }

// Create writes a file under its final name: nobody looks for it yet.
func (b *batch) Create(ctx context.Context, name string, content []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := createNew(filepath.Clean(name), name)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(wrap("writing", name, err), f.Close(), dropTemp(f.Name()))
	}
	b.files = append(b.files, f)
	b.names = b.names.and(namesOf(name))
	return nil
}

// Publish has the disk confirm twice: all content with the names of the batch,
// then the name of the last file.
func (b *batch) Publish(ctx context.Context, name string, content []byte) error {
	if err := errors.Join(ctx.Err(), b.err); err != nil {
		return err
	}
	f, err := writeTemp(name, content)
	if err != nil {
		return err
	}
	err = publish(f, name, b.names, b.files)
	if err != nil && !errors.Is(err, fileio.ErrExist) {
		b.err = err
	}
	return errors.Join(err, b.Close())
}

// Close closes the files.
func (b *batch) Close() error {
	var err error
	for _, f := range b.files {
		err = errors.Join(err, f.Close())
	}
	b.files, b.names = nil, names{}
	return err
}
