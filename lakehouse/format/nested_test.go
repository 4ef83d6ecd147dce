package format

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
)

// typeGen draws types and numbers the fields of rows.
type typeGen struct{ id int }

func (g *typeGen) draw(t *rapid.T, depth int) columnar.DataType {
	kinds := []columnar.Kind{
		columnar.Boolean, columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt, columnar.Float, columnar.Double,
		columnar.Decimal, columnar.VarChar, columnar.VarBinary, columnar.Date, columnar.Time, columnar.Timestamp, columnar.TimestampLTZ,
	}
	if depth > 0 {
		kinds = append(kinds, columnar.Array, columnar.Array, columnar.Array, columnar.Map, columnar.Map, columnar.Multiset, columnar.Row, columnar.Row, columnar.Row, columnar.Variant)
	}
	dt := columnar.DataType{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Nullable: rapid.Bool().Draw(t, "nullable")}
	switch dt.Kind {
	case columnar.Decimal:
		dt.Precision = rapid.IntRange(1, 38).Draw(t, "precision")
	case columnar.VarChar, columnar.VarBinary:
		dt.Length = columnar.MaxLength
	case columnar.Time, columnar.Timestamp, columnar.TimestampLTZ:
		dt.Precision = rapid.IntRange(0, 9).Draw(t, "precision")
	case columnar.Array:
		e := g.draw(t, depth-1)
		dt.Elem = &e
	case columnar.Multiset:
		e := g.draw(t, depth-1).NotNull()
		dt.Elem = &e
	case columnar.Map:
		k, e := g.draw(t, 0).NotNull(), g.draw(t, depth-1)
		dt.Key, dt.Elem = &k, &e
	case columnar.Row:
		for i := range rapid.IntRange(1, 3).Draw(t, "fields") {
			g.id++
			dt.Fields = append(dt.Fields, columnar.Field{ID: g.id, Name: fmt.Sprintf("f%d", i), Type: g.draw(t, depth-1)})
		}
	default:
	}
	return dt
}

// values makes random values; nulls is the share of nulls, entries the most entries of a list.
type values struct {
	rnd     *rand.Rand
	nulls   float64
	entries int
	// few says that values repeat, so that dictionaries stay.
	few bool
}

func (s *values) append(b array.Builder, t columnar.DataType) {
	if t.Nullable && s.rnd.Float64() < s.nulls {
		b.AppendNull()
		return
	}
	v := s.rnd.Int64() >> s.rnd.IntN(60)
	if s.few {
		v = s.rnd.Int64N(9) - 4
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v&1 == 0)
	case *array.Float32Builder:
		b.Append(float32(v) / 3)
	case *array.Float64Builder:
		if v%11 == 0 {
			b.Append(math.NaN())
			return
		}
		b.Append(float64(v) / 7)
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(v % int64(math.Pow10(min(18, t.Precision)))))
	case *array.StringBuilder:
		b.Append(fmt.Sprintf("värde-%d", v)[:s.rnd.IntN(2)+6])
	case *array.BinaryBuilder:
		b.Append(fmt.Appendf(nil, "\x00%d", v))
	case *array.Time32Builder:
		b.Append(arrow.Time32(uint64(v) % 86_400_000))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v % 100_000))
	case *array.ListBuilder:
		b.Append(true)
		for range s.rnd.IntN(s.entries + 1) {
			s.append(b.ValueBuilder(), *t.Elem)
		}
	case *array.MapBuilder:
		b.Append(true)
		kids := childFields(t, 0, 0)
		for range s.rnd.IntN(s.entries + 1) {
			s.append(b.KeyBuilder(), kids[0].Type)
			s.append(b.ItemBuilder(), kids[1].Type)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range childFields(t, 0, 0) {
			s.append(b.FieldBuilder(i), f.Type)
		}
	default:
		appendInt(b, v)
	}
}

func (s *values) columns(fields []columnar.Field, rows int) []arrow.Array {
	b := columnar.NewBuilders(memory.DefaultAllocator, &columnar.Schema{Fields: fields})
	out := make([]arrow.Array, len(b))
	for i, f := range fields {
		for range rows {
			s.append(b[i], f.Type)
		}
		out[i] = b[i].NewArray()
		b[i].Release()
	}
	return out
}

func same(a, b arrow.Array) bool {
	return array.ApproxEqual(a, b, array.WithNaNsEqual(true), array.WithAbsTolerance(0))
}

