package faultfs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"leat/internal/fileio"
)

// ErrInjected marks every error made here; ErrStopped those of calls that the
// "dead process" makes, the first one included.
var (
	ErrInjected = errors.New("injected fault")
	ErrStopped  = fmt.Errorf("%w: stopped", ErrInjected)
)

// FS is a file system with faults. Safe for concurrent use; with concurrent
// callers the order of counting is the order in which calls arrive.
type FS struct {
	inner fileio.FS

	mu      sync.Mutex
	rules   []Rule
	seen    []int // matching calls so far, by rule
	counts  map[Op]int
	stopped bool
	cuts    int
}

var _ fileio.FS = (*FS)(nil)

// New wraps inner. Bad rules are a fault of the test that wrote them: New panics.
func New(inner fileio.FS, rules string) *FS {
	f := &FS{inner: inner, counts: map[Op]int{}}
	f.Set(rules)
	return f
}

// Set replaces the rules and starts their counting anew; a stopped file system
// runs again. Counts go on.
func (f *FS) Set(rules string) {
	rs, err := Parse(rules)
	if err != nil {
		panic("faultfs: " + err.Error())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.seen, f.stopped = rs, make([]int, len(rs)), false
}

// Counts gives the number of calls by kind, those that went wrong included.
func (f *FS) Counts() map[Op]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// Total gives the number of all calls.
func (f *FS) Total() int { return sum(f.Counts(), func(Op) bool { return true }) }

// Mutations gives the number of calls that the Mutate kind counts.
func (f *FS) Mutations() int {
	return sum(f.Counts(), func(op Op) bool { return slices.Contains(changing, op) })
}

func sum(counts map[Op]int, take func(Op) bool) int {
	n := 0
	for op, c := range counts {
		if take(op) {
			n += c
		}
	}
	return n
}

// Stopped reports whether a stop rule has fired.
func (f *FS) Stopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped
}

// decide counts a call and gives what shall happen to it; "" for nothing.
func (f *FS) decide(op Op, name string) (Action, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[op]++
	if f.stopped {
		return Fail, fmt.Errorf("%s %s: %w", op, name, ErrStopped)
	}
	act := Action("")
	for i, r := range f.rules {
		if !r.matches(op, name) {
			continue
		}
		f.seen[i]++
		if act == "" && r.hits(f.seen[i]) {
			act = r.Action
		}
	}
	switch act {
	case "":
		return "", nil
	case Stop:
		f.stopped = true
		return Fail, fmt.Errorf("%s %s: %w", op, name, ErrStopped)
	case StopAfter:
		f.stopped = true
		return Lie, fmt.Errorf("%s %s: %w", op, name, ErrStopped)
	default:
		return act, fmt.Errorf("%s %s: %w", op, name, ErrInjected)
	}
}

// run makes one call. cut does the partial work; nil makes a cut a plain failure.
func (f *FS) run(op Op, name string, do, cut func() error) error {
	act, injected := f.decide(op, name)
	switch act {
	case "":
		return do()
	case Lie:
		// An answer of "no" is not turned into an ambiguous one.
		if err := do(); err != nil {
			return err
		}
	case Cut:
		if cut != nil {
			if err := cut(); err != nil {
				return errors.Join(injected, err)
			}
		}
	default: // fail
	}
	return injected
}

// Open opens a file whose reads are counted as ReadAt.
func (f *FS) Open(ctx context.Context, name string) (fileio.File, error) {
	var in fileio.File
	err := f.run(OpOpen, name, func() (err error) { in, err = f.inner.Open(ctx, name); return err }, nil)
	if err != nil {
		if in != nil {
			err = errors.Join(err, in.Close())
		}
		return nil, err
	}
	return &file{File: in, fs: f, name: name}, nil
}

