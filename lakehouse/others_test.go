package lakehouse_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
	"leat/lakehouse/maintain"
)

// What is written after another's commit counts above it, in the first epoch already.
func TestForeignCommitsRaiseSequenceNumbers(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/o", ordersSchema(map[string]string{"bucket": "1", "write-only": "true"}))
	a, b := newJob(t, tab, "a"), newJob(t, tab, "b")
	a.write(orders(tab.Schema, order{id: 1, status: "a1"}))
	a.commit()
	for round := range 3 {
		for range 5 {
			b.write(orders(tab.Schema, order{id: 1, status: "b"}))
		}
		b.commit()
		a.write(orders(tab.Schema, order{id: 1, status: fmt.Sprint("a", round)}))
		a.commit()
		_, rows := readAll(t, tab, lakehouse.ScanOptions{Columns: []string{"order_id", "status"}})
		if diff := cmp.Diff([]string{fmt.Sprint("1|a", round)}, rows); diff != "" {
			t.Errorf("round %d: rows (-want +got):\n%s", round, diff)
		}
	}
}

// A compaction whose inputs another writer has compacted, and an expiration has
// removed, is given up; the writer goes on with what is there now.
func TestOvertakenCompactionIsGivenUp(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/o", ordersSchema(map[string]string{"bucket": "1", "num-sorted-run.compaction-trigger": "3"}))
	pool := lakehouse.NewWorkPool(2)
	a := newJobWith(t, tab, "a", lakehouse.WriteConfig{Pool: pool})
	release := pool.HoldCompactions()
	var want []string
	epoch := func(id int64) {
		want = append(want, fmt.Sprintf("%d|x", id))
		a.write(orders(tab.Schema, order{id: id, status: "x"}))
		a.commit()
	}
	for id := range int64(3) {
		epoch(id)
	}
	done, err := tab.RunCompaction(t.Context(), lakehouse.WriteConfig{Attempt: "b-compacts"}, lakehouse.Compaction{Full: true})
	if err != nil || done.Buckets != 1 {
		t.Fatal(done, err)
	}
	if _, err := maintain.ExpireSnapshots(t.Context(), tab.FS, tab.Path, maintain.ExpireOptions{RetainMin: 1, RetainMax: 1, Limit: 100}); err != nil {
		t.Fatal(err)
	}
	release()
	for id := range int64(5) {
		epoch(10 + id)
	}
	_, rows := readAll(t, tab, lakehouse.ScanOptions{Columns: []string{"order_id", "status"}})
	slices.Sort(rows)
	slices.Sort(want)
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
