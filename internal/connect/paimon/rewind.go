package paimon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/open"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

var _ connect.Rewinder = (*Connector)(nil)

// past is a table beside what a savepoint held of it.
type past struct {
	fs    fileio.FS
	path  string
	name  string
	held  held
	snaps *commit.Snapshots
	// expired says that only the tag keeps the snapshot.
	expired bool
}

func parseHeld(raw json.RawMessage, table string) (held, error) {
	var h held
	if err := json.Unmarshal(raw, &h); err != nil {
		return h, fmt.Errorf("reading what the savepoint knows of table %s: %w", table, err)
	}
	return h, nil
}

func openPast(ctx context.Context, t *connect.Table, raw json.RawMessage) (*past, error) {
	fs, path, err := open.FromURL(t.Location)
	if err != nil {
		return nil, err
	}
	return newPast(ctx, fs, path, t.Name, raw)
}

// newPast opens the table and makes sure that the savepoint's snapshot is there.
func newPast(ctx context.Context, fs fileio.FS, path, name string, raw json.RawMessage) (*past, error) {
	h, err := parseHeld(raw, name)
	if err != nil {
		return nil, err
	}
	p := &past{fs: fs, path: path, name: name, held: h, snaps: commit.NewSnapshots(fs, path)}
	created, err := firstSchemaTime(ctx, fs, path)
	switch {
	case errors.Is(err, fileio.ErrNotExist):
		return nil, p.refuse(fmt.Sprintf("the savepoint was taken of it, and it is gone from %s", path), "bring the table back, or begin anew with `leat run --fresh`")
	case err != nil:
		return nil, err
	case created != p.held.Created:
		return nil, p.refuse(
			fmt.Sprintf("it is another table than the one the savepoint was taken of: created %s, the savepoint knows one of %s", stamp(created), stamp(p.held.Created)),
			"give the savepoint of this table, or bring the former one back")
	}
	return p, p.find(ctx)
}

func (p *past) refuse(msg, hint string) error {
	return &diag.Error{Domain: diag.Guard, Code: diag.CodeSavepoint, Table: p.name, Msg: msg, Hint: hint}
}

// find looks for the snapshot, as a file or in its tag.
func (p *past) find(ctx context.Context) error {
	const hint = "take a newer savepoint, or begin anew with `leat run --fresh --replace`"
	s, err := p.snaps.Read(ctx, p.held.Snapshot)
	if errors.Is(err, fileio.ErrNotExist) {
		tag, terr := findTag(ctx, p.fs, p.path, p.held.Tag)
		switch {
		case terr != nil:
			return terr
		case tag == nil:
			return p.refuse(fmt.Sprintf("snapshot %d of the savepoint is gone: it has expired, and tag %s was deleted", p.held.Snapshot, p.held.Tag), hint)
		}
		p.expired, s, err = true, tag.Snapshot, nil
	}
	if err != nil {
		return err
	}
	if s.DeltaManifestList != p.held.Delta {
		return p.refuse(fmt.Sprintf("snapshot %d is another one than that of the savepoint: the table was rolled back since to one before it", p.held.Snapshot), hint)
	}
	return nil
}

// Compare tells how the table stands to a savepoint.
func (*Connector) Compare(ctx context.Context, t *connect.Table, raw json.RawMessage, own connect.Own) (*connect.Standing, error) {
	p, err := openPast(ctx, t, raw)
	if err != nil {
		return nil, err
	}
	return p.standing(ctx, own)
}

func (p *past) standing(ctx context.Context, own connect.Own) (*connect.Standing, error) {
	st := &connect.Standing{Snapshot: p.held.Snapshot, Latest: p.held.Snapshot}
	ids, gap, err := laterThan(ctx, p.snaps, p.held.Snapshot)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		s, err := p.snaps.Read(ctx, id)
		if err != nil {
			return nil, err
		}
		st.Latest = id
		p.sort(st, s, own)
	}
	if gap[0] > 0 {
		st.Expired = true
		if err := p.explainGap(st, gap, own.Observed); err != nil {
			return nil, err
		}
	}
	return st, p.surroundings(ctx, st)
}

// sort puts a later snapshot to those of the job or of others.
func (p *past) sort(st *connect.Standing, s *spec.Snapshot, own connect.Own) {
	c := connect.Commit{Snapshot: s.ID, User: s.CommitUser, Kind: string(s.CommitKind)}
	switch {
	case slices.Contains(own.Users, s.CommitUser), own.Job != "" && s.Properties["leat.job"] == own.Job:
		st.Own = append(st.Own, c)
	case s.CommitKind == spec.Append, s.CommitKind == spec.Overwrite:
		st.Others = append(st.Others, c)
	}
}

