package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/sqlfront"
)

// view is a query with a name. Views live in the session: a Paimon catalog on a file
// system keeps none.
type view struct {
	full string
	// query names all tables in full.
	query   *sqlfront.Query
	columns []sqlfront.Name
	comment *string
}

// maxViewDepth bounds views over views, which may come to name each other.
const maxViewDepth = 32

// viewOf gives the view called n; nil if there is none.
func (s *Session) viewOf(n sqlfront.ObjectName) *view {
	c := s.catalogOf(n)
	if c == nil || len(n.Parts) > 3 {
		return nil
	}
	_, db, name, ok := s.resolve(n)
	if !ok || c.tables[db+"."+name] != nil {
		return nil
	}
	return c.views[db+"."+name]
}

func (c *namespace) viewNames(db string) []string {
	var out []string
	for k := range c.views {
		if name, ok := strings.CutPrefix(k, db+"."); ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// expand says that w is put in place of its name, until done is called. Views that
// come to name each other are an error.
func (s *Session) expand(w *view, at diag.Pos) (done func(), err *diag.Error) {
	if slices.Contains(s.expanding, w.full) || len(s.expanding) >= maxViewDepth {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: at, Msg: fmt.Sprintf("view %s is read for itself: %s", w.full, strings.Join(append(s.expanding, w.full), " → ")), Hint: "ALTER VIEW … AS a query over tables"}
	}
	s.expanding = append(s.expanding, w.full)
	return func() { s.expanding = s.expanding[:len(s.expanding)-1] }, nil
}

// fromView reads a view in a query that DuckDB runs.
func (sc *lakeScope) fromView(w *view, v *sqlfront.TableName, alias string) (string, bool) {
	b := sc.b
	done, e := b.s.expandAt(w, v)
	if e != nil {
		b.s.fail(e)
		return "", false
	}
	defer done()
	r, ok := b.query(w.query, nil, nil)
	if !ok || !b.rename(&r, w.columns, v.Name.At) || !b.rename(&r, v.Alias.Columns, v.Name.At) {
		return "", false
	}
	text, rel := b.derived(r, alias)
	sc.relations = append(sc.relations, rel)
	return text, true
}

// fromView reads a view in a job.
func (b *builder) fromView(ctx context.Context, w *view, v *sqlfront.TableName) ([]*relation, bool) {
	done, e := b.s.expandAt(w, v)
	if e != nil {
		b.s.fail(e)
		return nil, false
	}
	defer done()
	rels, ok := b.queryIn(ctx, w.query, nil)
	rels = renamed(named(rels, v.Name.Parts[len(v.Name.Parts)-1].Text), sqlfront.Alias{Columns: w.columns})
	return renamed(rels, v.Alias), ok
}

func (s *Session) expandAt(w *view, v *sqlfront.TableName) (done func(), err *diag.Error) {
	if e := w.plain(v); e != nil {
		return nil, e
	}
	return s.expand(w, v.Name.At)
}

// plain refuses what can be said of tables only.
func (w *view) plain(v *sqlfront.TableName) *diag.Error {
	switch {
	case v.AsOf != nil:
		return &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.AsOf.Pos(), Msg: w.full + " is a view: it has no older states", Hint: "write FOR SYSTEM_TIME AS OF behind the tables of its query"}
	case len(v.Hints) > 0:
		return &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Hints[0].At, Msg: w.full + " is a view: hints are about tables", Hint: "write the hint behind the tables of its query"}
	}
	return nil
}

func (s *Session) createView(ctx context.Context, v *sqlfront.CreateView) {
	c, db, name, ok := s.resolve(v.Name)
	if !ok || !s.databaseExists(ctx, c, db, v.Name.At) {
		return
	}
	full := fullName(c, db, name)
	exists := func(what string) {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeExists, Pos: v.Name.At, Msg: fmt.Sprintf("%s %s exists already", what, full), Hint: "choose another name"})
	}
	there, err := s.exists(ctx, c, db, name)
	switch {
	case err != nil:
		s.fail(placed(err, v.Name.At))
		return
	case there:
		exists("table")
		return
	case c.views[db+"."+name] == nil || v.OrReplace:
	case v.IfNotExists:
		return
	default:
		exists("view")
		return
	}
	s.keepView(ctx, c, db, name, &view{full: full, query: v.Query, columns: v.Columns, comment: v.Comment}, v.Name.At)
	if c.lake != nil && !v.Temporary {
		s.notice(configs.Notice{Pos: v.Pos(), Key: "views", Msg: "views live as long as the session: a Paimon catalog on a file system keeps none"})
	}
}

// keepView checks a view and takes it into the session.
func (s *Session) keepView(ctx context.Context, c *namespace, db, name string, w *view, at diag.Pos) {
	s.qualify(w.query)
	if _, ok := s.viewColumns(ctx, w, at); !ok {
		return
	}
	if c.views == nil {
		c.views = map[string]*view{}
	}
	c.views[db+"."+name] = w
	s.result.Shaped = true
}

