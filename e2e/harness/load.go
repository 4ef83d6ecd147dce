package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"

	"leat/internal/mysqld"
)

// Tx is one transaction under way.
type Tx struct {
	Rand *rand.Rand
	conn *client.Conn
	err  error
}

// Exec runs a statement and gives the rows it affected; after an error it does nothing.
func (x *Tx) Exec(format string, args ...any) int {
	r := x.run(format, args...)
	if r == nil {
		return 0
	}
	return int(r.AffectedRows)
}

// Int gives the one integer of a query; false if there is no row or it is NULL.
func (x *Tx) Int(format string, args ...any) (int64, bool) {
	r := x.run(format, args...)
	if r == nil || r.Resultset == nil || len(r.Values) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(fmt.Sprint(value(r.Values[0][0])), 10, 64)
	return n, err == nil
}

func value(f mysql.FieldValue) any {
	if b, ok := f.Value().([]byte); ok {
		return string(b)
	}
	return f.Value()
}

func (x *Tx) run(format string, args ...any) *mysql.Result {
	if x.err != nil {
		return nil
	}
	var r *mysql.Result
	r, x.err = x.conn.Execute(fmt.Sprintf(format, args...))
	return r
}

// Load is connections that run transactions all the time.
type Load struct {
	stop    chan struct{}
	wg      sync.WaitGroup
	commits atomic.Int64
	mu      sync.Mutex
	errs    []error
}

// StartLoad runs transactions on n connections with database db current. work
// fills a transaction and says whether to commit it; deadlocks are rolled back.
func StartLoad(t testing.TB, s *mysqld.Server, db string, n int, work func(x *Tx) bool) *Load {
	t.Helper()
	l := &Load{stop: make(chan struct{})}
	for i := range n {
		conn, err := s.Connect(db)
		if err != nil {
			t.Fatal(err)
		}
		l.wg.Go(func() {
			l.loop(&Tx{Rand: rand.New(rand.NewPCG(uint64(i), 7)), conn: conn}, work)
			_ = conn.Close() // the server may be gone
		})
	}
	t.Cleanup(func() { _, _ = l.Stop() })
	return l
}

func (l *Load) loop(x *Tx, work func(*Tx) bool) {
	for {
		select {
		case <-l.stop:
			return
		default:
		}
		x.err = nil
		x.run("BEGIN")
		end := "ROLLBACK"
		if work(x) {
			end = "COMMIT"
		}
		x.run("%s", end)
		var e *mysql.MyError
		switch {
		case x.err == nil:
			if end == "COMMIT" {
				l.commits.Add(1)
			}
		case errors.As(x.err, &e) && (e.Code == mysql.ER_LOCK_DEADLOCK || e.Code == mysql.ER_LOCK_WAIT_TIMEOUT || e.Code == mysql.ER_DUP_ENTRY):
			x.err = nil
			x.run("ROLLBACK")
		default:
			l.mu.Lock()
			l.errs = append(l.errs, x.err)
			l.mu.Unlock()
			return
		}
	}
}

// Commits is the number of transactions committed so far.
func (l *Load) Commits() int64 { return l.commits.Load() }

// Stop ends the load and gives the transactions committed, and what went wrong.
func (l *Load) Stop() (int64, error) {
	l.mu.Lock()
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.mu.Unlock()
	l.wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.commits.Load(), errors.Join(l.errs...)
}

// MustStop is Stop that fails the test on errors, and if nothing was committed.
func (l *Load) MustStop(t testing.TB) {
	t.Helper()
	n, err := l.Stop()
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	if n == 0 {
		t.Fatal("the load has committed nothing")
	}
	t.Logf("load: %d transactions", n)
}
