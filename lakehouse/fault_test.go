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
	"leat/lakehouse/maintain"
)

const (
	faultEpochs  = 6
	faultAttempt = "attempt-one"
)

// runEpochs writes and commits epochs until something fails. It gives how many
// commits were confirmed and how many were begun.
func runEpochs(ctx context.Context, fs fileio.FS, each func(epoch int)) (confirmed, begun int, err error) {
	tab, err := lakehouse.Open(ctx, fs, "/wh/o")
	if err != nil {
		return 0, 0, err
	}
	w, err := tab.NewWriter(ctx, lakehouse.WriteConfig{Attempt: faultAttempt, Budget: lakehouse.NewMemoryBudget(3000), Pool: lakehouse.NewWorkPool(2)})
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = w.Close(ctx) }()
	c := commit.New(fs, tab.Path, tab.Schema, commit.Options{Attempt: faultAttempt, MaxRetries: -1, MinRetryWait: 1, MaxRetryWait: 1}, nil)
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
			each(e)
		}
	}
	return confirmed, begun, nil
}

// TestAnyCallMayFail runs the same epochs with each call to the file system in
// turn failing, or being the last one: whatever is confirmed is in the table,
// and the table is always that of the end of an epoch.
func TestAnyCallMayFail(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]map[string]string{
		"fixed":   {"bucket": "1", "num-sorted-run.compaction-trigger": "2", "changelog-producer": "input"},
		"dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "3", "num-sorted-run.compaction-trigger": "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			anyCallMayFail(t, options, map[string]int{"fixed": 5, "dynamic": 11}[name])
		})
	}
}

func anyCallMayFail(t *testing.T, options map[string]string, step int) {
	t.Helper()
	fresh := func() fileio.FS {
		fs := crashfs.New()
		newTable(t, fs, "/wh/o", ordersSchema(options))
		return fs
	}
	columns := lakehouse.ScanOptions{Columns: []string{"order_id", "status"}}
	states := []string{""}
	disk := fresh()
	counting := faultfs.New(disk, "")
	_, _, err := runEpochs(t.Context(), counting, func(int) {
		// Read past the counter: the runs with a broken call do not read, and a call
		// they never make cannot break.
		tab, err := lakehouse.Open(t.Context(), disk, "/wh/o")
		if err != nil {
			t.Fatal(err)
		}
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
		for n := 1 + 2*at; n <= calls; n += step {
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
			if options["bucket"] == "-1" {
				goOn(t, fs)
			}
		}
	}
	if failed < runs/2 {
		t.Errorf("%d of %d runs failed, which is too few to mean anything", failed, runs)
	}
}

// goOn is the next run on a table with dynamic buckets: what the last one left
// loose is removed, and every key still has one bucket.
func goOn(t *testing.T, fs fileio.FS) {
	t.Helper()
	if err := maintain.RemoveAttempt(t.Context(), fs, "/wh/o", faultAttempt, nil); err != nil {
		t.Fatal(err)
	}
	tab, err := lakehouse.Open(t.Context(), fs, "/wh/o")
	if err != nil {
		t.Fatal(err)
	}
	j := newJob(t, tab, "attempt-two")
	j.write(orderRange(tab.Schema, columnar.Insert, -3, 2*faultEpochs, "next"))
	j.commit()
	hashesOf(t, tab)
	if _, rows := readAll(t, tab, lakehouse.ScanOptions{}); len(rows) != 3+2*faultEpochs {
		t.Fatalf("%d rows: %v", len(rows), rows)
	}
	used := map[string]bool{}
	snaps := commit.NewSnapshots(fs, tab.Path)
	ids, err := snaps.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		s, err := snaps.Read(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		index, err := commit.NewManifests(fs, tab.Path).Index(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range index {
			used[index[i].File.FileName] = true
		}
	}
	files, err := fs.List(t.Context(), tab.Path+"/index")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[f.Name] {
			t.Fatalf("index file %s belongs to no snapshot", f.Name)
		}
	}
}
