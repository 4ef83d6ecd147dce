package dataflow

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"leat/internal/columnar"
)

// pipelineTask takes batches from one port through a chain of operators to the
// subtasks of a sink.
type pipelineTask struct {
	node *Pipeline
	in   *inbox
	out  *exchange

	rowsIn, rowsOut atomic.Int64
}

func (t *pipelineTask) run(ctx context.Context) error {
	process := t.chain(ctx)
	for {
		m, _, err := t.in.next(ctx)
		if err != nil {
			return err
		}
		if m.kind == messageBatch {
			t.rowsIn.Add(int64(m.batch.Rows()))
			if err := process(m.batch); err != nil {
				return err
			}
			continue
		}
		if m.kind == messageChange {
			if m.change, err = t.change(ctx, m.change); err != nil {
				return err
			}
		}
		for _, o := range t.out.outs {
			if err := o.send(ctx, m); err != nil {
				return err
			}
		}
		if m.kind == messageEnd {
			return nil
		}
	}
}

// change takes a change through the operators.
func (t *pipelineTask) change(ctx context.Context, c *Change) (*Change, error) {
	for _, op := range t.node.Operators {
		ch, ok := op.(Changer)
		if !ok {
			return nil, fmt.Errorf("operator %s: it cannot follow: %s", t.node.UID, c.Reason)
		}
		var err error
		if c, err = ch.Change(ctx, c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// chain makes one function of the operators, built once, the last first.
func (t *pipelineTask) chain(ctx context.Context) func(*columnar.Batch) error {
	next := func(b *columnar.Batch) error {
		t.rowsOut.Add(int64(b.Rows()))
		return t.out.send(ctx, b)
	}
	for _, op := range slices.Backward(t.node.Operators) {
		out := next
		next = func(b *columnar.Batch) error { return op.Process(ctx, b, out) }
	}
	return next
}

func (t *pipelineTask) stats() NodeStats {
	return NodeStats{UID: t.node.UID, RowsIn: t.rowsIn.Load(), RowsOut: t.rowsOut.Load(), QueuedBytes: t.in.queued()}
}
