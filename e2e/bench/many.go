package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Databases of many tables: how long a copy of thousands of tables takes to come
// up, and what a table costs in memory.

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

// residentMB gives VmRSS of a process in MB; 0 if it is gone.
func residentMB(pid int) float64 { return statusMB(pid, "VmRSS:") }
