package format

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// pieceLevels is about how many levels go to the library at once. A piece ends
// with a row, so that pages do too unless one row alone is larger.
const pieceLevels = 2048

// levelNode is a node of a nested column on its way into levels.
type levelNode struct {
	name     string
	kind     columnar.Kind
	nullable bool
	// def is the definition level of a value that is there, rep the repetition
	// level of a list's entries after its first.
	def, rep int16
	kids     []*levelNode
	// leaf is the number of a leaf among those of the column.
	leaf int

	// present are the slots after the nulls of this node, entries those of its list.
	present, entries slots
	live             []int32
	compact          compactor
}

// slots is the state of a path from the root to a leaf, one entry a pair of levels.
type slots struct {
	def, rep []int16
	// at is the position in the array at hand, -1 where the path ended further up.
	at []int32
}

func (s *slots) resize(n int) {
	s.def, s.rep, s.at = grow(s.def, n), grow(s.rep, n), grow(s.at, n)
}

func newLevelNode(f columnar.Field, def, rep int16, leaf *int) *levelNode {
	n := &levelNode{name: f.Name, kind: f.Type.Kind, nullable: f.Type.Nullable, def: def}
	if n.nullable {
		n.def++
	}
	if !f.Type.IsNested() {
		n.leaf = *leaf
		*leaf++
		return n
	}
	below := n.def
	if repeatedName(n.kind) != "" {
		n.rep, below = rep+1, n.def+1
		rep = n.rep
	}
	for _, c := range childFields(f.Type, 0, 0) {
		n.kids = append(n.kids, newLevelNode(c.Field, below, rep, leaf))
	}
	return n
}

// write turns all of a into levels and values of the leaves.
func (n *levelNode) write(leaves []columnWriter, a arrow.Array) error {
	s := &n.entries // free until the node expands its list, which reads present only
	s.resize(a.Len())
	clear(s.def)
	clear(s.rep)
	for i := range s.at {
		s.at[i] = int32(i)
	}
	return n.expand(leaves, a, s)
}

// expand takes the slots of a one node further down.
func (n *levelNode) expand(leaves []columnWriter, a arrow.Array, in *slots) error {
	s, err := n.applyNulls(a, in)
	if err != nil {
		return err
	}
	switch v := a.(type) {
	case *array.Struct:
		if len(n.kids) != v.NumField() {
			return fmt.Errorf("field %s has %d fields, want %d", n.name, v.NumField(), len(n.kids))
		}
		for i, k := range n.kids {
			if err := k.expand(leaves, v.Field(i), s); err != nil {
				return err
			}
		}
		return nil
	case *array.Map:
		if len(n.kids) != 2 {
			return fmt.Errorf("field %s is no map", n.name)
		}
		e := n.expandList(v.Offsets()[v.Data().Offset():], s)
		if err := n.kids[0].expand(leaves, v.Keys(), e); err != nil {
			return err
		}
		return n.kids[1].expand(leaves, v.Items(), e)
	case *array.List:
		if len(n.kids) != 1 {
			return fmt.Errorf("field %s is no list", n.name)
		}
		return n.kids[0].expand(leaves, v.ListValues(), n.expandList(v.Offsets()[v.Data().Offset():], s))
	default:
		if len(n.kids) > 0 {
			return fmt.Errorf("field %s has values of %s", n.name, a.DataType())
		}
		return n.put(&leaves[n.leaf], a, s)
	}
}

// applyNulls ends the paths at nulls of a.
func (n *levelNode) applyNulls(a arrow.Array, in *slots) (*slots, error) {
	var valid []byte
	off := a.Data().Offset()
	if a.NullN() > 0 {
		valid = a.NullBitmapBytes()
	}
	if !n.nullable {
		if valid != nil {
			for _, at := range in.at {
				if at >= 0 && !bitutil.BitIsSet(valid, off+int(at)) {
					return nil, fmt.Errorf("a null in field %s, which is NOT NULL", n.name)
				}
			}
		}
		return in, nil
	}
	s := &n.present
	s.resize(len(in.at))
	copy(s.rep, in.rep)
	for i, at := range in.at {
		switch {
		case at < 0:
			s.def[i], s.at[i] = in.def[i], -1
		case valid != nil && !bitutil.BitIsSet(valid, off+int(at)):
			s.def[i], s.at[i] = n.def-1, -1
		default:
			s.def[i], s.at[i] = n.def, at
		}
	}
	return s, nil
}

