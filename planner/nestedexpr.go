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

// bindElement binds a[i] and m[k].
func (s *Session) bindElement(v *sqlfront.Element, sc *scope) (expr.Expr, error) {
	both, err := s.bindAll(sc, []sqlfront.Expr{v.X, v.Index})
	if err != nil {
		return nil, err
	}
	x, err := expr.Element(both[0], both[1])
	return x, placedOrNil(err, v.At)
}

// bindField binds x.field.
func (s *Session) bindField(v *sqlfront.FieldRef, sc *scope) (expr.Expr, error) {
	x, err := s.bindExpr(v.X, sc)
	if err != nil {
		return nil, err
	}
	return fieldsOf(x, []sqlfront.Name{v.Field})
}

// fieldsOf gives the field of a field … of x that names say.
func fieldsOf(x expr.Expr, names []sqlfront.Name) (expr.Expr, error) {
	for _, n := range names {
		t := x.Type()
		if t.Kind != columnar.Row {
			return nil, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: n.At, Msg: fmt.Sprintf("%s has no fields: there is no %s in it", t.AsNullable(), n.Text), Hint: "write a[1] for an element of an ARRAY, m['key'] for a value of a MAP"}
		}
		names := make([]string, len(t.Fields))
		for i := range t.Fields {
			names[i] = t.Fields[i].Name
		}
		i := slices.Index(names, n.Text)
		if i < 0 {
			return nil, unknown("field", n.Text, n.At, names, "name a field of the ROW")
		}
		x = expr.FieldOf(x, i)
	}
	return x, nil
}

// bindRowPair binds the operators between rows of values that are written down, which
// mean what they mean of the values; done is false for others.
func (s *Session) bindRowPair(op sqlfront.Op, at diag.Pos, left, right sqlfront.Expr, sc *scope) (x expr.Expr, done bool, err error) {
	l, ok := left.(*sqlfront.RowExpr)
	r, ok2 := right.(*sqlfront.RowExpr)
	if !ok || !ok2 || op != sqlfront.OpEq && op != sqlfront.OpNe {
		return nil, false, nil
	}
	if len(l.Items) != len(r.Items) {
		return nil, true, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: at, Msg: fmt.Sprintf("a row of %d values is compared with one of %d", len(l.Items), len(r.Items)), Hint: "write as many values on both sides"}
	}
	for i := range l.Items {
		eq, err := s.call("=", at, sc, l.Items[i], r.Items[i])
		if err == nil && x != nil {
			eq, err = expr.Call("AND", x, eq)
		}
		if err != nil {
			return nil, true, err
		}
		x = eq
	}
	if op == sqlfront.OpNe {
		x, err = expr.Call("NOT", x)
	}
	return x, true, err
}

// bindRowIn binds (a, b) IN ((1, 2), (3, 4)).
func (s *Session) bindRowIn(v *sqlfront.In, sc *scope) (expr.Expr, error) {
	var some expr.Expr
	for _, e := range v.List {
		x, done, err := s.bindRowPair(sqlfront.OpEq, e.Pos(), v.X, e, sc)
		if err == nil && !done {
			err = &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: e.Pos(), Msg: "this is no row of values, as on the left of IN", Hint: "write (a, b) IN ((1, 2), (3, 4))"}
		}
		if err == nil && some != nil {
			x, err = expr.Call("OR", some, x)
		}
		if err != nil {
			return nil, err
		}
		some = x
	}
	if !v.Not {
		return some, nil
	}
	x, err := expr.Call("NOT", some)
	return x, placedOrNil(err, v.At)
}

// bindOverlaps binds (a, b) OVERLAPS (c, d) and its like: periods from the earlier to the
// later of two times, the second of which may be given as what lies between.
func (s *Session) bindOverlaps(v *sqlfront.Overlaps, sc *scope) (expr.Expr, error) {
	l, err := s.period(v.L, v, sc)
	if err != nil {
		return nil, err
	}
	r, err := s.period(v.R, v, sc)
	if err != nil {
		return nil, err
	}
	var x expr.Expr
	switch v.Op {
	case "CONTAINS":
		x, err = bothHold("<=", l.from, r.from, ">=", l.to, r.to)
	case "PRECEDES":
		x, err = expr.Call("<=", l.to, r.from)
	case "SUCCEEDS":
		x, err = expr.Call(">=", l.from, r.to)
	default:
		x, err = bothHold(">=", l.to, r.from, ">=", r.to, l.from)
	}
	return x, placedOrNil(err, v.At)
}

func bothHold(op1 string, a, b expr.Expr, op2 string, c, d expr.Expr) (expr.Expr, error) {
	x, err := expr.Call(op1, a, b)
	if err != nil {
		return nil, err
	}
	y, err := expr.Call(op2, c, d)
	if err != nil {
		return nil, err
	}
	return expr.Call("AND", x, y)
}

// period is the time between two times.
type period struct{ from, to expr.Expr }

func (s *Session) period(e sqlfront.Expr, v *sqlfront.Overlaps, sc *scope) (period, error) {
	row, ok := e.(*sqlfront.RowExpr)
	if !ok && v.Op == "CONTAINS" && e == v.R { // a moment
		x, err := s.bindExpr(e, sc)
		return period{x, x}, err
	}
	if !ok || len(row.Items) != 2 {
		return period{}, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: e.Pos(), Msg: v.Op + " takes periods of two times", Hint: "write (from, to) " + v.Op + " (from, to)"}
	}
	a, err := s.bindExpr(row.Items[0], sc)
	if err != nil {
		return period{}, err
	}
	var b expr.Expr
	if l, is := row.Items[1].(*sqlfront.Literal); is && l.Kind == sqlfront.LitInterval {
		b, err = s.addInterval(&sqlfront.Binary{Node: row.Node, Op: sqlfront.OpAdd}, row.Items[0], l, sc)
	} else {
		b, err = s.bindExpr(row.Items[1], sc)
	}
	if err != nil {
		return period{}, err
	}
	inOrder, err := expr.Call("<=", a, b)
	if err != nil {
		return period{}, placed(err, e.Pos())
	}
	from, err := expr.Call("CASE", inOrder, a, b)
	if err != nil {
		return period{}, placed(err, e.Pos())
	}
	to, err := expr.Call("CASE", inOrder, b, a)
	return period{from, to}, placedOrNil(err, e.Pos())
}

// bindJSON binds JSON_VALUE, JSON_QUERY and JSON_EXISTS with clauses.
func (s *Session) bindJSON(v *sqlfront.JSONCall, sc *scope) (expr.Expr, error) {
	both, err := s.bindAll(sc, []sqlfront.Expr{v.X, v.Path})
	if err != nil {
		return nil, err
	}
	c := expr.JSONClauses{Returning: v.Returning, OnEmpty: v.OnEmpty.Word, OnError: v.OnError.Word}
	if wrapper, ok := strings.CutPrefix(v.Wrapper, "WITH "); ok {
		c.Wrapper = wrapper
	}
	for _, d := range []struct {
		from sqlfront.Expr
		to   *expr.Expr
	}{{v.OnEmpty.Default, &c.EmptyDefault}, {v.OnError.Default, &c.ErrorDefault}} {
		if d.from == nil {
			continue
		}
		if *d.to, err = s.bindExpr(d.from, sc); err != nil {
			return nil, err
		}
	}
	x, err := expr.JSON(v.Func, both[0], both[1], c)
	return x, placedOrNil(err, v.At)
}
