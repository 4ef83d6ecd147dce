package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// Branch is a line of snapshots of its own over the files of a table.
type Branch struct {
	Name    string
	Created time.Time
}

// Branches lists the branches of the table in directory path, main apart.
func Branches(ctx context.Context, fs fileio.FS, path string) ([]Branch, error) {
	infos, err := fs.List(ctx, fs.Join(path, spec.BranchDir))
	if err != nil {
		return nil, fmt.Errorf("listing branches: %w", err)
	}
	var out []Branch
	for _, i := range infos {
		if name, ok := strings.CutPrefix(i.Name, spec.BranchPrefix); ok && i.IsDir {
			out = append(out, Branch{Name: name, Created: i.ModTime})
		}
	}
	return out, nil
}

func checkBranchName(name string) error {
	bad := ""
	switch {
	case name == spec.MainBranch:
		bad = "it is the table itself"
	case strings.TrimSpace(name) == "":
		bad = "it is blank"
	case strings.Trim(name, "0123456789") == "":
		bad = "it is a number"
	case strings.ContainsAny(name, "/\\$\x00"):
		bad = "it holds one of the characters /\\$"
	default:
		return nil
	}
	return &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Msg: fmt.Sprintf("'%s' cannot be the name of a branch: %s", name, bad), Hint: "choose a name of letters, digits, '-' and '_'"}
}

// hasSchema reports whether a branch is whole: its schemas are copied last.
func hasSchema(ctx context.Context, fs fileio.FS, home string) (bool, error) {
	infos, err := fs.List(ctx, fs.Join(home, spec.SchemaDir))
	if err != nil {
		return false, fmt.Errorf("listing schemas of a branch: %w", err)
	}
	return slices.ContainsFunc(infos, func(i fileio.Info) bool {
		_, ok := spec.ParseNumbered(i.Name, spec.SchemaPrefix)
		return ok
	}), nil
}

// CreateBranch makes a branch from a tag, or an empty one if tag is "".
func CreateBranch(ctx context.Context, fs fileio.FS, path, name, tag string) error {
	if err := checkBranchName(name); err != nil {
		return err
	}
	home := spec.BranchPath(fs.Join, path, name)
	switch there, err := hasSchema(ctx, fs, home); {
	case err != nil:
		return err
	case there:
		return &diag.Error{Domain: diag.User, Code: diag.CodeExists, Msg: "branch " + name + " exists already", Hint: "choose another name"}
	}
	// What a run that died left behind is no branch.
	if err := fs.RemoveAll(ctx, home); err != nil {
		return fmt.Errorf("making branch %s: %w", name, err)
	}
	schemaLimit := int64(-1)
	if tag != "" {
		from, err := ReadTag(ctx, fs, path, tag)
		if err != nil {
			return err
		}
		schemaLimit = from.Snapshot.SchemaID
		if err := copyTag(ctx, fs, path, home, from); err != nil {
			return fmt.Errorf("making branch %s: %w", name, err)
		}
	}
	// The schemas come last, the newest first: with them the branch is there.
	infos, err := fs.List(ctx, fs.Join(path, spec.SchemaDir))
	if err != nil {
		return fmt.Errorf("making branch %s: %w", name, err)
	}
	var ids []int64
	for _, i := range infos {
		if id, ok := spec.ParseNumbered(i.Name, spec.SchemaPrefix); ok && (schemaLimit < 0 || id <= schemaLimit) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Backward(ids) {
		if err := copyFile(ctx, fs, fs.Join(path, spec.SchemaDir, spec.SchemaName(id)), fs.Join(home, spec.SchemaDir, spec.SchemaName(id))); err != nil {
			return fmt.Errorf("making branch %s: %w", name, err)
		}
	}
	return nil
}

func copyTag(ctx context.Context, fs fileio.FS, path, home string, tag *Tag) error {
	content, err := spec.MarshalSnapshot(tag.Snapshot)
	if err != nil {
		return err
	}
	snaps := commit.NewSnapshots(fs, home)
	return errors.Join(
		fs.Replace(ctx, snaps.Path(tag.Snapshot.ID), content),
		snaps.WriteHint(ctx, spec.LatestHint, tag.Snapshot.ID), snaps.WriteHint(ctx, spec.EarliestHint, tag.Snapshot.ID),
		copyFile(ctx, fs, tagPath(fs, path, tag.Name), tagPath(fs, home, tag.Name)),
	)
}

func copyFile(ctx context.Context, fs fileio.FS, from, to string) error {
	b, err := fs.ReadFile(ctx, from)
	if err != nil {
		return err
	}
	return fs.Replace(ctx, to, b)
}

func branchHome(ctx context.Context, fs fileio.FS, path, name string) (string, error) {
	if err := checkBranchName(name); err != nil {
		return "", err
	}
	home := spec.BranchPath(fs.Join, path, name)
	there, err := hasSchema(ctx, fs, home)
	if err != nil || there {
		return home, err
	}
	e := &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Msg: "there is no branch " + name, Hint: "see the system table $branches"}
	if all, err := Branches(ctx, fs, path); err == nil {
		var names []string
		for _, b := range all {
			names = append(names, b.Name)
		}
		e.Notes = []string{"branches: " + strings.Join(names, ", ")}
	}
	return "", e
}

