package paimon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"leat/catalog"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/lakehouse"
	"leat/lakehouse/commit"
)

var _ dataflow.Changer = (*writer)(nil)

// Change brings the table to the columns of c, and empties it where c says so,
// with the commit of the next rows. Everything written before is committed: files
// of the old form and of the new one do not meet in a commit.
func (w *writer) Change(ctx context.Context, c *dataflow.Change) (*dataflow.Change, error) {
	if w.compare != nil {
		if err := w.writeDifferences(ctx); err != nil {
			return nil, err
		}
		w.compare = nil
	}
	switch {
	case c.Kind == dataflow.TakeRows || c.Kind == dataflow.CompareRows && !w.sink.tellsInput():
		return c, nil
	case c.Kind == dataflow.CompareRows:
		var err error
		w.compare, err = newComparer(w.sink.table, c.Schema)
		return c, err
	}
	// Files of a key of another type do not stay: the rows are written anew, or gone.
	deletes := c.Truncate && w.sink.tellsInput() && !w.sink.rekeys(c)
	if err := w.sink.alter(ctx, c); err != nil {
		return nil, fmt.Errorf("following %q: %w", c.Reason, err)
	}
	if err := w.w.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("closing the writer before %q: %w", c.Reason, err)
	}
	if !c.Truncate {
		if err := w.sink.rekey(ctx); err != nil {
			return nil, fmt.Errorf("following %q: %w", c.Reason, err)
		}
	}
	if err := w.sink.reopen(ctx, w, c.Truncate && !deletes); err != nil || !deletes {
		return c, err
	}
	return c, w.deleteAll(ctx)
}

// rekeys reports whether a column of the key gets another type.
func (s *sink) rekeys(c *dataflow.Change) bool {
	for _, name := range s.table.Schema.PrimaryKeys {
		have, want := field(s.table.Schema.Fields, name), field(c.Schema.Fields, name)
		if have != nil && want != nil && !have.Type.EqualIgnoreNull(want.Type) {
			return true
		}
	}
	return false
}

// alter changes the definition of the table, as far as it is not as c wants it:
// after a crash the change may have been made.
func (s *sink) alter(ctx context.Context, c *dataflow.Change) error {
	fields := s.table.Schema.Fields
	var changes []catalog.SchemaChange
	fields = slices.Clone(fields)
	for _, name := range c.Dropped {
		if field(fields, name) != nil {
			changes = append(changes, catalog.DropColumn{Path: []string{name}})
			fields = slices.DeleteFunc(fields, func(f columnar.Field) bool { return f.Name == name })
		}
	}
	more, fields := renames(fields, c.Renamed)
	changes = append(changes, more...)
	for _, f := range c.Schema.Fields {
		have := field(fields, f.Name)
		switch {
		case have == nil:
			changes = append(changes, catalog.AddColumn{Path: []string{f.Name}, Type: f.Type, Comment: f.Comment})
		case !have.Type.EqualIgnoreNull(f.Type) || f.Type.Nullable && !have.Type.Nullable:
			changes = append(changes, catalog.ModifyType{Path: []string{f.Name}, Type: f.Type})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	db := path.Dir(s.path)
	lake := catalog.New(s.fs, path.Dir(db))
	id := catalog.Identifier{Database: strings.TrimSuffix(path.Base(db), ".db"), Table: path.Base(s.path)}
	_, err := lake.AlterTable(ctx, id, changes, catalog.AlterOptions{Emptied: c.Truncate, Rekeyed: s.table.Rekeyable()})
	return err
}

// rekey writes the rows of the table anew if a column of the key got another type,
// also before a crash. Everything of the job is committed.
func (s *sink) rekey(ctx context.Context) error {
	t, err := lakehouse.Open(ctx, s.fs, s.path)
	if err != nil || s.replace {
		return err // or it is emptied
	}
	id, err := t.Rekey(ctx, s.writeConfig())
	if err != nil || id == 0 {
		return err
	}
	s.log.Info("the rows of a table were written anew, because its key has another type", "table", s.spec.Table.Name, "snapshot", id)
	return nil
}

// renames gives the changes of names that are not made yet, one after the other
// so that each name is free when it is given, and the columns after them.
func renames(fields []columnar.Field, pairs map[string]string) (changes []catalog.SchemaChange, after []columnar.Field) {
	after = slices.Clone(fields)
	left := maps.Clone(pairs)
	for again := true; again; {
		again = false
		for _, from := range slices.Sorted(maps.Keys(left)) {
			have, to := field(after, from), left[from]
			if have == nil || field(after, to) != nil {
				continue
			}
			changes = append(changes, catalog.RenameColumn{Path: []string{from}, To: to})
			have.Name, again = to, true
			delete(left, from)
		}
	}
	return changes, after
}

func field(fields []columnar.Field, name string) *columnar.Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

// reopen goes on with the latest definition of the table.
func (s *sink) reopen(ctx context.Context, w *writer, truncate bool) error {
	t, err := lakehouse.Open(ctx, s.fs, s.path)
	if err != nil {
		return err
	}
	if err := s.committer.Settle(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table, s.replace = t, s.replace || truncate
	s.committer = commit.New(s.fs, s.path, t.Schema, s.commitOptions(s.spec.Table.Options), s.log)
	next, err := t.NewWriter(ctx, s.writeConfig())
	if err != nil {
		return err
	}
	for i, old := range s.writers {
		if old == w.w {
			s.writers[i] = next
		}
	}
	w.w = next
	return nil
}
