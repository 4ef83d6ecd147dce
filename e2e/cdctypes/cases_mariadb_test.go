package cdctypes

import (
	"strings"

	"leat/internal/columnar"
)

// mariadbCases are types and values that MariaDB alone has.
var mariadbCases = []typeCase{
	{"uuid", natural, []string{
		"'123e4567-e89b-12d3-a456-426655440000'", "123e4567-e89b-12d3-a456-426655440000",
		"'00000000-0000-0000-0000-000000000000'", "00000000-0000-0000-0000-000000000000",
		"'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"'018f456789ab7cdeb012345678900000'", "018f4567-89ab-7cde-b012-345678900000",
		"'00112233-4455-6677-8899-aabbccddeeff'", "00112233-4455-6677-8899-aabbccddeeff",
		"'ffeeddcc-bbaa-1988-7766-554433221100'", "ffeeddcc-bbaa-1988-7766-554433221100",
	}},
	{"uuid", typed(columnar.Char, 36), []string{"'123e4567-e89b-42d3-a456-426655440000'", "123e4567-e89b-42d3-a456-426655440000"}},
	{"inet4", natural, []string{"'10.0.0.1'", "10.0.0.1", "'0.0.0.0'", "0.0.0.0", "'255.255.255.255'", "255.255.255.255", "'1.2.0.0'", "1.2.0.0"}},
	{"inet6", natural, []string{
		"'::'", "::", "'::1'", "::1", "'2001:db8::ff00:42:8329'", "2001:db8::ff00:42:8329", "'::ffff:10.0.0.1'", "::ffff:10.0.0.1",
		"'::10.0.0.1'", "::10.0.0.1", "'::ffff:0:0'", "::ffff:0.0.0.0", "'FE80:0:0:0:0:0:0:0'", "fe80::", "'1:0:2:3:4:5:6:7'", "1::2:3:4:5:6:7",
		"'1:0:0:2:3:0:0:0'", "1:0:0:2:3::", "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "'::1:0'", "::0.1.0.0", "'0:1::'", "0:1::",
	}},
	{"json", natural, []string{`'{"a" :  1}'`, `{"a" :  1}`, "'[1, 2]'", "[1, 2]", `'"é"'`, `"é"`}},

	{"point", natural, []string{"ST_GeomFromText('POINT(52.5 13.25)', 4326)", `{"coordinates":[52.5,13.25],"type":"Point","srid":4326}`}},
	{"geometrycollection", natural, []string{"ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(2 2,3 3))')", `{"geometries":[{"type":"Point","coordinates":[1,1]},{"type":"LineString","coordinates":[[2,2],[3,3]]}],"type":"GeometryCollection","srid":0}`}},

	{"varchar(100) compressed", natural, []string{
		"repeat('ab', 50)", strings.Repeat("ab", 50), "''", "", "'x'", "x", "'😀'", "😀", "repeat('é', 100)", strings.Repeat("é", 100),
	}},
	{"varchar(3000) compressed character set latin1", natural, []string{"repeat('é', 3000)", strings.Repeat("é", 3000), "'€'", "€"}},
	{"varbinary(300) compressed", natural, []string{"repeat(0xFF, 300)", strings.Repeat("FF", 300), "0x00", "00", "''", ""}},
	{"tinytext compressed", natural, []string{"repeat('y', 254)", strings.Repeat("y", 254)}},
	{"text compressed", natural, []string{"repeat('xyz', 500)", strings.Repeat("xyz", 500), "''", "", "'z'", "z"}},
	{"mediumtext compressed character set utf16", natural, []string{"repeat('é', 70000)", strings.Repeat("é", 70000), "'é'", "é"}},
	{"longtext compressed", natural, []string{"repeat('q', 200000)", strings.Repeat("q", 200000)}},
	{"tinyblob compressed", natural, []string{"repeat(0x01, 200)", strings.Repeat("01", 200)}},
	{"blob compressed", natural, []string{"repeat(0x00, 2000)", strings.Repeat("00", 2000), "0xFF", "FF", "''", ""}},
	{"mediumblob compressed", natural, []string{"repeat(0xAB, 100000)", strings.Repeat("AB", 100000)}},
	{"longblob compressed", natural, []string{"repeat(0xAB, 300000)", strings.Repeat("AB", 300000)}},
}

