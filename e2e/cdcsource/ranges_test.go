package cdcsource

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"leat/cdc/mysqlrow"
	"leat/internal/mysqld"
)

// keyKind is a key of a kind of its own, and how its values are made, as SQL.
type keyKind struct {
	name, ddl string
	value     func(rng *rand.Rand) string
	// scan says that the server reads the ranges without its index.
	scan bool
}

func text(rng *rand.Rand) string { return fmt.Sprintf("_utf8mb4 X'%X'", randomText(rng)) }

func raw(rng *rand.Rand) string {
	b := make([]byte, rng.IntN(5))
	for i := range b {
		b[i] = byte(rng.IntN(4) * 85)
	}
	return fmt.Sprintf("X'%X'", b)
}

func number(bits int) func(*rand.Rand) string {
	return func(rng *rand.Rand) string { return fmt.Sprint(rng.Uint64() >> (64 - bits) >> rng.IntN(bits)) }
}

func oneOf(list ...string) func(*rand.Rand) string {
	return func(rng *rand.Rand) string { return list[rng.IntN(len(list))] }
}

// day makes dates, of which some do not exist.
func day(rng *rand.Rand) string {
	return fmt.Sprintf("%04d-%02d-%02d", 1990+rng.IntN(40), rng.IntN(13), rng.IntN(32))
}

func moment(rng *rand.Rand) string {
	return fmt.Sprintf("'%s %02d:%02d:%02d.%06d'", day(rng), rng.IntN(24), rng.IntN(60), rng.IntN(60), rng.IntN(1_000_000))
}

