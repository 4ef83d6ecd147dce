package planner

import (
	"fmt"
	"strings"

	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/expr"
)

// Explain gives the plan as text: one block a source with its ports, one line a
// pipe, one block a sink, as EXPLAIN prints it.
func (pl *Plan) Explain() string {
	var b strings.Builder
	b.WriteString("== Physical Plan ==\n")
	for i := range pl.Sources {
		explainSource(&b, &pl.Sources[i])
	}
	for i := range pl.Pipes {
		pl.explainPipe(&b, &pl.Pipes[i])
	}
	for i := range pl.Sinks {
		explainSink(&b, &pl.Sinks[i])
	}
	return b.String()
}

func explainSource(b *strings.Builder, s *Source) {
	kind := "unbounded"
	if s.Bounded {
		kind = "bounded"
	}
	fmt.Fprintf(b, "Source %s (%s, %s)\n", s.UID, s.Connector.Name(), kind)
	for i, t := range s.Tables {
		names := []string{t.Table.Name}
		for _, s := range t.Shards {
			names = append(names, s.Database+"."+s.Name)
		}
		columns := strings.ReplaceAll(strings.Join(t.Schema().Names(), ", "), dataflow.HiddenPrefix, "read ")
		fmt.Fprintf(b, "  port %d: %s [%s]\n", i, strings.Join(names, ", "), columns)
	}
}

func (pl *Plan) explainPipe(b *strings.Builder, p *Pipe) {
	s := &pl.Sinks[p.Sink]
	fmt.Fprintf(b, "Calc %s: %s port %d -> %s, changelog [%s] -> [%s]\n", p.UID, pl.Sources[p.Source].UID, p.Port, s.UID, p.In, s.Mode)
	switch {
	case p.Reshape != nil && len(p.Reshape.Text) > 0:
		for _, line := range p.Reshape.Text {
			fmt.Fprintf(b, "  %s\n", line)
		}
	case p.Identity:
		b.WriteString("  all columns as they are\n")
	default:
		for i, e := range p.Exprs {
			f := s.Table.Schema.Fields[i]
			fmt.Fprintf(b, "  %s = %s\n", f.Name, expr.String(e))
		}
	}
	if p.Filter != nil {
		fmt.Fprintf(b, "  where %s\n", expr.String(p.Filter))
	}
}

func explainSink(b *strings.Builder, s *Sink) {
	fmt.Fprintf(b, "Sink %s (%s): %s", s.UID, s.Connector.Name(), s.Table.Name)
	if len(s.Table.PrimaryKey) > 0 {
		fmt.Fprintf(b, ", key (%s)", strings.Join(s.Table.PrimaryKey, ", "))
	}
	if len(s.Table.PartitionKeys) > 0 {
		fmt.Fprintf(b, ", partitioned by (%s)", strings.Join(s.Table.PartitionKeys, ", "))
	}
	if s.Mode != connect.InsertOnly && len(s.KeyColumns) > 0 {
		names := make([]string, len(s.KeyColumns))
		for i, c := range s.KeyColumns {
			names[i] = s.Table.Schema.Fields[c].Name
		}
		fmt.Fprintf(b, ", a change of (%s) is -D and +I", strings.Join(names, ", "))
	}
	b.WriteString("\n  prepare at the barrier, commit after the checkpoint\n")
}
