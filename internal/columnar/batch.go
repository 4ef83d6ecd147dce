package columnar

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Batch is a piece of a change stream: Cols[i] holds column i of Schema for all
// rows, in the Arrow form given by ArrowType. Kinds holds one kind a row; nil
// means that every row is +I. An update is two neighbouring rows, -U then +U;
// a pair is never split over two batches.
//
// A Batch is made with one reference, which its receiver owns. It may be read
// by several goroutines at once.
type Batch struct {
	Schema *Schema
	Kinds  []RowKind
	Cols   []arrow.Array

	rows int
	refs *atomic.Int64
}

// NewBatch makes a batch of rows rows that takes over one reference of every
// array in cols.
func NewBatch(schema *Schema, kinds []RowKind, cols []arrow.Array, rows int) *Batch {
	b := &Batch{Schema: schema, Kinds: kinds, Cols: cols, rows: rows, refs: new(atomic.Int64)}
	b.refs.Store(1)
	return b
}

// Rows is the number of rows.
func (b *Batch) Rows() int { return b.rows }

// Kind gives the kind of row i.
func (b *Batch) Kind(i int) RowKind {
	if b.Kinds == nil {
		return Insert
	}
	return b.Kinds[i]
}

// Retain adds a reference.
func (b *Batch) Retain() { b.refs.Add(1) }

// Release gives one reference back; the last one releases the arrays.
func (b *Batch) Release() {
	switch n := b.refs.Add(-1); {
	case n == 0:
		for _, c := range b.Cols {
			c.Release()
		}
		b.Cols = nil
	case n < 0:
		panic("columnar: batch released too often")
	}
}

// Bytes estimates the memory that the arrays hold, sliced arrays by their share.
func (b *Batch) Bytes() int64 {
	n := int64(len(b.Kinds))
	for _, c := range b.Cols {
		n += ArrayBytes(c)
	}
	return n
}

// ArrayBytes estimates the memory behind the rows of a, children of nested arrays included.
func ArrayBytes(a arrow.Array) int64 {
	rows := int64(a.Len())
	n := rows / 8
	switch v := a.(type) {
	case *array.String:
		n += 4*rows + int64(len(v.ValueBytes()))
	case *array.Binary:
		n += 4*rows + int64(len(v.ValueBytes()))
	case *array.Map:
		n += 4*rows + ArrayBytes(v.Keys()) + ArrayBytes(v.Items())
	case *array.List:
		n += 4*rows + ArrayBytes(v.ListValues())
	case *array.Struct:
		for i := range v.NumField() {
			n += ArrayBytes(v.Field(i))
		}
	default:
		if w, ok := a.DataType().(arrow.FixedWidthDataType); ok {
			n += (rows*int64(w.BitWidth()) + 7) / 8
		}
	}
	return n
}
