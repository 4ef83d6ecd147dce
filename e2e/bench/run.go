package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"leat/e2e/judge"
	"leat/internal/mysqld"
)

// Config says what to measure.
type Config struct {
	Leat    string // the built program
	Self    string // this program, which runs a limit as "limit NAME INPUT"
	WorkDir string // for lakes, state and logs; emptied
	Out     *json.Encoder
	Log     *slog.Logger
	// Only names the workloads to run: W1, W2, W3, START, MANY, SPREAD, limits, and those of LakeWorkloads.
	Only  []string
	Runs  int
	W1    int64 // rows
	W2    int64 // changes
	W3    time.Duration
	Rate  int    // changes/s of W3
	Every string // checkpoint interval of W1 and W2
	W3Int string // checkpoint interval of W3
	// Tables are those of MANY, Spread and Busy the changes of both halves of SPREAD.
	Tables, Spread, Busy int
	// LakeRows are the rows of FLUSH, and of the five runs of READ and COMPACT;
	// Rounds is how often each is measured in turn with what it is compared to.
	LakeRows int64
	Rounds   int
	Table    Table
	// Verify compares the lake with the source by Paimon's own reader.
	Verify bool
	Facts  map[string]any // goes into every line
}

type line map[string]any

// bench is one sitting.
type bench struct {
	Config
	src    *source
	oracle *judge.Oracle
}

