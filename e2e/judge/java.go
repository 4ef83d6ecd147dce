package judge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Oracle is a running process over Paimon's Java library. Calls are made one at a time.
type Oracle struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

var sharedOracle = sync.OnceValues(func() (*Oracle, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	return Start(ctx)
})

// Java gives the process's oracle; the first call builds and starts it.
func Java(t testing.TB) *Oracle {
	t.Helper()
	o, err := sharedOracle()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Start builds the oracle if need be and starts its long-running mode. It ends
// by itself when this process, and with it the pipe to its input, goes away.
func Start(ctx context.Context) (*Oracle, error) {
	jar, err := BuildOracle(ctx)
	if err != nil {
		return nil, err
	}
	// Not CommandContext: it lives as long as this process.
	cmd := exec.Command("java", "-Xmx1500m", "-XX:+UseSerialGC", "-Duser.timezone=UTC", "-jar", jar, "serve")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the oracle: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the oracle: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the oracle: %w", err)
	}
	return &Oracle{in: in, out: bufio.NewReaderSize(out, 1<<20)}, nil
}

// Call runs one oracle command and gives its output lines. input is what the
// command reads (NDJSON rows of write, JSON of create).
func (o *Oracle) Call(input string, args ...string) ([][]byte, error) {
	req, err := json.Marshal(map[string]any{"args": args, "input": input})
	if err != nil {
		return nil, fmt.Errorf("calling the oracle: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.in.Write(append(req, '\n')); err != nil {
		return nil, fmt.Errorf("calling the oracle: %w", err)
	}
	var lines [][]byte
	for {
		line, err := o.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("reading the oracle's answer to %v: %w", args, err)
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		if trace, failed := bytes.CutPrefix(line, []byte("#error ")); failed {
			var text string
			if err := json.Unmarshal(trace, &text); err != nil {
				text = string(trace)
			}
			return nil, fmt.Errorf("oracle %v: %s", args, text)
		}
		if bytes.Equal(line, []byte("#ok")) {
			return lines, nil
		}
		lines = append(lines, line)
	}
}

func (o *Oracle) table(t testing.TB, input, command, warehouse, table string, args []string) []Row {
	t.Helper()
	lines, err := o.Call(input, append([]string{command, "--warehouse", warehouse, "--table", table}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]Row, len(lines))
	for i, l := range lines {
		if rows[i], err = parseRow(l); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// Rows reads a table (db.t, system tables as db.t$files): "--snapshot", "3",
// "--kinds", "--option", "k=v" choose what.
func (o *Oracle) Rows(t testing.TB, warehouse, table string, args ...string) []Row {
	t.Helper()
	return o.table(t, "", "rows", warehouse, table, args)
}

// Changelog reads the changes of all snapshots as a streaming reader: rows with
// _snapshot and _kind; "--from", "2", "--to", "9" bound it.
func (o *Oracle) Changelog(t testing.TB, warehouse, table string, args ...string) []Row {
	t.Helper()
	return o.table(t, "", "changelog", warehouse, table, args)
}

// Snapshots gives the snapshot files, oldest first.
func (o *Oracle) Snapshots(t testing.TB, warehouse, table string) []Row {
	t.Helper()
	return o.table(t, "", "snapshots", warehouse, table, nil)
}

// Files gives the manifest entries of a snapshot, statistics decoded.
func (o *Oracle) Files(t testing.TB, warehouse, table string, args ...string) []Row {
	t.Helper()
	return o.table(t, "", "files", warehouse, table, args)
}

// Schema gives the latest table schema.
func (o *Oracle) Schema(t testing.TB, warehouse, table string) Row {
	t.Helper()
	return o.table(t, "", "schema", warehouse, table, nil)[0]
}

// Count counts the rows of the latest snapshot.
func (o *Oracle) Count(t testing.TB, warehouse, table string, args ...string) int64 {
	t.Helper()
	return o.table(t, "", "count", warehouse, table, args)[0].Int("_count")
}

// Sum is the row count and the exact column sums of one snapshot.
type Sum struct {
	Snapshot int64
	Rows     int64
	// Sums holds one decimal text a column.
	Sums map[string]string
}

// Sums reads every retained snapshot as of itself: what an invariant over all
// of them needs, in one call.
func (o *Oracle) Sums(t testing.TB, warehouse, table string, columns []string, args ...string) []Sum {
	t.Helper()
	rows := o.table(t, "", "sum", warehouse, table, append([]string{"--columns", strings.Join(columns, ",")}, args...))
	out := make([]Sum, len(rows))
	for i, r := range rows {
		out[i] = sumOf(r, columns)
	}
	return out
}

func sumOf(r Row, columns []string) Sum {
	s := Sum{Snapshot: r.Int("_snapshot"), Rows: r.Int("_count"), Sums: map[string]string{}}
	for _, c := range columns {
		s.Sums[c] = r.Text(c)
	}
	return s
}

// LatestSum gives count and sums of the latest snapshot, for callers without a test.
func (o *Oracle) LatestSum(warehouse, table string, columns ...string) (Sum, error) {
	lines, err := o.Call("", "sum", "--warehouse", warehouse, "--table", table, "--columns", strings.Join(columns, ","), "--latest")
	if err != nil {
		return Sum{}, err
	}
	if len(lines) != 1 {
		return Sum{}, fmt.Errorf("summing up %s: %d lines", table, len(lines))
	}
	r, err := parseRow(lines[0])
	return sumOf(r, columns), err
}

// Create makes a table with Paimon: definition is the JSON the oracle's create takes.
func (o *Oracle) Create(t testing.TB, warehouse, table, definition string) {
	t.Helper()
	o.table(t, definition, "create", warehouse, table, nil)
}

// Write writes rows (NDJSON, with _kind) with Paimon and commits them as (user, id).
func (o *Oracle) Write(t testing.TB, warehouse, table, user string, id int64, ndjson string, args ...string) {
	t.Helper()
	_, err := o.Call(ndjson, append([]string{"write", "--warehouse", warehouse, "--table", table, "--user", user, "--id", strconv.FormatInt(id, 10)}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
}

// Compact compacts every bucket fully with Paimon.
func (o *Oracle) Compact(t testing.TB, warehouse, table string, args ...string) {
	t.Helper()
	o.table(t, "", "compact", warehouse, table, args)
}

// Expire expires snapshots by the table's options with Paimon.
func (o *Oracle) Expire(t testing.TB, warehouse, table string) {
	t.Helper()
	if _, err := o.Call("", "expire", "--warehouse", warehouse, "--table", table); err != nil {
		t.Fatal(err)
	}
}

// Python reads tables with PyPaimon.
type Python struct{ python, script string }

var sharedPython = sync.OnceValues(func() (*Python, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	p, s, err := MakeVenv(ctx)
	return &Python{python: p, script: s}, err
})

// PyPaimon gives the Python reader; the first call makes its environment.
func PyPaimon(t testing.TB) *Python {
	t.Helper()
	p, err := sharedPython()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Rows reads a table; options are scan options such as scan.snapshot-id=2.
func (p *Python) Rows(t testing.TB, warehouse, table string, options ...string) []Row {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.python, append([]string{p.script, warehouse, table}, options...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(errors.Join(fmt.Errorf("reading %s with PyPaimon: %w", table, err), errors.New(stderr.String())))
	}
	var rows []Row
	for line := range bytes.Lines(out) {
		r, err := parseRow(line)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}
