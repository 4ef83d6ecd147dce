package cdcsource

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

// documents makes a table with columns that logs leave out, and a job that reads
// all but the names.
func documents(t *testing.T, s *mysqld.Server, rows int) (cdc.Config, string) {
	t.Helper()
	db := accounts(t, s, accountsDDL)
	err := s.Exec("CREATE TABLE "+db+".documents (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT 'none', n INT NOT NULL DEFAULT 3, note TEXT, doc JSON)",
		fmt.Sprintf(`INSERT INTO %s.documents (id, note, doc) SELECT id, name, JSON_OBJECT('id', id, 'tags', JSON_ARRAY('a', 1.5, NULL), 'in', JSON_OBJECT('k ey', REPEAT('x', 40))) FROM %[1]s.accounts WHERE id <= %d`, db, rows*10))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(s, db)
	cfg.SpacedJSON = true
	text := columnar.StringType()
	cfg.Tables = []cdc.Table{{Label: "documents", Database: db, Name: "documents", PrimaryKey: []string{"id"}, Schema: &columnar.Schema{Fields: []columnar.Field{
		field("id", columnar.Of(columnar.BigInt)), field("n", columnar.Of(columnar.Int)), field("note", text), field("doc", text),
	}}}}
	return cfg, db
}

func documentsOf(t *testing.T, s *mysqld.Server, db string) map[string]string {
	t.Helper()
	c, err := s.Connect(db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	r, err := c.Execute("SELECT id, CONCAT_WS('|', n, IFNULL(note, '(null)'), IFNULL(doc, '(null)')) FROM documents")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i := range r.RowNumber() {
		id, err := r.GetString(i, 0)
		if err != nil {
			t.Fatal(err)
		}
		row, err := r.GetString(i, 1)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.Clone(id)] = strings.Clone(row)
	}
	return out
}

// stream runs the job over the statements and gives what it has then.
func stream(t *testing.T, s *mysqld.Server, cfg cdc.Config, db string, sql []string) {
	t.Helper()
	upsert := func(c *collector) { c.upsert, c.every = cfg.Tables[0].Before != nil, 1 }
	x := run(t, cfg, nil, copies{{}}, upsert)
	x.await("the snapshot is not complete", complete)
	for i := range sql {
		sql[i] = strings.ReplaceAll(sql[i], "DB", db)
	}
	if err := s.Exec(append(sql, "SET SESSION binlog_row_image = 'FULL'", "INSERT INTO "+db+".documents (id, note) VALUES (1, 'the end')")...); err != nil {
		t.Fatal(err)
	}
	x.await("the last change is not read", func(dataflow.SourceStatus) bool {
		x.col.mu.Lock()
		defer x.col.mu.Unlock()
		return x.col.tables[0]["1"] != ""
	})
	x.end()
	compare(t, documentsOf(t, s, db), x.col.tables[0])
	// From any edge, inside of the snapshot too.
	state, tables := x.col.pick(t)
	compare(t, documentsOf(t, s, db), catchUp(t, cfg, state, tables, upsert).tables[0])
}

