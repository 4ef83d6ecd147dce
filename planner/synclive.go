package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/diag"
)

// tellLeft says which tables stay out; where there is no other, that is an error.
func (y *syncer) tellLeft() {
	for _, l := range y.s.result.Left {
		if len(y.s.builder.plan.Sinks) == 0 {
			y.s.fail(l.Reason)
			continue
		}
		y.s.notice(configs.Notice{Key: "left out " + l.Name, Msg: fmt.Sprintf("table %s stays out: %s", l.Name, diag.Messages(l.Reason))})
	}
}

// watch lets the job take up tables that come, where a pattern names them.
func (y *syncer) watch(look connect.DiscoverSpec) {
	if y.spec.NoNewTables || !slices.ContainsFunc(look.Include, connect.TablePattern.Open) {
		return
	}
	look.Stored = nil
	y.s.builder.plan.Sources[0].Watch = &look
	y.s.result.Extend = y.extend
}

// extend adds a table to the plan of a running job, once for each of its copies.
func (y *syncer) extend(ctx context.Context, d *connect.Discovered) ([]*Extension, error) {
	s, pl := y.s, &y.s.builder.plan
	s.errs, s.notices = nil, nil
	rules, err := y.rulesOf(d)
	if err != nil {
		return nil, err
	}
	var out []*Extension
	for _, to := range y.copiesOf(d) {
		e, err := y.extendBy(ctx, to, d, rules, pl)
		if err != nil {
			for _, x := range slices.Backward(out) {
				x.Undo()
			}
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (y *syncer) extendBy(ctx context.Context, to CopyName, d *connect.Discovered, rules *copyRules, pl *Plan) (*Extension, error) {
	s := y.s
	g := y.groups[to]
	if g != nil && g.planned {
		return y.extendGroup(g, d, rules, pl)
	}
	pipes, sinks, tables := len(pl.Pipes), len(pl.Sinks), len(pl.Sources[0].Tables)
	known := maps.Clone(y.target.tables)
	steps := len(s.result.Steps)
	undo := func() {
		y.target.tables = known
		pl.Pipes, pl.Sinks, pl.Sources[0].Tables = pl.Pipes[:pipes], pl.Sinks[:sinks], pl.Sources[0].Tables[:tables]
		delete(y.groups, to)
	}
	clear(y.buckets)
	g = &copyGroup{to: to, members: []*connect.Discovered{d}, rules: rules}
	y.groups[to] = g
	y.group(ctx, g)
	y.tellBuckets()
	y.tellKeyless()
	e := &Extension{Steps: slices.Clone(s.result.Steps[steps:]), Notices: s.notices, Pipe: pipes, Sink: sinks, Port: tables, Undo: undo}
	s.result.Steps = s.result.Steps[:steps]
	if err := s.errs.Err(); err != nil {
		undo()
		return nil, err
	}
	return e, nil
}

// extendGroup lets a table go the way of others.
func (y *syncer) extendGroup(g *copyGroup, d *connect.Discovered, rules *copyRules, pl *Plan) (*Extension, error) {
	members := slices.Clone(g.members)
	if err := y.join(g, d, rules); err != nil {
		return nil, err
	}
	st := &pl.Sources[g.source].Tables[g.port]
	shards := st.Shards
	undo := func() { g.members, st.Shards = members, shards }
	if _, err := g.merged(); err != nil {
		undo()
		return nil, err
	}
	st.Shards = append(slices.Clone(shards), connect.TableName{Database: d.Database, Name: d.Name})
	return &Extension{Joined: true, Notices: y.s.notices, Source: g.source, Port: g.port, Undo: undo}, nil
}
