package mergetree

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// nestedType is a row with a list of maps and a multiset.
func nestedType() columnar.DataType {
	key, value := columnar.StringType().NotNull(), columnar.Of(columnar.Int)
	m := columnar.DataType{Kind: columnar.Map, Nullable: true, Key: &key, Elem: &value}
	return columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: []columnar.Field{
		{ID: 1, Name: "l", Type: columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &m}},
		{ID: 2, Name: "b", Type: columnar.DataType{Kind: columnar.Multiset, Nullable: true, Elem: &key}},
	}}
}

func nestedArray(t *testing.T, rows ...string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(nestedType()))
	for _, r := range rows {
		if err := b.AppendValueFromString(r); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewArray()
}

const (
	rowA = `{"l":[[{"key":"k","value":1},{"key":"m","value":null}],null],"b":[{"key":"x","value":2}]}`
	rowB = `{"l":[],"b":null}`
	rowC = `{"l":null,"b":[{"key":"x","value":1},{"key":"y","value":3}]}`
	none = "(null)"
)

func TestGatherNested(t *testing.T) {
	t.Parallel()
	arrs := []arrow.Array{
		array.NewSlice(nestedArray(t, rowC, none, rowA, rowB), 1, 4), // none, A, B
		nestedArray(t, rowC),
		nullRow(nestedType()),
	}
	for _, keep := range []bool{false, true} {
		g, err := newGatherer(nestedType(), keep)
		if err != nil {
			t.Fatal(err)
		}
		g.bind(arrs)
		first := g.gather([]rowRef{{0, 1}, {1, 0}, {0, 0}, {2, 0}, {0, 2}, {0, 1}})
		want := nestedArray(t, rowA, rowC, none, none, rowB, rowA)
		if !array.Equal(want, first) {
			t.Errorf("keep %t: got %v, want %v", keep, first, want)
		}
		if got, want := g.gather([]rowRef{{1, 0}}), nestedArray(t, rowC); !array.Equal(want, got) {
			t.Errorf("keep %t: got %v, want %v", keep, got, want)
		}
		if keep && !array.Equal(want, first) {
			t.Errorf("the array kept has changed to %v", first)
		}
	}
}

func TestNestedValuesCompare(t *testing.T) {
	t.Parallel()
	rows := []string{none, rowC, rowB, rowA} // ascending
	o, err := newValueOrder(nestedType())
	if err != nil {
		t.Fatal(err)
	}
	o.bind([]arrow.Array{nestedArray(t, rows...), array.NewSlice(nestedArray(t, append([]string{rowA}, rows...)...), 1, 5)})
	for i := range rows {
		for j := range rows {
			got := o.compare(rowRef{0, uint32(i)}, rowRef{1, uint32(j)})
			if (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%s against %s gives %d", rows[i], rows[j], got)
			}
		}
	}
}
