package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/expr"
	"leat/lakehouse"
)

// Select is a bound query over one source.
type Select struct {
	Source *Source
	// Columns are the result's columns; Exprs compute them over the source's columns.
	Columns *columnar.Schema
	Exprs   []expr.Expr
	// Values are rows of constants in place of Source and Exprs.
	Values [][]expr.Expr
	// Filter keeps rows for which it is TRUE; nil keeps all.
	Filter expr.Expr
	// Offset rows are left out, then at most Limit given; a negative Limit is none.
	Offset, Limit int64
	// Count gives the number of rows instead of the rows: one BIGINT column.
	Count bool
	Env   expr.Env
}

// errDone ends a scan that has given enough.
var errDone = errors.New("enough rows")

// Run gives the rows to each, batch by batch; a batch is released after each returns.
func (s *Select) Run(ctx context.Context, each func(*columnar.Batch) error) error {
	if s.Limit == 0 {
		return nil
	}
	if s.Count {
		return s.count(ctx, each)
	}
	if s.Values != nil {
		return s.values(each)
	}
	r, used, err := s.prepare(each)
	if err != nil {
		return err
	}
	where, free := s.Source.where(s.Filter, s.Env)
	defer free()
	if s.Source.rows != nil {
		err = s.Source.scanRows(ctx, used, s.Filter, r.batch)
	} else {
		err = s.Source.scan(ctx, used, where, r.batch)
	}
	if !errors.Is(err, errDone) {
		return err
	}
	return nil
}

// prepare compiles the query; used are the columns that it reads.
func (s *Select) prepare(each func(*columnar.Batch) error) (r *run, used []int, err error) {
	used = s.references()
	r = &run{s: s, left: s.Limit, skip: s.Offset, each: each}
	exprs := make([]expr.Expr, len(s.Exprs))
	for i, e := range s.Exprs {
		exprs[i] = expr.Remap(e, positions(used, len(s.Source.Schema.Fields)))
	}
	if r.project, err = expr.Compile(exprs, s.Env); err != nil {
		return nil, nil, err
	}
	if s.Filter != nil {
		if r.filter, err = expr.Compile([]expr.Expr{expr.Remap(s.Filter, positions(used, len(s.Source.Schema.Fields)))}, s.Env); err != nil {
			return nil, nil, err
		}
	}
	return r, used, nil
}

