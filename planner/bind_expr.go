package planner

import (
	"fmt"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

const boolKind = columnar.Boolean

// bindExpr gives the typed form of an expression; sc is nil where no column may stand.
func (s *Session) bindExpr(e sqlfront.Expr, sc *scope) (expr.Expr, error) {
	if sc != nil && sc.lake != nil {
		if x, done, err := sc.lake.bind(e, sc.flat); done || err != nil {
			return x, err
		}
	}
	switch v := e.(type) {
	case *sqlfront.Ident:
		return bindColumn(v, sc)
	case *sqlfront.Literal:
		x, err := bindLiteral(v)
		return x, placedOrNil(err, v.At)
	case *sqlfront.Unary:
		return s.bindUnary(v, sc)
	case *sqlfront.Binary:
		if l, x, ok := intervalOf(v); ok {
			return s.addInterval(v, x, l, sc)
		}
		if x, done, err := s.bindRowPair(v.Op, v.At, v.L, v.R, sc); done {
			return x, placedOrNil(err, v.At)
		}
		return s.call(string(v.Op), v.At, sc, v.L, v.R)
	case *sqlfront.Between:
		return s.bindBetween(v, sc)
	case *sqlfront.In:
		if v.Query != nil {
			return nil, needsFlink(v.At, "IN (query)")
		}
		if _, row := v.X.(*sqlfront.RowExpr); row {
			return s.bindRowIn(v, sc)
		}
		return s.negated(v.Not, "IN", v.At, sc, append([]sqlfront.Expr{v.X}, v.List...)...)
	case *sqlfront.LikeExpr:
		return s.bindLike(v, sc)
	case *sqlfront.Case:
		return s.bindCase(v, sc)
	case *sqlfront.Cast:
		x, err := s.bindExpr(v.X, sc)
		if err != nil {
			return nil, err
		}
		c, err := expr.Cast(x, v.Type, v.Try || s.legacyCast())
		return c, placedOrNil(err, v.At)
	case *sqlfront.Call:
		return s.bindCall(v, sc)
	case *sqlfront.JSONCall:
		return s.bindJSON(v, sc)
	case *sqlfront.Collection:
		return s.call(v.Word, v.At, sc, v.Items...)
	case *sqlfront.RowExpr:
		return s.call("ROW", v.At, sc, v.Items...)
	case *sqlfront.Element:
		return s.bindElement(v, sc)
	case *sqlfront.FieldRef:
		return s.bindField(v, sc)
	case *sqlfront.Overlaps:
		return s.bindOverlaps(v, sc)
	case *sqlfront.UnsupportedExpr:
		return nil, v.Error()
	default:
		return nil, needsFlink(e.Pos(), "this expression")
	}
}

// bindNoticed binds a whole expression and says what in it is hardly meant.
func (s *Session) bindNoticed(e sqlfront.Expr, sc *scope) (expr.Expr, error) {
	x, err := s.bindExpr(e, sc)
	if err != nil {
		return nil, err
	}
	for _, msg := range expr.Notices(x) {
		s.notice(configs.Notice{Pos: e.Pos(), Key: msg, Msg: msg})
	}
	return x, nil
}

func placedOrNil(err error, at diag.Pos) error {
	if err == nil {
		return nil
	}
	return placed(err, at)
}

func bindColumn(v *sqlfront.Ident, sc *scope) (expr.Expr, error) {
	name := v.Parts[len(v.Parts)-1].Text
	if sc == nil {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnknownColumn, Pos: v.At, Msg: fmt.Sprintf("column %s cannot stand here", name), Hint: "write a constant"}
	}
	if x := fieldColumn(v, sc.rel); x != nil {
		return fieldsOf(x.expr, v.Parts[x.used:])
	}
	if len(v.Parts) > 1 && v.Parts[len(v.Parts)-2].Text != sc.rel.alias {
		return nil, unknown("table", v.Parts[len(v.Parts)-2].Text, v.At, []string{sc.rel.alias}, "name the table of FROM")
	}
	names := make([]string, len(sc.rel.columns))
	for i, c := range sc.rel.columns {
		if c.name == name {
			return c.expr, nil
		}
		names[i] = c.name
	}
	return nil, unknownColumn(name, v.At, names)
}

// namedColumn is a column that the first used parts of a name say.
type namedColumn struct {
	expr expr.Expr
	used int
}

