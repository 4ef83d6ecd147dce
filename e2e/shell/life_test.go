package shell_test

import (
	"fmt"
	"strings"
	"testing"

	"leat/e2e/judge"
)

// TestJavaReadsWhatStatementsLeave carries maintenance out by SQL on a table that
// Java writes to, and lets Java read tags, branches and the table after each step.
func TestJavaReadsWhatStatementsLeave(t *testing.T) {
	t.Parallel()
	java, wh := judge.Java(t), t.TempDir()
	run(t, wh, `CREATE DATABASE d; CREATE TABLE d.t (dt STRING, k INT, v STRING, PRIMARY KEY (dt, k) NOT ENFORCED) PARTITIONED BY (dt)
		WITH ('bucket' = '1', 'write-only' = 'true')`)
	id := int64(0)
	write := func(args ...string) {
		t.Helper()
		var lines []string
		id++
		for _, dt := range []string{"2026-01-01", "2026-01-02"} {
			lines = append(lines, fmt.Sprintf(`{"dt":%q,"k":%d,"v":"v%d"}`, dt, id%3, id))
		}
		java.Write(t, wh, "d.t", "writer", id, strings.Join(lines, "\n"), args...)
	}
	same := func(what, table string, args ...string) {
		t.Helper()
		hint := ""
		if len(args) == 2 {
			k, v, _ := strings.Cut(args[1], "=")
			hint = fmt.Sprintf(" /*+ OPTIONS('%s' = '%s') */", k, v)
		}
		if d := judge.Diff("java", java.Rows(t, wh, "d."+table, args...), "leat", run(t, wh, "SELECT * FROM d.`"+table+"`"+hint)); d != "" {
			t.Errorf("%s: %s: %s", what, table, d)
		}
	}
	all := func(what string) {
		t.Helper()
		for _, table := range []string{"t", "t$tags", "t$branches", "t$snapshots", "t$partitions", "t$files", "t$consumers"} {
			same(what, table)
		}
	}
	for range 4 {
		write()
	}
	run(t, wh, "CALL sys.create_tag('d.t', 'two', 2); CALL sys.create_tag(`table` => 'd.t', tag => 'kept', time_retained => '1 d')")
	all("tags")
	same("tags", "t", "--option", "scan.tag-name=two")
	run(t, wh, "CALL sys.create_branch('d.t', 'dev', 'two')")
	same("branch", "t$branch_dev")
	java.Write(t, wh, "d.t$branch_dev", "dev", 1, `{"dt":"2026-01-03","k":9,"v":"on dev"}`)
	same("branch written", "t$branch_dev")
	if got := run(t, wh, "CALL sys.compact('d.t')"); len(got) != 1 || got[0].Text("result") != "Success" {
		t.Errorf("compact gives %v", got)
	}
	all("compacted")
	if got := run(t, wh, "CALL sys.expire_snapshots('d.t', 1, 1, TIMESTAMP '2100-01-01 00:00:00')"); got[0].Int("result") != 4 {
		t.Errorf("expired %v, want 4", got)
	}
	all("expired")
	same("expired", "t", "--option", "scan.tag-name=two")
	same("expired", "t$branch_dev")
	write()
	write()
	all("Java wrote on")
	run(t, wh, "ALTER TABLE d.t DROP PARTITION (dt = '2026-01-02')")
	all("partition dropped")
	if rows := java.Rows(t, wh, "d.t"); len(rows) != 3 {
		t.Errorf("%d rows are left, want 3", len(rows))
	}
	run(t, wh, "CALL sys.compact_manifest('d.t')")
	all("manifests compacted")
	if got := run(t, wh, "CALL sys.rollback_to('d.t', 6)"); got[0].Int("current_snapshot_id") != 6 || got[0].Int("previous_snapshot_id") != 9 {
		t.Errorf("rollback gives %v", got)
	}
	all("rolled back")
	write()
	all("Java wrote after the rollback")
	write()
	run(t, wh, "CALL sys.reset_consumer('d.t', 'c', 7); CALL sys.rename_tag('d.t', 'kept', 'still')")
	all("consumer")
	if _, err := try(t, wh, "CALL sys.delete_tag('d.t', 'two')"); err == nil || !strings.Contains(err.Error(), "branch dev") {
		t.Errorf("deleting the tag of a branch gives %v", err)
	}
	run(t, wh, "CALL sys.fast_forward('d.t', 'dev')")
	all("fast-forwarded")
	write()
	all("Java wrote after the fast-forward")
	run(t, wh, "CALL sys.delete_branch('d.t', 'dev'); CALL sys.delete_tag('d.t', 'two'); CALL sys.remove_orphan_files('d.t')")
	all("cleaned up")
	run(t, wh, "TRUNCATE TABLE d.t")
	all("truncated")
	if n := java.Count(t, wh, "d.t"); n != 0 {
		t.Errorf("%d rows are left of a truncated table", n)
	}
}
