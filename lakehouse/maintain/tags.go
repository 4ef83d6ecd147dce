package maintain

import (
	"cmp"
	"context"
	"encoding/json"
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

// Tag is a named snapshot that expiration leaves alone.
type Tag struct {
	Name     string
	Snapshot *spec.Snapshot
	// Created and Retained are given for tags that end by themselves; zero otherwise.
	Created  time.Time
	Retained time.Duration
}

// tagTimes is what a tag file has over a snapshot file.
type tagTimes struct {
	// Created is year, month, day, hour, minute, second and nanoseconds of local time.
	Created  []int    `json:"tagCreateTime"`
	Retained *float64 `json:"tagTimeRetained"`
}

// Tags lists the tags of the table or branch in directory home, by snapshot and name.
func Tags(ctx context.Context, fs fileio.FS, home string) ([]Tag, error) {
	infos, err := fs.List(ctx, fs.Join(home, spec.TagDir))
	if err != nil {
		return nil, fmt.Errorf("listing tags: %w", err)
	}
	var out []Tag
	for _, i := range infos {
		name, ok := strings.CutPrefix(i.Name, spec.TagPrefix)
		if !ok || i.IsDir {
			continue
		}
		t, err := readTag(ctx, fs, home, name)
		if errors.Is(err, fileio.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, *t)
	}
	slices.SortStableFunc(out, func(a, b Tag) int {
		return cmp.Or(cmp.Compare(a.Snapshot.ID, b.Snapshot.ID), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

func tagPath(fs fileio.FS, home, name string) string {
	return fs.Join(home, spec.TagDir, spec.TagPrefix+name)
}

// ReadTag reads a tag of the table or branch in directory home; one that is not
// there is an error for people.
func ReadTag(ctx context.Context, fs fileio.FS, home, name string) (*Tag, error) {
	t, err := readTag(ctx, fs, home, name)
	if !errors.Is(err, fileio.ErrNotExist) {
		return t, err
	}
	e := &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Msg: "there is no tag " + name, Hint: "see the system table $tags"}
	if all, err := Tags(ctx, fs, home); err == nil {
		names := make([]string, len(all))
		for i := range all {
			names[i] = all[i].Name
		}
		e.Notes = []string{"tags: " + cmp.Or(strings.Join(names, ", "), "none")}
	}
	return nil, e
}

func readTag(ctx context.Context, fs fileio.FS, home, name string) (*Tag, error) {
	if err := checkTagName(name); err != nil {
		return nil, err
	}
	path := tagPath(fs, home, name)
	b, err := fs.ReadFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("reading tag %s: %w", name, err)
	}
	s, err := spec.ParseSnapshot(b)
	if err != nil {
		return nil, fmt.Errorf("reading tag %s: %w", path, err)
	}
	var times tagTimes
	if err := json.Unmarshal(b, &times); err != nil {
		return nil, fmt.Errorf("reading tag %s: %w", path, err)
	}
	t := &Tag{Name: name, Snapshot: s}
	if c := times.Created; len(c) >= 5 {
		c = append(c, 0, 0)
		t.Created = time.Date(c[0], time.Month(c[1]), c[2], c[3], c[4], c[5], c[6], time.Local)
	}
	if times.Retained != nil {
		t.Retained = time.Duration(*times.Retained * float64(time.Second))
	}
	return t, nil
}

// checkTagName refuses names that cannot be file names.
func checkTagName(name string) error {
	if strings.TrimSpace(name) != "" && !strings.ContainsAny(name, "/\\\x00") {
		return nil
	}
	return &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Msg: fmt.Sprintf("'%s' cannot be the name of a tag", name), Hint: "choose a name of letters, digits, '-' and '_'"}
}

// marshalTag gives the content of a tag file.
func marshalTag(s *spec.Snapshot, created time.Time, retained time.Duration) ([]byte, error) {
	b, err := spec.MarshalSnapshot(s)
	if err != nil || retained <= 0 {
		return b, err
	}
	created = created.Local()
	times := fmt.Sprintf(",\n  \"tagCreateTime\" : [ %d, %d, %d, %d, %d, %d, %d ],\n  \"tagTimeRetained\" : %s\n}",
		created.Year(), created.Month(), created.Day(), created.Hour(), created.Minute(), created.Second(), created.Nanosecond(), seconds(retained))
	return append([]byte(strings.TrimRight(strings.TrimSuffix(string(b), "}"), "\n")), times...), nil
}

// seconds gives a duration as decimal seconds with nine digits, as Java writes it.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second)
}

// TagOptions describe a tag to make.
type TagOptions struct {
	Name string
	// Snapshot is the snapshot's id; 0 is the latest.
	Snapshot int64
	// Retained is how long the tag lives; 0 is until it is deleted.
	Retained time.Duration
	// Replace takes the place of a tag of the name, which must exist.
	Replace bool
	Now     time.Time
}

// CreateTag names a snapshot of the table in directory path, or takes over one
// that a tag holds already if its snapshot was expired.
func CreateTag(ctx context.Context, fs fileio.FS, path string, o TagOptions) error {
	if err := checkTagName(o.Name); err != nil {
		return err
	}
	s, err := snapshotOrTag(ctx, fs, path, o.Snapshot)
	if err != nil {
		return err
	}
	old, err := readTag(ctx, fs, path, o.Name)
	switch {
	case errors.Is(err, fileio.ErrNotExist) && o.Replace:
		_, err := ReadTag(ctx, fs, path, o.Name)
		return err
	case err != nil && !errors.Is(err, fileio.ErrNotExist):
		return err
	case old != nil && !o.Replace && old.Snapshot.ID == s.ID && old.Retained == o.Retained:
		return nil // made by a call whose answer was lost
	case old != nil && !o.Replace:
		return &diag.Error{
			Domain: diag.User, Code: diag.CodeExists, Msg: fmt.Sprintf("tag %s exists already and names snapshot %d", o.Name, old.Snapshot.ID),
			Hint: "choose another name, or CALL sys.replace_tag",
		}
	}
	content, err := marshalTag(s, o.Now, o.Retained)
	if err != nil {
		return fmt.Errorf("making tag %s: %w", o.Name, err)
	}
	if err := fs.Replace(ctx, tagPath(fs, path, o.Name), content); err != nil {
		return fmt.Errorf("making tag %s: %w", o.Name, err)
	}
	// Between reading the snapshot and writing the tag an expiration may have
	// taken the files: the tag counts only while the snapshot is still there.
	if _, err := snapshotOrTag(ctx, fs, path, s.ID); err != nil && old == nil {
		return errors.Join(err, fs.Remove(ctx, tagPath(fs, path, o.Name)))
	}
	if old == nil || old.Snapshot.ID == s.ID {
		return nil
	}
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return err
	}
	return t.releaseTag(ctx, old.Snapshot)
}

