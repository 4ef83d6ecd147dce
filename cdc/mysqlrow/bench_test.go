package mysqlrow

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"leat/internal/columnar"
)

// batchRows is the size of the batches measured.
const batchRows = 8192

// ordersTable is the table of the benchmarks: seven columns as an order has them.
func ordersTable(tb testing.TB) (*Plan, *Layout, *columnar.Schema, []Column) {
	tb.Helper()
	cols := []Column{
		col("order_id", "bigint"), col("user_id", "bigint"), col("amount", "decimal(18,2)"), col("status", "tinyint"),
		col("create_time", "datetime(3)"), col("update_time", "datetime(3)"), col("dt", "varchar(10)"),
	}
	schema := &columnar.Schema{}
	var targets []Target
	for i, c := range cols {
		typ, err := NaturalType(c)
		if err != nil {
			tb.Fatal(err)
		}
		targets = append(targets, Target{i, typ})
		schema.Fields = append(schema.Fields, columnar.Field{Name: c.Name, Type: typ})
	}
	plan, err := NewPlan(cols, targets, Options{Table: "shop.orders", Key: []int{0}, ChunkKey: []int{0}})
	if err != nil {
		tb.Fatal(err)
	}
	layout, err := plan.Bind(tableMap(cols...))
	if err != nil {
		tb.Fatal(err)
	}
	return plan, layout, schema, cols
}

func orderRow(i int) []value {
	day := value{y: 2024, m: 1 + i%12, d: 1 + i%28, h: i % 24, mi: i % 60, s: i % 59, us: i % 1000 * 1000}
	return []value{
		{num: big.NewInt(int64(i))},
		{num: big.NewInt(int64(i * 7919 % 1_000_003))},
		{num: big.NewInt(int64(i*31 - 1000))},
		{num: big.NewInt(int64(i % 5))},
		day, day,
		{bytes: fmt.Appendf(nil, "2024-%02d-%02d", day.m, day.d)},
	}
}

// events makes rows events of 1,000 rows, batchRows rows in all, update pairs counting as two.
func events(cols []Column, op Op) []Rows {
	var out []Rows
	for i := range batchRows {
		if i%1000 == 0 {
			out = append(out, Rows{Op: op, Columns: len(cols), Present: []byte{0x7F}, PresentAfter: []byte{0x7F}})
		}
		r := &out[len(out)-1]
		r.Data = append(r.Data, image(cols, orderRow(i/2*2))...)
	}
	return out
}

func reportRows(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.N)*batchRows/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkImages(b *testing.B) {
	plan, layout, schema, cols := ordersTable(b)
	for name, op := range map[string]Op{"insert": OpInsert, "update": OpUpdate} {
		evs := events(cols, op)
		b.Run(name, func(b *testing.B) {
			builder := NewBuilder(plan, batchRows)
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range evs {
					if err := builder.AppendRows(layout, r); err != nil {
						b.Fatal(err)
					}
				}
				finish(b, builder, schema)
			}
			reportRows(b)
		})
	}
}

func finish(tb testing.TB, builder *Builder, schema *columnar.Schema) {
	tb.Helper()
	batch, err := builder.Finish(schema)
	if err != nil {
		tb.Fatal(err)
	}
	if batch.Rows() != batchRows {
		tb.Fatalf("%d rows instead of %d", batch.Rows(), batchRows)
	}
	batch.Release()
}

func packets(cols []Column) [][]byte {
	out := make([][]byte, batchRows)
	for i := range out {
		out[i] = packet(cols, orderRow(i))
	}
	return out
}

func BenchmarkText(b *testing.B) {
	plan, _, schema, cols := ordersTable(b)
	rows := packets(cols)
	builder := NewBuilder(plan, batchRows)
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range rows {
			if err := builder.AppendText(columnar.Insert, p); err != nil {
				b.Fatal(err)
			}
		}
		finish(b, builder, schema)
	}
	reportRows(b)
}

