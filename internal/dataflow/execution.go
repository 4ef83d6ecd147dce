package dataflow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Execution is one run of a graph. Make it with NewExecution, call Run once.
type Execution struct {
	graph    Graph
	cfg      Config
	log      Log
	restore  Restore
	listener Listener

	stopOnce sync.Once
	// stopped is closed by Stop, finished after the last checkpoint, over when Run ends.
	stopped, finished, over chan struct{}
	requests                chan request
	// cuts are the checkpoints that sources asked for.
	cuts sync.WaitGroup
	// abort ends the running tasks with an error.
	abort context.CancelCauseFunc

	// group and running are those of the tasks, for tasks that join them.
	group   *errgroup.Group
	running context.Context //nolint:containedctx // it is that of the group, and ends with it
	// mu guards the sinks and pipelines of graph and their tasks below, which grow.
	mu sync.RWMutex
	// built is set once the tasks below are there, for Stats.
	built         atomic.Bool
	started       time.Time
	coord         *coordinator
	sourceTasks   []*sourceTask
	pipelineTasks []*pipelineTask
	sinkTasks     []*sinkTask
}

// NewExecution prepares a run; it does no I/O.
func NewExecution(g Graph, cfg Config, log Log, from Restore, l Listener) (*Execution, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return &Execution{
		graph: g, cfg: cfg.withDefaults(), log: log, restore: from, listener: l,
		stopped: make(chan struct{}), finished: make(chan struct{}), over: make(chan struct{}),
		requests: make(chan request),
	}, nil
}

// Run recovers the sinks, opens the sources and writers and runs until
//   - all sources have ended, or Stop was called, and the last checkpoint is committed: nil;
//   - ctx ends: its cause, without a further checkpoint;
//   - something fails: that error, with the uid of the operator.
//
// It returns after all goroutines have ended and everything is closed, readers and sinks included.
func (e *Execution) Run(ctx context.Context) error {
	defer close(e.over)
	ctx, e.abort = context.WithCancelCause(ctx)
	defer e.abort(nil)
	e.started = time.Now()
	err := e.open(ctx)
	if err == nil {
		err = e.runTasks(ctx)
	}
	switch cerr := e.close(); {
	case err == nil:
		err = cerr
	case cerr != nil:
		e.cfg.Log.Warn("not everything could be closed", "error", cerr)
	}
	return err
}

