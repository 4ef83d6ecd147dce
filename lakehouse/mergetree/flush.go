package mergetree

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// chunkRows is the number of rows gathered and encoded at once: large enough
// to spread the cost of a call, small enough to stay in the caches.
const chunkRows = 8192

// chunkBytes bounds a chunk of wide rows.
const chunkBytes = 64 << 20

// FlushResult is the files of one flush.
type FlushResult struct {
	Files     []spec.DataFileMeta
	Changelog []spec.DataFileMeta
}

// FlushBuffer writes the changes of b as level-0 files: sorted by key, those of
// each key merged by the layout's engine, sequence numbers counted from base in
// order of arrival. Changes that cannot be merged without losing what they do to
// older rows go into files of their own. batches are those that Buffer.Add named. With changelog set, all
// changes go into changelog files as well, sorted by key and arrival. With an
// append or postponed layout the rows go into files as they came. The buffer cannot be used
// afterwards.
func FlushBuffer(ctx context.Context, l *Layout, b *Buffer, batches []*columnar.Batch, base int64, files Files, changelog *Files) (FlushResult, error) {
	var res FlushResult
	if b.Len() == 0 {
		return res, nil
	}
	room := roomPool.Get().(*flushRoom)
	defer roomPool.Put(room)
	g, err := newFlushGather(l, b, batches, base, room)
	if err != nil {
		return res, err
	}
	if l.Append || l.Postponed || g.inOrder(b) {
		if changelog != nil {
			if res.Changelog, err = g.writeAll(ctx, nil, *changelog, l.ChangelogStats); err != nil {
				return res, err
			}
		}
		res.Files, err = g.writeAll(ctx, nil, files, l.Stats)
		return res, err
	}
	ps := b.sorted(g.arrivals, room)
	if changelog != nil {
		if res.Changelog, err = g.writeAll(ctx, g.orderOf(ps), *changelog, l.ChangelogStats); err != nil {
			return res, err
		}
	}
	if g.order != nil || g.folder != nil {
		g.arrivals.locate(room)
	}
	g.orderKeys(ps)
	if g.folder == nil {
		res.Files, err = g.writeAll(ctx, g.orderOf(g.arrivals.latest(ps)), files, l.Stats)
		return res, err
	}
	for _, layer := range g.arrivals.layers(ps, l.Engine.spec) {
		made, err := g.writeFolded(ctx, layer, files, l.Stats)
		if err != nil {
			g.discard(ctx, files, append(res.Files, res.Changelog...))
			return FlushResult{}, err
		}
		res.Files = append(res.Files, made...)
	}
	return res, nil
}

// inOrder reports whether the changes of b are the rows of the file, as they came.
func (g *flushGather) inOrder(b *Buffer) bool {
	return g.folder == nil && !b.unsorted && !b.repeats && !b.logged
}

// orderOf gives the numbers of the sorted ps, until the next call; never nil.
func (g *flushGather) orderOf(ps []pair) []uint32 {
	order := scratch(&g.room.order, len(ps), false)
	for i := range ps {
		order[i] = ps[i].at
	}
	g.sorted = ps
	if len(ps) == 0 {
		return []uint32{}
	}
	return order
}

// discard removes files of a flush that did not come to its end.
func (g *flushGather) discard(ctx context.Context, files Files, made []spec.DataFileMeta) {
	for i := range made {
		_ = files.FS.Remove(context.WithoutCancel(ctx), files.FS.Join(files.Dir, made[i].FileName))
	}
}

// flushGather turns the changes of a buffer into the columns of files.
type flushGather struct {
	layout   *Layout
	arrivals *arrivals
	room     *flushRoom
	base     int64
	cols     []gatherer
	// sorted are the keys of what orderOf gave last.
	sorted []pair
	// batches are those in use, whose rows take rowBytes each where they are widest; rows is how many rows a chunk has.
	batches  []*columnar.Batch
	rowBytes int64
	rows     int
	refs     []rowRef
	chunk    chunk
	// order, folder and groups serve engines other than plain deduplicate.
	order  *rowOrder
	folder *folder
	groups groupSet
}

