package format

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"leat/internal/columnar"
)

var errUneven = errors.New("the parts of a nested value do not fit together")

// nestedReader turns the leaves of a nested column into arrays.
type nestedReader struct {
	root   *nestedNode
	leaves []*nestedLeaf
	schema *schema.Schema
	mem    memory.Allocator
}

// nestedNode is a node of the type wanted, with its place in the file.
type nestedNode struct {
	field columnar.Field
	typ   arrow.DataType
	// missing says that the file lacks the field: it is null.
	missing bool
	// slotDef is the definition level from which on the node has a slot: that of
	// an entry of the list around it. def is the level of a value that is there.
	slotDef, def int16
	// rep is the greatest repetition level at which a slot begins.
	rep  int16
	kids []*nestedNode
	// shape is a leaf at or below the node, whose levels tell its slots.
	shape *nestedLeaf
}

// nestedLeaf is a leaf of the file. Without a decoder, only its levels are read.
type nestedLeaf struct {
	columnReader
	shape leafShape
	pages leafPages
	// levelDef and levelRep are the levels of the batch.
	levelDef, levelRep []int16
}

func newNestedReader(f columnar.Field, n schema.Node, s *schema.Schema, mem memory.Allocator) (*nestedReader, error) {
	r := &nestedReader{schema: s, mem: mem}
	var err error
	if r.root, err = r.resolve(f, n, 0, 0); err != nil {
		return nil, fmt.Errorf("column %s: %w", f.Name, err)
	}
	return r, nil
}

// resolve finds f in the file: n is its node, slotDef and rep are the levels of the list around it.
func (r *nestedReader) resolve(f columnar.Field, n schema.Node, slotDef, rep int16) (*nestedNode, error) {
	return r.resolveAt(f, n, slotDef, slotDef, rep)
}

func (r *nestedReader) resolveAt(f columnar.Field, n schema.Node, def, slotDef, rep int16) (*nestedNode, error) {
	node := &nestedNode{field: f, typ: columnar.ArrowType(f.Type), slotDef: slotDef, def: def, rep: rep}
	switch n.RepetitionType() {
	case parquet.Repetitions.Optional:
		node.def++
	case parquet.Repetitions.Repeated:
		return nil, fmt.Errorf("field %s is repeated outside a list", n.Name())
	default:
	}
	group, isGroup := n.(*schema.GroupNode)
	if isGroup != f.Type.IsNested() {
		return nil, fmt.Errorf("field %s of type %s has another form in the file", n.Name(), f.Type)
	}
	if !isGroup {
		leaf, err := r.addLeaf(f, n, slotDef)
		node.shape = leaf
		return node, err
	}
	var err error
	if repeatedName(f.Type.Kind) == "" {
		err = r.resolveFields(node, group)
	} else {
		err = r.resolveEntries(node, group)
	}
	return node, err
}

// resolveEntries finds element, or key and value, of a list or map: by position, as their names vary.
func (r *nestedReader) resolveEntries(node *nestedNode, group *schema.GroupNode) error {
	kids := childFields(node.field.Type, 0, 0)
	if group.NumFields() != 1 || group.Field(0).RepetitionType() != parquet.Repetitions.Repeated {
		return fmt.Errorf("field %s of type %s has no repeated group in the file", group.Name(), node.field.Type)
	}
	repeated, ok := group.Field(0).(*schema.GroupNode)
	if !ok || repeated.NumFields() != len(kids) {
		return fmt.Errorf("field %s of type %s has another form in the file", group.Name(), node.field.Type)
	}
	for i, k := range kids {
		kid, err := r.resolve(k.Field, repeated.Field(i), node.def+1, node.rep+1)
		if err != nil {
			return err
		}
		node.kids = append(node.kids, kid)
	}
	node.shape = node.kids[0].shape
	return nil
}

// resolveFields finds the fields of a row by name, as Paimon does: the ids in a file tell only others.
func (r *nestedReader) resolveFields(node *nestedNode, group *schema.GroupNode) error {
	for _, k := range childFields(node.field.Type, 0, 0) {
		at := group.FieldIndexByName(k.Name)
		if at < 0 {
			node.kids = append(node.kids, &nestedNode{field: k.Field, typ: columnar.ArrowType(k.Type), missing: true})
			continue
		}
		kid, err := r.resolveAt(k.Field, group.Field(at), node.def, node.slotDef, node.rep)
		if err != nil {
			return err
		}
		node.kids = append(node.kids, kid)
		if node.shape == nil {
			node.shape = kid.shape
		}
	}
	if node.shape != nil {
		return nil
	}
	// None of the fields wanted is in the file: any leaf tells where the row is null.
	var n schema.Node = group
	for {
		g, ok := n.(*schema.GroupNode)
		if !ok {
			break
		}
		if g.NumFields() == 0 {
			return fmt.Errorf("field %s has no fields in the file", group.Name())
		}
		n = g.Field(0)
	}
	leaf, err := r.addLeaf(columnar.Field{Name: n.Name()}, n, 0)
	node.shape = leaf
	return err
}

// addLeaf adds the leaf n. A field without a type gets no decoder.
func (r *nestedReader) addLeaf(f columnar.Field, n schema.Node, slotDef int16) (*nestedLeaf, error) {
	at := r.schema.ColumnIndexByNode(n)
	if at < 0 {
		return nil, fmt.Errorf("field %s is no column of the file", n.Name())
	}
	col := r.schema.Column(at)
	leaf := &nestedLeaf{shape: leafShape{maxDef: col.MaxDefinitionLevel(), maxRep: col.MaxRepetitionLevel(), slotDef: slotDef}}
	leaf.columnReader = columnReader{field: f, mem: r.mem, leaf: at, optional: true}
	if f.Type.Kind != columnar.Invalid {
		leaf.typ = columnar.ArrowType(f.Type)
		var err error
		if leaf.readN, err = readFuncOf(f, col); err != nil {
			return nil, err
		}
	}
	r.leaves = append(r.leaves, leaf)
	return leaf, nil
}

