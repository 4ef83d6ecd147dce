package nested

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/commit"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// common are columns that both judges read; PyPaimon knows no MULTISET.
const common = `{"name":"id","type":"INT NOT NULL"},
 {"name":"lists","type":{"type":"ARRAY","element":{"type":"ARRAY","element":"STRING"}}},
 {"name":"ints","type":{"type":"ARRAY","element":"INT NOT NULL"}},
 {"name":"named","type":{"type":"MAP","key":"STRING NOT NULL","value":{"type":"ARRAY","element":"BIGINT"}}},
 {"name":"deep","type":{"type":"ROW","fields":[{"id":100,"name":"a","type":"INT"},{"id":101,"name":"b","type":{"type":"ROW","fields":[{"id":102,"name":"c","type":"DECIMAL(20, 3)"},{"id":103,"name":"d","type":"TIMESTAMP(9)"}]}}]}},
 {"name":"rows","type":{"type":"ARRAY","element":{"type":"ROW","fields":[{"id":110,"name":"x","type":"DOUBLE"},{"id":111,"name":"y","type":"TIMESTAMP(9)"},{"id":112,"name":"z","type":"BOOLEAN"}]}}}`

const multiset = `,{"name":"bag","type":{"type":"MULTISET","element":"STRING NOT NULL"}},
 {"name":"bags","type":{"type":"MAP","key":"INT NOT NULL","value":{"type":"MULTISET","element":"INT NOT NULL"}}}`

func definition(columns, key, options string) string {
	return fmt.Sprintf(`{"fields":[%s],"primaryKeys":[%s],"partitionKeys":[],"options":{%s}}`, columns, key, options)
}

// maker makes rows in the JSON form of the oracle.
type maker struct{ rnd *rand.Rand }

func (m maker) maybe(v any) any {
	if m.rnd.IntN(5) == 0 {
		return nil
	}
	return v
}

// time gives a time from 1852 to 2155 without nanoseconds, which PyPaimon cuts off.
func (m maker) time() any {
	year := 1852 + m.rnd.IntN(304)
	return m.maybe(fmt.Sprintf("%d-%02d-%02dT%02d:%02d:%02d.%06d000", year, 1+m.rnd.IntN(12), 1+m.rnd.IntN(28), m.rnd.IntN(24), m.rnd.IntN(60), m.rnd.IntN(60), m.rnd.IntN(1e6)))
}

func (m maker) list(n int, entry func(i int) any) any {
	out := make([]any, m.rnd.IntN(n+1))
	for i := range out {
		out[i] = entry(i)
	}
	return m.maybe(out)
}

func (m maker) row(id int, bags bool) judge.Row {
	word := func(int) any { return m.maybe([]string{"", "a", "é中", "😀", "longer text"}[m.rnd.IntN(5)]) }
	number := func(int) any { return m.maybe(m.rnd.Int64() >> m.rnd.IntN(60)) }
	r := judge.Row{
		"id":    id,
		"lists": m.list(4, func(int) any { return m.list(3, word) }),
		"ints":  m.list(9, func(i int) any { return i - m.rnd.IntN(1000) }),
		"named": m.list(3, func(i int) any { return []any{fmt.Sprint("k", i), m.list(3, number)} }),
		"deep":  m.maybe(map[string]any{"a": number(0), "b": m.maybe(map[string]any{"c": m.maybe(fmt.Sprintf("%d.%03d", m.rnd.Int64()>>9, m.rnd.IntN(1000))), "d": m.time()})}),
		"rows": m.list(3, func(int) any {
			return m.maybe(map[string]any{"x": m.maybe(float64(m.rnd.IntN(1e6)) / 64), "y": m.time(), "z": m.maybe(m.rnd.IntN(2) == 0)})
		}),
	}
	if d, ok := r["deep"].(map[string]any); ok && d["a"] != nil {
		d["a"] = m.rnd.IntN(100)
	}
	if bags {
		r["bag"] = m.list(3, func(i int) any { return []any{fmt.Sprint("b", i), 1 + m.rnd.IntN(3)} })
		r["bags"] = m.list(2, func(i int) any { return []any{i, m.list(3, func(j int) any { return []any{j, 1} })} })
	}
	return r
}

