package cdcsource

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/dataflow"
	"leat/internal/mysqld"
)

// xa runs an XA transaction up to XA PREPARE; the rows have digit as their name.
func xa(t *testing.T, s *mysqld.Server, db, id string, digit, rows int) {
	t.Helper()
	if err := s.Exec(
		"XA START '"+id+"'",
		fmt.Sprintf("UPDATE %s.accounts SET balance = balance + %d WHERE id BETWEEN %d AND %d", db, digit, digit*1000, digit*1000+rows*10),
		fmt.Sprintf("INSERT INTO %s.accounts (id, balance, name, price) VALUES (%d, %d, 'xa', 1.5)", db, 9_000_000+digit, digit),
		fmt.Sprintf("DELETE FROM %s.accounts WHERE id = %d", db, digit*1000+10),
		"XA END '"+id+"'", "XA PREPARE '"+id+"'",
	); err != nil {
		t.Fatal(err)
	}
}

// TestXATransactions ends prepared transactions at once, after other ones, after
// a broken connection, and while the job is down, whatever edge it starts from.
func TestXATransactions(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		for _, compressed := range []string{"OFF", "ON"} {
			t.Run("compression "+compressed, func(t *testing.T) {
				compress(t, s, compressed)
				xaRound(t, s)
			})
		}
	})
}

func xaRound(t *testing.T, s *mysqld.Server) {
	t.Helper()
	exec := func(sql ...string) {
		t.Helper()
		if err := s.Exec(sql...); err != nil {
			t.Fatal(err)
		}
	}
	db := accounts(t, s, accountsDDL)
	cfg := config(s, db)
	x := run(t, cfg, nil, copies{{}}, nil)
	x.await("the snapshot is not complete", complete)

	xa(t, s, db, db+"-later", 1, 50)
	exec("UPDATE " + db + ".accounts SET balance = 1 WHERE id = 20")
	xa(t, s, db, db+"-never", 2, 50)
	exec("XA COMMIT '" + db + "-later'")
	xa(t, s, db, db+"-down", 3, 50)
	exec("XA ROLLBACK '" + db + "-never'")
	exec("XA START 'one'", "UPDATE "+db+".accounts SET balance = 2 WHERE id = 30", "XA END 'one'", "XA COMMIT 'one' ONE PHASE")
	exec("XA START 'none'", "XA END 'none'", "XA PREPARE 'none'", "XA COMMIT 'none'")
	xa(t, s, db, db+"-broken", 4, 50)
	killSessions(t, s, dumpThreads)
	time.Sleep(50 * time.Millisecond)
	exec("XA COMMIT '" + db + "-broken'")
	time.Sleep(200 * time.Millisecond)
	x.end()

	exec("XA COMMIT '" + db + "-down'")
	want := tableOf(t, s, db)
	for range 6 {
		state, tables := x.col.pick(t)
		compare(t, want, catchUp(t, cfg, state, tables.clone(), nil).tables[0])
	}
}

// TestXAOpenAtTheStart starts jobs while transactions are prepared, some of which
// wrote their rows into an earlier file of the log, and commits them then.
func TestXAOpenAtTheStart(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		exec := func(sql ...string) {
			t.Helper()
			if err := s.Exec(sql...); err != nil {
				t.Fatal(err)
			}
		}
		for _, mode := range []cdc.Mode{cdc.StartInitial, cdc.StartLatest} {
			db := accounts(t, s, accountsDDL)
			before := copies{{}}
			if mode == cdc.StartLatest {
				before = catchUp(t, config(s, db), nil, before, nil).tables.clone()
			}
			xa(t, s, db, db+"-file", 1, 50)
			xa(t, s, db, db+"-ended", 5, 50)
			exec("FLUSH BINARY LOGS", "XA ROLLBACK '"+db+"-ended'")
			xa(t, s, db, db+"-never", 2, 50)
			xa(t, s, db, db+"-now", 3, 50)
			cfg := config(s, db)
			cfg.Startup.Mode = mode
			x := run(t, cfg, nil, before, nil)
			time.Sleep(400 * time.Millisecond)
			// Without GTIDs the snapshot waits for their locks.
			exec("XA COMMIT '"+db+"-now'", "XA COMMIT '"+db+"-file'", "XA ROLLBACK '"+db+"-never'")
			x.await("the snapshot is not complete", complete)
			eventually(t, 2*time.Minute, "there is no checkpoint", func() bool {
				exec("UPDATE " + db + ".accounts SET balance = balance + 1 WHERE id = 20")
				state, _ := x.col.pick(t)
				return state != nil
			})
			time.Sleep(200 * time.Millisecond)
			x.end()
			state, tables := x.col.pick(t)
			compare(t, tableOf(t, s, db), catchUp(t, cfg, state, tables.clone(), nil).tables[0])
		}
	})
}

// TestLargeXATransactions has XA transactions of more rows than memory takes:
// one ends in the run that read its rows, from a file of the local disk, one
// after a broken connection, one while the job is down: a later run reads its
// rows from the log again, whatever edge it starts from.
func TestLargeXATransactions(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		if s == gtidServer {
			compress(t, s, "ON")
		}
		largeXA(t, s)
	})
}

func largeXA(t *testing.T, s *mysqld.Server) {
	t.Helper()
	exec := func(sql ...string) {
		t.Helper()
		if err := s.Exec(sql...); err != nil {
			t.Fatal(err)
		}
	}
	db := accounts(t, s, accountsDDL)
	cfg := config(s, db)
	cfg.Scratch = t.TempDir()
	// Each transaction has its own 5,500 accounts, some 10 MB of images.
	large := func(id string, part int) {
		t.Helper()
		sql := []string{"XA START '" + id + "'"}
		for i := range 10 {
			sql = append(sql, fmt.Sprintf("UPDATE %s.accounts SET balance = balance + %d, name = REPEAT('%d', 60) WHERE id BETWEEN %d AND %d", db, i, part, 1000+part*60_000, 1000+part*60_000+55_000))
		}
		exec(append(sql, "XA END '"+id+"'", "XA PREPARE '"+id+"'")...)
	}
	spilled := func() int {
		names, err := filepath.Glob(filepath.Join(cfg.Scratch, "xa-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	x := run(t, cfg, nil, copies{{}}, nil)
	x.await("the snapshot is not complete", complete)
	large(db+"-0", 0)
	eventually(t, time.Minute, "the rows are not on the disk", func() bool { return spilled() == 1 })
	exec("XA COMMIT '" + db + "-0'")
	large(db+"-1", 1)
	eventually(t, time.Minute, "the rows are not on the disk, or stay there", func() bool { return spilled() == 1 })
	killSessions(t, s, dumpThreads)
	exec("XA COMMIT '" + db + "-1'")
	large(db+"-2", 2)
	exec("XA START 'one'", "UPDATE "+db+".accounts SET balance = 2 WHERE id = 30", "XA END 'one'", "XA COMMIT 'one' ONE PHASE")
	x.await("the last change is not read", func(dataflow.SourceStatus) bool {
		x.col.mu.Lock()
		defer x.col.mu.Unlock()
		return strings.HasPrefix(x.col.tables[0]["30"], "2|")
	})
	x.end()
	exec("XA COMMIT '" + db + "-2'")
	cfg.Scratch = t.TempDir()
	want := tableOf(t, s, db)
	for range 4 {
		state, tables := x.col.pick(t)
		compare(t, want, catchUp(t, cfg, state, tables.clone(), nil).tables[0])
	}
	if n := spilled(); n != 0 {
		t.Errorf("%d files are left", n)
	}
}