// TestRowImagesThatHoldWhatIsNeeded has sessions that leave columns out of the
// log, in ways that do not matter to the job.
func TestRowImagesThatHoldWhatIsNeeded(t *testing.T) {
	for _, tt := range []struct {
		name string
		// all says that the target takes old values back.
		all bool
		sql []string
	}{
		{"MINIMAL inserts and deletes", false, []string{
			"SET SESSION binlog_row_image = 'MINIMAL'", "INSERT INTO DB.documents VALUES (3, 'three', 3, 'x', '[]')", "DELETE FROM DB.documents WHERE id BETWEEN 100 AND 500",
			"REPLACE INTO DB.documents VALUES (10, 'ten', 1, 'replaced', NULL)",
		}},
		{"MINIMAL all that is read changes", false, []string{
			"SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE DB.documents SET n = n + 1, note = CONCAT(note, '!'), doc = JSON_ARRAY(id, note) WHERE id < 700",
		}},
		{"MINIMAL the key changes with the rest", false, []string{
			"SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE DB.documents SET id = id + 1, n = 9, note = 'moved', doc = 'null' WHERE id < 300 ORDER BY id DESC",
		}},
		{"NOBLOB the blobs change", false, []string{
			"SET SESSION binlog_row_image = 'NOBLOB'", "UPDATE DB.documents SET note = UPPER(note), doc = JSON_SET(doc, '$.z', 'new') WHERE id < 700", "DELETE FROM DB.documents WHERE id > 900",
		}},
		{"inserts old values taken back", true, []string{"SET SESSION binlog_row_image = 'MINIMAL'", "INSERT INTO DB.documents VALUES (3, 'three', 3, 'x', '[]')"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, db := documents(t, gtidServer, 100)
			if !tt.all {
				cfg.Tables[0].Before = []string{}
			}
			stream(t, gtidServer, cfg, db, tt.sql)
		})
	}
	t.Run("mariadb", func(t *testing.T) {
		cfg, db := documents(t, mariaServer, 100)
		cfg.Tables[0].Before = []string{}
		stream(t, mariaServer, cfg, db, []string{
			"SET SESSION binlog_row_image = 'MINIMAL'", "INSERT INTO DB.documents VALUES (3, 'three', 3, 'x', '[]')", "DELETE FROM DB.documents WHERE id BETWEEN 100 AND 500",
			"UPDATE DB.documents SET n = n + 1, note = CONCAT(note, '!'), doc = JSON_ARRAY(id, note) WHERE id < 700",
		})
	})
}

// TestRowImagesThatLackWhatIsNeeded stops at the first such event, and says
// where, what is missing, and what to do.
func TestRowImagesThatLackWhatIsNeeded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server *mysqld.Server
		before []string // nil: all old values are used
		sql    []string
		want   []string
	}{
		{"MINIMAL update", gtidServer, []string{}, []string{"SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE DB.documents SET n = 0 WHERE id = 50"}, []string{"uses: note, doc"}},
		{"MINIMAL update of MariaDB", mariaServer, []string{}, []string{"SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE DB.documents SET n = 0 WHERE id = 50"}, []string{"uses: note, doc", "transaction 0-1-"}},
		{"MINIMAL update without GTID", plainServer, []string{}, []string{"SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE DB.documents SET n = 0 WHERE id = 50"}, []string{"uses: note, doc", "the transaction at binlog."}},
		{"MINIMAL update in a compressed transaction", gtidServer, []string{}, []string{
			"SET SESSION binlog_transaction_compression = ON", "SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE DB.documents SET n = 0 WHERE id = 50",
		}, []string{"uses: note, doc"}},
		{"MINIMAL delete old values used", gtidServer, nil, []string{"SET SESSION binlog_row_image = 'MINIMAL'", "DELETE FROM DB.documents WHERE id = 50"}, []string{"uses: n, note, doc", "the target uses old values"}},
		{"MINIMAL delete one old value used", gtidServer, []string{"n"}, []string{"SET SESSION binlog_row_image = 'MINIMAL'", "DELETE FROM DB.documents WHERE id = 50"}, []string{"uses: n", "the target uses old values"}},
		{"NOBLOB", gtidServer, []string{}, []string{"SET SESSION binlog_row_image = 'NOBLOB'", "UPDATE DB.documents SET n = 1, doc = '1' WHERE id = 50"}, []string{"uses: note"}},
		{"part of a document without the one before", gtidServer, []string{}, []string{
			"SET SESSION binlog_row_image = 'MINIMAL', SESSION binlog_row_value_options = 'PARTIAL_JSON'",
			"UPDATE DB.documents SET n = n + 1, note = 'x', doc = JSON_SET(doc, '$.id', 0) WHERE id = 50",
		}, []string{"uses: doc", "PARTIAL_JSON"}},
		{"insert that leaves columns to their defaults", gtidServer, []string{}, []string{
			"SET SESSION binlog_row_image = 'MINIMAL'", "INSERT INTO DB.documents (id, note) VALUES (5, 'five')",
		}, []string{"uses: n, doc"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, db := documents(t, tt.server, 100)
			cfg.Tables[0].Before = tt.before
			x := run(t, cfg, nil, copies{{}}, func(c *collector) { c.upsert = tt.before != nil })
			x.await("the snapshot is not complete", complete)
			for i := range tt.sql {
				tt.sql[i] = strings.ReplaceAll(tt.sql[i], "DB", db)
			}
			if err := tt.server.Exec(tt.sql...); err != nil {
				t.Fatal(err)
			}
			want := slices.Concat(tt.want, []string{db + ".documents", "SET GLOBAL binlog_row_image = 'FULL'", "--fresh --replace"})
			if tt.server == gtidServer {
				want = append(want, "transaction "+uuidOf(t, tt.server)+":")
			}
			failsWith(t, x.err(), diag.CodeSourceBinlog, want...)
		})
	}
}

