package buckets

import (
	"fmt"
	"testing"

	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/lakehouse"
	"leat/lakehouse/commit"
)

// TestDynamicBucketsInTurn writes one table by leat and Java in turn: each has to
// find the buckets that the other gave to the keys.
func TestDynamicBucketsInTurn(t *testing.T) {
	t.Parallel()
	x := newTable(t, "dynamic", `["part","id"]`, `["part"]`, `"bucket":"-1","dynamic-bucket.target-row-num":"20","num-sorted-run.compaction-trigger":"3"`)
	want := map[int]row{}
	x.open()
	for n := range 4 {
		rows := some(0, 40*(n+1), fmt.Sprint("leat", n))
		x.write(rows...)
		put(want, rows)
	}
	x.close()
	x.checkJava(want)

	rows := some(100, 220, "java")
	x.java(1, rows)
	put(want, rows)
	x.checkJava(want)

	x.open()
	rows = some(90, 260, "again")
	x.write(rows...)
	put(want, rows)
	x.checkJava(want)
	judge.Java(t).Compact(t, x.Warehouse, x.Table)
	x.checkJava(want)

	rows = some(0, 30, "last")
	x.write(append(rows, row{kind: columnar.Delete, id: 200, part: "p0"})...)
	put(want, rows)
	delete(want, 200)
	x.close()
	x.checkJava(want)
	x.java(2, some(0, 10, "java2"))
	put(want, some(0, 10, "java2"))
	x.check(want)
}

// TestRowsMoveBetweenPartitions has a key that does not determine the partition.
func TestRowsMoveBetweenPartitions(t *testing.T) {
	t.Parallel()
	x := newTable(t, "moving", `["id"]`, `["part"]`, `"bucket":"-1","dynamic-bucket.target-row-num":"30"`)
	want := map[int]row{}
	x.open()
	rows := some(0, 150, "first")
	x.write(rows...)
	put(want, rows)
	var moved []row
	for id := 40; id < 90; id++ {
		moved = append(moved, row{id: id, part: fmt.Sprint("p", id%5), v: "moved"})
	}
	x.write(moved...)
	put(want, moved)
	x.close()
	x.checkJava(want)
	x.open() // reads the keys of the table
	for id := 60; id < 70; id++ {
		moved = append(moved[:0:0], row{kind: columnar.UpdateBefore, id: id, part: fmt.Sprint("p", id%5), v: "moved"}, row{kind: columnar.UpdateAfter, id: id, part: "home", v: "back"})
		x.write(moved...)
		put(want, moved[1:])
	}
	x.checkJava(want)
	judge.Java(t).Compact(t, x.Warehouse, x.Table)
	x.write(row{kind: columnar.Delete, id: 61, part: "home", v: "back"}, row{id: 1, part: "p9", v: "new"})
	delete(want, 61)
	want[1] = row{id: 1, part: "p9", v: "new"}
	x.close()
	x.check(want)
}

// TestAppendBucketsInTurn writes, compacts and reads an append table with fixed buckets.
func TestAppendBucketsInTurn(t *testing.T) {
	t.Parallel()
	x := newTable(t, "events", "[]", `["part"]`, `"bucket":"2","bucket-key":"id","compaction.min.file-num":"3"`)
	want := map[int]row{}
	x.open()
	for n := range 5 {
		rows := some(100*n, 100*(n+1), "leat")
		x.write(rows...)
		put(want, rows)
	}
	x.checkJava(want)
	x.java(1, some(500, 600, "java"))
	put(want, some(500, 600, "java"))
	rows := some(600, 650, "leat")
	x.write(rows...)
	put(want, rows)
	x.close()
	judge.Java(t).Compact(t, x.Warehouse, x.Table)
	x.checkJava(want)
	done, err := x.tab.RunCompaction(t.Context(), lakehouse.WriteConfig{Attempt: "0c7d0a8e-0000-4000-8000-000000000000"}, lakehouse.Compaction{Full: true})
	if err != nil || done.Dropped > 0 {
		t.Fatal(done, err)
	}
	x.check(want)
}

// TestPostponedRows lets both write rows without buckets, which leat gives out.
func TestPostponedRows(t *testing.T) {
	t.Parallel()
	x := newTable(t, "postponed", `["part","id"]`, `["part"]`, `"bucket":"-2","postpone.default-bucket-num":"2"`)
	want := map[int]row{}
	x.open()
	rows := some(0, 100, "leat")
	x.write(rows...)
	put(want, rows)
	x.checkJava(map[int]row{})
	x.distribute()
	x.check(want)

	rows = some(50, 120, "java")
	x.java(1, rows)
	put(want, rows)
	x.distribute()
	rows = append(some(110, 130, "again"), row{kind: columnar.Delete, id: 3, part: "p1"})
	x.write(rows...)
	put(want, rows[:len(rows)-1])
	delete(want, 3)
	x.close()
	x.distribute()
	x.check(want)
}