// snapshotOrTag gives a snapshot by id, also one that only a tag still holds.
func snapshotOrTag(ctx context.Context, fs fileio.FS, home string, id int64) (*spec.Snapshot, error) {
	snaps := commit.NewSnapshots(fs, home)
	if id == 0 {
		latest, err := snaps.Latest(ctx)
		if err != nil {
			return nil, err
		}
		if latest == 0 {
			return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Msg: "the table has no snapshot yet", Hint: "write to it first"}
		}
		id = latest
	}
	s, err := snaps.Read(ctx, id)
	if !errors.Is(err, fileio.ErrNotExist) {
		return s, err
	}
	tags, err := Tags(ctx, fs, home)
	if err != nil {
		return nil, err
	}
	for i := range tags {
		if tags[i].Snapshot.ID == id && tags[i].Name != "" {
			return tags[i].Snapshot, nil
		}
	}
	return nil, noSnapshot(ctx, snaps, id)
}

// noSnapshot says that a snapshot is not there, and which are.
func noSnapshot(ctx context.Context, snaps *commit.Snapshots, id int64) error {
	e := &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Msg: fmt.Sprintf("there is no snapshot %d", id), Hint: "see the system table $snapshots"}
	if ids, err := snaps.List(ctx); err == nil && len(ids) > 0 {
		e.Notes = []string{fmt.Sprintf("snapshots: %d to %d", ids[0], ids[len(ids)-1])}
	}
	return e
}

