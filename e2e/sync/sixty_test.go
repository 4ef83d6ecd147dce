package sync

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"leat/e2e/judge"
)

// sixty are tables of all kinds of names, keys and types; i stands for a number
// that grows from row to row.
var (
	sixtyTypes = [][2]string{
		{"TINYINT", "i % 100 - 50"},
		{"TINYINT UNSIGNED", "i % 256"},
		{"TINYINT(1)", "i % 5"},
		{"SMALLINT", "i * 7 - 900"},
		{"MEDIUMINT UNSIGNED", "i * 1001"},
		{"INT UNSIGNED", "4294967295 - i"},
		{"BIGINT", "i * 1000000007 - 5"},
		{"DECIMAL(10,3)", "i / 8"},
		{"DECIMAL(38,10)", "i * 1234567890123.0123456789"},
		{"DECIMAL(65,30)", "i + 0.000000000000000000000000000001"},
		{"FLOAT", "i / 4"},
		{"DOUBLE", "i / 1024"},
		{"DATE", "DATE('1999-12-31') + INTERVAL i DAY"},
		{"DATETIME(6)", "TIMESTAMP('2024-02-29 23:59:59.123456') + INTERVAL i SECOND"},
		{"TIMESTAMP(3) NULL", "TIMESTAMP('2023-10-29 01:02:03.456') + INTERVAL i HOUR"},
		{"YEAR", "1950 + i"},
		{"TIME(2)", "SEC_TO_TIME(i * 100 - 4000)"},
		{"CHAR(10)", "CONCAT('c', i)"},
		{"VARCHAR(30) CHARACTER SET latin1", "CONCAT('naïve ', i)"},
		{"TEXT", "REPEAT('ü', i % 9)"},
		{"VARBINARY(16)", "UNHEX(HEX(i))"},
		{"BLOB", "REPEAT(UNHEX(HEX(i)), 3)"},
		{"BIT(1)", "i % 2"},
		{"BIT(9)", "i % 512"},
		{"ENUM('a','b''c','ü')", "1 + i % 3"},
		{"SET('x','y','z')", "i % 8"},
		{"JSON", `JSON_OBJECT('n', i, 'list', JSON_ARRAY(i, 'ä', NULL))`},
		{"MEDIUMTEXT", "NULLIF(CONCAT('m', i % 3), 'm1')"},
	}
	sixtyKeys = [][3]string{ // definition, names, values
		{"id INT NOT NULL", "id", "i"},
		{"code VARCHAR(20) NOT NULL, line SMALLINT NOT NULL", "code, line", "CONCAT('k', i % 7), i"},
		{"id BIGINT UNSIGNED NOT NULL", "id", "CAST(9223372036854775800 AS UNSIGNED) + i"},
		{"day DATE NOT NULL, id INT NOT NULL", "id, day", "DATE('2024-01-01') + INTERVAL i % 3 DAY, i"},
		{"c CHAR(6) NOT NULL", "c", "CONCAT('c', i)"},
		{"a INT, b INT", "", "i, i % 2"},
	}
	sixtyNames = []string{"t%02d", "Mixed%02d", "größe-%02d", "select %02d", "money$%02d", "x.%02d"}
)

// sixtyTable gives the name and the columns of table k.
func sixtyTable(k int) (name string, columns []string, values string) {
	name = fmt.Sprintf(sixtyNames[(k/7)%len(sixtyNames)], k)
	key := sixtyKeys[k%len(sixtyKeys)]
	columns, values = append(columns, key[0]), key[2]
	for j := range 3 + k%5 {
		t := sixtyTypes[(k*5+j*3)%len(sixtyTypes)]
		columns, values = append(columns, fmt.Sprintf("v%d %s", j, t[0])), values+", "+t[1]
	}
	if key[1] != "" {
		columns = append(columns, "PRIMARY KEY ("+key[1]+")")
	}
	return name, columns, values
}

