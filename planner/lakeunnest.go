package planner

import (
	"fmt"
	"strings"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// unnest adds UNNEST(x), whose rows are the elements of an ARRAY, the entries of a MAP
// or the elements of a MULTISET; x is over the tables before it.
func (sc *lakeScope) unnest(v *sqlfront.Unnest) (string, bool) {
	b := sc.b
	inner := &lakeScope{b: b, outer: sc.outer, with: sc.with, relations: sc.relations, merged: sc.merged, hidden: sc.hidden}
	x, err := b.s.bindNoticed(v.X, inner.scope())
	if err != nil {
		b.s.fail(err)
		return "", false
	}
	rows, err := expr.UnnestRows(x, v.Ordinality)
	if err != nil {
		b.s.fail(placed(err, v.X.Pos()))
		return "", false
	}
	elem := *rows.Type().Elem
	r := lakeResult{}
	text := "SELECT unnest(" + inner.sql(rows) + ") AS c0"
	if elem.Kind == columnar.Row && (v.Ordinality || isExpanded(x.Type())) {
		list := make([]string, len(elem.Fields))
		for i, f := range elem.Fields {
			list[i] = fmt.Sprintf("struct_extract(u.c0, 'f%d') AS %s", i, position(i))
			t := f.Type
			t.Nullable = t.Nullable || elem.Nullable
			r.columns = append(r.columns, lakeColumn{name: f.Name, t: t, origin: computed, at: v.At})
		}
		text = "SELECT " + strings.Join(list, ", ") + " FROM (" + text + ") AS u"
	} else {
		r.columns = []lakeColumn{{name: "EXPR$0", t: elem, origin: computed, at: v.At}}
	}
	if len(r.columns) == 1 && v.Alias.Columns == nil && v.Alias.Name.Text != "" {
		r.columns[0].name = v.Alias.Name.Text
	}
	r.sql = text
	if !b.rename(&r, v.Alias.Columns, v.At) {
		return "", false
	}
	text, rel := b.derived(r, v.Alias.Name.Text)
	sc.relations = append(sc.relations, rel)
	return "LATERAL " + text, true
}

// isExpanded reports the types whose elements have several parts, each a column.
func isExpanded(t columnar.DataType) bool {
	return t.Kind == columnar.Map || t.Elem != nil && t.Elem.Kind == columnar.Row
}

// lateralJoin writes a join whose right side sees the left one. DuckDB takes no
// condition there for LEFT: it goes into the right side.
func (b *lakeBuilder) lateralJoin(v *sqlfront.Join, left, right, on string) (string, bool) {
	switch v.Kind {
	case "LEFT":
		if on != "" && on != "TRUE" {
			inside := strings.TrimPrefix(right, "LATERAL ")
			right = "LATERAL (SELECT * FROM " + inside + " WHERE " + on + ") AS " + inside[strings.LastIndexByte(inside, ' ')+1:]
		}
		return left + " LEFT JOIN " + right + " ON TRUE", true
	case "INNER", "CROSS":
		if on == "" {
			return left + " CROSS JOIN " + right, true
		}
		return left + " JOIN " + right + " ON " + on, true
	default:
		b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.At, Msg: v.Kind + " JOIN has on its right what depends on its left", Hint: "write LEFT JOIN or CROSS JOIN"})
		return "", false
	}
}

// isLateral reports the items of FROM that see those before them.
func isLateral(ref sqlfront.TableRef) bool {
	switch v := ref.(type) {
	case *sqlfront.Unnest:
		return true
	case *sqlfront.Derived:
		return v.Lateral
	default:
		return false
	}
}
