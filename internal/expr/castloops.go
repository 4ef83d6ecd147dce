package expr

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// cast gives the node of a cast over arg.
func (c *compiler) cast(e *castExpr, arg node) (node, error) {
	from, to := e.arg.Type(), e.t
	if sameForm(from, to, e.mode) {
		return arg, nil
	}
	var l loop
	switch {
	case isBuilt(to):
		return c.nestedCast(e, arg)
	case to.IsText():
		l = c.castToText(from, to, e.mode)
	case from.IsText():
		l = c.castFromText(e)
	case from.IsBytes():
		l = bytesLoop(to)
	case isTemporal(from):
		l = c.castTemporal(e)
	default:
		l = castNumber(e)
	}
	return newLoop(l, arg), nil
}

// sameForm reports casts that leave every value as it is.
func sameForm(from, to columnar.DataType, mode castMode) bool {
	switch {
	case from.EqualIgnoreNull(to):
		return true
	case from.IsText() && to.IsText(), from.IsBytes() && to.IsBytes():
		return mode == castAssign || to.Length == columnar.MaxLength || varies(to.Kind) && to.Length >= from.Length
	case from.Kind == columnar.Time && to.Kind == columnar.Time:
		return to.Precision >= min(from.Precision, 3)
	case from.Kind == to.Kind && isTimestamp(from):
		return unitDigits(from.Precision) == unitDigits(to.Precision) && to.Precision >= from.Precision
	default:
		return false
	}
}

func varies(k columnar.Kind) bool { return k == columnar.VarChar || k == columnar.VarBinary }

// castNumber casts between BOOLEAN and the numbers.
func castNumber(e *castExpr) loop {
	from := e.arg.Type()
	switch from.Kind {
	case columnar.Boolean:
		return castFromBool(e)
	case columnar.TinyInt:
		return castFromInteger[int8](e)
	case columnar.SmallInt:
		return castFromInteger[int16](e)
	case columnar.Int:
		return castFromInteger[int32](e)
	case columnar.BigInt:
		return castFromInteger[int64](e)
	case columnar.Float:
		return castFromFloat[float32](e)
	case columnar.Double:
		return castFromFloat[float64](e)
	default:
		return castFromDecimal(e, from.Scale)
	}
}

func castFromBool(e *castExpr) loop {
	one := func(v bool) int8 {
		if v {
			return 1
		}
		return 0
	}
	switch e.t.Kind {
	case columnar.TinyInt:
		return mapLoop(one)
	case columnar.SmallInt:
		return mapLoop(func(v bool) int16 { return int16(one(v)) })
	case columnar.Int:
		return mapLoop(func(v bool) int32 { return int32(one(v)) })
	case columnar.BigInt:
		return mapLoop(func(v bool) int64 { return int64(one(v)) })
	case columnar.Float:
		return mapLoop(func(v bool) float32 { return float32(one(v)) })
	case columnar.Double:
		return mapLoop(func(v bool) float64 { return float64(one(v)) })
	default:
		return decimalOrNull(func(v bool) (decimal128.Num, bool) {
			return rescale(decimal128.FromI64(int64(one(v))), 0, e.t.Precision, e.t.Scale)
		})
	}
}

func castFromInteger[T integer](e *castExpr) loop {
	switch e.t.Kind {
	case columnar.Boolean:
		return mapLoop(func(v T) bool { return v != 0 })
	case columnar.TinyInt:
		return mapLoop(func(v T) int8 { return int8(v) })
	case columnar.SmallInt:
		return mapLoop(func(v T) int16 { return int16(v) })
	case columnar.Int:
		return mapLoop(func(v T) int32 { return int32(v) })
	case columnar.BigInt:
		return mapLoop(func(v T) int64 { return int64(v) })
	case columnar.Float:
		return mapLoop(func(v T) float32 { return float32(v) })
	case columnar.Double:
		return mapLoop(func(v T) float64 { return float64(v) })
	default:
		p, s := e.t.Precision, e.t.Scale
		return decimalOrNull(func(v T) (decimal128.Num, bool) {
			return rescale(decimal128.FromI64(int64(v)), 0, p, s)
		})
	}
}

