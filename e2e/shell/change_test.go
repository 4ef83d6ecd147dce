package shell_test

import (
	"fmt"
	"slices"
	"testing"

	"leat/e2e/judge"
)

// TestJavaReadsUpdatesAndDeletes changes tables of every kind by UPDATE and DELETE,
// with writes of Java in between, and lets Java read rows and changelog.
func TestJavaReadsUpdatesAndDeletes(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	const keyed = "(p INT, k INT, v STRING, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p)"
	for _, c := range []struct{ name, shape, options string }{
		{"key", keyed, "'bucket' = '2'"},
		{"dynamic", keyed, "'file.format' = 'orc'"},
		{"input", keyed, "'bucket' = '1', 'changelog-producer' = 'input'"},
		{"lookup", keyed, "'bucket' = '1', 'changelog-producer' = 'lookup', 'file.format' = 'avro'"},
		{"full", keyed, "'bucket' = '1', 'changelog-producer' = 'full-compaction'"},
		{"vectors", keyed, "'bucket' = '1', 'deletion-vectors.enabled' = 'true'"},
		{"partial", keyed, "'bucket' = '1', 'merge-engine' = 'partial-update', 'partial-update.remove-record-on-delete' = 'true', 'changelog-producer' = 'lookup'"},
		{
			"groups", "(p INT, k INT, g INT, v STRING, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p)",
			"'bucket' = '1', 'merge-engine' = 'partial-update', 'fields.g.sequence-group' = 'v', 'partial-update.remove-record-on-sequence-group' = 'g', 'changelog-producer' = 'input'",
		},
		{"sequence", "(p INT, k INT, v STRING, s INT, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p)", "'bucket' = '1', 'sequence.field' = 's', 'changelog-producer' = 'lookup'"},
		{"moving", "(p INT, k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) PARTITIONED BY (p)", "'changelog-producer' = 'input'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wh, table := t.TempDir(), "d."+c.name
			run(t, wh, "CREATE DATABASE d; CREATE TABLE "+table+" "+c.shape+" WITH ("+c.options+")")
			more, first := "", ""
			switch c.name {
			case "groups":
				more, first = `,"g":1`, "1, "
			case "sequence":
				more = `,"s":5`
			}
			last := map[string]string{"sequence": ", 5"}[c.name]
			row := func(p, k int, v string) string { return fmt.Sprintf("(%d, %d, %s'%s'%s)", p, k, first, v, last) }
			expect := func(what string, want ...string) {
				t.Helper()
				rows := java.Rows(t, wh, table)
				got := make([]string, len(rows))
				for i, r := range rows {
					got[i] = fmt.Sprintf("%d/%d %s", r.Int("p"), r.Int("k"), r.Text("v"))
				}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("%s: Java reads %q, want %q", what, got, want)
				}
				if d := judge.Diff("java", rows, "leat", run(t, wh, "SELECT * FROM "+table)); d != "" {
					t.Errorf("%s: %s", what, d)
				}
			}
			run(t, wh, "INSERT INTO "+table+" VALUES "+row(1, 1, "a")+", "+row(1, 2, "b")+", "+row(2, 3, "c")+", "+row(2, 4, "d"))
			run(t, wh, "UPDATE "+table+" SET v = v || '!' WHERE k <> 2")
			expect("update", "1/1 a!", "1/2 b", "2/3 c!", "2/4 d!")
			if c.name != "key" && c.name != "dynamic" && c.name != "vectors" {
				foldsToRows(t, java, wh, table)
			}
			if c.name == "moving" { // which Java writes with Flink alone
				run(t, wh, "INSERT INTO "+table+" VALUES (2, 5, 'java'), (2, 4, 'java')")
			} else {
				java.Write(t, wh, table, "java", 1, `{"p":2,"k":5,"v":"java"`+more+"}\n"+`{"p":2,"k":4,"v":"java"`+more+`}`)
			}
			run(t, wh, "DELETE FROM "+table+" WHERE v = 'java' AND k = 5 OR p = 1 AND k = 1")
			expectAfter := []string{"1/2 b", "2/3 c!", "2/4 java"}
			if c.name == "vectors" {
				run(t, wh, "CALL sys.compact('"+table+"')")
			}
			expect("delete", expectAfter...)
			run(t, wh, "UPDATE "+table+" SET v = 'again' WHERE p = 2")
			run(t, wh, "INSERT INTO "+table+" VALUES "+row(1, 1, "back"))
			expect("insert of a deleted key", "1/1 back", "1/2 b", "2/3 again", "2/4 again")
			if c.name == "moving" {
				run(t, wh, "UPDATE "+table+" SET p = 3 WHERE k = 3")
				expect("another partition", "1/1 back", "1/2 b", "2/4 again", "3/3 again")
			}
			switch c.name {
			case "lookup", "partial", "sequence", "full": // else Java's row of a known key is a plain +I
				foldsToRows(t, java, wh, table)
			}
			run(t, wh, "DELETE FROM "+table)
			expect("delete of all")
		})
	}
}

// foldsToRows replays the changelog, as Java reads it, and compares what is left.
func foldsToRows(t *testing.T, java *judge.Oracle, wh, table string) {
	t.Helper()
	rows, err := judge.Fold(java.Changelog(t, wh, table), "p", "k")
	if err != nil {
		t.Fatal(err)
	}
	if d := judge.Diff("rows", java.Rows(t, wh, table), "changelog", rows); d != "" {
		t.Error(d)
	}
}
