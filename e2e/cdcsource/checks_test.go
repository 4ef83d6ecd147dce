package cdcsource

import (
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

func TestChecksNameWhatToDo(t *testing.T) {
	s := gtidServer
	db := accounts(t, s, accountsDDL)
	err := s.Exec(
		"CREATE TABLE "+db+".typed (id BIGINT PRIMARY KEY, j POINT, big BIGINT UNSIGNED)",
		"CREATE TABLE "+db+".keyless AS SELECT * FROM "+db+".accounts LIMIT 5", "CREATE TABLE "+db+".blobs (id BIGINT PRIMARY KEY, t TEXT, d JSON)",
		"CREATE VIEW "+db+".v AS SELECT * FROM "+db+".accounts",
		"DROP USER IF EXISTS reader, poor, blind",
		"CREATE USER reader IDENTIFIED BY 'word'", "GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader",
		"CREATE USER poor IDENTIFIED BY 'word'", "GRANT SELECT ON *.* TO poor",
		"CREATE USER blind IDENTIFIED BY 'word'", "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO blind",
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(*cdc.Config)
		set    string
		code   diag.Code
		want   []string
	}{
		{"all well", func(*cdc.Config) {}, "", 0, nil},
		{"caching_sha2 account", func(c *cdc.Config) { c.User, c.Password = "reader", "word" }, "", 0, nil},
		{"wrong password", func(c *cdc.Config) { c.User, c.Password = "reader", "wrong-word" }, "", diag.CodeSourceAuth, []string{"reader"}},
		{"unreachable", func(c *cdc.Config) { c.Port = 1 }, "", diag.CodeSourceReach, []string{"127.0.0.1:1"}},
		{"no host", func(c *cdc.Config) { c.Host, c.ConnectTimeout = "no-such-host.invalid", time.Second }, "", diag.CodeSourceReach, nil},
		{"no REPLICATION SLAVE", func(c *cdc.Config) { c.User, c.Password = "poor", "word" }, "", diag.CodeSourceGrant, []string{"GRANT REPLICATION SLAVE ON *.* TO 'poor'@'%'"}},
		{"no REPLICATION CLIENT", func(c *cdc.Config) { c.User, c.Password = "poor", "word" }, "", diag.CodeSourceGrant, nil},
		{"no SELECT", func(c *cdc.Config) { c.User, c.Password = "blind", "word" }, "", diag.CodeSourceGrant, []string{"SELECT", "GRANT"}},
		{"missing table", func(c *cdc.Config) { c.Tables[0].Name = "acounts" }, "", diag.CodeSourceTable, []string{"did you mean", "accounts"}},
		{"missing database", func(c *cdc.Config) { c.Tables[0].Database = db[:len(db)-1] }, "", diag.CodeSourceTable, []string{"did you mean", db}},
		{"missing column", func(c *cdc.Config) { c.Tables[0].Schema.Fields[2].Name = "names" }, "", diag.CodeSourceColumn, []string{"did you mean 'name'?"}},
		{"type does not fit", func(c *cdc.Config) { c.Tables[0].Schema.Fields[1].Type = columnar.Of(columnar.Int) }, "", diag.CodeSourceColumn, []string{"`balance` as BIGINT"}},
		{"type of another kind", func(c *cdc.Config) {
			c.Tables[0].Name, c.Tables[0].Schema = "typed", &columnar.Schema{Fields: []columnar.Field{{Name: "id", Type: columnar.Of(columnar.BigInt)}, {Name: "j", Type: columnar.Of(columnar.Int)}}}
		}, "", diag.CodeSourceColumn, []string{"POINT"}},
		{"view", func(c *cdc.Config) { c.Tables[0].Name = "v" }, "", diag.CodeSourceTable, []string{"is a view"}},
		{"row image", func(*cdc.Config) {}, "binlog_row_image = 'MINIMAL'", diag.CodeSourceBinlog, []string{"updates of " + db + ".accounts lack columns that are read: balance, name, price, made", "SET GLOBAL binlog_row_image = 'FULL'"}},
		{"row image, the key alone", func(c *cdc.Config) { c.Tables[0].Schema.Fields = c.Tables[0].Schema.Fields[:1] }, "binlog_row_image = 'MINIMAL'", 0, nil},
		{"row image, no key", func(c *cdc.Config) { c.Tables[0].Name, c.Tables[0].PrimaryKey = "keyless", nil }, "binlog_row_image = 'MINIMAL'", 0, nil},
		{"row image without blobs, none read", func(*cdc.Config) {}, "binlog_row_image = 'NOBLOB'", 0, nil},
		{"row image without blobs", func(c *cdc.Config) {
			c.Tables[0].Name, c.Tables[0].Schema = "blobs", &columnar.Schema{Fields: []columnar.Field{{Name: "id", Type: columnar.Of(columnar.BigInt)}, {Name: "t", Type: columnar.StringType()}, {Name: "d", Type: columnar.StringType()}}}
		}, "binlog_row_image = 'NOBLOB'", diag.CodeSourceBinlog, []string{"blobs lack columns that are read: t"}},
		{"format", func(*cdc.Config) {}, "binlog_format = 'MIXED'", diag.CodeSourceBinlog, []string{"SET GLOBAL binlog_format = 'ROW'"}},
		{"partial JSON", func(*cdc.Config) {}, "binlog_row_value_options = 'PARTIAL_JSON'", 0, nil},
		{"chunk key", func(c *cdc.Config) { c.Tables[0].ChunkKey = "nam" }, "", diag.CodeSourceColumn, []string{"did you mean 'name'?"}},
		{"zone", func(c *cdc.Config) { c.Zone, c.ZoneSet = time.FixedZone("Asia/Kolkata", 19800+7200), true }, "", diag.CodeBadOption, []string{"server-time-zone"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.set != "" {
				if err := s.Exec("SET GLOBAL " + tt.set); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := s.Exec("SET GLOBAL binlog_row_image = 'FULL', GLOBAL binlog_format = 'ROW', GLOBAL binlog_row_value_options = ''"); err != nil {
						t.Error(err)
					}
				})
			}
			cfg := config(s, db)
			tt.change(&cfg)
			r, err := cdc.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = r.Check(t.Context())
			if tt.code == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			failsWith(t, err, tt.code, tt.want...)
			if cfg.Password != "" && contains(err.Error(), cfg.Password) {
				t.Errorf("%v holds the password", err)
			}
		})
	}
}

