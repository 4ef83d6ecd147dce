package format

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"leat/internal/columnar"
)

// column is one column of the file: a leaf, or the leaves of a nested column in file order.
type column struct {
	leaves []columnWriter
	// nested is the root of a nested column, nil in a flat one.
	nested *levelNode
	nulls  int64
}

func newColumn(f columnar.Field) column {
	var c column
	eachLeaf(f, f.Name, func(_ string, t columnar.DataType) {
		c.leaves = append(c.leaves, columnWriter{put: putterOf(t), nullable: t.Nullable, width: decimalWidth(t.Precision)})
	})
	if f.Type.IsNested() {
		leaf := 0
		c.nested = newLevelNode(f, 0, 0, &leaf)
	}
	return c
}

// write appends all of a.
func (c *column) write(a arrow.Array) error {
	c.nulls += int64(a.NullN())
	if c.nested == nil {
		leaf := &c.leaves[0]
		if err := leaf.write(a); err != nil {
			return err
		}
		if cw, ok := leaf.cw.(*libraryChunk); ok {
			return cw.took(a.Len())
		}
		return nil
	}
	return c.nested.write(c.leaves, a)
}

// columnWriter carries one leaf from Arrow arrays into Parquet pages. The
// scratch slices live as long as the file.
type columnWriter struct {
	cw       chunkWriter
	put      putFunc
	nullable bool
	// rep are the repetition levels of the values put, nil in a flat column.
	rep []int16
	// width is the byte width of a decimal kept as fixed-length bytes.
	width int
	// nan says that a FLOAT or DOUBLE column had a NaN, which voids its minimum and maximum.
	nan bool

	levels []int16
	i32    []int32
	i64    []int64
	bools  []bool
	i96    []parquet.Int96
	bytes  []byte
}

// putFunc writes all values of a; def is nil for NOT NULL columns, and valid is nil without nulls.
type putFunc func(c *columnWriter, a arrow.Array, def []int16, valid []byte) error

// write appends all of a.
func (c *columnWriter) write(a arrow.Array) error {
	n, nulls := a.Len(), a.NullN()
	if !c.nullable {
		if nulls > 0 {
			return fmt.Errorf("%d nulls in a NOT NULL column", nulls)
		}
		return c.put(c, a, nil, nil)
	}
	if cap(c.levels) < n {
		c.levels = make([]int16, n)
	}
	def := c.levels[:n]
	if nulls == 0 {
		for i := range def {
			def[i] = 1
		}
		return c.put(c, a, def, nil)
	}
	valid, off := a.NullBitmapBytes(), a.Data().Offset()
	for i := range def {
		def[i] = int16(valid[(off+i)>>3] >> ((off + i) & 7) & 1)
	}
	return c.put(c, a, def, valid)
}

// typedWriter is what every chunk writer of the library offers for its type.
type typedWriter[T any] interface {
	WriteBatch(values []T, def, rep []int16) (int64, error)
	WriteBatchSpacedWithError(values []T, def, rep []int16, valid []byte, validOffset int64) (int64, error)
}

