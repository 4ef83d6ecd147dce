package cdcsource

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/client"

	"leat/cdc/mysqlrow"
	"leat/internal/mysqld"
)

// scripts are ranges of characters that keys are made of: letters with and
// without case and accents, marks, blanks, signs, and what collations pass over.
var scripts = [][2]rune{
	{0x20, 0x20},
	{0x20, 0x7E},
	{0x01, 0x1F},
	{0xA0, 0xFF},
	{0x100, 0x24F},
	{0x250, 0x2FF},
	{0x300, 0x36F},
	{0x370, 0x3FF},
	{0x400, 0x52F},
	{0x530, 0x58F},
	{0x591, 0x5F4},
	{0x600, 0x6FF},
	{0x900, 0x97F},
	{0x980, 0x9FF},
	{0xD80, 0xDFF},
	{0xE01, 0xE5B},
	{0xE80, 0xEDF},
	{0x10A0, 0x10FF},
	{0x1100, 0x11FF},
	{0x13A0, 0x13FF},
	{0x1E00, 0x1FFF},
	{0x2000, 0x206F},
	{0x2070, 0x2BFF},
	{0x2C00, 0x2DFF},
	{0x3000, 0x30FF},
	{0x3130, 0x318F},
	{0x3400, 0x4DBF},
	{0x4E00, 0x9FFF},
	{0xA640, 0xA7FF},
	{0xAC00, 0xD7A3},
	{0xF900, 0xFAFF},
	{0xFB00, 0xFB4F},
	{0xFB50, 0xFDFF},
	{0xFE20, 0xFEFF},
	{0xFF01, 0xFFEF},
	{0x10400, 0x1044F},
	{0x1D400, 0x1D7FF},
	{0x1F300, 0x1F6FF},
	{0x20000, 0x20100},
	{0x2F800, 0x2FA1D},
	{'a', 'c'},
	{'A', 'C'},
	{'c', 'l'},
	{'h', 'z'},
	{'D', 'L'},
}

// clusters are what collations treat as one, or as several, or as nothing.
var clusters = []string{
	"ch", "Ch", "CH", "cs", "dz", "Dž", "dž", "gy", "lj", "LJ", "ll", "ly", "nj", "ny", "sz", "ty", "zs", "aa", "Aa", "AA", "ae", "oe", "ss", "ß", "ẞ",
	"æ", "Æ", "œ", "þ", "Þ", "ð", "đ", "ø", "å", "Å", "ij", "ﬁ", "ﬃ", "i", "I", "ı", "İ", "e\u0301", "é", "a\u030A", "\u00AD", "\u200B", "\u200D", "\uFEFF",
	"\u0E40\u0E01", "\u0F71\u0F72", "か", "が", "カ", "ガ", "ｶ\uFF9E", "ー", "カー", "ゝ", "々", "\u3099", "\u0000", " ", "  ", "\t", "\u3000", "\u00A0", "ﷺ", "㍿",
}

func randomText(rng *rand.Rand) string {
	var b strings.Builder
	for range rng.IntN(6) {
		if rng.IntN(3) == 0 {
			b.WriteString(clusters[rng.IntN(len(clusters))])
			continue
		}
		r := scripts[rng.IntN(len(scripts))]
		b.WriteRune(r[0] + rng.Int32N(r[1]-r[0]+1))
	}
	b.WriteString(strings.Repeat(" ", max(0, rng.IntN(5)-2)))
	return b.String()
}

