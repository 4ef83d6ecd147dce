package lakehouse

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// castable reports whether values of an old column type can be read as a new
// one without loss: wider integers, DOUBLE for FLOAT, longer texts and bytes,
// DECIMAL with no fewer digits on either side, more fraction digits of a timestamp.
func castable(from, to columnar.DataType) bool {
	switch {
	case from.IsInteger() && to.IsInteger():
		return from.Kind <= to.Kind
	case from.Kind == columnar.Float && to.Kind == columnar.Double:
		return true
	case from.IsText() && to.IsText(), from.IsBytes() && to.IsBytes():
		return from.Length <= to.Length
	case from.Kind == columnar.Decimal && to.Kind == columnar.Decimal:
		return from.Scale <= to.Scale && from.Precision-from.Scale <= to.Precision-to.Scale
	case from.Kind == to.Kind && (from.Kind == columnar.Timestamp || from.Kind == columnar.TimestampLTZ || from.Kind == columnar.Time):
		return from.Precision <= to.Precision
	default:
		return false
	}
}

// CastKind says what reading stored values as another type does to them.
type CastKind uint8

// The kinds of casts.
const (
	// CastNone is no cast that leat reads with.
	CastNone CastKind = iota
	// CastLossless keeps every value.
	CastLossless
	// CastLossy may cut values, or turn them into NULL.
	CastLossy
)

// CastOf gives the kind of cast between two column types.
func CastOf(from, to columnar.DataType) CastKind {
	switch {
	case from.EqualIgnoreNull(to), castable(from, to):
		return CastLossless
	case lossy(from, to):
		return CastLossy
	default:
		return CastNone
	}
}

// castArray converts a, of type from, to the form of type to.
func castArray(a arrow.Array, from, to columnar.DataType) (arrow.Array, error) {
	if to.IsNested() {
		return castNested(a, from, to)
	}
	if from.EqualIgnoreNull(to) {
		a.Retain()
		return a, nil
	}
	if !castable(from, to) {
		return castLossy(a, to), nil
	}
	want := columnar.ArrowType(to)
	if arrow.TypeEqual(a.DataType(), want) {
		a.Retain()
		return a, nil
	}
	b := array.NewBuilder(memory.DefaultAllocator, want)
	defer b.Release()
	b.Reserve(a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		switch b := b.(type) {
		case *array.Int16Builder:
			b.Append(int16(integerAt(a, i)))
		case *array.Int32Builder:
			b.Append(int32(integerAt(a, i)))
		case *array.Int64Builder:
			b.Append(integerAt(a, i))
		case *array.Float64Builder:
			b.Append(float64(a.(*array.Float32).Value(i)))
		case *array.Decimal128Builder:
			d := a.(*array.Decimal128)
			more := want.(*arrow.Decimal128Type).Scale - d.DataType().(*arrow.Decimal128Type).Scale
			b.Append(d.Value(i).IncreaseScaleBy(more))
		case *array.TimestampBuilder:
			ts := a.(*array.Timestamp)
			ratio := ts.DataType().(*arrow.TimestampType).Unit.Multiplier() / want.(*arrow.TimestampType).Unit.Multiplier()
			b.Append(ts.Value(i) * arrow.Timestamp(ratio))
		default:
			return nil, fmt.Errorf("casting %s to %s: no rule", a.DataType(), to)
		}
	}
	return b.NewArray(), nil
}

func integerAt(a arrow.Array, i int) int64 {
	switch a := a.(type) {
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	default:
		return 0
	}
}
