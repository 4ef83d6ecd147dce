package job_test

import (
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// goldenTable is a golden table with all its rows, read without a condition.
type goldenTable struct {
	warehouse, name string
	// columns are those of types that conditions are drawn for first; types go with all.
	all, columns []string
	types        map[string]string
	rows         []map[string]any
}

func readGoldenTables(t *testing.T) []*goldenTable {
	t.Helper()
	dirs, err := filepath.Glob("../../lakehouse/testdata/golden/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("golden tables: %v", err)
	}
	var out []*goldenTable
	for _, dir := range dirs {
		raw, err := os.ReadFile(filepath.Join(dir, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		var g struct{ Tables map[string]golden }
		decode(t, raw, &g)
		warehouse, err := filepath.Abs(filepath.Join(dir, "wh"))
		if err != nil {
			t.Fatal(err)
		}
		for name := range g.Tables {
			table := &goldenTable{warehouse: warehouse, name: "db.`" + name + "`", types: map[string]string{}}
			for _, c := range parseLines(t, table.query(t, "DESCRIBE "+table.name)) {
				column, typ := c["name"].(string), c["type"].(string)
				table.all = append(table.all, column)
				table.types[column] = typ
				head, _, _ := strings.Cut(typ, "(")
				if slices.Contains([]string{"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "CHAR", "VARCHAR", "STRING", "DATE", "TIMESTAMP"}, head) {
					table.columns = append(table.columns, column)
				}
			}
			table.rows = parseLines(t, table.query(t, "SELECT * FROM "+table.name))
			out = append(out, table)
		}
	}
	return out
}

func (g *goldenTable) query(t *testing.T, text string) string {
	t.Helper()
	out, err := shell(t.Context(), g.warehouse, "ndjson", text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// condition is a condition as text and as what it says of a row: TRUE, FALSE or nil.
type condition struct {
	text string
	test func(row map[string]any) *bool
}

func (g *goldenTable) drawCondition(r *rapid.T, depth int) condition {
	if depth > 0 && rapid.IntRange(0, 2).Draw(r, "node") > 0 {
		a, b := g.drawCondition(r, depth-1), g.drawCondition(r, depth-1)
		switch rapid.SampledFrom([]string{"AND", "OR", "NOT"}).Draw(r, "logic") {
		case "AND":
			return condition{"(" + a.text + " AND " + b.text + ")", func(row map[string]any) *bool { return decided(false, a.test(row), b.test(row)) }}
		case "OR":
			return condition{"(" + a.text + " OR " + b.text + ")", func(row map[string]any) *bool { return decided(true, a.test(row), b.test(row)) }}
		default:
			return condition{"(NOT " + a.text + ")", func(row map[string]any) *bool {
				if v := a.test(row); v != nil {
					return new(!*v)
				}
				return nil
			}}
		}
	}
	c := rapid.SampledFrom(g.columns).Draw(r, "column")
	quoted := "`" + c + "`"
	number := strings.Contains(g.types[c], "INT") || strings.HasPrefix(g.types[c], "DECIMAL")
	op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">=", "IS NULL", "IS NOT NULL", "IN"}).Draw(r, "operator")
	if strings.HasPrefix(op, "IS") {
		return condition{quoted + " " + op, func(row map[string]any) *bool { return new((row[c] == nil) == (op == "IS NULL")) }}
	}
	literal := func() (string, any) {
		v := g.rows[rapid.IntRange(0, len(g.rows)-1).Draw(r, "row")][c]
		if v == nil {
			return "CAST(NULL AS " + strings.TrimSuffix(g.types[c], " NOT NULL") + ")", nil
		}
		text := strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(v), "'", "''"), "\x00", "")
		if strings.HasPrefix(g.types[c], "TIMESTAMP") {
			text = strings.TrimSuffix(strings.Replace(text, "T", " ", 1), "Z")
		}
		if strings.Contains(g.types[c], "CHAR") { // a cast pads
			return "'" + text + "'", v
		}
		return "CAST('" + text + "' AS " + g.types[c] + ")", v
	}
	if op == "IN" {
		t1, v1 := literal()
		t2, v2 := literal()
		return condition{quoted + " IN (" + t1 + ", " + t2 + ")", func(row map[string]any) *bool {
			return decided(true, compared("=", number, row[c], v1), compared("=", number, row[c], v2))
		}}
	}
	text, v := literal()
	return condition{quoted + " " + op + " " + text, func(row map[string]any) *bool { return compared(op, number, row[c], v) }}
}

// decided is OR with by TRUE and AND with by FALSE.
func decided(by bool, a, b *bool) *bool {
	switch {
	case a != nil && *a == by, b != nil && *b == by:
		return new(by)
	case a == nil || b == nil:
		return nil
	default:
		return new(!by)
	}
}

func compared(op string, number bool, a, b any) *bool {
	if a == nil || b == nil {
		return nil
	}
	c := strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	if number {
		x, okX := new(big.Rat).SetString(fmt.Sprint(a))
		y, okY := new(big.Rat).SetString(fmt.Sprint(b))
		if !okX || !okY {
			panic(fmt.Sprintf("no numbers: %v, %v", a, b))
		}
		c = x.Cmp(y)
	}
	switch op {
	case "=":
		return new(c == 0)
	case "<>":
		return new(c != 0)
	case "<":
		return new(c < 0)
	case "<=":
		return new(c <= 0)
	case ">":
		return new(c > 0)
	default:
		return new(c >= 0)
	}
}

// TestSelectsOfGoldenTables compares random columns and conditions, read natively and
// by DuckDB, with a plain filter over all rows.
func TestSelectsOfGoldenTables(t *testing.T) {
	t.Parallel()
	tables := readGoldenTables(t)
	tables = slices.DeleteFunc(tables, func(g *goldenTable) bool { return len(g.rows) == 0 || len(g.columns) == 0 })
	if len(tables) < 20 {
		t.Fatalf("%d golden tables have rows", len(tables))
	}
	rapid.Check(t, func(r *rapid.T) {
		g := tables[rapid.IntRange(0, len(tables)-1).Draw(r, "table")]
		cond := g.drawCondition(r, 2)
		columns := rapid.SliceOfNDistinct(rapid.SampledFrom(g.all), 1, min(4, len(g.all)), rapid.ID[string]).Draw(r, "columns")
		var want []map[string]any
		for _, row := range g.rows {
			if v := cond.test(row); v == nil || !*v {
				continue
			}
			part := map[string]any{}
			for _, c := range columns {
				part[c] = row[c]
			}
			want = append(want, part)
		}
		list := "`" + strings.Join(columns, "`, `") + "`"
		for _, text := range []string{
			"SELECT " + list + " FROM " + g.name + " WHERE " + cond.text,
			"SELECT " + list + " FROM (SELECT * FROM " + g.name + ") WHERE " + cond.text,
		} {
			if d := cmp.Diff(canonicalRows(want), canonicalRows(parseLines(t, g.query(t, text)))); d != "" {
				r.Errorf("%s: %s (-want +got):\n%s", g.warehouse, text, d)
			}
		}
		text := fmt.Sprintf("SELECT COUNT(*) AS n FROM (SELECT * FROM %s) WHERE %s", g.name, cond.text)
		if got := parseLines(t, g.query(t, text)); fmt.Sprint(got[0]["n"]) != fmt.Sprint(len(want)) {
			r.Errorf("%s: %v in place of %d", text, got, len(want))
		}
	})
}

// TestCountsOfGoldenTables counts the rows of every golden table: most numbers come
// from the metadata of files, the others from merging.
func TestCountsOfGoldenTables(t *testing.T) {
	t.Parallel()
	counted := 0
	for _, g := range readGoldenTables(t) {
		for _, text := range []string{"SELECT COUNT(*) AS n FROM " + g.name, "SELECT n FROM (SELECT COUNT(*) AS n, 1 AS one FROM " + g.name + ")"} {
			if got := parseLines(t, g.query(t, text)); fmt.Sprint(got[0]["n"]) != fmt.Sprint(len(g.rows)) {
				t.Errorf("%s: %s: %v in place of %d", g.warehouse, text, got, len(g.rows))
			}
		}
		if len(g.rows) > 0 {
			counted++
		}
	}
	if counted < 20 {
		t.Errorf("%d tables have rows", counted)
	}
}
