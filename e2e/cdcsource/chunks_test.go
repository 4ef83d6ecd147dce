package cdcsource

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

// lines collects a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// logged lets a reader log into lines.
func logged(cfg *cdc.Config) *lines {
	l := &lines{}
	cfg.Log = slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return l
}

// uneven makes a table whose rows are small up to an id, and then a thousand
// times as large.
func uneven(t *testing.T, s *mysqld.Server) (string, cdc.Config) {
	t.Helper()
	db := accounts(t, s, accountsDDL)
	err := s.Exec("CREATE TABLE "+db+".uneven (id INT PRIMARY KEY, v MEDIUMTEXT NOT NULL)",
		"INSERT INTO "+db+".uneven SELECT id DIV 10, IF(id < 30000, 'x', REPEAT('y', 60000)) FROM "+db+".accounts WHERE id <= 30500",
		"ANALYZE TABLE "+db+".uneven")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(s, db)
	cfg.ChunkRows = 0
	cfg.Tables = []cdc.Table{{Label: "uneven", Database: db, Name: "uneven", PrimaryKey: []string{"id"}, Schema: &columnar.Schema{Fields: []columnar.Field{
		field("id", columnar.Of(columnar.Int).NotNull()), field("v", columnar.StringType()),
	}}}}
	return db, cfg
}

// TestUnevenChunksAreCutAnew reads a table whose chunks turn out larger than
// planned, without waiting chunks ever being large.
func TestUnevenChunksAreCutAnew(t *testing.T) {
	db, cfg := uneven(t, gtidServer)
	cfg.SnapshotBytes = 1 << 20
	cfg.Startup.Mode = cdc.StartSnapshot
	log := logged(&cfg)
	x := run(t, cfg, nil, copies{{}}, nil)
	if err := x.err(); err != nil {
		t.Fatal(err)
	}
	if n := countOf(t, gtidServer, db, "uneven"); n != len(x.col.tables[0]) {
		t.Errorf("%d rows of %d", len(x.col.tables[0]), n)
	}
	if log.count("chunk is cut in smaller ones") == 0 {
		t.Error("no chunk was cut anew")
	}
}

// TestValuesOfTheChunkKeyThatCannotBeCut reads a table by a column of few values,
// whose rows come in pieces, while rows change and move between the values.
func TestValuesOfTheChunkKeyThatCannotBeCut(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		err := s.Exec("CREATE TABLE "+db+".few (id INT PRIMARY KEY, a INT NOT NULL, KEY (a))", "INSERT INTO "+db+".few SELECT id DIV 10, id DIV 10 % 3 FROM "+db+".accounts")
		if err != nil {
			t.Fatal(err)
		}
		cfg := config(s, db)
		cfg.ChunkRows, cfg.SnapshotBytes, cfg.SnapshotRows = 1, 100_000, 40_000
		cfg.Tables = []cdc.Table{{Label: "few", Database: db, Name: "few", ChunkKey: "a", Schema: &columnar.Schema{Fields: []columnar.Field{
			field("id", columnar.Of(columnar.Int).NotNull()), field("a", columnar.Of(columnar.Int)),
		}}}}
		x := run(t, cfg, nil, copies{{}}, nil)
		for i := 0; !x.col.report().Complete; i++ {
			if err := s.Exec(fmt.Sprintf("UPDATE %s.few SET a = (a + 1) %% 3 WHERE id %% 97 = %d", db, i%97), fmt.Sprintf("DELETE FROM %s.few WHERE id = %d", db, i)); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-x.done:
				t.Fatal(err)
			case <-time.After(10 * time.Millisecond):
			}
		}
		x.end()
		state, tables := x.col.pick(t)
		got := catchUp(t, cfg, state, tables, nil)
		still := cfg
		still.Startup.Mode = cdc.StartSnapshot
		want := run(t, still, nil, copies{{}}, nil)
		if err := want.err(); err != nil {
			t.Fatal(err)
		}
		compare(t, want.col.tables[0], got.tables[0])
	})
}

