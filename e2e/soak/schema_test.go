package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"leat/e2e/judge"
	"leat/internal/mysqld"
)

// column is a column of a table of the source.
type column struct {
	kind
	name string
	null bool
	// unread columns stand in no script.
	unread bool
}

// key is a form of primary key.
type key struct {
	name    string
	columns []column
	// literal gives the columns of key number k.
	literal func(k int) []string
	// flips says that a statement may change the case of the first column.
	flips bool
}

func keyColumn(name, sql, lake string) column {
	return column{name: name, kind: kind{sql: sql, lake: lake}}
}

var keys = []key{
	{name: "number", columns: []column{keyColumn("id", "BIGINT", "BIGINT")}, literal: func(k int) []string { return []string{fmt.Sprint(int64(k)*1_000_003 - 50_000_000)} }},
	{name: "unsigned", columns: []column{keyColumn("id", "BIGINT UNSIGNED", "DECIMAL(20,0)")}, literal: func(k int) []string {
		return []string{fmt.Sprint(uint64(18446744073709551615) - uint64(k)*900719925474)}
	}},
	{name: "text", flips: true, columns: []column{keyColumn("id", "VARCHAR(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", "STRING")}, literal: func(k int) []string { return []string{fmt.Sprintf("'Key é %d'", k)} }},
	{name: "latin", columns: []column{keyColumn("id", "CHAR(24) CHARACTER SET latin1 COLLATE latin1_bin", "STRING")}, literal: func(k int) []string { return []string{fmt.Sprintf("'kä%d'", k)} }},
	{name: "composite", columns: []column{keyColumn("line", "SMALLINT UNSIGNED", "INT"), keyColumn("code", "VARCHAR(12) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "STRING")}, literal: func(k int) []string {
		return []string{fmt.Sprint(k % 37), fmt.Sprintf("'c%d'", k/37)}
	}},
	{name: "bytes", columns: []column{keyColumn("id", "VARBINARY(16)", "BYTES")}, literal: func(k int) []string { return []string{fmt.Sprintf("X'%04X00FF'", k)} }},
	{name: "decimal", columns: []column{keyColumn("id", "DECIMAL(20,5)", "DECIMAL(20,5)"), keyColumn("day", "DATE", "DATE")}, literal: func(k int) []string {
		return []string{fmt.Sprintf("%d.00025", k-300), fmt.Sprintf("'2024-02-%02d'", 1+k%29)}
	}},
	{name: "moment", columns: []column{keyColumn("id", "DATETIME(6)", "TIMESTAMP(6)")}, literal: func(k int) []string { return []string{fmt.Sprintf("'2024-01-02 03:%02d:%02d.%06d'", k/60%60, k%60, k)} }},
}

// table is a table of the source whose states the ordered writer notes.
type table struct {
	name   string
	key    *key // nil without one
	cols   []column
	engine string
	sinks  []sink
	// rows is how many keys there are.
	rows int

	states []state
}

// state is what a table adds up to: rows, hashes, and numbers of transactions.
type state struct{ rows, hash, txn int64 }

// sink is a table of the lake that copies or sums up a table of the source.
type sink struct {
	name string
	// groups says that it holds sums by group instead of the rows.
	groups    bool
	partition bool
	changelog string
	options   []string
}

const groups = 7

// fixed are columns that every table has: group, hash, and the transaction that wrote the row last.
var fixed = []column{{name: "g", kind: kind{sql: "INT", lake: "INT"}}, {name: "h", kind: kind{sql: "BIGINT", lake: "BIGINT"}}, {name: "txn", kind: kind{sql: "BIGINT", lake: "BIGINT"}}}

func drawTable(r *rand.Rand, in *mysqld.Install, name string, keyed bool) *table {
	t := &table{name: name, rows: []int{20, 60, 150, 500}[r.IntN(4)]}
	if keyed {
		t.key = &keys[r.IntN(len(keys))]
		t.cols = slices.Clone(t.key.columns)
	}
	t.cols = append(t.cols, fixed...)
	for i := range 2 + r.IntN(9) {
		k := kinds[r.IntN(len(kinds))]
		if k.has != nil && !k.has(in) {
			continue
		}
		c := column{name: fmt.Sprintf("c%d", i), kind: k, null: r.IntN(4) > 0 || strings.Contains(k.sql, "NULL"), unread: r.IntN(6) == 0}
		t.cols = append(t.cols, c)
	}
	if r.IntN(3) == 0 { // the key need not come first
		r.Shuffle(len(t.cols), func(i, j int) { t.cols[i], t.cols[j] = t.cols[j], t.cols[i] })
	}
	if keyed {
		t.sinks = append(t.sinks, drawSink(r, name+"_copy"))
	}
	if !keyed || r.IntN(3) == 0 {
		t.sinks = append(t.sinks, drawSums(r, name+"_sums"))
	}
	return t
}

func drawSink(r *rand.Rand, name string) sink {
	s := sink{name: name, changelog: []string{"none", "input", "lookup", "lookup", "full-compaction"}[r.IntN(5)], partition: r.IntN(4) == 0}
	s.options = drawOptions(r, s.changelog)
	return s
}

// drawSums is a sink that sums up by group.
func drawSums(r *rand.Rand, name string) sink {
	s := sink{name: name, groups: true, changelog: []string{"none", "lookup", "full-compaction"}[r.IntN(3)]}
	s.options = append(drawOptions(r, s.changelog), "merge-engine", "aggregation", "fields.n.aggregate-function", "sum", "fields.h.aggregate-function", "sum", "fields.txn.aggregate-function", "sum")
	return s
}

func drawOptions(r *rand.Rand, changelog string) []string {
	options := []string{
		"bucket", []string{"1", "2", "3", "-1"}[r.IntN(4)], "changelog-producer", changelog,
		"write-buffer-size", []string{"64 kb", "256 kb", "4 mb"}[r.IntN(3)], "num-sorted-run.compaction-trigger", fmt.Sprint(2 + r.IntN(4)),
		"file.format", []string{"parquet", "parquet", "orc", "avro"}[r.IntN(4)],
	}
	if changelog == "lookup" && r.IntN(2) == 0 {
		options = append(options, "deletion-vectors.enabled", "true")
	}
	return options
}

// create is the DDL of the source.
func (t *table) create() string {
	var parts []string
	for _, c := range t.cols {
		null := " NOT NULL"
		if c.null {
			null = " NULL"
		}
		parts = append(parts, c.name+" "+strings.TrimSuffix(c.sql, " NULL")+null)
	}
	if t.key != nil {
		parts = append(parts, "PRIMARY KEY ("+strings.Join(t.keyNames(), ", ")+")")
	}
	engine := t.engine
	if engine == "" {
		engine = "InnoDB"
	}
	return fmt.Sprintf("CREATE TABLE %s (%s) ENGINE=%s DEFAULT CHARSET=utf8mb4", t.name, strings.Join(parts, ", "), engine)
}

func (t *table) keyNames() []string {
	if t.key == nil {
		return nil
	}
	var out []string
	for _, c := range t.key.columns {
		out = append(out, c.name)
	}
	return out
}

func (t *table) names() string {
	out := make([]string, len(t.cols))
	for i, c := range t.cols {
		out[i] = c.name
	}
	return strings.Join(out, ", ")
}

func (t *table) isKey(name string) bool { return slices.Contains(t.keyNames(), name) }

// lakeColumns are the columns of the script.
func (t *table) lakeColumns() string {
	var parts []string
	for _, c := range t.cols {
		if c.unread {
			continue
		}
		null := ""
		if !c.null {
			null = " NOT NULL"
		}
		parts = append(parts, c.name+" "+c.lake+null)
	}
	return strings.Join(parts, ", ")
}

// query reads the table as the lake has it.
func (t *table) query() string {
	var parts []string
	for _, c := range t.cols {
		if c.unread {
			continue
		}
		if c.read != "" {
			parts = append(parts, fmt.Sprintf(c.read, c.name)+" AS "+c.name)
		} else {
			parts = append(parts, c.name)
		}
	}
	return "SELECT " + strings.Join(parts, ", ") + " FROM " + database + "." + t.name
}

// alike brings rows of either side into one form, in place.
func (t *table) alike(rows []judge.Row) []judge.Row {
	for _, c := range t.cols {
		if c.form == nil {
			continue
		}
		for _, r := range rows {
			if v, there := r[c.name]; there && v != nil {
				r[c.name] = c.form(v)
			}
		}
	}
	return rows
}

// row is a random row of key number k, written by transaction txn.
func (t *table) row(r *rand.Rand, k int, txn int64) string {
	var literals []string
	if t.key != nil {
		literals = t.key.literal(k)
	}
	var parts []string
	for _, c := range t.cols {
		switch {
		case t.isKey(c.name):
			i := slices.Index(t.keyNames(), c.name)
			parts = append(parts, literals[i])
		case c.name == "g":
			parts = append(parts, fmt.Sprint(r.IntN(groups)))
		case c.name == "h":
			parts = append(parts, fmt.Sprint(r.Uint32()))
		case c.name == "txn":
			parts = append(parts, fmt.Sprint(txn))
		default:
			parts = append(parts, c.literal(r))
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func (c column) literal(r *rand.Rand) string {
	if c.null && r.IntN(6) == 0 {
		return "NULL"
	}
	return c.value(r)
}

// where is the condition of key number k; without a key, of a group and some hashes.
func (t *table) where(r *rand.Rand, k int) string {
	if t.key == nil {
		return fmt.Sprintf("g = %d AND h %% 13 = %d", r.IntN(groups), r.IntN(13))
	}
	var parts []string
	for i, lit := range t.key.literal(k) {
		parts = append(parts, t.key.columns[i].name+" = "+lit)
	}
	return strings.Join(parts, " AND ")
}

// payload are the columns that a statement may set at will.
func (t *table) payload() []column {
	return slices.DeleteFunc(slices.Clone(t.cols), func(c column) bool { return c.value == nil })
}

// expression gives the key of the number in the variable @k; only keys of one
// column have one.
func (k *key) expression() string {
	const n = "CAST(@k AS UNSIGNED)"
	switch k.name {
	case "number":
		return "CAST(@k AS SIGNED) * 1000003 - 50000000"
	case "unsigned":
		return "18446744073709551615 - " + n + " * 900719925474"
	case "text":
		return "CONCAT('Key é ', @k)"
	case "latin":
		return "CONCAT('kä', @k)"
	case "bytes":
		return "CONCAT(UNHEX(LPAD(HEX(" + n + "), 4, '0')), X'00FF')"
	default: // moment
		return "TIMESTAMP('2024-01-02 03:00:00') + INTERVAL (" + n + " % 3600) SECOND + INTERVAL " + n + " MICROSECOND"
	}
}
