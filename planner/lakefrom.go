package planner

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// from adds an item of FROM to the scope and gives its text.
func (sc *lakeScope) from(ref sqlfront.TableRef) (string, bool) {
	switch v := ref.(type) {
	case *sqlfront.TableName:
		return sc.fromTable(v)
	case *sqlfront.Derived:
		outer := sc.outer
		if v.Lateral {
			outer = sc
		}
		r, ok := sc.b.query(v.Query, sc.with, outer)
		if !ok || !sc.b.rename(&r, v.Alias.Columns, v.At) {
			return "", false
		}
		text, rel := sc.b.derived(r, v.Alias.Name.Text)
		sc.relations = append(sc.relations, rel)
		if v.Lateral {
			text = "LATERAL " + text
		}
		return text, true
	case *sqlfront.Join:
		return sc.join(v)
	case *sqlfront.Unnest:
		return sc.unnest(v)
	case *sqlfront.UnsupportedTable:
		sc.b.s.fail(v.Error())
	default:
		sc.b.s.fail(notYet(ref.Pos(), "this FROM"))
	}
	return "", false
}

// rename gives columns the names of an alias.
func (b *lakeBuilder) rename(r *lakeResult, names []sqlfront.Name, at diag.Pos) bool {
	if names == nil {
		return true
	}
	if len(names) != len(r.columns) {
		b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: at, Msg: fmt.Sprintf("%d names for %d columns", len(names), len(r.columns)), Hint: "name each column, or none"})
		return false
	}
	for i, n := range names {
		r.columns[i].name = n.Text
	}
	return true
}

// fromTable reads a query of WITH or a lake table.
func (sc *lakeScope) fromTable(v *sqlfront.TableName) (string, bool) {
	alias := v.Name.Parts[len(v.Name.Parts)-1].Text
	if v.Alias.Name.Text != "" {
		alias = v.Alias.Name.Text
	}
	if c, ok := sc.with[v.Name.Parts[0].Text]; ok && len(v.Name.Parts) == 1 {
		r, ok := sc.b.query(c.query, c.sees, nil)
		if !ok || !sc.b.rename(&r, c.columns, v.Name.At) || !sc.b.rename(&r, v.Alias.Columns, v.Name.At) {
			return "", false
		}
		text, rel := sc.b.derived(r, alias)
		sc.relations = append(sc.relations, rel)
		return text, true
	}
	b := sc.b
	if w := b.s.viewOf(v.Name); w != nil {
		return sc.fromView(w, v, alias)
	}
	if t, reader := b.s.rowTable(v); reader != nil {
		return sc.fromRows(v, alias, t, reader)
	}
	c, db, name, ok := b.s.lakeName(b.ctx, v)
	if !ok {
		return "", false
	}
	q := &Query{Options: map[string]string{}}
	if !b.s.travel(v, q) || !b.s.input(b.ctx, c, db, name, v, q) {
		return "", false
	}
	n := len(b.out.Tables)
	b.out.Tables = append(b.out.Tables, LakeTable{
		Catalog: c.name, Warehouse: c.warehouse, Database: db, Table: name,
		Options: q.Options, CatalogOptions: c.options, Columns: q.Input,
	})
	r := lakeResult{}
	for i, f := range q.Input.Fields {
		r.columns = append(r.columns, lakeColumn{name: f.Name, t: f.Type, origin: origin{table: n, column: i}})
	}
	a := b.alias()
	for i := range r.columns {
		r.columns[i].sql = a + "." + position(i)
	}
	if !b.rename(&r, v.Alias.Columns, v.Name.At) {
		return "", false
	}
	sc.relations = append(sc.relations, &lakeRelation{alias: alias, columns: r.columns})
	return "leat_table_" + strconv.Itoa(n) + "() AS " + a, true
}

// fromRows reads a table that is none of the lake, as it is now.
func (sc *lakeScope) fromRows(v *sqlfront.TableName, alias string, t *table, reader connect.RowReader) (string, bool) {
	b := sc.b
	rel, ok := b.s.rowScan(v, t, reader)
	if !ok {
		return "", false
	}
	n, a, def := len(b.out.Tables), b.alias(), rel.scan.def
	if isEndless(reader, def) {
		b.s.fail(endless(v.Name.At, t.full))
		return "", false
	}
	b.out.Tables = append(b.out.Tables, LakeTable{Table: t.full, Columns: def.Schema, Rows: reader, Definition: def})
	physical := &lakeRelation{}
	for i, f := range def.Schema.Fields {
		physical.columns = append(physical.columns, lakeColumn{name: f.Name, t: f.Type, sql: a + "." + position(i), origin: origin{table: n, column: i}})
	}
	inner := &lakeScope{b: b, relations: []*lakeRelation{physical}}
	r := lakeResult{}
	for _, c := range t.columns {
		if c.expr == nil {
			r.columns = append(r.columns, physical.columns[c.index])
			continue
		}
		e, err := b.s.bindNoticed(c.expr, inner.scope())
		if err != nil {
			b.s.fail(err)
			return "", false
		}
		r.columns = append(r.columns, lakeColumn{name: c.name, t: e.Type(), sql: inner.sql(e), origin: computed, at: c.expr.Pos()})
	}
	if !b.rename(&r, v.Alias.Columns, v.Name.At) {
		return "", false
	}
	sc.relations = append(sc.relations, &lakeRelation{alias: alias, columns: r.columns})
	return "leat_table_" + strconv.Itoa(n) + "() AS " + a, true
}

