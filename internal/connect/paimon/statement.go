package paimon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// statement is a connect.Statement under way.
type statement struct{ connect.Statement }

// WriteStatement writes the rows of one statement as one commit.
func (c *Connector) WriteStatement(ctx context.Context, st connect.Statement, give func(take func(*columnar.Batch) error) error) (rows int64, err error) {
	x := statement{st}
	user := uuid.NewString()
	if prefix := configs.CommitUserPrefix.Get(x.Table.Options); prefix != "" {
		user = prefix + "_" + user
	}
	made, err := c.NewSink(connect.SinkSpec{
		UID: "statement", Table: x.Table, Mode: connect.All, Job: "a statement", CommitUser: user, Attempt: uuid.NewString(), Env: x.Env,
	})
	if err != nil {
		return 0, err
	}
	s, ok := made.(*sink)
	if !ok {
		return 0, fmt.Errorf("writing table %s: a sink of type %T", x.Table.Name, made)
	}
	if err := s.open(ctx); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.claimTable(); err != nil {
		return 0, err
	}
	if err := x.checkWaiting(ctx, s.table); err != nil {
		return 0, err
	}
	messages, rows, err := x.write(ctx, s, give)
	if err != nil {
		return 0, err
	}
	if len(messages) == 0 && (!x.Overwrite || x.Dynamic) {
		return 0, nil
	}
	req := commit.Request{User: user, Identifier: spec.BatchIdentifier, Messages: messages, Overwrite: x.Overwrite, Properties: map[string]string{"leat.job": "a statement"}}
	if x.Overwrite {
		if req.Partition, err = x.replaced(s.table.Schema, messages); err != nil {
			return 0, err
		}
	}
	if x.Overwrite || x.Changes {
		req.Base = x.Base
	}
	if err := s.commitRequest(ctx, &dataflow.Epoch{ID: 1}, req); err != nil {
		if errors.Is(err, commit.ErrConflict) {
			s.table.Discard(ctx, messages)
		}
		return 0, err
	}
	s.expire.kick(ctx)
	return rows, nil
}

// write turns the rows into files that no snapshot names yet.
func (x *statement) write(ctx context.Context, s *sink, give func(take func(*columnar.Batch) error) error) (messages []spec.CommitMessage, rows int64, err error) {
	cfg := s.writeConfig()
	cfg.Anew = x.Overwrite
	w, err := s.table.NewWriter(ctx, cfg)
	if err != nil {
		return nil, 0, err
	}
	// Files that were prepared stay, for the commit.
	defer func() { err = errors.Join(err, w.Close(context.WithoutCancel(ctx))) }()
	err = give(func(b *columnar.Batch) error {
		if err := x.checkNulls(b); err != nil {
			return err
		}
		rows += int64(b.Rows())
		return w.Write(ctx, owned(b, s.table))
	})
	if err != nil {
		return nil, 0, err
	}
	p, err := w.Prepare(ctx, 1)
	if err != nil {
		return nil, 0, err
	}
	messages, err = p.Wait(ctx)
	return messages, rows, err
}

// owned gives b as the writer takes it: with references and row kinds of its own.
func owned(b *columnar.Batch, t *lakehouse.Table) *columnar.Batch {
	kinds := slices.Clone(b.Kinds)
	if kinds == nil {
		kinds = make([]columnar.RowKind, b.Rows())
	}
	cols := make([]arrow.Array, len(b.Cols))
	for i, c := range b.Cols {
		c.Retain()
		cols[i] = c
	}
	return columnar.NewBatch(t.Schema.Columns(), kinds, cols, b.Rows())
}

// checkWaiting refuses changes of rows while others, which came later, wait for
// their buckets: what is changed would be older than they are.
func (x *statement) checkWaiting(ctx context.Context, t *lakehouse.Table) error {
	if !x.Changes {
		return nil
	}
	waits, err := t.RowsWait(ctx)
	if err != nil || !waits {
		return err
	}
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeTableShape, Table: x.Table.Name, Option: "bucket",
		Msg: "rows of this table wait for their buckets, and changes cannot see them", Hint: "CALL sys.compact('database.table') first",
	}
}

func (x *statement) checkNulls(b *columnar.Batch) error {
	for _, c := range x.NotNull {
		if b.Cols[c].NullN() > 0 {
			return &diag.Error{
				Domain: diag.User, Code: diag.CodeNullability, Table: x.Table.Name,
				Msg: fmt.Sprintf("NULL for column %s, which does not allow NULLs", x.Table.Schema.Fields[c].Name), Hint: "give it a value, such as COALESCE(…, 0), or leave such rows out with WHERE",
			}
		}
	}
	return nil
}

// replaced picks the partitions that an overwrite empties; nil is all of them.
func (x *statement) replaced(schema *spec.TableSchema, messages []spec.CommitMessage) (func(spec.BinaryRow) bool, error) {
	switch {
	case x.Dynamic:
		in := map[string]bool{}
		for i := range messages {
			in[string(messages[i].Partition.Data)] = true
		}
		return func(p spec.BinaryRow) bool { return in[string(p.Data)] }, nil
	case x.Static != nil:
		return samePartition(schema, x.Static)
	default:
		return nil, nil
	}
}

// samePartition tests whether a partition has the values of the one row of want.
// Rows of equal values of one type are equal byte by byte, NULL included.
func samePartition(schema *spec.TableSchema, want *columnar.Batch) (func(spec.BinaryRow) bool, error) {
	names := want.Schema.Names()
	columns := make([]int, len(names))
	at := make([]int, len(names))
	for i, n := range names {
		columns[i], at[i] = i, slices.Index(schema.PartitionKeys, n)
	}
	enc, err := spec.NewRowEncoder(want.Schema, columns)
	if err != nil {
		return nil, fmt.Errorf("comparing partitions: %w", err)
	}
	row := enc.Encode(want, 0).Clone()
	w := spec.NewRowWriter(schema.Types(names))
	return func(p spec.BinaryRow) bool {
		w.Reset()
		for i, from := range at {
			if w.SetFrom(i, p, from) != nil {
				return false
			}
		}
		return bytes.Equal(w.Row().Data, row.Data)
	}, nil
}
