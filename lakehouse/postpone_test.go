package lakehouse_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/commit"
)

// TestPostponedRowsOfPaimon gives the rows of the golden table their buckets.
func TestPostponedRowsOfPaimon(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t")
	copyTree(t, "testdata/golden/postpone_bucket/wh/db.db/t", path)
	tab, err := lakehouse.Open(t.Context(), local.New(), path)
	if err != nil {
		t.Fatal(err)
	}
	done, err := tab.RunCompaction(t.Context(), lakehouse.WriteConfig{Attempt: "attempt1"}, lakehouse.Compaction{})
	if err != nil || done.Buckets != 2 || len(done.Snapshots) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	_, rows := readAll(t, tab, lakehouse.ScanOptions{})
	if d := cmp.Diff([]string{"1|a", "2|b"}, rows); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if done, err := tab.RunCompaction(t.Context(), lakehouse.WriteConfig{Attempt: "attempt2"}, lakehouse.Compaction{}); err != nil || done.Buckets != 0 {
		t.Errorf("nothing waits: %+v, %v", done, err)
	}
}

func TestPostponedRowsWaitForACompaction(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(map[string]string{
		"bucket": "-2", "changelog-producer": "input", "postpone.default-bucket-num": "3",
	}, "dt"))
	j := newJob(t, tab, "attempt1")
	j.write(orderRange(tab.Schema, columnar.Insert, 0, 100, "a"))
	msgs, ids := j.commit()
	if len(msgs) != 1 || msgs[0].Bucket != -2 || msgs[0].TotalBuckets != -2 || len(msgs[0].NewFiles) != 1 || !strings.HasSuffix(msgs[0].NewFiles[0].FileName, ".avro") {
		t.Fatalf("messages %+v", msgs)
	}
	if _, rows := readAll(t, tab, lakehouse.ScanOptions{}); len(rows) != 0 || len(readChangelog(t.Context(), t, tab, ids[0])) != 0 {
		t.Errorf("%d rows are seen", len(rows))
	}
	// A pair and a delete wait behind the inserts.
	old, now := order{kind: columnar.UpdateBefore, id: 5, status: "a", dt: "d"}, order{kind: columnar.UpdateAfter, id: 5, status: "b", dt: "d"}
	j.write(orders(tab.Schema, old, now, order{kind: columnar.Delete, id: 6, status: "a", dt: "d"}))
	j.commit()
	done, err := tab.RunCompaction(t.Context(), lakehouse.WriteConfig{Attempt: "attempt2"}, lakehouse.Compaction{Full: true})
	if err != nil || len(done.Snapshots) != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	rows := rowsOf(t, tab)
	if len(rows) != 99 || !strings.Contains(fmt.Sprint(rows), " 5|b|d") || strings.Contains(fmt.Sprint(rows), " 6|") {
		t.Errorf("%d rows: %v", len(rows), rows)
	}
	kinds := map[string]int{}
	for _, r := range readChangelog(t.Context(), t, tab, done.Snapshots[0]) {
		kinds[r[:2]]++
	}
	if d := cmp.Diff(map[string]int{"+I": 100, "-U": 1, "+U": 1, "-D": 1}, kinds); d != "" {
		t.Errorf("changelog (-want +got):\n%s", d)
	}
	// Two who distribute the same rows: one of them is dropped whole.
	j.write(orderRange(tab.Schema, columnar.Insert, 200, 250, "c"))
	j.commit()
	first, err := tab.Distribute(t.Context(), lakehouse.WriteConfig{Attempt: "attempt3"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tab.RunCompaction(t.Context(), lakehouse.WriteConfig{Attempt: "attempt4"}, lakehouse.Compaction{}); err != nil {
		t.Fatal(err)
	}
	c := commit.New(tab.FS, tab.Path, tab.Schema, commit.Options{Attempt: "attempt3"}, nil)
	if ids, err := c.Commit(t.Context(), commit.Request{User: "late", Identifier: 1, Messages: first}); err != nil || len(ids) != 0 {
		t.Errorf("the later one made snapshots %v, %v", ids, err)
	}
	if rows := rowsOf(t, tab); len(rows) != 149 {
		t.Errorf("%d rows", len(rows))
	}
}
