package shell_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"leat/e2e/judge"
)

// goldenDirs are warehouses that Java wrote, a case each; cases picks some.
func goldenDirs(t *testing.T, cases ...string) []string {
	t.Helper()
	out, err := filepath.Glob("../../lakehouse/testdata/golden/*")
	if err != nil || len(out) == 0 {
		t.Fatal(out, err)
	}
	if len(cases) > 0 {
		out = slices.DeleteFunc(out, func(d string) bool { return !slices.Contains(cases, filepath.Base(d)) })
	}
	return out
}

// tablesOf names the golden tables of a case.
func tablesOf(t *testing.T, dir string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Tables map[string]json.RawMessage }
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for name := range all.Tables {
		out = append(out, name)
	}
	return out
}

// TestChangesEqualJavas reads the changes between snapshots of every golden table
// in every mode, as rows, as $audit_log and as $binlog. Comparing states, Paimon
// first leaves out the files that both have and so shows rows that never
// changed; there it is enough that leat's rows lead from state to state.
func TestChangesEqualJavas(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	for _, dir := range goldenDirs(t, "changelog_none", "changelog_input", "changelog_lookup", "changelog_full_compaction", "compaction_snapshots", "deletion_vectors_pk",
		"first_row", "aggregation", "append_unaware", "pk_avro_all_types", "schema_evolution", "sequence_field", "overwrite_partition", "partial_update_seqgroup", "postpone_bucket") {
		warehouse := absolute(t, filepath.Join(dir, "wh"))
		for _, table := range tablesOf(t, dir) {
			t.Run(filepath.Base(dir)+"/"+table, func(t *testing.T) {
				t.Parallel()
				var ids []int64
				for _, s := range run(t, warehouse, "SELECT snapshot_id FROM db.`"+table+"$snapshots`") {
					ids = append(ids, s.Int("snapshot_id"))
				}
				first, last := ids[0], ids[len(ids)-1]
				if len(ids) > 1 {
					compareChanges(t, java, warehouse, table, first-1, last, "auto", "", "$audit_log", "$binlog")
					compareChanges(t, java, warehouse, table, (first+last)/2, last, "delta", "$audit_log")
					compareChanges(t, java, warehouse, table, first, last, "changelog", "$audit_log")
				}
				if !keyed(t, warehouse, table) {
					compareChanges(t, java, warehouse, table, first, last, "diff", "", "$binlog")
					return
				}
				for i, from := range ids[:len(ids)-1] {
					foldDiff(t, warehouse, table, from, ids[i+1])
					foldDiff(t, warehouse, table, from, last)
				}
			})
		}
	}
}

func compareChanges(t *testing.T, java *judge.Oracle, warehouse, table string, from, to int64, mode string, systems ...string) {
	t.Helper()
	between := fmt.Sprintf("%d,%d", from, to)
	options := []string{"--option", "incremental-between=" + between, "--option", "incremental-between-scan-mode=" + mode}
	hint := fmt.Sprintf("/*+ OPTIONS('incremental-between' = '%s', 'incremental-between-scan-mode' = '%s') */", between, mode)
	for _, system := range systems {
		name := table + system
		var kept []judge.Row
		for _, r := range java.Rows(t, warehouse, "db."+name, append(options, "--kinds")...) {
			// A batch query of the table gives no rows that take others back.
			if k := r.Kind(); system != "" || k == "+I" || k == "+U" {
				kept = append(kept, r)
			}
		}
		if d := judge.Diff("java", kept, "leat", run(t, warehouse, "SELECT * FROM db.`"+name+"` "+hint)); d != "" {
			t.Errorf("%s %s %s: %s", name, between, mode, d)
		}
	}
}

// keyed says that a table has a primary key and has had one schema only.
func keyed(t *testing.T, warehouse, table string) bool {
	t.Helper()
	schemas := run(t, warehouse, "SELECT primary_keys FROM db.`"+table+"$schemas`")
	return len(schemas) == 1 && schemas[0].Text("primary_keys") != "[]"
}

// foldDiff applies the difference of two states to the first one.
func foldDiff(t *testing.T, warehouse, table string, from, to int64) {
	t.Helper()
	at := func(id int64) []judge.Row {
		return run(t, warehouse, fmt.Sprintf("SELECT * FROM db.`%s` /*+ OPTIONS('scan.snapshot-id' = '%d') */", table, id))
	}
	keys := run(t, warehouse, "SELECT primary_keys FROM db.`"+table+"$schemas`")[0].Text("primary_keys")
	var names []string
	if err := json.Unmarshal([]byte(keys), &names); err != nil {
		t.Fatal(err)
	}
	key := func(r judge.Row) string {
		k := judge.Row{}
		for _, n := range names {
			k[n] = r[n]
		}
		return k.Line()
	}
	state := map[string]judge.Row{}
	for _, r := range at(from) {
		state[key(r)] = r
	}
	for _, r := range run(t, warehouse, fmt.Sprintf("SELECT * FROM db.`%s$audit_log` /*+ OPTIONS('incremental-between' = '%d,%d', 'incremental-between-scan-mode' = 'diff') */", table, from, to)) {
		kind := r.Text("rowkind")
		delete(r, "rowkind")
		old, there := state[key(r)]
		switch {
		case kind == "-D" && there && old.Line() == r.Line():
			delete(state, key(r))
		case kind != "-D" && (!there || old.Line() != r.Line()):
			state[key(r)] = r
		default:
			t.Errorf("%s from %d to %d: %s %s says nothing new of %s", table, from, to, kind, r.Line(), old.Line())
		}
	}
	if d := judge.Diff("the later state", at(to), "the earlier one with its changes", slices.Collect(maps.Values(state))); d != "" {
		t.Errorf("%s from %d to %d: %s", table, from, to, d)
	}
}

