package mergetree

import (
	"cmp"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// partTypes gives the types of the arrays that a nested type is made of.
func partTypes(t columnar.DataType) ([]columnar.DataType, error) {
	switch t.Kind {
	case columnar.Array:
		return []columnar.DataType{*t.Elem}, nil
	case columnar.Map:
		return []columnar.DataType{*t.Key, *t.Elem}, nil
	case columnar.Multiset:
		return []columnar.DataType{*t.Elem, columnar.Of(columnar.Int)}, nil
	case columnar.Row:
		var out []columnar.DataType
		for _, f := range t.Fields {
			out = append(out, f.Type)
		}
		return out, nil
	case columnar.Variant:
		return []columnar.DataType{columnar.BytesType(), columnar.BytesType()}, nil
	default:
		return nil, fmt.Errorf("columns of type %s cannot be merged yet", t)
	}
}

// isRow says that a type's parts have a row for every row of it; those of the others have one an entry.
func isRow(t columnar.DataType) bool { return t.Kind == columnar.Row || t.Kind == columnar.Variant }

// newGatherNested makes the gatherer of a nested type out of those of its parts.
func newGatherNested(base gatherBase, t columnar.DataType) (gatherer, error) {
	parts, err := partTypes(t)
	if err != nil {
		return nil, err
	}
	kids := make([]gatherer, len(parts))
	for i, p := range parts {
		if kids[i], err = newGatherer(p, base.keep); err != nil {
			return nil, err
		}
	}
	if isRow(t) {
		return &gatherRows{gatherBase: base, kids: kids}, nil
	}
	return &gatherLists{gatherBase: base, kids: kids}, nil
}

// parts collects one array a batch for every part of a nested type.
type parts [][]arrow.Array

func (p *parts) reset(n int) {
	if len(*p) != n {
		*p = make(parts, n)
	}
	for i := range *p {
		clear((*p)[i])
		(*p)[i] = (*p)[i][:0]
	}
}

// bindRows takes the fields of structs.
func (p *parts) bindRows(n int, arrs []arrow.Array) {
	p.reset(n)
	for _, a := range arrs {
		for i := range n {
			(*p)[i] = append((*p)[i], a.(*array.Struct).Field(i))
		}
	}
}

// bindLists takes the entries of lists and maps and gives the offsets of each batch.
func (p *parts) bindLists(n int, arrs []arrow.Array, starts [][]int32) [][]int32 {
	p.reset(n)
	for _, a := range arrs {
		var offsets []int32
		switch v := a.(type) {
		case *array.Map:
			offsets = v.Offsets()
			(*p)[0] = append((*p)[0], v.Keys())
			(*p)[1] = append((*p)[1], v.Items())
		case *array.List:
			offsets = v.Offsets()
			(*p)[0] = append((*p)[0], v.ListValues())
		}
		starts = append(starts, offsets[min(a.Data().Offset(), len(offsets)):])
	}
	return starts
}

// nested gives an array with children, which it takes over.
func (g *gatherBase) nested(t arrow.DataType, n, nulls int, kids []arrow.Array, bufs ...*memory.Buffer) arrow.Array {
	data := make([]arrow.ArrayData, len(kids))
	for i, k := range kids {
		data[i] = k.Data()
	}
	d := array.NewData(t, n, bufs, data, nulls, 0)
	defer d.Release()
	for _, k := range kids {
		k.Release()
	}
	return array.MakeFromData(d)
}

// gatherRows handles structs: the rows of every field are those of the struct.
type gatherRows struct {
	gatherBase
	kids  []gatherer
	parts parts
}

func (g *gatherRows) bind(arrs []arrow.Array) {
	g.bindNulls(arrs)
	g.parts.bindRows(len(g.kids), arrs)
	for i, k := range g.kids {
		k.bind(g.parts[i])
	}
}

func (g *gatherRows) gather(refs []rowRef) arrow.Array {
	kids := make([]arrow.Array, len(g.kids))
	for i, k := range g.kids {
		kids[i] = k.gather(refs)
	}
	bits, nulls := g.gatherNulls(refs)
	return g.nested(g.typ, len(refs), nulls, kids, bits)
}

// gatherLists handles lists and maps: their entries are rows of the parts.
type gatherLists struct {
	gatherBase
	kids    []gatherer
	parts   parts
	starts  [][]int32
	entries []rowRef
	out     []int32
}

func (g *gatherLists) bind(arrs []arrow.Array) {
	g.bindNulls(arrs)
	g.starts = g.parts.bindLists(len(g.kids), arrs, g.starts[:0])
	for i, k := range g.kids {
		k.bind(g.parts[i])
	}
}

func (g *gatherLists) gather(refs []rowRef) arrow.Array {
	offs := scratch(&g.out, len(refs)+1, g.keep)
	offs[0] = 0
	g.entries = g.entries[:0]
	for i, r := range refs {
		starts := g.starts[r.batch]
		for e := starts[r.row]; e < starts[r.row+1]; e++ {
			g.entries = append(g.entries, rowRef{batch: r.batch, row: uint32(e)})
		}
		offs[i+1] = int32(len(g.entries))
	}
	kids := make([]arrow.Array, len(g.kids))
	for i, k := range g.kids {
		kids[i] = k.gather(g.entries)
	}
	bits, nulls := g.gatherNulls(refs)
	buf := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offs))
	m, ok := g.typ.(*arrow.MapType)
	if !ok {
		return g.nested(g.typ, len(refs), nulls, kids, bits, buf)
	}
	pairs := g.nested(m.Elem(), len(g.entries), 0, kids, nil)
	return g.nested(g.typ, len(refs), nulls, []arrow.Array{pairs}, bits, buf)
}

// newOrderNested makes the order of a nested type: that of its first part that
// differs. It tells whether values are equal; Paimon does not sort by them.
func newOrderNested(t columnar.DataType) (valueOrder, error) {
	types, err := partTypes(t)
	if err != nil {
		return nil, err
	}
	o := &orderNested{lists: !isRow(t)}
	for _, p := range types {
		k, err := newValueOrder(p)
		if err != nil {
			return nil, err
		}
		o.kids = append(o.kids, k)
	}
	return o, nil
}

// orderNested compares nested values; entries of maps in the order that they have.
type orderNested struct {
	gatherBase
	lists  bool
	kids   []valueOrder
	parts  parts
	starts [][]int32
}

func (o *orderNested) bind(arrs []arrow.Array) {
	o.bindNulls(arrs)
	if o.lists {
		o.starts = o.parts.bindLists(len(o.kids), arrs, o.starts[:0])
	} else {
		o.parts.bindRows(len(o.kids), arrs)
	}
	for i, k := range o.kids {
		k.bind(o.parts[i])
	}
}

func (o *orderNested) compare(a, b rowRef) int {
	if c, done := o.compareNulls(a, b); done {
		return c
	}
	if !o.lists {
		return o.compareParts(a, b)
	}
	x, y := o.starts[a.batch][a.row:][:2], o.starts[b.batch][b.row:][:2]
	for i := range min(x[1]-x[0], y[1]-y[0]) {
		c := o.compareParts(rowRef{batch: a.batch, row: uint32(x[0] + i)}, rowRef{batch: b.batch, row: uint32(y[0] + i)})
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(x[1]-x[0], y[1]-y[0])
}

func (o *orderNested) compareParts(a, b rowRef) int {
	for _, k := range o.kids {
		if c := k.compare(a, b); c != 0 {
			return c
		}
	}
	return 0
}
