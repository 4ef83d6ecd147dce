package query_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/catalog"
	"leat/internal/columnar"
	"leat/internal/expr"
	"leat/internal/fileio/local"
	"leat/internal/fileio/recordfs"
	"leat/internal/query"
)

// sample is a table with all its rows, and the texts of values that its columns hold.
type sample struct {
	open    func(ctx context.Context) (*query.Source, error)
	columns *columnar.Schema
	texts   [][]string
}

// TestFiltersOverGoldenTables draws columns and filters for every golden table at
// every snapshot: the rows are those that the same filter keeps of a full read.
func TestFiltersOverGoldenTables(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob("../../lakehouse/testdata/golden/*/wh/*.db/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("golden tables: %v", err)
	}
	samples := map[string][]sample{}
	for _, dir := range dirs {
		samples[dir] = samplesOf(t, dir)
	}
	// Several checks at once, each of as many filters as -rapid.checks says.
	for part := range 4 {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := rapid.SampledFrom(samples[rapid.SampledFrom(dirs).Draw(t, "table")]).Draw(t, "snapshot")
				filter := drawFilter(t, s, 2)
				columns, exprs := drawColumns(t, s.columns)
				want := rowsOf(t, s, &query.Select{Exprs: append(slices.Clone(exprs), filter), Limit: -1}, true)
				got := rowsOf(t, s, &query.Select{Columns: columns, Exprs: exprs, Filter: filter, Limit: -1}, false)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("WHERE %s:\n%s", expr.String(filter), diff)
				}
			})
		})
	}
}

// samplesOf opens the table at dir at the latest snapshot and at each that it keeps.
func samplesOf(t *testing.T, dir string) []sample {
	t.Helper()
	warehouse, err := filepath.Abs(filepath.Dir(filepath.Dir(dir)))
	if err != nil {
		t.Fatal(err)
	}
	database, table := strings.TrimSuffix(filepath.Base(filepath.Dir(dir)), ".db"), filepath.Base(dir)
	snapshots, err := filepath.Glob(filepath.Join(dir, "snapshot", "snapshot-*"))
	if err != nil {
		t.Fatal(err)
	}
	options := []map[string]string{nil}
	for _, f := range snapshots {
		options = append(options, map[string]string{"scan.snapshot-id": strings.TrimPrefix(filepath.Base(f), "snapshot-")})
	}
	fs := local.New()
	w := &query.Warehouse{FS: fs, Catalog: catalog.New(fs, warehouse)}
	var out []sample
	for _, o := range options {
		s := sample{open: func(ctx context.Context) (*query.Source, error) { return query.Open(ctx, w, database, table, o) }}
		src, err := s.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.columns = src.Schema
		s.texts = textsOf(t, src)
		out = append(out, s)
	}
	return out
}

