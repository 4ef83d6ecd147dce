package soak

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
)

// accounts are moved between by several writers at once, whose transactions
// keep the sum of all balances.
const (
	accounts = 400
	opening  = 1000
)

func accountsSQL() []string {
	var rows []string
	for i := range accounts {
		rows = append(rows, fmt.Sprintf("(%d, 'r%d', %d, NULL)", i, i%3, opening))
	}
	return []string{
		"CREATE TABLE accounts (id BIGINT NOT NULL PRIMARY KEY, region VARCHAR(10) NOT NULL, balance BIGINT NOT NULL, note VARCHAR(200))",
		"INSERT INTO accounts VALUES " + strings.Join(rows, ", "),
	}
}

// mover moves balances until it is stopped. It goes on after a broken connection.
type mover struct {
	round *round
	rnd   *rand.Rand
	moves *atomic.Int64
}

func (m *mover) work(stop <-chan struct{}) {
	var conn *client.Conn
	for {
		select {
		case <-stop:
			if conn != nil {
				_ = conn.Close()
			}
			return
		default:
		}
		if conn == nil {
			c, err := m.round.server().Connect(database)
			if err != nil {
				time.Sleep(50 * time.Millisecond)
				continue
			}
			conn = c
		}
		if err := m.transaction(conn); err == nil {
			m.moves.Add(1)
		} else if _, err := conn.Execute("ROLLBACK"); err != nil {
			_ = conn.Close()
			conn = nil
		}
		time.Sleep(time.Duration(1+m.rnd.IntN(4)) * time.Millisecond)
	}
}

// transaction is some transfers, and now and then an account that gets a new id,
// moves to another region, is closed, or is opened. Account 0 is always there.
func (m *mover) transaction(c *client.Conn) (err error) {
	run := func(format string, args ...any) int64 {
		if err != nil {
			return 0
		}
		r, e := c.Execute(fmt.Sprintf(format, args...))
		if err = e; err != nil {
			return 0
		}
		defer r.Close()
		if r.Resultset != nil && r.RowNumber() > 0 {
			n, e := r.GetInt(0, 0)
			err = e
			return n
		}
		return int64(r.AffectedRows)
	}
	account := func() int { return 1 + m.rnd.IntN(accounts*11/10) }
	run("BEGIN")
	end := "COMMIT"
	for range 1 + m.rnd.IntN(3) {
		amount := 1 + m.rnd.IntN(200)
		if run("UPDATE accounts SET balance = balance - %d WHERE id = %d", amount, account()) != 1 ||
			run("UPDATE accounts SET balance = balance + %d WHERE id = %d", amount, account()) != 1 {
			end = "ROLLBACK"
		}
	}
	switch id := account(); m.rnd.IntN(6) {
	case 0:
		run("UPDATE accounts SET id = %d WHERE id = %d", account(), id)
	case 1:
		run("UPDATE accounts SET region = 'r%d', note = 'moved' WHERE id = %d", m.rnd.IntN(3), id)
	case 2:
		if n := run("SELECT COUNT(*) FROM accounts WHERE id = %d FOR UPDATE", id); n == 1 {
			run("UPDATE accounts a JOIN accounts b ON b.id = %d SET a.balance = a.balance + b.balance WHERE a.id = 0", id)
			run("DELETE FROM accounts WHERE id = %d", id)
		}
	case 3:
		run("INSERT INTO accounts VALUES (%d, 'r%d', 5, NULL)", id, m.rnd.IntN(3))
		run("UPDATE accounts SET balance = balance - 5 WHERE id = 0")
	}
	if m.rnd.IntN(20) == 0 {
		end = "ROLLBACK"
	}
	run("%s", end)
	return err
}
