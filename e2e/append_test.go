package e2e_test

import (
	"strconv"
	"strings"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

const numbers = 30_000

// generator is datagen's sequence from 1 to numbers, with a column of random text.
func generator(rate int) string {
	return "CREATE TEMPORARY TABLE gen (id BIGINT, text STRING) WITH (" + harness.Options("connector", "datagen", "rows-per-second", strconv.Itoa(rate),
		"fields.id.kind", "sequence", "fields.id.start", "1", "fields.id.end", strconv.Itoa(numbers), "fields.text.length", "30") + ");\n"
}

// TestAppend fills a partitioned append table from a bounded source, in many
// checkpoints, so that its small files are compacted on the way.
func TestAppend(t *testing.T) {
	t.Parallel()
	j := harness.NewJob(t, harness.Settings("append", "200ms")+generator(10_000)+harness.LakeDatabase+
		harness.LakeTable("numbers", "id BIGINT, text STRING, part STRING", "PARTITIONED BY (part)",
			append(harness.KeepAll(), "bucket", "-1", "compaction.min.file-num", "4")...)+
		"INSERT INTO numbers SELECT id, text, CASE WHEN id < 1000 THEN 'low' WHEN id < 20000 THEN 'middle' ELSE 'high' END FROM default_catalog.default_database.gen;\n")
	j.MustRun()
	lake := j.Lake("d.numbers")
	java := judge.Java(t).Rows(t, lake.Warehouse, lake.Table)
	lake.CheckRows(t, java)
	seen, parts := map[int64]bool{}, map[string]int{}
	for _, r := range java {
		seen[r.Int("id")] = true
		parts[r.Text("part")]++
		if len(r.Text("text")) != 30 {
			t.Fatalf("row %s", r.Line())
		}
	}
	if len(java) != numbers || len(seen) != numbers || !seen[1] || !seen[numbers] {
		t.Errorf("%d rows, %d of them different, want %d", len(java), len(seen), numbers)
	}
	if parts["low"] != 999 || parts["middle"] != 19_000 || parts["high"] != numbers-19_999 {
		t.Errorf("rows per partition: %v", parts)
	}
	// A compaction leaves count and sum as they were.
	var before judge.Sum
	compactions := 0
	kind := map[int64]string{}
	for _, s := range judge.Java(t).Snapshots(t, lake.Warehouse, lake.Table) {
		kind[s.Int("id")] = s.Text("commitKind")
	}
	for _, s := range judge.Java(t).Sums(t, lake.Warehouse, lake.Table, []string{"id"}) {
		if kind[s.Snapshot] == "COMPACT" {
			compactions++
			if s.Rows != before.Rows || s.Sums["id"] != before.Sums["id"] {
				t.Errorf("compaction %d: %d rows with sum %s before, %d with %s after", s.Snapshot, before.Rows, before.Sums["id"], s.Rows, s.Sums["id"])
			}
		}
		before = s
	}
	if compactions == 0 {
		t.Errorf("nothing was compacted in %d snapshots", len(kind))
	}
	if want := strconv.Itoa(numbers * (numbers + 1) / 2); before.Sums["id"] != want {
		t.Errorf("sum of id is %s, want %s", before.Sums["id"], want)
	}
	lake.CheckNoOrphans(t)
}

// TestPrintAndBlackhole sends one source to two sinks as one job.
func TestPrintAndBlackhole(t *testing.T) {
	t.Parallel()
	i := makeItems(t, judge.MySQL(t), "e2e_print")
	j := harness.NewJob(t, harness.Settings("print", "200ms")+
		harness.MySQLTable("src", "id INT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED", "items")+`
CREATE TEMPORARY TABLE shown (id INT, v STRING) WITH ('connector' = 'print');
CREATE TEMPORARY TABLE dropped (id INT) WITH ('connector' = 'blackhole');
EXECUTE STATEMENT SET BEGIN
  INSERT INTO shown SELECT id, v || '!' FROM src WHERE id <> 2;
  INSERT INTO dropped SELECT id FROM src;
END;
`, harness.SourceEnv(i.server, i.db)...)
	out := j.CatchUp().Stdout
	for _, line := range []string{"+I[1, one!]", "+I[3, three!]"} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not printed:\n%s", line, out)
		}
	}
	if strings.Contains(out, "two") {
		t.Errorf("a filtered row is printed:\n%s", out)
	}
	i.exec(t, "UPDATE items SET v = 'uno' WHERE id = 1", "UPDATE items SET id = 2 + 2 WHERE id = 2", "DELETE FROM items WHERE id = 3")
	out = j.CatchUp().Stdout
	for _, line := range []string{"-U[1, one!]", "+U[1, uno!]", "+I[4, two!]", "-D[3, three!]"} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not printed:\n%s", line, out)
		}
	}
}