// keyPlan is a plan that cuts a table by its columns.
func keyPlan(t *testing.T, cols ...mysqlrow.Column) *mysqlrow.Plan {
	t.Helper()
	opt := mysqlrow.Options{Table: "t"}
	for i := range cols {
		opt.ChunkKey = append(opt.ChunkKey, i)
	}
	p, err := mysqlrow.NewPlan(cols, nil, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func textColumn(charset, collation string) mysqlrow.Column {
	return mysqlrow.Column{Name: "s", DataType: "varchar", ColumnType: "varchar(64)", Length: 64, Charset: charset, Collation: collation}
}

// query gives the cells of a result as text.
func query(t *testing.T, c *client.Conn, sql string) [][]string {
	t.Helper()
	r, err := c.Execute(sql)
	if err != nil {
		t.Fatalf("%.200s: %v", sql, err)
	}
	defer r.Close()
	out := make([][]string, r.RowNumber())
	for i := range out {
		for j := range r.ColumnNumber() {
			s, err := r.GetString(i, j)
			if err != nil {
				t.Fatal(err)
			}
			out[i] = append(out[i], strings.Clone(s))
		}
	}
	return out
}

// fillTexts makes a table of random texts in a character set.
func fillTexts(t *testing.T, c *client.Conn, rng *rand.Rand, charset string) string {
	t.Helper()
	name := "texts_" + charset
	query(t, c, "CREATE TABLE "+name+" (s VARCHAR(64) CHARACTER SET "+charset+")")
	width := query(t, c, "SELECT MAXLEN FROM information_schema.CHARACTER_SETS WHERE CHARACTER_SET_NAME = '"+charset+"'")[0][0]
	values := make([]string, 0, 500)
	for range cap(values) {
		if width == "1" && rng.IntN(2) == 0 {
			raw := make([]byte, rng.IntN(6))
			for i := range raw {
				raw[i] = byte(rng.IntN(256))
				if charset == "ascii" {
					raw[i] &= 0x7F
				}
			}
			values = append(values, fmt.Sprintf("(_%s X'%X')", charset, raw))
			continue
		}
		values = append(values, fmt.Sprintf("(CONVERT(_utf8mb4 X'%X' USING %s))", randomText(rng), charset))
	}
	query(t, c, "INSERT INTO "+name+" VALUES "+strings.Join(values, ", "))
	return name
}

// TestKeysAreInTheOrderOfTheServer compares the order form of random texts with
// the ranks that the server gives them, under each of its collations that tables are cut by.
func TestKeysAreInTheOrderOfTheServer(t *testing.T) {
	for _, s := range []struct {
		name   string
		server *mysqld.Server
		least  int
	}{{"mysql", gtidServer, 250}, {"mariadb", mariaServer, 190}} {
		t.Run(s.name, func(t *testing.T) {
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 1))
			t.Log("seed", seed)
			if err := s.server.Exec("DROP DATABASE IF EXISTS collations", "CREATE DATABASE collations"); err != nil {
				t.Fatal(err)
			}
			c, err := s.server.Connect("collations")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			query(t, c, "SET sql_mode = ''")
			tables := map[string]string{}
			ordered, unknown := 0, []string{}
			for _, row := range query(t, c, "SELECT CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLLATIONS WHERE CHARACTER_SET_NAME IS NOT NULL AND ID IS NOT NULL ORDER BY ID") {
				charset, collation := row[0], row[1]
				if ok, _ := mysqlrow.CutBy(textColumn(charset, collation)); !ok {
					unknown = append(unknown, collation)
					continue
				}
				if tables[charset] == "" {
					tables[charset] = fillTexts(t, c, rng, charset)
				}
				ordered++
				checkRanks(t, c, tables[charset], charset, collation)
			}
			t.Logf("%d collations in the order of the server; one chunk for %v", ordered, unknown)
			if ordered < s.least {
				t.Errorf("only %d collations are known", ordered)
			}
		})
	}
}

// checkRanks compares the order of the texts of a table under one collation.
func checkRanks(t *testing.T, c *client.Conn, table, charset, collation string) {
	t.Helper()
	plan := keyPlan(t, textColumn(charset, collation))
	rows := query(t, c, fmt.Sprintf("SELECT HEX(s), DENSE_RANK() OVER (ORDER BY s COLLATE %s) AS place FROM %s ORDER BY place", collation, table))
	var before mysqlrow.Edge
	bad := 0
	for i, r := range rows {
		e, err := plan.ParseEdge([]string{r[0]})
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			want := 1
			if rows[i-1][1] == r[1] {
				want = 0
			}
			if got := strings.Compare(e.Order, before.Order); got != want {
				if bad++; bad <= 3 {
					t.Errorf("%s: X'%s' and X'%s' compare as %d, the server says %d", collation, r[0], rows[i-1][0], got, want)
				}
			}
		}
		before = e
	}
	if bad > 3 {
		t.Errorf("%s: %d of %d neighbours", collation, bad, len(rows))
	}
}