func newFlushGather(l *Layout, b *Buffer, batches []*columnar.Batch, base int64, room *flushRoom) (*flushGather, error) {
	g := &flushGather{layout: l, arrivals: b.arrivals(room), room: room, base: base, cols: make([]gatherer, len(l.Columns.Fields)), rows: chunkRows}
	for _, n := range b.batches {
		g.batches = append(g.batches, batches[n])
	}
	arrs := make([]arrow.Array, len(b.batches))
	for c, f := range l.Columns.Fields {
		var err error
		if g.cols[c], err = newGatherer(f.Type, false); err != nil {
			return nil, err
		}
		for i, n := range g.batches {
			arrs[i] = n.Cols[c]
		}
		g.cols[c].bind(arrs)
	}
	if err := g.bindEngine(); err != nil {
		return nil, err
	}
	for _, n := range g.batches {
		if r := int64(n.Rows()); r > 0 {
			g.rowBytes = max(g.rowBytes, n.Bytes()/r)
		}
	}
	g.rows = int(min(int64(g.rows), max(1, chunkBytes/max(1, g.rowBytes))))
	return g, nil
}

// writeAll writes the changes of order, nil for all as they came.
func (g *flushGather) writeAll(ctx context.Context, order []uint32, files Files, stats StatsPlan) ([]spec.DataFileMeta, error) {
	n := len(order)
	if order == nil {
		n = len(g.arrivals.rows)
	}
	if n == 0 {
		return nil, nil
	}
	w, err := newFileWriter(g.layout, files, 0, spec.SourceAppend, stats)
	if err != nil {
		return nil, err
	}
	defer w.abort(ctx)
	if w.takesColumns(int64(n) * g.rowBytes) {
		err = g.writeColumns(ctx, w, order, n)
	} else {
		err = g.writeChunks(ctx, w, order, n)
	}
	if err == nil {
		err = w.finish(ctx)
	}
	if err != nil {
		return nil, err
	}
	return w.done, nil
}

func (g *flushGather) writeChunks(ctx context.Context, w *fileWriter, order []uint32, n int) error {
	g.arrivals.locate(g.room)
	for from := 0; from < n; from += g.rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(n, from+g.rows)
		c := &g.chunk
		g.refs = scratch(&g.refs, to-from, false)
		for i := range g.refs {
			g.refs[i] = g.arrivals.refs[place(order, from+i)]
		}
		c.rows, c.seq, c.kinds = to-from, g.sequences(order, from, to), g.kinds(order, from, to)
		c.values = c.values[:0]
		for _, col := range g.cols {
			c.values = append(c.values, col.gather(g.refs))
		}
		if err := w.write(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// place gives the number of change i of order.
func place(order []uint32, i int) uint32 {
	if order == nil {
		return uint32(i)
	}
	return order[i]
}

// sequences gives the sequence numbers of changes from to to of order, until the next call.
func (g *flushGather) sequences(order []uint32, from, to int) []int64 {
	seq := scratch(&g.chunk.seq, to-from, false)
	seqs := g.arrivals.seqs
	switch {
	case order == nil && seqs == nil:
		for i := range seq {
			seq[i] = g.base + int64(from+i)
		}
	case order == nil:
		for i, s := range seqs[from:to] {
			seq[i] = g.base + int64(s)
		}
	case seqs == nil:
		for i, at := range order[from:to] {
			seq[i] = g.base + int64(at)
		}
	default:
		for i, at := range order[from:to] {
			seq[i] = g.base + int64(seqs[at])
		}
	}
	return seq
}

// kinds gives the kinds of changes from to to of order, until the next call.
func (g *flushGather) kinds(order []uint32, from, to int) []int8 {
	kinds := scratch(&g.chunk.kinds, to-from, false)
	if g.arrivals.marks == nil {
		clear(kinds)
		return kinds
	}
	for i := range kinds {
		kinds[i] = int8(g.arrivals.kind(place(order, from+i)))
	}
	return kinds
}
