package cdc

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A statement that stands in the log in place of rows may change tables that it
// does not name: by a view, a trigger, or a function that it calls. Which ones,
// their definitions tell, as far as the account may see them.

// Limits of the search: how deep definitions may name each other, how many names
// a look takes, and how many answers are kept.
const (
	reachDepth = 8
	reachNames = 100
	reachKept  = 1000
)

// reach adds to names, which a statement written as text holds, the tables behind them.
func (r *Reader) reach(ctx context.Context, names []name, statement string) ([]name, error) {
	if !r.wroteText {
		r.wroteText = true
		r.log.Warn("a session writes with binlog_format=STATEMENT or MIXED: the log holds its statements instead of rows, and what they change in tables of this job "+
			"by triggers, views and functions that the account may not see would be missed", "server", r.server.addr, "statement", clip(statement), "remedy", "SET GLOBAL binlog_format = 'ROW'")
	}
	key := fmt.Sprint(names)
	if all, ok := r.reached[key]; ok {
		return all, nil
	}
	n, err := r.cfg.connect(ctx)
	if err != nil {
		return nil, sourceError(r.server.addr, err)
	}
	defer n.close()
	all, next := slices.Clone(names), names
	for depth := 0; len(next) > 0 && depth < reachDepth; depth++ {
		list, err := n.definitions(next[:min(len(next), reachNames)])
		if err != nil {
			return nil, sourceError(n.addr, err)
		}
		next = nil
		for _, d := range list {
			for _, x := range (&nameReader{words: words(d[1]), schema: d[0]}).until("") {
				if !slices.Contains(all, x) {
					all, next = append(all, x), append(next, x)
				}
			}
		}
	}
	if r.reached == nil || len(r.reached) >= reachKept {
		r.reached = map[string][]name{}
	}
	r.reached[key] = all
	return all, nil
}

// definitions gives schema and text of the views and functions with one of the names, and of
// the triggers of tables with one of them.
func (n *conn) definitions(names []name) ([][]string, error) {
	list := make([]string, len(names))
	for i, x := range names {
		list[i] = "(" + literal(x.schema) + ", " + literal(x.table) + ")"
	}
	in := " IN (" + strings.Join(list, ", ") + ")"
	var out [][]string
	for _, q := range []string{
		"SELECT TABLE_SCHEMA, VIEW_DEFINITION FROM information_schema.VIEWS WHERE (TABLE_SCHEMA, TABLE_NAME)",
		"SELECT EVENT_OBJECT_SCHEMA, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE (EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE)",
		"SELECT ROUTINE_SCHEMA, ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE (ROUTINE_SCHEMA, ROUTINE_NAME)",
	} {
		t, err := n.query(q + in)
		if err != nil {
			return nil, err
		}
		out = append(out, t.rows...)
	}
	return out, nil
}