// expandList makes one slot an entry of the lists; offsets[i] is where list i begins.
func (n *levelNode) expandList(offsets []int32, in *slots) *slots {
	total := 0
	for _, at := range in.at {
		if at < 0 || offsets[at] == offsets[at+1] {
			total++
		} else {
			total += int(offsets[at+1] - offsets[at])
		}
	}
	s := &n.entries
	if s == in { // the root of a NOT NULL column
		s = &n.present
	}
	s.resize(total)
	k := 0
	for i, at := range in.at {
		if at < 0 || offsets[at] == offsets[at+1] {
			s.def[k], s.rep[k], s.at[k] = in.def[i], in.rep[i], -1
			k++
			continue
		}
		from, to := offsets[at], offsets[at+1]
		first := k
		for e := from; e < to; e++ {
			s.def[k], s.rep[k], s.at[k] = n.def+1, n.rep, e
			k++
		}
		s.rep[first] = in.rep[i]
	}
	return s
}

// put writes the leaf a.
func (n *levelNode) put(c *columnWriter, a arrow.Array, s *slots) error {
	n.live = n.live[:0]
	whole := true
	for _, at := range s.at {
		if at >= 0 {
			whole = whole && (len(n.live) == 0 || at == n.live[len(n.live)-1]+1)
			n.live = append(n.live, at)
		}
	}
	var dense arrow.Array
	if whole && len(n.live) > 0 {
		dense = array.NewSlice(a, int64(n.live[0]), int64(n.live[0])+int64(len(n.live)))
	} else {
		var err error
		if dense, err = n.compact.take(a, n.live); err != nil {
			return fmt.Errorf("field %s: %w", n.name, err)
		}
	}
	defer dense.Release()
	defer func() { c.rep = nil }()
	for from, value := 0, 0; from < len(s.def); {
		to := min(from+pieceLevels, len(s.def))
		for to < len(s.def) && s.rep[to] != 0 {
			to++
		}
		values := 0
		for _, at := range s.at[from:to] {
			if at >= 0 {
				values++
			}
		}
		piece := array.NewSlice(dense, int64(value), int64(value+values))
		c.rep = s.rep[from:to]
		err := c.put(c, piece, s.def[from:to], nil)
		piece.Release()
		if err != nil {
			return err
		}
		from, value = to, value+values
	}
	return nil
}

// compactor collects values of leaves that do not follow each other, in memory that it reuses.
type compactor struct {
	offsets []int32
	bytes   []byte
}

// take gives the values of a at idx, none of them null. The array is valid until the next take.
func (c *compactor) take(a arrow.Array, idx []int32) (arrow.Array, error) {
	var bufs []*memory.Buffer
	switch t := a.DataType().(type) {
	case *arrow.BooleanType:
		c.bytes = grow(c.bytes, int(bitutil.BytesForBits(int64(len(idx)))))
		clear(c.bytes)
		if v, ok := a.(*array.Boolean); ok {
			for i, at := range idx {
				if v.Value(int(at)) {
					bitutil.SetBit(c.bytes, i)
				}
			}
		}
	case *arrow.StringType, *arrow.BinaryType:
		c.takeTexts(a, idx)
		bufs = append(bufs, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(c.offsets)))
	case arrow.FixedWidthDataType:
		width := t.Bytes()
		src := fixedBytes(a, width)
		c.bytes = grow(c.bytes, len(idx)*width)
		switch width {
		case 4:
			takeFixed(arrow.Uint32Traits.CastFromBytes(c.bytes), arrow.Uint32Traits.CastFromBytes(src), idx)
		case 8:
			takeFixed(arrow.Uint64Traits.CastFromBytes(c.bytes), arrow.Uint64Traits.CastFromBytes(src), idx)
		default:
			for i, at := range idx {
				copy(c.bytes[i*width:(i+1)*width], src[int(at)*width:])
			}
		}
	default:
		return nil, fmt.Errorf("no values of %s in a file", t)
	}
	bufs = append(append([]*memory.Buffer{nil}, bufs...), memory.NewBufferBytes(c.bytes))
	data := array.NewData(a.DataType(), len(idx), bufs, nil, 0, 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

func takeFixed[T any](dst, src []T, idx []int32) {
	for i, at := range idx {
		dst[i] = src[at]
	}
}

func (c *compactor) takeTexts(a arrow.Array, idx []int32) {
	var offsets []int32
	if a.Len() > 0 {
		offsets = arrow.Int32Traits.CastFromBytes(a.Data().Buffers()[1].Bytes())[a.Data().Offset():]
	}
	var values []byte
	if buf := a.Data().Buffers()[2]; buf != nil {
		values = buf.Bytes()
	}
	c.offsets = grow(c.offsets, len(idx)+1)
	c.bytes = c.bytes[:0]
	c.offsets[0] = 0
	for i, at := range idx {
		c.bytes = append(c.bytes, values[offsets[at]:offsets[at+1]]...)
		c.offsets[i+1] = int32(len(c.bytes))
	}
}
