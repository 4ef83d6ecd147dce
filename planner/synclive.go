package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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
		y.s.notice(configs.Notice{Key: "left out " + l.Name, Msg: fmt.Sprintf("table %s stays out: %s", l.Name, reasonOf(l.Reason))})
	}
}

// reasonOf gives the messages of an error without their remedies.
func reasonOf(err error) string {
	var list diag.List
	list.Add(err)
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = e.Msg
	}
	return strings.Join(texts, "; ")
}

// watch lets the job take up tables that come, where a pattern names them.
func (y *syncer) watch(look connect.DiscoverSpec) {
	if !slices.ContainsFunc(look.Include, connect.TablePattern.Open) {
		return
	}
	look.Stored = nil
	y.s.builder.plan.Sources[0].Watch = &look
	y.s.result.Extend = y.extend
}

// extend adds a table to the plan of a running job.
func (y *syncer) extend(ctx context.Context, d *connect.Discovered) (*Extension, error) {
	s, pl := y.s, &y.s.builder.plan
	pipes, sinks, tables := len(pl.Pipes), len(pl.Sinks), len(pl.Sources[0].Tables)
	known := maps.Clone(y.target.tables)
	undo := func() {
		y.target.tables = known
		pl.Pipes, pl.Sinks, pl.Sources[0].Tables = pl.Pipes[:pipes], pl.Sinks[:sinks], pl.Sources[0].Tables[:tables]
	}
	s.errs, s.notices = nil, nil
	steps := len(s.result.Steps)
	clear(y.buckets)
	y.table(ctx, d)
	y.tellBuckets()
	e := &Extension{Steps: slices.Clone(s.result.Steps[steps:]), Notices: s.notices, Port: tables, Undo: undo}
	s.result.Steps = s.result.Steps[:steps]
	if err := s.errs.Err(); err != nil {
		undo()
		return nil, err
	}
	return e, nil
}
