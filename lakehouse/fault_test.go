package lakehouse_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/faultfs"
	"leat/lakehouse"
	"leat/lakehouse/commit"
)

const faultEpochs = 6

// runEpochs writes and commits epochs until something fails. It gives how many
// commits were confirmed and how many were begun.
func runEpochs(ctx context.Context, fs fileio.FS, each func(epoch int, tab *lakehouse.Table)) (confirmed, begun int, err error) {
	tab, err := lakehouse.Open(ctx, fs, "/wh/o")
	if err != nil {
		return 0, 0, err
	}
	w, err := tab.NewWriter(ctx, lakehouse.WriteConfig{Attempt: "one", Budget: lakehouse.NewMemoryBudget(3000), Pool: lakehouse.NewWorkPool(2)})
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = w.Close(ctx) }()
	c := commit.New(fs, tab.Path, tab.Schema, commit.Options{Attempt: "one", MaxRetries: -1, MinRetryWait: 1, MaxRetryWait: 1}, nil)
	for e := range faultEpochs {
		for k := range 2 {
			if err := w.Write(ctx, orders(tab.Schema,
				order{id: int64(e), status: fmt.Sprint("s", e), dt: "d"}, order{id: int64(e*2 + k), status: fmt.Sprint("t", e), dt: "d"},
				order{kind: columnar.Delete, id: int64(e - 3), dt: "d"})); err != nil {
				return confirmed, begun, err
			}
		}
		p, err := w.Prepare(ctx, int64(e+1))
		if err != nil {
			return confirmed, begun, err
		}
		msgs, err := p.Wait(ctx)
		if err != nil {
			return confirmed, begun, err
		}
		begun++
		ids, err := c.Commit(ctx, commit.Request{User: "u", Identifier: int64(e + 1), Messages: msgs})
		if err != nil {
			return confirmed, begun, err
		}
		confirmed++
		if err := w.Committed(ctx, int64(e+1), ids, false); err != nil {
			return confirmed, begun, err
		}
		if each != nil {
			each(e, tab)
		}
	}
	return confirmed, begun, nil
}

// TestAnyCallMayFail runs the same epochs with each call to the file system in
// turn failing, or being the last one: whatever is confirmed is in the table,
// and the table is always that of the end of an epoch.
func TestAnyCallMayFail(t *testing.T) {
	t.Parallel()
	fresh := func() fileio.FS {
		fs := crashfs.New()
		newTable(t, fs, "/wh/o", ordersSchema(map[string]string{"bucket": "1", "num-sorted-run.compaction-trigger": "2", "changelog-producer": "input"}))
		return fs
	}
	columns := lakehouse.ScanOptions{Columns: []string{"order_id", "status"}}
	states := []string{""}
	counting := faultfs.New(fresh(), "")
	_, _, err := runEpochs(t.Context(), counting, func(_ int, tab *lakehouse.Table) {
		_, rows := readAll(t, tab, columns)
		states = append(states, strings.Join(rows, " "))
	})
	if err != nil {
		t.Fatal(err)
	}
	calls := counting.Total()
	failed := 0
	runs := 0
	for at, action := range []string{"fail", "stop", "stop-after"} {
		for n := 1 + 2*at; n <= calls; n += 7 {
			runs++
			fs := fresh()
			confirmed, begun, err := runEpochs(t.Context(), faultfs.New(fs, fmt.Sprintf("any#%d %s", n, action)), nil)
			if err != nil {
				failed++
			}
			tab, oerr := lakehouse.Open(t.Context(), fs, "/wh/o")
			if oerr != nil {
				t.Fatal(oerr)
			}
			_, rows := readAll(t, tab, columns)
			got := strings.Join(rows, " ")
			if !slices.Contains(states[confirmed:begun+1], got) {
				t.Fatalf("call %d %s (error %v): %d epochs confirmed, %d begun, table holds %q, want one of %q", n, action, err, confirmed, begun, got, states[confirmed:begun+1])
			}
		}
	}
	if failed < runs/2 {
		t.Errorf("%d of %d runs failed, which is too few to mean anything", failed, runs)
	}
}