// textsOf gives the values of every column that has a text which casts back.
func textsOf(t *testing.T, src *query.Source) [][]string {
	t.Helper()
	sets := make([]map[string]bool, len(src.Schema.Fields))
	sel := query.Select{Source: src, Columns: &columnar.Schema{}, Limit: -1}
	var at []int
	for i, f := range src.Schema.Fields {
		sets[i] = map[string]bool{}
		if f.Type.IsNested() || f.Type.IsBytes() {
			continue
		}
		e, err := expr.Cast(expr.Column(i, f.Type), columnar.StringType(), true)
		if err != nil {
			continue
		}
		at = append(at, i)
		sel.Exprs = append(sel.Exprs, e)
		sel.Columns.Fields = append(sel.Columns.Fields, columnar.Field{ID: i, Name: f.Name, Type: columnar.StringType()})
	}
	err := sel.Run(t.Context(), func(b *columnar.Batch) error {
		for k, i := range at {
			for r := range b.Rows() {
				if !b.Cols[k].IsNull(r) {
					sets[i][b.Cols[k].ValueStr(r)] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]string, len(sets))
	for i, s := range sets {
		out[i] = slices.Sorted(maps.Keys(s))
	}
	return out
}

func drawColumns(t *rapid.T, schema *columnar.Schema) (*columnar.Schema, []expr.Expr) {
	out, exprs := &columnar.Schema{}, []expr.Expr{}
	for i, f := range schema.Fields {
		if rapid.Bool().Draw(t, "take "+f.Name) {
			out.Fields = append(out.Fields, f)
			exprs = append(exprs, expr.NamedColumn(i, f.Name, f.Type))
		}
	}
	return out, exprs
}

func drawFilter(t *rapid.T, s sample, depth int) expr.Expr {
	if depth > 0 {
		switch op := rapid.SampledFrom([]string{"AND", "AND", "OR", "NOT", ""}).Draw(t, "logic"); op {
		case "AND", "OR":
			return call(t, op, drawFilter(t, s, depth-1), drawFilter(t, s, depth-1))
		case "NOT":
			return call(t, op, drawFilter(t, s, depth-1))
		}
	}
	i := rapid.IntRange(0, len(s.columns.Fields)-1).Draw(t, "column")
	f := s.columns.Fields[i]
	column := expr.NamedColumn(i, f.Name, f.Type)
	op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">=", "IN", "IN", "BETWEEN", "IS NULL", "IS NOT NULL"}).Draw(t, "comparison")
	if len(s.texts[i]) == 0 && op != "IS NOT NULL" {
		op = "IS NULL"
	}
	constant := func() expr.Expr {
		text := rapid.SampledFrom(s.texts[i]).Draw(t, "value")
		e, err := expr.Cast(expr.LitString(text), f.Type, true)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	switch op {
	case "IS NULL", "IS NOT NULL":
		return call(t, op, column)
	case "IN", "BETWEEN":
		return call(t, op, column, constant(), constant())
	default:
		if rapid.Bool().Draw(t, "constant first") {
			return call(t, op, constant(), column)
		}
		return call(t, op, column, constant())
	}
}

func call(t *rapid.T, name string, args ...expr.Expr) expr.Expr {
	e, err := expr.Call(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// rowsOf runs a query and gives its rows as sorted texts; filtered keeps those whose
// last column is TRUE, without that column.
func rowsOf(t *rapid.T, s sample, sel *query.Select, filtered bool) []string {
	src, err := s.open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	sel.Source = src
	if sel.Columns == nil {
		sel.Columns = &columnar.Schema{Fields: make([]columnar.Field, len(sel.Exprs))}
		for i, e := range sel.Exprs {
			sel.Columns.Fields[i] = columnar.Field{ID: i, Name: fmt.Sprint("c", i), Type: e.Type()}
		}
	}
	rows := []string{}
	err = sel.Run(context.Background(), func(b *columnar.Batch) error {
		for r := range b.Rows() {
			cols := b.Cols
			if filtered {
				cols = cols[:len(cols)-1]
				if verdict := b.Cols[len(cols)]; verdict.IsNull(r) || verdict.ValueStr(r) != "true" {
					continue
				}
			}
			rows = append(rows, rowText(cols, r))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return rows
}

func rowText(cols []arrow.Array, r int) string {
	var b strings.Builder
	for _, c := range cols {
		fmt.Fprintf(&b, "%s|", c.ValueStr(r))
	}
	return b.String()
}

// TestFiltersLeaveFilesOut lists the data files that a query with a filter opens:
// one bucket for a key, one partition for its value, none for a value beyond all.
func TestFiltersLeaveFilesOut(t *testing.T) {
	t.Parallel()
	warehouse, err := filepath.Abs("../../lakehouse/testdata/golden/append_partitioned_bucketed/wh")
	if err != nil {
		t.Fatal(err)
	}
	// The table holds dt (STRING, partition), id (BIGINT, bucket-key) and v (DOUBLE).
	dt := expr.NamedColumn(0, "dt", columnar.StringType())
	id := expr.NamedColumn(1, "id", columnar.DataType{Kind: columnar.BigInt, Nullable: true})
	for _, c := range []struct {
		op          string
		left, right expr.Expr
		files       int
	}{
		{"=", dt, expr.LitString("2026-01-01"), 1},
		{"=", dt, expr.LitString("2026-01-02"), 2},
		{"<", expr.LitString("2026-01-01"), dt, 2},
		{"=", id, expr.LitInt(3), 1},
		{">", id, expr.LitBigInt(3), 0},
		{"IS NULL", dt, nil, 0},
	} {
		fs := recordfs.New(local.New(), recordfs.Options{Reads: true})
		w := &query.Warehouse{FS: fs, Catalog: catalog.New(fs, warehouse)}
		src, err := query.Open(t.Context(), w, "db", "t", nil)
		if err != nil {
			t.Fatal(err)
		}
		args := []expr.Expr{c.left}
		if c.right != nil {
			args = append(args, c.right)
		}
		filter, err := expr.Call(c.op, args...)
		if err != nil {
			t.Fatal(err)
		}
		sel := query.Select{Source: src, Columns: src.Schema, Exprs: []expr.Expr{dt, id}, Filter: filter, Limit: -1}
		if err := sel.Run(t.Context(), func(*columnar.Batch) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(fs.Take(), "/data-"); got != c.files {
			t.Errorf("%s opens %d files, want %d", expr.String(filter), got, c.files)
		}
	}
}
