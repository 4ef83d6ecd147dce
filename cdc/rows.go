package cdc

import (
	"context"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
)

// Rows reads tables as they were at one moment, for a query: without binlog and
// without the rights that a job needs. Its reads come one after the other.
type Rows struct {
	reader *Reader
	n      *conn
	mu     sync.Mutex
}

// OpenRows connects to the server of cfg, fixes the moment and checks the one
// definition of cfg.Tables, a table or a pattern, against the tables that are there.
// Tables without transactions are read as they are when their rows come.
func OpenRows(ctx context.Context, cfg Config) (_ *Rows, err error) {
	r, err := New(cfg)
	if err != nil {
		return nil, err
	}
	n, err := r.cfg.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	if r.server, err = n.inspect(); err != nil {
		return nil, err
	}
	if err := r.zoneError(r.server); err != nil {
		return nil, err
	}
	for _, sql := range append(mysqlrow.SessionStatements(), "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET SESSION net_write_timeout = 3600") {
		if err := n.exec(sql); err != nil {
			return nil, err
		}
	}
	if err := r.resolve(n); err != nil {
		return nil, err
	}
	if err := r.look(n); err != nil {
		return nil, err
	}
	for _, t := range r.tables {
		src := r.sourceOf(t)
		if src == nil {
			return nil, t.absence(n)
		}
		if err := t.adopt(src, r.cells()); err != nil {
			return nil, err
		}
	}
	if err := n.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"); err != nil {
		return nil, err
	}
	return &Rows{reader: r, n: n}, nil
}

// Close ends the session.
func (r *Rows) Close() { r.n.close() }

// Scan gives the columns at used of all rows, in that order, to each, batch by
// batch; a batch is released after each returns. Rows that fail one of the
// conditions of where may be left out. An error of each ends the scan, and the
// session with it.
func (r *Rows) Scan(ctx context.Context, used []int, where []RowCondition, each func(cols []arrow.Array, rows int) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	socket := r.n.Conn.Conn.Conn // the rest of the session belongs to this goroutine
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() })
	defer stop()
	for _, t := range r.reader.tables {
		if err := r.table(ctx, t, used, where, each); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
	return nil
}

// table reads one table.
func (r *Rows) table(ctx context.Context, from *table, used []int, where []RowCondition, each func(cols []arrow.Array, rows int) error) error {
	t := &table{def: from.def, shard: from.shard}
	columns := used
	if len(columns) == 0 {
		columns = []int{0} // rows are counted by any
	}
	t.def.Schema, t.def.Metadata, t.def.ColumnPos = from.def.Schema.Project(columns), nil, nil
	for _, i := range columns {
		t.def.Metadata = append(t.def.Metadata, from.def.metadata(i))
	}
	if err := t.adopt(from.src, r.reader.cells()); err != nil {
		return err
	}
	list := strings.Join(t.plan.SelectList(), ", ")
	if list == "" {
		list = "1" // metadata alone of a table without a key
	}
	sql := "SELECT " + list + " FROM " + t.sqlName()
	if cond := r.where(from, where); cond != "" {
		sql += " WHERE " + cond
	}
	out := &batches{each: func(b *columnar.Batch) error { return each(b.Cols[:len(used)], b.Rows()) }}
	give := func(b *mysqlrow.Builder) error {
		batch, err := b.Finish(t.schema)
		if err != nil {
			return err
		}
		return t.emit(ctx, out, batch, nil)
	}
	b, size := mysqlrow.NewBuilder(t.plan, batchRows), int64(0)
	err := r.n.rows(sql, func(packet []byte) error {
		if err := b.AppendText(columnar.Insert, packet); err != nil {
			return t.at(-1, err)
		}
		if size += int64(len(packet)); b.Len() < batchRows && size < batchBytes {
			return nil
		}
		full := b
		b, size = mysqlrow.NewBuilder(t.plan, batchRows), 0
		return give(full)
	})
	switch {
	case err == nil:
		return give(b)
	case denied(err):
		return t.grantSelect(r.n, "SELECT")
	case out.err == nil && transient(err):
		return &diag.Error{
			Domain: diag.External, Code: diag.CodeSourceReach, Table: t.def.Label, Retry: true, Cause: err,
			Msg: "the connection to " + r.n.addr + " broke while " + t.id() + " was read", Hint: "check that the server runs, and ask again",
		}
	default:
		return err
	}
}

// batches takes what a table emits.
type batches struct {
	dataflow.Collector
	each func(*columnar.Batch) error
	err  error
}

// Emit hands the batch on.
func (b *batches) Emit(_ context.Context, _ int, batch *columnar.Batch) error {
	defer batch.Release()
	b.err = b.each(batch)
	return b.err
}

// Schema is the columns of the definition.
func (r *Rows) Schema() *columnar.Schema { return r.reader.cfg.Tables[0].Schema }

// Estimate is the server's estimate of the number of rows.
func (r *Rows) Estimate() int64 {
	var n int64
	for _, t := range r.reader.tables {
		n += t.src.rows
	}
	return n
}
