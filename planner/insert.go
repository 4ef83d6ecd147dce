package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// builder collects the INSERTs of a job into one plan.
type builder struct {
	s    *Session
	plan Plan
	// scans are the tables read so far, in order; each becomes one port.
	scans []*scan
	sinks map[*table]int
	// groups are the source nodes that several tables share.
	groups map[string]int
}

// scan is a table that one or several pipes read.
type scan struct {
	table *table
	// def is the definition with the options of a hint.
	def    *connect.Table
	hints  string
	source int
	port   int
}

func newBuilder(s *Session) *builder {
	return &builder{s: s, sinks: map[*table]int{}, groups: map[string]int{}}
}

func (b *builder) insert(ctx context.Context, v *sqlfront.Insert) {
	if v.Overwrite {
		b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Pos(), Msg: "INSERT OVERWRITE does not run yet", Hint: "write INSERT INTO; `leat run --fresh --replace` starts over"})
		return
	}
	target := b.s.findTable(ctx, v.Target)
	rels, ok := b.query(ctx, v.Query)
	if target == nil || !ok {
		return
	}
	conn, isSink := target.connector.(connect.SinkConnector)
	if !isSink {
		b.s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Target.At, Msg: fmt.Sprintf("table %s can only be read: connector '%s' is a source", target.full, target.connector.Name()), Hint: "insert into a Paimon table, or one with connector 'print' or 'blackhole'"})
		return
	}
	for _, r := range rels {
		b.pipe(v, target, conn, r)
	}
}

// pipe adds one SELECT of an INSERT to the plan.
func (b *builder) pipe(v *sqlfront.Insert, target *table, conn connect.SinkConnector, r *relation) {
	exprs, ok := b.sinkColumns(v, target, r)
	if !ok {
		return
	}
	src := r.scan.table.connector.(connect.SourceConnector)
	in := src.SourceMode(r.scan.def)
	if !b.checkMode(v, target, conn, r, in) {
		return
	}
	sink, known := b.sinks[target]
	if !known {
		sink = len(b.plan.Sinks)
		b.sinks[target] = sink
		b.plan.Sinks = append(b.plan.Sinks, newSink(target, conn))
	}
	sk := &b.plan.Sinks[sink]
	sk.Mode = max(sk.Mode, in)
	source, port := b.port(r.scan, src)
	b.plan.Pipes = append(b.plan.Pipes, Pipe{
		UID: fmt.Sprintf("calc-%d", len(b.plan.Pipes)+1), Source: source, Port: port, Sink: sink, Exprs: exprs, Filter: r.filter, In: in,
	})
	b.project(source, port)
}

// checkMode refuses changes into a target that only takes inserts.
func (b *builder) checkMode(v *sqlfront.Insert, target *table, conn connect.SinkConnector, r *relation, in connect.ChangelogMode) bool {
	if in == connect.InsertOnly || conn.SinkMode(target.def) != connect.InsertOnly {
		return true
	}
	if len(target.def.PrimaryKey) > 0 {
		b.s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeTableShape, Pos: v.Target.At, Table: target.full,
			Msg:  fmt.Sprintf("%s brings updates and deletes, and this table takes inserts only", r.scan.table.full),
			Hint: "set 'ignore-delete' = 'true' on it",
		})
		return false
	}
	b.s.fail(&diag.Error{
		Domain: diag.User, Code: diag.CodeNoPrimaryKey, Pos: v.Target.At, Table: target.full,
		Msg:  fmt.Sprintf("%s brings updates and deletes, and this table has no primary key to apply them to", r.scan.table.full),
		Hint: "declare PRIMARY KEY (…) NOT ENFORCED on it",
	})
	return false
}

func newSink(t *table, conn connect.SinkConnector) Sink {
	s := Sink{UID: "sink:" + t.full, Connector: conn, Table: t.def}
	for i, f := range t.def.Schema.Fields {
		if !f.Type.Nullable {
			s.NotNull = append(s.NotNull, i)
		}
		if slices.Contains(t.def.PrimaryKey, f.Name) || len(t.def.PrimaryKey) > 0 && slices.Contains(t.def.PartitionKeys, f.Name) {
			s.KeyColumns = append(s.KeyColumns, i)
		}
	}
	return s
}

