package sync

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/e2e/judge"
)

// letters gives the dead letters that Java reads, in order, as kind, images and code.
func (c *copies) letters(table string) []string {
	c.t.Helper()
	var out []string
	for _, r := range judge.Java(c.t).Rows(c.t, c.job.Warehouse(), table) {
		if r["source_database"] != c.db || r["binlog_file"] == nil || r["binlog_pos"] == nil || (r["kind"] == "snapshot") != (r["gtid"] == nil) || (r["kind"] == "snapshot") != (r["event_time"] == nil) {
			c.t.Errorf("a letter of no place: %v", r)
		}
		out = append(out, fmt.Sprintf("%v %v %v -> %v: %v %v", r["source_table"], r["kind"], r["before_image"], r["after_image"], r["error_code"], r["error"]))
	}
	slices.Sort(out)
	return out
}

// TestSyncKeepsBadRows lets rows that cannot be read go to a table of dead
// letters, each once over kills and restarts, while every other row and table goes on.
func TestSyncKeepsBadRows(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_letters", "CREATE TABLE DB.bad (id INT NOT NULL PRIMARY KEY, v DECIMAL(6,2), d DATE NOT NULL, j JSON)", "CREATE TABLE DB.good (id INT NOT NULL PRIMARY KEY, v INT)",
		"INSERT INTO DB.good VALUES (1, 1)")
	odd := func(statements ...string) {
		judge.Exec(t, c.server, append([]string{"SET sql_mode = ''"}, replaced(c.db, statements)...)...)
	}
	odd("INSERT INTO DB.bad VALUES (1, 1, '2024-01-01', NULL), (2, 2.5, '2024-01-02', '[1]'), (3, 3, '0000-00-00', '{\"a\": \"<x>\"}')")
	const include, name = "DB.*", "letters"
	flags := []string{"--name", name, "--on-bad-row", "dead-letter", "--mysql-conf", "leat.zero-date=error", "--table-conf", "changelog-producer=input"}
	run := c.job.StartCommand(c.args(include, flags...)...)
	c.job.Wait(name, "snapshot")
	const why = ": LEAT-2113 column 'd' holds a date that does not exist"
	want := []string{`bad snapshot <nil> -> {"id":3,"v":3.00,"d":"0000-00-00","j":{"a":"<x>"}}` + why}
	for n := range 5 {
		at := 10 * (n + 1)
		odd(
			fmt.Sprintf("INSERT INTO DB.bad VALUES (%d, 1, '2024-05-05', NULL), (%d, 2, '0000-00-00', NULL), (%d, 3, '2024-05-06', '{}')", at, at+1, at+2),
			fmt.Sprintf("UPDATE DB.bad SET d = '2024-00-07', v = 9 WHERE id = %d", at),           // stays as it was
			fmt.Sprintf("UPDATE DB.bad SET id = %d, d = '0000-00-00' WHERE id = %d", at+3, at+2), // leaves its key
			fmt.Sprintf("INSERT INTO DB.good VALUES (%d, %d)", at, n),
			fmt.Sprintf("DELETE FROM DB.bad WHERE id IN (%d, %d)", at+1, at+3), // which the lake does not have
		)
		want = append(want,
			fmt.Sprintf(`bad insert <nil> -> {"id":%d,"v":2.00,"d":"0000-00-00","j":null}`, at+1)+why,
			fmt.Sprintf(`bad update {"id":%d,"v":1.00,"d":"2024-05-05","j":null} -> {"id":%d,"v":9.00,"d":"2024-00-07","j":null}`, at, at)+why,
			fmt.Sprintf(`bad update {"id":%d,"v":3.00,"d":"2024-05-06","j":{}} -> {"id":%d,"v":3.00,"d":"0000-00-00","j":{}}`, at+2, at+3)+why)
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		if n == 2 {
			c.job.Wait(name, "caught-up")
			c.lake("good").CheckJava(t, c.rows("good"))
			if rows := judge.Java(t).Rows(t, c.job.Warehouse(), c.db+".bad"); len(rows) != 2+3 {
				t.Errorf("the lake has the rows %v", rows)
			}
		}
		run.Kill()
		run = c.job.StartCommand(c.args(include, flags...)...)
		c.job.Wait(name, "caught-up")
	}
	// Rows that can be read again are.
	odd("UPDATE DB.bad SET d = '2025-01-01'", "DELETE FROM DB.bad WHERE id = 3")
	c.job.Wait(name, "caught-up")
	if r := c.job.Leat("job", "show", name, "--output", "table"); !strings.Contains(r.Stdout, fmt.Sprintf("%s.bad   streaming  %d ", c.db, len(want))) {
		t.Errorf("the job shows\n%s", r.Stdout)
	}
	run.Stop()
	c.lake("bad").CheckJava(t, c.rows("bad"))
	c.lake("good").CheckJava(t, c.rows("good"))
	slices.Sort(want)
	if diff := cmp.Diff(want, c.letters(c.db+".leat_dead_letters")); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}

	// The table stays one of the job, and those of before stay in it.
	c.mustRun(include, "--name", name, "--mysql-conf", "leat.zero-date=error")
	c.refused(c.run(include, "--catch-up", "--name", name, "--on-bad-row", "dead-letter", "--dead-letter-table", "other"), 2, "the job sends rows that it cannot read to lake."+c.db+".leat_dead_letters, not to lake."+c.db+".other")
	c.refused(c.run(include, "--catch-up", "--name", name, "--dead-letter-table", "other"), 2, "--dead-letter-table: it was given without --on-bad-row dead-letter")
	c.refused(c.run(include, "--catch-up", "--name", "new", "--on-bad-row", "dead-letter", "--dead-letter-table", "bad"), 2, c.db+".bad: it is the copy of a table")
	c.mustRun(include, append([]string{"--fresh", "--replace"}, flags...)...)
	if got := c.letters(c.db + ".leat_dead_letters"); !cmp.Equal(want, got) {
		t.Errorf("beginning anew left the dead letters %v", got)
	}
	c.lake("bad").CheckJava(t, c.rows("bad"))
	c.lake("leat_dead_letters").CheckNoOrphans(t)
}

func replaced(db string, statements []string) []string {
	out := make([]string, len(statements))
	for i, s := range statements {
		out[i] = strings.ReplaceAll(s, "DB.", db+".")
	}
	return out
}
