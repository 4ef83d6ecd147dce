package shell_test

import (
	"fmt"
	"testing"

	"leat/e2e/judge"
)

// TestJavaReadsInserts writes to tables of every kind by INSERT INTO and INSERT
// OVERWRITE, with writes of Java in between, and lets Java read the rows.
func TestJavaReadsInserts(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	const keyed = "(p INT, k INT, v STRING, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p)"
	for _, c := range []struct{ name, shape, options string }{
		{"append", "(p INT, k INT, v STRING) PARTITIONED BY (p)", ""},
		{"append_bucketed", "(p INT, k INT, v STRING) PARTITIONED BY (p)", "'bucket' = '2', 'bucket-key' = 'k'"},
		{"key", keyed, "'bucket' = '2'"},
		{"dynamic", keyed, ""},
		{"input", keyed, "'bucket' = '1', 'changelog-producer' = 'input'"},
		{"lookup", keyed, "'bucket' = '1', 'changelog-producer' = 'lookup'"},
		{"full", keyed, "'bucket' = '1', 'changelog-producer' = 'full-compaction'"},
		{"vectors", keyed, "'bucket' = '1', 'deletion-vectors.enabled' = 'true'"},
		{"first", keyed, "'bucket' = '1', 'merge-engine' = 'first-row', 'changelog-producer' = 'lookup'"},
		{"partial", keyed, "'bucket' = '1', 'merge-engine' = 'partial-update'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wh, table := t.TempDir(), "d."+c.name
			with := ""
			if c.options != "" {
				with = " WITH (" + c.options + ")"
			}
			run(t, wh, "CREATE DATABASE d; CREATE TABLE "+table+" "+c.shape+with)
			same := func(what string, rows int) {
				t.Helper()
				got := run(t, wh, "SELECT * FROM "+table)
				if d := judge.Diff("java", java.Rows(t, wh, table), "leat", got); d != "" || len(got) != rows {
					t.Errorf("%s: %d rows, want %d: %s", what, len(got), rows, d)
				}
			}
			byJava := func(id int64, row string) {
				t.Helper()
				java.Write(t, wh, table, "java", id, row)
				if c.name == "first" || c.name == "vectors" {
					// Readers see level 0 of these only after a compaction.
					run(t, wh, "CALL sys.compact('"+table+"')")
				}
			}
			run(t, wh, "INSERT INTO "+table+" VALUES (1, 1, 'a'), (1, 2, 'b'), (2, 1, 'c')")
			same("values", 3)
			byJava(1, `{"p":2,"k":5,"v":"java"}`)
			run(t, wh, fmt.Sprintf("INSERT INTO %s SELECT p, k + 10, UPPER(v) FROM %s WHERE p = 2", table, table))
			same("select", 6)
			run(t, wh, "INSERT OVERWRITE "+table+" VALUES (2, 7, 'only')")
			same("overwrite of a partition", 3)
			byJava(2, `{"p":2,"k":7,"v":"again"}`)
			rows := 3
			if c.name == "append" || c.name == "append_bucketed" {
				rows++
			}
			same("Java went on", rows)
			run(t, wh, "INSERT INTO "+table+" VALUES (3, 1, 'x')")
			same("a new partition", rows+1)
			run(t, wh, "INSERT OVERWRITE "+table+" /*+ OPTIONS('dynamic-partition-overwrite' = 'false') */ VALUES (1, 1, 'z')")
			same("overwrite of all", 1)
			run(t, wh, "INSERT INTO "+table+" VALUES (1, 2, 'y')")
			same("after it", 2)
		})
	}
}

// TestJavaReadsNestedInserts writes ARRAY, MAP and ROW as they are made in SQL, and lets
// Java read them.
func TestJavaReadsNestedInserts(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	wh := t.TempDir()
	run(t, wh, `CREATE DATABASE d; CREATE TABLE d.t (id INT, a ARRAY<BIGINT>, m MAP<STRING, DECIMAL(10, 2)>, r ROW<x INT, y ARRAY<STRING>>, n ARRAY<ROW<k INT, v MAP<INT, STRING>>>, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO d.t VALUES (1, ARRAY[1, NULL, 3000000000], MAP['b', 1.5, 'a', CAST(NULL AS DECIMAL(10, 2))], ROW(7, ARRAY['x', '']), ARRAY[ROW(1, MAP[2, 'two']), ROW(2, CAST(NULL AS MAP<INT, STRING>))]);
INSERT INTO d.t (id, a) VALUES (2, ARRAY_REMOVE(ARRAY[1], 1)), (3, CAST(NULL AS ARRAY<BIGINT>));
INSERT INTO d.t SELECT t.id + 10, ARRAY_APPEND(a, o), m, ROW(o, SPLIT(x, ',')), n FROM d.t CROSS JOIN UNNEST(r.y) WITH ORDINALITY AS u(x, o)`)
	got := run(t, wh, "SELECT * FROM d.t")
	if d := judge.Diff("java", java.Rows(t, wh, "d.t"), "leat", got); d != "" || len(got) != 4 {
		t.Errorf("%d rows: %s", len(got), d)
	}
}
