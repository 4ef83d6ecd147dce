package cdcsource

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

// proxy is an address in front of a server that can be changed.
type proxy struct {
	listener net.Listener
	mu       sync.Mutex
	target   string
	open     []net.Conn
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target}
	t.Cleanup(func() {
		_ = l.Close()
		p.point("")
	})
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			p.serve(in)
		}
	}()
	return p
}

func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

func (p *proxy) serve(in net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = in.Close()
		return
	}
	p.open = append(p.open, in, out)
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.Close()
		_ = from.Close()
	}
	go pipe(in, out)
	go pipe(out, in)
}

// point breaks all connections and leads new ones to target.
func (p *proxy) point(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

// TestFailoverToAReplica changes the server under a running reader, while chunks
// are read and again in the stream. The replica has other file names and offsets.
func TestFailoverToAReplica(t *testing.T) {
	first, err := mysqld.Start(t.Context(), mysqld.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Stop() })
	second, err := mysqld.Start(t.Context(), mysqld.Options{Flags: []string{"--server-id=77", "--log-bin=other"}})
	if err != nil {
		t.Fatal(err)
	}
	words := strings.NewReplacer()
	if !second.Install.AtLeast(8, 0, 23) {
		words = strings.NewReplacer("REPLICATION SOURCE", "MASTER", "SOURCE_", "MASTER_", "REPLICA", "SLAVE")
	}
	t.Cleanup(func() {
		_ = second.Exec(words.Replace("STOP REPLICA"))
		_ = second.Stop()
	})
	err = second.Exec(second.ResetLog(), words.Replace(fmt.Sprintf(
		"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=%d, SOURCE_USER='root', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1", first.Port)),
		words.Replace("START REPLICA"))
	if err != nil {
		t.Fatal(err)
	}
	db := accounts(t, first, accountsDDL)
	w := startWorkload(t, first, db, 4)
	p := startProxy(t, first.Addr())
	cfg := config(first, db)
	cfg.Port, cfg.ChunkRows, cfg.MaxRetries = p.port(), 100, 10
	sum := sumOf(t, first, db)
	x := run(t, cfg, nil, copies{{}}, func(c *collector) { c.sum = sum })
	time.Sleep(150 * time.Millisecond)
	p.point(second.Addr())
	x.await("the snapshot is not complete", complete)
	time.Sleep(300 * time.Millisecond)
	p.point(first.Addr())
	time.Sleep(700 * time.Millisecond)
	p.point(second.Addr())
	w.end()
	if err := first.Exec("UPDATE "+db+".accounts SET name = 'the last change' WHERE id = 20", "INSERT INTO "+db+".accounts VALUES (3, 0, 'the last change', NULL, NULL)"); err != nil {
		t.Fatal(err)
	}
	x.await("the last change is not read", func(dataflow.SourceStatus) bool {
		x.col.mu.Lock()
		defer x.col.mu.Unlock()
		return x.col.tables[0]["3"] != ""
	})
	x.await("the position is not one of the replica", func(st dataflow.SourceStatus) bool { return strings.HasPrefix(st.Position, "other.") })
	x.end()
	compare(t, tableOf(t, second, db), x.col.tables[0])
	state, tables := x.col.pick(t)
	compare(t, tableOf(t, first, db), catchUp(t, config(first, db), state, tables, nil).tables[0])
}

// TestCutsWhileOpening breaks the connection after more and more bytes of the
// server's answers: whatever was asked then, a later start may succeed.
func TestCutsWhileOpening(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var limit atomic.Int64
		go func() {
			for {
				in, err := l.Accept()
				if err != nil {
					return
				}
				out, err := net.Dial("tcp", s.Addr())
				if err != nil {
					_ = in.Close()
					continue
				}
				go func() { _, _ = io.Copy(out, in) }()
				go func() {
					_, _ = io.Copy(in, io.LimitReader(out, limit.Load()))
					_ = in.Close()
					_ = out.Close()
				}()
			}
		}()
		cfg := config(s, db)
		cfg.Port = l.Addr().(*net.TCPAddr).Port
		cut := 0
		for n := int64(10); ; n += 211 {
			limit.Store(n)
			r, err := cdc.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Open(t.Context(), nil); err == nil {
				break
			} else if !diag.Retryable(err) {
				t.Errorf("cut after %d bytes: %v", n, err)
			}
			cut++
		}
		if cut < 10 {
			t.Errorf("%d cuts", cut)
		}
	})
}

func TestEncryptedConnections(t *testing.T) {
	db := accounts(t, gtidServer, accountsDDL)
	cfg := config(gtidServer, db)
	cfg.TLS = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	col := catchUp(t, cfg, nil, copies{{}}, nil)
	compare(t, tableOf(t, gtidServer, db), col.tables[0])
}

// TestRowsChangedByForeignKeys reads a table whose rows go with those of another.
func TestRowsChangedByForeignKeys(t *testing.T) {
	s := gtidServer
	db := accounts(t, s, accountsDDL)
	err := s.Exec("CREATE TABLE "+db+".child (id INT PRIMARY KEY, owner BIGINT, FOREIGN KEY (owner) REFERENCES accounts (id) ON DELETE CASCADE)",
		"INSERT INTO "+db+".child SELECT id DIV 10, id FROM "+db+".accounts")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(s, db)
	cfg.Tables = []cdc.Table{{Label: "child", Database: db, Name: "child", Schema: &columnar.Schema{Fields: []columnar.Field{field("id", columnar.Of(columnar.Int)), field("owner", columnar.Of(columnar.BigInt))}}}}
	x := run(t, cfg, nil, copies{{}}, nil)
	x.await("the snapshot is not complete", complete)
	if err := s.Exec("DELETE FROM " + db + ".accounts WHERE id <= 500"); err != nil {
		t.Fatal(err)
	}
	if err := s.Exec("UPDATE " + db + ".child SET id = -7 WHERE owner = 510"); err != nil {
		t.Fatal(err)
	}
	want := countOf(t, s, db, "child")
	if !s.Install.AtLeast(9, 6, 0) {
		want = rowsAtStart // such a server does not tell
	}
	x.await("the last change is not read", func(dataflow.SourceStatus) bool {
		x.col.mu.Lock()
		defer x.col.mu.Unlock()
		return x.col.tables[0]["-7"] != ""
	})
	x.end()
	if got := len(x.col.tables[0]); got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
}
