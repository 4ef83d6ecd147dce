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
	"golang.org/x/sys/unix"

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
	if s.scratch {
		fresh.settled(namesOf(name).made)
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
	return createNew(filepath.Join(dir, "."+base+"."+uuid.NewString()+".tmp"), name)
}

// createNew opens the new file at path, which is on the way to name.
func createNew(path, name string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDirs(filepath.Dir(path)); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(path, flags, 0o644)
	}
	if err != nil {
		return nil, wrap("creating", name, err)
	}
	return f, nil
}

// namesOf gives what has to last for the name of a file.
func namesOf(name string) names { return fresh.above(filepath.Dir(filepath.Clean(name))) }

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

// Commit gives the file its name and makes both durable at once: until it returns,
// nobody looks for the name. After an error the temporary file may still be there:
// Abort removes it.
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
	tmp := w.f.Name()
	if err := moveNew(tmp, w.name); err != nil {
		return err
	}
	if err := errors.Join(syncWith(namesOf(w.name), w.f), w.f.Close()); err != nil {
		return errors.Join(wrap("writing", w.name, err), dropTemp(w.name))
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
	// A name that is taken costs one call instead of two syncs; the move decides.
	if _, err := os.Lstat(name); err == nil {
		return wrap("creating", name, fs.ErrExist)
	}
	f, err := writeTemp(name, content)
	if err != nil {
		return err
	}
	return publish(f, name, names{}, nil)
}

// publish makes the content of the temporary file f durable, with other names and
// files, and then gives it its name, if nothing stands there.
func publish(f *os.File, name string, others names, files []*os.File) error {
	tmp := f.Name()
	if err := errors.Join(syncWith(others, append(files, f)...), f.Close()); err != nil {
		return errors.Join(wrap("writing", name, err), dropTemp(tmp))
	}
	if err := moveNew(tmp, name); err != nil {
		return errors.Join(err, dropTemp(tmp))
	}
	return syncName(name)
}

// Replace puts content under name by an atomic rename.
func (*FS) Replace(ctx context.Context, name string, content []byte) error {
	return replace(ctx, name, content, true)
}

// ReplaceHint puts content under name by an atomic rename and waits for no disk.
func (*FS) ReplaceHint(ctx context.Context, name string, content []byte) error {
	return replace(ctx, name, content, false)
}

func replace(ctx context.Context, name string, content []byte, durable bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := writeTemp(name, content)
	if err != nil {
		return err
	}
	tmp := f.Name()
	if durable {
		err = syncWith(names{}, f)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(wrap("writing", name, err), dropTemp(tmp))
	}
	if err := os.Rename(tmp, name); err != nil {
		return errors.Join(wrap("replacing", name, err), dropTemp(tmp))
	}
	if !durable {
		return nil
	}
	return syncName(name)
}

// syncName makes a name durable.
func syncName(name string) error {
	if err := syncWith(namesOf(name)); err != nil {
		return wrap("syncing folder", filepath.Dir(name), err)
	}
	return nil
}

// writeTemp writes content into a temporary file for name, which stays open.
func writeTemp(name string, content []byte) (*os.File, error) {
	f, err := createTemp(name)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(content); err != nil {
		return nil, errors.Join(wrap("writing", name, err), f.Close(), dropTemp(f.Name()))
	}
	return f, nil
}

// moveNew gives the file at tmp the name name if nothing stands there. It is the
// only call here that decides. File systems that cannot rename so have links: link(2)
// fails, too, where rename(2) would silently overwrite.
func moveNew(tmp, name string) error {
	err := unix.Renameat2(unix.AT_FDCWD, tmp, unix.AT_FDCWD, name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return linkNew(tmp, name)
	}
	if err != nil {
		return wrap("creating", name, err)
	}
	return nil
}

// linkNew is moveNew by a link.
func linkNew(tmp, name string) error {
	if err := os.Link(tmp, name); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS) {
			return noLinks(name, err)
		}
		return wrap("creating", name, err)
	}
	return dropTemp(tmp)
}

func dropTemp(tmp string) error {
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap("removing", tmp, err)
	}
	return nil
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
	return syncName(to)
}
