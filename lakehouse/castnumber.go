package lakehouse

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// integers gives the values of a, integers or booleans; nil for others.
func integers(a arrow.Array) func(i int) int64 {
	switch a := a.(type) {
	case *array.Int8:
		return func(i int) int64 { return int64(a.Value(i)) }
	case *array.Int16:
		return func(i int) int64 { return int64(a.Value(i)) }
	case *array.Int32:
		return func(i int) int64 { return int64(a.Value(i)) }
	case *array.Int64:
		return a.Value
	case *array.Boolean:
		return func(i int) int64 {
			if a.Value(i) {
				return 1
			}
			return 0
		}
	default:
		return nil
	}
}

// wholes gives values as integers of the given bits. What is too large wraps, as
// in Java: floats saturate at 32 or 64 bits before, decimals lose their upper bits. Texts must fit.
func wholes(a arrow.Array, from columnar.DataType, bits int) func(i int) (int64, error) {
	wide := max(bits, 32)
	switch v := a.(type) {
	case *array.Float32:
		return func(i int) (int64, error) { return saturated(float64(v.Value(i)), wide), nil }
	case *array.Float64:
		return func(i int) (int64, error) { return saturated(v.Value(i), wide), nil }
	case *array.Decimal128:
		scale, mask := pow10(int32(from.Scale)), new(big.Int).SetUint64(math.MaxUint64)
		return func(i int) (int64, error) {
			whole := new(big.Int).Quo(v.Value(i).BigInt(), scale)
			return int64(whole.And(whole, mask).Uint64()), nil
		}
	case *array.String:
		return func(i int) (int64, error) { return parseWhole(v.Value(i), bits) }
	case *array.Timestamp:
		moment := moments(v, from)
		return func(i int) (int64, error) { return moment(i).millis / 1000, nil }
	}
	if get := integers(a); get != nil {
		return func(i int) (int64, error) { return get(i), nil }
	}
	return nil
}

func saturated(f float64, bits int) int64 {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if bits == 32 {
		low, high = math.MinInt32, math.MaxInt32
	}
	switch {
	case math.IsNaN(f):
		return 0
	case f <= float64(low):
		return low
	case f >= float64(high):
		return high
	default:
		return int64(f)
	}
}

// parseWhole reads an integer as Paimon does: a fraction is allowed, and cut.
func parseWhole(s string, bits int) (int64, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	digits := strings.TrimPrefix(whole, "-")
	if digits == whole {
		digits = strings.TrimPrefix(whole, "+")
	}
	if s == "" || s == "-" || s == "+" || !allDigits(digits) || !allDigits(fraction) {
		return 0, errSyntax
	}
	if digits == "" {
		return 0, nil
	}
	v, err := strconv.ParseInt(whole, 10, bits)
	if err != nil {
		return 0, errRange
	}
	return v, nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// floats gives values as floats of the given bits.
func floats(a arrow.Array, from columnar.DataType, bits int) func(i int) (float64, error) {
	switch v := a.(type) {
	case *array.Float32:
		return func(i int) (float64, error) { return float64(v.Value(i)), nil }
	case *array.Float64:
		return func(i int) (float64, error) { return v.Value(i), nil }
	case *array.Decimal128:
		scale := from.Scale
		if from.Precision <= 18 {
			by := float64(pow10(int32(scale)).Int64())
			return func(i int) (float64, error) { return float64(int64(v.Value(i).LowBits())) / by, nil }
		}
		var text []byte
		return func(i int) (float64, error) {
			text = appendDecimal(text[:0], v.Value(i), scale)
			return strconv.ParseFloat(string(text), 64)
		}
	case *array.String:
		return func(i int) (float64, error) { return parseFloat(v.Value(i), bits) }
	}
	get := integers(a)
	switch {
	case get == nil:
		return nil
	case bits == 32: // rounded once
		return func(i int) (float64, error) { return float64(float32(get(i))), nil }
	default:
		return func(i int) (float64, error) { return float64(get(i)), nil }
	}
}

// javaTrim cuts what Java's String.trim cuts.
func javaTrim(s string) string { return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }) }