// TestTablesThatChangeWhileTheyAreRead lets statements meet a snapshot that takes
// its time, as the bound on its rate makes it.
func TestTablesThatChangeWhileTheyAreRead(t *testing.T) {
	for _, tt := range []struct {
		name, statement string
		code            diag.Code
		words           string
	}{
		{"another order", "ALTER TABLE %s.names MODIFY name VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", diag.CodeSourceChanged, "order of its key changed"},
		{"another key", "ALTER TABLE %s.names DROP PRIMARY KEY, ADD PRIMARY KEY (n)", diag.CodeSourceChanged, "its key changed"},
		{"dropped", "DROP TABLE %s.names", diag.CodeSourceChanged, "was dropped"},
		{"truncated", "TRUNCATE %s.names", diag.CodeSourceChanged, "was truncated"},
		{"renamed", "RENAME TABLE %[1]s.names TO %[1]s.others", diag.CodeSourceChanged, "was renamed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := gtidServer
			db := accounts(t, s, accountsDDL)
			err := s.Exec("CREATE TABLE "+db+".names (name VARCHAR(40) CHARACTER SET utf8mb4 PRIMARY KEY, n INT NOT NULL)",
				"INSERT INTO "+db+".names SELECT name, id FROM "+db+".accounts")
			if err != nil {
				t.Fatal(err)
			}
			cfg := config(s, db)
			cfg.SnapshotRows = 2000
			cfg.Tables = []cdc.Table{{Label: "names", Database: db, Name: "names", PrimaryKey: []string{"name"}, Schema: &columnar.Schema{Fields: []columnar.Field{
				field("name", columnar.DataType{Kind: columnar.VarChar, Length: 40}), field("n", columnar.Of(columnar.Int)),
			}}}}
			x := run(t, cfg, nil, copies{{}}, nil)
			time.Sleep(500 * time.Millisecond)
			if x.col.size() > 4000 {
				t.Errorf("%d rows were read in half a second at 2000 a second", x.col.size())
			}
			// A chunk that is being read keeps the statement waiting for its end.
			if err := s.Exec(fmt.Sprintf(tt.statement, db)); err != nil {
				t.Fatal(err)
			}
			failsWith(t, x.err(), tt.code, tt.words)
		})
	}
}

func TestEmptyTables(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		cfg := config(s, db)
		cfg.Startup.Mode = cdc.StartSnapshot
		cfg.Tables = nil
		var none copies
		for i, key := range []string{"id INT PRIMARY KEY", "id VARCHAR(9) PRIMARY KEY", "id INT"} {
			name := fmt.Sprint("empty", i)
			if err := s.Exec("CREATE TABLE " + db + "." + name + " (" + key + ")"); err != nil {
				t.Fatal(err)
			}
			cfg.Tables = append(cfg.Tables, cdc.Table{Label: name, Database: db, Name: name, Schema: &columnar.Schema{Fields: []columnar.Field{field("id", columnar.StringType())}}})
			none = append(none, map[string]string{})
		}
		x := run(t, cfg, nil, none, nil)
		if err := x.err(); err != nil {
			t.Fatal(err)
		}
		if x.col.size() != 0 {
			t.Errorf("%d rows of empty tables", x.col.size())
		}
	})
}

// TestExpressionsAreNoKey has a unique key that is none by its columns alone.
func TestExpressionsAreNoKey(t *testing.T) {
	s := gtidServer
	if !s.Install.AtLeast(8, 0, 23) {
		return // it tells of no expressions
	}
	db := accounts(t, s, accountsDDL)
	err := s.Exec("CREATE TABLE "+db+".e (a INT NOT NULL, b INT NOT NULL, UNIQUE (a, (b % 10)))", "INSERT INTO "+db+".e VALUES (1, 1), (1, 2), (2, 1)")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(s, db)
	cfg.Startup.Mode = cdc.StartSnapshot
	cfg.Tables = []cdc.Table{{Label: "e", Database: db, Name: "e", Schema: &columnar.Schema{Fields: []columnar.Field{field("a", columnar.Of(columnar.Int))}}}}
	log := logged(&cfg)
	x := run(t, cfg, nil, copies{{}}, func(c *collector) { c.whole = true })
	if err := x.err(); err != nil {
		t.Fatal(err)
	}
	if n := rowsIn(x.col.tables[0], true); n != 3 || log.count("it has no primary key") != 1 {
		t.Errorf("%d rows, %s", n, log.text.String())
	}
}
