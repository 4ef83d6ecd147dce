package lakehouse_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/spec"
)

// countingFS counts the bytes read from data files.
type countingFS struct {
	fileio.FS
	read *atomic.Int64
}

type countingFile struct {
	fileio.File
	read *atomic.Int64
}

func (f countingFS) Open(ctx context.Context, path string) (fileio.File, error) {
	file, err := f.FS.Open(ctx, path)
	if err != nil || !strings.HasSuffix(path, ".orc") && !strings.HasSuffix(path, ".parquet") {
		return file, err
	}
	return countingFile{file, f.read}, nil
}

func (f countingFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	f.read.Add(int64(n))
	return n, err
}

func int64s(vals ...int64) *array.Int64 {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(vals, nil)
	return b.NewInt64Array()
}

// TestConditionsSaveReads counts the rows and bytes that scans with conditions read.
func TestConditionsSaveReads(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	options := map[string]string{"bucket": "1", "file.format": "orc", "orc.row.index.stride": "500", "orc.stripe.size": "60000", "orc.column.encoding.direct": "address", "orc.compress": "none"}
	write := func(s *spec.TableSchema, compact bool) (*lakehouse.Table, *atomic.Int64) {
		fs := countingFS{crashfs.New(), &atomic.Int64{}}
		tab := newTable(t, fs, "/wh/db.db/t", s)
		j := newJob(t, tab, "one")
		batch := make([]order, rows)
		for i := range batch {
			batch[i] = order{id: int64(i), user: int64(i / 10), status: "s", address: fmt.Sprintf("%d street %d", i*7919%rows, i), time: int64(i) * 1000}
		}
		j.write(orders(tab.Schema, batch...))
		j.commit()
		if compact {
			j.write(orders(tab.Schema, order{id: rows + 5, user: -1}))
			j.commit()
		}
		return tab, fs.read
	}
	// A flush that folds writes its rows in portions, which end row groups of so few bytes.
	parquet := map[string]string{"bucket": "1", "file.format": "parquet", "file.block-size": "1 b", "parquet.page.size": "1 kb", "metadata.stats-mode": "none", "merge-engine": "partial-update"}
	paged, pagedBytes := write(ordersSchema(map[string]string{"bucket": "1", "file.format": "parquet", "parquet.page.size": "4 kb"}), true)
	grouped, groupedBytes := write(ordersSchema(parquet), true)
	appended, appendedBytes := write(appendSchema(map[string]string{"bucket": "-1", "file.format": "orc", "orc.row.index.stride": "500", "orc.stripe.size": "60000", "orc.compress": "none"}), false)
	keyed, keyedBytes := write(ordersSchema(options), true)
	scan := func(tab *lakehouse.Table, read *atomic.Int64, where ...lakehouse.Condition) (got int, bytes int64) {
		read.Store(0)
		err := tab.Scan(t.Context(), lakehouse.ScanOptions{Where: where}, func(b *columnar.Batch) error { got += b.Rows(); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return got, read.Load()
	}
	for _, c := range []struct {
		name  string
		tab   *lakehouse.Table
		bytes *atomic.Int64
		where lakehouse.Condition
		// most is how many rows may come, share how much of all bytes may be read.
		most  int
		share float64
	}{
		{"key of an append table", appended, appendedBytes, lakehouse.Condition{Column: "order_id", Op: lakehouse.Equal, Values: int64s(7777)}, 500, 0.25},
		{"column of an append table", appended, appendedBytes, lakehouse.Condition{Column: "user_id", Op: lakehouse.Less, Values: int64s(60)}, 1000, 0.25},
		{"several values", appended, appendedBytes, lakehouse.Condition{Column: "order_id", Op: lakehouse.Equal, Values: int64s(10, 19_990)}, 1000, 0.3},
		{"key of a merge tree", keyed, keyedBytes, lakehouse.Condition{Column: "order_id", Op: lakehouse.Equal, Values: int64s(7777)}, 500, 0.25},
		{"nothing", keyed, keyedBytes, lakehouse.Condition{Column: "order_id", Op: lakehouse.Greater, Values: int64s(1 << 40)}, 0, 0},
		// The file does not overlap with others, so its rows are final.
		{"column of a section without others", keyed, keyedBytes, lakehouse.Condition{Column: "user_id", Op: lakehouse.GreaterOrEqual, Values: int64s(1990)}, 501, 0.2},
		{"key of a merge tree in Parquet", grouped, groupedBytes, lakehouse.Condition{Column: "order_id", Op: lakehouse.Less, Values: int64s(70)}, rows / 2, 0.6},
		{"column in Parquet", grouped, groupedBytes, lakehouse.Condition{Column: "user_id", Op: lakehouse.Greater, Values: int64s(1990)}, rows / 2, 0.6},
		{"key in pages", paged, pagedBytes, lakehouse.Condition{Column: "order_id", Op: lakehouse.Equal, Values: int64s(7777)}, 600, 1},
		{"nothing in Parquet", grouped, groupedBytes, lakehouse.Condition{Column: "user_id", Op: lakehouse.Greater, Values: int64s(1 << 40)}, 0, 0.1},
	} {
		_, all := scan(c.tab, c.bytes)
		got, read := scan(c.tab, c.bytes, c.where)
		if got > c.most || float64(read) > c.share*float64(all) {
			t.Errorf("%s: %d rows and %d of %d bytes read, want at most %d rows and %.0f %%", c.name, got, read, all, c.most, 100*c.share)
		}
	}
}

// oddRow is a row of the table of TestConditionsLeaveOutOnlyWhatFails.
type oddRow struct {
	id   int64
	kind columnar.RowKind
}

func oddSchema(options map[string]string, keys ...string) *spec.TableSchema {
	char := columnar.DataType{Kind: columnar.Char, Length: 6, Nullable: true}
	return &spec.TableSchema{
		Fields: []columnar.Field{
			{Name: "id", Type: columnar.Of(columnar.BigInt).NotNull()},
			{Name: "s", Type: columnar.StringType()},
			{Name: "f", Type: columnar.Of(columnar.Double)},
			{Name: "d", Type: columnar.DecimalOf(20, 2)},
			{Name: "t", Type: columnar.TimestampOf(6)},
			{Name: "n", Type: columnar.Of(columnar.Int)},
			{Name: "b", Type: columnar.Of(columnar.Boolean)},
			{Name: "c", Type: char},
			{Name: "day", Type: columnar.Of(columnar.Date)},
		},
		PrimaryKeys: append([]string{}, keys...), PartitionKeys: []string{}, Options: options,
	}
}

// oddValue appends a value near others of neighbouring ids, now and then an odd one.
func oddValue(b array.Builder, t columnar.DataType, id int64, rnd *rand.Rand) {
	if t.Nullable && rnd.IntN(8) == 0 {
		b.AppendNull()
		return
	}
	near := id + rnd.Int64N(20)
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(id)
	case *array.Int32Builder:
		b.Append(int32(near))
	case *array.BooleanBuilder:
		b.Append(near > 400)
	case *array.Date32Builder:
		b.Append(arrow.Date32(near - 300))
	case *array.Float64Builder:
		odd := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1)}
		if k := rnd.IntN(300); k < len(odd) {
			b.Append(odd[k])
		} else {
			b.Append(float64(near)/2 - 100)
		}
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(near*25 - 10_000))
	case *array.TimestampBuilder:
		// Around 1970 in steps of a tenth of a second.
		b.Append(arrow.Timestamp((near-300)*100_000 + 37))
	case *array.StringBuilder:
		text := fmt.Sprintf("%04d", near)
		if t.Kind == columnar.VarChar && rnd.IntN(50) == 0 {
			// Statistics keep no more than 1,024 bytes of it.
			text = strings.Repeat(text, 300) + "é"
		}
		b.Append(text)
	}
}

