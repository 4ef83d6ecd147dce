package job

import (
	"fmt"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/dataflow/operators"
	"leat/internal/expr"
	"leat/planner"
)

// Attempt is what one run of a job writes under.
type Attempt struct {
	// UUID is recorded in the checkpoint log before the first file of the run.
	UUID string
	// CommitUser is stable over the restarts of a job.
	CommitUser string
	// Replace overwrites what the tables hold by the first commit.
	Replace bool
	// Watch gives what a source asks for tables that come; nil for nothing.
	Watch func(source int) *connect.Watch
}

// Build makes the dataflow of a plan. It does no I/O.
func Build(pl *planner.Plan, jobName string, at Attempt, env connect.Env) (dataflow.Graph, error) {
	var g dataflow.Graph
	for i := range pl.Sources {
		s := &pl.Sources[i]
		spec := connect.SourceSpec{UID: s.UID, Tables: s.Tables, Env: env}
		if s.Watch != nil && at.Watch != nil {
			spec.Watch = at.Watch(i)
		}
		r, err := s.Connector.NewSource(spec)
		if err != nil {
			return g, fmt.Errorf("making source %s: %w", s.UID, err)
		}
		g.Sources = append(g.Sources, dataflow.SourceNode{UID: s.UID, Reader: r, Ports: len(s.Tables)})
	}
	aside := asideSinks(pl)
	for i := range pl.Sinks {
		if aside[i] != "" {
			continue
		}
		n, err := sinkNode(&pl.Sinks[i], jobName, at, env)
		if err != nil {
			return g, err
		}
		g.Sinks = append(g.Sinks, n)
	}
	for i := range pl.Pipes {
		if aside[pl.Pipes[i].Sink] != "" {
			continue
		}
		p, err := pipeline(pl, &pl.Pipes[i], env)
		if err != nil {
			return g, err
		}
		g.Pipelines = append(g.Pipelines, p)
	}
	return g, nil
}

func sinkNode(s *planner.Sink, jobName string, at Attempt, env connect.Env) (dataflow.SinkNode, error) {
	sink, err := s.Connector.NewSink(connect.SinkSpec{
		UID: s.UID, Table: s.Table, Mode: s.Mode, Job: jobName, CommitUser: at.CommitUser, Attempt: at.UUID, Replace: at.Replace && !s.Keeps, Env: env,
	})
	if err != nil {
		return dataflow.SinkNode{}, fmt.Errorf("making sink %s: %w", s.UID, err)
	}
	return dataflow.SinkNode{UID: s.UID, Sink: sink, Parallelism: 1}, nil
}

func pipeline(pl *planner.Plan, p *planner.Pipe, env connect.Env) (dataflow.Pipeline, error) {
	ops, err := pipeOperators(pl, p, env)
	if err != nil {
		return dataflow.Pipeline{}, err
	}
	return dataflow.Pipeline{UID: p.UID, Source: pl.Sources[p.Source].UID, Port: p.Port, Operators: ops, Sink: pl.Sinks[p.Sink].UID}, nil
}

func pipeOperators(pl *planner.Plan, p *planner.Pipe, env connect.Env) ([]dataflow.Operator, error) {
	sink := &pl.Sinks[p.Sink]
	var ops []dataflow.Operator
	if p.Reshape != nil {
		op, err := operators.NewReshape(pl.InputSchema(p), func(in *columnar.Schema) (operators.CalcSpec, error) {
			out, exprs, filter, err := p.Reshape.Build(in)
			return operators.CalcSpec{Filter: filter, Project: exprs, Schema: out, Table: sink.Table.Name, Env: expr.Env{Zone: env.Zone}}, err
		})
		if err != nil {
			return nil, fmt.Errorf("compiling %s: %w", p.UID, err)
		}
		ops = append(ops, op)
		if p.Reshape.SoftDelete {
			ops = append(ops, operators.SoftDelete{})
		}
	}
	spec := operators.CalcSpec{
		Filter: p.Filter, Schema: sink.Table.Schema, NotNull: sink.NotNull, CheckBefore: sink.Connector.SinkMode(sink.Table) == connect.All,
		DropNulls: configs.NotNullEnforcer.Get(pl.Settings) == "DROP", Table: sink.Table.Name, Env: expr.Env{Zone: env.Zone},
	}
	if !p.Identity {
		spec.Project = p.Exprs
	}
	if p.In == connect.All {
		spec.Key = sink.KeyColumns
	}
	op, err := operators.NewCalc(spec)
	if err != nil {
		return nil, fmt.Errorf("compiling %s: %w", p.UID, err)
	}
	return append(ops, op), nil
}
