package cdcsource

import (
	"flag"
	"fmt"
	"math/rand/v2"
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

var starts = flag.Int("starts", 3, "snapshots that TestSnapshotStarts begins on each server")

const (
	writersOfStarts = 24
	pursesAtStart   = 3000
)

// purses is a table with a text key whose rows are renamed, made, emptied and
// dissolved by many sessions, and a journal that only grows. What the purses hold
// stays the same, and each transaction writes one line of the journal.
type purses struct {
	t       *testing.T
	s       *mysqld.Server
	db      string
	stop    atomic.Bool
	commits atomic.Int64
	wg      sync.WaitGroup
	// still keeps writers from the next transaction while it is held.
	still sync.RWMutex
	mu    sync.Mutex
	names []string
}

func startPurses(t *testing.T, s *mysqld.Server) *purses {
	t.Helper()
	p := &purses{t: t, s: s, db: "starts"}
	err := s.Exec("DROP DATABASE IF EXISTS starts", "CREATE DATABASE starts",
		"CREATE TABLE starts.purses (name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE "+collationOf(s)+" PRIMARY KEY, balance BIGINT NOT NULL, note VARCHAR(20))",
		"CREATE TABLE starts.journal (id BIGINT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(20))",
		"INSERT INTO starts.journal (what) WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT 'before' FROM n, (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) m")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	rows := make([]string, pursesAtStart)
	for i := range rows {
		name := fmt.Sprintf("%s%d", randomText(rng), i)
		p.names = append(p.names, name)
		rows[i] = fmt.Sprintf("(X'%X', 1000, 'first')", name)
	}
	if err := s.Exec("INSERT IGNORE INTO starts.purses VALUES "+strings.Join(rows, ", "), "ANALYZE TABLE starts.purses"); err != nil {
		t.Fatal(err)
	}
	for i := range writersOfStarts {
		p.wg.Go(func() { p.session(uint64(i)) })
	}
	t.Cleanup(p.end)
	return p
}

func collationOf(s *mysqld.Server) string {
	if s == mariaServer {
		return "utf8mb4_unicode_ci"
	}
	return "utf8mb4_0900_ai_ci"
}

func (p *purses) end() {
	p.stop.Store(true)
	p.wg.Wait()
}

func (p *purses) session(seed uint64) {
	c, err := p.s.Connect(p.db)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer func() { _ = c.Close() }()
	rng := rand.New(rand.NewPCG(seed, rand.Uint64()))
	for !p.stop.Load() {
		p.still.RLock()
		if p.transaction(c, rng) {
			p.commits.Add(1)
		} else if _, err := c.Execute("ROLLBACK"); err != nil {
			p.t.Error(err)
		}
		p.still.RUnlock()
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
	}
}

// any gives a name that is there, or was.
func (p *purses) any(rng *rand.Rand) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[rng.IntN(len(p.names))]
}

func (p *purses) add(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = append(p.names, name)
}

// otherCase writes a name so that it is another text, and often the same key.
func otherCase(rng *rand.Rand, name string) string {
	switch rng.IntN(4) {
	case 0:
		return strings.ToUpper(name)
	case 1:
		return strings.ToLower(name)
	case 2:
		return name + " "
	default:
		return fmt.Sprintf("%s%d", randomText(rng), rng.IntN(1e6))
	}
}