// TestChangesBetweenTagsAndTimes names the ends of a range as tags, as times and
// as a tag of a period, beside Java.
func TestChangesBetweenTagsAndTimes(t *testing.T) {
	t.Parallel()
	java, wh := judge.Java(t), t.TempDir()
	run(t, wh, `CREATE DATABASE d; CREATE TABLE d.t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'input', 'write-only' = 'true')`)
	var millis []int64
	for id := range int64(4) {
		java.Write(t, wh, "d.t", "writer", id+1, fmt.Sprintf(`{"k":%d,"v":"v%d"}`, id%3, id))
		snaps := java.Snapshots(t, wh, "d.t")
		millis = append(millis, snaps[len(snaps)-1].Int("timeMillis"))
		time.Sleep(5 * time.Millisecond) // so that no two snapshots share a time
	}
	run(t, wh, "CALL sys.create_tag('d.t', '2026-01-01', 1); CALL sys.create_tag('d.t', '2026-01-03', 3); CALL sys.create_tag('d.t', 'last', 4)")
	text := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000") }
	for _, options := range [][2]string{
		{"incremental-between", "2026-01-01,last"},
		{"incremental-between", "2026-01-03,last"},
		{"incremental-between", "last,last"},
		{"incremental-between-timestamp", fmt.Sprintf("%d,%d", millis[0], millis[2])},
		{"incremental-between-timestamp", fmt.Sprintf("%d,%d", millis[0]-1, millis[3]+1)},
		{"incremental-between-timestamp", fmt.Sprintf("%d,%d", millis[1]+1, millis[2])},
		{"incremental-between-timestamp", fmt.Sprintf("%d,%d", millis[3]+1, millis[3]+2)},
		{"incremental-between-timestamp", text(millis[1]) + "," + text(millis[3])},
		{"incremental-to-auto-tag", "2026-01-03"},
		{"incremental-to-auto-tag", "2026-01-01"},
		{"incremental-to-auto-tag", "2026-01-02"},
		{"scan.version", "last"},
		{"scan.version", "2"},
		{"scan.timestamp", text(millis[1])},
		{"scan.timestamp-millis", fmt.Sprint(millis[2] + 1)},
	} {
		for _, system := range []string{"", "$audit_log"} {
			want := java.Rows(t, wh, "d.t"+system, "--option", options[0]+"="+options[1], "--option", "tag.automatic-creation=process-time")
			got := run(t, wh, fmt.Sprintf("SELECT * FROM d.`t%s` /*+ OPTIONS('%s' = '%s') */", system, options[0], options[1]))
			if d := judge.Diff("java", want, "leat", got); d != "" {
				t.Errorf("%s = %s: %s", options[0], options[1], d)
			}
		}
	}
	for options, want := range map[string]string{
		"'incremental-between' = '3,1'":                                           "snapshot 1 comes before 3",
		"'incremental-between' = '0,9'":                                           "not all there",
		"'incremental-between' = 'last,4'":                                        "neither two tags nor two ids",
		"'incremental-between' = '1'":                                             "from where",
		"'incremental-between' = '1,2', 'scan.snapshot-id' = '1'":                 "says already what to read",
		"'incremental-between' = '1,2', 'incremental-between-scan-mode' = 'fast'": "is no mode",
		"'incremental-between-scan-mode' = 'diff'":                                "nothing that it is the mode of",
		"'incremental-to-auto-tag' = 'last'":                                      "made by itself",
		"'scan.mode' = 'incremental'":                                             "needs it",
	} {
		if _, err := try(t, wh, "SELECT * FROM d.t /*+ OPTIONS("+options+") */"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", options, err, want)
		}
	}
}

// TestStatisticsEqualJavas shows what ANALYZE of another engine has left.
func TestStatisticsEqualJavas(t *testing.T) {
	t.Parallel()
	java, wh := judge.Java(t), t.TempDir()
	run(t, wh, `CREATE DATABASE d; CREATE TABLE d.t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')`)
	java.Write(t, wh, "d.t", "writer", 1, `{"k":1,"v":"a"}`)
	dir := filepath.Join(wh, "d.db", "t")
	if err := os.MkdirAll(filepath.Join(dir, "statistics"), 0o755); err != nil {
		t.Fatal(err)
	}
	stats := `{"snapshotId":1,"schemaId":0,"mergedRecordCount":1,"mergedRecordSize":40,"colStats":{"v":{"colId":1,"distinctCount":1,"min":"a","max":"a","nullCount":0,"avgLen":1,"maxLen":1},"k":{"colId":0,"nullCount":0}}}`
	if err := os.WriteFile(filepath.Join(dir, "statistics", "stat-x-0"), []byte(stats), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "snapshot", "snapshot-1")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), `"commitKind"`, `"statistics" : "stat-x-0", "commitKind"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	want := java.Rows(t, wh, "d.t$statistics")
	if d := judge.Diff("java", want, "leat", run(t, wh, "SELECT * FROM d.`t$statistics`")); d != "" || len(want) != 1 {
		t.Errorf("%d rows: %s", len(want), d)
	}
}
