package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
)

// drawNestedType draws a type that is nested up to depth times.
func drawNestedType(t *rapid.T, depth int) columnar.DataType {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		return columnar.Of(columnar.Int)
	case 1:
		return columnar.StringType()
	case 2:
		return columnar.DecimalOf(20, 2)
	case 3:
		e := drawNestedType(t, depth-1)
		return columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &e}
	case 4:
		k, v := columnar.StringType().NotNull(), drawNestedType(t, depth-1)
		return columnar.DataType{Kind: columnar.Map, Nullable: true, Key: &k, Elem: &v}
	default:
		a, b := drawNestedType(t, depth-1), drawNestedType(t, depth-1)
		return columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: []columnar.Field{{Name: "a", Type: a}, {ID: 1, Name: "b", Type: b}}}
	}
}

// putNested appends a random value.
func putNested(t *rapid.T, b array.Builder, nullable bool) {
	if nullable && rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.Int32Builder:
		b.Append(rapid.Int32Range(-2, 2).Draw(t, "int"))
	case *array.StringBuilder:
		b.Append(rapid.SampledFrom([]string{"c", "a", "b", "é", "NULL"}).Draw(t, "text"))
	case *array.Decimal128Builder:
		if err := b.AppendValueFromString(rapid.SampledFrom([]string{"0.00", "1.50", "-2.25"}).Draw(t, "decimal")); err != nil {
			t.Fatal(err)
		}
	case *array.MapBuilder:
		b.Append(true)
		for i := range rapid.IntRange(0, 3).Draw(t, "entries") {
			b.KeyBuilder().(*array.StringBuilder).Append(string(rune('a' + i)))
			putNested(t, b.ItemBuilder(), true)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			putNested(t, b.ValueBuilder(), true)
		}
	case *array.StructBuilder:
		b.Append(true)
		for f := range b.NumField() {
			putNested(t, b.FieldBuilder(f), true)
		}
	default:
		t.Fatalf("no values for %T", b)
	}
}

// drawNested draws a column of n rows, perhaps a slice of a longer one, and gives the
// text of each value.
func drawNested(t *rapid.T, dt columnar.DataType, n int) (arrow.Array, []string) {
	skip := rapid.IntRange(0, 3).Draw(t, "offset")
	b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(dt))
	defer b.Release()
	for range n + skip {
		putNested(t, b, true)
	}
	whole := b.NewArray()
	defer whole.Release()
	a := array.NewSlice(whole, int64(skip), int64(n+skip))
	texts := make([]string, n)
	for i := range texts {
		texts[i] = flinkText(a, dt, i)
	}
	return a, texts
}

// TestNestedValuesPassThrough chooses between nested values, builds and takes apart.
func TestNestedValuesPassThrough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rowCount(t)
		dt := drawNestedType(t, 2)
		x, xs := drawNested(t, dt, n)
		y, ys := drawNested(t, dt, n)
		conds := drawBools(t, n)
		cols := []arrow.Array{x, y, conds.array}
		a, b, c := Column(0, dt), Column(1, dt), Column(2, conds.t)
		take := func(i int) string {
			if conds.values[i] != nil && *conds.values[i] {
				return xs[i]
			}
			return ys[i]
		}
		try := func(e Expr, err error, want func(i int) string) {
			t.Helper()
			for _, c := range cols {
				c.Retain() // check lets go of them
			}
			check(t, e, err, n, cols, want)
		}
		e, err := Call("CASE", c, a, b)
		try(e, err, take)
		e, err = Call("COALESCE", a, b)
		try(e, err, func(i int) string {
			if xs[i] == "null" {
				return ys[i]
			}
			return xs[i]
		})
		list, err := Call("ARRAY", a, b)
		try(list, err, func(i int) string { return "[" + xs[i] + ", " + ys[i] + "]" })
		e, err = Element(list, LitInt(2))
		try(e, err, func(i int) string { return ys[i] })
		row, err := Call("ROW", a, b)
		try(row, err, func(i int) string { return "+I[" + xs[i] + ", " + ys[i] + "]" })
		try(FieldOf(row, 0), nil, func(i int) string { return xs[i] })
		e, err = Call("IS NOT DISTINCT FROM", a, b)
		try(e, err, func(i int) string { return fmt.Sprint(xs[i] == ys[i]) })
		e, err = Call("ARRAY_CONTAINS", list, b)
		try(e, err, func(int) string { return "true" })
		both, err := Call("ARRAY_CONCAT", list, list)
		try(both, err, func(i int) string { return "[" + strings.Join([]string{xs[i], ys[i], xs[i], ys[i]}, ", ") + "]" })
		e, err = Call("ARRAY_DISTINCT", both)
		try(e, err, func(i int) string {
			return "[" + strings.Join(slices.Compact([]string{xs[i], ys[i]}), ", ") + "]"
		})
		m, err := Call("MAP", LitString("k"), a, LitString("l"), b)
		try(m, err, func(i int) string { return "{k=" + xs[i] + ", l=" + ys[i] + "}" })
		e, err = Element(m, LitString("l"))
		try(e, err, func(i int) string { return ys[i] })
		e, err = Cast(list, columnar.StringType(), false)
		try(e, err, func(i int) string { return castTwin("[" + xs[i] + ", " + ys[i] + "]") })
	})
}

