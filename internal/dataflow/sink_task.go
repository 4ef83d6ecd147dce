package dataflow

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"leat/internal/diag"
)

// sinkTask writes what its inputs deliver and prepares at aligned barriers.
type sinkTask struct {
	e *Execution
	// sink and subtask are the indexes of the node and of the writer in it.
	sink, subtask int
	node          *SinkNode
	writer        SinkWriter
	in            *inbox
	// acks are the waits for what was prepared; they go on beside the stream.
	acks errgroup.Group

	count counter
}

func (t *sinkTask) run(ctx context.Context) error {
	err := t.consume(ctx)
	if ackErr := t.acks.Wait(); err == nil {
		err = ackErr
	}
	return err
}

func (t *sinkTask) consume(ctx context.Context) error {
	aligned := alignedInput{in: t.in}
	var rows, size int64
	for {
		m, err := aligned.next(ctx)
		if err != nil {
			return err
		}
		switch m.kind {
		case messageEnd:
			return nil
		case messageBatch:
			n := m.batch.Rows()
			if err := t.writer.Write(ctx, m.batch); err != nil {
				return err
			}
			rows += int64(n)
			size += m.bytes
			t.count.add(n, m.bytes)
		case messageChange:
			c, ok := t.writer.(Changer)
			if !ok {
				return fmt.Errorf("operator %s: the target cannot follow: %s", t.node.UID, m.change.Reason)
			}
			if _, err := c.Change(ctx, m.change); err != nil {
				return err
			}
		case messageBarrier:
			p, err := t.writer.Prepare(ctx, m.barrier)
			if err != nil {
				return err
			}
			t.await(ctx, p, m.barrier, rows, size)
			rows, size = 0, 0
		}
	}
}

// await acknowledges the epoch once it is durable. A retryable error fails the
// checkpoint under way, not the job, and the wait is tried again: the epoch
// rides in a later checkpoint.
func (t *sinkTask) await(ctx context.Context, p Prepared, id CheckpointID, rows, size int64) {
	t.acks.Go(func() error {
		r := t.e.newRetry()
		for {
			value, err := p.Wait(ctx)
			switch {
			case err == nil:
				t.e.coord.post(ctx, func(c *coordinator, now time.Time) {
					c.p.ackedBy(now, t.sink, t.subtask, id, value, rows, size)
				})
				return nil
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case !diag.Retryable(err):
				err = fault(ctx, t.node.UID, err)
				t.e.abort(err)
				return err
			}
			t.e.coord.post(ctx, func(c *coordinator, now time.Time) { c.p.ackFailed(now, t.sink, err) })
			if err := r.wait(ctx); err != nil {
				return err
			}
		}
	})
}
