package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// Rewind is a rollback written down before it begins, so that it can be carried
// out any number of times, by any process: what one that was killed has left
// behind is in it. Snapshot ids are given again after a rollback; so snapshots
// are known by their delta manifest lists, whose names are unique.
type Rewind struct {
	// Snapshot is the one to go back to, Delta its delta manifest list.
	Snapshot int64  `json:"snapshot"`
	Delta    string `json:"delta"`
	// Tag holds the snapshot if its file has expired; empty if not.
	Tag string `json:"tag,omitempty"`
	// Void are the delta manifest lists of the later snapshots, Tags the tags on them.
	Void []string `json:"void,omitempty"`
	Tags []string `json:"tags,omitempty"`
	// Files are those that only later snapshots name, relative to the table.
	Files []string `json:"files,omitempty"`
	// Consumers are set to the snapshot after Snapshot.
	Consumers []string `json:"consumers,omitempty"`
}

// PlanRewind plans the way back to a snapshot, or to that of a tag if tag is not
// empty; nothing is changed. Consumers are left to the caller.
func PlanRewind(ctx context.Context, fs fileio.FS, path string, snapshot int64, tag string) (*Rewind, error) {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return nil, err
	}
	s, err := t.target(ctx, snapshot, tag)
	if err != nil {
		return nil, err
	}
	return t.planRewind(ctx, s, tag)
}

func (t *table) planRewind(ctx context.Context, s *spec.Snapshot, tag string) (*Rewind, error) {
	r := &Rewind{Snapshot: s.ID, Delta: s.DeltaManifestList, Tag: tag}
	later := fileSet{}
	tags, err := Tags(ctx, t.fs, t.path)
	if err != nil {
		return nil, err
	}
	for i := range tags {
		if tags[i].Snapshot.ID <= s.ID {
			continue
		}
		if err := t.guardBranches(ctx, &tags[i]); err != nil {
			return nil, err
		}
		if err := t.addSnapshot(ctx, later, tags[i].Snapshot); err != nil {
			return nil, err
		}
		r.Tags = append(r.Tags, tags[i].Name)
		r.Void = append(r.Void, tags[i].Snapshot.DeltaManifestList)
	}
	for _, of := range snapshotPlaces {
		snaps, err := t.readSnapshots(ctx, t.fs.Join(t.path, of.dir), of.prefix)
		if err != nil {
			return nil, err
		}
		for _, x := range snaps {
			if x.ID <= s.ID {
				continue
			}
			if err := t.addSnapshot(ctx, later, x); err != nil {
				return nil, err
			}
			r.Void = append(r.Void, x.DeltaManifestList)
		}
	}
	here := fileSet{}
	if err := t.addSnapshot(ctx, here, s); err != nil {
		return nil, err
	}
	for name, path := range later {
		if here[name] == "" {
			r.Files = append(r.Files, strings.TrimPrefix(path, t.path+"/"))
		}
	}
	slices.Sort(r.Files)
	slices.Sort(r.Void)
	r.Void = slices.Compact(r.Void)
	return r, nil
}

// snapshotPlaces are where snapshots, and changelogs that outlive theirs, are kept.
var snapshotPlaces = []struct{ dir, prefix string }{{spec.SnapshotDir, spec.SnapshotPrefix}, {spec.ChangelogDir, spec.ChangelogPrefix}}

// Run carries r out on the table in directory path. Snapshots go from the newest
// down, so that a crash leaves the table at one of the states in between, with
// nothing missing. A snapshot that came on top of those to go is an error; what
// came after the way back was done stays.
func (r *Rewind) Run(ctx context.Context, fs fileio.FS, path string) error {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return err
	}
	if err := t.rewind(ctx, r); err != nil {
		return fmt.Errorf("rolling %s back to snapshot %d: %w", path, r.Snapshot, err)
	}
	return nil
}

