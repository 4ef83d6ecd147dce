package mysqlrow

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// store is the form of a column buffer.
type store uint8

const (
	storeBool store = iota // one byte a row in i8
	store8
	store16
	store32
	store64
	storeF32
	storeF64
	storeDec
	storeBytes
	storeList // lists of elem
)

func storeOf(t columnar.DataType) store {
	switch t.Kind {
	case columnar.Boolean:
		return storeBool
	case columnar.TinyInt:
		return store8
	case columnar.SmallInt:
		return store16
	case columnar.Int, columnar.Date, columnar.Time:
		return store32
	case columnar.Float:
		return storeF32
	case columnar.Double:
		return storeF64
	case columnar.Decimal:
		return storeDec
	case columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		return storeBytes
	case columnar.Array:
		return storeList
	default:
		return store64
	}
}

// vec is the buffer of one output column. Only the slice of its store is used.
// A row that is NULL stands in nulls and holds a zero value in the slice.
type vec struct {
	store store
	nulls []int32
	i8    []int8
	i16   []int16
	i32   []int32
	i64   []int64
	f32   []float32
	f64   []float64
	dec   []decimal128.Num
	// data and ends are the texts and, for each row, where its text ends. A list
	// has its elements in elem, and ends counts them.
	data []byte
	ends []int32
	elem *vec
	zone zoneCache
	seen Oddities
}

// Oddities counts values that were taken as something else than they are.
type Oddities struct {
	// ZeroDates are dates that do not exist, see ZeroDate.
	ZeroDates int64
	// InvalidText are texts that are not of their character set.
	InvalidText int64
	// OddBooleans are values of TINYINT(1) other than 0 and 1, taken as true.
	OddBooleans int64
}

func newVec(s, elem store, zone *time.Location) vec {
	v := vec{store: s, zone: zoneCache{loc: zone}}
	if s == storeList {
		v.elem = &vec{store: elem}
	}
	return v
}

// rows is the number of rows.
func (v *vec) rows() int {
	switch v.store {
	case storeBytes, storeList:
		return len(v.ends) - 1
	default:
		return len(v.i8) + len(v.i16) + len(v.i32) + len(v.i64) + len(v.f32) + len(v.f64) + len(v.dec)
	}
}

// reserve gives the vec room for rows rows and size bytes of text.
func (v *vec) reserve(rows, size int) {
	switch v.store {
	case storeBool, store8:
		v.i8 = make([]int8, 0, rows)
	case store16:
		v.i16 = make([]int16, 0, rows)
	case store32:
		v.i32 = make([]int32, 0, rows)
	case store64:
		v.i64 = make([]int64, 0, rows)
	case storeF32:
		v.f32 = make([]float32, 0, rows)
	case storeF64:
		v.f64 = make([]float64, 0, rows)
	case storeDec:
		v.dec = make([]decimal128.Num, 0, rows)
	case storeBytes:
		v.data = make([]byte, 0, size)
		v.ends = make([]int32, 1, rows+1) // the leading 0 is Arrow's first offset
	case storeList:
		v.ends = make([]int32, 1, rows+1)
		v.elem.reserve(rows, size)
	}
}

// null appends NULL as row number row.
func (v *vec) null(row int) {
	v.nulls = append(v.nulls, int32(row))
	switch v.store {
	case storeBool, store8:
		v.i8 = append(v.i8, 0)
	case store16:
		v.i16 = append(v.i16, 0)
	case store32:
		v.i32 = append(v.i32, 0)
	case store64:
		v.i64 = append(v.i64, 0)
	case storeF32:
		v.f32 = append(v.f32, 0)
	case storeF64:
		v.f64 = append(v.f64, 0)
	case storeDec:
		v.dec = append(v.dec, decimal128.Num{})
	case storeBytes:
		v.ends = append(v.ends, int32(len(v.data)))
	case storeList:
		v.ends = append(v.ends, int32(v.elem.rows()))
	}
}

// truncate drops the rows from number rows on.
func (v *vec) truncate(rows int) {
	for len(v.nulls) > 0 && int(v.nulls[len(v.nulls)-1]) >= rows {
		v.nulls = v.nulls[:len(v.nulls)-1]
	}
	v.i8 = v.i8[:min(rows, len(v.i8))]
	v.i16 = v.i16[:min(rows, len(v.i16))]
	v.i32 = v.i32[:min(rows, len(v.i32))]
	v.i64 = v.i64[:min(rows, len(v.i64))]
	v.f32 = v.f32[:min(rows, len(v.f32))]
	v.f64 = v.f64[:min(rows, len(v.f64))]
	v.dec = v.dec[:min(rows, len(v.dec))]
	switch v.store {
	case storeBytes:
		v.ends = v.ends[:min(rows+1, len(v.ends))]
		v.data = v.data[:v.ends[len(v.ends)-1]]
	case storeList:
		v.ends = v.ends[:min(rows+1, len(v.ends))]
		v.elem.truncate(int(v.ends[len(v.ends)-1]))
	default:
	}
}