// ReadFile reads a whole file.
func (f *FS) ReadFile(ctx context.Context, name string) (b []byte, err error) {
	err = f.run(ReadFile, name, func() (err error) { b, err = f.inner.ReadFile(ctx, name); return err }, nil)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Create starts a file whose Write, Commit and Abort are counted too.
func (f *FS) Create(ctx context.Context, name string) (fileio.Writer, error) {
	var in fileio.Writer
	err := f.run(Create, name, func() (err error) { in, err = f.inner.Create(ctx, name); return err }, nil)
	if err != nil {
		// A lie leaves the temporary file of the started writer behind.
		return nil, err
	}
	return &writer{inner: in, fs: f, name: name}, nil
}

// CreateExclusive publishes content; cut leaves half of it under a temporary name.
func (f *FS) CreateExclusive(ctx context.Context, name string, content []byte) error {
	return f.run(CreateExclusive, name,
		func() error { return f.inner.CreateExclusive(ctx, name, content) },
		func() error { return f.leaveTemp(ctx, name, content) })
}

// Replace replaces content; cut leaves half of it under a temporary name.
func (f *FS) Replace(ctx context.Context, name string, content []byte) error {
	return f.run(Replace, name,
		func() error { return f.inner.Replace(ctx, name, content) },
		func() error { return f.leaveTemp(ctx, name, content) })
}

func (f *FS) leaveTemp(ctx context.Context, name string, content []byte) error {
	f.mu.Lock()
	f.cuts++
	n := f.cuts
	f.mu.Unlock()
	tmp := f.inner.Join(path.Dir(name), fmt.Sprintf(".%s.cut-%d.tmp", path.Base(name), n))
	return f.inner.CreateExclusive(ctx, tmp, content[:len(content)/2])
}

// Stat describes a path.
func (f *FS) Stat(ctx context.Context, name string) (i fileio.Info, err error) {
	err = f.run(Stat, name, func() (err error) { i, err = f.inner.Stat(ctx, name); return err }, nil)
	return i, err
}

// List lists a folder.
func (f *FS) List(ctx context.Context, dir string) (l []fileio.Info, err error) {
	err = f.run(List, dir, func() (err error) { l, err = f.inner.List(ctx, dir); return err }, nil)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Remove removes a file.
func (f *FS) Remove(ctx context.Context, name string) error {
	return f.run(Remove, name, func() error { return f.inner.Remove(ctx, name) }, nil)
}

// RemoveAll removes a folder; cut removes its first child only.
func (f *FS) RemoveAll(ctx context.Context, dir string) error {
	return f.run(RemoveAll, dir, func() error { return f.inner.RemoveAll(ctx, dir) }, func() error {
		l, err := f.inner.List(ctx, dir)
		if err != nil || len(l) == 0 {
			return err
		}
		return f.inner.RemoveAll(ctx, l[0].Path)
	})
}

// MkdirAll makes a folder.
func (f *FS) MkdirAll(ctx context.Context, dir string) error {
	return f.run(MkdirAll, dir, func() error { return f.inner.MkdirAll(ctx, dir) }, nil)
}

// Join joins path elements; it is not counted.
func (f *FS) Join(elem ...string) string { return f.inner.Join(elem...) }

type file struct {
	fileio.File
	fs   *FS
	name string
}

func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.fs.run(ReadAt, f.name,
		func() (err error) { n, err = f.File.ReadAt(p, off); return err },
		func() (err error) { n, err = f.File.ReadAt(p[:len(p)/2], off); return err })
	return n, err
}

type writer struct {
	inner fileio.Writer
	fs    *FS
	name  string
}

func (w *writer) Write(p []byte) (n int, err error) {
	err = w.fs.run(Write, w.name,
		func() (err error) { n, err = w.inner.Write(p); return err },
		func() (err error) { n, err = w.inner.Write(p[:len(p)/2]); return err })
	return n, err
}

func (w *writer) Commit(ctx context.Context) error {
	return w.fs.run(Commit, w.name, func() error { return w.inner.Commit(ctx) }, nil)
}

func (w *writer) Abort(ctx context.Context) error {
	return w.fs.run(Abort, w.name, func() error { return w.inner.Abort(ctx) }, nil)
}