// fieldColumn gives the column of r.f and t.r.f, nil where the name has no fields.
func fieldColumn(v *sqlfront.Ident, rel *relation) *namedColumn {
	for used := 1; used < len(v.Parts); used++ {
		if used > 1 && v.Parts[used-2].Text != rel.alias || used == 1 && len(v.Parts) == 2 && v.Parts[0].Text == rel.alias && rel.has(v.Parts[1].Text) {
			continue
		}
		for _, c := range rel.columns {
			if c.name == v.Parts[used-1].Text && (used > 1 || c.expr.Type().Kind == columnar.Row || v.Parts[0].Text != rel.alias) {
				return &namedColumn{expr: c.expr, used: used}
			}
		}
	}
	return nil
}

func bindLiteral(v *sqlfront.Literal) (expr.Expr, error) {
	switch v.Kind {
	case sqlfront.LitNull:
		if v.Unknown {
			return expr.LitNull(columnar.Of(columnar.Boolean)), nil
		}
		return expr.LitNull(columnar.DataType{}), nil
	case sqlfront.LitBool:
		return expr.LitBool(v.Bool), nil
	case sqlfront.LitInt, sqlfront.LitBigInt, sqlfront.LitDecimal, sqlfront.LitDouble:
		return expr.LitNumber(v.Text)
	case sqlfront.LitString:
		return expr.LitString(v.Text), nil
	case sqlfront.LitBinary:
		return expr.LitBytes(v.Bytes), nil
	case sqlfront.LitDate:
		return expr.LitDate(v.Text)
	case sqlfront.LitTime:
		return expr.LitTime(v.Text)
	case sqlfront.LitTimestamp:
		return expr.LitTimestamp(v.Text)
	case sqlfront.LitTimestampLTZ:
		x, err := expr.LitTimestamp(v.Text)
		if err != nil {
			return nil, err
		}
		return expr.Cast(x, columnar.DataType{Kind: columnar.TimestampLTZ, Precision: v.Precision}, false)
	default:
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.At, Msg: "an interval stands behind + and - alone", Hint: "write a time in front of it, as in ts - INTERVAL '1' DAY"}
	}
}

// intervalOf recognises x + INTERVAL, x - INTERVAL and INTERVAL + x.
func intervalOf(v *sqlfront.Binary) (l *sqlfront.Literal, x sqlfront.Expr, ok bool) {
	interval := func(e sqlfront.Expr) bool {
		l, ok = e.(*sqlfront.Literal)
		return ok && l.Kind == sqlfront.LitInterval
	}
	switch {
	case v.Op != sqlfront.OpAdd && v.Op != sqlfront.OpSub:
		return nil, nil, false
	case interval(v.R):
		return l, v.L, true
	case v.Op == sqlfront.OpAdd && interval(v.L):
		return l, v.R, true
	}
	return nil, nil, false
}

func (s *Session) addInterval(v *sqlfront.Binary, e sqlfront.Expr, l *sqlfront.Literal, sc *scope) (expr.Expr, error) {
	x, err := s.bindExpr(e, sc)
	if err != nil {
		return nil, err
	}
	var months, millis int64
	if l.Unit.Months() {
		months = l.Int
	} else {
		millis = l.Int*1000 + int64(l.Nanos)/1e6
	}
	if v.Op == sqlfront.OpSub {
		months, millis = -months, -millis
	}
	out, err := expr.AddInterval(x, months, millis)
	return out, placedOrNil(err, v.At)
}

func (s *Session) bindUnary(v *sqlfront.Unary, sc *scope) (expr.Expr, error) {
	switch v.Op {
	case sqlfront.OpAdd:
		return s.bindExpr(v.X, sc)
	case sqlfront.OpSub:
		if l, ok := v.X.(*sqlfront.Literal); ok && (l.Kind == sqlfront.LitInt || l.Kind == sqlfront.LitBigInt) {
			return negativeLiteral(l)
		}
		return s.call("NEGATE", v.At, sc, v.X)
	default:
		return s.call(string(v.Op), v.At, sc, v.X)
	}
}

// negativeLiteral reads -2147483648 and -9223372036854775808, whose digits alone do not fit.
func negativeLiteral(l *sqlfront.Literal) (expr.Expr, error) {
	if n := -l.Int; n >= -1<<31 {
		return expr.LitInt(int32(n)), nil
	}
	return expr.LitBigInt(-l.Int), nil
}

