package sync

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/mysqld"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// copies is a server, one of its databases, and a folder for a lake.
type copies struct {
	t      *testing.T
	server *mysqld.Server
	db     string
	job    *harness.Job
}

func newCopies(t *testing.T, db string, tables ...string) *copies {
	t.Helper()
	s := judge.MySQL(t)
	judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db)
	c := &copies{t: t, server: s, db: db, job: harness.NewJob(t, "", "LEAT_MYSQL_PASSWORD=")}
	c.exec(tables...)
	return c
}

func (c *copies) exec(statements ...string) {
	c.t.Helper()
	for _, s := range statements {
		judge.Exec(c.t, c.server, strings.ReplaceAll(s, "DB.", c.db+"."))
	}
}

// args are those of `leat sync mysql` for the tables, DB. standing for the database.
func (c *copies) args(include string, more ...string) []string {
	return append([]string{
		"sync", "mysql", "--url", fmt.Sprintf("mysql://root@127.0.0.1:%d/", c.server.Port), "--include", strings.ReplaceAll(include, "DB.", c.db+"."),
		"--warehouse", c.job.Warehouse(), "--set", "execution.checkpointing.interval=150ms",
	}, more...)
}

func (c *copies) run(include string, more ...string) harness.Result {
	c.t.Helper()
	return c.job.Leat(c.args(include, more...)...)
}

// mustRun catches up and requires exit code 0.
func (c *copies) mustRun(include string, more ...string) harness.Result {
	c.t.Helper()
	r := c.run(include, append([]string{"--catch-up"}, more...)...)
	if r.Code != 0 {
		c.t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
	}
	return r
}

// refused requires an exit code and parts of the error.
func (c *copies) refused(r harness.Result, code int, says ...string) {
	c.t.Helper()
	if r.Code != code {
		c.t.Errorf("exit code %d, want %d\n%s", r.Code, code, r.Stderr)
	}
	for _, s := range append(says, "\n  do: ") {
		if !strings.Contains(r.Stderr, s) {
			c.t.Errorf("the error does not say %q:\n%s", s, r.Stderr)
		}
	}
}

func (c *copies) lake(table string) harness.Lake { return c.job.Lake(c.db + "." + table) }

func (c *copies) rows(table string) []judge.Row {
	c.t.Helper()
	return judge.SourceRows(c.t, c.server, "SELECT * FROM "+c.db+"."+table)
}

const (
	ordersTable = `CREATE TABLE DB.orders (
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY, customer INT NOT NULL, amount DECIMAL(18,2), note VARCHAR(40) COMMENT 'free text',
  at DATETIME(3), KEY (customer)) COMMENT 'what was ordered'`
	valuesTable = `CREATE TABLE DB.many_types (
  code VARCHAR(20) COLLATE utf8mb4_bin NOT NULL, line SMALLINT UNSIGNED NOT NULL,
  flag TINYINT(1), small TINYINT UNSIGNED, wide DECIMAL(65,30), ratio DOUBLE, part FLOAT, born DATE, zone TIMESTAMP(6) NULL, long_time TIME(3), y YEAR,
  bits BIT(12), fixed BINARY(4), raw BLOB, doc JSON, kind ENUM('a','b''c','ü'), labels SET('x','y','z'), story TEXT CHARACTER SET latin1,
  twice BIGINT GENERATED ALWAYS AS (line * 2) STORED,
  PRIMARY KEY (code, line))`
)

// manyTypes gives the rows of many_types as readers of the lake show them.
func (c *copies) manyTypes() []judge.Row {
	c.t.Helper()
	rows := c.rows("many_types")
	for _, r := range rows {
		if n, ok := r["flag"].(json.Number); ok {
			r["flag"] = n != "0"
		}
		if s, ok := r["labels"].(string); ok {
			list := []any{}
			for l := range strings.SplitSeq(s, ",") {
				if l != "" {
					list = append(list, l)
				}
			}
			r["labels"] = list
		}
		if s, ok := r["doc"].(string); ok {
			var b bytes.Buffer
			if err := json.Compact(&b, []byte(s)); err != nil {
				c.t.Fatal(err)
			}
			r["doc"] = b.String()
		}
	}
	return rows
}

