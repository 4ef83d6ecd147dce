package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/lakehouse/format/formattest"
)

// groupSeen is what a filter was told of a row group.
type groupSeen struct {
	rows  int64
	stats []ColumnStats
	known []bool
	keep  bool
}

// tellingFilter notes what it is told and keeps what keep says.
type tellingFilter struct {
	fields []columnar.Field
	keep   func() bool
	groups []groupSeen
}

func (f *tellingFilter) MayMatch(rows int64, stats func(columnar.Field) (ColumnStats, bool)) bool {
	g := groupSeen{rows: rows, keep: f.keep()}
	for _, c := range f.fields {
		s, ok := stats(c)
		g.stats, g.known = append(g.stats, s), append(g.known, ok)
	}
	f.groups = append(f.groups, g)
	return g.keep
}

// orderOf compares value i of a with value k of b of the same type; NaN is the greatest, both zeros are one.
func orderOf(a arrow.Array, i int, b arrow.Array, k int) int {
	float := func(x, y float64) int {
		if math.IsNaN(x) || math.IsNaN(y) {
			return cmp.Compare(b2i(math.IsNaN(x)), b2i(math.IsNaN(y)))
		}
		return cmp.Compare(x, y)
	}
	switch a := a.(type) {
	case *array.Boolean:
		return cmp.Compare(b2i(a.Value(i)), b2i(b.(*array.Boolean).Value(k)))
	case *array.Float32:
		return float(float64(a.Value(i)), float64(b.(*array.Float32).Value(k)))
	case *array.Float64:
		return float(a.Value(i), b.(*array.Float64).Value(k))
	case *array.Decimal128:
		return a.Value(i).Cmp(b.(*array.Decimal128).Value(k))
	case *array.String:
		return cmp.Compare(a.Value(i), b.(*array.String).Value(k))
	case *array.Int8:
		return cmp.Compare(a.Value(i), b.(*array.Int8).Value(k))
	case *array.Int16:
		return cmp.Compare(a.Value(i), b.(*array.Int16).Value(k))
	case *array.Int32:
		return cmp.Compare(a.Value(i), b.(*array.Int32).Value(k))
	case *array.Int64:
		return cmp.Compare(a.Value(i), b.(*array.Int64).Value(k))
	case *array.Date32:
		return cmp.Compare(a.Value(i), b.(*array.Date32).Value(k))
	case *array.Time32:
		return cmp.Compare(a.Value(i), b.(*array.Time32).Value(k))
	default:
		return cmp.Compare(a.(*array.Timestamp).Value(i), b.(*array.Timestamp).Value(k))
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestFilterIsToldTheTruth writes row groups and pages of random columns: what the filter is told holds
// for their values, and the rows that it keeps come, with their places.
func TestFilterIsToldTheTruth(t *testing.T) {
	t.Parallel()
	told := map[string]int{}
	flat := flatFields()
	rapid.Check(t, func(rt *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 7))
		deep := nestedFields()[1:]
		fields := slices.Concat(flat, deep)
		var batches [][]arrow.Array
		for range rapid.IntRange(1, 8).Draw(rt, "batches") {
			nulls := rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(rt, "nulls")
			distinct := rapid.SampledFrom([]int64{1, 20, 1 << 30}).Draw(rt, "distinct")
			rows := rapid.IntRange(1, 60).Draw(rt, "rows")
			cols := randomColumns(flat, rows, distinct, nulls, rnd)
			for range rapid.IntRange(0, 4).Draw(rt, "odd floats") {
				v := []float64{math.NaN(), math.Copysign(0, -1), 0, math.Inf(1), math.Inf(-1)}[rnd.IntN(5)]
				cols[5].(*array.Float32).Float32Values()[rnd.IntN(cols[5].Len())] = float32(v)
				cols[6].(*array.Float64).Float64Values()[rnd.IntN(cols[6].Len())] = v
			}
			s := formattest.Values{Rand: rnd, Nulls: nulls, Entries: 3}
			batches = append(batches, append(cols, s.Columns(deep, rows)...))
		}
		opts := Options{
			PageSize: rapid.SampledFrom([]int64{1, 40, 300, 0}).Draw(rt, "page size"), BlockSize: rapid.SampledFrom([]int64{1, 10_000}).Draw(rt, "block size"),
		}
		content, _ := writeFile(t, fields, opts, batches...)
		whole := make([]arrow.Array, len(fields))
		for i := range fields {
			parts := make([]arrow.Array, len(batches))
			for k := range batches {
				parts[k] = batches[k][i]
			}
			var err error
			if whole[i], err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
				rt.Fatal(err)
			}
		}
		f := &tellingFilter{fields: flat, keep: func() bool { return rnd.IntN(2) == 0 }}
		got := readKept(rt, content, fields, whole, f)
		if want := wantKept(rt, f, whole, bytes.Contains(content, []byte(indexKey)), told); !slices.Equal(got, want) {
			rt.Fatalf("rows %v came, want %v", got, want)
		}
	})
	for _, f := range flatFields() {
		switch f.Type.Kind {
		case columnar.Binary, columnar.VarBinary:
		case columnar.Timestamp, columnar.TimestampLTZ:
			if f.Type.Precision <= 6 && told[f.Name] == 0 {
				t.Errorf("nothing was ever told of column %s of type %s", f.Name, f.Type)
			}
		default:
			if told[f.Name] == 0 {
				t.Errorf("nothing was ever told of column %s of type %s", f.Name, f.Type)
			}
		}
	}
}

