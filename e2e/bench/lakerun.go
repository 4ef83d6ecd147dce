package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leat/e2e/judge"
)

// LakeWorkloads are those of the merge tree alone, which need no MySQL.
var LakeWorkloads = []string{"FLUSH", "READ", "COMPACT", "QUERY"}

// lakeRuns is how many runs READ and COMPACT merge.
const lakeRuns = 5

// warmUps are runs before those that count, in turns as those are: Java's times fall for that long.
var warmUps = map[string]int{"READ": 20, "COMPACT": 4, "QUERY": 10}

// lakeBench is a sitting over the merge tree.
type lakeBench struct {
	Config
	oracle    *judge.Oracle
	warehouse string
	table     string
	// input is the size of the table that is read and compacted.
	input int64
}

// RunLake measures the workloads of the merge tree that cfg.Only names, one JSON line each.
func RunLake(ctx context.Context, cfg Config) error {
	b := &lakeBench{Config: cfg, warehouse: filepath.Join(cfg.WorkDir, "LAKE"), table: "bench." + lakeTable}
	var errs []error
	if slices.Contains(cfg.Only, "FLUSH") {
		errs = append(errs, b.measure(ctx, "FLUSH", b.flush))
	}
	if slices.Contains(cfg.Only, "READ") || slices.Contains(cfg.Only, "COMPACT") {
		if err := b.makeRuns(ctx); err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	for _, w := range []struct {
		name string
		args []string
	}{{"READ", []string{"--column", "order_amount"}}, {"COMPACT", nil}} {
		if slices.Contains(cfg.Only, w.name) {
			errs = append(errs, b.measure(ctx, w.name, func(ctx context.Context) (line, error) { return b.beside(ctx, strings.ToLower(w.name), w.args) }))
		}
	}
	if slices.Contains(cfg.Only, "QUERY") {
		errs = append(errs, os.RemoveAll(b.warehouse))
		if _, err := b.step(ctx, "runs", false, &measured{}); err != nil {
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, b.measure(ctx, "QUERY", b.query))
	}
	return errors.Join(append(errs, os.RemoveAll(b.warehouse))...)
}

func (b *lakeBench) measure(ctx context.Context, name string, run func(context.Context) (line, error)) error {
	b.Log.Info("measuring", "workload", name)
	l, err := run(ctx)
	return errors.Join((&bench{Config: b.Config}).emit(name, l, err), err)
}

// step runs a step in a process of its own; into gets what it prints.
func (b *lakeBench) step(ctx context.Context, name string, shuffled bool, into any) (usage, error) {
	p, err := b.startStep(ctx, name, shuffled)
	if err != nil {
		return usage{}, err
	}
	err = p.turn(into)
	u, werr := p.end()
	return u, errors.Join(err, werr)
}

// stepProcess is a process that runs a step turn by turn.
type stepProcess struct {
	*child
	name  string
	turns io.WriteCloser
	lines *bufio.Reader
}

func (b *lakeBench) startStep(ctx context.Context, name string, shuffled bool) (*stepProcess, error) {
	text, err := json.Marshal(lakeInput{Warehouse: b.warehouse, Rows: b.LakeRows, Runs: lakeRuns, Shuffled: shuffled})
	if err != nil {
		return nil, fmt.Errorf("step %s: %w", name, err)
	}
	return b.startTurns(ctx, name, b.Self, "lake", name, string(text))
}

// startTurns starts a program that works turn by turn.
func (b *lakeBench) startTurns(ctx context.Context, name, program string, args ...string) (*stepProcess, error) {
	turns, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("step %s: %w", name, err)
	}
	defer turns.Close()
	out, answers, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("step %s: %w", name, err), in.Close())
	}
	defer answers.Close()
	c, err := startPiped(ctx, filepath.Join(b.WorkDir, "lake-"+name+".log"), turns, answers, program, args...)
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return &stepProcess{child: c, name: name, turns: in, lines: bufio.NewReader(out)}, nil
}

// turn runs the step once; into gets what it prints.
func (p *stepProcess) turn(into any) error {
	if _, err := fmt.Fprintln(p.turns, "go"); err != nil {
		return fmt.Errorf("step %s: %w", p.name, err)
	}
	line, err := p.lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		return fmt.Errorf("reading what step %s measured: %w", p.name, err)
	}
	return nil
}

// end closes the input, at which the process ends.
func (p *stepProcess) end() (usage, error) {
	err := p.turns.Close()
	u, werr := p.wait()
	return u, errors.Join(err, werr)
}

