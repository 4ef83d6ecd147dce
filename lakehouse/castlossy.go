package lakehouse

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// lossy reports casts that read old values with a loss, as Paimon does when a
// column was narrowed: numbers among each other and to text.
func lossy(from, to columnar.DataType) bool {
	switch {
	case from.IsNumeric() && to.IsNumeric():
		return true
	case from.IsText() && to.IsText(), from.IsBytes() && to.IsBytes():
		return true
	case from.IsInteger() && to.IsText():
		return true
	case from.Kind == to.Kind && (from.Kind == columnar.Timestamp || from.Kind == columnar.TimestampLTZ):
		return true
	default:
		return false
	}
}

// castLossy converts a to the form of type to; lossy holds. Integers wrap as
// Java's casts do, fractions are cut towards zero, decimals round half up and
// are NULL where they do not fit, texts are cut to their length.
func castLossy(a arrow.Array, to columnar.DataType) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(to))
	defer b.Release()
	b.Reserve(a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		switch b := b.(type) {
		case *array.StringBuilder:
			b.Append(cutTo(textAt(a, i), to.Length))
		case *array.BinaryBuilder:
			v := a.(*array.Binary).Value(i)
			b.Append(v[:min(len(v), to.Length)])
		case *array.TimestampBuilder:
			ts := a.(*array.Timestamp)
			b.Append(truncated(ts.Value(i), ts.DataType().(*arrow.TimestampType).Unit, to))
		case *array.Decimal128Builder:
			if d, ok := decimalAt(a, i, to); ok {
				b.Append(d)
			} else {
				b.AppendNull()
			}
		default:
			appendNumber(b, a, i)
		}
	}
	return b.NewArray()
}

func appendNumber(b array.Builder, a arrow.Array, i int) {
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(wholeAt(a, i, 32)))
	case *array.Int16Builder:
		b.Append(int16(wholeAt(a, i, 32)))
	case *array.Int32Builder:
		b.Append(int32(wholeAt(a, i, 32)))
	case *array.Int64Builder:
		b.Append(wholeAt(a, i, 64))
	case *array.Float32Builder:
		b.Append(float32(floatAt(a, i)))
	case *array.Float64Builder:
		b.Append(floatAt(a, i))
	default:
		b.AppendNull()
	}
}

// wholeAt gives a number without its fraction. Floats saturate at bits, as in Java.
func wholeAt(a arrow.Array, i, bits int) int64 {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if bits == 32 {
		low, high = math.MinInt32, math.MaxInt32
	}
	switch v := a.(type) {
	case *array.Float32, *array.Float64:
		switch f := floatAt(v, i); {
		case math.IsNaN(f):
			return 0
		case f <= float64(low):
			return low
		case f >= float64(high):
			return high
		default:
			return int64(f)
		}
	case *array.Decimal128:
		scale := v.DataType().(*arrow.Decimal128Type).Scale
		whole := new(big.Int).Quo(v.Value(i).BigInt(), pow10(scale))
		return int64(new(big.Int).And(whole, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
	default:
		return integerAt(a, i)
	}
}

func pow10(n int32) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func floatAt(a arrow.Array, i int) float64 {
	switch v := a.(type) {
	case *array.Float32:
		return float64(v.Value(i))
	case *array.Float64:
		return v.Value(i)
	case *array.Decimal128:
		return v.Value(i).ToFloat64(v.DataType().(*arrow.Decimal128Type).Scale)
	default:
		return float64(integerAt(a, i))
	}
}

// decimalAt gives a number as DECIMAL; false where it does not fit.
func decimalAt(a arrow.Array, i int, to columnar.DataType) (decimal128.Num, bool) {
	var unscaled *big.Int
	var scale int32
	switch v := a.(type) {
	case *array.Decimal128:
		unscaled, scale = v.Value(i).BigInt(), v.DataType().(*arrow.Decimal128Type).Scale
	case *array.Float32:
		return decimalOfText(strconv.FormatFloat(float64(v.Value(i)), 'f', -1, 32), to)
	case *array.Float64:
		return decimalOfText(strconv.FormatFloat(v.Value(i), 'f', -1, 64), to)
	default:
		unscaled = big.NewInt(integerAt(a, i))
	}
	return fitted(unscaled, scale, to)
}

func decimalOfText(text string, to columnar.DataType) (decimal128.Num, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return decimal128.Num{}, false
	}
	return fitted(n, int32(len(fraction)), to)
}

func fitted(n *big.Int, scale int32, to columnar.DataType) (decimal128.Num, bool) {
	switch more := int32(to.Scale) - scale; {
	case more >= 0:
		n = new(big.Int).Mul(n, pow10(more))
	default:
		half := new(big.Int).Quo(pow10(-more), big.NewInt(2))
		if n.Sign() < 0 {
			half.Neg(half)
		}
		n = new(big.Int).Quo(new(big.Int).Add(n, half), pow10(-more))
	}
	if n.CmpAbs(pow10(int32(to.Precision))) >= 0 {
		return decimal128.Num{}, false
	}
	return decimal128.FromBigInt(n), true
}

func textAt(a arrow.Array, i int) string {
	if s, ok := a.(*array.String); ok {
		return s.Value(i)
	}
	return strconv.FormatInt(integerAt(a, i), 10)
}

// cutTo gives the first n characters of s.
func cutTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// truncated gives a timestamp with the digits of to.
func truncated(v arrow.Timestamp, from arrow.TimeUnit, to columnar.DataType) arrow.Timestamp {
	unit := columnar.TimestampUnit(to.Precision)
	digits := map[arrow.TimeUnit]int{arrow.Millisecond: 3, arrow.Microsecond: 6, arrow.Nanosecond: 9}
	down := func(x, by int64) int64 {
		q := x / by
		if x%by < 0 {
			q--
		}
		return q
	}
	power := func(n int) int64 { return pow10(int32(n)).Int64() }
	// First to the digits wanted, then to the unit that stores them.
	x := int64(v)
	if have := digits[from]; have > to.Precision {
		x = down(x, power(have-to.Precision))
		return arrow.Timestamp(x * power(digits[unit]-to.Precision))
	}
	return arrow.Timestamp(x * power(max(digits[unit]-digits[from], 0)))
}
