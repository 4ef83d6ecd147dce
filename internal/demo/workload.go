package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
)

const schemaSQL = `CREATE TABLE orders (
  order_id     BIGINT        NOT NULL PRIMARY KEY,
  user_id      BIGINT        NULL,
  order_amount DECIMAL(18,2) NULL,
  order_status TINYINT       NULL,
  create_time  DATETIME(3)   NULL,
  update_time  DATETIME(3)   NULL
) ENGINE=InnoDB`

// days over which the orders of the demo are spread.
const days = 3

var firstDay = time.Date(2026, 7, 6, 0, 0, 0, 0, time.UTC)

// source is the MySQL side of the demo.
type source struct {
	conn *client.Conn
	db   string
	rnd  *rand.Rand
	next int64
	// Transactions and Changes count what the workload did.
	transactions, changes int64
}

func connect(ctx context.Context, m mysqlURL) (*source, error) {
	conn, err := client.ConnectWithContext(ctx, m.host+":"+strconv.Itoa(m.port), m.user, m.password, "", 10*time.Second)
	if err != nil {
		return nil, m.reachError(err)
	}
	return &source{conn: conn, db: m.database, rnd: rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))}, nil
}

func (s *source) close() { _ = s.conn.Close() }

func (s *source) exec(sql string) error {
	if _, err := s.conn.Execute(sql); err != nil {
		return fmt.Errorf("running %.60s…: %w", sql, err)
	}
	return nil
}

// create makes the table anew with rows orders.
func (s *source) create(ctx context.Context, rows int64) error {
	for _, q := range []string{"CREATE DATABASE IF NOT EXISTS `" + s.db + "`", "USE `" + s.db + "`", "SET time_zone = '+00:00'", "DROP TABLE IF EXISTS orders", schemaSQL} {
		if err := s.exec(q); err != nil {
			return err
		}
	}
	for s.next < rows {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := s.exec(s.insert(min(5000, rows-s.next))); err != nil {
			return err
		}
	}
	return nil
}

// insert gives a statement for n new orders.
func (s *source) insert(n int64) string {
	var b strings.Builder
	b.WriteString("INSERT INTO orders VALUES ")
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		at := s.moment()
		fmt.Fprintf(&b, "(%d,%d,%d.%02d,0,'%s','%s')", s.next, s.rnd.Int64N(50_000), s.rnd.IntN(5000), s.rnd.IntN(100), at, at)
		s.next++
	}
	return b.String()
}

func (s *source) moment() string {
	return firstDay.Add(time.Duration(s.rnd.Int64N(int64(days) * int64(24*time.Hour)))).Format("2006-01-02 15:04:05.000")
}

func (s *source) some() int64 { return s.rnd.Int64N(s.next) }

// work runs transactions of inserts, updates, deletes and moves to another day
// until stop is closed.
func (s *source) work(ctx context.Context, stop <-chan struct{}) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := s.transaction(); err != nil {
				return err
			}
		}
	}
}

func (s *source) transaction() error {
	sql := []string{"BEGIN", s.insert(1 + s.rnd.Int64N(8))}
	for range 1 + s.rnd.IntN(6) {
		sql = append(sql, fmt.Sprintf("UPDATE orders SET order_status = order_status + 1, order_amount = order_amount + 0.01, update_time = '%s' WHERE order_id BETWEEN %d AND %d", s.moment(), s.some(), s.next))
		sql[len(sql)-1] += " LIMIT 3"
	}
	if s.rnd.IntN(2) == 0 {
		sql = append(sql, fmt.Sprintf("UPDATE orders SET create_time = '%s' WHERE order_id = %d", s.moment(), s.some()))
	}
	if s.rnd.IntN(3) == 0 {
		sql = append(sql, fmt.Sprintf("DELETE FROM orders WHERE order_id = %d", s.some()))
	}
	for _, q := range append(sql, "COMMIT") {
		r, err := s.conn.Execute(q)
		if err != nil {
			return fmt.Errorf("running the workload: %w", err)
		}
		s.changes += int64(r.AffectedRows)
	}
	s.transactions++
	return nil
}
