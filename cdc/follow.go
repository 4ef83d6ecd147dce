package cdc

import (
	"context"
	"errors"
	"slices"
	"strings"

	"leat/cdc/mysqlrow"
	"leat/internal/diag"
)

// statementEvent looks whether a statement in the log touches a table of ours.
func (r *Reader) statementEvent(ctx context.Context, e *event) error {
	kind, names, err := r.effectsOf(ctx, e)
	if err != nil {
		return err
	}
	if kind == noEffect {
		if definesAnew(e.text) {
			clear(r.reached)
		}
		return nil
	}
	r.run.changed = true
	if kind == written || kind == called {
		all, err := r.reach(ctx, names, e.text)
		if err != nil {
			return err
		}
		if kind == called {
			all = all[len(names):] // which it may only read
		}
		kind, names = written, all
	}
	list := r.follows(kind, names, e)
	for _, c := range list {
		c.table.statement, c.table.strict = e.text, e.session.strict()
		if kind != altered || c.table.seq.waits() || !c.table.describedAfter(e, r.pos.ServerUUID) {
			continue
		}
		// The columns of now hold this change, too: what it did to rows is not seen
		// any more, nor which rows before it were read under the wrong columns.
		if r.server.vars["binlog_row_metadata"] == "FULL" {
			c.table.reread = true
		} else {
			r.heal(c.table, errors.New("several changes of its columns follow each other"))
		}
	}
	if kind == dropped && isCreate(e.text) {
		for i := range list {
			list[i].kind = renamed // another table is in its place
		}
	}
	come, err := r.newcomers(ctx, kind, names, e)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		if err := r.welcome(ctx, come); err != nil {
			return err
		}
	}
	if len(list) > 0 && kind != written {
		statement := e.text
		return r.startCut(ctx, func(ctx context.Context) error {
			if err := r.carry(ctx, list, statement); err != nil {
				return err
			}
			return r.welcome(ctx, come)
		})
	}
	for _, t := range r.tables {
		if kind == created || t.def.Follow && (kind != written || !slices.ContainsFunc(list, func(c carried) bool { return c.table == t })) || !slices.ContainsFunc(names, func(n name) bool { return n.covers(t.def.Database, t.def.Name) }) {
			continue
		}
		t.statement = e.text
		switch kind {
		case altered:
			if err := r.altered(ctx, t); err != nil {
				return err
			}
		case written:
			return t.alone(t.at(-1, &diag.Error{
				Domain: diag.External, Code: diag.CodeSourceBinlog,
				Msg:   "a session wrote " + t.id() + " with binlog_format=STATEMENT or MIXED, so that the log does not hold the rows",
				Notes: []string{"statement: " + clip(e.text)},
				Hint:  "SET GLOBAL binlog_format = 'ROW', and in sessions that set it, then read the table anew with --fresh --replace",
			}))
		case renamed:
			switch {
			case t.def.OnlineChanges && replaces(names, t):
				r.log.Info("a tool for online changes of the schema has put another table in place of one: it is read on", "table", t.id(), "statement", clip(e.text))
				if err := r.altered(ctx, t); err != nil {
					return err
				}
			case !t.empty:
				return t.gone(kind, e.text)
			}
		case refilled:
			r.log.Warn("rows of the source table came or went without events: the lake keeps what it has", "table", t.id(), "statement", clip(e.text),
				"remedy", "read the table anew with --fresh --replace, or copy it with leat sync mysql")
			if err := r.altered(ctx, t); err != nil {
				return err
			}
		case noEffect, truncated, dropped, created, called:
			if !t.empty && (kind != truncated || !t.def.SkipTruncate) {
				return t.gone(kind, e.text)
			}
		}
	}
	return nil
}

// effectsOf is effects for a statement of any session. The text of e is UTF-8 then.
func (r *Reader) effectsOf(ctx context.Context, e *event) (effect, []name, error) {
	text, both, err := r.inUTF8(ctx, e)
	if err != nil {
		return noEffect, nil, err
	}
	raw := e.session.plain(e.text)
	e.text = e.session.plain(text)
	kind, names := effects(e.text, e.schema)
	if both {
		other, more := effects(raw, e.schema)
		if kind == noEffect {
			kind = other
		}
		names = append(names, more...)
	}
	return kind, names, nil
}

