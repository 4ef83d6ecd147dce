package cdcsource

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/mysqld"
)

// settings are global variables that every new session takes over, with values
// that would cut short or change what is read, or end the reading.
func settings(s *mysqld.Server) map[string]string {
	all := map[string]string{
		"sql_mode":         "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE,IGNORE_SPACE'",
		"sql_select_limit": "2", "max_join_size": "5", "autocommit": "0", "completion_type": "2", "wait_timeout": "1", "net_write_timeout": "1",
		"lock_wait_timeout": "1", "character_set_server": "latin1", "character_set_connection": "ucs2", "time_zone": "'-05:30'",
		"div_precision_increment": "0", "max_allowed_packet": "65536", "max_sort_length": "8", "group_concat_max_len": "4",
	}
	own := map[string]string{"transaction_isolation": "'READ-UNCOMMITTED'", "transaction_read_only": "1", "max_execution_time": "1", "super_read_only": "1"}
	switch {
	case s == mariaServer:
		own = map[string]string{"tx_isolation": "'READ-UNCOMMITTED'", "tx_read_only": "1", "max_statement_time": "0.001", "read_only": "1"}
	case s.Install.AtLeast(8, 0, 30):
		own["show_gipk_in_create_table_and_information_schema"] = "OFF"
	}
	maps.Copy(all, own)
	return all
}

// setGlobals changes global variables until the test ends.
func setGlobals(t *testing.T, s *mysqld.Server, to map[string]string) {
	t.Helper()
	admin, err := s.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	query(t, admin, "SET SESSION wait_timeout = 1000, sql_mode = '', autocommit = 1")
	t.Cleanup(func() { _ = admin.Close() })
	for name, value := range to {
		before := query(t, admin, "SELECT @@GLOBAL."+name)[0][0]
		if strings.Trim(before, "0123456789.") != "" || before == "" {
			before = "'" + before + "'"
		}
		query(t, admin, "SET GLOBAL "+name+" = "+value)
		t.Cleanup(func() {
			query(t, admin, "SET GLOBAL "+name+" = "+before)
			if name == "super_read_only" {
				query(t, admin, "SET GLOBAL read_only = 0")
			}
		})
	}
}

// TestSettingsOfTheServerDoNotChangeWhatIsRead lets new sessions begin with all
// kinds of settings, and a reader with little to hold read and follow tables.
func TestSettingsOfTheServerDoNotChangeWhatIsRead(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		generated := s != mariaServer && s.Install.AtLeast(8, 0, 30)
		sql := []string{
			"USE " + db, "CREATE TABLE padded (id INT PRIMARY KEY, text CHAR(10) CHARACTER SET utf8mb4)", "CREATE TABLE keyless (id INT, v INT)",
		}
		if generated {
			sql = append(sql, "DROP TABLE keyless", "SET sql_generate_invisible_primary_key = 1", "CREATE TABLE keyless (id INT, v INT)")
		}
		if err := s.Exec(append(sql, "INSERT INTO padded VALUES (1, 'a'), (2, 'b '), (3, ''), (4, 'é')", "INSERT INTO keyless VALUES (1, 2), (3, 4)")...); err != nil {
			t.Fatal(err)
		}
		writer, err := s.Connect(db)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = writer.Close() }()
		query(t, writer, "SET SESSION wait_timeout = 1000, sql_mode = ''")
		number := columnar.Of(columnar.Int)
		cfg := config(s, db)
		cfg.SnapshotReaders, cfg.SnapshotBytes, cfg.ChunkRows = 1, 1<<20, 5000
		cfg.Tables = append(cfg.Tables,
			cdc.Table{Label: "padded", Database: db, Name: "padded", PrimaryKey: []string{"id"}, Schema: &columnar.Schema{Fields: []columnar.Field{
				field("id", number.NotNull()), field("text", columnar.DataType{Kind: columnar.Char, Nullable: true, Length: 10}),
			}}},
			cdc.Table{Label: "keyless", Database: db, Name: "keyless", Schema: &columnar.Schema{Fields: []columnar.Field{field("id", number), field("v", number)}}},
		)
		setGlobals(t, s, settings(s))
		x := run(t, cfg, nil, copies{{}, {}, {}}, nil)
		x.await("the snapshot is not complete", complete)
		if n := len(x.col.tables[0]); n != rowsAtStart {
			t.Errorf("%d rows of accounts, want %d", n, rowsAtStart)
		}
		if s == mariaServer {
			query(t, writer, "SET GLOBAL read_only = 0")
		} else {
			query(t, writer, "SET GLOBAL read_only = 0, SESSION transaction_read_only = 0")
		}
		query(t, writer, "UPDATE accounts SET balance = balance + 1 WHERE id < 1000")
		query(t, writer, "UPDATE padded SET text = CONCAT(text, 'x') WHERE id = 1")
		query(t, writer, "UPDATE keyless SET v = 5 WHERE id = 1")
		x.await("the stream is not caught up", func(st dataflow.SourceStatus) bool { return x.col.idle() && st.CaughtUp && st.LagBytes == 0 })
		x.end()
		if got := x.col.tables[0]["10"]; !strings.HasPrefix(got, "1001|") {
			t.Errorf("account 10 is %q", got)
		}
		want := copies{x.col.tables[0], {"1": "ax", "2": "b", "3": "", "4": "é"}, {"1": "5", "3": "4"}}
		if d := cmp.Diff(want, x.col.tables); d != "" {
			t.Error(d)
		}
	})
}

