package nested

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"leat/catalog"
	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/spec"
)

// castTypes are the types that columns are changed from and to.
func castTypes() []columnar.DataType {
	sized := func(k columnar.Kind, n int) columnar.DataType {
		return columnar.DataType{Kind: k, Nullable: true, Length: n}
	}
	clock := func(k columnar.Kind, p int) columnar.DataType {
		return columnar.DataType{Kind: k, Nullable: true, Precision: p}
	}
	return []columnar.DataType{
		columnar.Of(columnar.Boolean), columnar.Of(columnar.TinyInt), columnar.Of(columnar.SmallInt), columnar.Of(columnar.Int), columnar.Of(columnar.BigInt),
		columnar.Of(columnar.Float), columnar.Of(columnar.Double),
		columnar.DecimalOf(5, 2), columnar.DecimalOf(18, 0), columnar.DecimalOf(38, 10),
		sized(columnar.Char, 6), sized(columnar.VarChar, 4), columnar.StringType(),
		sized(columnar.Binary, 4), sized(columnar.VarBinary, 3), columnar.BytesType(),
		columnar.Of(columnar.Date), clock(columnar.Time, 0), clock(columnar.Time, 3),
		clock(columnar.Timestamp, 0), clock(columnar.Timestamp, 3), clock(columnar.Timestamp, 5), clock(columnar.Timestamp, 6), clock(columnar.Timestamp, 9),
		clock(columnar.TimestampLTZ, 3), clock(columnar.TimestampLTZ, 6),
		arrayOf(columnar.Of(columnar.Int)),
		mapOf(columnar.Of(columnar.Int).NotNull(), columnar.Of(columnar.Double)),
		rowOf(field(1, "a", columnar.DecimalOf(5, 2)), field(2, "b", clock(columnar.Timestamp, 3)), field(3, "c", arrayOf(columnar.Of(columnar.Boolean)))),
	}
}

func isClock(t columnar.DataType) bool {
	return t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ
}

// wordsFor are texts that Paimon reads as a type; nil where any will do.
func wordsFor(to columnar.DataType) []any {
	switch to.Kind {
	case columnar.Boolean:
		return texts("t", "TRUE", "y", "Yes", "1", "f", "false", "N", "no", "0")
	case columnar.TinyInt:
		return texts("0", "-128", "127", "+5", "1.9", "-1.", ".5", ".", "007", "-0")
	case columnar.SmallInt:
		return texts("-32768", "32767", "12.99")
	case columnar.Int:
		return texts("-2147483648", "2147483647", "12.99", "-.9", "+")[:4]
	case columnar.BigInt:
		return texts("-9223372036854775808", "9223372036854775807", "12.99")
	case columnar.Float, columnar.Double:
		return texts("0", "-0.0", " 1.5 ", "1e3", "1E-3d", "2f", "NaN", "-Infinity", "+Infinity", "1e999", ".5", "5.", "0x1p3", "0.1", "16777217")
	case columnar.Decimal:
		return texts("0", "1.005", "-1.005", "999.994", "999.995", "1e2", "1E-2", "+.5", "5.", "1e999", "1e-999", "123456789012345678.5", "-0.004")
	case columnar.Date:
		return texts("2024-02-29", "2024-2-9", "2024-02", "2024-12-31 10:11:12", "0000-01-01", "9999-12-31", "19000", "-1", " 2024 -1- 2", "2024- ")[:8]
	case columnar.Time:
		return texts("12:34:56", "1:2:3", "12", "12:34", "23:59:59.9994", "23:59:58.9996", "5000", "12:00:00.5+01", "12:00:00+01:30", "12:00:00-2", "1:2:3.x5")
	case columnar.Timestamp, columnar.TimestampLTZ:
		out := texts("2024-02-29", "2024-2-9", "2024-02-30", "2024-01-02 03:04:05", "2024-01-02 3:4:5.123456789", "2024-01-02 24:00:00", "2024-01-02 03:04:05.", "2024--", "1969-12-31 23:59:58.9", "2024-01-02 :5:", "2024-011-02")
		if to.Precision <= 6 {
			out = append(out, texts("0001-01-01 00:00:00", "+12345-01-01", "9999-12-31 23:59:59.999999")...)
		}
		if to.Kind == columnar.Timestamp && to.Precision%3 == 0 {
			out = append(out, texts("1704164645", "-1", "1704164645123")...)
		}
		return out
	default:
		return nil
	}
}

