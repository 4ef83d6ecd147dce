package crash

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// TestCrash kills the job 30 times under load, the first of them while the
// snapshot is read. Then the table is the source, the changelog folds to it, every
// snapshot from the first complete one on has the sum that all source
// transactions keep, and no file of a dead run is left.
func TestCrash(t *testing.T) {
	t.Parallel()
	a := makeAccounts(t, judge.MySQL(t), "crash", 4000)
	j := harness.NewJob(t, a.script("crash", "150ms", "input", append(harness.KeepAll(),
		"write-buffer-size", "256 kb", "num-sorted-run.compaction-trigger", "2")...), a.env()...)
	load := harness.StartLoad(t, a.server, a.db, 4, func(x *harness.Tx) bool {
		time.Sleep(2 * time.Millisecond)
		return a.work(x)
	})
	rnd := rand.New(rand.NewPCG(30, uint64(time.Now().UnixNano())))
	early := 0
	for i := range 30 {
		run := j.Start()
		after := time.Duration(40+rnd.IntN(60+20*i)) * time.Millisecond
		if i >= 8 {
			after = time.Duration(100+rnd.IntN(1500)) * time.Millisecond
		}
		if i == 12 && !complete(j.Warehouse()) { // a slow machine
			j.Wait("crash", "snapshot")
		}
		time.Sleep(after)
		run.Kill()
		if !complete(j.Warehouse()) {
			early++
		}
	}
	load.MustStop(t)
	j.CatchUp()
	t.Logf("%d of 30 kills before the first complete snapshot", early)
	if early == 0 || early == 30 {
		t.Error("the kills were not spread over snapshot and stream")
	}

	lake := j.Lake("d.accounts")
	want := a.rows(t)
	lake.CheckRows(t, want)
	changes := lake.CheckChangelog(t, want, "region", "id")
	t.Logf("%d changes, %d moves to another region", len(changes), harness.Moves(changes, "id", "region"))
	lake.CheckSums(t, lake.CheckProperties(t, true), "balance", a.sum())
	lake.CheckNoOrphans(t)
}

// complete reports whether a snapshot of d.accounts says that the source's snapshot is in.
func complete(warehouse string) bool {
	dir := filepath.Join(warehouse, "d.db", "accounts", "snapshot")
	names, _ := filepath.Glob(filepath.Join(dir, "snapshot-*"))
	for _, n := range names {
		var s judge.Row
		if b, err := os.ReadFile(n); err == nil && json.Unmarshal(b, &s) == nil && harness.Property(s, "leat.source.complete") == "true" {
			return true
		}
	}
	return false
}

// TestCrashInSnapshot kills the job while a larger table is read, so that partial
// snapshots are in the lake, with rows changing, moving and going meanwhile.
func TestCrashInSnapshot(t *testing.T) {
	t.Parallel()
	a := makeAccounts(t, judge.MySQL(t), "crash_snapshot", 200_000)
	script := a.script("crash-snapshot", "100ms", "none", append(harness.KeepAll(), "write-buffer-size", "1 mb")...)
	// Slow enough to be killed in the middle: at least five seconds.
	script = strings.Replace(script, "'leat.snapshot.readers' = '1'", "'leat.snapshot.readers' = '1', 'leat.snapshot.max-rows-per-second' = '40000'", 1)
	j := harness.NewJob(t, script, a.env()...)
	load := harness.StartLoad(t, a.server, a.db, 2, func(x *harness.Tx) bool {
		time.Sleep(2 * time.Millisecond)
		return a.work(x)
	})
	rnd := rand.New(rand.NewPCG(31, uint64(time.Now().UnixNano())))
	snapshots := func() int {
		names, _ := filepath.Glob(filepath.Join(j.Warehouse(), "d.db/accounts/snapshot/snapshot-*"))
		return len(names)
	}
	partial := 0
	for i := range 14 {
		before, run := snapshots(), j.Start()
		if i%4 != 0 { // the others may come while the job starts
			harness.Eventually(t, "a snapshot of a run", func() bool { return snapshots() > before })
		}
		time.Sleep(time.Duration(rnd.IntN(250)) * time.Millisecond)
		run.Kill()
		if complete(j.Warehouse()) {
			break
		}
		if snapshots() > before {
			partial++
		}
	}
	run := j.Start()
	j.Wait("crash-snapshot", "snapshot")
	time.Sleep(time.Second)
	run.Stop()
	load.MustStop(t)
	j.CatchUp()
	t.Logf("%d kills with a part of the table in the lake", partial)
	if partial == 0 {
		t.Error("no kill came between the first snapshot and the first complete one")
	}
	lake := j.Lake("d.accounts")
	lake.CheckJava(t, a.rows(t))
	lake.CheckSums(t, lake.CheckProperties(t, true), "balance", a.sum())
	lake.CheckNoOrphans(t)
}

// TestCrashAppend kills a job that appends a generated sequence: no number is
// missing, none is there twice.
func TestCrashAppend(t *testing.T) {
	t.Parallel()
	const n = 20_000
	script := harness.Settings("crash-append", "100ms") +
		"CREATE TEMPORARY TABLE gen (id BIGINT, part INT, text STRING) WITH (" + harness.Options("connector", "datagen", "rows-per-second", "2000",
		"fields.id.kind", "sequence", "fields.id.start", "1", "fields.id.end", strconv.Itoa(n),
		"fields.part.min", "0", "fields.part.max", "2", "fields.text.length", "20") + ");\n" +
		harness.LakeDatabase +
		harness.LakeTable("numbers", "id BIGINT, part INT, text STRING", "PARTITIONED BY (part)",
			append(harness.KeepAll(), "bucket", "-1", "compaction.min.file-num", "4")...) +
		"INSERT INTO numbers SELECT id, part, text FROM default_catalog.default_database.gen;\n"
	j := harness.NewJob(t, script)
	rnd := rand.New(rand.NewPCG(32, uint64(time.Now().UnixNano())))
	for range 8 {
		run := j.Start()
		time.Sleep(time.Duration(100+rnd.IntN(500)) * time.Millisecond)
		run.Kill()
	}
	j.MustRun() // a bounded sequence ends the job
	lake := j.Lake("d.numbers")
	seen := make([]int, n+1)
	for _, r := range judge.Java(t).Rows(t, lake.Warehouse, lake.Table) {
		seen[r.Int("id")]++
	}
	missing, twice := 0, 0
	for _, times := range seen[1:] {
		switch {
		case times == 0:
			missing++
		case times > 1:
			twice++
		}
	}
	if missing+twice+seen[0] != 0 {
		t.Errorf("of %d numbers %d are missing, %d are there more than once", n, missing, twice)
	}
	lake.CheckNoOrphans(t)
}
