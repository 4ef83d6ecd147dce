package mysqlrow

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// single decodes one value of a one-column table; wire nil takes the text form.
func single(t *testing.T, c Column, typ columnar.DataType, opt Options, wire, text []byte) (string, error) {
	t.Helper()
	opt.Table = "shop.orders"
	plan, err := NewPlan([]Column{c}, []Target{{Column: 0, Type: typ}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(plan, 1)
	if wire != nil {
		layout, err := plan.Bind(tableMap(c))
		if err != nil {
			t.Fatal(err)
		}
		n, err := b.AppendImage(layout, columnar.Insert, append([]byte{0}, wire...))
		if err != nil {
			return "", err
		}
		if n != len(wire)+1 {
			t.Errorf("the image took %d bytes, want %d", n, len(wire)+1)
		}
	} else if err := b.AppendFields(columnar.Insert, [][]byte{text}); err != nil {
		return "", err
	}
	batch, err := b.Finish(&columnar.Schema{Fields: []columnar.Field{{Name: c.Name, Type: typ}}})
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	return show(batch.Cols[0], 0), nil
}

// show prints a cell with all digits of its type.
func show(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "NULL"
	}
	switch a := a.(type) {
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.Timestamp:
		typ := a.DataType().(*arrow.TimestampType)
		form := "2006-01-02 15:04:05.000"
		if typ.Unit == arrow.Microsecond {
			form += "000"
		}
		if typ.TimeZone != "" {
			form += "Z"
		}
		return a.Value(i).ToTime(typ.Unit).Format(form)
	default:
		return a.ValueStr(i)
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ltz(p int) columnar.DataType {
	return columnar.DataType{Kind: columnar.TimestampLTZ, Nullable: true, Precision: p}
}

func timeOf(p int) columnar.DataType {
	return columnar.DataType{Kind: columnar.Time, Nullable: true, Precision: p}
}

// naturalOf stands for the natural type of the column.
var naturalOf = columnar.DataType{}

// TestValues decodes values written by hand from the server's documented wire
// forms, each from its binlog bytes and from its text.
func TestValues(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		sql  string
		typ  columnar.DataType
		wire string // binlog bytes in hexadecimal
		text string
		want string
	}{
		{"tinyint", naturalOf, "80", "-128", "-128"},
		{"tinyint unsigned", naturalOf, "FF", "255", "255"},
		{"tinyint", columnar.DecimalOf(5, 2), "80", "-128", "-128.00"},
		{"tinyint", columnar.Of(columnar.Double), "FF", "-1", "-1"},
		{"tinyint(1)", naturalOf, "01", "1", "true"},
		{"tinyint(1)", naturalOf, "00", "0", "false"},
		{"tinyint(1)", naturalOf, "02", "2", "true"},
		{"tinyint(1)", columnar.Of(columnar.TinyInt), "02", "2", "2"},
		{"smallint", naturalOf, "00 80", "-32768", "-32768"},
		{"smallint unsigned", naturalOf, "FF FF", "65535", "65535"},
		{"mediumint", naturalOf, "00 00 80", "-8388608", "-8388608"},
		{"mediumint", naturalOf, "FF FF 7F", "8388607", "8388607"},
		{"mediumint unsigned", naturalOf, "FF FF FF", "16777215", "16777215"},
		{"int", naturalOf, "00 00 00 80", "-2147483648", "-2147483648"},
		{"int", columnar.Of(columnar.BigInt), "FF FF FF FF", "-1", "-1"},
		{"int unsigned", naturalOf, "FF FF FF FF", "4294967295", "4294967295"},
		{"int(8) unsigned zerofill", naturalOf, "2A 00 00 00", "00000042", "42"},
		{"int", columnar.StringType(), "D6 FF FF FF", "-42", "-42"},
		{"bigint", naturalOf, "00 00 00 00 00 00 00 80", "-9223372036854775808", "-9223372036854775808"},
		{"bigint", naturalOf, "FF FF FF FF FF FF FF 7F", "9223372036854775807", "9223372036854775807"},
		{"bigint", columnar.DecimalOf(38, 19), "00 00 00 00 00 00 00 80", "-9223372036854775808", "-9223372036854775808.0000000000000000000"},
		{"bigint unsigned", naturalOf, "FF FF FF FF FF FF FF FF", "18446744073709551615", "18446744073709551615"},
		{"bigint unsigned", naturalOf, "00 00 00 00 00 00 00 80", "9223372036854775808", "9223372036854775808"},
		{"bigint unsigned", columnar.StringType(), "FF FF FF FF FF FF FF FF", "18446744073709551615", "18446744073709551615"},

		{"decimal(14,4)", naturalOf, "81 0D FB 38 D2 04 D2", "1234567890.1234", "1234567890.1234"},
		{"decimal(14,4)", naturalOf, "7E F2 04 C7 2D FB 2D", "-1234567890.1234", "-1234567890.1234"},
		{"decimal(18,2)", naturalOf, "80 00 00 00 00 00 00 00 05", "0.05", "0.05"},
		{"decimal(18,2)", naturalOf, "7F FF FF FF FF FF FF FF FA", "-0.05", "-0.05"},
		{"decimal(4,4)", naturalOf, "80 01", "0.0001", "0.0001"},
		{"decimal(5,0)", columnar.DecimalOf(7, 2), "81 86 9F", "99999", "99999.00"},
		{
			"decimal(38,0)", naturalOf, "E3 3B 9A C9 FF 3B 9A C9 FF 3B 9A C9 FF 3B 9A C9 FF",
			"99999999999999999999999999999999999999", "99999999999999999999999999999999999999",
		},
		{"decimal(8,2) unsigned zerofill", naturalOf, "80 00 2A 05", "000042.05", "42.05"},
		{"decimal(40,2)", naturalOf, "80 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 07 05", "7.05", "7.05"},
		{"decimal(40,2)", naturalOf, "7F FF FF FF FF FF FF FF FF FF FF FF FF FF FF FF F8 FA", "-7.05", "-7.05"},
		{"decimal(4,2)", columnar.StringType(), "80 00", "0.00", "0.00"},

		{"float", naturalOf, "01 00 80 4B", "16777218", "1.6777218e+07"},
		{"float", naturalOf, "DB 0F 49 40", "3.1415927410125732", "3.1415927"},
		{"float", columnar.Of(columnar.Double), "DB 0F 49 40", "3.1415927410125732", "3.1415927410125732"},
		{"float", naturalOf, "00 00 00 80", "0", "0"},
		{"double", naturalOf, "18 2D 44 54 FB 21 09 40", "3.141592653589793", "3.141592653589793"},

		{"char(5)", naturalOf, "02 61 62", "ab", "ab"},
		{"char(70)", naturalOf, "03 00 C3 A9 21", "é!", "é!"},
		{"varchar(10)", naturalOf, "04 61 62 20 20", "ab  ", "ab  "},
		{"varchar(100)", naturalOf, "04 00 F0 9F 98 80", "😀", "😀"},
		{"varchar(10)", naturalOf, "03 61 FF 62", "a\xFFb", "a\uFFFDb"},
		{"tinytext", naturalOf, "01 78", "x", "x"},
		{"text", naturalOf, "00 00", "", ""},
		{"longtext", naturalOf, "01 00 00 00 78", "x", "x"},
		{"binary(4)", naturalOf, "02 61 62", "ab\x00\x00", "YWIAAA=="},
		{"binary(4)", columnar.BytesType(), "00", "\x00\x00\x00\x00", "AAAAAA=="},
		{"varbinary(4)", naturalOf, "02 61 00", "a\x00", "YQA="},
		{"mediumblob", naturalOf, "02 00 00 FF FE", "\xFF\xFE", "//4="},

		{"date", naturalOf, "21 D0 0F", "2024-01-01", "2024-01-01"},
		{"date", naturalOf, "9F 1F 4E", "9999-12-31", "9999-12-31"},
		{"date", naturalOf, "21 02 00", "0001-01-01", "0001-01-01"},
		{"date", naturalOf, "00 00 00", "0000-00-00", "NULL"},
		{"date", naturalOf, "0A D0 0F", "2024-00-10", "NULL"},
		{"date", naturalOf, "5F CE 0F", "2023-02-31", "NULL"},
		{"datetime", naturalOf, "99 B2 44 30 C5", "2024-01-02 03:03:05", "2024-01-02 03:03:05.000"},
		{"datetime(3)", naturalOf, "99 B2 44 30 C5 1A 7C", "2024-01-02 03:03:05.678", "2024-01-02 03:03:05.678"},
		{"datetime(6)", naturalOf, "99 B2 44 30 C5 0A 5B F5", "2024-01-02 03:03:05.678901", "2024-01-02 03:03:05.678901"},
		{"datetime(6)", columnar.TimestampOf(1), "99 B2 44 30 C5 0A 5B F5", "2024-01-02 03:03:05.678901", "2024-01-02 03:03:05.600"},
		{"datetime(1)", columnar.TimestampOf(6), "99 B2 44 30 C5 3C", "2024-01-02 03:03:05.6", "2024-01-02 03:03:05.600000"},
		{"datetime(6)", columnar.TimestampOf(0), "99 02 7F 7E FB 0A 5B F5", "1969-12-31 23:59:59.678901", "1969-12-31 23:59:59.000"},
		{"datetime", naturalOf, "80 00 00 00 00", "0000-00-00 00:00:00", "NULL"},
		{"date", columnar.StringType(), "21 02 00", "0001-01-01", "0001-01-01"},
		{"datetime(2)", columnar.StringType(), "99 B2 44 30 C5 0C", "2024-01-02 03:03:05.12", "2024-01-02 03:03:05.12"},
		{"datetime", columnar.StringType(), "80 00 00 00 00", "0000-00-00 00:00:00", "NULL"},
		{"timestamp(4)", columnar.StringType(), "65 93 7D 25 00 0C", "2024-01-02 03:04:05.0012", "2024-01-02T03:04:05.0012Z"},
		{"timestamp", columnar.StringType(), "00 00 00 00", "0000-00-00 00:00:00", "NULL"},

		{"time", naturalOf, "B4 6E FB", "838:59:59", "838:59:59"},
		{"time", naturalOf, "4B 91 05", "-838:59:59", "-838:59:59"},
		{"time", naturalOf, "80 00 00", "00:00:00", "00:00:00"},
		{"time(1)", naturalOf, "7F FF FF 00", "-00:00:01.0", "-00:00:01.0"},
		{"time(2)", naturalOf, "7F FF FF FF", "-00:00:00.01", "-00:00:00.01"},
		{"time(3)", naturalOf, "7F FF FF FF F6", "-00:00:00.001", "-00:00:00.001"},
		{"time(6)", naturalOf, "7F FF FF FF FF FF", "-00:00:00.000001", "-00:00:00.000001"},
		{"time(6)", naturalOf, "79 BF FF FE 1D C0", "-100:00:00.123456", "-100:00:00.123456"},
		{"time(6)", timeOf(3), "80 00 01 00 27 0F", "00:00:01.009999", "00:00:01.009"},
		{"time(3)", timeOf(1), "81 7E FB 27 06", "23:59:59.999", "23:59:59.900"},
		{"year", naturalOf, "00", "0000", "0"},
		{"year", naturalOf, "FF", "2155", "2155"},
		{"year", columnar.StringType(), "01", "1901", "1901"},
		{"bit(1)", naturalOf, "01", "\x01", "true"},
		{"bit(1)", naturalOf, "00", "\x00", "false"},
		{"bit(12)", naturalOf, "08 01", "\x08\x01", "CAE="},
		{"enum('a','it''s')", naturalOf, "02", "it's", "it's"},
		{"enum('a','it''s')", naturalOf, "00", "", ""},
		{"set('red','x(1)','a b')", naturalOf, "05", "red,a b", `["red","a b"]`},
		{"set('red','x(1)','a b')", naturalOf, "00", "", `[]`},
		{"set('red','x(1)','a b')", columnar.StringType(), "06", "x(1),a b", "x(1),a b"},
		{"set('','x')", naturalOf, "03", "x", `["x"]`},
		{"set('x','')", naturalOf, "03", "x,", `["x",""]`},
		{"set('x','')", columnar.StringType(), "03", "x,", "x,"},
		{"set('','x')", naturalOf, "01", "", `[]`},
		{"vector(2)", listOf(columnar.Of(columnar.Float)), "08 00 00 00 00 00 C0 3F 00 00 00 C0", "\x00\x00\xC0\x3F\x00\x00\x00\xC0", "[1.5,-2]"},
		{"vector(1)", naturalOf, "04 00 00 00 00 00 C0 3F", "\x00\x00\xC0\x3F", "AADAPw=="},
		// 1704164645 is 2024-01-02 03:04:05 UTC, 04:04:05 in Berlin; 1720000000 is in summer.
		{"timestamp", naturalOf, "65 93 7D 25", "2024-01-02 03:04:05", "2024-01-02 04:04:05.000"},
		{"timestamp", ltz(0), "65 93 7D 25", "2024-01-02 03:04:05", "2024-01-02 03:04:05.000Z"},
		{"timestamp(2)", naturalOf, "66 85 1E 00 0C", "2024-07-03 09:46:40.12", "2024-07-03 11:46:40.120"},
		{"timestamp(6)", ltz(3), "66 85 1E 00 01 E2 40", "2024-07-03 09:46:40.123456", "2024-07-03 09:46:40.123Z"},
		{"timestamp(6)", naturalOf, "00 00 00 00 00 00 00", "0000-00-00 00:00:00.000000", "NULL"},
		// The hour that a Berlin clock shows twice: both instants give 02:30.
		{"timestamp", naturalOf, "67 1D 89 88", "2024-10-27 00:30:00", "2024-10-27 02:30:00.000"},
		{"timestamp", naturalOf, "67 1D 97 98", "2024-10-27 01:30:00", "2024-10-27 02:30:00.000"},
	} {
		t.Run(tc.sql+" "+tc.text, func(t *testing.T) {
			t.Parallel()
			c := col("v", tc.sql)
			typ := tc.typ
			if typ.Kind == columnar.Invalid {
				var err error
				if typ, err = NaturalType(c); err != nil {
					t.Fatal(err)
				}
			}
			opt := Options{ServerZone: berlin}
			got, err := single(t, c, typ, opt, unhex(t, tc.wire), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("binlog (-want +got):\n%s", diff)
			}
			got, err = single(t, c, typ, opt, nil, []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLatin1(t *testing.T) {
	t.Parallel()
	c := col("v", "varchar(10)").charset("latin1")
	typ, err := NaturalType(c)
	if err != nil {
		t.Fatal(err)
	}
	in := []byte("e\xE9\x80\x81\xFF")
	for name, form := range map[string][2][]byte{"binlog": {append([]byte{5}, in...), nil}, "text": {nil, in}} {
		got, err := single(t, c, typ, Options{}, form[0], form[1])
		if err != nil {
			t.Fatal(err)
		}
		if want := "eé€\u0081ÿ"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestZeroDatePolicy(t *testing.T) {
	t.Parallel()
	nullable, notNull := col("v", "datetime(3)"), col("v", "datetime(3)").notNull()
	for _, tc := range []struct {
		name   string
		col    Column
		typ    columnar.DataType
		policy ZeroDate
		want   string
		code   diag.Code
	}{
		{"null", nullable, columnar.TimestampOf(3), ZeroDateNull, "NULL", 0},
		{"null into NOT NULL", nullable, columnar.TimestampOf(3).NotNull(), ZeroDateNull, "1970-01-01 00:00:00.000", 0},
		{"null from NOT NULL", notNull, columnar.TimestampOf(3), ZeroDateNull, "1970-01-01 00:00:00.000", 0},
		{"epoch", nullable, columnar.TimestampOf(3), ZeroDateEpoch, "1970-01-01 00:00:00.000", 0},
		{"error", nullable, columnar.TimestampOf(3), ZeroDateError, "", diag.CodeRuntimeValue},
		{"text", nullable, columnar.StringType(), ZeroDateText, "0000-00-00 00:00:00.000", 0},
		{"text of no text", nullable, columnar.TimestampOf(3), ZeroDateText, "NULL", 0},
		{"null in text", nullable, columnar.StringType(), ZeroDateNull, "NULL", 0},
		{"epoch in text", notNull, columnar.StringType(), ZeroDateNull, "1970-01-01 00:00:00.000", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opt := Options{ZeroDate: tc.policy}
			for _, form := range [][2][]byte{
				{unhex(t, "80 00 00 00 00 00 00"), nil},
				{nil, []byte("0000-00-00 00:00:00.000")},
			} {
				got, err := single(t, tc.col, tc.typ, opt, form[0], form[1])
				if code := codeOf(err); code != tc.code || got != tc.want {
					t.Errorf("got %q and error %v, want %q and code %d", got, err, tc.want, tc.code)
				}
			}
		})
	}
}

func codeOf(err error) diag.Code {
	var e *diag.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestNullInNotNull(t *testing.T) {
	t.Parallel()
	plan, layout, cols := orders(t, columnar.BigInt)
	b := NewBuilder(plan, 1)
	vals := []value{{null: true}, {null: true}}
	if _, err := b.AppendImage(layout, columnar.Insert, image(cols, vals)); codeOf(err) != diag.CodeNullability {
		t.Errorf("binlog: got %v, want a nullability error", err)
	}
	if err := b.AppendText(columnar.Insert, packet(cols, vals)); codeOf(err) != diag.CodeNullability {
		t.Errorf("text: got %v, want a nullability error", err)
	}
	if b.Len() != 0 || b.Bytes() > 8 {
		t.Errorf("the builder holds %d rows and %d bytes after errors", b.Len(), b.Bytes())
	}
}

func TestMalformedValues(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ sql, wire, text string }{
		{"int", "00 00 00", "12x"},
		{"tinyint", "", "128"},
		{"bigint", "00", "9223372036854775808"},
		{"bigint unsigned", "00", "18446744073709551616"},
		{"bigint unsigned", "00", "-1"},
		{"int", "00 00", ""},
		{"decimal(4,2)", "E4 00", "1.234"},
		{"decimal(4,2)", "80 64", "1.2.3"},
		{"decimal(4,2)", "80", "--1"},
		{"float", "00 00 80 7F", "1.5e"},
		{"double", "00", "one"},
		{"varchar(4)", "05 61", ""},
		{"text", "05", ""},
		{"date", "00 00", "2024-1-1"},
		{"date", "00", "2024/01/01"},
		{"datetime", "19 B2 44 30 C5", "2024-01-01T00:00:00"},
		{"datetime(6)", "99 B2 44 30 C5 0F 42 40", "2024-01-01 00:00:00."},
		{"datetime", "99 B2 45 80 C5", "2024-01-01 25:00:00"},
		{"timestamp", "65", "2024-01-01 00:61:00"},
		{"timestamp(2)", "65 93 7D 25 64", "2024-01-01 00:00:00.1x"},
		{"time", "80 00", "1:00:00"},
		{"time", "80 00 3C", "00:00:60"},
		{"time(2)", "80 00 00 64", "00:00:00."},
		{"year", "", "20x4"},
		{"bit(9)", "01", "\x01"},
		{"json", "01 00 00 00 0D", ""},
		{"point", "00 00 00 00", ""},
		{"point", "04 00 00 00 00 00 00 00", "\x00\x00\x00\x00"},
	} {
		t.Run(tc.sql+" "+tc.wire, func(t *testing.T) {
			t.Parallel()
			c := col("v", tc.sql)
			typ, err := NaturalType(c)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := single(t, c, typ, Options{}, append([]byte{}, unhex(t, tc.wire)...), nil); !errors.Is(err, ErrMalformed) {
				t.Errorf("binlog: got %q, %v, want a malformed row", got, err)
			}
			if c.family() == famText || c.family() == famJSON {
				return // every text is a value
			}
			if got, err := single(t, c, typ, Options{}, nil, []byte(tc.text)); !errors.Is(err, ErrMalformed) {
				t.Errorf("text: got %q, %v, want a malformed row", got, err)
			}
		})
	}
}

// orders is a table of two columns, the first of which is declared NOT NULL.
func orders(t *testing.T, id columnar.Kind) (*Plan, *Layout, []Column) {
	t.Helper()
	cols := []Column{col("id", "bigint"), col("note", "varchar(20)")}
	targets := []Target{{0, columnar.Of(id).NotNull()}, {1, columnar.StringType()}}
	plan, err := NewPlan(cols, targets, Options{Table: "shop.orders", Key: []int{0}, ChunkKey: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	layout, err := plan.Bind(tableMap(cols...))
	if err != nil {
		t.Fatal(err)
	}
	return plan, layout, cols
}