// DeleteTag removes a tag with the files that only it kept. A tag that a branch
// was made from stays: the branch reads its files.
func DeleteTag(ctx context.Context, fs fileio.FS, path, name string) error {
	tag, err := ReadTag(ctx, fs, path, name)
	if err != nil {
		return err
	}
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return err
	}
	if err := errors.Join(t.guardBranches(ctx, tag), t.guardRestored(ctx, tag)); err != nil {
		return err
	}
	if err := fs.Remove(ctx, tagPath(fs, path, name)); err != nil {
		return fmt.Errorf("deleting tag %s: %w", name, err)
	}
	return t.releaseTag(ctx, tag.Snapshot)
}

// guardBranches refuses to let go of the last tag on a snapshot that a branch has.
func (t *table) guardBranches(ctx context.Context, tag *Tag) error {
	branches, err := t.branches(ctx)
	if err != nil || len(branches) == 0 {
		return err
	}
	tags, err := Tags(ctx, t.fs, t.path)
	if err != nil {
		return err
	}
	for i := range tags {
		if tags[i].Name != tag.Name && tags[i].Snapshot.ID == tag.Snapshot.ID {
			return nil
		}
	}
	for _, b := range branches {
		snaps := commit.NewSnapshots(t.fs, spec.BranchPath(t.fs.Join, t.path, b))
		s, err := snaps.Read(ctx, tag.Snapshot.ID)
		if errors.Is(err, fileio.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if s.DeltaManifestList == tag.Snapshot.DeltaManifestList {
			return &diag.Error{
				Domain: diag.Guard, Code: diag.CodeLakeInUse, Msg: fmt.Sprintf("tag %s keeps the files of branch %s, which was made from it", tag.Name, b),
				Hint: fmt.Sprintf("delete the branch first: CALL sys.delete_branch('db.table', '%s')", b),
			}
		}
	}
	return nil
}

// releaseTag removes what nobody needs once a tag on s is gone.
func (t *table) releaseTag(ctx context.Context, s *spec.Snapshot) error {
	if _, err := t.snaps.Read(ctx, s.ID); !errors.Is(err, fileio.ErrNotExist) {
		return err // the snapshot is still there and needs everything
	}
	set := fileSet{}
	if err := t.addSnapshot(ctx, set, s); err != nil {
		return err
	}
	_, err := t.removeUnused(ctx, set)
	return err
}

// RenameTag gives a tag another name.
func RenameTag(ctx context.Context, fs fileio.FS, path, from, to string) error {
	if err := checkTagName(to); err != nil {
		return err
	}
	if _, err := ReadTag(ctx, fs, path, from); err != nil {
		return err
	}
	content, err := fs.ReadFile(ctx, tagPath(fs, path, from))
	if err != nil {
		return fmt.Errorf("renaming tag %s: %w", from, err)
	}
	// The new name first: a crash leaves two tags on the snapshot, never none.
	err = fs.CreateExclusive(ctx, tagPath(fs, path, to), content)
	if errors.Is(err, fileio.ErrExist) {
		there, readErr := fs.ReadFile(ctx, tagPath(fs, path, to))
		if readErr != nil || string(there) != string(content) {
			return &diag.Error{Domain: diag.User, Code: diag.CodeExists, Msg: "tag " + to + " exists already", Hint: "choose another name"}
		}
		err = nil
	}
	if err == nil {
		err = fs.Remove(ctx, tagPath(fs, path, from))
	}
	if err != nil {
		return fmt.Errorf("renaming tag %s: %w", from, err)
	}
	return nil
}

// ExpireTags deletes the tags whose time is over at now, and with olderThan
// (if not zero) those created before it. It gives their names.
func ExpireTags(ctx context.Context, fs fileio.FS, path string, now, olderThan time.Time) ([]string, error) {
	tags, err := Tags(ctx, fs, path)
	if err != nil {
		return nil, err
	}
	var gone []string
	for i := range tags {
		t := &tags[i]
		over := t.Retained > 0 && !t.Created.IsZero() && now.After(t.Created.Add(t.Retained))
		if !olderThan.IsZero() {
			created := t.Created
			if created.IsZero() {
				created = time.UnixMilli(t.Snapshot.TimeMillis)
			}
			over = over || created.Before(olderThan)
		}
		if !over {
			continue
		}
		if err := DeleteTag(ctx, fs, path, t.Name); err != nil {
			return gone, err
		}
		gone = append(gone, t.Name)
	}
	return gone, nil
}
