package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// relation is a bound query over one table: expressions over its physical
// columns, and a filter.
type relation struct {
	scan    *scan
	columns []relColumn
	filter  expr.Expr
	// alias is the name columns may be qualified with.
	alias string
}

func (r *relation) has(name string) bool {
	return slices.ContainsFunc(r.columns, func(c relColumn) bool { return c.name == name })
}

type relColumn struct {
	name string
	expr expr.Expr
	at   diag.Pos
}

// scope is what column names mean in one SELECT: the columns of rel, or in a query
// that DuckDB runs what lake knows.
type scope struct {
	rel  *relation
	lake *lakeScope
	// flat says that no window function stands there.
	flat bool
}

func needsFlink(at diag.Pos, what string) *diag.Error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: at, Msg: what + " does not run in a leat job", Hint: "this part needs Flink: the same script runs there"}
}

// query binds a query to one relation, or several for UNION ALL.
func (b *builder) query(ctx context.Context, q *sqlfront.Query) ([]*relation, bool) {
	return b.queryIn(ctx, q, nil)
}

func (b *builder) queryIn(ctx context.Context, q *sqlfront.Query, ctes map[string]*sqlfront.Query) ([]*relation, bool) {
	switch {
	case len(q.OrderBy) > 0:
		b.s.fail(needsFlink(q.OrderBy[0].Expr.Pos(), "ORDER BY"))
		return nil, false
	case q.Limit != nil:
		b.s.fail(needsFlink(q.Limit.Pos(), "LIMIT"))
		return nil, false
	case q.Offset != nil:
		b.s.fail(needsFlink(q.Offset.Pos(), "OFFSET"))
		return nil, false
	}
	if len(q.With) > 0 {
		ctes = maps.Clone(ctes)
		if ctes == nil {
			ctes = map[string]*sqlfront.Query{}
		}
		for _, c := range q.With {
			ctes[c.Name.Text] = c.Query
		}
	}
	return b.body(ctx, q.Body, ctes)
}

func (b *builder) body(ctx context.Context, body sqlfront.QueryBody, ctes map[string]*sqlfront.Query) ([]*relation, bool) {
	switch v := body.(type) {
	case *sqlfront.Select:
		return b.selectQuery(ctx, v, ctes)
	case *sqlfront.Query:
		return b.queryIn(ctx, v, ctes)
	case *sqlfront.TableQuery:
		return b.from(ctx, &sqlfront.TableName{Name: v.Name}, ctes)
	case *sqlfront.SetOperation:
		if v.Op != "UNION" || !v.All {
			b.s.fail(needsFlink(v.At, v.Op))
			return nil, false
		}
		l, ok := b.body(ctx, v.Left, ctes)
		r, ok2 := b.body(ctx, v.Right, ctes)
		return append(l, r...), ok && ok2
	case *sqlfront.Values:
		b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.At, Msg: "INSERT … VALUES does not run yet", Hint: "insert from a table, such as one with connector 'datagen'"})
		return nil, false
	default:
		b.s.fail(needsFlink(body.Pos(), "this query"))
		return nil, false
	}
}

func (b *builder) selectQuery(ctx context.Context, v *sqlfront.Select, ctes map[string]*sqlfront.Query) ([]*relation, bool) {
	switch {
	case v.From == nil:
		b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.At, Msg: "SELECT without FROM does not run in a job", Hint: "select from a table"})
		return nil, false
	case v.Distinct:
		b.s.fail(needsFlink(v.At, "SELECT DISTINCT"))
		return nil, false
	case v.GroupBy != nil:
		b.s.fail(needsFlink(v.At, "GROUP BY"))
		return nil, false
	case v.Having != nil:
		b.s.fail(needsFlink(v.Having.Pos(), "HAVING"))
		return nil, false
	}
	inputs, ok := b.from(ctx, v.From, ctes)
	if !ok {
		return nil, false
	}
	before := len(b.s.errs)
	out := make([]*relation, 0, len(inputs))
	for _, in := range inputs {
		out = append(out, b.selectFrom(v, in))
	}
	return out, len(b.s.errs) == before
}

func (b *builder) selectFrom(v *sqlfront.Select, in *relation) *relation {
	out := &relation{scan: in.scan, filter: in.filter}
	sc := &scope{rel: in}
	for _, item := range v.Items {
		if star, ok := item.Expr.(*sqlfront.Star); ok {
			if len(star.Qualifier) > 0 && star.Qualifier[len(star.Qualifier)-1].Text != in.alias {
				b.s.fail(unknown("table", star.Qualifier[0].Text, star.At, []string{in.alias}, "name the table of FROM"))
			}
			for _, c := range in.columns {
				out.columns = append(out.columns, relColumn{name: c.name, expr: c.expr, at: star.At})
			}
			continue
		}
		e, err := b.s.bindNoticed(item.Expr, sc)
		if err != nil {
			b.s.fail(err)
			continue
		}
		out.columns = append(out.columns, relColumn{name: itemName(item, len(out.columns)), expr: e, at: item.Expr.Pos()})
	}
	if v.Where != nil {
		b.where(v.Where, sc, out)
	}
	return out
}

func (b *builder) where(w sqlfront.Expr, sc *scope, out *relation) {
	cond, err := b.s.bindNoticed(w, sc)
	if err == nil && cond.Type().Kind != boolKind {
		err = &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: w.Pos(), Msg: fmt.Sprintf("WHERE needs a BOOLEAN, this is %s", cond.Type()), Hint: "write a condition, such as amount > 0"}
	}
	if err != nil {
		b.s.fail(err)
		return
	}
	if out.filter == nil {
		out.filter = cond
		return
	}
	both, err := expr.Call("AND", out.filter, cond)
	if err != nil {
		b.s.fail(placed(err, w.Pos()))
		return
	}
	out.filter = both
}

