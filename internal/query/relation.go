package query

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"leat/internal/columnar"
	"leat/internal/expr"
	"leat/internal/query/duck"
	"leat/lakehouse"
)

// Combined is a query over several sources, which DuckDB runs.
type Combined struct {
	duck.Query
	// Sources are the relations of the query; Filters say by source which rows it can
	// have a use for, nil for all.
	Sources []*Source
	Filters []expr.Expr
}

// Source gives the query's result as a source.
func (c *Combined) Source() *Source {
	for i, s := range c.Sources {
		c.Relations = append(c.Relations, &sourceRelation{source: s, filter: c.Filters[i], env: c.Env, threads: c.Threads})
	}
	return &Source{Name: "query", Schema: c.Columns, combined: c}
}

// Parts gives the sources that a query reads; a table is its own one.
func (s *Source) Parts() []*Source {
	if s.combined != nil {
		return s.combined.Sources
	}
	return []*Source{s}
}

// scanCombined gives the columns at used of the query's result.
func (s *Source) scanCombined(ctx context.Context, used []int, each func(cols []arrow.Array, rows int) error) error {
	cols := make([]arrow.Array, len(used))
	return s.combined.Run(ctx, func(b *columnar.Batch) error {
		for i, c := range used {
			cols[i] = b.Cols[c]
		}
		return each(cols, b.Rows())
	})
}

// sourceRelation is a source as a query of DuckDB reads it.
type sourceRelation struct {
	source  *Source
	filter  expr.Expr
	env     expr.Env
	threads int
}

// Schema is that of the source.
func (r *sourceRelation) Schema() *columnar.Schema { return r.source.Schema }

// Rows is what the snapshot counts.
func (r *sourceRelation) Rows() int64 {
	if r.source.rows != nil {
		return r.source.rows.Estimate()
	}
	if s := r.source.Snapshot; s != nil && s.TotalRecordCount != nil && r.source.read == nil {
		return *s.TotalRecordCount
	}
	return -1
}

// Scan reads the source without what the filter excludes by statistics.
func (r *sourceRelation) Scan(ctx context.Context, used []int, each func(cols []arrow.Array, rows int) error) error {
	if r.source.rows != nil {
		return r.source.scanRows(ctx, used, r.filter, each)
	}
	where, free := r.source.where(r.filter, r.env)
	defer free()
	return r.source.scanWith(ctx, used, where, r.threads, each)
}

// scanSplits reads the splits of a plan side by side, in any order with more than
// one thread.
func scanSplits(ctx context.Context, plan *lakehouse.Plan, threads int, each func(*columnar.Batch) error) error {
	if threads <= 1 || len(plan.Splits) <= 1 {
		return plan.Scan(ctx, each)
	}
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(threads, len(plan.Splits)) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(plan.Splits) {
					return nil
				}
				if err := plan.ReadSplit(ctx, &plan.Splits[i], each); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}