// open starts the leaves of a row group and gives the offset of the first.
func (r *nestedReader) open(rg *file.RowGroupReader, pages *groupIndex) (int64, error) {
	for i, l := range r.leaves {
		l.columnReader.pages = pages
		cr, at, err := openChunk(rg, l.leaf)
		if i == 0 || err != nil {
			r.leaves[0].offset = at
		}
		if err != nil {
			return at, err
		}
		if l.pages, err = newLeafPages(cr, l.shape); err != nil {
			return at, err
		}
		l.cr = l.pages
	}
	return r.leaves[0].offset, nil
}

// read gives the next n rows.
func (r *nestedReader) read(n int) (arrow.Array, error) {
	for _, l := range r.leaves {
		var err error
		if l.levelDef, l.levelRep, err = l.pages.fill(n); err != nil {
			return nil, err
		}
	}
	a, err := r.root.build(r.mem, n)
	if err == nil && a.Len() != n {
		a.Release()
		return nil, errUneven
	}
	return a, err
}

// slots counts the slots of n in the batch.
func (n *nestedNode) slots() int {
	k := 0
	for i, d := range n.shape.levelDef {
		if d >= n.slotDef && n.shape.levelRep[i] <= n.rep {
			k++
		}
	}
	return k
}

// build makes the array of n; around is the number of slots of the row it is a field of.
func (n *nestedNode) build(mem memory.Allocator, around int) (arrow.Array, error) {
	if n.missing {
		return array.MakeArrayOfNull(mem, n.typ, around), nil
	}
	count := n.slots()
	switch {
	case !n.field.Type.IsNested():
		return n.shape.columnReader.read(count)
	case repeatedName(n.field.Type.Kind) == "":
		return n.buildRow(mem, count)
	default:
		return n.buildList(mem, count)
	}
}

func (n *nestedNode) buildRow(mem memory.Allocator, count int) (arrow.Array, error) {
	kids, err := n.buildKids(mem, count)
	defer releaseAll(kids)
	if err != nil {
		return nil, err
	}
	valid, nulls := n.validity(mem, count)
	return makeNested(n.typ, count, nulls, kids, valid), nil
}

// buildKids makes the arrays of the children, each count long.
func (n *nestedNode) buildKids(mem memory.Allocator, count int) ([]arrow.ArrayData, error) {
	kids := make([]arrow.ArrayData, 0, len(n.kids))
	for _, k := range n.kids {
		a, err := k.build(mem, count)
		if err != nil {
			return kids, err
		}
		kids = append(kids, a.Data())
		if a.Len() != count {
			return kids, errUneven
		}
	}
	return kids, nil
}

func (n *nestedNode) buildList(mem memory.Allocator, count int) (arrow.Array, error) {
	offBuf := memory.NewResizableBuffer(mem)
	offBuf.Resize((count + 1) * 4)
	offsets := arrow.Int32Traits.CastFromBytes(offBuf.Bytes())
	slot, entries := 0, 0
	for i, d := range n.shape.levelDef {
		r := n.shape.levelRep[i]
		if d >= n.slotDef && r <= n.rep {
			offsets[slot] = int32(entries)
			slot++
		}
		if d > n.def && r <= n.rep+1 {
			entries++
		}
	}
	offsets[slot] = int32(entries)
	if offsets[0] != 0 || entries > math.MaxInt32 {
		offBuf.Release()
		return nil, errUneven
	}
	kids, err := n.buildKids(mem, entries)
	defer releaseAll(kids)
	if err != nil {
		offBuf.Release()
		return nil, err
	}
	valid, nulls := n.validity(mem, count)
	m, ok := n.typ.(*arrow.MapType)
	if !ok {
		return makeNested(n.typ, count, nulls, kids, valid, offBuf), nil
	}
	pairs := makeNested(m.Elem(), entries, 0, kids, nil)
	defer pairs.Release()
	return makeNested(n.typ, count, nulls, []arrow.ArrayData{pairs.Data()}, valid, offBuf), nil
}

// validity gives the bitmap of the slots, nil without nulls.
func (n *nestedNode) validity(mem memory.Allocator, count int) (*memory.Buffer, int) {
	var buf *memory.Buffer
	slot, nulls := 0, 0
	for i, d := range n.shape.levelDef {
		if d < n.slotDef || n.shape.levelRep[i] > n.rep {
			continue
		}
		if d < n.def {
			if buf == nil {
				buf = memory.NewResizableBuffer(mem)
				buf.Resize(int(bitutil.BytesForBits(int64(count))))
				memory.Set(buf.Bytes(), 0xff)
			}
			bitutil.ClearBit(buf.Bytes(), slot)
			nulls++
		}
		slot++
	}
	return buf, nulls
}

// makeNested makes an array that takes over bufs.
func makeNested(t arrow.DataType, n, nulls int, kids []arrow.ArrayData, bufs ...*memory.Buffer) arrow.Array {
	data := array.NewData(t, n, bufs, kids, nulls, 0)
	defer data.Release()
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
	return array.MakeFromData(data)
}

func releaseAll(data []arrow.ArrayData) {
	for _, d := range data {
		d.Release()
	}
}
