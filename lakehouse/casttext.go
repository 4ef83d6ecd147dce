package lakehouse

import (
	"bytes"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// putTexts appends texts. Texts, numbers and booleans are cut to the length
// of to, and filled up with blanks where it is fixed; Paimon leaves others as they are.
func putTexts(b *array.StringBuilder, a arrow.Array, from, to columnar.DataType) (func(i int) error, error) {
	text, err := texter(a, from, false)
	if err != nil {
		return nil, err
	}
	sized := from.IsText() || from.IsNumeric() || from.Kind == columnar.Boolean
	var buf []byte
	return func(i int) error {
		buf = text(buf[:0], i)
		if sized {
			buf = cutTo(buf, to.Length)
			if to.Kind == columnar.Char {
				for n := utf8.RuneCount(buf); n < to.Length; n++ {
					buf = append(buf, ' ')
				}
			}
		}
		b.BinaryBuilder.Append(buf)
		return nil
	}, nil
}

// cutTo gives the first n characters of s.
func cutTo(s []byte, n int) []byte {
	if len(s) <= n {
		return s
	}
	for i := range string(s) {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// texter gives the function that appends the text of value i of a. inside
// tells that it is a part of another value, where bytes become characters.
func texter(a arrow.Array, t columnar.DataType, inside bool) (func(dst []byte, i int) []byte, error) {
	switch a := a.(type) {
	case *array.Float32:
		return func(dst []byte, i int) []byte { return appendFloat(dst, float64(a.Value(i)), 32) }, nil
	case *array.Float64:
		return func(dst []byte, i int) []byte { return appendFloat(dst, a.Value(i), 64) }, nil
	case *array.Decimal128:
		return func(dst []byte, i int) []byte { return appendDecimal(dst, a.Value(i), t.Scale) }, nil
	case *array.Boolean:
		return func(dst []byte, i int) []byte { return strconv.AppendBool(dst, a.Value(i)) }, nil
	case *array.String:
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i)...) }, nil
	case *array.Binary:
		if inside {
			return func(dst []byte, i int) []byte { return append(dst, bytes.ToValidUTF8(a.Value(i), []byte("\uFFFD"))...) }, nil
		}
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i)...) }, nil
	case *array.Date32:
		return func(dst []byte, i int) []byte { return appendDate(dst, a.Value(i).ToTime()) }, nil
	case *array.Time32:
		return func(dst []byte, i int) []byte { return appendClock(dst, int(a.Value(i)), t.Precision) }, nil
	case *array.Timestamp:
		moment := moments(a, t)
		return func(dst []byte, i int) []byte {
			m := moment(i)
			if t.Kind == columnar.TimestampLTZ {
				m = m.local(time.Local)
			}
			return appendMoment(dst, m, t.Precision)
		}, nil
	case *array.Map, *array.List, *array.Struct:
		return nestedTexter(a, t)
	default:
		get := integers(a)
		if get == nil {
			return nil, errNoRule
		}
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, get(i), 10) }, nil
	}
}

// orNull writes null for NULL.
func orNull(a arrow.Array, t columnar.DataType) (func(dst []byte, i int) []byte, error) {
	text, err := texter(a, t, true)
	return func(dst []byte, i int) []byte {
		if a.IsNull(i) {
			return append(dst, "null"...)
		}
		return text(dst, i)
	}, err
}