// work is one transaction over both tables.
func work(x *harness.Tx) bool {
	time.Sleep(3 * time.Millisecond)
	id := 1 + x.Rand.IntN(3000)
	x.Exec("INSERT INTO orders VALUES (%d, %d, %d.25, 'made', NOW(3)) ON DUPLICATE KEY UPDATE amount = amount + 1, note = NULL", id, id%17, id)
	if x.Rand.IntN(4) == 0 {
		x.Exec("DELETE FROM orders WHERE id = %d", 1+x.Rand.IntN(3000))
	}
	code, line := fmt.Sprintf("c%d", x.Rand.IntN(40)), x.Rand.IntN(60000)
	x.Exec(`INSERT IGNORE INTO many_types (code, line, flag, small, wide, ratio, part, born, zone, long_time, y, bits, fixed, raw, doc, kind, labels, story)
 VALUES ('%s', %d, %d, %d, -12345678901234567890.5, %d / 8, 1.5, '2024-02-29', '2024-01-02 03:04:05.678901', '-100:00:00.25', 1999, b'100000000001', 'ab', x'00FF', '{"b": [1, 2.5], "a": "é"}', 'b''c', 'x,z', 'naïve')`,
		code, line, line%2, line%256, line)
	x.Exec("UPDATE many_types SET labels = '', kind = NULL, story = 'changed', flag = NULL, wide = 0.000000000000000000000000000001, doc = '[]' WHERE code = 'c%d' AND line < %d", x.Rand.IntN(40), x.Rand.IntN(3000))
	if x.Rand.IntN(5) == 0 {
		x.Exec("UPDATE many_types SET line = line + 1 WHERE code = '%s' AND line = %d", code, line)
	}
	if x.Rand.IntN(5) == 0 {
		x.Exec("DELETE FROM many_types WHERE code = 'c%d' AND line > 50000", x.Rand.IntN(40))
	}
	return x.Rand.IntN(12) > 0
}

