package shell_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"leat/e2e/judge"
)

// kept is what a snapshot has to give for ever.
type kept struct {
	snapshot int64
	rows     []judge.Row
}

// evolving is a table that Java writes to while leat changes its columns.
type evolving struct {
	t         *testing.T
	warehouse string
	rnd       *rand.Rand
	java      *judge.Oracle
	// columns are the types by name, in order of the table; k is the key.
	names []string
	types map[string]string
	next  int
	kept  []kept
}

// TestRandomSchemaChanges changes columns between commits: every snapshot reads
// as it was, and the newest with the columns of today, by leat and by Java.
func TestRandomSchemaChanges(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	for seed := range uint64(3) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			e := &evolving{
				t: t, warehouse: t.TempDir(), java: java, rnd: rand.New(rand.NewPCG(seed, 7)),
				names: []string{"k", "c0", "c1"}, types: map[string]string{"k": "INT", "c0": "INT", "c1": "STRING"}, next: 2,
			}
			run(t, e.warehouse, `CREATE DATABASE d; CREATE TABLE d.t (k INT, c0 INT, c1 STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2')`)
			e.write(1)
			for round := range 6 {
				for range 1 + e.rnd.IntN(3) {
					e.change()
				}
				e.write(int64(round + 2))
			}
			e.check()
		})
	}
}

var wider = map[string][]string{
	"TINYINT": {"SMALLINT", "INT", "BIGINT"}, "SMALLINT": {"INT", "BIGINT"}, "INT": {"BIGINT"}, "FLOAT": {"DOUBLE"},
	"DECIMAL(8, 2)": {"DECIMAL(12, 2)", "DECIMAL(14, 4)"}, "VARCHAR(5)": {"VARCHAR(20)", "STRING"}, "TIMESTAMP(3)": {"TIMESTAMP(6)"},
}

// change makes one random change by ALTER TABLE.
func (e *evolving) change() {
	e.t.Helper()
	free := e.names[1:]
	pick := ""
	if i := slices.Index(e.names, "k"); len(e.names) > 1 {
		others := slices.Delete(slices.Clone(e.names), i, i+1)
		free, pick = others, others[e.rnd.IntN(len(others))]
	}
	switch op := e.rnd.IntN(6); {
	case op == 0 || len(free) < 2:
		all := []string{"TINYINT", "SMALLINT", "INT", "FLOAT", "DECIMAL(8, 2)", "VARCHAR(5)", "TIMESTAMP(3)", "STRING", "DATE", "BOOLEAN"}
		name, typ := fmt.Sprintf("c%d", e.next), all[e.rnd.IntN(len(all))]
		e.next++
		e.alter(fmt.Sprintf("ADD %s %s", name, typ) + e.place(name))
		e.types[name] = typ
	case op == 1:
		e.alter("DROP " + pick)
		e.names = slices.DeleteFunc(e.names, func(n string) bool { return n == pick })
		delete(e.types, pick)
	case op == 2:
		name := fmt.Sprintf("r%d", e.next)
		e.next++
		e.alter("RENAME " + pick + " TO " + name)
		e.names[slices.Index(e.names, pick)] = name
		e.types[name] = e.types[pick]
		delete(e.types, pick)
	case op == 3:
		e.names = slices.DeleteFunc(e.names, func(n string) bool { return n == pick })
		e.alter("MODIFY " + pick + " " + e.types[pick] + e.place(pick))
	case op == 4 && len(wider[e.types[pick]]) > 0:
		to := wider[e.types[pick]]
		e.types[pick] = to[e.rnd.IntN(len(to))]
		e.alter("MODIFY " + pick + " " + e.types[pick] + " COMMENT 'wider'")
	default:
		// A name that was dropped comes back as a new column.
		name := fmt.Sprintf("c%d", e.rnd.IntN(e.next))
		if _, there := e.types[name]; !there {
			e.alter("ADD (" + name + " BIGINT COMMENT 'again')")
			e.names, e.types[name] = append(e.names, name), "BIGINT"
		}
	}
}

// place puts a column somewhere, in the model too.
func (e *evolving) place(name string) string {
	switch i := e.rnd.IntN(3); i {
	case 0:
		e.names = slices.Insert(e.names, 0, name)
		return " FIRST"
	case 1:
		after := e.rnd.IntN(len(e.names))
		e.names = slices.Insert(e.names, after+1, name)
		return " AFTER " + e.names[after]
	default:
		// Last: after the one that is last now.
		last := e.names[len(e.names)-1]
		e.names = append(e.names, name)
		return " AFTER " + last
	}
}

func (e *evolving) alter(text string) {
	e.t.Helper()
	run(e.t, e.warehouse, "ALTER TABLE d.t "+text)
}

// write commits a few rows with Java and remembers what the snapshot gives.
func (e *evolving) write(id int64) {
	e.t.Helper()
	var lines []string
	for range 4 {
		row := map[string]any{"k": e.rnd.IntN(8)}
		for name, typ := range e.types {
			if name != "k" && e.rnd.IntN(5) > 0 {
				row[name] = e.value(typ)
			}
		}
		b, err := json.Marshal(row)
		if err != nil {
			e.t.Fatal(err)
		}
		lines = append(lines, string(b))
	}
	e.java.Write(e.t, e.warehouse, "d.t", "writer", id, strings.Join(lines, "\n"), "--wait")
	snaps := e.java.Snapshots(e.t, e.warehouse, "d.t")
	last := snaps[len(snaps)-1].Int("id")
	e.kept = append(e.kept, kept{snapshot: last, rows: e.java.Rows(e.t, e.warehouse, "d.t", "--snapshot", strconv.FormatInt(last, 10))})
}

func (e *evolving) value(typ string) any {
	n := e.rnd.IntN(100)
	switch {
	case strings.HasPrefix(typ, "DECIMAL"):
		return fmt.Sprintf("%d.25", n)
	case strings.HasPrefix(typ, "TIMESTAMP"):
		return fmt.Sprintf("2026-01-02T03:04:%02d.%03d", n%60, n)
	case typ == "DATE":
		return fmt.Sprintf("2026-02-%02d", 1+n%28)
	case typ == "BOOLEAN":
		return n%2 == 0
	case typ == "FLOAT" || typ == "DOUBLE":
		return float64(n) + 0.5
	case typ == "STRING" || strings.HasPrefix(typ, "VARCHAR"):
		return fmt.Sprint("v", n)
	default:
		return n
	}
}

func (e *evolving) check() {
	e.t.Helper()
	for _, k := range e.kept {
		id := strconv.FormatInt(k.snapshot, 10)
		got := run(e.t, e.warehouse, "SELECT * FROM d.t /*+ OPTIONS('scan.snapshot-id' = '"+id+"') */")
		if d := judge.Diff("java then", k.rows, "leat", got); d != "" {
			e.t.Errorf("snapshot %s: %s", id, d)
		}
		if d := judge.Diff("java then", k.rows, "java now", e.java.Rows(e.t, e.warehouse, "d.t", "--snapshot", id)); d != "" {
			e.t.Errorf("snapshot %s: %s", id, d)
		}
	}
	if d := judge.Diff("java", e.java.Rows(e.t, e.warehouse, "d.t"), "leat", run(e.t, e.warehouse, "SELECT * FROM d.t")); d != "" {
		e.t.Errorf("latest: %s", d)
	}
	var names []string
	for _, r := range run(e.t, e.warehouse, "DESCRIBE d.t") {
		names = append(names, r.Text("name"))
	}
	if !slices.Equal(names, e.names) {
		e.t.Errorf("columns %v, want %v", names, e.names)
	}
}
