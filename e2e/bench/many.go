package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Databases of many tables: how long a copy of thousands of tables takes to come
// up, what a table costs in memory, and what changes spread over many tables cost
// beside the same changes in one.

// manyRows are the rows that each table of MANY has.
const manyRows = 10

// copies is one job of `leat sync mysql` and where it works.
type copies struct {
	b              *bench
	dir, name, log string
	include        []string
	interval       string
}

func (b *bench) copies(workload, interval string, include ...string) (*copies, error) {
	c := &copies{b: b, dir: filepath.Join(b.WorkDir, strings.ToLower(workload)), name: "bench-" + strings.ToLower(workload), include: include, interval: interval}
	c.log = filepath.Join(c.dir, "job.log")
	return c, errors.Join(os.RemoveAll(c.dir), os.MkdirAll(c.dir, 0o755))
}

func (c *copies) lake() string  { return filepath.Join(c.dir, "lake") }
func (c *copies) state() string { return filepath.Join(c.dir, "state") }

func (c *copies) start(ctx context.Context, args ...string) (*child, error) {
	args = append([]string{
		"sync", "mysql", "--url", fmt.Sprintf("mysql://root@127.0.0.1:%d/", c.b.src.srv.Port), "--include", strings.Join(c.include, ","), "--name", c.name,
		"--warehouse", c.lake(), "--state-dir", c.state(), "--set", "execution.checkpointing.interval=" + c.interval,
	}, args...)
	return startChild(ctx, c.log, []string{"LEAT_MYSQL_PASSWORD="}, c.b.Leat, args...)
}

// until waits for a moment of the running job.
func (c *copies) until(ctx context.Context, what string) error {
	out, err := exec.CommandContext(ctx, c.b.Leat, "job", "wait", c.name, "--until", what, "--timeout", "10m", "--state-dir", c.state()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("waiting for %s: %w\n%s%s", what, err, out, tail(c.log))
	}
	return nil
}

// stop ends the job in order.
func stop(c *child) (usage, error) {
	err := c.cmd.Process.Signal(syscall.SIGTERM)
	u, werr := c.wait()
	return u, errors.Join(err, werr)
}

// phase is one start of a job: when it had everything, and what it took until then.
type phase struct {
	ready, cpu float64
	// rss and peak are megabytes, a while after that.
	rss, peak float64
}

// comeUp starts the job and measures it until it has caught up, then at rest.
func (c *copies) comeUp(ctx context.Context, what string, rest func() error) (phase, error) {
	var p phase
	job, err := c.start(ctx)
	if err != nil {
		return p, err
	}
	err = c.until(ctx, what)
	p.ready, p.cpu = time.Since(job.start).Seconds(), processCPU(job.cmd.Process.Pid).Seconds()
	if err == nil && rest != nil {
		err = rest()
	}
	if err == nil {
		err = c.until(ctx, "caught-up")
		time.Sleep(3 * time.Second)
	}
	p.rss = residentMB(job.cmd.Process.Pid)
	u, serr := stop(job)
	p.peak = u.rssMB
	return p, errors.Join(err, serr)
}

// many copies a database of b.Tables tables: begun, begun again, and at rest
// after a change of a row in each of 200 of them.
func (b *bench) many(ctx context.Context) (line, error) {
	const db = "bench_many"
	if err := b.ensureMany(db, b.Tables); err != nil {
		return nil, err
	}
	one, err := b.copies("MANY", "10s", db+"."+manyTable(0))
	if err != nil {
		return nil, err
	}
	base, err := one.comeUp(ctx, "snapshot", nil)
	if err != nil {
		return nil, err
	}
	c, err := b.copies("MANY", "10s", db+".*")
	if err != nil {
		return nil, err
	}
	fresh, err := c.comeUp(ctx, "snapshot", nil)
	if err != nil {
		return nil, err
	}
	again, err := c.comeUp(ctx, "caught-up", nil)
	if err != nil {
		return nil, err
	}
	changed, err := c.comeUp(ctx, "caught-up", func() error {
		for i := range min(200, b.Tables) {
			if err := b.src.exec(fmt.Sprintf("UPDATE %s.%s SET order_status = 1 - order_status", db, manyTable(i))); err != nil {
				return err
			}
		}
		return nil
	})
	each := func(p phase) float64 { return math.Round((p.rss - base.rss) * 1024 / float64(b.Tables)) }
	return line{
		"tables": b.Tables, "rows": b.Tables * manyRows, "interval": c.interval,
		"fresh_s": fresh.ready, "fresh_cpu_s": fresh.cpu, "fresh_peak_rss_mb": math.Round(fresh.peak), "fresh_kb_a_table": each(fresh),
		"resume_s": again.ready, "resume_cpu_s": again.cpu, "resume_peak_rss_mb": math.Round(again.peak), "resume_kb_a_table": each(again),
		"changed_kb_a_table": each(changed), "rss_mb_of_one_table": math.Round(base.rss),
	}, err
}

func manyTable(i int) string { return fmt.Sprintf("orders_%04d", i) }

// ensureMany makes a database of that many small tables, outside the binlog,
// unless it is there.
func (b *bench) ensureMany(db string, tables int) error {
	r, err := b.src.conn.Execute("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '" + db + "'")
	if err != nil {
		return fmt.Errorf("looking for %s: %w", db, err)
	}
	if n, err := r.GetInt(0, 0); err != nil || int(n) == tables {
		return err
	}
	b.Log.Info("preparing data", "database", db, "tables", tables)
	if err := b.src.exec("SET sql_log_bin = 0", "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db); err != nil {
		return err
	}
	f := &feed{}
	for i := range tables {
		f.table = db + "." + manyTable(i)
		rows := make([]order, manyRows)
		for k := range rows {
			rows[k] = makeOrder(int64(i*manyRows+k), 0)
		}
		if err := b.src.exec(fmt.Sprintf(tableDDL, f.table), f.values(rows, "")); err != nil {
			return err
		}
	}
	return b.src.exec("SET sql_log_bin = 1")
}