// count gives the one row of COUNT(*).
func (s *Select) count(ctx context.Context, each func(*columnar.Batch) error) error {
	var n int64
	all := *s
	all.Count, all.Exprs, all.Columns, all.Limit, all.Offset = false, nil, &columnar.Schema{}, -1, 0
	if err := all.Run(ctx, func(b *columnar.Batch) error { n += int64(b.Rows()); return nil }); err != nil {
		return err
	}
	if s.Offset > 0 {
		return nil
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(n)
	out := columnar.NewBatch(s.Columns, nil, []arrow.Array{b.NewArray()}, 1)
	defer out.Release()
	return each(out)
}

// references lists the source columns that are read.
func (s *Select) references() []int {
	set := map[int]bool{}
	for _, e := range append(slices.Clone(s.Exprs), s.Filter) {
		if e == nil {
			continue
		}
		for _, i := range expr.References(e) {
			set[i] = true
		}
	}
	out := make([]int, 0, len(set))
	for i := range s.Source.Schema.Fields {
		if set[i] {
			out = append(out, i)
		}
	}
	return out
}

func positions(used []int, n int) []int {
	at := make([]int, n)
	for i, c := range used {
		at[c] = i
	}
	return at
}

// scan gives batches of the columns at used to each, perhaps without rows that
// fail where.
func (s *Source) scan(ctx context.Context, used []int, where []lakehouse.Condition, each func(cols []arrow.Array, rows int) error) error {
	return s.scanWith(ctx, used, where, 1, each)
}

// scanWith is scan with several threads, which call each side by side.
func (s *Source) scanWith(ctx context.Context, used []int, where []lakehouse.Condition, threads int, each func(cols []arrow.Array, rows int) error) error {
	if s.combined != nil {
		return s.scanCombined(ctx, used, each)
	}
	if s.read != nil {
		b, err := s.read(ctx)
		if err != nil {
			return err
		}
		defer b.Release()
		cols := make([]arrow.Array, len(used))
		for i, c := range used {
			cols[i] = b.Cols[c]
		}
		return each(cols, b.Rows())
	}
	if s.binlog {
		return s.scanBinlog(ctx, used, each)
	}
	if s.changes != nil {
		return s.scanChanges(ctx, used, each)
	}
	if s.Snapshot == nil {
		return nil
	}
	o := s.opt
	o.Columns, o.Where = []string{}, where
	for _, c := range used {
		if !s.rowKind || c > 0 {
			o.Columns = append(o.Columns, s.Schema.Fields[c].Name)
		}
	}
	if len(o.Columns) == 0 {
		o.Columns = append(o.Columns, s.narrowest())
	}
	if o.At == nil {
		o.Snapshot = 0
	}
	plan, err := s.table.ScanPlan(ctx, o)
	if err != nil {
		return err
	}
	progress := progressOf(ctx)
	read := Read{Table: s.Name, AllFiles: plan.AllFiles, AllBytes: plan.AllBytes}
	if len(used) == 0 {
		if err := countSplits(ctx, plan, each); err != nil {
			return err
		}
	}
	for i := range plan.Splits {
		progress.of.Add(plan.Splits[i].Rows)
		read.add(&plan.Splits[i])
	}
	progress.note(read)
	return scanSplits(ctx, plan, threads, func(b *columnar.Batch) error {
		progress.read.Add(int64(b.Rows()))
		cols := slices.Clone(b.Cols)
		if s.rowKind && slices.Contains(used, 0) {
			kinds := kindColumn(b)
			defer kinds.Release()
			cols = append([]arrow.Array{kinds}, cols...)
		}
		return each(cols[:min(len(cols), max(len(used), 1))], b.Rows())
	})
}

// countSplits gives the numbers of rows that metadata tell, and leaves the other
// splits in the plan.
func countSplits(ctx context.Context, plan *lakehouse.Plan, each func(cols []arrow.Array, rows int) error) error {
	const atOnce = 1 << 16
	var rest []lakehouse.Split
	for i := range plan.Splits {
		split := &plan.Splits[i]
		if !plan.Counted(split) {
			rest = append(rest, *split)
			continue
		}
		n, err := plan.Count(ctx, split)
		if err != nil {
			return err
		}
		for ; n > 0; n -= atOnce {
			if err := each(nil, int(min(n, atOnce))); err != nil {
				return err
			}
		}
	}
	plan.Splits = rest
	return nil
}

// scanRows gives batches of a table outside of the lake, perhaps without rows that fail filter.
func (s *Source) scanRows(ctx context.Context, used []int, filter expr.Expr, each func(cols []arrow.Array, rows int) error) error {
	progress := progressOf(ctx)
	return s.rows.Scan(ctx, used, expr.Conditions(filter), func(cols []arrow.Array, rows int) error {
		progress.read.Add(int64(rows))
		return each(cols, rows)
	})
}

// narrowest names a column to count rows by: the first of an atomic type.
func (s *Source) narrowest() string {
	fields := s.Schema.Fields
	if s.rowKind {
		fields = fields[1:]
	}
	for _, f := range fields {
		if !f.Type.IsNested() {
			return f.Name
		}
	}
	return fields[0].Name
}

func kindColumn(b *columnar.Batch) arrow.Array {
	out := array.NewStringBuilder(memory.DefaultAllocator)
	defer out.Release()
	for i := range b.Rows() {
		out.Append(b.Kind(i).String())
	}
	return out.NewArray()
}

// run is one evaluation of a Select.
type run struct {
	s               *Select
	project, filter *expr.Program
	skip, left      int64
	each            func(*columnar.Batch) error
}

func (r *run) batch(cols []arrow.Array, rows int) error {
	kept, n, err := r.filtered(cols, rows)
	if err != nil {
		return err
	}
	defer release(kept)
	from := min(r.skip, int64(n))
	r.skip -= from
	to := int64(n)
	if r.left >= 0 {
		to = min(to, from+r.left)
		r.left -= to - from
	}
	if to > from {
		out, err := r.project.Eval(memory.DefaultAllocator, kept, n)
		if err != nil {
			return err
		}
		if from > 0 || to < int64(n) {
			for i, a := range out {
				out[i] = array.NewSlice(a, from, to)
				a.Release()
			}
		}
		b := columnar.NewBatch(r.s.Columns, nil, out, int(to-from))
		err = r.each(b)
		b.Release()
		if err != nil {
			return err
		}
	}
	if r.left == 0 {
		return errDone
	}
	return nil
}

// filtered gives the rows that the filter keeps, as arrays to release.
func (r *run) filtered(cols []arrow.Array, rows int) ([]arrow.Array, int, error) {
	if r.filter == nil {
		for _, c := range cols {
			c.Retain()
		}
		return slices.Clone(cols), rows, nil
	}
	sel := make([]bool, rows)
	if err := r.filter.EvalFilter(cols, rows, sel); err != nil {
		return nil, 0, err
	}
	return pick(cols, sel)
}

// pick gives the rows that are to be kept, as arrays to release.
func pick(cols []arrow.Array, keep []bool) ([]arrow.Array, int, error) {
	out := make([]arrow.Array, len(cols))
	n := 0
	for _, k := range keep {
		if k {
			n++
		}
	}
	for i, c := range cols {
		var parts []arrow.Array
		for from := 0; from < len(keep); {
			if !keep[from] {
				from++
				continue
			}
			to := from
			for to < len(keep) && keep[to] {
				to++
			}
			parts = append(parts, array.NewSlice(c, int64(from), int64(to)))
			from = to
		}
		if len(parts) == 0 {
			parts = append(parts, array.NewSlice(c, 0, 0))
		}
		joined, err := array.Concatenate(parts, memory.DefaultAllocator)
		release(parts)
		if err != nil {
			release(out[:i])
			return nil, 0, fmt.Errorf("filtering rows: %w", err)
		}
		out[i] = joined
	}
	return out, n, nil
}

func release(cols []arrow.Array) {
	for _, c := range cols {
		c.Release()
	}
}
