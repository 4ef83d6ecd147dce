package lakehouse_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// travelTable has six snapshots over two buckets, updates and deletes among them.
func travelTable(t testing.TB, options map[string]string) (*lakehouse.Table, int64) {
	t.Helper()
	o := map[string]string{"bucket": "2", "num-sorted-run.compaction-trigger": "3"}
	maps.Copy(o, options)
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(o))
	j := newJob(t, tab, "one")
	for n := range int64(6) {
		var rows []order
		for id := n * 5; id < n*5+20; id++ {
			rows = append(rows, order{kind: columnar.UpdateAfter, id: id, amount: n, status: "s", dt: fmt.Sprint("day", n%3)})
		}
		rows = append(rows, order{kind: columnar.Delete, id: n*5 + 1, status: "s", dt: "d"})
		j.write(orders(tab.Schema, rows...))
		j.commit()
	}
	s, err := tab.LatestSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tab, s.ID
}

func TestDiffLeadsFromStateToState(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]map[string]string{
		"merged": {}, "vectors": {"deletion-vectors.enabled": "true"}, "lookup": {"changelog-producer": "lookup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab, last := travelTable(t, options)
			for from := int64(0); from <= last; from++ {
				for to := max(1, from); to <= last; to += 2 {
					checkDiff(t, tab, from, to)
				}
			}
		})
	}
}

func checkDiff(t *testing.T, tab *lakehouse.Table, from, to int64) {
	t.Helper()
	rows := map[string]bool{}
	if from > 0 {
		_, old := readAll(t, tab, lakehouse.ScanOptions{Snapshot: from})
		for _, r := range old {
			rows[r] = true
		}
	}
	err := tab.ReadChanges(t.Context(), lakehouse.Changes{From: from, To: to, Mode: lakehouse.ChangesDiff}, func(b *columnar.Batch) error {
		for i, text := range renderRows(b) {
			_, row, _ := strings.Cut(text, "|")
			if minus := b.Kinds[i].Retracts(); minus != rows[row] {
				return fmt.Errorf("%s, but the row is there: %v", text, rows[row])
			}
			if rows[row] = true; b.Kinds[i].Retracts() {
				delete(rows, row)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("from %d to %d: %v", from, to, err)
	}
	_, want := readAll(t, tab, lakehouse.ScanOptions{Snapshot: to})
	if diff := cmp.Diff(want, slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(rows))))); diff != "" {
		t.Errorf("from %d to %d (-want +got):\n%s", from, to, diff)
	}
}

func TestChangesAreThoseOfTheSnapshots(t *testing.T) {
	t.Parallel()
	tab, last := travelTable(t, map[string]string{"changelog-producer": "lookup"})
	for mode, read := range map[lakehouse.ChangeMode]func(s *spec.Snapshot) bool{
		lakehouse.ChangesAuto:  func(s *spec.Snapshot) bool { return s.CommitKind == spec.Compact },
		lakehouse.ChangesDelta: func(s *spec.Snapshot) bool { return s.CommitKind == spec.Append },
	} {
		for id := int64(1); id <= last; id++ {
			s, err := tab.Snapshot(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			err = tab.ReadChanges(t.Context(), lakehouse.Changes{From: id - 1, To: id, Mode: mode}, func(b *columnar.Batch) error {
				n += b.Rows()
				return nil
			})
			if err != nil || (n > 0) != read(s) {
				t.Errorf("mode %d, snapshot %d (%s): %d changes, %v", mode, id, s.CommitKind, n, err)
			}
		}
	}
}

func TestTravel(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(map[string]string{"bucket": "1", "changelog-producer": "lookup"}))
	c := commit.New(tab.FS, tab.Path, tab.Schema, commit.Options{Attempt: "x"}, nil)
	var times []int64
	for id := range int64(3) {
		w := 100 * (id + 1)
		if _, err := c.Commit(t.Context(), commit.Request{User: "u", Identifier: id + 1, Watermark: &w, ForceSnapshot: true}); err != nil {
			t.Fatal(err)
		}
		s, err := tab.Snapshot(t.Context(), id+1)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, s.TimeMillis)
	}
	b, err := spec.MarshalSnapshot(&spec.Snapshot{ID: 2, BaseManifestList: "a", DeltaManifestList: "b", CommitKind: spec.Append})
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.FS.CreateExclusive(t.Context(), tab.FS.Join(tab.Path, "tag", "tag-two"), b); err != nil {
		t.Fatal(err)
	}
	at := func(n int64) *int64 { return &n }
	for _, v := range []struct {
		travel lakehouse.Travel
		want   int64 // 0 for none
	}{
		{lakehouse.Travel{}, 3},
		{lakehouse.Travel{Snapshot: 1}, 1},
		{lakehouse.Travel{TimestampMillis: at(times[2] + 5)}, 3},
		{lakehouse.Travel{TimestampMillis: at(times[0] - 1)}, 0},
		{lakehouse.Travel{Watermark: at(101)}, 2},
		{lakehouse.Travel{Watermark: at(301)}, 0},
		{lakehouse.Travel{Tag: "two"}, 2},
		{lakehouse.Travel{Tag: "../two"}, 0},
		{lakehouse.Travel{CompactedFull: true}, 0},
	} {
		s, err := tab.Resolve(t.Context(), v.travel)
		switch {
		case v.want == 0:
			if e, ok := err.(*diag.Error); !ok || e.Hint == "" { //nolint:errorlint // the error itself is wanted
				t.Errorf("%+v: %v, want an error with a hint", v.travel, err)
			}
		case err != nil || s.ID != v.want:
			t.Errorf("%+v: %v, %v, want snapshot %d", v.travel, s, err, v.want)
		}
	}
}

