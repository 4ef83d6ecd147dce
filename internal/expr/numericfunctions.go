package expr

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

var numericFunctions = []*function{
	{name: "ABS", minArgs: 1, maxArgs: 1, bind: takes(sameAsFirst, numberParam), build: buildAbs},
	{name: "SIGN", minArgs: 1, maxArgs: 1, bind: takes(sameAsFirst, numberParam), build: buildSign},
	{name: "ROUND", minArgs: 1, maxArgs: 2, bind: bindRound, build: buildRound},
	{name: "TRUNCATE", minArgs: 1, maxArgs: 2, bind: bindRound, build: buildRound},
	{name: "FLOOR", minArgs: 1, maxArgs: 1, bind: takes(wholeType, numberParam), build: buildWhole},
	{name: "CEIL", minArgs: 1, maxArgs: 1, bind: takes(wholeType, numberParam), build: buildWhole},
	{name: "PI", maxArgs: 0, bind: bindNothing, build: constantOf(math.Pi)},
	{name: "E", maxArgs: 0, bind: bindNothing, build: constantOf(math.E)},
	doubleFunction("SQRT", math.Sqrt), doubleFunction("EXP", math.Exp), doubleFunction("LN", math.Log),
	doubleFunction("LOG10", math.Log10), doubleFunction("LOG2", math.Log2),
	doubleFunction("SIN", math.Sin), doubleFunction("COS", math.Cos), doubleFunction("TAN", math.Tan),
	doubleFunction("ASIN", math.Asin), doubleFunction("ACOS", math.Acos), doubleFunction("ATAN", math.Atan),
	doubleFunction("RADIANS", func(v float64) float64 { return v / 180 * math.Pi }),
	doubleFunction("DEGREES", func(v float64) float64 { return v * 180 / math.Pi }),
	{name: "POWER", minArgs: 2, maxArgs: 2, bind: takes(following(columnar.Of(columnar.Double)), doubleParam), build: building(func() loop {
		return fixedRows(func(in []*vector, i int) (float64, bool) {
			return math.Pow(values[float64](in[0])[i], values[float64](in[1])[i]), true
		})
	})},
	{name: "LOG", minArgs: 1, maxArgs: 2, bind: takes(following(columnar.Of(columnar.Double)), doubleParam), build: building(func() loop {
		return fixedRows(func(in []*vector, i int) (float64, bool) {
			v := math.Log(values[float64](in[len(in)-1])[i])
			if len(in) > 1 {
				v /= math.Log(values[float64](in[0])[i])
			}
			return v, true
		})
	})},
}

func bindNothing(*function, []Expr) (columnar.DataType, []Expr, error) {
	return columnar.Of(columnar.Double).NotNull(), nil, nil
}

func constantOf(v float64) func(*compiler, *callExpr) (node, error) {
	return building(func() loop {
		return fixedRows(func([]*vector, int) (float64, bool) { return v, true })
	})
}

func doubleFunction(name string, op func(float64) float64) *function {
	return &function{
		name: name, minArgs: 1, maxArgs: 1, bind: takes(following(columnar.Of(columnar.Double)), doubleParam),
		build: building(func() loop { return mapLoop(op) }),
	}
}

func abs[T number](v T) T {
	if v < 0 {
		return -v
	}
	return v
}

func buildAbs(c *compiler, e *callExpr) (node, error) {
	var l loop
	switch e.t.Kind {
	case columnar.TinyInt:
		l = mapLoop(abs[int8])
	case columnar.SmallInt:
		l = mapLoop(abs[int16])
	case columnar.Int:
		l = mapLoop(abs[int32])
	case columnar.BigInt:
		l = mapLoop(abs[int64])
	case columnar.Float:
		l = mapLoop(abs[float32])
	case columnar.Double:
		l = mapLoop(math.Abs)
	default:
		l = mapLoop(decimal128.Num.Abs)
	}
	return c.loopOver(e, l)
}

func sign[T number](v T) T {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	default:
		return v
	}
}

func buildSign(c *compiler, e *callExpr) (node, error) {
	var l loop
	switch e.t.Kind {
	case columnar.TinyInt:
		l = mapLoop(sign[int8])
	case columnar.SmallInt:
		l = mapLoop(sign[int16])
	case columnar.Int:
		l = mapLoop(sign[int32])
	case columnar.BigInt:
		l = mapLoop(sign[int64])
	case columnar.Float:
		l = mapLoop(sign[float32])
	case columnar.Double:
		l = mapLoop(sign[float64])
	default:
		one := pow10(e.t.Scale)
		l = mapLoop(func(v decimal128.Num) decimal128.Num {
			switch v.Sign() {
			case 0:
				return v
			case -1:
				return one.Negate()
			}
			if v == (decimal128.Num{}) {
				return v
			}
			return one
		})
	}
	return c.loopOver(e, l)
}

