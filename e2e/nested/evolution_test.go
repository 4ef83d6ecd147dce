package nested

import (
	"math/rand/v2"
	"testing"

	"leat/catalog"
	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/internal/fileio/local"
)

func rowOf(fields ...columnar.Field) columnar.DataType {
	return columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: fields}
}

func arrayOf(e columnar.DataType) columnar.DataType {
	return columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &e}
}

func mapOf(k, e columnar.DataType) columnar.DataType {
	return columnar.DataType{Kind: columnar.Map, Nullable: true, Key: &k, Elem: &e}
}

func field(id int, name string, t columnar.DataType) columnar.Field {
	return columnar.Field{ID: id, Name: name, Type: t}
}

// evolving are columns whose nested parts change.
func evolving() []columnar.Field {
	number, word := columnar.Of(columnar.Int), columnar.StringType()
	return []columnar.Field{
		{Name: "id", Type: number.NotNull()},
		{Name: "r", Type: rowOf(field(20, "a", number), field(21, "b", rowOf(field(22, "x", number), field(23, "y", word))), field(24, "c", columnar.DecimalOf(5, 2)), field(25, "gone", word))},
		{Name: "l", Type: arrayOf(rowOf(field(26, "p", number), field(27, "q", word)))},
		{Name: "m", Type: mapOf(word.NotNull(), rowOf(field(28, "u", number), field(29, "v", columnar.TimestampOf(3))))},
		{Name: "e", Type: arrayOf(number)},
		{Name: "n", Type: mapOf(number.NotNull(), arrayOf(number))},
		{Name: "deep", Type: arrayOf(mapOf(number.NotNull(), arrayOf(rowOf(field(30, "k", columnar.Of(columnar.Float)), field(31, "j", columnar.Of(columnar.Date))))))},
		{Name: "lone", Type: rowOf(field(32, "only", number))},
		{Name: "lones", Type: arrayOf(rowOf(field(33, "only", number), field(34, "inner", rowOf(field(35, "x", word)))))},
	}
}

// nestedChanges rename, move, widen, add and drop nested parts; some come back under an old name.
func nestedChanges() []catalog.SchemaChange {
	long, word := columnar.Of(columnar.BigInt), columnar.StringType()
	path := func(names ...string) []string { return names }
	return []catalog.SchemaChange{
		catalog.RenameColumn{Path: path("r", "a"), To: "ra"},
		catalog.ModifyType{Path: path("r", "b", "x"), Type: long},
		catalog.AddColumn{Path: path("r", "b", "z"), Type: columnar.Of(columnar.Double)},
		catalog.DropColumn{Path: path("r", "gone")},
		catalog.ModifyType{Path: path("r", "c"), Type: columnar.DecimalOf(9, 3)},
		catalog.MoveColumn{Path: path("r", "c"), Position: catalog.Position{First: true}},
		catalog.ModifyType{Path: path("l", "p"), Type: long},
		catalog.DropColumn{Path: path("l", "q")},
		catalog.AddColumn{Path: path("l", "q"), Type: word},
		catalog.ModifyType{Path: path("m", "u"), Type: long},
		catalog.RenameColumn{Path: path("m", "v"), To: "w"},
		catalog.ModifyType{Path: path("m", "w"), Type: columnar.TimestampOf(6)},
		catalog.ModifyType{Path: path("e"), Type: arrayOf(long)},
		catalog.ModifyType{Path: path("n"), Type: mapOf(columnar.Of(columnar.Int).NotNull(), arrayOf(long))},
		catalog.ModifyType{Path: path("deep", "k"), Type: columnar.Of(columnar.Double)},
		catalog.AddColumn{Path: path("lone", "other"), Type: word},
		catalog.DropColumn{Path: path("lone", "only")},
		catalog.AddColumn{Path: path("lones", "inner", "y"), Type: word},
		catalog.DropColumn{Path: path("lones", "inner", "x")},
	}
}

// TestNestedPartsChange changes nested parts of columns and compares what leat
// and Java read of the files that both wrote before, and of later ones.
func TestNestedPartsChange(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			wh := t.TempDir()
			lake := harness.Lake{Warehouse: wh, Table: "d.t"}
			create(t, lake, evolving(), []string{"id"}, nil, map[string]string{"bucket": "1", "file.format": format, "num-sorted-run.compaction-trigger": "9"})
			rnd := rand.New(rand.NewPCG(3, 1))
			x := newWriter(t, lake)
			x.write(filled(rnd, format, x.tab.Schema.Columns().Fields, 0, 60, "+I"))
			x.close()
			java.Write(t, wh, lake.Table, "u", 1, lines(filled(rnd, format, x.tab.Schema.Columns().Fields, 50, 100, "+U")))
			check := func(when string) {
				t.Helper()
				tab := open(t, lake)
				same(t, tab.Schema.Columns(), "Java "+when, java.Rows(t, wh, lake.Table), "leat", rows(t, tab))
			}
			check("before")
			change := func(changes ...catalog.SchemaChange) {
				t.Helper()
				if _, err := catalog.New(local.New(), wh).AlterTable(t.Context(), catalog.Identifier{Database: "d", Table: "t"}, changes, catalog.AlterOptions{AllowLossy: true}); err != nil {
					t.Fatal(err)
				}
			}
			change(nestedChanges()...)
			check("of older files")
			x = newWriter(t, lake)
			x.write(filled(rnd, format, x.tab.Schema.Columns().Fields, 30, 70, "+U"))
			x.close()
			check("of older and newer files")
			change(catalog.ModifyType{Path: []string{"r", "b", "x"}, Type: columnar.Of(columnar.SmallInt)}, catalog.ModifyType{Path: []string{"l", "p"}, Type: columnar.StringType()})
			check("of narrowed fields")
			compact(t, lake)
			check("compacted by leat")
		})
	}
}
