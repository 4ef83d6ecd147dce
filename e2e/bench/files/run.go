package files

import (
	"bufio"
	"context"
	_ "embed" // for the script of pyarrow
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"leat/e2e/judge"
)

//go:embed peer.py
var pythonPeer string

var formats = []string{"orc", "parquet"}

// Config says what to measure.
type Config struct {
	Self    string // the program that runs Serve as "files TABLE"
	WorkDir string // for the files; emptied
	Out     *json.Encoder
	Log     *slog.Logger
	// Orders and Wide are the rows of the two tables.
	Orders, Wide int64
	// Warmup rounds are not counted, Rounds are.
	Warmup, Rounds int
	Facts          map[string]any // goes into every line
}

// Run measures both tables and writes one JSON line for each engine, format and direction.
func Run(ctx context.Context, cfg Config) error {
	if err := errors.Join(os.RemoveAll(cfg.WorkDir), os.MkdirAll(cfg.WorkDir, 0o755)); err != nil {
		return fmt.Errorf("preparing %s: %w", cfg.WorkDir, err)
	}
	for _, t := range tables() {
		rows := cfg.Orders
		if t.name == "wide" {
			rows = cfg.Wide
		}
		if err := cfg.measure(ctx, t, rows); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return nil
}

// sitting is the engines of one table.
type sitting struct {
	Config
	table   table
	rows    int64
	engines []*engine
}

func (cfg Config) measure(ctx context.Context, t table, rows int64) (err error) {
	s := &sitting{Config: cfg, table: t, rows: rows}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		for _, e := range s.engines {
			err = errors.Join(err, e.end())
		}
		cancel()
	}()
	if err := s.start(ctx); err != nil {
		return err
	}
	ours := filepath.Join(cfg.WorkDir, t.name)
	if _, err := s.engines[0].do("make", strconv.FormatInt(rows, 10), ours); err != nil {
		return err
	}
	for _, f := range formats {
		if err := s.compare("read", f, s.engines, func(*engine) []string { return []string{"read", f, ours + "." + f} }); err != nil {
			return err
		}
	}
	for _, f := range formats {
		if err := s.write(f, ours); err != nil {
			return err
		}
	}
	// The same once more with the files that Java wrote.
	for _, f := range formats {
		if err := s.compare("read-java", f, s.engines, func(*engine) []string { return []string{"read", f, s.written("java", f)} }); err != nil {
			return err
		}
	}
	return nil
}

func (s *sitting) written(engine, format string) string {
	return filepath.Join(s.WorkDir, s.table.name+"-"+engine+"."+format)
}

// write has all engines write the rows of the ORC file.
func (s *sitting) write(f, ours string) error {
	for _, e := range s.engines {
		if _, err := e.do("load", "orc", ours+".orc"); err != nil {
			return err
		}
	}
	return s.compare("write", f, s.engines, func(e *engine) []string { return []string{"write", f, s.written(e.name, f)} })
}

// compare has the engines work in turns.
func (s *sitting) compare(what, f string, engines []*engine, task func(*engine) []string) error {
	took := map[string][]answer{}
	for round := range s.Warmup + s.Rounds {
		for _, e := range engines {
			a, err := e.do(task(e)...)
			if err != nil {
				return err
			}
			if a.rows != s.rows {
				return fmt.Errorf("%s saw %d rows of %d", e.name, a.rows, s.rows)
			}
			if round >= s.Warmup {
				took[e.name] = append(took[e.name], a)
			}
		}
	}
	for _, e := range engines {
		wall, cpu := medians(took[e.name])
		out := map[string]any{
			"workload": "FILES", "at": time.Now().UTC().Format(time.RFC3339), "table": s.table.name, "format": f, "what": what, "engine": e.name,
			"rows": s.rows, "rows_per_s": math.Round(float64(s.rows) / wall.Seconds()), "rows_per_cpu_s": math.Round(float64(s.rows) / cpu.Seconds()),
		}
		maps.Copy(out, s.Facts)
		path := s.written(e.name, f)
		switch what {
		case "read":
			path = filepath.Join(s.WorkDir, s.table.name+"."+f)
		case "read-java":
			path = s.written("java", f)
		}
		if info, err := os.Stat(path); err == nil {
			out["file_mb"] = math.Round(float64(info.Size())/1e4) / 100
		}
		if err := s.Out.Encode(out); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
	}
	return nil
}

func medians(as []answer) (wall, cpu time.Duration) {
	var walls, cpus []time.Duration
	for _, a := range as {
		walls, cpus = append(walls, a.wall), append(cpus, a.cpu)
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	return walls[len(walls)/2], cpus[len(cpus)/2]
}

// engine is a running process that carries out tasks.
type engine struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

type answer struct {
	rows      int64
	wall, cpu time.Duration
}

// start starts leat, Java and pyarrow, in this order.
func (s *sitting) start(ctx context.Context) error {
	fields := make([]map[string]any, len(s.table.fields))
	for i, f := range s.table.fields {
		fields[i] = map[string]any{"id": f.ID, "name": f.Name, "type": f.Type.String()}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("describing the fields: %w", err)
	}
	fieldsFile := filepath.Join(s.WorkDir, s.table.name+".json")
	if err := os.WriteFile(fieldsFile, text, 0o644); err != nil {
		return fmt.Errorf("describing the fields: %w", err)
	}
	jar, err := judge.BuildOracle(ctx)
	if err != nil {
		return err
	}
	python, _, err := judge.MakeVenv(ctx)
	if err != nil {
		return err
	}
	for _, e := range []struct {
		name string
		args []string
	}{
		{"leat", []string{s.Self, "files", s.table.name}},
		{"java", []string{"java", "-Xms3g", "-Xmx3g", "-XX:+UseParallelGC", "-Duser.timezone=UTC", "-cp", jar, "leat.oracle.FileBench", fieldsFile}},
		{"pyarrow", []string{python, "-c", pythonPeer}},
	} {
		p := &engine{name: e.name, cmd: exec.CommandContext(ctx, e.args[0], e.args[1:]...)}
		// What Java has: a heap of which three gigabytes may fill before it is collected.
		p.cmd.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=3GiB")
		p.cmd.Stderr = os.Stderr
		out, err := p.cmd.StdoutPipe()
		if err == nil {
			p.in, err = p.cmd.StdinPipe()
		}
		if err == nil {
			err = p.cmd.Start()
		}
		if err != nil {
			return fmt.Errorf("starting %s: %w", e.name, err)
		}
		p.out = bufio.NewReader(out)
		s.engines = append(s.engines, p)
	}
	return nil
}

// do has the engine carry out one task.
func (e *engine) do(task ...string) (a answer, err error) {
	if _, err := fmt.Fprintln(e.in, strings.Join(task, " ")); err != nil {
		return a, fmt.Errorf("asking %s: %w", e.name, err)
	}
	line, err := e.out.ReadString('\n')
	if err != nil {
		return a, fmt.Errorf("waiting for %s: %w", e.name, err)
	}
	if _, err := fmt.Sscanf(line, "ok %d %d %d", &a.rows, &a.wall, &a.cpu); err != nil {
		return a, fmt.Errorf("%s, asked for %v, says %q", e.name, task, strings.TrimSpace(line))
	}
	return a, nil
}

// end closes the engine's input, at which it ends.
func (e *engine) end() error {
	err := errors.Join(e.in.Close(), e.cmd.Wait())
	if err != nil {
		return fmt.Errorf("ending %s: %w", e.name, err)
	}
	return nil
}
