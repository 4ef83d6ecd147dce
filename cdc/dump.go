package cdc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"leat/cdc/mysqlrow"
)

// tableMap is what a TABLE_MAP event says; one value serves all equal events of
// a connection.
type tableMap struct {
	raw     []byte
	schema  string
	name    string
	columns mysqlrow.TableMap
	// bound are the readers of the table, empty for a table that is not ours.
	bound []*binding
	// watched says that the table may have become ours since the connection began:
	// late are its readers then, as of the generation of the reader's tables; only
	// the decoding goroutine uses the two.
	watched    bool
	late       []*binding
	generation int
}

// wanted reports whether rows of the table go to the decoding goroutine.
func (m *tableMap) wanted() bool { return len(m.bound) > 0 || m.watched }

// binding is the way from a table map to one reader; only the decoding goroutine uses layout.
type binding struct {
	table  *table
	plan   *mysqlrow.Plan
	layout *mysqlrow.Layout
}

// dumper is one binlog connection: it asks the server for the log from a
// position and turns packets into events. run is a goroutine of its own.
type dumper struct {
	cfg    *Config
	conn   *conn
	queue  *queue
	server *server
	// emit takes the events; it puts them into queue but for a look into the log.
	emit  func(ctx context.Context, e event) error
	uuid  string
	maria bool
	// tables are those known when the connection began; watch tells which others may come.
	tables map[string][]*table
	watch  *Watch
	parser *replication.BinlogParser
	maps   map[uint64]*tableMap
	zstd   *zstd.Decoder
	// heartbeat is how often an idle server says that it lives.
	heartbeat time.Duration
	checksum  bool
	slab      []byte

	file   string
	offset uint64
	// fileTime is when the file was begun, in seconds since 1970.
	fileTime int64
	// The transaction at hand.
	id     gtid
	millis int64
	start  uint64 // where it begins
	// standalone is a transaction of MariaDB that is one statement; xaID names the
	// XA transaction that it is a piece of.
	standalone bool
	xaID       string
	open       bool       // a transaction began
	begun      bool       // evBegin was sent
	xa         *xaReading // nil outside of the first piece of an XA transaction
	// prepared are the XA transactions whose end is still to come.
	prepared xaTransactions
	// wanted is the XA transaction that a connection looks for which reads the log once more.
	wanted string
	// held is the memory of transactions that are held until their end.
	held []byte
}

// slabSize is the size of the blocks that event bytes are carved from: one
// allocation serves many small events.
const slabSize = 256 << 10

// startDump opens a binlog connection at pos. With GTIDs the set decides where
// to start, else file and offset.
func (c *Config) startDump(ctx context.Context, q *queue, tables map[string][]*table, pos Position, s *server) (*dumper, error) {
	n, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	d := &dumper{
		cfg: c, conn: n, queue: q, server: s, emit: q.put, uuid: s.uuid, maria: s.mariadb, tables: tables, watch: c.Watch, parser: replication.NewBinlogParser(),
		maps: map[uint64]*tableMap{}, heartbeat: c.heartbeat(), file: pos.File, offset: pos.Offset,
		prepared: pos.prepared.clone(),
	}
	d.parser.SetVerifyChecksum(true)
	if s.mariadb {
		d.parser.SetFlavor(mysql.MariaDBFlavor)
	}
	if err := d.request(c, pos); err != nil {
		n.close()
		return nil, fmt.Errorf("asking %s for the binlog: %w", n.addr, err)
	}
	return d, nil
}

// replica is the uuid of a reader among the server's replicas.
type replica struct{ uuid atomic.Pointer[string] }

func newReplica() *replica {
	r := &replica{}
	r.set("")
	return r
}

// set changes the uuid; what is none makes a new one.
func (r *replica) set(text string) {
	if uuid.Validate(text) != nil {
		text = uuid.NewString()
	}
	r.uuid.Store(&text)
}

func (r *replica) id() string { return *r.uuid.Load() }

// aside is the configuration of a second look into the log: a server ends the
// connection of a replica when another one of the same name comes.
func (c *Config) aside() *Config {
	const apart = 1 << 24
	other := *c
	other.replica, other.ServerID = newReplica(), c.ServerID^apart
	return &other
}

// heartbeat is the period of the server's heartbeats. Lag and position of an
// idle server follow from them, so that they come at least every second.
func (c *Config) heartbeat() time.Duration {
	if c.Heartbeat > 0 && c.Heartbeat < time.Second {
		return c.Heartbeat
	}
	return time.Second
}

