package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// selectQuery binds SELECT … FROM … WHERE … GROUP BY … HAVING with its ORDER BY.
func (b *lakeBuilder) selectQuery(v *sqlfront.Select, order []sqlfront.OrderItem, with ctes, outer *lakeScope) (lakeResult, bool) {
	sc := &lakeScope{b: b, outer: outer, with: with}
	from := ""
	if v.From != nil {
		text, ok := sc.from(v.From)
		if !ok {
			return lakeResult{}, false
		}
		from = " FROM " + text
	}
	if v.Where != nil {
		text, ok := sc.where(v.Where, "WHERE")
		if !ok {
			return lakeResult{}, false
		}
		from += " WHERE " + text
	}
	if v.GroupBy != nil || v.Having != nil || hasAggregates(v) {
		return b.groupedSelect(v, order, sc, from)
	}
	sc.windows = true
	items, ok := sc.items(v)
	if !ok {
		return lakeResult{}, false
	}
	return sc.finish(v, order, items, from)
}

// where binds a condition and leaves what it can to the scans.
func (sc *lakeScope) where(e sqlfront.Expr, word string) (string, bool) {
	cond, err := sc.b.s.bindNoticed(e, sc.scope())
	if err == nil && cond.Type().Kind != boolKind {
		err = &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: e.Pos(), Msg: fmt.Sprintf("%s needs a BOOLEAN, this is %s", word, cond.Type()), Hint: "write a condition, such as amount > 0"}
	}
	if err != nil {
		sc.b.s.fail(err)
		return "", false
	}
	sc.push(cond, func(origin) bool { return true })
	return sc.condition(cond), true
}

// item is one column of a select list.
type item struct {
	column lakeColumn
	expr   expr.Expr
}

func (sc *lakeScope) items(v *sqlfront.Select) ([]item, bool) {
	var out []item
	before := len(sc.b.s.errs)
	for _, it := range v.Items {
		if star, ok := it.Expr.(*sqlfront.Star); ok {
			columns, err := sc.star(star)
			if err != nil {
				sc.b.s.fail(err)
				continue
			}
			for _, c := range columns {
				e, err := sc.starColumn(c, star)
				if err != nil {
					sc.b.s.fail(err)
					break
				}
				c.at = star.At
				out = append(out, item{column: c, expr: e})
			}
			continue
		}
		e, err := sc.b.s.bindNoticed(it.Expr, sc.scope())
		if err != nil {
			sc.b.s.fail(err)
			continue
		}
		c := lakeColumn{name: itemName(it, len(out)), t: e.Type(), origin: computed, at: it.Expr.Pos()}
		if i, ok := expr.IsColumn(e); ok {
			c.origin = sc.leaves[i].origin
		}
		out = append(out, item{column: c, expr: e})
	}
	return out, len(sc.b.s.errs) == before
}

// starColumn gives a column that a star stands for; among groups it must be a key.
func (sc *lakeScope) starColumn(c lakeColumn, star *sqlfront.Star) (expr.Expr, error) {
	if sc.groups == nil {
		return sc.leaf(c), nil
	}
	if k := sc.groups.keyOf(sc.groups.below.leaf(c)); k >= 0 {
		return sc.groups.leaf(k), nil
	}
	return nil, notGrouped(star.At, c.name)
}

// finish writes the select list, DISTINCT and ORDER BY around from.
func (sc *lakeScope) finish(v *sqlfront.Select, order []sqlfront.OrderItem, items []item, from string) (lakeResult, bool) {
	r := lakeResult{}
	list := make([]string, len(items))
	for i, it := range items {
		list[i] = sc.sql(it.expr) + " AS " + position(i)
		r.columns = append(r.columns, it.column)
	}
	for i := range r.columns {
		if sc.windowed {
			r.columns[i].origin = computed
		}
	}
	text, ok := sc.orderBy(order, func(e sqlfront.Expr) (string, bool) {
		if n, ok := outputColumn(e, r.columns); ok {
			return n, true
		}
		if !v.Distinct {
			return "", false
		}
		// What is sorted by must be among what is distinct.
		x, err := sc.b.s.bindExpr(e, sc.scope())
		i := slices.IndexFunc(items, func(it item) bool { return err == nil && expr.Same(it.expr, x) })
		if i < 0 {
			sc.b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: e.Pos(), Msg: "ORDER BY behind SELECT DISTINCT takes selected columns alone", Hint: "select it too"})
		}
		return strconv.Itoa(i + 1), true
	})
	if !ok {
		return lakeResult{}, false
	}
	head := "SELECT "
	if v.Distinct {
		head = "SELECT DISTINCT "
	}
	r.sql = head + strings.Join(list, ", ") + from + text
	return r, true
}