func itemName(item sqlfront.SelectItem, i int) string {
	if item.Alias.Text != "" {
		return item.Alias.Text
	}
	if id, ok := item.Expr.(*sqlfront.Ident); ok {
		return id.Parts[len(id.Parts)-1].Text
	}
	return fmt.Sprintf("EXPR$%d", i)
}

func (b *builder) from(ctx context.Context, ref sqlfront.TableRef, ctes map[string]*sqlfront.Query) ([]*relation, bool) {
	switch v := ref.(type) {
	case *sqlfront.TableName:
		return b.fromTable(ctx, v, ctes)
	case *sqlfront.Derived:
		rels, ok := b.queryIn(ctx, v.Query, ctes)
		return renamed(rels, v.Alias), ok
	case *sqlfront.Join:
		b.s.fail(needsFlink(v.At, "a join"))
	case *sqlfront.Unnest:
		b.s.fail(needsFlink(v.At, "UNNEST"))
	case *sqlfront.UnsupportedTable:
		b.s.fail(v.Error())
	default:
		b.s.fail(needsFlink(ref.Pos(), "this table reference"))
	}
	return nil, false
}

func renamed(rels []*relation, a sqlfront.Alias) []*relation {
	for _, r := range rels {
		if a.Name.Text != "" {
			r.alias = a.Name.Text
		}
		for i, n := range a.Columns {
			if i < len(r.columns) {
				r.columns[i].name = n.Text
			}
		}
	}
	return rels
}

func (b *builder) fromTable(ctx context.Context, v *sqlfront.TableName, ctes map[string]*sqlfront.Query) ([]*relation, bool) {
	if v.AsOf != nil {
		b.s.fail(needsFlink(v.AsOf.Pos(), "FOR SYSTEM_TIME AS OF"))
		return nil, false
	}
	if len(v.Name.Parts) == 1 {
		if q, ok := ctes[v.Name.Parts[0].Text]; ok {
			inner := maps.Clone(ctes)
			delete(inner, v.Name.Parts[0].Text)
			rels, ok := b.queryIn(ctx, q, inner)
			return renamed(named(rels, v.Name.Parts[0].Text), v.Alias), ok
		}
	}
	if w := b.s.viewOf(v.Name); w != nil {
		return b.fromView(ctx, w, v)
	}
	t := b.s.findTable(ctx, v.Name)
	if t == nil {
		return nil, false
	}
	conn, ok := t.connector.(connect.SourceConnector)
	if !ok {
		b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Name.At, Msg: fmt.Sprintf("table %s cannot be read by a job of this version", t.full), Hint: "read from a table with connector 'mysql-cdc' or 'datagen'"})
		return nil, false
	}
	sc := b.scanOf(t, conn, v)
	if sc == nil {
		return nil, false
	}
	r, ok := b.tableRelation(sc)
	if !ok {
		return nil, false
	}
	r.alias = v.Name.Parts[len(v.Name.Parts)-1].Text
	return renamed([]*relation{r}, v.Alias), true
}

func named(rels []*relation, name string) []*relation {
	for _, r := range rels {
		r.alias = name
	}
	return rels
}

// scanOf gives the scan of a table under its hints; equal scans are shared.
func (b *builder) scanOf(t *table, conn connect.SourceConnector, v *sqlfront.TableName) *scan {
	def, key := t.def, ""
	for _, h := range v.Hints {
		if h.Name != "OPTIONS" {
			b.s.notice(configs.Notice{Pos: h.At, Key: "hint " + h.Name, Msg: "hint " + h.Name + " has no effect here"})
			continue
		}
		given := optionValues(h.Options)
		cp := *def
		cp.Options = maps.Clone(def.Options)
		maps.Copy(cp.Options, given)
		notices, errs := conn.Options().Check(cp.Options, configs.CheckOptions{Table: t.full})
		for _, n := range notices {
			b.s.notice(n)
		}
		if len(errs) > 0 {
			b.s.fail(errs)
			return nil
		}
		if err := conn.CheckTable(&cp); err != nil {
			b.s.fail(placed(err, h.At))
			return nil
		}
		def = &cp
		key += fmt.Sprint(given)
	}
	for _, sc := range b.scans {
		if sc.table == t && sc.hints == key {
			return sc
		}
	}
	sc := &scan{table: t, def: def, hints: key, source: -1}
	b.scans = append(b.scans, sc)
	return sc
}

// tableRelation gives the columns of a table, computed ones included.
func (b *builder) tableRelation(sc *scan) (*relation, bool) {
	r := &relation{scan: sc}
	physical := &relation{scan: sc}
	for i, f := range sc.def.Schema.Fields {
		physical.columns = append(physical.columns, relColumn{name: f.Name, expr: expr.NamedColumn(i, f.Name, f.Type)})
	}
	for _, c := range sc.table.columns {
		if c.expr == nil {
			r.columns = append(r.columns, physical.columns[c.index])
			continue
		}
		e, err := b.s.bindNoticed(c.expr, &scope{rel: physical})
		if err != nil {
			b.s.fail(err)
			return nil, false
		}
		r.columns = append(r.columns, relColumn{name: c.name, expr: e, at: c.expr.Pos()})
	}
	return r, true
}
