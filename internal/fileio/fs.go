package fileio

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrExist and ErrNotExist are the two outcomes callers branch on.
var (
	ErrExist    = errors.New("file exists already")
	ErrNotExist = errors.New("no such file")
)

// Info describes a file or a directory.
type Info struct {
	// Path is the full path as given to FS; Name its last element.
	Path    string
	Name    string
	Size    int64
	ModTime time.Time
	IsDir   bool
}

// File is an open file for ranged reads. Safe for concurrent ReadAt.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Writer writes one new file. Nothing is visible under its path before Commit,
// which makes it durable and visible whole; when power is lost within Commit, a
// part of it may stand there. Abort (also after a failed Commit, and harmless
// after a good one) removes what was written.
type Writer interface {
	io.Writer
	// Commit closes the file, makes it durable and visible. It fails with ErrExist
	// if the path exists already.
	Commit(ctx context.Context) error
	Abort(ctx context.Context) error
}

// FS is a file system or object store. Paths are slash-separated and absolute
// within the FS. Errors wrap ErrExist or ErrNotExist where they apply. Removals
// may come undone when power is lost, until a Commit, CreateExclusive or Replace
// in the same folder is confirmed.
type FS interface {
	// Open opens a file for ranged reads.
	Open(ctx context.Context, path string) (File, error)
	// ReadFile reads a whole small file.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// Create starts a new file; missing parents are made.
	Create(ctx context.Context, path string) (Writer, error)
	// CreateExclusive publishes content under path if and only if nothing stands
	// there: one winner among any number of writers; the losers get ErrExist.
	// Any other error leaves the outcome unknown: the caller re-reads the path.
	CreateExclusive(ctx context.Context, path string, content []byte) error
	// Replace puts content under path, whatever stood there; readers see the old
	// or the new content, never a mixture.
	Replace(ctx context.Context, path string, content []byte) error
	// Stat describes path.
	Stat(ctx context.Context, path string) (Info, error)
	// List lists the direct children of dir in name order; a missing dir is an empty list.
	List(ctx context.Context, dir string) ([]Info, error)
	// Remove removes a file; a missing one is no error.
	Remove(ctx context.Context, path string) error
	// RemoveAll removes a directory with all it holds; a missing one is no error.
	RemoveAll(ctx context.Context, dir string) error
	// MkdirAll makes a directory and its parents; a no-op on object stores.
	MkdirAll(ctx context.Context, dir string) error
	// Join puts path elements together.
	Join(elem ...string) string
}