// castTwin makes the text of CAST of what flinkText gives: NULL is upper-case and a row
// has parentheses of its own.
func castTwin(s string) string {
	s = strings.ReplaceAll(s, "null", "NULL")
	var open []bool
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "+I["):
			b.WriteByte('(')
			open = append(open, true)
			i += 2
		case s[i] == '[':
			b.WriteByte('[')
			open = append(open, false)
		case s[i] == ']':
			b.WriteString(map[bool]string{true: ")", false: "]"}[open[len(open)-1]])
			open = open[:len(open)-1]
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// TestUnnestRows gives the elements of lists as rows.
func TestUnnestRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rowCount(t)
		elem := drawNestedType(t, 1)
		dt := columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &elem}
		a, texts := drawNested(t, dt, n)
		e, err := UnnestRows(Column(0, dt), true)
		a.Retain() // check lets go of it
		defer a.Release()
		check(t, e, err, n, []arrow.Array{a}, func(i int) string {
			if texts[i] == "null" {
				return "null"
			}
			from, to := a.(*array.List).ValueOffsets(i)
			var rows []string
			for j := from; j < to; j++ {
				text := flinkText(a.(*array.List).ListValues(), elem, int(j))
				if elem.Kind == columnar.Row {
					text = strings.TrimSuffix(strings.TrimPrefix(text, "+I["), "]")
					if text == "null" {
						text = "null, null"
					}
				}
				rows = append(rows, fmt.Sprintf("+I[%s, %d]", text, j-from+1))
			}
			return "[" + strings.Join(rows, ", ") + "]"
		})
	})
}

// TestNestedCasts casts what is in nested values.
func TestNestedCasts(t *testing.T) {
	t.Parallel()
	text, whole := columnar.StringType(), columnar.Of(columnar.Int)
	texts, wholes := columnar.DataType{Kind: columnar.Array, Elem: &text}, columnar.DataType{Kind: columnar.Array, Elem: &whole}
	for _, tc := range []struct {
		values []string
		try    bool
		want   string
	}{
		{[]string{"1", " 2 "}, false, "[1, 2]"},
		{[]string{"1", "x"}, true, "null"},
		{[]string{"1", "x"}, false, "ERR"},
	} {
		list := mustCall("ARRAY", LitString(tc.values[0]), LitString(tc.values[1]))
		wide, err := Cast(list, texts, false)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Cast(wide, wholes, tc.try)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile([]Expr{e}, Env{})
		if err != nil {
			t.Fatal(err)
		}
		got := "ERR"
		if out, err := p.Eval(memory.DefaultAllocator, nil, 1); err == nil {
			got = flinkText(out[0], e.Type(), 0)
		}
		if got != tc.want {
			t.Errorf("%v, try %t: got %s, want %s", tc.values, tc.try, got, tc.want)
		}
	}
	for _, no := range [][2]Expr{
		{mustCall("ARRAY", LitInt(1)), mustCall("ROW", LitInt(1))},
		{mustCall("ROW", LitInt(1)), mustCall("ROW", LitInt(1), LitInt(2))},
		{LitString("[1]"), mustCall("ARRAY", LitInt(1))},
	} {
		if e, err := Cast(no[0], no[1].Type(), false); err == nil {
			t.Errorf("%s became %s", String(e), no[1].Type())
		}
	}
}

// TestFieldsOfNull reads a field whose own value is there below a ROW that is NULL.
func TestFieldsOfNull(t *testing.T) {
	t.Parallel()
	dt := columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: []columnar.Field{{Name: "a", Type: columnar.Of(columnar.Int)}}}
	b := array.NewInt32Builder(memory.DefaultAllocator)
	b.AppendValues([]int32{1, 2}, nil)
	data := array.NewData(columnar.ArrowType(dt), 2, []*memory.Buffer{memory.NewBufferBytes([]byte{1})}, []arrow.ArrayData{b.NewArray().Data()}, 1, 0)
	p, err := Compile([]Expr{FieldOf(Column(0, dt), 0)}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Eval(memory.DefaultAllocator, []arrow.Array{array.MakeFromData(data)}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(out[0]); got != "[1 (null)]" {
		t.Errorf("got %s", got)
	}
}

// TestEqualNames takes the last of members with one name.
func TestEqualNames(t *testing.T) {
	t.Parallel()
	p, _ := parseJSONPath("$.a")
	if got := p.find(`{"a":1,"b":2,"a":{"c":3}}`); len(got) != 1 || got[0] != `{"c":3}` {
		t.Errorf("got %q", got)
	}
}
