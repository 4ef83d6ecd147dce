package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What changes spread over many tables cost beside the same changes in one. Each
// table pays for its files at each checkpoint, so the ratio of the two is one of
// the changes that a table gets between checkpoints.

// spreadTables are the tables that change at once.
const spreadTables = 200

// backlog is the changes of SPREAD, which many tables and one get alike.
type backlog struct {
	// database holds spreadTables tables and the one, which comes last.
	database string
	// prefix stands before the figures.
	prefix string
	load   func(many []string, one string) error
	// change gives how many changes it made.
	change func(tables []string) (int64, error)
}

// spread works off two backlogs: transactions of another table each, as a source
// that is not busy makes them, and updates of all rows again and again, of which a
// table gets several times as many at a checkpoint.
func (b *bench) spread(ctx context.Context) (line, error) {
	out := line{"tables": spreadTables, "interval": b.Every}
	err := b.spreadOf(ctx, out, backlog{
		database: "bench_spread",
		load:     func([]string, string) error { return b.ensureMany("bench_spread", spreadTables+1) },
		change:   func(tables []string) (int64, error) { return b.changeAll(int64(b.Spread), tables) },
	})
	if err != nil {
		return nil, err
	}
	return out, b.spreadOf(ctx, out, backlog{database: "bench_busy", prefix: "busy_", load: b.loadBusy, change: b.updateAll})
}

// spreadOf works off a backlog of all tables but one, and the same of the one, in turns.
func (b *bench) spreadOf(ctx context.Context, out line, l backlog) error {
	const rounds = 3
	many := make([]string, spreadTables)
	for i := range many {
		many[i] = l.database + "." + manyTable(i)
	}
	one := []string{l.database + "." + manyTable(spreadTables)}
	// Its changes begin with the same rows each time.
	err := b.src.exec("SET sql_log_bin = 0", "DROP DATABASE IF EXISTS "+l.database, "SET sql_log_bin = 1")
	if err == nil {
		err = l.load(many, one[0])
	}
	if err != nil {
		return err
	}
	// Both jobs stand before their backlog, and begin each round from there.
	jobs := map[string]*copies{}
	for what, include := range map[string][]string{"ONE": one, "SPREAD": many} {
		c, err := b.copies(what, b.Every, include...)
		if err == nil {
			_, err = c.comeUp(ctx, "snapshot", nil)
		}
		if err == nil {
			err = c.keep()
		}
		if err != nil {
			return err
		}
		jobs[what] = c
	}
	changes := map[string]int64{}
	if changes["ONE"], err = l.change(one); err != nil {
		return err
	}
	if changes["SPREAD"], err = l.change(many); err != nil {
		return err
	}
	m := &turns{wall: map[string][]float64{}, cpu: map[string][]float64{}, peak: map[string]float64{}}
	for range rounds {
		for _, what := range []string{"ONE", "SPREAD"} {
			if err := m.take(ctx, jobs[what], what); err != nil {
				return err
			}
		}
	}
	out[l.prefix+"changes_a_table"] = changes["SPREAD"] / spreadTables
	m.report(out, l.prefix, changes)
	return nil
}

// turns are the figures of rounds, by what was worked off.
type turns struct {
	wall, cpu map[string][]float64
	peak      map[string]float64
}

// take has a job work off its backlog. A second run finds nothing to do: what is
// beyond it is the backlog.
func (m *turns) take(ctx context.Context, c *copies, what string) error {
	if err := c.back(); err != nil {
		return err
	}
	for _, run := range []string{what, what + " start"} {
		job, err := c.start(ctx, "--catch-up")
		if err != nil {
			return err
		}
		u, err := job.wait()
		if err != nil {
			return err
		}
		m.wall[run], m.cpu[run] = append(m.wall[run], u.wall.Seconds()), append(m.cpu[run], u.cpu.Seconds())
		m.peak[run] = max(m.peak[run], u.rssMB)
	}
	return nil
}

// report gives the medians, and the rate in many tables as a part of that in one.
func (m *turns) report(out line, prefix string, changes map[string]int64) {
	median := func(list []float64) float64 {
		slices.Sort(list)
		return list[len(list)/2]
	}
	wall, cpu := map[string]float64{}, map[string]float64{}
	for what, n := range changes {
		p, start := prefix+strings.ToLower(what), what+" start"
		out[p+"_wall_s"], out[p+"_cpu_s"], out[p+"_peak_rss_mb"] = median(m.wall[what]), median(m.cpu[what]), math.Round(m.peak[what])
		out[p+"_start_wall_s"], out[p+"_start_cpu_s"] = median(m.wall[start]), median(m.cpu[start])
		wall[what] = (median(m.wall[what]) - median(m.wall[start])) / float64(n)
		cpu[what] = (median(m.cpu[what]) - median(m.cpu[start])) / float64(n)
		out[p+"_rows_per_s"] = math.Round(1 / wall[what])
	}
	out[prefix+"spread_of_one"], out[prefix+"spread_of_one_by_cpu"] = wall["ONE"]/wall["SPREAD"], cpu["ONE"]/cpu["SPREAD"]
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

// busyRows are the rows of each table of the busy backlog.
const busyRows = 5_000

// loadBusy gives each of many tables busyRows rows, and one all of them, outside the binlog.
func (b *bench) loadBusy(many []string, one string) error {
	database, _, _ := strings.Cut(one, ".")
	if err := b.src.exec("SET sql_log_bin = 0", "CREATE DATABASE "+database, fmt.Sprintf(tableDDL, one)); err != nil {
		return err
	}
	f := &feed{table: one}
	for i, t := range many {
		rows := make([]order, busyRows)
		for k := range rows {
			rows[k] = makeOrder(int64(i*busyRows+k), 0)
		}
		first := i * busyRows
		err := b.src.exec(f.values(rows, ""), fmt.Sprintf(tableDDL, t),
			fmt.Sprintf("INSERT INTO %s SELECT * FROM %s WHERE order_id BETWEEN %d AND %d", t, one, first, first+busyRows-1))
		if err != nil {
			return err
		}
	}
	return b.src.exec("SET sql_log_bin = 1")
}

// updateAll changes every row as often as makes b.Busy changes, at least once, 500 a
// transaction, each of another one of the tables.
func (b *bench) updateAll(tables []string) (int64, error) {
	const all, batch = spreadTables * busyRows, 500
	rows, rounds := all/len(tables), max(1, b.Busy/all)
	for range rounds {
		for k := 0; k < rows; k += batch {
			for i, t := range tables {
				first := i*rows + k
				err := b.src.exec(fmt.Sprintf("UPDATE %s SET order_amount = order_amount + 1, order_status = 1 - order_status WHERE order_id BETWEEN %d AND %d",
					t, first, first+batch-1))
				if err != nil {
					return 0, err
				}
			}
		}
	}
	return int64(all * rounds), nil
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