var keyKinds = []keyKind{
	{name: "bigint", ddl: "k BIGINT", value: func(rng *rand.Rand) string { return fmt.Sprint(int64(rng.Uint64()) >> rng.IntN(64)) }},
	{name: "unsigned", ddl: "k BIGINT UNSIGNED", value: number(64)},
	{name: "zerofill", ddl: "k INT(9) ZEROFILL", value: number(32)},
	{name: "decimal", ddl: "k DECIMAL(20,7)", value: func(rng *rand.Rand) string { return fmt.Sprintf("%d.%07d", rng.Int64N(2e12)-1e12, rng.IntN(1e7)) }},
	{name: "wide decimal", ddl: "k DECIMAL(65,30)", value: func(rng *rand.Rand) string { return fmt.Sprintf("%d.%018d", rng.Int64()-rng.Int64(), rng.Int64N(1e18)) }},
	{name: "small decimal", ddl: "k DECIMAL(3,3) UNSIGNED", value: func(rng *rand.Rand) string { return fmt.Sprintf("0.%03d", rng.IntN(1000)) }},
	{name: "float", ddl: "k FLOAT", value: func(rng *rand.Rand) string { return fmt.Sprint(float32(rng.NormFloat64() * 1e3)) }},
	{name: "double", ddl: "k DOUBLE", value: func(rng *rand.Rand) string { return fmt.Sprintf("%.17fe%d", rng.NormFloat64(), rng.IntN(300)-150) }},
	{name: "date", ddl: "k DATE", value: func(rng *rand.Rand) string { return "'" + day(rng) + "'" }},
	{name: "datetime", ddl: "k DATETIME(6)", value: moment},
	{name: "seconds", ddl: "k DATETIME", value: moment},
	{name: "timestamp", ddl: "k TIMESTAMP(3)", value: func(rng *rand.Rand) string {
		return fmt.Sprintf("FROM_UNIXTIME(%d.%03d)", rng.Int64N(1<<31-1), rng.IntN(1000))
	}},
	{name: "time", ddl: "k TIME(4)", value: func(rng *rand.Rand) string {
		return fmt.Sprintf("'%s%d:%02d:%02d.%04d'", oneOf("", "-")(rng), rng.IntN(830), rng.IntN(60), rng.IntN(60), rng.IntN(1e4))
	}},
	{name: "year", ddl: "k YEAR", value: func(rng *rand.Rand) string { return fmt.Sprint(1901 + rng.IntN(255)) }},
	{name: "bit", ddl: "k BIT(64)", value: number(64)},
	{name: "few bits", ddl: "k BIT(11)", value: number(11)},
	{name: "binary", ddl: "k BINARY(4)", value: raw},
	{name: "varbinary", ddl: "k VARBINARY(9)", value: raw},
	{name: "enum", ddl: "k ENUM('z','b','a','y','c')", value: oneOf("'z'", "'b'", "'a'", "'y'", "'c'")},
	{name: "set", ddl: "k SET('z','b','a','y','c')", value: number(5), scan: true},
	{name: "uuid", ddl: "k CHAR(36) CHARACTER SET ascii", value: func(rng *rand.Rand) string {
		return fmt.Sprintf("'%08x-%04x-4%03x-8%03x-%012x'", rng.Uint32(), rng.Uint32()>>16, rng.Uint32()>>20, rng.Uint32()>>20, rng.Uint64()>>16)
	}},
	{name: "general", ddl: "k VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", value: text},
	{name: "unicode", ddl: "k VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", value: text},
	{name: "bin", ddl: "k CHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", value: text},
	{name: "swedish", ddl: "k VARCHAR(64) CHARACTER SET latin1 COLLATE latin1_swedish_ci", value: text},
	{name: "utf16", ddl: "k VARCHAR(64) CHARACTER SET utf16 COLLATE utf16_unicode_ci", value: text},
	{name: "sjis", ddl: "k VARCHAR(64) CHARACTER SET sjis", value: text},
	{name: "nopad", ddl: "k VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci", value: text},
	{name: "levels", ddl: "k VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs", value: text},
	{name: "two texts", ddl: "k VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs, l VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", value: func(rng *rand.Rand) string {
		return oneOf("'a'", "'A'", "'a '", "'ä'", "'b'", "''")(rng) + ", " + oneOf("'a'", "'A  '", "'a\t'", "'ä'", "'b'", "''")(rng)
	}},
	{name: "mixed", ddl: "k VARCHAR(9) CHARACTER SET latin1, l VARBINARY(9), m DECIMAL(4,2), n INT", value: func(rng *rand.Rand) string {
		return strings.Join([]string{oneOf("'a'", "'A '", "'a\t'", "'b'")(rng), oneOf("X''", "X'00'", "X'0000'", "X'0001'", "X'61'")(rng), oneOf("-1.5", "1.5")(rng), fmt.Sprint(rng.IntN(3))}, ", ")
	}},
	{name: "skewed", ddl: "k INT, l INT, m INT", value: func(rng *rand.Rand) string { return fmt.Sprintf("%d, %d, %d", rng.IntN(3), rng.IntN(3), rng.IntN(300)) }},
}

// keyColumns describes the columns of a table, and gives its plan.
func columnsOf(t *testing.T, rows [][]string) []mysqlrow.Column {
	t.Helper()
	var cols []mysqlrow.Column
	for _, r := range rows {
		c := mysqlrow.Column{Name: r[0], DataType: r[1], ColumnType: r[2], Charset: r[6], Collation: r[7]}
		for i, to := range map[int]*int{4: &c.Precision, 5: &c.Scale} {
			_, _ = fmt.Sscan(r[i], to)
		}
		_, _ = fmt.Sscan(r[3], &c.Length)
		if ok, why := mysqlrow.CutBy(c); !ok {
			t.Fatal(why)
		}
		cols = append(cols, c)
	}
	return cols
}

// TestRangesAreThoseOfTheServer cuts tables with keys of all kinds at random
// edges: the rows that the server finds between two of them must be those whose
// order form lies there, by its index, and in its order.
func TestRangesAreThoseOfTheServer(t *testing.T) {
	for name, s := range map[string]*mysqld.Server{"mysql": gtidServer, "mariadb": mariaServer} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Log("seed", seed)
			rng := rand.New(rand.NewPCG(seed, 1))
			if err := s.Exec("DROP DATABASE IF EXISTS edges", "CREATE DATABASE edges"); err != nil {
				t.Fatal(err)
			}
			for _, k := range keyKinds {
				if s == mariaServer && strings.Contains(k.ddl, "0900") {
					continue
				}
				t.Run(k.name, func(t *testing.T) { checkRanges(t, s, rng, k) })
			}
		})
	}
}

