package dataflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"leat/internal/diag"
)

// coordinator carries out what protocol decides. One goroutine owns the protocol;
// others report through events, which never block for long: whatever takes time
// (log and commit) runs beside it and reports back in the same way.
type coordinator struct {
	e *Execution
	p *protocol
	// group runs the store and commit steps.
	group  *errgroup.Group
	events chan event
	stats  atomic.Pointer[CheckpointStats]
	// waiters are the callers of TriggerNow, each with the first checkpoint that will do.
	waiters []waiter
}

// event is a report; it is applied to the protocol by its goroutine.
type event func(c *coordinator, now time.Time)

type waiter struct {
	from CheckpointID
	done chan error
}

// post reports ev. Nobody listens after the last checkpoint: a reader may leave Run that late.
func (c *coordinator) post(ctx context.Context, ev event) {
	select {
	case c.events <- ev:
	case <-c.e.finished:
	case <-ctx.Done():
	}
}

// run ends with nil after the last checkpoint of the job.
func (c *coordinator) run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	stop := c.e.stopped
	for {
		c.p.tick(time.Now())
		// Ahead of the barriers: whoever sees what a source read behind one sees its checkpoint too.
		s := c.p.snapshot()
		c.stats.Store(&s)
		done, err := c.act(ctx)
		if done || err != nil {
			c.answer(c.p.next, cmp.Or(err, ErrStopped))
			c.answerSavepoints(cmp.Or(err, ErrStopped))
			return err
		}
		var due <-chan time.Time
		if at, ok := c.p.deadline(); ok {
			timer.Reset(time.Until(at))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-due:
		case <-stop:
			c.p.stopping, stop = true, nil
		case r := <-c.e.requests:
			if r.savepoint != nil {
				c.p.wanted = append(c.p.wanted, r.savepoint)
				continue
			}
			c.p.requested = true
			c.waiters = append(c.waiters, waiter{from: c.p.next, done: r.done})
		case ev := <-c.events:
			ev(c, time.Now())
		}
	}
}

// act carries out the pending actions and reports whether the job is over.
func (c *coordinator) act(ctx context.Context) (bool, error) {
	for _, a := range c.p.take() {
		switch a.kind {
		case actInject:
			for _, s := range c.e.sourceTasks {
				s.demand(a.id, a.final)
			}
		case actStore:
			c.group.Go(func() error { return c.store(ctx, a) })
		case actCommit:
			c.group.Go(func() error { return c.commit(ctx, a) })
		case actTell:
			c.tell(a.event)
		case actFail:
			return false, a.err
		case actDone:
			return true, nil
		}
	}
	return false, nil
}

func (c *coordinator) tell(event any) {
	l := &c.e.listener
	switch ev := event.(type) {
	case CheckpointDue:
		tell(l.CheckpointDue, ev)
	case CheckpointStarted:
		tell(l.CheckpointStarted, ev)
	case CheckpointCompleted:
		for _, s := range c.e.graph.Sources {
			if f, ok := s.Reader.(CheckpointFollower); ok {
				f.Completed(ev.ID)
			}
		}
		tell(l.CheckpointCompleted, ev)
	case CheckpointFailed:
		tell(l.CheckpointFailed, ev)
		c.answer(ev.ID, fmt.Errorf("checkpoint %d: %w", ev.ID, ev.Err))
	case CheckpointSkipped:
		tell(l.CheckpointSkipped, ev)
		c.answer(ev.ID, nil)
	}
}

// answer releases the callers of TriggerNow that checkpoint id satisfies.
func (c *coordinator) answer(id CheckpointID, err error) {
	kept := c.waiters[:0]
	for _, w := range c.waiters {
		if w.from <= id {
			w.done <- err
		} else {
			kept = append(kept, w)
		}
	}
	c.waiters = kept
}

// answerSavepoints releases the callers of Savepoint when the execution ends.
func (c *coordinator) answerSavepoints(err error) {
	for _, r := range c.p.wanted {
		r.done <- err
	}
	if e := c.p.cur; e != nil && e.savepoint != nil && c.p.phase != phaseCommitting {
		e.savepoint.done <- err
	}
}