func oddBatch(s *spec.TableSchema, rows []oddRow, rnd *rand.Rand) *columnar.Batch {
	b := columnar.NewBuilders(memory.DefaultAllocator, s.Columns())
	kinds := make([]columnar.RowKind, len(rows))
	for i, r := range rows {
		kinds[i] = r.kind
		for c, f := range s.Fields {
			oddValue(b[c], f.Type, r.id, rnd)
		}
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	return columnar.NewBatch(s.Columns(), kinds, cols, len(rows))
}

// meets evaluates a condition on row i of a column, as SQL has it; NaN is the greatest.
func meets(c lakehouse.Condition, a arrow.Array, i int) bool {
	switch {
	case c.Op == lakehouse.IsNull:
		return a.IsNull(i)
	case c.Op == lakehouse.IsNotNull || a.IsNull(i):
		return a.IsValid(i)
	}
	for k := range c.Values.Len() {
		o := compareAt(a, i, c.Values, k)
		if c.Op == lakehouse.Equal && o == 0 || c.Op == lakehouse.Less && o < 0 || c.Op == lakehouse.LessOrEqual && o <= 0 ||
			c.Op == lakehouse.Greater && o > 0 || c.Op == lakehouse.GreaterOrEqual && o >= 0 {
			return true
		}
	}
	return false
}

func compareAt(a arrow.Array, i int, b arrow.Array, k int) int {
	switch a := a.(type) {
	case *array.Int64:
		return cmp.Compare(a.Value(i), b.(*array.Int64).Value(k))
	case *array.Int32:
		return cmp.Compare(a.Value(i), b.(*array.Int32).Value(k))
	case *array.Int16:
		return cmp.Compare(a.Value(i), b.(*array.Int16).Value(k))
	case *array.Int8:
		return cmp.Compare(a.Value(i), b.(*array.Int8).Value(k))
	case *array.Time32:
		return cmp.Compare(a.Value(i), b.(*array.Time32).Value(k))
	case *array.Float32:
		return compareFloats(float64(a.Value(i)), float64(b.(*array.Float32).Value(k)))
	case *array.Date32:
		return cmp.Compare(a.Value(i), b.(*array.Date32).Value(k))
	case *array.Timestamp:
		return cmp.Compare(a.Value(i), b.(*array.Timestamp).Value(k))
	case *array.String:
		return cmp.Compare(a.Value(i), b.(*array.String).Value(k))
	case *array.Decimal128:
		return a.Value(i).Cmp(b.(*array.Decimal128).Value(k))
	case *array.Boolean:
		x, y := a.Value(i), b.(*array.Boolean).Value(k)
		return map[bool]int{false: 0, true: 1}[x] - map[bool]int{false: 0, true: 1}[y]
	case *array.Float64:
		return compareFloats(a.Value(i), b.(*array.Float64).Value(k))
	default:
		panic(fmt.Sprintf("no order of %s", a.DataType()))
	}
}

func compareFloats(x, y float64) int {
	switch {
	case math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x):
		return 1
	case math.IsNaN(y):
		return -1
	}
	return cmp.Compare(x, y)
}

