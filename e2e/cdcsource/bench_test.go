package cdcsource

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/mysqld"
)

// counter is a collector that only counts.
type counter struct {
	due     chan struct{}
	rows    int64
	batches int64
	edges   int64
}

func (c *counter) Emit(_ context.Context, _ int, b *columnar.Batch) error {
	c.rows += int64(b.Rows())
	c.batches++
	b.Release()
	return nil
}
func (c *counter) BarrierDue() bool           { return false }
func (c *counter) Due() <-chan struct{}       { return c.due }
func (c *counter) Edge(context.Context) error { c.edges++; return nil }
func (c *counter) InTransaction(int64)        {}

// Cut and Change are for tables that are followed, which these tests have none of.
func (c *counter) Cut(context.Context) <-chan error { return nil }

func (c *counter) Change(context.Context, int, *dataflow.Change) error {
	return errors.New("a table changed that is not followed")
}
func (c *counter) Report(dataflow.SourceStatus) {}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// benchRows is the size of the benchmark table; LEAT_BENCH_ROWS changes it.
func benchRows() int {
	if n, err := strconv.Atoi(os.Getenv("LEAT_BENCH_ROWS")); err == nil {
		return n
	}
	return 1_000_000
}

func benchConfig(s *mysqld.Server) cdc.Config {
	f := func(name string, t columnar.DataType) columnar.Field { return columnar.Field{Name: name, Type: t} }
	return cdc.Config{
		Host: "127.0.0.1", Port: s.Port, User: "root", ServerID: 5555, MaxRetries: 1, CatchUp: true,
		Tables: []cdc.Table{{Label: "orders", Database: "bench", Name: "orders", PrimaryKey: []string{"order_id"}, Schema: &columnar.Schema{Fields: []columnar.Field{
			f("order_id", columnar.Of(columnar.BigInt).NotNull()), f("user_id", columnar.Of(columnar.BigInt)), f("amount", columnar.DecimalOf(18, 2)),
			f("status", columnar.DataType{Kind: columnar.VarChar, Nullable: true, Length: 20}), f("city", columnar.DataType{Kind: columnar.VarChar, Nullable: true, Length: 64}),
			f("create_time", columnar.TimestampOf(0)), f("quantity", columnar.Of(columnar.Int)),
		}}}},
	}
}

func prepareBench(b *testing.B, s *mysqld.Server) {
	b.Helper()
	err := s.Exec("DROP DATABASE IF EXISTS bench", "CREATE DATABASE bench",
		"CREATE TABLE bench.orders (order_id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT, amount DECIMAL(18,2), status VARCHAR(20), city VARCHAR(64), create_time DATETIME, quantity INT)")
	if err != nil {
		b.Fatal(err)
	}
	const step = 100_000
	for from := 0; from < benchRows(); from += step {
		err := s.Exec(fmt.Sprintf("INSERT INTO bench.orders WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "+
			"SELECT x, x * 7 %% 100000, x / 3, ELT(1 + x %% 4, 'created', 'paid', 'shipped', 'done'), CONCAT('city ', x %% 500), TIMESTAMPADD(SECOND, x, '2024-01-01'), x %% 9 FROM "+
			"(SELECT %d + (a.i - 1) * 1000 + b.i AS x FROM n a, n b WHERE a.i <= %d) y", from, min(step, benchRows()-from)/1000))
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Exec("ANALYZE TABLE bench.orders"); err != nil {
		b.Fatal(err)
	}
}

func benchRun(b *testing.B, cfg cdc.Config, want int64) {
	b.Helper()
	for b.Loop() {
		r, err := cdc.New(cfg)
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Open(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		c := &counter{due: make(chan struct{})}
		start, cpu := time.Now(), cpuSeconds()
		if err := r.Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		if c.rows < want {
			b.Fatalf("%d rows", c.rows)
		}
		b.ReportMetric(float64(c.rows)/time.Since(start).Seconds(), "rows/s")
		b.ReportMetric((cpuSeconds()-cpu)/float64(c.rows)*1e6, "cpu-s/Mrow")
	}
}

func BenchmarkSnapshot(b *testing.B) {
	prepareBench(b, gtidServer)
	benchRun(b, benchConfig(gtidServer), int64(benchRows()))
}

func BenchmarkStream(b *testing.B) {
	if err := gtidServer.Exec(gtidServer.ResetLog()); err != nil {
		b.Fatal(err)
	}
	prepareBench(b, gtidServer)
	cfg := benchConfig(gtidServer)
	cfg.Startup.Mode = cdc.StartEarliest
	benchRun(b, cfg, int64(benchRows()))
}

// BenchmarkSmallTransactions streams transactions of one row each.
func BenchmarkSmallTransactions(b *testing.B) {
	s := gtidServer
	const txns = 100_000
	err := s.Exec(s.ResetLog(), "DROP DATABASE IF EXISTS bench", "CREATE DATABASE bench", "SET GLOBAL sync_binlog = 0, GLOBAL innodb_flush_log_at_trx_commit = 0",
		"CREATE TABLE bench.orders (order_id BIGINT NOT NULL PRIMARY KEY AUTO_INCREMENT, user_id BIGINT, amount DECIMAL(18,2), status VARCHAR(20), city VARCHAR(64), create_time DATETIME, quantity INT)",
		"CREATE PROCEDURE bench.fill() BEGIN DECLARE i INT DEFAULT 0; WHILE i < 100000 DO INSERT INTO bench.orders VALUES (NULL, i, i / 3, 'paid', 'city', '2024-01-01', 3); SET i = i + 1; END WHILE; END",
		"CALL bench.fill()")
	if err != nil {
		b.Fatal(err)
	}
	cfg := benchConfig(s)
	cfg.Startup.Mode = cdc.StartEarliest
	benchRun(b, cfg, txns)
}