// TestPostponedRowsByJava lets Java give leat's postponed rows their buckets.
func TestPostponedRowsByJava(t *testing.T) {
	t.Parallel()
	x := newTable(t, "postponed_java", `["part","id"]`, `["part"]`, `"bucket":"-2"`)
	want := map[int]row{}
	x.open()
	for n := range 3 {
		rows := append(some(30*n, 100+30*n, fmt.Sprint("leat", n)), row{kind: columnar.Delete, id: 31*n + 5, part: fmt.Sprint("p", (31*n+5)%2)})
		x.write(rows...)
		put(want, rows[:len(rows)-1])
		delete(want, 31*n+5)
	}
	rows := []row{{kind: columnar.UpdateBefore, id: 90, part: "p0", v: "leat2"}, {kind: columnar.UpdateAfter, id: 90, part: "p0", v: "changed"}}
	x.write(rows...)
	put(want, rows[1:])
	x.checkJava(map[int]row{})
	x.javaDistribute(1)
	x.checkJava(want)

	rows = some(80, 190, "again")
	x.write(rows...)
	put(want, rows)
	x.javaDistribute(2)
	x.check(want)
	// Both number buckets the same: leat goes on where Java began.
	rows = some(0, 40, "last")
	x.write(rows...)
	put(want, rows)
	x.close()
	x.distribute()
	x.check(want)
}

// TestModBucketsInTurn has the key itself choose the bucket.
func TestModBucketsInTurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, key, partition, options string }{
		{"mod", `["part","id"]`, `["part"]`, `"bucket":"3","bucket-key":"id","bucket-function.type":"mod"`},
		{"mod_append", "[]", "[]", `"bucket":"4","bucket-key":"id","bucket-function.type":"mod"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newTable(t, c.name, c.key, c.partition, c.options)
			want := map[int]row{}
			rows := some(-20, 60, "java")
			x.java(1, rows)
			put(want, rows)
			x.open()
			from := -30
			if c.key == "[]" {
				from = 60
			}
			rows = some(from, 90, "leat")
			x.write(rows...)
			put(want, rows)
			x.close()
			x.check(want)
			from = max(from, -5)
			if c.key == "[]" {
				from = 90
			}
			rows = some(from, 100, "java again")
			x.java(2, rows)
			put(want, rows)
			x.check(want)
		})
	}
}

// TestAppendVectorsInTurn has Java delete rows of an append table by deletion
// vectors, which leat's compactions write away, and gives way to newer ones.
func TestAppendVectorsInTurn(t *testing.T) {
	t.Parallel()
	x := newTable(t, "vectors", "[]", `["part"]`, `"bucket":"-1","deletion-vectors.enabled":"true","compaction.min.file-num":"3"`)
	want := map[int]row{}
	x.open()
	for n := range 2 {
		rows := some(100*n, 100*n+100, "leat")
		x.write(rows...)
		put(want, rows)
	}
	// Every file holds 50 ids in order: deleteFirst takes those of each.
	deleteFirst := func(id int64, n int, from ...int) {
		x.javaCall("delete", "--rows", fmt.Sprint(n), "--id", fmt.Sprint(id))
		for _, f := range from {
			for k := range 2 * n {
				delete(want, f+k)
			}
		}
	}
	deleteFirst(1, 5, 0, 100)
	x.checkJava(want)
	rows := some(200, 300, "later")
	x.write(rows...)
	put(want, rows)
	x.distribute()
	x.check(want)
	if n := x.vectorFiles(); n != 0 {
		t.Errorf("%d files of deletion vectors after the compaction", n)
	}

	// What was compacted from an older state is dropped.
	msgs, err := x.tab.Compact(t.Context(), lakehouse.WriteConfig{Attempt: "0c7d0a8e-0000-4000-8000-000000000001"}, true)
	if err != nil || len(msgs) == 0 {
		t.Fatal(msgs, err)
	}
	x.javaCall("delete", "--rows", "1", "--id", "2")
	before := x.count()
	c := commit.New(x.tab.FS, x.tab.Path, x.tab.Schema, commit.Options{Attempt: "0c7d0a8e-0000-4000-8000-000000000001"}, nil)
	ids, err := c.Commit(t.Context(), commit.Request{User: "compactor", Identifier: 1, Messages: msgs})
	if err != nil || len(ids) != 0 {
		t.Errorf("committed %v: %v", ids, err)
	}
	if n := x.count(); n != before {
		t.Errorf("%d rows came back", n-before)
	}
	x.distribute()
	if n := x.count(); n != before {
		t.Errorf("%d rows after the compaction, want %d", n, before)
	}
	x.close()
}
