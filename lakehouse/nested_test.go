package lakehouse

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

func rowType(fields ...columnar.Field) columnar.DataType {
	return columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: fields}
}

func listType(e columnar.DataType) columnar.DataType {
	return columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &e}
}

func mapType(k, e columnar.DataType) columnar.DataType {
	return columnar.DataType{Kind: columnar.Map, Nullable: true, Key: &k, Elem: &e}
}

// TestNestedValuesReadAsTheTypeOfNow casts whole arrays and slices of them.
func TestNestedValuesReadAsTheTypeOfNow(t *testing.T) {
	t.Parallel()
	number, text := columnar.Of(columnar.Int), columnar.StringType()
	field := func(id int, name string, t columnar.DataType) columnar.Field {
		return columnar.Field{ID: id, Name: name, Type: t}
	}
	x, y := field(1, "x", number), field(2, "y", text)
	wider, added := field(1, "x", columnar.Of(columnar.BigInt)), field(3, "z", columnar.Of(columnar.Double))
	rows := `[{"x":1,"y":"a"},null,{"x":null,"y":"b"},{"x":4,"y":null}]`
	for _, c := range []struct {
		name         string
		from, to     columnar.DataType
		values, want string
	}{
		{"same", rowType(x, y), rowType(x, y), rows, rows},
		{"moved", rowType(x, y), rowType(y, x), rows, rows},
		{"renamed", rowType(x, y), rowType(field(1, "z", number), y), rows, `[{"y":"a","z":1},null,{"y":"b","z":null},{"y":null,"z":4}]`},
		{"swapped names", rowType(x, field(2, "y", number)), rowType(field(2, "x", number), field(1, "y", number)), `[{"x":1,"y":2}]`, `[{"x":2,"y":1}]`},
		{"dropped", rowType(x, y), rowType(y), rows, `[{"y":"a"},null,{"y":"b"},{"y":null}]`},
		{"dropped and added again", rowType(x, y), rowType(field(3, "x", number), y), rows, `[{"x":null,"y":"a"},null,{"x":null,"y":"b"},{"x":null,"y":null}]`},
		{"nothing left", rowType(x), rowType(added), `[{"x":1},null]`, `[null,null]`},
		{"nothing left in a list", listType(rowType(x)), listType(rowType(added)), `[[{"x":1}],null]`, `[null,null]`},
		{"nothing left in a row", rowType(y, field(4, "r", rowType(x))), rowType(y, field(4, "r", rowType(added))), `[{"y":"a","r":{"x":1}}]`, `[{"r":null,"y":"a"}]`},
		{"wider and added", rowType(x, y), rowType(added, wider, y), rows, `[{"x":1,"y":"a","z":null},null,{"x":null,"y":"b","z":null},{"x":4,"y":null,"z":null}]`},
		{"narrower", rowType(wider), rowType(x), `[{"x":4294967297}]`, `[{"x":1}]`},
		{"others stay", rowType(field(1, "d", columnar.Of(columnar.Date)), field(2, "b", columnar.Of(columnar.Boolean)), field(3, "x", number)), rowType(field(1, "d", columnar.Of(columnar.Date)), field(2, "b", columnar.Of(columnar.Boolean)), field(3, "x", columnar.Of(columnar.BigInt))), `[{"d":"2024-02-29","b":true,"x":7}]`, `[{"d":"2024-02-29","b":true,"x":7}]`},
		{"wider element", listType(number), listType(columnar.Of(columnar.BigInt)), `[[1,null],null,[],[3]]`, `[[1,null],null,[],[3]]`},
		{"element of more digits", listType(columnar.DecimalOf(4, 1)), listType(columnar.DecimalOf(9, 3)), `[["1.5"],[]]`, `[["1.500"],[]]`},
		{"looser element", listType(number.NotNull()), listType(number), `[[1,2],null]`, `[[1,2],null]`},
		{"rows in a list", listType(rowType(x)), listType(rowType(wider, added)), `[[{"x":1},null],[],[{"x":3}]]`, `[[{"x":1,"z":null},null],[],[{"x":3,"z":null}]]`},
		{"rows in a map", mapType(text.NotNull(), rowType(x)), mapType(text.NotNull(), rowType(wider)), `[[{"key":"a","value":{"x":1}}],null,[]]`, `[[{"key":"a","value":{"x":1}}],null,[]]`},
		{"deep", listType(mapType(text.NotNull(), listType(rowType(x, y)))), listType(mapType(text.NotNull(), listType(rowType(wider)))), `[[[{"key":"a","value":[{"x":1,"y":"q"}]}]]]`, `[[[{"key":"a","value":[{"x":1}]}]]]`},
	} {
		if err := checkCast(c.from, c.to); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		part, ok := stored(c.from, c.to)
		if !ok {
			if want := "[null,null]"; c.want != want {
				t.Errorf("%s: nothing of it is stored, want %s", c.name, c.want)
			}
			continue
		}
		// The file gives the part alone; JSON with more than that is what it leaves out.
		a, _, err := array.FromJSON(memory.DefaultAllocator, columnar.ArrowType(c.from), strings.NewReader(c.values))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := castNested(a, c.from, part)
		if err != nil {
			t.Fatal(err)
		}
		for from := range a.Len() {
			slice := array.NewSlice(whole, int64(from), int64(a.Len()))
			got, err := castNested(slice, part, c.to)
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := array.FromJSON(memory.DefaultAllocator, columnar.ArrowType(c.to), strings.NewReader(c.want))
			if err != nil {
				t.Fatal(err)
			}
			if want = array.NewSlice(want, int64(from), int64(want.Len())); !array.Equal(want, got) {
				t.Errorf("%s from %d: got %v, want %v", c.name, from, got, want)
			}
		}
	}
}

func TestNestedValuesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	number, text := columnar.Of(columnar.Int), columnar.StringType()
	date := columnar.Of(columnar.Date)
	for _, c := range []struct {
		from, to columnar.DataType
		want     string
	}{
		{listType(number), rowType(columnar.Field{ID: 1, Name: "x", Type: number}), "it was ARRAY<INT> and is ROW<`x` INT> now"},
		{listType(number), listType(date), "it was INT and is DATE now"},
		{mapType(number, text), mapType(columnar.Of(columnar.BigInt), text), "it was MAP<INT, STRING> and is"},
		{rowType(columnar.Field{ID: 1, Name: "x", Type: number}), rowType(columnar.Field{ID: 1, Name: "y", Type: listType(number)}), "field y: it was INT and is ARRAY<INT> now"},
	} {
		if err := checkCast(c.from, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as %s: error %v, want %s", c.from, c.to, err, c.want)
		}
	}
}
