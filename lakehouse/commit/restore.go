package commit

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"leat/lakehouse/spec"
)

// PropertyRestored is the property of a snapshot that brings back the state of an
// earlier one, whose id it holds.
const PropertyRestored = "leat.restored-snapshot"

// Restore makes the state of an earlier snapshot the latest one: an OVERWRITE
// snapshot of user takes out the files that came since and brings back those that
// are gone, without touching the snapshots between. It gives its id.
//
// Readers drop every entry of a file that any manifest deletes, so the base list
// is written anew, with nothing but live files. The files that come back are named
// by deletions of older snapshots: until these have expired a tag on target has to
// keep the files.
func (c *Committer) Restore(ctx context.Context, user string, target *spec.Snapshot) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.user = user
	p := &part{user: user, identifier: spec.BatchIdentifier, kind: spec.Overwrite, restore: target, properties: maps.Clone(target.Properties)}
	if p.properties == nil {
		p.properties = map[string]string{}
	}
	p.properties[PropertyRestored] = strconv.FormatInt(target.ID, 10)
	id, err := c.commitPart(ctx, p)
	if err != nil {
		return 0, c.explain(p, err)
	}
	return id, nil
}

// leadBack gives the part with the entries that lead from the view to its target.
func (c *Committer) leadBack(ctx context.Context, p *part) (*part, error) {
	q := *p
	q.entries, q.live = nil, nil
	if c.view.snap != nil {
		live, err := c.manifests.Live(ctx, c.view.snap)
		if err != nil {
			return nil, err
		}
		q.live = live
	}
	wanted, err := c.manifests.Live(ctx, p.restore)
	if err != nil {
		return nil, err
	}
	stays := map[string]bool{}
	name := func(e *spec.ManifestEntry) string {
		return fmt.Sprintf("%x/%d/%s", e.Partition.Data, e.Bucket, fileIdentity(&e.File))
	}
	for i := range wanted {
		stays[name(&wanted[i])] = true
	}
	there := map[string]bool{}
	for i := range q.live {
		e := q.live[i]
		if there[name(&e)] = true; !stays[name(&e)] {
			e.Kind = spec.Remove
			q.entries = append(q.entries, e)
		}
	}
	for i := range wanted {
		if !there[name(&wanted[i])] {
			q.entries = append(q.entries, wanted[i])
		}
	}
	return &q, nil
}

// baseOf gives the base list of the next snapshot and the names of what was written for it.
func (c *Committer) baseOf(ctx context.Context, v *view, p *part) ([]spec.ManifestFileMeta, []string, error) {
	if p.restore == nil {
		return c.mergeManifests(ctx, v.metas)
	}
	return c.writeManifests(ctx, p.live)
}

// takeOver gives a snapshot what belongs to the state that it brings back.
func (p *part) takeOver(s *spec.Snapshot) {
	if t := p.restore; t != nil {
		s.SchemaID, s.IndexManifest, s.Statistics, s.Watermark = t.SchemaID, t.IndexManifest, t.Statistics, t.Watermark
	}
}
