package planner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/internal/procedure"
	"leat/sqlfront"
)

// callProcedure binds CALL [catalog.]sys.name(…).
func (s *Session) callProcedure(ctx context.Context, v *sqlfront.CallProcedure) {
	parts := v.Name.Parts
	c := s.current
	if len(parts) == 3 {
		var ok bool
		if c, ok = s.findCatalog(parts[0]); !ok {
			return
		}
		parts = parts[1:]
	}
	if len(parts) != 2 || !strings.EqualFold(parts[0].Text, "sys") {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnknownFunc, Pos: v.Name.At, Msg: fmt.Sprintf("%s is no procedure", v.Name), Hint: "write CALL sys.name(…); see SHOW PROCEDURES"})
		return
	}
	if name := strings.ToLower(parts[1].Text); isSyncCall(name) {
		s.callSync(ctx, v, name, c)
		return
	}
	if c.lake == nil {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Name.At, Msg: fmt.Sprintf("catalog %s holds no lake tables", c.name), Hint: "USE CATALOG a Paimon catalog first, or put its name in front: CALL catalog.sys.name(…)"})
		return
	}
	p, err := procedure.Find(parts[1].Text)
	if err != nil {
		s.fail(placed(err, parts[1].At))
		return
	}
	args := make([]procedure.Arg, 0, len(v.Args))
	var errs diag.List
	for _, a := range v.Args {
		arg, err := s.constant(a.Value)
		errs.Add(err)
		arg.Name, arg.NameAt, arg.At = a.Name.Text, a.Name.At, a.Value.Pos()
		args = append(args, arg)
	}
	if len(errs) > 0 {
		s.fail(errs)
		return
	}
	st := s.step(StepCall, v.Pos(), c, s.databaseOf(c), "")
	if st.Call, err = p.Bind(v.Pos(), args); err != nil {
		s.fail(err)
		return
	}
	s.add(st)
}

// databaseOf is the database of names without one in catalog c.
func (s *Session) databaseOf(c *namespace) string {
	if c == s.current {
		return s.database
	}
	return c.defaultDB
}

// constant evaluates an expression without columns; its value is text as
// options and arguments write it.
func (s *Session) constant(e sqlfront.Expr) (procedure.Arg, error) {
	x, err := s.bindExpr(e, nil)
	if err != nil {
		return procedure.Arg{}, err
	}
	if expr.IsNullLiteral(x) {
		return procedure.Arg{Null: true}, nil
	}
	t := x.Type()
	switch {
	case t.Kind == columnar.Timestamp:
		x, err = expr.Cast(x, columnar.TimestampOf(3), false)
	case t.Kind == columnar.TimestampLTZ:
		x, err = expr.Cast(x, columnar.DataType{Kind: columnar.TimestampLTZ, Precision: 3}, false)
	case t.IsInteger():
		x, err = expr.Cast(x, columnar.Of(columnar.BigInt), false)
	case t.Kind == columnar.Boolean, t.IsText():
	default:
		x, err = expr.Cast(x, columnar.StringType(), false)
	}
	if err != nil {
		return procedure.Arg{}, placed(err, e.Pos())
	}
	p, err := expr.Compile([]expr.Expr{x}, expr.Env{Zone: s.zone()})
	if err != nil {
		return procedure.Arg{}, placed(err, e.Pos())
	}
	out, err := p.Eval(memory.DefaultAllocator, nil, 1)
	if err != nil {
		return procedure.Arg{}, placed(err, e.Pos())
	}
	defer out[0].Release()
	if out[0].IsNull(0) {
		return procedure.Arg{Null: true}, nil
	}
	switch a := out[0].(type) {
	case *array.Boolean:
		return procedure.Arg{Type: procedure.Bool, Value: strconv.FormatBool(a.Value(0))}, nil
	case *array.Int64:
		return procedure.Arg{Type: procedure.Number, Value: strconv.FormatInt(a.Value(0), 10)}, nil
	case *array.String:
		return procedure.Arg{Value: a.Value(0)}, nil
	case *array.Timestamp:
		at := a.Value(0).ToTime(columnar.TimestampUnit(3))
		if x.Type().Kind == columnar.TimestampLTZ {
			at = at.In(s.zone())
		}
		return procedure.Arg{Value: at.Format("2006-01-02 15:04:05.000")}, nil
	default:
		return procedure.Arg{}, placed(errors.New("this constant has no text form"), e.Pos())
	}
}

func (s *Session) zoneText() string { return configs.LocalTimeZone.Get(s.settings) }