// explainGap asks the job's log about snapshots that have expired: it looked at
// every one when it was made.
func (p *past) explainGap(st *connect.Standing, gap [2]int64, raw json.RawMessage) error {
	var o observed
	if raw != nil {
		if err := json.Unmarshal(raw, &o); err != nil {
			return fmt.Errorf("reading what the checkpoint knows of table %s: %w", p.name, err)
		}
	}
	switch {
	case o.Created != p.held.Created || o.Watched == nil || *o.Watched > p.held.Snapshot || o.Snapshot < gap[1]:
		st.Unknown = gap
	case o.Foreign > p.held.Snapshot && !slices.ContainsFunc(st.Others, func(c connect.Commit) bool { return c.Snapshot == o.Foreign }):
		st.Others = append(st.Others, connect.Commit{Snapshot: o.Foreign, User: "another writer", Kind: "expired since"})
	}
	return nil
}

// surroundings looks at what else depends on later snapshots.
func (p *past) surroundings(ctx context.Context, st *connect.Standing) error {
	consumers, err := maintain.Consumers(ctx, p.fs, p.path)
	if err != nil {
		return err
	}
	for _, c := range consumers {
		if c.Next > p.held.Snapshot+1 {
			st.Consumers = append(st.Consumers, connect.Consumer{ID: c.ID, Next: c.Next})
		}
	}
	tags, err := maintain.Tags(ctx, p.fs, p.path)
	if err != nil {
		return err
	}
	for i := range tags {
		if tags[i].Snapshot.ID > p.held.Snapshot {
			st.Tags = append(st.Tags, tags[i].Name)
		}
	}
	t, err := lakehouse.Open(ctx, p.fs, p.path)
	if err != nil {
		return err
	}
	if now := t.Schema.ID; now != p.held.Schema {
		st.Notices = append(st.Notices, fmt.Sprintf("table %s: its schema is %d by now, the savepoint is of schema %d; the schema stays as it is", p.name, now, p.held.Schema))
	}
	return nil
}

// PlanRewind plans the rollback to the savepoint's snapshot.
func (*Connector) PlanRewind(ctx context.Context, t *connect.Table, raw json.RawMessage, consumers []connect.Consumer) (json.RawMessage, error) {
	p, err := openPast(ctx, t, raw)
	if err != nil {
		return nil, err
	}
	return p.plan(ctx, consumers)
}

func (p *past) plan(ctx context.Context, consumers []connect.Consumer) (json.RawMessage, error) {
	tag := ""
	if p.expired {
		tag = p.held.Tag
	}
	r, err := maintain.PlanRewind(ctx, p.fs, p.path, p.held.Snapshot, tag)
	if err != nil {
		return nil, err
	}
	for _, c := range consumers {
		r.Consumers = append(r.Consumers, c.ID)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding the way back of table %s: %w", p.name, err)
	}
	return b, nil
}

// Rewind rolls the table back.
func (*Connector) Rewind(ctx context.Context, t *connect.Table, plan json.RawMessage) error {
	fs, path, err := open.FromURL(t.Location)
	if err != nil {
		return err
	}
	return mayPass(rewind(ctx, fs, path, plan), "rolling table "+t.Name+" back")
}

func rewind(ctx context.Context, fs fileio.FS, path string, plan json.RawMessage) error {
	var r maintain.Rewind
	if err := json.Unmarshal(plan, &r); err != nil {
		return fmt.Errorf("reading the way back of table %s: %w", path, err)
	}
	return r.Run(ctx, fs, path)
}

// Release removes a savepoint's tag.
func (*Connector) Release(ctx context.Context, location string, raw json.RawMessage) (bool, error) {
	fs, path, err := open.FromURL(location)
	if err != nil {
		return false, err
	}
	h, err := parseHeld(raw, location)
	if err != nil {
		return false, err
	}
	created, err := firstSchemaTime(ctx, fs, path)
	switch {
	case errors.Is(err, fileio.ErrNotExist), err == nil && created != h.Created:
		return false, nil
	case err != nil:
		return false, err
	}
	tag, err := findTag(ctx, fs, path, h.Tag)
	if err != nil || tag == nil || tag.Snapshot.DeltaManifestList != h.Delta {
		return err == nil, err
	}
	return true, maintain.DeleteTag(ctx, fs, path, h.Tag)
}