// TestSyncSurvivesKills copies two tables under a workload and kills the job
// again and again: what Java reads in the end equals the source.
func TestSyncSurvivesKills(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_kills", ordersTable, valuesTable, `INSERT INTO DB.orders
 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, i % 17, i * 1.25, 'first', '2026-07-06 01:02:03.456' FROM n`)
	const include = "DB.orders,DB.many_types"
	load := harness.StartLoad(t, c.server, c.db, 3, work)
	rnd := rand.New(rand.NewPCG(5, uint64(time.Now().UnixNano())))
	for range 6 {
		run := c.job.StartCommand(c.args(include, "--name", "copies")...)
		time.Sleep(time.Duration(300+rnd.IntN(1200)) * time.Millisecond)
		run.Kill()
	}
	run := c.job.StartCommand(c.args(include, "--name", "copies")...)
	c.job.Wait("copies", "snapshot")
	if s := run.Stop().Stderr; !strings.Contains(s, "job copies resumes from checkpoint") {
		t.Errorf("the last run does not resume:\n%s", s)
	}
	load.MustStop(t)
	c.mustRun(include, "--name", "copies")

	c.lake("orders").CheckRows(t, c.rows("orders"))
	c.lake("many_types").CheckJava(t, c.manyTypes())
	if len(c.manyTypes()) < 100 {
		t.Errorf("the workload left %d rows", len(c.manyTypes()))
	}
	c.lake("orders").CheckProperties(t, true)
	c.lake("orders").CheckNoOrphans(t)
	c.lake("many_types").CheckNoOrphans(t)
	checkSchema(t, c)
}

// checkSchema looks at the definitions that were made.
func checkSchema(t *testing.T, c *copies) {
	t.Helper()
	for table, want := range map[string][]string{
		"orders": {`"bucket":"1"`, `"primaryKeys":["id"]`, `"comment":"what was ordered"`, `"DECIMAL(20, 0) NOT NULL"`, `"INT NOT NULL"`, `"VARCHAR(40)"`, `"free text"`, `"TIMESTAMP(3)"`},
		"many_types": {
			`"primaryKeys":["code","line"]`, `"VARCHAR(20) NOT NULL"`, `"BOOLEAN"`, `"SMALLINT"`, `"DOUBLE"`, `"FLOAT"`, `"DATE"`, `"TIMESTAMP(6)"`, `"BINARY(2)"`, `"BINARY(4)"`, `"BYTES"`, `"ARRAY"`,
		},
	} {
		b, err := json.Marshal(judge.Java(t).Schema(t, c.job.Warehouse(), c.db+"."+table))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(b), w) {
				t.Errorf("the schema of %s lacks %s: %s", table, w, b)
			}
		}
	}
}

// TestSyncWholeDatabase copies all tables but one, with options of its own, and
// meets a table that is new at the source.
func TestSyncWholeDatabase(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_whole", "CREATE TABLE DB.one (id INT NOT NULL PRIMARY KEY, v TEXT)", "CREATE TABLE DB.`two-x` (id CHAR(4) NOT NULL PRIMARY KEY, n INT)",
		"CREATE TABLE DB.log (at DATETIME, what TEXT)", "CREATE VIEW DB.shown AS SELECT id FROM DB.one",
		"INSERT INTO DB.one VALUES (1, 'a'), (2, NULL)", "INSERT INTO DB.`two-x` VALUES ('x', 1)")
	r := c.mustRun("DB.*", "--exclude", c.db+".log", "--exclude", c.db+".nothing", "--table_conf", "changelog-producer=input", "--table-conf", "bucket=3")
	if !strings.Contains(r.Stderr, "notice: e2e_sync_whole.nothing leaves no table out") {
		t.Errorf("no notice of the exclusion without effect:\n%s", r.Stderr)
	}
	c.exec("UPDATE DB.one SET v = 'b' WHERE id = 1", "DELETE FROM DB.one WHERE id = 2", "INSERT INTO DB.`two-x` VALUES ('y', NULL)")
	r = c.mustRun("DB.*", "--exclude", c.db+".log")
	if !strings.Contains(r.Stderr, "job sync_e2e_sync_whole.* resumes from checkpoint") {
		t.Errorf("the second run does not resume:\n%s", r.Stderr)
	}
	c.lake("one").CheckRows(t, c.rows("one"))
	c.lake("one").CheckChangelog(t, c.rows("one"), "id")
	c.lake("two-x").CheckJava(t, c.rows("`two-x`"))

	c.exec("CREATE TABLE DB.three (id INT NOT NULL PRIMARY KEY)", "INSERT INTO DB.three VALUES (3)")
	c.mustRun("DB.*", "--exclude", c.db+".log")
	c.lake("three").CheckJava(t, c.rows("three"))
	c.refused(c.run("DB.*", "--catch-up", "--exclude", c.db+".log,"+c.db+".three"), 3, "LEAT-5002", "e2e_sync_whole.three")
	c.exec("DROP TABLE DB.three")
	c.mustRun("DB.*", "--exclude", c.db+".log")
	c.mustRun("DB.*", "--exclude", c.db+".log") // and once more, as one that is known to be gone
	c.exec("CREATE TABLE DB.three (id INT NOT NULL PRIMARY KEY)", "INSERT INTO DB.three VALUES (4)")
	c.mustRun("DB.*", "--exclude", c.db+".log")
	c.lake("three").CheckJava(t, c.rows("three"))
	c.refused(c.run("DB.three,DB.one", "--catch-up"), 3, "LEAT-5006", "this job is new, and tables that it is to fill hold rows", "lake.e2e_sync_whole.one")
	c.mustRun("DB.three,DB.one", "--fresh", "--replace")
	c.lake("three").CheckJava(t, c.rows("three"))
	c.lake("one").CheckJava(t, c.rows("one"))
}

// TestSyncRefuses names what it cannot carry, all at once, and changes nothing.
func TestSyncRefuses(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_refuses", "CREATE TABLE DB.orders (id INT NOT NULL PRIMARY KEY, v VARCHAR(10))", "CREATE TABLE DB.loose (a INT, b INT)",
		"CREATE TABLE DB.prefixed (t TEXT NOT NULL, PRIMARY KEY (t(8)))", "CREATE TABLE DB.sets (s SET('a','b') NOT NULL PRIMARY KEY)", "CREATE TABLE DB.reserved (id INT NOT NULL PRIMARY KEY, _KEY_x INT)",
		"CREATE TABLE DB.`a/b` (id INT NOT NULL PRIMARY KEY)",
		"CREATE VIEW DB.shown AS SELECT id FROM DB.orders", "INSERT INTO DB.orders VALUES (1, 'x')")
	for _, tt := range []struct {
		include string
		says    []string
	}{
		{"DB.orders,DB.loose", []string{"LEAT-2111", "table e2e_sync_refuses.loose: it has no primary key"}},
		{"DB.sets", []string{"table e2e_sync_refuses.sets: primary key column s has type ARRAY<STRING>"}},
		{"DB.reserved", []string{"table e2e_sync_refuses.reserved: column _KEY_x"}},
		{"DB.orders, DB.`a/b`", []string{"LEAT-2110", "table e2e_sync_refuses.a/b: table name 'a/b': it holds one of the characters $/"}},
		{"DB.shown", []string{"LEAT-3005", "e2e_sync_refuses.shown: it is a view"}},
		{"DB.order,DB.shown", []string{"there is no table e2e_sync_refuses.order at MySQL", "did you mean e2e_sync_refuses.orders?", "it is a view"}},
		{"e2e_sync_refuse.orders", []string{"there is no database e2e_sync_refuse at MySQL", "did you mean e2e_sync_refuses?"}},
	} {
		c.refused(c.run(tt.include, "--catch-up"), 2, tt.says...)
	}
	c.refused(c.run("DB.orders", "--exclude", c.db+".*"), 2, "all tables of e2e_sync_refuses.orders are excluded")
	if _, err := os.Stat(c.job.Warehouse()); !os.IsNotExist(err) {
		t.Errorf("a refused run made the warehouse: %v", err)
	}

	// What a pattern alone names stays out.
	r := c.mustRun("DB.*")
	for _, says := range []string{
		"table e2e_sync_refuses.loose stays out: it has no primary key", "table e2e_sync_refuses.prefixed stays out: it has no primary key",
		"table e2e_sync_refuses.sets stays out: primary key column s has type ARRAY<STRING>", "table e2e_sync_refuses.reserved stays out: column _KEY_x",
		"table e2e_sync_refuses.a/b stays out: table name 'a/b': it holds one of the characters",
	} {
		if !strings.Contains(r.Stderr, says) {
			t.Errorf("nothing says %q:\n%s", says, r.Stderr)
		}
	}
	c.lake("orders").CheckJava(t, c.rows("orders"))
	c.refused(c.run("DB.*,DB.loose", "--catch-up"), 2, "e2e_sync_refuses.loose: it has no primary key")

	c = newCopies(t, "e2e_sync_refuses", "CREATE TABLE DB.orders (id INT NOT NULL PRIMARY KEY, v VARCHAR(10))")
	c.mustRun("DB.orders")
	if r := c.mustRun("DB.orders", "--table-conf", "bucket=2"); !strings.Contains(r.Stderr, "keeps 'bucket' = '1'") {
		t.Errorf("nothing is said of an option that cannot change:\n%s", r.Stderr)
	}
	c.exec("ALTER TABLE DB.orders DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)")
	c.refused(c.run("DB.orders", "--catch-up"), 2, "LEAT-4004", "table lake.e2e_sync_refuses.orders exists already with another shape than e2e_sync_refuses.orders at the source",
		"the table's primary key is (id), here (id, v)")
}

// TestSyncPassword takes the password from the places where it may be, and shows it nowhere.
func TestSyncPassword(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_password", "CREATE TABLE DB.orders (id INT NOT NULL PRIMARY KEY)", "INSERT INTO DB.orders VALUES (1)")
	const secret = "p@ss:w/rd %x"
	judge.Exec(t, c.server, "DROP USER IF EXISTS sync_reader", "CREATE USER sync_reader IDENTIFIED BY '"+secret+"'", "GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO sync_reader")
	c.job = harness.NewJob(t, "", "LEAT_MYSQL_PASSWORD="+secret, "WORD="+secret)
	at := fmt.Sprintf("@127.0.0.1:%d/%s", c.server.Port, c.db)
	for i, account := range []string{"sync_reader", "sync_reader:${WORD}", "sync_reader:p%40ss:w%2Frd%20%25x"} {
		r := c.job.Leat("sync", "mysql", "--url", "mysql://"+account+at, "--including_tables", "orders", "--warehouse", c.job.Warehouse(), "--database", fmt.Sprintf("copy_%d", i),
			"--name", fmt.Sprintf("copy %d", i), "--catch-up", "--log-level", "debug")
		if r.Code != 0 {
			t.Fatalf("%s: exit code %d\n%s", account, r.Code, r.Stderr)
		}
		if strings.Contains(r.Stderr+r.Stdout, secret) {
			t.Errorf("%s: the output shows the password:\n%s", account, r.Stderr)
		}
		c.job.Lake(fmt.Sprintf("copy_%d.orders", i)).CheckJava(t, c.rows("orders"))
	}
	r := c.job.Leat("sync", "mysql", "--url", "mysql://sync_reader:wr0ng"+at, "--include", "orders", "--warehouse", c.job.Warehouse())
	c.refused(r, 2, "LEAT-3002", "refuses user 'sync_reader'")
	if strings.Contains(r.Stderr, "wr0ng") {
		t.Errorf("the error shows the password:\n%s", r.Stderr)
	}
}
