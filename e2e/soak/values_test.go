package soak

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"leat/internal/mysqld"
)

// kind is a type of column: how the source and the lake declare it, a random
// value as an SQL literal, and how both sides are brought into one form.
type kind struct {
	sql, lake string
	value     func(r *rand.Rand) string
	// read is the expression that gives the value at the source, %s its name; "" is the name.
	read string
	// form changes a value of either side; nil leaves it.
	form func(any) any
	// has says whether a release knows the type; nil is all.
	has func(in *mysqld.Install) bool
}

func mysqlOnly(in *mysqld.Install) bool   { return !in.MariaDB }
func mariadbOnly(in *mysqld.Install) bool { return in.MariaDB }

func integers(sql, lake string, low, high int64) kind {
	return kind{sql: sql, lake: lake, value: func(r *rand.Rand) string {
		switch r.IntN(4) {
		case 0:
			return fmt.Sprint(low)
		case 1:
			return fmt.Sprint(high)
		default:
			return fmt.Sprint(low + r.Int64N(high/2-low/2)*2)
		}
	}}
}

func decimals(whole, fraction int, lake string) kind {
	return kind{sql: fmt.Sprintf("DECIMAL(%d,%d)", whole+fraction, fraction), lake: lake, value: func(r *rand.Rand) string {
		var b strings.Builder
		if r.IntN(2) == 0 {
			b.WriteByte('-')
		}
		b.WriteByte('1')
		for range r.IntN(whole) {
			b.WriteByte(byte('0' + r.IntN(10)))
		}
		if fraction > 0 {
			b.WriteByte('.')
			for range 1 + r.IntN(fraction) {
				b.WriteByte(byte('0' + r.IntN(10)))
			}
		}
		return b.String()
	}}
}

func moments(sql, lake string, digits int) kind {
	return kind{sql: fmt.Sprintf("%s(%d) NULL", sql, digits), lake: fmt.Sprintf("%s(%d)", lake, digits), value: func(r *rand.Rand) string {
		year := 1971 + r.IntN(60)
		if sql == "DATETIME" && r.IntN(3) == 0 {
			year = 1000 + r.IntN(9000)
		}
		text := fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d", year, 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60))
		if digits > 0 {
			text += fmt.Sprintf(".%0*d", digits, r.IntN([]int{1, 10, 100, 1000, 10_000, 100_000, 1_000_000}[digits]))
		}
		return "'" + text + "'"
	}}
}

func spans(digits int) kind {
	return kind{sql: fmt.Sprintf("TIME(%d)", digits), lake: "STRING", value: func(r *rand.Rand) string {
		text := fmt.Sprintf("%s%02d:%02d:%02d", []string{"", "-"}[r.IntN(2)], 1+r.IntN(837), r.IntN(60), r.IntN(60))
		if digits > 0 {
			text += fmt.Sprintf(".%0*d", digits, r.IntN(10))
		}
		return "'" + text + "'"
	}}
}

// quoted writes text as a literal that no sql_mode changes.
func quoted(s string) string { return fmt.Sprintf("_utf8mb4 X'%X'", s) }

// alphabets are characters of the character sets.
var alphabets = map[string]string{
	"utf8mb4": "aZ é😀𝄞中\u2028'\\\"\t\x00", "utf8mb3": "aé€中 '", "ascii": "abcXYZ019 '\\", "latin1": "aäÿé€ŒÐ '", "latin2": "ałóžŘ ", "latin5": "ağİş ", "latin7": "aąčę ",
	"gbk": "a中国汉字 ", "gb2312": "a中国 ", "big5": "a中文字 ", "sjis": "aあア漢字 ", "ujis": "aあア漢 ", "cp932": "aあ漢① ", "euckr": "a가나한 ",
	"koi8r": "aжЯё ", "cp1251": "aжЯЁ€ ", "cp866": "aжЯ ", "greek": "aαΩ ", "hebrew": "aאבת ", "tis620": "aกขฮ ", "cp1256": "aابپ ", "utf16": "a😀é中 ", "utf32": "a😀é中 ", "ucs2": "aé中 ", "utf16le": "a😀é ",
	"gb18030": "a😀é中 ",
}

func words(charset string, limit int) func(*rand.Rand) string {
	letters := []rune(alphabets[charset])
	return func(r *rand.Rand) string {
		n := r.IntN(limit + 1)
		out := make([]rune, n)
		for i := range out {
			out[i] = letters[r.IntN(len(letters))]
		}
		// CHAR columns lose blanks at their end.
		return quoted(strings.TrimRight(string(out), " "))
	}
}

func texts(sql, lake, charset string, limit int) kind {
	k := kind{sql: sql + " CHARACTER SET " + charset, lake: lake, value: words(charset, limit)}
	if charset == "gb18030" {
		k.has = mysqlOnly
	}
	return k
}

