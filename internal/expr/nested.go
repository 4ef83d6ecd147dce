package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// isList reports the types whose values are elements of kids: ARRAY, MAP and MULTISET.
func isList(t columnar.DataType) bool {
	return t.Kind == columnar.Array || t.Kind == columnar.Map || t.Kind == columnar.Multiset
}

// isBuilt reports the nested types that expressions look into; VARIANT is none.
func isBuilt(t columnar.DataType) bool { return isList(t) || t.Kind == columnar.Row }

// kidTypes gives the types of the kids of a vector of t.
func kidTypes(t columnar.DataType) []columnar.DataType {
	switch t.Kind {
	case columnar.Array:
		return []columnar.DataType{*t.Elem}
	case columnar.Map:
		return []columnar.DataType{*t.Key, *t.Elem}
	case columnar.Multiset:
		return []columnar.DataType{*t.Elem, columnar.Of(columnar.Int).NotNull()}
	case columnar.Row:
		out := make([]columnar.DataType, len(t.Fields))
		for i := range t.Fields {
			out[i] = t.Fields[i].Type
		}
		return out
	default:
		return nil
	}
}

// elements gives the number of elements that the first n rows of a list reach to.
func (v *vector) elements(n int) int {
	m := 0
	for _, to := range v.to[:n] {
		m = max(m, int(to))
	}
	return m
}

func (v *vector) isValid(i int) bool { return v.valid == nil || v.valid[i] }

// nestedNode reads a nested input column with all that is in it.
type nestedNode struct {
	index int
	t     columnar.DataType
	epoch uint64
	out   *vector
}

func (c *nestedNode) eval(f *frame) (*vector, error) {
	if c.epoch != f.epoch || c.out == nil {
		c.epoch, c.out = f.epoch, loadNested(f.cols[c.index], c.t, f.rows)
	}
	return c.out, nil
}

// loadNested sees the first n rows of a as a vector; fixed width values are not copied.
func loadNested(a arrow.Array, t columnar.DataType, n int) *vector {
	out := &scratch{}
	if !isBuilt(t) {
		load(out, a, t.Kind, n)
		return &out.vector
	}
	kids := kidTypes(t)
	switch v := a.(type) {
	case *array.Struct:
		for i := range kids {
			out.kids = append(out.kids, loadNested(v.Field(i), kids[i], n))
		}
	case *array.Map:
		first, count := loadSpans(out, v, n)
		for i, side := range []arrow.Array{v.Keys(), v.Items()} {
			out.kids = append(out.kids, loadSlice(side, kids[i], first, count))
		}
	case *array.List:
		first, count := loadSpans(out, v, n)
		out.kids = []*vector{loadSlice(v.ListValues(), kids[0], first, count)}
	}
	if a.NullN() > 0 {
		expandBits(out.growValid(n), a.Data().Buffers()[0].Bytes(), a.Data().Offset())
	}
	return &out.vector
}

func loadSlice(a arrow.Array, t columnar.DataType, first, count int) *vector {
	part := array.NewSlice(a, int64(first), int64(first+count))
	defer part.Release() // a holds its memory
	return loadNested(part, t, count)
}

// loadSpans sets where the elements of each row are, counted from the first one.
func loadSpans(out *scratch, v interface {
	ValueOffsets(i int) (start, end int64)
	IsNull(i int) bool
}, n int,
) (first, count int) {
	out.from, out.to = make([]int32, n), make([]int32, n)
	if n == 0 {
		return 0, 0
	}
	from, _ := v.ValueOffsets(0)
	_, to := v.ValueOffsets(n - 1)
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		a, b := v.ValueOffsets(i)
		out.from[i], out.to[i] = int32(a-from), int32(b-from)
	}
	return int(from), int(to - from)
}

// nullNode gives rows of NULL of a nested type.
type nullNode struct{ t columnar.DataType }

func (c nullNode) eval(f *frame) (*vector, error) { return nullRows(c.t, f.rows), nil }

func nullRows(t columnar.DataType, n int) *vector {
	idx := make([]int32, n)
	for i := range idx {
		idx[i] = -1
	}
	return pick(emptyVector(t), t, idx)
}

