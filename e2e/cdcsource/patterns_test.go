package cdcsource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/cdc"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/mysqld"
)

// rowLog keeps the rows of a reader as text, and its last state.
type rowLog struct {
	mu     sync.Mutex
	r      *cdc.Reader
	rows   []string
	state  []byte
	status dataflow.SourceStatus
}

func (c *rowLog) Emit(_ context.Context, _ int, b *columnar.Batch) error {
	defer b.Release()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range b.Rows() {
		cells := []string{b.Kind(i).String()}
		for _, col := range b.Cols {
			text := "NULL"
			if col.IsValid(i) {
				text = col.ValueStr(i)
			}
			if ts, isTime := col.(*array.Timestamp); isTime {
				text = fmt.Sprint(int64(ts.Value(i)))
			}
			cells = append(cells, text)
		}
		c.rows = append(c.rows, strings.Join(cells, "|"))
	}
	return nil
}

func (c *rowLog) BarrierDue() bool     { return true }
func (c *rowLog) Due() <-chan struct{} { return nil }
func (c *rowLog) Edge(ctx context.Context) error {
	st, err := c.r.SnapshotState(ctx, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = st.Data
	return err
}
func (c *rowLog) InTransaction(int64) {}

// Cut and Change are for tables that are followed, which these tests have none of.
func (c *rowLog) Cut(context.Context) <-chan error { return nil }

func (c *rowLog) Change(context.Context, int, *dataflow.Change) error {
	return errors.New("a table changed that is not followed")
}

func (c *rowLog) Report(s dataflow.SourceStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = s
}

func (c *rowLog) sorted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.rows))
}

// logOf reads to the end of the log and gives the rows and the state.
func logOf(t *testing.T, cfg cdc.Config, state []byte) *rowLog {
	t.Helper()
	cfg.CatchUp = true
	r := open(t, cfg, state)
	c := &rowLog{r: r}
	if err := r.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// shards makes tables orders_1 and orders_2 in two databases, and look-alikes.
func shards(t *testing.T, s *mysqld.Server) (cdc.Config, string) {
	t.Helper()
	db := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "_"))
	var sql []string
	for _, d := range []string{db + "_a", db + "_b", db + "_ab", "x" + db + "_a"} {
		sql = append(sql, "DROP DATABASE IF EXISTS "+d, "CREATE DATABASE "+d)
		for _, name := range []string{"orders_1", "orders_2", "orders_10", "old_orders_1", "orders_x"} {
			sql = append(sql, fmt.Sprintf("CREATE TABLE %s.%s (id BIGINT PRIMARY KEY, v VARCHAR(20))", d, name), fmt.Sprintf("INSERT INTO %s.%s VALUES (1, 'first')", d, name))
		}
	}
	if err := s.Exec(sql...); err != nil {
		t.Fatal(err)
	}
	text := columnar.StringType()
	cfg := config(s, db)
	cfg.Tables = []cdc.Table{{
		Label: "src", Database: db + "_[ab]", Name: `orders_\d`, Pattern: true, PrimaryKey: []string{"id"},
		Schema: &columnar.Schema{Fields: []columnar.Field{
			field("id", columnar.Of(columnar.BigInt).NotNull()), field("v", text), field("db", text.NotNull()), field("tab", text.NotNull()),
		}},
		Metadata: []string{"", "", cdc.MetaDatabase, cdc.MetaTable},
	}}
	return cfg, db
}

