package sqlfront

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leat/internal/diag"
)

// verdict tells how the front end takes a statement.
type verdict string

const (
	taken    verdict = "taken"
	noticed  verdict = "taken with a notice" // that Flink refuses it
	notRun   verdict = "read, not run"       // an Unsupported node somewhere
	refusal  verdict = "refused as unsupported"
	misspelt verdict = "refused"
)

func judge(text string) (verdict, error) {
	s, err := Parse("", text, nil)
	var list diag.List
	if errors.As(err, &list) {
		if list[0].Code == diag.CodeUnsupported {
			return refusal, err
		}
		return misspelt, err
	}
	if err != nil {
		return misspelt, err
	}
	v := taken
	for _, n := range s.Notices {
		if n.Portable {
			v = noticed
		}
	}
	visitor := Visitor{
		Table: func(t TableRef) bool {
			if _, ok := t.(*UnsupportedTable); ok {
				v = notRun
			}
			return true
		},
		Expr: func(x Expr) bool {
			if _, ok := x.(*UnsupportedExpr); ok {
				v = notRun
			}
			return true
		},
	}
	for _, st := range s.Statements {
		if _, ok := st.(*Unsupported); ok {
			v = notRun
		}
		Walk(st, visitor)
	}
	return v, nil
}

// rows reads a file of lines "text<tab>outcome".
func rows(t *testing.T, name string) [][2]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var list [][2]string
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
		text, outcome, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("no tab in %q", line)
		}
		list = append(list, [2]string{text, outcome})
	}
	return list
}

// refusedOnPurpose are statements that Flink takes and leat refuses: Flink clamps
// the precision or reads something else than what is written.
var refusedOnPurpose = map[string]bool{
	"CREATE TABLE fl16 (a STRING, d DECIMAL(50,2))": true,
	"CREATE TABLE fl17 (a TIMESTAMP(12))":           true,
	"CAST('2024-01-01 00:00:00' AS TIMESTAMP(10))":  true,
	"0x1F":  true,
	"1_000": true,
}

// takenOnPurpose are statements that Flink cannot parse and leat takes without a
// portability notice, or that its planner refuses.
var takenOnPurpose = map[string]bool{
	"DESCRIBE FUNCTION UPPER": true,
	// Measured behind "SELECT"; on its own it runs, as measured.tsv says.
	"WITH q AS (SELECT s FROM n) SELECT * FROM q": true,
}

// TestMeasuredStatements compares with what Flink 1.20.3 and Paimon 1.3.1 did
// with the same statements.
func TestMeasuredStatements(t *testing.T) {
	t.Parallel()
	for _, row := range rows(t, "measured.tsv") {
		text, outcome := row[0], row[1]
		v, err := judge(text)
		switch {
		case refusedOnPurpose[text]:
			if v != misspelt {
				t.Errorf("%s\n is %s, want an error", text, v)
			}
		case outcome == "OK" && v != taken && v != notRun:
			t.Errorf("%s\n runs on Flink and is %s: %v", text, v, err)
		case strings.Contains(outcome, "ParseException") && v == taken && !takenOnPurpose[text]:
			t.Errorf("%s\n is a parse error in Flink and is taken without a word", text)
		case strings.HasPrefix(outcome, "ERR ") && !strings.Contains(outcome, "Parse") && v == misspelt && !plannerErrors[text]:
			t.Errorf("%s\n parses in Flink (%s) and is refused here: %v", text, outcome, err)
		}
	}
}

// plannerErrors are statements that Flink refuses after parsing and leat while parsing.
var plannerErrors = map[string]bool{
	"EXPLAIN AST SELECT s FROM n":                     true,
	"CREATE TABLE x8 (a INT, b INT, PRIMARY KEY (a))": true,
	"CREATE TABLE x18 (a INT UNIQUE)":                 true,
	"CREATE TABLE fl27 (a DATETIME)":                  true,
	"CREATE TABLE fl28 (a TEXT)":                      true,
	"INSERT INTO dwd_order_detail (order_id, order_amount, dt) VALUES (4, 12345678901234567.999, '2026-07-06')": true,
}

// TestMeasuredExpressions does the same for expressions and queries.
func TestMeasuredExpressions(t *testing.T) {
	t.Parallel()
	for _, row := range rows(t, "vectors.tsv") {
		text, outcome := row[0], row[1]
		query := text
		if first, _, _ := strings.Cut(text, " "); first != "SELECT" && first != "WITH" {
			query = "SELECT " + text
		}
		v, err := judge(query)
		switch {
		case refusedOnPurpose[text]:
			if v != misspelt {
				t.Errorf("%s\n is %s, want an error", text, v)
			}
		case outcome == "OK" && v != taken && v != notRun:
			t.Errorf("%s\n runs on Flink and is %s: %v", text, v, err)
		case outcome == "ERR:parse" && v == taken && !takenOnPurpose[text]:
			t.Errorf("%s\n is a parse error in Flink and is taken without a word", text)
		}
	}
}

// TestGuideScripts reads the scripts of a production guide as people paste them.
func TestGuideScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/guide/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	want := map[string]int{
		"append_table.sql": 1, "maintenance.sql": 2, "pk_table.sql": 1, "reconcile.sql": 2, "session.sql": 14, "session_optional.sql": 4, "time_travel.sql": 1,
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(file, string(text), nil)
		if err != nil || len(s.Notices) != 0 {
			t.Errorf("%s: %v, notices %v", file, err, s.Notices)
		}
		if got := len(s.Statements); got != want[filepath.Base(file)] {
			t.Errorf("%s: %d statements, want %d", file, got, want[filepath.Base(file)])
		}
	}
}