// emptyVector has no row.
func emptyVector(t columnar.DataType) *vector {
	v := &vector{}
	for _, k := range kidTypes(t) {
		v.kids = append(v.kids, emptyVector(k))
	}
	return v
}

// pick gives the rows of v at idx as a new vector, NULL where idx is negative. Elements
// of lists are shared with v.
func pick(v *vector, t columnar.DataType, idx []int32) *vector {
	n := len(idx)
	out := &scratch{}
	switch {
	case isList(t):
		out.from, out.to, out.kids = make([]int32, n), make([]int32, n), v.kids
		for i, j := range idx {
			if j >= 0 && v.isValid(int(j)) {
				out.from[i], out.to[i] = v.from[j], v.to[j]
			}
		}
	case t.Kind == columnar.Row:
		for k, kt := range kidTypes(t) {
			out.kids = append(out.kids, pick(v.kids[k], kt, idx))
		}
	default:
		pickFlat(out, v, t.Kind, idx)
	}
	out.valid = nil
	for i, j := range idx {
		if j < 0 || !v.isValid(int(j)) {
			out.setNull(i, n)
		}
	}
	return &out.vector
}

func pickFlat(out *scratch, v *vector, kind columnar.Kind, idx []int32) {
	n := len(idx)
	switch widthOf(kind) {
	case 0:
		pickInto(out.growText(n), v.strs, idx)
	case 1:
		pickInto(grow[int8](out, n), values[int8](v), idx)
	case 2:
		pickInto(grow[int16](out, n), values[int16](v), idx)
	case 4:
		pickInto(grow[int32](out, n), values[int32](v), idx)
	case 8:
		pickInto(grow[int64](out, n), values[int64](v), idx)
	default:
		pickInto(grow[decimal128.Num](out, n), values[decimal128.Num](v), idx)
	}
}

func pickInto[T any](dst, src []T, idx []int32) {
	for i, j := range idx {
		if j >= 0 {
			dst[i] = src[j]
		}
	}
}

// stack gives the first sizes[p] rows of each part, one part behind the other.
func stack(t columnar.DataType, parts []*vector, sizes []int) *vector {
	if len(parts) == 1 {
		return parts[0]
	}
	n := 0
	for _, s := range sizes {
		n += s
	}
	out := &scratch{}
	switch {
	case isList(t):
		stackLists(out, t, parts, sizes)
	case t.Kind == columnar.Row:
		for k, kt := range kidTypes(t) {
			out.kids = append(out.kids, stack(kt, kidsOf(parts, k), sizes))
		}
	case widthOf(t.Kind) == 0:
		to := out.growText(n)
		for p, v := range parts {
			to = to[copy(to, v.strs[:sizes[p]]):]
		}
	default:
		to := growWidth(out, widthOf(t.Kind), n)
		for p, v := range parts {
			to = to[copy(to, v.raw[:sizes[p]*widthOf(t.Kind)]):]
		}
	}
	out.valid = nil
	at := 0
	for p, v := range parts {
		for i := range sizes[p] {
			if !v.isValid(i) {
				out.setNull(at+i, n)
			}
		}
		at += sizes[p]
	}
	return &out.vector
}

func stackLists(out *scratch, t columnar.DataType, parts []*vector, sizes []int) {
	base := int32(0)
	counts := make([]int, len(parts))
	for p, v := range parts {
		counts[p] = v.elements(sizes[p])
		for i := range sizes[p] {
			out.from, out.to = append(out.from, v.from[i]+base), append(out.to, v.to[i]+base)
		}
		base += int32(counts[p])
	}
	for k, kt := range kidTypes(t) {
		out.kids = append(out.kids, stack(kt, kidsOf(parts, k), counts))
	}
}

func kidsOf(parts []*vector, k int) []*vector {
	out := make([]*vector, len(parts))
	for p, v := range parts {
		out[p] = v.kids[k]
	}
	return out
}

