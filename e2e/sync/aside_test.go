package sync

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// status is what `leat job show` says of the source.
func (c *copies) status(name string) (tables map[string]string, snapshotRows int64) {
	c.t.Helper()
	var s struct {
		Stats struct {
			Sources []struct {
				Status struct {
					SnapshotDone int64 `json:"snapshot_done"`
					Tables       []struct{ Name, State, Reason string }
				}
			}
		}
	}
	r := c.job.Leat("job", "show", name)
	if r.Code != 0 {
		return nil, 0
	}
	if err := json.Unmarshal([]byte(r.Stdout), &s); err != nil {
		c.t.Fatalf("%v\n%s", err, r.Stdout)
	}
	tables = map[string]string{}
	for _, src := range s.Stats.Sources {
		snapshotRows += src.Status.SnapshotDone
		for _, t := range src.Status.Tables {
			tables[strings.TrimPrefix(t.Name, c.db+".")] = strings.TrimSpace(t.State + " " + t.Reason)
		}
	}
	return tables, snapshotRows
}

// awaitState waits until a table is in a state.
func (c *copies) awaitState(job, table, state string) {
	c.t.Helper()
	harness.Eventually(c.t, table+" is "+state, func() bool {
		tables, _ := c.status(job)
		return strings.HasPrefix(tables[table], state)
	})
}