// store observes the sinks and appends the entry of a checkpoint. A retryable
// error is retried until the checkpoint's time-out and then fails the
// checkpoint; any other, such as being fenced, ends the job.
func (c *coordinator) store(ctx context.Context, a action) error {
	r := c.e.newRetry()
	for {
		err := c.observe(ctx, a.checkpoint)
		if err == nil {
			err = c.e.log.AppendCheckpoint(ctx, a.checkpoint)
		}
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !diag.Retryable(err):
			return fmt.Errorf("completing checkpoint %d: %w", a.id, err)
		case time.Now().Add(r.pause).Before(a.until):
			c.e.cfg.Log.Warn("checkpoint entry not written, trying again", "checkpoint", int64(a.id), "error", err)
			if err := r.wait(ctx); err != nil {
				return err
			}
			continue
		}
		c.post(ctx, func(c *coordinator, now time.Time) { c.p.storedNow(now, a.checkpoint, err) })
		return nil
	}
}

func (c *coordinator) observe(ctx context.Context, ck *Checkpoint) error {
	var mu sync.Mutex
	return c.e.eachSink(func(n *SinkNode) error {
		mu.Lock()
		_, takesPart := ck.Sinks[n.UID] // frozen ones are not in the graph
		mu.Unlock()
		if !takesPart {
			return nil // it came after the barrier
		}
		seen, err := n.Sink.Observe(ctx)
		if err != nil {
			return fmt.Errorf("operator %s: observing the target: %w", n.UID, err)
		}
		mu.Lock()
		defer mu.Unlock()
		r := ck.Sinks[n.UID]
		r.Observed = seen
		ck.Sinks[n.UID] = r
		return nil
	})
}

// sinksAtOnce bounds how many sinks are recovered, observed or committed side by side.
// Most of the time they wait for the disk or the store, and those that wait together
// are confirmed together.
const sinksAtOnce = 64

func (c *coordinator) commit(ctx context.Context, a action) error {
	ck := a.checkpoint
	err := c.e.eachSink(func(n *SinkNode) error {
		r, takesPart := ck.Sinks[n.UID]
		if !takesPart {
			return nil // it came after the barrier
		}
		err := c.commitSink(ctx, n, ck.ID, r.Epochs)
		if err != nil {
			// The others may be retrying for ever.
			c.e.abort(err)
		}
		return err
	})
	if err != nil {
		return err
	}
	if r := a.savepoint; r != nil {
		err := c.savepoint(ctx, r, ck)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.done <- err
		if err != nil && r.Stop {
			return savepointFailed(err)
		}
	}
	c.post(ctx, func(c *coordinator, now time.Time) {
		c.p.committedNow(now)
		c.answer(ck.ID, nil)
	})
	return nil
}

// commitSink commits until it succeeds or the error says that trying again is of
// no use. The next barrier waits meanwhile: at most one completed checkpoint is uncommitted.
func (c *coordinator) commitSink(ctx context.Context, n *SinkNode, id CheckpointID, epochs []Epoch) error {
	begin := time.Now()
	r := c.e.newRetry()
	for tries := 1; ; tries++ {
		err := n.Sink.Commit(ctx, epochs)
		if err == nil {
			ev := Committed{ID: id, UID: n.UID, Duration: time.Since(begin), Tries: tries}
			if s, ok := n.Sink.(SnapshotReporter); ok {
				ev.Snapshot = s.LastSnapshot()
			}
			tell(c.e.listener.Committed, ev)
			return nil
		}
		if ctx.Err() != nil || !diag.Retryable(err) {
			return fault(ctx, n.UID, fmt.Errorf("committing checkpoint %d: %w", id, err))
		}
		tell(c.e.listener.CommitRetry, CommitRetry{ID: id, UID: n.UID, Err: err, Tries: tries, In: r.pause})
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
}

// retry is the pause between tries, doubling up to a limit.
type retry struct{ pause, limit time.Duration }

func (e *Execution) newRetry() *retry {
	return &retry{pause: e.cfg.RetryBackoff, limit: e.cfg.MaxRetryBackoff}
}

func (r *retry) wait(ctx context.Context) error {
	t := time.NewTimer(r.pause)
	defer t.Stop()
	r.pause = min(2*r.pause, r.limit)
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fault adds the operator's uid to an error. While the job is ending, whatever
// an operator reports follows from that and gives way to the cause.
func fault(ctx context.Context, uid string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrStopped):
		return fmt.Errorf("operator %s: ended before its last barrier: %w", uid, err)
	}
	return &OperatorError{UID: uid, Err: err}
}

// OperatorError is an error of one operator.
type OperatorError struct {
	UID string
	Err error
}

// Error names the operator.
func (e *OperatorError) Error() string { return "operator " + e.UID + ": " + e.Err.Error() }

// Unwrap gives what the operator said.
func (e *OperatorError) Unwrap() error { return e.Err }
