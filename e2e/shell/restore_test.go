package shell_test

import (
	"fmt"
	"strings"
	"testing"

	"leat/e2e/judge"
)

// TestRestoredStates brings earlier states back on top of later ones, lets Java
// write on, both sides expire, and reads the table by both after each step.
func TestRestoredStates(t *testing.T) {
	t.Parallel()
	java, wh := judge.Java(t), t.TempDir()
	run(t, wh, `CREATE DATABASE d; CREATE TABLE d.t (dt STRING, k INT, v STRING, PRIMARY KEY (dt, k) NOT ENFORCED) PARTITIONED BY (dt)
		WITH ('bucket' = '2', 'write-only' = 'true', 'deletion-vectors.enabled' = 'false', 'snapshot.num-retained.min' = '1', 'snapshot.num-retained.max' = '2', 'snapshot.time-retained' = '1 ms')`)
	id := int64(0)
	write := func() []judge.Row {
		t.Helper()
		id++
		var lines []string
		for k := range 4 {
			lines = append(lines, fmt.Sprintf(`{"dt":"2026-01-0%d","k":%d,"v":"v%d"}`, 1+id%2, k+int(id), id))
		}
		java.Write(t, wh, "d.t", "writer", id, strings.Join(lines, "\n"))
		return java.Rows(t, wh, "d.t")
	}
	same := func(what string, want []judge.Row) {
		t.Helper()
		if d := judge.Diff("wanted", want, "java", java.Rows(t, wh, "d.t")); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		if d := judge.Diff("wanted", want, "leat", run(t, wh, "SELECT * FROM d.t")); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		for _, system := range []string{"snapshots", "files", "partitions", "tags"} {
			if d := judge.Diff("java", java.Rows(t, wh, "d.t$"+system), "leat", run(t, wh, "SELECT * FROM d.`t$"+system+"`")); d != "" {
				t.Errorf("%s: $%s: %s", what, system, d)
			}
		}
	}
	first := write()
	write()
	run(t, wh, "CALL sys.compact('d.t')")
	third := write()
	run(t, wh, "CALL sys.create_tag('d.t', 'kept')")
	write()
	got := run(t, wh, "CALL sys.rollback_to_as_latest(`table` => 'd.t', snapshot_id => 1)")
	if len(got) != 1 || got[0].Int("previous_snapshot_id") != 5 || got[0].Int("rolled_back_snapshot_id") != 1 || got[0].Int("current_snapshot_id") != 6 {
		t.Fatalf("result %v", got)
	}
	same("first state back", first)
	run(t, wh, "CALL sys.rollback_to_as_latest('d.t', 'kept')")
	same("tagged state back", third)
	run(t, wh, "CALL sys.rollback_to_as_latest('d.t', '', 1)")
	same("first state back again", first)
	tag := run(t, wh, "SELECT tag_name FROM d.`t$tags` WHERE tag_name LIKE 'rollback-to-as-latest-1-%'")
	if len(tag) != 2 {
		t.Fatalf("tags %v", tag)
	}
	run(t, wh, "CALL sys.delete_tag('d.t', '"+tag[0].Text("tag_name")+"')")
	if _, err := try(t, wh, "CALL sys.delete_tag('d.t', '"+tag[1].Text("tag_name")+"')"); err == nil || !strings.Contains(err.Error(), "brought back") {
		t.Errorf("deleting the tag that keeps files gives %v", err)
	}
	last := write()
	same("Java wrote on", last)
	if _, err := java.Call("", "expire", "--warehouse", wh, "--table", "d.t"); err != nil {
		t.Fatal(err)
	}
	same("Java expired", last)
	last = write()
	run(t, wh, "CALL sys.expire_snapshots('d.t', 1, 1, TIMESTAMP '2100-01-01 00:00:00')")
	same("leat expired", last)
	run(t, wh, "CALL sys.delete_tag('d.t', '"+tag[1].Text("tag_name")+"'); CALL sys.remove_orphan_files('d.t')")
	same("cleaned up", last)
	run(t, wh, "CALL sys.compact('d.t')")
	same("compacted", last)
}

// TestRescaledTables writes rows into another number of buckets: Java reads the
// same rows, no changelog tells of them, and it writes on.
func TestRescaledTables(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	for name, options := range map[string]string{
		"deduplicate": `'changelog-producer' = 'input'`,
		"vectors":     `'deletion-vectors.enabled' = 'true'`,
		"lookup":      `'changelog-producer' = 'lookup'`,
		"partial":     `'merge-engine' = 'partial-update'`,
		"sums":        `'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum'`,
		"first":       `'merge-engine' = 'first-row'`,
		"ordered":     `'sequence.field' = 'n'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wh := t.TempDir()
			run(t, wh, `CREATE DATABASE d; CREATE TABLE d.t (dt STRING, k INT, n INT, v STRING, PRIMARY KEY (dt, k) NOT ENFORCED) PARTITIONED BY (dt) WITH ('bucket' = '1', `+options+`)`)
			id := int64(0)
			write := func() {
				id++
				var lines []string
				for k := range 12 {
					lines = append(lines, fmt.Sprintf(`{"dt":"p%d","k":%d,"n":%d,"v":"v%d"}`, k%2, k, id, id))
				}
				java.Write(t, wh, "d.t", "writer", id, strings.Join(lines, "\n"), "--wait")
			}
			write()
			write()
			before, changes := java.Rows(t, wh, "d.t"), java.Changelog(t, wh, "d.t")
			run(t, wh, "ALTER TABLE d.t SET ('bucket' = '3'); CALL sys.rescale('d.t'); CALL sys.rescale('d.t', 3, 'dt=p1')")
			after := java.Rows(t, wh, "d.t")
			if d := judge.Diff("before", before, "after", after); d != "" {
				t.Error(d)
			}
			if d := judge.Diff("java", after, "leat", run(t, wh, "SELECT * FROM d.t")); d != "" {
				t.Error(d)
			}
			if d := judge.Diff("before", changes, "after", java.Changelog(t, wh, "d.t")); d != "" {
				t.Errorf("changelog: %s", d)
			}
			buckets := run(t, wh, "SELECT bucket FROM d.`t$buckets`")
			if len(buckets) < 4 {
				t.Errorf("buckets %v", buckets)
			}
			write()
			if d := judge.Diff("java", java.Rows(t, wh, "d.t"), "leat", run(t, wh, "SELECT * FROM d.t")); d != "" {
				t.Errorf("written on: %s", d)
			}
		})
	}
}
