package lakehouse_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
)

// TestFullCompactionAfterRestart writes two buckets before a restart and one
// after it: the compaction of everything that is due then has the changes of both.
func TestFullCompactionAfterRestart(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(map[string]string{
		"bucket": "1", "changelog-producer": "full-compaction", "full-compaction.delta-commits": "4",
	}, "dt"))
	first := newJob(t, tab, "attempt1")
	row := func(id int64, dt string) order {
		return order{kind: columnar.Insert, id: id, status: "s", dt: dt}
	}
	first.write(orders(tab.Schema, row(1, "a"), row(2, "b")))
	first.commit()
	first.write(orders(tab.Schema, row(3, "b")))
	first.commit()
	if err := first.w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := newJob(t, tab, "attempt2")
	second.id = 2
	second.write(orders(tab.Schema, row(4, "a")))
	second.commit()
	_, ids := second.commit() // the fourth; it has no rows of its own
	var log []string
	for _, id := range ids {
		for _, line := range readChangelog(t.Context(), t, tab, id) {
			log = append(log, line[:len("+I|1")])
		}
	}
	slices.Sort(log)
	if d := cmp.Diff([]string{"+I|1", "+I|2", "+I|3", "+I|4"}, log); d != "" {
		t.Errorf("changelog of %v (-want +got):\n%s", ids, d)
	}
}

// TestFullCompactionByInterval compacts everything once the interval is over.
func TestFullCompactionByInterval(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(map[string]string{
		"bucket": "1", "changelog-producer": "full-compaction", "changelog-producer.compaction-interval": "300 ms",
	}))
	j := newJob(t, tab, "attempt1")
	j.write(orderRange(tab.Schema, columnar.Insert, 0, 3, "a"))
	if msgs, _ := j.commit(); len(msgs) != 1 || len(msgs[0].CompactAfter) > 0 {
		t.Errorf("compacted at once: %+v", msgs)
	}
	time.Sleep(300 * time.Millisecond)
	if msgs, _ := j.commit(); len(msgs) != 1 || len(msgs[0].CompactAfter) != 1 || len(msgs[0].CompactChangelog) != 1 {
		t.Errorf("not compacted: %+v", msgs)
	}
}

// TestFilesWrittenAnew compacts what is in the deepest level already: always with
// force-rewrite-all-files, and where deletion vectors say that rows are gone.
func TestFilesWrittenAnew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options map[string]string
		before  func(j *job)
		anew    bool
	}{
		{"not", map[string]string{}, func(*job) {}, false},
		{"forced", map[string]string{"compaction.force-rewrite-all-files": "true"}, func(*job) {}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.options["bucket"] = "1"
			tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(c.options))
			j := newJob(t, tab, "attempt1")
			j.write(orderRange(tab.Schema, columnar.Insert, 0, 30, "a"))
			j.commit()
			full := func(attempt string) int {
				done, err := tab.RunCompaction(t.Context(), lakehouse.WriteConfig{Attempt: attempt}, lakehouse.Compaction{Full: true})
				if err != nil {
					t.Fatal(err)
				}
				return done.Buckets
			}
			if n := full("attempt2"); n != 1 {
				t.Errorf("the first compaction took %d buckets", n)
			}
			if n := full("attempt3"); n > 0 != c.anew {
				t.Errorf("the second compaction took %d buckets, anew is %t", n, c.anew)
			}
			if _, rows := readAll(t, tab, lakehouse.ScanOptions{}); len(rows) != 30 {
				t.Errorf("%d rows", len(rows))
			}
		})
	}
}

// TestInitialBucketsFillSideBySide has three buckets from the first rows on.
func TestInitialBucketsFillSideBySide(t *testing.T) {
	t.Parallel()
	for _, cross := range []bool{false, true} {
		t.Run(fmt.Sprint("cross=", cross), func(t *testing.T) {
			t.Parallel()
			o := map[string]string{"bucket": "-1", "dynamic-bucket.initial-buckets": "3", "dynamic-bucket.target-row-num": "40"}
			s := ordersSchema(o)
			if cross {
				s = crossSchema(o)
			}
			tab := newTable(t, crashfs.New(), "/wh/db.db/t", s)
			rows := map[int32]int64{}
			for round := range int64(3) {
				j := newJob(t, tab, fmt.Sprint("attempt", round))
				j.write(orderRange(tab.Schema, columnar.Insert, 60*round, 60*round+60, "a"))
				msgs, _ := j.commit()
				for i := range msgs {
					for k := range msgs[i].NewFiles {
						rows[msgs[i].Bucket] += msgs[i].NewFiles[k].RowCount
					}
				}
				if round == 0 && len(rows) != 3 {
					t.Errorf("the first rows are in %d buckets: %v", len(rows), rows)
				}
			}
			for no, n := range rows {
				if n > 40 || no > 8 {
					t.Errorf("bucket %d has %d rows: %v", no, n, rows)
				}
			}
		})
	}
}
