package maintain

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// Rollback takes the table in directory path back to a snapshot, or to that of
// a tag if tag is not empty: everything that came later goes, tags on later
// snapshots included. It gives the snapshots that were and are the latest.
//
// Snapshots go from the newest down, so that a crash leaves the table at one of
// the states in between, with nothing missing; calling it again ends the work.
func Rollback(ctx context.Context, fs fileio.FS, path string, snapshot int64, tag string) (previous, current int64, err error) {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return 0, 0, err
	}
	s, err := t.target(ctx, snapshot, tag)
	if err != nil {
		return 0, 0, err
	}
	if previous, err = t.snaps.Latest(ctx); err != nil {
		return 0, 0, err
	}
	if err := t.rollback(ctx, s, tag); err != nil {
		return 0, 0, fmt.Errorf("rolling %s back to snapshot %d: %w", path, s.ID, err)
	}
	return previous, s.ID, nil
}

// restoreTagPrefix begins the names of the tags that keep the files of states
// brought back; Paimon makes them too.
const restoreTagPrefix = "rollback-to-as-latest-"

// RollbackAsLatest makes the state of a snapshot, or of a tag if tag is not empty,
// the latest one by a new snapshot on top: nothing of what came later goes. It
// gives the snapshots that were the latest, that was brought back, and that is
// the latest now. A tag on the state keeps its files.
func RollbackAsLatest(ctx context.Context, fs fileio.FS, path string, snapshot int64, tag string) (previous, target, current int64, err error) {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return 0, 0, 0, err
	}
	if previous, err = t.snaps.Latest(ctx); err != nil {
		return 0, 0, 0, err
	}
	find := func() (*spec.Snapshot, error) {
		if tag != "" {
			return t.target(ctx, 0, tag)
		}
		return snapshotOrTag(ctx, fs, path, snapshot)
	}
	s, err := find()
	if err != nil {
		return 0, 0, 0, err
	}
	user := restoreTagPrefix + uuid.NewString()
	name := fmt.Sprintf("%s%d-%s", restoreTagPrefix, s.ID, uuid.NewString())
	content, err := marshalTag(s, time.Time{}, 0)
	if err == nil {
		err = fs.CreateExclusive(ctx, tagPath(fs, path, name), content)
	}
	if err != nil {
		return 0, 0, 0, fmt.Errorf("keeping snapshot %d of %s by a tag: %w", s.ID, path, err)
	}
	// An expiration may have taken files before the tag was there: the state counts
	// only while it can still be found.
	if _, err = find(); err == nil {
		current, err = t.committer(commit.Options{}).Restore(ctx, user, s)
	}
	if err != nil {
		// The tag stays if the snapshot may be there: its files are in use then.
		return 0, 0, 0, fmt.Errorf("bringing back snapshot %d of %s (tag %s keeps it): %w", s.ID, path, name, err)
	}
	return previous, s.ID, current, nil
}

// guardRestored refuses to let go of a tag whose files a later snapshot has
// brought back, as long as the snapshots that deleted them have not expired: the
// expiration of these would take the files.
func (t *table) guardRestored(ctx context.Context, tag *Tag) error {
	tags, err := Tags(ctx, t.fs, t.path)
	if err != nil {
		return err
	}
	for i := range tags {
		if tags[i].Name != tag.Name && tags[i].Snapshot.ID == tag.Snapshot.ID {
			return nil
		}
	}
	ids, err := t.snaps.List(ctx)
	if err != nil {
		return err
	}
	for i, id := range ids {
		s, err := t.snaps.Read(ctx, id)
		if errors.Is(err, fileio.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		restored := s.Properties[commit.PropertyRestored] == strconv.FormatInt(tag.Snapshot.ID, 10) ||
			strings.HasPrefix(tag.Name, restoreTagPrefix) && strings.HasPrefix(s.CommitUser, restoreTagPrefix)
		if restored && i > 0 && id > tag.Snapshot.ID {
			return &diag.Error{
				Domain: diag.Guard, Code: diag.CodeLakeInUse, Msg: fmt.Sprintf("tag %s keeps the files that snapshot %d has brought back", tag.Name, id),
				Hint: fmt.Sprintf("delete it when the snapshots before %d have expired", id),
			}
		}
	}
	return nil
}

func (t *table) target(ctx context.Context, snapshot int64, tag string) (*spec.Snapshot, error) {
	if tag != "" {
		named, err := ReadTag(ctx, t.fs, t.path, tag)
		if err != nil {
			return nil, err
		}
		return named.Snapshot, nil
	}
	s, err := t.snaps.Read(ctx, snapshot)
	if errors.Is(err, fileio.ErrNotExist) {
		return nil, noSnapshot(ctx, t.snaps, snapshot)
	}
	return s, err
}

func (t *table) rollback(ctx context.Context, s *spec.Snapshot, tag string) error {
	r, err := t.planRewind(ctx, s, tag)
	if err != nil {
		return err
	}
	return t.rewind(ctx, r)
}

// restoreSnapshot makes the file of a snapshot that only a tag held.
func (t *table) restoreSnapshot(ctx context.Context, s *spec.Snapshot) error {
	_, err := t.snaps.Read(ctx, s.ID)
	if !errors.Is(err, fileio.ErrNotExist) {
		return err
	}
	content, err := spec.MarshalSnapshot(s)
	if err != nil {
		return err
	}
	if err := t.fs.CreateExclusive(ctx, t.snaps.Path(s.ID), content); err != nil && !errors.Is(err, fileio.ErrExist) {
		return err
	}
	return t.snaps.WriteHint(ctx, spec.EarliestHint, s.ID)
}

// SnapshotAt gives the newest snapshot made at or before a time. None is an
// error for people, which names the earliest.
func SnapshotAt(ctx context.Context, snaps *commit.Snapshots, at time.Time) (*spec.Snapshot, error) {
	ids, err := snaps.List(ctx)
	if err != nil {
		return nil, err
	}
	low, high := 0, len(ids)-1
	var found, first *spec.Snapshot
	for low <= high {
		mid := (low + high) / 2
		s, err := snaps.Read(ctx, ids[mid])
		if err != nil {
			return nil, err
		}
		if first == nil || s.ID < first.ID {
			first = s
		}
		if s.TimeMillis <= at.UnixMilli() {
			found, low = s, mid+1
		} else {
			high = mid - 1
		}
	}
	if found != nil {
		return found, nil
	}
	e := &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Msg: "there is no snapshot from " + at.Format("2006-01-02 15:04:05.000") + " or earlier", Hint: "choose a later time"}
	if first != nil {
		e.Notes = []string{fmt.Sprintf("the earliest snapshot is %d, from %s", first.ID, time.UnixMilli(first.TimeMillis).In(at.Location()).Format("2006-01-02 15:04:05.000"))}
	}
	return nil, e
}

// SnapshotOfWatermark gives the first snapshot whose watermark is at least w.
func SnapshotOfWatermark(ctx context.Context, snaps *commit.Snapshots, w int64) (*spec.Snapshot, error) {
	ids, err := snaps.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		s, err := snaps.Read(ctx, id)
		if err != nil {
			return nil, err
		}
		if s.Watermark != nil && *s.Watermark >= w {
			return s, nil
		}
	}
	return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Msg: fmt.Sprintf("there is no snapshot with a watermark of %d or more", w), Hint: "see the column watermark of the system table $snapshots"}
}

// committer makes a committer for one commit of a statement.
func (t *table) committer(o commit.Options) *commit.Committer {
	o.Attempt = uuid.NewString()
	return commit.New(t.fs, t.path, t.schema, o, nil)
}
