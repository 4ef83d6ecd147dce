//go:build cgo

package duck

import (
	"fmt"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	db "github.com/duckdb/duckdb-go-bindings"

	"leat/internal/columnar"
	"leat/internal/expr"
)

// values gives n values of a vector's memory from row at on.
func values[T any](vec db.Vector, at, n int) []T {
	return unsafe.Slice((*T)(db.VectorGetData(vec)), at+n)[at:]
}

// write copies rows from to from+n of a, whose type is t, into vec from row at on.
func write(vec db.Vector, at int, a arrow.Array, t columnar.DataType, from, n int) error {
	if n == 0 {
		return nil
	}
	writeValidity(vec, at, a, from, n)
	switch v := a.(type) {
	case *array.Boolean:
		d := values[bool](vec, at, n)
		for i := range d {
			d[i] = v.Value(from + i)
		}
	case *array.Int8:
		copy(values[int8](vec, at, n), v.Int8Values()[from:])
	case *array.Int16:
		copy(values[int16](vec, at, n), v.Int16Values()[from:])
	case *array.Int32:
		copy(values[int32](vec, at, n), v.Int32Values()[from:])
	case *array.Int64:
		copy(values[int64](vec, at, n), v.Int64Values()[from:])
	case *array.Float32:
		copy(values[float32](vec, at, n), v.Float32Values()[from:])
	case *array.Float64:
		copy(values[float64](vec, at, n), v.Float64Values()[from:])
	case *array.Date32:
		copy(values[arrow.Date32](vec, at, n), v.Date32Values()[from:])
	case *array.Time32:
		copy(values[arrow.Time32](vec, at, n), v.Time32Values()[from:])
	case *array.Timestamp:
		copy(values[arrow.Timestamp](vec, at, n), v.TimestampValues()[from:])
	case *array.Decimal128:
		writeDecimal(vec, at, v.Values()[from:from+n], width(t))
	case *array.String:
		writeText(vec, at, v, from, n)
	case *array.Binary:
		assign(vec, at, v.ValueBytes(), relative(v.ValueOffsets()[from:from+n+1], v.ValueOffsets()[0]), n)
	default:
		return writeNested(vec, at, a, t, from, n)
	}
	return nil
}

// writeValidity marks the rows that are NULL. Vectors come with all rows valid.
func writeValidity(vec db.Vector, at int, a arrow.Array, from, n int) {
	bits, offset := a.NullBitmapBytes(), a.Data().Offset()+from
	if len(bits) == 0 || a.Data().NullN() == 0 || bitutil.CountSetBits(bits, offset, n) == n {
		return
	}
	db.VectorEnsureValidityWritable(vec)
	mask := unsafe.Slice((*byte)(db.VectorGetValidity(vec)), (at+n+7)/8)
	for i := range n {
		if !bitutil.BitIsSet(bits, offset+i) {
			mask[(at+i)>>3] &^= 1 << ((at + i) & 7)
		}
	}
}

func writeDecimal(vec db.Vector, at int, from []decimal128.Num, width int) {
	n := len(from)
	switch width {
	case 2:
		narrow(values[int16](vec, at, n), from)
	case 4:
		narrow(values[int32](vec, at, n), from)
	case 8:
		narrow(values[int64](vec, at, n), from)
	default: // low and high half, as DuckDB has them
		copy(values[decimal128.Num](vec, at, n), from)
	}
}

func narrow[T int16 | int32 | int64](to []T, from []decimal128.Num) {
	for i := range to {
		to[i] = T(from[i].LowBits()) //nolint:gosec // the type's digits fit
	}
}

// relative gives offsets that count from the byte at base.
func relative(offsets []int32, base int32) []int32 {
	if base == 0 {
		return offsets
	}
	out := make([]int32, len(offsets))
	for i := range offsets {
		out[i] = offsets[i] - base
	}
	return out
}

// writeText copies texts. What is no UTF-8 would bring functions of DuckDB to fall:
// the replacement character takes its place, as everywhere where text is shown.
func writeText(vec db.Vector, at int, v *array.String, from, n int) {
	offsets := v.ValueOffsets()
	base := offsets[0]
	texts := v.ValueBytes()
	if utf8.Valid(texts[offsets[from]-base : offsets[from+n]-base]) {
		assign(vec, at, texts, relative(offsets[from:from+n+1], base), n)
		return
	}
	for i := range n {
		b := expr.AppendDecoded(nil, string(texts[offsets[from+i]-base:offsets[from+i+1]-base]))
		assign(vec, at+i, b, []int32{0, int32(len(b))}, 1)
	}
}

func writeNested(vec db.Vector, at int, a arrow.Array, t columnar.DataType, from, n int) error {
	switch v := a.(type) {
	case *array.Map:
		base, err := writeOffsets(vec, at, v, from, n)
		if err != nil {
			return err
		}
		kt, vt := mapTypes(t)
		entries := db.ListVectorGetChild(vec)
		first, last := span(v, from, n)
		if err := write(db.StructVectorGetChild(entries, 0), base, v.Keys(), kt, first, last-first); err != nil {
			return err
		}
		return write(db.StructVectorGetChild(entries, 1), base, v.Items(), vt, first, last-first)
	case *array.List:
		base, err := writeOffsets(vec, at, v, from, n)
		if err != nil {
			return err
		}
		first, last := span(v, from, n)
		return write(db.ListVectorGetChild(vec), base, v.ListValues(), *t.Elem, first, last-first)
	case *array.Struct:
		for i, f := range structFields(t) {
			child := db.StructVectorGetChild(vec, db.IdxT(i))
			if err := write(child, at, v.Field(i), f.Type, from, n); err != nil {
				return err
			}
			// DuckDB has the fields of a NULL be NULL.
			writeValidity(child, at, v, from, n)
		}
		return nil
	default:
		return fmt.Errorf("handing over a column of type %s: no such array", t)
	}
}

type listArray interface {
	arrow.Array
	ValueOffsets(i int) (start, end int64)
}

// span gives the elements of rows from to from+n.
func span(v listArray, from, n int) (first, last int) {
	a, _ := v.ValueOffsets(from)
	_, b := v.ValueOffsets(from + n - 1)
	return int(a), int(b)
}

// writeOffsets writes where the elements of each row begin and how many there are,
// and makes room for them behind those that are there; it gives the first new place.
func writeOffsets(vec db.Vector, at int, v listArray, from, n int) (int, error) {
	first, last := span(v, from, n)
	base := 0
	if at > 0 {
		base = int(db.ListVectorGetSize(vec))
	}
	size := db.IdxT(base + last - first)
	if db.ListVectorReserve(vec, size) != db.StateSuccess || db.ListVectorSetSize(vec, size) != db.StateSuccess {
		return 0, fmt.Errorf("handing over %d elements: no room in DuckDB", size)
	}
	entries := values[[2]uint64](vec, at, n)
	for i := range entries {
		a, b := v.ValueOffsets(from + i)
		entries[i] = [2]uint64{uint64(base + int(a) - first), uint64(b - a)}
	}
	return base, nil
}
