package expr

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// AppendDouble writes f as CAST(f AS STRING) does, that is as Java's Double.toString and Float.toString: the
// shortest digits that read back, plain from 1E-3 to 1E7. bitSize is
// 32 for FLOAT, 64 for DOUBLE.
func AppendDouble(b []byte, f float64, bitSize int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	start := len(b)
	if a := math.Abs(f); a == 0 || a >= 1e-3 && a < 1e7 {
		b = strconv.AppendFloat(b, f, 'f', -1, bitSize)
		if bytes.IndexByte(b[start:], '.') < 0 {
			b = append(b, ".0"...)
		}
		return b
	}
	var tmp [32]byte
	s := strconv.AppendFloat(tmp[:0], f, 'e', -1, bitSize)
	e := bytes.IndexByte(s, 'e')
	b = append(b, s[:e]...)
	if bytes.IndexByte(s[:e], '.') < 0 {
		b = append(b, ".0"...)
	}
	b = append(b, 'E')
	exp, _ := strconv.Atoi(string(s[e+1:]))
	return strconv.AppendInt(b, int64(exp), 10)
}

// AppendDecimal writes an unscaled decimal with exactly scale fraction digits.
func AppendDecimal(b []byte, v decimal128.Num, scale int) []byte {
	hi, lo, negative := magnitude(v)
	var tmp [48]byte
	i := len(tmp)
	for n := 0; hi|lo != 0 || n <= scale; n++ {
		if n == scale && scale > 0 {
			i--
			tmp[i] = '.'
		}
		var digit uint64
		if hi == 0 {
			digit, lo = lo%10, lo/10
		} else {
			hi, lo, digit = divide64(hi, lo, 10)
		}
		i--
		tmp[i] = byte('0' + digit)
	}
	if negative {
		b = append(b, '-')
	}
	return append(b, tmp[i:]...)
}

// parseState tells how reading a number ended.
type parseState uint8

const (
	parsed parseState = iota
	notANumber
	outOfRange
)

// parseDecimal reads sign, digits, point and exponent, and rounds half up to
// scale. Blanks around are ignored.
func parseDecimal(s string, precision, scale int) (decimal128.Num, parseState) {
	s = trimBlanks(s)
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	mantissa, exp, ok := splitExponent(s)
	if !ok {
		return decimal128.Num{}, notANumber
	}
	whole := 0
	for whole < len(mantissa) && mantissa[whole] != '.' {
		whole++
	}
	// weight is the power of ten of the next digit.
	weight := whole - 1 + exp
	var hi, lo uint64
	up, seen := false, false
	for i := range len(mantissa) {
		c := mantissa[i]
		if c == '.' && i == whole {
			continue
		}
		if c < '0' || c > '9' {
			return decimal128.Num{}, notANumber
		}
		seen = true
		switch {
		case weight >= -scale:
			if hi, lo, ok = timesTenPlus(hi, lo, uint64(c-'0')); !ok {
				return decimal128.Num{}, checkDigits(mantissa[i:])
			}
		case weight == -scale-1:
			up = c >= '5'
		}
		weight--
	}
	if !seen {
		return decimal128.Num{}, notANumber
	}
	for ; weight >= -scale && hi|lo != 0; weight-- {
		if hi, lo, ok = timesTenPlus(hi, lo, 0); !ok {
			return decimal128.Num{}, outOfRange
		}
	}
	if up {
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	v := signed(hi, lo, negative)
	if !fitsPrecision(v, precision) {
		return v, outOfRange
	}
	return v, parsed
}

func checkDigits(s string) parseState {
	for i := range len(s) {
		if s[i] != '.' && (s[i] < '0' || s[i] > '9') {
			return notANumber
		}
	}
	return outOfRange
}

func splitExponent(s string) (mantissa string, exp int, ok bool) {
	for i := range len(s) {
		if s[i] == 'e' || s[i] == 'E' {
			exp, err := strconv.Atoi(s[i+1:])
			return s[:i], exp, err == nil && exp > -1000 && exp < 1000
		}
	}
	return s, 0, true
}

func timesTenPlus(hi, lo, digit uint64) (h, l uint64, ok bool) {
	over, h := bits.Mul64(hi, 10)
	carry, l := bits.Mul64(lo, 10)
	l, c := bits.Add64(l, digit, 0)
	h, c2 := bits.Add64(h, carry, c)
	return h, l, over == 0 && c2 == 0 && h>>63 == 0
}

// decimalFromFloat takes the digits that AppendDouble writes, as Java's BigDecimal.valueOf.
func decimalFromFloat(f float64, precision, scale int) (decimal128.Num, parseState) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return decimal128.Num{}, notANumber
	}
	var tmp [32]byte
	s := strconv.AppendFloat(tmp[:0], f, 'e', -1, 64)
	return parseDecimal(string(s), precision, scale)
}

var exactPow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// floatFromDecimal gives the nearest double. Both parts of a short decimal are
// exact doubles, so that one division rounds right.
func floatFromDecimal(v decimal128.Num, scale int) float64 {
	hi, lo, negative := magnitude(v)
	if hi == 0 && lo < 1<<53 && scale < len(exactPow10) {
		f := float64(lo) / exactPow10[scale]
		if negative {
			return -f
		}
		return f
	}
	var tmp [48]byte
	f, err := strconv.ParseFloat(string(AppendDecimal(tmp[:0], v, scale)), 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// parseInteger reads a sign and digits; a fraction is cut off. Blanks around are ignored.
func parseInteger(s string) (int64, parseState) {
	s = trimBlanks(s)
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if s == "" {
		return 0, notANumber
	}
	var v uint64
	over := false
	for i := range len(s) {
		c := s[i]
		if c == '.' {
			if checkFraction(s[i+1:]) && len(s) > 1 {
				break
			}
			return 0, notANumber
		}
		if c < '0' || c > '9' {
			return 0, notANumber
		}
		if v > math.MaxUint64/10 {
			over = true
		}
		next := v*10 + uint64(c-'0')
		over = over || next < v
		v = next
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	if over || v > limit {
		return 0, outOfRange
	}
	if negative {
		return -int64(v), parsed
	}
	return int64(v), parsed
}

func checkFraction(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// parseDouble reads what Java's Double.parseDouble reads, hexadecimal forms apart.
func parseDouble(s string, bitSize int) (float64, parseState) {
	s = trimBlanks(s)
	body := s
	if body != "" && (body[0] == '-' || body[0] == '+') {
		body = body[1:]
	}
	if body != "NaN" && body != "Infinity" {
		if n := len(s); n > 1 && (s[n-1] == 'd' || s[n-1] == 'D' || s[n-1] == 'f' || s[n-1] == 'F') {
			s, body = s[:n-1], body[:len(body)-1]
		}
		for i := range len(body) {
			switch c := body[i]; {
			case c >= '0' && c <= '9', c == '.', c == 'e', c == 'E', c == '-', c == '+':
			default:
				return 0, notANumber
			}
		}
	}
	f, err := strconv.ParseFloat(s, bitSize)
	if err != nil && !math.IsInf(f, 0) {
		return 0, notANumber
	}
	return f, parsed
}

// parseBoolean reads the words Flink takes for TRUE and FALSE, in any case.
func parseBoolean(s string) (value, ok bool) {
	for _, w := range [...]string{"true", "t", "yes", "y", "1"} {
		if strings.EqualFold(s, w) {
			return true, true
		}
	}
	for _, w := range [...]string{"false", "f", "no", "n", "0"} {
		if strings.EqualFold(s, w) {
			return false, true
		}
	}
	return false, false
}
