package dataflow

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// exchange spreads batches over the subtasks of a sink by its router.
type exchange struct {
	router Router
	outs   []outlet
	// route and rows are reused from batch to batch.
	route []int32
	rows  [][]int32
}

func newExchange(r Router, outs []outlet) *exchange {
	return &exchange{router: r, outs: outs, rows: make([][]int32, len(outs))}
}

// send takes b over and sends each subtask its rows, in their order.
func (x *exchange) send(ctx context.Context, b *columnar.Batch) error {
	if b.Rows() == 0 {
		b.Release()
		return nil
	}
	if len(x.outs) == 1 {
		return x.outs[0].send(ctx, batchMessage(b))
	}
	if err := x.split(b); err != nil {
		b.Release()
		return err
	}
	if only := x.single(b.Rows()); only >= 0 {
		return x.outs[only].send(ctx, batchMessage(b))
	}
	defer b.Release()
	kinds := x.kinds(b)
	for i, rows := range x.rows {
		if len(rows) == 0 {
			continue
		}
		part, err := gather(ctx, b, kinds, rows)
		if err != nil {
			return fmt.Errorf("splitting a batch: %w", err)
		}
		if err := x.outs[i].send(ctx, batchMessage(part)); err != nil {
			return err
		}
	}
	return nil
}

// split sorts the row numbers by subtask.
func (x *exchange) split(b *columnar.Batch) error {
	n := b.Rows()
	if cap(x.route) < n {
		x.route = make([]int32, n)
	}
	x.route = x.route[:n]
	if err := x.router.Route(b, len(x.outs), x.route); err != nil {
		return fmt.Errorf("routing rows: %w", err)
	}
	for i := range x.rows {
		x.rows[i] = x.rows[i][:0]
	}
	for i, to := range x.route {
		if int(to) < 0 || int(to) >= len(x.outs) {
			return fmt.Errorf("routing rows: row %d goes to subtask %d of %d", i, to, len(x.outs))
		}
		x.rows[to] = append(x.rows[to], int32(i))
	}
	return nil
}

// single gives the subtask that all n rows go to, -1 if there are several.
func (x *exchange) single(n int) int {
	for i, rows := range x.rows {
		if len(rows) == n {
			return i
		}
	}
	return -1
}

// kinds gives the kinds of the rows after the split: a pair -U, +U whose rows
// part company becomes -D and +I, for an update is a pair only within one batch.
func (x *exchange) kinds(b *columnar.Batch) []columnar.RowKind {
	var changed []columnar.RowKind
	for i := 0; i+1 < len(b.Kinds); i++ {
		if b.Kinds[i] != columnar.UpdateBefore || b.Kinds[i+1] != columnar.UpdateAfter || x.route[i] == x.route[i+1] {
			continue
		}
		if changed == nil {
			changed = append(changed, b.Kinds...)
		}
		changed[i], changed[i+1] = columnar.Delete, columnar.Insert
	}
	if changed != nil {
		return changed
	}
	return b.Kinds
}

// gather makes a batch of the given rows of b.
func gather(ctx context.Context, b *columnar.Batch, kinds []columnar.RowKind, rows []int32) (*columnar.Batch, error) {
	data := array.NewData(arrow.PrimitiveTypes.Int32, len(rows),
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(rows))}, nil, 0, 0)
	defer data.Release()
	indices := array.NewInt32Data(data)
	defer indices.Release()

	cols := make([]arrow.Array, 0, len(b.Cols))
	for i, c := range b.Cols {
		taken, err := compute.TakeArrayOpts(ctx, c, indices, compute.TakeOptions{BoundsCheck: false})
		if err != nil {
			for _, t := range cols {
				t.Release()
			}
			return nil, fmt.Errorf("column %s: %w", b.Schema.Fields[i].Name, err)
		}
		cols = append(cols, taken)
	}
	var picked []columnar.RowKind
	if kinds != nil {
		picked = make([]columnar.RowKind, len(rows))
		for i, r := range rows {
			picked[i] = kinds[r]
		}
	}
	return columnar.NewBatch(b.Schema, picked, cols, len(rows)), nil
}
