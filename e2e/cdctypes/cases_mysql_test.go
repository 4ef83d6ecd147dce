package cdctypes

import (
	"strings"

	"leat/internal/columnar"
)

// mysqlCases are types and values that MySQL alone has.
var mysqlCases = []typeCase{
	{"vector(3)", natural, []string{"TO_VECTOR('[1,-2.5,0]')", "0000803F000020C000000000"}},
	{"vector(4)", list(columnar.Of(columnar.Float)), []string{"TO_VECTOR('[1,-2.5]')", "[1,-2.5]"}},
	{"json", natural, []string{
		"'null'", "null", "'true'", "true", `'" a: b, \\"c\\" "'`, `" a: b, \"c\" "`, "'[]'", "[]", "'{}'", "{}",
		`'{"bb": 1, "a": [1, -1, 32767, -32768, 32768, 65535, 65536, 2147483647, -2147483648, 4294967295, 4294967296]}'`, `{"a":[1,-1,32767,-32768,32768,65535,65536,2147483647,-2147483648,4294967295,4294967296],"bb":1}`,
		"'[18446744073709551615, -9223372036854775808, 9223372036854775808, 18446744073709551616]'", "[18446744073709551615,-9223372036854775808,9223372036854775808,1.8446744073709552e19]",
		"JSON_ARRAY(3.0e0, 1e100, 1e15, 1e14, 1e-15, 1e-16, 0.1e0, -0e0, 5e-324, 1.7976931348623157e308, 123456789012345678e0, 1e-7, 1.25e-5)",
		"[3.0,1e100,1e15,100000000000000.0,0.000000000000001,1e-16,0.1,-0.0,5e-324,1.7976931348623157e308,1.2345678901234568e17,0.0000001,0.0000125]",
		"JSON_ARRAY(123.450, -0.10, CAST(0 AS DECIMAL(65,30)), CAST(-0.0 AS DECIMAL(5,2)), 99999999999999999999999999999999999.999999999999999999999999999999)",
		"[123.450,-0.10,0.000000000000000000000000000000,0.00,99999999999999999999999999999999999.999999999999999999999999999999]",
		// The server works with more digits than a column holds, zeros in front among them.
		"JSON_ARRAY(CAST(085253274611551698299292464508624.94859825156084755530120058806 AS DECIMAL(65,30)), 1003142633832537.8e0)",
		"[85253274611551698299292464508624.948598251560847555301200588060,1003142633832537.8]",
		"JSON_OBJECT('dt', CAST('2024-02-29 10:11:12.25' AS DATETIME(6)), 'd', CAST('2024-02-29' AS DATE), 't', CAST('-12:30:00.5' AS TIME(6)), 't2', CAST('838:59:59' AS TIME))",
		`{"d":"2024-02-29","t":"-12:30:00.500000","dt":"2024-02-29 10:11:12.250000","t2":"838:59:59.000000"}`,
		"JSON_ARRAY(CAST(x'00FF10' AS BINARY), CAST(REPEAT('x', 57) AS BINARY), CAST(REPEAT('x', 58) AS BINARY), CAST(b'101' AS BINARY), x'', CAST(1 AS YEAR))",
		`["base64:type15:AP8Q","base64:type15:` + strings.Repeat("eHh4", 19) + `","base64:type15:` + strings.Repeat("eHh4", 19) + `\neA==","base64:type15:BQ==","base64:type15:",2001]`,
		`JSON_ARRAY(CHAR(9, 10, 8, 13, 0, 26, 92, 34, 47 USING utf8mb4), CHAR(1, 31, 12, 127 USING utf8mb4), '😀é')`, `["\t\n\b\r\u0000\u001a\\\"/","\u0001\u001f\f` + "\x7f" + `","😀é"]`,
		`'{"": 1, "a\\"b": {"x": {"y": [[], {}, [{}]]}}, "é": null}'`, `{"":1,"é":null,"a\"b":{"x":{"y":[[],{},[{}]]}}}`,
		"CAST(ST_GeomFromText('POINT(1 2)') AS JSON)", `{"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:MySQL::0"}},"type":"Point","coordinates":[1.0,2.0]}`,
		"JSON_OBJECT('k', REPEAT('v', 70000), 'n', 70000, 'l', JSON_ARRAY(1, 'x'))", `{"k":"` + strings.Repeat("v", 70000) + `","l":[1,"x"],"n":70000}`,
		"CONCAT('[', REPEAT('[', 99), REPEAT(']', 99), ']')", strings.Repeat("[", 100) + strings.Repeat("]", 100),
	}},
	{"json not null", natural, []string{"'1'", "1", "'{\"a\": \"b: c, d\"}'", `{"a":"b: c, d"}`}},
	{"geomcollection", natural, []string{"ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(2 2,3 3))')", `{"geometries":[{"type":"Point","coordinates":[1,1]},{"type":"LineString","coordinates":[[2,2],[3,3]]}],"type":"GeometryCollection","srid":0}`}},
	// MySQL takes the latitude first in SRID 4326 and stores the longitude first; MariaDB stores what it is given.
	{"point", natural, []string{"ST_GeomFromText('POINT(52.5 13.25)', 4326)", `{"coordinates":[13.25,52.5],"type":"Point","srid":4326}`}},
	{"geometry", natural, []string{
		"ST_GeomFromText('GEOMETRYCOLLECTION(GEOMETRYCOLLECTION(POINT(1 1)),MULTILINESTRING((0 0,1 1),(2 2,3 3)))')",
		`{"geometries":[{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,1]}]},{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[2,2],[3,3]]]}],"type":"GeometryCollection","srid":0}`,
	}},
}