// endText closes the text of a row whose bytes were appended to data.
func (v *vec) endText() status {
	if len(v.data) > math.MaxInt32 {
		return tooMuchText
	}
	v.ends = append(v.ends, int32(len(v.data)))
	return okay
}

// endList closes the list of a row whose elements were appended to elem.
func (v *vec) endList() status {
	v.ends = append(v.ends, int32(v.elem.rows()))
	return okay
}

// finish hands the buffers over to an Arrow array of rows rows, without a copy.
func (v *vec) finish(t columnar.DataType, rows int) arrow.Array {
	bufs := make([]*memory.Buffer, 2, 3)
	var children []arrow.ArrayData
	if len(v.nulls) > 0 {
		bufs[0] = memory.NewBufferBytes(v.validity(rows))
	}
	switch v.store {
	case storeBool:
		bufs[1] = memory.NewBufferBytes(v.packBools(rows))
	case store8:
		bufs[1] = memory.NewBufferBytes(arrow.Int8Traits.CastToBytes(v.i8))
	case store16:
		bufs[1] = memory.NewBufferBytes(arrow.Int16Traits.CastToBytes(v.i16))
	case store32:
		bufs[1] = memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(v.i32))
	case store64:
		bufs[1] = memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(v.i64))
	case storeF32:
		bufs[1] = memory.NewBufferBytes(arrow.Float32Traits.CastToBytes(v.f32))
	case storeF64:
		bufs[1] = memory.NewBufferBytes(arrow.Float64Traits.CastToBytes(v.f64))
	case storeDec:
		bufs[1] = memory.NewBufferBytes(arrow.Decimal128Traits.CastToBytes(v.dec))
	case storeBytes:
		bufs[1] = memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(v.ends))
		bufs = append(bufs, memory.NewBufferBytes(v.data))
	case storeList:
		bufs[1] = memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(v.ends))
		elements := v.elem.finish(*t.Elem, v.elem.rows())
		defer elements.Release()
		children = append(children, elements.Data())
	}
	data := array.NewData(columnar.ArrowType(t), rows, bufs, children, len(v.nulls), 0)
	defer data.Release()
	*v = vec{store: v.store, zone: v.zone, seen: v.seen, elem: v.elem}
	return array.MakeFromData(data)
}

func (v *vec) validity(rows int) []byte {
	bitmap := make([]byte, bitutil.BytesForBits(int64(rows)))
	for i := range bitmap {
		bitmap[i] = 0xFF
	}
	for _, r := range v.nulls {
		bitutil.ClearBit(bitmap, int(r))
	}
	return bitmap
}

func (v *vec) packBools(rows int) []byte {
	bitmap := make([]byte, bitutil.BytesForBits(int64(rows)))
	for i, b := range v.i8 {
		if b != 0 {
			bitutil.SetBit(bitmap, i)
		}
	}
	return bitmap
}

// bytes is the memory that the rows take.
func (v *vec) bytes() int {
	n := len(v.i8) + 2*len(v.i16) + 4*(len(v.i32)+len(v.f32)+len(v.ends)) +
		8*(len(v.i64)+len(v.f64)) + 16*len(v.dec) + len(v.data) + len(v.nulls)/8
	if v.elem != nil {
		n += v.elem.bytes()
	}
	return n
}

// textBytes is the size of the texts, those in lists included.
func (v *vec) textBytes() int {
	if v.elem != nil {
		return len(v.elem.data)
	}
	return len(v.data)
}

// appendKey appends the canonical form of row i: whether it is NULL, then its value.
func (v *vec) appendKey(dst []byte, i int) []byte {
	if _, isNull := slices.BinarySearch(v.nulls, int32(i)); isNull {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch v.store {
	case storeBool, store8:
		return append(dst, byte(v.i8[i]))
	case store16:
		return binary.LittleEndian.AppendUint16(dst, uint16(v.i16[i]))
	case store32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v.i32[i]))
	case store64:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.i64[i]))
	case storeF32:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.f32[i]))
	case storeF64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.f64[i]))
	case storeDec:
		dst = binary.LittleEndian.AppendUint64(dst, v.dec[i].LowBits())
		return binary.LittleEndian.AppendUint64(dst, uint64(v.dec[i].HighBits()))
	case storeList:
		dst = binary.AppendUvarint(dst, uint64(v.ends[i+1]-v.ends[i]))
		for k := v.ends[i]; k < v.ends[i+1]; k++ {
			dst = v.elem.appendKey(dst, int(k))
		}
		return dst
	default:
		text := v.data[v.ends[i]:v.ends[i+1]]
		return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	}
}
