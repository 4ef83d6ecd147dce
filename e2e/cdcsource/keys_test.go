package cdcsource

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/mysqld"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// shape is a table of another form, with statements that change it.
type shape struct {
	name   string
	ddl    string
	fields []columnar.Field
	fill   []string
	change []string
	whole  bool
	chunk  string
}

func field(name string, kind columnar.DataType) columnar.Field {
	return columnar.Field{Name: name, Type: kind}
}

var shapes = []shape{
	{
		name: "generated", ddl: "(id INT PRIMARY KEY, a INT, g INT AS (a + 1) VIRTUAL, s INT AS (a * 2) STORED, v INT INVISIBLE, INDEX ((a + 5)))",
		fields: []columnar.Field{field("id", columnar.Of(columnar.Int)), field("s", columnar.Of(columnar.Int)), field("g", columnar.Of(columnar.Int)), field("v", columnar.Of(columnar.Int))},
		fill:   []string{"INSERT INTO T (id, a, v) SELECT n, n, n FROM NUMBERS"},
		change: []string{"UPDATE T SET a = a + 1 WHERE v %% 3 = 0", "DELETE FROM T WHERE v %% 7 = 0", "UPDATE T SET v = v + 1 WHERE id < 100"},
	},
	{
		name: "partitioned", ddl: "(id INT, v INT, PRIMARY KEY (id, v)) PARTITION BY HASH (v) PARTITIONS 4",
		fields: []columnar.Field{field("v", columnar.Of(columnar.Int)), field("id", columnar.Of(columnar.Int))}, whole: true,
		fill:   []string{"INSERT INTO T SELECT n, n FROM NUMBERS"},
		change: []string{"UPDATE T SET v = v + 1 WHERE v %% 3 = 0", "DELETE FROM T WHERE v %% 7 = 0"},
	},
	{
		name: "unsigned", ddl: "(id BIGINT UNSIGNED PRIMARY KEY, v INT)",
		fields: []columnar.Field{field("id", columnar.DecimalOf(20, 0)), field("v", columnar.Of(columnar.Int))},
		fill:   []string{"INSERT INTO T SELECT CAST(n AS UNSIGNED) * 900719925474099, n FROM NUMBERS"},
		change: []string{"UPDATE T SET v = v + 1 WHERE v %% 3 = 0", "DELETE FROM T WHERE v %% 7 = 0", "INSERT IGNORE INTO T VALUES (18446744073709551615, 1), (0, 2)", "UPDATE T SET id = id + 1 WHERE v %% 5 = 0"},
	},
	{
		name: "negative", ddl: "(id INT PRIMARY KEY, v INT)",
		fields: []columnar.Field{field("id", columnar.Of(columnar.BigInt)), field("v", columnar.Of(columnar.BigInt))},
		fill:   []string{"INSERT INTO T SELECT n * 1000 - 900000, n FROM NUMBERS"},
		change: []string{"UPDATE T SET v = v + 1 WHERE v %% 3 = 0", "DELETE FROM T WHERE v %% 7 = 0", "UPDATE T SET id = -id WHERE v %% 5 = 0 AND id > 5000000 OR id = 1", "INSERT IGNORE INTO T VALUES (-2147483648, 1), (2147483647, 2), (0, 4)"},
	},
	{
		name: "composite", ddl: "(a INT, b VARCHAR(20), v INT, PRIMARY KEY (a, b))",
		fields: []columnar.Field{field("v", columnar.Of(columnar.Int)), field("a", columnar.Of(columnar.Int))},
		whole:  true,
		fill:   []string{"INSERT INTO T SELECT n DIV 10, CONCAT('k', n %% 10), n FROM NUMBERS"},
		change: []string{"UPDATE T SET v = v + 1 WHERE v %% 3 = 0", "DELETE FROM T WHERE v %% 7 = 0", "UPDATE T SET a = a + 1000000 WHERE b = 'k3' AND a < 900"},
	},
	{
		name: "text", ddl: "(id VARCHAR(30) PRIMARY KEY, v INT)",
		fields: []columnar.Field{field("id", columnar.DataType{Kind: columnar.VarChar, Nullable: true, Length: 30}), field("v", columnar.Of(columnar.Int))},
		fill:   []string{"INSERT INTO T SELECT CONCAT('Key', n), n FROM NUMBERS"},
		change: []string{"UPDATE T SET v = v + 1 WHERE v %% 3 = 0", "UPDATE T SET id = UPPER(id) WHERE v %% 4 = 0", "DELETE FROM T WHERE v %% 7 = 0"},
	},
	{
		name: "keyless", ddl: "(a INT, v INT)", whole: true,
		fields: []columnar.Field{field("a", columnar.Of(columnar.Int)), field("v", columnar.Of(columnar.Int))},
		fill:   []string{"INSERT INTO T SELECT n %% 100, n %% 5 FROM NUMBERS"},
		change: []string{"UPDATE T SET v = v + 1 WHERE a = 3", "DELETE FROM T WHERE a = 7 AND v = 2 LIMIT 5", "INSERT INTO T VALUES (1, 1), (1, 1)"},
	},
	{
		name: "expression", ddl: "(a INT NOT NULL, b INT NOT NULL, UNIQUE (a, (b % 1000003)))", whole: true,
		fields: []columnar.Field{field("a", columnar.Of(columnar.Int)), field("b", columnar.Of(columnar.Int))},
		fill:   []string{"INSERT INTO T SELECT n %% 100, n FROM NUMBERS"},
		change: []string{"UPDATE T SET b = b + 100000 WHERE a = 3 AND b < 900000", "DELETE FROM T WHERE a = 7 LIMIT 5", "INSERT IGNORE INTO T VALUES (1, -1), (2, -1)"},
	},
	{
		name: "unique", ddl: "(a INT, u INT NOT NULL UNIQUE, v INT)", chunk: "u",
		fields: []columnar.Field{field("u", columnar.Of(columnar.Int)), field("v", columnar.Of(columnar.Int))},
		fill:   []string{"INSERT INTO T SELECT n, n * 2, n FROM NUMBERS"},
		change: []string{"UPDATE T SET v = v + 1 WHERE a %% 3 = 0", "UPDATE T SET u = u + 1 WHERE a %% 5 = 0 AND u %% 2 = 0", "DELETE FROM T WHERE a %% 7 = 0"},
	},
}

