package job

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/catalog"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/internal/fileio/open"
	"leat/internal/query"
	"leat/internal/query/duck"
	"leat/planner"
)

// query gives the rows of a SELECT.
func (a *application) query(ctx context.Context) error {
	if a.step.Select.Follow {
		return placedAt(a.follow(ctx), a.step.Pos)
	}
	sel, err := a.selectOf(ctx, a.step)
	if err != nil {
		return placedAt(err, a.step.Pos)
	}
	if sel.Source != nil {
		defer sel.Source.Close()
	}
	if a.step.Analyze != "" {
		return placedAt(a.analyze(ctx, sel), a.step.Pos)
	}
	if a.step.Select.Endless {
		return placedAt(a.endless(ctx, sel), a.step.Pos)
	}
	return placedAt(a.give(sel.Columns, func(take func(*columnar.Batch) error) error { return sel.Run(ctx, take) }), a.step.Pos)
}

// liveOutput is an Output that shows rows as they come.
type liveOutput interface {
	Live()
	Flush() error
}

// follow gives the rows of a SELECT and what becomes of them until it is stopped,
// which ends the result in good order.
func (a *application) follow(ctx context.Context) error {
	s, q := a.step, a.step.Select
	zone := zoneOf(s.Settings)
	w := query.Warehouse{FS: a.fs, Catalog: a.c, Options: q.CatalogOptions, Zone: zone}
	f, err := query.Follow(ctx, &w, s.Database, s.Table, q.Options)
	if err != nil {
		return err
	}
	if !slices.Equal(f.Input().Names(), q.Input.Names()) {
		return changedMeanwhile(s.Database + "." + s.Table)
	}
	if err := a.out.Begin(f.Columns(q.Columns)); err != nil {
		return err
	}
	flush := func() error { return nil }
	if live, ok := a.out.(liveOutput); ok {
		live.Live()
		flush = live.Flush
	}
	sel := &query.Select{Columns: q.Columns, Exprs: q.Exprs, Filter: q.Filter, Offset: q.Offset, Limit: q.Limit, Env: expr.Env{Zone: zone}}
	if err := f.Run(ctx, sel, flush, a.out.Batch); err != nil && ctx.Err() == nil {
		return err
	}
	return a.out.End()
}