// typedToArrow copies the first n rows of v, whose type is t, into a new array of type at.
func typedToArrow(mem memory.Allocator, v *vector, t columnar.DataType, at arrow.DataType, n int) arrow.Array {
	if !isBuilt(t) {
		return toArrow(mem, v, t.Kind, at, n)
	}
	validity, nulls := packValid(mem, v, n)
	if validity != nil {
		defer validity.Release()
	}
	kids := kidTypes(t)
	if s, ok := at.(*arrow.StructType); ok {
		return structToArrow(mem, v.kids, kids, s, n, validity, nulls)
	}
	offsets := newBuffer(mem, 4*(n+1))
	defer offsets.Release()
	idx := spanned(v, arrow.Int32Traits.CastFromBytes(offsets.Bytes()), n)
	elems := make([]*vector, len(kids))
	for k := range kids {
		elems[k] = pick(v.kids[k], kids[k], idx)
	}
	var child arrow.Array
	if m, ok := at.(*arrow.MapType); ok {
		child = structToArrow(mem, elems, kids, m.Elem().(*arrow.StructType), len(idx), nil, 0)
	} else {
		child = typedToArrow(mem, elems[0], kids[0], at.(*arrow.ListType).Elem(), len(idx))
	}
	defer child.Release()
	data := array.NewData(at, n, []*memory.Buffer{validity, offsets}, []arrow.ArrayData{child.Data()}, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// spanned fills the offsets of lists and gives the places of their elements.
func spanned(v *vector, offsets []int32, n int) []int32 {
	var idx []int32
	offsets[0] = 0
	for i := range n {
		if v.isValid(i) {
			for j := v.from[i]; j < v.to[i]; j++ {
				idx = append(idx, j)
			}
		}
		offsets[i+1] = int32(len(idx))
	}
	return idx
}

func structToArrow(mem memory.Allocator, kids []*vector, types []columnar.DataType, at *arrow.StructType, n int, validity *memory.Buffer, nulls int) arrow.Array {
	children := make([]arrow.ArrayData, len(kids))
	for k := range kids {
		c := typedToArrow(mem, kids[k], types[k], at.Field(k).Type, n)
		defer c.Release()
		children[k] = c.Data()
	}
	data := array.NewData(at, n, []*memory.Buffer{validity}, children, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// packValid gives the validity of the first n rows, nil if all are valid.
func packValid(mem memory.Allocator, v *vector, n int) (bits *memory.Buffer, nulls int) {
	if v.valid == nil {
		return nil, 0
	}
	for _, ok := range v.valid[:n] {
		if !ok {
			nulls++
		}
	}
	if nulls == 0 {
		return nil, 0
	}
	return packBits(mem, v.valid[:n]), nulls
}

// merger makes one vector of rows of several.
type merger struct {
	t   columnar.DataType
	out scratch
	// parts are the vectors of nested values that rows were taken of, and idx their
	// places in the stack of those.
	parts []*vector
	idx   []int32
	n     int
}

// begin makes room for n rows, all NULL.
func (m *merger) begin(n int) {
	m.n = n
	if isBuilt(m.t) {
		m.parts, m.idx = m.parts[:0], make([]int32, n)
	} else {
		growKind(&m.out, m.t.Kind, n)
	}
	clear(m.out.growValid(n))
}

// take copies the chosen rows of v.
func (m *merger) take(v *vector, rows []bool) {
	if !isBuilt(m.t) {
		copyRows(&m.out, v, m.t.Kind, rows)
		return
	}
	base := int32(m.n * len(m.parts))
	m.parts = append(m.parts, v)
	for i, chosen := range rows {
		if chosen {
			m.out.valid[i] = v.isValid(i)
			m.idx[i] = base + int32(i)
		}
	}
}

func (m *merger) done() *vector {
	if !isBuilt(m.t) {
		return &m.out.vector
	}
	if len(m.parts) == 0 {
		return nullRows(m.t, m.n)
	}
	for i, ok := range m.out.valid {
		if !ok {
			m.idx[i] = -1
		}
	}
	sizes := make([]int, len(m.parts))
	for i := range sizes {
		sizes[i] = m.n
	}
	return pick(stack(m.t, m.parts, sizes), m.t, m.idx)
}
