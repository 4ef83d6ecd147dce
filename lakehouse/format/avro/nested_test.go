package avro

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/format"
	"leat/lakehouse/format/formattest"
)

// types draws what Avro files can hold.
func types() *formattest.Types {
	return &formattest.Types{ID: 10, Digits: 6, TextBags: true, Left: map[columnar.Kind]bool{columnar.Variant: true}}
}

// TestNestedRoundTrip writes tables of random nested types and reads them back.
func TestNestedRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := types()
		fields := make([]columnar.Field, rapid.IntRange(1, 3).Draw(rt, "columns"))
		for i := range fields {
			typ := g.Draw(rt, 3)
			if typ.Kind == columnar.Time {
				typ.Precision = min(typ.Precision, 3)
			}
			fields[i] = columnar.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: typ}
		}
		s := formattest.Values{Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 7))}
		var out bytes.Buffer
		w, err := NewWriter(&out, fields, format.Options{Compression: rapid.SampledFrom([]string{"zstd", "uncompressed"}).Draw(rt, "codec")})
		if err != nil {
			rt.Fatal(err)
		}
		want := make([][]arrow.Array, len(fields))
		for range rapid.IntRange(1, 3).Draw(rt, "batches") {
			s.Nulls = rapid.SampledFrom([]float64{0, 0.1, 0.5, 1}).Draw(rt, "nulls")
			s.Entries = rapid.SampledFrom([]int{0, 2, 9}).Draw(rt, "entries")
			rows := rapid.SampledFrom([]int{1, 13, 200}).Draw(rt, "rows")
			cols := s.Columns(fields, rows)
			for i := range cols {
				if rows > 10 {
					cols[i] = array.NewSlice(cols[i], 3, int64(rows-2))
				}
				want[i] = append(want[i], cols[i])
			}
			if err := w.WriteBatch(cols, cols[0].Len()); err != nil {
				rt.Fatal(err)
			}
		}
		if _, err := w.Close(); err != nil {
			rt.Fatal(err)
		}
		batches, err := decode(out.Bytes(), fields)
		if err != nil {
			rt.Fatal(err)
		}
		for i, f := range fields {
			var parts []arrow.Array
			for _, b := range batches {
				parts = append(parts, b[i])
			}
			all, err := array.Concatenate(want[i], memory.DefaultAllocator)
			if err != nil {
				rt.Fatal(err)
			}
			got, err := array.Concatenate(parts, memory.DefaultAllocator)
			if err != nil {
				rt.Fatal(err)
			}
			if !formattest.Same(all, got) {
				rt.Fatalf("column %s of type %s differs:\nwant %v\ngot  %v", f.Name, f.Type, all, got)
			}
		}
	})
}

func list(e columnar.DataType) columnar.DataType {
	return columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &e}
}

func mapOf(k, e columnar.DataType) columnar.DataType {
	return columnar.DataType{Kind: columnar.Map, Nullable: true, Key: &k, Elem: &e}
}

func row(fields ...columnar.Field) columnar.DataType {
	return columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: fields}
}

func nestedFields() []columnar.Field {
	text, number := columnar.StringType().NotNull(), columnar.Of(columnar.Int).NotNull()
	deep := row(columnar.Field{ID: 10, Name: "a", Type: columnar.DecimalOf(20, 3)}, columnar.Field{ID: 11, Name: "b", Type: row(columnar.Field{ID: 12, Name: "c", Type: text})})
	return []columnar.Field{
		{ID: 1, Name: "lists", Type: list(list(columnar.StringType()))},
		{ID: 2, Name: "named", Type: mapOf(text, deep)},
		{ID: 3, Name: "numbered", Type: mapOf(number, list(deep))},
		{ID: 4, Name: "bag", Type: columnar.DataType{Kind: columnar.Multiset, Nullable: true, Elem: &text}},
		{ID: 5, Name: "deep", Type: deep},
		// Its record would have the name of deep.b's.
		{ID: 6, Name: "deep_b", Type: row(columnar.Field{ID: 13, Name: "x", Type: number})},
	}
}

// TestSchemaOfNestedColumns is the schema as Java's AvroSchemaConverter makes
// it, but for a second record of one name.
func TestSchemaOfNestedColumns(t *testing.T) {
	t.Parallel()
	text, err := schemaOf(nestedFields())
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Indent(&compact, text, "", " "); err != nil {
		t.Fatal(err)
	}
	record := func(name, fields string) string {
		return `{"type":"record","name":"` + name + `","fields":[` + fields + `]}`
	}
	deep := func(name string) string {
		return record(name, `{"name":"a","type":["null",{"type":"bytes","logicalType":"decimal","precision":20,"scale":3}],"default":null},`+
			`{"name":"b","type":["null",`+record(name+"_b", `{"name":"c","type":"string"}`)+`],"default":null}`)
	}
	field := func(name, typ string) string {
		return `{"name":"` + name + `","type":["null",` + typ + `],"default":null}`
	}
	want := `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[` + strings.Join([]string{
		field("lists", `{"type":"array","items":["null",{"type":"array","items":["null","string"]}]}`),
		field("named", `{"type":"map","values":["null",`+deep("record_named")+`]}`),
		field("numbered", `{"type":"array","items":`+record("record_numbered", `{"name":"key","type":"int"},`+
			field("value", `{"type":"array","items":["null",`+deep("record_numbered_value")+`]}`))+`,"logicalType":"map"}`),
		field("bag", `{"type":"map","values":["null","int"]}`),
		field("deep", deep("record_deep")),
		field("deep_b", record("record_deep_b_2", `{"name":"x","type":"int"}`)),
	}, ",") + `]}`
	var shown bytes.Buffer
	if err := json.Indent(&shown, []byte(want), "", " "); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(shown.String(), compact.String()); d != "" {
		t.Errorf("schema (-want +got):\n%s", d)
	}
}

