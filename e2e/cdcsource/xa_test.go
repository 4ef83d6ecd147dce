package cdcsource

import (
	"fmt"
	"testing"
	"time"

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
