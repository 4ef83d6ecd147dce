package maintain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// minAttempt is the least length of an attempt's name: a shorter one would be part of foreign names.
const minAttempt = 8

// referencedTries bounds the tries to read all snapshots while others expire some.
const referencedTries = 5

// RemoveAttempt removes the data, changelog and manifest files of the table at
// path whose names carry the attempt (a uuid), as far as no snapshot, tag,
// branch or kept changelog refers to them and keep does not name them (without
// directory). Temporary files of the attempt go too. Call it when the attempt
// is dead and what it prepared was committed or given up.
func RemoveAttempt(ctx context.Context, fs fileio.FS, path, attempt string, keep map[string]bool) error {
	if len(attempt) < minAttempt {
		return fmt.Errorf("removing files of attempt %q: the name is too short", attempt)
	}
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return err
	}
	found, err := t.filesOf(ctx, attempt)
	if err != nil || len(found) == 0 {
		return err
	}
	used, err := t.referenced(ctx, attempt)
	for try := 1; errors.Is(err, fileio.ErrNotExist) && try < referencedTries; try++ {
		// Another writer expired a snapshot while it was read.
		used, err = t.referenced(ctx, attempt)
	}
	if err != nil {
		return fmt.Errorf("removing files of attempt %s: %w", attempt, err)
	}
	for _, f := range found {
		if used[f.Name] || keep[f.Name] {
			continue
		}
		if err := fs.Remove(ctx, f.Path); err != nil {
			return fmt.Errorf("removing files of attempt %s: %w", attempt, err)
		}
	}
	return nil
}

// filesOf finds the files that carry attempt in their names, in the directories
// of manifests and index files and in the buckets.
func (t *table) filesOf(ctx context.Context, attempt string) ([]fileio.Info, error) {
	found, err := t.matching(ctx, t.fs.Join(t.path, spec.ManifestDir), attempt)
	if err != nil {
		return nil, err
	}
	index, err := t.matching(ctx, t.fs.Join(t.path, spec.IndexDir), attempt)
	if err != nil {
		return nil, err
	}
	found = append(found, index...)
	root := t.path
	if t.layout.Directory != "" {
		root = t.fs.Join(root, t.layout.Directory)
	}
	inBuckets, err := t.inBuckets(ctx, root, len(t.schema.PartitionKeys), attempt)
	return append(found, inBuckets...), err
}

// inBuckets goes down depth partition levels from dir and looks into the buckets there.
func (t *table) inBuckets(ctx context.Context, dir string, depth int, attempt string) ([]fileio.Info, error) {
	infos, err := t.fs.List(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	var out []fileio.Info
	for _, i := range infos {
		if !i.IsDir {
			continue
		}
		var more []fileio.Info
		switch {
		case depth > 0 && strings.Contains(i.Name, "="):
			more, err = t.inBuckets(ctx, i.Path, depth-1, attempt)
		case depth == 0 && strings.HasPrefix(i.Name, "bucket-"):
			more, err = t.matching(ctx, i.Path, attempt)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func (t *table) matching(ctx context.Context, dir, attempt string) ([]fileio.Info, error) {
	infos, err := t.fs.List(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	var out []fileio.Info
	for _, i := range infos {
		if !i.IsDir && strings.Contains(i.Name, attempt) {
			out = append(out, i)
		}
	}
	return out, nil
}

// referenced gives the names with attempt that snapshots, tags and kept
// changelogs refer to, those of branches included.
func (t *table) referenced(ctx context.Context, attempt string) (map[string]bool, error) {
	r := &references{table: t, attempt: attempt, names: map[string]bool{}, read: map[string]bool{}}
	roots := []string{t.path}
	branches, err := t.fs.List(ctx, t.fs.Join(t.path, spec.BranchDir))
	if err != nil {
		return nil, fmt.Errorf("listing branches: %w", err)
	}
	for _, b := range branches {
		if b.IsDir {
			roots = append(roots, b.Path)
		}
	}
	for _, root := range roots {
		for dir, prefix := range map[string]string{
			spec.TagDir: spec.TagPrefix, spec.ChangelogDir: spec.ChangelogPrefix, spec.SnapshotDir: spec.SnapshotPrefix,
		} {
			snaps, err := t.readSnapshots(ctx, t.fs.Join(root, dir), prefix)
			if err != nil {
				return nil, err
			}
			for i, s := range snaps {
				err := r.add(ctx, s)
				// An expiration that was cut short leaves old snapshots without their
				// manifests: what they alone referred to is going anyway.
				if errors.Is(err, fileio.ErrNotExist) && dir == spec.SnapshotDir && i < len(snaps)-1 {
					continue
				}
				if err != nil {
					return nil, err
				}
			}
		}
	}
	return r.names, nil
}

// references collects names that carry the attempt.
type references struct {
	*table
	attempt string
	names   map[string]bool
	// read are the lists and manifests looked into.
	read map[string]bool
}

func (r *references) name(n string) {
	if strings.Contains(n, r.attempt) {
		r.names[n] = true
	}
}

func (r *references) add(ctx context.Context, s *spec.Snapshot) error {
	lists := []string{s.BaseManifestList, s.DeltaManifestList}
	if s.ChangelogManifestList != nil {
		lists = append(lists, *s.ChangelogManifestList)
	}
	for _, l := range lists {
		r.name(l)
		if r.read[l] {
			continue
		}
		metas, err := r.manifests.List(ctx, l)
		if err != nil {
			return err
		}
		for i := range metas {
			if err := r.addManifest(ctx, metas[i].FileName); err != nil {
				return err
			}
		}
		r.read[l] = true
	}
	return r.addIndex(ctx, s)
}

// addIndex collects the index manifest of a snapshot and its files.
func (r *references) addIndex(ctx context.Context, s *spec.Snapshot) error {
	if s.IndexManifest == nil || r.read[*s.IndexManifest] {
		return nil
	}
	r.name(*s.IndexManifest)
	entries, err := r.manifests.Index(ctx, s)
	if err != nil {
		return err
	}
	r.read[*s.IndexManifest] = true
	for i := range entries {
		r.name(entries[i].File.FileName)
	}
	return nil
}

func (r *references) addManifest(ctx context.Context, name string) error {
	r.name(name)
	if r.read[name] {
		return nil
	}
	entries, err := r.manifests.Entries(ctx, name)
	if err != nil {
		return err
	}
	r.read[name] = true
	for i := range entries {
		f := &entries[i].File
		r.name(f.FileName)
		for _, e := range f.ExtraFiles {
			r.name(e)
		}
	}
	return nil
}

// staleAfter is the age from which on a temporary snapshot, hint or schema file
// is nobody's: one is there for the milliseconds of a write.
const staleAfter = time.Minute

// RemoveStaleTemps removes the temporary files that killed processes left beside
// snapshots, hints and schemas, which carry no attempt in their names. now is the
// time to tell their age by.
func RemoveStaleTemps(ctx context.Context, fs fileio.FS, path string, now time.Time) error {
	for _, dir := range []string{spec.SnapshotDir, spec.SchemaDir} {
		infos, err := fs.List(ctx, fs.Join(path, dir))
		if err != nil {
			return fmt.Errorf("looking for temporary files: %w", err)
		}
		for _, i := range infos {
			if i.IsDir || !strings.HasPrefix(i.Name, ".") || !strings.HasSuffix(i.Name, ".tmp") || now.Sub(i.ModTime) < staleAfter {
				continue
			}
			if err := fs.Remove(ctx, i.Path); err != nil {
				return fmt.Errorf("removing temporary files: %w", err)
			}
		}
	}
	return nil
}
