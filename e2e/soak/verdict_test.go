package soak

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// verdict compares the lake with the source and with what the ordered writer noted.
func (x *round) verdict() {
	x.t.Helper()
	for _, t := range x.tables {
		for _, k := range t.sinks {
			x.judge(t, k)
		}
	}
	lake := x.job.Lake("d.accounts")
	complete := x.complete(lake, "")
	rows := x.source("SELECT * FROM " + database + ".accounts")
	if x.mode != "snapshot" {
		lake.CheckJava(x.t, rows)
		lake.CheckChangelog(x.t, rows, "region", "id")
	}
	lake.CheckSums(x.t, complete, "balance", accounts*opening)
	x.orphans(lake)
}

func (x *round) source(query string) []judge.Row {
	x.t.Helper()
	return judge.SourceRows(x.t, x.server(), query)
}

// complete is the first snapshot, of a kind if one is given, that says that the tables have been read whole.
func (x *round) complete(l harness.Lake, kind string) int64 {
	x.t.Helper()
	for _, s := range judge.Java(x.t).Snapshots(x.t, l.Warehouse, l.Table) {
		if harness.Property(s, "leat.source.complete") == "true" && (kind == "" || s.Text("commitKind") == kind) {
			return s.Int("id")
		}
	}
	// A table that was read before the others has no commit any more once all are read and the job ends.
	if x.mode != "snapshot" {
		x.t.Errorf("%s has no complete snapshot", l.Table)
	}
	return 1 << 60
}

// judge looks at one sink: its rows, its changelog, each of its snapshots, its files.
func (x *round) judge(t *table, k sink) {
	x.t.Helper()
	lake := x.job.Lake("d." + k.name)
	last := t.states[len(t.states)-1]
	if len(t.states) == 1 && last.rows == 0 {
		return // no row was ever there, so there may be no snapshot
	}
	got := t.alike(judge.Java(x.t).Rows(x.t, lake.Warehouse, lake.Table))
	want := t.alike(x.source(t.query()))
	if k.groups {
		want = x.source("SELECT g, COUNT(*) AS n, CAST(SUM(h) AS SIGNED) AS h, CAST(SUM(txn) AS SIGNED) AS txn FROM " + database + "." + t.name + " GROUP BY g")
	}
	folded := got
	if k.groups { // a group that became empty keeps a row of nothing
		got = slices.DeleteFunc(slices.Clone(got), func(r judge.Row) bool { return r.Int("n") == 0 && r.Int("h") == 0 && r.Int("txn") == 0 })
	}
	// A bounded job ends with the tables as they were when it read them.
	if d := judge.Diff("source", want, "lake", got); d != "" && x.mode != "snapshot" {
		x.t.Errorf("%s (%s): %s", k.name, t.create(), d)
	}
	x.counts.add("rows compared", len(got))
	if k.changelog != "none" {
		changes := judge.Java(x.t).Changelog(x.t, lake.Warehouse, lake.Table)
		x.counts.add("changes folded", len(changes))
		live, err := judge.Fold(t.alike(changes), k.key(t)...)
		if err != nil {
			x.t.Errorf("%s: %v", k.name, err)
		} else if d := judge.Diff("table", folded, "folded changelog", live); d != "" {
			x.t.Errorf("%s: %s", k.name, d)
		}
	}
	x.states(t, k, lake)
	x.orphans(lake)
}

// orphans looks for files of nobody. The mark of a killed writer goes with the next
// write to its table, and after a bounded job there is none.
func (x *round) orphans(l harness.Lake) {
	x.t.Helper()
	if x.mode != "snapshot" {
		l.CheckNoOrphans(x.t)
	}
}

// states requires that each complete snapshot is a state that the writer noted,
// and none older than that of the snapshot before.
func (x *round) states(t *table, k sink, lake harness.Lake) {
	x.t.Helper()
	columns := []string{"h", "txn"}
	if k.groups {
		columns = append(columns, "n")
	}
	at, wrong := 0, 0
	// Where readers leave out level 0, a snapshot shows its rows from its compaction on.
	kind := ""
	if slices.Contains(k.options, "deletion-vectors.enabled") || slices.Contains(k.options, "first-row") {
		kind = "COMPACT"
	}
	sums := judge.Java(x.t).Sums(x.t, lake.Warehouse, lake.Table, columns, "--from", strconv.FormatInt(x.complete(lake, kind), 10))
	for _, s := range sums {
		is := state{rows: s.Rows, hash: number(s.Sums["h"]), txn: number(s.Sums["txn"])}
		if k.groups {
			is.rows = number(s.Sums["n"])
		}
		if i := slices.Index(t.states[at:], is); i >= 0 {
			at += i
			continue
		}
		if wrong++; wrong <= 3 {
			where := "never was one of the source"
			if i := slices.Index(t.states, is); i >= 0 {
				where = fmt.Sprintf("is state %d of the source, after state %d", i, at)
			}
			x.t.Errorf("%s: snapshot %d with %+v %s; %d states, from %d on %+v\n%s%s", k.name, s.Snapshot, is, where, len(t.states), at, t.states[at:min(at+4, len(t.states))],
				around(x.t, lake, s.Snapshot), t.create())
		}
	}
	if last := len(t.states) - 1; wrong == 0 && x.mode != "snapshot" && t.states[at] != t.states[last] {
		x.t.Errorf("%s: the last snapshot is state %d of %d", k.name, at, last)
	}
	x.counts.add("snapshots judged", len(sums))
}

// around tells of the snapshots near one.
func around(t testing.TB, l harness.Lake, id int64) string {
	t.Helper()
	var b strings.Builder
	for _, s := range judge.Java(t).Snapshots(t, l.Warehouse, l.Table) {
		if n := s.Int("id"); n >= id-3 && n <= id+2 {
			fmt.Fprintf(&b, "  snapshot %d: %s of checkpoint %s, %v rows in all, %v changed, complete %s, at %s:%s\n", n, s.Text("commitKind"), harness.Property(s, "leat.checkpoint"),
				s["totalRecordCount"], s["deltaRecordCount"], harness.Property(s, "leat.source.complete"), harness.Property(s, "leat.source.file"), harness.Property(s, "leat.source.pos"))
		}
	}
	return b.String()
}

// number reads a sum; that of no rows is 0.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