// flush measures sort, merge and encode beside the bare encode of the same rows.
func (b *lakeBench) flush(ctx context.Context) (line, error) {
	m := float64(b.LakeRows) / 1e6
	out := line{"rows": b.LakeRows, "bucket": flushBuckets}
	for _, shuffled := range []bool{false, true} {
		var shares, flush, encode, wall []float64
		var peak float64
		for range b.Rounds {
			if err := os.RemoveAll(b.warehouse); err != nil {
				return nil, fmt.Errorf("preparing the table: %w", err)
			}
			var res flushResult
			u, err := b.step(ctx, "flush", shuffled, &res)
			if err != nil {
				return nil, err
			}
			if res.Encode.Rows != b.LakeRows || res.Flush.Rows != b.LakeRows {
				return nil, fmt.Errorf("%d and %d rows in the files, want %d", res.Encode.Rows, res.Flush.Rows, b.LakeRows)
			}
			shares, flush = append(shares, res.Encode.CPUS/res.Flush.CPUS), append(flush, res.Flush.CPUS/m)
			encode, wall = append(encode, res.Encode.CPUS/m), append(wall, res.Flush.WallS)
			peak = max(peak, u.rssMB)
			out["flush_mb"], out["encode_mb"] = float64(res.Flush.Bytes)/1e6, float64(res.Encode.Bytes)/1e6
		}
		name := map[bool]string{false: "in_order_", true: "shuffled_"}[shuffled]
		out[name+"share_of_encode"], out[name+"flush_cpu_s_per_m"], out[name+"encode_cpu_s_per_m"] = middle(shares), middle(flush), middle(encode)
		out[name+"rows_per_s"], out[name+"peak_rss_mb"] = math.Round(m*1e6/middle(wall)), math.Round(peak)
	}
	return out, nil
}

func (b *lakeBench) makeRuns(ctx context.Context) error {
	if err := os.RemoveAll(b.warehouse); err != nil {
		return err
	}
	var done measured
	if _, err := b.step(ctx, "runs", false, &done); err != nil {
		return err
	}
	_, size, err := diskUse(filepath.Join(b.warehouse, "bench.db", lakeTable, "bucket-0"))
	if err != nil {
		return fmt.Errorf("measuring the table: %w", err)
	}
	b.input = size
	b.oracle, err = judge.Start(ctx)
	return err
}

// beside runs a step in turn with the same work of the Java library. Each has a
// process that lives through all runs, the first of which do not count: neither
// start-up nor compiling nor the first memory of the process is in the figures.
func (b *lakeBench) beside(ctx context.Context, name string, args []string) (out line, err error) {
	args = append([]string{"bench-" + name, "--warehouse", b.warehouse, "--table", b.table}, args...)
	p, err := b.startStep(ctx, name, false)
	if err != nil {
		return nil, err
	}
	var ours, theirs []measured
	warm := warmUps[strings.ToUpper(name)]
	for i := range warm + b.Rounds {
		var leat, java measured
		answer, err := b.oracle.Call("", args...)
		if err == nil {
			err = json.Unmarshal(answer[0], &java)
		}
		if err == nil {
			err = p.turn(&leat)
		}
		if err != nil {
			_, eerr := p.end()
			return nil, errors.Join(err, eerr)
		}
		b.Log.Info("run", "number", i, "java_wall_s", java.WallS, "java_cpu_s", java.CPUS, "leat_wall_s", leat.WallS, "leat_cpu_s", leat.CPUS)
		if leat.Rows != java.Rows || leat.Sum != java.Sum {
			_, eerr := p.end()
			return nil, errors.Join(fmt.Errorf("leat gives %d rows and the sum %d, Java %d and %d", leat.Rows, leat.Sum, java.Rows, java.Sum), eerr)
		}
		if i >= warm {
			ours, theirs = append(ours, leat), append(theirs, java)
		}
	}
	u, err := p.end()
	if err != nil {
		return nil, err
	}
	wall, cpu := func(m measured) float64 { return m.WallS }, func(m measured) float64 { return m.CPUS }
	mb := float64(b.input) / 1e6
	return line{
		"rows": b.LakeRows, "runs": lakeRuns, "input_mb": mb, "merged_rows": ours[0].Rows, "peak_rss_mb": math.Round(u.rssMB),
		"leat_wall_s": median(ours, wall), "leat_cpu_s": median(ours, cpu), "java_wall_s": median(theirs, wall), "java_cpu_s": median(theirs, cpu),
		"times_wall": median(theirs, wall) / median(ours, wall), "times_cpu": median(theirs, cpu) / median(ours, cpu),
		"leat_mb_per_s": mb / median(ours, wall), "java_mb_per_s": mb / median(theirs, wall),
		"leat_output_mb": float64(ours[0].Bytes) / 1e6, "java_output_mb": float64(theirs[0].Bytes) / 1e6,
	}, nil
}

func median(runs []measured, of func(measured) float64) float64 {
	v := make([]float64, len(runs))
	for i, m := range runs {
		v[i] = of(m)
	}
	return middle(v)
}

// middle is the median; it sorts v.
func middle(v []float64) float64 {
	slices.Sort(v)
	return percentile(v, 50)
}
