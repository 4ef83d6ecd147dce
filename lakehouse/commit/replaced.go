package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// replaceable is how long after its create a snapshot of ours may be replaced:
// Paimon's Java writers on a local disk look whether the name is free and then
// rename over it, and a loaded machine may stop them in between.
const replaceable = 5 * time.Second

// ownSnapshot is a snapshot made here, to find out whether it is still there.
type ownSnapshot struct {
	id      int64
	content []byte
	part    *part
	// delta are the manifests of its entries.
	delta []string
	// seen says that it was there before the next one was made of it; until is
	// when nobody can replace it any more.
	seen  bool
	until time.Time
}

// remember keeps the snapshot of the view, made of p, for verifyRecent.
func (c *Committer) remember(p *part, delta []spec.ManifestFileMeta) {
	o := &ownSnapshot{id: c.view.id(), content: c.view.content, part: p, until: time.Now().Add(replaceable)}
	for i := range delta {
		o.delta = append(o.delta, delta[i].FileName)
	}
	c.recent = append(c.recent, o)
}

// verifyRecent reads the snapshots of ours again that another writer could have
// replaced: each before the next commit, and once more after its time.
func (c *Committer) verifyRecent(ctx context.Context) error {
	var kept []*ownSnapshot
	for i, o := range c.recent {
		over := time.Now().After(o.until)
		if o.seen && !over || o.id == c.view.id() { // that one is looked at by verifyView
			kept = append(kept, o)
			continue
		}
		b, err := c.fs.ReadFile(ctx, c.snaps.Path(o.id))
		switch {
		case errors.Is(err, fileio.ErrNotExist): // expired, or rolled back: verifyView tells
		case err != nil:
			return fmt.Errorf("reading snapshot %d again: %w", o.id, err)
		case !bytes.Equal(b, o.content):
			c.recent = append(kept, c.recent[i+1:]...)
			return c.mend(ctx, o, b)
		case !over:
			o.seen = true
			kept = append(kept, o)
		}
	}
	c.recent = kept
	return nil
}

// Settle looks once more whether the last snapshots made are still there, and
// commits again what another writer replaced. It is for the end of a job.
func (c *Committer) Settle(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.recent {
		o.seen = false
	}
	if len(c.recent) == 0 {
		return nil
	}
	if err := c.refresh(ctx); err != nil {
		return err
	}
	return c.redoBefore(ctx, key{})
}

// replaced acts on content of another writer in the place of snapshot id, which the view is at.
func (c *Committer) replaced(ctx context.Context, id int64, content []byte) error {
	if i := slices.IndexFunc(c.recent, func(o *ownSnapshot) bool { return o.id == id }); i >= 0 {
		o := c.recent[i]
		c.recent = slices.Delete(c.recent, i, i+1)
		return c.mend(ctx, o, content)
	}
	c.log.Warn("another writer replaced the snapshot that the next one was to follow", "snapshot", id)
	c.view, c.seen = nil, id-1
	return nil
}

// mend sees to it that nothing is lost where content of another writer stands in
// the place of our snapshot o:
//   - later snapshots, if any, follow the other's: our part is committed again.
//   - later snapshots follow ours: our snapshot is put back, so that the history
//     tells what the later ones are made of, and the other's part is committed
//     again under its own user and identifier.
func (c *Committer) mend(ctx context.Context, o *ownSnapshot, content []byte) error {
	other, err := spec.ParseSnapshot(content)
	if err != nil {
		return corrupt(c.snaps.Path(o.id), err)
	}
	follows, err := c.followsOurs(ctx, o)
	if err != nil {
		return err
	}
	p := o.part
	log := c.log.With("snapshot", o.id, "other_user", other.CommitUser, "other_identifier", other.CommitIdentifier)
	if !follows {
		log.Warn("another writer replaced our snapshot; committing its content again", "identifier", p.identifier, "kind", p.kind)
		delete(c.own, p.key())
		c.redo, c.view, c.seen = append(c.redo, p), nil, o.id-1
		return nil
	}
	lost, err := c.partOf(ctx, other, o)
	if err != nil {
		return err
	}
	if err := c.fs.Replace(ctx, c.snaps.Path(o.id), o.content); err != nil {
		return fmt.Errorf("putting snapshot %d back: %w", o.id, err)
	}
	if lost == nil {
		log.Error("another writer replaced our snapshot after later ones were made of it; its commit is lost, ours is back")
		return nil
	}
	log.Warn("another writer replaced our snapshot after later ones were made of it; ours is back, and its commit follows")
	c.redo = append(c.redo, lost)
	return nil
}

// followsOurs reports whether the snapshot after o was made of ours; there may be none.
func (c *Committer) followsOurs(ctx context.Context, o *ownSnapshot) (bool, error) {
	next, err := c.snaps.Read(ctx, o.id+1)
	if errors.Is(err, fileio.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	base, err := c.manifests.List(ctx, next.BaseManifestList)
	if err != nil {
		return false, err
	}
	for i := range base {
		if slices.Contains(o.delta, base[i].FileName) {
			return true, nil
		}
	}
	// The next commit may have merged the manifests; then the files tell.
	entries, err := c.manifests.Read(ctx, base)
	if err != nil {
		return false, err
	}
	there := newLiveSet()
	there.apply(entries)
	for i := range o.part.entries {
		e := &o.part.entries[i]
		if _, live := there.buckets[bucketOf(e)][fileIdentity(&e.File)]; live != (e.Kind == spec.Add) {
			return false, nil
		}
	}
	return len(o.part.entries) > 0, nil
}

// partOf gives what the snapshot of another writer did, to commit it again; nil
// if that cannot be: it changed index files, or replaced what was there.
func (c *Committer) partOf(ctx context.Context, s *spec.Snapshot, o *ownSnapshot) (*part, error) {
	ours, err := spec.ParseSnapshot(o.content)
	if err != nil {
		return nil, corrupt(c.snaps.Path(o.id), err)
	}
	sameIndex := s.IndexManifest == nil || ours.IndexManifest != nil && *s.IndexManifest == *ours.IndexManifest
	if !sameIndex || s.CommitKind != spec.Append && s.CommitKind != spec.Compact {
		return nil, nil //nolint:nilnil // the caller says so
	}
	p := &part{
		user: s.CommitUser, identifier: s.CommitIdentifier, kind: s.CommitKind, properties: s.Properties,
		watermark: s.Watermark, check: true, adopted: true,
	}
	if p.entries, err = c.manifests.Delta(ctx, s); err != nil || s.ChangelogManifestList == nil {
		return p, err
	}
	metas, err := c.manifests.List(ctx, *s.ChangelogManifestList)
	if err != nil {
		return nil, err
	}
	p.changelog, err = c.manifests.Read(ctx, metas)
	return p, err
}

// redoBefore commits what has to be committed again before the part k.
func (c *Committer) redoBefore(ctx context.Context, k key) error {
	for len(c.redo) > 0 && c.redo[0].key() != k {
		r := c.redo[0]
		if _, err := c.commitPart(ctx, r); err != nil {
			if !r.adopted || !errors.Is(err, ErrConflict) {
				return fmt.Errorf("committing identifier %d of user %s again: %w", r.identifier, r.user, err)
			}
			c.log.Error("the commit of another writer, which replaced a snapshot of ours, is lost", "error", err)
			c.redo = c.redo[1:]
		}
	}
	return nil
}
