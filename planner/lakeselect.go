package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	sc.windows, sc.named = true, v.Windows
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
