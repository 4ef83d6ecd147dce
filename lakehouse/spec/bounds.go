package spec

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// Bounds gives the least and the greatest value seen of a column of type t, as
// an array of two; nil where there are none.
func (c *ColumnStats) Bounds(mem memory.Allocator, t columnar.DataType) arrow.Array {
	if c.mode.Kind < StatsTruncate || !c.seen || c.unbounded {
		return nil
	}
	b := array.NewBuilder(mem, columnar.ArrowType(t))
	defer b.Release()
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.AppendValues([]bool{c.minInt != 0, c.maxInt != 0}, nil)
	case *array.Int8Builder:
		b.AppendValues([]int8{int8(c.minInt), int8(c.maxInt)}, nil)
	case *array.Int16Builder:
		b.AppendValues([]int16{int16(c.minInt), int16(c.maxInt)}, nil)
	case *array.Int32Builder:
		b.AppendValues([]int32{int32(c.minInt), int32(c.maxInt)}, nil)
	case *array.Int64Builder:
		b.AppendValues([]int64{c.minInt, c.maxInt}, nil)
	case *array.Date32Builder:
		b.AppendValues([]arrow.Date32{arrow.Date32(c.minInt), arrow.Date32(c.maxInt)}, nil)
	case *array.Time32Builder:
		b.AppendValues([]arrow.Time32{arrow.Time32(c.minInt), arrow.Time32(c.maxInt)}, nil)
	case *array.TimestampBuilder:
		b.AppendValues([]arrow.Timestamp{arrow.Timestamp(c.minInt), arrow.Timestamp(c.maxInt)}, nil)
	case *array.Float32Builder:
		b.AppendValues([]float32{float32(c.minFloat), float32(c.maxFloat)}, nil)
	case *array.Float64Builder:
		b.AppendValues([]float64{c.minFloat, c.maxFloat}, nil)
	case *array.Decimal128Builder:
		b.Append(c.minDecimal)
		b.Append(c.maxDecimal)
	case *array.StringBuilder:
		b.AppendValues([]string{string(c.minBytes), string(c.maxBytes)}, nil)
	default:
		return nil
	}
	return b.NewArray()
}
