package mergetree

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// bindEngine makes what the layout's engine needs over the batches.
func (g *flushGather) bindEngine() error {
	e := g.layout.Engine
	if e == nil || g.layout.Append || g.layout.Postponed {
		return nil
	}
	var err error
	if g.order, err = newRowOrder(g.layout.Columns, e.sequence, e.spec.Descending); err != nil {
		return err
	}
	if e.spec.Folds() {
		if g.folder, err = newFolder(e, g.layout.Columns, false); err != nil {
			return err
		}
	}
	arrs := make([]arrow.Array, len(g.batches))
	for c := range g.layout.Columns.Fields {
		for i, n := range g.batches {
			arrs[i] = n.Cols[c]
		}
		g.order.bind(c, arrs)
		if g.folder != nil {
			g.folder.bind(c, arrs)
		}
	}
	return nil
}

// orderKeys puts the sorted changes of each key in the order of the sequence fields.
func (g *flushGather) orderKeys(ps []pair) {
	if g.order == nil {
		return
	}
	for from := 0; from < len(ps); {
		to := g.arrivals.keyEnd(ps, from)
		if to-from > 1 {
			slices.SortStableFunc(ps[from:to], func(x, y pair) int {
				return g.order.compare(g.arrivals.ref(x.at), g.arrivals.ref(y.at))
			})
		}
		from = to
	}
}

// keyEnd gives where the changes end that have the key of change i of the sorted ps.
func (a *arrivals) keyEnd(ps []pair, i int) int {
	for from := i; i < len(ps) && a.sameKey(&ps[from], &ps[i]); {
		i++
	}
	return i
}

// layers cuts the sorted changes so that in each layer the changes of a key may
// be merged: a -D that removes the row stands alone, and so does a retraction
// that comes before anything it could retract from. Most buffers are one layer.
func (a *arrivals) layers(ps []pair, s *EngineSpec) [][]pair {
	ps = slices.DeleteFunc(ps, func(p pair) bool {
		return a.logOnly(p.at) || s.IgnoreDelete && a.kind(p.at).Retracts()
	})
	deletes, retracts := s.splitsDeletes(), s.splitsRetracts()
	if !deletes && !retracts || !slices.ContainsFunc(ps, func(p pair) bool { return a.kind(p.at).Retracts() }) {
		return [][]pair{ps}
	}
	var out [][]pair
	put := func(layer int, ps ...pair) {
		for len(out) <= layer {
			out = append(out, nil)
		}
		out[layer] = append(out[layer], ps...)
	}
	for from := 0; from < len(ps); {
		to := a.keyEnd(ps, from)
		layer, start := 0, from
		for i := from; i < to; i++ {
			k := a.kind(ps[i].at)
			if deletes && k == columnar.Delete || retracts && k.Retracts() && i == start {
				if i > start {
					put(layer, ps[start:i]...)
					layer++
				}
				put(layer, ps[i])
				layer, start = layer+1, i+1
			}
		}
		if start < to {
			put(layer, ps[start:to]...)
		}
		from = to
	}
	return out
}

// writeFolded writes a layer, the changes of each key merged.
func (g *flushGather) writeFolded(ctx context.Context, ps []pair, files Files, stats StatsPlan) ([]spec.DataFileMeta, error) {
	w, err := newFileWriter(g.layout, files, 0, spec.SourceAppend, stats)
	if err != nil {
		return nil, err
	}
	defer w.abort(ctx)
	a := g.arrivals
	for len(ps) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g.groups.reset()
		n := 0
		for ; n < len(ps); n++ {
			p := &ps[n]
			if n > 0 && !a.sameKey(&ps[n-1], p) {
				g.groups.end()
				if len(g.groups.from) >= g.rows {
					break
				}
			}
			g.groups.add(a.ref(p.at), g.base+a.seq(p.at), int8(a.kind(p.at)), 0)
		}
		g.groups.end()
		ps = ps[n:]
		c, err := g.folder.fold(&g.groups, false, nil)
		if err == nil {
			err = w.write(ctx, c)
		}
		if err != nil {
			g.discard(ctx, files, w.done)
			return nil, err
		}
	}
	if err := w.finish(ctx); err != nil {
		return nil, err
	}
	return w.done, nil
}