// TestSyncSixtyTables copies a database of tables of many types, keys and names,
// with rows and columns that come while it is copied and while the job is down.
func TestSyncSixtyTables(t *testing.T) {
	t.Parallel()
	const tables, rows = 60, 20
	c := newCopies(t, "e2e_sync_sixty")
	fill := func(name, values string, from, n int) string {
		var numbers []string
		for i := range n {
			numbers = append(numbers, fmt.Sprintf("ROW(%d)", from+i))
		}
		return fmt.Sprintf("INSERT INTO DB.`%s` SELECT %s FROM (VALUES %s) n (i)", name, values, strings.Join(numbers, ", "))
	}
	var begin, live, down []string
	for k := range tables {
		name, columns, values := sixtyTable(k)
		create := "CREATE TABLE DB.`" + name + "` (" + strings.Join(columns, ", ") + ")"
		if k%10 == 9 { // comes later
			live = append(live, create, fill(name, values, 1, rows))
			continue
		}
		begin = append(begin, create, fill(name, values, 1, rows))
		live = append(live, fill(name, values, rows+1, 5))
		key := sixtyKeys[k%len(sixtyKeys)][1]
		if key != "" {
			down = append(down, fmt.Sprintf("DELETE FROM DB.`%s` ORDER BY %s LIMIT 2", name, key))
		}
		switch {
		case k%12 == 1:
			down = append(down, "ALTER TABLE DB.`"+name+"` ADD COLUMN more INT DEFAULT 5", "UPDATE DB.`"+name+"` SET more = 6, v0 = NULL ORDER BY "+key+" LIMIT 1")
		case key != "":
			down = append(down, "UPDATE DB.`"+name+"` SET v0 = NULL, v1 = NULL ORDER BY "+key+" LIMIT 3")
		}
	}
	exec := func(statements []string) {
		t.Helper()
		list := []string{"USE " + c.db}
		for _, s := range statements {
			list = append(list, strings.ReplaceAll(s, "DB.", ""))
		}
		judge.Exec(t, c.server, list...)
	}
	exec(begin)
	args := c.args("DB.*", "--name", "sixty", "--database", "ods", "--table_prefix", "s_", "--type_mapping", "tinyint1-not-bool,to-nullable", "--keyless", "append",
		"--metadata_column", "table_name", "--multiple_table_partition_keys", "t03:day", "--table_conf", "snapshot.num-retained.max=20")
	run := c.job.StartCommand(args...)
	c.job.Wait("sixty", "snapshot")
	exec(live)
	c.job.Wait("sixty", "caught-up")
	run.Kill()
	exec(down)
	c.mustLeat(append(args, "--catch-up")...)

	for k := range tables {
		name, columns, _ := sixtyTable(k)
		want := judge.SourceRows(t, c.server, "SELECT *, '"+name+"' table_name FROM "+c.db+".`"+name+"`")
		got := judge.Java(t).Rows(t, c.job.Warehouse(), "ods.s_"+strings.ReplaceAll(name, "$", "_"))
		if diff := judge.Diff("source", asLake(t, columns, want), "lake", got); diff != "" {
			t.Errorf("%s (%s)\n%s", name, strings.Join(columns, ", "), diff)
		}
		if len(want) < rows-2 {
			t.Errorf("%s: %d rows are compared", name, len(want))
		}
	}
	schema := judge.Java(t).Schema(t, c.job.Warehouse(), "ods.s_t03")
	if p := fmt.Sprint(schema["partitionKeys"], schema["primaryKeys"]); p != "[day] [id day]" {
		t.Errorf("keys of t03: %s", p)
	}
}

// asLake gives rows of the source as readers of the lake show them.
func asLake(t *testing.T, columns []string, rows []judge.Row) []judge.Row {
	t.Helper()
	for _, c := range columns {
		name, typ, _ := strings.Cut(c, " ")
		for _, r := range rows {
			s, isText := r[name].(string)
			switch {
			case !isText:
			case strings.HasPrefix(typ, "SET"):
				list := []any{}
				for l := range strings.SplitSeq(s, ",") {
					if l != "" {
						list = append(list, l)
					}
				}
				r[name] = list
			case typ == "BIT(1)":
				r[name] = s == "01"
			case typ == "JSON":
				var b bytes.Buffer
				if err := json.Compact(&b, []byte(s)); err != nil {
					t.Fatal(err)
				}
				r[name] = b.String()
			}
		}
	}
	return rows
}