// outputColumn gives the place of a column of the result that ORDER BY names or numbers.
func outputColumn(e sqlfront.Expr, columns []lakeColumn) (string, bool) {
	switch v := e.(type) {
	case *sqlfront.Literal:
		if v.Kind == sqlfront.LitInt && v.Int >= 1 && v.Int <= int64(len(columns)) {
			return v.Text, true
		}
	case *sqlfront.Ident:
		if len(v.Parts) != 1 {
			return "", false
		}
		if i := slices.IndexFunc(columns, func(c lakeColumn) bool { return c.name == v.Parts[0].Text }); i >= 0 {
			return strconv.Itoa(i + 1), true
		}
	}
	return "", false
}

// orderBy writes ORDER BY. NULL is the smallest value, as in Flink.
func (sc *lakeScope) orderBy(items []sqlfront.OrderItem, output func(sqlfront.Expr) (string, bool)) (string, bool) {
	if len(items) == 0 {
		return "", true
	}
	before := len(sc.b.s.errs)
	list := make([]string, len(items))
	for i, it := range items {
		text, ok := output(it.Expr)
		if !ok {
			e, err := sc.b.s.bindNoticed(it.Expr, sc.scope())
			if err != nil {
				sc.b.s.fail(err)
				continue
			}
			text = sc.sql(e)
		}
		nulls := "FIRST"
		if it.Desc {
			text += " DESC"
			nulls = "LAST"
		}
		if it.Nulls != "" {
			nulls = it.Nulls
		}
		list[i] = text + " NULLS " + nulls
	}
	return " ORDER BY " + strings.Join(list, ", "), len(sc.b.s.errs) == before
}

// grouping is the rows that GROUP BY makes: keys and aggregates of the rows of below.
type grouping struct {
	below *lakeScope
	// alias is that of the groups; keys come first among its columns, then aggregates.
	alias   string
	keys    []expr.Expr
	columns []lakeColumn
	// sql are the columns over the rows below.
	sql []string
	// top is the scope over the groups.
	top *lakeScope
}

func (b *lakeBuilder) groupedSelect(v *sqlfront.Select, order []sqlfront.OrderItem, below *lakeScope, from string) (lakeResult, bool) {
	g := &grouping{below: below, alias: b.alias()}
	for _, e := range v.GroupBy {
		if l, ok := e.(*sqlfront.Literal); ok && l.Kind == sqlfront.LitInt {
			b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: e.Pos(), Msg: "GROUP BY takes expressions, no positions of columns", Hint: "write the expression"})
			return lakeResult{}, false
		}
		x, err := b.s.bindNoticed(e, below.scope())
		if err != nil {
			b.s.fail(err)
			return lakeResult{}, false
		}
		g.addKey(e, x)
	}
	g.top = &lakeScope{b: b, outer: below.outer, with: below.with, relations: below.relations, merged: below.merged, hidden: below.hidden, groups: g, windows: true}
	items, ok := g.top.items(v)
	if !ok {
		return lakeResult{}, false
	}
	having := ""
	if v.Having != nil {
		g.top.windows = false
		text, ok := g.top.where(v.Having, "HAVING")
		if !ok {
			return lakeResult{}, false
		}
		having = " WHERE " + text
	}
	g.top.windows = true
	// ORDER BY may bring further aggregates: the groups are written last.
	const groups = "\x00"
	r, ok := g.top.finish(v, order, items, " FROM "+groups+having)
	if !ok {
		return lakeResult{}, false
	}
	r.sql = strings.Replace(r.sql, groups, g.text(from, v.GroupBy != nil), 1)
	return r, true
}

