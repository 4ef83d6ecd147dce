package lakehouse_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// hashesOf reads the hash indexes of the latest snapshot, by bucket, and checks
// that no hash is in two of them.
func hashesOf(t *testing.T, tab *lakehouse.Table) map[int32][]int32 {
	t.Helper()
	s, err := tab.LatestSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := commit.NewManifests(tab.FS, tab.Path).Index(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	out := map[int32][]int32{}
	seen := map[string]bool{}
	for _, e := range entries {
		b, err := tab.FS.ReadFile(t.Context(), tab.FS.Join(tab.Path, spec.IndexDir, e.File.FileName))
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(b)) != e.File.FileSize || int64(len(b)) != 4*e.File.RowCount || e.File.Type != spec.HashIndex {
			t.Errorf("index file %+v has %d bytes", e.File, len(b))
		}
		for ; len(b) >= 4; b = b[4:] {
			h := int32(binary.BigEndian.Uint32(b))
			if key := fmt.Sprint(string(e.Partition.Data), h); seen[key] {
				t.Errorf("hash %d is in two buckets", h)
			} else {
				seen[key] = true
			}
			out[e.Bucket] = append(out[e.Bucket], h)
		}
	}
	return out
}

func counts(hashes map[int32][]int32) []int {
	var out []int
	for _, no := range slices.Sorted(maps.Keys(hashes)) {
		out = append(out, len(hashes[no]))
	}
	return out
}

func orderRange(s *spec.TableSchema, kind columnar.RowKind, from, to int64, status string) *columnar.Batch {
	var rows []order
	for id := from; id < to; id++ {
		rows = append(rows, order{kind: kind, id: id, status: status, dt: "d"})
	}
	return orders(s, rows...)
}

func TestDynamicBucketsFillInOrder(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(map[string]string{"bucket": "-1", "dynamic-bucket.target-row-num": "10"}))
	j := newJob(t, tab, "attempt1")
	j.write(orderRange(tab.Schema, columnar.Insert, 0, 25, "a"))
	msgs, _ := j.commit()
	if d := cmp.Diff([]int{10, 10, 5}, counts(hashesOf(t, tab))); d != "" {
		t.Error(d)
	}
	for _, m := range msgs {
		if m.TotalBuckets != -1 || len(m.NewIndex) != 1 || len(m.GoneIndex) != 0 {
			t.Errorf("message %+v", m)
		}
	}
	// Known keys need no new index; new ones replace the index of their bucket alone.
	j.write(orderRange(tab.Schema, columnar.UpdateAfter, 0, 25, "b"))
	if msgs, _ = j.commit(); len(msgs) != 3 || len(msgs[0].NewIndex) != 0 {
		t.Errorf("messages %+v", msgs)
	}
	j.write(orderRange(tab.Schema, columnar.Insert, 25, 27, "b"))
	if msgs, _ = j.commit(); len(msgs) != 1 || len(msgs[0].GoneIndex) != 1 || msgs[0].Bucket != 2 {
		t.Errorf("messages %+v", msgs)
	}
	// Another run knows them all.
	j = newJob(t, tab, "attempt2")
	j.write(orderRange(tab.Schema, columnar.UpdateAfter, 0, 40, "c"))
	j.commit()
	if d := cmp.Diff([]int{10, 10, 10, 10}, counts(hashesOf(t, tab))); d != "" {
		t.Error(d)
	}
	if _, rows := readAll(t, tab, lakehouse.ScanOptions{}); len(rows) != 40 || strings.Count(strings.Join(rows, "\n"), "|c|") != 40 {
		t.Errorf("%d rows: %v", len(rows), rows)
	}
}

