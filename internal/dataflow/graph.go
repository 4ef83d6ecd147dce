package dataflow

import (
	"context"
	"errors"
	"fmt"

	"leat/internal/diag"
)

// Graph is a job as data: sources with numbered ports, pipelines that each carry
// the batches of one port through operators into one sink, and sinks. A port may
// feed several pipelines (each gets every batch) and a sink may be fed by several
// pipelines of several sources (their union, aligned at barriers).
type Graph struct {
	Sources   []SourceNode
	Pipelines []Pipeline
	Sinks     []SinkNode
}

// SourceNode is one source.
type SourceNode struct {
	// UID is the stable operator uid: the key of its state in the checkpoint log.
	UID    string
	Reader SourceReader
	// Ports is the number of output ports; batches of a port no pipeline reads are dropped.
	Ports int
}

// Pipeline carries the batches of one port into one sink, on a goroutine of its own.
type Pipeline struct {
	UID string
	// Source and Port say where the batches come from.
	Source string
	Port   int
	// Operators are applied in order. They belong to this pipeline alone.
	Operators []Operator
	// Router spreads the rows over the subtasks of the sink. It belongs to this
	// pipeline alone and is needed only where the sink has more than one subtask.
	Router Router
	// Sink is the uid of the sink.
	Sink string
}

// SinkNode is one sink with its writers.
type SinkNode struct {
	UID  string
	Sink Sink
	// Parallelism is the number of writer subtasks; 0 means 1.
	Parallelism int
}

func (s *SinkNode) subtasks() int { return max(s.Parallelism, 1) }

// Validate reports a graph that cannot run; its errors are faults of the caller.
func (g *Graph) Validate() error {
	if len(g.Sources) == 0 {
		return errors.New("checking the graph: it has no source")
	}
	uids := map[string]bool{}
	unique := func(uid string) error {
		if uid == "" || uids[uid] {
			return fmt.Errorf("checking the graph: operator uid %q is empty or used twice", uid)
		}
		uids[uid] = true
		return nil
	}
	ports, parallel, fed := map[string]int{}, map[string]int{}, map[string]bool{}
	for i := range g.Sources {
		s := &g.Sources[i]
		if err := unique(s.UID); err != nil {
			return err
		}
		if s.Reader == nil || s.Ports < 0 {
			return fmt.Errorf("checking the graph: source %s has no reader", s.UID)
		}
		ports[s.UID] = s.Ports
	}
	for i := range g.Sinks {
		s := &g.Sinks[i]
		if err := unique(s.UID); err != nil {
			return err
		}
		if s.Sink == nil {
			return fmt.Errorf("checking the graph: sink %s has no target", s.UID)
		}
		parallel[s.UID] = s.subtasks()
	}
	for i := range g.Pipelines {
		p := &g.Pipelines[i]
		if err := unique(p.UID); err != nil {
			return err
		}
		n, isSource := ports[p.Source]
		subtasks, isSink := parallel[p.Sink]
		switch {
		case !isSource || p.Port < 0 || p.Port >= n:
			return fmt.Errorf("checking the graph: pipeline %s reads port %d of %q, which is not there", p.UID, p.Port, p.Source)
		case !isSink:
			return fmt.Errorf("checking the graph: pipeline %s feeds %q, which is not a sink", p.UID, p.Sink)
		case subtasks > 1 && p.Router == nil:
			return fmt.Errorf("checking the graph: pipeline %s feeds %d subtasks and has no router", p.UID, subtasks)
		}
		fed[p.Sink] = true
	}
	for i := range g.Sinks {
		if !fed[g.Sinks[i].UID] {
			return fmt.Errorf("checking the graph: sink %s is fed by no pipeline", g.Sinks[i].UID)
		}
	}
	return nil
}

// sourcesOf lists the uids of the sources that feed a sink, in graph order.
func (g *Graph) sourcesOf(sink string) []string {
	feeds := map[string]bool{}
	for i := range g.Pipelines {
		if g.Pipelines[i].Sink == sink {
			feeds[g.Pipelines[i].Source] = true
		}
	}
	var out []string
	for i := range g.Sources {
		if feeds[g.Sources[i].UID] {
			out = append(out, g.Sources[i].UID)
		}
	}
	return out
}

// Check lets every source and sink that is a Checker look at the outside world,
// before anything starts. It gives all findings as a diag.List.
func (g *Graph) Check(ctx context.Context) error {
	var list diag.List
	check := func(node any) {
		if c, ok := node.(Checker); ok {
			list.Add(c.Check(ctx))
		}
	}
	for i := range g.Sources {
		check(g.Sources[i].Reader)
	}
	for i := range g.Sinks {
		check(g.Sinks[i].Sink)
	}
	return list.Err()
}
