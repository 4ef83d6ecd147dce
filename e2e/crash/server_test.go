package crash

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/mysqld"
)

// TestNoGTID reads a server without GTIDs: the snapshot under writes, a kill in
// mid-stream, resumption by file and offset over a change of binlog files.
func TestNoGTID(t *testing.T) {
	t.Parallel()
	s := judge.MySQL(t, "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
	a := makeAccounts(t, s, "plain", 3000)
	j := harness.NewJob(t, a.script("plain", "200ms", "input", harness.KeepAll()...), a.env()...)
	load := harness.StartLoad(t, s, a.db, 3, func(x *harness.Tx) bool {
		time.Sleep(3 * time.Millisecond)
		return a.work(x)
	})
	for range 4 {
		run := j.Start()
		time.Sleep(1200 * time.Millisecond)
		run.Kill()
		judge.Exec(t, s, "FLUSH BINARY LOGS")
	}
	load.MustStop(t)
	j.CatchUp()
	lake := j.Lake("d.accounts")
	want := a.rows(t)
	lake.CheckRows(t, want)
	lake.CheckChangelog(t, want, "region", "id")
	lake.CheckSums(t, lake.CheckProperties(t, false), "balance", a.sum())
	for _, snap := range judge.Java(t).Snapshots(t, lake.Warehouse, lake.Table) {
		if g := harness.Property(snap, "leat.source.gtid"); g != "" {
			t.Errorf("snapshot %d has the GTID set %q of a server without GTIDs", snap.Int("id"), g)
		}
	}
}

// ownServer is a server with data that outlive it, so that it can be started again.
type ownServer struct {
	*mysqld.Server
	opt mysqld.Options
}

func startOwn(t *testing.T) *ownServer {
	t.Helper()
	o := &ownServer{opt: mysqld.Options{DataDir: t.TempDir()}}
	o.start(t)
	o.opt.Port = o.Port
	t.Cleanup(func() {
		if err := o.Stop(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func (o *ownServer) start(t *testing.T) {
	t.Helper()
	s, err := mysqld.Start(t.Context(), o.opt)
	if err != nil {
		t.Fatal(err)
	}
	o.Server = s
}

// TestRestartStrategy kills MySQL under a running job: with fixed-delay the job
// goes on by itself once the server is back, with none it fails with exit code 1.
func TestRestartStrategy(t *testing.T) {
	t.Parallel()
	s := startOwn(t)
	a := makeAccounts(t, s.Server, "restart", 500)
	script := func(name string, set ...string) string {
		text := a.script(name, "200ms", "none", harness.KeepAll()...)
		return harness.Settings(name, "200ms", set...) + text
	}
	connection := []string{"restart-strategy.fixed-delay.delay", "500ms", "restart-strategy.fixed-delay.attempts", "100"}
	again := harness.NewJob(t, script("again", append(connection, "restart-strategy", "fixed-delay")...), a.env()...)
	none := harness.NewJob(t, script("none", "restart-strategy", "none"), a.env()...)
	running, failing := again.Start(), none.Start()
	again.Wait("again", "snapshot")
	none.Wait("none", "snapshot")
	load := harness.StartLoad(t, s.Server, a.db, 2, a.work)
	time.Sleep(time.Second)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = load.Stop() // its connections broke
	if r := failing.Wait(); r.Code != 1 {
		t.Errorf("restart-strategy none: exit code %d, want 1\n%s", r.Code, r.Stderr)
	}
	s.start(t)
	after := harness.StartLoad(t, s.Server, a.db, 2, a.work)
	time.Sleep(2 * time.Second)
	after.MustStop(t)
	if running.Ended() {
		t.Fatalf("restart-strategy fixed-delay: the job ended: %s", running.Wait().Stderr)
	}
	want := a.rows(t)
	lake := again.Lake("d.accounts")
	harness.Eventually(t, "the job caught up by itself", func() bool {
		sum, err := judge.Java(t).LatestSum(lake.Warehouse, lake.Table, "balance")
		return err == nil && int(sum.Rows) == len(want) && judge.Diff("", want, "", judge.Java(t).Rows(t, lake.Warehouse, lake.Table)) == ""
	})
	running.Stop()
	lake.CheckJava(t, want)
	lake.CheckSums(t, lake.CheckProperties(t, true), "balance", a.sum())
}

// TestStopWhileServerIsAway stops jobs whose MySQL is gone, one that waits for its
// restart and one that connects again and again: both end soon, and go on later.
func TestStopWhileServerIsAway(t *testing.T) {
	t.Parallel()
	s := startOwn(t)
	a := makeAccounts(t, s.Server, "away", 100)
	waiting := harness.NewJob(t, harness.Settings("waiting", "200ms", "restart-strategy.fixed-delay.delay", "1h")+a.script("waiting", "200ms", "none"), a.env()...)
	connecting := harness.NewJob(t, strings.Replace(a.script("connecting", "200ms", "none"), "'server-time-zone'", "'connect.max-retries' = '1000', 'server-time-zone'", 1), a.env()...)
	jobs := map[string]*harness.Job{"waiting": waiting, "connecting": connecting}
	running := map[string]*harness.Child{}
	for name, j := range jobs {
		running[name] = j.Start()
		j.Wait(name, "snapshot")
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "one job waits for its restart", func() bool { return strings.Contains(running["waiting"].Stderr(), "job restarts") })
	for name, run := range running {
		begin := time.Now()
		r := run.End()
		if r.Code != 0 {
			t.Errorf("%s: a stopped job ends with exit code %d:\n%s", name, r.Code, r.Stderr)
		}
		if time.Since(begin) > time.Minute {
			t.Errorf("%s took %s to stop", name, time.Since(begin))
		}
	}
	s.start(t)
	judge.Exec(t, s.Server, "DELETE FROM away.accounts WHERE id > 50")
	for _, j := range jobs {
		j.CatchUp()
		j.Lake("d.accounts").CheckJava(t, a.rows(t))
	}
}

// TestLongRun makes a checkpoint every 100 ms for half a minute under updates of
// few keys: files and snapshots stay bounded, every remaining snapshot is readable.
func TestLongRun(t *testing.T) {
	t.Parallel()
	a := makeAccounts(t, judge.MySQL(t), "long_run", 60)
	j := harness.NewJob(t, a.script("long-run", "100ms", "input",
		"snapshot.num-retained.min", "5", "snapshot.num-retained.max", "40", "snapshot.time-retained", "3s"), a.env()...)
	load := harness.StartLoad(t, a.server, a.db, 2, func(x *harness.Tx) bool {
		time.Sleep(4 * time.Millisecond)
		return a.work(x)
	})
	run := j.Start()
	lake := j.Lake("d.accounts")
	j.Wait("long-run", "snapshot")
	var most []int
	for begin := time.Now(); time.Since(begin) < 28*time.Second; time.Sleep(4 * time.Second) {
		most = append(most, filesPerBucket(t, lake))
	}
	load.MustStop(t)
	run.Stop()
	j.CatchUp()
	t.Logf("most live files in a bucket over the run: %v, at the end %d", most, filesPerBucket(t, lake))
	// The stop trigger is 8 sorted runs; a run may have a few files meanwhile.
	if slices.Max(most) > 20 {
		t.Errorf("a bucket has %d files", slices.Max(most))
	}
	snapshots := judge.Java(t).Snapshots(t, lake.Warehouse, lake.Table)
	last := snapshots[len(snapshots)-1].Int("id")
	if len(snapshots) > 42 || last < 100 {
		t.Errorf("%d snapshots are kept of %d, num-retained.max is 40", len(snapshots), last)
	}
	lake.CheckJava(t, a.rows(t))
	lake.CheckSums(t, snapshots[0].Int("id"), "balance", a.sum())
	if c := judge.Java(t).Changelog(t, lake.Warehouse, lake.Table, "--from", strconv.FormatInt(snapshots[0].Int("id"), 10)); len(c) == 0 {
		t.Error("the kept snapshots have no changelog")
	}
	lake.CheckNoOrphans(t)
	if all := harness.Tree(t, filepath.Join(lake.Warehouse, "d.db")); len(all) > 1000 {
		t.Errorf("%d files on disk for %d snapshots", len(all), len(snapshots))
	}
}

// filesPerBucket is the most live files any bucket has in the latest snapshot.
func filesPerBucket(t *testing.T, l harness.Lake) int {
	t.Helper()
	count := map[string]int{}
	for _, f := range judge.Java(t).Files(t, l.Warehouse, l.Table) {
		count[fmt.Sprint(f["partition_path"], f["bucket"])]++
	}
	most := 0
	for _, n := range count {
		most = max(most, n)
	}
	return most
}
