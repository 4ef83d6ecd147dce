package cdctypes

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"leat/cdc/mysqlrow"
	"leat/internal/mysqld"
)

func connect(t *testing.T, s *mysqld.Server, statements ...string) *client.Conn {
	t.Helper()
	c, err := client.Connect(s.Addr(), "root", "", "", func(c *client.Conn) error {
		// selectPackets speaks the plain form of the protocol.
		c.UnsetCapability(mysql.CLIENT_DEPRECATE_EOF)
		c.UnsetCapability(mysql.CLIENT_QUERY_ATTRIBUTES)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	execute(t, c, "SET NAMES utf8mb4")
	for _, q := range statements {
		execute(t, c, q)
	}
	return c
}

func execute(t *testing.T, c *client.Conn, q string) *mysql.Result {
	t.Helper()
	r, err := c.Execute(q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return r
}

// cell gives a field of a result as text.
func cell(t *testing.T, r *mysql.Result, row, col int) string {
	t.Helper()
	s, err := r.GetString(row, col)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// columns reads the columns of a table from information_schema.
func columns(t *testing.T, c *client.Conn, db, table string) []mysqlrow.Column {
	t.Helper()
	r := execute(t, c, fmt.Sprintf(`SELECT column_name, data_type, column_type, character_maximum_length, numeric_precision,
		numeric_scale, datetime_precision, character_set_name, collation_name, is_nullable
		FROM information_schema.columns WHERE table_schema = '%s' AND table_name = '%s' ORDER BY ordinal_position`, db, table))
	text := func(row, col int) string { return cell(t, r, row, col) }
	number := func(row, col int) int64 {
		n, err := r.GetInt(row, col)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var out []mysqlrow.Column
	for i := range r.RowNumber() {
		out = append(out, mysqlrow.Column{
			Name: text(i, 0), DataType: text(i, 1), ColumnType: text(i, 2), Length: number(i, 3),
			Precision: int(number(i, 4)), Scale: int(number(i, 5)), FractionDigits: int(number(i, 6)),
			Charset: text(i, 7), Collation: text(i, 8), Nullable: text(i, 9) == "YES",
		})
	}
	return out
}

// selectPackets runs a query and calls row with each row packet.
func selectPackets(t *testing.T, c *client.Conn, query string, row func(packet []byte) error) {
	t.Helper()
	c.ResetSequence()
	// Four bytes are room for the packet header.
	if err := c.WritePacket(append([]byte{0, 0, 0, 0, mysql.COM_QUERY}, query...)); err != nil {
		t.Fatal(err)
	}
	next := func() []byte {
		p, err := c.ReadPacket()
		if err != nil {
			t.Fatal(err)
		}
		if p[0] == mysql.ERR_HEADER {
			t.Fatalf("%s: %q", query, p)
		}
		return p
	}
	count, _, _ := mysql.LengthEncodedInt(next())
	for range count + 1 { // the columns and the packet that ends them
		next()
	}
	for {
		p := next()
		if p[0] == mysql.EOF_HEADER && len(p) < 9 {
			return
		}
		if err := row(p); err != nil {
			t.Fatal(err)
		}
	}
}

// position is the end of the binlog.
func position(t *testing.T, s *mysqld.Server) mysql.Position {
	t.Helper()
	end, err := s.EndOfLog()
	if err != nil {
		t.Fatal(err)
	}
	return mysql.Position{Name: end.File, Pos: uint32(end.Offset)}
}

// follower says when the stream has passed a position, and keeps the table maps.
type follower struct {
	file string
	end  mysql.Position
	done chan struct{}
	maps map[uint64]mysqlrow.TableMap
}

func (h *follower) HandleEvent(e *replication.BinlogEvent) error {
	switch body := e.Event.(type) {
	case *replication.RotateEvent:
		h.file = string(body.NextLogName)
	case *replication.TableMapEvent:
		raw := e.RawData[replication.EventHeaderSize:]
		m, err := mysqlrow.ParseTableMap(raw[:len(raw)-replication.BinlogChecksumLength])
		if err != nil {
			return err
		}
		h.maps[m.ID] = m.TableMap
	}
	at := mysql.Position{Name: h.file, Pos: e.Header.LogPos}
	if h.done != nil && cmp.Or(strings.Compare(at.Name, h.end.Name), cmp.Compare(at.Pos, h.end.Pos)) >= 0 {
		close(h.done)
		h.done = nil
	}
	return nil
}

// onRows is called with each rows event and the table that it is of.
type onRows func(table string, m mysqlrow.TableMap, r mysqlrow.Rows) error

// readBinlog calls rows with the rows events from one position to another.
func readBinlog(t *testing.T, s *mysqld.Server, from, to mysql.Position, rows onRows) {
	t.Helper()
	if err := streamBinlog(t, s, from, to, rows); err != nil {
		t.Fatal(err)
	}
}

// streamBinlog is readBinlog that gives the first error of a rows event.
func streamBinlog(t *testing.T, s *mysqld.Server, from, to mysql.Position, rows onRows) error {
	t.Helper()
	done := make(chan struct{})
	var failed error
	handler := &follower{file: from.Name, end: to, done: done, maps: make(map[uint64]mysqlrow.TableMap)}
	flavor := mysql.MySQLFlavor
	if s.Install.MariaDB {
		flavor = mysql.MariaDBFlavor
	}
	syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID: 7001, Flavor: flavor, Host: "127.0.0.1", Port: uint16(s.Port), User: "root",
		DisableRetrySync: true, VerifyChecksum: true, Logger: slog.New(slog.DiscardHandler),
		PayloadDecoderConcurrency: 1,
		RowsEventDecodeFunc: func(e *replication.RowsEvent, data []byte) error {
			r, err := mysqlrow.ParseRows(e, data)
			if err == nil {
				// Within a compressed transaction the map comes to the parser alone.
				m, seen := handler.maps[r.TableID]
				if !seen {
					m = mysqlrow.TableMapOf(e.Table)
				}
				err = rows(string(e.Table.Table), m, r)
			}
			if failed == nil {
				failed = err
			}
			return nil
		},
		SynchronousEventHandler: handler,
	})
	defer syncer.Close()
	if _, err := syncer.StartSync(from); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the binlog did not come to its end within a minute")
	}
	return failed
}

// rowsError decodes the rows events from a position to the end and gives the error of doing so.
func rowsError(t *testing.T, s *mysqld.Server, c *client.Conn, plan *mysqlrow.Plan, from mysql.Position) error {
	t.Helper()
	b := mysqlrow.NewBuilder(plan, 8)
	return streamBinlog(t, s, from, position(t, s), func(_ string, m mysqlrow.TableMap, r mysqlrow.Rows) error {
		layout, err := plan.Bind(m)
		if err != nil {
			return err
		}
		return b.AppendRows(layout, r)
	})
}
