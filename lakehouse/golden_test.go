package lakehouse_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio/local"
	"leat/lakehouse"
)

type goldenTable struct {
	RowsLatest     []map[string]json.RawMessage            `json:"rows_latest"`
	RowsAtSnapshot map[string][]map[string]json.RawMessage `json:"rows_at_snapshot"`
	Changelog      []map[string]json.RawMessage            `json:"changelog"`
}

// readAll gives the rendered rows of a scan, sorted.
func readAll(t tester, tab *lakehouse.Table, o lakehouse.ScanOptions) (*columnar.Schema, []string) {
	t.Helper()
	plan, err := tab.ScanPlan(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	rows := []string{}
	err = tab.Scan(t.Context(), o, func(b *columnar.Batch) error {
		rows = append(rows, renderRows(b)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return plan.Schema, rows
}

// want renders expected rows in the columns of s, sorted.
func want(t testing.TB, rows []map[string]json.RawMessage, s *columnar.Schema, kind bool) []string {
	t.Helper()
	out := make([]string, 0, len(rows))
	for _, r := range rows {
		var cells []string
		if kind {
			cells = append(cells, expected(t, r["_kind"], columnar.StringType()))
		}
		for _, f := range s.Fields {
			raw, ok := r[f.Name]
			if !ok {
				t.Fatalf("expected rows have no column %s", f.Name)
			}
			cells = append(cells, expected(t, raw, f.Type))
		}
		out = append(out, strings.Join(cells, "|"))
	}
	slices.Sort(out)
	return out
}

// shownColumns are the columns to compare: the golden files show VARIANT as JSON.
func shownColumns(fields []columnar.Field) []string {
	var out []string
	for _, f := range fields {
		if f.Type.Kind != columnar.Variant {
			out = append(out, f.Name)
		}
	}
	return out
}

func TestGoldenTables(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no golden tables: %v", err)
	}
	for _, dir := range dirs {
		raw, err := os.ReadFile(filepath.Join(dir, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		var all struct{ Tables map[string]goldenTable }
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
		for name, g := range all.Tables {
			t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
				t.Parallel()
				path, err := filepath.Abs(filepath.Join(dir, "wh", "db.db", name))
				if err != nil {
					t.Fatal(err)
				}
				tab, err := lakehouse.Open(t.Context(), local.New(), path)
				if err != nil {
					t.Fatal(err)
				}
				checkGolden(t, tab, g)
			})
		}
	}
}

func checkGolden(t *testing.T, tab *lakehouse.Table, g goldenTable) {
	t.Helper()
	schema, got := readAll(t, tab, lakehouse.ScanOptions{Columns: shownColumns(tab.Schema.Fields)})
	if diff := cmp.Diff(want(t, g.RowsLatest, schema, false), got); diff != "" {
		t.Errorf("latest snapshot (-want +got):\n%s", diff)
	}
	for id, rows := range g.RowsAtSnapshot {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		o := lakehouse.ScanOptions{Snapshot: n}
		plan, err := tab.ScanPlan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		o.Columns = shownColumns(plan.Schema.Fields)
		schema, got := readAll(t, tab, o)
		if diff := cmp.Diff(want(t, rows, schema, false), got); diff != "" {
			t.Errorf("snapshot %s (-want +got):\n%s", id, diff)
		}
	}
	if g.Changelog == nil || len(shownColumns(tab.Schema.Fields)) < len(tab.Schema.Fields) || tab.Schema.ID > 0 {
		return
	}
	perSnapshot := map[string][]map[string]json.RawMessage{}
	for _, r := range g.Changelog {
		id := string(r["_snapshot"])
		perSnapshot[id] = append(perSnapshot[id], r)
	}
	for id := range g.RowsAtSnapshot {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		got := readChangelog(t.Context(), t, tab, n)
		if diff := cmp.Diff(want(t, perSnapshot[id], tab.Schema.Columns(), true), got); diff != "" {
			t.Errorf("changelog of snapshot %s (-want +got):\n%s", id, diff)
		}
	}
}

// Manifests of other formats are read, and told apart before files are written.
func TestOtherManifestFormatsAreNotWritten(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"t8", "t9"} {
		path, err := filepath.Abs(filepath.Join("testdata/golden/stats_and_thin/wh/db.db", name))
		if err != nil {
			t.Fatal(err)
		}
		tab, err := lakehouse.Open(t.Context(), local.New(), path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tab.NewWriter(t.Context(), lakehouse.WriteConfig{Attempt: "a"})
		var refused *diag.Error
		if !errors.As(err, &refused) || refused.Option != "manifest.format" {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// readChangelog gives the rendered changes of a snapshot, sorted; never nil.
func readChangelog(ctx context.Context, t testing.TB, tab *lakehouse.Table, id int64) []string {
	t.Helper()
	got := []string{}
	err := tab.ReadChangelog(ctx, id, func(b *columnar.Batch) error {
		got = append(got, renderRows(b)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	return got
}
