package maintain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// OrphanAge is the least age of a file that may count as an orphan: a younger
// one may belong to an epoch that is not committed yet.
const OrphanAge = 24 * time.Hour

// OrphanOptions steer RemoveOrphans.
type OrphanOptions struct {
	// OlderThan is the time before which a file must have been written.
	OlderThan time.Time
	// DryRun finds and removes nothing.
	DryRun bool
}

// Orphans is what RemoveOrphans found.
type Orphans struct {
	Paths []string
	Bytes int64
}

// RemoveOrphans removes the files of the table in directory path that no
// snapshot, tag, branch or kept changelog needs and that are older than asked:
// data files, manifests, index files, statistics, and temporary files beside
// snapshots, tags, schemas and consumers. What is no file of the format's directories stays.
func RemoveOrphans(ctx context.Context, fs fileio.FS, path string, o OrphanOptions) (Orphans, error) {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return Orphans{}, err
	}
	branches, err := t.branches(ctx)
	if err != nil {
		return Orphans{}, err
	}
	for _, b := range branches {
		if whole, err := hasSchema(ctx, fs, spec.BranchPath(fs.Join, path, b)); err != nil || !whole {
			if err == nil {
				err = &diag.Error{Domain: diag.Guard, Code: diag.CodeLakeInUse, Table: path, Msg: "branch " + b + " has no schema, so it cannot be told which files it needs", Hint: "delete the folder of the branch, or repair it"}
			}
			return Orphans{}, err
		}
	}
	// The candidates are listed before what is in use is read: a file that is
	// committed in between is in use.
	found, err := t.candidates(ctx, branches)
	if err != nil {
		return Orphans{}, err
	}
	found = slices.DeleteFunc(found, func(i fileio.Info) bool { return !i.ModTime.Before(o.OlderThan) })
	if len(found) == 0 {
		return Orphans{}, nil
	}
	used, err := t.used(ctx)
	if err != nil {
		return Orphans{}, err
	}
	var out Orphans
	for _, i := range found {
		if used[i.Name] {
			continue
		}
		if !o.DryRun {
			if err := fs.Remove(ctx, i.Path); err != nil {
				return out, fmt.Errorf("removing orphan %s: %w", i.Path, err)
			}
		}
		out.Paths = append(out.Paths, i.Path)
		out.Bytes += i.Size
	}
	return out, nil
}

// candidates lists the files that could be orphans.
func (t *table) candidates(ctx context.Context, branches []string) ([]fileio.Info, error) {
	found, err := t.filesOf(ctx, "")
	if err != nil {
		return nil, err
	}
	stats, err := t.matching(ctx, t.fs.Join(t.path, spec.StatsDir), "")
	if err != nil {
		return nil, err
	}
	found = append(found, stats...)
	for _, b := range append([]string{""}, branches...) {
		home := spec.BranchPath(t.fs.Join, t.path, b)
		for dir, own := range map[string][]string{
			spec.SnapshotDir:  {spec.SnapshotPrefix, spec.LatestHint, spec.EarliestHint},
			spec.ChangelogDir: {spec.ChangelogPrefix, spec.LatestHint, spec.EarliestHint},
			spec.TagDir:       {spec.TagPrefix, "tag-success-file"},
			spec.SchemaDir:    {spec.SchemaPrefix},
			spec.ConsumerDir:  {spec.ConsumerPrefix},
		} {
			files, err := t.matching(ctx, t.fs.Join(home, dir), "")
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				ours := slices.ContainsFunc(own, func(p string) bool { return strings.HasPrefix(f.Name, p) })
				temporary := strings.HasPrefix(f.Name, ".") && strings.HasSuffix(f.Name, ".tmp")
				if temporary || !ours && (dir == spec.SnapshotDir || dir == spec.ChangelogDir) {
					found = append(found, f)
				}
			}
		}
	}
	return found, nil
}
