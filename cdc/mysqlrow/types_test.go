package mysqlrow

import (
	"errors"
	"strings"
	"testing"

	"leat/internal/columnar"
	"leat/internal/diag"
)

func TestNaturalType(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"tinyint": "TINYINT", "tinyint(1)": "BOOLEAN", "tinyint unsigned": "SMALLINT", "tinyint(1) unsigned": "SMALLINT",
		"smallint": "SMALLINT", "smallint unsigned": "INT", "mediumint": "INT", "mediumint unsigned": "INT",
		"int": "INT", "int unsigned": "BIGINT", "int(5) unsigned zerofill": "BIGINT", "bigint": "BIGINT", "bigint unsigned": "DECIMAL(20, 0)",
		"decimal(10,2)": "DECIMAL(10, 2)", "decimal(38,0)": "DECIMAL(38, 0)", "decimal(39,0)": "STRING",
		"float": "FLOAT", "double": "DOUBLE", "char(3)": "CHAR(3)", "varchar(30)": "VARCHAR(30)", "longtext": "STRING",
		"binary(4)": "BINARY(4)", "varbinary(9)": "VARBINARY(9)", "tinyblob": "BYTES", "date": "DATE",
		"datetime": "TIMESTAMP(0)", "datetime(6)": "TIMESTAMP(6)", "timestamp(3)": "TIMESTAMP(3)",
		"bit(1)": "BOOLEAN", "bit(12)": "BINARY(2)", "bit(64)": "BINARY(8)", "year": "INT", "time(3)": "STRING",
		"enum('a','b')": "STRING", "set('a','b')": "ARRAY<STRING>", "json": "STRING", "geometry": "STRING",
		"multipolygon": "STRING", "geomcollection": "STRING", "vector(3)": "BYTES",
		"uuid": "STRING", "inet4": "STRING", "inet6": "STRING",
	} {
		got, err := NaturalType(col("v", sql))
		if err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v, want %s", sql, got, err, want)
		}
	}
	if got, err := NaturalType(col("v", "int").notNull()); err != nil || got.Nullable {
		t.Errorf("NOT NULL was lost: %s, %v", got, err)
	}
}

