package bench

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"leat/e2e/judge"
	"leat/internal/cachedir"
	"leat/internal/connect/builtin"
	leatjob "leat/internal/job"
	"leat/internal/query"
	"leat/planner"
	"leat/sqlfront"
)

// queryScript answers the queries of QUERY with PyPaimon and DuckDB.
//
//go:embed query.py
var queryScript []byte

// duckDB is the version for Python that stands beside; the one in leat is the same.
const duckDB = "1.5.6"

// lakeQueries are the queries of QUERY, as query.py has them.
var lakeQueries = []struct{ name, text string }{
	{"count", "SELECT COUNT(*) FROM bench.orders"},
	{"sum", "SELECT SUM(order_amount) FROM bench.orders"},
	{"group", "SELECT order_status, COUNT(*), SUM(order_amount) FROM bench.orders GROUP BY order_status ORDER BY 1"},
	{"filter", "SELECT COUNT(*), MAX(order_amount) FROM bench.orders WHERE order_status = 3 AND order_amount > 500"},
	{"lookup", "SELECT order_id, user_id, order_amount, order_status, dt FROM bench.orders WHERE order_id = 1234567"},
}

// answered is what one query took, and its rows.
type answered struct {
	Name   string  `json:"name"`
	WallS  float64 `json:"wall_s"`
	CPUS   float64 `json:"cpu_s"`
	Answer string  `json:"answer"`
}

// statements carries out statements as `leat shell` does and gives what they print.
func statements(ctx context.Context, warehouse, text string) (string, error) {
	session, err := planner.NewSession(ctx, planner.Env{Registry: builtin.All(), Lake: builtin.Lake(), OpenLake: leatjob.OpenLake, Warehouse: warehouse})
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	out, err := query.NewPrinter(&b, "csv")
	if err != nil {
		return "", err
	}
	script, err := sqlfront.Parse("-e", text, nil)
	if err != nil {
		return "", err
	}
	for _, st := range script.Statements {
		r, err := session.Next(ctx, st)
		if err != nil {
			return "", err
		}
		if err := leatjob.Apply(ctx, r.Steps, out); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// answerQueries runs all queries once.
func answerQueries(ctx context.Context, in lakeInput) (any, error) {
	out := make([]answered, len(lakeQueries))
	for i, q := range lakeQueries {
		var m measured
		clock := startMeter()
		text, err := statements(ctx, in.Warehouse, q.text)
		clock.stop(&m)
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", q.name, err)
		}
		_, text, _ = strings.Cut(text, "\n")
		out[i] = answered{Name: q.name, WallS: m.WallS, CPUS: m.CPUS, Answer: strings.TrimSuffix(text, "\n")}
	}
	return out, nil
}

// keepCompacted compacts the table fully.
func keepCompacted(ctx context.Context, in lakeInput) (any, error) {
	_, err := statements(ctx, in.Warehouse, "CALL sys.compact('bench.orders')")
	return measured{}, err
}

// query measures the queries over five overlapping runs, beside PyPaimon with DuckDB,
// and over the compacted table, beside DuckDB over the same rows as plain Parquet too.
func (b *lakeBench) query(ctx context.Context) (line, error) {
	python, args, err := b.python(ctx)
	if err != nil {
		return nil, err
	}
	out := line{"rows": b.LakeRows, "runs": lakeRuns, "duckdb": duckDB}
	// Once: it takes PyPaimon minutes.
	if err := b.queryRounds(ctx, out, "runs_", 1, map[string][]string{"pypaimon": append(args, "paimon")}, python); err != nil {
		return nil, err
	}
	if _, err := b.step(ctx, "compactkeep", false, &measured{}); err != nil {
		return nil, err
	}
	plain := filepath.Join(b.WorkDir, "orders.parquet")
	if text, err := exec.CommandContext(ctx, python, append(args, "write", plain)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("writing plain Parquet: %w\n%s", err, text)
	}
	err = b.queryRounds(ctx, out, "compacted_", b.Rounds, map[string][]string{"pypaimon": append(args, "paimon"), "parquet": append(args, "parquet", plain)}, python)
	return out, errors.Join(err, os.Remove(plain))
}

// python gives the Python with PyPaimon, and the first arguments of the script.
func (b *lakeBench) python(ctx context.Context) (string, []string, error) {
	python, _, err := judge.MakeVenv(ctx)
	if err != nil {
		return "", nil, err
	}
	libraries, err := cachedir.Ensure(ctx, "duckdb-"+duckDB, func(dir string) error {
		if out, err := exec.CommandContext(ctx, python, "-m", "pip", "install", "--disable-pip-version-check", "-q", "--target", dir, "duckdb=="+duckDB).CombinedOutput(); err != nil {
			return fmt.Errorf("installing DuckDB for Python: %w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	script := filepath.Join(b.WorkDir, "query.py")
	if err := os.WriteFile(script, queryScript, 0o600); err != nil {
		return "", nil, fmt.Errorf("writing the script: %w", err)
	}
	return python, []string{script, libraries, b.warehouse}, nil
}

// queryRounds runs all queries rounds times in turn with each of the others, after a
// round that does not count unless there is one alone.
func (b *lakeBench) queryRounds(ctx context.Context, out line, prefix string, rounds int, others map[string][]string, python string) (err error) {
	processes := map[string]*stepProcess{}
	defer func() {
		for _, p := range processes {
			_, eerr := p.end()
			err = errors.Join(err, eerr)
		}
	}()
	if processes["leat"], err = b.startStep(ctx, "query", false); err != nil {
		return err
	}
	for name, args := range others {
		if processes[name], err = b.startTurns(ctx, name, python, args...); err != nil {
			return err
		}
	}
	times := map[string][]measured{}
	warm := min(rounds-1, 1)
	for i := range warm + rounds {
		answers := map[string][]answered{}
		for name, p := range processes {
			var got []answered
			if err := p.turn(&got); err != nil {
				return err
			}
			answers[name] = got
		}
		for name, got := range answers {
			for k, a := range got {
				if a.Answer != answers["leat"][k].Answer {
					return fmt.Errorf("query %s: %s answers %q, leat %q", a.Name, name, a.Answer, answers["leat"][k].Answer)
				}
				b.Log.Info("run", "number", i, "query", a.Name, "by", name, "wall_s", a.WallS, "cpu_s", a.CPUS)
				if i >= warm {
					times[a.Name+" "+name] = append(times[a.Name+" "+name], measured{WallS: a.WallS, CPUS: a.CPUS})
				}
			}
		}
	}
	cpu := func(m measured) float64 { return m.CPUS }
	for _, q := range lakeQueries {
		ours := median(times[q.name+" leat"], cpu)
		out[prefix+q.name+"_leat_cpu_s"] = ours
		for name := range others {
			theirs := median(times[q.name+" "+name], cpu)
			out[prefix+q.name+"_"+name+"_cpu_s"] = theirs
			out[prefix+q.name+"_"+name+"_times"] = math.Round(theirs/ours*100) / 100
		}
	}
	return nil
}
