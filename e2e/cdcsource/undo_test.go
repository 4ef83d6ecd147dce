package cdcsource

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/dataflow"
	"leat/internal/mysqld"
)

// TestRowsThatTheLogTakesBack has transactions of which MariaDB writes rows into the log that
// count for nothing, and the same on MySQL.
func TestRowsThatTheLogTakesBack(t *testing.T) {
	const add, temporary, other = "UPDATE accounts SET balance = balance + 1", "CREATE TEMPORARY TABLE temp (id INT)", "INSERT INTO myisam VALUES (1, 1)"
	xa := func(end string, sql ...string) []string {
		return append(append([]string{"XA START 'x'"}, sql...), "XA END 'x'", "XA PREPARE 'x'", "XA "+end+" 'x'")
	}
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		for i, tt := range []struct {
			name string
			sql  []string
		}{
			{"rolled back", []string{"BEGIN", add, temporary, add, "ROLLBACK"}},
			{"rolled back after another engine", []string{"BEGIN", add, other, add, "ROLLBACK"}},
			{"back to a savepoint", []string{"BEGIN", add, temporary, "SAVEPOINT a", add, "ROLLBACK TO SAVEPOINT a", add, "COMMIT"}},
			{"back to the begin", []string{"BEGIN", "SAVEPOINT a", add, temporary, "ROLLBACK TO a", "COMMIT"}},
			{"back twice", []string{"BEGIN", add, temporary, "SAVEPOINT a", add, "SAVEPOINT b", "INSERT INTO accounts (id, balance) VALUES (50, 5)", "ROLLBACK TO b", add, "ROLLBACK TO B", "ROLLBACK TO a", "DELETE FROM accounts WHERE id = 30", "COMMIT"}},
			{"a savepoint anew", []string{"BEGIN", temporary, "SAVEPOINT a", add, "SAVEPOINT a", add, "ROLLBACK TO a", "COMMIT"}},
			{"a savepoint with a name", []string{"BEGIN", add, temporary, "SAVEPOINT `to ROLLBACK ``x`", add, "ROLLBACK TO `to ROLLBACK ``x`", "COMMIT"}},
			{"a savepoint released", []string{"BEGIN", add, temporary, "SAVEPOINT a", add, "RELEASE SAVEPOINT a", add, "COMMIT"}},
			{"by itself", []string{add}},
		} {
			if s == gtidServer && slices.Contains(tt.sql, other) {
				continue // GTIDs forbid two engines in one transaction
			}
			t.Run(tt.name, func(t *testing.T) { takesBack(t, s, fmt.Sprintf("back_%d", i), tt.sql, 3) })
		}
		// More than stays in memory.
		t.Run("large", func(t *testing.T) {
			takesBack(t, s, "back_large", []string{"BEGIN", temporary, add, "SAVEPOINT a", add, "ROLLBACK TO a", "INSERT INTO accounts (id, balance) VALUES (50, 5)", "COMMIT", "BEGIN", add, "CREATE TEMPORARY TABLE temp2 (id INT)", add, "ROLLBACK"}, 6000)
		})
		if s == gtidServer {
			return
		}
		t.Run("XA", func(t *testing.T) {
			takesBack(t, s, "back_xa", xa("COMMIT", add, "SAVEPOINT a", add, other, "ROLLBACK TO a", "INSERT INTO accounts (id, balance) VALUES (50, 5)"), 3)
		})
		t.Run("XA rolled back", func(t *testing.T) {
			takesBack(t, s, "back_xa", xa("ROLLBACK", add, "SAVEPOINT a", add, other, "ROLLBACK TO a"), 3)
		})
	})
}

// takesBack runs transactions on a table of so many rows, and compares.
func takesBack(t *testing.T, s *mysqld.Server, db string, sql []string, rows int) {
	t.Helper()
	cfg, _ := small(t, s, db)
	cfg.Scratch = t.TempDir()
	if err := s.Exec("USE "+db, "CREATE TABLE myisam (id INT, v INT) ENGINE=MyISAM", "ALTER TABLE accounts ADD COLUMN pad VARCHAR(1000)",
		"INSERT INTO accounts SELECT n + 100, 7, REPEAT('x', 1000) FROM (SELECT a.d + b.d*10 + c.d*100 + d.d*1000 AS n FROM "+strings.Join([]string{digits("a"), digits("b"), digits("c"), digits("d")}, ", ")+
			fmt.Sprintf(") x WHERE n < %d", rows-3)); err != nil {
		t.Fatal(err)
	}
	x := run(t, cfg, nil, copies{{}}, nil)
	x.await("the snapshot is not complete", complete)
	if err := s.Exec(append(append([]string{"USE " + db}, sql...), "INSERT INTO accounts (id, balance) VALUES (40, 4)")...); err != nil && !strings.Contains(err.Error(), "1196") {
		t.Fatal(err)
	}
	x.await("the changes are not read", func(st dataflow.SourceStatus) bool {
		x.col.mu.Lock()
		defer x.col.mu.Unlock()
		return x.col.tables[0]["40"] == "4"
	})
	x.end()
	c, err := s.Connect(db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	want := map[string]string{}
	for _, r := range query(t, c, "SELECT id, balance FROM accounts") {
		want[r[0]] = r[1]
	}
	if d := cmp.Diff(want, x.col.tables[0]); d != "" {
		t.Errorf("%.2000s", d)
	}
}
