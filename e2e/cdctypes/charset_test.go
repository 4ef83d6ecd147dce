package cdctypes

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/go-mysql-org/go-mysql/client"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
	"leat/internal/mysqld"
)

// codes gives queries over the numbers n from 0 to 65535 that together make
// every character of a set, as bytes b in that set.
func codes(charset string) []string {
	of := func(code string) string { return "SELECT CAST(" + code + " AS BINARY) b FROM numbers" }
	pair, single := of("UNHEX(LPAD(HEX(n), 4, '0'))"), of("CHAR(n)")+" WHERE n < 256"
	fromUnicode := func(step int) string {
		return of(fmt.Sprintf("CONVERT(CONVERT(UNHEX(LPAD(HEX(n * %d), 8, '0')) USING utf32) USING %s)", step, charset))
	}
	switch charset {
	case "big5", "gbk", "gb2312", "sjis", "cp932", "euckr":
		return []string{pair, single}
	case "ujis", "eucjpms":
		return []string{pair, single, of("CONCAT(0x8F, UNHEX(LPAD(HEX(n), 4, '0')))")}
	case "gb18030":
		four := "CONCAT(CHAR(%d + n DIV 12600), CHAR(0x30 + n DIV 1260 MOD 10), CHAR(0x81 + n DIV 10 MOD 126), CHAR(0x30 + n MOD 10))"
		return []string{pair, single, of(fmt.Sprintf(four, 0x81)), of(fmt.Sprintf(four, 0x90))}
	case "utf8mb4", "utf16", "utf16le", "utf32":
		return []string{fromUnicode(1), fromUnicode(17)}
	case "utf8mb3", "ucs2":
		return []string{fromUnicode(1)}
	default:
		return []string{single}
	}
}

// TestEveryCharacter stores every character of every character set of the server
// and reads it on both paths; both must give what the server converts it to.
func TestEveryCharacter(t *testing.T) {
	onBoth(t, everyCharacter)
}

func everyCharacter(t *testing.T, s *mysqld.Server, c *client.Conn) {
	t.Helper()
	execute(t, c, "SET sql_mode = ''")
	if s.Install.MariaDB {
		execute(t, c, "SET max_recursive_iterations = 70000")
	} else {
		execute(t, c, "SET cte_max_recursion_depth = 70000")
	}
	execute(t, c, "CREATE TABLE numbers (n INT PRIMARY KEY)")
	execute(t, c, "INSERT INTO numbers SELECT * FROM (WITH RECURSIVE r (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < 65535) SELECT n FROM r) x")
	sets := execute(t, c, "SELECT character_set_name FROM information_schema.character_sets WHERE character_set_name <> 'binary'")
	readers := make(map[string]*charsetTable)
	from := position(t, s)
	for i := range sets.RowNumber() {
		name, err := sets.GetString(i, 0)
		if err != nil {
			t.Fatal(err)
		}
		readers[name] = newCharsetTable(t, c, name)
	}
	readBinlog(t, s, from, position(t, s), func(name string, m mysqlrow.TableMap, r mysqlrow.Rows) error {
		tab := readers[name]
		layout, err := tab.plan.Bind(m)
		if err != nil {
			return err
		}
		return tab.builder.AppendRows(layout, r)
	})
	reader := connect(t, s, append(mysqlrow.SessionStatements(), "USE "+database)...)
	converter := connect(t, s, "USE "+database, "SET NAMES utf8mb4")
	for name, tab := range readers {
		snapshot := mysqlrow.NewBuilder(tab.plan, 65536)
		query := fmt.Sprintf("SELECT %s FROM %s ORDER BY id", strings.Join(tab.plan.SelectList(), ", "), name)
		selectPackets(t, reader, query, func(p []byte) error { return snapshot.AppendText(columnar.Insert, p) })
		want := execute(t, converter, fmt.Sprintf("SELECT CONVERT(v USING utf8mb4), HEX(v) FROM %s ORDER BY id", name))
		tab.check(t, "SELECT", snapshot, want.RowNumber(), func(i int) (text, bytes string) { return cell(t, want, i, 0), cell(t, want, i, 1) })
		tab.check(t, "binlog", tab.builder, want.RowNumber(), func(i int) (text, bytes string) { return cell(t, want, i, 0), cell(t, want, i, 1) })
	}
}

// charsetTable is a table of a column of one character set, named like it.
type charsetTable struct {
	name    string
	plan    *mysqlrow.Plan
	builder *mysqlrow.Builder
}

func newCharsetTable(t *testing.T, c *client.Conn, name string) *charsetTable {
	t.Helper()
	execute(t, c, fmt.Sprintf("CREATE TABLE %s (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(4) CHARACTER SET %s)", name, name))
	plan, err := mysqlrow.NewPlan(columns(t, c, database, name), []mysqlrow.Target{{Column: 1, Type: columnar.StringType()}}, mysqlrow.Options{Table: name})
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range codes(name) {
		// A conversion that takes the bytes for something else does not give them back.
		execute(t, c, fmt.Sprintf("INSERT INTO %s (v) SELECT CONVERT(b USING %s) FROM (%s) x WHERE CAST(CONVERT(b USING %s) AS BINARY) = b",
			name, name, query, name))
	}
	return &charsetTable{name: name, plan: plan, builder: mysqlrow.NewBuilder(plan, 65536)}
}

// check compares what was read with the server's own conversion. Where that has
// no character, and gives '?' or, before 8.0.31, nothing, any is good: some tables know more than the server.
func (tab *charsetTable) check(t *testing.T, path string, b *mysqlrow.Builder, rows int, want func(i int) (text, bytes string)) {
	t.Helper()
	batch, err := b.Finish(&columnar.Schema{Fields: []columnar.Field{{Name: "v", Type: columnar.StringType()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	got, isText := batch.Cols[0].(*array.String)
	if !isText || batch.Rows() != rows || rows < 100 {
		t.Fatalf("%s by %s: %d rows instead of %d, or a few", tab.name, path, batch.Rows(), rows)
	}
	bad := 0
	for i := range rows {
		text, code := want(i)
		g := got.Value(i)
		if !utf8.ValidString(text) { // MariaDB keeps halves of surrogate pairs
			text = strings.Repeat("\uFFFD", utf8.RuneCountInString(g))
		}
		if g == text || g != "" && (text == "" || strings.HasPrefix(text, "?") && code != "3F") {
			continue
		}
		if bad++; bad <= 5 {
			t.Errorf("%s by %s: %s is %q (%x), want %q (%x)", tab.name, path, code, g, g, text, text)
		}
	}
	if bad > 0 {
		t.Errorf("%s by %s: %d of %d characters differ", tab.name, path, bad, rows)
	}
}