// lakeName resolves the name of a lake table.
func (s *Session) lakeName(ctx context.Context, ref *sqlfront.TableName) (c *namespace, db, name string, ok bool) {
	c, db, name, ok = s.resolve(ref.Name)
	if !ok {
		return nil, "", "", false
	}
	t := c.tables[db+"."+name]
	if t == nil && c.lake == nil {
		s.findTable(ctx, ref.Name) // says what is missing
		return nil, "", "", false
	}
	if c.lake == nil || t != nil && !t.lake {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: ref.Name.At, Msg: fmt.Sprintf("table %s is no lake table: only a job reads it", fullName(c, db, name)), Hint: "INSERT INTO a table, such as one with connector 'print'"})
		return nil, "", "", false
	}
	return c, db, name, true
}

// join joins two items. Conditions on one side that has no rows to keep are left to
// the scan of its table too.
func (sc *lakeScope) join(v *sqlfront.Join) (string, bool) {
	start := len(sc.relations)
	left, ok := sc.from(v.Left)
	if !ok {
		return "", false
	}
	middle := len(sc.relations)
	right, ok := sc.from(v.Right)
	if !ok {
		return "", false
	}
	if _, nested := v.Right.(*sqlfront.Join); nested {
		right = "(" + right + ")"
	}
	sides := [2][]*lakeRelation{sc.relations[start:middle], sc.relations[middle:]}
	on, ok := sc.joinCondition(v, sides)
	if !ok {
		return "", false
	}
	if v.Kind == "RIGHT" || v.Kind == "FULL" {
		pad(sides[0])
	}
	if v.Kind == "LEFT" || v.Kind == "FULL" {
		pad(sides[1])
	}
	if isLateral(v.Right) {
		return sc.b.lateralJoin(v, left, right, on)
	}
	if on == "" {
		if v.Kind != "CROSS" && v.Kind != "INNER" {
			return left + " " + v.Kind + " JOIN " + right + " ON TRUE", true
		}
		return left + " CROSS JOIN " + right, true
	}
	return left + " " + v.Kind + " JOIN " + right + " ON " + on, true
}

func pad(rels []*lakeRelation) {
	for _, r := range rels {
		for i := range r.columns {
			r.columns[i].origin.padded = true
			r.columns[i].t.Nullable = true
		}
	}
}

// joinCondition gives the text of ON, USING and NATURAL.
func (sc *lakeScope) joinCondition(v *sqlfront.Join, sides [2][]*lakeRelation) (string, bool) {
	inner := &lakeScope{b: sc.b, outer: sc.outer, with: sc.with, relations: slices.Concat(sides[0], sides[1]), merged: sc.merged, hidden: sc.hidden}
	var cond expr.Expr
	switch {
	case v.On != nil:
		var err error
		if cond, err = sc.b.s.bindNoticed(v.On, inner.scope()); err == nil && cond.Type().Kind != boolKind {
			err = &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.On.Pos(), Msg: fmt.Sprintf("ON needs a BOOLEAN, this is %s", cond.Type()), Hint: "write a condition, such as a.id = b.id"}
		}
		if err != nil {
			sc.b.s.fail(err)
			return "", false
		}
	case v.Natural || v.Using != nil:
		names := v.Using
		if v.Natural {
			names = commonNames(sides, v.At)
		}
		for _, n := range names {
			eq, ok := sc.merge(inner, v, n, sides)
			if !ok {
				return "", false
			}
			if cond == nil {
				cond = eq
			} else if both, err := expr.Call("AND", cond, eq); err == nil {
				cond = both
			}
		}
	}
	if cond == nil {
		return "", true
	}
	inner.push(cond, func(o origin) bool {
		side := 0
		if slices.ContainsFunc(sides[1], func(r *lakeRelation) bool { return reads(r, o) }) {
			side = 1
		}
		return v.Kind == "INNER" || v.Kind == "CROSS" || v.Kind == "LEFT" && side == 1 || v.Kind == "RIGHT" && side == 0
	})
	return inner.condition(cond), true
}