// TestFieldsOfRowsByName reads rows with fewer, other and moved fields than were written.
func TestFieldsOfRowsByName(t *testing.T) {
	t.Parallel()
	x, y := columnar.Field{Name: "x", Type: columnar.Of(columnar.Int)}, columnar.Field{Name: "y", Type: list(columnar.StringType())}
	fs := []columnar.Field{{Name: "r", Type: row(x, y)}}
	b := columnar.NewBuilders(memory.DefaultAllocator, &columnar.Schema{Fields: fs})[0]
	for _, v := range []string{`{"x":1,"y":["a",null]}`, "(null)", `{"x":null,"y":[]}`} {
		if err := b.AppendValueFromString(v); err != nil {
			t.Fatal(err)
		}
	}
	content := encode(t, fs, "zstd", []arrow.Array{b.NewArray()})
	now := row(y, columnar.Field{Name: "z", Type: columnar.Of(columnar.Double)})
	got, err := decode(content, []columnar.Field{{Name: "r", Type: now}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := got[0][0].MarshalJSON()
	if want := `[{"y":["a",null],"z":null},null,{"y":[],"z":null}]`; err != nil || strings.ReplaceAll(string(text), "\n", "") != want {
		t.Errorf("reads as %s, want %s (%v)", text, want, err)
	}
	for _, other := range []columnar.DataType{list(columnar.Of(columnar.Int)), mapOf(columnar.StringType(), columnar.Of(columnar.Int)), columnar.Of(columnar.Int), row(columnar.Field{Name: "y", Type: list(columnar.Of(columnar.Date))})} {
		if _, err := decode(content, []columnar.Field{{Name: "r", Type: other}}); diag.DomainOf(err) != diag.Corrupt {
			t.Errorf("as %s: error %v", other, err)
		}
	}
}

// TestNullsWhereThereCanBeNone refuses nulls of a NOT NULL element, and the writer is of no use then.
func TestNullsWhereThereCanBeNone(t *testing.T) {
	t.Parallel()
	element := columnar.Of(columnar.Int)
	for text, want := range map[string]string{"[1]": "", "(null)": "", "[]": "", "[null]": "encoding column a: encoding column element: it has nulls and may not"} {
		b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(list(element)))
		if err := b.AppendValueFromString(text); err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(io.Discard, []columnar.Field{{ID: 1, Name: "a", Type: list(element.NotNull())}}, format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := w.WriteBatch([]arrow.Array{b.NewArray()}, 1); err != nil {
			got = err.Error()
			if _, err := w.Close(); err == nil {
				t.Errorf("%s: the file was closed as if it were whole", text)
			}
		}
		if got != want {
			t.Errorf("%s: error %q, want %q", text, got, want)
		}
	}
}

// TestForeignForms reads what other writers may write: blocks with sizes, types
// by name, maps of text keys as arrays of records, unions in any order.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	schema := `{"type":"record","name":"a.b.R","fields":[
		{"name":"one","type":{"type":"array","items":{"type":"record","name":"kv","namespace":"a.b","fields":[{"name":"key","type":"string"},{"name":"value","type":["int","null"]}]}}},
		{"name":"two","type":{"type":"array","items":"a.b.kv"}}]}`
	root, err := parseSchema([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	f := columnar.Field{Name: "m", Type: mapOf(columnar.StringType().NotNull(), columnar.Of(columnar.Int))}
	b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(f.Type))
	for i, wire := range [][]byte{{3, 14, 2, 'k', 0, 8, 2, 'l', 2, 0}, {2, 2, 'k', 0, 8, 2, 2, 'l', 2, 0}} {
		d, err := decoderOf(f, root.items[i], b)
		if err != nil {
			t.Fatal(err)
		}
		c := &cursor{rest: wire}
		if d(c); c.err != nil || len(c.rest) > 0 {
			t.Fatalf("%v, %d bytes left", c.err, len(c.rest))
		}
	}
	text, err := b.NewArray().MarshalJSON()
	if want := `[[{"key":"k","value":4},{"key":"l","value":null}],[{"key":"k","value":4},{"key":"l","value":null}]]`; err != nil || strings.ReplaceAll(string(text), "\n", "") != want {
		t.Errorf("reads as %s, want %s (%v)", text, want, err)
	}
}

// TestItemsWithoutBytes refuses lists whose length no bytes back.
func TestItemsWithoutBytes(t *testing.T) {
	t.Parallel()
	root, err := parseSchema([]byte(`{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"array","items":"null"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	f := columnar.Field{Name: "a", Type: list(columnar.Of(columnar.Int))}
	d, err := decoderOf(f, root.items[0], array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(f.Type)))
	if err != nil {
		t.Fatal(err)
	}
	c := &cursor{rest: []byte{0x80, 0x80, 0x80, 0x80, 0x20, 0}}
	if d(c); !errors.Is(c.err, errValue) {
		t.Errorf("error %v", c.err)
	}
}