func putValues[T any](c *columnWriter, a arrow.Array, vals []T, def []int16, valid []byte) error {
	w, ok := c.cw.writer().(typedWriter[T])
	if !ok {
		return fmt.Errorf("no %T in a column of physical type %s", vals, c.cw.Type())
	}
	var err error
	if valid == nil {
		_, err = w.WriteBatch(vals, def, c.rep)
	} else {
		_, err = w.WriteBatchSpacedWithError(vals, def, nil, valid, int64(a.Data().Offset()))
	}
	return err
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// putterOf picks the write function of a type, once per file.
func putterOf(t columnar.DataType) putFunc {
	switch t.Kind {
	case columnar.Boolean:
		return putBool
	case columnar.TinyInt:
		return putInt8
	case columnar.SmallInt:
		return putInt16
	case columnar.Int:
		return func(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
			return putValues(c, a, a.(*array.Int32).Int32Values(), def, valid)
		}
	case columnar.Date:
		return func(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
			return putValues(c, a, castSlice(fixedBytes(a, 4), arrow.Int32Traits.CastFromBytes), def, valid)
		}
	case columnar.Time:
		return func(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
			return putValues(c, a, castSlice(fixedBytes(a, 4), arrow.Int32Traits.CastFromBytes), def, valid)
		}
	case columnar.BigInt:
		return func(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
			return putValues(c, a, a.(*array.Int64).Int64Values(), def, valid)
		}
	case columnar.Float:
		return putFloat
	case columnar.Double:
		return putDouble
	case columnar.Decimal:
		switch {
		case t.Precision <= 9:
			return putDecimal32
		case t.Precision <= 18:
			return putDecimal64
		default:
			return putDecimalBytes
		}
	case columnar.Timestamp, columnar.TimestampLTZ:
		if t.Precision <= 6 {
			return func(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
				return putValues(c, a, castSlice(fixedBytes(a, 8), arrow.Int64Traits.CastFromBytes), def, valid)
			}
		}
		return putInt96
	default:
		return putBytes
	}
}

func castSlice[T any](b []byte, cast func([]byte) []T) []T { return cast(b) }

// fixedBytes gives the value bytes of a fixed-width array, its offset applied.
func fixedBytes(a arrow.Array, width int) []byte {
	buf := a.Data().Buffers()[1]
	if buf == nil {
		return nil
	}
	off := a.Data().Offset() * width
	return buf.Bytes()[off : off+a.Len()*width]
}

func putBool(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
	b := a.(*array.Boolean)
	c.bools = grow(c.bools, b.Len())
	bits, off := b.Data().Buffers()[1].Bytes(), b.Data().Offset()
	for i := range c.bools {
		c.bools[i] = bitutil.BitIsSet(bits, off+i)
	}
	return putValues(c, a, c.bools, def, valid)
}

func putInt8(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
	c.i32 = grow(c.i32, a.Len())
	for i, v := range a.(*array.Int8).Int8Values() {
		c.i32[i] = int32(v)
	}
	return putValues(c, a, c.i32, def, valid)
}

func putInt16(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
	c.i32 = grow(c.i32, a.Len())
	for i, v := range a.(*array.Int16).Int16Values() {
		c.i32[i] = int32(v)
	}
	return putValues(c, a, c.i32, def, valid)
}

func putFloat(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
	vals := a.(*array.Float32).Float32Values()
	for i, v := range vals {
		if v != v && a.IsValid(i) {
			c.nan = true
		}
	}
	return putValues(c, a, vals, def, valid)
}

func putDouble(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
	vals := a.(*array.Float64).Float64Values()
	for i, v := range vals {
		if math.IsNaN(v) && a.IsValid(i) {
			c.nan = true
		}
	}
	return putValues(c, a, vals, def, valid)
}

func putDecimal32(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
	c.i32 = grow(c.i32, a.Len())
	for i, v := range decimals(a) {
		c.i32[i] = int32(v.LowBits())
	}
	return putValues(c, a, c.i32, def, valid)
}

func putDecimal64(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
	c.i64 = grow(c.i64, a.Len())
	for i, v := range decimals(a) {
		c.i64[i] = int64(v.LowBits())
	}
	return putValues(c, a, c.i64, def, valid)
}

func decimals(a arrow.Array) []decimal128.Num {
	return arrow.Decimal128Traits.CastFromBytes(fixedBytes(a, arrow.Decimal128SizeBytes))
}

func putDecimalBytes(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
	w, ok := c.cw.writer().(*file.FixedLenByteArrayColumnChunkWriter)
	if !ok {
		return fmt.Errorf("no decimal in a column of physical type %s", c.cw.Type())
	}
	c.bytes = grow(c.bytes, a.Len()*c.width)
	var be [16]byte
	for i, v := range decimals(a) {
		binary.BigEndian.PutUint64(be[:8], uint64(v.HighBits()))
		binary.BigEndian.PutUint64(be[8:], v.LowBits())
		copy(c.bytes[i*c.width:], be[16-c.width:])
	}
	if !w.SupportsArrowValues() {
		vals := make([]parquet.FixedLenByteArray, a.Len())
		for i := range vals {
			vals[i] = c.bytes[i*c.width : (i+1)*c.width]
		}
		return putValues(c, a, vals, def, valid)
	}
	var err error
	if valid == nil {
		_, err = w.WriteBatchArrow(c.bytes, def, c.rep)
	} else {
		_, err = w.WriteBatchSpacedArrow(c.bytes, def, nil, valid, int64(a.Data().Offset()))
	}
	return err
}

func putBytes(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
	w, ok := c.cw.writer().(*bytesChunk)
	if !ok {
		return fmt.Errorf("no bytes in a column of physical type %s", c.cw.Type())
	}
	var offsets []int32
	switch v := a.(type) {
	case *array.String:
		offsets = v.ValueOffsets()
	case *array.Binary:
		offsets = v.ValueOffsets()
	default:
		return fmt.Errorf("no %s in a column of strings or bytes", a.DataType())
	}
	var values []byte
	if buf := a.Data().Buffers()[2]; buf != nil {
		values = buf.Bytes()
	}
	if valid == nil {
		return w.write(values, offsets, def, c.rep)
	}
	return w.writeSpaced(values, offsets, def, valid, int64(a.Data().Offset()))
}

const (
	julianEpoch = 2440588
	nanosPerDay = 86_400_000_000_000
)

func putInt96(c *columnWriter, a arrow.Array, def []int16, valid []byte) error {
	c.i96 = grow(c.i96, a.Len())
	for i, v := range arrow.Int64Traits.CastFromBytes(fixedBytes(a, 8)) {
		day := v / nanosPerDay
		nanos := v % nanosPerDay
		if nanos < 0 {
			day, nanos = day-1, nanos+nanosPerDay
		}
		binary.LittleEndian.PutUint64(c.i96[i][:8], uint64(nanos))
		binary.LittleEndian.PutUint32(c.i96[i][8:], uint32(day+julianEpoch))
	}
	return putValues(c, a, c.i96, def, valid)
}
