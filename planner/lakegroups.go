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

// grouping is the rows that GROUP BY makes: keys and aggregates of the rows of below.
type grouping struct {
	below *lakeScope
	// alias is that of the groups; keys come first among its columns, then aggregates.
	alias   string
	keys    []expr.Expr
	columns []lakeColumn
	// sql are the columns over the rows below.
	sql []string
	// sets are the keys of each grouping set, nil for plain keys.
	sets [][]int
	// top is the scope over the groups.
	top *lakeScope
}

func (b *lakeBuilder) groupedSelect(v *sqlfront.Select, order []sqlfront.OrderItem, below *lakeScope, from string) (lakeResult, bool) {
	g := &grouping{below: below, alias: b.alias()}
	if err := g.groupBy(v.GroupBy); err != nil {
		b.s.fail(err)
		return lakeResult{}, false
	}
	g.top = &lakeScope{b: b, outer: below.outer, with: below.with, relations: below.relations, merged: below.merged, hidden: below.hidden, groups: g, windows: true, named: v.Windows}
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

// groupBy binds GROUP BY. Its items, of which each may be several sets of keys, are
// combined each with each.
func (g *grouping) groupBy(items []sqlfront.Expr) error {
	sets := [][]int{{}}
	plain := true
	for _, e := range items {
		of, err := g.setsOf(e)
		if err != nil {
			return err
		}
		if _, row := e.(*sqlfront.RowExpr); row || isGroupingSets(e) {
			plain = false
		}
		var next [][]int
		for _, s := range sets {
			for _, t := range of {
				next = append(next, slices.Concat(s, t))
			}
		}
		if sets = next; len(sets) > maxGroupingSets {
			return &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: e.Pos(), Msg: fmt.Sprintf("GROUP BY makes more than %d grouping sets", maxGroupingSets), Hint: "write fewer keys in CUBE, or the sets that are needed in GROUPING SETS"}
		}
	}
	if plain {
		return nil
	}
	g.sets = sets
	for i := range g.columns {
		// A key is NULL in the sets that it is not part of, whatever the table holds.
		g.columns[i].t.Nullable, g.columns[i].origin = true, computed
	}
	return nil
}

// maxGroupingSets keeps CUBE of many keys from growing without bound.
const maxGroupingSets = 4096

func isGroupingSets(e sqlfront.Expr) bool {
	_, ok := e.(*sqlfront.GroupingSets)
	return ok
}

// setsOf gives the sets of keys that an item of GROUP BY stands for.
func (g *grouping) setsOf(e sqlfront.Expr) ([][]int, error) {
	v, ok := e.(*sqlfront.GroupingSets)
	if !ok {
		one, err := g.keysOf(e)
		return [][]int{one}, err
	}
	var parts [][]int
	var out [][]int
	for _, item := range v.Items {
		if v.Word == "GROUPING SETS" {
			sets, err := g.setsOf(item)
			if err != nil {
				return nil, err
			}
			out = append(out, sets...)
			continue
		}
		keys, err := g.keysOf(item)
		if err != nil {
			return nil, err
		}
		parts = append(parts, keys)
	}
	switch {
	case v.Word == "ROLLUP":
		for n := len(parts); n >= 0; n-- {
			out = append(out, slices.Concat(parts[:n]...))
		}
	case v.Word == "CUBE" && len(parts) > 12:
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.At, Msg: fmt.Sprintf("CUBE of %d keys", len(parts)), Hint: "write up to 12, or the sets that are needed in GROUPING SETS"}
	case v.Word == "CUBE":
		for bits := 1<<len(parts) - 1; bits >= 0; bits-- {
			var set []int
			for i, keys := range parts {
				if bits>>(len(parts)-1-i)&1 == 1 {
					set = append(set, keys...)
				}
			}
			out = append(out, set)
		}
	}
	return out, nil
}

// keysOf binds a key, or several in parentheses.
func (g *grouping) keysOf(e sqlfront.Expr) ([]int, error) {
	items := []sqlfront.Expr{e}
	switch v := e.(type) {
	case *sqlfront.RowExpr:
		items = v.Items
	case *sqlfront.GroupingSets:
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.At, Msg: v.Word + " stands in ROLLUP or CUBE", Hint: "write GROUPING SETS around it"}
	}
	out := []int{}
	for _, e := range items {
		if l, ok := e.(*sqlfront.Literal); ok && l.Kind == sqlfront.LitInt {
			return nil, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: e.Pos(), Msg: "GROUP BY takes expressions, no positions of columns", Hint: "write the expression"}
		}
		x, err := g.below.b.s.bindNoticed(e, g.below.scope())
		if err != nil {
			return nil, err
		}
		g.addKey(e, x)
		out = append(out, g.keyOf(x))
	}
	return out, nil
}

// grouping binds GROUPING(key, …), GROUPING_ID(key, …) and GROUP_ID(): a bit for each
// key, set where rows are not grouped by it.
func (g *grouping) grouping(v *sqlfront.Call) (expr.Expr, error) {
	bigint := columnar.Of(columnar.BigInt).NotNull()
	if name := functionName(v); name == "GROUP_ID" || len(v.Args) == 0 {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.At, Msg: name + " without keys", Hint: "write GROUPING_ID(key, …)"}
	}
	args := make([]string, len(v.Args))
	for i, e := range v.Args {
		x, err := g.below.b.s.bindExpr(e, g.below.argument())
		if err != nil {
			return nil, err
		}
		k := g.keyOf(x)
		if k < 0 {
			return nil, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: e.Pos(), Msg: "rows are not grouped by this", Hint: "write a key of GROUP BY"}
		}
		args[i] = g.sql[k]
	}
	if g.sets == nil {
		return expr.LitBigInt(0), nil
	}
	return g.leaf(g.add(functionName(v), "CAST(GROUPING("+strings.Join(args, ", ")+") AS BIGINT)", bigint, computed)), nil
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
	case g.sets != nil:
		sets := make([]string, len(g.sets))
		for i, set := range g.sets {
			var keys []string
			for _, k := range set {
				keys = append(keys, strconv.Itoa(k+1))
			}
			sets[i] = "(" + strings.Join(keys, ", ") + ")"
		}
		text += " GROUP BY GROUPING SETS (" + strings.Join(sets, ", ") + ")"
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
