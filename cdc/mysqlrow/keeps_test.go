package mysqlrow

import (
	"strings"
	"testing"
)

// TestKeepsValues tells changes of a type that leave values alone from those that do not.
func TestKeepsValues(t *testing.T) {
	t.Parallel()
	column := func(typ string) Column {
		c := Column{Name: "c", ColumnType: strings.TrimSuffix(typ, " not null"), Nullable: !strings.HasSuffix(typ, " not null")}
		c.ColumnType, c.Charset, _ = strings.Cut(c.ColumnType, " as ")
		c.DataType, _, _ = strings.Cut(c.ColumnType, "(")
		c.DataType, _, _ = strings.Cut(c.DataType, " ")
		var a, b int
		_, args, _ := strings.Cut(c.ColumnType, "(")
		for i, n := range strings.Split(strings.TrimSuffix(args, ")"), ",") {
			v := 0
			for _, d := range n {
				v = v*10 + int(d-'0')
			}
			if i == 0 {
				a = v
			} else {
				b = v
			}
		}
		c.Length, c.Precision, c.Scale, c.FractionDigits = int64(a), a, b, a
		return c
	}
	for _, tt := range []struct {
		was, now string
		// keeps is what becomes of values: "" they may change, "strict" not in a strict session, "yes" never.
		keeps string
	}{
		{"int", "bigint", "yes"},
		{"int", "smallint", "strict"},
		{"int", "int unsigned", "strict"},
		{"int unsigned", "bigint", "yes"},
		{"int unsigned", "int", "strict"},
		{"int", "varchar(40)", "yes"},
		{"int", "varchar(3)", "strict"},
		{"int", "date", ""},
		{"decimal(10,2)", "decimal(12,4)", "yes"},
		{"decimal(10,4)", "decimal(10,2)", ""},
		{"decimal(10,2)", "decimal(8,2)", "strict"},
		{"decimal(10,2)", "decimal(10,4)", "strict"},
		{"float", "double", "yes"},
		{"double", "float", ""},
		{"varchar(5)", "varchar(9)", "yes"},
		{"varchar(9)", "varchar(5)", ""},
		{"varchar(9)", "char(9)", ""},
		{"char(5)", "varchar(9)", "yes"},
		{"varchar(5) as latin1", "varchar(5) as utf8mb4", "yes"},
		{"varchar(5) as utf8mb4", "varchar(5) as latin1", ""},
		{"binary(5)", "varbinary(5)", "yes"},
		{"binary(5)", "binary(9)", ""},
		{"varbinary(5)", "binary(9)", ""},
		{"varbinary(9)", "varbinary(5)", "strict"},
		{"datetime(3)", "datetime(6)", "yes"},
		{"datetime(3)", "datetime", ""},
		{"timestamp", "datetime", ""},
		{"time", "time(3)", ""},
		{"bit(3)", "bit(8)", "yes"},
		{"bit(8)", "bit(9)", ""},
		{"bit(8)", "bit(3)", "strict"},
		{"json", "text", ""},
		{"point", "geometry", "yes"},
		{"int", "int not null", "strict"},
		{"timestamp", "timestamp not null", ""},
	} {
		want := map[string][2]bool{"": {}, "strict": {false, true}, "yes": {true, true}}[tt.keeps]
		for i, strict := range []bool{false, true} {
			if got := KeepsValues(column(tt.was), column(tt.now), strict); got != want[i] {
				t.Errorf("%s to %s, strict %t: got %t", tt.was, tt.now, strict, got)
			}
		}
	}
	labels := func(list string) Column { return Column{DataType: "set", ColumnType: "set(" + list + ")"} }
	for _, tt := range []struct {
		was, now string
		want     bool
	}{{"'a','b'", "'a','m','b','c'", true}, {"'a','b'", "'b','a'", false}, {"'a','b'", "'a'", false}, {"'a'", "'A'", false}} {
		if got := KeepsValues(labels(tt.was), labels(tt.now), true); got != tt.want {
			t.Errorf("%s to %s: got %t", tt.was, tt.now, got)
		}
	}
	computed := func(expression string) Column {
		return Column{DataType: "int", ColumnType: "int", Generated: expression != "", Expression: expression}
	}
	for _, tt := range []struct {
		was, now string
		want     bool
	}{{"a+1", "a+1", true}, {"a+1", "a+2", false}, {"", "a+1", false}, {"a+1", "", true}} {
		if got := KeepsValues(computed(tt.was), computed(tt.now), true); got != tt.want {
			t.Errorf("%q to %q: got %t", tt.was, tt.now, got)
		}
	}
}
