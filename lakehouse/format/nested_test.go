package format

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/lakehouse/format/formattest"
)

// TestNestedRoundTrip writes tables of random nested types and reads them back.
func TestNestedRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := formattest.Types{ID: 10}
		fields := make([]columnar.Field, rapid.IntRange(1, 3).Draw(rt, "columns"))
		for i := range fields {
			fields[i] = columnar.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: g.Draw(rt, 3)}
		}
		opts := Options{
			Compression: rapid.SampledFrom([]string{"zstd", "uncompressed"}).Draw(rt, "codec"),
			PageSize:    rapid.SampledFrom([]int64{64, 4096, 1 << 20}).Draw(rt, "page"),
			BlockSize:   rapid.SampledFrom([]int64{1, 1 << 14, 1 << 30}).Draw(rt, "block"),
		}
		s := formattest.Values{Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 7))}
		var batches [][]arrow.Array
		for range rapid.IntRange(1, 3).Draw(rt, "batches") {
			s.Nulls = rapid.SampledFrom([]float64{0, 0.1, 0.5, 1}).Draw(rt, "nulls")
			s.Entries = rapid.SampledFrom([]int{0, 2, 9}).Draw(rt, "entries")
			s.Few = rapid.Bool().Draw(rt, "few")
			rows := rapid.SampledFrom([]int{1, 13, 200, 1000}).Draw(rt, "rows")
			b := s.Columns(fields, rows)
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
			if !formattest.Same(want, got[i]) {
				rt.Fatalf("column %s of type %s differs:\nwant %v\ngot  %v", f.Name, f.Type, want, got[i])
			}
			if st := info.Stats[i]; st.Nulls != int64(want.NullN()) || (f.Type.IsNested() && st.MinMax != nil) {
				rt.Errorf("column %s: statistics %+v, want %d nulls", f.Name, st, want.NullN())
			}
		}
	})
}

// TestFieldsOfRowsAreFoundByName reads rows with moved, fewer and other fields than the file has.
func TestFieldsOfRowsAreFoundByName(t *testing.T) {
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
		{row(columnar.Field{ID: 11, Name: "y", Type: y.Type}, x), `[{"x":1,"y":"a"},null,{"x":null,"y":"b"}]`},
		{row(columnar.Field{ID: 12, Name: "x", Type: x.Type}), `[{"x":1},null,{"x":null}]`},
		{row(columnar.Field{ID: 10, Name: "z", Type: columnar.Of(columnar.Double)}, y), `[{"y":"a","z":null},null,{"y":"b","z":null}]`},
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
