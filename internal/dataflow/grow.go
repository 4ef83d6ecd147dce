package dataflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Growth is what a source adds to its running job: ports, numbered after those
// it has, pipelines that read them, and the sinks that these feed.
type Growth struct {
	Ports     int
	Pipelines []Pipeline
	Sinks     []SinkNode
}

// Grower is a Collector whose job can grow while it runs.
type Grower interface {
	// Grow adds g, between two transactions of the source; the sinks are recovered as
	// at a start. After an error nothing was added, and the job goes on.
	Grow(ctx context.Context, g *Growth) error
}

var _ Grower = (*sourceTask)(nil)

// Grow adds to the graph. Only this goroutine injects the barriers of the source:
// one that it injected before does not come to the new tasks, every later one does.
func (t *sourceTask) Grow(ctx context.Context, g *Growth) error {
	if err := t.checkGrowth(g); err != nil {
		return err
	}
	tasks, err := t.e.grown(ctx, g)
	if err != nil {
		return err
	}
	known := make(chan struct{})
	t.e.coord.post(ctx, func(c *coordinator, _ time.Time) {
		c.p.grow(g, t.index)
		close(known)
	})
	select {
	case <-known:
	case <-t.e.finished:
		err = ErrStopped
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return errors.Join(err, tasks.close())
	}
	t.start(g, tasks)
	return nil
}

// checkGrowth reports a growth that cannot run; its errors are faults of the caller.
func (t *sourceTask) checkGrowth(g *Growth) error {
	sinks := map[string]bool{}
	for i := range g.Sinks {
		sinks[g.Sinks[i].UID] = true
		if g.Sinks[i].subtasks() > 1 {
			return fmt.Errorf("growing: sink %s has several subtasks", g.Sinks[i].UID)
		}
	}
	for _, s := range t.e.sinks() {
		if sinks[s.UID] {
			return fmt.Errorf("growing: there is a sink %s already", s.UID)
		}
	}
	for i := range g.Pipelines {
		p := &g.Pipelines[i]
		if p.Source != t.node.UID || p.Port < len(t.outs) || p.Port >= len(t.outs)+g.Ports || !sinks[p.Sink] {
			return fmt.Errorf("growing: pipeline %s does not lead from a new port to a new sink", p.UID)
		}
		delete(sinks, p.Sink)
	}
	if len(sinks) > 0 {
		return errors.New("growing: a sink is fed by no pipeline")
	}
	return nil
}

// newTasks are the sink tasks of a growth, in its order.
type newTasks []*sinkTask

// close closes what was opened.
func (n newTasks) close() error {
	var errs []error
	for _, t := range n {
		if t.writer != nil {
			errs = append(errs, t.writer.Close())
		}
		errs = append(errs, t.node.Sink.Close())
	}
	return errors.Join(errs...)
}

// grown recovers the sinks of g and opens their writers.
func (e *Execution) grown(ctx context.Context, g *Growth) (newTasks, error) {
	tasks := make(newTasks, 0, len(g.Sinks))
	for i := range g.Sinks {
		n := &g.Sinks[i]
		t := &sinkTask{e: e, node: n, in: newInbox(1, e.cfg.ChannelBytes)}
		tasks = append(tasks, t)
		err := n.Sink.Recover(ctx, e.restore.sink(n.UID))
		if err == nil {
			t.writer, err = n.Sink.NewWriter(ctx, 0, 1)
		}
		if err != nil {
			return nil, errors.Join(fault(ctx, n.UID, fmt.Errorf("recovering: %w", err)), tasks.close())
		}
	}
	return tasks, nil
}

// start lets the new tasks run and leads the new ports to them.
func (t *sourceTask) start(g *Growth, tasks newTasks) {
	e := t.e
	t.outs = append(t.outs, make([][]outlet, g.Ports)...)
	e.mu.Lock()
	defer e.mu.Unlock()
	inboxes := map[string]*inbox{}
	for _, task := range tasks {
		task.sink = len(e.graph.Sinks)
		e.graph.Sinks = append(e.graph.Sinks, *task.node)
		e.sinkTasks = append(e.sinkTasks, task)
		inboxes[task.node.UID] = task.in
		e.group.Go(func() error { return fault(e.running, task.node.UID, task.run(e.running)) })
	}
	for i := range g.Pipelines {
		n := &g.Pipelines[i]
		e.graph.Pipelines = append(e.graph.Pipelines, *n)
		task := &pipelineTask{node: n, in: newInbox(1, e.cfg.ChannelBytes), out: newExchange(n.Router, []outlet{{to: inboxes[n.Sink]}})}
		e.pipelineTasks = append(e.pipelineTasks, task)
		t.outs[n.Port] = append(t.outs[n.Port], outlet{to: task.in})
		e.group.Go(func() error { return fault(e.running, n.UID, task.run(e.running)) })
	}
}

// grow lets every barrier that source has still to inject wait for the sinks of
// g, too. One that is in the stream already does not pass them: they have nothing in its epoch.
func (p *protocol) grow(g *Growth, source int) {
	for i := range g.Sinks {
		p.sinks = append(p.sinks, sinkShape{uid: g.Sinks[i].UID, subtasks: 1, sources: []int{source}})
		for _, e := range p.epochs {
			value := json.RawMessage("null")
			if e.states[source] == nil {
				value = nil
				e.acks++
			}
			e.values = append(e.values, []json.RawMessage{value})
		}
	}
}
