package lakehouse

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// lifts reports whether compactions ride in the message of the files that they
// compact: tables whose readers only see what was compacted.
func (t *Table) lifts() bool {
	return !t.Options.WriteOnly && len(t.Schema.PrimaryKeys) > 0 && (t.Options.Lookup || t.Options.ChangelogProducer == ChangelogFull)
}

// fullDue reports whether epoch id ends with a compaction of everything.
func (t *Table) fullDue(id int64) bool {
	n := int64(t.Options.FullDeltaCommits)
	if n <= 0 && t.Options.ChangelogProducer == ChangelogFull {
		n = 1
	}
	return n > 0 && id%n == 0
}

// changelogFiles says where and how changelog files are written beside data files.
func (t *Table) changelogFiles(data mergetree.Files) mergetree.Files {
	c := data
	c.Prefix = t.Options.ChangelogFiles
	if t.Options.ChangelogCompression != "" {
		c.Format.Compression = t.Options.ChangelogCompression
	}
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
		b      *bucket
		unit   mergetree.Unit
		others []spec.DataFileMeta
		change *mergetree.Change
	}
	w.mu.Lock()
	var todo []*work
	full := w.t.fullDue(p.id)
	for _, b := range w.buckets {
		if b.tree == nil {
			continue
		}
		if unit, others, ok := b.tree.NextLift(time.Now(), full); ok {
			todo = append(todo, &work{b: b, unit: unit, others: others})
			b.lastEpoch = w.epoch
		}
	}
	w.mu.Unlock()
	var g errgroup.Group
	for _, k := range todo {
		g.Go(func() error {
			return run(w.ctx, w.cfg.Pool.compact, func() (err error) {
				k.change, err = w.compactBucket(w.ctx, k.b, k.unit, k.others)
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
		case k.change != nil:
			w.removeChange(context.WithoutCancel(w.ctx), k.b, k.change)
		}
	}
	return err
}

// compactBucket does unit on b.
func (w *Writer) compactBucket(ctx context.Context, b *bucket, unit mergetree.Unit, others []spec.DataFileMeta) (*mergetree.Change, error) {
	files := w.files(b, w.t.Options.DataPrefix)
	open := w.t.opener(b.part.row, b.no, w.layout.Columns.Fields, true)
	c, err := mergetree.Compact(ctx, w.layout, w.order, unit, files, open, w.t.compactOptions(unit, others, files))
	if err != nil {
		return nil, fmt.Errorf("compacting table %s: %w", w.t.Path, err)
	}
	return c, nil
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
