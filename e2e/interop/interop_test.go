package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const rows = 200

// source makes a table with the ids from 1 to rows.
func source(t testing.TB, db string) []string {
	t.Helper()
	s := judge.MySQL(t)
	judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db, "CREATE TABLE "+db+".things (id BIGINT NOT NULL PRIMARY KEY, part VARCHAR(5) NOT NULL, n INT, v VARCHAR(30))",
		fmt.Sprintf(`INSERT INTO %s.things WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i, CONCAT('p', i %% 2), i, 'first' FROM n`, db, rows))
	return harness.SourceEnv(s, db)
}

func change(t testing.TB, db, statement string) {
	t.Helper()
	judge.Exec(t, judge.MySQL(t), strings.ReplaceAll(statement, "things", db+".things"))
}

const columns = "id BIGINT NOT NULL, part STRING NOT NULL, n INT, v STRING"

func script(name string, tableOptions ...string) string {
	return harness.Settings(name, "200ms") +
		harness.MySQLTable("src", columns+", PRIMARY KEY (id) NOT ENFORCED", "things") + harness.LakeDatabase +
		harness.LakeTable("things", columns+", PRIMARY KEY (part, id) NOT ENFORCED", "PARTITIONED BY (part)",
			append([]string{"bucket", "2", "bucket-key", "id"}, tableOptions...)...) +
		"INSERT INTO things SELECT * FROM default_catalog.default_database.src;\n"
}

// row is a row of the lake as both readers give it.
func row(id int, v string) judge.Row {
	n := json.Number(fmt.Sprint(id))
	return judge.Row{"id": n, "part": fmt.Sprintf("p%d", id%2), "n": n, "v": v}
}

// text writes rows as Java's write command takes them.
func text(rows ...judge.Row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.Line() + "\n")
	}
	return b.String()
}

// state is what the lake must hold, by id.
type state map[int]string

func (s state) set(from, to int, v string) {
	for i := from; i <= to; i++ {
		s[i] = v
	}
}

func (s state) rows() []judge.Row {
	var out []judge.Row
	for id, v := range s {
		out = append(out, row(id, v))
	}
	return out
}

// TestPaimonGoesOn lets Java append to and compact a table that leat began, and
// leat go on after each: changes of one key count in order of commit, whoever made them.
func TestPaimonGoesOn(t *testing.T) {
	t.Parallel()
	const db = "interop_began"
	j := harness.NewJob(t, script("began", "changelog-producer", "input"), source(t, db)...)
	lake, java := j.Lake("d.things"), judge.Java(t)
	j.CatchUp()
	want := state{}
	want.set(1, rows, "first")
	lake.CheckRows(t, want.rows())

	var written []judge.Row
	for id := 1; id <= 20; id++ { // keys that leat wrote, with what they hold
		written = append(written, judge.Row{"_kind": "-U", "id": row(id, "")["id"], "part": row(id, "")["part"], "n": row(id, "")["n"], "v": "first"}, row(id, "java"))
		written[len(written)-1]["_kind"] = "+U"
	}
	for id := 1001; id <= 1020; id++ {
		written = append(written, row(id, "java"))
	}
	java.Write(t, lake.Warehouse, lake.Table, "java", 1, kinds(written))
	want.set(1, 20, "java")
	want.set(1001, 1020, "java")
	lake.CheckRows(t, want.rows())

	change(t, db, "UPDATE things SET v = 'second' WHERE id <= 10")
	j.CatchUp()
	want.set(1, 10, "second")
	lake.CheckRows(t, want.rows())

	java.Compact(t, lake.Warehouse, lake.Table)
	lake.CheckRows(t, want.rows())
	change(t, db, "UPDATE things SET v = 'third' WHERE id BETWEEN 5 AND 30")
	change(t, db, "DELETE FROM things WHERE id BETWEEN 8 AND 9")
	j.CatchUp()
	want.set(5, 30, "third")
	delete(want, 8)
	delete(want, 9)
	lake.CheckRows(t, want.rows())

	java.Write(t, lake.Warehouse, lake.Table, "java", 2, text(row(8, "back")))
	want[8] = "back"
	lake.CheckRows(t, want.rows())
	java.Expire(t, lake.Warehouse, lake.Table)
	lake.CheckRows(t, want.rows())
}

