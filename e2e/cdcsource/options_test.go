package cdcsource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/cdc"
	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

// TestOptionsThatPassOverChanges has one table for each way to leave changes out, and
// one where binary columns become text.
func TestOptionsThatPassOverChanges(t *testing.T) {
	for name, s := range map[string]*mysqld.Server{"mysql": gtidServer, "mariadb": mariaServer} {
		t.Run(name, func(t *testing.T) {
			db := "passed_over"
			cfg, log := small(t, s, db)
			first := cfg.Tables[0]
			cfg.Tables = nil
			want := copies{}
			sql := []string{"USE " + db, "CREATE TABLE bytes (id INT PRIMARY KEY, balance VARBINARY(9), f BINARY(3), b BLOB)", "INSERT INTO bytes VALUES (1, 'a\\0', 'b', 'cde?>')"}
			table := func(name string, rows map[string]string, change func(*cdc.Table)) {
				x := first
				x.Label, x.Name = name, name
				change(&x)
				cfg.Tables = append(cfg.Tables, x)
				want = append(want, rows)
			}
			for _, tt := range []struct {
				name string
				rows map[string]string
				set  func(*cdc.Table)
			}{
				{"everything", map[string]string{"10": "7", "30": "3", "40": "4"}, func(*cdc.Table) {}},
				{"inserts", map[string]string{"10": "7", "30": "3"}, func(x *cdc.Table) { x.Skip = []mysqlrow.Op{mysqlrow.OpInsert} }},
				{"updates", map[string]string{"10": "1", "30": "3", "40": "4"}, func(x *cdc.Table) { x.Skip = []mysqlrow.Op{mysqlrow.OpUpdate} }},
				{"deletes", map[string]string{"10": "7", "20": "2", "30": "3", "40": "4"}, func(x *cdc.Table) { x.Skip = []mysqlrow.Op{mysqlrow.OpDelete} }},
				{"truncations", map[string]string{"10": "7", "30": "3", "40": "4"}, func(x *cdc.Table) { x.SkipTruncate = true }},
				{"bad", map[string]string{"10": "7", "20": "2", "30": "3", "40": "4"}, func(x *cdc.Table) {
					x.PassBadRows = true
					// A day of the source that the lake cannot hold as a time.
					x.Schema = &columnar.Schema{Fields: []columnar.Field{first.Schema.Fields[0], first.Schema.Fields[1], field("at", columnar.Of(columnar.Time))}}
				}},
			} {
				table(tt.name, tt.rows, tt.set)
				at := ""
				if tt.name == "bad" {
					at = ", at TIME DEFAULT '01:00:00'"
				}
				sql = append(sql, fmt.Sprintf("CREATE TABLE `%s` (id INT PRIMARY KEY, balance INT%s)", tt.name, at), "INSERT INTO "+tt.name+" (id, balance) VALUES (10, 1), (20, 2), (30, 3)")
			}
			text := columnar.StringType()
			table("bytes", map[string]string{"1": "YQA=|YgAA|Y2RlPz4=", "2": "+/8=|AAAA|", "3": "(null)|(null)|(null)"}, func(x *cdc.Table) {
				x.Schema = &columnar.Schema{Fields: []columnar.Field{first.Schema.Fields[0], field("balance", text), field("f", text), field("b", text)}}
				x.Evolution.Types.Bytes = mysqlrow.BytesBase64
			})
			if err := s.Exec(sql...); err != nil {
				t.Fatal(err)
			}
			x := run(t, cfg, nil, copies{}, func(c *collector) { c.upsert = true })
			x.await("the snapshot is not complete", complete)
			sql = []string{"USE " + db}
			for _, c := range cfg.Tables[:len(cfg.Tables)-1] {
				if c.Name == "truncations" {
					sql = append(sql, "CREATE TABLE spare LIKE truncations", "TRUNCATE spare", "DROP TABLE spare")
				}
				if c.Name == "bad" {
					sql = append(sql, "UPDATE bad SET at = '30:00:00' WHERE id = 20", "INSERT INTO bad VALUES (50, 5, '-01:00:00')")
				}
				sql = append(sql, "UPDATE "+c.Name+" SET balance = 7 WHERE id = 10", "INSERT INTO "+c.Name+" (id, balance) VALUES (40, 4)")
				if c.Name != "bad" {
					sql = append(sql, "DELETE FROM "+c.Name+" WHERE id = 20")
				}
			}
			sql = append(sql, "INSERT INTO bytes VALUES (2, X'FBFF', '', ''), (3, NULL, NULL, NULL)", "TRUNCATE truncations")
			if err := s.Exec(sql...); err != nil {
				t.Fatal(err)
			}
			size := 0
			for _, w := range want {
				size += len(w)
			}
			x.await("the changes are not read", func(st dataflow.SourceStatus) bool { return x.col.size() == size && x.col.idle() && st.LagBytes == 0 })
			x.end()
			for i, c := range cfg.Tables {
				got := x.col.tables[i]
				for id, row := range got {
					got[id] = strings.TrimSuffix(row, "|01:00:00.000")
				}
				if d := cmp.Diff(want[i], got); d != "" {
					t.Errorf("%s: %s", c.Name, d)
				}
			}
			if n := strings.Count(log.String(), "cannot be read is passed over"); n != 2 {
				t.Errorf("the log tells of %d changes:\n%s", n, log)
			}
		})
	}
}

