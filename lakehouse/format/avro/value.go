package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// encoder writes the values of one column, or of a part of a nested one.
type encoder struct {
	field columnar.Field
	kids  []*encoder
	// stats are those of a column.
	stats spec.ColumnStats
	arr   arrow.Array
	// strict says that a null at hand is an error, broken that there was one.
	strict, broken bool
	value          func(dst []byte, row int) []byte
}

// newEncoder makes the encoder of f, whose type typeOf has a form of.
func newEncoder(f columnar.Field) *encoder {
	e := &encoder{field: f}
	for _, k := range partsOf(f.Type) {
		e.kids = append(e.kids, newEncoder(k))
	}
	return e
}

// bind takes the values of a batch.
func (e *encoder) bind(a arrow.Array) error {
	e.arr = a
	e.strict = !e.field.Type.Nullable && a.NullN() > 0
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
		return e.bindNested(a)
	}
	return nil
}

// bindNested takes the values of lists, maps and structs.
func (e *encoder) bindNested(a arrow.Array) error {
	switch a := a.(type) {
	case *array.List:
		item := e.kids[0]
		e.value = func(dst []byte, i int) []byte {
			from, to := a.ValueOffsets(i)
			return appendItems(dst, int(from), int(to), item.append)
		}
		return item.bind(a.ListValues())
	case *array.Map:
		key, value := e.kids[0], e.kids[1]
		entry := func(dst []byte, i int) []byte { return value.append(key.append(dst, i), i) }
		if key.field.Type.IsText() { // a map of Avro, whose keys are no unions
			entry = func(dst []byte, i int) []byte { return value.append(key.value(dst, i), i) }
		}
		e.value = func(dst []byte, i int) []byte {
			from, to := a.ValueOffsets(i)
			return appendItems(dst, int(from), int(to), entry)
		}
		return errors.Join(key.bind(a.Keys()), value.bind(a.Items()))
	case *array.Struct:
		for k, kid := range e.kids {
			if err := kid.bind(a.Field(k)); err != nil {
				return err
			}
		}
		e.value = func(dst []byte, i int) []byte {
			for _, kid := range e.kids {
				dst = kid.append(dst, i)
			}
			return dst
		}
		return nil
	default:
		return fmt.Errorf("encoding column %s: no avro form of %s", e.field.Name, a.DataType())
	}
}

// appendItems writes the items of an array or map as one block.
func appendItems(dst []byte, from, to int, item func([]byte, int) []byte) []byte {
	if to > from {
		dst = binary.AppendVarint(dst, int64(to-from))
		for i := from; i < to; i++ {
			dst = item(dst, i)
		}
	}
	return append(dst, 0)
}

// check reports a null where the type has none.
func (e *encoder) check() error {
	if e.broken {
		return fmt.Errorf("encoding column %s: it has nulls and may not", e.field.Name)
	}
	for _, k := range e.kids {
		if err := k.check(); err != nil {
			return fmt.Errorf("encoding column %s: %w", e.field.Name, err)
		}
	}
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
	switch {
	case e.field.Type.Nullable:
		if e.arr.IsNull(row) {
			return append(dst, branchNull)
		}
		dst = append(dst, branchValue)
	case e.strict && e.arr.IsNull(row):
		e.broken = true
		return dst
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