func TestCheckDeclared(t *testing.T) {
	t.Parallel()
	varchar := func(n int) columnar.DataType {
		return columnar.DataType{Kind: columnar.VarChar, Nullable: true, Length: n}
	}
	bytesOf := func(k columnar.Kind, n int) columnar.DataType {
		return columnar.DataType{Kind: k, Nullable: true, Length: n}
	}
	for _, tc := range []struct {
		sql  string
		typ  columnar.DataType
		hint string // "" for a type that fits
	}{
		{"int", columnar.Of(columnar.BigInt), ""},
		{"int", columnar.Of(columnar.SmallInt), "declare `v` as INT"},
		{"int unsigned", columnar.Of(columnar.Int), "declare `v` as BIGINT"},
		{"int", columnar.Of(columnar.Double), ""},
		{"int", columnar.Of(columnar.Float), "declare `v` as INT"},
		{"mediumint unsigned", columnar.Of(columnar.Float), ""},
		{"bigint", columnar.Of(columnar.Double), "declare `v` as BIGINT"},
		{"bigint unsigned", columnar.Of(columnar.BigInt), "declare `v` as DECIMAL(20, 0)"},
		{"bigint unsigned", columnar.DecimalOf(20, 0), ""},
		{"bigint", columnar.DecimalOf(21, 2), ""},
		{"bigint", columnar.DecimalOf(20, 2), "declare `v` as BIGINT"},
		{"int", columnar.Of(columnar.Boolean), "declare `v` as INT"},
		{"int", varchar(11), ""},
		{"int", varchar(10), "declare `v` as INT"},
		{"tinyint(1)", columnar.Of(columnar.Boolean), ""},
		{"tinyint(1)", columnar.Of(columnar.TinyInt), ""},
		{"tinyint", columnar.Of(columnar.Boolean), "declare `v` as TINYINT"},
		{"decimal(10,2)", columnar.DecimalOf(12, 4), ""},
		{"decimal(10,2)", columnar.DecimalOf(12, 1), "declare `v` as DECIMAL(10, 2)"},
		{"decimal(10,2)", columnar.DecimalOf(10, 3), "declare `v` as DECIMAL(10, 2)"},
		{"decimal(15,2)", columnar.Of(columnar.Double), ""},
		{"decimal(16,2)", columnar.Of(columnar.Double), "declare `v` as DECIMAL(16, 2)"},
		{"decimal(6,6)", columnar.Of(columnar.Float), ""},
		{"decimal(7,6)", columnar.Of(columnar.Float), "declare `v` as DECIMAL(7, 6)"},
		{"decimal(65,30)", columnar.StringType(), ""},
		{"decimal(65,30)", columnar.DecimalOf(38, 30), "declare `v` as STRING"},
		{"float", columnar.Of(columnar.Double), ""},
		{"double", columnar.Of(columnar.Float), "declare `v` as DOUBLE"},
		{"char(10)", varchar(10), ""},
		{"varchar(10)", varchar(9), "declare `v` as VARCHAR(10)"},
		{"text", varchar(100), "declare `v` as STRING"},
		{"text", columnar.BytesType(), "declare `v` as STRING"},
		{"blob", columnar.StringType(), "declare `v` as BYTES"},
		{"binary(4)", bytesOf(columnar.Binary, 4), ""},
		{"binary(4)", bytesOf(columnar.Binary, 5), "declare `v` as BINARY(4)"},
		{"binary(4)", bytesOf(columnar.VarBinary, 4), ""},
		{"varbinary(4)", bytesOf(columnar.Binary, 4), "declare `v` as VARBINARY(4)"},
		{"date", columnar.Of(columnar.Date), ""},
		{"date", columnar.TimestampOf(3), "declare `v` as DATE"},
		{"datetime(6)", columnar.TimestampOf(3), ""},
		{"datetime(6)", columnar.TimestampOf(9), "declare `v` as TIMESTAMP(6)"},
		{"datetime(6)", ltz(6), "declare `v` as TIMESTAMP(6)"},
		{"datetime(6)", columnar.StringType(), ""},
		{"datetime(6)", varchar(25), "declare `v` as TIMESTAMP(6)"},
		{"datetime", varchar(19), ""},
		{"date", varchar(9), "declare `v` as DATE"},
		{"timestamp(3)", varchar(24), ""},
		{"timestamp(3)", varchar(23), "declare `v` as TIMESTAMP(3)"},
		{"timestamp", ltz(3), ""},
		{"json", columnar.StringType(), ""},
		{"json", varchar(1000), "declare `v` as STRING"},
		{"point", columnar.BytesType(), "declare `v` as STRING"},
		{"enum('new','é😀')", varchar(3), ""},
		{"enum('new','é😀')", varchar(2), "declare `v` as STRING"},
		{"set('ab','c')", varchar(4), ""},
		{"set('ab','c')", varchar(3), "declare `v` as ARRAY<STRING>"},
		{"set('ab','c')", listOf(varchar(2)), ""},
		{"set('ab','c')", listOf(varchar(1)), "declare `v` as ARRAY<STRING>"},
		{"set('ab','c')", listOf(columnar.Of(columnar.Int)), "declare `v` as ARRAY<STRING>"},
		{"year", columnar.Of(columnar.Int), ""},
		{"year", columnar.Of(columnar.TinyInt), "declare `v` as INT"},
		{"year", columnar.DecimalOf(5, 1), ""},
		{"year", columnar.DecimalOf(5, 2), "declare `v` as INT"},
		{"bit(1)", bytesOf(columnar.Binary, 1), ""},
		{"bit(9)", columnar.Of(columnar.Boolean), "declare `v` as BINARY(2)"},
		{"bit(9)", bytesOf(columnar.VarBinary, 2), ""},
		{"bit(9)", bytesOf(columnar.Binary, 3), "declare `v` as BINARY(2)"},
		{"time(6)", columnar.DataType{Kind: columnar.Time, Nullable: true, Precision: 3}, ""},
		{"time(6)", varchar(17), ""},
		{"time(6)", varchar(16), "declare `v` as STRING"},
		{"vector(4)", listOf(columnar.Of(columnar.Float)), ""},
		{"vector(4)", listOf(columnar.Of(columnar.Double)), "declare `v` as BYTES"},
		{"vector(4)", bytesOf(columnar.VarBinary, 15), "declare `v` as BYTES"},
		{"uuid", columnar.DataType{Kind: columnar.Char, Nullable: true, Length: 36}, ""},
		{"uuid", varchar(35), "declare `v` as STRING"},
		{"inet4", varchar(15), ""},
		{"inet4", varchar(14), "declare `v` as STRING"},
		{"inet6", varchar(39), ""},
		{"inet6", varchar(38), "declare `v` as STRING"},
		{"xmltype", columnar.StringType(), "leave `v` out of the CREATE TABLE statement"},
	} {
		err := CheckDeclared(col("v", tc.sql), tc.typ)
		var e *diag.Error
		switch {
		case tc.hint == "" && err == nil:
		case !errors.As(err, &e):
			t.Errorf("%s as %s: got %v, want the hint %q", tc.sql, tc.typ, err, tc.hint)
		case e.Code != diag.CodeSourceColumn || e.Hint != tc.hint || !strings.Contains(e.Msg, "'v' is "+strings.ToUpper(tc.sql)):
			t.Errorf("%s as %s: got %v (do: %s), want the hint %q", tc.sql, tc.typ, err, e.Hint, tc.hint)
		}
	}
}

func listOf(elem columnar.DataType) columnar.DataType {
	return columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &elem}
}

func TestUnknownCharsetIsRefused(t *testing.T) {
	t.Parallel()
	_, err := NaturalType(col("v", "varchar(5)").charset("filename"))
	if codeOf(err) != diag.CodeSourceColumn || !strings.Contains(err.Error(), "VARCHAR(5) CHARACTER SET filename") {
		t.Errorf("got %v, want an error that names the character set", err)
	}
}
