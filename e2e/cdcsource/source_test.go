package cdcsource

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/mysqld"
)

var gtidServer, plainServer, mariaServer *mysqld.Server

func TestMain(m *testing.M) {
	ctx := context.Background()
	start := func(opt mysqld.Options) *mysqld.Server {
		s, err := mysqld.Start(ctx, opt)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return s
	}
	gtidServer = start(mysqld.Options{})
	plainServer = start(mysqld.Options{Flags: []string{"--gtid-mode=OFF", "--enforce-gtid-consistency=OFF", "--binlog-row-metadata=MINIMAL"}})
	maria, err := mysqld.FetchMariaDB(ctx, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mariaServer = start(mysqld.Options{Install: maria})
	code := m.Run()
	_ = gtidServer.Stop()
	_ = plainServer.Stop()
	_ = mariaServer.Stop()
	os.Exit(code)
}

const rowsAtStart = 20000

// accounts makes a table of accounts in a database of its own and gives the database.
func accounts(t *testing.T, s *mysqld.Server, ddl string) string {
	t.Helper()
	db := strings.ToLower(strings.NewReplacer("/", "_", "#", "_").Replace(t.Name()))
	if len(db) > 60 {
		db = db[:60]
	}
	fill := "INSERT INTO " + db + ".accounts (id, balance, name, price, made) SELECT n * 10, 1000, CONCAT('account ', n), n / 100, '2024-01-02 03:04:05' FROM (" +
		"SELECT a.d + b.d*10 + c.d*100 + d.d*1000 + e.d*10000 + 1 AS n FROM " + strings.Join([]string{digits("a"), digits("b"), digits("c"), digits("d"), digits("e")}, ", ") + ") x WHERE n <= " + fmt.Sprint(rowsAtStart)
	err := s.Exec("DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db, fmt.Sprintf(ddl, db), fill, "ANALYZE TABLE "+db+".accounts")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func digits(alias string) string {
	return "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) " + alias
}

const accountsDDL = `CREATE TABLE %s.accounts (id BIGINT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL, name VARCHAR(64), price DECIMAL(12,2), made DATETIME)`

func accountsSchema() *columnar.Schema {
	f := func(name string, t columnar.DataType) columnar.Field { return columnar.Field{Name: name, Type: t} }
	return &columnar.Schema{Fields: []columnar.Field{
		f("id", columnar.Of(columnar.BigInt).NotNull()), f("balance", columnar.Of(columnar.BigInt)), f("name", columnar.DataType{Kind: columnar.VarChar, Nullable: true, Length: 64}),
		f("price", columnar.DecimalOf(12, 2)), f("made", columnar.TimestampOf(0)),
	}}
}

func config(s *mysqld.Server, db string) cdc.Config {
	return cdc.Config{
		Host: "127.0.0.1", Port: s.Port, User: "root", ServerID: 5400 + uint32(rand.IntN(1000)), MaxRetries: 5, ChunkRows: 500,
		Tables: []cdc.Table{{Label: "src", Database: db, Name: "accounts", Schema: accountsSchema(), PrimaryKey: []string{"id"}}},
	}
}

// workload changes accounts from several sessions until stop. Every transaction
// keeps the sum of the balances.
type workload struct {
	t    *testing.T
	s    *mysqld.Server
	db   string
	stop atomic.Bool
	wg   sync.WaitGroup
	txns atomic.Int64
	pace time.Duration
	// insert is the statement that makes an account.
	insert string
}

func startWorkload(t *testing.T, s *mysqld.Server, db string, sessions int) *workload {
	t.Helper()
	w := &workload{t: t, s: s, db: db, pace: 2 * time.Millisecond, insert: "INSERT INTO accounts VALUES (%d, 5, 'new', 1.5, NULL)"}
	for i := range sessions {
		w.wg.Go(func() { w.session(uint64(i)) })
	}
	t.Cleanup(w.end)
	return w
}

func (w *workload) end() {
	w.stop.Store(true)
	w.wg.Wait()
}

func (w *workload) session(seed uint64) {
	c, err := w.s.Connect(w.db)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer func() { _ = c.Close() }()
	rng := rand.New(rand.NewPCG(seed, uint64(time.Now().UnixNano())))
	for !w.stop.Load() {
		if err := w.transaction(c, rng); err != nil {
			if _, err := c.Execute("ROLLBACK"); err != nil {
				w.t.Error(err)
				return
			}
		} else {
			w.txns.Add(1)
		}
		time.Sleep(w.pace)
	}
}

var errRollback = errors.New("rolled back on purpose")

func (w *workload) transaction(c *client.Conn, rng *rand.Rand) error {
	run := func(format string, args ...any) int64 {
		r, err := c.Execute(fmt.Sprintf(format, args...))
		if err != nil {
			panic(err)
		}
		defer r.Close()
		return int64(r.AffectedRows)
	}
	var err error
	func() {
		defer func() {
			if p := recover(); p != nil {
				e, ok := p.(error)
				if !ok {
					panic(p)
				}
				err = e
			}
		}()
		run("BEGIN")
		any := func() int64 { return (rng.Int64N(rowsAtStart) + 1) * 10 }
		for range 1 + rng.IntN(3) {
			from, to := any(), any()
			switch rng.IntN(6) {
			case 0: // a new account takes a part of another
				id := from + 1 + rng.Int64N(8)
				run("UPDATE accounts SET balance = balance - 5 WHERE id = %d", to)
				if run("SELECT 1 FROM accounts WHERE id = %d FOR UPDATE", to); rowExists(c, to) {
					run(w.insert, id)
				} else {
					panic(errRollback)
				}
			case 1: // an account ends, another takes what it had
				if rowExists(c, from) && rowExists(c, to) && from != to {
					run("SET @b = (SELECT balance FROM accounts WHERE id = %d FOR UPDATE)", from)
					run("DELETE FROM accounts WHERE id = %d", from)
					run("UPDATE accounts SET balance = balance + @b, name = 'heir' WHERE id = %d", to)
				}
			case 2: // an account gets another id, far away or near
				run("UPDATE accounts SET id = %d WHERE id = %d", any()+rng.Int64N(10), from)
			case 3:
				run("UPDATE accounts SET name = CONCAT(name, '!'), price = price + 1 WHERE id BETWEEN %d AND %d", from, from+200)
			default:
				if rowExists(c, from) && rowExists(c, to) {
					run("UPDATE accounts SET balance = balance - 7 WHERE id = %d", from)
					run("UPDATE accounts SET balance = balance + 7 WHERE id = %d", to)
				}
			}
		}
		if rng.IntN(20) == 0 {
			panic(errRollback)
		}
		run("COMMIT")
	}()
	return err
}

func rowExists(c *client.Conn, id int64) bool {
	r, err := c.Execute(fmt.Sprintf("SELECT id FROM accounts WHERE id = %d FOR UPDATE", id))
	if err != nil {
		panic(err)
	}
	defer r.Close()
	return r.RowNumber() == 1
}

// tableOf reads the table as the copies hold it.
func tableOf(t *testing.T, s *mysqld.Server, db string) map[string]string {
	t.Helper()
	c, err := s.Connect(db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	r, err := c.Execute("SELECT id, CONCAT_WS('|', balance, IFNULL(name, '(null)'), IFNULL(price, '(null)'), IFNULL(DATE_FORMAT(made, '%Y-%m-%dT%H:%i:%s'), '(null)')) FROM accounts")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i := range r.RowNumber() {
		id, err := r.GetString(i, 0)
		if err != nil {
			t.Fatal(err)
		}
		text, err := r.GetString(i, 1)
		if err != nil {
			t.Fatal(err)
		}
		out[id] = text
	}
	return out
}

func sumOf(t *testing.T, s *mysqld.Server, db string) int64 {
	t.Helper()
	c, err := s.Connect(db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	r, err := c.Execute("SELECT SUM(balance) FROM accounts")
	if err != nil {
		t.Fatal(err)
	}
	n, err := r.GetInt(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// normal writes numbers and times of both sides alike.
func normal(row string) string {
	parts := strings.Split(row, "|")
	if len(parts) != 4 {
		return row
	}
	if strings.Contains(parts[2], ".") {
		parts[2] = strings.TrimRight(strings.TrimRight(parts[2], "0"), ".")
	}
	parts[3], _, _ = strings.Cut(strings.ReplaceAll(parts[3], " ", "T"), "Z")
	if i := strings.IndexByte(parts[3], '.'); i > 0 {
		parts[3] = parts[3][:i]
	}
	return strings.Join(parts, "|")
}

func compare(t *testing.T, want, got map[string]string) {
	t.Helper()
	bad := 0
	for id, w := range want {
		if g, ok := got[id]; !ok || normal(g) != normal(w) {
			if bad++; bad < 5 {
				t.Errorf("id %s: copy %q, table %q", id, g, w)
			}
		}
	}
	for id, g := range got {
		if _, ok := want[id]; !ok {
			if bad++; bad < 5 {
				t.Errorf("id %s: copy %q, not in the table", id, g)
			}
		}
	}
	if bad > 0 {
		t.Fatalf("%d rows differ; table %d rows, copy %d rows", bad, len(want), len(got))
	}
}

// open makes a reader and opens it.
func open(t *testing.T, cfg cdc.Config, state []byte) *cdc.Reader {
	t.Helper()
	r, err := cdc.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Open(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	return r
}

// running is a reader at work.
type running struct {
	t      *testing.T
	col    *collector
	cancel context.CancelFunc
	done   chan error
}

// run starts a reader that goes on from state and tables.
func run(t *testing.T, cfg cdc.Config, state []byte, tables copies, prepare func(*collector)) *running {
	t.Helper()
	r := open(t, cfg, state)
	col := newCollector(r, tables)
	if prepare != nil {
		prepare(col)
	}
	ctx, cancel := context.WithCancel(t.Context())
	x := &running{t: t, col: col, cancel: cancel, done: make(chan error, 1)}
	go func() { x.done <- r.Run(ctx, col) }()
	return x
}

// await waits until ok holds of the progress; the reader must not end before.
func (x *running) await(what string, ok func(dataflow.SourceStatus) bool) {
	x.t.Helper()
	eventually(x.t, time.Minute, what, func() bool {
		select {
		case err := <-x.done:
			x.t.Fatalf("the reader ended: %v", err)
		default:
		}
		return ok(x.col.report())
	})
}

func complete(s dataflow.SourceStatus) bool { return s.Complete }

// end stops the reader.
func (x *running) end() {
	x.t.Helper()
	x.cancel()
	if err := <-x.done; !errors.Is(err, context.Canceled) {
		x.t.Fatal(err)
	}
}

// err waits until the reader ends by itself.
func (x *running) err() error {
	x.t.Helper()
	select {
	case err := <-x.done:
		return err
	case <-time.After(time.Minute):
		x.t.Fatal("the reader does not end")
		return nil
	}
}

// catchUp goes on from state until everything committed by now is read.
func catchUp(t *testing.T, cfg cdc.Config, state []byte, tables copies, prepare func(*collector)) *collector {
	t.Helper()
	cfg.CatchUp = true
	x := run(t, cfg, state, tables, prepare)
	if err := x.err(); err != nil {
		t.Fatal(err)
	}
	return x.col
}

// eachServer runs a test on a server with GTIDs, on one without, and on MariaDB.
func eachServer(t *testing.T, fn func(t *testing.T, s *mysqld.Server)) {
	t.Helper()
	t.Run("gtid", func(t *testing.T) { fn(t, gtidServer) })
	t.Run("plain", func(t *testing.T) { fn(t, plainServer) })
	t.Run("mariadb", func(t *testing.T) { fn(t, mariaServer) })
}

func TestSnapshotUnderLoadThenCatchUp(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		w := startWorkload(t, s, db, 8)
		cfg := config(s, db)
		sum := sumOf(t, s, db)
		x := run(t, cfg, nil, copies{{}}, func(c *collector) { c.sum = sum })
		x.await("the snapshot is not complete", complete)
		time.Sleep(time.Second)
		w.end()
		t.Logf("%d transactions of the workload, %d complete edges", w.txns.Load(), x.col.complete)
		x.end()
		for range 3 {
			state, tables := x.col.pick(t)
			col := catchUp(t, cfg, state, tables, nil)
			compare(t, tableOf(t, s, db), col.tables[0])
		}
	})
}

// TestRestartsAtRandomBarriers stops after some edges and goes on from any
// barrier of the run before, again and again, also while chunks are read.
func TestRestartsAtRandomBarriers(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		w := startWorkload(t, s, db, 4)
		cfg := config(s, db)
		var state []byte
		tables := copies{{}}
		rng := rand.New(rand.NewPCG(7, uint64(s.Port)))
		unfinished := 0
		for i := range 15 {
			x := run(t, cfg, state, tables, func(c *collector) { c.stopAt, c.every = 20+rng.IntN(60)+20*i, 3 })
			if err := x.err(); !errors.Is(err, dataflow.ErrStopped) {
				t.Fatal(err)
			}
			if !x.col.report().Complete {
				unfinished++
			}
			if st, tb := x.col.pick(t); st != nil {
				state, tables = st, tb
			}
		}
		w.end()
		t.Logf("%d of 15 runs ended within the snapshot", unfinished)
		sum := sumOf(t, s, db)
		col := catchUp(t, cfg, state, tables, func(c *collector) { c.sum = sum })
		compare(t, tableOf(t, s, db), col.tables[0])
	})
}