// vectorCases are for MariaDB from 11.7 on.
var vectorCases = []typeCase{
	{"vector(3)", natural, []string{"VEC_FromText('[1,-2.5,0]')", "0000803F000020C000000000"}},
	{"vector(2)", list(columnar.Of(columnar.Float)), []string{"VEC_FromText('[1,-2.5]')", "[1,-2.5]"}},
}

// oldTimeCases are for tables made under mysql56_temporal_format = OFF.
var oldTimeCases = []typeCase{
	{"time", natural, []string{"'838:59:59'", "838:59:59", "'-838:59:59'", "-838:59:59", "'-00:00:01'", "-00:00:01", "'0:0:0'", "00:00:00"}},
	{"time(1)", natural, []string{"'-00:00:00.1'", "-00:00:00.1", "'-10:00:00.9'", "-10:00:00.9", "'12:34:56.7'", "12:34:56.7"}},
	{"time(2)", natural, []string{"'-00:00:00.01'", "-00:00:00.01", "'-838:59:59.99'", "-838:59:59.99"}},
	{"time(3)", natural, []string{"'-12:00:00.250'", "-12:00:00.250", "'23:59:59.999'", "23:59:59.999", "'00:00:00'", "00:00:00.000"}},
	{"time(4)", natural, []string{"'-00:00:01.0001'", "-00:00:01.0001", "'838:59:59.9999'", "838:59:59.9999"}},
	{"time(5)", natural, []string{"'-00:00:01.00001'", "-00:00:01.00001"}},
	{"time(6)", natural, []string{"'-00:00:00.000001'", "-00:00:00.000001", "'838:59:59.999999'", "838:59:59.999999", "'-838:59:59.999999'", "-838:59:59.999999"}},
	{"time(6)", typed(columnar.Time, 3), []string{"'23:59:59.999999'", "23:59:59.999"}},
	{"datetime", natural, []string{"'2024-01-02 03:04:05'", "2024-01-02 03:04:05.000", "'0000-00-00 00:00:00'", "NULL", "'9999-12-31 23:59:59'", "9999-12-31 23:59:59.000"}},
	{"datetime(1)", natural, []string{"'2024-01-02 03:04:05.9'", "2024-01-02 03:04:05.900", "'0000-00-00'", "NULL"}},
	{"datetime(2)", natural, []string{"'2024-12-31 23:59:59.09'", "2024-12-31 23:59:59.090"}},
	{"datetime(3)", natural, []string{"'1969-12-31 23:59:59.999'", "1969-12-31 23:59:59.999", "'2024-02-31 10:00:00'", "NULL"}},
	{"datetime(4)", natural, []string{"'2024-01-02 03:04:05.0009'", "2024-01-02 03:04:05.000900"}},
	{"datetime(5)", natural, []string{"'2024-01-02 03:04:05.00009'", "2024-01-02 03:04:05.000090"}},
	{"datetime(6)", natural, []string{"'9999-12-31 23:59:59.999999'", "9999-12-31 23:59:59.999999", "'1000-01-01 00:00:00.000001'", "1000-01-01 00:00:00.000001", "'0001-01-01'", "0001-01-01 00:00:00.000000"}},
	{"datetime(3)", columnar.StringType(), []string{"'2024-01-02 03:04:05.678'", "2024-01-02 03:04:05.678"}},
	{"timestamp null", natural, []string{"'2024-07-02 03:04:05'", "2024-07-02 05:04:05.000", "'0000-00-00 00:00:00'", "NULL", "'1970-01-01 00:00:01'", "1970-01-01 01:00:01.000"}},
	{"timestamp(1) null", natural, []string{"'2024-07-02 03:04:05.6'", "2024-07-02 05:04:05.600", "'0000-00-00 00:00:00'", "NULL"}},
	{"timestamp(2) null", natural, []string{"'2024-07-02 03:04:05.06'", "2024-07-02 05:04:05.060"}},
	{"timestamp(3) null", natural, []string{"'2024-07-02 03:04:05.006'", "2024-07-02 05:04:05.006"}},
	{"timestamp(4) null", natural, []string{"'2024-07-02 03:04:05.0006'", "2024-07-02 05:04:05.000600"}},
	{"timestamp(5) null", natural, []string{"'2024-07-02 03:04:05.00006'", "2024-07-02 05:04:05.000060"}},
	{"timestamp(6) null", typed(columnar.TimestampLTZ, 6), []string{"'2024-10-27 01:30:00.999999'", "2024-10-27 01:30:00.999999Z"}},
}
