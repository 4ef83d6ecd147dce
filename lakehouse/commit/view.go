package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// view is the table as of one snapshot: its manifests, and its live files once
// a check needed them. It follows the table without reading it again.
type view struct {
	// snap is nil for a table without snapshots; content is its file.
	snap    *spec.Snapshot
	content []byte
	metas   []spec.ManifestFileMeta
	live    *liveSet
}

// advance moves v to snap, made from base and delta manifests; entries are those of delta.
func (v *view) advance(snap *spec.Snapshot, content []byte, base, delta []spec.ManifestFileMeta, entries []spec.ManifestEntry) {
	v.snap, v.content = snap, content
	v.metas = append(append(make([]spec.ManifestFileMeta, 0, len(base)+len(delta)), base...), delta...)
	if v.live != nil {
		v.live.apply(entries)
	}
}

func (v *view) id() int64 {
	if v == nil || v.snap == nil {
		return 0
	}
	return v.snap.ID
}

// refresh brings the view to the latest snapshot. Own snapshots on the way are
// noted in c.own, foreign ones are told to Options.Foreign. Where another writer
// replaced a snapshot that the view rests on, c.redo holds what has to be
// committed again afterwards.
func (c *Committer) refresh(ctx context.Context) error {
	if err := c.verifyRecent(ctx); err != nil {
		return err
	}
	if c.view != nil {
		if err := c.verifyView(ctx); err != nil {
			return err
		}
	}
	if c.view == nil {
		return c.open(ctx)
	}
	for {
		snap, content, err := c.snaps.read(ctx, c.view.id()+1)
		if errors.Is(err, fileio.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.follow(ctx, snap, content); err != nil {
			return err
		}
	}
}

// open loads the latest snapshot and looks at those that came since c.seen. A
// committer that has seen nothing takes what is there as known: after a
// restart FindCommitted has to be asked first.
func (c *Committer) open(ctx context.Context) error {
	latest, err := c.snaps.Latest(ctx)
	if err != nil {
		return err
	}
	if c.seen < 0 {
		c.seen = latest
	}
	if latest < c.seen {
		return c.rolledBack(c.seen, latest)
	}
	for c.seen < latest {
		snap, err := c.snaps.Read(ctx, c.seen+1)
		switch {
		case errors.Is(err, fileio.ErrNotExist):
			// Expired before we looked.
			c.gapFrom = c.seen
			earliest, err := c.snaps.Earliest(ctx)
			if err != nil {
				return err
			}
			c.seen = max(c.seen+1, earliest-1)
			c.miss(c.seen)
		case err != nil:
			return err
		default:
			c.note(snap)
		}
	}
	v := &view{}
	if latest > 0 {
		if v.snap, v.content, err = c.snaps.read(ctx, latest); err != nil {
			return err
		}
		if v.metas, err = c.manifests.All(ctx, v.snap); err != nil {
			return err
		}
	}
	c.view = v
	return nil
}

// follow moves the view to the next snapshot, which somebody else made (or an
// earlier create of ours whose answer did not come).
func (c *Committer) follow(ctx context.Context, snap *spec.Snapshot, content []byte) error {
	metas, err := c.manifests.All(ctx, snap)
	if err != nil {
		return err
	}
	if c.view.live != nil {
		entries, err := c.manifests.Delta(ctx, snap)
		if err != nil {
			return err
		}
		c.view.live.apply(entries)
	}
	c.view.snap, c.view.content, c.view.metas = snap, content, metas
	c.note(snap)
	return nil
}

// note remembers what a snapshot means for later commits.
func (c *Committer) note(snap *spec.Snapshot) {
	c.seen = snap.ID
	if snap.CommitUser == c.user {
		c.own[key{user: snap.CommitUser, identifier: snap.CommitIdentifier, kind: snap.CommitKind}] = snap.ID
		return
	}
	c.foreign = snap
	c.tellForeign(snap)
}

func (c *Committer) tellForeign(snap *spec.Snapshot) {
	if c.opt.Foreign != nil {
		c.opt.Foreign(snap)
	}
}

func (c *Committer) miss(last int64) {
	if c.opt.Missed != nil {
		c.opt.Missed(last)
	}
}

// verifyView reads the snapshot of the view again. If it was expired, or if
// another writer put its own in that place, the view is given up.
func (c *Committer) verifyView(ctx context.Context) error {
	id := c.view.id()
	if id == 0 {
		return nil
	}
	b, err := c.fs.ReadFile(ctx, c.snaps.Path(id))
	if errors.Is(err, fileio.ErrNotExist) {
		latest, err := c.snaps.Latest(ctx)
		if err != nil {
			return err
		}
		if latest <= id {
			return c.rolledBack(id, latest)
		}
		c.view = nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading snapshot %d again: %w", id, err)
	}
	if !bytes.Equal(b, c.view.content) {
		return c.replaced(ctx, id, b)
	}
	for _, o := range c.recent {
		o.seen = o.seen || o.id == id
	}
	return nil
}

func (c *Committer) rolledBack(id, latest int64) error {
	return &diag.Error{
		Domain: diag.Guard, Code: diag.CodeLakeMissing, Table: c.table,
		Msg:  fmt.Sprintf("snapshot %d is gone and the latest is %d: the table was rolled back or made anew while the job ran", id, latest),
		Hint: "start the job again; it then checks the table against its last checkpoint",
	}
}

// liveFiles gives the live files of the view, reading the manifests once.
func (c *Committer) liveFiles(ctx context.Context) (*liveSet, error) {
	v := c.view
	if v.live == nil {
		live := newLiveSet()
		for i := range v.metas {
			entries, err := c.manifests.Entries(ctx, v.metas[i].FileName)
			if err != nil {
				return nil, err
			}
			live.apply(entries)
		}
		v.live = live
	}
	return v.live, nil
}