func checkRanges(t *testing.T, s *mysqld.Server, rng *rand.Rand, k keyKind) {
	c, err := s.Connect("edges")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, sql := range mysqlrow.SessionStatements() {
		query(t, c, sql)
	}
	names := strings.Join(slices.Collect(func(yield func(string) bool) {
		for def := range strings.SplitSeq(k.ddl, ", ") {
			if n, _, _ := strings.Cut(def, " "); len(n) == 1 && !yield(n) {
				return
			}
		}
	}), ", ")
	table := "`" + k.name + "`"
	query(t, c, "CREATE TABLE "+table+" ("+k.ddl+", filler CHAR(200) NOT NULL DEFAULT '', PRIMARY KEY ("+names+"))")
	values := make([]string, 600)
	for i := range values {
		values[i] = "(" + k.value(rng) + ", '')"
	}
	query(t, c, "INSERT IGNORE INTO "+table+" VALUES "+strings.Join(values, ", "))
	query(t, c, "ANALYZE TABLE "+table)
	plan := keyPlan(t, columnsOf(t, query(t, c, `SELECT COLUMN_NAME, LOWER(DATA_TYPE), COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE,
 CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'edges' AND TABLE_NAME = '`+k.name+`' AND COLUMN_NAME <> 'filler' ORDER BY ORDINAL_POSITION`))...)
	selects, order := strings.Join(plan.KeySelect(), ", "), strings.Join(plan.KeyColumns(), ", ")
	var edges []mysqlrow.Edge
	for _, texts := range query(t, c, "SELECT "+selects+" FROM "+table+" ORDER BY "+order) {
		e, err := plan.ParseEdge(texts)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(edges); n > 0 && edges[n-1].Order >= e.Order {
			t.Fatalf("%v comes behind %v", e.Texts, edges[n-1].Texts)
		}
		edges = append(edges, e)
	}
	for range 25 {
		i := rng.IntN(len(edges))
		j := i + 1 + rng.IntN(len(edges)-i)
		var lo, hi mysqlrow.Edge
		want := edges
		if rng.IntN(8) > 0 {
			lo, want = edges[i], edges[i+1:]
		}
		if j < len(edges) && rng.IntN(8) > 0 {
			hi, want = edges[j], want[:len(want)-(len(edges)-1-j)]
		}
		where := plan.Between(lo, hi)
		found := map[string]int{}
		for _, texts := range query(t, c, "SELECT "+selects+" FROM "+table+" WHERE "+where) {
			found[strings.Join(texts, "|")]++
		}
		expect := map[string]int{}
		for _, e := range want {
			expect[strings.Join(e.Texts, "|")]++
		}
		if !maps.Equal(found, expect) {
			t.Fatalf("%s: %d rows, want %d", where, len(found), len(expect))
		}
		if explain := query(t, c, "EXPLAIN SELECT "+selects+" FROM "+table+" WHERE "+where+" ORDER BY "+order+" LIMIT 1 OFFSET 9"); s != mariaServer && strings.Contains(fmt.Sprint(explain), "-> Sort") {
			t.Errorf("%s: the server sorts: %v", where, explain)
		}
	}
	// A narrow range must not read the table.
	mid := len(edges) / 2
	where := plan.Between(edges[mid], edges[min(mid+3, len(edges)-1)])
	if explain := fmt.Sprint(query(t, c, "EXPLAIN SELECT * FROM "+table+" WHERE "+where)); !k.scan && len(edges) > 100 && !strings.Contains(explain, "range scan on") && !strings.Contains(explain, "range PRIMARY") {
		t.Errorf("%s: the server does not use the index: %s", where, explain)
	}
}