func (t *table) rewind(ctx context.Context, r *Rewind) error {
	if err := t.bringTarget(ctx, r); err != nil {
		return err
	}
	for i, of := range snapshotPlaces {
		if err := t.cut(ctx, r, of.dir, of.prefix, i == 0); err != nil {
			return err
		}
	}
	if err := t.cutTags(ctx, r); err != nil {
		return err
	}
	for _, id := range r.Consumers {
		if err := ResetConsumer(ctx, t.fs, t.path, id, r.Snapshot+1); err != nil {
			return err
		}
	}
	set := make(fileSet, len(r.Files))
	for _, f := range r.Files {
		set[f[strings.LastIndexByte(f, '/')+1:]] = t.fs.Join(t.path, f)
	}
	_, err := t.removeUnused(ctx, set)
	return err
}

// bringTarget makes sure that the snapshot to go back to is there, and is the
// one that was meant.
func (t *table) bringTarget(ctx context.Context, r *Rewind) error {
	s, err := t.snaps.Read(ctx, r.Snapshot)
	if errors.Is(err, fileio.ErrNotExist) && r.Tag != "" {
		var tag *Tag
		if tag, err = ReadTag(ctx, t.fs, t.path, r.Tag); err != nil {
			return err
		}
		s, err = tag.Snapshot, t.restoreSnapshot(ctx, tag.Snapshot)
	}
	switch {
	case errors.Is(err, fileio.ErrNotExist):
		return noSnapshot(ctx, t.snaps, r.Snapshot)
	case err != nil:
		return err
	case s.DeltaManifestList != r.Delta:
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeLakeMissing, Msg: fmt.Sprintf("snapshot %d is another one than when the way back was planned", r.Snapshot),
			Hint: "look at the system table $snapshots: the table was rolled back meanwhile",
		}
	}
	return nil
}

// cut removes the void snapshots of a folder, newest first. In the folder of
// snapshots none of others may stand on top of them.
func (t *table) cut(ctx context.Context, r *Rewind, dir, prefix string, snapshots bool) error {
	later, err := t.readSnapshots(ctx, t.fs.Join(t.path, dir), prefix)
	if err != nil {
		return err
	}
	later = slices.DeleteFunc(later, func(s *spec.Snapshot) bool { return s.ID <= r.Snapshot })
	void := func(s *spec.Snapshot) bool { _, ok := slices.BinarySearch(r.Void, s.DeltaManifestList); return ok }
	if !slices.ContainsFunc(later, void) {
		return t.hintAt(ctx, r, snapshots && len(later) == 0)
	}
	for _, s := range slices.Backward(later) {
		if !void(s) {
			return &diag.Error{
				Domain: diag.Guard, Code: diag.CodeLakeConflict,
				Msg:  fmt.Sprintf("user %s has made snapshot %d (%s) while the table was being rolled back", s.CommitUser, s.ID, s.CommitKind),
				Hint: "stop that writer and roll the table back by hand: CALL sys.rollback_to",
			}
		}
		if err := t.fs.Remove(ctx, t.fs.Join(t.path, dir, fmt.Sprintf("%s%d", prefix, s.ID))); err != nil {
			return err
		}
	}
	if !snapshots {
		return t.settle(ctx, dir)
	}
	return t.hintAt(ctx, r, true)
}

func (t *table) hintAt(ctx context.Context, r *Rewind, write bool) error {
	if !write {
		return nil
	}
	return t.snaps.WriteHint(ctx, spec.LatestHint, r.Snapshot)
}

// settle makes removals in a folder durable before the files go that the removed
// ones named: a file that is confirmed there does that.
func (t *table) settle(ctx context.Context, dir string) error {
	name := t.fs.Join(t.path, dir, ".settle.tmp")
	if err := t.fs.Replace(ctx, name, nil); err != nil {
		return err
	}
	return t.fs.Remove(ctx, name)
}

// cutTags removes the tags on void snapshots, unless they name others by now.
func (t *table) cutTags(ctx context.Context, r *Rewind) error {
	cut := false
	for _, name := range r.Tags {
		tag, err := readTag(ctx, t.fs, t.path, name)
		if errors.Is(err, fileio.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if _, void := slices.BinarySearch(r.Void, tag.Snapshot.DeltaManifestList); !void {
			continue
		}
		if err := t.fs.Remove(ctx, tagPath(t.fs, t.path, name)); err != nil {
			return err
		}
		cut = true
	}
	if !cut {
		return nil
	}
	return t.settle(ctx, spec.TagDir)
}
