package crashfs

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"

	"leat/internal/fileio"
)

var _ fileio.Batcher = (*FS)(nil)

// hint is what a crash may bring back of a hint.
type hint struct {
	// before are older entries; an older one is nil where there was no file.
	before []*entry
}

// batch is files that Publish makes durable.
type batch struct {
	fs    *FS
	paths []string
}

// NewBatch begins a batch.
func (f *FS) NewBatch() fileio.Batch { return &batch{fs: f} }

func (b *batch) Create(ctx context.Context, name string, content []byte) error {
	if err := b.fs.lock(ctx, "creating", name); err != nil {
		return err
	}
	d, p := b.fs.d, path.Clean(name)
	defer d.mu.Unlock()
	if _, taken := d.info(p); taken {
		return fmt.Errorf("creating %s: %w", name, fileio.ErrExist)
	}
	d.put(p, entry{bytes.Clone(content), d.now()})
	d.loose[p] = true
	b.paths = append(b.paths, p)
	return nil
}

func (b *batch) Publish(ctx context.Context, name string, content []byte) error {
	if err := b.fs.lock(ctx, "creating", name); err != nil {
		return err
	}
	d := b.fs.d
	defer d.mu.Unlock()
	for _, p := range b.paths {
		delete(d.loose, p)
		d.settle(p)
	}
	b.paths = nil
	return d.create(name, bytes.Clone(content))
}

func (b *batch) Close() error {
	b.paths = nil
	return nil
}

// ReplaceHint puts content under name, which a crash may change.
func (f *FS) ReplaceHint(ctx context.Context, name string, content []byte) error {
	if err := f.lock(ctx, "replacing", name); err != nil {
		return err
	}
	d, p := f.d, path.Clean(name)
	defer d.mu.Unlock()
	h := d.hints[p]
	var old *entry
	if e, ok := d.files[p]; ok {
		old = &e
	}
	h.before = append(h.before, old)
	d.hints[p] = h
	d.put(p, entry{bytes.Clone(content), d.now()})
	return nil
}

// leave decides what is there of a file that was in the making: nothing, a part
// under its temporary name or, if it was being committed, under its own.
func (d *disk) leave(w *writer, rnd *rand.Rand) {
	b := w.buf.Bytes()
	part := entry{bytes.Clone(b[:rnd.IntN(len(b)+1)]), d.now()}
	switch rnd.IntN(4) {
	case 0:
		d.put(path.Join(path.Dir(w.path), fmt.Sprintf(".%s.%d.tmp", path.Base(w.path), w.seq)), part)
	case 1:
		if _, taken := d.info(w.path); !taken {
			d.put(w.path, part)
		}
	}
}

// loseLoose decides what is there of the files of batches: nothing, part or all.
func (d *disk) loseLoose(rnd *rand.Rand) {
	for _, p := range slices.Sorted(maps.Keys(d.loose)) {
		e, there := d.files[p]
		switch {
		case !there:
		case rnd == nil || rnd.IntN(3) == 0:
			delete(d.files, p)
		default:
			d.files[p] = entry{e.content[:rnd.IntN(len(e.content)+1)], e.modTime}
		}
	}
	clear(d.loose)
}

// loseHints decides what hints say: what was written last, nothing, or something older.
func (d *disk) loseHints(rnd *rand.Rand) {
	if rnd == nil {
		clear(d.hints)
		return
	}
	for _, p := range slices.Sorted(maps.Keys(d.hints)) {
		if _, there := d.files[p]; !there {
			continue
		}
		before := d.hints[p].before
		switch n := rnd.IntN(2 + len(before)); n {
		case 0:
		case 1:
			d.files[p] = entry{nil, d.now()}
		default:
			if old := before[n-2]; old != nil {
				d.files[p] = *old
			} else {
				delete(d.files, p)
			}
		}
	}
	clear(d.hints)
}
