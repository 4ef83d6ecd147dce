package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"leat/internal/columnar"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// lifts reports whether compactions ride in the message of the files that they
// compact: tables whose readers only see what was compacted.
func (t *Table) lifts() bool {
	return !t.Options.WriteOnly && len(t.Schema.PrimaryKeys) > 0 && t.mode() != postponedBuckets && (t.Options.Lookup || t.Options.ChangelogProducer == ChangelogFull)
}

// fullDue reports whether epoch id ends with a compaction of everything.
func (w *Writer) fullDue(id int64, now time.Time) bool {
	o := &w.t.Options
	n, producer := int64(o.FullDeltaCommits), o.ChangelogProducer == ChangelogFull
	due := n > 0 && id%n == 0
	switch {
	case n <= 0 && producer && o.FullInterval <= 0:
		due = true
	case producer && o.FullInterval > 0:
		due = due || now.Sub(w.lastFull) >= o.FullInterval
	}
	if due {
		w.lastFull = now
	}
	return due
}

// changelogFiles says where and how changelog files are written beside data files.
func (t *Table) changelogFiles(data mergetree.Files) mergetree.Files {
	c := data
	c.Prefix = t.Options.ChangelogFiles
	c.Format = t.Options.Files.Changelog
	return c
}

// compactOptions says what a compaction of unit does besides merging; others
// are the bucket's other files.
func (t *Table) compactOptions(unit mergetree.Unit, others []spec.DataFileMeta, files mergetree.Files) mergetree.CompactOptions {
	o := mergetree.CompactOptions{Changelog: t.changelogFiles(files), Lookup: t.Options.Lookup, Others: others}
	changes := &mergetree.ChangeOptions{Deduplicate: t.Options.RowDeduplicate, Ignored: t.Options.RowDeduplicateIgnore}
	switch {
	case t.Options.ChangelogProducer == ChangelogLookup:
		o.Changes = changes
	case t.Options.ChangelogProducer == ChangelogFull && unit.MaxLevel:
		changes.TopLevel = unit.Output
		o.Changes = changes
	}
	return o
}

// lift compacts what the epoch's files are to be compacted with, and puts the
// results into its messages. Only one epoch of a writer does so at a time.
func (w *Writer) lift(p *Prepared) error {
	type work struct {
		b       *bucket
		unit    mergetree.Unit
		others  []spec.DataFileMeta
		change  *mergetree.Change
		vectors *bucketVectors
	}
	what := mergetree.LiftDue
	if w.t.Options.Lookup {
		what = mergetree.LiftLevel0
	}
	if w.fullDue(p.id, time.Now()) {
		what = mergetree.LiftAll
		if err := w.openShallow(w.ctx); err != nil {
			return err
		}
	}
	w.mu.Lock()
	var todo []*work
	for _, b := range w.buckets {
		if b.tree == nil {
			continue
		}
		if unit, others, ok := b.tree.NextLift(time.Now(), what); ok {
			todo = append(todo, &work{b: b, unit: unit, others: others})
			b.lastEpoch = w.epoch
		}
	}
	w.mu.Unlock()
	var g errgroup.Group
	for _, k := range todo {
		g.Go(func() error {
			return run(w.ctx, w.cfg.Pool.compact, func() (err error) {
				if k.change, k.vectors, err = w.compactBucket(w.ctx, k.b, k.unit, k.others); w.overtaken(err, k.b, k.unit.Files, k.others) {
					k.change, err = nil, nil
				}
				return err
			})
		})
	}
	err := g.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range todo {
		change := k.change
		if err != nil {
			change = nil
		}
		switch {
		case k.b.tree.FinishLift(p.id, change):
			p.message(w, k.b).take(change)
			k.b.vectors = k.vectors
			w.lookups.drop(w.ctx, change)
		case k.change != nil:
			w.removeChange(context.WithoutCancel(w.ctx), k.b, k.change)
		}
	}
	return err
}

// openShallow opens the buckets of the table that a compaction of everything has
// to take along although this writer has no rows for them: those written before
// a restart, or so long ago that they were forgotten.
func (w *Writer) openShallow(ctx context.Context) error {
	s, err := w.t.LatestSnapshot(ctx)
	if err != nil || s == nil {
		return err
	}
	ids, err := w.t.live.shallow(ctx, w.t, s)
	if err != nil {
		return fmt.Errorf("reading table %s: %w", w.t.Path, err)
	}
	w.mu.Lock()
	var open []*bucket
	for _, id := range ids {
		if w.buckets[id] != nil {
			continue
		}
		p := w.router.partitionOf(spec.BinaryRow{Arity: len(w.t.Schema.PartitionKeys), Data: []byte(id.partition)})
		b := w.newBucket(p, id.bucket)
		*p.slot(id.bucket) = b
		open = append(open, b)
	}
	w.mu.Unlock()
	return w.openTrees(open)
}