// open brings the targets to the state of the last entry before anything can
// write, then the sources to their positions, then makes the tasks with their writers.
func (e *Execution) open(ctx context.Context) error {
	err := e.eachSink(func(n *SinkNode) error {
		err := n.Sink.Recover(ctx, e.restore.sink(n.UID))
		if err != nil {
			err = fault(ctx, n.UID, fmt.Errorf("recovering: %w", err))
			e.abort(err)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range e.graph.Sources {
		n := &e.graph.Sources[i]
		if err := n.Reader.Open(ctx, e.restore.source(n.UID)); err != nil {
			return fault(ctx, n.UID, fmt.Errorf("opening: %w", err))
		}
	}
	return e.build(ctx)
}

// eachSink calls f for every sink, a few at a time, with the context of the job:
// what a sink starts in the background outlives the call. It gives the first error.
func (e *Execution) eachSink(f func(*SinkNode) error) error {
	var g errgroup.Group
	g.SetLimit(sinksAtOnce)
	sinks := e.sinks()
	for i := range sinks {
		g.Go(func() error { return f(&sinks[i]) })
	}
	return g.Wait()
}

// sinks gives the sinks that there are now.
func (e *Execution) sinks() []SinkNode {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.graph.Sinks
}

// build makes the tasks from the sinks up to the sources.
func (e *Execution) build(ctx context.Context) error {
	e.coord = &coordinator{e: e, p: newProtocol(&e.graph, e.cfg, &e.restore, time.Now()), events: make(chan event)}
	producers := map[string]int{}
	for i := range e.graph.Pipelines {
		producers[e.graph.Pipelines[i].Sink]++
	}
	inboxes := map[string][]*inbox{}
	for i := range e.graph.Sinks {
		n := &e.graph.Sinks[i]
		for sub := range n.subtasks() {
			w, err := n.Sink.NewWriter(ctx, sub, n.subtasks())
			if err != nil {
				return fault(ctx, n.UID, fmt.Errorf("opening writer %d: %w", sub, err))
			}
			in := newInbox(producers[n.UID], e.cfg.ChannelBytes)
			inboxes[n.UID] = append(inboxes[n.UID], in)
			e.sinkTasks = append(e.sinkTasks, &sinkTask{e: e, sink: i, subtask: sub, node: n, writer: w, in: in})
		}
	}
	for i := range e.graph.Sources {
		n := &e.graph.Sources[i]
		e.sourceTasks = append(e.sourceTasks, &sourceTask{
			e: e, index: i, node: n, outs: make([][]outlet, n.Ports), due: make(chan struct{}, 1),
		})
	}
	for i := range e.graph.Pipelines {
		e.buildPipeline(&e.graph.Pipelines[i], inboxes, producers)
	}
	e.built.Store(true)
	return nil
}

// buildPipeline takes the next free input, counted down in free, of each subtask of the sink.
func (e *Execution) buildPipeline(n *Pipeline, inboxes map[string][]*inbox, free map[string]int) {
	free[n.Sink]--
	var outs []outlet
	for _, in := range inboxes[n.Sink] {
		outs = append(outs, outlet{to: in, input: free[n.Sink]})
	}
	t := &pipelineTask{node: n, in: newInbox(1, e.cfg.ChannelBytes), out: newExchange(n.Router, outs)}
	e.pipelineTasks = append(e.pipelineTasks, t)
	for _, s := range e.sourceTasks {
		if s.node.UID == n.Source {
			s.outs[n.Port] = append(s.outs[n.Port], outlet{to: t.in})
		}
	}
}

func (e *Execution) runTasks(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	e.coord.group, e.group, e.running = g, g, gctx
	for _, t := range e.sourceTasks {
		g.Go(func() error { return fault(gctx, t.node.UID, t.run(gctx)) })
	}
	for _, t := range e.pipelineTasks {
		g.Go(func() error { return fault(gctx, t.node.UID, t.run(gctx)) })
	}
	for _, t := range e.sinkTasks {
		g.Go(func() error { return fault(gctx, t.node.UID, t.run(gctx)) })
	}
	g.Go(func() error {
		if err := e.coord.run(gctx); err != nil {
			return err
		}
		close(e.finished)
		return nil
	})
	err := g.Wait()
	e.cuts.Wait()
	for _, t := range e.pipelineTasks {
		t.in.drain()
	}
	for _, t := range e.sinkTasks {
		t.in.drain()
	}
	return err
}

// close closes everything, also what was never opened.
func (e *Execution) close() error {
	var errs []error
	note := func(uid string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("operator %s: closing: %w", uid, err))
		}
	}
	for i := range e.graph.Sources {
		note(e.graph.Sources[i].UID, e.graph.Sources[i].Reader.Close())
	}
	for _, t := range e.sinkTasks {
		note(t.node.UID, t.writer.Close())
	}
	for i := range e.graph.Sinks {
		note(e.graph.Sinks[i].UID, e.graph.Sinks[i].Sink.Close())
	}
	return errors.Join(errs...)
}

// Stop asks for an orderly end: a last barrier at the next edge of every source,
// its checkpoint committed, then Run returns nil. It returns at once and may be called again.
func (e *Execution) Stop() { e.stopOnce.Do(func() { close(e.stopped) }) }

// TriggerNow takes a checkpoint without waiting for interval and pause, and
// returns when a checkpoint triggered after the call is committed (nil), has
// failed, or the execution or ctx has ended.
func (e *Execution) TriggerNow(ctx context.Context) error {
	return e.await(ctx, request{done: make(chan error, 1)})
}

// request is what TriggerNow and Savepoint hand to the coordinator.
type request struct {
	done chan error
	// savepoint is nil for a mere checkpoint.
	savepoint *SavepointRequest
}

func (e *Execution) await(ctx context.Context, r request) error {
	select {
	case e.requests <- r:
	case <-e.over:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-r.done:
		return err
	case <-e.over:
		select {
		case err := <-r.done:
			return err
		default:
			return ErrStopped
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stats describes the execution at this moment; it is empty before the writers are open.
func (e *Execution) Stats() Stats {
	if !e.built.Load() {
		return Stats{}
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := Stats{Started: e.started}
	for _, t := range e.sourceTasks {
		s.Sources = append(s.Sources, t.stats())
	}
	// Behind the sources: a checkpoint that begins after these holds what they have read.
	if c := e.coord.stats.Load(); c != nil {
		s.Checkpoints = *c
	}
	for _, t := range e.pipelineTasks {
		s.Pipelines = append(s.Pipelines, t.stats())
	}
	s.Sinks = make([]SinkStats, len(e.graph.Sinks))
	for i := range e.graph.Sinks {
		n := &e.graph.Sinks[i]
		s.Sinks[i].UID = n.UID
		if r, ok := n.Sink.(SnapshotReporter); ok {
			s.Sinks[i].Snapshot = r.LastSnapshot()
		}
	}
	for _, t := range e.sinkTasks {
		st := &s.Sinks[t.sink]
		st.Rows += t.count.rows.Load()
		st.Bytes += t.count.bytes.Load()
		st.QueuedBytes += t.in.queued()
	}
	return s
}
