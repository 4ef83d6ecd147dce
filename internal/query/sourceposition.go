package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"leat/catalog"
	"leat/cdc"
	"leat/internal/diag"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// The options that ask for a snapshot by a place in the source's history.
const (
	OptionSourceGTID     = "scan.source-gtid"
	OptionSourcePosition = "scan.source-position"
)

// holding finds the first snapshot that holds all of the source up to the target:
// of those after the id since, the earliest of its writer. nil without one.
// Snapshots that say nothing of a source, those of other writers, are passed over.
func holding(ctx context.Context, snaps *commit.Snapshots, target cdc.Target, since int64) (*spec.Snapshot, error) {
	ids, err := snaps.List(ctx)
	if err != nil {
		return nil, err
	}
	var found *spec.Snapshot
	for _, id := range slices.Backward(ids) {
		if id <= since {
			break
		}
		s, err := snaps.Read(ctx, id)
		if err != nil {
			return nil, err
		}
		held, known := target.HeldBy(s.Properties)
		switch {
		case held:
			found = s
		case known && found != nil && s.CommitUser == found.CommitUser:
			return found, nil
		}
	}
	return found, nil
}

// ofSource gives the first snapshot that holds the place of the source.
func (s *Source) ofSource(ctx context.Context, key, value string) (*spec.Snapshot, error) {
	target, err := cdc.ParseTarget(value)
	if err != nil {
		return nil, err
	}
	found, err := holding(ctx, s.table.Snapshots(), target, 0)
	if err != nil || found != nil {
		return found, err
	}
	e := &diag.Error{
		Domain: diag.User, Code: diag.CodeUnknownObject, Table: s.Name, Option: key, Msg: "no snapshot holds all of the source up to " + value,
		Hint: "wait for it: SET 'leat.read.wait-for' = '" + value + "'",
	}
	if at := sourcePlace(s.newest(ctx)); at != "" {
		e.Notes = []string{"the newest snapshot ends at " + at}
	}
	return nil, e
}

// newest gives the newest snapshot of the table; nil if there is none.
func (s *Source) newest(ctx context.Context) *spec.Snapshot {
	latest, err := s.table.LatestSnapshot(ctx)
	if err != nil {
		return nil
	}
	return latest
}

// sourcePlace is where in its source a snapshot ends, for people; "" if it does not say.
func sourcePlace(s *spec.Snapshot) string {
	if s == nil {
		return ""
	}
	p := s.Properties
	at := p[cdc.PropGTID]
	if p[cdc.PropFile] != "" {
		at = strings.TrimSpace(fmt.Sprintf("%s:%s %s", p[cdc.PropFile], p[cdc.PropPos], at))
	}
	if at != "" && p[cdc.PropComplete] == "false" {
		at += ", in its snapshot"
	}
	return at
}

// Coverage tells whether a table holds its source up to a target.
type Coverage struct {
	// Location is the folder of the table.
	Location string
	table    *lakehouse.Table
	seen     int64
	latest   *spec.Snapshot
}

// Cover opens a table to ask for its coverage.
func Cover(ctx context.Context, w *Warehouse, database, name string) (*Coverage, error) {
	n, err := SplitName(name)
	if err != nil {
		return nil, err
	}
	_, path, err := w.Catalog.Table(ctx, catalog.Identifier{Database: database, Table: n.Table})
	if err != nil {
		return nil, err
	}
	t, err := lakehouse.OpenBranch(ctx, w.FS, path, n.Branch)
	if err != nil {
		return nil, err
	}
	return &Coverage{Location: path, table: t}, nil
}

// Holds reports whether a snapshot holds all up to the target. Snapshots that it has seen it does not read again.
func (c *Coverage) Holds(ctx context.Context, target cdc.Target) (bool, error) {
	latest, err := c.table.LatestSnapshot(ctx)
	if err != nil || latest == nil || latest.ID == c.seen {
		return false, err
	}
	found, err := holding(ctx, c.table.Snapshots(), target, c.seen)
	c.seen, c.latest = latest.ID, latest
	return found != nil, err
}

// Place is where in its source the newest snapshot ends, for people.
func (c *Coverage) Place() string { return sourcePlace(c.latest) }