// compactBucket does unit on b and gives the bucket's deletion vectors after it.
func (w *Writer) compactBucket(ctx context.Context, b *bucket, unit mergetree.Unit, others []spec.DataFileMeta) (*mergetree.Change, *bucketVectors, error) {
	j := compactJob{t: w.t, cfg: w.cfg, layout: w.layout, order: w.order, lookups: w.lookups}
	return j.compact(ctx, bucketTask{partition: b.part.row, bucket: b.no, files: w.files(b, w.t.Options.DataPrefix), unit: unit, others: others, vectors: b.vectors})
}

// bucketTask is the compaction of one bucket.
type bucketTask struct {
	partition spec.BinaryRow
	bucket    int32
	files     mergetree.Files
	unit      mergetree.Unit
	others    []spec.DataFileMeta
	vectors   *bucketVectors
}

func (j *compactJob) compact(ctx context.Context, k bucketTask) (*mergetree.Change, *bucketVectors, error) {
	t := j.t
	o := t.compactOptions(k.unit, k.others, k.files)
	var deleted deletedRows
	marks := vectors{}
	old := k.vectors
	if t.Options.DeletionVectors {
		if old == nil {
			old = &bucketVectors{}
		}
		deleted = func(_ context.Context, file string) (rowSet, error) { return old.sets[file], nil }
		o.Replaced = func(f *spec.DataFileMeta, position int64) {
			set, ok := marks[f.FileName]
			if !ok {
				set = slices.Clone(old.sets[f.FileName])
			}
			set.add(position)
			marks[f.FileName] = set
		}
		// What a delete deletes has its mark.
		k.unit.DropDelete = true
	}
	open := t.filteredOpener(k.partition, k.bucket, j.layout.Columns.Fields, true, deleted, t.Options.Expire, nil)
	j.lookUp(&o, k, deleted)
	c, err := mergetree.Compact(ctx, j.layout, j.order, k.unit, k.files, open, o)
	if err != nil {
		return nil, nil, fmt.Errorf("compacting table %s: %w", t.Path, err)
	}
	if !t.Options.DeletionVectors {
		return c, nil, nil
	}
	now, err := t.writeVectors(ctx, j.cfg, old, marks, c)
	return c, now, err
}

// lookUp lets a compaction find rows of the bucket's other files by key.
func (j *compactJob) lookUp(o *mergetree.CompactOptions, k bucketTask, deleted deletedRows) {
	if j.lookups == nil || !o.Lookup {
		return
	}
	all := j.layout.Columns.Fields
	keys := make([]columnar.Field, len(j.layout.Keys))
	for i, c := range j.layout.Keys {
		keys[i] = all[c]
	}
	o.Keys = j.t.opener(k.partition, k.bucket, keys, false)
	o.Find = func(ctx context.Context, f *spec.DataFileMeta, keys *mergetree.KeySet) (mergetree.RowReader, error) {
		r, err := j.lookups.find(ctx, k.partition, k.bucket, f, keys)
		if err != nil || r == nil {
			return nil, err
		}
		var gone rowSet
		if deleted != nil {
			if gone, err = deleted(ctx, f.FileName); err != nil {
				return nil, errors.Join(err, r.Close())
			}
		}
		if gone == nil && j.t.Options.Expire == nil {
			return r, nil
		}
		return openFiltered(f.FileName, all, gone, j.t.Options.Expire, func([]columnar.Field) (mergetree.RowReader, error) { return r, nil })
	}
}

// compactMessage is the part of a message that compactions fill.
type compactMessage struct{ *spec.CommitMessage }

func (m compactMessage) take(c *mergetree.Change) {
	m.CompactBefore = append(m.CompactBefore, c.Before...)
	m.CompactAfter = append(m.CompactAfter, c.After...)
	m.CompactChangelog = append(m.CompactChangelog, c.Changelog...)
	m.CompactNewIndex = append(m.CompactNewIndex, c.NewIndex...)
	m.CompactGoneIndex = append(m.CompactGoneIndex, c.GoneIndex...)
}

// message gives the epoch's message of b, a new one if there is none.
func (p *Prepared) message(w *Writer, b *bucket) compactMessage {
	id := idOf(b.part.row, b.no)
	for i := range p.msgs {
		if m := &p.msgs[i]; m.Bucket == id.bucket && string(m.Partition.Data) == id.partition {
			return compactMessage{m}
		}
	}
	p.msgs = append(p.msgs, spec.CommitMessage{Partition: b.part.row, Bucket: b.no, TotalBuckets: w.totalBuckets()})
	return compactMessage{&p.msgs[len(p.msgs)-1]}
}