// TestNestedRoundTrip writes tables of random nested types and reads them back.
func TestNestedRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := typeGen{id: 10}
		fields := make([]columnar.Field, rapid.IntRange(1, 3).Draw(rt, "columns"))
		for i := range fields {
			fields[i] = columnar.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: g.draw(rt, 3)}
		}
		opts := Options{
			Compression: rapid.SampledFrom([]string{"zstd", "uncompressed"}).Draw(rt, "codec"),
			PageSize:    rapid.SampledFrom([]int64{64, 4096, 1 << 20}).Draw(rt, "page"),
			BlockSize:   rapid.SampledFrom([]int64{1, 1 << 14, 1 << 30}).Draw(rt, "block"),
		}
		s := values{rnd: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 7))}
		var batches [][]arrow.Array
		for range rapid.IntRange(1, 3).Draw(rt, "batches") {
			s.nulls = rapid.SampledFrom([]float64{0, 0.1, 0.5, 1}).Draw(rt, "nulls")
			s.entries = rapid.SampledFrom([]int{0, 2, 9}).Draw(rt, "entries")
			s.few = rapid.Bool().Draw(rt, "few")
			rows := rapid.SampledFrom([]int{1, 13, 200, 1000}).Draw(rt, "rows")
			b := s.columns(fields, rows)
			if rows > 10 {
				for i := range b {
					b[i] = array.NewSlice(b[i], 3, int64(rows-2))
				}
			}
			batches = append(batches, b)
		}
		content, info := writeFile(t, fields, opts, batches...)
		got := readFile(t, content, fields, rapid.SampledFrom([]int{1, 7, 500, 9000}).Draw(rt, "batch"))
		for i, f := range fields {
			parts := make([]arrow.Array, len(batches))
			for k := range batches {
				parts[k] = batches[k][i]
			}
			want, err := array.Concatenate(parts, memory.DefaultAllocator)
			if err != nil {
				rt.Fatal(err)
			}
			if !same(want, got[i]) {
				rt.Fatalf("column %s of type %s differs:\nwant %v\ngot  %v", f.Name, f.Type, want, got[i])
			}
			if st := info.Stats[i]; st.Nulls != int64(want.NullN()) || (f.Type.IsNested() && st.MinMax != nil) {
				rt.Errorf("column %s: statistics %+v, want %d nulls", f.Name, st, want.NullN())
			}
		}
	})
}

// TestFieldsOfRowsAreFoundByID reads a row whose fields were renamed, moved,
// dropped and added since, some under the name of a dropped one.
func TestFieldsOfRowsAreFoundByID(t *testing.T) {
	t.Parallel()
	row := func(fields ...columnar.Field) columnar.DataType {
		return columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: fields}
	}
	x := columnar.Field{ID: 10, Name: "x", Type: columnar.Of(columnar.Int)}
	y := columnar.Field{ID: 11, Name: "y", Type: columnar.StringType()}
	old := []columnar.Field{{ID: 1, Name: "r", Type: row(x, y)}}
	b := columnar.NewBuilders(memory.DefaultAllocator, &columnar.Schema{Fields: old})[0]
	for _, v := range []string{`{"x":1,"y":"a"}`, "(null)", `{"x":null,"y":"b"}`} {
		if err := b.AppendValueFromString(v); err != nil {
			t.Fatal(err)
		}
	}
	content, _ := writeFile(t, old, Options{}, []arrow.Array{b.NewArray()})
	for _, c := range []struct {
		now  columnar.DataType
		want string
	}{
		{row(x, y), `[{"x":1,"y":"a"},null,{"x":null,"y":"b"}]`},
		{row(columnar.Field{ID: 11, Name: "z", Type: y.Type}, x), `[{"x":1,"z":"a"},null,{"x":null,"z":"b"}]`},
		{row(columnar.Field{ID: 12, Name: "x", Type: columnar.Of(columnar.Double)}, y), `[{"x":null,"y":"a"},null,{"x":null,"y":"b"}]`},
		{row(columnar.Field{ID: 13, Name: "w", Type: columnar.Of(columnar.Date)}), `[{"w":null},null,{"w":null}]`},
	} {
		got := readFile(t, content, []columnar.Field{{ID: 1, Name: "r", Type: c.now}}, 2)[0]
		text, err := got.MarshalJSON()
		if line := strings.ReplaceAll(string(text), "\n", ""); err != nil || line != c.want {
			t.Errorf("%s reads as %s, want %s (%v)", c.now, line, c.want, err)
		}
	}
}

// TestNullsWhereThereCanBeNone refuses nulls of a NOT NULL element, not those of a value that is absent.
func TestNullsWhereThereCanBeNone(t *testing.T) {
	t.Parallel()
	element := columnar.Of(columnar.Int)
	loose := columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &element}
	tight := element.NotNull()
	fields := []columnar.Field{{ID: 1, Name: "a", Type: columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &tight}}}
	for text, want := range map[string]string{"[1]": "", "(null)": "", "[]": "", "[null]": "encoding column a: a null in field element, which is NOT NULL"} {
		b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(loose))
		if err := b.AppendValueFromString(text); err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(io.Discard, fields, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := w.WriteBatch([]arrow.Array{b.NewArray()}, 1); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: error %q, want %q", text, got, want)
		}
	}
}
