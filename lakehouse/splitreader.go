package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"leat/internal/columnar"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// Read opens a split of the plan; splits may be read side by side.
func (p *Plan) Read(ctx context.Context, s *Split) *SplitReader {
	return &SplitReader{ctx: ctx, p: p, s: s, sections: s.sections}
}

// SplitReader gives the rows of a split: one a key, deleted ones left out.
type SplitReader struct {
	ctx      context.Context //nolint:containedctx // a reader lives for one call of its owner
	p        *Plan
	s        *Split
	sections [][]mergetree.Run
	cur      rowSource
}

// rowSource is a merge or a plain file.
type rowSource interface {
	next() (*mergetree.Rows, error)
	Close() error
}

type mergeSource struct{ *mergetree.Merge }

func (m mergeSource) next() (*mergetree.Rows, error) { return m.Next(scanRows) }

type plainSource struct{ mergetree.RowReader }

func (f plainSource) next() (*mergetree.Rows, error) { return f.Next() }

// Next gives the next rows, which the caller releases; io.EOF at the end. See
// Table.Scan for what is kept beyond that.
func (r *SplitReader) Next() (*columnar.Batch, error) {
	for {
		if r.cur == nil {
			if len(r.sections) == 0 {
				return nil, io.EOF
			}
			var err error
			if r.cur, err = r.open(r.sections[0]); err != nil {
				return nil, err
			}
			r.sections = r.sections[1:]
		}
		rows, err := r.cur.next()
		if err == nil {
			return r.batch(rows), nil
		}
		cerr := r.cur.Close()
		r.cur = nil
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		if cerr != nil {
			return nil, cerr
		}
	}
}

func (r *SplitReader) batch(rows *mergetree.Rows) *columnar.Batch {
	n := len(r.p.Schema.Fields)
	var kinds []columnar.RowKind
	if r.p.keepDeletes || r.p.keepKinds {
		kinds = make([]columnar.RowKind, rows.Len())
		for i, k := range rows.Kinds {
			kinds[i] = columnar.RowKind(k)
		}
	}
	for _, a := range rows.Values[n:] {
		a.Release()
	}
	for _, a := range rows.System {
		a.Release()
	}
	return columnar.NewBatch(r.p.Schema, kinds, slices.Clone(rows.Values[:n]), rows.Len())
}

// deletedRows gives what deletion vectors delete of a file.
func (p *Plan) deletedRows(ctx context.Context, file string) (rowSet, error) {
	ref, ok := p.deleted[file]
	if !ok {
		return nil, nil
	}
	return p.t.readVector(ctx, &ref)
}

// plain gives the file of a section that is read as it is; nil for one that is merged.
func (p *Plan) plain(section []mergetree.Run) *spec.DataFileMeta {
	if len(section) != 1 || len(section[0].Files) != 1 {
		return nil
	}
	f := &section[0].Files[0]
	if p.keys == nil || !p.keepDeletes && !p.keepKinds && (f.DeleteRowCount == nil && f.Level > 0 || f.DeleteRowCount != nil && *f.DeleteRowCount == 0) {
		return f
	}
	return nil
}

// Counted reports whether the metadata of a split's files tell how many rows it
// has: none is merged, and no condition leaves some out.
func (p *Plan) Counted(s *Split) bool {
	return len(p.conds) == 0 && !slices.ContainsFunc(s.sections, func(section []mergetree.Run) bool { return p.plain(section) == nil })
}

// Count gives the number of rows of a split that is Counted.
func (p *Plan) Count(ctx context.Context, s *Split) (int64, error) {
	n := s.Rows
	for _, section := range s.sections {
		deleted, err := p.deletedRows(ctx, section[0].Files[0].FileName)
		if err != nil {
			return 0, err
		}
		n -= deleted.count()
	}
	return n, nil
}

// open starts a section: a single file without deletes is read as it is, anything else merged.
func (r *SplitReader) open(section []mergetree.Run) (rowSource, error) {
	t := r.p.t
	if f := r.p.plain(section); f != nil {
		src, err := t.openerAs(r.s.Partition, r.s.Bucket, r.p.Schema.Fields, r.p.deletedRows, nil, readAs{conds: r.p.conds, mem: r.p.mem})(r.ctx, f)
		if err != nil {
			return nil, err
		}
		return plainSource{src}, nil
	}
	as := readAs{sequence: true, kinds: true, conds: r.p.keyConds, mem: r.p.mem}
	o := mergetree.MergeOptions{Engine: r.p.engine, DropDelete: !r.p.keepDeletes, Keep: true, Mem: r.p.mem}
	if r.p.engine.Picks() {
		// Whole rows win, so of the system columns only what decides is read.
		o.Kinds = r.p.keepDeletes || r.p.keepKinds
		section, o.Ordered = mergetree.OrderRuns(section)
		as.sequence, as.deletesOnly = !o.Ordered, !o.Kinds
	}
	m, err := mergetree.MergeRuns(r.ctx, r.p.columns, r.p.keys, section, nil, t.openerAs(r.s.Partition, r.s.Bucket, r.p.columns.Fields, r.p.deletedRows, nil, as), o)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	return mergeSource{m}, nil
}

// Close ends the read.
func (r *SplitReader) Close() error {
	if r.cur == nil {
		return nil
	}
	return r.cur.Close()
}
