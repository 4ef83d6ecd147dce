package sync

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"leat/e2e/judge"
)

// shaper changes a table of a source at random: its columns, its rows as a whole, its name.
type shaper struct {
	c    *copies
	rnd  *rand.Rand
	next int
	// columns are those besides id and v.
	columns []string
	log     []string
}

func (s *shaper) name() string {
	s.next++
	return fmt.Sprintf("c%d", s.next)
}

// change runs one statement, chosen at random.
func (s *shaper) change() {
	s.c.t.Helper()
	pick := func() string { return s.columns[s.rnd.IntN(len(s.columns))] }
	var sql []string
	switch n := s.rnd.IntN(12); {
	case n < 3 || len(s.columns) < 2:
		name := s.name()
		form := []string{"INT", "INT NOT NULL DEFAULT 7", "VARCHAR(10) DEFAULT 'new' FIRST", "DECIMAL(8,3) DEFAULT 1.5 AFTER id", "DATETIME(3) DEFAULT '2024-01-02 03:04:05.678'"}[s.rnd.IntN(5)]
		s.columns = append(s.columns, name)
		sql = []string{"ALTER TABLE DB.shape ADD COLUMN " + name + " " + form}
	case n < 5:
		name := pick()
		s.columns = slices.DeleteFunc(s.columns, func(c string) bool { return c == name })
		sql = []string{"ALTER TABLE DB.shape DROP COLUMN " + name}
		if s.rnd.IntN(2) == 0 { // and one of its name with another type
			s.columns = append(s.columns, name)
			sql = append(sql, "ALTER TABLE DB.shape ADD COLUMN "+name+" VARCHAR(30) DEFAULT 'again'")
		}
	case n < 6:
		name, to := pick(), s.name()
		s.columns = append(slices.DeleteFunc(s.columns, func(c string) bool { return c == name }), to)
		sql = []string{"ALTER TABLE DB.shape RENAME COLUMN " + name + " TO " + to}
	case n < 7:
		sql = []string{"ALTER TABLE DB.shape MODIFY v BIGINT", "UPDATE DB.shape SET v = v + 5000000000 WHERE id % 7 = 0 AND v < 1000000000"}
	case n < 8:
		sql = []string{"TRUNCATE TABLE DB.shape"}
	case n < 10: // as online schema change tools swap tables
		name := s.name()
		s.columns = append(s.columns, name)
		sql = []string{
			"CREATE TABLE DB._shape_gho LIKE DB.shape", "ALTER TABLE DB._shape_gho ADD COLUMN " + name + " VARCHAR(12) NOT NULL DEFAULT 'open'",
		}
		list := strings.Join(append([]string{"id", "v"}, slices.DeleteFunc(slices.Clone(s.columns), func(c string) bool { return c == name })...), ", ")
		sql = append(sql, "INSERT INTO DB._shape_gho ("+list+") SELECT "+list+" FROM DB.shape", "RENAME TABLE DB.shape TO DB._shape_del, DB._shape_gho TO DB.shape", "DROP TABLE DB._shape_del")
	case n < 11:
		sql = []string{"ALTER TABLE DB.shape MODIFY v BIGINT FIRST", "ALTER TABLE DB.shape MODIFY v BIGINT AFTER id"}
	default:
		sql = []string{"ALTER TABLE DB.shape CONVERT TO CHARACTER SET utf8mb4, COMMENT = 'ALTER TABLE shape DROP COLUMN v'"}
	}
	s.log = append(s.log, sql...)
	s.c.exec(sql...)
}

// rows changes some rows.
func (s *shaper) rows() {
	from := s.rnd.IntN(400)
	s.c.exec(
		fmt.Sprintf("INSERT INTO DB.shape (id, v) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT i + %d, i FROM n ON DUPLICATE KEY UPDATE v = v + 1", from),
		fmt.Sprintf("DELETE FROM DB.shape WHERE id BETWEEN %d AND %d", from+10, from+20),
		fmt.Sprintf("UPDATE DB.shape SET v = %d WHERE id %% 11 = %d", from, s.rnd.IntN(11)),
	)
}

var (
	soakFor   = flag.Duration("soak", 0, "how long TestSyncFollowsColumns and TestSyncTakesUpTables begin rounds; 0 is one round")
	firstSeed = flag.Uint64("seed", 0, "seed of the first round; the next ones follow it. 0 draws one")
)

// rounds runs f with one seed after the other for as long as the flags say, in
// each kind side by side, and tells how many there were.
func rounds(t *testing.T, kinds []string, f func(t *testing.T, kind string, seed uint64)) {
	seed := *firstSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	n := uint64(0)
	for started := time.Now(); n == 0 || time.Since(started) < *soakFor; n++ {
		t.Run(fmt.Sprint(seed+n), func(t *testing.T) {
			for _, kind := range kinds {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					f(t, kind, seed+n)
				})
			}
		})
	}
	t.Logf("%d rounds of %s from seed %d", n, strings.Join(kinds, " and "), seed)
}