// TestTransactionsOfSomeServers reads those that one server began, or others.
func TestTransactionsOfSomeServers(t *testing.T) {
	s := gtidServer
	cfg, _ := small(t, s, "origins")
	cfg.Startup.Mode = cdc.StartLatest
	cfg.Origin = func(uuid string) bool { return uuid == "3e11fa47-71ca-11e1-9e33-c80aa9429562" }
	x := run(t, cfg, nil, copies{{}}, nil)
	x.await("nothing is read", func(st dataflow.SourceStatus) bool { return st.CaughtUp })
	if err := s.Exec("INSERT INTO origins.accounts VALUES (40, 4)", "SET gtid_next = '3E11FA47-71CA-11E1-9E33-C80AA9429562:7'", "INSERT INTO origins.accounts VALUES (50, 5)",
		"SET gtid_next = AUTOMATIC", "INSERT INTO origins.accounts VALUES (60, 6)"); err != nil {
		t.Fatal(err)
	}
	x.await("the changes are not read", func(st dataflow.SourceStatus) bool { return x.col.size() > 0 && x.col.idle() && st.LagBytes == 0 })
	x.end()
	if d := cmp.Diff(copies{{"50": "5"}}, x.col.tables); d != "" {
		t.Error(d)
	}
	for _, s := range []*mysqld.Server{plainServer, mariaServer} {
		other, _ := small(t, s, "origins")
		other.Origin = cfg.Origin
		r, err := cdc.New(other)
		if err != nil {
			t.Fatal(err)
		}
		failsWith(t, r.Check(t.Context()), diag.CodeBadOption, "gtid.source.includes")
	}
}

// TestOnlineChangesOfTheSchema does what gh-ost and pt-online-schema-change do to a table,
// while the job reads it and while it does not follow them.
func TestOnlineChangesOfTheSchema(t *testing.T) {
	for i, tt := range []struct {
		name    string
		between []string
		swap    string
	}{
		{"gh-ost", []string{
			"CREATE TABLE _accounts_ghc (id INT PRIMARY KEY)", "CREATE TABLE _accounts_gho LIKE accounts", "ALTER TABLE _accounts_gho ADD COLUMN extra INT FIRST",
			"INSERT INTO _accounts_gho (id, balance) SELECT * FROM accounts",
		}, "RENAME TABLE accounts TO _accounts_del, _accounts_gho TO accounts"},
		{"pt-online-schema-change", []string{
			"CREATE TABLE `__accounts_new` LIKE accounts", "ALTER TABLE `__accounts_new` ADD COLUMN extra INT", "INSERT LOW_PRIORITY IGNORE INTO `__accounts_new` (id, balance) SELECT * FROM accounts",
		}, "RENAME TABLE DB.accounts TO DB._accounts_old, DB.__accounts_new TO DB.accounts"},
	} {
		for name, s := range map[string]*mysqld.Server{"mysql": gtidServer, "mariadb": mariaServer} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				db := fmt.Sprintf("online_%d", i)
				cfg, _ := small(t, s, db)
				for _, follow := range []bool{true, false} {
					cfg.Tables[0].OnlineChanges = follow
					x := run(t, cfg, nil, copies{{}}, nil)
					x.await("the snapshot is not complete", complete)
					sql := append([]string{"USE " + db, "DROP TABLE IF EXISTS _accounts_old, _accounts_del, _accounts_ghc"}, tt.between...)
					if !follow {
						sql = []string{"USE " + db, "ALTER TABLE accounts DROP COLUMN extra", "DROP TABLE IF EXISTS _accounts_old, _accounts_del, _accounts_ghc"}
						sql = append(sql, tt.between...)
					}
					if err := s.Exec(append(sql, strings.ReplaceAll(tt.swap, "DB", db))...); err != nil {
						t.Fatal(err)
					}
					if !follow {
						failsWith(t, x.err(), diag.CodeSourceChanged, "was renamed")
						continue
					}
					if err := s.Exec("USE "+db, "UPDATE accounts SET balance = 9 WHERE id = 10", "INSERT INTO accounts (id, balance) VALUES (40, 4)"); err != nil {
						t.Fatal(err)
					}
					x.await("the changes are not read", func(st dataflow.SourceStatus) bool { return x.col.size() == 4 && x.col.idle() && st.LagBytes == 0 })
					x.end()
					if d := cmp.Diff(copies{{"10": "9", "20": "2", "30": "3", "40": "4"}}, x.col.tables); d != "" {
						t.Error(d)
					}
				}
			})
		}
	}
}
