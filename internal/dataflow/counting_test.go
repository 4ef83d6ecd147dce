package dataflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"leat/internal/dataflow"
)

// counting emits 0, 1, 2… in transactions of several batches; an edge follows
// each. Position: the next value.
type counting struct {
	total int64
	// transaction and batch are sizes in rows.
	transaction, batch int64
	// pause follows each transaction. hold, if set, is called inside each transaction.
	pause time.Duration
	hold  func(ctx context.Context, next int64) error
	// idle keeps the source alive at its end until it is stopped.
	idle  bool
	ports int

	next int64
	// open is true inside a transaction; snapshots there are faults.
	open  bool
	edges []int64
}

type countingState struct {
	Next int64 `json:"next"`
}

func (c *counting) Open(_ context.Context, restored json.RawMessage) error {
	var s countingState
	if restored != nil {
		if err := json.Unmarshal(restored, &s); err != nil {
			return err
		}
	}
	c.next = s.Next
	return nil
}

func (c *counting) SnapshotState(context.Context, dataflow.CheckpointID) (dataflow.SourceState, error) {
	if c.open {
		return dataflow.SourceState{}, errors.New("a barrier stands inside a transaction")
	}
	c.edges = append(c.edges, c.next)
	data, err := json.Marshal(countingState{Next: c.next})
	return dataflow.SourceState{Data: data, Properties: map[string]string{"next": fmt.Sprint(c.next)}}, err
}

func (c *counting) Run(ctx context.Context, out dataflow.Collector) error {
	for c.next < c.total {
		if err := c.oneTransaction(ctx, out); err != nil {
			return err
		}
		if err := out.Edge(ctx); err != nil {
			return err
		}
		if c.pause > 0 {
			if err := c.rest(ctx, out, c.pause); err != nil {
				return err
			}
		}
	}
	for c.idle {
		if err := c.rest(ctx, out, time.Hour); err != nil {
			return err
		}
	}
	return nil
}

func (c *counting) oneTransaction(ctx context.Context, out dataflow.Collector) error {
	c.open = true
	end := min(c.next+c.transaction, c.total)
	for next := c.next; next < end; {
		var values []int64
		for ; int64(len(values)) < c.batch && next < end; next++ {
			values = append(values, next)
		}
		for port := range max(c.ports, 1) {
			if err := out.Emit(ctx, port, batchOf(nil, values...)); err != nil {
				return err
			}
		}
		out.InTransaction(next - c.next)
		if c.hold != nil {
			if err := c.hold(ctx, next); err != nil {
				return err
			}
		}
	}
	c.next, c.open = end, false
	return nil
}

// rest waits and answers barriers.
func (c *counting) rest(ctx context.Context, out dataflow.Collector, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			return nil
		case <-out.Due():
			if err := out.Edge(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *counting) Close() error { return nil }
