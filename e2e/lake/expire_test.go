package lake

import (
	"fmt"
	"testing"
	"time"

	"leat/e2e/judge"
)

// TestExpiredRowsReadEqual lets rows expire under both writers: both read them
// until a compaction drops them, and neither changelog tells that they went.
func TestExpiredRowsReadEqual(t *testing.T) {
	t.Parallel()
	const never = 4_000_000_000
	for _, producer := range []string{"none", "input", "lookup", "full-compaction"} {
		t.Run(producer, func(t *testing.T) {
			t.Parallel()
			warehouse := t.TempDir()
			options := with(map[string]string{}, "changelog-producer", producer, "record-level.expire-time", "1 h", "record-level.time-field", "at")
			for _, name := range []string{"db.java", "db.leat"} {
				create(t, warehouse, name, "id BIGINT NOT NULL; at BIGINT; v STRING", options)
			}
			leat, java := open(t, warehouse, "db.leat"), open(t, warehouse, "db.java")
			row := func(kind string, id, at int64, v string) change {
				return change(fmt.Sprintf("%s %d,%d,%q", kind, id, at, v))
			}
			now := time.Now().Unix()
			for i, epoch := range [][]change{
				{row("+I", 1, 1000, "old"), row("+I", 2, never, "new"), row("+I", 3, now-3500, "nearly old")},
				{row("+I", 4, 1000, "old"), row("+I", 5, now, "now")},
				{row("+U", 1, never, "old to new"), row("+U", 2, 1000, "new to old"), row("-D", 5, now, "now"), row("+U", 3, now, "now")},
			} {
				leat.write(epoch...)
				leat.commit()
				judge.Java(t).Write(t, warehouse, "db.java", "java", int64(i+1), ndjson(t, java.tab.Schema.Columns(), epoch), "--wait")
				if producer == "full-compaction" {
					judge.Java(t).Compact(t, warehouse, "db.java")
				}
				if d := judge.Diff("java's table", java.rows(0), "leat's table", leat.rows(0)); d != "" {
					t.Errorf("epoch %d: %s", i, d)
				}
				leat.check(false)
				java.check(false)
			}
			judge.Java(t).Compact(t, warehouse, "db.java")
			leat.compact(true)
			for _, l := range []*lakeTable{java, leat} {
				l.checkRows(fmt.Sprintf(`1,%d,"old to new"`, never), fmt.Sprintf(`2,%d,"new"`, never), fmt.Sprintf(`3,%d,"now"`, now))
			}
			for _, r := range append(java.changelog(), leat.changelog()...) {
				if r.Kind() != "-D" && r.Int("at") == 1000 && producer != "none" && producer != "input" {
					t.Errorf("the changelog has the expired row %v", r)
				}
			}
			if d := judge.Diff("java's changelog", withoutSnapshots(java.changelog()), "leat's changelog", withoutSnapshots(leat.changelog())); d != "" {
				t.Error(d)
			}
		})
	}
}

// withoutSnapshots leaves out in which snapshot a change came.
func withoutSnapshots(changes []judge.Row) []judge.Row {
	for _, c := range changes {
		delete(c, "_snapshot")
	}
	return changes
}
