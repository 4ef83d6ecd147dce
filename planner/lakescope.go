package planner

import (
	"fmt"
	"slices"
	"strings"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// lakeScope is what expressions of one SELECT are made of. Expressions are bound
// over leaves: columns, and what only DuckDB computes, such as aggregates, window
// functions and subqueries. Leaf i is column i of the bound expression.
type lakeScope struct {
	b         *lakeBuilder
	outer     *lakeScope
	with      ctes
	relations []*lakeRelation
	// merged are the columns of USING and NATURAL, which stand for those of both
	// sides; hidden are the columns of relations that they stand for.
	merged []lakeColumn
	hidden map[string]bool

	leaves []lakeColumn
	// groups is set where rows are groups of rows of groups.below.
	groups *grouping
	// windows says that window functions may stand here.
	windows bool
	// named are the windows of WINDOW.
	named []sqlfront.NamedWindow
	// windowed says that one does: which rows there are changes its value.
	windowed bool
}

// scope is the form in which the session binds expressions.
func (sc *lakeScope) scope() *scope { return &scope{lake: sc} }

// leaf gives the expression that reads c.
func (sc *lakeScope) leaf(c lakeColumn) expr.Expr {
	i := slices.IndexFunc(sc.leaves, func(l lakeColumn) bool { return l.sql == c.sql })
	if i < 0 {
		i = len(sc.leaves)
		sc.leaves = append(sc.leaves, c)
	}
	return expr.NamedColumn(i, c.name, c.t)
}

// computedLeaf gives the expression that reads what DuckDB computes.
func (sc *lakeScope) computedLeaf(name, sql string, t columnar.DataType) expr.Expr {
	return sc.leaf(lakeColumn{name: name, t: t, sql: sql, origin: computed})
}

// sql writes a bound expression, as DuckDB's own where that means the same, else as
// a function of ours over its leaves.
func (sc *lakeScope) sql(e expr.Expr) string {
	if e.Type().Kind == columnar.Invalid {
		return "NULL"
	}
	if text, ok := expr.DuckSQL(e, func(i int) string { return sc.leaves[i].sql }); ok {
		return text
	}
	used := expr.References(e)
	f := LakeFunction{}
	at := make([]int, len(sc.leaves))
	args := make([]string, len(used))
	for i, c := range used {
		at[c] = i
		f.Args = append(f.Args, sc.leaves[c].t)
		args[i] = sc.leaves[c].sql
	}
	f.Expr = expr.Remap(e, at)
	return sc.b.function(f) + "(" + strings.Join(args, ", ") + ")"
}

// function gives the name of f.
func (b *lakeBuilder) function(f LakeFunction) string {
	same := func(g LakeFunction) bool {
		return slices.EqualFunc(f.Args, g.Args, columnar.DataType.EqualIgnoreNull) && expr.Same(f.Expr, g.Expr)
	}
	i := slices.IndexFunc(b.out.Functions, same)
	if i < 0 {
		i = len(b.out.Functions)
		b.out.Functions = append(b.out.Functions, f)
	}
	return fmt.Sprintf("leat_function_%d", i)
}

// bind binds what is a leaf; done is false for what is made of other expressions.
// flat says that no window function may be among it.
func (sc *lakeScope) bind(e sqlfront.Expr, flat bool) (x expr.Expr, done bool, err error) {
	if sc.groups != nil {
		if x, ok := sc.groups.key(e); ok {
			return x, true, nil
		}
	}
	switch v := e.(type) {
	case *sqlfront.Ident:
		x, err = sc.column(v)
		return x, true, err
	case *sqlfront.Subquery:
		x, err = sc.subquery(v)
		return x, true, err
	case *sqlfront.Quantified:
		x, err = sc.quantified(v)
		return x, true, err
	case *sqlfront.In:
		if v.Query != nil {
			x, err = sc.inQuery(v)
			return x, true, err
		}
	case *sqlfront.Call:
		if groupingFunctions[functionName(v)] {
			if sc.groups == nil {
				return nil, true, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.At, Msg: functionName(v) + " needs GROUP BY", Hint: "write GROUP BY ROLLUP (…), CUBE (…) or GROUPING SETS (…)"}
			}
			x, err = sc.groups.grouping(v)
			return x, true, err
		}
		if isAggregate(v) || v.Over != nil || windowFunctions[functionName(v)] {
			x, err = sc.aggregate(v, flat)
			return x, true, err
		}
	}
	return nil, false, nil
}

