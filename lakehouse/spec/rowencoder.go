package spec

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// RowEncoder turns columns of a batch into BinaryRows: compiled once for a set
// of columns, it allocates nothing per row. One goroutine at a time.
type RowEncoder struct {
	cols  []encodedColumn
	w     *RowWriter
	batch *columnar.Batch
}

// encodedColumn is one column: what to do with it (op, fixed at compile time)
// and the typed values of the bound batch.
type encodedColumn struct {
	op       encodeOp
	index    int
	arr      arrow.Array
	hasNulls bool

	i8    []int8
	i16   []int16
	i32   []int32
	i64   []int64
	f32   []float32
	f64   []float64
	dec   []decimal128.Num
	bools *array.Boolean
	text  *array.String
	bytes *array.Binary
}

type encodeOp uint8

const (
	opBool encodeOp = iota
	opInt8
	opInt16
	opInt32
	opInt64
	opFloat32
	opFloat64
	opDecimal
	opText
	opBytes
	opMillis
	opMicros
	opNanos
)

// NewRowEncoder compiles an encoder of the columns cols of schema, in that
// order. Nested columns are refused: they are neither keys nor partitions.
func NewRowEncoder(schema *columnar.Schema, cols []int) (*RowEncoder, error) {
	types := make([]columnar.DataType, len(cols))
	e := &RowEncoder{cols: make([]encodedColumn, len(cols))}
	for i, c := range cols {
		types[i] = schema.Fields[c].Type
		op, ok := encodeOpOf(types[i])
		if !ok {
			return nil, fmt.Errorf("encoding column %s: no binary row of type %s", schema.Fields[c].Name, types[i])
		}
		e.cols[i] = encodedColumn{op: op, index: c}
	}
	e.w = NewRowWriter(types)
	return e, nil
}

// Encode gives the row of the encoder's columns in row row of batch. Its Data is valid until the next call.
func (e *RowEncoder) Encode(batch *columnar.Batch, row int) BinaryRow {
	if batch != e.batch {
		e.bind(batch)
	}
	e.w.Reset()
	for i := range e.cols {
		c := &e.cols[i]
		if c.hasNulls && c.arr.IsNull(row) {
			e.w.SetNull(i)
			continue
		}
		switch c.op {
		case opBool:
			e.w.SetBool(i, c.bools.Value(row))
		case opInt8:
			e.w.put(i, uint64(uint8(c.i8[row])))
		case opInt16:
			e.w.put(i, uint64(uint16(c.i16[row])))
		case opInt32:
			e.w.put(i, uint64(uint32(c.i32[row])))
		case opInt64:
			e.w.put(i, uint64(c.i64[row]))
		case opFloat32:
			e.w.SetFloat32(i, c.f32[row])
		case opFloat64:
			e.w.SetFloat64(i, c.f64[row])
		case opDecimal:
			e.w.SetDecimal128(i, c.dec[row])
		case opText:
			e.w.SetString(i, c.text.Value(row))
		case opBytes:
			e.w.SetBytes(i, c.bytes.Value(row))
		case opMillis, opMicros, opNanos:
			millis, nanos := splitTimestamp(c.op, c.i64[row])
			e.w.SetTimestamp(i, millis, nanos)
		}
	}
	return e.w.Row()
}

// Buckets writes the bucket of every row of batch among n into out, which
// holds at least batch.Rows() elements.
func (e *RowEncoder) Buckets(batch *columnar.Batch, n int, out []int32) {
	rows := batch.Rows()
	if n == 1 {
		clear(out[:rows])
		return
	}
	e.Hashes(batch, out)
	for i, h := range out[:rows] {
		out[i] = int32(Bucket(h, n))
	}
}

