package sync

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leat/e2e/harness"
)

// behaviors are pipelines over the same tables, by the name of their target: what
// they say beside their names and routes.
var behaviors = map[string]struct{ source, sink, pipeline string }{
	"exception":  {},
	"evolve":     {source: "  treat-tinyint1-as-boolean.enabled: false\n"},
	"try_evolve": {},
	"lenient":    {},
	"ignore":     {},
	"chosen":     {sink: "  exclude.schema.changes: [drop, truncate.table, create.table]\n", pipeline: "evolve"},
}

// behaviorFile writes the pipeline of a target; behavior replaces that of its name.
func (c *copies) behaviorFile(target, behavior string) string {
	c.t.Helper()
	b := behaviors[target]
	if behavior == "" {
		behavior = b.pipeline
	}
	if behavior == "" {
		behavior = target
	}
	return c.pipelineNamed(target, fmt.Sprintf(`  tables: DB.\.*
%ssink:
  type: paimon
  catalog.properties.warehouse: %s
%sroute:
  - {source-table: DB.\.*, sink-table: %s.<>, replace-symbol: <>}
transform:
  - {source-table: DB.fresh, projection: '\*, __schema_name__ AS db, __namespace_name__ AS ns, __table_name__ AS tab'}
  - {source-table: DB.given, primary-keys: 'v'}
pipeline:
  name: %s
  schema.change.behavior: %s
`, b.source, c.job.Warehouse(), b.sink, target, target, behavior))
}

// endsIn requires the exit code of a run, and parts of its error.
func endsIn(t *testing.T, r harness.Result, code int, says ...string) {
	t.Helper()
	if r.Code != code {
		t.Errorf("exit code %d, want %d\n%s", r.Code, code, r.Stderr)
	}
	for _, s := range says {
		if !strings.Contains(r.Stderr, s) {
			t.Errorf("nothing says %q:\n%s", s, r.Stderr)
		}
	}
}

// TestPipelineBehaviors lets pipelines of each schema.change.behavior meet the same
// changes of tables, one after the other and while they are down.
func TestPipelineBehaviors(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_behaviors", "CREATE TABLE DB.t (id INT NOT NULL PRIMARY KEY, a INT, b VARCHAR(10), c INT, d INT)", "CREATE TABLE DB.u (id INT NOT NULL PRIMARY KEY)",
		"CREATE TABLE DB.wide (id INT NOT NULL PRIMARY KEY, n INT)", "CREATE TABLE DB.keyed (id INT NOT NULL PRIMARY KEY, v INT NOT NULL)", "CREATE TABLE DB.given (v INT NOT NULL, w INT)",
		"INSERT INTO DB.t VALUES (1, 1, 'one', 10, 5), (2, 2, 'two', 20, 6)", "INSERT INTO DB.u VALUES (1)", "INSERT INTO DB.wide VALUES (1, 1)", "INSERT INTO DB.keyed VALUES (1, 1)", "INSERT INTO DB.given VALUES (1, 1)")
	flags := []string{"--var", "EMPTY=", "--set", "execution.checkpointing.interval=150ms"}
	runs := map[string]*harness.Child{}
	for target := range behaviors {
		runs[target] = c.job.StartCommand(append([]string{"run", c.behaviorFile(target, "")}, flags...)...)
	}
	for target := range behaviors {
		c.job.Wait(target, "snapshot")
	}
	c.exec("TRUNCATE TABLE DB.u", "INSERT INTO DB.u VALUES (2)")
	endsIn(t, runs["exception"].Wait(), 3, "the job stops at every change of tables", "statement: TRUNCATE TABLE e2e_sync_behaviors.u", "schema.change.behavior: lenient or evolve")
	caughtUp := func() {
		for target := range behaviors {
			if target != "exception" {
				c.job.Wait(target, "caught-up")
			}
		}
	}
	for _, statements := range [][]string{
		{"ALTER TABLE DB.t ADD COLUMN e INT DEFAULT 7", "INSERT INTO DB.t VALUES (3, 3, 'three', 30, 7, 8)", "UPDATE DB.given SET w = 5"},
		{"ALTER TABLE DB.t RENAME COLUMN c TO c2", "CREATE TABLE DB.fresh (id INT NOT NULL PRIMARY KEY, flag TINYINT(1))", "INSERT INTO DB.fresh VALUES (1, 1), (2, NULL)"},
		{"ALTER TABLE DB.t DROP COLUMN d", "INSERT INTO DB.t VALUES (4, 4, 'four', 40, 9)", "ALTER TABLE DB.wide MODIFY n BIGINT", "INSERT INTO DB.wide VALUES (2, 5000000000)"},
	} {
		c.exec(statements...)
		caughtUp()
	}
	c.awaitState("ignore", "wide", "set aside source table e2e_sync_behaviors.wide was changed in a way the job cannot follow: column 'n' is BIGINT")

	// A change that none can carry: evolve ends, the others go on without the table.
	c.exec("ALTER TABLE DB.keyed DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)", "INSERT INTO DB.keyed VALUES (1, 2)")
	for _, target := range []string{"evolve", "chosen"} {
		endsIn(t, runs[target].Wait(), 3, "its key was (id) and is (id, v)", "do: undo the change at the source")
	}
	for _, target := range []string{"try_evolve", "lenient", "ignore"} {
		c.awaitState(target, "keyed", "set aside")
	}
	c.exec("DELETE FROM DB.keyed WHERE v = 2", "ALTER TABLE DB.keyed DROP PRIMARY KEY, ADD PRIMARY KEY (id)", "INSERT INTO DB.keyed VALUES (3, 3)")
	if r := c.job.Leat("job", "restart", "try_evolve", "--table", "e2e_sync_behaviors.keyed"); r.Code != 0 {
		t.Errorf("exit code %d\n%s", r.Code, r.Stderr)
	}
	c.awaitState("try_evolve", "keyed", "streaming")
	for _, target := range []string{"try_evolve", "lenient", "ignore"} {
		runs[target].Stop()
	}
	again := func(target, behavior string) harness.Result {
		return c.job.Leat(append([]string{"run", c.behaviorFile(target, behavior), "--catch-up"}, flags...)...)
	}
	endsIn(t, again("exception", ""), 3, "the job stops at every change of tables")
	for target, behavior := range map[string]string{"exception": "try_evolve", "evolve": "try_evolve", "try_evolve": "", "lenient": "", "ignore": "", "chosen": "try_evolve"} {
		endsIn(t, again(target, behavior), 0)
	}
	c.sameBehavior()
}

