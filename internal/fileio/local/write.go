package local

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/google/uuid"

	"leat/internal/fileio"
)

// bufferSize is what a writer collects of small writes before it calls the
// system; larger ones go straight through. Many files are open at once, so it is
// small, and the buffers are used again.
const bufferSize = 64 << 10

var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, bufferSize) }}

// writer writes a temporary file and links it to its name at Commit.
type writer struct {
	name string
	f    *os.File
	// buf is nil once its content is in the file.
	buf *bufio.Writer
	// done is set once the temporary file is gone or has become the file.
	done bool
	// scratch says that the file need not be durable.
	scratch bool
}

// Create starts a new file beside its final name.
func (s *FS) Create(ctx context.Context, name string) (fileio.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := createTemp(name)
	if err != nil {
		return nil, err
	}
	buf, ok := buffers.Get().(*bufio.Writer)
	if !ok {
		buf = bufio.NewWriterSize(nil, bufferSize)
	}
	buf.Reset(f)
	return &writer{name: name, f: f, buf: buf, scratch: s.scratch}, nil
}

// dropBuffer gives the buffer back; it must not refer to the file any longer.
func (w *writer) dropBuffer() {
	if w.buf != nil {
		w.buf.Reset(nil)
		buffers.Put(w.buf)
		w.buf = nil
	}
}

// createTemp opens a new temporary file for name; missing parents are made.
func createTemp(name string) (*os.File, error) {
	dir, base := filepath.Split(filepath.Clean(name))
	tmp := filepath.Join(dir, "."+base+"."+uuid.NewString()+".tmp")
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := os.OpenFile(tmp, flags, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err := mkdirAll(filepath.Clean(dir)); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(tmp, flags, 0o644)
	}
	if err != nil {
		return nil, wrap("creating", name, err)
	}
	return f, nil
}

func (w *writer) Write(p []byte) (int, error) {
	if w.done || w.buf == nil {
		return 0, wrap("writing", w.name, fs.ErrClosed)
	}
	n, err := w.buf.Write(p)
	if err != nil {
		return n, wrap("writing", w.name, err)
	}
	return n, nil
}

// Commit syncs the content, links it to its name and syncs the folder. After an
// error the temporary file is still there: Abort removes it.
func (w *writer) Commit(ctx context.Context) error {
	if w.done {
		return wrap("committing", w.name, fs.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.buf == nil {
		return wrap("committing", w.name, fs.ErrClosed)
	}
	if err := w.buf.Flush(); err != nil {
		return wrap("writing", w.name, err)
	}
	w.dropBuffer()
	if w.scratch {
		if err := errors.Join(w.f.Close(), os.Rename(w.f.Name(), w.name)); err != nil {
			return wrap("writing", w.name, err)
		}
		w.done = true
		return nil
	}
	if err := closeSynced(w.f); err != nil {
		return wrap("writing", w.name, err)
	}
	if err := linkNew(w.f.Name(), w.name); err != nil {
		return err
	}
	w.done = true
	return nil
}

func (w *writer) Abort(context.Context) error {
	if w.done {
		return nil
	}
	w.done = true
	w.dropBuffer()
	// The file may be closed already by a Commit that failed later on.
	if err := w.f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return errors.Join(wrap("closing", w.f.Name(), err), dropTemp(w.f.Name()))
	}
	return dropTemp(w.f.Name())
}

// CreateExclusive publishes content under name unless something stands there.
func (*FS) CreateExclusive(ctx context.Context, name string, content []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// A name that is taken costs one call instead of two syncs; the link decides.
	if _, err := os.Lstat(name); err == nil {
		return wrap("creating", name, fs.ErrExist)
	}
	f, err := writeTemp(name, content)
	if err != nil {
		return err
	}
	if err := linkNew(f, name); err != nil {
		return errors.Join(err, dropTemp(f))
	}
	return nil
}

// Replace puts content under name by an atomic rename.
func (*FS) Replace(ctx context.Context, name string, content []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	tmp, err := writeTemp(name, content)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, name); err != nil {
		return errors.Join(wrap("replacing", name, err), dropTemp(tmp))
	}
	return syncDir(filepath.Dir(name))
}

// writeTemp writes content durably under a temporary name and gives that name.
func writeTemp(name string, content []byte) (string, error) {
	f, err := createTemp(name)
	if err != nil {
		return "", err
	}
	if _, err := f.Write(content); err != nil {
		return "", errors.Join(wrap("writing", name, err), f.Close(), dropTemp(f.Name()))
	}
	if err := closeSynced(f); err != nil {
		return "", errors.Join(wrap("writing", name, err), dropTemp(f.Name()))
	}
	return f.Name(), nil
}

// linkNew gives the file at tmp the name name if nothing stands there, drops the
// temporary name and makes both durable. link(2) is the only call here that
// decides; it fails where rename(2) would silently overwrite.
func linkNew(tmp, name string) error {
	if err := os.Link(tmp, name); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS) {
			return noLinks(name, err)
		}
		return wrap("creating", name, err)
	}
	if err := dropTemp(tmp); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

func dropTemp(tmp string) error {
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap("removing", tmp, err)
	}
	return nil
}

func closeSynced(f *os.File) error {
	err := f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// RenameDir moves a directory in one step. It fails if something but an empty
// directory stands at the new place.
func (*FS) RenameDir(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return wrap("renaming", from, err)
	}
	return syncDir(filepath.Dir(to))
}
