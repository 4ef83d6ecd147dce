package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"leat/catalog"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/spec"
)

// rerun is what a script that is run again finds of itself in the history of a
// lake table: the CREATE TABLE in an early schema, each ALTER TABLE as the step
// from one schema to the next, in the order of the script.
type rerun struct {
	schemas []*spec.TableSchema
	// at is the index of the schema up to which statements of the script were found.
	at int
	// shape is the error of a CREATE TABLE that fits an early schema only: it counts
	// unless ALTERs of the script have led on from there.
	shape *diag.Error
	// held are the statements found, with the error that each would have been.
	held []heldStatement
}

type heldStatement struct {
	notice configs.Notice
	err    error
}

// rerunOf gives the history of a stored table; nil if there is none to look at.
func (s *Session) rerunOf(ctx context.Context, c *namespace, db, name string) (*rerun, error) {
	if !s.script || c.gone[db+"."+name] || c.gone[db+"."] {
		return nil, nil //nolint:nilnil // statements of a shell, and those on a table made anew, are carried out each time
	}
	key := fullName(c, db, name)
	if r, ok := s.reruns[key]; ok {
		return r, nil
	}
	schemas, err := c.lake.History(ctx, db, name)
	if err != nil {
		return nil, err
	}
	r := &rerun{schemas: schemas}
	s.reruns[key] = r
	return r, nil
}

// createdAs looks for the schema that a CREATE TABLE made.
func (r *rerun) createdAs(want *spec.TableSchema, shape *diag.Error) bool {
	for i := range len(r.schemas) - 1 {
		if len(shapeDiff(r.schemas[i], want)) == 0 {
			r.at, r.shape = i, shape
			return true
		}
	}
	return false
}

// carriedOut looks for the step that changes made, and reports whether what it
// did still holds in now.
func (r *rerun) carriedOut(now *spec.TableSchema, changes []catalog.SchemaChange, o catalog.AlterOptions) bool {
	for i := r.at; i < len(r.schemas)-1; i++ {
		next, err := catalog.Alter(r.schemas[i], changes, o)
		if err == nil && next != nil && equalSchemas(next, r.schemas[i+1]) && stillHolds(now, r.schemas[i], r.schemas[i+1], changes, o) {
			r.at = i + 1
			return true
		}
	}
	return false
}

// equalSchemas compares all but the times.
func equalSchemas(a, b *spec.TableSchema) bool {
	text := func(s *spec.TableSchema) string {
		c := *s
		c.TimeMillis = 0
		out, err := spec.MarshalSchema(&c)
		if err != nil {
			return ""
		}
		return string(out)
	}
	x := text(a)
	return x != "" && x == text(b)
}

// stillHolds reports whether the step from one schema to the next is neither
// undone nor to be done again: of the columns that it added one at least is there,
// under whatever name, and those that it dropped or renamed are not.
func stillHolds(now, before, after *spec.TableSchema, changes []catalog.SchemaChange, o catalog.AlterOptions) bool {
	added, left := 0, 0
	for _, f := range after.Fields {
		if f.ID <= before.HighestFieldID {
			continue
		}
		added++
		if slices.ContainsFunc(now.Fields, func(x columnar.Field) bool { return x.ID == f.ID }) {
			left++
		}
	}
	if added > 0 && left == 0 {
		return false
	}
	for _, ch := range changes {
		switch ch.(type) {
		case catalog.DropColumn, catalog.RenameColumn:
			if _, err := catalog.Alter(now, []catalog.SchemaChange{ch}, o); err == nil {
				return false
			}
		}
	}
	return true
}

// skipHeld reports whether an ALTER TABLE was carried out by an earlier run of
// the script, and notes that it is not done again.
func (s *Session) skipHeld(ctx context.Context, at diag.Pos, c *namespace, db, name string, now *spec.TableSchema, changes []catalog.SchemaChange, o catalog.AlterOptions) (bool, error) {
	if slices.ContainsFunc(changes, func(ch catalog.SchemaChange) bool {
		switch ch.(type) {
		case catalog.SetOption, catalog.ResetOption:
			return true // may be done any number of times
		}
		return false
	}) {
		return false, nil
	}
	r, err := s.rerunOf(ctx, c, db, name)
	if err != nil || r == nil || !r.carriedOut(now, changes, o) {
		return false, err
	}
	_, err = catalog.Alter(now, changes, o)
	full := fullName(c, db, name)
	r.held = append(r.held, heldStatement{
		notice: configs.Notice{
			Pos: at, Key: fmt.Sprintf("rerun %s %d", full, r.at),
			Msg: fmt.Sprintf("table %s has this change already (schema %d): it is not done again", full, r.schemas[r.at].ID),
		},
		err: inTable(placed(err, at), full),
	})
	return true, nil
}

// settleReruns says what was skipped. Only a job is run again: in a script
// without INSERT a statement that cannot be done a second time is an error.
func (s *Session) settleReruns(job bool) {
	for _, key := range slices.Sorted(maps.Keys(s.reruns)) {
		r := s.reruns[key]
		if r.shape != nil && (len(r.held) == 0 || !job) {
			s.fail(r.shape)
			continue
		}
		for _, h := range r.held {
			if job {
				s.notice(h.notice)
			} else if h.err != nil {
				s.fail(h.err)
			}
		}
	}
	s.reruns = map[string]*rerun{}
}