// port gives the source node and port of a scan. A node's uid does not name the
// server, so that a job goes on after its source moved to another host.
func (b *builder) port(sc *scan, conn connect.SourceConnector) (source, port int) {
	if sc.source >= 0 {
		return sc.source, sc.port
	}
	group := conn.Group(sc.def)
	if group != "" {
		group = conn.Name() + " " + group
		if i, ok := b.groups[group]; ok {
			sc.source = i
		}
	}
	if sc.source < 0 {
		sc.source = len(b.plan.Sources)
		b.plan.Sources = append(b.plan.Sources, Source{UID: b.sourceUID(sc, conn, group), Connector: conn, Bounded: true})
		if group != "" {
			b.groups[group] = sc.source
		}
	}
	src := &b.plan.Sources[sc.source]
	sc.port = len(src.Tables)
	src.Tables = append(src.Tables, connect.SourceTable{Table: sc.def})
	src.Bounded = src.Bounded && conn.Bounded(sc.def)
	return sc.source, sc.port
}

func (b *builder) sourceUID(sc *scan, conn connect.SourceConnector, group string) string {
	if group == "" {
		return "source:" + sc.table.full
	}
	n := 1
	for g := range b.groups {
		if strings.HasPrefix(g, conn.Name()+" ") {
			n++
		}
	}
	return fmt.Sprintf("source:%s-%d", conn.Name(), n)
}

// project sets the needed columns of a port to those its pipes read, in table
// order, and makes the expressions of the pipes read them.
func (b *builder) project(source, port int) {
	st := &b.plan.Sources[source].Tables[port]
	before := st.Needed
	last := len(b.plan.Pipes) - 1
	need := map[int]bool{}
	for _, c := range before {
		need[c] = true
	}
	p := &b.plan.Pipes[last]
	for _, c := range pipeColumns(p) {
		need[c] = true
	}
	if len(need) == 0 {
		need[0] = true // a batch needs a column to count its rows
	}
	st.Needed = nil
	for i := range st.Table.Schema.Fields {
		if need[i] {
			st.Needed = append(st.Needed, i)
		}
	}
	for i := range b.plan.Pipes {
		q := &b.plan.Pipes[i]
		if q.Source != source || q.Port != port {
			continue
		}
		from := before
		if i == last {
			from = nil
		}
		remapPipe(q, from, st.Needed, len(st.Table.Schema.Fields))
		q.Identity = isIdentity(q, len(st.Needed))
	}
}

// remapPipe moves the column references of p from the projection from (nil: the
// whole table) to the projection to.
func remapPipe(p *Pipe, from, to []int, columns int) {
	mapping := make([]int, columns)
	for i, c := range to {
		if from == nil {
			mapping[c] = i
			continue
		}
		if j := slices.Index(from, c); j >= 0 {
			mapping[j] = i
		}
	}
	for i, e := range p.Exprs {
		p.Exprs[i] = expr.Remap(e, mapping)
	}
	if p.Filter != nil {
		p.Filter = expr.Remap(p.Filter, mapping)
	}
}

func pipeColumns(p *Pipe) []int {
	var cols []int
	for _, e := range p.Exprs {
		cols = append(cols, expr.References(e)...)
	}
	if p.Filter != nil {
		cols = append(cols, expr.References(p.Filter)...)
	}
	return cols
}

// useBefore finds, for each port, the columns whose old values its pipes use.
func (pl *Plan) useBefore() {
	for i := range pl.Sources {
		for port := range pl.Sources[i].Tables {
			pl.Sources[i].Tables[port].Before = pl.beforeOf(i, port)
		}
	}
}

// beforeOf gives nil for all columns.
func (pl *Plan) beforeOf(source, port int) []int {
	needed := pl.Sources[source].Tables[port].Needed
	out := []int{}
	for i := range pl.Pipes {
		p := &pl.Pipes[i]
		if p.Source != source || p.Port != port {
			continue
		}
		sink := &pl.Sinks[p.Sink]
		if sink.Connector.SinkMode(sink.Table) != connect.Upsert || p.Reshape != nil {
			return nil
		}
		var cols []int
		if p.Filter != nil {
			cols = expr.References(p.Filter)
		}
		for _, c := range sink.retracts() {
			cols = append(cols, expr.References(p.Exprs[c])...)
		}
		for _, c := range cols {
			out = append(out, needed[c])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// retracts gives the columns of the sink that it looks at in a -D row.
func (s *Sink) retracts() []int {
	out := slices.Clone(s.KeyColumns)
	if r, ok := s.Connector.(connect.Retractor); ok {
		for _, name := range r.RetractColumns(s.Table) {
			if i := s.Table.Schema.Index(name); i >= 0 {
				out = append(out, i)
			}
		}
	}
	return out
}

func isIdentity(p *Pipe, columns int) bool {
	if len(p.Exprs) != columns {
		return false
	}
	for i, e := range p.Exprs {
		if c, ok := expr.IsColumn(e); !ok || c != i {
			return false
		}
	}
	return true
}