// DeleteBranch removes a branch with the files that only it needed.
func DeleteBranch(ctx context.Context, fs fileio.FS, path, name string) error {
	home, err := branchHome(ctx, fs, path, name)
	if err != nil {
		return err
	}
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return err
	}
	set := fileSet{}
	for _, of := range []struct{ dir, prefix string }{{spec.SnapshotDir, spec.SnapshotPrefix}, {spec.TagDir, spec.TagPrefix}, {spec.ChangelogDir, spec.ChangelogPrefix}} {
		snaps, err := t.readSnapshots(ctx, fs.Join(home, of.dir), of.prefix)
		if err != nil {
			return err
		}
		for _, s := range snaps {
			if err := t.addSnapshot(ctx, set, s); err != nil {
				return err
			}
		}
	}
	if err := fs.RemoveAll(ctx, home); err != nil {
		return fmt.Errorf("deleting branch %s: %w", name, err)
	}
	_, err = t.removeUnused(ctx, set)
	return err
}

// RenameBranch gives a branch another name: a copy, then the old one goes.
func RenameBranch(ctx context.Context, fs fileio.FS, path, from, to string) error {
	old, err := branchHome(ctx, fs, path, from)
	if err != nil {
		return err
	}
	if err := checkBranchName(to); err != nil {
		return err
	}
	home := spec.BranchPath(fs.Join, path, to)
	if there, err := hasSchema(ctx, fs, home); err != nil || there {
		if err == nil {
			err = &diag.Error{Domain: diag.User, Code: diag.CodeExists, Msg: "branch " + to + " exists already", Hint: "choose another name"}
		}
		return err
	}
	for _, dir := range []string{spec.SnapshotDir, spec.TagDir, spec.ChangelogDir, spec.ConsumerDir, spec.SchemaDir} {
		infos, err := fs.List(ctx, fs.Join(old, dir))
		if err != nil {
			return fmt.Errorf("renaming branch %s: %w", from, err)
		}
		for _, i := range infos {
			if i.IsDir || strings.HasPrefix(i.Name, ".") {
				continue
			}
			if err := copyFile(ctx, fs, i.Path, fs.Join(home, dir, i.Name)); err != nil {
				return fmt.Errorf("renaming branch %s: %w", from, err)
			}
		}
	}
	if err := fs.RemoveAll(ctx, old); err != nil {
		return fmt.Errorf("renaming branch %s: %w", from, err)
	}
	return nil
}