func blobs(sql, lake string, fixed, limit int) kind {
	return kind{sql: sql, lake: lake, value: func(r *rand.Rand) string {
		n := fixed
		if n == 0 {
			n = r.IntN(limit + 1)
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return fmt.Sprintf("X'%X'", b)
	}}
}

func labels(sql, charset string, all []string, many bool) kind {
	list := make([]string, len(all))
	for i, l := range all {
		list[i] = "'" + l + "'"
	}
	return kind{sql: fmt.Sprintf("%s(%s) CHARACTER SET %s", sql, strings.Join(list, ","), charset), lake: "STRING", value: func(r *rand.Rand) string {
		if many {
			return fmt.Sprint(r.IntN(1 << len(all)))
		}
		return fmt.Sprint(1 + r.IntN(len(all)))
	}}
}

// compact takes the blanks out of a document.
func compact(v any) any {
	s, isText := v.(string)
	if !isText {
		return v
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return v
	}
	return b.String()
}

// document is a random JSON value without fractions, whose texts differ.
func document(r *rand.Rand, depth int) any {
	switch n := r.IntN(6); {
	case n == 0 && depth > 0:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = document(r, depth-1)
		}
		return list
	case n <= 2 && depth > 0:
		object := map[string]any{}
		for range r.IntN(5) {
			object[fmt.Sprintf("k%d", r.IntN(30))] = document(r, depth-1)
		}
		return object
	case n == 3:
		return r.Int64() >> r.IntN(64)
	case n == 4:
		return []any{true, false, nil}[r.IntN(3)]
	default:
		return []string{"", "a: b, c", "é😀", `x"y\z`}[r.IntN(4)]
	}
}