// TestKeysOfAllForms reads all shapes through one reader and one connection,
// while each of them changes.
func TestKeysOfAllForms(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		cfg := config(s, db)
		for _, sh := range shapes {
			numbers := "(SELECT id DIV 10 AS n FROM " + db + ".accounts) x"
			ddl := sh.ddl
			if s == mariaServer || !s.Install.AtLeast(8, 0, 23) { // which have no indexes over expressions, or tell of their columns
				ddl = strings.NewReplacer(", INDEX ((a + 5))", "", ", UNIQUE (a, (b % 1000003))", "").Replace(ddl)
			}
			if !s.Install.AtLeast(8, 0, 23) {
				ddl = strings.Replace(ddl, " INVISIBLE", "", 1)
			}
			sql := []string{"CREATE TABLE " + db + "." + sh.name + " " + ddl}
			for _, q := range sh.fill {
				sql = append(sql, strings.NewReplacer("NUMBERS", numbers, " T ", " "+db+"."+sh.name+" ", "%%", "%").Replace(q))
			}
			if err := s.Exec(sql...); err != nil {
				t.Fatal(err)
			}
		}
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprint("whole ", whole), func(t *testing.T) { readShapes(t, s, db, cfg, whole) })
		}
	})
}

func readShapes(t *testing.T, s *mysqld.Server, db string, cfg cdc.Config, whole bool) {
	t.Helper()
	cfg.Tables = nil
	cfg.SnapshotBytes = 100_000 // less than two batches
	var names []string
	for _, sh := range shapes {
		if sh.whole == whole {
			names = append(names, sh.name)
			cfg.Tables = append(cfg.Tables, cdc.Table{Label: sh.name, Database: db, Name: sh.name, Schema: &columnar.Schema{Fields: sh.fields}, ChunkKey: sh.chunk})
		}
	}
	// One table twice: each port gets everything.
	cfg.Tables = append(cfg.Tables, cfg.Tables[0])
	empty := func() copies {
		var c copies
		for range cfg.Tables {
			c = append(c, map[string]string{})
		}
		return c
	}
	prepare := func(c *collector) { c.whole = whole }
	x := run(t, cfg, nil, empty(), prepare)
	for round := 0; ; round++ {
		for _, sh := range shapes {
			if sh.whole != whole {
				continue
			}
			q := sh.change[round%len(sh.change)]
			q = strings.NewReplacer(" T ", " "+db+"."+sh.name+" ", "%%", "%").Replace(q)
			if err := s.Exec(strings.Replace(q, "UPDATE T", "UPDATE "+db+"."+sh.name, 1)); err != nil && !contains(err.Error(), "Duplicate") {
				t.Fatal(err)
			}
		}
		if x.col.report().Complete && round > 8 {
			break
		}
		select {
		case err := <-x.done:
			t.Fatal(err)
		case <-time.After(30 * time.Millisecond):
		}
	}
	x.await("the stream is not caught up", func(st dataflow.SourceStatus) bool { return st.LagBytes == 0 && st.Lag == 0 })
	time.Sleep(100 * time.Millisecond)
	x.end()
	state, tables := x.col.pick(t)
	if state == nil {
		tables = empty()
	}
	got := catchUp(t, cfg, state, tables, prepare).tables
	if !maps.Equal(got[0], got[len(got)-1]) {
		t.Error("the two ports of one table differ")
	}
	// Nobody writes now: a snapshot alone is the truth, and its size is checked by SQL.
	still := cfg
	still.Startup.Mode = cdc.StartSnapshot
	want := run(t, still, nil, empty(), prepare)
	if err := want.err(); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if n := countOf(t, s, db, name); int64(n) != rowsIn(want.col.tables[i], whole) {
			t.Errorf("%s: the snapshot has %d rows, the table %d", name, rowsIn(want.col.tables[i], whole), n)
		}
		compare(t, want.col.tables[i], got[i])
	}
}

func rowsIn(m map[string]string, whole bool) int64 {
	if !whole {
		return int64(len(m))
	}
	var n int64
	for _, v := range m {
		var x int64
		_, _ = fmt.Sscan(v, &x)
		n += x
	}
	return n
}

func countOf(t *testing.T, s *mysqld.Server, db, table string) int {
	t.Helper()
	c, err := s.Connect(db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	r, err := c.Execute("SELECT COUNT(*) FROM `" + table + "`")
	if err != nil {
		t.Fatal(err)
	}
	n, err := r.GetInt(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}
