package cdcsource

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

// killSessions ends the sessions that match, and says how many there were.
func killSessions(t *testing.T, s *mysqld.Server, condition string) int {
	t.Helper()
	c, err := s.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	r, err := c.Execute("SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND " + condition)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range r.RowNumber() {
		id, err := r.GetInt(i, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Execute(fmt.Sprintf("KILL %d", id)); err == nil {
			n++
		}
	}
	return n
}

// compress turns the compression of the binlog on or off until the test ends.
func compress(t *testing.T, s *mysqld.Server, to string) {
	t.Helper()
	variable := "binlog_transaction_compression"
	if s == mariaServer {
		variable = "log_bin_compress"
	} else if !s.Install.AtLeast(8, 0, 20) {
		return // it has no such transactions
	}
	if err := s.Exec("SET GLOBAL " + variable + " = " + to); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Exec("SET GLOBAL " + variable + " = OFF") })
}

const dumpThreads = "COMMAND LIKE 'Binlog Dump%'"

func TestBrokenConnectionsUnderLoad(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		w := startWorkload(t, s, db, 4)
		cfg := config(s, db)
		cfg.ChunkRows = 100
		sum := sumOf(t, s, db)
		x := run(t, cfg, nil, copies{{}}, func(c *collector) { c.sum = sum })
		killed := 0
		for i := range 25 {
			time.Sleep(60 * time.Millisecond)
			condition := dumpThreads
			if i%2 == 1 {
				condition = "INFO LIKE 'SELECT%FROM%accounts%' AND INFO NOT LIKE '%FOR UPDATE%' AND INFO NOT LIKE '%PROCESSLIST%'"
			}
			killed += killSessions(t, s, condition)
		}
		x.await("the snapshot is not complete", complete)
		w.end()
		t.Logf("%d sessions were killed", killed)
		x.end()
		state, tables := x.col.pick(t)
		compare(t, tableOf(t, s, db), catchUp(t, cfg, state, tables, nil).tables[0])
	})
}

// TestConnectionBreaksWithinATransaction kills the connection while a transaction
// of many batches is on its way: its rows come once.
func TestConnectionBreaksWithinATransaction(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		cfg := config(s, db)
		x := run(t, cfg, nil, copies{{}}, nil)
		x.await("the snapshot is not complete", complete)
		for range 4 {
			if err := s.Exec("UPDATE " + db + ".accounts SET balance = balance + 1, name = CONCAT(LEFT(name, 20), REPEAT('x', 40))"); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				killSessions(t, s, dumpThreads)
				time.Sleep(10 * time.Millisecond)
			}
		}
		x.await("the changes are not read", func(dataflow.SourceStatus) bool {
			x.col.mu.Lock()
			defer x.col.mu.Unlock()
			return strings.HasPrefix(x.col.tables[0]["10"], "1004|")
		})
		x.end()
		state, tables := x.col.pick(t)
		compare(t, tableOf(t, s, db), catchUp(t, cfg, state, tables, nil).tables[0])
	})
}

func TestNewFilesAndCompressedTransactions(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		compress(t, s, "ON")
		w := startWorkload(t, s, db, 4)
		cfg := config(s, db)
		sum := sumOf(t, s, db)
		x := run(t, cfg, nil, copies{{}}, func(c *collector) { c.sum = sum })
		for range 5 {
			time.Sleep(100 * time.Millisecond)
			if err := s.Exec("FLUSH BINARY LOGS"); err != nil {
				t.Fatal(err)
			}
		}
		x.await("the snapshot is not complete", complete)
		w.end()
		x.end()
		state, tables := x.col.pick(t)
		compare(t, tableOf(t, s, db), catchUp(t, cfg, state, tables, nil).tables[0])
	})
}

// failsWith checks that err is an error for people of the given code with a remedy.
func failsWith(t *testing.T, err error, code diag.Code, words ...string) {
	t.Helper()
	var l diag.List
	l.Add(err)
	if err == nil || len(l) == 0 {
		t.Fatalf("no error, want code %d", code)
	}
	var near string
next:
	for _, e := range l {
		if e.Code != code {
			continue
		}
		if e.Hint == "" {
			t.Errorf("%v: no hint", e)
		}
		near = e.Error() + " " + strings.Join(e.Notes, " ") + " do: " + e.Hint
		for _, w := range words {
			if !strings.Contains(near, w) {
				continue next
			}
		}
		return
	}
	if near != "" {
		t.Fatalf("%q lacks one of %q", near, words)
	}
	t.Fatalf("%v, want code %d", err, code)
}