var kinds = []kind{
	integers("TINYINT", "TINYINT", -128, 127), integers("TINYINT UNSIGNED", "SMALLINT", 0, 255), integers("TINYINT(1)", "TINYINT", -128, 127),
	integers("SMALLINT", "SMALLINT", -32768, 32767), integers("SMALLINT UNSIGNED", "INT", 0, 65535),
	integers("MEDIUMINT", "INT", -8388608, 8388607), integers("MEDIUMINT UNSIGNED", "INT", 0, 16777215),
	integers("INT", "INT", -2147483648, 2147483647), integers("INT UNSIGNED", "BIGINT", 0, 4294967295), integers("INT", "BIGINT", -2147483648, 2147483647),
	integers("BIGINT", "BIGINT", -9223372036854775808, 9223372036854775807),
	{sql: "BIGINT UNSIGNED", lake: "DECIMAL(20,0)", value: func(r *rand.Rand) string { return fmt.Sprint(r.Uint64() >> r.IntN(3)) }},
	{sql: "BIGINT(20) UNSIGNED ZEROFILL", lake: "DECIMAL(20,0)", value: func(r *rand.Rand) string { return fmt.Sprint(r.Uint64() >> r.IntN(64)) }, read: "CAST(%s AS UNSIGNED)"},
	{sql: "YEAR", lake: "INT", value: func(r *rand.Rand) string { return fmt.Sprint(1901 + r.IntN(254)) }},
	decimals(7, 2, "DECIMAL(9,2)"), decimals(16, 2, "DECIMAL(18,2)"), decimals(19, 19, "DECIMAL(38,19)"), decimals(38, 0, "DECIMAL(38,0)"), decimals(35, 30, "STRING"),
	{sql: "FLOAT", lake: "FLOAT", value: func(r *rand.Rand) string { return fmt.Sprintf("%g", float64(1+r.IntN(4000))/8) }},
	{sql: "DOUBLE", lake: "DOUBLE", value: func(r *rand.Rand) string {
		return fmt.Sprintf("%.17e", (r.Float64()-0.5)*float64(uint64(1)<<r.IntN(60)))
	}},
	texts("CHAR(9)", "CHAR(9)", "utf8mb4", 9), texts("VARCHAR(40)", "VARCHAR(40)", "utf8mb4", 40), texts("VARCHAR(300)", "STRING", "utf8mb3", 300),
	texts("VARCHAR(30)", "STRING", "latin1", 30), texts("CHAR(10)", "STRING", "latin2", 10), texts("VARCHAR(20)", "STRING", "gbk", 20), texts("VARCHAR(20)", "STRING", "big5", 20),
	texts("VARCHAR(20)", "STRING", "sjis", 20), texts("TEXT", "STRING", "cp932", 50), texts("VARCHAR(20)", "STRING", "ujis", 20), texts("CHAR(20)", "STRING", "euckr", 20),
	texts("VARCHAR(20)", "STRING", "koi8r", 20), texts("TEXT", "STRING", "cp1251", 60), texts("VARCHAR(20)", "STRING", "greek", 20), texts("VARCHAR(20)", "STRING", "hebrew", 20),
	texts("VARCHAR(20)", "STRING", "tis620", 20), texts("VARCHAR(20)", "STRING", "utf16", 20), texts("CHAR(20)", "STRING", "utf32", 20), texts("VARCHAR(20)", "STRING", "ucs2", 20),
	texts("VARCHAR(20)", "STRING", "gb18030", 20), texts("VARCHAR(20)", "STRING", "ascii", 20), texts("TINYTEXT", "STRING", "latin5", 40), texts("MEDIUMTEXT", "STRING", "utf8mb4", 400), texts("LONGTEXT", "STRING", "latin7", 900),
	blobs("BINARY(5)", "BINARY(5)", 5, 0), blobs("VARBINARY(20)", "VARBINARY(20)", 0, 20), blobs("VARBINARY(300)", "BYTES", 0, 300), blobs("TINYBLOB", "BYTES", 0, 100), blobs("BLOB", "BYTES", 0, 300), blobs("LONGBLOB", "BYTES", 0, 700),
	{sql: "DATE", lake: "DATE", value: func(r *rand.Rand) string {
		return fmt.Sprintf("'%04d-%02d-%02d'", 1000+r.IntN(9000), 1+r.IntN(12), 1+r.IntN(28))
	}},
	moments("DATETIME", "TIMESTAMP", 0), moments("DATETIME", "TIMESTAMP", 3), moments("DATETIME", "TIMESTAMP", 6), moments("TIMESTAMP", "TIMESTAMP", 0), moments("TIMESTAMP", "TIMESTAMP", 6),
	spans(0), spans(1), spans(6),
	{sql: "BIT(12)", lake: "BINARY(2)", value: func(r *rand.Rand) string { return fmt.Sprint(r.IntN(4096)) }},
	{sql: "BIT(1)", lake: "BOOLEAN", value: func(r *rand.Rand) string { return fmt.Sprintf("b'%d'", r.IntN(2)) }, read: "%s + 0", form: func(v any) any {
		if b, isBool := v.(bool); isBool {
			return json.Number([]string{"0", "1"}[map[bool]int{true: 1}[b]])
		}
		if s, isText := v.(string); isText {
			return json.Number(s)
		}
		return v
	}},
	labels("ENUM", "utf8mb4", []string{"new", "in, progress", "é", ""}, false), labels("ENUM", "latin1", []string{"ü", "ß"}, false), labels("SET", "utf8mb4", []string{"red", "a b", "x(1)", "中"}, true),
	{sql: "JSON", lake: "STRING", form: compact, value: func(r *rand.Rand) string {
		b, err := json.Marshal(document(r, 3))
		if err != nil {
			panic(err)
		}
		return fmt.Sprintf("CONVERT(X'%X' USING utf8mb4)", b)
	}},
	{sql: "POINT", lake: "STRING", read: `CONCAT('{"coordinates":[', ST_X(%[1]s) * 1.0, ',', ST_Y(%[1]s) * 1.0, '],"type":"Point","srid":0}')`, form: geometry, value: func(r *rand.Rand) string {
		return fmt.Sprintf("ST_GeomFromText('POINT(%d %d)')", r.IntN(2000)-1000, r.IntN(2000)-1000)
	}},
	{sql: "VECTOR(3)", lake: "BYTES", read: "LOWER(HEX(%s))", has: func(in *mysqld.Install) bool { return !in.MariaDB && in.AtLeast(9, 0, 0) }, value: func(r *rand.Rand) string {
		return fmt.Sprintf("TO_VECTOR('[%d,%d.5,0]')", r.IntN(100), r.IntN(100))
	}},
	{sql: "UUID", lake: "STRING", has: mariadbOnly, value: func(r *rand.Rand) string {
		b := make([]byte, 16)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		// A version and the variant that has versions: the server refuses some of the others.
		b[6], b[8] = b[6]&15|byte(1+r.IntN(7))<<4, b[8]&63|128
		h := hex.EncodeToString(b)
		return "'" + strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-") + "'"
	}},
	{sql: "INET6", lake: "STRING", has: mariadbOnly, value: func(r *rand.Rand) string { return fmt.Sprintf("'2001:db8::%x'", 1+r.IntN(65000)) }},
}

// geometry brings a document of a point into one form.
func geometry(v any) any {
	s, isText := v.(string)
	if !isText {
		return v
	}
	var point struct {
		Coordinates []float64
		Type        string
		SRID        int
	}
	if err := json.Unmarshal([]byte(s), &point); err != nil {
		return v
	}
	return fmt.Sprint(point.Type, point.Coordinates, point.SRID)
}
