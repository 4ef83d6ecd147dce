package sync

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"leat/e2e/judge"
)

// TestSyncStreamOnly reads changes alone: no row from before the start comes, whatever
// happens to the columns; tables that are made come whole, those renamed into the
// database with what changes from then on. Tables without a key take new rows only.
func TestSyncStreamOnly(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_stream", "CREATE TABLE DB.t (id INT NOT NULL PRIMARY KEY, a INT)", "CREATE TABLE DB.loose (a INT, b VARCHAR(10))", "INSERT INTO DB.t VALUES (1, 1), (2, 2)",
		"INSERT INTO DB.loose VALUES (1, 'x')", "DROP DATABASE IF EXISTS e2e_sync_stream_other", "CREATE DATABASE e2e_sync_stream_other", "CREATE TABLE e2e_sync_stream_other.moved (id INT NOT NULL PRIMARY KEY)", "INSERT INTO e2e_sync_stream_other.moved VALUES (1)")
	args := c.args("DB.*", "--name", "stream", "--mysql-conf", "scan.startup.mode=latest-offset", "--keyless", "insert-only")
	run := c.job.StartCommand(args...)
	c.job.Wait("stream", "caught-up")
	c.exec("INSERT INTO DB.t VALUES (3, 3)", "ALTER TABLE DB.t ADD COLUMN e INT NOT NULL DEFAULT 7", "INSERT INTO DB.t VALUES (4, 4, 4)", "UPDATE DB.t SET a = 20 WHERE id = 2",
		"CREATE TABLE DB.made (PRIMARY KEY (id)) AS SELECT id, a FROM DB.t", "RENAME TABLE e2e_sync_stream_other.moved TO DB.moved", "INSERT INTO DB.moved VALUES (2)",
		"INSERT INTO DB.loose VALUES (5, NULL), (5, NULL), (6, 'y')")
	c.job.Wait("stream", "caught-up")
	run.Kill()
	c.exec("CREATE TABLE DB.down (id INT NOT NULL PRIMARY KEY)", "INSERT INTO DB.down VALUES (1), (2)", "CREATE TABLE DB.other (a INT)", "INSERT INTO DB.other VALUES (1), (1)")
	run = c.job.StartCommand(args...)
	c.job.Wait("stream", "caught-up")
	c.exec("UPDATE DB.loose SET b = 'z' WHERE a = 6", "INSERT INTO DB.moved VALUES (3)")
	c.awaitState("stream", "loose", "set aside a row of source table e2e_sync_stream.loose was updated, and its copy has no key")
	c.job.Wait("stream", "caught-up")
	if s := run.Stop().Stderr; !strings.Contains(s, "tables without a primary key: e2e_sync_stream.loose, e2e_sync_stream.other: their copies take new rows only") {
		t.Errorf("nothing is said of tables without a key:\n%s", s)
	}
	c.sameAs(c.db+".t", "SELECT id, a, CASE id WHEN 3 THEN NULL ELSE e END e FROM e2e_sync_stream.t WHERE id > 1")
	c.sameAs(c.db+".made", "SELECT * FROM e2e_sync_stream.made")
	c.sameAs(c.db+".moved", "SELECT * FROM e2e_sync_stream.moved WHERE id > 1")
	c.sameAs(c.db+".loose", "SELECT a, CASE a WHEN 6 THEN 'y' END b FROM e2e_sync_stream.loose WHERE a > 1")
	for _, table := range []string{"down", "other"} {
		c.sameAs(c.db+"."+table, "SELECT * FROM e2e_sync_stream."+table)
	}

	// The other choice says what it does, and that it has done it.
	rows := func() string {
		return strings.Join(judge.Lines(judge.Java(t).Rows(t, c.job.Warehouse(), "all.loose")), "\n")
	}
	again := []string{"--name", "all", "--database", "all", "--keyless", "append"}
	s := c.mustRun("DB.loose", again...).Stderr
	c.exec("DELETE FROM DB.loose WHERE a = 5", "UPDATE DB.loose SET a = 7 WHERE a = 1")
	s += c.mustRun("DB.loose", again...).Stderr
	for _, says := range []string{"do not equal them once rows are updated or deleted", "its copy gets every change as a further row, and no longer equals it"} {
		if !strings.Contains(s, says) {
			t.Errorf("nothing says %q:\n%s", says, s)
		}
	}
	if got := rows(); strings.Count(got, "\n")+1 != 4+2+2 {
		t.Errorf("every change is a row:\n%s", got)
	}
}

// TestPipelineStartupModes starts pipelines in each way, and goes on with them.
func TestPipelineStartupModes(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_modes", "CREATE TABLE DB.m (id INT NOT NULL PRIMARY KEY)", "INSERT INTO DB.m VALUES (1)")
	end, err := c.server.EndOfLog()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // events are stamped in seconds
	stamp := judge.SourceRows(t, c.server, "SELECT UNIX_TIMESTAMP() AS s")[0]["s"]
	c.exec("INSERT INTO DB.m VALUES (2)")
	run := func(mode string, more ...string) {
		options := fmt.Sprintf("  tables: DB.m\n  scan.startup.mode: %s\n", mode)
		switch mode {
		case "specific-offset":
			options += fmt.Sprintf("  scan.startup.specific-offset.file: %s\n  scan.startup.specific-offset.pos: %d\n", end.File, end.Offset)
		case "timestamp":
			options += fmt.Sprintf("  scan.startup.timestamp-millis: %v000\n", stamp)
		}
		file := c.pipelineNamed(mode, options+fmt.Sprintf("sink:\n  type: paimon\n  catalog.properties.warehouse: %s\nroute:\n  - {source-table: DB.m, sink-table: '%s.m'}\npipeline:\n  name: mode %s\n", c.job.Warehouse(), mode, mode))
		c.mustLeat(append([]string{"run", file, "--var", "EMPTY=", "--set", "execution.checkpointing.interval=150ms"}, more...)...)
	}
	modes := map[string]string{"initial": "1, 2, 3", "earliest-offset": "1, 2, 3", "latest-offset": "3", "specific-offset": "2, 3", "timestamp": "2, 3", "snapshot": "1, 2"}
	for mode := range modes {
		if mode == "snapshot" {
			run(mode) // it ends by itself
			continue
		}
		run(mode, "--catch-up")
	}
	c.exec("INSERT INTO DB.m VALUES (3)")
	for mode, ids := range modes {
		if mode != "snapshot" {
			run(mode, "--catch-up")
		}
		c.sameAs(mode+".m", "SELECT * FROM e2e_sync_modes.m WHERE id IN ("+ids+")")
	}
}