// TestGivenUpDictionariesHaveBounds begins a page by a dictionary and goes on without: the bounds are those of all its values.
func TestGivenUpDictionariesHaveBounds(t *testing.T) {
	t.Parallel()
	fields := []columnar.Field{{ID: 0, Name: "s", Type: columnar.StringType()}, {ID: 1, Name: "n", Type: columnar.Of(columnar.BigInt)}}
	texts, numbers := array.NewStringBuilder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
	for i := range 3 * dictionaryTrial {
		v := (i*7919 + 3) % 9973 // the least and the greatest are among the first
		if i < 2 {
			v = 9973 * i
		}
		texts.Append(fmt.Sprintf("%05d", v))
		numbers.Append(int64(v) << 20)
	}
	whole := []arrow.Array{texts.NewArray(), numbers.NewArray()}
	var batches [][]arrow.Array
	for from := int64(0); from < int64(whole[0].Len()); from += 1000 {
		to := min(from+1000, int64(whole[0].Len()))
		batches = append(batches, []arrow.Array{array.NewSlice(whole[0], from, to), array.NewSlice(whole[1], from, to)})
	}
	for _, pageSize := range []int64{0, 9000} {
		content, _ := writeFile(t, fields, Options{PageSize: pageSize}, batches...)
		f, told := &tellingFilter{fields: fields, keep: func() bool { return true }}, map[string]int{}
		got := readKept(t, content, fields, whole, f)
		if want := wantKept(t, f, whole, pageSize > 0, told); !slices.Equal(got, want) || told["s"] < 1 || told["n"] < 1 {
			t.Errorf("%d rows came, want %d; bounds were told %v times", len(got), len(want), told)
		}
	}
}

