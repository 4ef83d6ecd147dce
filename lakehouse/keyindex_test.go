package lakehouse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// crossSchema is the orders table partitioned by dt with key order_id alone.
func crossSchema(options map[string]string) *spec.TableSchema {
	s := ordersSchema(options, "dt")
	s.PrimaryKeys = []string{"order_id"}
	return s
}

// rowsOf gives order_id|status|dt of all rows, sorted.
func rowsOf(t *testing.T, tab *lakehouse.Table) []string {
	t.Helper()
	_, rows := readAll(t, tab, lakehouse.ScanOptions{Columns: []string{"order_id", "status", "dt"}})
	return rows
}

func TestRowsLeaveTheirPartition(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", crossSchema(map[string]string{
		"bucket": "-1", "dynamic-bucket.target-row-num": "2", "changelog-producer": "input",
	}))
	j := newJob(t, tab, "attempt1")
	insert := func(id int64, status, dt string) order {
		return order{kind: columnar.Insert, id: id, status: status, dt: dt}
	}
	j.write(orders(tab.Schema, insert(1, "a", "d1"), insert(2, "a", "d1"), insert(3, "a", "d1"), insert(4, "a", "d2")))
	j.commit()
	// There and back within one batch, and a delete that names a stale partition.
	j = newJob(t, tab, "attempt2")
	j.write(orders(tab.Schema, insert(1, "b", "d2"), insert(1, "c", "d1"), insert(1, "d", "d3"), insert(2, "b", "d1"),
		order{kind: columnar.Delete, id: 4, status: "a", dt: "d9"}, order{kind: columnar.Delete, id: 5, dt: "d1"}))
	_, ids := j.commit()
	if d := cmp.Diff([]string{"1|d|d3", "2|b|d1", "3|a|d1"}, rowsOf(t, tab)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var log []string
	for _, row := range readChangelog(t.Context(), t, tab, ids[0]) {
		c := strings.Split(row, "|")
		log = append(log, c[0]+" "+c[1]+" "+c[7])
	}
	slices.Sort(log)
	want := []string{"+I 1 d1", "+I 1 d2", "+I 1 d3", "+I 2 d1", "-D 1 d1", "-D 1 d1", "-D 1 d2", "-D 4 d2"}
	if d := cmp.Diff(want, log); d != "" {
		t.Errorf("changelog (-want +got):\n%s", d)
	}
}

func TestKeyIndexBudgetIsARefusal(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", crossSchema(map[string]string{"bucket": "-1"}))
	j := newJob(t, tab, "attempt1")
	j.write(orderRange(tab.Schema, columnar.Insert, 0, 100, "a"))
	j.commit()
	if _, err := tab.NewWriter(t.Context(), lakehouse.WriteConfig{Attempt: "attempt2", IndexBudget: 1000}); diag.DomainOf(err) != diag.User {
		t.Errorf("got %v", err)
	}
	for _, o := range []map[string]string{{"merge-engine": "first-row"}, {"sequence.field": "user_id"}, {"ignore-delete": "true"}} {
		_, err := newTable(t, crashfs.New(), "/wh/db.db/t", crossSchema(o)).NewWriter(t.Context(), lakehouse.WriteConfig{Attempt: "a"})
		if diag.DomainOf(err) != diag.User {
			t.Errorf("%v: got %v", o, err)
		}
	}
}

// Where rows move, a second writer would leave keys in two partitions: the first one notices.
func TestOnlyOneWriterMovesRows(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", crossSchema(map[string]string{"bucket": "-1"}))
	one := newJob(t, tab, "attempt1")
	one.write(orderRange(tab.Schema, columnar.Insert, 0, 10, "a"))
	one.commit()
	two := newJob(t, tab, "attempt2")
	two.write(orderRange(tab.Schema, columnar.Insert, 20, 30, "a"))
	if _, ids := two.commit(); len(ids) != 1 {
		t.Fatal(ids)
	}
	one.write(orderRange(tab.Schema, columnar.Insert, 0, 10, "b"))
	p, err := one.w.Prepare(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	msgs, err := p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := one.c.Commit(ctx, commit.Request{User: one.user, Identifier: 2, Messages: msgs})
	if err != nil {
		t.Fatal(err)
	}
	if err := one.w.Committed(ctx, 2, ids, false); diag.DomainOf(err) != diag.Guard {
		t.Errorf("got %v", err)
	}
}
