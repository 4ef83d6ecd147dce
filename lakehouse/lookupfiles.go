package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"leat/internal/fileio"
	"leat/internal/fileio/local"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

const (
	// lookupShare is how many rows a file has for every key that is looked up in it;
	// with fewer the file is read whole, which takes less time then.
	lookupShare = 16
	// lookupNames bounds how many files are remembered that were read whole.
	lookupNames = 1 << 16
)

// lookupFiles keeps data files of the buckets of a Writer as lookup files in a
// folder of their own, so that compactions find rows by key without reading
// files whole. A file gets its lookup file the second time rows are looked up in
// it: many are compacted away before. Those used last stay, within the bounds of
// LookupOptions.
type lookupFiles struct {
	t      *Table
	layout *mergetree.Layout
	fs     fileio.FS
	dir    string
	log    *slog.Logger

	mu    sync.Mutex
	files map[string]*lookupFile
	// seen are the names of files that were read whole once.
	seen         map[string]struct{}
	disk, memory int64
	made         int
	// broken is set once a lookup file could not be written: there are none any more.
	broken bool
}

// lookupFile is one of them; users counts the readers.
type lookupFile struct {
	f     *mergetree.LookupFile
	used  time.Time
	users int
	gone  bool
}

// LookupOptions bound what is kept for finding rows by key.
type LookupOptions struct {
	// Disk is 'lookup.cache-max-disk-size' in bytes, Memory 'lookup.cache-max-memory-size',
	// Retention 'lookup.cache-file-retention'.
	Disk, Memory int64
	Retention    time.Duration
}

// newLookupFiles keeps them in dir, which is made with the first; nil without a dir.
func newLookupFiles(t *Table, l *mergetree.Layout, dir string, log *slog.Logger) *lookupFiles {
	if dir == "" || !t.Options.Lookup || l.Append {
		return nil
	}
	return &lookupFiles{t: t, layout: l, fs: local.NewScratch(), dir: dir, log: log, files: map[string]*lookupFile{}, seen: map[string]struct{}{}}
}

// find gives the rows of f, of a bucket, that have the keys; nil where it is to be read whole.
func (x *lookupFiles) find(ctx context.Context, partition spec.BinaryRow, bucket int32, f *spec.DataFileMeta, keys *mergetree.KeySet) (mergetree.RowReader, error) {
	if f.RowCount < lookupShare*int64(keys.Len()) {
		return nil, nil //nolint:nilnil // as the comment says
	}
	x.mu.Lock()
	have := x.files[f.FileName]
	_, seen := x.seen[f.FileName]
	broken := x.broken
	if have != nil {
		have.users++
	} else if !seen && len(x.seen) < lookupNames {
		x.seen[f.FileName] = struct{}{}
	}
	x.mu.Unlock()
	if have == nil {
		if !seen || broken {
			return nil, nil //nolint:nilnil // as the comment says
		}
		var err error
		if have, err = x.make(ctx, partition, bucket, f); err != nil || have == nil {
			return nil, err
		}
	}
	r, err := have.f.Reader(ctx, x.layout, keys)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("looking rows up in data file %s: %w", f.FileName, err), x.release(have))
	}
	return &lookupUse{RowReader: r, files: x, of: have}, nil
}

// make writes the lookup file of f. Trouble with the disk ends the use of lookup
// files, not the compaction: nil then.
func (x *lookupFiles) make(ctx context.Context, partition spec.BinaryRow, bucket int32, f *spec.DataFileMeta) (*lookupFile, error) {
	r, err := x.t.openFile(ctx, partition, bucket, f, x.layout.Columns.Fields, true, nil)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.made++
	path := x.fs.Join(x.dir, fmt.Sprintf("rows-%d", x.made))
	x.mu.Unlock()
	made, err := mergetree.WriteLookupFile(ctx, x.layout, x.fs, path, r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		x.log.Warn("rows cannot be looked up on the disk; files are read whole", "file", path, "error", err)
		x.mu.Lock()
		x.broken = true
		x.mu.Unlock()
		return nil, nil //nolint:nilnil // as the comment says
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	l := &lookupFile{f: made, used: time.Now(), users: 1}
	x.files[f.FileName] = l
	x.disk, x.memory = x.disk+made.Size(), x.memory+made.Bytes()
	delete(x.seen, f.FileName)
	return l, x.evict(ctx)
}

// evict removes the files used longest ago until the others are within the
// bounds, and those not used for long. The caller holds x.mu.
func (x *lookupFiles) evict(ctx context.Context) error {
	o := &x.t.Options.LookupFiles
	names := make([]string, 0, len(x.files))
	for name := range x.files {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return x.files[a].used.Compare(x.files[b].used) })
	var err error
	for _, name := range names {
		l := x.files[name]
		over := x.disk > o.Disk || x.memory > o.Memory
		if l.users > 0 || !over && time.Since(l.used) < o.Retention {
			continue
		}
		err = errors.Join(err, x.remove(ctx, name, l))
	}
	return err
}

// remove forgets a file; the last reader removes it. The caller holds x.mu.
func (x *lookupFiles) remove(ctx context.Context, name string, l *lookupFile) error {
	delete(x.files, name)
	if l.gone = true; l.users > 0 {
		return nil
	}
	return x.discard(ctx, l)
}

func (x *lookupFiles) discard(ctx context.Context, l *lookupFile) error {
	x.disk, x.memory = x.disk-l.f.Size(), x.memory-l.f.Bytes()
	return l.f.Remove(context.WithoutCancel(ctx))
}

func (x *lookupFiles) release(l *lookupFile) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	l.used = time.Now()
	if l.users--; l.gone && l.users == 0 {
		return x.discard(context.Background(), l)
	}
	return nil
}

// drop forgets the files that a compaction took out of the table; nil has none.
func (x *lookupFiles) drop(ctx context.Context, c *mergetree.Change) {
	if x == nil || c == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range c.Before {
		name := c.Before[i].FileName
		if slices.ContainsFunc(c.After, func(f spec.DataFileMeta) bool { return f.FileName == name }) {
			continue
		}
		delete(x.seen, name)
		if l := x.files[name]; l != nil {
			if err := x.remove(ctx, name, l); err != nil {
				x.log.Warn("lookup file left behind", "file", name, "error", err)
			}
		}
	}
}

// close removes the folder.
func (x *lookupFiles) close(ctx context.Context) error {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var err error
	for name, l := range x.files {
		l.users = 0
		err = errors.Join(err, x.remove(ctx, name, l))
	}
	if x.made > 0 {
		err = errors.Join(err, x.fs.RemoveAll(context.WithoutCancel(ctx), x.dir))
	}
	return err
}

// lookupUse is a reader of a lookup file.
type lookupUse struct {
	mergetree.RowReader
	files *lookupFiles
	of    *lookupFile
	done  bool
}

func (r *lookupUse) Close() error {
	err := r.RowReader.Close()
	if !r.done {
		r.done = true
		err = errors.Join(err, r.files.release(r.of))
	}
	return err
}
