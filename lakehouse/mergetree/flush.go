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
	if !l.Append && !l.Postponed {
		b.sort()
	}
	g, err := newFlushGather(l, b, batches, base)
	if err != nil {
		return res, err
	}
	if changelog != nil {
		if res.Changelog, err = g.writeAll(ctx, b.entries, *changelog, l.ChangelogStats); err != nil {
			return res, err
		}
	}
	if l.Append || l.Postponed {
		res.Files, err = g.writeAll(ctx, b.entries, files, l.Stats)
		return res, err
	}
	if err := g.orderKeys(b); err != nil {
		return res, err
	}
	if !l.engineSpec().Folds() {
		res.Files, err = g.writeAll(ctx, b.latest(), files, l.Stats)
		return res, err
	}
	for _, layer := range b.layers(l.Engine.spec) {
		made, err := g.writeFolded(ctx, b, layer, files, l.Stats)
		if err != nil {
			g.discard(ctx, files, append(res.Files, res.Changelog...))
			return FlushResult{}, err
		}
		res.Files = append(res.Files, made...)
	}
	return res, nil
}

// discard removes files of a flush that did not come to its end.
func (g *flushGather) discard(ctx context.Context, files Files, made []spec.DataFileMeta) {
	for i := range made {
		_ = files.FS.Remove(context.WithoutCancel(ctx), files.FS.Join(files.Dir, made[i].FileName))
	}
}

// flushGather turns entries into chunks.
type flushGather struct {
	layout *Layout
	base   int64
	cols   []gatherer
	rows   int
	refs   []rowRef
	chunk  chunk
	// order, folder and groups serve engines other than plain deduplicate.
	order  *rowOrder
	folder *folder
	groups groupSet
}

func newFlushGather(l *Layout, b *Buffer, batches []*columnar.Batch, base int64) (*flushGather, error) {
	g := &flushGather{layout: l, base: base, cols: make([]gatherer, len(l.Columns.Fields)), rows: chunkRows}
	arrs := make([]arrow.Array, len(b.batches))
	for c, f := range l.Columns.Fields {
		var err error
		if g.cols[c], err = newGatherer(f.Type, false); err != nil {
			return nil, err
		}
		for i, n := range b.batches {
			arrs[i] = batches[n].Cols[c]
		}
		g.cols[c].bind(arrs)
	}
	if err := g.bindEngine(b, batches); err != nil {
		return nil, err
	}
	for _, n := range b.batches {
		if r := int64(batches[n].Rows()); r > 0 {
			g.rows = int(min(int64(g.rows), max(1, chunkBytes*r/max(1, batches[n].Bytes()))))
		}
	}
	return g, nil
}

func (g *flushGather) writeAll(ctx context.Context, es []entry, files Files, stats StatsPlan) ([]spec.DataFileMeta, error) {
	w, err := newFileWriter(g.layout, files, 0, spec.SourceAppend, stats)
	if err != nil {
		return nil, err
	}
	defer w.abort(ctx)
	for len(es) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(len(es), g.rows)
		if err := w.write(ctx, g.gather(es[:n])); err != nil {
			return nil, err
		}
		es = es[n:]
	}
	if err := w.finish(ctx); err != nil {
		return nil, err
	}
	return w.done, nil
}

// gather collects the rows of es; the chunk is valid until the next call.
func (g *flushGather) gather(es []entry) *chunk {
	c := &g.chunk
	c.rows = len(es)
	c.seq = scratch(&c.seq, len(es), false)
	c.kinds = scratch(&c.kinds, len(es), false)
	g.refs = scratch(&g.refs, len(es), false)
	for i := range es {
		e := &es[i]
		g.refs[i] = rowRef{batch: e.batch(), row: e.row}
		c.seq[i] = g.base + int64(e.seq)
		c.kinds[i] = int8(e.kind())
	}
	c.values = c.values[:0]
	for _, col := range g.cols {
		c.values = append(c.values, col.gather(g.refs))
	}
	return c
}
