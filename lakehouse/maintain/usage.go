package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"leat/internal/fileio"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// usage collects the names of all files that snapshots, tags, kept changelogs
// and those of branches need.
type usage struct {
	*table
	names map[string]bool
	// entries keeps manifests, which most snapshots share.
	entries map[string][]spec.ManifestEntry
}

// used gives the names of the files in use, without directories.
func (t *table) used(ctx context.Context) (map[string]bool, error) {
	for try := 1; ; try++ {
		u := &usage{table: t, names: map[string]bool{}, entries: map[string][]spec.ManifestEntry{}}
		err := u.collect(ctx)
		if err == nil {
			return u.names, nil
		}
		// Another writer may have expired a snapshot while it was read.
		if !errors.Is(err, fileio.ErrNotExist) || try >= referencedTries {
			return nil, fmt.Errorf("collecting the files in use: %w", err)
		}
	}
}

func (u *usage) collect(ctx context.Context) error {
	branches, err := u.branches(ctx)
	if err != nil {
		return err
	}
	for _, b := range append([]string{""}, branches...) {
		home := spec.BranchPath(u.fs.Join, u.path, b)
		if err := u.chain(ctx, home); err != nil {
			return err
		}
		for dir, prefix := range map[string]string{spec.TagDir: spec.TagPrefix, spec.ChangelogDir: spec.ChangelogPrefix} {
			snaps, err := u.readSnapshots(ctx, u.fs.Join(home, dir), prefix)
			if err != nil {
				return err
			}
			for _, s := range snaps {
				if err := u.whole(ctx, s, dir == spec.ChangelogDir); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// chain adds the snapshots of a table or branch: the first one whole, then what each one added.
func (u *usage) chain(ctx context.Context, home string) error {
	snaps := commit.NewSnapshots(u.fs, home)
	ids, err := snaps.List(ctx)
	if err != nil {
		return err
	}
	var last int64
	for i, id := range ids {
		s, err := snaps.Read(ctx, id)
		if err != nil {
			return err
		}
		if last > 0 && last == id-1 {
			err = u.step(ctx, s)
		} else {
			err = u.whole(ctx, s, true)
		}
		// An expiration that was cut short leaves old snapshots without their
		// manifests: what they alone needed is going anyway.
		if errors.Is(err, fileio.ErrNotExist) && i < len(ids)-1 {
			last = 0
			continue
		}
		if err != nil {
			return err
		}
		last = id
	}
	return nil
}

// whole adds all files of a snapshot; its changelog only where it is kept.
func (u *usage) whole(ctx context.Context, s *spec.Snapshot, changelog bool) error {
	entries, err := u.metadata(ctx, s)
	if err != nil {
		return err
	}
	live := map[string]*spec.ManifestEntry{}
	for i := range entries {
		e := &entries[i]
		if id := fmt.Sprintf("%x/%d/%s/%d", e.Partition.Data, e.Bucket, e.File.FileName, e.File.Level); e.Kind == spec.Add {
			live[id] = e
		} else {
			delete(live, id)
		}
	}
	for _, e := range live {
		u.file(&e.File)
	}
	if changelog {
		return u.changelog(ctx, s)
	}
	if s.ChangelogManifestList == nil {
		return nil
	}
	// A tag keeps the list of its changelog, not the files; other writers remove it too.
	if _, err := u.list(ctx, *s.ChangelogManifestList, false); !errors.Is(err, fileio.ErrNotExist) {
		return err
	}
	return nil
}

// step adds what a snapshot brought over the one before.
func (u *usage) step(ctx context.Context, s *spec.Snapshot) error {
	if _, err := u.list(ctx, s.BaseManifestList, false); err != nil {
		return err
	}
	entries, err := u.list(ctx, s.DeltaManifestList, true)
	if err != nil {
		return err
	}
	for i := range entries {
		if entries[i].Kind == spec.Add {
			u.file(&entries[i].File)
		}
	}
	if err := u.side(ctx, s); err != nil {
		return err
	}
	return u.changelog(ctx, s)
}

func (u *usage) metadata(ctx context.Context, s *spec.Snapshot) ([]spec.ManifestEntry, error) {
	base, err := u.list(ctx, s.BaseManifestList, true)
	if err != nil {
		return nil, err
	}
	delta, err := u.list(ctx, s.DeltaManifestList, true)
	if err != nil {
		return nil, err
	}
	return slices.Concat(base, delta), u.side(ctx, s)
}

// side adds the index files and the statistics of a snapshot.
func (u *usage) side(ctx context.Context, s *spec.Snapshot) error {
	if s.Statistics != nil {
		u.names[*s.Statistics] = true
	}
	if s.IndexManifest == nil || u.names[*s.IndexManifest] {
		return nil
	}
	index, err := u.manifests.Index(ctx, s)
	if err != nil {
		return err
	}
	for i := range index {
		u.names[index[i].File.FileName] = true
	}
	u.names[*s.IndexManifest] = true
	return nil
}

func (u *usage) changelog(ctx context.Context, s *spec.Snapshot) error {
	if s.ChangelogManifestList == nil {
		return nil
	}
	entries, err := u.list(ctx, *s.ChangelogManifestList, true)
	for i := range entries {
		u.file(&entries[i].File)
	}
	return err
}

// list adds a manifest list with its manifests and, on request, reads their entries.
func (u *usage) list(ctx context.Context, name string, read bool) ([]spec.ManifestEntry, error) {
	metas, err := u.manifests.List(ctx, name)
	if err != nil {
		return nil, err
	}
	u.names[name] = true
	var out []spec.ManifestEntry
	for i := range metas {
		manifest := metas[i].FileName
		u.names[manifest] = true
		if !read {
			continue
		}
		entries, ok := u.entries[manifest]
		if !ok {
			if entries, err = u.manifests.Entries(ctx, manifest); err != nil {
				return nil, err
			}
			u.entries[manifest] = entries
		}
		out = append(out, entries...)
	}
	return out, nil
}

func (u *usage) file(f *spec.DataFileMeta) {
	u.names[f.FileName] = true
	for _, e := range f.ExtraFiles {
		u.names[e] = true
	}
}

// branches lists the branches of the table. One without a schema is an error: it
// cannot be told which files it needs.
func (t *table) branches(ctx context.Context) ([]string, error) {
	infos, err := t.fs.List(ctx, t.fs.Join(t.path, spec.BranchDir))
	if err != nil {
		return nil, fmt.Errorf("listing branches: %w", err)
	}
	var out []string
	for _, i := range infos {
		if name, ok := strings.CutPrefix(i.Name, spec.BranchPrefix); ok && i.IsDir {
			out = append(out, name)
		}
	}
	return out, nil
}

// fileSet is files that may go, by name with their paths.
type fileSet map[string]string

// addSnapshot adds all files that a snapshot or tag names.
func (t *table) addSnapshot(ctx context.Context, set fileSet, s *spec.Snapshot) error {
	lists := []string{s.BaseManifestList, s.DeltaManifestList}
	if s.ChangelogManifestList != nil {
		lists = append(lists, *s.ChangelogManifestList)
	}
	for _, l := range lists {
		if set[l] != "" {
			continue
		}
		metas, err := t.manifests.List(ctx, l)
		if errors.Is(err, fileio.ErrNotExist) {
			continue // removed by a run that did not come to its end
		}
		if err != nil {
			return err
		}
		for i := range metas {
			if err := t.addManifest(ctx, set, metas[i].FileName); err != nil {
				return err
			}
		}
		set[l] = t.manifests.Path(l)
	}
	if s.Statistics != nil {
		set[*s.Statistics] = t.fs.Join(t.path, spec.StatsDir, *s.Statistics)
	}
	if s.IndexManifest == nil {
		return nil
	}
	index, err := t.manifests.Index(ctx, s)
	if err != nil && !errors.Is(err, fileio.ErrNotExist) {
		return err
	}
	for i := range index {
		set[index[i].File.FileName] = t.layout.IndexPath(&index[i].File)
	}
	set[*s.IndexManifest] = t.manifests.Path(*s.IndexManifest)
	return nil
}

func (t *table) addManifest(ctx context.Context, set fileSet, name string) error {
	if set[name] != "" {
		return nil
	}
	entries, err := t.manifests.Entries(ctx, name)
	if errors.Is(err, fileio.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	set[name] = t.manifests.Path(name)
	for i := range entries {
		e := &entries[i]
		paths, err := t.layout.FilePaths(e.Partition, e.Bucket, &e.File)
		if err != nil {
			return err
		}
		for _, p := range paths {
			set[p[strings.LastIndexByte(p, '/')+1:]] = p
		}
	}
	return nil
}

// removeUnused removes the files of set that nothing needs any more, data files
// before the manifests that name them.
func (t *table) removeUnused(ctx context.Context, set fileSet) (int, error) {
	if len(set) == 0 {
		return 0, nil
	}
	used, err := t.used(ctx)
	if err != nil {
		return 0, err
	}
	removed := 0
	meta := t.fs.Join(t.path, spec.ManifestDir) + "/"
	for _, manifests := range []bool{false, true} {
		for name, path := range set {
			if used[name] || strings.HasPrefix(path, meta) != manifests {
				continue
			}
			if err := t.fs.Remove(ctx, path); err != nil {
				return removed, fmt.Errorf("removing %s: %w", path, err)
			}
			removed++
		}
	}
	return removed, nil
}
