package crashfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"leat/internal/fileio"
)

// ErrCrashed is the error of every call through a handle from before a crash.
var ErrCrashed = errors.New("the machine has crashed")

// FS is a file system in memory. Safe for concurrent use.
type FS struct {
	d *disk
	// epoch is the disk's epoch this handle belongs to.
	epoch int
}

var _ fileio.FS = (*FS)(nil)

// disk is what all handles share.
type disk struct {
	mu    sync.Mutex
	epoch int
	files map[string]entry
	// removed are files whose removal is not durable yet.
	removed map[string]entry
	dirs    map[string]bool
	// loose are files of batches that are not durable yet.
	loose map[string]bool
	// hints are those written since they were durable, with what they replaced.
	hints map[string]hint
	// started are writers that neither committed nor aborted.
	started map[*writer]bool
	temps   int
	clock   time.Time
}

type entry struct {
	content []byte
	modTime time.Time
}

// New makes an empty file system.
func New() *FS {
	return &FS{d: &disk{
		files: map[string]entry{}, removed: map[string]entry{}, dirs: map[string]bool{"/": true},
		loose: map[string]bool{}, hints: map[string]hint{},
		started: map[*writer]bool{}, clock: time.Unix(1_700_000_000, 0).UTC(),
	}}
}

// Crash ends this and every other handle and gives one on what the disk kept.
// rnd decides, file by file, whether a removal comes undone, whether a file in the
// making leaves its temporary file or part of itself, what is there of the files of
// a batch, and what a hint says; nil keeps removals and hints and leaves nothing.
func (f *FS) Crash(rnd *rand.Rand) *FS {
	d := f.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epoch++
	if rnd != nil {
		for _, p := range sortedKeys(d.removed) {
			if _, again := d.files[p]; !again && rnd.IntN(2) == 0 {
				d.put(p, d.removed[p])
			}
		}
		writers := make([]*writer, 0, len(d.started))
		for w := range d.started {
			writers = append(writers, w)
		}
		slices.SortFunc(writers, func(a, b *writer) int { return a.seq - b.seq })
		for _, w := range writers {
			d.leave(w, rnd)
		}
	}
	d.loseLoose(rnd)
	d.loseHints(rnd)
	clear(d.removed)
	clear(d.started)
	return &FS{d: d, epoch: d.epoch}
}

// Paths lists all files, sorted.
func (f *FS) Paths() []string {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return sortedKeys(f.d.files)
}

