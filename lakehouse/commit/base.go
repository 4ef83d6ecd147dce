package commit

import (
	"context"
	"errors"
	"fmt"

	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// baseConflict refuses a part made from the rows of snapshot p.base if rows came
// into its buckets since then: they would be overwritten unseen. Compactions move
// rows and change none.
func (c *Committer) baseConflict(ctx context.Context, p *part) error {
	buckets := map[bucketID]bool{}
	for i := range p.entries {
		buckets[bucketOf(&p.entries[i])] = true
	}
	if c.view.id() < p.base {
		return c.conflictError(ctx, p, []conflict{{bucket: bucketOf(&p.entries[0]), why: fmt.Sprintf("snapshot %d, which its rows were made from, was taken back", p.base)}})
	}
	for id := p.base + 1; id <= c.view.id(); id++ {
		s, err := c.snaps.Read(ctx, id)
		if errors.Is(err, fileio.ErrNotExist) {
			return c.conflictError(ctx, p, []conflict{{bucket: bucketOf(&p.entries[0]), why: fmt.Sprintf("snapshot %d has expired already", id)}})
		}
		if err != nil {
			return err
		}
		if s.CommitKind == spec.Compact {
			continue
		}
		entries, err := c.manifests.Delta(ctx, s)
		if err != nil {
			return err
		}
		for i := range entries {
			if at := bucketOf(&entries[i]); buckets[at] {
				return c.conflictError(ctx, p, []conflict{{bucket: at, why: fmt.Sprintf("rows came since snapshot %d was read", p.base)}})
			}
		}
	}
	return nil
}
