package lakehouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// Compact compacts the latest snapshot apart from any writer and gives the
// messages to commit, none if nothing is due. full takes every bucket of a
// primary-key table to its deepest level; otherwise, and for append tables,
// the strategies of background compaction decide. Buckets that a writer is
// compacting too end as a conflict of one of the two commits.
func (t *Table) Compact(ctx context.Context, cfg WriteConfig, full bool) ([]spec.CommitMessage, error) {
	if err := t.checkWritable(); err != nil {
		return nil, err
	}
	layout, err := t.layout()
	if err != nil {
		return nil, err
	}
	if cfg.Pool == nil {
		cfg.Pool = NewWorkPool(1)
	}
	s, err := t.LatestSnapshot(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	entries, err := t.manifests.Live(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	if cfg.Partition != nil {
		entries = slices.DeleteFunc(entries, func(e spec.ManifestEntry) bool { return !cfg.Partition(e.Partition) })
	}
	if layout.Append {
		return t.compactAppend(ctx, cfg, layout, entries)
	}
	j := compactJob{t: t, cfg: cfg, layout: layout, order: mergetree.NewKeyOrder(layout.KeyTypes())}
	var g errgroup.Group
	buckets := byBucket(entries)
	msgs := make([]spec.CommitMessage, len(buckets))
	for i, b := range buckets {
		if unit, others, ok := j.pick(b, full); ok {
			g.Go(func() error {
				return run(ctx, cfg.Pool.compact, func() (err error) {
					msgs[i], err = j.do(ctx, &b[0], unit, others)
					return err
				})
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return nonEmpty(msgs), nil
}

// compactJob compacts the buckets of a primary-key table.
type compactJob struct {
	t      *Table
	cfg    WriteConfig
	layout *mergetree.Layout
	order  *mergetree.KeyOrder
}

func (j *compactJob) pick(bucket []spec.ManifestEntry, full bool) (unit mergetree.Unit, others []spec.DataFileMeta, ok bool) {
	files := make([]spec.DataFileMeta, len(bucket))
	for i := range bucket {
		files[i] = bucket[i].File
	}
	tree := mergetree.NewTree(files, j.order, j.t.Options.Compaction, j.t.Options.Engine)
	if full || j.t.Options.Lookup {
		return tree.NextLift(time.Now(), full)
	}
	unit, ok = tree.Next(time.Now())
	return unit, nil, ok
}

func (j *compactJob) do(ctx context.Context, e *spec.ManifestEntry, unit mergetree.Unit, others []spec.DataFileMeta) (spec.CommitMessage, error) {
	m := spec.CommitMessage{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets}
	out, err := j.t.dataFiles(e.Partition, e.Bucket, j.cfg)
	if err != nil {
		return m, err
	}
	open := j.t.opener(e.Partition, e.Bucket, j.layout.Columns.Fields, true)
	c, err := mergetree.Compact(ctx, j.layout, j.order, unit, out, open, j.t.compactOptions(unit, others, out))
	if err != nil {
		return m, fmt.Errorf("compacting table %s: %w", j.t.Path, err)
	}
	compactMessage{&m}.take(c)
	return m, nil
}

func nonEmpty(msgs []spec.CommitMessage) []spec.CommitMessage {
	var out []spec.CommitMessage
	for _, m := range msgs {
		if len(m.CompactBefore) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// byBucket groups entries by bucket, in order of first appearance; buckets below 0 are left out.
func byBucket(entries []spec.ManifestEntry) [][]spec.ManifestEntry {
	at := map[bucketID]int{}
	var out [][]spec.ManifestEntry
	for _, e := range entries {
		if e.Bucket < 0 {
			continue
		}
		id := idOf(e.Partition, e.Bucket)
		i, ok := at[id]
		if !ok {
			i = len(out)
			at[id] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], e)
	}
	return out
}

// dataFiles says where data files of a bucket are written.
func (t *Table) dataFiles(partition spec.BinaryRow, bucket int32, cfg WriteConfig) (mergetree.Files, error) {
	dir, err := t.paths.BucketPath(partition, bucket)
	if err != nil {
		return mergetree.Files{}, fmt.Errorf("naming a bucket of table %s: %w", t.Path, err)
	}
	return mergetree.Files{
		FS: t.FS, Dir: dir, Prefix: t.Options.DataPrefix, Attempt: cfg.Attempt, Counter: &cfg.Pool.names,
		Format: t.Options.Parquet, TargetSize: t.Options.TargetFileSize,
	}, nil
}

// pickAppend picks files of an append table to join: those of fixed buckets keep their order.
func (t *Table) pickAppend(live []spec.DataFileMeta) []spec.DataFileMeta {
	if t.mode() == fixedBuckets {
		return mergetree.PickAdjacent(live, t.Options.TargetFileSize, t.Options.CompactMinFiles)
	}
	return mergetree.PickAppend(live, t.Options.TargetFileSize, t.Options.CompactMinFiles)
}

// compactAppend joins small files of each bucket of an append table.
func (t *Table) compactAppend(ctx context.Context, cfg WriteConfig, layout *mergetree.Layout, entries []spec.ManifestEntry) ([]spec.CommitMessage, error) {
	var msgs []spec.CommitMessage
	for _, b := range byBucket(entries) {
		files := make([]spec.DataFileMeta, len(b))
		for i := range b {
			files[i] = b[i].File
		}
		small := t.pickAppend(files)
		if small == nil {
			continue
		}
		e := &b[0]
		out, err := t.dataFiles(e.Partition, e.Bucket, cfg)
		if err != nil {
			return nil, err
		}
		c, err := mergetree.CompactAppend(ctx, layout, small, out, t.opener(e.Partition, e.Bucket, layout.Columns.Fields, false))
		if err != nil {
			return nil, fmt.Errorf("compacting table %s: %w", t.Path, err)
		}
		msgs = append(msgs, spec.CommitMessage{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets, CompactBefore: c.Before, CompactAfter: c.After})
	}
	return msgs, nil
}
