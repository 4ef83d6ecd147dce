package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/mysqld"
)

// items is a small source table and the script that carries it.
type items struct {
	server *mysqld.Server
	db     string
}

func makeItems(t testing.TB, s *mysqld.Server, db string) items {
	t.Helper()
	judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db, "CREATE TABLE "+db+".items (id INT NOT NULL PRIMARY KEY, v VARCHAR(20))",
		"INSERT INTO "+db+".items VALUES (1, 'one'), (2, 'two'), (3, 'three')")
	return items{server: s, db: db}
}

func (i items) exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		judge.Exec(t, i.server, strings.ReplaceAll(s, "items", i.db+".items"))
	}
}

func (i items) script(name string) string {
	return harness.Settings(name, "200ms") +
		harness.MySQLTable("src", "id INT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED", "items") +
		harness.LakeDatabase +
		harness.LakeTable("items", "id INT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED", "", "bucket", "2") +
		"INSERT INTO items SELECT * FROM default_catalog.default_database.src;\n"
}

func (i items) job(t testing.TB, name string) *harness.Job {
	t.Helper()
	return harness.NewJob(t, i.script(name), harness.SourceEnv(i.server, i.db)...)
}

func (i items) rows(t testing.TB) []judge.Row {
	t.Helper()
	return judge.SourceRows(t, i.server, "SELECT * FROM "+i.db+".items")
}

// refused requires exit code 3 with an error number and parts of the text, and a
// lake that did not change.
func refused(t *testing.T, j *harness.Job, code string, says []string, args ...string) {
	t.Helper()
	before := strings.Join(harness.Tree(t, j.Warehouse()), "\n")
	r := j.Run(args...)
	if r.Code != 3 || !strings.Contains(r.Stderr, "error LEAT-"+code+": ") || !strings.Contains(r.Stderr, "\n  do: ") {
		t.Fatalf("run %v: exit code %d, want 3 with LEAT-%s\n%s", args, r.Code, code, r.Stderr)
	}
	for _, s := range says {
		if !strings.Contains(r.Stderr, s) {
			t.Errorf("run %v does not say %q:\n%s", args, s, r.Stderr)
		}
	}
	if after := strings.Join(harness.Tree(t, j.Warehouse()), "\n"); after != before {
		t.Errorf("run %v was refused and changed the lake from\n%s\nto\n%s", args, before, after)
	}
}

// TestFreshReplace begins anew over a table that holds rows: refused alone, since
// rows deleted at the source would stay; with --replace the table is the source.
func TestFreshReplace(t *testing.T) {
	t.Parallel()
	i := makeItems(t, judge.MySQL(t), "e2e_fresh")
	j := i.job(t, "fresh")
	j.CatchUp("--fresh") // nothing is there yet
	lake := j.Lake("d.items")
	lake.CheckRows(t, i.rows(t))

	i.exec(t, "DELETE FROM items WHERE id = 1", "INSERT INTO items VALUES (4, 'four')")
	refused(t, j, "5006", []string{"d.items", "--replace"}, "--fresh", "--catch-up")
	j.CatchUp("--fresh", "--replace")
	lake.CheckRows(t, i.rows(t))

	i.exec(t, "UPDATE items SET v = 'again' WHERE id = 2", "DELETE FROM items WHERE id = 4")
	j.CatchUp() // goes on from the new beginning
	lake.CheckRows(t, i.rows(t))
	lake.CheckNoOrphans(t)
}

// TestPurged lets the server drop binlogs that a stopped job still needs.
func TestPurged(t *testing.T) {
	t.Parallel()
	i := makeItems(t, judge.OwnMySQL(t), "e2e_purged")
	j := i.job(t, "purged")
	j.CatchUp()
	i.exec(t, "DELETE FROM items WHERE id = 1", "INSERT INTO items VALUES (5, 'five')", "FLUSH BINARY LOGS",
		"DELETE FROM items WHERE id = 2", "FLUSH BINARY LOGS")
	logs := judge.SourceRows(t, i.server, "SHOW BINARY LOGS")
	last := logs[len(logs)-1].Text("Log_name")
	harness.Eventually(t, "the server noticed that nobody reads the old binlogs", func() bool {
		judge.Exec(t, i.server, "PURGE BINARY LOGS TO '"+last+"'")
		return len(judge.SourceRows(t, i.server, "SHOW BINARY LOGS")) == 1
	})
	refused(t, j, "3007", []string{"--fresh --replace"}, "--catch-up")
	refused(t, j, "5006", []string{"--replace"}, "--catch-up", "--fresh")
	j.CatchUp("--fresh", "--replace")
	j.Lake("d.items").CheckRows(t, i.rows(t))
}

// TestKilledReplace kills a run that replaces a table, after it took the job
// over: before its first checkpoint and later. Resuming must replace the table all the same: rows that
// the source no longer has must not come through.
func TestKilledReplace(t *testing.T) {
	t.Parallel()
	i := makeItems(t, judge.MySQL(t), "e2e_replace")
	for _, after := range []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			j := i.job(t, "replace-"+after.String())
			lake := j.Lake("d.items")
			judge.Java(t).Create(t, lake.Warehouse, lake.Table, `{"fields":[{"name":"id","type":"INT NOT NULL"},{"name":"v","type":"STRING"}],"primaryKeys":["id"],"options":{"bucket":"2"}}`)
			judge.Java(t).Write(t, lake.Warehouse, lake.Table, "before", 1, `{"id":77,"v":"stale"}`)
			run := j.Start("--fresh", "--replace")
			harness.Eventually(t, "the job was taken over", func() bool {
				entries, err := filepath.Glob(filepath.Join(j.State(), "jobs", "*", "entry-*"))
				return err == nil && len(entries) > 0
			})
			time.Sleep(after)
			run.Kill()
			snapshots := len(judge.Java(t).Snapshots(t, lake.Warehouse, lake.Table))
			r := j.Run("--catch-up")
			if r.Code != 0 {
				t.Fatalf("resuming after %d snapshots: exit code %d\n%s", snapshots, r.Code, r.Stderr)
			}
			t.Logf("%d snapshots at the kill", snapshots)
			lake.CheckJava(t, i.rows(t))
			lake.CheckNoOrphans(t)
		})
	}
}