// filtered scans with conditions and gives the rows that meet them, and how many came.
func filtered(t tester, tab *lakehouse.Table, where, meet []lakehouse.Condition) (rows []string, came int) {
	t.Helper()
	err := tab.Scan(t.Context(), lakehouse.ScanOptions{Where: where}, func(b *columnar.Batch) error {
		came += b.Rows()
		for i, text := range renderRows(b) {
			if !slices.ContainsFunc(meet, func(c lakehouse.Condition) bool { return !meets(c, b.Cols[b.Schema.Index(c.Column)], i) }) {
				rows = append(rows, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return rows, came
}

// TestConditionsLeaveOutOnlyWhatFails compares scans with random conditions with
// filtered full scans: append tables, merge trees, deletion vectors.
func TestConditionsLeaveOutOnlyWhatFails(t *testing.T) {
	t.Parallel()
	left := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		rnd := rand.New(rand.NewPCG(seed, 7))
		options := map[string]string{"bucket": "1", "file.format": "orc", "orc.row.index.stride": "20", "orc.stripe.size": "9000"}
		if rapid.Bool().Draw(rt, "parquet") {
			// Without statistics of whole files those of row groups and pages decide.
			options = map[string]string{"bucket": "1", "file.format": "parquet", "metadata.stats-mode": "none"}
			options["file.block-size"] = rapid.SampledFrom([]string{"1 b", "1 mb"}).Draw(rt, "block size")
			options["parquet.page.size"] = rapid.SampledFrom([]string{"1 b", "90 b", "600 b"}).Draw(rt, "page size")
		}
		shape := rapid.SampledFrom([]string{"append", "merge", "vectors"}).Draw(rt, "shape")
		var keys []string
		switch shape {
		case "append":
			options["bucket"] = "-1"
		case "vectors":
			options["deletion-vectors.enabled"] = "true"
			keys = []string{"id"}
		default:
			options["num-sorted-run.compaction-trigger"] = "9"
			keys = []string{"id"}
		}
		tab := newTable(rt, crashfs.New(), "/wh/db.db/t", oddSchema(options, keys...))
		j := newJob(t, tab, fmt.Sprint("w", seed))
		for range rapid.IntRange(1, 4).Draw(rt, "commits") {
			var rows []oddRow
			from, n, step := rnd.Int64N(300), 1+rnd.IntN(400), 1+rnd.Int64N(3)
			for i := range int64(n) {
				r := oddRow{id: from + i*step, kind: columnar.Insert}
				if keys != nil && rnd.IntN(9) == 0 {
					r.kind = columnar.Delete
				}
				rows = append(rows, r)
			}
			j.write(oddBatch(tab.Schema, rows, rnd))
			j.commit()
		}
		for range 6 {
			var where []lakehouse.Condition
			for range rapid.IntRange(1, 2).Draw(rt, "conditions") {
				f := rapid.SampledFrom(tab.Schema.Fields).Draw(rt, "column")
				c := lakehouse.Condition{Column: f.Name, Op: rapid.SampledFrom([]lakehouse.Op{
					lakehouse.Equal, lakehouse.Equal, lakehouse.Less, lakehouse.LessOrEqual, lakehouse.Greater, lakehouse.GreaterOrEqual, lakehouse.IsNull, lakehouse.IsNotNull,
				}).Draw(rt, "op")}
				if c.Op < lakehouse.IsNull {
					b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(f.Type))
					n := 1
					if c.Op == lakehouse.Equal {
						n += rnd.IntN(3)
					}
					for range n {
						oddValue(b, f.Type.NotNull(), rapid.Int64Range(-50, 900).Draw(rt, "near"), rnd)
					}
					c.Values = b.NewArray()
				}
				where = append(where, c)
			}
			want, all := filtered(rt, tab, nil, where)
			got, came := filtered(rt, tab, where, where)
			left[options["file.format"]] += all - came
			if d := gocmp.Diff(want, got); d != "" {
				rt.Fatalf("%s, %v, %+v: rows (-full scan +by conditions):\n%s", shape, options, where, d)
			}
		}
	})
	if left["orc"] == 0 || left["parquet"] == 0 {
		t.Errorf("conditions left out %v rows", left)
	}
}

// TestConditionsOnGoldenTables scans the tables that Java wrote by conditions on the values
// in them: statistics of its files, of Parquet and ORC, leave out only what does not meet them.
func TestConditionsOnGoldenTables(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob("testdata/golden/*/wh/db.db/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%d golden tables: %v", len(dirs), err)
	}
	left := 0
	for _, dir := range dirs {
		tab, err := lakehouse.Open(t.Context(), local.New(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range tab.Schema.Fields {
			if f.Type.IsNested() || f.Type.Kind == columnar.Binary || f.Type.Kind == columnar.VarBinary || f.Type.Kind == columnar.Variant {
				continue
			}
			for _, v := range someValues(t, tab, f.Name) {
				for op := lakehouse.Equal; op <= lakehouse.IsNotNull; op++ {
					where := []lakehouse.Condition{{Column: f.Name, Op: op, Values: v}}
					want, all := filtered(t, tab, nil, where)
					got, came := filtered(t, tab, where, where)
					left += all - came
					if d := gocmp.Diff(want, got); d != "" {
						t.Errorf("%s, %+v: rows (-full scan +by conditions):\n%s", dir, where, d)
					}
				}
			}
		}
	}
	if left == 0 {
		t.Error("no condition has ever left a row out")
	}
}

// someValues gives the first, a middle and the last value of a column, an array each.
func someValues(t *testing.T, tab *lakehouse.Table, column string) []arrow.Array {
	t.Helper()
	var all []arrow.Array
	err := tab.Scan(t.Context(), lakehouse.ScanOptions{Columns: []string{column}}, func(b *columnar.Batch) error {
		for i := range b.Rows() {
			if b.Cols[0].IsValid(i) {
				all = append(all, array.NewSlice(b.Cols[0], int64(i), int64(i+1)))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 3 {
		return all
	}
	return []arrow.Array{all[0], all[len(all)/2], all[len(all)-1]}
}
