package cdcsource

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

// logText is a log that may be read while it is written.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// small makes a table of three rows in a database of its own, and a reader's configuration.
func small(t *testing.T, s *mysqld.Server, db string) (cdc.Config, *logText) {
	t.Helper()
	err := s.Exec("DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db, "CREATE TABLE "+db+".accounts (id INT PRIMARY KEY, balance INT)", "CREATE TABLE "+db+".other (id INT PRIMARY KEY, balance INT)",
		"INSERT INTO "+db+".accounts VALUES (10, 1), (20, 2), (30, 3)", "INSERT INTO "+db+".other VALUES (10, 1)")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(s, db)
	log := &logText{}
	cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	cfg.Tables[0].Schema = &columnar.Schema{Fields: []columnar.Field{field("id", columnar.Of(columnar.Int).NotNull()), field("balance", columnar.Of(columnar.Int))}}
	return cfg, log
}

// TestStatementsInPlaceOfRows lets a session write statements into the log that change the
// table in one way or another: none is passed over.
func TestStatementsInPlaceOfRows(t *testing.T) {
	const f = "CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN UPDATE accounts SET balance = 3 WHERE id = 10; RETURN 1; END"
	for i, tt := range []struct {
		name string
		sql  []string
		more bool // another table changes, and the reader goes on
	}{
		{name: "LOAD DATA", sql: []string{"LOAD DATA INFILE 'ROWS' INTO TABLE accounts (id, balance)"}},
		{name: "function", sql: []string{f, "SELECT f()"}},
		{name: "function in DO", sql: []string{f, "DO f()"}},
		{name: "function in a function", sql: []string{f, "CREATE FUNCTION g() RETURNS INT DETERMINISTIC RETURN f() + 1", "SELECT g()"}},
		{name: "view", sql: []string{"CREATE VIEW v AS SELECT * FROM accounts", "UPDATE v SET balance = 4 WHERE id = 10"}},
		{name: "trigger", sql: []string{"CREATE TRIGGER tr AFTER INSERT ON other FOR EACH ROW UPDATE accounts SET balance = 4 WHERE id = 10", "INSERT INTO other VALUES (1, 1)"}},
		{name: "trigger made later", sql: []string{"INSERT INTO other VALUES (2, 1)", "CREATE TRIGGER tr AFTER INSERT ON other FOR EACH ROW UPDATE accounts SET balance = 4 WHERE id = 10", "INSERT INTO other VALUES (1, 1)"}},
		{name: "update of two tables", sql: []string{"UPDATE other o JOIN accounts a ON o.id = a.id SET a.balance = 4"}},
		{name: "delete by alias", sql: []string{"DELETE a FROM accounts a WHERE id = 10"}},
		{name: "another table", sql: []string{"INSERT INTO other SELECT id + 1, balance FROM accounts", "LOAD DATA INFILE 'ROWS' INTO TABLE other (id, balance)", "UPDATE other SET balance = (SELECT MAX(balance) FROM accounts)"}, more: true},
		{name: "a temporary table", sql: []string{"CREATE TEMPORARY TABLE temp (a INT)", "INSERT INTO temp SELECT id FROM accounts", "DROP TEMPORARY TABLE temp"}, more: true},
	} {
		for name, s := range map[string]*mysqld.Server{"mysql": gtidServer, "mariadb": mariaServer} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				db := fmt.Sprintf("text_%d", i)
				cfg, log := small(t, s, db)
				file := filepath.Join(t.TempDir(), "rows.txt")
				if err := os.WriteFile(file, []byte("1000001\t7\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				x := run(t, cfg, nil, copies{{}}, nil)
				x.await("the snapshot is not complete", complete)
				sql := []string{"SET GLOBAL log_bin_trust_function_creators = 1", "SET SESSION binlog_format = 'STATEMENT'", "USE " + db}
				for _, q := range tt.sql {
					sql = append(sql, strings.ReplaceAll(q, "ROWS", file))
				}
				if err := s.Exec(append(sql, "SET SESSION binlog_format = 'ROW'", "INSERT INTO accounts VALUES (40, 4)")...); err != nil {
					t.Fatal(err)
				}
				if !tt.more {
					failsWith(t, x.err(), diag.CodeSourceBinlog, db+".accounts", "binlog_format = 'ROW'", "--fresh --replace")
					return
				}
				x.await("the last change is not read", func(dataflow.SourceStatus) bool { return x.col.size() == 4 })
				x.end()
				if text := log.String(); strings.Contains(tt.sql[0], "INSERT") && strings.Count(text, "holds its statements instead of rows") != 1 {
					t.Errorf("statements of another table are told of other than once:\n%s", text)
				}
			})
		}
	}
}

