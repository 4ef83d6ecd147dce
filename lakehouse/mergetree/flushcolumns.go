package mergetree

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// writeColumns writes the n changes of order as one file of w, column by column.
func (g *flushGather) writeColumns(ctx context.Context, w *fileWriter, order []uint32, n int) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	g.note(w, order, n)
	var refs []rowRef
	return w.writeColumns(ctx, n, func(col int, put func(arrow.Array) error) error {
		system, value := w.place(col)
		pick := func(from, to int) arrow.Array { return sequenceArray(g.sequences(order, from, to)) }
		switch {
		case system == systemKind:
			pick = func(from, to int) arrow.Array { return kindArray(g.kinds(order, from, to)) }
		case system < 0:
			if pick = g.keyPicker(value, order); pick == nil {
				pick = g.picker(g.cols[value], order, n)
			}
			if pick != nil {
				break
			}
			if refs == nil {
				refs = g.refsOf(order, n)
			}
			pick = func(from, to int) arrow.Array { return g.cols[value].gather(refs[from:to]) }
		}
		for from := 0; from < n; from += g.rows {
			if err := put(pick(from, min(n, from+g.rows))); err != nil {
				return err
			}
		}
		return nil
	})
}

// picker gives what takes rows from to to of order from a column by runs of
// rows, in order of arrival; nil where each row has to be looked for in its batch.
func (g *flushGather) picker(col gatherer, order []uint32, n int) func(from, to int) arrow.Array {
	s, ok := col.(stager)
	a := g.arrivals
	switch {
	case !ok:
		return nil
	case order == nil:
		return func(from, to int) arrow.Array { return s.gatherRuns(a, from, to) }
	case stageFactor*n < len(a.rows) || !s.stage(a, &g.room.stage):
		return nil
	default:
		return func(from, to int) arrow.Array { return s.gatherStaged(order[from:to]) }
	}
}

// keyPicker gives what takes the column of a key that is one integer from the
// normalised keys, which are in order already; nil for other columns.
func (g *flushGather) keyPicker(col int, order []uint32) func(from, to int) arrow.Array {
	if order == nil || !g.arrivals.short || len(g.layout.Keys) != 1 || col != g.layout.Keys[0] {
		return nil
	}
	switch key := g.cols[col].(type) {
	case *gatherFixed[int64]:
		if g.layout.Columns.Fields[col].Type.Kind == columnar.Double {
			return nil
		}
		return func(from, to int) arrow.Array {
			key.out = scratch(&key.out, 8*(to-from), false)
			out := key.cast(key.out)
			for i, p := range g.sorted[from:to] {
				out[i] = int64(p.key ^ 1<<63)
			}
			return key.array(to-from, 0, nil, memory.NewBufferBytes(key.out))
		}
	case *gatherFixed[int32]:
		if g.layout.Columns.Fields[col].Type.Kind == columnar.Float {
			return nil
		}
		return func(from, to int) arrow.Array {
			key.out = scratch(&key.out, 4*(to-from), false)
			out := key.cast(key.out)
			for i, p := range g.sorted[from:to] {
				out[i] = int32(p.key>>32 ^ 1<<31)
			}
			return key.array(to-from, 0, nil, memory.NewBufferBytes(key.out))
		}
	default:
		return nil
	}
}

// stageFactor is how many times as many changes as rows of the file may be staged.
const stageFactor = 4

func (g *flushGather) refsOf(order []uint32, n int) []rowRef {
	g.arrivals.locate(g.room)
	if order == nil {
		return g.arrivals.refs
	}
	g.refs = scratch(&g.refs, n, false)
	for i, at := range order {
		g.refs[i] = g.arrivals.refs[at]
	}
	return g.refs
}

// note keeps what the metadata of the file needs of the n changes of order: the keys stand in the outermost rows.
func (g *flushGather) note(w *fileWriter, order []uint32, n int) {
	a := g.arrivals
	first, last := a.ref(place(order, 0)), a.ref(place(order, n-1))
	w.minKey = w.keys.Encode(g.batches[first.batch], int(first.row)).Clone()
	w.maxKey = w.keys.Encode(g.batches[last.batch], int(last.row)).Clone()
	w.keys.Unbind()
	lo, hi := uint32(0), uint32(n-1)
	if order != nil {
		lo, hi = order[0], order[0]
		for _, at := range order {
			lo, hi = min(lo, at), max(hi, at)
		}
	}
	w.minSeq, w.maxSeq = g.base+a.seq(lo), g.base+a.seq(hi)
	if a.marks == nil {
		return
	}
	for i := range n {
		if a.kind(place(order, i)).Retracts() {
			w.dels++
		}
	}
}