func TestDynamicBucketsHaveABound(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(map[string]string{
		"bucket": "-1", "dynamic-bucket.target-row-num": "10", "dynamic-bucket.max-buckets": "2",
	}))
	j := newJob(t, tab, "attempt1")
	for range 2 {
		j.write(orderRange(tab.Schema, columnar.Insert, 0, 100, "a"))
		j.commit()
	}
	if c := counts(hashesOf(t, tab)); len(c) != 2 || c[0]+c[1] != 100 || min(c[0], c[1]) < 20 {
		t.Errorf("hashes of buckets: %v", c)
	}
	if _, rows := readAll(t, tab, lakehouse.ScanOptions{}); len(rows) != 100 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestIndexBudgetIsARefusal(t *testing.T) {
	t.Parallel()
	tab := newTable(t, crashfs.New(), "/wh/db.db/t", ordersSchema(map[string]string{"bucket": "-1"}))
	w, err := tab.NewWriter(t.Context(), lakehouse.WriteConfig{Attempt: "attempt1", IndexBudget: 1000})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(t.Context(), orderRange(tab.Schema, columnar.Insert, 0, 100, "a"))
	if diag.DomainOf(err) != diag.User || !strings.Contains(err.Error(), "index") {
		t.Errorf("got %v", err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestDynamicBucketsOfPaimon goes on where Paimon left the golden table: its
// hashes decide, and only new keys change an index.
func TestDynamicBucketsOfPaimon(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t")
	copyTree(t, "testdata/golden/dynamic_bucket/wh/db.db/t", path)
	tab, err := lakehouse.Open(t.Context(), local.New(), path)
	if err != nil {
		t.Fatal(err)
	}
	before := hashesOf(t, tab)
	_, rows := readAll(t, tab, lakehouse.ScanOptions{})
	j := newJob(t, tab, "attempt1")
	j.write(twoColumns(tab.Schema, 0, 20, "leat"))
	j.commit()
	after := hashesOf(t, tab)
	for no, hashes := range before {
		if no != 2 && cmp.Diff(hashes, after[no]) != "" {
			t.Errorf("bucket %d had %v, has %v", no, hashes, after[no])
		}
	}
	if d := cmp.Diff([]int{5, 5, 5, 5, 1}, counts(after)); d != "" {
		t.Error(d)
	}
	if _, now := readAll(t, tab, lakehouse.ScanOptions{}); len(now) != 21 || len(rows) != 12 {
		t.Errorf("%d rows, then %d", len(rows), len(now))
	}
}

// TestHashesBeyondMemory gives the index room for some 200 of 3,000 hashes, and a quarter of that once it is on the disk:
// over epochs and restarts every hash has to be where an index in memory has it.
func TestHashesBeyondMemory(t *testing.T) {
	t.Parallel()
	scratch := t.TempDir()
	schema := func() *spec.TableSchema {
		return ordersSchema(map[string]string{"bucket": "-1", "dynamic-bucket.target-row-num": "150"}, "dt")
	}
	inMemory, onDisk := newTable(t, crashfs.New(), "/wh/db.db/t", schema()), newTable(t, crashfs.New(), "/wh/db.db/t", schema())
	rnd := rand.New(rand.NewPCG(11, 5))
	for round := range 3 {
		attempt := fmt.Sprint("attempt", round)
		a := newJobWith(t, inMemory, attempt, lakehouse.WriteConfig{})
		b := newJobWith(t, onDisk, attempt, lakehouse.WriteConfig{Scratch: scratch, IndexBudget: 4_000})
		for epoch := range 4 {
			for range 3 {
				var rows []order
				for range 150 {
					id := rnd.Int64N(1500)
					rows = append(rows, order{kind: columnar.Insert, id: id, status: fmt.Sprint(round, epoch), dt: fmt.Sprint("d", rnd.IntN(2))})
				}
				a.write(orders(inMemory.Schema, rows...))
				b.write(orders(onDisk.Schema, rows...))
			}
			a.commit()
			b.commit()
		}
		byValue := cmpopts.SortSlices(func(a, b int32) bool { return a < b })
		if d := cmp.Diff(hashesOf(t, inMemory), hashesOf(t, onDisk), byValue); d != "" {
			t.Fatalf("round %d: hashes in memory and on the disk differ:\n%s", round, d)
		}
		compareLines(t, rowsOf(t, inMemory), rowsOf(t, onDisk))
		if n := entries(t, scratch); n != 1 {
			t.Errorf("round %d: %d folders in use, want 1", round, n)
		}
		if err := errors.Join(a.w.Close(t.Context()), b.w.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		if n := entries(t, scratch); n != 0 {
			t.Errorf("round %d: %d folders left behind", round, n)
		}
	}
}