func TestConditionsLeaveFilesOut(t *testing.T) {
	t.Parallel()
	ids := func(n ...int64) *array.Int64 {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.AppendValues(n, nil)
		return b.NewInt64Array()
	}
	days := func(n ...string) *array.String {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(n, nil)
		return b.NewStringArray()
	}
	s := ordersSchema(map[string]string{"bucket": "4", "num-sorted-run.compaction-trigger": "9"}, "dt")
	keyed := newTable(t, crashfs.New(), "/wh/db.db/t", s)
	logs := newTable(t, crashfs.New(), "/wh/db.db/l", appendSchema(map[string]string{"bucket": "-1"}))
	for _, tab := range []*lakehouse.Table{keyed, logs} {
		j := newJob(t, tab, "one")
		for n := range int64(3) {
			var rows []order
			for id := n * 100; id < n*100+100; id++ {
				rows = append(rows, order{id: id, user: id, status: "s", dt: fmt.Sprint("day", n)})
			}
			j.write(orders(tab.Schema, rows...))
			j.commit()
		}
	}
	for _, c := range []struct {
		tab   *lakehouse.Table
		where []lakehouse.Condition
		files int
	}{
		{keyed, nil, 12},
		{keyed, []lakehouse.Condition{{Column: "dt", Op: lakehouse.Equal, Values: days("day1", "day2")}}, 8},
		{keyed, []lakehouse.Condition{{Column: "dt", Op: lakehouse.IsNull}}, 0},
		{keyed, []lakehouse.Condition{{Column: "order_id", Op: lakehouse.Equal, Values: ids(150)}}, 1},
		{keyed, []lakehouse.Condition{{Column: "order_id", Op: lakehouse.GreaterOrEqual, Values: ids(100)}, {Column: "order_id", Op: lakehouse.Less, Values: ids(200)}}, 4},
		{keyed, []lakehouse.Condition{{Column: "user_id", Op: lakehouse.Equal, Values: ids(150)}}, 12}, // other files may hold younger rows of the keys
		{logs, []lakehouse.Condition{{Column: "user_id", Op: lakehouse.Greater, Values: ids(199)}}, 1},
		{logs, []lakehouse.Condition{{Column: "user_id", Op: lakehouse.LessOrEqual, Values: ids(100)}}, 2},
		{logs, []lakehouse.Condition{{Column: "address", Op: lakehouse.IsNotNull}}, 0},
	} {
		p, err := c.tab.ScanPlan(t.Context(), lakehouse.ScanOptions{Where: c.where})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range p.Splits {
			n += p.Splits[i].Files
		}
		if n != c.files {
			t.Errorf("%+v: %d files, want %d", c.where, n, c.files)
		}
	}
}

func TestRecordsExpire(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(map[string]string{
		"bucket": "1", "record-level.expire-time": "1 h", "record-level.time-field": "create_time",
	}))
	j := newJob(t, tab, "one")
	const never = int64(1) << 42 // milliseconds, far ahead
	j.write(orders(tab.Schema, order{id: 1, status: "a", time: 1000}, order{id: 2, status: "b", time: never}))
	j.commit()
	j.write(orders(tab.Schema, order{id: 3, status: "c", time: 1000}, order{id: 2, status: "b2", time: never}))
	j.commit()
	// Rows are there until a compaction drops them.
	for _, want := range [][]string{{"1|a", "2|b2", "3|c"}, {"2|b2"}} {
		_, rows := readAll(t, tab, lakehouse.ScanOptions{Columns: []string{"order_id", "status"}})
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		msgs, err := tab.Compact(t.Context(), lakehouse.WriteConfig{Attempt: "c"}, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range msgs {
			if m.CompactAfter[0].RowCount != 1 {
				t.Errorf("%d rows left, want 1", m.CompactAfter[0].RowCount)
			}
		}
		c := commit.New(tab.FS, tab.Path, tab.Schema, commit.Options{Attempt: "c"}, nil)
		if _, err := c.Commit(t.Context(), commit.Request{User: "c", Identifier: 1, Messages: msgs}); err != nil {
			t.Fatal(err)
		}
	}
}
