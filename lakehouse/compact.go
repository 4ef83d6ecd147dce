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
	if cfg.Pool == nil {
		cfg.Pool = NewWorkPool(1)
	}
	tasks, err := t.compactTasks(ctx, cfg, full)
	if err != nil {
		return nil, err
	}
	return runTasks(ctx, cfg.Pool, tasks)
}

// compactTask compacts one bucket.
type compactTask func(ctx context.Context) (spec.CommitMessage, error)

// runTasks runs tasks by the compactors of pool and gives their messages.
func runTasks(ctx context.Context, pool *WorkPool, tasks []compactTask) ([]spec.CommitMessage, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cap(pool.compact))
	msgs := make([]spec.CommitMessage, len(tasks))
	for i, task := range tasks {
		g.Go(func() error {
			return run(ctx, pool.compact, func() (err error) {
				msgs[i], err = task(ctx)
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return nonEmpty(msgs), nil
}

// compactTasks gives what is due in the latest snapshot, bucket by bucket.
func (t *Table) compactTasks(ctx context.Context, cfg WriteConfig, full bool) ([]compactTask, error) {
	if err := t.checkWritable(); err != nil {
		return nil, err
	}
	layout, err := t.layout()
	if err != nil {
		return nil, err
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
	var tasks []compactTask
	j := compactJob{t: t, cfg: cfg, layout: layout, order: mergetree.NewKeyOrder(layout.KeyTypes())}
	if t.Options.DeletionVectors {
		if j.vectors, err = t.vectorsOf(ctx, s, func(bucketID) bool { return true }); err != nil {
			return nil, err
		}
	}
	for _, b := range byBucket(entries) {
		if layout.Append {
			if files := t.pickDeleted(filesOf(b), j.vectors[idOf(b[0].Partition, b[0].Bucket)], full); files != nil {
				tasks = append(tasks, func(ctx context.Context) (spec.CommitMessage, error) { return j.join(ctx, &b[0], files) })
			}
			continue
		}
		if unit, others, ok := j.pick(b, full); ok {
			tasks = append(tasks, func(ctx context.Context) (spec.CommitMessage, error) { return j.do(ctx, &b[0], unit, others) })
		}
	}
	return tasks, nil
}

func filesOf(entries []spec.ManifestEntry) []spec.DataFileMeta {
	files := make([]spec.DataFileMeta, len(entries))
	for i := range entries {
		files[i] = entries[i].File
	}
	return files
}

// compactJob compacts the buckets of a table.
type compactJob struct {
	t      *Table
	cfg    WriteConfig
	layout *mergetree.Layout
	order  *mergetree.KeyOrder
	// vectors are the deletion vectors of the snapshot that is compacted.
	vectors map[bucketID]*bucketVectors
	// lookups is nil where files are read whole.
	lookups *lookupFiles
}

func (j *compactJob) pick(bucket []spec.ManifestEntry, full bool) (unit mergetree.Unit, others []spec.DataFileMeta, ok bool) {
	tree := mergetree.NewTree(filesOf(bucket), j.order, j.t.Options.Compaction, j.t.Options.Engine)
	vectors := j.vectors[idOf(bucket[0].Partition, bucket[0].Bucket)]
	tree.Stale = func(f *spec.DataFileMeta) bool { return vectors.has(f.FileName) }
	what := mergetree.LiftDue
	switch {
	case full:
		what = mergetree.LiftAll
	case j.t.Options.Lookup:
		what = mergetree.LiftLevel0
	}
	return tree.NextLift(time.Now(), what)
}

func (j *compactJob) do(ctx context.Context, e *spec.ManifestEntry, unit mergetree.Unit, others []spec.DataFileMeta) (spec.CommitMessage, error) {
	m := spec.CommitMessage{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets}
	out, err := j.t.dataFiles(e.Partition, e.Bucket, j.cfg)
	if err != nil {
		return m, err
	}
	c, _, err := j.compact(ctx, bucketTask{
		partition: e.Partition, bucket: e.Bucket, files: out, unit: unit, others: others, vectors: j.vectors[idOf(e.Partition, e.Bucket)],
	})
	if err != nil {
		return m, err
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
		Format: t.Options.Files.Data, TargetSize: t.Options.TargetFileSize,
	}, nil
}

// pickAppend picks files of an append table to join: those of fixed buckets keep
// their order. full joins however few there are. Files that v says have deleted
// rows are left alone.
func (t *Table) pickAppend(live []spec.DataFileMeta, v *bucketVectors, full bool) []spec.DataFileMeta {
	least := t.Options.CompactMinFiles
	if full {
		least = 2
	}
	if v != nil {
		live = slices.DeleteFunc(slices.Clone(live), func(f spec.DataFileMeta) bool { return v.has(f.FileName) })
	}
	if t.mode() != fixedBuckets {
		return mergetree.PickAppend(live, t.Options.TargetFileSize, least)
	}
	if v != nil && len(v.sets) > 0 {
		return nil // what is left need not be adjacent
	}
	return mergetree.PickAdjacent(live, t.Options.TargetFileSize, least)
}

// pickDeleted is pickAppend for a job that knows the deletion vectors v of the
// snapshot: files with deleted rows are written without them, if they are small
// or the rows are many (AppendCompactCoordinator.java); full takes all of them.
// Of fixed buckets it takes one, so that the order stays.
func (t *Table) pickDeleted(live []spec.DataFileMeta, v *bucketVectors, full bool) []spec.DataFileMeta {
	var out []spec.DataFileMeta
	for _, f := range live {
		if !v.has(f.FileName) {
			continue
		}
		many := float64(v.sets[f.FileName].count()) > t.Options.DeleteRatio*float64(f.RowCount)
		if full || many || mergetree.Small(&f, t.Options.TargetFileSize) {
			out = append(out, f)
		}
	}
	switch {
	case len(out) == 0:
		return t.pickAppend(live, v, full)
	case t.mode() == fixedBuckets:
		return out[:1]
	default:
		return out
	}
}

// join puts files of a bucket of an append table together, without deleted rows.
func (j *compactJob) join(ctx context.Context, e *spec.ManifestEntry, files []spec.DataFileMeta) (spec.CommitMessage, error) {
	m := spec.CommitMessage{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets}
	out, err := j.t.dataFiles(e.Partition, e.Bucket, j.cfg)
	if err != nil {
		return m, err
	}
	old := j.vectors[idOf(e.Partition, e.Bucket)]
	if old == nil {
		old = &bucketVectors{}
	}
	deleted := func(_ context.Context, file string) (rowSet, error) { return old.sets[file], nil }
	open := j.t.filteredOpener(e.Partition, e.Bucket, j.layout.Columns.Fields, false, deleted, j.t.Options.Expire, nil)
	c, err := mergetree.CompactAppend(ctx, j.layout, files, out, open)
	if err != nil {
		return m, fmt.Errorf("compacting table %s: %w", j.t.Path, err)
	}
	if _, err := j.t.writeVectors(ctx, j.cfg, old, nil, c); err != nil {
		return m, err
	}
	compactMessage{&m}.take(c)
	return m, nil
}