// TestNamesInAnotherCase reads tables whose names the script writes in another
// case than a server does that folds them.
func TestNamesInAnotherCase(t *testing.T) {
	maria, err := mysqld.FetchMariaDB(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]*mysqld.Install{"mysql": nil, "mariadb": maria} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := mysqld.Start(t.Context(), mysqld.Options{Install: in, Flags: []string{"--lower-case-table-names=1"}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Stop() })
			if err := s.Exec("CREATE DATABASE Shop", "CREATE TABLE Shop.Orders (Id INT PRIMARY KEY, V INT)", "INSERT INTO shop.ORDERS VALUES (1, 1), (2, 2)"); err != nil {
				t.Fatal(err)
			}
			cfg := config(s, "SHOP")
			cfg.Tables[0].Name, cfg.Tables[0].Schema = "Orders", &columnar.Schema{Fields: []columnar.Field{field("id", columnar.Of(columnar.Int)), field("v", columnar.Of(columnar.Int))}}
			x := run(t, cfg, nil, copies{{}}, func(c *collector) { c.every = 1 })
			x.await("the snapshot is not complete", complete)
			if err := s.Exec("UPDATE SHOP.Orders SET v = 7 WHERE id = 1", "ALTER TABLE sHop.oRders ADD COLUMN x INT FIRST", "INSERT INTO Shop.orders VALUES (9, 3, 3)"); err != nil {
				t.Fatal(err)
			}
			x.await("the changes are not read", func(dataflow.SourceStatus) bool { return x.col.size() == 3 && x.col.idle() })
			x.end()
			if d := cmp.Diff(copies{{"1": "7", "2": "2", "3": "3"}}, x.col.tables); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestOddNames reads a database, tables and columns whose names hold what a name may hold.
func TestOddNames(t *testing.T) {
	names := []string{
		"a`b", "a.b", "a'b\"c", "a\\b", "日本語 é", "a b", "select", "$0", "a\tb", "%_?*[", "123", "-- x", "/*! x */", strings.Repeat("n", 64), "a``b;", "#x", "\u00a0x",
	}
	quoted := func(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := "odd `.'\"\\é"
		cfg := config(s, db)
		cfg.Tables = nil
		number := columnar.Of(columnar.Int)
		fill := []string{"DROP DATABASE IF EXISTS " + quoted(db), "CREATE DATABASE " + quoted(db)}
		var change []string
		var want copies
		for _, name := range names {
			at := quoted(db) + "." + quoted(name)
			fill = append(fill, fmt.Sprintf("CREATE TABLE %s (%s INT PRIMARY KEY, v INT)", at, quoted(name)), "INSERT INTO "+at+" VALUES (1, 1), (2, 2)")
			change = append(change, "UPDATE "+at+" SET v = 7", "ALTER TABLE "+at+" ADD COLUMN x INT FIRST", "INSERT INTO "+at+" VALUES (9, 3, 3)")
			cfg.Tables = append(cfg.Tables, cdc.Table{Label: name, Database: db, Name: name, PrimaryKey: []string{name}, Schema: &columnar.Schema{Fields: []columnar.Field{field(name, number), field("v", number)}}})
			want = append(want, map[string]string{"1": "7", "2": "7", "3": "3"})
		}
		if err := s.Exec(fill...); err != nil {
			t.Fatal(err)
		}
		x := run(t, cfg, nil, copies{}, nil)
		x.await("the snapshot is not complete", complete)
		if err := s.Exec(change...); err != nil {
			t.Fatal(err)
		}
		x.await("the changes are not read", func(dataflow.SourceStatus) bool { return x.col.size() == 3*len(names) && x.col.idle() })
		x.end()
		if d := cmp.Diff(want, x.col.tables); d != "" {
			t.Error(d)
		}
	})
}
