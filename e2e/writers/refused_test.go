package writers

import (
	"fmt"
	"strings"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

// generated is a job that writes rows 1 to n of a generator to a partition.
func generated(t *testing.T, dir, table, name, part string, n int) *harness.Job {
	t.Helper()
	script := harness.Settings(name, "200ms") + "CREATE TEMPORARY TABLE gen (n BIGINT NOT NULL) WITH (" + harness.Options(
		"connector", "datagen", "rows-per-second", "20", "fields.n.kind", "sequence", "fields.n.start", "1", "fields.n.end", fmt.Sprint(n)) + ");\n" +
		harness.LakeDatabase + fmt.Sprintf("INSERT INTO %s SELECT '%s', '%s', n, n FROM default_catalog.default_database.gen;\n", table, name, part)
	return harness.NewJob(t, script, "WAREHOUSE="+dir)
}

// TestSecondJobOnAPartition starts a job beside one that writes the same
// partition of a table with a key: it is refused with the other's name, and one
// on another partition runs.
func TestSecondJobOnAPartition(t *testing.T) {
	t.Parallel()
	java, dir := judge.Java(t), t.TempDir()
	competition{primaryKey: true, options: map[string]string{"bucket": "1"}}.create(t, java, dir, "d.t")
	first := generated(t, dir, "t", "first", "p", 100_000).Start()
	harness.Eventually(t, "the first job committed", func() bool { return java.Count(t, dir, "d.t") > 0 })
	r := generated(t, dir, "t", "second", "p", 10).Run()
	if r.Code != 3 || !strings.Contains(r.Stderr, "LEAT-4006") || !strings.Contains(r.Stderr, "job first") || !strings.Contains(r.Stderr, "part=p") {
		t.Errorf("the second job ended with %d:\n%s", r.Code, r.Stderr)
	}
	generated(t, dir, "t", "third", "q", 10).MustRun()
	first.Stop()
	generated(t, dir, "t", "fourth", "p", 10).MustRun()
	counts := map[string]int{}
	for _, r := range java.Rows(t, dir, "d.t") {
		counts[r.Text("w")]++
	}
	if counts["first"] == 0 || counts["second"] != 0 || counts["third"] != 10 || counts["fourth"] != 10 {
		t.Errorf("rows by job: %v", counts)
	}
}

// TestStatisticsAreKept lets Paimon compute statistics of a table that a job
// writes: the snapshots after them go on naming them.
func TestStatisticsAreKept(t *testing.T) {
	t.Parallel()
	java, dir := judge.Java(t), t.TempDir()
	competition{options: map[string]string{"bucket": "-1"}}.create(t, java, dir, "d.t")
	generated(t, dir, "t", "first", "p", 10).MustRun()
	if _, err := java.Call("", "analyze", "--warehouse", dir, "--table", "d.t"); err != nil {
		t.Fatal(err)
	}
	generated(t, dir, "t", "second", "p", 10).MustRun()
	snapshots := java.Snapshots(t, dir, "d.t")
	analyzed := ""
	for _, s := range snapshots {
		if s.Text("commitKind") == "ANALYZE" {
			analyzed = s.Text("statistics")
		} else if got, _ := s["statistics"].(string); got != analyzed {
			t.Errorf("snapshot %d has statistics %q, want %q", s.Int("id"), got, analyzed)
		}
	}
	last := snapshots[len(snapshots)-1]
	if analyzed == "" || last.Text("commitUser") == snapshots[0].Text("commitUser") {
		t.Errorf("the last snapshot is %v", last)
	}
	if rows := java.Rows(t, dir, "d.t$statistics"); len(rows) != 1 || rows[0].Int("mergedRecordCount") != 10 {
		t.Errorf("statistics are %v", rows)
	}
}
