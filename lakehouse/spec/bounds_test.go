package spec

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

func TestBoundsOfColumns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ          columnar.DataType
		values, want string
	}{
		{columnar.Of(columnar.Boolean), `[true,null,false]`, `[false,true]`},
		{columnar.Of(columnar.TinyInt), `[3,-7,null]`, `[-7,3]`},
		{columnar.Of(columnar.SmallInt), `[3,-7]`, `[-7,3]`},
		{columnar.Of(columnar.Int), `[3]`, `[3,3]`},
		{columnar.Of(columnar.BigInt), `[3,-7]`, `[-7,3]`},
		{columnar.Of(columnar.Date), `["2024-02-29","1969-12-31"]`, `["1969-12-31","2024-02-29"]`},
		{columnar.DataType{Kind: columnar.Time, Precision: 3}, `["10:00:00","09:00:00"]`, `["09:00:00","10:00:00"]`},
		{columnar.TimestampOf(6), `["2024-02-29 00:00:00","1969-12-31 23:59:59.999999"]`, `["1969-12-31 23:59:59.999999","2024-02-29 00:00:00"]`},
		{columnar.Of(columnar.Float), `[0.5,-0.25]`, `[-0.25,0.5]`},
		{columnar.Of(columnar.Double), `[0.5,-0.25]`, `[-0.25,0.5]`},
		{columnar.DecimalOf(20, 2), `["1.50","-2.00"]`, `["-2.00","1.50"]`},
		{columnar.StringType(), `["b","","ä"]`, `["","ä"]`},
		{columnar.BytesType(), `["YQ=="]`, ``},
		{columnar.Of(columnar.Int), `[null]`, ``},
	} {
		values, _, err := array.FromJSON(memory.DefaultAllocator, columnar.ArrowType(c.typ), strings.NewReader(c.values))
		if err != nil {
			t.Fatal(err)
		}
		s := CollectStats(values, c.typ, StatsMode{Kind: StatsFull})
		got := s.Bounds(memory.DefaultAllocator, c.typ)
		if c.want == "" {
			if got != nil {
				t.Errorf("%s: bounds %v, want none", c.typ, got)
			}
			continue
		}
		want, _, err := array.FromJSON(memory.DefaultAllocator, columnar.ArrowType(c.typ), strings.NewReader(c.want))
		if err != nil {
			t.Fatal(err)
		}
		if got == nil || !array.Equal(want, got) {
			t.Errorf("%s: bounds %v, want %v", c.typ, got, want)
		}
	}
}
