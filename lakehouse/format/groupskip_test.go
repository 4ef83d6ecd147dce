package format

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"pgregory.net/rapid"

	"leat/internal/columnar"
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

// TestFilterIsToldTheTruth writes many row groups of random columns: what the filter is told holds
// for their values, and the groups that it keeps come, with their places.
func TestFilterIsToldTheTruth(t *testing.T) {
	t.Parallel()
	told := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		fields := flatFields()
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 7))
		var batches [][]arrow.Array
		for range rapid.IntRange(1, 8).Draw(rt, "groups") {
			nulls := rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(rt, "nulls")
			distinct := rapid.SampledFrom([]int64{1, 20, 1 << 30}).Draw(rt, "distinct")
			cols := randomColumns(fields, rapid.IntRange(1, 60).Draw(rt, "rows"), distinct, nulls, rnd)
			for range rapid.IntRange(0, 4).Draw(rt, "odd floats") {
				v := []float64{math.NaN(), math.Copysign(0, -1), 0, math.Inf(1), math.Inf(-1)}[rnd.IntN(5)]
				cols[5].(*array.Float32).Float32Values()[rnd.IntN(cols[5].Len())] = float32(v)
				cols[6].(*array.Float64).Float64Values()[rnd.IntN(cols[6].Len())] = v
			}
			batches = append(batches, cols)
		}
		content, _ := writeFile(t, fields, Options{PageSize: 1, BlockSize: 1}, batches...)
		f := &tellingFilter{fields: fields, keep: func() bool { return rnd.IntN(2) == 0 }}
		r, err := OpenReader(memFile{bytes.NewReader(content)}, "f.parquet", fields, ReadOptions{BatchRows: 25, Filter: f})
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		group, at, before := -1, 0, 0
		for {
			cols, n, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				rt.Fatal(err)
			}
			for group < 0 || at == batches[group][0].Len() || !f.groups[group].keep {
				if group >= 0 {
					before += batches[group][0].Len()
				}
				group, at = group+1, 0
			}
			if int(r.FirstRow()) != before+at {
				rt.Fatalf("the batch begins with row %d, want %d", r.FirstRow(), before+at)
			}
			for i := range cols {
				if want := array.NewSlice(batches[group][i], int64(at), int64(at+n)); !array.ApproxEqual(want, cols[i], array.WithNaNsEqual(true)) {
					rt.Fatalf("column %s of rows %d to %d of group %d:\nwant %v\ngot  %v", fields[i].Name, at, at+n, group, want, cols[i])
				}
				cols[i].Release()
			}
			at += n
		}
		if len(f.groups) != len(batches) {
			rt.Fatalf("the filter was asked about %d groups of %d", len(f.groups), len(batches))
		}
		for g, seen := range f.groups {
			for i := range fields {
				checkTold(rt, seen, i, fields[i], batches[g][i], told)
			}
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

// checkTold checks what was told of column i of a group with the values of a.
func checkTold(t *rapid.T, seen groupSeen, i int, f columnar.Field, a arrow.Array, told map[string]int) {
	s := seen.stats[i]
	if !seen.known[i] && seen.rows == int64(a.Len()) {
		return
	}
	if seen.rows != int64(a.Len()) || s.Nulls != int64(a.NullN()) {
		t.Fatalf("column %s: %d rows, known: %v, %d nulls, want %d rows and %d nulls", f.Name, seen.rows, seen.known[i], s.Nulls, a.Len(), a.NullN())
	}
	if s.MinMax == nil {
		return
	}
	told[f.Name]++
	for k := range a.Len() {
		if a.IsValid(k) && (orderOf(s.MinMax, 0, a, k) > 0 || orderOf(s.MinMax, 1, a, k) < 0) {
			t.Fatalf("column %s of type %s: value %s is not within %v", f.Name, f.Type, a.ValueStr(k), s.MinMax)
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
