package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// Committed says what became of epoch id: the snapshots its commit made, if
// any, and whether its compactions were left out because of a conflict. Where
// somebody else committed in between, or a compaction was dropped, the trees
// are read again and sequence numbers go on above everything live.
func (w *Writer) Committed(ctx context.Context, id int64, snapshots []int64, compactDropped bool) error {
	w.mu.Lock()
	for _, b := range w.buckets {
		if b.tree != nil {
			b.tree.Committed(id)
		}
	}
	reload, known := compactDropped, w.snapshot
	for _, s := range snapshots {
		reload = reload || (s != w.snapshot+1 && s > w.snapshot)
		w.snapshot = max(w.snapshot, s)
	}
	w.mu.Unlock()
	if !reload {
		return nil
	}
	if w.router.keyIndex != nil {
		if err := w.checkAlone(ctx, known, snapshots); err != nil {
			return err
		}
	}
	return w.reload(ctx, w.openBuckets())
}

// claim asks for a partition.
func (w *Writer) claim(partition spec.BinaryRow) error {
	if w.cfg.Claim == nil {
		return nil
	}
	path, err := w.t.paths.Partitions.Path(partition)
	if err != nil {
		return err
	}
	return w.cfg.Claim(strings.TrimSuffix(path, "/"))
}

// openBuckets gives the buckets whose files are known.
func (w *Writer) openBuckets() map[bucketID]*bucket {
	w.mu.Lock()
	defer w.mu.Unlock()
	open := map[bucketID]*bucket{}
	for id, b := range w.buckets {
		if b.tree != nil {
			open[id] = b
		}
	}
	return open
}

// reload reads the files of buckets again.
func (w *Writer) reload(ctx context.Context, open map[bucketID]*bucket) error {
	if len(open) == 0 {
		return nil
	}
	live, latest, err := w.liveFiles(ctx, open)
	if err != nil {
		return err
	}
	deleted, err := w.bucketVectors(ctx, latest, open)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, b := range open {
		if b.tree.Reload(live[id]); b.tree.Settled() {
			// Else what is prepared counts: should it be dropped, this comes again.
			b.vectors = deleted[id]
		}
	}
	w.snapshot = max(w.snapshot, latest)
	return nil
}

// meetOthers looks for commits of other users before rows get their sequence
// numbers: rows written now have to count above those that are in the table now.
// Tables without such an order, and those that may have one writer only, need no look.
func (w *Writer) meetOthers() error {
	if w.cfg.User == "" || w.layout.Append || w.layout.Postponed || w.router.keyIndex != nil {
		return nil
	}
	w.mu.Lock()
	seen := max(w.looked, w.snapshot)
	w.mu.Unlock()
	met := false
	for {
		s, err := w.t.snapshots.Read(w.ctx, seen+1)
		if errors.Is(err, fileio.ErrNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("looking for commits of others to table %s: %w", w.t.Path, err)
		}
		seen = s.ID
		met = met || s.CommitUser != w.cfg.User
	}
	w.mu.Lock()
	w.looked = max(w.looked, seen)
	w.mu.Unlock()
	if !met {
		return nil
	}
	return w.reload(w.ctx, w.openBuckets())
}
