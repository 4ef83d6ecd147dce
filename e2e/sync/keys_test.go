package sync

import (
	"fmt"
	"strings"
	"testing"

	"leat/e2e/judge"
)

// TestSyncWidensKeys gives columns of keys wider types. Rows, buckets of negative
// numbers included, are those of the source, and readers of the changelog see what
// changed at the source and nothing else, also where a compaction makes the changelog.
func TestSyncWidensKeys(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_keys", "CREATE TABLE DB.numbers (id INT NOT NULL, part SMALLINT UNSIGNED NOT NULL, v INT, PRIMARY KEY (id, part))",
		"CREATE TABLE DB.texts (k VARCHAR(10) NOT NULL PRIMARY KEY, v INT)", "CREATE TABLE DB.later (id INT NOT NULL PRIMARY KEY, v INT)",
		"INSERT INTO DB.numbers SELECT i - 20, 1 + i % 2, i FROM (WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT i FROM n) x",
		"INSERT INTO DB.texts VALUES ('a', 1), ('b', 2), ('ü', 3)", "INSERT INTO DB.later VALUES (-1, 1), (1, 1)")
	tables := map[string]string{"numbers": "id,part", "texts": "k", "later": "id"}
	producers := []string{"input", "lookup"}
	args := func(producer string) []string {
		return c.args("DB.*", "--name", producer, "--database", producer, "--table-conf", "changelog-producer="+producer, "--table-conf", "bucket=3")
	}
	caughtUp := func() {
		for _, p := range producers {
			c.job.Wait(p, "caught-up")
		}
	}
	for _, p := range producers {
		c.job.StartCommand(args(p)...)
	}
	for _, p := range producers {
		c.job.Wait(p, "snapshot")
	}
	c.exec("ALTER TABLE DB.numbers MODIFY id BIGINT NOT NULL", "UPDATE DB.numbers SET v = v + 1000 WHERE id BETWEEN -3 AND 3", "DELETE FROM DB.numbers WHERE id IN (-20, 7)",
		"INSERT INTO DB.numbers VALUES (500, 1, 1), (-500, 2, 2)", "ALTER TABLE DB.texts MODIFY k VARCHAR(40) NOT NULL",
		"INSERT INTO DB.texts VALUES ('x', 4)", "UPDATE DB.texts SET v = 30 WHERE k = 'ü'", "DELETE FROM DB.texts WHERE k = 'b'")
	caughtUp()
	c.exec("ALTER TABLE DB.numbers MODIFY part INT UNSIGNED NOT NULL", "UPDATE DB.numbers SET v = -v WHERE id < -10", "INSERT INTO DB.numbers VALUES (-1, 40000, 9)")
	caughtUp()
	for _, p := range producers {
		c.job.StartCommand("job", "stop", p).Wait()
	}
	c.exec("ALTER TABLE DB.later MODIFY id BIGINT NOT NULL", "UPDATE DB.later SET v = 2 WHERE id = -1", "INSERT INTO DB.later VALUES (-9, 3)")
	want := map[string]int{"numbers": 41 + 2*7 + 2 + 2 + 2*9 + 2*1 + 1, "texts": 3 + 1 + 2 + 1, "later": 2 + 2 + 1}
	for _, p := range producers {
		c.mustLeat(append(args(p), "--catch-up")...)
		for table, key := range tables {
			lake := c.job.Lake(p + "." + table)
			lake.CheckJava(t, c.rows(table))
			// Java reads it under the types of the first snapshot.
			changes := lake.CheckChangelog(t, c.rows(table), strings.Split(key, ",")...)
			if p == "input" && len(changes) != want[table] {
				t.Errorf("%s: %d changes, want %d\n%s", table, len(changes), want[table], strings.Join(judge.Lines(changes), "\n"))
			}
			lake.CheckProperties(t, true)
		}
	}
	c.exec("INSERT INTO DB.numbers VALUES (5000000000, 4000000000, 1), (-5000000000, 2, 2)", "DELETE FROM DB.numbers WHERE id = -19", "INSERT INTO DB.texts VALUES (REPEAT('x', 40), 4)", "INSERT INTO DB.later VALUES (-9000000000, 3)")
	for _, p := range producers {
		c.mustLeat(append(args(p), "--catch-up")...)
		c.job.Lake(p+".texts").CheckJava(t, c.rows("texts"))
		c.job.Lake(p+".later").CheckJava(t, c.rows("later"))
	}
	c.job.Lake("input.numbers").CheckRows(t, c.rows("numbers"))
	for _, p := range producers[1:] {
		c.job.Lake(p+".numbers").CheckJava(t, c.rows("numbers"))
	}
	if s := fmt.Sprint(judge.Java(t).Schema(t, c.job.Warehouse(), "input.numbers")); strings.Count(s, "BIGINT NOT NULL") != 2 {
		t.Errorf("the key has the types of %s", s)
	}
}
