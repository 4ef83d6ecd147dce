package cdcsource

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/cdc"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

// TestColumnsOfIndexes reads tables with columns that only indexes have: of expressions,
// of the elements of JSON arrays, and of full texts; and tables with a spatial index.
func TestColumnsOfIndexes(t *testing.T) {
	for name, s := range map[string]*mysqld.Server{"full": gtidServer, "minimal": plainServer} {
		t.Run(name, func(t *testing.T) {
			db := "hidden_" + name
			cfg, _ := small(t, s, db)
			ddl := []string{
				"(id INT PRIMARY KEY, j JSON, balance INT, INDEX m ((CAST(j->'$.a' AS UNSIGNED ARRAY))))",
				"(j JSON, INDEX m ((CAST(j->'$.a' AS CHAR(10) ARRAY)), balance), id INT PRIMARY KEY, INDEX e ((balance + 1)), balance INT, UNIQUE u ((CAST(j->'$.u' AS DECIMAL(10,2) ARRAY))), INDEX l ((LOWER(CAST(j->>'$.t' AS CHAR(20))))))",
				"(id INT PRIMARY KEY, p POINT NOT NULL SRID 4326, SPATIAL INDEX (p), t TEXT, FULLTEXT INDEX (t), j JSON, balance INT)",
			}
			var tables []cdc.Table
			var sql, change []string
			for i, d := range ddl {
				x := cfg.Tables[0]
				x.Name = "t" + string(rune('0'+i))
				x.Label = x.Name
				columns, point := "(id, j, balance)", ""
				if strings.Contains(d, "POINT") {
					columns, point = "(id, j, balance, p)", ", ST_GeomFromText('POINT(1 2)', 4326)"
				}
				tables = append(tables, x)
				sql = append(sql, "CREATE TABLE "+x.Name+" "+d, "INSERT INTO "+x.Name+" "+columns+` VALUES (10, '{"a":[1,2,2],"u":[1.5],"t":"Xy"}', 1`+point+"), (20, NULL, 2"+point+`), (30, '{"a":[]}', 3`+point+")")
				change = append(change, "UPDATE "+x.Name+` SET balance = 7, j = '{"a":[7,8],"u":[2,3]}' WHERE id = 10`, "DELETE FROM "+x.Name+" WHERE id = 20", "INSERT INTO "+x.Name+" "+columns+" VALUES (40, NULL, 4"+point+")")
			}
			cfg.Tables = tables
			if err := s.Exec(append([]string{"USE " + db}, sql...)...); err != nil {
				t.Fatal(err)
			}
			x := run(t, cfg, nil, copies{}, nil)
			x.await("the snapshot is not complete", complete)
			if err := s.Exec(append([]string{"USE " + db}, change...)...); err != nil {
				t.Fatal(err)
			}
			x.await("the changes are not read", func(st dataflow.SourceStatus) bool { return x.col.idle() && st.LagBytes == 0 && st.CaughtUp })
			x.end()
			want := map[string]string{"10": "7", "30": "3", "40": "4"}
			if d := cmp.Diff(copies{want, want, want}, x.col.tables); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestChecksumsAreSwitched turns the checksums of the binlog off and on while it is read,
// and reads it again from before.
func TestChecksumsAreSwitched(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		cfg, _ := small(t, s, "checksums")
		setGlobals(t, s, map[string]string{"binlog_checksum": "'CRC32'"})
		x := run(t, cfg, nil, copies{{}}, func(c *collector) { c.every = 1 })
		x.await("the snapshot is not complete", complete)
		for i := range 8 {
			if err := s.Exec("SET GLOBAL binlog_checksum = "+[]string{"NONE", "CRC32"}[i%2], "UPDATE checksums.accounts SET balance = balance + 1"); err != nil {
				t.Fatal(err)
			}
			if i%3 == 1 {
				killSessions(t, s, dumpThreads)
			}
		}
		want := copies{{"10": "9", "20": "10", "30": "11"}}
		done := func(c *collector) bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return cmp.Equal(want, c.tables)
		}
		x.await("the changes are not read", func(dataflow.SourceStatus) bool { return done(x.col) })
		x.end()
		for range 3 {
			state, tables := x.col.pick(t)
			if again := catchUp(t, cfg, state, tables, nil); !done(again) {
				t.Errorf("read again: %v", again.tables)
			}
		}
	})
}

// TestAccountsWithoutTLS logs in by caching_sha2_password on a plain connection: with the
// key of the server, by its cache, and with the key again once the cache is gone.
func TestAccountsWithoutTLS(t *testing.T) {
	s := gtidServer
	cfg, _ := small(t, s, "plain_login")
	cfg.User, cfg.Password = "sha2", "a word of more than twenty letters"
	if err := s.Exec("DROP USER IF EXISTS sha2", "CREATE USER sha2 IDENTIFIED WITH caching_sha2_password BY '"+cfg.Password+"'", "GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO sha2"); err != nil {
		t.Fatal(err)
	}
	x := run(t, cfg, nil, copies{{}}, nil)
	x.await("the snapshot is not complete", complete)
	for i := range 3 {
		if i%2 == 0 {
			if err := s.Exec("FLUSH PRIVILEGES"); err != nil { // empties the cache
				t.Fatal(err)
			}
		}
		killSessions(t, s, "USER = 'sha2'")
		if err := s.Exec("UPDATE plain_login.accounts SET balance = balance + 1 WHERE id = 10"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	x.await("the changes are not read", func(dataflow.SourceStatus) bool {
		x.col.mu.Lock()
		defer x.col.mu.Unlock()
		return x.col.tables[0]["10"] == "4"
	})
	x.end()
	if err := s.Exec("ALTER USER sha2 REQUIRE SSL"); err != nil {
		t.Fatal(err)
	}
	r, err := cdc.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	failsWith(t, r.Check(t.Context()), diag.CodeSourceAuth, "sha2")
}

// TestChangesOfColumnsThatFollowEachOther makes several changes of columns nobody reads, with
// rows between them, while the job is down, on a server whose log does not name columns.
func TestChangesOfColumnsThatFollowEachOther(t *testing.T) {
	for i, tt := range []struct {
		name string
		sql  []string
		code diag.Code
	}{
		{"added at the end", []string{"ADD COLUMN e1 INT", "ADD COLUMN e2 BIGINT", "ADD COLUMN e3 INT"}, 0},
		{"added anywhere", []string{"ADD COLUMN e1 INT FIRST", "ADD COLUMN e2 BIGINT AFTER id", "ADD COLUMN e3 VARCHAR(9) FIRST"}, 0},
		{"dropped", []string{"DROP COLUMN o1", "DROP COLUMN o2"}, 0},
		{"of one type in front", []string{"ADD COLUMN e1 INT AFTER o2", "ADD COLUMN e2 INT AFTER balance"}, diag.CodeSourceChanged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := plainServer
			db := "versions_" + string(rune('0'+i))
			cfg, _ := small(t, s, db)
			if err := s.Exec("ALTER TABLE " + db + ".accounts ADD COLUMN o1 VARCHAR(9) FIRST, ADD COLUMN o2 DATE AFTER id"); err != nil {
				t.Fatal(err)
			}
			cfg.CatchUp = true
			col := catchUp(t, cfg, nil, copies{{}}, func(c *collector) { c.every = 1 })
			state, err := col.reader.SnapshotState(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			sql := []string{"USE " + db}
			for _, q := range tt.sql {
				sql = append(sql, "ALTER TABLE accounts "+q, "UPDATE accounts SET balance = balance + 1")
			}
			if err := s.Exec(sql...); err != nil {
				t.Fatal(err)
			}
			if tt.code != 0 {
				x := run(t, cfg, state.Data, col.tables.clone(), nil)
				failsWith(t, x.err(), tt.code, "--fresh --replace", "binlog_row_metadata = 'FULL'")
				return
			}
			n := len(tt.sql)
			want := copies{{"10": fmt.Sprint(1 + n), "20": fmt.Sprint(2 + n), "30": fmt.Sprint(3 + n)}}
			if d := cmp.Diff(want, catchUp(t, cfg, state.Data, col.tables.clone(), nil).tables); d != "" {
				t.Error(d)
			}
		})
	}
}
