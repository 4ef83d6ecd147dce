package format

import (
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"leat/internal/columnar"
)

// columnReader turns one column of a file into Arrow arrays.
type columnReader struct {
	field columnar.Field
	typ   arrow.DataType
	mem   memory.Allocator
	// leaf is the column's number in the file, -1 if the file lacks it.
	leaf     int
	optional bool
	cr       chunkReader
	// pages is the index of the open row group.
	pages  *groupIndex
	offset int64
	def    []int16
	readN  func(c *columnReader, n int) (arrow.Array, error)
	// nested reads a nested column, whose leaves it has; nil in a flat one.
	nested *nestedReader
}

// chunkReader is what a decoder needs of a column chunk besides pages.
type chunkReader interface {
	Err() error
	Type() parquet.Type
}

func newColumnReader(f columnar.Field, root *schema.GroupNode, s *schema.Schema, mem memory.Allocator) (columnReader, error) {
	c := columnReader{field: f, typ: columnar.ArrowType(f.Type), mem: mem, leaf: -1, readN: readNulls}
	if f.Type.IsNested() {
		at := root.FieldIndexByName(f.Name)
		if at < 0 {
			return c, nil
		}
		var err error
		c.nested, err = newNestedReader(f, root.Field(at), s, mem)
		return c, err
	}
	leaf, col, err := leafOf(f.Name, root, s)
	if err != nil || leaf < 0 {
		return c, err
	}
	if col.MaxRepetitionLevel() > 0 || col.MaxDefinitionLevel() > 1 {
		return c, fmt.Errorf("column %s is repeated or nested in the file", f.Name)
	}
	c.leaf, c.optional = leaf, col.MaxDefinitionLevel() == 1
	c.readN, err = readFuncOf(f, col)
	return c, err
}

// read gives the next n values; the row group has as many.
func (c *columnReader) read(n int) (arrow.Array, error) {
	if c.nested != nil {
		return c.nested.read(n)
	}
	return c.readN(c, n)
}

// open starts the column's part of a row group, whose index is pages.
func (c *columnReader) open(rg *file.RowGroupReader, pages *groupIndex) (err error) {
	c.pages = pages
	if c.nested != nil {
		c.offset, err = c.nested.open(rg, pages)
		return err
	}
	if c.leaf < 0 {
		return nil
	}
	meta, err := rg.MetaData().ColumnChunk(c.leaf)
	if err != nil {
		return err
	}
	c.offset = meta.DataPageOffset()
	c.cr, err = openValues(rg, c.leaf, c.optional)
	return err
}

func openChunk(rg *file.RowGroupReader, leaf int) (file.ColumnChunkReader, int64, error) {
	meta, err := rg.MetaData().ColumnChunk(leaf)
	if err != nil {
		return nil, 0, err
	}
	cr, err := rg.Column(leaf)
	return cr, meta.DataPageOffset(), err
}

// pages is what every typed chunk reader of the library offers.
type pages[P any] interface {
	ReadBatchInPage(batchSize int64, values []P, def, rep []int16) (total int64, valuesRead int, err error)
}

// eachPage reads n rows into vals piece by piece: got is called with the row a
// piece starts at, its definition levels (nil without nulls) and the dense values.
func eachPage[P any](c *columnReader, n int, vals []P, got func(at int, def []int16, dense []P) error) error {
	return eachPageInto(c, n, func(int) []P { return vals }, got)
}

// eachPageInto is eachPage where the values of a piece go to what into gives for its first row.
func eachPageInto[P any](c *columnReader, n int, into func(at int) []P, got func(at int, def []int16, dense []P) error) error {
	pr, ok := c.cr.(pages[P])
	if !ok {
		return fmt.Errorf("physical type %s does not fit %T", c.cr.Type(), into(0))
	}
	if c.optional {
		c.def = grow(c.def, n)
	}
	for at := 0; at < n; {
		def := c.def
		if def != nil {
			def = def[:n-at]
		}
		vals := into(at)
		total, read, err := pr.ReadBatchInPage(int64(n-at), vals, def, nil)
		if err != nil {
			return err
		}
		if total <= 0 || read < 0 || int(total) > n-at || read > int(total) {
			if err := c.cr.Err(); err != nil {
				return err
			}
			return io.ErrUnexpectedEOF
		}
		if read == int(total) {
			def = nil
		} else {
			def = def[:total]
		}
		if err := got(at, def, vals[:read]); err != nil {
			return err
		}
		at += int(total)
	}
	return nil
}

