package job_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"leat/configs"
	"leat/internal/connect/builtin"
	"leat/internal/diag"
	"leat/internal/job"
	"leat/internal/query"
	"leat/planner"
	"leat/sqlfront"
)

const statementsFile = "testdata/statements.tsv"

// TestStatements runs the statements of testdata/statements.tsv, those of one
// context in one session, and compares the outcome: OK, or the first error. The
// third column is what Flink's client said of the same statement, with its own
// planner or Paimon's catalog; leat differs where docs/sql.md says so.
func TestStatements(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(statementsFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	var run *statementRunner
	for i, line := range lines[1:] {
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			t.Fatalf("line %d has %d columns", i+2, len(f))
		}
		if run == nil || run.context != f[0] {
			run = newStatementRunner(t, f[0])
		}
		got := run.outcome(t.Context(), f[1])
		if got != f[3] && !rewriting() {
			t.Errorf("%s: %s\n got %s\nwant %s", f[0], f[1], got, f[3])
		}
		lines[i+1] = strings.Join([]string{f[0], f[1], f[2], got}, "\t")
	}
	if rewriting() {
		if err := os.WriteFile(statementsFile, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// rewriting reports whether the flag -rewrite of the data-driven tests is set.
func rewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// statementRunner is the session of one context.
type statementRunner struct {
	context, warehouse string
	session            *planner.Session
	out                *query.Printer
}

func newStatementRunner(t *testing.T, name string) *statementRunner {
	t.Helper()
	r := &statementRunner{context: name, warehouse: t.TempDir()}
	env := planner.Env{Registry: builtin.All(), Lake: builtin.Lake(), OpenLake: job.OpenLake, Settings: configs.Values{"table.local-time-zone": {Text: "UTC"}}}
	if strings.HasSuffix(name, "-plan") {
		env.Warehouse = r.warehouse
	}
	var err error
	if r.session, err = planner.NewSession(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if r.out, err = query.NewPrinter(io.Discard, "csv"); err != nil {
		t.Fatal(err)
	}
	if env.Warehouse == "" {
		return r
	}
	var columns []string
	for i, typ := range []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "CHAR(3)", "VARCHAR(3)", "STRING", "BINARY(3)", "BYTES", "DATE", "TIME",
		"TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", "ARRAY<INT>", "MAP<STRING, INT>", "ROW<x INT, y STRING>",
	} {
		columns = append(columns, fmt.Sprintf("c%d %s", i, typ))
		r.must(t, fmt.Sprintf("CREATE TABLE s%d (c %s)", i, typ))
	}
	r.must(t, "CREATE TABLE src ("+strings.Join(columns, ", ")+")")
	r.must(t, "CREATE TABLE src2 (c INT)")
	return r
}

func (r *statementRunner) must(t *testing.T, text string) {
	t.Helper()
	if got := r.outcome(t.Context(), text); got != "OK" {
		t.Fatalf("%s: %s", text, got)
	}
}

// outcome carries a statement out: OK, or code and text of the first error.
func (r *statementRunner) outcome(ctx context.Context, text string) string {
	script, err := sqlfront.Parse("-e", strings.ReplaceAll(text, "/w/", r.warehouse+"/"), nil)
	if err == nil {
		for _, st := range script.Statements {
			var result *planner.Result
			if result, err = r.session.Next(ctx, st); err != nil {
				break
			}
			if result.Plan != nil {
				return "a job"
			}
			if err = job.Apply(ctx, result.Steps, r.out); err != nil {
				break
			}
		}
	}
	if err == nil {
		return "OK"
	}
	var l diag.List
	l.Add(err)
	msg, _, _ := strings.Cut(l[0].Msg, "\n")
	return strings.ReplaceAll(fmt.Sprintf("%s %s", l[0].Code, msg), r.warehouse, "WAREHOUSE")
}
