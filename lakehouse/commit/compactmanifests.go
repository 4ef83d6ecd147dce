package commit

import (
	"context"

	"leat/lakehouse/spec"
)

// CompactManifests rewrites all manifests of the table without deletions and
// deleted files, as a COMPACT snapshot of user without changes. It gives the
// snapshot; 0 where the table has none. Options.ManifestFullCompactionSize has
// to be 1, so that small manifests are worth it.
func (c *Committer) CompactManifests(ctx context.Context, user string) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.user = user
	if err := c.refresh(ctx); err != nil {
		return 0, err
	}
	if c.view.snap == nil {
		return 0, nil
	}
	p := &part{user: user, identifier: spec.BatchIdentifier, kind: spec.Compact}
	id, err := c.commitPart(ctx, p)
	if err != nil {
		return 0, c.explain(p, err)
	}
	return id, nil
}
