package buckets

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/uuid"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// row is a row of the tables here: id INT, part STRING, v STRING.
type row struct {
	kind columnar.RowKind
	id   int
	part string
	v    string
}

func (r row) judged() judge.Row {
	return judge.Row{"id": json.Number(fmt.Sprint(r.id)), "part": r.part, "v": r.v}
}

// table is a table that Java made, with leat's writer on it.
type table struct {
	harness.Lake
	t    testing.TB
	tab  *lakehouse.Table
	user string
	id   int64
	w    *lakehouse.Writer
	c    *commit.Committer
}

// newTable lets Java make a table; key and partition are JSON lists of columns.
func newTable(t testing.TB, name, key, partition, options string) *table {
	t.Helper()
	x := &table{t: t, Lake: harness.Lake{Warehouse: t.TempDir(), Table: "d." + name}, user: uuid.NewString()}
	judge.Java(t).Create(t, x.Warehouse, x.Table, fmt.Sprintf(`{"fields":[{"name":"id","type":"INT NOT NULL"},{"name":"part","type":"STRING NOT NULL"},{"name":"v","type":"STRING"}],
		"primaryKeys":%s,"partitionKeys":%s,"options":{"file.format":"parquet",%s}}`, key, partition, options))
	tab, err := lakehouse.Open(t.Context(), local.New(), filepath.Join(x.Warehouse, "d.db", name))
	if err != nil {
		t.Fatal(err)
	}
	x.tab = tab
	return x
}

// open starts leat's writer, as a job does when it begins.
func (x *table) open() {
	x.t.Helper()
	attempt := uuid.NewString()
	var err error
	if x.w, err = x.tab.NewWriter(x.t.Context(), lakehouse.WriteConfig{Attempt: attempt, User: x.user, Pool: lakehouse.NewWorkPool(2)}); err != nil {
		x.t.Fatal(err)
	}
	x.c = commit.New(x.tab.FS, x.tab.Path, x.tab.Schema, commit.Options{Attempt: attempt}, nil)
}

func (x *table) close() {
	x.t.Helper()
	if err := x.w.Close(x.t.Context()); err != nil {
		x.t.Fatal(err)
	}
}

// write writes rows and commits them as one epoch.
func (x *table) write(rows ...row) {
	x.t.Helper()
	ctx := x.t.Context()
	if err := x.w.Write(ctx, batch(x.tab.Schema, rows)); err != nil {
		x.t.Fatal(err)
	}
	x.id++
	p, err := x.w.Prepare(ctx, x.id)
	if err != nil {
		x.t.Fatal(err)
	}
	msgs, err := p.Wait(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	ids, err := x.c.Commit(ctx, commit.Request{User: x.user, Identifier: x.id, Messages: msgs})
	if err != nil {
		x.t.Fatal(err)
	}
	if err := x.w.Committed(ctx, x.id, ids, false); err != nil {
		x.t.Fatal(err)
	}
}

func batch(s *spec.TableSchema, rows []row) *columnar.Batch {
	b := columnar.NewBuilders(memory.DefaultAllocator, s.Columns())
	kinds := make([]columnar.RowKind, len(rows))
	for i, r := range rows {
		kinds[i] = r.kind
		b[0].(*array.Int32Builder).Append(int32(r.id))
		b[1].(*array.StringBuilder).Append(r.part)
		b[2].(*array.StringBuilder).Append(r.v)
	}
	cols := []arrow.Array{b[0].NewArray(), b[1].NewArray(), b[2].NewArray()}
	return columnar.NewBatch(s.Columns(), kinds, cols, len(rows))
}

// some gives inserts of the ids from to to-1 with a value.
func some(from, to int, v string) []row {
	var out []row
	for id := from; id < to; id++ {
		out = append(out, row{id: id, part: fmt.Sprint("p", id%2), v: v})
	}
	return out
}

// java writes rows with Java.
func (x *table) java(id int64, rows []row) {
	x.t.Helper()
	var text string
	for _, r := range rows {
		text += r.judged().Line() + "\n"
	}
	judge.Java(x.t).Write(x.t, x.Warehouse, x.Table, "java", id, text)
}

// check lets both judges read the table.
func (x *table) check(want map[int]row) {
	x.t.Helper()
	x.CheckRows(x.t, judged(want))
}

// checkJava is check by Java alone, which is faster.
func (x *table) checkJava(want map[int]row) {
	x.t.Helper()
	x.CheckJava(x.t, judged(want))
}

func judged(want map[int]row) []judge.Row {
	rows := make([]judge.Row, 0, len(want))
	for _, r := range want {
		rows = append(rows, r.judged())
	}
	return rows
}

func put(into map[int]row, rows []row) {
	for _, r := range rows {
		into[r.id] = r
	}
}

// distribute gives postponed rows their buckets.
func (x *table) distribute() {
	x.t.Helper()
	done, err := x.tab.RunCompaction(x.t.Context(), lakehouse.WriteConfig{Attempt: uuid.NewString()}, lakehouse.Compaction{})
	if err != nil || done.Dropped > 0 {
		x.t.Fatal(done, err)
	}
}

// javaDistribute lets Java give postponed rows two buckets a partition.
func (x *table) javaDistribute(id int64) {
	x.t.Helper()
	x.javaCall("distribute", "--buckets", "2", "--user", "java", "--id", fmt.Sprint(id))
}

// javaCall runs a command of the oracle on the table and gives its lines.
func (x *table) javaCall(command string, args ...string) [][]byte {
	x.t.Helper()
	lines, err := judge.Java(x.t).Call("", append([]string{command, "--warehouse", x.Warehouse, "--table", x.Table}, args...)...)
	if err != nil {
		x.t.Fatal(err)
	}
	return lines
}

// count lets Java count the rows.
func (x *table) count() int {
	x.t.Helper()
	return len(x.javaCall("rows"))
}

// vectorFiles counts the files of deletion vectors of the latest snapshot.
func (x *table) vectorFiles() int {
	x.t.Helper()
	s, err := x.tab.LatestSnapshot(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	if s.IndexManifest == nil {
		return 0
	}
	entries, err := commit.NewManifests(x.tab.FS, x.tab.Path).Index(x.t.Context(), s)
	if err != nil {
		x.t.Fatal(err)
	}
	return len(entries)
}
