package cdctypes

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/go-mysql-org/go-mysql/client"
	"github.com/google/go-cmp/cmp"

	"leat/cdc/mysqlrow"
	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

const database = "types"

// show prints a cell with all digits of its type; bytes in hexadecimal.
func show(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "NULL"
	}
	switch a := a.(type) {
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.Binary:
		return strings.ToUpper(hex.EncodeToString(a.Value(i)))
	case *array.List:
		from, to := a.ValueOffsets(i)
		elements := array.NewSlice(a.ListValues(), from, to)
		defer elements.Release()
		var out []string
		for k := range elements.Len() {
			out = append(out, elements.ValueStr(k))
			if elements.DataType().ID() == arrow.STRING {
				out[k] = strconv.Quote(out[k])
			}
		}
		return "[" + strings.Join(out, ",") + "]"
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

// table is a table made for a case, and what reads it.
type table struct {
	typeCase
	name    string
	want    []string
	schema  *columnar.Schema
	plan    *mysqlrow.Plan
	builder *mysqlrow.Builder // of the binlog
}

func newTable(t *testing.T, c *client.Conn, no int, tc typeCase, zero mysqlrow.ZeroDate) *table {
	t.Helper()
	tab := &table{typeCase: tc, name: fmt.Sprintf("t%d", no)}
	execute(t, c, fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, v %s) CHARACTER SET utf8mb4", tab.name, tc.sql))
	cols := columns(t, c, database, tab.name)
	typ := tc.as
	if typ.Kind == columnar.Invalid {
		var err error
		if typ, err = mysqlrow.NaturalType(cols[1]); err != nil {
			t.Fatal(err)
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	tab.plan, err = mysqlrow.NewPlan(cols, []mysqlrow.Target{{Column: 1, Type: typ}, {Column: 0, Type: columnar.Of(columnar.Int)}},
		mysqlrow.Options{Table: database + "." + tab.name, ServerZone: berlin, ZeroDate: zero, Key: []int{0}, ChunkKey: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	tab.builder = mysqlrow.NewBuilder(tab.plan, 8)
	tab.schema = &columnar.Schema{Fields: []columnar.Field{{Name: "v", Type: typ}, {Name: "id", Type: columnar.Of(columnar.Int)}}}
	values := tc.values
	if cols[1].Nullable {
		values = append([]string{"NULL", "NULL"}, values...)
	}
	for i := 0; i < len(values); i += 2 {
		execute(t, c, fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", tab.name, i, values[i]))
		tab.want = append(tab.want, values[i+1])
	}
	return tab
}

// cells finishes a batch and prints its first column; all its rows are inserts.
func (tab *table) cells(t *testing.T, b *mysqlrow.Builder) []string {
	t.Helper()
	batch, err := b.Finish(tab.schema)
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	var out []string
	for i := range batch.Rows() {
		if batch.Kind(i) != columnar.Insert {
			t.Errorf("row %d is %s", i, batch.Kind(i))
		}
		out = append(out, show(batch.Cols[0], i))
	}
	return out
}

// onBoth runs a test on MySQL and on MariaDB, each a server of its own.
func onBoth(t *testing.T, test func(t *testing.T, s *mysqld.Server, c *client.Conn)) {
	t.Run("MySQL", func(t *testing.T) {
		s, c := start(t, judge.OwnMySQL)
		test(t, s, c)
	})
	t.Run("MariaDB", func(t *testing.T) {
		s, c := start(t, judge.OwnMariaDB)
		test(t, s, c)
	})
}

// start gives a server that takes every date, and a writing session in UTC.
func start(t *testing.T, own func(t testing.TB, flags ...string) *mysqld.Server) (*mysqld.Server, *client.Conn) {
	t.Helper()
	s := own(t)
	c := connect(t, s, "SET time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES'", "CREATE DATABASE "+database, "USE "+database)
	return s, c
}

// TestTypesOnBothPaths writes every value and reads it on both paths, once with
// the labels of ENUM and SET in the binlog and once without.
func TestTypesOnBothPaths(t *testing.T) {
	for _, metadata := range []string{"FULL", "MINIMAL"} {
		t.Run(metadata, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *mysqld.Server, c *client.Conn) {
				execute(t, c, "SET GLOBAL binlog_row_metadata = "+metadata)
				run := append(slices.Clone(cases), mysqlCases...)
				if s.Install.MariaDB {
					run = append(slices.Clone(cases), mariadbCases...)
					if s.Install.AtLeast(11, 7, 0) {
						run = append(run, vectorCases...)
					}
				}
				if metadata == "FULL" { // information_schema does not tell such labels
					run = append(run, typeCase{"enum('x','😀')", natural, []string{"'😀'", "😀"}}, typeCase{"set('x','😀')", columnar.StringType(), []string{"3", "x,😀"}})
				}
				bothPaths(t, s, c, run)
			})
		})
	}
}

// since are parts of types and literals that older servers do not know, or give another value.
var since = []struct {
	part                string
	major, minor, patch int
}{{"vector(", 9, 0, 0}, {"CAST(1 AS YEAR)", 8, 0, 22}, {"CAST('838:59:59' AS TIME)", 9, 0, 0}, {"POINT(1 2)') AS JSON", 9, 0, 0}}

// known leaves out what the server's release does not know.
func known(s *mysqld.Server, cases []typeCase) []typeCase {
	old := func(sql string) bool {
		return slices.ContainsFunc(since, func(x struct {
			part                string
			major, minor, patch int
		},
		) bool {
			return strings.Contains(sql, x.part) && !s.Install.AtLeast(x.major, x.minor, x.patch)
		})
	}
	var out []typeCase
	for _, tc := range cases {
		if old(tc.sql) {
			continue
		}
		var values []string
		for pair := range slices.Chunk(tc.values, 2) {
			if !old(pair[0]) {
				values = append(values, pair...)
			}
		}
		tc.values = values
		out = append(out, tc)
	}
	return out
}

// TestZeroDatesUnderEachPolicy reads dates that do not exist under the policies
// that are not the default and refuse nothing.
func TestZeroDatesUnderEachPolicy(t *testing.T) {
	const epoch, start = "1970-01-01", "1970-01-01 00:00:00.000"
	text := columnar.StringType()
	policies := map[mysqlrow.ZeroDate][]typeCase{
		mysqlrow.ZeroDateEpoch: {
			{"date", natural, []string{"'0000-00-00'", epoch, "'2024-00-10'", epoch, "'2024-02-31'", epoch, "'2024-02-29'", "2024-02-29"}},
			{"datetime", natural, []string{"'0000-00-00'", start, "'2024-02-31 10:00:00'", start}},
			{"timestamp null", natural, []string{"'0000-00-00'", start}},
			{"timestamp null", typed(columnar.TimestampLTZ, 0), []string{"'0000-00-00'", start + "Z"}},
			{"datetime", text, []string{"'0000-00-00'", "1970-01-01 00:00:00"}},
		},
		mysqlrow.ZeroDateText: {
			{"date", text, []string{"'0000-00-00'", "0000-00-00", "'2024-00-10'", "2024-00-10", "'2024-02-31'", "2024-02-31"}},
			{"datetime(2)", text, []string{"'0000-00-00'", "0000-00-00 00:00:00.00", "'2024-02-31 10:00:00.25'", "2024-02-31 10:00:00.25"}},
			{"timestamp null", text, []string{"'0000-00-00'", "0000-00-00 00:00:00"}},
			{"date", natural, []string{"'0000-00-00'", "NULL"}},
			{"date not null", natural, []string{"'0000-00-00'", epoch}},
		},
	}
	onBoth(t, func(t *testing.T, s *mysqld.Server, c *client.Conn) {
		for zero, cases := range policies {
			bothPathsUnder(t, s, c, cases, zero)
			execute(t, c, "DROP DATABASE "+database)
			execute(t, c, "CREATE DATABASE "+database)
			execute(t, c, "USE "+database)
		}
	})
}

// TestOldTimes reads the forms of times that MariaDB had before it took over
// those of MySQL 5.6.
func TestOldTimes(t *testing.T) {
	s, c := start(t, judge.OwnMariaDB)
	execute(t, c, "SET GLOBAL mysql56_temporal_format = OFF")
	bothPaths(t, s, c, oldTimeCases)
}

func bothPaths(t *testing.T, s *mysqld.Server, c *client.Conn, cases []typeCase) {
	t.Helper()
	bothPathsUnder(t, s, c, cases, mysqlrow.ZeroDateNull)
}

func bothPathsUnder(t *testing.T, s *mysqld.Server, c *client.Conn, cases []typeCase, zero mysqlrow.ZeroDate) {
	t.Helper()
	from := position(t, s)
	byName := make(map[string]*table)
	cases = known(s, cases)
	tables := make([]*table, len(cases))
	for i, tc := range cases {
		tables[i] = newTable(t, c, i, tc, zero)
		byName[tables[i].name] = tables[i]
	}
	readBinlog(t, s, from, position(t, s), func(name string, m mysqlrow.TableMap, r mysqlrow.Rows) error {
		tab := byName[name]
		layout, err := tab.plan.Bind(m)
		if err != nil {
			return err
		}
		return tab.builder.AppendRows(layout, r)
	})
	reader := connect(t, s, append(mysqlrow.SessionStatements(), "USE "+database)...)
	for _, tab := range tables {
		snapshot := mysqlrow.NewBuilder(tab.plan, 8)
		query := fmt.Sprintf("SELECT %s FROM %s ORDER BY id", strings.Join(tab.plan.SelectList(), ", "), tab.name)
		selectPackets(t, reader, query, func(p []byte) error { return snapshot.AppendText(columnar.Insert, p) })
		if diff := cmp.Diff(tab.want, tab.cells(t, snapshot)); diff != "" {
			t.Errorf("%s by SELECT (-want +got):\n%s", tab.sql, diff)
		}
		if diff := cmp.Diff(tab.want, tab.cells(t, tab.builder)); diff != "" {
			t.Errorf("%s by binlog (-want +got):\n%s", tab.sql, diff)
		}
	}
}

// TestWideTable reads a few columns from between columns of every other type,
// some NULL, under compressed transactions, updates of the key and deletes.
func TestWideTable(t *testing.T) {
	s, c := start(t, judge.OwnMySQL)
	functional := ", KEY ((n * 2))"
	if !s.Install.AtLeast(8, 0, 20) { // which tells of such columns in the binlog only
		functional = ""
	}
	execute(t, c, `CREATE TABLE wide (y YEAR, id BIGINT UNSIGNED PRIMARY KEY, b BIT(12), e ENUM('x','y'), n INT, tm TIME(3), s SET('p','q'),
		name VARCHAR(40), j JSON, g GEOMETRY, price DECIMAL(9,2) UNSIGNED, twice DECIMAL(11,2) AS (price * 2) VIRTUAL, note TEXT,
		kept INT AS (n + 1) STORED`+functional+")")
	cols := columns(t, c, database, "wide")
	schema := &columnar.Schema{}
	var targets []mysqlrow.Target
	for _, want := range []string{"id", "n", "name", "price", "twice", "kept"} {
		for i, col := range cols {
			if col.Name == want {
				typ, err := mysqlrow.NaturalType(col)
				if err != nil {
					t.Fatal(err)
				}
				targets = append(targets, mysqlrow.Target{Column: i, Type: typ})
				schema.Fields = append(schema.Fields, columnar.Field{Name: want, Type: typ})
			}
		}
	}
	plan, err := mysqlrow.NewPlan(cols, targets, mysqlrow.Options{Table: "types.wide", Key: []int{1}, ChunkKey: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	from := position(t, s)
	insert := `INSERT INTO wide (y, id, b, e, n, tm, s, name, j, g, price, note) VALUES `
	full := `(2024, %s, b'101', 'y', -5, '-10:00:00.5', 'p,q', 'née', '{"a": [1, 2]}', POINT(1, 2), 1.25, REPEAT('x', 1000))`
	for _, q := range []string{
		insert + fmt.Sprintf(full, "18446744073709551615") + "," + fmt.Sprintf(full, "1"),
		insert + `(NULL, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
		compression(s),
		"UPDATE wide SET n = 7, name = NULL WHERE id = 1",
		"UPDATE wide SET id = 3 WHERE id = 1",
		"DELETE FROM wide WHERE id > 2",
	} {
		execute(t, c, q)
	}
	b := mysqlrow.NewBuilder(plan, 8)
	var keys []string
	readBinlog(t, s, from, position(t, s), func(_ string, m mysqlrow.TableMap, r mysqlrow.Rows) error {
		layout, err := plan.Bind(m)
		if err != nil {
			return err
		}
		if err := layout.ForEach(r, func(before, after []byte) error {
			if after == nil {
				after = before
			}
			k, err := layout.AppendChunkKey(nil, after)
			keys = append(keys, string(k))
			return err
		}); err != nil {
			return err
		}
		return b.AppendRows(layout, r)
	})
	got := rows(t, b, schema)
	want := []string{
		"+I 18446744073709551615 -5 née 1.25 2.50 -4", "+I 1 -5 née 1.25 2.50 -4", "+I 2 NULL NULL NULL NULL NULL",
		"-U 1 -5 née 1.25 2.50 -4", "+U 1 7 NULL 1.25 2.50 8",
		"-D 1 7 NULL 1.25 2.50 8", "+I 3 7 NULL 1.25 2.50 8",
		"-D 3 7 NULL 1.25 2.50 8", "-D 18446744073709551615 -5 née 1.25 2.50 -4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	var wantKeys []string
	for _, id := range []string{"18446744073709551615", "1", "2", "1", "3", "3", "18446744073709551615"} {
		edge, err := plan.ParseEdge([]string{id})
		if err != nil {
			t.Fatal(err)
		}
		wantKeys = append(wantKeys, edge.Order)
	}
	if diff := cmp.Diff(wantKeys, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// compression is the statement that compresses transactions from here on, where the server can.
func compression(s *mysqld.Server) string {
	if !s.Install.AtLeast(8, 0, 20) {
		return "DO 0"
	}
	return "SET SESSION binlog_transaction_compression = ON"
}

// TestAddedAndHiddenColumns reads rows that were written before columns came by
// ALTER, invisible columns, and the key that the server adds by itself.
func TestAddedAndHiddenColumns(t *testing.T) {
	s, c := start(t, judge.OwnMySQL)
	if s.Install.AtLeast(8, 0, 30) {
		execute(t, c, "SET sql_generate_invisible_primary_key = ON")
		execute(t, c, "CREATE TABLE hidden (who VARCHAR(10), secret INT INVISIBLE DEFAULT 5)")
	} else {
		execute(t, c, "CREATE TABLE hidden (my_row_id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, who VARCHAR(10), secret INT DEFAULT 5)")
	}
	execute(t, c, "INSERT INTO hidden (who, secret) VALUES ('ann', 41)")
	execute(t, c, "INSERT INTO hidden (who) VALUES ('bob')")
	place, instant := "AFTER my_row_id", ""
	if s.Install.AtLeast(8, 0, 30) {
		place, instant = "FIRST", ", ALGORITHM = INSTANT"
	}
	execute(t, c, `ALTER TABLE hidden ADD COLUMN mask BIT(12) NOT NULL DEFAULT b'101000000001' `+place+`, ADD COLUMN state ENUM('new','old') DEFAULT 'old',
		ADD COLUMN tags SET('a','b') DEFAULT 'a,b', ADD COLUMN span TIME(2) DEFAULT '-25:00:00.5', ADD COLUMN y YEAR NOT NULL DEFAULT 2000`+instant)
	invisible := ""
	if s.Install.AtLeast(8, 0, 23) {
		invisible = " INVISIBLE"
	}
	if s.Install.AtLeast(8, 0, 21) {
		execute(t, c, "ALTER TABLE hidden ADD COLUMN doc JSON DEFAULT (JSON_OBJECT('n', secret))")
	} else {
		execute(t, c, "ALTER TABLE hidden ADD COLUMN doc JSON")
		execute(t, c, "UPDATE hidden SET doc = JSON_OBJECT('n', secret)")
	}
	execute(t, c, "ALTER TABLE hidden ADD COLUMN twice INT AS (secret * 2) VIRTUAL"+invisible)
	execute(t, c, "ALTER TABLE hidden ADD COLUMN bare JSON NOT NULL") // its value is a document of no bytes
	plan, schema := everyColumn(t, c, "hidden")
	from := position(t, s)
	execute(t, c, "UPDATE hidden SET who = CONCAT(who, '!')")
	b := mysqlrow.NewBuilder(plan, 8)
	readBinlog(t, s, from, position(t, s), func(_ string, m mysqlrow.TableMap, r mysqlrow.Rows) error {
		layout, err := plan.Bind(m)
		if err != nil {
			return err
		}
		return b.AppendRows(layout, r)
	})
	reader := connect(t, s, append(mysqlrow.SessionStatements(), "USE "+database)...)
	selectPackets(t, reader, "SELECT "+strings.Join(plan.SelectList(), ", ")+" FROM hidden", func(p []byte) error { return b.AppendText(columnar.Insert, p) })
	got := rows(t, b, schema)
	ann, bob := ` 41 old ["a","b"] -25:00:00.50 2000 {"n":41} 82 null`, ` 5 old ["a","b"] -25:00:00.50 2000 {"n":5} 10 null`
	want := []string{
		"-U 1 0A01 ann" + ann, "+U 1 0A01 ann!" + ann, "-U 2 0A01 bob" + bob, "+U 2 0A01 bob!" + bob,
		"+I 1 0A01 ann!" + ann, "+I 2 0A01 bob!" + bob,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// rows finishes a batch and prints its rows, the kind in front.
func rows(t *testing.T, b *mysqlrow.Builder, schema *columnar.Schema) []string {
	t.Helper()
	batch, err := b.Finish(schema)
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	var out []string
	for i := range batch.Rows() {
		cells := []string{batch.Kind(i).String()}
		for _, a := range batch.Cols {
			cells = append(cells, show(a, i))
		}
		out = append(out, strings.Join(cells, " "))
	}
	return out
}

// TestOtherRowForms writes rows that a job cannot follow; each gives an error with its remedy.
func TestOtherRowForms(t *testing.T) {
	for _, tc := range []struct {
		name, write string
		code        diag.Code
		text        string
	}{
		{"minimal image", "SET SESSION binlog_row_image = 'MINIMAL'; UPDATE forms SET n = 2", diag.CodeSourceBinlog, "binlog_row_image = 'FULL'"},
		{"no blobs", "SET SESSION binlog_row_image = 'NOBLOB'; UPDATE forms SET n = 2", diag.CodeSourceBinlog, "binlog_row_image = 'FULL'"},
		{"partial JSON", "SET SESSION binlog_row_value_options = 'PARTIAL_JSON'; UPDATE forms SET doc = JSON_SET(doc, '$.a', 2)", diag.CodeSourceBinlog, "binlog_row_value_options = ''"},
		{"wider column", "ALTER TABLE forms MODIFY n BIGINT; UPDATE forms SET n = 2", diag.CodeSourceChanged, "column 'n' has the type 8"},
		{"unsigned column", "ALTER TABLE forms MODIFY n INT UNSIGNED; UPDATE forms SET n = 2", diag.CodeSourceChanged, "column 'n' differs in UNSIGNED"},
		{"dropped column", "ALTER TABLE forms DROP COLUMN doc; UPDATE forms SET n = 2", diag.CodeSourceChanged, "4 columns instead of 5"},
		{"renamed column", "ALTER TABLE forms RENAME COLUMN n TO m; UPDATE forms SET m = 2", diag.CodeSourceChanged, "'m' instead of 'n'"},
		{"another decimal", "ALTER TABLE forms MODIFY price DECIMAL(12,4); UPDATE forms SET n = 2", diag.CodeSourceChanged, "DECIMAL(12,4) instead of DECIMAL(9,2)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := judge.MySQL(t)
			c := connect(t, s, "DROP DATABASE IF EXISTS forms", "CREATE DATABASE forms", "USE forms",
				"CREATE TABLE forms (id INT PRIMARY KEY, n INT, price DECIMAL(9,2), doc JSON, note TEXT)",
				`INSERT INTO forms VALUES (1, 1, 1.5, '{"a": 1, "b": "a long text, so that a part of it is shorter than the whole"}', 'note')`)
			plan, err := mysqlrow.NewPlan(columns(t, c, "forms", "forms"), []mysqlrow.Target{
				{Column: 0, Type: columnar.Of(columnar.Int)}, {Column: 1, Type: columnar.Of(columnar.Int)}, {Column: 2, Type: columnar.DecimalOf(9, 2)},
			}, mysqlrow.Options{Table: "forms.forms"})
			if err != nil {
				t.Fatal(err)
			}
			from := position(t, s)
			for q := range strings.SplitSeq(tc.write, "; ") {
				execute(t, c, q)
			}
			got := rowsError(t, s, c, plan, from)
			var e *diag.Error
			if !errors.As(got, &e) || e.Code != tc.code || !strings.Contains(e.Error()+e.Hint, tc.text) {
				t.Errorf("got %v, want %s with %q", got, tc.code, tc.text)
			}
		})
	}
}