// TestSyncSetsTablesAside lets one table of three fail for a row and for a change
// of its key. The others go on; kills and restarts keep it aside; it goes on from
// where it stood, without a snapshot, killed on the way.
func TestSyncSetsTablesAside(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_aside", "CREATE TABLE DB.bad (id INT NOT NULL PRIMARY KEY, v INT, d DATE)", "CREATE TABLE DB.good (id INT NOT NULL PRIMARY KEY, v INT)",
		"CREATE TABLE DB.calm (id INT NOT NULL PRIMARY KEY)", "INSERT INTO DB.bad VALUES (1, 1, '2024-01-01'), (2, 2, NULL)", "INSERT INTO DB.good VALUES (1, 1)", "INSERT INTO DB.calm VALUES (7)")
	const include, name = "DB.*", "aside"
	strict := []string{"--name", name, "--on-bad-row", "set-aside", "--mysql-conf", "leat.zero-date=error"}
	run := c.job.StartCommand(c.args(include, strict...)...)
	c.job.Wait(name, "snapshot")
	change := func(n int) {
		for i := range n {
			c.exec(fmt.Sprintf("INSERT INTO DB.bad VALUES (%d, %d, '2024-02-03') ON DUPLICATE KEY UPDATE v = v + 1", 10+i, i), fmt.Sprintf("INSERT INTO DB.good VALUES (%d, %d) ON DUPLICATE KEY UPDATE v = v + 1", 10+i, i))
		}
		c.exec("DELETE FROM DB.bad WHERE id = 11", "DELETE FROM DB.good WHERE id = 11")
	}
	change(3)
	judge.Exec(t, c.server, "SET sql_mode = ''", "INSERT INTO "+c.db+".bad VALUES (100, 1, '0000-00-00')")
	c.awaitState(name, "bad", "set aside column 'd' holds a date that does not exist")
	change(5)
	c.job.Wait(name, "caught-up")
	c.lake("good").CheckJava(t, c.rows("good"))
	if r := c.job.Leat("job", "savepoint", name); r.Code == 0 || !strings.Contains(r.Stderr, "set aside: e2e_sync_aside.bad") {
		t.Errorf("a savepoint without a table: exit code %d\n%s", r.Code, r.Stderr)
	}
	if r := c.job.Leat("job", "restart", name, "--table", "e2e_sync_aside.good"); r.Code == 0 || !strings.Contains(r.Stderr, "is not set aside") {
		t.Errorf("restarting a table that runs: exit code %d\n%s", r.Code, r.Stderr)
	}
	run.Kill()

	// Zero dates may be now; the table stays aside until it is asked for.
	lenient := []string{"--name", name, "--on-bad-row", "set-aside"}
	run = c.job.StartCommand(c.args(include, lenient...)...)
	c.job.Wait(name, "caught-up")
	c.awaitState(name, "bad", "set aside")
	change(4)
	if r := c.job.Leat("job", "restart", name, "--table", "e2e_sync_aside.bad"); r.Code != 0 {
		t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	for range 3 {
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
		run.Kill()
		change(3)
		run = c.job.StartCommand(c.args(include, lenient...)...)
		c.job.Wait(name, "caught-up")
		if tables, _ := c.status(name); strings.HasPrefix(tables["bad"], "set aside") {
			if r := c.job.Leat("job", "restart", name, "--table", "e2e_sync_aside.bad"); r.Code != 0 {
				t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
			}
		}
	}
	c.awaitState(name, "bad", "streaming")
	c.job.Wait(name, "caught-up")
	if _, rows := c.status(name); rows != 0 {
		t.Errorf("%d rows were read anew", rows)
	}
	c.exec("UPDATE DB.bad SET d = NULL WHERE id = 100")

	// A change that no copy can follow.
	c.exec("ALTER TABLE DB.bad DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)", "INSERT INTO DB.bad VALUES (10, 77, NULL)")
	c.awaitState(name, "bad", "set aside source table e2e_sync_aside.bad was changed in a way the job cannot follow: its key was (id) and is (id, v)")
	c.exec("UPDATE DB.good SET v = v + 3", "INSERT INTO DB.good VALUES (50, 50)")
	c.job.Wait(name, "caught-up")
	c.lake("good").CheckJava(t, c.rows("good"))
	if r := c.job.Leat("job", "restart", name, "--table", "e2e_sync_aside.bad"); r.Code != 0 {
		t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	c.job.Wait(name, "caught-up")
	c.awaitState(name, "bad", "set aside") // again
	c.exec("DELETE FROM DB.bad WHERE v = 77", "ALTER TABLE DB.bad DROP PRIMARY KEY, ADD PRIMARY KEY (id)")
	if r := c.job.Leat("job", "restart", name, "--table", "e2e_sync_aside.bad"); r.Code != 0 {
		t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	c.awaitState(name, "bad", "streaming")
	run.Stop()
	c.mustRun(include, lenient...)
	for _, table := range []string{"bad", "good", "calm"} {
		c.lake(table).CheckJava(t, c.rows(table))
	}
	for _, table := range []string{"bad", "good", "calm"} {
		c.lake(table).CheckNoOrphans(t)
	}
}

// TestSyncCatchesUpBesideOthers lets a table with a long way to go catch up: rows of
// another one are in the lake meanwhile, also under kills, and each is there once.
func TestSyncCatchesUpBesideOthers(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_behind", "CREATE TABLE DB.late (id INT NOT NULL PRIMARY KEY, v INT, d DATE)", "CREATE TABLE DB.good (id INT NOT NULL PRIMARY KEY, v INT)",
		"INSERT INTO DB.late VALUES (1, 1, NULL)", "INSERT INTO DB.good VALUES (1, 1)")
	const include, name = "DB.*", "behind"
	flags := []string{"--name", name, "--on-bad-row", "set-aside"}
	run := c.job.StartCommand(c.args(include, append(flags, "--mysql-conf", "leat.zero-date=error")...)...)
	c.job.Wait(name, "snapshot")
	judge.Exec(t, c.server, "SET sql_mode = ''", "INSERT INTO "+c.db+".late VALUES (100, 1, '0000-00-00')")
	c.awaitState(name, "late", "set aside")
	run.Kill()
	// Each statement waits for a checkpoint: the way takes some seconds.
	c.exec("INSERT INTO DB.late (id, v, d) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT a.i * 1000 + b.i, a.i, NULL FROM n a JOIN n b",
		"ALTER TABLE DB.late ADD COLUMN w INT DEFAULT 3", "UPDATE DB.late SET v = v + 1", "DELETE FROM DB.late WHERE id % 3 = 0")
	for i := range 60 {
		c.exec(fmt.Sprintf("ALTER TABLE DB.late COMMENT = '%d'", i), fmt.Sprintf("UPDATE DB.late SET w = %d WHERE id %% 60 = %d", i, i))
	}
	run = c.job.StartCommand(c.args(include, flags...)...)
	c.job.Wait(name, "caught-up")
	if r := c.job.Leat("job", "restart", name, "--table", "e2e_sync_behind.late"); r.Code != 0 {
		t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	snapshots := func() int {
		list, err := filepath.Glob(filepath.Join(c.job.Warehouse(), c.db+".db", "good", "snapshot", "snapshot-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	beside := 0
	for i := range 30 {
		if i == 4 {
			run.Kill()
			run = c.job.StartCommand(c.args(include, flags...)...)
			harness.Eventually(t, "the job comes up", func() bool { return c.job.Leat("job", "show", name).Code == 0 })
		}
		before := snapshots()
		c.exec(fmt.Sprintf("INSERT INTO DB.good VALUES (%d, %d)", 1000+i, i), fmt.Sprintf("UPDATE DB.late SET v = -v WHERE id = %d", 1001+i))
		harness.Eventually(t, "the other table goes on", func() bool { return snapshots() > before })
		if tables, _ := c.status(name); tables["late"] == "catching up" {
			beside++
		}
	}
	c.job.Wait(name, "caught-up")
	c.awaitState(name, "late", "streaming")
	if beside == 0 {
		t.Error("nothing came of the other table while one caught up")
	}
	c.exec("UPDATE DB.late SET v = 7, d = NULL WHERE id < 1100", "UPDATE DB.good SET v = v + 1")
	c.job.Wait(name, "caught-up")
	run.Stop()
	c.lake("late").CheckJava(t, c.rows("late"))
	c.lake("good").CheckJava(t, c.rows("good"))
	c.lake("late").CheckNoOrphans(t)
}
