package mergetree

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// bindEngine makes what the layout's engine needs over the batches of b.
func (g *flushGather) bindEngine(b *Buffer, batches []*columnar.Batch) error {
	e := g.layout.Engine
	if e == nil {
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
	arrs := make([]arrow.Array, len(b.batches))
	for c := range g.layout.Columns.Fields {
		for i, n := range b.batches {
			arrs[i] = batches[n].Cols[c]
		}
		g.order.bind(c, arrs)
		if g.folder != nil {
			g.folder.bind(c, arrs)
		}
	}
	return nil
}

// orderKeys puts the changes of each key of the sorted buffer in the order of the sequence fields.
func (g *flushGather) orderKeys(b *Buffer) error {
	if g.order == nil {
		return nil
	}
	for from := 0; from < len(b.entries); {
		to := b.keyEnd(from)
		if to-from > 1 {
			slices.SortStableFunc(b.entries[from:to], func(x, y entry) int {
				return g.order.compare(rowRef{x.batch(), x.row}, rowRef{y.batch(), y.row})
			})
		}
		from = to
	}
	return nil
}

// keyEnd gives where the changes end that have the key of entry i.
func (b *Buffer) keyEnd(i int) int {
	for from := i; i < len(b.entries) && b.sameKey(&b.entries[from], &b.entries[i]); {
		i++
	}
	return i
}

// layers cuts the sorted buffer so that in each layer the changes of a key may
// be merged: a -D that removes the row stands alone, and so does a retraction
// that comes before anything it could retract from. Most buffers are one layer.
func (b *Buffer) layers(s *EngineSpec) [][]entry {
	b.entries = slices.DeleteFunc(b.entries, func(e entry) bool {
		return e.logOnly() || s.IgnoreDelete && e.kind().Retracts()
	})
	deletes, retracts := s.splitsDeletes(), s.splitsRetracts()
	if !deletes && !retracts || !slices.ContainsFunc(b.entries, func(e entry) bool { return e.kind().Retracts() }) {
		return [][]entry{b.entries}
	}
	var out [][]entry
	put := func(layer int, es ...entry) {
		for len(out) <= layer {
			out = append(out, nil)
		}
		out[layer] = append(out[layer], es...)
	}
	for from := 0; from < len(b.entries); {
		to := b.keyEnd(from)
		layer, start := 0, from
		for i := from; i < to; i++ {
			k := b.entries[i].kind()
			if deletes && k == columnar.Delete || retracts && k.Retracts() && i == start {
				if i > start {
					put(layer, b.entries[start:i]...)
					layer++
				}
				put(layer, b.entries[i])
				layer, start = layer+1, i+1
			}
		}
		if start < to {
			put(layer, b.entries[start:to]...)
		}
		from = to
	}
	return out
}

// writeFolded writes a layer, the changes of each key merged.
func (g *flushGather) writeFolded(ctx context.Context, b *Buffer, es []entry, files Files, stats StatsPlan) ([]spec.DataFileMeta, error) {
	w, err := newFileWriter(g.layout, files, 0, spec.SourceAppend, stats)
	if err != nil {
		return nil, err
	}
	defer w.abort(ctx)
	for len(es) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g.groups.reset()
		n := 0
		for ; n < len(es); n++ {
			e := &es[n]
			if n > 0 && !b.sameKey(&es[n-1], e) {
				g.groups.end()
				if len(g.groups.from) >= g.rows {
					break
				}
			}
			g.groups.add(rowRef{e.batch(), e.row}, g.base+int64(e.seq), int8(e.kind()), 0)
		}
		g.groups.end()
		es = es[n:]
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