// castValues are values of a type that Paimon casts to another without an error.
func castValues(format string, from, to columnar.DataType) []any {
	switch {
	case from.Kind == columnar.Array:
		return []any{[]any{}, []any{json.Number("1"), nil, json.Number("-3")}}
	case from.Kind == columnar.Map:
		return []any{[]any{}, []any{[]any{json.Number("7"), json.Number("1.5")}, []any{json.Number("-8"), nil}}}
	case from.Kind == columnar.Row:
		return []any{map[string]any{"a": "1.50", "b": "2024-01-02T03:04:05.120", "c": []any{true, nil, false}}, map[string]any{"a": nil, "b": nil, "c": nil}}
	case from.IsText() && !to.IsText() && !to.IsBytes():
		return slices.DeleteFunc(wordsFor(to), func(v any) bool { return from.Length < len(v.(string)) || from.Kind == columnar.Char })
	case from.IsBytes() && to.IsText():
		return texts("61626364", "e282ac61")[:2:2]
	case from.Kind == columnar.BigInt && isClock(to):
		return numbers("0", "-1", "1704164645", "4102444800")
	}
	return slices.DeleteFunc(edgesIn(format, from, false), func(v any) bool {
		s := fmt.Sprint(v)
		switch {
		case to.Kind == columnar.Decimal && (from.Kind == columnar.Float || from.Kind == columnar.Double):
			return s == "NaN" || strings.HasSuffix(s, "Infinity")
		case isClock(to) && to.Precision > 6: // nanoseconds have no other years
			return s < "1700" || s > "2200"
		case from.Kind == columnar.Float && to.IsText():
			return s == "1.1754944e-38" // of which Java before 19 has a digit more than it needs
		case from.Kind == columnar.Timestamp && to.Kind == columnar.Time:
			return s < "1970" && !strings.HasSuffix(s, "T00:00:00") // negative in Java 1.3, which is no time
		case isClock(from) && to.Kind == columnar.Timestamp:
			return strings.HasSuffix(s, "58.000000001") // kept by Java in less digits than it has
		}
		return false
	})
}

// TestCastsAreJavas changes columns of every type to every other: Java and leat
// take and refuse the same changes, and read the same from files of before, alone
// and in arrays, also after a compaction.
func TestCastsAreJavas(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			lake := harness.Lake{Warehouse: t.TempDir(), Table: "d.t"}
			fields := []columnar.Field{{Name: "id", Type: columnar.Of(columnar.Int).NotNull()}}
			var values [][]any
			var changes []catalog.SchemaChange
			id := 1000
			for i, from := range castTypes() {
				for k, to := range castTypes() {
					// ORC files cut texts that Java's cast has left too long.
					if format == "orc" && (from.IsNested() || from.IsBytes()) && to.IsText() && to.Length < columnar.MaxLength {
						continue
					}
					if i == k || lakehouse.CastOf(from, to) == lakehouse.CastNone || !holds(format, from) || !holds(format, to) {
						continue
					}
					name, have := fmt.Sprintf("c%d_%d", i, k), castValues(format, from, to)
					if from.Kind == columnar.Binary || from.Kind == columnar.VarBinary && from.Length == 3 {
						have = texts("61626300", "610062")[map[columnar.Kind]int{columnar.VarBinary: 1}[from.Kind]:][:1]
					}
					if from.Kind == columnar.Row {
						from.Fields = slices.Clone(from.Fields)
						for n := range from.Fields {
							id++
							from.Fields[n].ID = id
						}
					}
					fields = append(fields, columnar.Field{Name: name, Type: from}, columnar.Field{Name: "l" + name, Type: arrayOf(from)})
					values = append(values, have, []any{append([]any{nil}, have...), []any{}})
					changes = append(changes, catalog.ModifyType{Path: []string{name}, Type: to}, catalog.ModifyType{Path: []string{"l" + name}, Type: arrayOf(to)})
				}
			}
			create(t, lake, fields, []string{"id"}, nil, map[string]string{"bucket": "1", "file.format": format, "num-sorted-run.compaction-trigger": "9"})
			x := newWriter(t, lake)
			for part := range 2 { // two files, for a merge
				var out []judge.Row
				for n := part; n < 16; n += 2 {
					r := judge.Row{"id": json.Number(fmt.Sprint(n)), "_kind": "+I"}
					for c, v := range values {
						r[fields[c+1].Name] = nil
						if n < len(v) {
							r[fields[c+1].Name] = v[n]
						}
					}
					out = append(out, r)
				}
				x.write(out)
			}
			x.close()
			if _, err := catalog.New(local.New(), lake.Warehouse).AlterTable(t.Context(), catalog.Identifier{Database: "d", Table: "t"}, changes, catalog.AlterOptions{AllowLossy: true}); err != nil {
				t.Fatal(err)
			}
			check := func(when string) {
				t.Helper()
				tab := open(t, lake)
				same(t, tab.Schema.Columns(), "Java "+when, java.Rows(t, lake.Warehouse, lake.Table), "leat", rows(t, tab))
			}
			check("of older files")
			compact(t, lake)
			check("compacted by leat")
		})
	}
}