// transaction reports false if it is to be rolled back.
func (p *purses) transaction(c *client.Conn, rng *rand.Rand) bool {
	changed := func(format string, args ...any) bool {
		r, err := c.Execute(fmt.Sprintf(format, args...))
		if err != nil {
			return false
		}
		defer r.Close()
		return r.AffectedRows > 0
	}
	if _, err := c.Execute("BEGIN"); err != nil {
		return false
	}
	for range 1 + rng.IntN(3) {
		from, to := p.any(rng), p.any(rng)
		where := func(name string) string { return fmt.Sprintf("name = _utf8mb4 X'%X'", name) }
		switch rng.IntN(5) {
		case 0:
			name := otherCase(rng, from)
			if !changed("UPDATE purses SET name = X'%X', note = 'renamed' WHERE %s", name, where(from)) {
				return false
			}
			p.add(name)
		case 1:
			name := otherCase(rng, randomText(rng))
			if !changed("UPDATE purses SET balance = balance - 5 WHERE %s", where(from)) || !changed("INSERT INTO purses VALUES (X'%X', 5, 'new')", name) {
				return false
			}
			p.add(name)
		case 2:
			if r, err := c.Execute("SELECT name = _utf8mb4 X'" + fmt.Sprintf("%X", to) + "' FROM purses WHERE " + where(from)); err != nil || r.RowNumber() == 0 || string(r.Values[0][0].AsString()) == "1" {
				return false
			}
			if _, err := c.Execute("SET @b = (SELECT balance FROM purses WHERE " + where(from) + " FOR UPDATE)"); err != nil {
				return false
			}
			if !changed("DELETE FROM purses WHERE %s", where(from)) || !changed("UPDATE purses SET balance = balance + @b, note = 'heir' WHERE %s", where(to)) {
				return false
			}
		default:
			n := 1 + rng.IntN(9)
			if !changed("UPDATE purses SET balance = balance - %d WHERE %s", n, where(from)) || !changed("UPDATE purses SET balance = balance + %d WHERE %s", n, where(to)) {
				return false
			}
		}
	}
	return changed("INSERT INTO journal (what) VALUES ('%d')", rng.IntN(1e6)) && rng.IntN(20) > 0 && commits(c)
}

func commits(c *client.Conn) bool {
	_, err := c.Execute("COMMIT")
	return err == nil
}

// tables reads both tables as the copies hold them.
func (p *purses) tables(t *testing.T) copies {
	t.Helper()
	c, err := p.s.Connect(p.db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	query(t, c, "SET NAMES utf8mb4")
	out := copies{{}, {}}
	for i, sql := range []string{"SELECT HEX(name), CONCAT(balance, '|', note) FROM purses", "SELECT HEX(id), what FROM journal"} {
		for _, r := range query(t, c, sql) {
			out[i][r[0]] = r[1]
		}
	}
	return out
}

// hexed gives copies with their ids as the server's HEX writes them.
func hexed(c copies) copies {
	out := copies{{}, {}}
	for name, row := range c[0] {
		out[0][fmt.Sprintf("%X", name)] = row
	}
	for id, row := range c[1] {
		var n int64
		_, _ = fmt.Sscan(id, &n)
		out[1][fmt.Sprintf("%X", n)] = row
	}
	return out
}

// TestSnapshotStarts begins snapshots while 24 sessions write, and judges each as
// three sinks would: an append table, which must get each line of the journal
// once; a changelog, in which each row that leaves must stand as it leaves; and a
// sum over all rows, which must be right at every edge from the first complete
// one on, and is kept by adding and taking away alone.
func TestSnapshotStarts(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		p := startPurses(t, s)
		var sum int64
		for _, row := range p.tables(t)[0] {
			sum += balance(row)
		}
		text := func(n int) columnar.DataType {
			return columnar.DataType{Kind: columnar.VarChar, Nullable: true, Length: n}
		}
		cfg := config(s, p.db)
		edges := 0
		for i := range *starts {
			cfg.ChunkRows, cfg.SnapshotReaders = 40+i%5*40, 1+i%4
			cfg.Tables = []cdc.Table{
				{Label: "purses", Database: p.db, Name: "purses", PrimaryKey: []string{"name"}, Schema: &columnar.Schema{Fields: []columnar.Field{
					field("name", text(64).NotNull()), field("balance", columnar.Of(columnar.BigInt)), field("note", text(20)),
				}}},
				{Label: "journal", Database: p.db, Name: "journal", PrimaryKey: []string{"id"}, Schema: &columnar.Schema{Fields: []columnar.Field{
					field("id", columnar.Of(columnar.BigInt).NotNull()), field("what", text(20)),
				}}},
			}
			x := run(t, cfg, nil, copies{{}, {}}, func(c *collector) { c.sum, c.onlyPort, c.every = sum, true, 1<<30 })
			x.await("the snapshot is not complete", complete)
			time.Sleep(100 * time.Millisecond)
			p.still.Lock()
			want := p.tables(t)
			x.await("the stream is not caught up", func(dataflow.SourceStatus) bool { return x.col.size() == len(want[0])+len(want[1]) && x.col.idle() })
			x.end()
			p.still.Unlock()
			got := hexed(x.col.tables)
			for port, w := range want {
				compare(t, w, got[port])
			}
			edges += x.col.complete
		}
		p.end()
		t.Logf("%d starts, %d transactions of %d sessions, %d complete edges", *starts, p.commits.Load(), writersOfStarts, edges)
	})
}
