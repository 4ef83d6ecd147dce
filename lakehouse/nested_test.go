package lakehouse

import (
	"testing"

	"leat/internal/columnar"
)

func TestReadsAs(t *testing.T) {
	t.Parallel()
	row := func(fields ...columnar.Field) columnar.DataType {
		return columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: fields}
	}
	list := func(e columnar.DataType) columnar.DataType {
		return columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &e}
	}
	x := columnar.Field{ID: 1, Name: "x", Type: columnar.Of(columnar.Int)}
	renamed := columnar.Field{ID: 1, Name: "y", Type: columnar.Of(columnar.Int)}
	again := columnar.Field{ID: 2, Name: "x", Type: columnar.Of(columnar.Int)}
	added := columnar.Field{ID: 3, Name: "z", Type: columnar.Of(columnar.Double)}
	wider := columnar.Field{ID: 1, Name: "x", Type: columnar.Of(columnar.BigInt)}
	for _, c := range []struct {
		name         string
		from, to     columnar.DataType
		byID, byName bool
	}{
		{"same", row(x), row(x), true, true},
		{"added", list(row(x)), list(row(x, added)), true, true},
		{"renamed", row(x), row(renamed), true, false},
		{"dropped and added again", row(x), row(again), true, false},
		{"wider", row(x), row(wider), false, false},
		{"wider element", list(x.Type), list(wider.Type), false, false},
		{"another kind", list(x.Type), row(x), false, false},
	} {
		if got := readsAs(c.from, c.to, false); got != c.byID {
			t.Errorf("%s: %t by id", c.name, got)
		}
		if got := readsAs(c.from, c.to, true); got != c.byName {
			t.Errorf("%s: %t by name", c.name, got)
		}
	}
}