// sameBehavior looks at what became of the tables.
func (c *copies) sameBehavior() {
	c.t.Helper()
	const t = "SELECT id, a, b, c2, e FROM e2e_sync_behaviors.t"
	for _, target := range []string{"evolve", "try_evolve", "exception"} {
		c.sameAs(target+".t", t)
		c.sameAs(target+".u", "SELECT * FROM e2e_sync_behaviors.u")
		c.sameAs(target+".wide", "SELECT * FROM e2e_sync_behaviors.wide")
		c.sameAs(target+".given", "SELECT * FROM e2e_sync_behaviors.given")
	}
	c.sameAs("try_evolve.keyed", "SELECT * FROM e2e_sync_behaviors.keyed")
	c.sameAs("evolve.fresh", "SELECT *, 'e2e_sync_behaviors' db, '' ns, 'fresh' tab FROM e2e_sync_behaviors.fresh")

	kept := "CASE id WHEN 1 THEN 5 WHEN 2 THEN 6 WHEN 3 THEN 7 END"
	c.sameAs("lenient.t", "SELECT id, a, b, CAST(NULL AS SIGNED) c, "+kept+" d, e, c2 FROM e2e_sync_behaviors.t")
	c.sameAs("lenient.u", "SELECT 1 id UNION ALL SELECT 2")
	c.sameAs("ignore.t", "SELECT id, a, b, CASE WHEN id < 4 THEN id * 10 END c, "+kept+" d FROM e2e_sync_behaviors.t")
	c.sameAs("ignore.u", "SELECT 1 id UNION ALL SELECT 2")
	c.sameAs("chosen.t", "SELECT id, a, b, c2, "+kept+" d, e FROM e2e_sync_behaviors.t")
	c.sameAs("chosen.u", "SELECT 1 id UNION ALL SELECT 2")
	for target, has := range map[string]bool{"try_evolve": true, "lenient": true, "ignore": false, "chosen": false} {
		if _, err := os.Stat(filepath.Join(c.job.Warehouse(), target+".db", "fresh")); (err == nil) != has {
			c.t.Errorf("%s.fresh: %v", target, err)
		}
	}
}
