package expr

import (
	"math"

	"leat/internal/columnar"
)

// textRows computes text row by row where no argument is NULL; ok false gives NULL.
func textRows(op func(in []*vector, i int, out *scratch) (s string, ok bool)) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := out.growText(n)
		out.mergeValid(n, in...)
		for i := range d {
			if out.valid != nil && !out.valid[i] {
				d[i] = ""
				continue
			}
			s, ok := op(in, i, out)
			d[i] = s
			if !ok {
				out.setNull(i, n)
			}
		}
		return nil
	}
}

// fixedRows is textRows for fixed width results.
func fixedRows[R fixed](op func(in []*vector, i int) (v R, ok bool)) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[R](out, n)
		out.mergeValid(n, in...)
		for i := range d {
			if out.valid != nil && !out.valid[i] {
				continue
			}
			v, ok := op(in, i)
			d[i] = v
			if !ok {
				out.setNull(i, n)
			}
		}
		return nil
	}
}

// building gives build functions for functions whose loop does not depend on types.
func building(l func() loop) func(*compiler, *callExpr) (node, error) {
	return func(c *compiler, e *callExpr) (node, error) { return c.loopOver(e, l()) }
}

func intAt(v *vector, i int) int { return int(values[int32](v)[i]) }

// param is what a function wants of an argument.
type param struct {
	what string
	// accepts says whether a type will do; to, if given, is what it is cast to.
	accepts func(columnar.DataType) bool
	to      columnar.DataType
}

func anyText(t columnar.DataType) bool { return t.IsText() }

var (
	textParam   = param{what: "string", accepts: anyText}
	intParam    = param{what: "INT", accepts: func(t columnar.DataType) bool { return t.IsInteger() }, to: columnar.Of(columnar.Int)}
	bigIntParam = param{what: "BIGINT", accepts: func(t columnar.DataType) bool { return t.IsInteger() }, to: columnar.Of(columnar.BigInt)}
	doubleParam = param{what: "number", accepts: func(t columnar.DataType) bool { return t.IsNumeric() }, to: columnar.Of(columnar.Double)}
	numberParam = param{what: "number", accepts: func(t columnar.DataType) bool { return t.IsNumeric() }}
)

// takes gives a bind function that checks args against params, the last of which
// stands for all further ones, and derives the result type.
func takes(result func(args []Expr) columnar.DataType, params ...param) func(*function, []Expr) (columnar.DataType, []Expr, error) {
	return func(f *function, args []Expr) (columnar.DataType, []Expr, error) {
		out := make([]Expr, len(args))
		for i, a := range args {
			p := params[min(i, len(params)-1)]
			if a.Type().Kind == columnar.Invalid {
				return columnar.DataType{}, nil, errBareNull()
			}
			if !p.accepts(a.Type()) {
				want := make([]string, len(args))
				for j := range args {
					want[j] = params[min(j, len(params)-1)].what
				}
				return columnar.DataType{}, nil, argError(f, args, "write "+writeCall(f, want))
			}
			out[i] = a
			if p.to.Kind != columnar.Invalid {
				out[i] = implicit(a, p.to)
			}
		}
		return result(out), out, nil
	}
}

// always gives a nullable result of type t.
func always(t columnar.DataType) func([]Expr) columnar.DataType {
	return func([]Expr) columnar.DataType { return t.AsNullable() }
}

// following gives a result of type t that is nullable if an argument is.
func following(t columnar.DataType) func([]Expr) columnar.DataType {
	return func(args []Expr) columnar.DataType { return withNull(t, args) }
}

// sameAsFirst gives the type of the first argument.
func sameAsFirst(args []Expr) columnar.DataType { return withNull(args[0].Type(), args) }

// varyingFirst gives VARCHAR of the length of the first argument.
func varyingFirst(args []Expr) columnar.DataType {
	return withNull(columnar.DataType{Kind: columnar.VarChar, Length: args[0].Type().Length}, args)
}

func sumLength(a, b int) int {
	if a > math.MaxInt32-b {
		return columnar.MaxLength
	}
	return a + b
}