func uuidOf(t *testing.T, s *mysqld.Server) string {
	t.Helper()
	c, err := s.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	r, err := c.Execute("SELECT @@server_uuid")
	if err != nil {
		t.Fatal(err)
	}
	id, err := r.GetString(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Clone(id)
}

// TestPartsOfDocuments changes JSON documents by functions whose effect is all that
// the log holds, plain and compressed, in XA transactions, while chunks are read.
func TestPartsOfDocuments(t *testing.T) {
	s := gtidServer
	cfg, db := documents(t, s, 2000)
	cfg.ChunkRows = 100
	c, err := s.Connect(db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	exec := func(format string, args ...any) {
		t.Helper()
		if _, err := c.Execute(fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	exec("SET SESSION binlog_row_value_options = 'PARTIAL_JSON'")
	rng := rand.New(rand.NewPCG(8, uint64(time.Now().UnixNano())))
	change := func() {
		path := []string{"$.id", "$.tags", "$.tags[0]", "$.tags[1]", "$.tags[9]", "$.tags[last]", "$.tags[last-1]", `$."in"."k ey"`, `$."in".new`, `$."q\\"uote"`, "$.z.z", "$[0]", "$"}
		value := []string{"1", "NULL", "'x'", "1e100", "CAST('[1, {\"a\": 2}]' AS JSON)", "CAST(NOW(3) AS JSON)", "true", "CAST(1.25 AS DECIMAL(9,4))", "REPEAT('long', 40)", "CAST('{}' AS JSON)"}
		expr := "doc"
		for range 1 + rng.IntN(3) {
			p, v := path[rng.IntN(len(path))], value[rng.IntN(len(value))]
			switch fn := []string{"JSON_SET", "JSON_REPLACE", "JSON_INSERT", "JSON_REMOVE"}[rng.IntN(4)]; {
			case fn == "JSON_REMOVE" && p == "$":
			case fn == "JSON_REMOVE":
				expr = fmt.Sprintf("JSON_REMOVE(%s, '%s')", expr, p)
			default:
				expr = fmt.Sprintf("%s(%s, '%s', %s)", fn, expr, p, v)
			}
		}
		exec("UPDATE documents SET %s doc = %s WHERE id BETWEEN %d AND %d", []string{"", "n = n + 1,", "name = 'x',", "note = UPPER(note),"}[rng.IntN(4)], expr, rng.IntN(20_000), rng.IntN(20_000))
	}
	x := run(t, cfg, nil, copies{{}}, func(c *collector) { c.every = 1 })
	for i := range 60 {
		exec("SET SESSION binlog_transaction_compression = %s", []string{"ON", "OFF"}[rng.IntN(2)])
		if i%10 < 8 {
			change()
			continue
		}
		exec("XA START 'doc%d'", i)
		change()
		change()
		exec("XA END 'doc%d'", i)
		exec("XA PREPARE 'doc%d'", i)
		exec("XA COMMIT 'doc%d'", i)
	}
	x.await("the snapshot is not complete", complete)
	change()
	exec("INSERT INTO documents (id) VALUES (1)")
	x.await("the last change is not read", func(dataflow.SourceStatus) bool {
		x.col.mu.Lock()
		defer x.col.mu.Unlock()
		return x.col.tables[0]["1"] != ""
	})
	x.end()
	compare(t, documentsOf(t, s, db), x.col.tables[0])
	state, tables := x.col.pick(t)
	compare(t, documentsOf(t, s, db), catchUp(t, cfg, state, tables, nil).tables[0])
}