// nestedTexter writes [a, b], {key -> value, …} and {field, …}.
func nestedTexter(a arrow.Array, t columnar.DataType) (func(dst []byte, i int) []byte, error) {
	var parts []func(dst []byte, i int) []byte
	add := func(a arrow.Array, t columnar.DataType) error {
		text, err := orNull(a, t)
		parts = append(parts, text)
		return err
	}
	switch a := a.(type) {
	case *array.Map: // before lists
		if t.Kind != columnar.Map {
			return nil, errNoRule
		}
		if err := add(a.Keys(), *t.Key); err != nil {
			return nil, err
		}
		if err := add(a.Items(), *t.Elem); err != nil {
			return nil, err
		}
		return func(dst []byte, i int) []byte {
			from, to := a.ValueOffsets(i)
			dst = append(dst, '{')
			for k := from; k < to; k++ {
				if k > from {
					dst = append(dst, ", "...)
				}
				dst = append(parts[0](dst, int(k)), " -> "...)
				dst = parts[1](dst, int(k))
			}
			return append(dst, '}')
		}, nil
	case *array.List:
		if err := add(a.ListValues(), *t.Elem); err != nil {
			return nil, err
		}
		return func(dst []byte, i int) []byte {
			from, to := a.ValueOffsets(i)
			dst = append(dst, '[')
			for k := from; k < to; k++ {
				if k > from {
					dst = append(dst, ", "...)
				}
				dst = parts[0](dst, int(k))
			}
			return append(dst, ']')
		}, nil
	case *array.Struct:
		if t.Kind != columnar.Row {
			return nil, errNoRule
		}
		for k, f := range t.Fields {
			if err := add(a.Field(k), f.Type); err != nil {
				return nil, err
			}
		}
		return func(dst []byte, i int) []byte {
			dst = append(dst, '{')
			for k, part := range parts {
				if k > 0 {
					dst = append(dst, ", "...)
				}
				dst = part(dst, i)
			}
			return append(dst, '}')
		}, nil
	default:
		return nil, errNoRule
	}
}

// appendFloat writes a float as Java's toString.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if size := math.Abs(f); size < 1e-3 || size >= 1e7 || f != f || size == 0 {
		return append(dst, spec.JavaFloat(f, bits == 32)...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, bits)
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendDecimal writes all digits after the point.
func appendDecimal(dst []byte, d decimal128.Num, scale int) []byte {
	negative := d.Sign() < 0
	if negative {
		d = d.Negate()
		dst = append(dst, '-')
	}
	start := len(dst)
	if d.HighBits() == 0 {
		dst = strconv.AppendUint(dst, d.LowBits(), 10)
	} else {
		dst = d.BigInt().Append(dst, 10)
	}
	if scale == 0 {
		return dst
	}
	for len(dst)-start <= scale {
		dst = append(dst, 0)
		copy(dst[start+1:], dst[start:])
		dst[start] = '0'
	}
	dst = append(dst, 0)
	point := len(dst) - 1 - scale
	copy(dst[point+1:], dst[point:])
	dst[point] = '.'
	return dst
}

func append2(dst []byte, n int) []byte { return append(dst, byte('0'+n/10%10), byte('0'+n%10)) }

// appendDate writes a day with the last four digits of its year, as Paimon does.
func appendDate(dst []byte, day time.Time) []byte {
	year, month, of := day.Date()
	dst = append(dst, byte('0'+year/1000%10), byte('0'+year/100%10), byte('0'+year/10%10), byte('0'+year%10), '-')
	dst = append(append2(dst, int(month)), '-')
	return append2(dst, of)
}

// appendClock writes milliseconds of a day. Of the digits after the point, zeros at the end are left out, but for the first.
func appendClock(dst []byte, millis, precision int) []byte {
	for millis < 0 {
		millis += millisOfDay
	}
	dst = append(append2(dst, millis/3600000), ':')
	dst = append(append2(dst, millis/60000%60), ':')
	dst = append2(dst, millis/1000%60)
	millis %= 1000
	if precision > 0 {
		dst = append(dst, '.')
		for ; precision > 0; precision-- {
			dst = append(dst, byte('0'+millis/100))
			if millis = millis % 100 * 10; millis == 0 {
				break
			}
		}
	}
	return dst
}

// appendMoment writes at least precision digits after the point, and all that are not zeros.
func appendMoment(dst []byte, m moment, precision int) []byte {
	at := time.UnixMilli(m.millis).UTC()
	dst = append(appendDate(dst, at), ' ')
	dst = append(append2(dst, at.Hour()), ':')
	dst = append(append2(dst, at.Minute()), ':')
	dst = append2(dst, at.Second())
	nanos := at.Nanosecond() + int(m.nanos)
	var digits [9]byte
	for i := 8; i >= 0; i-- {
		digits[i], nanos = byte('0'+nanos%10), nanos/10
	}
	n := 9
	for n > precision && digits[n-1] == '0' {
		n--
	}
	if n > 0 {
		dst = append(append(dst, '.'), digits[:n]...)
	}
	return dst
}
