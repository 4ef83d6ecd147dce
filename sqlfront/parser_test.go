package sqlfront

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/diag"
)

func parseOne(t *testing.T, text string) Statement {
	t.Helper()
	s, err := Parse("a.sql", text, lookup)
	if err != nil || len(s.Statements) != 1 {
		t.Fatalf("%q: %d statements, %v", text, len(s.Statements), err)
	}
	return s.Statements[0]
}

func TestPlacesCountCharacters(t *testing.T) {
	t.Parallel()
	text := "\ufeff-- größe\r\n/* ü */ CREATE TABLE t (\r\n  a STRING COMMENT 'ä', `ö` INT) WITH ('é' = '${DB}');\r\n"
	c := parseOne(t, text).(*CreateTable)
	want := []diag.Pos{
		{File: "a.sql", Line: 2, Col: 9, Len: 6},
		{File: "a.sql", Line: 3, Col: 25, Len: 3},
		{File: "a.sql", Line: 3, Col: 40, Len: 3},
		{File: "a.sql", Line: 3, Col: 46, Len: 7},
	}
	got := []diag.Pos{c.Pos(), c.Columns[1].Name.At, c.Options[0].KeyPos, c.Options[0].ValuePos}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(c.Text(), "CREATE TABLE") || !strings.HasSuffix(c.Text(), "')") {
		t.Errorf("text %q", c.Text())
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	s := parseOne(t, "SET 'a' = 'x${PASSWORD}$${DB}$'").(*Set)
	if s.Value != "xs3cret${DB}$" || s.Raw != "'x${PASSWORD}$${DB}$'" {
		t.Errorf("value %q, raw %q", s.Value, s.Raw)
	}
	if text := Format(s); strings.Contains(text, "s3cret") {
		t.Errorf("the value of the variable is printed: %s", text)
	}
	for _, text := range []string{"SELECT `${NOPE}`", "-- ${NOPE}\nSELECT 1", "SELECT 1 /* ${NOPE} */"} {
		parseOne(t, text)
	}
	_, err := Parse("", "SET 'a' = '${DB}'", nil)
	var list diag.List
	if !errors.As(err, &list) || list[0].Code != diag.CodeUnsetVariable {
		t.Errorf("without variables: %v", err)
	}
}

func TestKeyAtColumn(t *testing.T) {
	t.Parallel()
	c := parseOne(t, "CREATE TABLE t (a INT NOT NULL CONSTRAINT c PRIMARY KEY NOT ENFORCED, b INT)").(*CreateTable)
	if c.PrimaryKey == nil || len(c.PrimaryKey.Columns) != 1 || c.PrimaryKey.Columns[0].Text != "a" {
		t.Fatalf("key %+v", c.PrimaryKey)
	}
	if got := c.Columns[0].Type; got.String() != "INT NOT NULL" || c.Columns[1].Type.Kind != columnar.Int || !c.Columns[1].Type.Nullable {
		t.Errorf("types %s, %s", got, c.Columns[1].Type)
	}
}

func TestOptionsGet(t *testing.T) {
	t.Parallel()
	c := parseOne(t, "CREATE CATALOG c WITH ('type'='a', 'type'='b')").(*CreateCatalog)
	if o, ok := c.Options.Get("type"); !ok || o.Value != "b" {
		t.Errorf("got %+v, %v", o, ok)
	}
	if _, ok := c.Options.Get("nope"); ok {
		t.Error("an option that is not there was found")
	}
}

// TestErrorsDoNotHideStatements checks that reading goes on behind the ";" of a
// statement with an error, and that a statement with an error is left out.
func TestErrorsDoNotHideStatements(t *testing.T) {
	t.Parallel()
	s, err := Parse("", "SELECT 1; SELECT FROM 'a;b' x; SELECT 2; SELECT == 1; SELECT 3", nil)
	var got []string
	for _, st := range s.Statements {
		got = append(got, st.Text())
	}
	if diff := cmp.Diff([]string{"SELECT 1", "SELECT 2", "SELECT 3"}, got); diff != "" {
		t.Error(diff)
	}
	var list diag.List
	if !errors.As(err, &list) || len(list) < 2 {
		t.Errorf("errors: %v", err)
	}
}

// TestHugeInput checks that neither depth nor length costs more than linear
// time or a stack.
func TestHugeInput(t *testing.T) {
	t.Parallel()
	const n = 30_000
	tests := map[string]string{
		"parentheses":  "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"not":          "SELECT " + strings.Repeat("NOT ", n) + "a",
		"case":         "SELECT " + strings.Repeat("CASE WHEN ", n),
		"types":        "CREATE TABLE t (a " + strings.Repeat("ARRAY<", n),
		"type suffix":  "CREATE TABLE t (a INT" + strings.Repeat(" ARRAY", n) + ")",
		"queries":      strings.Repeat("SELECT * FROM (", n),
		"sum":          "SELECT 1" + strings.Repeat(" + 1", n),
		"unions":       "SELECT 1" + strings.Repeat(" UNION SELECT 1", n),
		"joins":        "SELECT 1 FROM a" + strings.Repeat(", a", n),
		"json":         "SELECT " + strings.Repeat("JSON_VALUE(", 150) + "a" + strings.Repeat(", '$.a' RETURNING INT)", 151),
		"open strings": strings.Repeat("'", 2*n+1),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse("", text, nil); err == nil {
				t.Error("no error")
			}
		})
	}
	if s, err := Parse("", strings.Repeat("INSERT INTO a VALUES (1, 'x');\n", n), nil); err != nil || len(s.Statements) != n {
		t.Errorf("%d statements, %v", len(s.Statements), err)
	}
	values := "SELECT a FROM t WHERE a IN (1" + strings.Repeat(", 2", n) + ")"
	parseOne(t, values)
	parseOne(t, "SELECT "+strings.Repeat("JSON_VALUE(", 150)+"a"+strings.Repeat(", '$.a')", 150))
}