// column resolves a name, here or in the queries around.
func (sc *lakeScope) column(v *sqlfront.Ident) (expr.Expr, error) {
	for o := sc; o != nil; o = o.outer {
		c, fields, err := o.findField(v)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		found := *c
		if o != sc {
			found.origin = computed
		}
		return fieldsOf(sc.leaf(found), fields)
	}
	return nil, sc.missing(v)
}

// findField gives the column that a name means here, and the names behind it, which
// are fields of it.
func (sc *lakeScope) findField(v *sqlfront.Ident) (*lakeColumn, []sqlfront.Name, error) {
	c, err := sc.find(v)
	for used := len(v.Parts) - 1; used > 0 && c == nil && err == nil; used-- {
		part := &sqlfront.Ident{Node: v.Node, Parts: v.Parts[:used]}
		c, err = sc.find(part)
		if c != nil || err != nil {
			return c, v.Parts[used:], err
		}
	}
	return c, nil, err
}

// find gives the column that a name means here; nil if there is none.
func (sc *lakeScope) find(v *sqlfront.Ident) (*lakeColumn, error) {
	if sc.groups != nil {
		return sc.groups.find(v)
	}
	name := v.Parts[len(v.Parts)-1].Text
	if len(v.Parts) == 1 {
		if i := slices.IndexFunc(sc.merged, func(c lakeColumn) bool { return c.name == name }); i >= 0 {
			return &sc.merged[i], nil
		}
	}
	var found *lakeColumn
	for _, r := range sc.relations {
		if len(v.Parts) > 1 && v.Parts[len(v.Parts)-2].Text != r.alias {
			continue
		}
		for i := range r.columns {
			c := &r.columns[i]
			if c.name != name || len(v.Parts) == 1 && sc.hidden[c.sql] {
				continue
			}
			if found != nil {
				return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnknownColumn, Pos: v.At, Msg: fmt.Sprintf("column %s is in more than one table", name), Hint: "write the table in front of it, as in t." + name}
			}
			found = c
		}
	}
	return found, nil
}

// missing is the error for a name that means nothing.
func (sc *lakeScope) missing(v *sqlfront.Ident) error {
	name := v.Parts[len(v.Parts)-1].Text
	below := sc
	if sc.groups != nil {
		below = sc.groups.below
	}
	var tables, columns []string
	known := len(v.Parts) == 1
	for _, r := range below.relations {
		tables = append(tables, r.alias)
		if len(v.Parts) > 1 && v.Parts[len(v.Parts)-2].Text != r.alias {
			continue
		}
		known = true
		for _, c := range r.columns {
			columns = append(columns, c.name)
		}
	}
	if !known {
		return unknown("table", v.Parts[len(v.Parts)-2].Text, v.At, tables, "name a table of FROM")
	}
	return unknownColumn(name, v.At, columns)
}

// starOfRow gives the fields of a column that is a ROW, as r.* and t.r.* do.
func (sc *lakeScope) starOfRow(v *sqlfront.Star) ([]lakeColumn, error) {
	row, fields, err := sc.findField(&sqlfront.Ident{Node: v.Node, Parts: v.Qualifier})
	if row == nil || err != nil {
		return nil, err
	}
	x, err := fieldsOf(sc.leaf(*row), fields)
	if err != nil || x.Type().Kind != columnar.Row {
		return nil, err
	}
	var out []lakeColumn
	for i, f := range x.Type().Fields {
		e := expr.FieldOf(x, i)
		out = append(out, lakeColumn{name: f.Name, t: e.Type(), sql: sc.sql(e), origin: computed, at: v.At})
	}
	return out, nil
}

// star gives the columns of * or t.*.
func (sc *lakeScope) star(v *sqlfront.Star) ([]lakeColumn, error) {
	if len(v.Qualifier) == 0 {
		out := slices.Clone(sc.merged)
		for _, r := range sc.relations {
			for _, c := range r.columns {
				if !sc.hidden[c.sql] {
					out = append(out, c)
				}
			}
		}
		if len(out) == 0 {
			return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnknownColumn, Pos: v.At, Msg: "* without FROM", Hint: "select from a table"}
		}
		return out, nil
	}
	name := v.Qualifier[len(v.Qualifier)-1]
	var have []string
	for _, r := range sc.relations {
		if r.alias == name.Text {
			return r.columns, nil
		}
		have = append(have, r.alias)
	}
	if columns, err := sc.starOfRow(v); columns != nil || err != nil {
		return columns, err
	}
	return nil, unknown("table", name.Text, v.At, have, "name a table of FROM")
}
