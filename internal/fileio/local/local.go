package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"leat/internal/fileio"
)

// FS is the local file system. Paths are those of the operating system.
type FS struct {
	// scratch says that nothing has to outlive the process.
	scratch bool
}

var _ fileio.FS = (*FS)(nil)

// New gives the local file system.
func New() *FS { return &FS{} }

// NewScratch gives the local file system for files that end with the process:
// those of Create are not made durable.
func NewScratch() *FS { return &FS{scratch: true} }

type file struct {
	*os.File
	size int64
}

func (f *file) Size() int64 { return f.size }

// Open opens a regular file.
func (*FS) Open(ctx context.Context, name string) (fileio.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, wrap("opening", name, err)
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = errIsDir
	}
	if err != nil {
		return nil, errors.Join(wrap("opening", name, err), f.Close())
	}
	return &file{File: f, size: st.Size()}, nil
}

// ReadFile reads a whole file.
func (*FS) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, wrap("reading", name, err)
	}
	return b, nil
}

// Stat describes a file or folder.
func (*FS) Stat(ctx context.Context, name string) (fileio.Info, error) {
	if err := ctx.Err(); err != nil {
		return fileio.Info{}, err
	}
	st, err := os.Stat(name)
	if err != nil {
		return fileio.Info{}, wrap("looking at", name, err)
	}
	return info(name, st), nil
}

func info(name string, st fs.FileInfo) fileio.Info {
	i := fileio.Info{Path: name, Name: st.Name(), Size: st.Size(), ModTime: st.ModTime(), IsDir: st.IsDir()}
	if i.IsDir {
		i.Size = 0
	}
	return i
}

// List lists a folder in name order, temporary files included. An entry that
// goes away while the folder is read is left out.
func (s *FS) List(ctx context.Context, dir string) ([]fileio.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, wrap("listing", dir, err)
	}
	out := make([]fileio.Info, 0, len(entries))
	for _, e := range entries {
		st, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, wrap("listing", dir, err)
		}
		out = append(out, info(s.Join(dir, e.Name()), st))
	}
	return out, nil
}

// Remove removes a file.
func (*FS) Remove(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap("removing", name, err)
	}
	return nil
}

// RemoveAll removes a folder and what it holds.
func (*FS) RemoveAll(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return wrap("removing", dir, err)
	}
	return nil
}

// MkdirAll makes a folder and its parents and makes their names durable.
func (*FS) MkdirAll(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	if err := makeDirs(dir); err != nil {
		return err
	}
	n := fresh.above(dir)
	if len(n.made) == 0 {
		return nil
	}
	if err := syncWith(n); err != nil {
		return wrap("making folder", dir, err)
	}
	return nil
}

// Join puts path elements together.
func (*FS) Join(elem ...string) string { return path.Join(elem...) }

var _ io.ReaderAt = (*file)(nil)
