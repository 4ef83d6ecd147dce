package sync

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"leat/e2e/judge"
)

// census makes and drops tables of a database at random.
type census struct {
	c      *copies
	rnd    *rand.Rand
	next   int
	tables []string
	log    []string
}

func (s *census) exec(sql ...string) {
	s.c.t.Helper()
	s.log = append(s.log, sql...)
	s.c.exec(sql...)
}

func (s *census) name() string {
	s.next++
	return fmt.Sprintf("t%d", s.next)
}

// change lets a table come or go.
func (s *census) change() {
	s.c.t.Helper()
	pick := func() string { return s.tables[s.rnd.IntN(len(s.tables))] }
	drop := func(name string) { s.tables = slices.DeleteFunc(s.tables, func(t string) bool { return t == name }) }
	name := s.name()
	switch n := s.rnd.IntN(9); {
	case n < 2 || len(s.tables) < 2:
		s.exec("CREATE TABLE DB." + name + " (id INT NOT NULL PRIMARY KEY, v INT)")
	case n < 3:
		s.exec("CREATE TABLE DB."+name+" LIKE DB."+pick(), "INSERT INTO DB."+name+" (id, v) SELECT id, v FROM DB."+s.tables[0]+" WHERE id < 9000")
	case n < 4:
		s.exec("CREATE TABLE DB." + name + " (PRIMARY KEY (id)) SELECT id, v FROM DB." + s.tables[0])
	case n < 5: // from a database that is not copied
		s.exec("CREATE TABLE e2e_sync_elsewhere."+name+" (id INT NOT NULL PRIMARY KEY, v INT)", "INSERT INTO e2e_sync_elsewhere."+name+" VALUES (-1, -1)",
			"RENAME TABLE e2e_sync_elsewhere."+name+" TO DB."+name)
	case n < 6:
		old := pick()
		s.exec("ALTER TABLE DB." + old + " RENAME TO DB." + name)
		drop(old)
	case n < 7: // made anew under its name
		old := pick()
		s.exec("DROP TABLE DB."+old, "CREATE TABLE DB."+old+" (id INT NOT NULL PRIMARY KEY, v INT, w VARCHAR(5) DEFAULT 'w')", "INSERT INTO DB."+old+" (id, v) VALUES (-2, -2)")
		name = old
		drop(old)
	case n < 8: // comes, is changed and goes again
		s.exec("CREATE TABLE DB."+name+" (id INT NOT NULL PRIMARY KEY, v INT)", "INSERT INTO DB."+name+" VALUES (1, 1)", "DROP TABLE DB."+name)
		return
	default:
		s.exec("CREATE TABLE DB."+name+" (id INT NOT NULL PRIMARY KEY)", "INSERT INTO DB."+name+" VALUES (5)", "ALTER TABLE DB."+name+" ADD COLUMN v INT NOT NULL DEFAULT 3", "CREATE TABLE DB.loose_"+name+" (id INT)")
	}
	s.tables = append(s.tables, name)
}

// rows changes rows of some tables.
func (s *census) rows() {
	s.c.t.Helper()
	for range 4 {
		t, from := "DB."+s.tables[s.rnd.IntN(len(s.tables))], s.rnd.IntN(300)
		s.c.exec(
			fmt.Sprintf("INSERT INTO %s (id, v) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT i + %d, i FROM n ON DUPLICATE KEY UPDATE v = v + 1", t, from),
			fmt.Sprintf("DELETE FROM %s WHERE id BETWEEN %d AND %d", t, from+10, from+14),
			fmt.Sprintf("UPDATE IGNORE %s SET id = id + 10000 WHERE id = %d", t, from+20),
		)
	}
}

// TestSyncTakesUpTables copies a database in which tables come and go, by every
// statement that can bring one, while the job runs, is killed and is down.
func TestSyncTakesUpTables(t *testing.T) {
	t.Parallel()
	rounds(t, []string{"tables"}, takeUpTables)
}

func takeUpTables(t *testing.T, _ string, seed uint64) {
	c := newCopies(t, "e2e_sync_census", "DROP DATABASE IF EXISTS e2e_sync_elsewhere", "CREATE DATABASE e2e_sync_elsewhere")
	s := &census{c: c, rnd: rand.New(rand.NewPCG(seed, 7))}
	s.change()
	s.rows()
	const include = "DB.*"
	for round := range 6 {
		run := c.job.StartCommand(c.args(include, "--name", "census")...)
		for range 4 {
			time.Sleep(time.Duration(s.rnd.IntN(300)) * time.Millisecond)
			s.change()
			s.rows()
		}
		if round%2 == 0 {
			time.Sleep(time.Duration(s.rnd.IntN(700)) * time.Millisecond)
			run.Kill()
			s.change()
			s.rows()
			continue
		}
		c.job.Wait("census", "caught-up")
		run.Stop()
	}
	r := c.mustRun(include, "--name", "census")
	if strings.Contains(strings.Join(s.log, " "), "loose_") && !strings.Contains(r.Stderr, "stays out: it has no primary key") {
		t.Errorf("nothing is said of tables without a key:\n%s", r.Stderr)
	}

	for _, name := range s.tables {
		got := judge.Java(t).Rows(t, c.job.Warehouse(), c.db+"."+name)
		want := c.rows(name)
		for _, row := range got {
			if len(want) > 0 {
				for k := range row {
					if _, there := want[0][k]; !there && k != "_kind" {
						delete(row, k) // a column of a table that had the name before
					}
				}
			}
		}
		if diff := judge.Diff("source", want, "lake", got); diff != "" {
			t.Errorf("%s, after\n  %s\n%s", name, strings.Join(s.log, "\n  "), diff)
		}
	}
	// Schema files that a killed process left half made are nobody's after a minute.
	dirs, err := filepath.Glob(filepath.Join(c.job.Warehouse(), c.db+".db", "*", "schema"))
	if err != nil || len(dirs) < len(s.tables) {
		t.Fatalf("%d tables in the lake, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		age(t, dir)
	}
	c.mustRun(include, "--name", "census")
	for _, name := range s.tables {
		if len(c.rows(name)) > 0 {
			c.lake(name).CheckNoOrphans(t)
		}
	}
}