// TestSyncFollowsColumns changes a table at random while it is copied, kills the
// job now and then, and changes more while it is down: in the end Java reads the
// rows of the source under the columns that it has then.
func TestSyncFollowsColumns(t *testing.T) {
	t.Parallel()
	rounds(t, []string{"FULL", "MINIMAL", "FOLLOW"}, followColumns)
}

// followColumns copies under a kind of metadata of the log; FOLLOW renames and
// drops columns of the lake, too.
func followColumns(t *testing.T, kind string, seed uint64) {
	c := newCopies(t, "e2e_sync_shapes_"+strings.ToLower(kind))
	metadata := strings.Replace(kind, "FOLLOW", "FULL", 1)
	args := func() []string {
		list := c.args("DB.shape,DB.calm", "--name", "shapes")
		if kind == "FOLLOW" {
			list = append(list, "--rename_columns", "follow", "--drop-columns", "follow")
		}
		if seed%2 == 1 { // rows that are read again are compared then
			list = append(list, "--table-conf", "changelog-producer=input", "--mysql-conf", "scan.incremental.snapshot.chunk.size=60")
		}
		return list
	}
	catchUp := func() {
		t.Helper()
		if r := c.job.Leat(append(args(), "--catch-up")...); r.Code != 0 {
			t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
		}
	}
	c.server = judge.OwnMySQL(t, "--binlog-row-metadata="+metadata)
	c.exec("CREATE DATABASE "+c.db, "CREATE TABLE DB.shape (id INT NOT NULL PRIMARY KEY, v INT)", "CREATE TABLE DB.calm (id INT NOT NULL PRIMARY KEY, v INT)", "INSERT INTO DB.calm VALUES (1, 1)")
	s := &shaper{c: c, rnd: rand.New(rand.NewPCG(seed, 3))}
	s.rows()
	for range 5 {
		run := c.job.StartCommand(args()...)
		for range 4 {
			time.Sleep(time.Duration(50+s.rnd.IntN(300)) * time.Millisecond)
			s.change()
			s.rows()
		}
		c.exec("UPDATE DB.calm SET v = v + 1")
		if s.rnd.IntN(2) == 0 {
			run.Kill()
			s.change()
			s.rows()
			s.change()
		} else {
			run.Stop()
		}
	}
	catchUp()

	var got []judge.Row
	names := append([]string{"id", "v"}, s.columns...)
	for _, row := range judge.Java(t).Rows(t, c.job.Warehouse(), c.db+".shape") {
		kept := judge.Row{}
		for k, v := range row {
			if slices.Contains(names, k) || k == "_kind" {
				kept[k] = v
			} else if kind == "FOLLOW" && !strings.Contains(k, "_dropped_") {
				t.Errorf("column %s is still there, after\n  %s", k, strings.Join(s.log, "\n  "))
			}
		}
		got = append(got, kept)
	}
	if diff := judge.Diff("source", c.rows("shape"), "lake", got); diff != "" {
		t.Errorf("after\n  %s\n%s", strings.Join(s.log, "\n  "), diff)
	}
	c.lake("calm").CheckJava(t, c.rows("calm"))
	// A schema file that a killed process left half made is nobody's after a minute.
	age(t, filepath.Join(c.job.Warehouse(), c.db+".db", "shape", "schema"))
	catchUp()
	c.lake("calm").CheckNoOrphans(t)
	c.lake("shape").CheckNoOrphans(t)
	t.Logf("%d statements, %d rows at the end", len(s.log), len(got))
}

// TestSyncFollowsStatements carries statements out whose effect no event shows,
// and leaves a table alone that CREATE TABLE IF NOT EXISTS finds there.
func TestSyncFollowsStatements(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_statements",
		"CREATE TABLE DB.flags (id INT NOT NULL PRIMARY KEY, level TINYINT(1))", "INSERT INTO DB.flags VALUES (1, 3), (2, 0), (3, NULL)",
		"CREATE TABLE DB.digits (id INT NOT NULL PRIMARY KEY, big BIGINT, must INT NOT NULL)", "INSERT INTO DB.digits VALUES (1, 123456789012345678, 1), (2, NULL, 2)")
	const include = "DB.flags,DB.digits"
	run := c.job.StartCommand(c.args(include, "--name", "statements")...)
	c.job.Wait("statements", "snapshot")
	c.exec("ALTER TABLE DB.flags MODIFY level INT", "INSERT INTO DB.flags VALUES (4, 70000)")
	c.job.Wait("statements", "caught-up")
	c.exec("CREATE TABLE IF NOT EXISTS DB.flags (id INT NOT NULL PRIMARY KEY)", "UPDATE DB.flags SET level = level + 1 WHERE id = 4")
	c.exec("ALTER TABLE DB.digits DROP COLUMN must", "UPDATE DB.digits SET big = big + 1 WHERE id = 1")
	c.exec("ALTER TABLE DB.digits MODIFY big DECIMAL(38,20)", "INSERT INTO DB.digits VALUES (3, 0.00000000000000000001)")
	c.job.Wait("statements", "caught-up")
	run.Stop()
	c.mustRun(include, "--name", "statements")

	c.lake("flags").CheckJava(t, c.rows("flags"))
	digits := judge.Java(t).Rows(t, c.job.Warehouse(), c.db+".digits")
	for _, r := range digits {
		delete(r, "big_dropped_1") // no DECIMAL holds both
		delete(r, "must")
	}
	if diff := judge.Diff("source", c.rows("digits"), "lake", digits); diff != "" {
		t.Error(diff)
	}
	for _, snapshot := range judge.Java(t).Snapshots(t, c.job.Warehouse(), c.db+".flags") {
		if b, err := json.Marshal(snapshot); err != nil || strings.Contains(string(b), "OVERWRITE") {
			t.Errorf("the table was emptied: %s %v", b, err)
		}
	}
}

