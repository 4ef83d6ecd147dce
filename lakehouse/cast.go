package lakehouse

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// CastKind says what reading stored values as another type does to them.
type CastKind uint8

// The kinds of casts.
const (
	// CastNone is no cast of Paimon.
	CastNone CastKind = iota
	// CastLossless keeps every value.
	CastLossless
	// CastLossy may cut or change values, turn them into NULL, or fail.
	CastLossy
)

// CastOf gives the kind of cast between two column types: those of Paimon's
// DataTypeCasts that its CastExecutors have a rule for.
func CastOf(from, to columnar.DataType) CastKind {
	switch {
	case from.EqualIgnoreNull(to):
		return CastLossless
	case !hasRule(from, to):
		return CastNone
	case keepsValues(from, to):
		return CastLossless
	default:
		return CastLossy
	}
}

// ImplicitCast reports whether Paimon makes a cast without being asked: those that are
// left with disable-explicit-type-casting.
func ImplicitCast(from, to columnar.DataType) bool {
	switch {
	case from.Nullable && !to.Nullable:
		return false
	case from.EqualIgnoreNull(to):
		return true
	case to.Kind == columnar.VarChar:
		return from.IsText()
	case to.Kind == columnar.VarBinary:
		return from.IsBytes()
	case to.Kind == columnar.Decimal, to.Kind == columnar.Double:
		return from.IsNumeric()
	case to.Kind == columnar.Float:
		return from.IsNumeric() && from.Kind != columnar.Double
	case to.IsInteger():
		return from.IsInteger() && from.Kind <= to.Kind
	case to.Kind == columnar.Date, to.Kind == columnar.Time:
		return from.Kind == columnar.Timestamp
	case isMoment(to):
		return isMoment(from)
	default:
		return from.Kind == to.Kind
	}
}

func isMoment(t columnar.DataType) bool {
	return t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ
}

// hasRule reports whether Paimon casts from one type to another.
func hasRule(from, to columnar.DataType) bool {
	seconds := from.Kind == columnar.Int || from.Kind == columnar.BigInt
	switch {
	case to.IsText():
		// Paimon has the rules of times for the very type STRING alone.
		if from.Kind == columnar.Date || from.Kind == columnar.Time || isMoment(from) {
			return to.Length == columnar.MaxLength && to.Kind == columnar.VarChar && to.Nullable
		}
		return hasText(from)
	case to.Kind == columnar.Boolean:
		return from.IsText() || from.IsInteger()
	case to.IsBytes():
		return from.IsText() || from.IsBytes()
	case to.IsNumeric():
		return from.IsText() || from.IsNumeric() || from.Kind == columnar.Boolean ||
			isMoment(from) && (to.Kind == columnar.Int || to.Kind == columnar.BigInt)
	case to.Kind == columnar.Date, to.Kind == columnar.Time:
		return from.IsText() || isMoment(from)
	case isMoment(to):
		return from.IsText() || isMoment(from) || seconds || from.Kind == columnar.Date || from.Kind == columnar.Time
	default:
		return false
	}
}

// hasText reports whether values of t have a text, as values themselves or within others.
func hasText(t columnar.DataType) bool {
	switch t.Kind {
	case columnar.Array:
		return hasText(*t.Elem)
	case columnar.Map:
		return hasText(*t.Key) && hasText(*t.Elem)
	case columnar.Row:
		for _, f := range t.Fields {
			if !hasText(f.Type) {
				return false
			}
		}
		return true
	default:
		return !t.IsNested()
	}
}

// keepsValues reports whether a cast that has a rule tells all values apart
// and never fails.
func keepsValues(from, to columnar.DataType) bool {
	switch {
	case from.IsInteger() && to.IsInteger():
		return from.Kind <= to.Kind
	case from.IsInteger() && to.Kind == columnar.Decimal:
		return integerDigits(from) <= to.Precision-to.Scale
	case from.IsInteger() && to.Kind == columnar.Float:
		return from.Kind <= columnar.SmallInt
	case from.IsInteger() && to.Kind == columnar.Double:
		return from.Kind <= columnar.Int
	case from.Kind == columnar.Boolean && to.Kind == columnar.Decimal:
		return to.Precision > to.Scale
	case from.Kind == columnar.Boolean && to.IsNumeric(), from.Kind == columnar.Float && to.Kind == columnar.Double:
		return true
	case from.Kind == columnar.Decimal && to.Kind == columnar.Decimal:
		return from.Scale <= to.Scale && from.Precision-from.Scale <= to.Precision-to.Scale
	case from.Kind == columnar.Date && isMoment(to), from.Kind == columnar.Int && to.Kind == columnar.Timestamp:
		// Nanoseconds reach the years 1677 to 2262 only; a zone may skip a midnight.
		return to.Kind == columnar.Timestamp && to.Precision <= 6
	case from.Kind == columnar.Time && isMoment(to):
		return to.Precision >= 3
	case from.Kind == to.Kind && isMoment(to):
		return from.Precision <= to.Precision && (to.Precision <= 6 || from.Precision > 6)
	case to.IsText():
		return keepsText(from, to)
	case to.Kind == columnar.VarBinary && from.IsBytes():
		return from.Length <= to.Length
	case to.Kind == columnar.VarBinary && from.IsText():
		return to.Length == columnar.MaxLength
	default:
		return false
	}
}

func integerDigits(t columnar.DataType) int {
	switch t.Kind {
	case columnar.TinyInt:
		return 3
	case columnar.SmallInt:
		return 5
	case columnar.Int:
		return 10
	default:
		return 19
	}
}

