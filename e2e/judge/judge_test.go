package judge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/e2e/judge"
)

const warehouse, table = "testdata/wh", "db.t"

// TestReadersAgree reads a table that Paimon wrote with both readers and folds
// its changelog: three ways to the same rows.
func TestReadersAgree(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	want := []judge.Row{{"id": json.Number("1"), "v": "a2"}, {"id": json.Number("3"), "v": "c3"}}
	if d := judge.Diff("expected", want, "java", java.Rows(t, warehouse, table)); d != "" {
		t.Error(d)
	}
	if d := judge.Diff("expected", want, "pypaimon", judge.PyPaimon(t).Rows(t, warehouse, table)); d != "" {
		t.Error(d)
	}
	folded, err := judge.Fold(java.Changelog(t, warehouse, table), "id")
	if err != nil {
		t.Fatal(err)
	}
	if d := judge.Diff("expected", want, "changelog", folded); d != "" {
		t.Error(d)
	}
	if n := java.Count(t, warehouse, table); n != 2 {
		t.Errorf("Count = %d, want 2", n)
	}
}

func TestSumsOfAllSnapshots(t *testing.T) {
	t.Parallel()
	want := []judge.Sum{
		{Snapshot: 1, Rows: 2, Sums: map[string]string{"id": "3"}},
		{Snapshot: 2, Rows: 3, Sums: map[string]string{"id": "6"}},
		{Snapshot: 3, Rows: 2, Sums: map[string]string{"id": "4"}},
	}
	if d := cmp.Diff(want, judge.Java(t).Sums(t, warehouse, table, []string{"id"})); d != "" {
		t.Errorf("sums (-want +got):\n%s", d)
	}
	if n := len(judge.Java(t).Snapshots(t, warehouse, table)); n != 3 {
		t.Errorf("%d snapshots, want 3", n)
	}
}

func TestOracleWritesAndReportsErrors(t *testing.T) {
	t.Parallel()
	java, wh := judge.Java(t), t.TempDir()
	java.Create(t, wh, "d.t", `{"fields":[{"name":"k","type":"BIGINT NOT NULL"},{"name":"v","type":"DECIMAL(10, 2)"}],"primaryKeys":["k"],"options":{"bucket":"1"}}`)
	java.Write(t, wh, "d.t", "u", 1, `{"k":1,"v":"1.50"}`+"\n"+`{"k":2,"v":"2.25"}`)
	java.Write(t, wh, "d.t", "u", 2, `{"_kind":"-D","k":1,"v":"1.50"}`)
	java.Compact(t, wh, "d.t")
	java.Expire(t, wh, "d.t")
	if got := judge.Lines(java.Rows(t, wh, "d.t")); cmp.Diff([]string{`{"k":2,"v":"2.25"}`}, got) != "" {
		t.Errorf("rows %v", got)
	}
	if f := java.Files(t, wh, "d.t"); len(f) != 1 || f[0].Int("rows") != 1 {
		t.Errorf("files %v", f)
	}
	if s := java.Schema(t, wh, "d.t"); s.Int("highestFieldId") != 1 {
		t.Errorf("schema %v", s)
	}
	if _, err := java.Call("", "rows", "--warehouse", wh, "--table", "d.none"); err == nil || !strings.Contains(err.Error(), "TableNotExist") {
		t.Errorf("a missing table gives %v", err)
	}
}

func TestSourceRowsUseTheReadersForm(t *testing.T) {
	t.Parallel()
	s := judge.MySQL(t)
	judge.Exec(t, s, "CREATE DATABASE judge", `CREATE TABLE judge.t (a INT, b BIGINT UNSIGNED, c DECIMAL(10,2), d DATETIME(3), e DATE,
		f VARCHAR(10), g VARBINARY(10), h DOUBLE, i TINYINT, j TEXT, k BLOB, l TIMESTAMP(6))`,
		`INSERT INTO judge.t VALUES (-1, 18446744073709551615, 1.5, '2026-01-02 03:04:05.678', '2026-01-02', 'ä', x'00ff', 0.25, 7, 'x', 'y', '2026-01-02 03:04:05.678901')`,
		"INSERT INTO judge.t (a) VALUES (NULL)")
	got := judge.Lines(judge.SourceRows(t, s, "SELECT * FROM judge.t"))
	want := []string{
		`{"a":-1,"b":"18446744073709551615","c":"1.50","d":"2026-01-02T03:04:05.678","e":"2026-01-02","f":"ä","g":"00ff","h":0.25,"i":7,"j":"x","k":"79","l":"2026-01-02T03:04:05.678901"}`,
		`{"a":null,"b":null,"c":null,"d":null,"e":null,"f":null,"g":null,"h":null,"i":null,"j":null,"k":null,"l":null}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
}

func TestFoldRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	row := func(kind, v string) judge.Row { return judge.Row{"_kind": kind, "id": json.Number("1"), "v": v} }
	for name, changes := range map[string][]judge.Row{
		"the row is there already":  {row("+I", "a"), row("+I", "a")},
		"the row is not there":      {row("-D", "a")},
		"the row has other values":  {row("+I", "a"), row("-U", "b")},
		"the row is there already:": {row("+I", "a"), row("+U", "b")},
	} {
		if _, err := judge.Fold(changes, "id"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	rows, err := judge.Fold([]judge.Row{row("+I", "a"), row("-U", "a"), row("+U", "b"), row("-D", "b"), row("+I", "c")}, "id")
	if err != nil || len(rows) != 1 || rows[0].Text("v") != "c" {
		t.Errorf("rows %v, %v", rows, err)
	}
}

func TestDiffCountsDuplicates(t *testing.T) {
	t.Parallel()
	a := judge.Row{"id": json.Number("1")}
	if d := judge.Diff("w", []judge.Row{a}, "g", []judge.Row{a, a}); !strings.Contains(d, "only in g: 1") {
		t.Errorf("diff %q", d)
	}
	if d := judge.Diff("w", []judge.Row{{"x": json.Number("1.0")}}, "g", []judge.Row{{"x": json.Number("1")}}); d != "" {
		t.Errorf("1.0 and 1 differ: %s", d)
	}
}
