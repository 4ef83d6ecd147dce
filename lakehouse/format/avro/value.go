package avro

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// encoder writes the values of one column.
type encoder struct {
	field columnar.Field
	nulls int64
	arr   arrow.Array
	value func(dst []byte, row int) []byte
}

// bind takes the values of a batch.
func (e *encoder) bind(a arrow.Array) error {
	e.arr = a
	switch a := a.(type) {
	case *array.Boolean:
		e.value = func(dst []byte, i int) []byte {
			if a.Value(i) {
				return append(dst, 1)
			}
			return append(dst, 0)
		}
	case *array.Int8:
		e.value = integers(a.Int8Values())
	case *array.Int16:
		e.value = integers(a.Int16Values())
	case *array.Int32:
		e.value = integers(a.Int32Values())
	case *array.Int64:
		e.value = integers(a.Int64Values())
	case *array.Date32:
		e.value = integers(a.Date32Values())
	case *array.Time32:
		e.value = integers(a.Time32Values())
	case *array.Timestamp:
		e.value = integers(a.TimestampValues())
	case *array.Float32:
		e.value = func(dst []byte, i int) []byte {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(a.Value(i)))
		}
	case *array.Float64:
		e.value = func(dst []byte, i int) []byte {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(a.Value(i)))
		}
	case *array.Decimal128:
		e.value = func(dst []byte, i int) []byte { return appendDecimal(dst, a.Value(i)) }
	case *array.String:
		e.value = func(dst []byte, i int) []byte { return appendBytes(dst, a.Value(i)) }
	case *array.Binary:
		e.value = func(dst []byte, i int) []byte {
			v := a.Value(i)
			return append(binary.AppendVarint(dst, int64(len(v))), v...)
		}
	default:
		return fmt.Errorf("encoding column %s: no avro form of %s", e.field.Name, a.DataType())
	}
	if !e.field.Type.Nullable && a.NullN() > 0 {
		return fmt.Errorf("encoding column %s: it has nulls and may not", e.field.Name)
	}
	e.nulls += int64(a.NullN())
	return nil
}

func integers[T ~int8 | ~int16 | ~int32 | ~int64](v []T) func([]byte, int) []byte {
	return func(dst []byte, i int) []byte { return binary.AppendVarint(dst, int64(v[i])) }
}

// The branches of a union of null and a type, as they are written.
const (
	branchNull  = 0
	branchValue = 2
)

func (e *encoder) append(dst []byte, row int) []byte {
	if e.field.Type.Nullable {
		if e.arr.IsNull(row) {
			return append(dst, branchNull)
		}
		dst = append(dst, branchValue)
	}
	return e.value(dst, row)
}

// appendDecimal writes the shortest big-endian two's complement.
func appendDecimal(dst []byte, v decimal128.Num) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(v.HighBits()))
	binary.BigEndian.PutUint64(b[8:], v.LowBits())
	n := 0
	for n < 15 && (b[n] == 0 && b[n+1] < 0x80 || b[n] == 0xff && b[n+1] >= 0x80) {
		n++
	}
	return append(binary.AppendVarint(dst, int64(16-n)), b[n:]...)
}

// decoderOf gives what appends a value of the wire form kind to b.
func decoderOf(f columnar.Field, kind string, b array.Builder) (func(*cursor), error) {
	mismatch := fmt.Errorf("column %s of type %s is %s in the file", f.Name, f.Type, kind)
	if want := wireOf(f.Type); want != kind {
		return nil, mismatch
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return func(c *cursor) { b.Append(c.byte() != 0) }, nil
	case *array.Int8Builder:
		return func(c *cursor) { b.Append(int8(c.long(math.MinInt8, math.MaxInt8))) }, nil
	case *array.Int16Builder:
		return func(c *cursor) { b.Append(int16(c.long(math.MinInt16, math.MaxInt16))) }, nil
	case *array.Int32Builder:
		return func(c *cursor) { b.Append(int32(c.long(math.MinInt32, math.MaxInt32))) }, nil
	case *array.Int64Builder:
		return func(c *cursor) { b.Append(c.long(math.MinInt64, math.MaxInt64)) }, nil
	case *array.Date32Builder:
		return func(c *cursor) { b.Append(arrow.Date32(c.long(math.MinInt32, math.MaxInt32))) }, nil
	case *array.Time32Builder:
		return func(c *cursor) { b.Append(arrow.Time32(c.long(math.MinInt32, math.MaxInt32))) }, nil
	case *array.TimestampBuilder:
		if f.Type.Precision > 6 {
			return nil, mismatch
		}
		return func(c *cursor) { b.Append(arrow.Timestamp(c.long(math.MinInt64, math.MaxInt64))) }, nil
	case *array.Float32Builder:
		return func(c *cursor) { b.Append(math.Float32frombits(binary.LittleEndian.Uint32(c.take(4)))) }, nil
	case *array.Float64Builder:
		return func(c *cursor) { b.Append(math.Float64frombits(binary.LittleEndian.Uint64(c.take(8)))) }, nil
	case *array.Decimal128Builder:
		return func(c *cursor) { b.Append(c.decimal()) }, nil
	case *array.StringBuilder:
		return func(c *cursor) { b.Append(string(c.bytes())) }, nil
	case *array.BinaryBuilder:
		return func(c *cursor) { b.Append(c.bytes()) }, nil
	default:
		return nil, mismatch
	}
}

func wireOf(t columnar.DataType) string {
	switch t.Kind {
	case columnar.Boolean:
		return kindBoolean
	case columnar.Float:
		return kindFloat
	case columnar.Double:
		return kindDouble
	case columnar.Decimal, columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		return kindBytes
	default:
		return kindInt
	}
}