// castFromFloat cuts toward zero and stays within the range, as Java does: INT
// and BIGINT end at their bounds, TINYINT and SMALLINT wrap from INT. NaN is 0.
func castFromFloat[T float](e *castExpr) loop {
	switch e.t.Kind {
	case columnar.Boolean:
		return mapLoop(func(v T) bool { return v != 0 })
	case columnar.TinyInt:
		return mapLoop(func(v T) int8 { return int8(saturate(float64(v), math.MinInt32, math.MaxInt32)) })
	case columnar.SmallInt:
		return mapLoop(func(v T) int16 { return int16(saturate(float64(v), math.MinInt32, math.MaxInt32)) })
	case columnar.Int:
		return mapLoop(func(v T) int32 { return int32(saturate(float64(v), math.MinInt32, math.MaxInt32)) })
	case columnar.BigInt:
		return mapLoop(func(v T) int64 { return saturate(float64(v), math.MinInt64, math.MaxInt64) })
	case columnar.Float:
		return mapLoop(func(v T) float32 { return float32(v) })
	case columnar.Double:
		return mapLoop(func(v T) float64 { return float64(v) })
	default:
		return decimalFromFloatLoop[T](e)
	}
}

func saturate(f float64, low, high int64) int64 {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= float64(high):
		return high
	case f <= float64(low):
		return low
	default:
		return int64(f)
	}
}

func decimalFromFloatLoop[T float](e *castExpr) loop {
	p, s := e.t.Precision, e.t.Scale
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[decimal128.Num](out, n)
		out.mergeValid(n, in[0])
		a := values[T](in[0])[:n]
		for i := range d {
			if out.valid != nil && !out.valid[i] {
				continue
			}
			v, state := decimalFromFloat(float64(a[i]), p, s)
			d[i] = v
			if state == parsed {
				continue
			}
			if state == notANumber && e.mode != castTry && f.isActive(i) {
				return valueError(e, "use TRY_CAST, which gives NULL", "%v is not a number", a[i])
			}
			out.setNull(i, n)
		}
		return nil
	}
}

func castFromDecimal(e *castExpr, scale int) loop {
	whole := func(v decimal128.Num) int64 { return int64(rescaleDown(v, scale, towardZero).LowBits()) }
	switch e.t.Kind {
	case columnar.Boolean:
		return mapLoop(func(v decimal128.Num) bool { return v != decimal128.Num{} })
	case columnar.TinyInt:
		return mapLoop(func(v decimal128.Num) int8 { return int8(whole(v)) })
	case columnar.SmallInt:
		return mapLoop(func(v decimal128.Num) int16 { return int16(whole(v)) })
	case columnar.Int:
		return mapLoop(func(v decimal128.Num) int32 { return int32(whole(v)) })
	case columnar.BigInt:
		return mapLoop(whole)
	case columnar.Float:
		return mapLoop(func(v decimal128.Num) float32 { return float32(floatFromDecimal(v, scale)) })
	case columnar.Double:
		return mapLoop(func(v decimal128.Num) float64 { return floatFromDecimal(v, scale) })
	default:
		p, s := e.t.Precision, e.t.Scale
		return decimalOrNull(func(v decimal128.Num) (decimal128.Num, bool) { return rescale(v, scale, p, s) })
	}
}

// decimalOrNull computes decimals that are NULL where they do not fit.
func decimalOrNull[A fixed](op func(A) (decimal128.Num, bool)) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[decimal128.Num](out, n)
		out.mergeValid(n, in[0])
		a := values[A](in[0])[:n]
		for i := range d {
			if out.valid != nil && !out.valid[i] {
				continue
			}
			v, ok := op(a[i])
			d[i] = v
			if !ok {
				out.setNull(i, n)
			}
		}
		return nil
	}
}

// bytesLoop pads with zero bytes or cuts to the length of the target.
func bytesLoop(to columnar.DataType) loop {
	pad := to.Kind == columnar.Binary
	return textLoop(func(out *scratch, s string) (string, bool) {
		return fitBytes(out, s, to.Length, pad), true
	})
}

func fitBytes(out *scratch, s string, length int, pad bool) string {
	switch {
	case len(s) > length:
		return s[:length]
	case pad && len(s) < length:
		start := len(out.arena)
		out.arena = append(out.arena, s...)
		out.arena = append(out.arena, make([]byte, length-len(s))...)
		return out.since(start)
	default:
		return s
	}
}

// textLoop computes text from text for the rows that are not NULL; ok false
// makes the row NULL. op may build its result in the arena of out.
func textLoop(op func(out *scratch, s string) (r string, ok bool)) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := out.growText(n)
		out.mergeValid(n, in[0])
		a := in[0].strs[:n]
		for i := range d {
			if out.valid != nil && !out.valid[i] {
				d[i] = ""
				continue
			}
			r, ok := op(out, a[i])
			d[i] = r
			if !ok {
				out.setNull(i, n)
			}
		}
		return nil
	}
}