func (s *Session) bindAll(sc *scope, args []sqlfront.Expr) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(args))
	var errs diag.List
	for i, a := range args {
		x, err := s.bindExpr(a, sc)
		errs.Add(err)
		out[i] = x
	}
	return out, errs.Err()
}

// call binds the arguments and applies the operator or function called name.
func (s *Session) call(name string, at diag.Pos, sc *scope, args ...sqlfront.Expr) (expr.Expr, error) {
	bound, err := s.bindAll(sc, args)
	if err != nil {
		return nil, err
	}
	x, err := expr.Call(name, bound...)
	return x, placedOrNil(err, at)
}

func (s *Session) negated(not bool, name string, at diag.Pos, sc *scope, args ...sqlfront.Expr) (expr.Expr, error) {
	x, err := s.call(name, at, sc, args...)
	if err != nil || !not {
		return x, err
	}
	n, err := expr.Call("NOT", x)
	return n, placedOrNil(err, at)
}

func (s *Session) bindBetween(v *sqlfront.Between, sc *scope) (expr.Expr, error) {
	name := "BETWEEN"
	if v.Symmetric {
		name = "BETWEEN SYMMETRIC"
	}
	return s.negated(v.Not, name, v.At, sc, v.X, v.Low, v.High)
}

func (s *Session) bindLike(v *sqlfront.LikeExpr, sc *scope) (expr.Expr, error) {
	args := []sqlfront.Expr{v.X, v.Pattern}
	if v.Similar {
		if v.Escape != nil {
			return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Escape.Pos(), Msg: "SIMILAR TO has no ESCAPE here", Hint: "write REGEXP(text, pattern)"}
		}
		return s.negated(v.Not, "SIMILAR TO", v.At, sc, args...)
	}
	if v.Escape != nil {
		args = append(args, v.Escape)
	}
	return s.negated(v.Not, "LIKE", v.At, sc, args...)
}

// bindCase gives CASE as cond, value, …, else; CASE x WHEN y compares x = y.
func (s *Session) bindCase(v *sqlfront.Case, sc *scope) (expr.Expr, error) {
	var args []expr.Expr
	for _, w := range v.Whens {
		cond, err := s.bindWhen(v.Operand, w.Cond, sc)
		if err != nil {
			return nil, err
		}
		then, err := s.bindExpr(w.Then, sc)
		if err != nil {
			return nil, err
		}
		args = append(args, cond, then)
	}
	last := expr.LitNull(columnar.DataType{})
	if v.Else != nil {
		var err error
		if last, err = s.bindExpr(v.Else, sc); err != nil {
			return nil, err
		}
	}
	x, err := expr.Call("CASE", append(args, last)...)
	return x, placedOrNil(err, v.At)
}

func (s *Session) bindWhen(operand, cond sqlfront.Expr, sc *scope) (expr.Expr, error) {
	if operand == nil {
		return s.bindExpr(cond, sc)
	}
	return s.call("=", cond.Pos(), sc, operand, cond)
}

func (s *Session) bindCall(v *sqlfront.Call, sc *scope) (expr.Expr, error) {
	switch {
	case v.Over != nil:
		return nil, needsFlink(v.At, "a window function")
	case v.Distinct || v.Filter != nil:
		return nil, needsFlink(v.At, "an aggregate")
	}
	name, args := v.Func, v.Args
	if name == "" {
		name = v.Name.String()
	}
	// Words in special syntaxes become part of the function's name, such as
	// EXTRACT(DAY FROM x) = EXTRACT_DAY(x) and TRIM(LEADING c FROM x) = TRIM_LEADING(c, x).
	var plain []sqlfront.Expr
	for _, a := range args {
		if sym, ok := a.(*sqlfront.Symbol); ok {
			name += "_" + sym.Text
			continue
		}
		plain = append(plain, a)
	}
	if unit, ok := extractFunctions[name]; ok {
		name = unit
	}
	return s.call(name, v.At, sc, plain...)
}

var extractFunctions = map[string]string{
	"EXTRACT_YEAR": "YEAR", "EXTRACT_QUARTER": "QUARTER", "EXTRACT_MONTH": "MONTH", "EXTRACT_WEEK": "WEEK", "EXTRACT_DAY": "DAYOFMONTH",
	"EXTRACT_HOUR": "HOUR", "EXTRACT_MINUTE": "MINUTE", "EXTRACT_SECOND": "SECOND", "EXTRACT_DOY": "DAYOFYEAR", "EXTRACT_DOW": "DAYOFWEEK",
}