// validity is the null bitmap of an array under construction, made with the first null.
type validity struct {
	c     *columnReader
	n     int
	buf   *memory.Buffer
	nulls int
}

// bits gives the bitmap; bits are set until they are cleared. There is room for a word behind it.
func (v *validity) bits() []byte {
	if v.buf == nil {
		v.buf = memory.NewResizableBuffer(v.c.mem)
		v.buf.Resize(int(bitutil.BytesForBits(int64(v.n))) + 8)
		memory.Set(v.buf.Bytes(), 0xff)
	}
	return v.buf.Bytes()
}

// mark clears the bits of the rows from at on that have no value.
func (v *validity) mark(at int, def []int16) {
	if def == nil {
		return
	}
	bits := v.bits()
	for i, d := range def {
		if d == 0 {
			bitutil.ClearBit(bits, at+i)
			v.nulls++
		}
	}
}

func (v *validity) release() {
	if v.buf != nil {
		v.buf.Release()
	}
}

// slotReader is a chunk that gives one value a slot: see slotPages.
type slotReader[P slotValue] interface {
	readSlots(values []P, valid *validity, at int) (int, error)
}

// eachSlots reads n rows into vals piece by piece: got, if set, is called with the row a piece
// starts at and its values. done is false if the chunk is of another kind.
func eachSlots[P slotValue](c *columnReader, n int, v *validity, vals []P, got func(at int, vals []P)) (done bool, err error) {
	r, ok := c.cr.(slotReader[P])
	if !ok {
		return false, nil
	}
	for at := 0; at < n; {
		k, err := r.readSlots(vals[at:n], v, at)
		if err == nil && k == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return true, err
		}
		if got != nil {
			got(at, vals[at:at+k])
		}
		at += k
	}
	return true, nil
}

// finish makes the array; it takes over values.
func finish(c *columnReader, n int, v *validity, values ...*memory.Buffer) arrow.Array {
	bufs := append([]*memory.Buffer{v.buf}, values...)
	data := array.NewData(c.typ, n, bufs, nil, v.nulls, 0)
	for _, b := range values {
		b.Release()
	}
	v.release()
	a := array.MakeFromData(data)
	data.Release()
	return a
}

// readFixed reads fixed-width values: convert turns dense physical values P into as many A.
func readFixed[P, A any](width int, cast func([]byte) []A, convert func(dst []A, src []P)) func(*columnReader, int) (arrow.Array, error) {
	var vals []P
	var dense []A
	return func(c *columnReader, n int) (arrow.Array, error) {
		vals = grow(vals, n)
		buf, out := fixedBuffer(c, n, width, cast)
		v := validity{c: c, n: n}
		err := eachPage(c, n, vals, func(at int, def []int16, src []P) error {
			if def == nil {
				convert(out[at:at+len(src)], src)
				return nil
			}
			v.mark(at, def)
			dense = grow(dense, len(src))
			convert(dense, src)
			k := 0
			var zero A
			for i, d := range def {
				if d == 0 {
					out[at+i] = zero
					continue
				}
				out[at+i] = dense[k]
				k++
			}
			return nil
		})
		return fixedArray(c, n, &v, buf, err)
	}
}

// readConverted is readFixed of values that slotPages give; convert turns 0 into 0.
func readConverted[P slotValue, A any](width int, cast func([]byte) []A, convert func(dst []A, src []P)) func(*columnReader, int) (arrow.Array, error) {
	var vals []P
	other := readFixed(width, cast, convert)
	return func(c *columnReader, n int) (arrow.Array, error) {
		if _, ok := c.cr.(slotReader[P]); !ok {
			return other(c, n)
		}
		vals = grow(vals, n)
		buf, out := fixedBuffer(c, n, width, cast)
		v := validity{c: c, n: n}
		_, err := eachSlots(c, n, &v, vals, func(at int, src []P) { convert(out[at:at+len(src)], src) })
		return fixedArray(c, n, &v, buf, err)
	}
}

// readSame reads fixed-width values that Arrow has as the file has them, into
// place; P is what slotPages take for a T.
func readSame[T any, P slotValue](width int, cast func([]byte) []T, castSlots func([]byte) []P) func(*columnReader, int) (arrow.Array, error) {
	return func(c *columnReader, n int) (arrow.Array, error) {
		buf, out := fixedBuffer(c, n, width, cast)
		v := validity{c: c, n: n}
		done, err := eachSlots(c, n, &v, castSlots(buf.Bytes()), nil)
		if done {
			return fixedArray(c, n, &v, buf, err)
		}
		err = eachPageInto(c, n, func(at int) []T { return out[at:] }, func(at int, def []int16, dense []T) error {
			v.mark(at, def)
			k := len(dense)
			var zero T
			for i, d := range slices.Backward(def) { // so that no value is overwritten before it moved
				if d == 0 {
					out[at+i] = zero
					continue
				}
				k--
				out[at+i] = dense[k]
			}
			return nil
		})
		return fixedArray(c, n, &v, buf, err)
	}
}