func sortedKeys(m map[string]entry) []string {
	out := make([]string, 0, len(m))
	for p := range m {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// lock begins a call: it refuses dead handles and cancelled contexts. The
// caller unlocks unless it gets an error.
func (f *FS) lock(ctx context.Context, doing, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.d.mu.Lock()
	if f.epoch != f.d.epoch {
		f.d.mu.Unlock()
		return fmt.Errorf("%s %s: %w", doing, name, ErrCrashed)
	}
	return nil
}

// now advances the clock: every change has its own modification time.
func (d *disk) now() time.Time {
	d.clock = d.clock.Add(time.Millisecond)
	return d.clock
}

func (d *disk) put(p string, e entry) {
	d.mkdirAll(path.Dir(p))
	d.files[p] = e
}

// settle makes the removals and hints in the folder of p durable, as what was
// confirmed under p is; but not the content of hints.
func (d *disk) settle(p string) {
	for h, old := range d.hints {
		if path.Dir(h) == path.Dir(p) {
			old.before = nil
			d.hints[h] = old
		}
	}
	for r := range d.removed {
		if path.Dir(r) == path.Dir(p) {
			delete(d.removed, r)
		}
	}
}

func (d *disk) mkdirAll(dir string) {
	for ; !d.dirs[dir]; dir = path.Dir(dir) {
		d.dirs[dir] = true
	}
}

func (d *disk) info(p string) (fileio.Info, bool) {
	if e, ok := d.files[p]; ok {
		return fileio.Info{Path: p, Name: path.Base(p), Size: int64(len(e.content)), ModTime: e.modTime}, true
	}
	if d.dirs[p] {
		return fileio.Info{Path: p, Name: path.Base(p), IsDir: true}, true
	}
	return fileio.Info{}, false
}

type file struct{ *bytes.Reader }

func (file) Close() error  { return nil }
func (f file) Size() int64 { return f.Reader.Size() }

// Open opens a file.
func (f *FS) Open(ctx context.Context, name string) (fileio.File, error) {
	b, err := f.read(ctx, "opening", name)
	if err != nil {
		return nil, err
	}
	return file{bytes.NewReader(b)}, nil
}

// ReadFile reads a whole file.
func (f *FS) ReadFile(ctx context.Context, name string) ([]byte, error) {
	b, err := f.read(ctx, "reading", name)
	return bytes.Clone(b), err
}

func (f *FS) read(ctx context.Context, doing, name string) ([]byte, error) {
	if err := f.lock(ctx, doing, name); err != nil {
		return nil, err
	}
	defer f.d.mu.Unlock()
	e, ok := f.d.files[path.Clean(name)]
	if !ok {
		return nil, fmt.Errorf("%s %s: %w", doing, name, fileio.ErrNotExist)
	}
	return e.content, nil
}

// Stat describes a path.
func (f *FS) Stat(ctx context.Context, name string) (fileio.Info, error) {
	if err := f.lock(ctx, "looking at", name); err != nil {
		return fileio.Info{}, err
	}
	defer f.d.mu.Unlock()
	i, ok := f.d.info(path.Clean(name))
	if !ok {
		return fileio.Info{}, fmt.Errorf("looking at %s: %w", name, fileio.ErrNotExist)
	}
	return i, nil
}

// List lists a folder.
func (f *FS) List(ctx context.Context, dir string) ([]fileio.Info, error) {
	if err := f.lock(ctx, "listing", dir); err != nil {
		return nil, err
	}
	defer f.d.mu.Unlock()
	dir = path.Clean(dir)
	var out []fileio.Info
	add := func(p string) {
		if p != dir && path.Dir(p) == dir {
			i, _ := f.d.info(p)
			out = append(out, i)
		}
	}
	for p := range f.d.files {
		add(p)
	}
	for p := range f.d.dirs {
		add(p)
	}
	slices.SortFunc(out, func(a, b fileio.Info) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// CreateExclusive publishes content if nothing stands under name.
func (f *FS) CreateExclusive(ctx context.Context, name string, content []byte) error {
	if err := f.lock(ctx, "creating", name); err != nil {
		return err
	}
	defer f.d.mu.Unlock()
	return f.d.create(name, bytes.Clone(content))
}

func (d *disk) create(name string, content []byte) error {
	p := path.Clean(name)
	if _, taken := d.info(p); taken {
		return fmt.Errorf("creating %s: %w", name, fileio.ErrExist)
	}
	d.put(p, entry{content, d.now()})
	d.settle(p)
	return nil
}

// Replace puts content under name.
func (f *FS) Replace(ctx context.Context, name string, content []byte) error {
	if err := f.lock(ctx, "replacing", name); err != nil {
		return err
	}
	defer f.d.mu.Unlock()
	p := path.Clean(name)
	delete(f.d.hints, p)
	f.d.put(p, entry{bytes.Clone(content), f.d.now()})
	f.d.settle(p)
	return nil
}

// Remove removes a file.
func (f *FS) Remove(ctx context.Context, name string) error {
	if err := f.lock(ctx, "removing", name); err != nil {
		return err
	}
	defer f.d.mu.Unlock()
	p := path.Clean(name)
	if e, ok := f.d.files[p]; ok {
		f.d.removed[p] = e
		delete(f.d.files, p)
	}
	return nil
}

// RemoveAll removes a folder and what it holds.
func (f *FS) RemoveAll(ctx context.Context, dir string) error {
	if err := f.lock(ctx, "removing", dir); err != nil {
		return err
	}
	defer f.d.mu.Unlock()
	dir = path.Clean(dir)
	below := func(p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
	for p, e := range f.d.files {
		if below(p) {
			f.d.removed[p] = e
			delete(f.d.files, p)
		}
	}
	for p := range f.d.dirs {
		if below(p) {
			delete(f.d.dirs, p)
		}
	}
	return nil
}

// MkdirAll makes a folder and its parents.
func (f *FS) MkdirAll(ctx context.Context, dir string) error {
	if err := f.lock(ctx, "making folder", dir); err != nil {
		return err
	}
	defer f.d.mu.Unlock()
	f.d.mkdirAll(path.Clean(dir))
	return nil
}

// Join puts path elements together.
func (*FS) Join(elem ...string) string { return path.Join(elem...) }

// Create starts a file.
func (f *FS) Create(ctx context.Context, name string) (fileio.Writer, error) {
	if err := f.lock(ctx, "creating", name); err != nil {
		return nil, err
	}
	defer f.d.mu.Unlock()
	f.d.temps++
	w := &writer{fs: f, path: path.Clean(name), seq: f.d.temps}
	f.d.started[w] = true
	return w, nil
}

type writer struct {
	fs   *FS
	path string
	seq  int
	buf  bytes.Buffer
	done bool
}

var errEnded = fmt.Errorf("file committed or aborted already: %w", io.ErrClosedPipe)

func (w *writer) Write(p []byte) (int, error) {
	if err := w.fs.lock(context.Background(), "writing", w.path); err != nil {
		return 0, err
	}
	defer w.fs.d.mu.Unlock()
	if w.done {
		return 0, errEnded
	}
	return w.buf.Write(p)
}

func (w *writer) Commit(ctx context.Context) error {
	if err := w.fs.lock(ctx, "committing", w.path); err != nil {
		return err
	}
	defer w.fs.d.mu.Unlock()
	if w.done {
		return errEnded
	}
	if err := w.fs.d.create(w.path, w.buf.Bytes()); err != nil {
		return err
	}
	w.end()
	return nil
}

func (w *writer) Abort(context.Context) error {
	if err := w.fs.lock(context.Background(), "removing", w.path); err != nil {
		return err
	}
	defer w.fs.d.mu.Unlock()
	w.end()
	return nil
}

func (w *writer) end() {
	w.done = true
	delete(w.fs.d.started, w)
}
