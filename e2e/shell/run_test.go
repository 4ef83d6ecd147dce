package shell_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"leat/configs"
	"leat/e2e/judge"
	"leat/internal/connect"
	"leat/internal/connect/builtin"
	"leat/internal/job"
	"leat/internal/query"
	"leat/planner"
	"leat/sqlfront"
)

// run carries statements out as `leat shell --output ndjson -e` does.
func run(t testing.TB, warehouse, text string) []judge.Row {
	t.Helper()
	out, err := try(t, warehouse, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func try(t testing.TB, warehouse, text string) ([]judge.Row, error) {
	t.Helper()
	env := planner.Env{Registry: connect.NewRegistry(), Lake: builtin.Lake(), OpenLake: job.OpenLake, Warehouse: warehouse, Settings: configs.Values{"table.local-time-zone": {Text: "UTC"}}}
	session, err := planner.NewSession(t.Context(), env)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	out, err := query.NewPrinter(&b, "ndjson")
	if err != nil {
		return nil, err
	}
	script, err := sqlfront.Parse("-e", text, nil)
	if err != nil {
		return nil, err
	}
	for _, st := range script.Statements {
		r, err := session.Next(t.Context(), st)
		if err != nil {
			return nil, err
		}
		if err := job.Apply(t.Context(), r.Steps, out); err != nil {
			return nil, err
		}
	}
	var rows []judge.Row
	for line := range strings.Lines(b.String()) {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var r judge.Row
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func absolute(t testing.TB, path string) string {
	t.Helper()
	p, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
