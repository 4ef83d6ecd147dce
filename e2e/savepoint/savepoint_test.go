package savepoint

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// TestGoBackUnderKills goes back to a savepoint again and again, killed at random
// moments of the way and of the run that follows. In the end both tables are the
// source, and nothing is left behind that no snapshot needs.
func TestGoBackUnderKills(t *testing.T) {
	t.Parallel()
	b := makeBank(t, "sp_kills", 2000)
	j := b.job(t, "kills")
	run := j.Start()
	j.Wait("kills", "snapshot")
	load := harness.StartLoad(t, b.server, b.db, 2, b.work)
	time.Sleep(500 * time.Millisecond)
	place := savepoint(t, j, "savepoint", "kills", "--path", "saved")
	held := map[string]int64{}
	for _, table := range []string{"cash", "stock"} {
		held[table] = tagged(t, j, table, filepath.Base(place))
	}
	time.Sleep(1500 * time.Millisecond)
	run.Stop()
	expect(t, j, 3, []string{"error LEAT-5007", "lake.d.cash: the savepoint is of snapshot", "--rollback-tables"}, "--from", place)

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(61, seed))
	begun, ended := 0, 0
	for i := range 16 {
		run := j.Start("--from", place, "--rollback-tables")
		says := func(words string) bool { return strings.Contains(run.Stderr(), words) }
		if i > 2 {
			harness.Eventually(t, "the job starts", func() bool { return says("starts from savepoint-") || says("goes on with its start from") })
		}
		// Every other run lives on to commit more, so that the next has something to take back.
		longest := 150
		if i%2 == 1 {
			longest = 2000
		}
		time.Sleep(time.Duration(rnd.IntN(longest)) * time.Millisecond)
		run.Kill()
		for _, table := range []string{"cash", "stock"} {
			if n := latest(t, j, table); n < held[table] {
				t.Fatalf("kill %d: %s is at snapshot %d, before the savepoint's %d", i, table, n, held[table])
			}
		}
		if says("is rolled back from") {
			begun++
		}
		if says("goes on with its start from") {
			ended++
		}
	}
	t.Logf("of 16 runs that were killed %d began a way back, %d were to end that of one before", begun, ended)
	if begun == 0 {
		t.Error("no kill came after the way back had begun")
	}
	load.MustStop(t)
	j.CatchUp()
	b.check(t, j)
	cash, stock := j.Lake("d.cash"), j.Lake("d.stock")
	cash.CheckProperties(t, true)
	stock.CheckProperties(t, true)
	if r := j.Leat("job", "savepoint", "--dispose", place); r.Code != 0 {
		t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	if _, err := os.Stat(place); !os.IsNotExist(err) {
		t.Errorf("the disposed savepoint is still there: %v", err)
	}
	cash.CheckNoOrphans(t)
	stock.CheckNoOrphans(t)
}

// tagged gives the snapshot of a tag.
func tagged(t *testing.T, j *harness.Job, table, tag string) int64 {
	t.Helper()
	r := j.Leat("shell", "--warehouse", j.Warehouse(), "--output", "ndjson", "-e", fmt.Sprintf("SELECT snapshot_id FROM d.`%s$tags` WHERE tag_name = '%s'", table, tag))
	var id int64
	if _, err := fmt.Sscanf(r.Stdout, `{"snapshot_id":%d}`, &id); err != nil {
		t.Fatalf("tag %s of %s: %v\n%s%s", tag, table, err, r.Stdout, r.Stderr)
	}
	return id
}

