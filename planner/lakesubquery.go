package planner

import (
	"fmt"
	"strings"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// nested binds a query in an expression, which sees the columns here.
func (sc *lakeScope) nested(q *sqlfront.Query) (lakeResult, error) {
	b := sc.b
	before := len(b.s.errs)
	r, ok := b.query(q, sc.with, sc)
	if !ok {
		// The caller reports the error with the others of the expression.
		err := b.s.errs[before:].Err()
		b.s.errs = b.s.errs[:before]
		return r, err
	}
	return r, nil
}

// subquery is EXISTS (query) or a query of one value.
func (sc *lakeScope) subquery(v *sqlfront.Subquery) (expr.Expr, error) {
	r, err := sc.nested(v.Query)
	if err != nil {
		return nil, err
	}
	if v.Exists {
		return sc.computedLeaf("EXISTS", "EXISTS ("+r.sql+")", columnar.Of(columnar.Boolean).NotNull()), nil
	}
	if len(r.columns) != 1 {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.At, Msg: fmt.Sprintf("a query in place of a value has one column, this has %d", len(r.columns)), Hint: "select one column"}
	}
	return sc.computedLeaf(r.columns[0].name, "("+r.sql+")", r.columns[0].t.AsNullable()), nil
}

// inQuery is x IN (query), also with rows of values on the left.
func (sc *lakeScope) inQuery(v *sqlfront.In) (expr.Expr, error) {
	left := []sqlfront.Expr{v.X}
	if row, ok := v.X.(*sqlfront.RowExpr); ok {
		left = row.Items
	}
	xs, err := sc.b.s.bindAll(sc.scope(), left)
	if err != nil {
		return nil, err
	}
	r, err := sc.nested(v.Query)
	if err != nil {
		return nil, err
	}
	if len(r.columns) != len(xs) {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.At, Msg: fmt.Sprintf("IN with %d values and a query of %d columns", len(xs), len(r.columns)), Hint: "select as many columns"}
	}
	values, columns := make([]string, len(xs)), make([]expr.Expr, len(xs))
	nullable := false
	for i, x := range xs {
		eq, err := expr.Call("=", x, expr.NamedColumn(i, r.columns[i].name, r.columns[i].t))
		if err != nil {
			return nil, placed(err, v.At)
		}
		sides := expr.Operands(eq)
		// The element on the right is over the query's columns alone.
		values[i], columns[i] = sc.sql(sides[0]), sides[1]
		nullable = nullable || eq.Type().Nullable
	}
	value := values[0]
	if len(values) > 1 {
		value = "(" + strings.Join(values, ", ") + ")"
	}
	text := "(" + value + " IN (" + sc.b.converted(r, columns) + "))"
	in := sc.computedLeaf("IN", text, columnar.DataType{Kind: columnar.Boolean, Nullable: nullable})
	if !v.Not {
		return in, nil
	}
	x, err := expr.Call("NOT", in)
	return x, placedOrNil(err, v.At)
}

// quantified is x op ANY (query) and x op ALL (query).
func (sc *lakeScope) quantified(v *sqlfront.Quantified) (expr.Expr, error) {
	if v.Op == sqlfront.OpEq && !v.All || v.Op == sqlfront.OpNe && v.All {
		return sc.inQuery(&sqlfront.In{Node: v.Node, X: v.X, Not: v.All, Query: v.Query})
	}
	x, err := sc.b.s.bindExpr(v.X, sc.scope())
	if err != nil {
		return nil, err
	}
	r, err := sc.nested(v.Query)
	if err != nil {
		return nil, err
	}
	if len(r.columns) != 1 {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.At, Msg: fmt.Sprintf("a comparison with a query of %d columns", len(r.columns)), Hint: "select one column"}
	}
	cmp, err := expr.Call(string(v.Op), x, expr.NamedColumn(0, r.columns[0].name, r.columns[0].t))
	if err != nil {
		return nil, placed(err, v.At)
	}
	sides := expr.Operands(cmp)
	word := map[bool]string{true: " ALL (", false: " ANY ("}[v.All]
	text := "(" + sc.sql(sides[0]) + " " + string(v.Op) + word + sc.b.converted(r, sides[1:]) + "))"
	return sc.computedLeaf("ANY", text, columnar.Of(columnar.Boolean)), nil
}