func TestWalkVisitsAll(t *testing.T) {
	t.Parallel()
	st := parseOne(t, `EXECUTE STATEMENT SET BEGIN INSERT INTO s PARTITION (p = c0) WITH q AS (SELECT c1 FROM t1)
SELECT c2 + CAST(c3 AS INT), CASE c4 WHEN c5 THEN c6 ELSE c7 END, F(c8) FILTER (WHERE c9) OVER (PARTITION BY c10 ORDER BY c11), ROW(c12, -c13)
FROM t2 FOR SYSTEM_TIME AS OF c14 JOIN (SELECT c15 FROM t3) AS d ON c16 = c17
WHERE c18 BETWEEN c19 AND c20 AND c21 IN (c22, (SELECT c23 FROM t4)) AND c24 LIKE c25 ESCAPE c26 AND EXISTS (VALUES (c27)) AND c28 NOT IN (TABLE t5)
GROUP BY c29 HAVING c30 UNION SELECT c31 FROM t6 ORDER BY c32 LIMIT c33 OFFSET c34; END`)
	var columns, tables []string
	queries := 0
	Walk(st, Visitor{
		Query: func(*Query) bool { queries++; return true },
		Table: func(ref TableRef) bool {
			if n, ok := ref.(*TableName); ok {
				tables = append(tables, n.Name.String())
			}
			return true
		},
		Expr: func(x Expr) bool {
			if i, ok := x.(*Ident); ok {
				columns = append(columns, i.String())
			}
			return true
		},
	})
	seen := map[string]bool{}
	for _, c := range columns {
		seen[c] = true
	}
	for i := range 35 {
		if name := fmt.Sprintf("c%d", i); !seen[name] {
			t.Errorf("%s was not visited", name)
		}
	}
	if diff := cmp.Diff([]string{"t1", "t2", "t3", "t4", "t6"}, tables); diff != "" || queries != 6 {
		t.Errorf("%d queries, tables %s", queries, diff)
	}
}

func TestLiteralTypes(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"1": "INT NOT NULL", "2147483648": "BIGINT NOT NULL", "0.05": "DECIMAL(3, 2) NOT NULL", "1e0": "DOUBLE NOT NULL",
		"'é'": "CHAR(1) NOT NULL", "x'00ff'": "BINARY(2) NOT NULL", "TRUE": "BOOLEAN NOT NULL", "DATE '2024-01-02'": "DATE NOT NULL",
		"TIMESTAMP '2024-01-02 03:04:05.12'": "TIMESTAMP(2) NOT NULL", "UNKNOWN": "BOOLEAN",
	}
	for text, want := range tests {
		q := parseOne(t, "SELECT "+text).(*QueryStatement).Query
		if got := q.Body.(*Select).Items[0].Expr.(*Literal).Type().String(); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