// TestSavepointsOfASnapshotOnAnotherMachine takes savepoints while the tables are
// read, stops with one, and goes on without the state directory, with the
// savepoint and the warehouse at other places.
func TestSavepointsOfASnapshotOnAnotherMachine(t *testing.T) {
	t.Parallel()
	b := makeBank(t, "sp_snapshot", 60_000)
	j := b.job(t, "snapshot", "state.savepoints.dir", "saved")
	load := harness.StartLoad(t, b.server, b.db, 1, b.work)
	run := j.Start()
	harness.Eventually(t, "the job is there", func() bool { return j.Leat("job", "show", "snapshot").Code == 0 })
	first := savepoint(t, j, "savepoint", "snapshot")
	second := savepoint(t, j, "stop", "snapshot", "--savepoint", filepath.Join(j.Dir, "elsewhere"))
	if r := run.Wait(); r.Code != 0 {
		t.Fatalf("the stopped job ended with %d\n%s", r.Code, r.Stderr)
	}
	if filepath.Dir(first) != filepath.Join(j.Dir, "saved") || filepath.Dir(second) != filepath.Join(j.Dir, "elsewhere") {
		t.Errorf("savepoints at %s and %s", first, second)
	}
	complete := true
	for _, s := range judge.Java(t).Snapshots(t, j.Warehouse(), "d.stock") {
		complete = harness.Property(s, "leat.source.complete") == "true"
	}
	t.Logf("the snapshot was complete at the second savepoint: %v", complete)

	moved := harness.NewJob(t, b.script("snapshot"), harness.SourceEnv(b.server, b.db)...)
	for from, to := range map[string]string{j.Warehouse(): moved.Warehouse(), second: filepath.Join(moved.Dir, "moved")} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	load.MustStop(t)
	r := moved.CatchUp("--from", "moved")
	if !strings.Contains(r.Stderr, "job snapshot starts from "+filepath.Base(second)) {
		t.Errorf("the run does not say where it starts:\n%s", r.Stderr)
	}
	b.check(t, moved)
	// And once more from where it is by itself.
	judge.Exec(t, b.server, "UPDATE "+b.db+".cash SET amount = amount + 1 WHERE id = 1")
	moved.CatchUp()
	b.check(t, moved)
}

// TestRefusedStarts names what stands in the way of a savepoint.
func TestRefusedStarts(t *testing.T) {
	t.Parallel()
	b := makeBank(t, "sp_refused", 100)
	j := b.job(t, "refused")
	run := j.Start()
	j.Wait("refused", "caught-up")
	place := savepoint(t, j, "stop", "refused", "--savepoint")
	run.Wait()
	at := latest(t, j, "cash")

	// Nothing newer: it goes on; then there are newer commits.
	judge.Exec(t, b.server, "UPDATE "+b.db+".cash SET amount = amount + 1 WHERE id = 1")
	j.CatchUp("--from", place)
	b.check(t, j)
	expect(t, j, 3, []string{fmt.Sprintf("table lake.d.cash: the savepoint is of snapshot %d, snapshot", at)}, "--from", place)

	// A reader beyond it.
	if r := j.Leat("shell", "--warehouse", j.Warehouse(), "-e", fmt.Sprintf("CALL sys.reset_consumer('d.cash', 'reader', %d)", at+2)); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	expect(t, j, 3, []string{"consumers stand beyond snapshot", "consumer reader reads snapshot", "--reset-consumers"}, "--from", place, "--rollback-tables")
	r := expect(t, j, 0, []string{"is rolled back from snapshot", "will be given again"}, "--from", place, "--rollback-tables", "--reset-consumers", "--catch-up")
	if !strings.Contains(r.Stderr, "consumers reader read from snapshot") {
		t.Errorf("the run does not tell of the consumer:\n%s", r.Stderr)
	}
	b.check(t, j)

	// Another writer since.
	judge.Java(t).Write(t, j.Warehouse(), "d.cash", "somebody", 1, `{"id":90001,"amount":5}`+"\n")
	expect(t, j, 3, []string{"others have written to it after snapshot", "is by somebody"}, "--from", place, "--rollback-tables", "--reset-consumers")

	// Other savepoints.
	expect(t, j, 2, []string{"there is no savepoint at"}, "--from", "nowhere")
	j.SetScript(b.script("other"))
	expect(t, j, 3, []string{"is of job refused, and this is job other"}, "--from", place)
	j.SetScript(b.script("refused"))
	file := filepath.Join(place, "_metadata")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(whole), `"checkpoint"`, `"checkpoinT"`, 1)
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, j, 2, []string{"is damaged: its checksum is"}, "--from", place)
}
