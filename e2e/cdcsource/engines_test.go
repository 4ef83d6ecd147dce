package cdcsource

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"leat/internal/mysqld"
)

// TestTableWithoutTransactions reads a MyISAM table in chunks while sessions
// write it, some of them within transactions that are rolled back: MyISAM keeps
// those rows.
func TestTableWithoutTransactions(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, strings.Replace(accountsDDL, "DATETIME)", "DATETIME) ENGINE=MyISAM", 1))
		cfg := config(s, db)
		var stop atomic.Bool
		var wg sync.WaitGroup
		t.Cleanup(func() {
			stop.Store(true)
			wg.Wait()
		})
		for session := range 4 {
			wg.Go(func() { writeMyISAM(t, s, db, session, &stop) })
		}
		x := run(t, cfg, nil, copies{{}}, nil)
		x.await("the snapshot is not complete", complete)
		time.Sleep(200 * time.Millisecond)
		stop.Store(true)
		wg.Wait()
		x.end()
		state, tables := x.col.pick(t)
		compare(t, tableOf(t, s, db), catchUp(t, cfg, state, tables, nil).tables[0])
	})
}

func writeMyISAM(t *testing.T, s *mysqld.Server, db string, session int, stop *atomic.Bool) {
	c, err := s.Connect(db)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = c.Close() }()
	rng := rand.New(rand.NewPCG(uint64(session), 11))
	for i := 0; !stop.Load(); i++ {
		id := (rng.IntN(rowsAtStart) + 1) * 10
		statements := []string{
			"BEGIN",
			fmt.Sprintf("UPDATE accounts SET balance = balance + 1 WHERE id BETWEEN %d AND %d", id, id+200),
			fmt.Sprintf("INSERT INTO accounts (id, balance, name) VALUES (%d, 1, 'new')", (session*1_000_000+i)*10+session+1),
			fmt.Sprintf("DELETE FROM accounts WHERE id = %d", id+50),
			[]string{"COMMIT", "ROLLBACK"}[rng.IntN(2)],
		}
		for _, sql := range statements {
			if _, err := c.Execute(sql); err != nil {
				t.Error(err)
				return
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
}
