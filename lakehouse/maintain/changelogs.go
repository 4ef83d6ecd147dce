package maintain

import (
	"context"
	"fmt"
	"time"

	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// ChangelogExpiry are the changelog.* options of a table whose changelog lives
// longer than its snapshots.
type ChangelogExpiry struct {
	// RetainMin and RetainMax count snapshots and kept changelogs together.
	RetainMin, RetainMax int64
	// OlderThan is the time up to which changelogs go.
	OlderThan time.Time
	// Limit bounds how many go; 0 does not.
	Limit int64
	// All removes every kept changelog.
	All bool
}

// ExpireChangelogs removes changelogs that outlived their snapshots and gives
// their number. Each loses its own file first: a crash leaves orphans only.
func ExpireChangelogs(ctx context.Context, fs fileio.FS, path string, o ChangelogExpiry) (int, error) {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return 0, err
	}
	dir := fs.Join(path, spec.ChangelogDir)
	kept, err := t.readSnapshots(ctx, dir, spec.ChangelogPrefix)
	if err != nil || len(kept) == 0 {
		return 0, err
	}
	latest, err := t.snaps.Latest(ctx)
	if err != nil {
		return 0, err
	}
	next, err := t.nextOfConsumers(ctx)
	if err != nil {
		return 0, err
	}
	end := latest - o.RetainMin + 1
	if next > 0 {
		end = min(end, next)
	}
	set := fileSet{}
	gone := 0
	for _, s := range kept {
		tooMany := s.ID < latest-o.RetainMax+1
		over := s.ID < end && (tooMany || s.TimeMillis < o.OlderThan.UnixMilli())
		if !o.All && !over || o.Limit > 0 && int64(gone) >= o.Limit {
			break
		}
		if err := t.addSnapshot(ctx, set, s); err != nil {
			return gone, err
		}
		if err := fs.Remove(ctx, fs.Join(dir, fmt.Sprintf("%s%d", spec.ChangelogPrefix, s.ID))); err != nil {
			return gone, fmt.Errorf("expiring changelog %d: %w", s.ID, err)
		}
		gone++
	}
	if gone > 0 && gone < len(kept) {
		if err := fs.Replace(ctx, fs.Join(dir, spec.EarliestHint), fmt.Appendf(nil, "%d", kept[gone].ID)); err != nil {
			return gone, fmt.Errorf("expiring changelogs: %w", err)
		}
	}
	_, err = t.removeUnused(ctx, set)
	return gone, err
}
