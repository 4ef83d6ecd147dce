package bench

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/go-mysql-org/go-mysql/client"
)

// feed is a repeatable stream of transactions: 60 % inserts with ascending ids,
// 30 % updates and 10 % deletes of rows that exist, most of them recent.
type feed struct {
	table   string
	rnd     *rand.Rand
	next    int64
	live    []int64
	version map[int64]int
	sql     []byte

	inserts, updates, deletes, transactions int64
}

func newFeed(table string, next int64) *feed {
	return &feed{table: table, rnd: rand.New(rand.NewPCG(1, 42)), next: next, version: map[int64]int{}}
}

func (f *feed) changes() int64 { return f.inserts + f.updates + f.deletes }

// pick chooses a live row: in 80 of 100 cases from the newest tenth.
func (f *feed) pick() int {
	n := len(f.live)
	if f.rnd.IntN(10) < 8 {
		return n - 1 - f.rnd.IntN(max(n/10, 1))
	}
	return f.rnd.IntN(n)
}

// transaction makes and runs one transaction of n row changes.
func (f *feed) transaction(c *client.Conn, n int) error {
	var ins, upd, del []order
	used := map[int64]bool{}
	for i := range n {
		r := f.rnd.IntN(10)
		k := -1
		if i > 0 && r >= 6 && len(f.live) >= 200 {
			if k = f.pick(); used[f.live[k]] {
				k = -1
			}
		}
		if k < 0 {
			ins = append(ins, makeOrder(f.next, 0))
			f.next++
			continue
		}
		id := f.live[k]
		used[id] = true
		if r < 9 {
			f.version[id]++
			upd = append(upd, makeOrder(id, f.version[id]))
			continue
		}
		del = append(del, makeOrder(id, f.version[id]))
		f.live = append(f.live[:k], f.live[k+1:]...)
		delete(f.version, id)
	}
	for _, o := range ins {
		f.live = append(f.live, o.id)
	}
	f.inserts += int64(len(ins))
	f.updates += int64(len(upd))
	f.deletes += int64(len(del))
	f.transactions++
	return f.run(c, ins, upd, del)
}

const upsertTail = " ON DUPLICATE KEY UPDATE order_amount=VALUES(order_amount), order_status=VALUES(order_status), update_time=VALUES(update_time)"

func (f *feed) run(c *client.Conn, ins, upd, del []order) error {
	for _, q := range []string{"BEGIN", f.values(ins, ""), f.values(upd, upsertTail), f.deletion(del), "COMMIT"} {
		if q == "" {
			continue
		}
		if _, err := c.Execute(q); err != nil {
			return fmt.Errorf("running %.80s: %w", q, err)
		}
	}
	return nil
}

func (f *feed) values(rows []order, tail string) string {
	if len(rows) == 0 {
		return ""
	}
	f.sql = append(f.sql[:0], "INSERT INTO "+f.table+" VALUES "...)
	for i, o := range rows {
		if i > 0 {
			f.sql = append(f.sql, ',')
		}
		f.sql = append(f.sql, '(')
		f.sql = o.appendTo(f.sql, ',', "'")
		f.sql = append(f.sql, ')')
	}
	return string(append(f.sql, tail...))
}

func (f *feed) deletion(rows []order) string {
	if len(rows) == 0 {
		return ""
	}
	f.sql = append(f.sql[:0], "DELETE FROM "+f.table+" WHERE order_id IN ("...)
	for i, o := range rows {
		if i > 0 {
			f.sql = append(f.sql, ',')
		}
		f.sql = strconv.AppendInt(f.sql, o.id, 10)
	}
	return string(append(f.sql, ')'))
}
