package recordfs

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"leat/internal/fileio"
)

// Options says what the log holds.
type Options struct {
	// Reads adds open, readfile, stat and list.
	Reads bool
	// Root is cut off in front of paths.
	Root string
	// Rewrite changes each path after Root was cut off; nil leaves it.
	Rewrite func(path string) string
}

// FS is a file system that keeps a log. Safe for concurrent use.
type FS struct {
	inner fileio.FS
	opt   Options

	mu  sync.Mutex
	log strings.Builder
	ids map[string]string
}

var _ fileio.FS = (*FS)(nil)

// New wraps inner.
func New(inner fileio.FS, opt Options) *FS {
	return &FS{inner: inner, opt: opt, ids: map[string]string{}}
}

// Take gives the log since the last Take.
func (f *FS) Take() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.log.String()
	f.log.Reset()
	return s
}

var uuidForm = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func (f *FS) note(op, path string, size int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path = strings.TrimPrefix(path, f.opt.Root)
	path = uuidForm.ReplaceAllStringFunc(path, func(id string) string {
		if _, ok := f.ids[id]; !ok {
			f.ids[id] = fmt.Sprintf("$%d", len(f.ids)+1)
		}
		return f.ids[id]
	})
	if f.opt.Rewrite != nil {
		path = f.opt.Rewrite(path)
	}
	fmt.Fprintf(&f.log, "%s %s", op, path)
	if size >= 0 {
		fmt.Fprintf(&f.log, " %d", size)
	}
	switch {
	case errors.Is(err, fileio.ErrExist):
		fmt.Fprintf(&f.log, ": %v", fileio.ErrExist)
	case errors.Is(err, fileio.ErrNotExist):
		fmt.Fprintf(&f.log, ": %v", fileio.ErrNotExist)
	case err != nil:
		f.log.WriteString(": error")
	}
	f.log.WriteByte('\n')
}

func (f *FS) noteRead(op, path string, err error) {
	if f.opt.Reads {
		f.note(op, path, -1, err)
	}
}

// Open opens a file; its reads are not logged.
func (f *FS) Open(ctx context.Context, path string) (fileio.File, error) {
	in, err := f.inner.Open(ctx, path)
	f.noteRead("open", path, err)
	return in, err
}

// ReadFile reads a whole file.
func (f *FS) ReadFile(ctx context.Context, path string) ([]byte, error) {
	b, err := f.inner.ReadFile(ctx, path)
	f.noteRead("readfile", path, err)
	return b, err
}

// Create starts a file; its writes are logged as one line at Commit or Abort.
func (f *FS) Create(ctx context.Context, path string) (fileio.Writer, error) {
	w, err := f.inner.Create(ctx, path)
	f.note("create", path, -1, err)
	if err != nil {
		return nil, err
	}
	return &writer{inner: w, fs: f, path: path}, nil
}

// CreateExclusive publishes content.
func (f *FS) CreateExclusive(ctx context.Context, path string, content []byte) error {
	err := f.inner.CreateExclusive(ctx, path, content)
	f.note("createexclusive", path, len(content), err)
	return err
}

// Replace replaces content.
func (f *FS) Replace(ctx context.Context, path string, content []byte) error {
	err := f.inner.Replace(ctx, path, content)
	f.note("replace", path, len(content), err)
	return err
}

// Stat describes a path.
func (f *FS) Stat(ctx context.Context, path string) (fileio.Info, error) {
	i, err := f.inner.Stat(ctx, path)
	f.noteRead("stat", path, err)
	return i, err
}

// List lists a folder.
func (f *FS) List(ctx context.Context, dir string) ([]fileio.Info, error) {
	l, err := f.inner.List(ctx, dir)
	f.noteRead("list", dir, err)
	return l, err
}

// Remove removes a file.
func (f *FS) Remove(ctx context.Context, path string) error {
	err := f.inner.Remove(ctx, path)
	f.note("remove", path, -1, err)
	return err
}

// RemoveAll removes a folder.
func (f *FS) RemoveAll(ctx context.Context, dir string) error {
	err := f.inner.RemoveAll(ctx, dir)
	f.note("removeall", dir, -1, err)
	return err
}

// MkdirAll makes a folder.
func (f *FS) MkdirAll(ctx context.Context, dir string) error {
	err := f.inner.MkdirAll(ctx, dir)
	f.note("mkdirall", dir, -1, err)
	return err
}

// Join joins path elements; it is not logged.
func (f *FS) Join(elem ...string) string { return f.inner.Join(elem...) }

type writer struct {
	inner fileio.Writer
	fs    *FS
	path  string
	size  int
	ended bool
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.inner.Write(p)
	w.size += n
	return n, err
}

func (w *writer) Commit(ctx context.Context) error {
	err := w.inner.Commit(ctx)
	w.fs.note("commit", w.path, w.size, err)
	w.ended = w.ended || err == nil
	return err
}

// Abort is logged unless it follows a good Commit or another Abort.
func (w *writer) Abort(ctx context.Context) error {
	err := w.inner.Abort(ctx)
	if !w.ended {
		w.fs.note("abort", w.path, -1, err)
		w.ended = true
	}
	return err
}
