package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"leat/e2e/judge"
)

// Lake is a table as the readers of package judge see it.
type Lake struct {
	Warehouse string
	// Table is db.table.
	Table string
}

// CheckRows requires that Java and PyPaimon both read want.
func (l Lake) CheckRows(t testing.TB, want []judge.Row) {
	t.Helper()
	l.CheckJava(t, want)
	if d := judge.Diff("source", want, "PyPaimon", judge.PyPaimon(t).Rows(t, l.Warehouse, l.Table)); d != "" {
		t.Error(d)
	}
}

// CheckJava requires that Java reads want.
func (l Lake) CheckJava(t testing.TB, want []judge.Row) {
	t.Helper()
	if d := judge.Diff("source", want, "Java", judge.Java(t).Rows(t, l.Warehouse, l.Table)); d != "" {
		t.Error(d)
	}
}

// CheckChangelog requires that the changelog of all snapshots is one that a
// streaming reader can apply, and that it folds to want. It gives the changes.
func (l Lake) CheckChangelog(t testing.TB, want []judge.Row, key ...string) []judge.Row {
	t.Helper()
	changes := judge.Java(t).Changelog(t, l.Warehouse, l.Table)
	folded, err := judge.Fold(changes, key...)
	if err != nil {
		t.Error(err)
		return changes
	}
	if d := judge.Diff("source", want, "folded changelog", folded); d != "" {
		t.Error(d)
	}
	if err := pairs(changes, key); err != nil {
		t.Error(err)
	}
	return changes
}

// pairs checks that the next change of a key after a -U is its +U, in the same snapshot.
func pairs(changes []judge.Row, key []string) error {
	open := map[string]judge.Row{}
	for _, c := range changes {
		id := keyOf(c, key)
		before, waits := open[id]
		if waits != (c.Kind() == "+U") || waits && before.Int("_snapshot") != c.Int("_snapshot") {
			return fmt.Errorf("snapshot %d: %s %s does not follow %s %s", c.Int("_snapshot"), c.Kind(), c.Line(), before["_kind"], before.Line())
		}
		delete(open, id)
		if c.Kind() == "-U" {
			open[id] = c
		}
	}
	for _, c := range open {
		return fmt.Errorf("snapshot %d: -U %s has no +U", c.Int("_snapshot"), c.Line())
	}
	return nil
}

func keyOf(r judge.Row, key []string) string {
	var b strings.Builder
	for _, k := range key {
		fmt.Fprintf(&b, "%v|", r[k])
	}
	return b.String()
}

// Moves counts the rows that left one place and entered another within one
// snapshot: -D and +I of the same id under different values of place.
func Moves(changes []judge.Row, id, place string) int {
	type at struct {
		snapshot int64
		id       string
	}
	left := map[at]any{}
	n := 0
	for _, c := range changes {
		k := at{snapshot: c.Int("_snapshot"), id: fmt.Sprint(c[id])}
		switch c.Kind() {
		case "-D":
			left[k] = c[place]
		case "+I":
			if p, ok := left[k]; ok && p != c[place] {
				n++
			}
		}
	}
	return n
}

// Property gives a property of a snapshot, "" if it is not there.
func Property(snapshot judge.Row, key string) string {
	p, _ := snapshot["properties"].(map[string]any)
	s, _ := p[key].(string)
	return s
}

// CheckProperties requires the source position on every snapshot, COMPACT
// included, and that positions and completeness never go back. It gives the id
// of the first complete snapshot. A job that starts by GTID knows file and offset
// once the stream has told them, which may be after its first checkpoint.
func (l Lake) CheckProperties(t testing.TB, gtid bool) (complete int64) {
	t.Helper()
	keys := []string{"leat.source.file", "leat.source.pos", "leat.source.time", "leat.source.complete", "leat.job", "leat.checkpoint"}
	if gtid {
		keys = append(keys, "leat.source.gtid")
	}
	var kinds []string
	last, told := "", false
	for _, s := range judge.Java(t).Snapshots(t, l.Warehouse, l.Table) {
		id, kind := s.Int("id"), s.Text("commitKind")
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		told = told || !gtid || Property(s, "leat.source.complete") == "true" || Property(s, "leat.source.file") != ""
		for _, k := range keys {
			unknown := !told && (k == "leat.source.file" || k == "leat.source.pos")
			if !unknown && Property(s, k) == "" {
				t.Errorf("snapshot %d (%s) lacks the property %s: %v", id, kind, k, s["properties"])
			}
		}
		place := fmt.Sprintf("%s:%020s", Property(s, "leat.source.file"), Property(s, "leat.source.pos"))
		if place < last {
			t.Errorf("snapshot %d (%s) is at %s, the one before was at %s", id, kind, place, last)
		}
		last = place
		switch is := Property(s, "leat.source.complete"); {
		case complete == 0 && is == "true":
			complete = id
		case complete != 0 && is != "true":
			t.Errorf("snapshot %d (%s) says complete=%q after snapshot %d was complete", id, kind, is, complete)
		}
	}
	if complete == 0 {
		t.Error("no snapshot is complete")
	}
	t.Logf("%s: commit kinds %v, complete since snapshot %d, last position %s", l.Table, kinds, complete, last)
	return complete
}

// CheckSums requires that every snapshot from the given one on has this sum of a column.
func (l Lake) CheckSums(t testing.TB, from int64, column string, want int64) {
	t.Helper()
	sums := judge.Java(t).Sums(t, l.Warehouse, l.Table, []string{column}, "--from", strconv.FormatInt(from, 10))
	wrong := 0
	for _, s := range sums {
		if s.Sums[column] != strconv.FormatInt(want, 10) {
			wrong++
			if wrong <= 5 {
				t.Errorf("snapshot %d: sum of %s over %d rows is %s, want %d", s.Snapshot, column, s.Rows, s.Sums[column], want)
			}
		}
	}
	t.Logf("%s: %d snapshots summed up, %d wrong", l.Table, len(sums), wrong)
}