// TestTablesByPattern reads the tables that a pattern matches into one port, and
// lets a new one in when the job starts again and says so.
func TestTablesByPattern(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		cfg, db := shards(t, s)
		first := logOf(t, cfg, nil)
		want := map[string]bool{}
		for _, d := range []string{"_a", "_b"} {
			for _, n := range []string{"orders_1", "orders_2"} {
				want["+I|1|first|"+db+d+"|"+n] = true
			}
		}
		if got := first.sorted(); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("rows %q", got)
		}
		if err := s.Exec(
			"UPDATE "+db+"_b.orders_2 SET v = 'second'", "UPDATE "+db+"_b.orders_10 SET v = 'second'",
			"CREATE TABLE "+db+"_a.orders_3 (id BIGINT PRIMARY KEY, v VARCHAR(20))", "INSERT INTO "+db+"_a.orders_3 VALUES (3, 'new')",
		); err != nil {
			t.Fatal(err)
		}
		changed := []string{"+U|1|second|" + db + "_b|orders_2", "-U|1|first|" + db + "_b|orders_2"}
		if got := logOf(t, cfg, first.state).sorted(); !slices.Equal(got, changed) {
			t.Errorf("without newly added tables: rows %q", got)
		}
		cfg.NewTables = true
		if got := logOf(t, cfg, first.state).sorted(); !slices.Equal(got, slices.Sorted(slices.Values(append(changed, "+I|3|new|"+db+"_a|orders_3")))) {
			t.Errorf("with newly added tables: rows %q", got)
		}
		if err := s.Exec("DROP TABLE " + db + "_a.orders_1"); err != nil {
			t.Fatal(err)
		}
		r, err := cdc.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		failsWith(t, r.Open(t.Context(), first.state), diag.CodeSourceChanged, "orders_1 was dropped")
		cfg.Tables[0].Name = "no_such_.*"
		r, err = cdc.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		failsWith(t, r.Open(t.Context(), nil), diag.CodeSourceTable, "no_such_.*")
	})
}

// TestMetadataOfChanges reads time, transaction and place of each row change.
func TestMetadataOfChanges(t *testing.T) {
	eachServer(t, func(t *testing.T, s *mysqld.Server) {
		db := accounts(t, s, accountsDDL)
		if err := s.Exec("DELETE FROM " + db + ".accounts WHERE id > 20"); err != nil {
			t.Fatal(err)
		}
		keys := cdc.MetadataKeys()
		cfg := config(s, db)
		tab := &cfg.Tables[0]
		tab.Schema = &columnar.Schema{Fields: []columnar.Field{field("id", columnar.Of(columnar.BigInt).NotNull())}}
		tab.Metadata = []string{""}
		for _, key := range []string{cdc.MetaTime, cdc.MetaGTID, cdc.MetaFile, cdc.MetaPos, cdc.MetaSeq, cdc.MetaSnapshot, cdc.MetaKind} {
			tab.Schema.Fields = append(tab.Schema.Fields, field("m_"+key, keys[key]))
			tab.Metadata = append(tab.Metadata, key)
		}
		first := logOf(t, cfg, nil)
		if got := first.sorted(); !slices.Equal(got, []string{"+I|10|0|NULL|NULL|NULL|NULL|true|+I", "+I|20|0|NULL|NULL|NULL|NULL|true|+I"}) {
			t.Fatalf("rows of the snapshot: %q", got)
		}
		file, offset, _ := endOfLog(t, s)
		from := time.Now().Add(-time.Second).UnixMilli()
		if err := s.Exec("UPDATE "+db+".accounts SET balance = 7", "DELETE FROM "+db+".accounts WHERE id = 10"); err != nil {
			t.Fatal(err)
		}
		got := logOf(t, cfg, first.state).rows
		if len(got) != 5 {
			t.Fatalf("rows of the changes: %q", got)
		}
		for i, row := range got {
			cells := strings.Split(row, "|")
			var millis, pos int64
			if _, err := fmt.Sscan(cells[2], &millis); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscan(cells[5], &pos); err != nil {
				t.Fatal(err)
			}
			if millis < from || millis > time.Now().UnixMilli()+1000 {
				t.Errorf("op_ts of %q", row)
			}
			if (s != plainServer) != strings.ContainsAny(cells[3], ":-") {
				t.Errorf("gtid of %q", row)
			}
			seq := fmt.Sprint(i)
			if i == 4 {
				seq = "0"
			}
			if cells[4] != file || cells[6] != seq || cells[7] != "false" || cells[8] != cells[0] {
				t.Errorf("row %q, want file %s and number %s", row, file, seq)
			}
			if i < 4 && pos != int64(offset) || i == 4 && pos <= int64(offset) {
				t.Errorf("place of %q, want %d at first", row, offset)
			}
		}
	})
}