// TestServerIDThatTwoUse runs two readers with one server-id: neither ends the other
// without a word, and what is written is read.
func TestServerIDThatTwoUse(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := strings.ReplaceAll(strings.ToLower(t.Name()), "/", "_")
		cfg, log := small(t, s, db)
		cfg.MaxRetries = 3
		x := run(t, cfg, nil, copies{{}}, nil)
		x.await("the snapshot is not complete", complete)
		y := run(t, cfg, nil, copies{{}}, nil)
		if s == mariaServer {
			// Here the newer client ends the connection of the older one.
			var err error
			select {
			case err = <-x.done:
				y.end()
			case err = <-y.done:
				x.end()
			case <-time.After(time.Minute):
				t.Fatal("neither of the two says a word")
			}
			failsWith(t, err, diag.CodeSourceReach, "server-id", "each ends the connection of the other")
			return
		}
		y.await("the snapshot is not complete", complete)
		eventually(t, 2*time.Minute, "nobody is told of the server-id", func() bool { return strings.Contains(log.String(), "uses the same server-id") })
		if err := s.Exec("INSERT INTO " + db + ".accounts VALUES (40, 4)"); err != nil {
			t.Fatal(err)
		}
		for _, r := range []*running{x, y} {
			r.await("the last change is not read", func(dataflow.SourceStatus) bool { return r.col.size() == 4 })
			r.end()
		}
	})
}

// TestServerIDAfterARestart starts a reader while the server still lists the connection of
// the one before: that is no other client.
func TestServerIDAfterARestart(t *testing.T) {
	s := gtidServer
	cfg, log := small(t, s, "restarted")
	var state []byte
	tables := copies{{}}
	for range 4 {
		x := run(t, cfg, state, tables, func(c *collector) { c.every = 1 })
		x.await("the snapshot is not complete", complete)
		eventually(t, time.Minute, "no checkpoint comes", func() bool { state, tables = x.col.pick(t); return state != nil })
		x.end()
	}
	if text := log.String(); strings.Contains(text, "server-id") {
		t.Error(text)
	}
}

// TestPrivilegesThatAreTakenAway ends readers whose account may not read any more.
func TestPrivilegesThatAreTakenAway(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := strings.ReplaceAll(strings.ToLower(t.Name()), "/", "_")
		cfg, _ := small(t, s, db)
		cfg.User, cfg.Password = "lost", "word"
		monitor := "REPLICATION CLIENT"
		if s == mariaServer {
			monitor = "BINLOG MONITOR"
		}
		for _, tt := range []struct {
			take string
			code diag.Code
			want string
		}{
			{"REVOKE REPLICATION SLAVE ON *.* FROM lost", diag.CodeSourceGrant, "GRANT SELECT, REPLICATION SLAVE"},
			{"REVOKE " + monitor + " ON *.* FROM lost", diag.CodeSourceGrant, "GRANT SELECT, REPLICATION SLAVE"},
			{"ALTER USER lost IDENTIFIED BY 'other'", diag.CodeSourceAuth, "password"},
			{"DROP USER lost", diag.CodeSourceAuth, "username"},
		} {
			if err := s.Exec("DROP USER IF EXISTS lost", "CREATE USER lost IDENTIFIED BY 'word'", "GRANT SELECT, LOCK TABLES, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO lost"); err != nil {
				t.Fatal(err)
			}
			x := run(t, cfg, nil, copies{{}}, nil)
			x.await("the snapshot is not complete", complete)
			if err := s.Exec(tt.take); err != nil {
				t.Fatal(err)
			}
			killSessions(t, s, dumpThreads)
			failsWith(t, x.err(), tt.code, tt.want)
		}
	})
}
