package lakehouse

import (
	"context"
	"errors"
	"fmt"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// idleEpochs is how many epochs a bucket may see no row before its writer forgets it.
const idleEpochs = 8

// bucket is the writing side of one (partition, bucket). Writer.mu guards it.
type bucket struct {
	part *partition
	no   int32
	dir  string
	// buf takes rows; nil while the bucket has none.
	buf *mergetree.Buffer
	// tree is nil until the first flush reads the bucket's files.
	tree *mergetree.Tree
	// vectors are the bucket's deletion vectors as of everything prepared; nil without.
	vectors *bucketVectors
	// lastEpoch is the last epoch with rows, users counts flushes under way.
	lastEpoch int64
	users     int
}

// newBucket makes the bucket no of p. The caller holds w.mu.
func (w *Writer) newBucket(p *partition, no int32) *bucket {
	b := &bucket{part: p, no: no, lastEpoch: w.epoch}
	w.buckets[idOf(p.row, no)] = b
	return b
}

// openTrees reads, in one pass over the manifests, the live files of those
// buckets that have no tree yet.
func (w *Writer) openTrees(buckets []*bucket) error {
	w.mu.Lock()
	missing := map[bucketID]*bucket{}
	for _, b := range buckets {
		if b.tree == nil {
			missing[idOf(b.part.row, b.no)] = b
		}
	}
	w.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	for _, b := range missing {
		dir, err := w.t.paths.BucketPath(b.part.row, b.no)
		if err == nil {
			err = w.claim(b.part.row)
		}
		if err != nil {
			return err
		}
		b.dir = dir
	}
	live, snapshot, err := w.liveFiles(w.ctx, missing)
	if err != nil {
		return err
	}
	deleted, err := w.bucketVectors(w.ctx, snapshot, missing)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, b := range missing {
		b.vectors = deleted[id]
		if w.layout.Postponed {
			b.tree = mergetree.NewAppendTree(nil, func([]spec.DataFileMeta) []spec.DataFileMeta { return nil })
			continue
		}
		if w.layout.Append {
			b.tree = mergetree.NewAppendTree(live[id], func(live []spec.DataFileMeta) []spec.DataFileMeta { return w.t.pickAppend(live, b.vectors, false) })
			continue
		}
		b.tree = mergetree.NewTree(live[id], w.order, w.t.Options.Compaction, w.t.Options.Engine)
		b.tree.Stale = func(f *spec.DataFileMeta) bool { return b.vectors.has(f.FileName) }
	}
	return nil
}

// bucketVectors reads the deletion vectors of some buckets at a snapshot.
func (w *Writer) bucketVectors(ctx context.Context, snapshot int64, of map[bucketID]*bucket) (map[bucketID]*bucketVectors, error) {
	if !w.t.Options.DeletionVectors || snapshot == 0 || w.layout.Postponed {
		return nil, nil //nolint:nilnil // there are none
	}
	s, err := w.t.Snapshot(ctx, snapshot)
	if err != nil {
		return nil, err
	}
	return w.t.vectorsOf(ctx, s, func(id bucketID) bool { return of[id] != nil })
}

// liveFiles gives the live files of some buckets at the latest snapshot, whose
// id it gives. Unaware append tables that nobody compacts here and postponed rows
// need none: their files are independent of each other.
func (w *Writer) liveFiles(ctx context.Context, of map[bucketID]*bucket) (map[bucketID][]spec.DataFileMeta, int64, error) {
	if w.cfg.Anew || w.layout.Postponed || w.layout.Append && w.t.Options.Bucket < 1 && w.t.Options.WriteOnly {
		return nil, 0, nil
	}
	s, err := w.t.LatestSnapshot(ctx)
	if err != nil || s == nil {
		return nil, 0, err
	}
	live, at, err := w.t.live.at(ctx, w.t, s, of)
	if err != nil {
		return nil, 0, fmt.Errorf("reading table %s: %w", w.t.Path, err)
	}
	out := map[bucketID][]spec.DataFileMeta{}
	for id, b := range live {
		if b.total > 0 && b.total != w.totalBuckets() {
			return nil, 0, &diag.Error{
				Domain: diag.User, Code: diag.CodeLakeShape, Table: w.t.Path, Option: spec.OptionBucket,
				Msg:  fmt.Sprintf("a partition was written with %d buckets, the table has %d now", b.total, w.totalBuckets()),
				Hint: "set the option back, or stop the job and CALL sys.rescale for the partition",
			}
		}
		out[id] = b.files
	}
	return out, at, nil
}

// compact does unit on bucket b in the background.
func (w *Writer) compact(b *bucket, unit mergetree.Unit) {
	var change *mergetree.Change
	err := run(w.ctx, w.cfg.Pool.compact, func() error {
		var err error
		if w.layout.Append {
			open := w.t.opener(b.part.row, b.no, w.layout.Columns.Fields, false)
			change, err = mergetree.CompactAppend(w.ctx, w.layout, unit.Files, w.files(b, w.t.Options.DataPrefix), open)
		} else {
			change, _, err = w.compactBucket(w.ctx, b, unit, nil)
		}
		return err
	})
	taken := w.overtaken(err, b, unit.Files)
	w.mu.Lock()
	ok := b.tree.Finish(change)
	if err != nil && !taken && !errors.Is(err, context.Canceled) {
		w.fail(fmt.Errorf("compacting table %s: %w", w.t.Path, err))
	}
	w.compacting--
	close(w.compacted)
	w.compacted = make(chan struct{})
	w.mu.Unlock()
	if !ok && change != nil {
		w.removeChange(context.WithoutCancel(w.ctx), b, change)
	}
}

// overtaken reports whether err says that files of a compaction are gone because
// somebody else compacted them and the snapshots that named them have expired.
// Such a compaction is lost, as if its commit had been dropped.
func (w *Writer) overtaken(err error, b *bucket, files ...[]spec.DataFileMeta) bool {
	if !errors.Is(err, fileio.ErrNotExist) {
		return false
	}
	id := idOf(b.part.row, b.no)
	live, _, lerr := w.liveFiles(w.ctx, map[bucketID]*bucket{id: b})
	if lerr != nil {
		return false
	}
	still := map[string]bool{}
	for i := range live[id] {
		still[live[id][i].FileName] = true
	}
	gone := false
	for _, list := range files {
		for i := range list {
			paths, perr := w.t.paths.FilePaths(b.part.row, b.no, &list[i])
			if perr != nil {
				return false
			}
			if _, serr := w.t.FS.Stat(w.ctx, paths[0]); !errors.Is(serr, fileio.ErrNotExist) {
				continue
			}
			if still[list[i].FileName] {
				return false
			}
			gone = true
		}
	}
	if gone {
		w.log.Info("compaction given up: others compacted its files", "table", w.t.Path, "bucket", b.no)
	}
	return gone
}

// removeChange removes the new files of a compaction that no message names.
func (w *Writer) removeChange(ctx context.Context, b *bucket, c *mergetree.Change) {
	old := map[string]bool{}
	for i := range c.Before {
		old[c.Before[i].FileName] = true
	}
	for i := range c.After {
		if !old[c.After[i].FileName] {
			w.remove(ctx, b, c.After[i:i+1])
		}
	}
	w.remove(ctx, b, c.Changelog)
	for i := range c.NewIndex {
		if err := w.t.FS.Remove(ctx, w.t.paths.IndexPath(&c.NewIndex[i])); err != nil {
			w.log.Warn("index file left behind", "file", c.NewIndex[i].FileName, "error", err)
		}
	}
}