func keepsText(from, to columnar.DataType) bool {
	switch {
	case from.IsText():
		return from.Length <= to.Length && (to.Kind == columnar.VarChar || from.Kind == columnar.Char)
	case from.IsInteger():
		return to.Length > integerDigits(from)
	case from.Kind == columnar.Decimal:
		return to.Length >= from.Precision+3
	case from.IsNumeric():
		return to.Length >= 24
	case from.Kind == columnar.Boolean:
		return to.Length >= len("false")
	case from.Kind == columnar.Date, from.Kind == columnar.Time, from.Kind == columnar.Timestamp:
		return true
	default:
		// Bytes need not be text, a local time can be there twice, lists lose their form.
		return false
	}
}

// castArray converts a, of type from, to the form of type to. The error of a
// value that is none of the new type names it.
func castArray(a arrow.Array, from, to columnar.DataType) (arrow.Array, error) {
	switch {
	case to.IsNested():
		return castNested(a, from, to)
	case from.EqualIgnoreNull(to):
		a.Retain()
		return a, nil
	}
	want := columnar.ArrowType(to)
	sameForm := arrow.TypeEqual(a.DataType(), want)
	if sameForm && keepsValues(from, to) && to.Kind != columnar.Char {
		a.Retain()
		return a, nil
	}
	b := array.NewBuilder(memory.DefaultAllocator, want)
	defer b.Release()
	b.Reserve(a.Len())
	put, err := putter(b, a, from, to)
	if err != nil {
		return nil, err
	}
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		if err := put(i); err != nil {
			return nil, fmt.Errorf("casting value %s of %s to %s: %w", shortText(a, from, i), from, to, err)
		}
	}
	return b.NewArray(), nil
}

// The reasons why a value has no form in the new type.
var (
	errSyntax  = errors.New("it is not written as one")
	errRange   = errors.New("it is out of range")
	errNoRule  = errors.New("there is no such cast")
	errNumeric = errors.New("digits alone are a time only with a precision of 0, 3, 6 or 9")
)

// shortText gives value i for an error.
func shortText(a arrow.Array, t columnar.DataType, i int) string {
	text, err := texter(a, t, false)
	if err != nil {
		return "?"
	}
	return fmt.Sprintf("%.100q", text(nil, i))
}

// putter gives the function that casts value i of a, which is not NULL, and appends it to b.
func putter(b array.Builder, a arrow.Array, from, to columnar.DataType) (func(i int) error, error) {
	var put func(i int) error
	switch b := b.(type) {
	case *array.Int8Builder:
		put = putValues(wholes(a, from, 8), func(v int64) { b.Append(int8(v)) })
	case *array.Int16Builder:
		put = putValues(wholes(a, from, 16), func(v int64) { b.Append(int16(v)) })
	case *array.Int32Builder:
		put = putValues(wholes(a, from, 32), func(v int64) { b.Append(int32(v)) })
	case *array.Int64Builder:
		put = putValues(wholes(a, from, 64), b.Append)
	case *array.Float32Builder:
		put = putValues(floats(a, from, 32), func(v float64) { b.Append(float32(v)) })
	case *array.Float64Builder:
		put = putValues(floats(a, from, 64), b.Append)
	case *array.Decimal128Builder:
		put = putDecimals(b, a, from, to)
	case *array.BooleanBuilder:
		put = putValues(truths(a, from), b.Append)
	case *array.StringBuilder:
		return putTexts(b, a, from, to)
	case *array.BinaryBuilder:
		put = putBytes(b, a, to)
	case *array.Date32Builder:
		put = putValues(days(a), b.Append)
	case *array.Time32Builder:
		put = putValues(clocks(a), b.Append)
	case *array.TimestampBuilder:
		put = putMoments(b, a, from, to)
	}
	if put == nil {
		return nil, fmt.Errorf("casting %s to %s: %w", from, to, errNoRule)
	}
	return put, nil
}

// putValues appends the values that get has; nil where it is nil.
func putValues[T int64 | float64 | bool | arrow.Date32 | arrow.Time32](get func(i int) (T, error), add func(T)) func(i int) error {
	if get == nil {
		return nil
	}
	return func(i int) error {
		v, err := get(i)
		if err == nil {
			add(v)
		}
		return err
	}
}

// putBytes cuts to a length, and fills up with zeros where it is fixed.
func putBytes(b *array.BinaryBuilder, a arrow.Array, to columnar.DataType) func(i int) error {
	var get func(i int) []byte
	switch a := a.(type) {
	case *array.Binary:
		get = a.Value
	case *array.String:
		get = func(i int) []byte { return []byte(a.Value(i)) }
	default:
		return nil
	}
	var padded []byte
	return func(i int) error {
		v := get(i)
		v = v[:min(len(v), to.Length)]
		if to.Kind == columnar.Binary && len(v) < to.Length {
			padded = append(padded[:0], v...)
			for len(padded) < to.Length {
				padded = append(padded, 0)
			}
			v = padded
		}
		b.Append(v)
		return nil
	}
}

// putDecimals rounds half up; what does not fit is NULL.
func putDecimals(b *array.Decimal128Builder, a arrow.Array, from, to columnar.DataType) func(i int) error {
	if d, ok := a.(*array.Decimal128); ok && keepsValues(from, to) {
		more := int32(to.Scale - from.Scale)
		return func(i int) error {
			b.Append(d.Value(i).IncreaseScaleBy(more))
			return nil
		}
	}
	get := decimals(a, from, to)
	if get == nil {
		return nil
	}
	return func(i int) error {
		var d decimal128.Num
		d, fits, err := get(i)
		switch {
		case err != nil:
			return err
		case fits:
			b.Append(d)
		default:
			b.AppendNull()
		}
		return nil
	}
}