// definesAnew reports a statement that may change what a view, a trigger or a function does.
func definesAnew(statement string) bool {
	return slices.Contains([]string{"CREATE", "ALTER", "DROP"}, firstWord(statement))
}

// isCreate reports CREATE OR REPLACE TABLE.
func isCreate(statement string) bool { return strings.EqualFold(firstWord(statement), "CREATE") }

// gone stops at a statement that takes the rows of the table away as a whole.
func (t *table) gone(kind effect, statement string) error {
	what := map[effect]string{truncated: "was truncated", dropped: "was dropped", renamed: "was renamed"}[kind]
	return t.at(-1, &diag.Error{
		Domain: diag.Guard, Code: diag.CodeSourceChanged,
		Msg:   "source table " + t.id() + " " + what + ", which the job does not carry over to the lake",
		Notes: []string{"statement: " + clip(statement)},
		Hint:  "if the lake table is to follow, read it anew with --fresh --replace",
	})
}

// altered follows a change of the columns of t: as long as the columns that are
// read stay the same, the new form of the rows is read from here on.
func (r *Reader) altered(ctx context.Context, t *table) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	n, err := r.cfg.connect(ctx)
	if err != nil {
		return err
	}
	defer n.close()
	src, err := r.describeNow(n, t.def.Database, t.def.Name)
	if err != nil {
		return sourceError(n.addr, err)
	}
	if src == nil {
		return t.gone(dropped, t.statement)
	}
	return r.switchTo(t, src)
}

// switchTo reads the table by another version of its columns from here on.
func (r *Reader) switchTo(t *table, src *sourceTable) error {
	// Changes are merged into chunks by the key that the rows had when it was read.
	sameKey := t.seq.complete() || slices.EqualFunc(t.src.primary, src.primary, strings.EqualFold)
	if sameKey && sameColumns(t.src.columns, src.columns) {
		return nil
	}
	next := &table{def: t.def, port: t.port}
	if err := next.adopt(src, r.cells()); err != nil {
		return t.changed(err)
	}
	if !sameOutput(t, next) {
		return t.changed(errors.New("its key changed"))
	}
	if !t.seq.complete() && len(t.cut) > 0 && t.plan.KeyOrder() != next.plan.KeyOrder() {
		return t.changed(errors.New("the order of its key changed while it was read in ranges of it"))
	}
	for _, c := range t.def.Schema.Names() {
		if i, j := t.src.index(c), src.index(c); i >= 0 && j >= 0 && !sameColumn(t.src.columns[i], src.columns[j]) {
			r.log.Info("source column changed its type and still fits", "table", t.id(), "column", c, "type", src.columns[j].ColumnType)
		}
	}
	r.log.Info("source table changed in columns that are not read, or that still fit", "table", t.id(), "statement", clip(t.statement))
	t.was, t.src, t.plan, t.before = t.src, src, next.plan, next.before
	t.seq.out = mysqlrow.NewBuilder(t.plan, firstRows)
	for _, c := range t.seq.reading {
		c.again = true
		// What comes until it is read again is not needed; its form may differ.
		c.kept, c.kinds, c.ends = mysqlrow.NewBuilder(t.plan, 64), nil, nil
	}
	return nil
}

// sameOutput reports whether two versions decode into the same columns.
func sameOutput(a, b *table) bool {
	if len(a.schema.Fields) != len(b.schema.Fields) || !slices.Equal(a.key, b.key) || !slices.Equal(a.cut, b.cut) || !slices.Equal(a.visible, b.visible) {
		return false
	}
	for i, f := range a.schema.Fields {
		if g := b.schema.Fields[i]; f.Name != g.Name || f.Type.String() != g.Type.String() {
			return false
		}
	}
	return true
}

// errStops is the cause of stopping at a change that could be followed.
var errStops = errors.New("the job stops at every change of tables")

