package bench

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
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

// query measures the queries over five overlapping runs, beside Java and PyPaimon with DuckDB,
// and over the compacted table, beside DuckDB over the same rows as plain Parquet too.
func (b *lakeBench) query(ctx context.Context) (line, error) {
	python, args, err := b.python(ctx)
	if err != nil {
		return nil, err
	}
	if b.oracle == nil {
		if b.oracle, err = judge.Start(ctx); err != nil {
			return nil, err
		}
	}
	out := line{"rows": b.LakeRows, "runs": lakeRuns, "duckdb": duckDB}
	// PyPaimon once: it takes minutes.
	if err := b.queryRounds(ctx, out, "runs_", []queried{{name: "pypaimon", rounds: 1, program: python, args: append(args, "paimon")}}); err != nil {
		return nil, err
	}
	if _, err := b.step(ctx, "compactkeep", false, &measured{}); err != nil {
		return nil, err
	}
	plain := filepath.Join(b.WorkDir, "orders.parquet")
	if text, err := exec.CommandContext(ctx, python, append(args, "write", plain)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("writing plain Parquet: %w\n%s", err, text)
	}
	err = b.queryRounds(ctx, out, "compacted_", []queried{
		{name: "pypaimon", rounds: b.Rounds + 1, program: python, args: append(args, "paimon")},
		{name: "parquet", rounds: b.Rounds + 1, program: python, args: append(args, "parquet", plain)},
	})
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

// queried answers the queries beside leat: a program that works turn by turn, in its last rounds.
type queried struct {
	name    string
	rounds  int
	program string
	args    []string
	process *stepProcess
	turn    func(into *[]answered) error
}

// queryRounds runs all queries in turn with Java and each of the others. The first rounds, which
// do not count, are there for Java to compile.
func (b *lakeBench) queryRounds(ctx context.Context, out line, prefix string, others []queried) (err error) {
	all := warmUps["QUERY"] + b.Rounds
	java := queried{name: "java", rounds: all, turn: b.javaQueries}
	leat := queried{name: "leat", rounds: all}
	if leat.process, err = b.startStep(ctx, "query", false); err != nil {
		return err
	}
	by := append([]queried{leat, java}, others...)
	defer func() {
		for _, q := range by {
			if q.process != nil {
				_, eerr := q.process.end()
				err = errors.Join(err, eerr)
			}
		}
	}()
	for i := range by {
		q := &by[i]
		if q.program != "" {
			if q.process, err = b.startTurns(ctx, q.name, q.program, q.args...); err != nil {
				return err
			}
		}
		if q.process != nil {
			q.turn = func(into *[]answered) error { return q.process.turn(into) }
		}
	}
	times := map[string][]measured{}
	for i := range all {
		if err := b.queryRound(by, all, i, times); err != nil {
			return err
		}
	}
	cpu := func(m measured) float64 { return m.CPUS }
	for _, q := range lakeQueries {
		ours := median(times[q.name+" leat"], cpu)
		out[prefix+q.name+"_leat_cpu_s"] = ours
		for _, other := range by[1:] {
			theirs := median(times[q.name+" "+other.name], cpu)
			out[prefix+q.name+"_"+other.name+"_cpu_s"] = theirs
			out[prefix+q.name+"_"+other.name+"_times"] = math.Round(theirs/ours*100) / 100
		}
	}
	return nil
}

// queryRound is round i of all, whose times count if it is one of the last.
func (b *lakeBench) queryRound(by []queried, all, i int, times map[string][]measured) error {
	var ours []answered
	for _, q := range by {
		if i < all-q.rounds {
			continue
		}
		var got []answered
		if err := q.turn(&got); err != nil {
			return err
		}
		if ours == nil {
			ours = got
		}
		for k, a := range got {
			if a.Answer != ours[k].Answer {
				return fmt.Errorf("query %s: %s answers %q, leat %q", a.Name, q.name, a.Answer, ours[k].Answer)
			}
			b.Log.Info("run", "number", i, "query", a.Name, "by", q.name, "wall_s", a.WallS, "cpu_s", a.CPUS)
			if i >= all-b.Rounds {
				times[a.Name+" "+q.name] = append(times[a.Name+" "+q.name], measured{WallS: a.WallS, CPUS: a.CPUS})
			}
		}
	}
	return nil
}

// javaQueries answers the queries by Paimon's library.
func (b *lakeBench) javaQueries(into *[]answered) error {
	lines, err := b.oracle.Call("", "bench-query", "--warehouse", b.warehouse, "--table", b.table)
	if err != nil {
		return err
	}
	for _, l := range lines {
		var a answered
		if err := json.Unmarshal(l, &a); err != nil {
			return fmt.Errorf("reading what Java answers: %w", err)
		}
		*into = append(*into, a)
	}
	return nil
}