// TestRefusedCastsAreJavas has Java judge every change of a type.
func TestRefusedCastsAreJavas(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	lake := harness.Lake{Warehouse: t.TempDir(), Table: "d.t"}
	fields := []columnar.Field{{Name: "id", Type: columnar.Of(columnar.Int).NotNull()}}
	types := castTypes()
	for i, from := range types {
		fields = append(fields, columnar.Field{Name: fmt.Sprintf("c%d", i), Type: from})
	}
	create(t, lake, fields, nil, nil, nil)
	for i, from := range types {
		for _, to := range types {
			if from.EqualIgnoreNull(to) || from.Kind == to.Kind && from.IsNested() {
				continue
			}
			name := fmt.Sprintf("c%d", i)
			raw, err := spec.MarshalDataType(to)
			if err != nil {
				t.Fatal(err)
			}
			old, err := spec.MarshalDataType(from)
			if err != nil {
				t.Fatal(err)
			}
			// A new column a time: a table cannot go back from most changes.
			steps := fmt.Sprintf(`[{"op":"drop","path":[%q]},{"op":"add","path":[%q],"type":%s},{"op":"retype","path":[%q],"type":%s}]`, name, name, old, name, raw)
			_, err = java.Call(steps, "alter", "--warehouse", lake.Warehouse, "--table", lake.Table)
			if got := lakehouse.CastOf(from, to) != lakehouse.CastNone; got != (err == nil) {
				t.Errorf("%s to %s: leat takes it: %t, Java: %.300v", from, to, got, err)
			}
		}
	}
}

// TestValuesThatFailInCastsAreJavas reads values that are none of a new type: both
// readers fail, leat with the name of the file, the column and the value.
func TestValuesThatFailInCastsAreJavas(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	wh := t.TempDir()
	at := func(k columnar.Kind, p int) columnar.DataType {
		return columnar.DataType{Kind: k, Nullable: true, Precision: p}
	}
	text, double := columnar.StringType(), columnar.Of(columnar.Double)
	for i, c := range []struct {
		from, to columnar.DataType
		value    string
	}{
		{text, columnar.Of(columnar.Boolean), "abc"},
		{text, columnar.Of(columnar.TinyInt), "128"},
		{text, columnar.Of(columnar.SmallInt), "1 "},
		{text, columnar.Of(columnar.Int), "abc"},
		{text, columnar.Of(columnar.Int), ""},
		{text, columnar.Of(columnar.BigInt), "9223372036854775808"},
		{text, columnar.Of(columnar.BigInt), "1.x"},
		{text, columnar.Of(columnar.Float), "1_0"},
		{text, double, "inf"},
		{text, double, "0x1f"},
		{text, columnar.DecimalOf(5, 2), " 1"},
		{text, columnar.DecimalOf(5, 2), "NaN"},
		{text, columnar.Of(columnar.Date), "2024-02-30"},
		{text, columnar.Of(columnar.Date), "2024-01-01T00:00:00"},
		{text, at(columnar.Time, 3), "a:b"},
		{text, at(columnar.Time, 0), ""},
		{text, at(columnar.Timestamp, 6), "2024-13-01"},
		{text, at(columnar.Timestamp, 6), "2024-01-01T00:00:00"},
		{text, at(columnar.Timestamp, 6), "0000-01-01"},
		{text, at(columnar.Timestamp, 6), "2024-01-01 00:00"},
		{text, at(columnar.Timestamp, 5), "12345"},
		{text, at(columnar.TimestampLTZ, 3), "12345"},
		{double, columnar.DecimalOf(5, 2), "NaN"},
	} {
		lake := harness.Lake{Warehouse: wh, Table: fmt.Sprint("d.t", i)}
		create(t, lake, []columnar.Field{{Name: "id", Type: columnar.Of(columnar.Int)}, {Name: "v", Type: c.from}}, nil, nil, nil)
		x := newWriter(t, lake)
		x.write([]judge.Row{{"id": json.Number("1"), "v": c.value}})
		x.close()
		name := catalog.Identifier{Database: "d", Table: fmt.Sprint("t", i)}
		if _, err := catalog.New(local.New(), wh).AlterTable(t.Context(), name, []catalog.SchemaChange{catalog.ModifyType{Path: []string{"v"}, Type: c.to}}, catalog.AlterOptions{AllowLossy: true}); err != nil {
			t.Fatal(err)
		}
		if lines, err := java.Call("", "rows", "--warehouse", wh, "--table", lake.Table); err == nil {
			t.Errorf("%q to %s: Java reads %s", c.value, c.to, lines)
		}
		err := open(t, lake).Scan(t.Context(), lakehouse.ScanOptions{}, func(*columnar.Batch) error { return nil })
		for _, want := range []string{"reading data file " + wh, "column v: ", fmt.Sprintf("casting value %q of", c.value)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q to %s: error %v, want %s", c.value, c.to, err, want)
			}
		}
	}
}