// Hashes writes Hash of every row of batch into out, which holds at least
// batch.Rows() elements. One INT or BIGINT column has a fast path.
func (e *RowEncoder) Hashes(batch *columnar.Batch, out []int32) {
	rows := batch.Rows()
	if batch != e.batch {
		e.bind(batch)
	}
	if len(e.cols) == 1 && !e.cols[0].hasNulls {
		switch c := &e.cols[0]; {
		case c.op == opInt64:
			for i, v := range c.i64[:rows] {
				out[i] = hashOneInteger(0, uint32(v), uint32(uint64(v)>>32))
			}
			return
		case c.op == opInt32:
			for i, v := range c.i32[:rows] {
				out[i] = hashOneInteger(0, uint32(v), 0)
			}
			return
		}
	}
	for i := range rows {
		out[i] = Hash(e.Encode(batch, i).Data)
	}
}

// Unbind forgets the last batch, so that its memory can go.
func (e *RowEncoder) Unbind() {
	e.batch = nil
	for i := range e.cols {
		e.cols[i] = encodedColumn{op: e.cols[i].op, index: e.cols[i].index}
	}
}

// bind takes the typed values of batch; arrays of another form than
// columnar.ArrowType gives are a broken invariant and panic.
func (e *RowEncoder) bind(batch *columnar.Batch) {
	e.batch = batch
	for i := range e.cols {
		c := &e.cols[i]
		a := batch.Cols[c.index]
		*c = encodedColumn{op: c.op, index: c.index, arr: a, hasNulls: a.NullN() > 0}
		switch v := a.(type) {
		case *array.Boolean:
			c.bools = v
		case *array.Int8:
			c.i8 = v.Int8Values()
		case *array.Int16:
			c.i16 = v.Int16Values()
		case *array.Int32:
			c.i32 = v.Int32Values()
		case *array.Date32:
			c.i32 = arrow.Int32Traits.CastFromBytes(arrow.Date32Traits.CastToBytes(v.Date32Values()))
		case *array.Time32:
			c.i32 = arrow.Int32Traits.CastFromBytes(arrow.Time32Traits.CastToBytes(v.Time32Values()))
		case *array.Int64:
			c.i64 = v.Int64Values()
		case *array.Timestamp:
			c.i64 = arrow.Int64Traits.CastFromBytes(arrow.TimestampTraits.CastToBytes(v.TimestampValues()))
		case *array.Float32:
			c.f32 = v.Float32Values()
		case *array.Float64:
			c.f64 = v.Float64Values()
		case *array.Decimal128:
			c.dec = v.Values()
		case *array.String:
			c.text = v
		case *array.Binary:
			c.bytes = v
		default:
			panic(fmt.Sprintf("spec: no binary row of arrow type %s", a.DataType()))
		}
	}
}

func encodeOpOf(t columnar.DataType) (encodeOp, bool) {
	switch t.Kind {
	case columnar.Boolean:
		return opBool, true
	case columnar.TinyInt:
		return opInt8, true
	case columnar.SmallInt:
		return opInt16, true
	case columnar.Int, columnar.Date, columnar.Time:
		return opInt32, true
	case columnar.BigInt:
		return opInt64, true
	case columnar.Float:
		return opFloat32, true
	case columnar.Double:
		return opFloat64, true
	case columnar.Decimal:
		return opDecimal, true
	case columnar.Char, columnar.VarChar:
		return opText, true
	case columnar.Binary, columnar.VarBinary:
		return opBytes, true
	case columnar.Timestamp, columnar.TimestampLTZ:
		switch columnar.TimestampUnit(t.Precision) {
		case arrow.Millisecond:
			return opMillis, true
		case arrow.Microsecond:
			return opMicros, true
		default:
			return opNanos, true
		}
	default:
		return 0, false
	}
}

// splitTimestamp gives epoch milliseconds (floor) and the rest in nanoseconds.
func splitTimestamp(op encodeOp, v int64) (millis int64, nanos int32) {
	var per, scale int64
	switch op {
	case opMicros:
		per, scale = 1_000, 1_000
	case opNanos:
		per, scale = 1_000_000, 1
	default:
		return v, 0
	}
	millis, rest := v/per, v%per
	if rest < 0 {
		millis--
		rest += per
	}
	return millis, int32(rest * scale)
}
