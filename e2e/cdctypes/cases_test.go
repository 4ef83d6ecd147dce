package cdctypes

import (
	"fmt"
	"strings"

	"leat/internal/columnar"
)

// typeCase is a column of one type in a table of its own.
type typeCase struct {
	sql string
	// as is the declared type; the zero value takes the natural one.
	as columnar.DataType
	// values are SQL literals, each followed by the cell it must become.
	values []string
}

func typed(k columnar.Kind, n int) columnar.DataType {
	return columnar.DataType{Kind: k, Nullable: true, Length: n, Precision: n}
}

func list(elem columnar.DataType) columnar.DataType {
	return columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &elem}
}

var natural columnar.DataType

var cases = []typeCase{
	{"tinyint", natural, []string{"-128", "-128", "127", "127", "0", "0"}},
	{"tinyint unsigned", natural, []string{"0", "0", "255", "255", "128", "128"}},
	{"tinyint(1)", natural, []string{"0", "false", "1", "true", "2", "true", "-1", "true"}},
	{"bool", typed(columnar.TinyInt, 0), []string{"true", "1", "false", "0", "-7", "-7"}},
	{"smallint", natural, []string{"-32768", "-32768", "32767", "32767"}},
	{"smallint unsigned", natural, []string{"65535", "65535", "32768", "32768"}},
	{"mediumint", natural, []string{"-8388608", "-8388608", "8388607", "8388607", "-1", "-1"}},
	{"mediumint unsigned", natural, []string{"16777215", "16777215", "8388608", "8388608"}},
	{"int", natural, []string{"-2147483648", "-2147483648", "2147483647", "2147483647"}},
	{"int", columnar.StringType(), []string{"-2147483648", "-2147483648", "0", "0"}},
	{"int unsigned", natural, []string{"4294967295", "4294967295", "2147483648", "2147483648"}},
	{"int(8) zerofill", natural, []string{"42", "42", "4294967295", "4294967295", "0", "0"}},
	{"bigint", natural, []string{"-9223372036854775808", "-9223372036854775808", "9223372036854775807", "9223372036854775807"}},
	{"bigint", columnar.DecimalOf(30, 3), []string{"-9223372036854775808", "-9223372036854775808.000"}},
	{"bigint unsigned", natural, []string{"18446744073709551615", "18446744073709551615", "9223372036854775808", "9223372036854775808", "0", "0"}},
	{"bigint(30) unsigned zerofill", natural, []string{"7", "7", "18446744073709551615", "18446744073709551615"}},

	{"decimal(1,0)", natural, []string{"-9", "-9", "9", "9"}},
	{"decimal(18,2)", natural, []string{"0", "0.00", "-0.05", "-0.05", "9999999999999999.99", "9999999999999999.99", "-9999999999999999.99", "-9999999999999999.99"}},
	{"decimal(10,10)", natural, []string{"0.0000000001", "0.0000000001", "-0.9999999999", "-0.9999999999"}},
	{"decimal(19,9)", columnar.DecimalOf(38, 19), []string{"1234567890.123456789", "1234567890.1234567890000000000"}},
	{"decimal(38,19)", natural, []string{"9999999999999999999.9999999999999999999", "9999999999999999999.9999999999999999999", "-1e-19", "-0.0000000000000000001"}},
	{"decimal(38,0)", natural, []string{"99999999999999999999999999999999999999", "99999999999999999999999999999999999999", "-100000000000000000000000000000000000", "-100000000000000000000000000000000000"}},
	{"decimal(12,3) unsigned zerofill", natural, []string{"42.5", "42.500", "0", "0.000"}},
	{"decimal(65,30)", natural, []string{
		"0", "0." + strings.Repeat("0", 30), "-0." + strings.Repeat("0", 29) + "1", "-0." + strings.Repeat("0", 29) + "1",
		strings.Repeat("9", 35) + "." + strings.Repeat("9", 30), strings.Repeat("9", 35) + "." + strings.Repeat("9", 30),
	}},
	{"decimal(15,15)", typed(columnar.Double, 0), []string{"0.1", "0.1", "-0.999999999999999", "-0.999999999999999", "0", "0"}},
	{"decimal(15,4) unsigned", typed(columnar.Double, 0), []string{"12345678901.2345", "1.23456789012345e+10"}},
	{"decimal(6,3)", typed(columnar.Float, 0), []string{"-123.456", "-123.456", "0.001", "0.001"}},
	{"decimal(6,2)", columnar.StringType(), []string{"-12.5", "-12.50", "0", "0.00", "0.5", "0.50"}},

	{"float", natural, []string{"16777217.1", "1.6777218e+07", "3.14159274", "3.1415927", "-1e-38", "-1e-38", "3.4028234e38", "3.4028235e+38", "-0e0", "0", "1e-45", "1e-45"}},
	{"float", typed(columnar.Double, 0), []string{"3.14159274", "3.1415927410125732", "0.1", "0.10000000149011612"}},
	{"float(7,3)", natural, []string{"1.0005", "1", "9999.999", "9999.999"}},
	{"float unsigned zerofill", natural, []string{"1.5", "1.5"}},
	{"double", natural, []string{"3.141592653589793", "3.141592653589793", "1.7976931348623157e308", "1.7976931348623157e+308", "5e-324", "5e-324", "-0e0", "0", "0.1", "0.1"}},
	{"double(20,2)", natural, []string{"123456789012345.67", "1.2345678901234567e+14", "-0.004", "0"}},

	{"char(5)", natural, []string{"'ab  '", "ab", "''", "", "'é😀x'", "é😀x"}},
	{"char(255)", natural, []string{"repeat('😀', 255)", strings.Repeat("😀", 255), "' x'", " x"}},
	{"varchar(10)", natural, []string{"'ab  '", "ab  ", "''", "", "'😀'", "😀", "'a\\0b'", "a\x00b"}},
	{"varchar(300) character set utf8mb3", natural, []string{"repeat('é', 300)", strings.Repeat("é", 300), "'€'", "€"}},
	{"varchar(255) character set ascii", natural, []string{"'plain'", "plain", "repeat('x', 255)", strings.Repeat("x", 255)}},
	{"varchar(256) character set ascii", natural, []string{"'plain'", "plain", "repeat('x', 256)", strings.Repeat("x", 256)}},
	{"varchar(20) character set latin1", natural, []string{"'é€ÿ'", "é€ÿ", "_latin1 0x81418D", "\u0081A\u008D"}},
	{"char(10) character set latin1", natural, []string{"'ü '", "ü"}},
	{"tinytext", natural, []string{"'x'", "x", "repeat('y', 255)", strings.Repeat("y", 255)}},
	{"text character set latin1", natural, []string{"'naïve €'", "naïve €"}},
	{"mediumtext", natural, []string{"repeat('é', 70000)", strings.Repeat("é", 70000), "''", ""}},
	{"longtext", natural, []string{"'z'", "z"}},
	{"binary(4)", natural, []string{"'ab'", "61620000", "''", "00000000", "0x00FF0020", "00FF0020", "0x20202020", "20202020"}},
	{"binary(200)", columnar.BytesType(), []string{"'a'", "61" + strings.Repeat("00", 199)}},
	{"varbinary(4)", natural, []string{"'ab'", "6162", "''", "", "0x6100", "6100"}},
	{"varbinary(300)", natural, []string{"repeat(0xFF, 300)", strings.Repeat("FF", 300)}},
	{"tinyblob", natural, []string{"0x00", "00"}},
	{"blob", natural, []string{"0xFFFE80", "FFFE80", "''", ""}},
	{"mediumblob", natural, []string{"repeat(0x01, 70000)", strings.Repeat("01", 70000)}},
	{"longblob", natural, []string{"0xC328", "C328"}},

	{"date", natural, []string{"'2024-02-29'", "2024-02-29", "'1000-01-01'", "1000-01-01", "'9999-12-31'", "9999-12-31", "'0000-00-00'", "NULL", "'2024-00-10'", "NULL", "'2024-10-00'", "NULL", "'2024-02-31'", "NULL", "'0001-01-01'", "0001-01-01", "'0000-01-01'", "NULL"}},
	{"date not null", natural, []string{"'0000-00-00'", "1970-01-01", "'1969-12-31'", "1969-12-31"}},
	{"datetime", natural, []string{"'2024-01-02 03:04:05'", "2024-01-02 03:04:05.000", "'0000-00-00 00:00:00'", "NULL", "'2024-02-31 10:00:00'", "NULL", "'1000-01-01 00:00:00'", "1000-01-01 00:00:00.000"}},
	{"datetime(1)", natural, []string{"'2024-01-02 03:04:05.9'", "2024-01-02 03:04:05.900"}},
	{"datetime(2)", natural, []string{"'2024-01-02 03:04:05.09'", "2024-01-02 03:04:05.090"}},
	{"datetime(3)", natural, []string{"'1969-12-31 23:59:59.999'", "1969-12-31 23:59:59.999"}},
	{"datetime(4)", natural, []string{"'2024-01-02 03:04:05.0009'", "2024-01-02 03:04:05.000900"}},
	{"datetime(5)", natural, []string{"'2024-01-02 03:04:05.00009'", "2024-01-02 03:04:05.000090"}},
	{"datetime(6)", natural, []string{"'9999-12-31 23:59:59.999999'", "9999-12-31 23:59:59.999999", "'1000-01-01 00:00:00.000001'", "1000-01-01 00:00:00.000001"}},
	{"datetime(6)", columnar.TimestampOf(2), []string{"'1969-12-31 23:59:59.999999'", "1969-12-31 23:59:59.990", "'2024-01-02 03:04:05.678901'", "2024-01-02 03:04:05.670"}},
	{"datetime not null", natural, []string{"'0000-00-00 00:00:00'", "1970-01-01 00:00:00.000"}},
	// Literals of TIMESTAMP are in UTC, the zone of the writing session. Berlin leaves summer time on 27 October 2024 at 01:00 UTC.
	{"timestamp null", natural, []string{
		"'2024-01-02 03:04:05'", "2024-01-02 04:04:05.000", "'2024-10-27 00:30:00'", "2024-10-27 02:30:00.000", "'2024-10-27 01:30:00'", "2024-10-27 02:30:00.000",
		"'2024-03-31 00:59:59'", "2024-03-31 01:59:59.000", "'2024-03-31 01:00:00'", "2024-03-31 03:00:00.000",
		"'0000-00-00 00:00:00'", "NULL", "'1970-01-01 00:00:01'", "1970-01-01 01:00:01.000", "'2038-01-19 03:14:07'", "2038-01-19 04:14:07.000",
	}},
	{"timestamp(6) null", typed(columnar.TimestampLTZ, 6), []string{"'2024-10-27 00:30:00.000001'", "2024-10-27 00:30:00.000001Z", "'2024-10-27 01:30:00.999999'", "2024-10-27 01:30:00.999999Z"}},
	{"timestamp(3) null", typed(columnar.TimestampLTZ, 0), []string{"'2024-01-02 03:04:05.678'", "2024-01-02 03:04:05.000Z"}},
	{"timestamp(1) null", natural, []string{"'2024-07-02 03:04:05.6'", "2024-07-02 05:04:05.600"}},
	{"timestamp(6) not null", natural, []string{"'0000-00-00 00:00:00'", "1970-01-01 00:00:00.000000"}},

	{"date", columnar.StringType(), []string{"'2024-02-29'", "2024-02-29", "'0001-01-01'", "0001-01-01", "'2024-00-10'", "NULL"}},
	{"datetime(3)", columnar.StringType(), []string{"'1969-12-31 23:59:59.999'", "1969-12-31 23:59:59.999", "'0000-00-00'", "NULL", "'2024-01-02 03:04:05'", "2024-01-02 03:04:05.000"}},
	{"datetime not null", columnar.StringType(), []string{"'0000-00-00'", "1970-01-01 00:00:00"}},
	{"timestamp(6) null", columnar.StringType(), []string{"'2024-10-27 00:30:00.000001'", "2024-10-27T00:30:00.000001Z", "'1970-01-01 00:00:01'", "1970-01-01T00:00:01.000000Z", "'0000-00-00'", "NULL"}},

	{"time", natural, []string{"'838:59:59'", "838:59:59", "'-838:59:59'", "-838:59:59", "'-00:00:01'", "-00:00:01", "'24:00:00'", "24:00:00", "'0:0:0'", "00:00:00", "'100:00:00'", "100:00:00"}},
	{"time(1)", natural, []string{"'-00:00:00.1'", "-00:00:00.1", "'-10:00:00.9'", "-10:00:00.9", "'12:34:56.7'", "12:34:56.7"}},
	{"time(2)", natural, []string{"'-00:00:00.01'", "-00:00:00.01", "'-838:59:58.99'", "-838:59:58.99"}},
	{"time(3)", natural, []string{"'-12:00:00.250'", "-12:00:00.250", "'23:59:59.999'", "23:59:59.999", "'-00:00:00.001'", "-00:00:00.001"}},
	{"time(4)", natural, []string{"'-00:00:01.0001'", "-00:00:01.0001", "'838:59:58.9999'", "838:59:58.9999"}},
	{"time(5)", natural, []string{"'-00:00:01.00001'", "-00:00:01.00001"}},
	{"time(6)", natural, []string{"'-00:00:00.000001'", "-00:00:00.000001", "'-100:00:00.123456'", "-100:00:00.123456", "'838:59:59'", "838:59:59.000000", "'-10:00:00'", "-10:00:00.000000"}},
	{"time(6)", typed(columnar.Time, 3), []string{"'23:59:59.999999'", "23:59:59.999", "'00:00:00'", "00:00:00.000", "'10:11:12.345678'", "10:11:12.345"}},
	{"year", natural, []string{"0", "0", "1901", "1901", "2155", "2155", "'0'", "2000", "'69'", "2069"}},
	{"year", columnar.StringType(), []string{"0", "0", "2024", "2024"}},
	{"bit(1)", natural, []string{"b'0'", "false", "b'1'", "true"}},
	{"bit(8)", natural, []string{"b'10000001'", "81", "0", "00"}},
	{"bit(12)", natural, []string{"b'100000000001'", "0801", "1", "0001"}},
	{"bit(64)", natural, []string{"0x0102030405060708", "0102030405060708", "0xFFFFFFFFFFFFFFFF", "FFFFFFFFFFFFFFFF"}},
	{"bit(20)", columnar.BytesType(), []string{"0xABCD", "00ABCD"}},

	{`enum('new','in, progress','it''s','(int)','a\\b','n\nl','é','x"y')`, natural, []string{
		"'new'", "new", "'in, progress'", "in, progress", "'it''s'", "it's", "'(int)'", "(int)", `'a\\b'`, `a\b`, "6", "n\nl", "'é'", "é", "8", `x"y`, "'no such'", "",
	}},
	{"enum('a','') not null", natural, []string{"'a'", "a", "''", "", "'b'", ""}},
	{"enum('ü','ß') character set latin1", natural, []string{"'ß'", "ß"}},
	{"enum('中','国') character set gbk", typed(columnar.VarChar, 1), []string{"'国'", "国"}},
	{"enum(" + manyLabels(300) + ")", natural, []string{"'label 300'", "label 300", "1", "label 1", "256", "label 256"}},
	{"set('red','int unsigned','a b','x(1)')", natural, []string{"'red,x(1)'", `["red","x(1)"]`, "''", "[]", "9", `["red","x(1)"]`, "15", `["red","int unsigned","a b","x(1)"]`, "'a b,red'", `["red","a b"]`}},
	{"set('red','int unsigned','a b','x(1)')", columnar.StringType(), []string{"'x(1),red'", "red,x(1)", "''", "", "'red'", "red"}},
	{"set('','é','€') character set utf16", natural, []string{"1", "[]", "3", `["é"]`, "7", `["é","€"]`, "4", `["€"]`}},
	{"set(" + manyLabels(64) + ")", natural, []string{"1 << 63", `["label 64"]`, "(1 << 63) + 1", `["label 1","label 64"]`}},
	{"set(" + manyLabels(20) + ")", columnar.StringType(), []string{"1 << 19 | 2", "label 2,label 20"}},

	{"point", natural, []string{
		"POINT(1, 2)", `{"coordinates":[1,2],"type":"Point","srid":0}`, "POINT(-1e-7, 1e15)", `{"coordinates":[-1e-07,1000000000000000],"type":"Point","srid":0}`,
		"POINT(-0e0, 1e-300)", `{"coordinates":[0,1e-300],"type":"Point","srid":0}`, "POINT(0.1, -1.7976931348623157e308)", `{"coordinates":[0.1,-1.7976931348623157e+308],"type":"Point","srid":0}`,
		"ST_GeomFromText('POINT(52.5 13.25)', 32633)", `{"coordinates":[52.5,13.25],"type":"Point","srid":32633}`,
	}},
	{"geometry", natural, []string{
		"ST_GeomFromText('LINESTRING(0 0, 1.5 -2.25)')", `{"coordinates":[[0,0],[1.5,-2.25]],"type":"LineString","srid":0}`,
		"ST_GeomFromText('POLYGON((0 0,4 0,4 4,0 4,0 0),(1 1,2 1,2 2,1 2,1 1))')", `{"coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[2,1],[2,2],[1,2],[1,1]]],"type":"Polygon","srid":0}`,
		"ST_GeomFromText('MULTIPOINT(1 2,3 4)')", `{"coordinates":[[1,2],[3,4]],"type":"MultiPoint","srid":0}`,
		"ST_GeomFromText('GEOMETRYCOLLECTION EMPTY')", `{"geometries":[],"type":"GeometryCollection","srid":0}`,
	}},
	{"multipolygon", natural, []string{"ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((20 20,21 20,21 21,20 20)))')", `{"coordinates":[[[[0,0],[1,0],[1,1],[0,0]]],[[[20,20],[21,20],[21,21],[20,20]]]],"type":"MultiPolygon","srid":0}`}},
}

// manyLabels lists n labels of an ENUM or SET.
func manyLabels(n int) string {
	labels := make([]string, n)
	for i := range labels {
		labels[i] = fmt.Sprintf("'label %d'", i+1)
	}
	return strings.Join(labels, ",")
}