// changed says that the job cannot follow a change of the table.
func (t *table) changed(cause error) error {
	e := &diag.Error{
		Domain: diag.Guard, Code: diag.CodeSourceChanged, Table: t.def.Label, Pos: t.def.Pos,
		Msg:   "source table " + t.id() + " was changed in a way the job cannot follow",
		Cause: cause,
		Hint:  "correct the CREATE TABLE statement, then read the table anew with --fresh --replace",
	}
	var list diag.List
	var one *diag.Error
	switch {
	case t.def.Follow && errors.Is(cause, errStops):
		e.Hint = "let the job follow changes (schema.change.behavior: lenient or evolve), and run it again: it goes on in front of this statement"
	case t.def.Follow:
		if errors.As(cause, &list) && len(list) > 0 {
			e.Cause = errors.New(list[0].Msg)
		} else if errors.As(cause, &one) {
			e.Cause = errors.New(one.Msg)
		}
		e.Hint = "undo the change at the source and go on with the table, or leave it out; or drop its table in the lake, and read it anew with --fresh --replace"
	case errors.As(cause, &list) && len(list) > 0:
		e.Cause, e.Hint = errors.New(list[0].Msg), list[0].Hint+", then read the table anew with --fresh --replace"
	case errors.As(cause, &one):
		e.Cause = errors.New(one.Msg)
	}
	if t.statement != "" {
		e.Notes = append(e.Notes, "statement: "+clip(t.statement))
	}
	return e
}

// rebind finds the version of the table that a table map describes, if the
// columns in use are not it: the version of now, or one put together from the
// names in the log.
func (r *Reader) rebind(ctx context.Context, t *table, m mysqlrow.TableMap, cause error) (*mysqlrow.Layout, error) {
	if err := r.flush(ctx); err != nil {
		return nil, err
	}
	n, err := r.cfg.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer n.close()
	now, err := r.describeNow(n, t.def.Database, t.def.Name)
	if err != nil {
		return nil, sourceError(n.addr, err)
	}
	versions := make([]*sourceTable, 0, 3)
	if now != nil {
		versions = append(versions, now, now.named(m))
	}
	versions = append(versions, t.src.named(m))
	if !t.def.Follow {
		versions = append(versions, r.onlyVersion(t, now, m))
	}
	for _, src := range versions {
		if src == nil {
			continue
		}
		next := &table{def: t.def, port: t.port}
		if next.adopt(src, r.cells()) != nil || !t.def.Follow && !sameOutput(t, next) {
			continue
		}
		if _, err := next.plan.Bind(m); err != nil {
			continue
		}
		if t.def.Follow {
			t.take(next)
			return t.plan.Bind(m)
		}
		if err := r.switchTo(t, src); err != nil {
			return nil, err
		}
		return t.plan.Bind(m)
	}
	if t.def.Follow {
		r.heal(t, cause)
		return nil, nil //nolint:nilnil // the rows are passed over
	}
	return nil, r.unnamed(t.changed(cause))
}

// unnamed adds to an error about columns of the log that a server can name them.
func (r *Reader) unnamed(err error) error {
	var e *diag.Error
	if r.server.vars["binlog_row_metadata"] != "FULL" && errors.As(err, &e) {
		e.Notes = append(e.Notes, "SET GLOBAL binlog_row_metadata = 'FULL' makes the server name the columns in the log, so that changes which follow each other are told apart")
	}
	return err
}

// logOnly is the type of a column that only the log tells of: it came and went while
// nobody looked, so that it is none of the target's.
const logOnly = "unknown"

// named puts the columns of t in the order in which the log names them, with
// columns t does not know as ones of any type. nil if the log does not tell names.
func (t *sourceTable) named(m mysqlrow.TableMap) *sourceTable {
	if len(m.Names) == 0 || len(m.Names) != len(m.Types) {
		return nil
	}
	out := *t
	out.columns = make([]mysqlrow.Column, len(m.Names))
	for i, name := range m.Names {
		if j := t.index(string(name)); j >= 0 {
			out.columns[i] = t.columns[j]
			continue
		}
		out.columns[i] = mysqlrow.Column{Name: string(name), DataType: logOnly, ColumnType: logOnly}
	}
	return &out
}
