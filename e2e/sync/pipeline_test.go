package sync

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leat/e2e/judge"
)

// pipelineFile writes a pipeline whose source is the server of c.
func (c *copies) pipelineFile(text string) string {
	c.t.Helper()
	return c.pipelineNamed("pipeline", text)
}

// pipelineNamed is pipelineFile for one of several.
func (c *copies) pipelineNamed(name, text string) string {
	c.t.Helper()
	head := fmt.Sprintf("source:\n  type: mysql\n  hostname: 127.0.0.1\n  port: %d\n  username: root\n  password: \"${EMPTY}\"\n", c.server.Port)
	path := filepath.Join(c.job.Dir, name+".yaml")
	if err := os.WriteFile(path, []byte(head+strings.ReplaceAll(text, "DB.", c.db+".")), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// TestPipelineFile runs a pipeline of Flink CDC: routes that fan out, computed
// columns, filters, deletions that stay, under changes of tables and kills.
func TestPipelineFile(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_pipeline", "CREATE TABLE DB.people (id INT NOT NULL PRIMARY KEY, name VARCHAR(20), age INT, born DATE NOT NULL, flag TINYINT(1), at TIMESTAMP(3) NULL)",
		"CREATE TABLE DB.notes (id INT NOT NULL PRIMARY KEY, note TEXT, extra INT)", "CREATE TABLE DB.log (id INT NOT NULL PRIMARY KEY)",
		"INSERT INTO DB.people VALUES (1, 'anna', 30, '1990-01-01', 1, '2024-01-02 03:04:05.678'), (2, 'bert', 10, '2010-01-01', 0, NULL), (3, 'hanna', NULL, '1990-01-01', NULL, NULL)",
		"INSERT INTO DB.notes VALUES (1, 'one', 1), (2, 'two', 2)", "INSERT INTO DB.log VALUES (1)")
	file := c.pipelineFile(`  tables: DB.\.*
  tables.exclude: DB.log
sink:
  type: paimon
  catalog.properties.warehouse: ` + c.job.Warehouse() + `
  table.properties.bucket: 1
  partition.key: ods.people:born
route:
  - source-table: DB.people
    sink-table: ods.people
  - source-table: DB.\.*
    sink-table: raw.all_<>
    replace-symbol: <>
transform:
  - source-table: DB.people
    projection: \*, UPPER(name) AS loud, age + 1 AS older, __table_name__ AS tab
    filter: NOT (age > 20) OR name LIKE 'ann'
    primary-keys: id, born
  - source-table: DB.notes
    projection: id, note AS remark, __data_event_type__ AS kind
    converter-after-transform: SOFT_DELETE
pipeline:
  name: people
`)
	args := []string{"run", file, "--var", "EMPTY=", "--set", "execution.checkpointing.interval=150ms"}
	run := c.job.StartCommand(args...)
	c.job.Wait("people", "snapshot")
	c.exec("INSERT INTO DB.people VALUES (4, 'joanna', 50, '1974-01-01', 1, NULL), (5, 'carl', 60, '1964-01-01', 1, NULL)",
		"UPDATE DB.people SET age = 40 WHERE id = 2", "UPDATE DB.people SET age = NULL, born = '1991-01-01' WHERE id = 5",
		"DELETE FROM DB.notes WHERE id = 1", "UPDATE DB.notes SET note = 'deux' WHERE id = 2")
	c.job.Wait("people", "caught-up")
	run.Kill()
	c.exec("ALTER TABLE DB.people ADD COLUMN town VARCHAR(10) DEFAULT 'here'", "INSERT INTO DB.people VALUES (6, 'sanna', 1, '2023-01-01', 0, NULL, 'there')",
		"CREATE TABLE DB.fresh (id INT NOT NULL PRIMARY KEY, v INT)", "INSERT INTO DB.fresh VALUES (1, 1)",
		"ALTER TABLE DB.notes ADD COLUMN unwanted INT", "INSERT INTO DB.notes VALUES (3, 'three', 3, 3)", "TRUNCATE TABLE DB.notes")
	run = c.job.StartCommand(args...)
	c.job.Wait("people", "caught-up")
	c.exec("CREATE TABLE DB.later (id INT NOT NULL PRIMARY KEY, v INT)", "INSERT INTO DB.later VALUES (1, 2)")
	c.job.Wait("people", "caught-up")
	run.Kill()
	c.mustLeat(append(args, "--catch-up")...)

	// Comparisons with NULL are FALSE, LIKE finds its pattern inside.
	const people = "SELECT id, name, age, born, flag, at, UPPER(name) loud, age + 1 older, 'people' tab, town FROM e2e_sync_pipeline.people WHERE NOT COALESCE(age > 20, FALSE) OR name LIKE '%ann%'"
	for _, table := range []string{"ods.people", "raw.all_people"} {
		want := judge.SourceRows(t, c.server, people)
		got := judge.Java(t).Rows(t, c.job.Warehouse(), table)
		for _, r := range want {
			if n, ok := r["flag"].(fmt.Stringer); ok {
				r["flag"] = n.String() != "0"
			}
		}
		for _, r := range append(want, got...) {
			delete(r, "at") // TIMESTAMP_LTZ here
		}
		if diff := judge.Diff("source", want, "lake", got); diff != "" || len(want) != 5 {
			t.Errorf("%s: %d rows\n%s", table, len(want), diff)
		}
	}
	want := []judge.Row{
		{"id": "1", "remark": "one", "kind": "-D"}, {"id": "2", "remark": "deux", "kind": "+U"}, {"id": "3", "remark": "three", "kind": "+I"},
	}
	got := judge.Java(t).Rows(t, c.job.Warehouse(), "raw.all_notes")
	for _, r := range got {
		r["id"] = fmt.Sprint(r["id"])
		delete(r, "_kind")
	}
	if diff := judge.Diff("meant", want, "lake", got); diff != "" {
		t.Error(diff)
	}
	c.sameAs("raw.all_fresh", "SELECT * FROM e2e_sync_pipeline.fresh")
	c.sameAs("raw.all_later", "SELECT * FROM e2e_sync_pipeline.later")
}

// TestSyncByCall starts the same job from a script, and goes on with it by flags.
func TestSyncByCall(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_call", "CREATE TABLE DB.orders (id INT NOT NULL PRIMARY KEY, at DATETIME)", "CREATE TABLE DB.loose (id INT)",
		"INSERT INTO DB.orders VALUES (1, '2024-01-02 03:04:05')", "INSERT INTO DB.loose VALUES (1), (1)")
	script := filepath.Join(c.job.Dir, "call.sql")
	text := fmt.Sprintf(`SET 'pipeline.name' = 'called';
CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '%s');
USE CATALOG lake;
CALL sys.mysql_sync_database(database => 'ods', mysql_conf => 'hostname=127.0.0.1,port=%d,username=root,password=,database-name=%s',
  computed_column => 'y=year(at);m=month(at)', keyless => 'append', table_suffix => '_copy');`, c.job.Warehouse(), c.server.Port, c.db)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.mustLeat("run", script, "--catch-up")
	c.exec("INSERT INTO DB.orders VALUES (2, NULL)", "UPDATE DB.orders SET at = '2025-02-03' WHERE id = 1", "INSERT INTO DB.loose VALUES (2)", "CREATE TABLE DB.later (id INT NOT NULL PRIMARY KEY)", "INSERT INTO DB.later VALUES (7)")
	if s := c.mustLeat("run", script, "--catch-up"); !strings.Contains(s, "job called resumes from checkpoint") {
		t.Errorf("the second run does not resume:\n%s", s)
	}
	c.exec("DELETE FROM DB.orders WHERE id = 1", "INSERT INTO DB.orders VALUES (3, '2026-03-04')")
	s := c.mustLeat("sync", "mysql", "--url", fmt.Sprintf("mysql://root@127.0.0.1:%d/%s", c.server.Port, c.db), "--including_tables", ".*", "--warehouse", c.job.Warehouse(), "--database", "ods",
		"--computed_column", "y=year(at)", "--computed_column", "m=month(at)", "--keyless", "append", "--table_suffix", "_copy", "--name", "called", "--catch-up")
	if !strings.Contains(s, "job called resumes from checkpoint") {
		t.Errorf("flags do not go on with the job:\n%s", s)
	}
	c.sameAs("ods.orders_copy", "SELECT *, YEAR(at) y, MONTH(at) m FROM e2e_sync_call.orders")
	c.sameAs("ods.loose_copy", "SELECT * FROM e2e_sync_call.loose")
	c.sameAs("ods.later_copy", "SELECT * FROM e2e_sync_call.later")
}