func (m maker) text(from, to int, bags bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	for id := from; id < to; id++ {
		if err := e.Encode(m.row(id, bags)); err != nil {
			panic(err)
		}
	}
	return b.String()
}

// writer writes a table with leat.
type writer struct {
	t    testing.TB
	tab  *lakehouse.Table
	w    *lakehouse.Writer
	c    *commit.Committer
	user string
	id   int64
}

func open(t testing.TB, lake harness.Lake) *lakehouse.Table {
	t.Helper()
	db, name, _ := strings.Cut(lake.Table, ".")
	tab, err := lakehouse.Open(t.Context(), local.New(), filepath.Join(lake.Warehouse, db+".db", name))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func newWriter(t testing.TB, lake harness.Lake) *writer {
	t.Helper()
	x := &writer{t: t, tab: open(t, lake), user: uuid.NewString()}
	attempt := uuid.NewString()
	var err error
	if x.w, err = x.tab.NewWriter(t.Context(), lakehouse.WriteConfig{Attempt: attempt, User: x.user, Pool: lakehouse.NewWorkPool(2)}); err != nil {
		t.Fatal(err)
	}
	x.c = commit.New(x.tab.FS, x.tab.Path, x.tab.Schema, commit.Options{Attempt: attempt}, nil)
	return x
}

// copy takes over the whole state of a table in one commit.
func (x *writer) copy(from *lakehouse.Table) {
	x.t.Helper()
	err := from.Scan(x.t.Context(), lakehouse.ScanOptions{}, func(b *columnar.Batch) error {
		b.Retain() // the writer takes a reference over
		return x.w.Write(x.t.Context(), b)
	})
	if err != nil {
		x.t.Fatal(err)
	}
	x.commit()
}

// write writes rows and commits them.
func (x *writer) write(rows []judge.Row) {
	x.t.Helper()
	if err := x.w.Write(x.t.Context(), batchOf(x.t, x.tab.Schema.Columns(), rows)); err != nil {
		x.t.Fatal(err)
	}
	x.commit()
}

func (x *writer) commit() {
	x.t.Helper()
	ctx := x.t.Context()
	x.id++
	p, err := x.w.Prepare(ctx, x.id)
	if err != nil {
		x.t.Fatal(err)
	}
	msgs, err := p.Wait(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	ids, err := x.c.Commit(ctx, commit.Request{User: x.user, Identifier: x.id, Messages: msgs})
	if err != nil {
		x.t.Fatal(err)
	}
	if err := x.w.Committed(ctx, x.id, ids, false); err != nil {
		x.t.Fatal(err)
	}
}

func (x *writer) close() {
	x.t.Helper()
	if err := x.w.Close(x.t.Context()); err != nil {
		x.t.Fatal(err)
	}
}

// rows reads the latest snapshot of a table with leat.
func rows(t testing.TB, tab *lakehouse.Table) []judge.Row {
	t.Helper()
	var out []judge.Row
	err := tab.Scan(t.Context(), lakehouse.ScanOptions{}, func(b *columnar.Batch) error {
		for i := range b.Rows() {
			r := judge.Row{}
			for c, f := range b.Schema.Fields {
				r[f.Name] = shown(b.Cols[c], i, f.Type)
			}
			out = append(out, r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNestedColumnsOfJavaWrittenAnew copies tables of Java, updates included,
// and has both judges read the copies, before and after Java compacted them.
func TestNestedColumnsOfJavaWrittenAnew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, key, options string
		bags               bool
	}{
		{"avro", `"id"`, `"bucket":"1","file.format":"avro","num-sorted-run.compaction-trigger":"2"`, true},
		{"avro_python", `"id"`, `"bucket":"1","file.format":"avro"`, false},
		{"avro_events", "", `"bucket":"-1","file.format":"avro"`, true},
		{"avro_levels", `"id"`, `"bucket":"1","file.format":"orc","file.format.per.level":"0:avro,5:parquet","changelog-producer":"lookup","changelog-file.format":"avro"`, true},
		{"keyed", `"id"`, `"bucket":"1","num-sorted-run.compaction-trigger":"2"`, false},
		{"events", "", `"bucket":"-1"`, false},
		{"orc", `"id"`, `"bucket":"1","file.format":"orc"`, true},
		{"bags", `"id"`, `"bucket":"2","changelog-producer":"lookup","changelog-producer.row-deduplicate":"true"`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			java, wh := judge.Java(t), t.TempDir()
			columns := common
			if c.bags {
				columns += multiset
			}
			origin := `"bucket":"1"`
			if strings.HasPrefix(c.name, "avro") {
				// Avro has no nanoseconds, and Java reads no multiset of numbers from it.
				columns = strings.NewReplacer("TIMESTAMP(9)", "TIMESTAMP(6)", `"MULTISET","element":"INT NOT NULL"`, `"MULTISET","element":"STRING NOT NULL"`).Replace(columns)
				origin += `,"file.format":"avro"`
			}
			source := harness.Lake{Warehouse: wh, Table: "d.source_" + c.name}
			lake := harness.Lake{Warehouse: wh, Table: "d." + c.name}
			java.Create(t, wh, source.Table, definition(columns, `"id"`, origin))
			java.Create(t, wh, lake.Table, definition(columns, c.key, c.options))
			m := maker{rnd: rand.New(rand.NewPCG(5, 1))}
			java.Write(t, wh, source.Table, "u", 1, m.text(0, 200, c.bags))
			from, x := open(t, source), newWriter(t, lake)
			x.copy(from)
			want := java.Rows(t, wh, source.Table)
			if c.key != "" {
				java.Write(t, wh, source.Table, "u", 2, m.text(100, 300, c.bags))
				x.copy(from)
				x.copy(from)
				want = java.Rows(t, wh, source.Table)
			}
			x.close()
			check := lake.CheckRows
			if c.bags {
				check = lake.CheckJava
			}
			check(t, want)
			if strings.Contains(c.options, "lookup") {
				lake.CheckChangelog(t, want, "id")
			}
			checkStats(t, lake)
			java.Compact(t, wh, lake.Table)
			lake.CheckJava(t, want)
		})
	}
}

// checkStats wants of nested columns what Java keeps: nothing in Parquet files, null counts in those of ORC and Avro.
func checkStats(t *testing.T, lake harness.Lake) {
	t.Helper()
	files := judge.Java(t).Files(t, lake.Warehouse, lake.Table)
	for _, f := range files {
		line := f.Line()
		counted := !strings.Contains(line, ".parquet")
		if named := strings.Contains(line, `"ints"`); named != counted {
			t.Errorf("statistics of a file: %s", line)
		}
	}
	if len(files) == 0 {
		t.Error("no files")
	}
}

// TestSetColumnOfMySQL brings a SET column into a table as ARRAY<STRING>.
func TestSetColumnOfMySQL(t *testing.T) {
	t.Parallel()
	const db = "nested_set"
	s := judge.MySQL(t)
	judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db, "CREATE TABLE "+db+".things (id INT NOT NULL PRIMARY KEY, tags SET('red','green','x y'))",
		"INSERT INTO "+db+".things VALUES (1, 'red,x y'), (2, ''), (3, NULL), (4, 'green')")
	j := harness.NewJob(t, harness.Settings("tags", "200ms")+
		harness.MySQLTable("src", "id INT NOT NULL, tags ARRAY<STRING>, PRIMARY KEY (id) NOT ENFORCED", "things")+harness.LakeDatabase+
		harness.LakeTable("things", "id INT NOT NULL, tags ARRAY<STRING>, PRIMARY KEY (id) NOT ENFORCED", "", "bucket", "1")+
		"INSERT INTO things SELECT id, tags FROM default_catalog.default_database.src;\n", harness.SourceEnv(s, db)...)
	j.CatchUp()
	row := func(id int, tags any) judge.Row { return judge.Row{"id": json.Number(fmt.Sprint(id)), "tags": tags} }
	j.Lake("d.things").CheckJava(t, []judge.Row{row(1, []any{"red", "x y"}), row(2, []any{}), row(3, nil), row(4, []any{"green"})})
	judge.Exec(t, s, "UPDATE "+db+".things SET tags = 'red,green' WHERE id IN (2, 3)", "DELETE FROM "+db+".things WHERE id = 1")
	j.CatchUp()
	j.Lake("d.things").CheckRows(t, []judge.Row{row(2, []any{"red", "green"}), row(3, []any{"red", "green"}), row(4, []any{"green"})})
}
