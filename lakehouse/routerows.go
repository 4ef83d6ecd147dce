package lakehouse

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/internal/columnar"
)

// insertAll hands over rows that are all inserted into one partition, with short keys.
func (r *router) insertAll(w *Writer, rows int) {
	bufs := r.bufs[:0]
	for i := range rows {
		no := int32(0)
		if r.bucket != nil && !r.postponed {
			no = r.nos[i]
		}
		for int(no) >= len(bufs) {
			bufs = append(bufs, nil)
		}
		if bufs[no] == nil {
			bufs[no] = r.place(w, i).buf
		}
		bufs[no].AddInsert(r.short[i], r.n, uint32(i))
	}
	clear(bufs)
	r.bufs = bufs
}

// update routes the pair of rows i (-U) and i+1 (+U). Within one place the old
// row only matters to the changelog. A row that moves to another place leaves
// the old one with -D before it enters the new one with +I.
func (r *router) update(w *Writer, i int) {
	old, now := r.place(w, i), r.place(w, i+1)
	if old == now && r.sameKey(i, i+1) {
		switch {
		case r.noMinus || r.noUB:
		case r.keepBefore:
			r.add(old, i, columnar.UpdateBefore, false)
		case r.input:
			r.add(old, i, columnar.UpdateBefore, true)
		default:
			old.buf.Skip()
		}
		r.add(now, i+1, columnar.UpdateAfter, false)
		return
	}
	if !r.noMinus {
		r.add(old, i, columnar.Delete, false)
	}
	r.add(now, i+1, columnar.Insert, false)
}

// countNulls has an array know its nulls: arrays count them when they are first
// asked, and the buckets that rows of one batch go to are flushed side by side.
func countNulls(a arrow.Array) {
	a.NullN()
	switch v := a.(type) {
	case *array.Struct:
		for i := range v.NumField() {
			countNulls(v.Field(i))
		}
	case *array.Map:
		countNulls(v.Keys())
		countNulls(v.Items())
	case *array.List:
		countNulls(v.ListValues())
	}
}