// TestSyncMapsTypes maps types by the modes of the actions, also those of columns
// that come and change, and gives computed columns their values.
func TestSyncMapsTypes(t *testing.T) {
	t.Parallel()
	c := newCopies(t, "e2e_sync_types", "CREATE TABLE DB.plain (id INT NOT NULL PRIMARY KEY, flag TINYINT(1), big BIGINT UNSIGNED, code CHAR(3) NOT NULL, doc LONGTEXT, d DECIMAL(8,2))",
		"INSERT INTO DB.plain VALUES (1, 3, 9223372036854775807, 'ab', 'text', 1.5)",
		"CREATE TABLE DB.texts (id INT NOT NULL PRIMARY KEY, n INT, f FLOAT, x DOUBLE, d DATE, at DATETIME(2), t TIMESTAMP NULL, raw BLOB, y YEAR, s SET('a','b'), flag TINYINT(1))",
		"INSERT INTO DB.texts VALUES (1, -5, 1.5, 0.1, '2024-02-29', '2024-02-29 01:02:03.45', '2024-01-01 00:00:00', x'00ff', 1999, 'a,b', 2)",
		"CREATE TABLE DB.made (id INT NOT NULL PRIMARY KEY, sec BIGINT, ms BIGINT, txt VARCHAR(30), n INT, d DECIMAL(6,2))",
		"INSERT INTO DB.made VALUES (1, 1700000000, -1, '2024-03-04 05:06:07', -13, -1.05), (2, NULL, NULL, NULL, NULL, NULL), (-7, 0, 1700000000123, '2024-12-31', 27, 99.99)")
	mapped := c.args("DB.plain", "--name", "plain", "--type_mapping", "tinyint1-not-bool,to-nullable,char-to-string,longtext-to-bytes,bigint-unsigned-to-bigint,decimal-no-change,allow-non-string-to-string")
	run := c.job.StartCommand(mapped...)
	c.job.Wait("plain", "snapshot")
	c.exec("ALTER TABLE DB.plain ADD COLUMN second TINYINT(1), ADD COLUMN name VARCHAR(5) NOT NULL DEFAULT 'x'", "ALTER TABLE DB.plain MODIFY flag VARCHAR(10)", "INSERT INTO DB.plain VALUES (2, 'word', 1, 'cd', NULL, 2, 4, 'y')")
	c.job.Wait("plain", "caught-up")
	run.Kill()
	c.mustLeat(append(mapped, "--catch-up")...)
	c.sameAs("e2e_sync_types.plain", "SELECT id, CAST(flag AS CHAR) flag, CAST(big AS SIGNED) big, code, CAST(doc AS BINARY) doc, d, second + 0 second, name FROM e2e_sync_types.plain")

	c.mustLeat(c.args("DB.texts", "--name", "texts", "--type_mapping", "to-string", "--catch-up")...)
	c.sameAs("e2e_sync_types.texts", `SELECT CAST(id AS CHAR) id, CAST(n AS CHAR) n, '1.5' f, '0.1' x, CAST(d AS CHAR) d, CAST(at AS CHAR) at, CONCAT(DATE_FORMAT(t, '%Y-%m-%dT%H:%i:%s'), 'Z') t, raw, CAST(y AS CHAR) y, CAST(s AS CHAR) s, CAST(flag+0 AS CHAR) flag FROM e2e_sync_types.texts`)

	var computed []string
	for _, text := range []string{
		"y = year(sec)", "mo = month(ms, 3)", "da = day(txt)", "ho = hour(sec,0)", "mi = minute(ms, 3)", "se = second(txt)", "f = date_format(ms, yyyy-MM-dd HH:mm, 3)",
		"sub = substring(txt, 5, 7)", "rest = substring(txt, 11)", "cut = truncate(n, 10)", "cuttext = truncate(txt, 4)", "dec = truncate(d, 50)", "one = cast(7, INT)", "up = upper(txt)", "total = n * 2 + id",
	} {
		computed = append(computed, "--computed_column", text)
	}
	c.mustLeat(c.args("DB.made", append(computed, "--name", "made", "--catch-up")...)...)
	c.sameAs("e2e_sync_types.made", `SELECT id, sec, ms, txt, n, d, CAST(YEAR(FROM_UNIXTIME(sec)) AS SIGNED) y, MONTH(t) mo, DAY(txt) da, HOUR(FROM_UNIXTIME(sec)) ho, MINUTE(t) mi, SECOND(TIMESTAMP(txt)) se, DATE_FORMAT(t, '%Y-%m-%d %H:%i') f,
  SUBSTRING(txt, 6, 2) sub, SUBSTRING(txt, 12) rest, n - ((n % 10 + 10) % 10) cut, LEFT(txt, 4) cuttext, CAST(d - (MOD(MOD(d * 100, 50) + 50, 50)) / 100 AS DECIMAL(6,2)) `+"`dec`"+`, 7 one, UPPER(txt) up, n * 2 + id total
  FROM (SELECT *, CASE WHEN ms < 0 THEN TIMESTAMP('1969-12-31 23:59:59') ELSE FROM_UNIXTIME(FLOOR(ms / 1000)) END t FROM (SELECT * FROM e2e_sync_types.made) x) z`)
}