func TestBinlogOffIsSaid(t *testing.T) {
	s, err := mysqld.Start(t.Context(), mysqld.Options{Flags: []string{"--skip-log-bin", "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	db := accounts(t, s, accountsDDL)
	r, err := cdc.New(config(s, db))
	if err != nil {
		t.Fatal(err)
	}
	failsWith(t, r.Check(t.Context()), diag.CodeSourceBinlog, "log_bin")
}

// TestAllProblemsAreReportedAtOnce has two tables with a fault each, and a setting.
func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	s := gtidServer
	db := accounts(t, s, accountsDDL)
	if err := s.Exec("SET GLOBAL binlog_row_image = 'MINIMAL'"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Exec("SET GLOBAL binlog_row_image = 'FULL'") })
	cfg := config(s, db)
	other := cfg.Tables[0]
	other.Name = "nothing"
	cfg.Tables[0].Schema.Fields[2].Name = "names"
	cfg.Tables[0].Schema.Fields[3].Name = "prize"
	cfg.Tables = append(cfg.Tables, other)
	r, err := cdc.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Check(t.Context())
	var l diag.List
	l.Add(err)
	codes := map[diag.Code]int{}
	for _, e := range l {
		codes[e.Code]++
	}
	if codes[diag.CodeSourceBinlog] != 1 || codes[diag.CodeSourceColumn] != 2 || codes[diag.CodeSourceTable] != 1 {
		t.Errorf("%v", err)
	}
}
