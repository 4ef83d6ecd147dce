package planner_test

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"leat/configs"
	"leat/internal/connect/builtin"
	"leat/internal/diag"
	"leat/internal/job"
	"leat/planner"
	"leat/sqlfront"
)

// TestPlans runs testdata/*.txt. Commands:
//
//	plan     plan the script, print notices, DDL steps and the plan; or its errors as a user sees them
//	apply    plan the script and carry out its DDL in the warehouse of the file
//
// ${WAREHOUSE} is a folder of the test; its path is printed as WAREHOUSE.
func TestPlans(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			warehouse := t.TempDir()
			datadriven.RunTest(t, f, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				out := run(t, d.Cmd, d.Input, warehouse)
				return strings.ReplaceAll(out, warehouse, "WAREHOUSE")
			})
		})
	}
}

func run(t *testing.T, cmd, text, warehouse string) string {
	t.Helper()
	vars := func(name string) (string, bool) {
		if name == "WAREHOUSE" {
			return warehouse, true
		}
		return "", false
	}
	var b strings.Builder
	fail := func(err error) string {
		diag.Render(&b, err, func(string) (string, bool) { return text, true })
		return b.String()
	}
	script, err := sqlfront.Parse("test.sql", text, vars)
	if err != nil {
		return fail(err)
	}
	r, err := planner.Build(t.Context(), script, planner.Env{Registry: builtin.All(), Lake: builtin.Lake(), OpenLake: job.OpenLake, Settings: configs.Values{}})
	if err != nil {
		return fail(err)
	}
	if cmd == "apply" {
		if err := job.Apply(t.Context(), r.Steps, nil); err != nil {
			return fail(err)
		}
	}
	print(&b, r)
	return b.String()
}

var stepNames = map[planner.StepKind]string{
	planner.StepAlter: "alter", planner.StepRenameTable: "rename table", planner.StepDropTable: "drop table", planner.StepDropDatabase: "drop database",
	planner.StepDropPartitions: "drop partitions of", planner.StepTruncate: "truncate", planner.StepCall: "call", planner.StepSelect: "select from", planner.StepRows: "rows",
}

func print(b *strings.Builder, r *planner.Result) {
	for _, n := range r.Notices {
		fmt.Fprintf(b, "notice %s %s\n", n.Pos, n.Msg)
	}
	for _, s := range r.Steps {
		if s.Kind != planner.StepCreate {
			fmt.Fprintf(b, "step: %s %s.%s.%s %+v\n", stepNames[s.Kind], s.Catalog, s.Database, s.Table, s.Changes)
			continue
		}
		if s.Table == "" {
			fmt.Fprintf(b, "step: create database %s.%s\n", s.Catalog, s.Database)
			continue
		}
		opts := make([]string, 0, len(s.Schema.Options))
		for k, v := range s.Schema.Options {
			opts = append(opts, k+"="+v)
		}
		sort.Strings(opts)
		fmt.Fprintf(b, "step: create table %s.%s.%s %v\n", s.Catalog, s.Database, s.Table, opts)
	}
	for _, text := range r.Explained {
		b.WriteString(text)
	}
	if r.Plan != nil {
		fmt.Fprintf(b, "job %s\n%s", r.Plan.Name, r.Plan.Explain())
	}
}