func BenchmarkForEachKey(b *testing.B) {
	_, layout, _, cols := ordersTable(b)
	evs := events(cols, OpInsert)
	b.ReportAllocs()
	var key []byte
	for b.Loop() {
		for _, r := range evs {
			err := layout.ForEach(r, func(_, after []byte) (err error) {
				key, err = layout.AppendChunkKey(key[:0], after)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	reportRows(b)
}

// TestAllocsPerRow holds both paths to allocations of batches, not of rows.
func TestAllocsPerRow(t *testing.T) {
	plan, layout, schema, cols := ordersTable(t)
	builder := NewBuilder(plan, batchRows)
	evs := events(cols, OpInsert)
	rows := packets(cols)
	const perBatch = 80
	if n := testing.AllocsPerRun(5, func() {
		for _, r := range evs {
			if err := builder.AppendRows(layout, r); err != nil {
				t.Fatal(err)
			}
		}
		finish(t, builder, schema)
	}); n > perBatch {
		t.Errorf("images: %v allocations a batch, want at most %d", n, perBatch)
	}
	if n := testing.AllocsPerRun(5, func() {
		for _, p := range rows {
			if err := builder.AppendText(columnar.Insert, p); err != nil {
				t.Fatal(err)
			}
		}
		finish(t, builder, schema)
	}); n > perBatch {
		t.Errorf("text: %v allocations a batch, want at most %d", n, perBatch)
	}
}

// TestAllocsOfOtherTypes holds every kind of value to no allocation of its own.
func TestAllocsOfOtherTypes(t *testing.T) {
	doc := document{members: []document{
		{kind: jsonString, wire: withLength([]byte("x\ny")), text: `"x\ny"`},
		{kind: jsonInt16, wire: []byte{7, 0}, text: "7"},
		{kind: jsonDouble, wire: littleEndian(math.Float64bits(1.5), 8), text: "1.5"},
	}, keys: []string{"a", "b", "c"}}
	doc.finish(true, false)
	point := slices.Concat([]byte{0, 0, 0, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0}, littleEndian(math.Float64bits(1.25), 8), littleEndian(math.Float64bits(-3), 8))
	cols := []Column{
		col("a", "float"), col("b", "double"), col("c", "decimal(38,10)"), col("d", "decimal(65,30)"), col("e", "bigint unsigned"),
		col("f", "timestamp(6)"), col("g", "date"), col("h", "binary(8)"), col("i", "varchar(20)").charset("latin1"), col("j", "text"),
		col("k", "time(3)"), col("l", "year"), col("m", "bit(12)"), col("n", "enum('a','b')"), col("o", "set('a','b','c')"),
		col("p", "json"), col("q", "geometry"), col("r", "vector(1)"), col("s", "varchar(20)").charset("gbk"), col("t", "text").charset("utf16"),
		col("u", "text").charset("gb18030"), col("v", "text").charset("cp1251"),
	}
	vals := []value{
		{float: 1.5},
		{float: -2.25e300},
		{num: big.NewInt(1 << 62)},
		{num: big.NewInt(-1 << 62)},
		{num: big.NewInt(1 << 62)},
		{y: 2024, m: 7, d: 3, h: 1, us: 123456},
		{y: 2024, m: 2, d: 29},
		word("abc"), word("caf\xE9"), word("caf\xC3\xA9\xFF"),
		{h: 100, s: 1, us: 250_000, d: 1},
		{y: 2024},
		word("\x08\x01"),
		{num: big.NewInt(2)},
		{num: big.NewInt(5)},
		{doc: doc},
		{bytes: point},
		word("\x00\x00\x80\x3F"), word("\xD6\xD0"), word("\x4E\x2D"), word("\x95\x32\x82\x36"), word("\xC0"),
	}
	var targets []Target
	schema := &columnar.Schema{}
	for i, c := range cols {
		typ, err := NaturalType(c)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, Target{i, typ})
		schema.Fields = append(schema.Fields, columnar.Field{Name: c.Name, Type: typ})
	}
	plan, err := NewPlan(cols, targets, Options{Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	layout, err := plan.Bind(tableMap(cols...))
	if err != nil {
		t.Fatal(err)
	}
	img, pkt := image(cols, vals), packet(cols, vals)
	b := NewBuilder(plan, batchRows)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := b.AppendImage(layout, columnar.Insert, img); err != nil {
			t.Fatal(err)
		}
		if err := b.AppendText(columnar.Insert, pkt); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a row, want none", n)
	}
	finishAny(t, b, schema)
}

func finishAny(tb testing.TB, b *Builder, schema *columnar.Schema) {
	tb.Helper()
	batch, err := b.Finish(schema)
	if err != nil {
		tb.Fatal(err)
	}
	batch.Release()
}

// BenchmarkValues measures one column of each kind of value, read from images and from text.
func BenchmarkValues(b *testing.B) {
	doc := document{keys: []string{"id", "name", "tags", "price"}, members: []document{
		{kind: jsonInt32, wire: littleEndian(70_000, 4), text: "70000"},
		{kind: jsonString, wire: withLength([]byte("a longer text, as names have it")), text: `"a longer text, as names have it"`},
		{kind: jsonLiteral, wire: []byte{1}, text: "true"},
		{kind: jsonDouble, wire: littleEndian(math.Float64bits(12.75), 8), text: "12.75"},
	}}
	doc.finish(true, false)
	point := slices.Concat([]byte{0, 0, 0, 0, 1, 1, 0, 0, 0}, littleEndian(math.Float64bits(13.25), 8), littleEndian(math.Float64bits(-52.5), 8))
	chinese := []byte("\xD6\xD0\xB9\xFA\xC9\xCF\xBA\xA3 abc")
	for _, tc := range []struct {
		name string
		col  Column
		val  value
	}{
		{"bit", col("v", "bit(12)"), word("\x08\x01")},
		{"time", col("v", "time(3)"), value{h: 12, mi: 34, s: 56, us: 789_000}},
		{"enum", col("v", "enum('new','paid','sent')"), value{num: big.NewInt(2)}},
		{"set", col("v", "set('red','green','blue')"), value{num: big.NewInt(5)}},
		{"json", col("v", "json"), value{doc: doc}},
		{"point", col("v", "point"), value{bytes: point}},
		{"utf8", col("v", "varchar(20)"), value{bytes: []byte("中国上海 abc")}},
		{"gbk", col("v", "varchar(20)").charset("gbk"), value{bytes: chinese}},
	} {
		typ, err := NaturalType(tc.col)
		if err != nil {
			b.Fatal(err)
		}
		plan, err := NewPlan([]Column{tc.col}, []Target{{0, typ}}, Options{Table: "t"})
		if err != nil {
			b.Fatal(err)
		}
		layout, err := plan.Bind(tableMap(tc.col))
		if err != nil {
			b.Fatal(err)
		}
		img, pkt := image([]Column{tc.col}, []value{tc.val}), packet([]Column{tc.col}, []value{tc.val})
		schema := &columnar.Schema{Fields: []columnar.Field{{Name: "v", Type: typ}}}
		run := func(path string, one func(*Builder) error) {
			b.Run(tc.name+"/"+path, func(b *testing.B) {
				builder := NewBuilder(plan, batchRows)
				b.ReportAllocs()
				for b.Loop() {
					for range batchRows {
						if err := one(builder); err != nil {
							b.Fatal(err)
						}
					}
					finish(b, builder, schema)
				}
				reportRows(b)
			})
		}
		run("image", func(builder *Builder) error {
			_, err := builder.AppendImage(layout, columnar.Insert, img)
			return err
		})
		run("text", func(builder *Builder) error { return builder.AppendText(columnar.Insert, pkt) })
	}
}