func (g *grouping) addKey(e sqlfront.Expr, x expr.Expr) {
	name, o := "", computed
	if id, ok := e.(*sqlfront.Ident); ok {
		name = id.Parts[len(id.Parts)-1].Text
	}
	if i, ok := expr.IsColumn(x); ok {
		o = g.below.leaves[i].origin
	}
	if g.keyOf(x) >= 0 {
		return
	}
	g.keys = append(g.keys, x)
	g.add(name, g.below.sql(x), x.Type(), o)
}

func (g *grouping) add(name, sql string, t columnar.DataType, o origin) int {
	if i := slices.Index(g.sql[min(len(g.keys), len(g.sql)):], sql); i >= 0 {
		return len(g.keys) + i
	}
	g.columns = append(g.columns, lakeColumn{name: name, t: t, sql: g.alias + "." + position(len(g.columns)), origin: o})
	g.sql = append(g.sql, sql)
	return len(g.columns) - 1
}

// text writes the groups as an item of FROM.
func (g *grouping) text(from string, grouped bool) string {
	list, by := make([]string, len(g.sql)), make([]string, len(g.keys))
	for i, s := range g.sql {
		list[i] = s + " AS " + position(i)
	}
	for i := range by {
		by[i] = strconv.Itoa(i + 1)
	}
	if len(list) == 0 {
		list = []string{"1 AS c0"}
	}
	text := "(SELECT " + strings.Join(list, ", ") + from
	switch {
	case len(by) > 0:
		text += " GROUP BY " + strings.Join(by, ", ")
	case len(g.sql) == 0 && grouped:
		text += " HAVING COUNT(*) >= 0" // one group of all rows
	}
	return text + ") AS " + g.alias
}

func (g *grouping) leaf(i int) expr.Expr { return g.top.leaf(g.columns[i]) }

// keyOf gives the key that an expression over the rows below is, negative if none.
func (g *grouping) keyOf(x expr.Expr) int {
	return slices.IndexFunc(g.keys, func(k expr.Expr) bool { return expr.Same(k, x) })
}

// key gives e if it is what rows are grouped by.
func (g *grouping) key(e sqlfront.Expr) (expr.Expr, bool) {
	if _, literal := e.(*sqlfront.Literal); literal || len(g.keys) == 0 {
		return nil, false
	}
	leaves, functions := len(g.below.leaves), len(g.below.b.out.Functions)
	errs, notices := len(g.below.b.s.errs), len(g.below.b.s.notices)
	tables := len(g.below.b.out.Tables)
	x, err := g.below.b.s.bindExpr(e, g.below.argument())
	k := -1
	if err == nil {
		k = g.keyOf(x)
	}
	if k < 0 {
		g.below.leaves = g.below.leaves[:leaves]
		g.below.b.out.Functions, g.below.b.out.Tables = g.below.b.out.Functions[:functions], g.below.b.out.Tables[:tables]
		g.below.b.s.errs, g.below.b.s.notices = g.below.b.s.errs[:errs], g.below.b.s.notices[:notices]
		return nil, false
	}
	return g.leaf(k), true
}

// find gives the key that a name is.
func (g *grouping) find(v *sqlfront.Ident) (*lakeColumn, error) {
	c, err := g.below.find(v)
	if err != nil || c == nil {
		return nil, err
	}
	if k := g.keyOf(g.below.leaf(*c)); k >= 0 {
		return &g.columns[k], nil
	}
	return nil, notGrouped(v.At, v.Parts[len(v.Parts)-1].Text)
}

func notGrouped(at diag.Pos, name string) error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: at, Msg: fmt.Sprintf("column %s is not grouped by", name), Hint: "add it to GROUP BY, or take an aggregate of it, such as MAX(" + name + ")"}
}