// spread works off a backlog of b.Spread changes of 200 tables at once, each
// transaction in another table, and the same changes of one table, in turns. Each
// table pays for its files at each checkpoint, so the ratio of the two is one of the
// changes that a table gets between checkpoints: few of them stand for a quiet source,
// many for one that keeps a job busy.
func (b *bench) spread(ctx context.Context) (line, error) {
	const db, tables, rounds = "bench_spread", 200, 3
	// Its changes begin with the same rows each time.
	if err := b.src.exec("SET sql_log_bin = 0", "DROP DATABASE IF EXISTS "+db, "SET sql_log_bin = 1"); err != nil {
		return nil, err
	}
	if err := b.ensureMany(db, tables+1); err != nil {
		return nil, err
	}
	names := make([]string, tables)
	for i := range names {
		names[i] = db + "." + manyTable(i)
	}
	// Both jobs stand before their backlog, and begin each round from there.
	jobs := map[string]*copies{}
	for what, include := range map[string][]string{"ONE": {db + "." + manyTable(tables)}, "SPREAD": names} {
		c, err := b.copies(what, b.Every, include...)
		if err != nil {
			return nil, err
		}
		jobs[what] = c
		if _, err := c.comeUp(ctx, "snapshot", nil); err != nil {
			return nil, err
		}
		if err := c.keep(); err != nil {
			return nil, err
		}
	}
	one, err := b.changeAll(int64(b.Spread), []string{db + "." + manyTable(tables)})
	if err != nil {
		return nil, err
	}
	many, err := b.changeAll(int64(b.Spread), names)
	if err != nil {
		return nil, err
	}
	wall, cpu, peak := map[string][]float64{}, map[string][]float64{}, map[string]float64{}
	for range rounds {
		for _, what := range []string{"ONE", "SPREAD"} {
			c := jobs[what]
			if err := c.back(); err != nil {
				return nil, err
			}
			// The second run finds nothing to do: what is beyond it is the backlog.
			for _, run := range []string{what, what + " start"} {
				job, err := c.start(ctx, "--catch-up")
				if err != nil {
					return nil, err
				}
				u, err := job.wait()
				if err != nil {
					return nil, err
				}
				wall[run], cpu[run] = append(wall[run], u.wall.Seconds()), append(cpu[run], u.cpu.Seconds())
				peak[run] = max(peak[run], u.rssMB)
			}
		}
	}
	out := line{"tables": tables, "changes": b.Spread, "changes_a_table": b.Spread / tables, "interval": b.Every}
	beyond := map[string][2]float64{}
	for what, n := range map[string]int64{"ONE": one, "SPREAD": many} {
		p, start := strings.ToLower(what), what+" start"
		for _, list := range [][]float64{wall[what], cpu[what], wall[start], cpu[start]} {
			slices.Sort(list)
		}
		at := rounds / 2
		out[p+"_wall_s"], out[p+"_cpu_s"], out[p+"_peak_rss_mb"] = wall[what][at], cpu[what][at], math.Round(peak[what])
		out[p+"_start_wall_s"], out[p+"_start_cpu_s"] = wall[start][at], cpu[start][at]
		beyond[what] = [2]float64{(wall[what][at] - wall[start][at]) / float64(n), (cpu[what][at] - cpu[start][at]) / float64(n)}
		out[p+"_rows_per_s"] = math.Round(1 / beyond[what][0])
	}
	out["spread_of_one"], out["spread_of_one_by_cpu"] = beyond["ONE"][0]/beyond["SPREAD"][0], beyond["ONE"][1]/beyond["SPREAD"][1]
	return out, nil
}

// changeAll makes n changes in transactions of 400 to 500, each of another one of
// the tables, and gives how many it made.
func (b *bench) changeAll(n int64, tables []string) (int64, error) {
	feeds := make([]*feed, len(tables))
	for i, t := range tables {
		feeds[i] = newFeed(t, 1_000_000)
	}
	var done int64
	for i := 0; done < n; i++ {
		f := feeds[i%len(feeds)]
		before := f.changes()
		if err := f.transaction(b.src.conn, 400+f.rnd.IntN(101)); err != nil {
			return done, err
		}
		done += f.changes() - before
	}
	return done, nil
}

// keep remembers lake and state as they are; back returns to them.
func (c *copies) keep() error {
	return errors.Join(os.CopyFS(filepath.Join(c.dir, "kept", "lake"), os.DirFS(c.lake())), os.CopyFS(filepath.Join(c.dir, "kept", "state"), os.DirFS(c.state())))
}

// What was there is moved away, not removed: file systems take a while to give the
// places of removed files to new ones, which would be measured.
func (c *copies) back() error {
	used, err := os.MkdirTemp(c.dir, "used-")
	if err != nil {
		return fmt.Errorf("going back to the state before a round: %w", err)
	}
	return errors.Join(os.Rename(c.lake(), filepath.Join(used, "lake")), os.Rename(c.state(), filepath.Join(used, "state")),
		os.CopyFS(c.lake(), os.DirFS(filepath.Join(c.dir, "kept", "lake"))), os.CopyFS(c.state(), os.DirFS(filepath.Join(c.dir, "kept", "state"))))
}

// residentMB gives VmRSS of a process in MB; 0 if it is gone.
func residentMB(pid int) float64 { return statusMB(pid, "VmRSS:") }
