package lakehouse_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
	"leat/lakehouse/spec"
)

// lookupCases are the tables whose compactions look rows up.
var lookupCases = map[string]map[string]string{
	"changelog":        {"changelog-producer": "lookup"},
	"partial update":   {"changelog-producer": "lookup", "merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
	"first row":        {"changelog-producer": "lookup", "merge-engine": "first-row", "ignore-delete": "true"},
	"vectors":          {"deletion-vectors.enabled": "true"},
	"vectors, changes": {"deletion-vectors.enabled": "true", "changelog-producer": "lookup", "sequence.field": "create_time"},
	"sums": {
		"changelog-producer": "lookup", "merge-engine": "aggregation", "fields.amount.aggregate-function": "sum", "changelog-producer.row-deduplicate": "true",
	},
	"text keys": {"changelog-producer": "lookup"},
}

// TestLookupFilesChangeNothing writes one history with lookup files and without:
// rows and changelogs have to be the same.
func TestLookupFilesChangeNothing(t *testing.T) {
	t.Parallel()
	for name, options := range lookupCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := maps.Clone(options)
			o["bucket"], o["num-sorted-run.compaction-trigger"] = "1", "4"
			schema := func() *spec.TableSchema {
				s := ordersSchema(o)
				if name == "text keys" {
					s.Fields[3].Type = s.Fields[3].Type.NotNull()
					s.PrimaryKeys = []string{"status", "order_id"}
				}
				return s
			}
			scratch := t.TempDir()
			with := newJobWith(t, newTable(t, crashfs.New(), "/wh/db.db/t", schema()), "with", lakehouse.WriteConfig{Scratch: scratch})
			without := newJobWith(t, newTable(t, crashfs.New(), "/wh/db.db/t", schema()), "without", lakehouse.WriteConfig{})
			used := 0
			for epoch := range 16 {
				rows := lookupEpoch(epoch)
				var logs [2][]string
				for i, j := range []*job{with, without} {
					j.write(orders(j.tab.Schema, rows...))
					_, ids := j.commit()
					if o["changelog-producer"] != "" {
						for _, id := range ids {
							logs[i] = append(logs[i], readChangelog(t.Context(), t, j.tab, id)...)
						}
					}
				}
				if d := cmp.Diff(logs[1], logs[0]); d != "" {
					t.Fatalf("epoch %d: changelog (-without +with):\n%s", epoch, d)
				}
				used += len(lookupFilesIn(t, scratch))
			}
			_, want := readAll(t, without.tab, lakehouse.ScanOptions{})
			_, got := readAll(t, with.tab, lakehouse.ScanOptions{})
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("rows (-without +with):\n%s", d)
			}
			if used == 0 {
				t.Error("no lookup file was made")
			}
			if err := with.w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left := lookupFilesIn(t, scratch); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// lookupEpoch gives many rows first, then few that change, delete and add some.
func lookupEpoch(epoch int) []order {
	row := func(id int64, kind columnar.RowKind) order {
		return order{
			kind: kind, id: id, user: id % 7, amount: int64(epoch), status: fmt.Sprint("s", id%5), address: fmt.Sprint(epoch, "/", id), time: int64(epoch+1) * 1000, dt: "d",
		}
	}
	var rows []order
	if epoch == 0 {
		for id := range int64(3000) {
			rows = append(rows, row(2*id, columnar.Insert))
		}
		return rows
	}
	for i := range int64(20) {
		id := (i*307 + int64(epoch)*1009) % 6100
		kind := columnar.Insert
		if i%9 == 4 {
			kind = columnar.Delete
		}
		rows = append(rows, row(id, kind))
	}
	return rows
}

func lookupFilesIn(t *testing.T, scratch string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(scratch, "lookup-*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestLookupFilesKeepTheirBounds has room for one file and a half.
func TestLookupFilesKeepTheirBounds(t *testing.T) {
	t.Parallel()
	scratch := t.TempDir()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(map[string]string{
		"bucket": "3", "changelog-producer": "lookup", "lookup.cache-max-disk-size": "110 kb",
	}))
	j := newJobWith(t, tab, "attempt1", lakehouse.WriteConfig{Scratch: scratch})
	most := 0
	for epoch := range 8 {
		j.write(orders(tab.Schema, lookupEpoch(epoch)...))
		j.commit()
		files := lookupFilesIn(t, scratch)
		most = max(most, len(files))
		size := int64(0)
		for _, f := range files {
			st, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			size += st.Size()
		}
		if size > 110<<10 {
			t.Errorf("epoch %d: %d bytes in %v", epoch, size, files)
		}
	}
	if most != 1 {
		t.Errorf("%d files at a time, want 1", most)
	}
}
