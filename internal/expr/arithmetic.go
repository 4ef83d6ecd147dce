package expr

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

var arithmeticFunctions = []*function{
	{name: "+", form: infixForm, minArgs: 1, maxArgs: 2, bind: bindArithmetic, build: buildArithmetic},
	{name: "-", form: infixForm, minArgs: 1, maxArgs: 2, bind: bindArithmetic, build: buildArithmetic},
	{name: "*", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindArithmetic, build: buildArithmetic},
	{name: "/", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindArithmetic, build: buildArithmetic},
	{name: "%", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindArithmetic, build: buildArithmetic},
}

func bindArithmetic(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	for _, a := range args {
		if !a.Type().IsNumeric() {
			return columnar.DataType{}, nil, argError(f, args, "write numbers on both sides, with CAST where needed")
		}
	}
	if len(args) == 1 {
		return args[0].Type(), args, nil
	}
	a, b := args[0].Type(), args[1].Type()
	if f.name == "%" && (isApproximate(a) || isApproximate(b)) {
		return columnar.DataType{}, nil, argError(f, args, "write integers or DECIMAL; there is no remainder of DOUBLE and FLOAT")
	}
	t := withNull(arithmeticType(f.name, a, b), args)
	if t.Kind == columnar.Decimal {
		// Overflow gives NULL, but the type rules leave no room for it except at the cap.
		return t, []Expr{toDecimal(args[0]), toDecimal(args[1])}, nil
	}
	return t, []Expr{implicit(args[0], t), implicit(args[1], t)}, nil
}

// toDecimal casts an integer to the decimal it counts as; decimals keep their scale.
func toDecimal(e Expr) Expr {
	t := e.Type()
	p, s := asDecimal(t)
	d := columnar.DecimalOf(p, s)
	d.Nullable = t.Nullable
	return implicit(e, d)
}

type number interface {
	int8 | int16 | int32 | int64 | float32 | float64
}

type integer interface {
	int8 | int16 | int32 | int64
}

type float interface{ float32 | float64 }

func buildArithmetic(c *compiler, e *callExpr) (node, error) {
	if len(e.args) == 1 {
		if e.fn.name == "+" {
			return c.compile(e.args[0])
		}
		return c.loopOver(e, negateLoop(e.t))
	}
	var l loop
	switch e.t.Kind {
	case columnar.TinyInt:
		l = integerLoop[int8](e)
	case columnar.SmallInt:
		l = integerLoop[int16](e)
	case columnar.Int:
		l = integerLoop[int32](e)
	case columnar.BigInt:
		l = integerLoop[int64](e)
	case columnar.Float:
		l = floatLoop[float32](e)
	case columnar.Double:
		l = floatLoop[float64](e)
	default:
		l = decimalLoop(e)
	}
	return c.loopOver(e, l)
}

func integerLoop[T integer](e *callExpr) loop {
	switch e.fn.name {
	case "/":
		return divideLoop[T](e, func(a, b T) T { return a / b })
	case "%":
		return divideLoop[T](e, func(a, b T) T { return a % b })
	default:
		return numberLoop[T](e.fn.name)
	}
}

func floatLoop[T float](e *callExpr) loop {
	if e.fn.name != "/" {
		return numberLoop[T](e.fn.name)
	}
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[T](out, n)
		out.mergeValid(n, in...)
		a, b := values[T](in[0])[:n], values[T](in[1])[:n]
		for i := range d {
			d[i] = a[i] / b[i]
		}
		return nil
	}
}

// numberLoop is +, - and *; integers wrap.
func numberLoop[T number](op string) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[T](out, n)
		out.mergeValid(n, in...)
		a, b := values[T](in[0])[:n], values[T](in[1])[:n]
		switch op {
		case "+":
			for i := range d {
				d[i] = a[i] + b[i]
			}
		case "-":
			for i := range d {
				d[i] = a[i] - b[i]
			}
		default:
			for i := range d {
				d[i] = a[i] * b[i]
			}
		}
		return nil
	}
}

func divideLoop[T integer](e *callExpr, op func(a, b T) T) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[T](out, n)
		out.mergeValid(n, in...)
		a, b := values[T](in[0])[:n], values[T](in[1])[:n]
		for i := range d {
			if b[i] != 0 {
				d[i] = op(a[i], b[i])
				continue
			}
			d[i] = 0
			if (out.valid == nil || out.valid[i]) && f.isActive(i) {
				return errDivideByZero(e)
			}
		}
		return nil
	}
}

func errDivideByZero(e Expr) error {
	return valueError(e, "write the divisor as NULLIF(x, 0), which gives NULL", "division by zero")
}

func negateLoop(t columnar.DataType) loop {
	switch t.Kind {
	case columnar.TinyInt:
		return mapLoop(func(v int8) int8 { return -v })
	case columnar.SmallInt:
		return mapLoop(func(v int16) int16 { return -v })
	case columnar.Int:
		return mapLoop(func(v int32) int32 { return -v })
	case columnar.BigInt:
		return mapLoop(func(v int64) int64 { return -v })
	case columnar.Float:
		return mapLoop(func(v float32) float32 { return -v })
	case columnar.Double:
		return mapLoop(func(v float64) float64 { return -v })
	default:
		return mapLoop(func(v decimal128.Num) decimal128.Num { return v.Negate() })
	}
}

// mapLoop computes op of every value; op is called for NULL rows too.
func mapLoop[A, R fixed](op func(A) R) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[R](out, n)
		out.mergeValid(n, in[0])
		a := values[A](in[0])[:n]
		for i := range d {
			d[i] = op(a[i])
		}
		return nil
	}
}