// TestSyncTellsEachChangeOnce reads tables again whose changelog is what is written:
// under kills it has each change once, also where rows come or go without events.
func TestSyncTellsEachChangeOnce(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_changelog", "CREATE TABLE DB.told (id INT NOT NULL PRIMARY KEY, v INT)", "CREATE TABLE DB.uncut (id BINARY(3) NOT NULL, n FLOAT NOT NULL, v INT, PRIMARY KEY (n, id))")
	const include, name = "DB.*", "changelog"
	numbers := "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT "
	c.exec("INSERT INTO DB.told (id, v) "+numbers+"i, i FROM n", "INSERT INTO DB.uncut (id, n, v) "+numbers+"LPAD(HEX(i), 3, '0'), i, i FROM n")
	args := c.args(include, "--name", name, "--table-conf", "changelog-producer=input", "--mysql-conf", "scan.incremental.snapshot.chunk.size=70")
	run := c.job.StartCommand(args...)
	c.job.Wait(name, "snapshot")
	rows := func() {
		from := rand.IntN(250)
		for _, table := range []string{"told", "uncut"} {
			c.exec(fmt.Sprintf("UPDATE DB.%s SET v = v + 1 WHERE v BETWEEN %d AND %d", table, from, from+40), fmt.Sprintf("DELETE FROM DB.%s WHERE v BETWEEN %d AND %d", table, from+20, from+25))
		}
		c.exec(fmt.Sprintf("INSERT INTO DB.told (id, v) VALUES (%d, 5), (%d, 6)", 1000+2*from, 1001+2*from) + " ON DUPLICATE KEY UPDATE v = 7")
	}
	for _, statements := range [][]string{
		{"ALTER TABLE DB.told ADD COLUMN a INT NOT NULL DEFAULT 7", "ALTER TABLE DB.uncut ADD COLUMN a INT NOT NULL DEFAULT 7"},
		{"TRUNCATE TABLE DB.told", "INSERT INTO DB.told (id, v) " + numbers + "2 * i, i FROM n"},
		{"CREATE TABLE DB._told LIKE DB.told", "INSERT INTO DB._told SELECT id, v + 1, a FROM DB.told WHERE id % 3 > 0", "RENAME TABLE DB.told TO DB.told_old, DB._told TO DB.told", "DROP TABLE DB.told_old"},
		{"ALTER TABLE DB.told ADD COLUMN b VARCHAR(9) DEFAULT 'new'", "UPDATE DB.told SET b = 'other' WHERE id % 5 = 0"},
	} {
		rows()
		c.exec(statements...)
		rows()
		time.Sleep(time.Duration(rand.IntN(600)) * time.Millisecond)
		run.Kill()
		rows()
		run = c.job.StartCommand(args...)
		c.job.Wait(name, "caught-up")
		c.awaitState(name, "told", "streaming")
		rows()
	}
	c.job.Wait(name, "caught-up")
	run.Stop()
	c.lake("told").CheckJava(t, c.rows("told"))
	// The changelog comes under the columns of the first snapshot.
	c.lake("told").CheckChangelog(t, c.first("told", "id", "v"), "id")
	c.lake("uncut").CheckChangelog(t, c.first("uncut", "id", "n", "v"), "n", "id")
}

// first gives the rows of a table with some of its columns.
func (c *copies) first(table string, columns ...string) []judge.Row {
	c.t.Helper()
	rows := c.rows(table)
	for _, r := range rows {
		for name := range r {
			if !slices.Contains(columns, name) {
				delete(r, name)
			}
		}
	}
	return rows
}

// age makes the files of a folder two minutes old.
func age(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-2 * time.Minute)
	for _, f := range files {
		if err := os.Chtimes(filepath.Join(dir, f.Name()), then, then); err != nil {
			t.Fatal(err)
		}
	}
}
