//go:build cgo

package duck

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	db "github.com/duckdb/duckdb-go-bindings"

	"leat/internal/columnar"
)

// reader makes arrays of vectors. Those that borrow hold memory of DuckDB and are
// good for one callback; the others are copies.
type reader struct{ borrow bool }

// bytesOf gives n values of size bytes.
func (r reader) bytesOf(vec db.Vector, n, size int) []byte {
	b := unsafe.Slice((*byte)(db.VectorGetData(vec)), n*size)
	if r.borrow {
		return b
	}
	return slices.Clone(b)
}

// validity gives the bitmap of the first n rows, nil if all are valid.
func (r reader) validity(vec db.Vector, n int) (bits *memory.Buffer, nulls int) {
	p := db.VectorGetValidity(vec)
	if p == nil || n == 0 {
		return nil, 0
	}
	mask := unsafe.Slice((*byte)(p), (n+7)/8)
	if nulls = n - bitutil.CountSetBits(mask, 0, n); nulls == 0 {
		return nil, 0
	}
	if !r.borrow {
		mask = slices.Clone(mask)
	}
	return memory.NewBufferBytes(mask), nulls
}

// read gives the first n rows of vec, whose type is t, as an array to release.
func (r reader) read(vec db.Vector, t columnar.DataType, n int) (arrow.Array, error) {
	bits, nulls := r.validity(vec, n)
	buffers, children, err := r.content(vec, t, n, bits)
	if err != nil {
		return nil, err
	}
	data := array.NewData(columnar.ArrowType(t), n, append([]*memory.Buffer{bits}, buffers...), children, nulls, 0)
	defer data.Release()
	for _, c := range children {
		c.Release()
	}
	return array.MakeFromData(data), nil
}

// content gives the buffers behind the validity, and the children.
func (r reader) content(vec db.Vector, t columnar.DataType, n int, bits *memory.Buffer) ([]*memory.Buffer, []arrow.ArrayData, error) {
	one := func(b []byte) ([]*memory.Buffer, []arrow.ArrayData, error) {
		return []*memory.Buffer{memory.NewBufferBytes(b)}, nil, nil
	}
	switch t.Kind {
	case columnar.Boolean:
		return one(packed(values[bool](vec, 0, n)))
	case columnar.Decimal:
		return one(r.decimals(vec, n, width(t)))
	case columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		offsets, data := texts(vec, n, bits)
		return []*memory.Buffer{memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)), memory.NewBufferBytes(data)}, nil, nil
	case columnar.Array:
		return r.lists(vec, n, bits, func(child db.Vector, m int) (arrow.Array, error) { return r.read(child, *t.Elem, m) })
	case columnar.Map, columnar.Multiset:
		kt, vt := mapTypes(t)
		entries := columnar.DataType{Kind: columnar.Row, Fields: []columnar.Field{{Name: "key", Type: kt}, {Name: "value", Type: vt}}}
		return r.lists(vec, n, bits, func(child db.Vector, m int) (arrow.Array, error) { return r.read(child, entries, m) })
	case columnar.Row, columnar.Variant:
		var children []arrow.ArrayData
		for i, f := range structFields(t) {
			c, err := r.read(db.StructVectorGetChild(vec, db.IdxT(i)), f.Type, n)
			if err != nil {
				return nil, nil, err
			}
			children = append(children, c.Data())
		}
		return nil, children, nil
	default:
		return one(r.bytesOf(vec, n, width(t)))
	}
}

func packed(from []bool) []byte {
	out := make([]byte, (len(from)+7)/8)
	for i, v := range from {
		if v {
			out[i>>3] |= 1 << (i & 7)
		}
	}
	return out
}

func (r reader) decimals(vec db.Vector, n, width int) []byte {
	if width == 16 {
		return r.bytesOf(vec, n, width)
	}
	out := make([]decimal128.Num, n)
	switch width {
	case 2:
		widen(out, values[int16](vec, 0, n))
	case 4:
		widen(out, values[int32](vec, 0, n))
	default:
		widen(out, values[int64](vec, 0, n))
	}
	return arrow.Decimal128Traits.CastToBytes(out)
}

func widen[T int16 | int32 | int64](to []decimal128.Num, from []T) {
	for i, v := range from {
		to[i] = decimal128.FromI64(int64(v))
	}
}

// stringT is duckdb_string_t: the bytes of short texts, else where they are.
type stringT struct {
	length uint32
	inline [4]byte
	at     unsafe.Pointer
}

// inlined is the length up to which a text is in the value itself.
const inlined = 12

// texts copies texts and bytes; what is NULL is empty.
func texts(vec db.Vector, n int, bits *memory.Buffer) (offsets []int32, data []byte) {
	in := values[stringT](vec, 0, n)
	offsets = make([]int32, n+1)
	for i := range in {
		s := &in[i]
		switch {
		case bits != nil && !bitutil.BitIsSet(bits.Bytes(), i):
		case s.length <= inlined:
			data = append(data, unsafe.Slice(&s.inline[0], s.length)...)
		default:
			data = append(data, unsafe.Slice((*byte)(s.at), s.length)...)
		}
		offsets[i+1] = int32(len(data))
	}
	return offsets, data
}

// lists gives offsets and elements. The elements of the rows may lie anywhere in
// the child: where they are not in order they are gathered.
func (r reader) lists(vec db.Vector, n int, bits *memory.Buffer, read func(child db.Vector, n int) (arrow.Array, error)) ([]*memory.Buffer, []arrow.ArrayData, error) {
	size := int(db.ListVectorGetSize(vec))
	all, err := read(db.ListVectorGetChild(vec), size)
	if err != nil {
		return nil, nil, err
	}
	entries := values[[2]uint64](vec, 0, n)
	offsets := make([]int32, n+1)
	var parts []arrow.Array
	inOrder, next := true, uint64(0)
	for i, e := range entries {
		if bits != nil && !bitutil.BitIsSet(bits.Bytes(), i) {
			e = [2]uint64{next, 0}
		}
		if e[1] > 0 {
			inOrder = inOrder && e[0] == next
			parts = append(parts, array.NewSlice(all, int64(e[0]), int64(e[0]+e[1])))
			next = e[0] + e[1]
		}
		offsets[i+1] = offsets[i] + int32(e[1])
	}
	elements := all
	if inOrder {
		elements.Retain()
	} else if elements, err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
		err = fmt.Errorf("gathering elements of lists: %w", err)
	}
	all.Release()
	for _, p := range parts {
		p.Release()
	}
	if err != nil {
		return nil, nil, err
	}
	return []*memory.Buffer{memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))}, []arrow.ArrayData{elements.Data()}, nil
}
