package nested

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/lakehouse/format/formattest"
)

// schemas draws columns that files of a format can have.
func schemas(format string) *rapid.Generator[[]columnar.Field] {
	return rapid.Custom(func(t *rapid.T) []columnar.Field {
		g := formattest.Types{ID: 100, Left: map[columnar.Kind]bool{columnar.Variant: true}}
		if format == "avro" {
			g.Digits, g.TextBags = 6, true
		}
		out := []columnar.Field{{Name: "id", Type: columnar.Of(columnar.Int).NotNull()}}
		for i := range rapid.IntRange(1, 5).Draw(t, "columns") {
			out = append(out, columnar.Field{Name: fmt.Sprint("c", i), Type: g.Draw(t, 3).AsNullable()})
		}
		return out
	})
}

// filled makes rows of random values, ids from one to before another.
func filled(rnd *rand.Rand, format string, fields []columnar.Field, from, to int, kind string) []judge.Row {
	var out []judge.Row
	for id := from; id < to; id++ {
		r := judge.Row{"_kind": kind, "id": json.Number(fmt.Sprint(id))}
		for _, f := range fields[1:] {
			r[f.Name] = draw(rnd, format, f.Type, 0.2)
		}
		out = append(out, r)
	}
	return out
}

// TestRandomTables writes tables of random columns with leat, lets Java read
// them and write over a part, and reads what has become of them.
func TestRandomTables(t *testing.T) {
	t.Parallel()
	java, wh := judge.Java(t), t.TempDir()
	for i := range 15 {
		format := formats[i%len(formats)]
		fields := schemas(format).Example(i)
		lake := harness.Lake{Warehouse: wh, Table: fmt.Sprint("d.t", i)}
		create(t, lake, fields, []string{"id"}, nil, map[string]string{"bucket": "1", "file.format": format, "num-sorted-run.compaction-trigger": "9"})
		rnd := rand.New(rand.NewPCG(uint64(i), 1))
		x := newWriter(t, lake)
		first, second, third := filled(rnd, format, fields, 0, 60, "+I"), filled(rnd, format, fields, 40, 80, "+U"), filled(rnd, format, fields, 70, 120, "+U")
		x.write(first)
		x.write(second)
		x.close()
		s := x.tab.Schema.Columns()
		name := format + " " + fmt.Sprint(s.Fields[1:])
		check := func(when string, want []judge.Row) {
			same(t, s, "expected "+when, want, name+" by Java", java.Rows(t, wh, lake.Table))
			same(t, s, "expected "+when, want, name+" by leat", rows(t, x.tab))
		}
		check("of leat's files", slices.Concat(first[:40], second))
		java.Write(t, wh, lake.Table, "u", 1, lines(third))
		all := slices.Concat(first[:40], second[:30], third)
		check("with Java's file", all)
		compact(t, lake)
		check("compacted", all)
	}
}