// Run measures on srv and writes one JSON line a run. A workload that fails
// gives a line with its error, and an error at the end.
func Run(ctx context.Context, srv *mysqld.Server, cfg Config) error {
	b := &bench{Config: cfg}
	var err error
	if b.src, err = openSource(srv, cfg.Log); err != nil {
		return err
	}
	defer b.src.close()
	// Throw-away data: MySQL must not be the limit.
	if err := b.src.exec("SET GLOBAL sync_binlog = 0", "SET GLOBAL innodb_flush_log_at_trx_commit = 0"); err != nil {
		return err
	}
	if cfg.Verify {
		if b.oracle, err = judge.Start(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, w := range []struct {
		name string
		run  func(context.Context) (line, error)
	}{{"W1", b.w1}, {"W2", b.w2}, {"W3", b.w3}, {"START", b.start}, {"MANY", b.many}, {"SPREAD", b.spread}} {
		for range cfg.Runs {
			if !slices.Contains(cfg.Only, w.name) {
				continue
			}
			cfg.Log.Info("measuring", "workload", w.name)
			l, err := w.run(ctx)
			errs = append(errs, b.emit(w.name, l, err), err)
		}
	}
	if slices.Contains(cfg.Only, "limits") {
		errs = append(errs, b.limits(ctx))
	}
	return errors.Join(errs...)
}

func (b *bench) emit(workload string, l line, err error) error {
	out := line{"workload": workload, "at": time.Now().UTC().Format(time.RFC3339), "ok": err == nil}
	maps.Copy(out, b.Facts)
	for k, v := range l {
		if f, ok := v.(float64); ok {
			v = math.Round(f*1000) / 1000
		}
		out[k] = v
	}
	if err != nil {
		out["error"] = err.Error()
	}
	if err := b.Out.Encode(out); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// lake is where one run works.
type lake struct {
	job
	dir, table, scriptFile, logFile string
}

// prepare empties the work folder and writes the job's script.
func (b *bench) prepare(workload, database, interval string, startup ...string) (*lake, error) {
	dir := filepath.Join(b.WorkDir, strings.ToLower(workload))
	l := &lake{dir: dir, scriptFile: filepath.Join(dir, "job.sql"), logFile: filepath.Join(dir, "job.log")}
	l.job = job{
		name: "bench-" + strings.ToLower(workload), port: b.src.srv.Port, database: database,
		warehouse: filepath.Join(dir, "lake"), interval: interval, startup: startup, table: b.Table,
	}
	l.table = filepath.Join(l.warehouse, "bench.db", "orders")
	err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
	if err == nil {
		err = os.WriteFile(l.scriptFile, []byte(l.script()), 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", dir, err)
	}
	return l, nil
}

func (b *bench) launch(ctx context.Context, l *lake, args ...string) (*child, error) {
	args = append([]string{"run", l.scriptFile, "--state-dir", filepath.Join(l.dir, "state")}, args...)
	return startChild(ctx, l.logFile, nil, b.Leat, args...)
}

// catchUp runs a job to the end of what the source holds and measures it.
func (b *bench) catchUp(ctx context.Context, l *lake, changes int64) (line, error) {
	w := watch(l.table)
	mysqlBefore := processCPU(b.src.srv.PID())
	c, err := b.launch(ctx, l, "--catch-up")
	if err != nil {
		return nil, err
	}
	u, err := c.wait()
	snapshots, werr := w.end()
	if err := errors.Join(err, werr); err != nil {
		return nil, err
	}
	rows := dataSnapshots(snapshots)
	if len(rows) == 0 {
		return nil, fmt.Errorf("the job ended without a snapshot that holds rows\n%s", tail(l.logFile))
	}
	files, size, err := diskUse(l.table)
	if err != nil {
		return nil, fmt.Errorf("measuring the table: %w", err)
	}
	first, last := rows[0], rows[len(rows)-1]
	visible := last.at.Sub(c.start).Seconds()
	m := float64(changes) / 1e6
	out := line{
		"rows": changes, "interval": l.interval, "bucket": b.Table.Buckets, "format": b.Table.Format, "changelog": b.Table.Changelog,
		"wall_s": u.wall.Seconds(), "first_visible_s": first.at.Sub(c.start).Seconds(), "visible_s": visible,
		"rows_per_s": math.Round(float64(changes) / visible), "cpu_s": u.cpu.Seconds(), "cpu_s_per_m": u.cpu.Seconds() / m,
		"peak_rss_mb": math.Round(u.rssMB), "mysql_cpu_s": (processCPU(b.src.srv.PID()) - mysqlBefore).Seconds(),
		"data_files": files, "table_mb": float64(size) / 1e6, "snapshots": len(snapshots),
	}
	if d := last.at.Sub(first.at).Seconds(); d > 0 {
		out["steady_rows_per_s"] = math.Round(float64(last.total-first.total) / d)
	}
	return out, nil
}

// w1 loads a table of W1 rows.
func (b *bench) w1(ctx context.Context) (line, error) {
	const db = "bench_w1"
	d, err := b.src.ensure(db, b.W1, b.src.load(b.W1))
	if err != nil {
		return nil, err
	}
	l, err := b.prepare("W1", db, b.Every, "'scan.startup.mode' = 'initial'")
	if err != nil {
		return nil, err
	}
	out, err := b.catchUp(ctx, l, d.Rows)
	return b.verify(l, db, out, err)
}

// w2 works off W2 changes of an empty table.
func (b *bench) w2(ctx context.Context) (line, error) {
	const db = "bench_w2"
	d, err := b.src.ensure(db, b.W2, b.src.backlog(b.W2))
	if err != nil {
		return nil, err
	}
	l, err := b.prepare("W2", db, b.Every, "'scan.startup.mode' = 'specific-offset'",
		fmt.Sprintf("'scan.startup.specific-offset.file' = '%s'", d.From.File), fmt.Sprintf("'scan.startup.specific-offset.pos' = '%d'", d.From.Pos))
	if err != nil {
		return nil, err
	}
	out, err := b.catchUp(ctx, l, d.Changes)
	return b.verify(l, db, out, err)
}

// w3 follows a steady rate.
func (b *bench) w3(ctx context.Context) (line, error) {
	const db, table = "bench_w3", "bench_w3.orders"
	// A first row makes a first snapshot, which says that the job is up.
	if err := b.newTable(db, 1); err != nil {
		return nil, err
	}
	l, err := b.prepare("W3", db, b.W3Int, "'scan.startup.mode' = 'initial'")
	if err != nil {
		return nil, err
	}
	uuid, err := b.src.uuid()
	if err != nil {
		return nil, err
	}
	w := watch(l.table)
	c, err := b.launch(ctx, l)
	if err != nil {
		return nil, err
	}
	time.Sleep(3 * time.Second)
	commits, f, serr := b.src.steady(ctx, table, b.Rate, b.W3)
	time.Sleep(2 * time.Second)
	serr = errors.Join(serr, c.cmd.Process.Signal(syscall.SIGTERM))
	u, err := c.wait()
	snapshots, werr := w.end()
	if err := errors.Join(serr, err, werr); err != nil {
		return nil, err
	}
	delays, err := freshness(commits, snapshots, uuid)
	if err != nil {
		return nil, err
	}
	files, size, err := diskUse(l.table)
	out := line{
		"changes": f.changes(), "interval": l.interval, "bucket": b.Table.Buckets, "format": b.Table.Format, "changelog": b.Table.Changelog,
		"cpu_s": u.cpu.Seconds(), "cores": u.cpu.Seconds() / u.wall.Seconds(), "peak_rss_mb": math.Round(u.rssMB), "wall_s": u.wall.Seconds(),
		"fresh_p50_ms": percentile(delays, 50), "fresh_p99_ms": percentile(delays, 99), "fresh_max_ms": percentile(delays, 100),
		"data_files": files, "table_mb": float64(size) / 1e6, "snapshots": len(snapshots),
	}
	return b.verify(l, db, out, err)
}

// start measures the time from the start to the first visible row of a small table.
func (b *bench) start(ctx context.Context) (line, error) {
	const db, rows = "bench_start", 1000
	if err := b.newTable(db, rows); err != nil {
		return nil, err
	}
	l, err := b.prepare("START", db, "1s", "'scan.startup.mode' = 'initial'")
	if err != nil {
		return nil, err
	}
	w := watch(l.table)
	c, err := b.launch(ctx, l)
	if err != nil {
		return nil, err
	}
	time.Sleep(4 * time.Second)
	serr := c.cmd.Process.Signal(syscall.SIGTERM)
	u, err := c.wait()
	snapshots, werr := w.end()
	if err := errors.Join(serr, err, werr); err != nil {
		return nil, err
	}
	data := dataSnapshots(snapshots)
	if len(data) == 0 {
		return nil, fmt.Errorf("no row was visible\n%s", tail(l.logFile))
	}
	out := line{"rows": rows, "interval": "1s", "first_visible_s": data[0].at.Sub(c.start).Seconds(), "cpu_s": u.cpu.Seconds(), "peak_rss_mb": math.Round(u.rssMB)}
	return b.verify(l, db, out, nil)
}

// newTable makes a source table anew with the first rows orders.
func (b *bench) newTable(db string, rows int64) error {
	err := b.src.exec("DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db, fmt.Sprintf(tableDDL, db+".orders"))
	if err != nil {
		return err
	}
	_, err = b.src.load(rows)(db + ".orders")
	return err
}

// freshness gives, for each commit, how long after it a snapshot covered it.
func freshness(commits []commitTime, snapshots []seen, uuid string) ([]float64, error) {
	out := make([]float64, 0, len(commits))
	i := 0
	for _, c := range commits {
		for i < len(snapshots) && lastGNO(snapshots[i].gtid, uuid) < c.gno {
			i++
		}
		if i == len(snapshots) {
			return nil, fmt.Errorf("transaction %s:%d is in no snapshot", uuid, c.gno)
		}
		out = append(out, max(0, float64(snapshots[i].at.Sub(c.at).Microseconds())/1000))
	}
	slices.Sort(out)
	return out, nil
}

// percentile of sorted values.
func percentile(sorted []float64, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// verify compares row count and sum of the amounts with the source.
func (b *bench) verify(l *lake, db string, out line, err error) (line, error) {
	if err != nil || b.oracle == nil {
		return out, err
	}
	rows, amount, err := b.src.total(db + ".orders")
	if err != nil {
		return out, err
	}
	got, err := b.oracle.LatestSum(l.warehouse, "bench.orders", "order_amount")
	if err != nil {
		return out, err
	}
	out["verified_rows"] = got.Rows
	if got.Rows != rows || got.Sums["order_amount"] != amount {
		return out, fmt.Errorf("the source holds %d rows and the sum %s, the lake %d and %s", rows, amount, got.Rows, got.Sums["order_amount"])
	}
	return out, nil
}

// limits runs every limit on one core in a process of its own.
func (b *bench) limits(ctx context.Context) error {
	const scanFrom = "bench_w1"
	w1, err := b.src.ensure(scanFrom, b.W1, b.src.load(b.W1))
	if err != nil {
		return err
	}
	w2, err := b.src.ensure("bench_w2", b.W2, b.src.backlog(b.W2))
	if err != nil {
		return err
	}
	var errs []error
	for _, lim := range Limits {
		in := limitInput{Port: b.src.srv.Port, ScanFrom: scanFrom + ".orders", From: w2.From, To: w2.To, Rows: w1.Rows}
		if strings.HasPrefix(lim.Name, "binlog") {
			in.Rows = w2.Changes
		}
		b.Log.Info("measuring", "limit", lim.Name)
		l, err := b.limit(ctx, lim, in)
		errs = append(errs, b.emit("limit", l, err), err)
	}
	return errors.Join(errs...)
}

func (b *bench) limit(ctx context.Context, lim Limit, in limitInput) (line, error) {
	text, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("limit %s: %w", lim.Name, err)
	}
	c, err := startChild(ctx, filepath.Join(b.WorkDir, "limit.log"), []string{"GOMAXPROCS=1"}, b.Self, "limit", lim.Name, string(text))
	if err != nil {
		return nil, err
	}
	u, err := c.wait()
	m := float64(in.Rows) / 1e6
	return line{
		"limit": lim.Name, "what": lim.What, "rows": in.Rows, "wall_s": u.wall.Seconds(), "cpu_s": u.cpu.Seconds(),
		"cpu_s_per_m": u.cpu.Seconds() / m, "rows_per_s": math.Round(float64(in.Rows) / u.wall.Seconds()), "peak_rss_mb": math.Round(u.rssMB),
	}, err
}

// RunLimit runs one limit in this process; input is what limits gave.
func RunLimit(ctx context.Context, name, input string) error {
	var in limitInput
	if err := json.Unmarshal([]byte(input), &in); err != nil {
		return fmt.Errorf("reading the input of limit %s: %w", name, err)
	}
	for _, l := range Limits {
		if l.Name != name {
			continue
		}
		rows, err := l.run(ctx, in)
		if err == nil && rows != in.Rows {
			err = fmt.Errorf("limit %s saw %d rows of %d", name, rows, in.Rows)
		}
		return err
	}
	return fmt.Errorf("unknown limit %q", name)
}