// endless gives rows as they come until it is stopped, which ends the result in good order.
func (a *application) endless(ctx context.Context, sel *query.Select) error {
	if err := a.out.Begin(sel.Columns); err != nil {
		return err
	}
	flush := func() error { return nil }
	if live, ok := a.out.(liveOutput); ok {
		live.Live()
		flush = live.Flush
	}
	err := sel.Run(ctx, func(b *columnar.Batch) error {
		if err := a.out.Batch(b); err != nil {
			return err
		}
		return flush()
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	return a.out.End()
}

// selectOf opens what a query reads.
func (a *application) selectOf(ctx context.Context, s *planner.Step) (*query.Select, error) {
	q := s.Select
	zone := zoneOf(a.step.Settings)
	if q.Values != nil {
		return &query.Select{Columns: q.Columns, Values: q.Values, Limit: -1, Env: expr.Env{Zone: zone}}, nil
	}
	find := func() (*query.Source, error) {
		w := query.Warehouse{FS: a.fs, Catalog: a.c, Options: q.CatalogOptions, Zone: zone}
		if s.Warehouse != a.step.Warehouse { // an INSERT reads from another catalog than it writes to
			fs, root, err := open.FromURL(s.Warehouse)
			if err != nil {
				return nil, err
			}
			w.FS, w.Catalog = fs, catalog.New(fs, root)
		}
		if err := a.covering(ctx, &w, s.Database, s.Table); err != nil {
			return nil, err
		}
		return query.Open(ctx, &w, s.Database, s.Table, q.Options)
	}
	switch {
	case q.Lake != nil:
		find = func() (*query.Source, error) { return a.combined(ctx, q) }
	case q.Rows != nil:
		find = func() (*query.Source, error) { return a.rowsOf(ctx, q.Rows, q.Table) }
	}
	src, err := find()
	if err != nil {
		return nil, err
	}
	if !slices.Equal(src.Schema.Names(), q.Input.Names()) {
		return nil, changedMeanwhile(src.Name)
	}
	if q.Whole {
		src.Whole()
	}
	return &query.Select{
		Source: src, Columns: q.Columns, Exprs: q.Exprs, Filter: q.Filter, Offset: q.Offset, Limit: q.Limit, Count: q.Count, Env: expr.Env{Zone: zone},
	}, nil
}

// stateRead gives the snapshot of the target that an input reads; 0 for none.
func stateRead(sel *query.Select, in, target *planner.Step) int64 {
	if sel.Source == nil {
		return 0
	}
	tables := []planner.LakeTable{{Warehouse: in.Warehouse, Database: in.Database, Table: in.Table}}
	if in.Select.Lake != nil {
		tables = in.Select.Lake.Tables
	}
	var id int64
	for i, src := range sel.Source.Parts() {
		t := &tables[i]
		if src.Snapshot != nil && t.Database == target.Database && t.Table == target.Table && t.Warehouse == target.Warehouse {
			id = max(id, src.Snapshot.ID)
		}
	}
	return id
}

// combined opens the tables of a query that DuckDB runs.
func (a *application) combined(ctx context.Context, q *planner.Query) (*query.Source, error) {
	settings := a.step.Settings
	env := expr.Env{Zone: zoneOf(settings)}
	c := &query.Combined{Query: duck.Query{
		SQL: q.Lake.SQL, Columns: q.Input, Env: env,
		Settings: duck.Settings{Memory: configs.QueryMemory.Get(settings), Threads: workers(settings)},
	}}
	for i := range q.Lake.Tables {
		t := &q.Lake.Tables[i]
		if t.Rows != nil {
			src, err := a.rowsOf(ctx, t.Rows, t.Definition)
			if err != nil {
				c.Source().Close()
				return nil, err
			}
			c.Sources, c.Filters = append(c.Sources, src), append(c.Filters, t.Filter)
			continue
		}
		fs, root, err := open.FromURL(t.Warehouse)
		if err != nil {
			return nil, err
		}
		w := query.Warehouse{FS: fs, Catalog: catalog.New(fs, root), Options: t.CatalogOptions, Zone: env.Zone}
		if err := a.covering(ctx, &w, t.Database, t.Table); err != nil {
			return nil, err
		}
		src, err := query.Open(ctx, &w, t.Database, t.Table, t.Options)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(src.Schema.Names(), t.Columns.Names()) {
			return nil, changedMeanwhile(src.Name)
		}
		c.Sources, c.Filters = append(c.Sources, src), append(c.Filters, t.Filter)
	}
	for _, f := range q.Lake.Functions {
		c.Functions = append(c.Functions, duck.Function{Args: f.Args, Expr: f.Expr})
	}
	return c.Source(), nil
}

// rowsOf opens a table that is none of the lake.
func (a *application) rowsOf(ctx context.Context, reader connect.RowReader, t *connect.Table) (*query.Source, error) {
	rows, err := reader.OpenRows(ctx, t, connect.Env{Log: slog.New(slog.DiscardHandler), Zone: zoneOf(a.step.Settings)})
	if err != nil {
		return nil, err
	}
	return query.RowsOf(t.Name, t.Schema, rows), nil
}

func changedMeanwhile(table string) error {
	return &diag.Error{Domain: diag.External, Code: diag.CodeLakeShape, Table: table, Retry: true, Msg: "its columns were changed meanwhile", Hint: "run the query again"}
}

// write carries out an INSERT over what is there already.
func (a *application) write(ctx context.Context) error {
	s, w := a.step, a.step.Write
	if w.Change != planner.Inserting {
		return a.changeRows(ctx)
	}
	x := connect.Statement{
		Table: w.Target, NotNull: w.NotNull, Overwrite: w.Overwrite, Dynamic: w.Dynamic,
		Env: a.writeEnv(),
	}
	if len(w.Static) > 0 {
		static, err := staticPartition(w, expr.Env{Zone: zoneOf(s.Settings)})
		if err != nil {
			return err
		}
		defer static.Release()
		x.Static = static
	}
	selects := make([]*query.Select, len(w.Inputs))
	for i := range w.Inputs {
		in := &w.Inputs[i]
		sel, err := a.selectOf(ctx, in)
		if err != nil {
			return err
		}
		selects[i] = sel
		x.Base = max(x.Base, stateRead(sel, in, s))
	}
	n, err := w.Writer.WriteStatement(ctx, x, func(take func(*columnar.Batch) error) error {
		for _, sel := range selects {
			if err := sel.Run(ctx, take); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.out.Done(rowsDone(n, "written"))
}

// writeEnv is what a statement writes with.
func (a *application) writeEnv() connect.Env {
	v := a.step.Settings
	return connect.Env{Log: slog.New(slog.DiscardHandler), Zone: zoneOf(v), Parallelism: workers(v), MemoryLimit: configs.MemoryLimit.Get(v)}
}

func rowsDone(n int64, what string) string {
	if n == 1 {
		return "1 row " + what
	}
	return fmt.Sprintf("%d rows %s", n, what)
}

// staticPartition gives the values of the PARTITION clause as one row.
func staticPartition(w *planner.Write, env expr.Env) (*columnar.Batch, error) {
	schema := &columnar.Schema{}
	for _, c := range w.StaticColumns {
		schema.Fields = append(schema.Fields, w.Target.Schema.Fields[c])
	}
	p, err := expr.Compile(w.Static, env)
	if err != nil {
		return nil, err
	}
	cols, err := p.Eval(memory.DefaultAllocator, nil, 1)
	if err != nil {
		return nil, err
	}
	return columnar.NewBatch(schema, nil, cols, 1), nil
}
