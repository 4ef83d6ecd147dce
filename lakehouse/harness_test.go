package lakehouse_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// newTable makes a table in a new directory and opens it.
func newTable(t tester, fs fileio.FS, path string, s *spec.TableSchema) *lakehouse.Table {
	t.Helper()
	s.Version = spec.SchemaVersion
	for i := range s.Fields {
		s.Fields[i].ID = i
	}
	s.HighestFieldID = len(s.Fields) - 1
	b, err := spec.MarshalSchema(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.CreateExclusive(t.Context(), fs.Join(path, spec.SchemaDir, spec.SchemaName(s.ID)), b); err != nil {
		t.Fatal(err)
	}
	tab, err := lakehouse.Open(t.Context(), fs, path)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// job writes to a table and commits, as a sink does.
type job struct {
	t    testing.TB
	tab  *lakehouse.Table
	w    *lakehouse.Writer
	c    *commit.Committer
	user string
	id   int64
}

func newJob(t testing.TB, tab *lakehouse.Table, attempt string) *job {
	t.Helper()
	return newJobWith(t, tab, attempt, lakehouse.WriteConfig{Scratch: t.TempDir()})
}

// newJobWith is newJob with settings of the writer.
func newJobWith(t testing.TB, tab *lakehouse.Table, attempt string, cfg lakehouse.WriteConfig) *job {
	t.Helper()
	cfg.Attempt, cfg.User = attempt, "user-"+attempt
	if cfg.Budget == nil {
		cfg.Budget = lakehouse.NewMemoryBudget(0)
	}
	if cfg.Pool == nil {
		cfg.Pool = lakehouse.NewWorkPool(2)
	}
	w, err := tab.NewWriter(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{t: t, tab: tab, w: w, user: "user-" + attempt}
	j.c = commit.New(tab.FS, tab.Path, tab.Schema, commit.Options{Attempt: attempt}, nil)
	t.Cleanup(func() {
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return j
}

func (j *job) write(b *columnar.Batch) {
	j.t.Helper()
	if err := j.w.Write(j.t.Context(), b); err != nil {
		j.t.Fatal(err)
	}
}

// commit ends the epoch and publishes it; it gives the messages and the snapshots made.
func (j *job) commit() ([]spec.CommitMessage, []int64) {
	j.t.Helper()
	ctx := j.t.Context()
	j.id++
	p, err := j.w.Prepare(ctx, j.id)
	if err != nil {
		j.t.Fatal(err)
	}
	msgs, err := p.Wait(ctx)
	if err != nil {
		j.t.Fatal(err)
	}
	ids, err := j.c.Commit(ctx, commit.Request{User: j.user, Identifier: j.id, Messages: msgs})
	if err != nil {
		j.t.Fatal(err)
	}
	if err := j.w.Committed(ctx, j.id, ids, false); err != nil {
		j.t.Fatal(err)
	}
	return msgs, ids
}

// ordersSchema is a seven-column orders table.
func ordersSchema(options map[string]string, partitions ...string) *spec.TableSchema {
	nn := func(t columnar.DataType) columnar.DataType { return t.NotNull() }
	s := &spec.TableSchema{
		Fields: []columnar.Field{
			{Name: "order_id", Type: nn(columnar.Of(columnar.BigInt))},
			{Name: "user_id", Type: columnar.Of(columnar.BigInt)},
			{Name: "amount", Type: columnar.DecimalOf(18, 2)},
			{Name: "status", Type: columnar.StringType()},
			{Name: "address", Type: columnar.StringType()},
			{Name: "create_time", Type: columnar.TimestampOf(3)},
			{Name: "dt", Type: columnar.StringType()},
		},
		PrimaryKeys: []string{"order_id"}, PartitionKeys: []string{}, Options: options,
	}
	if len(partitions) > 0 {
		s.PartitionKeys = partitions
		s.PrimaryKeys = append(partitions, s.PrimaryKeys...)
		s.Fields[6].Type = nn(s.Fields[6].Type)
	}
	return s
}

// order is a row of the orders table.
type order struct {
	kind    columnar.RowKind
	id      int64
	user    int64
	amount  int64
	status  string
	address string
	time    int64
	dt      string
}

func orders(s *spec.TableSchema, rows ...order) *columnar.Batch {
	b := columnar.NewBuilders(memory.DefaultAllocator, s.Columns())
	kinds := make([]columnar.RowKind, len(rows))
	for i, r := range rows {
		kinds[i] = r.kind
		b[0].(*array.Int64Builder).Append(r.id)
		b[1].(*array.Int64Builder).Append(r.user)
		b[2].(*array.Decimal128Builder).Append(decimal128.FromI64(r.amount))
		b[3].(*array.StringBuilder).Append(r.status)
		if r.address == "" {
			b[4].AppendNull()
		} else {
			b[4].(*array.StringBuilder).Append(r.address)
		}
		b[5].(*array.TimestampBuilder).Append(arrow.Timestamp(r.time))
		b[6].(*array.StringBuilder).Append(r.dt)
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	return columnar.NewBatch(s.Columns(), kinds, cols, len(rows))
}

func localFS(testing.TB) fileio.FS { return local.New() }

// tester is what testing.TB and rapid.T share.
type tester interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
}