func reads(r *lakeRelation, o origin) bool {
	return slices.ContainsFunc(r.columns, func(c lakeColumn) bool { return c.origin.table == o.table })
}

func commonNames(sides [2][]*lakeRelation, at diag.Pos) []sqlfront.Name {
	var out []sqlfront.Name
	for _, l := range sides[0] {
		for _, c := range l.columns {
			for _, r := range sides[1] {
				if slices.ContainsFunc(r.columns, func(d lakeColumn) bool { return d.name == c.name }) {
					out = append(out, sqlfront.Name{Text: c.name, At: at})
				}
			}
		}
	}
	return out
}

// merge makes one column of those called n on both sides, and gives their equality.
func (sc *lakeScope) merge(inner *lakeScope, v *sqlfront.Join, n sqlfront.Name, sides [2][]*lakeRelation) (expr.Expr, bool) {
	var both [2]expr.Expr
	for i, side := range sides {
		part := &lakeScope{b: sc.b, relations: side, merged: sc.merged, hidden: sc.hidden}
		c, err := part.find(&sqlfront.Ident{Node: sqlfront.Node{At: n.At}, Parts: []sqlfront.Name{n}})
		if i == 1 {
			part.merged = nil
		}
		if err == nil && c == nil {
			err = unknownColumn(n.Text, n.At, columnNames(side))
		}
		if err != nil {
			sc.b.s.fail(err)
			return nil, false
		}
		both[i] = inner.leaf(*c)
		if sc.hidden == nil {
			sc.hidden = map[string]bool{}
		}
	}
	eq, err := expr.Call("=", both[0], both[1])
	if err != nil {
		sc.b.s.fail(placed(err, n.At))
		return nil, false
	}
	l, r := leafOf(inner, both[0]), leafOf(inner, both[1])
	kept := l
	switch v.Kind {
	case "RIGHT":
		kept = r
	case "FULL":
		one, err := expr.Call("COALESCE", both[0], both[1])
		if err != nil {
			sc.b.s.fail(placed(err, n.At))
			return nil, false
		}
		kept = lakeColumn{t: one.Type().AsNullable(), sql: inner.sql(one), origin: computed}
	}
	kept.name = n.Text
	sc.hidden[l.sql], sc.hidden[r.sql] = true, true
	if i := slices.IndexFunc(sc.merged, func(c lakeColumn) bool { return c.name == n.Text }); i >= 0 {
		sc.merged[i] = kept
	} else {
		sc.merged = append(sc.merged, kept)
	}
	return eq, true
}

func columnNames(rels []*lakeRelation) []string {
	var out []string
	for _, r := range rels {
		for _, c := range r.columns {
			out = append(out, c.name)
		}
	}
	return out
}

func leafOf(sc *lakeScope, e expr.Expr) lakeColumn {
	i, _ := expr.IsColumn(e)
	return sc.leaves[i]
}

// condition writes a condition. Where one side of its ANDs is a function of ours,
// which may fail, all is one function: DuckDB computes the sides in any order.
// Those that DuckDB knows stand beside it, for joins and its own filters.
func (sc *lakeScope) condition(e expr.Expr) string {
	column := func(i int) string { return sc.leaves[i].sql }
	if text, ok := expr.DuckSQL(e, column); ok {
		return text
	}
	var parts []string
	for _, c := range expr.Conjuncts(e) {
		if part, ok := expr.DuckSQL(c, column); ok {
			parts = append(parts, part)
		}
	}
	return strings.Join(append(parts, sc.sql(e)), " AND ")
}

// push leaves conditions on the columns of one table to its scan, where may says so.
func (sc *lakeScope) push(e expr.Expr, may func(origin) bool) {
	for _, c := range expr.Conjuncts(e) {
		used := expr.References(c)
		conds := expr.Conditions(c)
		if len(conds) == 0 || len(used) == 0 {
			continue
		}
		at := make([]int, len(sc.leaves))
		first := sc.leaves[used[0]].origin
		fits := first.table >= 0 && may(first)
		for _, u := range used {
			o := sc.leaves[u].origin
			// A row of NULLs that stands in for one of the table meets IS NULL.
			fits = fits && o.table == first.table && (!o.padded || conds[0].Op != "IS NULL")
			at[u] = o.column
		}
		if !fits {
			continue
		}
		t := &sc.b.out.Tables[first.table]
		cond := expr.Remap(c, at)
		if t.Filter == nil {
			t.Filter = cond
		} else if both, err := expr.Call("AND", t.Filter, cond); err == nil {
			t.Filter = both
		}
	}
}