func TestStatementsThatTheJobFollowsOrNot(t *testing.T) {
	for _, tt := range []struct {
		name string
		sql  []string
		code diag.Code
		want []string
	}{
		{"column added", []string{"ALTER TABLE DB.accounts ADD COLUMN extra INT DEFAULT 3 AFTER id", "UPDATE DB.accounts SET extra = 4, name = 'x' WHERE id < 1000"}, 0, nil},
		{"columns added one by one", []string{
			"ALTER TABLE DB.accounts ADD COLUMN e1 INT FIRST", "UPDATE DB.accounts SET e1 = 1, name = 'y' WHERE id < 500",
			"ALTER TABLE DB.accounts ADD COLUMN e2 BIGINT UNSIGNED AFTER id", "UPDATE DB.accounts SET e2 = 2, name = 'z' WHERE id < 1000",
		}, 0, nil},
		{"column widened", []string{"ALTER TABLE DB.accounts MODIFY price DECIMAL(10,2)", "UPDATE DB.accounts SET price = 5 WHERE id < 1000"}, 0, nil},
		{"index added", []string{"CREATE INDEX i ON DB.accounts (balance)", "UPDATE DB.accounts SET balance = 1 WHERE id < 1000"}, 0, nil},
		{"other table dropped", []string{"CREATE TABLE DB.other (a INT)", "DROP TABLE DB.other"}, 0, nil},
		{"needed column renamed", []string{"ALTER TABLE DB.accounts RENAME COLUMN name TO title"}, diag.CodeSourceChanged, []string{"'name' does not exist", "RENAME COLUMN", "--fresh --replace"}},
		{"needed column of another type", []string{"ALTER TABLE DB.accounts MODIFY balance VARCHAR(30)"}, diag.CodeSourceChanged, []string{"'balance'"}},
		{"truncate", []string{"TRUNCATE DB.accounts"}, diag.CodeSourceChanged, []string{"was truncated"}},
		{"drop", []string{"DROP TABLE DB.accounts"}, diag.CodeSourceChanged, []string{"was dropped"}},
		{"drop database", []string{"DROP DATABASE DB"}, diag.CodeSourceChanged, []string{"was dropped"}},
		{"rename", []string{"RENAME TABLE DB.accounts TO DB.gone"}, diag.CodeSourceChanged, []string{"was renamed"}},
		{"row image", []string{"SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE DB.accounts SET name = 'x' WHERE id = 10"}, diag.CodeSourceBinlog, []string{"binlog_row_image = 'FULL'", "lacks columns of it that the job uses: balance, name, price, made"}},
		{"statement format", []string{"SET SESSION binlog_format = 'STATEMENT'", "UPDATE DB.accounts SET name = 'x' WHERE id = 10"}, diag.CodeSourceBinlog, []string{"binlog_format = 'ROW'"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := gtidServer
			db := accounts(t, s, accountsDDL)
			cfg := config(s, db)
			x := run(t, cfg, nil, copies{{}}, nil)
			x.await("the snapshot is not complete", complete)
			var sql []string
			for _, q := range tt.sql {
				sql = append(sql, strings.ReplaceAll(q, "DB", db))
			}
			if err := s.Exec(sql...); err != nil {
				t.Fatal(err)
			}
			if tt.code != 0 {
				failsWith(t, x.err(), tt.code, tt.want...)
				return
			}
			if err := s.Exec("UPDATE " + db + ".accounts SET balance = 77 WHERE id = 20"); err != nil {
				t.Fatal(err)
			}
			x.await("the last change is not read", func(dataflow.SourceStatus) bool {
				x.col.mu.Lock()
				defer x.col.mu.Unlock()
				return strings.HasPrefix(x.col.tables[0]["20"], "77|")
			})
			x.end()
			compare(t, tableOf(t, s, db), x.col.tables[0])
		})
	}
}

// TestColumnsChangeWhileChunksAreRead adds and drops columns that nobody reads
// during the snapshot, under load.
func TestColumnsChangeWhileChunksAreRead(t *testing.T) {
	s := gtidServer
	db := accounts(t, s, accountsDDL)
	w := startWorkload(t, s, db, 2)
	w.insert = "INSERT INTO accounts (id, balance, name, price) VALUES (%d, 5, 'new', 1.5)"
	cfg := config(s, db)
	cfg.ChunkRows = 200
	x := run(t, cfg, nil, copies{{}}, nil)
	for i := range 4 {
		time.Sleep(30 * time.Millisecond)
		if err := s.Exec(fmt.Sprintf("ALTER TABLE %s.accounts ADD COLUMN x%d INT FIRST", db, i)); err != nil {
			t.Fatal(err)
		}
	}
	x.await("the snapshot is not complete", complete)
	if err := s.Exec("ALTER TABLE " + db + ".accounts DROP COLUMN x1"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	w.end()
	x.end()
	state, tables := x.col.pick(t)
	compare(t, tableOf(t, s, db), catchUp(t, cfg, state, tables, nil).tables[0])
}

func TestPurgedAndForeignHistories(t *testing.T) {
	s, err := mysqld.Start(t.Context(), mysqld.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	db := accounts(t, s, accountsDDL)
	cfg := config(s, db)
	state, err := stateAfterSnapshot(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Exec("UPDATE "+db+".accounts SET balance = 5 WHERE id = 10", "FLUSH BINARY LOGS"); err != nil {
		t.Fatal(err)
	}
	purge(t, s)
	r, err := cdc.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Open(t.Context(), state)
	failsWith(t, err, diag.CodeSourcePurged, "--fresh --replace")
	if diag.DomainOf(err) != diag.Guard {
		t.Errorf("domain %d", diag.DomainOf(err))
	}
	// The state of this server means nothing on another one.
	other := accounts(t, gtidServer, accountsDDL)
	if other != db {
		t.Fatal(other)
	}
	r, err = cdc.New(config(gtidServer, db))
	if err != nil {
		t.Fatal(err)
	}
	failsWith(t, r.Open(t.Context(), state), diag.CodeSourceIdentity, "lacks transactions")
}

// stateAfterSnapshot reads the tables of cfg and gives the last state.
func stateAfterSnapshot(t *testing.T, cfg cdc.Config) ([]byte, error) {
	t.Helper()
	cfg.CatchUp = true
	r := open(t, cfg, nil)
	if err := r.Run(t.Context(), newCollector(r, copies{{}})); err != nil {
		return nil, err
	}
	st, err := r.SnapshotState(t.Context(), 1)
	if st.Properties[cdc.PropComplete] != "true" {
		err = errors.Join(err, fmt.Errorf("properties %v", st.Properties))
	}
	return st.Data, err
}