func fixedBuffer[A any](c *columnReader, n, width int, cast func([]byte) []A) (*memory.Buffer, []A) {
	buf := memory.NewResizableBuffer(c.mem)
	buf.Resize(n * width)
	return buf, cast(buf.Bytes())
}

// fixedArray makes the array of buf, or gives err.
func fixedArray(c *columnReader, n int, v *validity, buf *memory.Buffer, err error) (arrow.Array, error) {
	if err != nil {
		buf.Release()
		v.release()
		return nil, err
	}
	return finish(c, n, v, buf), nil
}

// readFuncOf picks the decoder of a column, once per file.
func readFuncOf(f columnar.Field, col *schema.Column) (func(*columnReader, int) (arrow.Array, error), error) {
	mismatch := func() error {
		return fmt.Errorf("column %s of type %s is stored as %s", f.Name, f.Type, col.PhysicalType())
	}
	i32, i64 := arrow.Int32Traits.CastFromBytes, arrow.Int64Traits.CastFromBytes
	switch pt := col.PhysicalType(); f.Type.Kind {
	case columnar.Boolean:
		if pt == parquet.Types.Boolean {
			return newBoolReader(), nil
		}
	case columnar.TinyInt:
		if pt == parquet.Types.Int32 {
			return readConverted(1, arrow.Int8Traits.CastFromBytes, narrow[int8]), nil
		}
	case columnar.SmallInt:
		if pt == parquet.Types.Int32 {
			return readConverted(2, arrow.Int16Traits.CastFromBytes, narrow[int16]), nil
		}
	case columnar.Int, columnar.Date, columnar.Time:
		if pt == parquet.Types.Int32 {
			return readSame(4, i32, i32), nil
		}
	case columnar.BigInt:
		if pt == parquet.Types.Int64 {
			return readSame(8, i64, i64), nil
		}
	case columnar.Float:
		if pt == parquet.Types.Float {
			return readSame(4, arrow.Float32Traits.CastFromBytes, i32), nil
		}
	case columnar.Double:
		if pt == parquet.Types.Double {
			return readSame(8, arrow.Float64Traits.CastFromBytes, i64), nil
		}
	case columnar.Decimal:
		if read := readDecimalsOf(pt); read != nil {
			return read, nil
		}
	case columnar.Timestamp, columnar.TimestampLTZ:
		switch pt {
		case parquet.Types.Int64:
			if convert := timestampsOf(f.Type, col); convert != nil {
				return readConverted(8, i64, convert), nil
			}
			return readSame(8, i64, i64), nil
		case parquet.Types.Int96:
			return readFixed(8, i64, int96sOf(f.Type)), nil
		default:
		}
	default:
		if pt == parquet.Types.ByteArray {
			return newBytesReader(), nil
		}
	}
	return nil, mismatch()
}

// newBoolReader reads booleans.
func newBoolReader() func(*columnReader, int) (arrow.Array, error) {
	var vals []bool
	var slots []uint8
	return func(c *columnReader, n int) (arrow.Array, error) {
		buf := memory.NewResizableBuffer(c.mem)
		buf.Resize(int(bitutil.BytesForBits(int64(n))))
		bits := buf.Bytes()
		clear(bits)
		v := validity{c: c, n: n}
		slots = grow(slots, n)
		done, err := eachSlots(c, n, &v, slots, func(at int, src []uint8) { packBits(bits, at, src) })
		if done {
			return fixedArray(c, n, &v, buf, err)
		}
		vals = grow(vals, n)
		err = eachPage(c, n, vals, func(at int, def []int16, src []bool) error {
			v.mark(at, def)
			for i, k := 0, 0; k < len(src); i++ {
				if def != nil && def[i] == 0 {
					continue
				}
				if src[k] {
					bitutil.SetBit(bits, at+i)
				}
				k++
			}
			return nil
		})
		return fixedArray(c, n, &v, buf, err)
	}
}

func readNulls(c *columnReader, n int) (arrow.Array, error) {
	return array.MakeArrayOfNull(memory.DefaultAllocator, c.typ, n), nil
}
