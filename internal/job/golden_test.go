package job_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/connect/builtin"
	"leat/internal/job"
	"leat/internal/query"
	"leat/planner"
	"leat/sqlfront"
)

// shell runs statements as `leat shell` does and gives what it prints.
func shell(ctx context.Context, warehouse, format, text string) (string, error) {
	var b bytes.Buffer
	err := shellTo(ctx, &b, warehouse, format, text)
	return b.String(), err
}

// shellTo runs statements as `leat shell` does, which prints to w.
func shellTo(ctx context.Context, w io.Writer, warehouse, format, text string) error {
	env := planner.Env{Registry: connect.NewRegistry(), Lake: builtin.Lake(), OpenLake: job.OpenLake, Warehouse: warehouse, Settings: configs.Values{"table.local-time-zone": {Text: "UTC"}}}
	session, err := planner.NewSession(ctx, env)
	if err != nil {
		return err
	}
	out, err := query.NewPrinter(w, format)
	if err != nil {
		return err
	}
	script, err := sqlfront.Parse("-e", text, nil)
	if err != nil {
		return err
	}
	for _, st := range script.Statements {
		r, err := session.Next(ctx, st)
		if err != nil {
			return err
		}
		for _, e := range r.Explained {
			if err := out.Text(e); err != nil {
				return err
			}
		}
		if err := job.Apply(ctx, r.Steps, out); err != nil {
			return err
		}
	}
	return nil
}

type golden struct {
	RowsLatest     []map[string]any            `json:"rows_latest"`
	RowsAtSnapshot map[string][]map[string]any `json:"rows_at_snapshot"`
}

func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %.200s", err, b)
	}
}

// canonical gives a row as text with numbers in one form.
func canonical(v any) string {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return fmt.Sprint(f)
		}
		return v.String()
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+"="+canonical(v[k]))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, canonical(x))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case string:
		return fmt.Sprintf("%q", v)
	default:
		return fmt.Sprint(v)
	}
}

func canonicalRows(rows []map[string]any) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = canonical(r)
	}
	slices.Sort(out)
	return out
}

func parseLines(t *testing.T, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(text) {
		var row map[string]any
		decode(t, []byte(line), &row)
		out = append(out, row)
	}
	return out
}

// TestGoldenTablesByShell reads every golden table at every snapshot, tag and
// branch by SELECT and compares with what Paimon's reader gave.
func TestGoldenTablesByShell(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob("../../lakehouse/testdata/golden/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("golden tables: %v", err)
	}
	for _, dir := range dirs {
		raw, err := os.ReadFile(filepath.Join(dir, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		var all struct {
			Tables         map[string]golden
			Tags, Branches map[string][]map[string]any
		}
		decode(t, raw, &all)
		warehouse, err := filepath.Abs(filepath.Join(dir, "wh"))
		if err != nil {
			t.Fatal(err)
		}
		for name, g := range all.Tables {
			t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
				t.Parallel()
				compareTable(t, warehouse, name, g)
				for tag, want := range all.Tags {
					compareRows(t, warehouse, name, want, map[string]string{"scan.tag-name": tag})
					compareRows(t, warehouse, name, want, map[string]string{"scan.version": tag})
				}
				for branch, want := range all.Branches {
					compareRows(t, warehouse, name+"$branch_"+branch, want, nil)
					compareRows(t, warehouse, name, want, map[string]string{"branch": branch})
				}
			})
		}
	}
}

func compareTable(t *testing.T, warehouse, name string, g golden) {
	t.Helper()
	if g.RowsLatest != nil {
		compareRows(t, warehouse, name, g.RowsLatest, nil)
	}
	for id, want := range g.RowsAtSnapshot {
		compareRows(t, warehouse, name, want, map[string]string{"scan.snapshot-id": id})
		compareRows(t, warehouse, name, want, map[string]string{"scan.version": id})
	}
}

func compareRows(t *testing.T, warehouse, name string, want []map[string]any, options map[string]string) {
	t.Helper()
	hint := ""
	for k, v := range options {
		hint = fmt.Sprintf(" /*+ OPTIONS('%s' = '%s') */", k, v)
	}
	out, err := shell(t.Context(), warehouse, "ndjson", fmt.Sprintf("SELECT * FROM db.`%s`%s", name, hint))
	if err != nil {
		t.Fatalf("%s%s: %v", name, hint, err)
	}
	if d := cmp.Diff(canonicalRows(want), canonicalRows(parseLines(t, out))); d != "" {
		t.Errorf("%s%s (-want +got):\n%s", name, hint, d)
	}
}