// readKept reads a file, compares what comes with the rows of whole at the same place, and gives the places.
func readKept(t rapid.TB, content []byte, fields []columnar.Field, whole []arrow.Array, f Filter) (rows []int64) {
	r, err := OpenReader(memFile{bytes.NewReader(content)}, "f.parquet", fields, ReadOptions{BatchRows: 25, Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		cols, n, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		at := r.FirstRow()
		for i := range cols {
			if want := array.NewSlice(whole[i], at, at+int64(n)); !array.ApproxEqual(want, cols[i], array.WithNaNsEqual(true)) {
				t.Fatalf("column %s of rows %d to %d:\nwant %v\ngot  %v", fields[i].Name, at, at+int64(n), want, cols[i])
			}
			cols[i].Release()
		}
		for k := range n {
			rows = append(rows, at+int64(k))
		}
	}
}

// wantKept gives the rows that a filter kept, which is asked about a row group and then, in a file with an index,
// about parts of it, and checks what it was told.
func wantKept(t rapid.TB, f *tellingFilter, whole []arrow.Array, indexed bool, told map[string]int) (rows []int64) {
	calls, at := f.groups, int64(0)
	for len(calls) > 0 {
		group := calls[0]
		calls = calls[1:]
		checkTold(t, group, f.fields, whole, at, told)
		for i := at; group.keep && !indexed && i < at+group.rows; i++ {
			rows = append(rows, i)
		}
		for from := at; group.keep && indexed && from < at+group.rows; calls = calls[1:] {
			if len(calls) == 0 {
				t.Fatalf("the filter was not asked about the rows from %d on", from)
			}
			part := calls[0]
			checkTold(t, part, f.fields, whole, from, told)
			for i := from; part.keep && i < from+part.rows; i++ {
				rows = append(rows, i)
			}
			from += part.rows
		}
		at += group.rows
	}
	if n := int64(whole[0].Len()); at != n {
		t.Fatalf("the filter was asked about %d rows of %d", at, n)
	}
	return rows
}

// checkTold checks what was told of the rows from at on.
func checkTold(t rapid.TB, seen groupSeen, fields []columnar.Field, whole []arrow.Array, at int64, told map[string]int) {
	for i, f := range fields {
		a, s := array.NewSlice(whole[i], at, at+seen.rows), seen.stats[i]
		if !seen.known[i] {
			continue
		}
		if s.Nulls != int64(a.NullN()) && s.Nulls != -1 {
			t.Fatalf("column %s: %d nulls of %d values, want %d", f.Name, s.Nulls, a.Len(), a.NullN())
		}
		if s.MinMax == nil {
			continue
		}
		told[f.Name]++
		for k := range a.Len() {
			if a.IsValid(k) && (orderOf(s.MinMax, 0, a, k) > 0 || orderOf(s.MinMax, 1, a, k) < 0) {
				t.Fatalf("column %s of type %s: value %s is not within %v", f.Name, f.Type, a.ValueStr(k), s.MinMax)
			}
		}
	}
}

// TestBounds makes bounds of what other writers may have put into their files.
func TestBounds(t *testing.T) {
	t.Parallel()
	node := func(n schema.Node, err error) *schema.Column {
		if err != nil {
			t.Fatal(err)
		}
		return schema.NewColumn(n.(*schema.PrimitiveNode), 1, 0)
	}
	opt := parquet.Repetitions.Optional
	logical := func(lt schema.LogicalType, pt parquet.Type, length int) *schema.Column {
		return node(schema.NewPrimitiveNodeLogical("c", opt, lt, pt, length, -1))
	}
	le32 := func(v int32) []byte { return arrow.Int32Traits.CastToBytes([]int32{v}) }
	le64 := func(v int64) []byte { return arrow.Int64Traits.CastToBytes([]int64{v}) }
	f64 := func(v float64) []byte { return arrow.Float64Traits.CastToBytes([]float64{v}) }
	ints, longs := node(schema.NewInt32Node("c", opt, -1), nil), node(schema.NewInt64Node("c", opt, -1), nil)
	doubles := node(schema.NewFloat64Node("c", opt, -1), nil)
	nan, negative := math.NaN(), math.Copysign(0, -1)
	for _, c := range []struct {
		name      string
		low, high []byte
		typ       columnar.DataType
		col       *schema.Column
		writer    string
		want      string // "" for none
	}{
		{"integers", le32(-3), le32(7), columnar.Of(columnar.Int), ints, javaWriter, "[-3 7]"},
		{"cut short", le32(-3)[:2], le32(7), columnar.Of(columnar.Int), ints, javaWriter, ""},
		{"beyond the type", le32(-3), le32(300), columnar.Of(columnar.TinyInt), ints, javaWriter, ""},
		{"without sign", le32(-3), le32(7), columnar.Of(columnar.Int), logical(schema.NewIntLogicalType(32, false), parquet.Types.Int32, -1), javaWriter, ""},
		{"doubles of Java", f64(negative), f64(2), columnar.Of(columnar.Double), doubles, javaWriter, "[-0 2]"},
		{"doubles of one that leaves NaN out", f64(1), f64(2), columnar.Of(columnar.Double), doubles, "leat", "[1 NaN]"},
		{"NaN is the greatest of Java", f64(1), f64(nan), columnar.Of(columnar.Double), doubles, javaWriter, ""},
		{"NaN is the least", f64(nan), f64(2), columnar.Of(columnar.Double), doubles, "other", ""},
		{"microseconds as milliseconds", le64(-1_500), le64(2_500), columnar.TimestampOf(3), logical(schema.NewTimestampLogicalType(false, schema.TimeUnitMicros), parquet.Types.Int64, -1), javaWriter, "[-2 2]"},
		{"seconds that overflow", le64(math.MinInt64), le64(math.MaxInt64), columnar.TimestampOf(6), logical(schema.NewTimestampLogicalType(false, schema.TimeUnitMillis), parquet.Types.Int64, -1), javaWriter, ""},
		{"texts", []byte("a"), []byte("b\xc3\xa9"), columnar.StringType(), logical(schema.StringLogicalType{}, parquet.Types.ByteArray, -1), javaWriter, `["a" "bé"]`},
		{"bytes", []byte("a"), []byte("b"), columnar.BytesType(), node(schema.NewByteArrayNode("c", opt, -1), nil), javaWriter, ""},
		{"decimals of Java", []byte{0xff, 0xff}, []byte{1, 0}, columnar.DecimalOf(20, 0), logical(schema.NewDecimalLogicalType(20, 0), parquet.Types.FixedLenByteArray, 9), javaWriter, "[-1 256]"},
		{"decimals of C++", []byte{0xff, 0xff}, []byte{1, 0}, columnar.DecimalOf(20, 0), logical(schema.NewDecimalLogicalType(20, 0), parquet.Types.FixedLenByteArray, 9), "parquet-cpp-arrow", ""},
		{"decimals as longs", le64(-5), le64(5), columnar.DecimalOf(18, 1), longs, javaWriter, "[-0.5 0.5]"},
		{"another type", le64(-5), le64(5), columnar.StringType(), longs, javaWriter, ""},
	} {
		got := ""
		if a := boundsOf(c.low, c.high, c.typ, c.col, c.writer); a != nil {
			got = a.String()
			a.Release()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestMissingBoundIsNone leaves out the maximum of a text that is too long for statistics.
func TestMissingBoundIsNone(t *testing.T) {
	t.Parallel()
	fields := []columnar.Field{{ID: 0, Name: "s", Type: columnar.StringType()}}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendStringValues([]string{"a", string(bytes.Repeat([]byte("z"), 5000))}, nil)
	texts := b.NewArray()
	content, _ := writeFile(t, fields, Options{}, []arrow.Array{texts})
	f := &tellingFilter{fields: fields, keep: func() bool { return true }}
	r, err := OpenReader(memFile{bytes.NewReader(content)}, "f.parquet", fields, ReadOptions{Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if s := f.groups[0].stats[0]; s.MinMax != nil && orderOf(s.MinMax, 1, texts, 1) < 0 {
		t.Errorf("the text of 5000 bytes is not within %v", s.MinMax)
	}
}
