package cdcsource

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"leat/internal/dataflow"
	"leat/internal/mysqld"
)

// logLines collects log lines.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logLines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// TestLagGrowsWhileTheSinkIsBlocked holds the rows of a change back.
func TestLagGrowsWhileTheSinkIsBlocked(t *testing.T) {
	s := gtidServer
	db := accounts(t, s, accountsDDL)
	x := run(t, config(s, db), nil, copies{{}}, nil)
	x.await("it is not caught up", func(st dataflow.SourceStatus) bool { return st.Complete && st.CaughtUp && st.LagBytes == 0 })
	gate := make(chan struct{})
	x.col.mu.Lock()
	x.col.gate = gate
	x.col.mu.Unlock()
	before := time.Now()
	if err := s.Exec("UPDATE " + db + ".accounts SET balance = 1 WHERE id = 10"); err != nil {
		t.Fatal(err)
	}
	var first dataflow.SourceStatus
	x.await("there is no lag", func(st dataflow.SourceStatus) bool {
		first = st
		return st.LagBytes > 0 && st.Lag > 0
	})
	if most := time.Since(before) + 3*time.Second; first.Lag > most {
		t.Errorf("the lag is %s, and cannot be more than %s", first.Lag, most)
	}
	if err := s.Exec("UPDATE " + db + ".accounts SET balance = 2 WHERE id = 20"); err != nil {
		t.Fatal(err)
	}
	x.await("the lag does not grow", func(st dataflow.SourceStatus) bool {
		return st.LagBytes > first.LagBytes && st.Lag > first.Lag+2*time.Second
	})
	close(gate)
	x.await("the lag stays", func(st dataflow.SourceStatus) bool { return st.LagBytes == 0 && st.Lag == 0 })
	x.end()
}

// TestLagGrowsWhileTheServerIsAway stops a server that nobody can ask any more.
func TestLagGrowsWhileTheServerIsAway(t *testing.T) {
	s, err := mysqld.Start(t.Context(), mysqld.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	db := accounts(t, s, accountsDDL)
	cfg := config(s, db)
	cfg.MaxRetries = 100
	x := run(t, cfg, nil, copies{{}}, nil)
	x.await("it is not caught up", func(st dataflow.SourceStatus) bool { return st.Complete && st.CaughtUp && st.LagBytes == 0 })
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	x.await("the lag does not grow", func(st dataflow.SourceStatus) bool { return st.LagBytes == -1 && st.Lag > 5*time.Second })
	x.end()
}

// TestBinlogThatMayBePurgedIsWarnedOf lets checkpoints fail, so that an old file
// is needed, and takes it away in the end.
func TestBinlogThatMayBePurgedIsWarnedOf(t *testing.T) {
	for _, maria := range []bool{false, true} {
		name := "mysql"
		opt := mysqld.Options{}
		if maria {
			in, err := mysqld.FetchMariaDB(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			name, opt.Install = "mariadb", in
		}
		t.Run(name, func(t *testing.T) {
			s, err := mysqld.Start(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Stop() })
			db := accounts(t, s, accountsDDL)
			exec := func(sql ...string) {
				t.Helper()
				if err := s.Exec(sql...); err != nil {
					t.Fatal(err)
				}
			}
			exec("SET GLOBAL binlog_expire_logs_seconds = 3600")
			cfg := config(s, db)
			log := &logLines{}
			cfg.Log = slog.New(slog.NewTextHandler(log, nil))
			x := run(t, cfg, nil, copies{{}}, func(c *collector) { c.every, c.durable = 1, true })
			file, _, _ := endOfLog(t, s)
			x.await("the newest file is not the needed one", func(st dataflow.SourceStatus) bool {
				return st.Complete && st.NeededLog == file && st.PurgeAt.IsZero() && st.Retention == time.Hour
			})
			x.col.mu.Lock()
			x.col.durable = false
			x.col.mu.Unlock()
			exec("FLUSH BINARY LOGS", "UPDATE "+db+".accounts SET balance = 1 WHERE id = 10")
			closed := time.Now()
			x.await("the time of the purge is not known", func(st dataflow.SourceStatus) bool {
				off := st.PurgeAt.Sub(closed.Add(time.Hour)).Abs()
				return st.NeededLog == file && !st.PurgeAt.IsZero() && off < time.Minute
			})
			if n := log.count("may purge binlog"); n != 0 {
				t.Errorf("%d warnings too early", n)
			}
			// The file was closed a while ago, measured by a short time of keeping.
			time.Sleep(2 * time.Second)
			exec("SET GLOBAL binlog_expire_logs_seconds = 1", "INSERT INTO "+db+".accounts (id, balance) VALUES (1, 1)")
			eventually(t, time.Minute, "there is no warning", func() bool { return log.count("may purge binlog") == 1 })
			exec("FLUSH BINARY LOGS")
			next := purge(t, s)
			eventually(t, time.Minute, "there is no warning of the purge", func() bool { return log.count("that the last checkpoint needs is purged") == 1 })
			x.col.mu.Lock()
			x.col.durable = true
			x.col.mu.Unlock()
			exec("UPDATE " + db + ".accounts SET balance = 3 WHERE id = 20")
			x.await("the newest file is not the needed one", func(st dataflow.SourceStatus) bool { return st.NeededLog == next && st.PurgeAt.IsZero() })
			x.end()
		})
	}
}

// purge drops all binlogs but the newest, whose name it gives. A server keeps those that a connection
// reads, and may notice late that it is gone.
func purge(t *testing.T, s *mysqld.Server) string {
	t.Helper()
	newest, _, _ := endOfLog(t, s)
	c, err := s.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	eventually(t, 2*time.Minute, "the binlogs stay", func() bool {
		if _, err := c.Execute("PURGE BINARY LOGS TO '" + newest + "'"); err != nil {
			t.Fatal(err)
		}
		r, err := c.Execute("SHOW BINARY LOGS")
		if err != nil {
			t.Fatal(err)
		}
		return r.RowNumber() == 1
	})
	return newest
}