// request registers as a replica and sends the dump command.
func (d *dumper) request(c *Config, pos Position) error {
	statements := []string{
		"SET @master_binlog_checksum = @@global.binlog_checksum, @source_binlog_checksum = @@global.binlog_checksum",
		fmt.Sprintf("SET @master_heartbeat_period = %d, @source_heartbeat_period = %d", d.heartbeat, d.heartbeat),
		fmt.Sprintf("SET @slave_uuid = '%[1]s', @replica_uuid = '%[1]s'", c.replica.id()),
		"SET SESSION net_write_timeout = 3600",
	}
	if d.maria {
		statements = append(statements, mariaStart(pos)...)
	}
	for _, sql := range statements {
		if err := d.conn.exec(sql); err != nil {
			return err
		}
	}
	// The first event comes before the one that tells whether events have checksums.
	algorithm, err := d.conn.value("SELECT @@GLOBAL.binlog_checksum")
	if err != nil {
		return err
	}
	d.checksum = strings.EqualFold(algorithm, "CRC32")
	host, user := "leat", c.User
	reg := []byte{0, 0, 0, 0, mysql.COM_REGISTER_SLAVE}
	reg = binary.LittleEndian.AppendUint32(reg, c.ServerID)
	reg = append(append(reg, byte(len(host))), host...)
	user = user[:min(len(user), 255)]
	reg = append(append(reg, byte(len(user))), user...)
	reg = append(reg, 0) // no password
	reg = append(reg, make([]byte, 2+4+4)...)
	d.conn.ResetSequence()
	if err := d.conn.WritePacket(reg); err != nil {
		return trimError(err)
	}
	if _, err := d.conn.ReadOKPacket(); err != nil {
		return trimError(err)
	}
	d.conn.ResetSequence()
	if err := d.conn.WritePacket(dumpCommand(c.ServerID, pos, d.maria)); err != nil {
		return trimError(err)
	}
	return nil
}

// dumpCommand is COM_BINLOG_DUMP_GTID or COM_BINLOG_DUMP with room for the packet header.
func dumpCommand(serverID uint32, pos Position, maria bool) []byte {
	b := []byte{0, 0, 0, 0}
	if maria && pos.GTID != nil {
		pos = Position{} // the session says where to start
	}
	if pos.GTID == nil {
		b = append(b, mysql.COM_BINLOG_DUMP)
		b = binary.LittleEndian.AppendUint32(b, uint32(max(pos.Offset, 4)))
		b = append(b, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, serverID)
		return append(b, pos.File...)
	}
	set := pos.GTID.set.Encode()
	b = append(b, mysql.COM_BINLOG_DUMP_GTID, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, serverID)
	b = binary.LittleEndian.AppendUint32(b, 0) // no file name
	b = binary.LittleEndian.AppendUint64(b, 4)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(set)))
	return append(b, set...)
}

// run reads until the connection ends, which is its last event.
func (d *dumper) run(ctx context.Context) {
	err := d.read(ctx)
	d.end()
	if ctx.Err() == nil {
		_ = d.emit(ctx, event{kind: evLost, err: err})
	}
}

// end releases what the connection holds.
func (d *dumper) end() {
	d.conn.close()
	d.dropXA()
	if d.zstd != nil {
		d.zstd.Close()
	}
}

func (d *dumper) read(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil { // the library's parsers do not check bounds
			err = fmt.Errorf("reading the binlog at %s:%d: malformed event: %v", d.file, d.offset, p)
		}
	}()
	pr := packetReader{rd: d.conn.rd}
	for {
		if err := d.wait(); err != nil {
			return err
		}
		if large, err := d.largePayload(&pr); err != nil {
			return err
		} else if large {
			if err := d.streamPayload(ctx, &pr); err != nil {
				return err
			}
			continue
		}
		packet, err := d.packet(&pr)
		if err != nil {
			return err
		}
		switch packet[0] {
		case mysql.OK_HEADER:
			if err := d.event(ctx, packet[1:]); err != nil {
				return err
			}
		case mysql.ERR_HEADER:
			return d.conn.HandleErrorPacket(packet)
		default:
			return fmt.Errorf("%w: the server ended the binlog", errLost)
		}
	}
}

// sizeOf gives the size of a packet that comes in several parts, as the event in it says.
func (d *dumper) sizeOf(pr *packetReader, first int) int {
	const most = 1 << 30 // the largest packet there is
	head, err := pr.rd.Peek(4 + 1 + replication.EventHeaderSize)
	if err != nil || head[4] != mysql.OK_HEADER {
		return first
	}
	h, err := readHeader(head[5:])
	if err != nil || h.size > most {
		return first
	}
	return max(first, 1+int(h.size))
}

// wait limits how long the next read of the socket may take.
func (d *dumper) wait() error {
	if d.conn.rd.Buffered() > 0 {
		return nil
	}
	if err := d.conn.SetReadDeadline(time.Now().Add(3*d.heartbeat + 30*time.Second)); err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return nil
}

// packet reads the next packet into the slab, because events outlive the read buffer.
func (d *dumper) packet(pr *packetReader) ([]byte, error) {
	n, err := pr.peekSize()
	if err != nil {
		return nil, err
	}
	if n >= slabSize/4 {
		if n == maxPacket {
			n = d.sizeOf(pr, n)
		}
		p, err := pr.appendTo(make([]byte, 0, n))
		if err == nil && len(p) == 0 {
			err = errors.New("reading the binlog: empty packet")
		}
		return p, err
	}
	if cap(d.slab)-len(d.slab) < n {
		d.slab = make([]byte, 0, slabSize)
	}
	start := len(d.slab)
	if d.slab, err = pr.appendTo(d.slab); err != nil {
		return nil, err
	}
	p := d.slab[start:len(d.slab):len(d.slab)]
	if len(p) == 0 {
		return nil, errors.New("reading the binlog: empty packet")
	}
	return p, nil
}