// wholeType keeps the precision of a decimal and drops its scale.
func wholeType(args []Expr) columnar.DataType {
	t := args[0].Type()
	t.Scale = 0
	return t
}

func buildWhole(c *compiler, e *callExpr) (node, error) {
	from := e.args[0].Type()
	down := e.fn.name == "FLOOR"
	switch {
	case from.IsInteger():
		return c.compile(e.args[0])
	case from.Kind == columnar.Float:
		return c.loopOver(e, mapLoop(func(v float32) float32 { return float32(floorOrCeil(float64(v), down)) }))
	case from.Kind == columnar.Double:
		return c.loopOver(e, mapLoop(func(v float64) float64 { return floorOrCeil(v, down) }))
	}
	r := towardCeiling
	if down {
		r = towardFloor
	}
	return c.loopOver(e, decimalOrNull(func(v decimal128.Num) (decimal128.Num, bool) {
		v = rescaleDown(v, from.Scale, r)
		return v, fitsPrecision(v, e.t.Precision)
	}))
}

func floorOrCeil(v float64, down bool) float64 {
	if down {
		return math.Floor(v)
	}
	return math.Ceil(v)
}

// bindRound derives the type of a rounded decimal from the number of digits,
// where that is a literal.
func bindRound(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	t, out, err := takes(sameAsFirst, numberParam, intParam)(f, args)
	if err != nil || t.Kind != columnar.Decimal {
		return t, out, err
	}
	places, known := roundPlaces(out)
	if !known || places >= t.Scale {
		return t, out, nil
	}
	r := columnar.DecimalOf(max(min(t.Precision-t.Scale+1+max(places, 0), maxPrecision), 1), max(places, 0))
	r.Nullable = t.Nullable
	return r, out, nil
}

func roundPlaces(args []Expr) (places int, known bool) {
	if len(args) == 1 {
		return 0, true
	}
	switch v := args[1].(type) {
	case *literalExpr:
		return int(v.i), !v.null
	case *callExpr:
		if l, ok := v.args[0].(*literalExpr); ok && v.fn.name == "-" && len(v.args) == 1 && !l.null {
			return -int(l.i), true
		}
	}
	return 0, false
}

func buildRound(c *compiler, e *callExpr) (node, error) {
	r := halfUp
	if e.fn.name == "TRUNCATE" {
		r = towardZero
	}
	from := e.args[0].Type()
	places := func(in []*vector, i int) int {
		if len(in) == 1 {
			return 0
		}
		return intAt(in[1], i)
	}
	switch from.Kind {
	case columnar.TinyInt:
		return c.loopOver(e, roundIntegers[int8](places, r))
	case columnar.SmallInt:
		return c.loopOver(e, roundIntegers[int16](places, r))
	case columnar.Int:
		return c.loopOver(e, roundIntegers[int32](places, r))
	case columnar.BigInt:
		return c.loopOver(e, roundIntegers[int64](places, r))
	case columnar.Float:
		return c.loopOver(e, fixedRows(func(in []*vector, i int) (float32, bool) {
			return float32(roundFloat(float64(values[float32](in[0])[i]), places(in, i), r)), true
		}))
	case columnar.Double:
		return c.loopOver(e, fixedRows(func(in []*vector, i int) (float64, bool) {
			return roundFloat(values[float64](in[0])[i], places(in, i), r), true
		}))
	default:
		return c.loopOver(e, fixedRows(func(in []*vector, i int) (decimal128.Num, bool) {
			v := roundDecimal(values[decimal128.Num](in[0])[i], from.Scale, places(in, i), r)
			return rescale(v, from.Scale, e.t.Precision, e.t.Scale)
		}))
	}
}

// roundDecimal rounds v to places digits after the point and keeps its scale.
func roundDecimal(v decimal128.Num, scale, places int, r rounding) decimal128.Num {
	drop := scale - places
	switch {
	case drop <= 0:
		return v
	case drop > maxPrecision:
		return decimal128.Num{}
	}
	up, ok := rescaleUp(rescaleDown(v, drop, r), drop)
	if !ok {
		return v
	}
	return up
}

func roundIntegers[T integer](places func([]*vector, int) int, r rounding) loop {
	return fixedRows(func(in []*vector, i int) (T, bool) {
		v := values[T](in[0])[i]
		if p := places(in, i); p < 0 {
			return T(roundDecimal(decimal128.FromI64(int64(v)), 0, p, r).LowBits()), true
		}
		return v, true
	})
}

// roundFloat rounds the digits that f is written with, as Java's BigDecimal.valueOf does.
func roundFloat(f float64, places int, r rounding) float64 {
	if places == 0 && r == halfUp {
		return math.Round(f)
	}
	if places == 0 {
		return math.Trunc(f)
	}
	const kept = 18
	v, state := decimalFromFloat(f, maxPrecision, kept)
	if state != parsed || places >= kept {
		return f
	}
	return floatFromDecimal(roundDecimal(v, kept, places, r), kept)
}
