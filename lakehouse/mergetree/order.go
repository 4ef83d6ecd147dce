package mergetree

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// valueOrder compares values of a column in rows of several batches; null is the least.
type valueOrder interface {
	bind(arrs []arrow.Array)
	isNull(r rowRef) bool
	compare(a, b rowRef) int
}

func newValueOrder(t columnar.DataType) (valueOrder, error) {
	switch t.Kind {
	case columnar.Boolean:
		return &orderBools{}, nil
	case columnar.TinyInt:
		return newOrder(arrow.Int8Traits.CastFromBytes, 1, cmp.Compare[int8]), nil
	case columnar.SmallInt:
		return newOrder(arrow.Int16Traits.CastFromBytes, 2, cmp.Compare[int16]), nil
	case columnar.Int, columnar.Date, columnar.Time:
		return newOrder(arrow.Int32Traits.CastFromBytes, 4, cmp.Compare[int32]), nil
	case columnar.BigInt, columnar.Timestamp, columnar.TimestampLTZ:
		return newOrder(arrow.Int64Traits.CastFromBytes, 8, cmp.Compare[int64]), nil
	case columnar.Float:
		return newOrder(arrow.Uint32Traits.CastFromBytes, 4, func(a, b uint32) int { return cmp.Compare(orderedFloat32(a), orderedFloat32(b)) }), nil
	case columnar.Double:
		return newOrder(arrow.Uint64Traits.CastFromBytes, 8, func(a, b uint64) int { return cmp.Compare(orderedFloat64(a), orderedFloat64(b)) }), nil
	case columnar.Decimal:
		return newOrder(arrow.Decimal128Traits.CastFromBytes, 16, func(a, b decimal128.Num) int { return a.Cmp(b) }), nil
	case columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		return &orderTexts{}, nil
	default:
		return newOrderNested(t)
	}
}

type orderFixed[T any] struct {
	gatherFixed[T]
	cmp func(a, b T) int
}

func newOrder[T any](cast func([]byte) []T, width int, c func(a, b T) int) *orderFixed[T] {
	return &orderFixed[T]{gatherFixed: gatherFixed[T]{cast: cast, width: width}, cmp: c}
}

func (o *orderFixed[T]) compare(a, b rowRef) int {
	if c, done := o.compareNulls(a, b); done {
		return c
	}
	return o.cmp(o.srcs[a.batch][a.row], o.srcs[b.batch][b.row])
}

type orderBools struct{ gatherBools }

func (o *orderBools) compare(a, b rowRef) int {
	if c, done := o.compareNulls(a, b); done {
		return c
	}
	x, y := o.srcs[a.batch].Value(int(a.row)), o.srcs[b.batch].Value(int(b.row))
	switch {
	case x == y:
		return 0
	case y:
		return -1
	default:
		return 1
	}
}

type orderTexts struct{ gatherTexts }

func (o *orderTexts) compare(a, b rowRef) int {
	if c, done := o.compareNulls(a, b); done {
		return c
	}
	return bytes.Compare(o.value(a), o.value(b))
}

// value gives the bytes of a row.
func (g *gatherTexts) value(r rowRef) []byte {
	starts := g.starts[r.batch]
	return g.srcs[r.batch][starts[r.row]:starts[r.row+1]]
}

func (g *gatherBase) compareNulls(a, b rowRef) (c int, done bool) {
	if !g.hasNulls {
		return 0, false
	}
	switch x, y := g.isNull(a), g.isNull(b); {
	case x && y:
		return 0, true
	case x:
		return -1, true
	case y:
		return 1, true
	default:
		return 0, false
	}
}

// rowOrder compares rows by several columns.
type rowOrder struct {
	cols       []int
	orders     []valueOrder
	descending bool
}

// newRowOrder makes the order by the columns at cols; nil without columns.
func newRowOrder(columns *columnar.Schema, cols []int, descending bool) (*rowOrder, error) {
	if len(cols) == 0 {
		return nil, nil //nolint:nilnil // no order is wanted
	}
	o := &rowOrder{cols: cols, descending: descending}
	for _, c := range cols {
		f := columns.Fields[c]
		if f.Type.IsNested() {
			return nil, fmt.Errorf("ordering by column %s: values of type %s have no order", f.Name, f.Type)
		}
		v, err := newValueOrder(f.Type)
		if err != nil {
			return nil, fmt.Errorf("ordering by column %s: %w", f.Name, err)
		}
		o.orders = append(o.orders, v)
	}
	return o, nil
}

// bind takes the arrays of a column of the table, if the order looks at it.
func (o *rowOrder) bind(col int, arrs []arrow.Array) {
	if o == nil {
		return
	}
	for i, c := range o.cols {
		if c == col {
			o.orders[i].bind(arrs)
		}
	}
}

// bindRows takes the batches that references are about.
func (o *rowOrder) bindRows(live []*Rows) {
	if o == nil {
		return
	}
	arrs := make([]arrow.Array, len(live))
	for i, c := range o.cols {
		for k, r := range live {
			arrs[k] = r.Values[c]
		}
		o.orders[i].bind(arrs)
	}
}

func (o *rowOrder) compare(a, b rowRef) int {
	for _, v := range o.orders {
		c := v.compare(a, b)
		if c == 0 {
			continue
		}
		if o.descending && !v.isNull(a) && !v.isNull(b) {
			return -c
		}
		return c
	}
	return 0
}

// empty reports that all columns of a row are null.
func (o *rowOrder) empty(r rowRef) bool {
	for _, v := range o.orders {
		if !v.isNull(r) {
			return false
		}
	}
	return true
}

// isNull reports whether the value of a row is null.
func (g *gatherBase) isNull(r rowRef) bool {
	v := g.valid[r.batch]
	return v != nil && v[(g.offs[r.batch]+int(r.row))>>3]>>((g.offs[r.batch]+int(r.row))&7)&1 == 0
}

// nullRow gives a one-row null array of a type, to gather nulls from.
func nullRow(t columnar.DataType) arrow.Array {
	b := array.NewBuilder(arrowPool, columnar.ArrowType(t))
	defer b.Release()
	b.AppendNull()
	return b.NewArray()
}