// kinds writes rows with their kind.
func kinds(rows []judge.Row) string {
	var b strings.Builder
	for _, r := range rows {
		line := r.Line()
		fmt.Fprintf(&b, `{"_kind":%q,%s`+"\n", r.Kind(), line[1:])
	}
	return b.String()
}

// TestLeatGoesOn begins on a table that Java made and filled, with an option that
// leat does not act by.
func TestLeatGoesOn(t *testing.T) {
	t.Parallel()
	const db = "interop_java"
	j := harness.NewJob(t, script("java", "changelog-producer", "none"), source(t, db)...)
	lake, java := j.Lake("d.things"), judge.Java(t)
	java.Create(t, lake.Warehouse, lake.Table, `{"fields":[{"name":"id","type":"BIGINT NOT NULL"},{"name":"part","type":"STRING NOT NULL"},{"name":"n","type":"INT"},{"name":"v","type":"STRING"}],
		"primaryKeys":["part","id"],"partitionKeys":["part"],"options":{"bucket":"2","bucket-key":"id","file.format":"parquet"}}`)
	var filled []judge.Row
	for id := 150; id < 260; id++ {
		filled = append(filled, row(id, "java"))
	}
	for n := range 3 { // several files, so that sequence numbers differ over them
		java.Write(t, lake.Warehouse, lake.Table, "java", int64(n+1), text(filled[:len(filled)-n*20]...))
	}
	j.CatchUp()
	want := state{}
	want.set(201, 259, "java")
	want.set(1, rows, "first")
	lake.CheckRows(t, want.rows())

	change(t, db, "UPDATE things SET v = 'second' WHERE id >= 190")
	change(t, db, "UPDATE things SET part = 'p7', v = 'moved' WHERE id = 3")
	j.CatchUp()
	want.set(190, rows, "second")
	expect := want.rows()
	for i := range expect {
		if expect[i].Int("id") == 3 {
			expect[i]["part"], expect[i]["v"] = "p7", "moved"
		}
	}
	lake.CheckRows(t, expect)
	java.Compact(t, lake.Warehouse, lake.Table)
	lake.CheckRows(t, expect)
}

// TestAppendTableInTurn writes an append table by leat and Java in turn.
func TestAppendTableInTurn(t *testing.T) {
	t.Parallel()
	generate := func(name string, from, to int) string {
		return harness.Settings(name, "200ms") + "CREATE TEMPORARY TABLE gen (id BIGINT) WITH (" + harness.Options("connector", "datagen",
			"fields.id.kind", "sequence", "fields.id.start", fmt.Sprint(from), "fields.id.end", fmt.Sprint(to)) + ");\n" + harness.LakeDatabase +
			harness.LakeTable("numbers", "id BIGINT", "", "bucket", "-1") + "INSERT INTO numbers SELECT id FROM default_catalog.default_database.gen;\n"
	}
	j := harness.NewJob(t, generate("one", 1, 1000))
	lake, java := j.Lake("d.numbers"), judge.Java(t)
	j.MustRun()
	java.Write(t, lake.Warehouse, lake.Table, "java", 1, `{"id":1001}`+"\n"+`{"id":1002}`)
	j.SetScript(generate("two", 1003, 1500))
	j.MustRun()
	java.Compact(t, lake.Warehouse, lake.Table)
	var want []judge.Row
	for id := 1; id <= 1500; id++ {
		want = append(want, judge.Row{"id": json.Number(fmt.Sprint(id))})
	}
	lake.CheckRows(t, want)
}
