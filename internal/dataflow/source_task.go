package dataflow

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"leat/internal/columnar"
)

// sourceTask runs one reader and is its Collector.
//
// The coordinator hands a barrier over by demand: it stores the demand and
// signals. The reader's goroutine takes it in Edge, between two source
// transactions, and only that goroutine takes it, so the state snapshot, the
// barrier in the stream and the batches around it are in one order. After the
// reader has returned, the same goroutine goes on answering with the final state.
type sourceTask struct {
	e     *Execution
	index int
	node  *SourceNode
	// outs are the outlets of each port, one for each pipeline that reads it.
	outs [][]outlet

	demanded atomic.Pointer[barrierDemand]
	due      chan struct{}
	// stopped is set by the reader's goroutine when it has injected the last barrier of a stop.
	stopped bool

	count       counter
	transaction atomic.Int64
	ended       atomic.Bool
	status      atomic.Pointer[SourceStatus]
}

var _ Collector = (*sourceTask)(nil)

// barrierDemand is a barrier that waits for the next edge.
type barrierDemand struct {
	id    CheckpointID
	final bool
}

func (t *sourceTask) demand(id CheckpointID, final bool) {
	t.demanded.Store(&barrierDemand{id: id, final: final})
	signal(t.due)
}

// run ends when the job is over.
func (t *sourceTask) run(ctx context.Context) error {
	err := t.node.Reader.Run(ctx, t)
	if err != nil && (!t.stopped || !errors.Is(err, ErrStopped)) {
		return err
	}
	t.transaction.Store(0)
	t.ended.Store(true)
	t.e.coord.post(ctx, func(c *coordinator, _ time.Time) { c.p.ended[t.index] = true })
	for {
		if err := t.inject(ctx); err != nil {
			return err
		}
		select {
		case <-t.due:
		case <-t.e.finished:
			return t.forward(ctx, message{kind: messageEnd})
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Emit sends b to every pipeline that reads the port.
func (t *sourceTask) Emit(ctx context.Context, port int, b *columnar.Batch) error {
	if port < 0 || port >= len(t.outs) {
		b.Release()
		return fmt.Errorf("emitting a batch: there is no port %d", port)
	}
	outs := t.outs[port]
	if len(outs) == 0 || b.Rows() == 0 {
		b.Release()
		return nil
	}
	m := batchMessage(b)
	t.count.add(b.Rows(), m.bytes)
	for range len(outs) - 1 {
		b.Retain()
	}
	for i, o := range outs {
		if err := o.send(ctx, m); err != nil {
			for range len(outs) - 1 - i {
				b.Release()
			}
			return err
		}
	}
	return nil
}

// Cut asks for a checkpoint.
func (t *sourceTask) Cut(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	t.e.cuts.Go(func() { done <- t.e.TriggerNow(ctx) })
	return done
}

// Change sends c to every pipeline that reads the port.
func (t *sourceTask) Change(ctx context.Context, port int, c *Change) error {
	if port < 0 || port >= len(t.outs) {
		return fmt.Errorf("sending a change: there is no port %d", port)
	}
	for _, o := range t.outs[port] {
		if err := o.send(ctx, message{kind: messageChange, change: c}); err != nil {
			return err
		}
	}
	return nil
}

// BarrierDue reports whether Edge would inject.
func (t *sourceTask) BarrierDue() bool { return t.demanded.Load() != nil }

// Due is signalled when a barrier becomes due.
func (t *sourceTask) Due() <-chan struct{} { return t.due }

// Edge injects a due barrier.
func (t *sourceTask) Edge(ctx context.Context) error {
	t.transaction.Store(0)
	if err := t.inject(ctx); err != nil {
		return err
	}
	if t.stopped {
		return ErrStopped
	}
	return nil
}

// inject answers a demand, if there is one.
func (t *sourceTask) inject(ctx context.Context) error {
	d := t.demanded.Load()
	if d == nil {
		return nil
	}
	state, err := t.node.Reader.SnapshotState(ctx, d.id)
	if err != nil {
		return fmt.Errorf("storing the position for checkpoint %d: %w", d.id, err)
	}
	// The coordinator demands the next barrier only after it has heard of this
	// one, so nothing newer can be lost here.
	t.demanded.Store(nil)
	t.stopped = t.stopped || d.final
	if err := t.forward(ctx, message{kind: messageBarrier, barrier: d.id}); err != nil {
		return err
	}
	last := t.stopped || t.ended.Load()
	t.e.coord.post(ctx, func(c *coordinator, now time.Time) { c.p.injectedBy(now, t.index, d.id, state, last) })
	return nil
}

func (t *sourceTask) forward(ctx context.Context, m message) error {
	for _, outs := range t.outs {
		for _, o := range outs {
			if err := o.send(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// InTransaction notes the rows of the open transaction.
func (t *sourceTask) InTransaction(rows int64) { t.transaction.Store(rows) }

// Report publishes progress.
func (t *sourceTask) Report(s SourceStatus) {
	t.status.Store(&s)
	if f := t.e.listener.SourceStatus; f != nil {
		f(t.node.UID, s)
	}
}

func (t *sourceTask) stats() SourceStats {
	s := SourceStats{
		UID: t.node.UID, TransactionRows: t.transaction.Load(),
		Rows: t.count.rows.Load(), Bytes: t.count.bytes.Load(), Ended: t.ended.Load(),
	}
	if st := t.status.Load(); st != nil {
		s.Status = *st
	}
	return s
}