// parseFloat reads a float as Java's parseDouble and parseFloat do.
func parseFloat(s string, bits int) (float64, error) {
	s = javaTrim(s)
	unsigned := s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		unsigned = s[1:]
	}
	if unsigned != "NaN" && unsigned != "Infinity" {
		if unsigned == "" || unsigned[0] != '.' && (unsigned[0] < '0' || unsigned[0] > '9') || strings.Contains(s, "_") {
			return 0, errSyntax
		}
		hex := len(unsigned) > 1 && unsigned[1]|0x20 == 'x'
		if last := s[len(s)-1] | 0x20; last == 'd' || last == 'f' {
			s = s[:len(s)-1]
		}
		if hex && !strings.ContainsAny(s, "pP") {
			return 0, errSyntax
		}
	} else if unsigned == "NaN" {
		return math.NaN(), nil
	}
	f, err := strconv.ParseFloat(s, bits)
	if err != nil && !math.IsInf(f, 0) {
		return 0, errSyntax
	}
	return f, nil
}

// truths gives values as booleans.
func truths(a arrow.Array, _ columnar.DataType) func(i int) (bool, error) {
	if s, ok := a.(*array.String); ok {
		return func(i int) (bool, error) {
			switch strings.ToLower(s.Value(i)) {
			case "t", "true", "y", "yes", "1":
				return true, nil
			case "f", "false", "n", "no", "0":
				return false, nil
			default:
				return false, errSyntax
			}
		}
	}
	get := integers(a)
	if get == nil {
		return nil
	}
	return func(i int) (bool, error) { return get(i) != 0, nil }
}

// decimals gives values as DECIMAL; false where one does not fit.
func decimals(a arrow.Array, from, to columnar.DataType) func(i int) (decimal128.Num, bool, error) {
	text := func(s string) (decimal128.Num, bool, error) {
		n, scale, err := parseDecimal(s)
		if err != nil {
			return decimal128.Num{}, false, err
		}
		d, ok := fitted(n, scale, to)
		return d, ok, nil
	}
	// Java casts a FLOAT by its DOUBLE; NaN and infinities are an error.
	float := func(f float64) (decimal128.Num, bool, error) {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return decimal128.Num{}, false, errRange
		}
		return text(strconv.FormatFloat(f, 'e', -1, 64))
	}
	switch v := a.(type) {
	case *array.Decimal128:
		return func(i int) (decimal128.Num, bool, error) {
			d, ok := fitted(v.Value(i).BigInt(), int64(from.Scale), to)
			return d, ok, nil
		}
	case *array.Float32:
		return func(i int) (decimal128.Num, bool, error) { return float(float64(v.Value(i))) }
	case *array.Float64:
		return func(i int) (decimal128.Num, bool, error) { return float(v.Value(i)) }
	case *array.String:
		return func(i int) (decimal128.Num, bool, error) { return text(v.Value(i)) }
	}
	get := integers(a)
	if get == nil {
		return nil
	}
	return func(i int) (decimal128.Num, bool, error) {
		d, ok := fitted(big.NewInt(get(i)), 0, to)
		return d, ok, nil
	}
}

// parseDecimal reads a number as Java's BigDecimal does.
func parseDecimal(s string) (n *big.Int, scale int64, err error) {
	mantissa, exponent := s, ""
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		mantissa, exponent = s[:at], s[at+1:]
		if scale, err = strconv.ParseInt(exponent, 10, 32); err != nil {
			return nil, 0, errSyntax
		}
	}
	unsigned := mantissa
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		unsigned = mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(unsigned, ".")
	if whole+fraction == "" || !allDigits(whole) || !allDigits(fraction) {
		return nil, 0, errSyntax
	}
	n, _ = new(big.Int).SetString(whole+fraction, 10)
	if mantissa[0] == '-' {
		n.Neg(n)
	}
	return n, int64(len(fraction)) - scale, nil
}

func pow10(n int32) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// fitted gives n, of scale digits after the point, as DECIMAL, rounded half up; false where it has too many digits.
func fitted(n *big.Int, scale int64, to columnar.DataType) (decimal128.Num, bool) {
	if n.Sign() == 0 {
		return decimal128.Num{}, true
	}
	// Exponents may be huge: those far off need no power of ten.
	switch before := int64(len(new(big.Int).Abs(n).String())) - scale; {
	case before > int64(to.Precision-to.Scale):
		return decimal128.Num{}, false
	case before < -int64(to.Scale):
		return decimal128.Num{}, true
	}
	switch more := int32(int64(to.Scale) - scale); {
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