// qualify gives all tables of a query their full names: they stay what they are when
// another database becomes current.
func (s *Session) qualify(q *sqlfront.Query) {
	with := map[string]bool{}
	one := func(n *sqlfront.ObjectName) {
		if len(n.Parts) == 1 && with[n.Parts[0].Text] {
			return
		}
		if c, db, name, ok := s.resolve(*n); ok {
			n.Parts = []sqlfront.Name{{Text: c.name, At: n.At}, {Text: db, At: n.At}, {Text: name, At: n.At}}
		}
	}
	var body func(b sqlfront.QueryBody)
	body = func(b sqlfront.QueryBody) {
		switch b := b.(type) {
		case *sqlfront.TableQuery:
			one(&b.Name)
		case *sqlfront.SetOperation:
			body(b.Left)
			body(b.Right)
		}
	}
	sqlfront.WalkQuery(q, sqlfront.Visitor{
		Query: func(q *sqlfront.Query) bool {
			for _, c := range q.With {
				with[c.Name.Text] = true
			}
			body(q.Body)
			return true
		},
		Table: func(ref sqlfront.TableRef) bool {
			if t, ok := ref.(*sqlfront.TableName); ok {
				one(&t.Name)
			}
			return true
		},
	})
}

// viewColumns binds the query of a view, as one that runs here, else as one of a job.
func (s *Session) viewColumns(ctx context.Context, w *view, at diag.Pos) ([]columnar.Field, bool) {
	before := len(s.errs)
	done, e := s.expand(w, at)
	if e != nil {
		s.fail(e)
		return nil, false
	}
	defer done()
	var out []columnar.Field
	if st, ok := s.bindLakeQuery(ctx, at, w.query); ok {
		out = st.Select.Columns.Fields
	} else {
		first := slices.Clone(s.errs[before:])
		s.errs = s.errs[:before]
		rels, ok := newBuilder(s).query(ctx, w.query)
		if !ok || len(rels) == 0 {
			s.errs = append(s.errs[:before], first...)
			return nil, false
		}
		for _, c := range rels[0].columns {
			out = append(out, columnar.Field{Name: c.name, Type: c.expr.Type()})
		}
	}
	if w.columns == nil {
		return out, true
	}
	if len(w.columns) != len(out) {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: at, Msg: fmt.Sprintf("%d names for %d columns", len(w.columns), len(out)), Hint: "name each column, or none"})
		return nil, false
	}
	out = slices.Clone(out)
	for i, n := range w.columns {
		out[i].Name = n.Text
	}
	return out, true
}

// knownView gives a view, or says that there is none.
func (s *Session) knownView(n sqlfront.ObjectName) (c *namespace, key string, w *view) {
	c, db, name, ok := s.resolve(n)
	if !ok {
		return nil, "", nil
	}
	if w = c.views[db+"."+name]; w == nil {
		s.fail(unknown("view", fullName(c, db, name), n.At, prefixed(c.name+"."+db+".", c.viewNames(db)), "see SHOW VIEWS"))
	}
	return c, db + "." + name, w
}

func (s *Session) alterView(ctx context.Context, v *sqlfront.AlterView) {
	c, key, w := s.knownView(v.Name)
	if w == nil {
		return
	}
	if v.Query != nil {
		db, name, _ := strings.Cut(key, ".")
		s.keepView(ctx, c, db, name, &view{full: w.full, query: v.Query, comment: w.comment}, v.Name.At)
		return
	}
	to, db, name, ok := s.resolve(v.NewName)
	if !ok {
		return
	}
	if there, err := s.exists(ctx, to, db, name); to != c || err != nil || there || c.views[db+"."+name] != nil {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeExists, Pos: v.NewName.At, Msg: fullName(to, db, name) + " exists already, or is in another catalog", Hint: "choose another name", Cause: err})
		return
	}
	delete(c.views, key)
	w.full = fullName(c, db, name)
	c.views[db+"."+name] = w
	s.result.Shaped = true
}

func (s *Session) dropView(v *sqlfront.Drop) {
	c, db, name, ok := s.resolve(v.Name)
	if !ok || v.IfExists && c.views[db+"."+name] == nil {
		return
	}
	if _, key, w := s.knownView(v.Name); w != nil {
		delete(c.views, key)
		s.result.Shaped = true
	}
}

func (s *Session) showViews(v *sqlfront.Show) {
	c, db := s.current, s.database
	if len(v.Name.Parts) > 0 {
		var ok bool
		if c, db, ok = s.splitDatabase(v.Name); !ok {
			return
		}
	}
	s.list(v, "view name", c.viewNames(db))
}

func (s *Session) showCreateView(v *sqlfront.Show) {
	_, _, w := s.knownView(v.Name)
	if w == nil {
		return
	}
	st := &sqlfront.CreateView{Columns: w.columns, Comment: w.comment, Query: w.query}
	for _, n := range strings.SplitN(w.full, ".", 3) {
		st.Name.Parts = append(st.Name.Parts, sqlfront.Name{Text: n})
	}
	s.rows(v.Pos(), []string{"result"}, [][]string{{sqlfront.Format(st)}})
}

func (s *Session) describeView(ctx context.Context, at diag.Pos, w *view, want func(string) bool) {
	columns, ok := s.viewColumns(ctx, w, at)
	if ok {
		s.describeTable(at, &table{full: w.full, def: &connect.Table{Schema: &columnar.Schema{Fields: columns}}}, want)
	}
}