// FastForward makes the table what a branch of it is: main's snapshots, tags
// and schemas from the branch's first snapshot on give way to the branch's. It
// may be called again after a crash.
func FastForward(ctx context.Context, fs fileio.FS, path, name string) error {
	home, err := branchHome(ctx, fs, path, name)
	if err != nil {
		return err
	}
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return err
	}
	snaps := commit.NewSnapshots(fs, home)
	ids, err := snaps.List(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Msg: "branch " + name + " has no snapshot", Hint: "write to the branch first"}
	}
	if err := t.fastForward(ctx, home, snaps, ids); err != nil {
		return fmt.Errorf("fast-forwarding to branch %s: %w", name, err)
	}
	return nil
}

// cutSnapshots removes the snapshots and kept changelogs after last, newest
// first, and adds their files to set.
func (t *table) cutSnapshots(ctx context.Context, last int64, set fileSet) error {
	for _, of := range snapshotPlaces {
		snaps, err := t.readSnapshots(ctx, t.fs.Join(t.path, of.dir), of.prefix)
		if err != nil {
			return err
		}
		for i := len(snaps) - 1; i >= 0 && snaps[i].ID > last; i-- {
			if err := t.addSnapshot(ctx, set, snaps[i]); err != nil {
				return err
			}
			if err := t.fs.Remove(ctx, t.fs.Join(t.path, of.dir, fmt.Sprintf("%s%d", of.prefix, snaps[i].ID))); err != nil {
				return err
			}
		}
	}
	return t.snaps.WriteHint(ctx, spec.LatestHint, last)
}

func (t *table) fastForward(ctx context.Context, home string, snaps *commit.Snapshots, ids []int64) error {
	set := fileSet{}
	from, err := snaps.Read(ctx, ids[0])
	if err != nil {
		return err
	}
	keep := ids[0] - 1
	if ours, err := t.snaps.Read(ctx, ids[0]); err == nil && sameSnapshot(ours, from) {
		keep = ids[0] // main still has what the branch was made from
	} else if err != nil && !errors.Is(err, fileio.ErrNotExist) {
		return err
	}
	if err := t.cutSnapshots(ctx, keep, set); err != nil {
		return err
	}
	tags, err := Tags(ctx, t.fs, t.path)
	if err != nil {
		return err
	}
	for i := range tags {
		// A tag of what the branch was made from stays, where Paimon removes it.
		if tags[i].Snapshot.ID < ids[0] || sameSnapshot(tags[i].Snapshot, from) {
			continue
		}
		if err := t.addSnapshot(ctx, set, tags[i].Snapshot); err != nil {
			return err
		}
		if err := t.fs.Remove(ctx, tagPath(t.fs, t.path, tags[i].Name)); err != nil {
			return err
		}
	}
	// Schemas before the snapshots that name them.
	for _, dir := range []string{spec.SchemaDir, spec.TagDir} {
		infos, err := t.fs.List(ctx, t.fs.Join(home, dir))
		if err != nil {
			return err
		}
		for _, i := range infos {
			if i.IsDir || strings.HasPrefix(i.Name, ".") {
				continue
			}
			if err := copyFile(ctx, t.fs, i.Path, t.fs.Join(t.path, dir, i.Name)); err != nil {
				return err
			}
		}
	}
	for _, id := range ids {
		if err := copyFile(ctx, t.fs, snaps.Path(id), t.snaps.Path(id)); err != nil {
			return err
		}
	}
	if err := t.snaps.WriteHint(ctx, spec.LatestHint, ids[len(ids)-1]); err != nil {
		return err
	}
	first, err := t.snaps.List(ctx)
	if err != nil {
		return err
	}
	if err := t.snaps.WriteHint(ctx, spec.EarliestHint, first[0]); err != nil {
		return err
	}
	_, err = t.removeUnused(ctx, set)
	return err
}

// sameSnapshot reports whether two snapshots, of main, a tag or a branch, are one.
func sameSnapshot(a, b *spec.Snapshot) bool {
	return a.ID == b.ID && a.BaseManifestList == b.BaseManifestList && a.DeltaManifestList == b.DeltaManifestList
}
