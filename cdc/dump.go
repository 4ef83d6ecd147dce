package cdc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"leat/cdc/mysqlrow"
	"leat/internal/diag"
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
}

// binding is the way from a table map to one reader; only the decoding goroutine uses layout.
type binding struct {
	table  *table
	plan   *mysqlrow.Plan
	layout *mysqlrow.Layout
}

// dumper is one binlog connection: it asks the server for the log from a
// position and turns packets into events. run is a goroutine of its own.
type dumper struct {
	conn   *conn
	queue  *queue
	uuid   string
	tables map[string][]*table
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
	open   bool // a transaction began
	begun  bool // evBegin was sent
	xa     bool // it is an XA transaction
}

// slabSize is the size of the blocks that event bytes are carved from: one
// allocation serves many small events.
const slabSize = 256 << 10

// startDump opens a binlog connection at pos. With GTIDs the set decides where
// to start, else file and offset.
func (c *Config) startDump(ctx context.Context, q *queue, tables map[string][]*table, pos Position, uuid string) (*dumper, error) {
	n, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	d := &dumper{
		conn: n, queue: q, uuid: uuid, tables: tables, parser: replication.NewBinlogParser(),
		maps: map[uint64]*tableMap{}, heartbeat: c.heartbeat(), file: pos.File, offset: pos.Offset,
	}
	d.parser.SetVerifyChecksum(true)
	if err := d.request(c, pos); err != nil {
		n.close()
		return nil, fmt.Errorf("asking %s for the binlog: %w", n.addr, err)
	}
	return d, nil
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
	for _, sql := range []string{
		"SET @master_binlog_checksum = @@global.binlog_checksum, @source_binlog_checksum = @@global.binlog_checksum",
		fmt.Sprintf("SET @master_heartbeat_period = %d, @source_heartbeat_period = %d", d.heartbeat, d.heartbeat),
		fmt.Sprintf("SET @slave_uuid = '%[1]s', @replica_uuid = '%[1]s'", uuid.NewString()),
		"SET SESSION net_write_timeout = 3600",
	} {
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
	if err := d.conn.WritePacket(dumpCommand(c.ServerID, pos)); err != nil {
		return trimError(err)
	}
	return nil
}

// dumpCommand is COM_BINLOG_DUMP_GTID or COM_BINLOG_DUMP with room for the packet header.
func dumpCommand(serverID uint32, pos Position) []byte {
	b := []byte{0, 0, 0, 0}
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
	d.conn.close()
	if d.zstd != nil {
		d.zstd.Close()
	}
	if ctx.Err() == nil {
		_ = d.queue.put(ctx, event{kind: evLost, err: err})
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
		if d.conn.rd.Buffered() == 0 {
			if err := d.conn.SetReadDeadline(time.Now().Add(3*d.heartbeat + 30*time.Second)); err != nil {
				return fmt.Errorf("%w: %w", errLost, err)
			}
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

// packet reads the next packet into the slab, because events outlive the read buffer.
func (d *dumper) packet(pr *packetReader) ([]byte, error) {
	n, err := pr.peekSize()
	if err != nil {
		return nil, err
	}
	if n >= slabSize/4 {
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

// header is the fixed front of a binlog event.
type header struct {
	seconds uint32
	kind    replication.EventType
	size    uint32
	end     uint32
	flags   uint16
}

func readHeader(b []byte) (header, error) {
	if len(b) < replication.EventHeaderSize {
		return header{}, fmt.Errorf("reading a binlog event: %d bytes are too few", len(b))
	}
	return header{
		seconds: binary.LittleEndian.Uint32(b), kind: replication.EventType(b[4]),
		size: binary.LittleEndian.Uint32(b[9:]), end: binary.LittleEndian.Uint32(b[13:]), flags: binary.LittleEndian.Uint16(b[17:]),
	}, nil
}

// event takes one event of the log, checksum included.
func (d *dumper) event(ctx context.Context, raw []byte) error {
	h, err := readHeader(raw)
	if err != nil {
		return err
	}
	body := raw[replication.EventHeaderSize:]
	if h.kind == replication.FORMAT_DESCRIPTION_EVENT {
		return d.format(h, raw)
	}
	if d.checksum {
		n := len(body) - replication.BinlogChecksumLength
		if n < 0 {
			return fmt.Errorf("reading the binlog at %s:%d: event without checksum", d.file, d.offset)
		}
		if crc32.ChecksumIEEE(raw[:replication.EventHeaderSize+n]) != binary.LittleEndian.Uint32(body[n:]) {
			return fmt.Errorf("reading the binlog at %s:%d: %w: wrong checksum", d.file, d.offset, errLost)
		}
		// The library's parser runs without checksums, as inside compressed transactions.
		raw, body = raw[:len(raw)-replication.BinlogChecksumLength], body[:n]
		binary.LittleEndian.PutUint32(raw[9:], uint32(len(raw)))
	}
	const artificial = 0x20
	if h.end != 0 && h.flags&artificial == 0 && h.kind != replication.HEARTBEAT_EVENT {
		d.advance(h.end)
	}
	return d.dispatch(ctx, h, raw, body)
}

// advance takes over the end of an event. The log has 32 bits for it, so that
// files beyond 4 GiB wrap.
func (d *dumper) advance(end uint32) {
	next := d.offset&^0xFFFFFFFF | uint64(end)
	if next < d.offset && d.offset-next > 1<<31 {
		next += 1 << 32
	}
	d.offset = next
}

// format reads the event that opens a file. The parser is told that events have
// no checksum, because they lose it before they get there.
func (d *dumper) format(h header, raw []byte) error {
	e, err := d.parse(raw)
	if err != nil {
		return err
	}
	f, ok := e.Event.(*replication.FormatDescriptionEvent)
	if !ok {
		return fmt.Errorf("reading the binlog at %s:%d: unexpected %T", d.file, d.offset, e.Event)
	}
	d.checksum = f.ChecksumAlgorithm == replication.BINLOG_CHECKSUM_ALG_CRC32
	f.ChecksumAlgorithm = replication.BINLOG_CHECKSUM_ALG_OFF
	d.fileTime = int64(h.seconds)
	clear(d.maps)
	if h.end != 0 {
		d.advance(h.end)
	}
	return nil
}

// parse lets the library read an event.
func (d *dumper) parse(raw []byte) (*replication.BinlogEvent, error) {
	e, err := d.parser.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the binlog at %s:%d: %w", d.file, d.offset, err)
	}
	return e, nil
}

// dispatch takes one event without its checksum, from the log or from inside a
// compressed transaction.
func (d *dumper) dispatch(ctx context.Context, h header, raw, body []byte) error {
	switch h.kind {
	case replication.TABLE_MAP_EVENT:
		return d.tableMap(raw, body)
	case replication.WRITE_ROWS_EVENTv2, replication.UPDATE_ROWS_EVENTv2, replication.DELETE_ROWS_EVENTv2:
		return d.rows(ctx, h.kind, body)
	case replication.PARTIAL_UPDATE_ROWS_EVENT, replication.WRITE_ROWS_EVENTv1, replication.UPDATE_ROWS_EVENTv1, replication.DELETE_ROWS_EVENTv1:
		return d.foreignRows(h.kind, body)
	case replication.GTID_EVENT, replication.ANONYMOUS_GTID_EVENT:
		return d.begin(h, body)
	case replication.XID_EVENT:
		return d.commit(ctx, h)
	case replication.QUERY_EVENT:
		return d.query(ctx, h, body)
	case replication.TRANSACTION_PAYLOAD_EVENT:
		return d.payload(ctx, body)
	case replication.ROTATE_EVENT:
		if len(body) < 8 {
			return errors.New("reading the binlog: short rotate event")
		}
		d.file, d.offset = string(body[8:]), binary.LittleEndian.Uint64(body)
		clear(d.maps)
		return nil
	case replication.HEARTBEAT_EVENT:
		return d.beat(ctx, h, body)
	case replication.GTID_TAGGED_LOG_EVENT:
		return d.taggedBegin(raw)
	case replication.XA_PREPARE_LOG_EVENT:
		return d.commit(ctx, h)
	case replication.PREVIOUS_GTIDS_EVENT:
		return d.idle(ctx)
	default:
		return nil
	}
}

// idle tells the position where no transaction is open.
func (d *dumper) idle(ctx context.Context) error {
	if d.open {
		return nil
	}
	return d.queue.put(ctx, event{kind: evAdvance, millis: d.fileTime * 1000, file: d.file, offset: d.offset})
}

// beat reads a heartbeat: the server has sent everything up to its position.
func (d *dumper) beat(ctx context.Context, h header, body []byte) error {
	if d.open {
		return nil
	}
	if name := string(body); name != "" && name == d.file {
		d.advance(h.end)
	}
	return d.idle(ctx)
}

// begin reads a GTID event, which opens every transaction.
func (d *dumper) begin(h header, body []byte) error {
	const sidAt, gnoAt, clockAt, timeAt = 1, 17, 25, 42
	if len(body) < clockAt {
		return errors.New("reading the binlog: short GTID event")
	}
	d.id = gtid{}
	if h.kind == replication.GTID_EVENT {
		d.id = gtid{sid: uuid.UUID(body[sidAt:gnoAt]), gno: int64(binary.LittleEndian.Uint64(body[gnoAt:]))}
	}
	d.millis = int64(h.seconds) * 1000
	if len(body) >= timeAt+7 && body[clockAt] == replication.LogicalTimestampTypeCode {
		var micros uint64
		for i := 6; i >= 0; i-- {
			micros = micros<<8 | uint64(body[timeAt+i])
		}
		d.millis = int64(micros&^(1<<55)) / 1000
	}
	d.open, d.begun, d.xa = true, false, false
	return nil
}

func (d *dumper) taggedBegin(raw []byte) error {
	e, err := d.parse(raw)
	if err != nil {
		return err
	}
	g, ok := e.Event.(*replication.GtidTaggedLogEvent)
	if !ok {
		return fmt.Errorf("reading the binlog at %s:%d: unexpected %T", d.file, d.offset, e.Event)
	}
	d.id = gtid{sid: uuid.UUID(g.SID), tag: g.Tag, gno: g.GNO}
	d.millis = int64(g.ImmediateCommitTimestamp / 1000)
	if d.millis == 0 {
		d.millis = int64(e.Header.Timestamp) * 1000
	}
	d.open, d.begun, d.xa = true, false, false
	return nil
}

// commit ends the transaction.
func (d *dumper) commit(ctx context.Context, h header) error {
	if !d.open && d.millis == 0 {
		d.millis = int64(h.seconds) * 1000
	}
	d.open, d.begun = false, false
	return d.queue.put(ctx, event{kind: evCommit, id: d.id, millis: d.millis, file: d.file, offset: d.offset})
}

// query reads a QUERY event: BEGIN, COMMIT, DDL, or DML written as a statement.
func (d *dumper) query(ctx context.Context, h header, body []byte) error {
	const fixed = 13
	if len(body) < fixed {
		return errors.New("reading the binlog: short query event")
	}
	schemaLen, varsLen := int(body[8]), int(binary.LittleEndian.Uint16(body[11:]))
	at := fixed + varsLen
	if len(body) < at+schemaLen+1 {
		return errors.New("reading the binlog: short query event")
	}
	text := body[at+schemaLen+1:]
	switch string(text) {
	case "BEGIN":
		d.open = true
		return nil
	case "COMMIT":
		return d.commit(ctx, h)
	}
	e := event{
		kind: evStatement, id: d.id, millis: d.millis, file: d.file, offset: d.offset,
		text: string(text), schema: string(body[at : at+schemaLen]),
	}
	switch verb := firstWord(e.text); verb {
	case "SAVEPOINT", "RELEASE":
		return nil
	case "ROLLBACK":
		if strings.Contains(strings.ToUpper(e.text), " TO ") {
			return nil
		}
		return d.commit(ctx, h)
	case "XA":
		return d.xaStatement(ctx, h, e)
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "WITH", "CALL", "SET", "DO", "SELECT":
		// Within a transaction; the edge is its end.
		return d.queue.put(ctx, e)
	default:
		d.open, d.begun = false, false
		if err := d.queue.put(ctx, e); err != nil {
			return err
		}
		return d.commit(ctx, h)
	}
}

// xaStatement follows XA transactions: their rows stand under XA START, and
// XA COMMIT or XA ROLLBACK come later as transactions of their own.
func (d *dumper) xaStatement(ctx context.Context, h header, e event) error {
	switch rest := strings.ToUpper(strings.TrimSpace(e.text)); {
	case strings.HasPrefix(rest, "XA START"), strings.HasPrefix(rest, "XA BEGIN"):
		d.open, d.xa = true, true
		return nil
	case strings.HasPrefix(rest, "XA END"):
		return nil
	default:
		return d.commit(ctx, h)
	}
}

// payload unpacks a compressed transaction.
func (d *dumper) payload(ctx context.Context, body []byte) error {
	data, kind, err := payloadFields(body)
	if err != nil {
		return err
	}
	switch kind {
	case replication.ZSTD:
		if d.zstd == nil {
			if d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)); err != nil {
				return fmt.Errorf("unpacking a compressed transaction: %w", err)
			}
		}
		if data, err = d.zstd.DecodeAll(data, nil); err != nil {
			return fmt.Errorf("unpacking a compressed transaction at %s:%d: %w", d.file, d.offset, err)
		}
	case replication.NONE:
	default:
		return fmt.Errorf("unpacking a compressed transaction at %s:%d: unknown compression %d", d.file, d.offset, kind)
	}
	clear(d.maps)
	for len(data) > 0 {
		h, err := readHeader(data)
		if err != nil {
			return err
		}
		if int(h.size) < replication.EventHeaderSize || int(h.size) > len(data) {
			return fmt.Errorf("unpacking a compressed transaction at %s:%d: event of %d bytes", d.file, d.offset, h.size)
		}
		raw := data[:h.size]
		data = data[h.size:]
		if err := d.dispatch(ctx, h, raw, raw[replication.EventHeaderSize:]); err != nil {
			return err
		}
	}
	return nil
}

// payloadFields reads the head of a TRANSACTION_PAYLOAD event.
func payloadFields(body []byte) (data []byte, compression uint64, err error) {
	short := errors.New("unpacking a compressed transaction: its head is cut")
	for {
		kind, _, n := mysql.LengthEncodedInt(body)
		if n == 0 || n > len(body) {
			return nil, 0, short
		}
		body = body[n:]
		if kind == replication.OTW_PAYLOAD_HEADER_END_MARK {
			return body, compression, nil
		}
		if len(body) == 0 {
			return nil, 0, short
		}
		size, _, n := mysql.LengthEncodedInt(body)
		if n == 0 || uint64(n)+size > uint64(len(body)) {
			return nil, 0, short
		}
		if kind == replication.OTW_PAYLOAD_COMPRESSION_TYPE_FIELD {
			compression, _, _ = mysql.LengthEncodedInt(body[n:])
		}
		body = body[uint64(n)+size:]
	}
}

// tableMap reads a TABLE_MAP event, or knows it already.
func (d *dumper) tableMap(raw, body []byte) error {
	if len(body) < 8 {
		return errors.New("reading the binlog: short table map")
	}
	id := tableID(body)
	if m := d.maps[id]; m != nil && string(m.raw) == string(body) {
		return nil
	}
	e, err := d.parse(raw)
	if err != nil {
		return err
	}
	t, ok := e.Event.(*replication.TableMapEvent)
	if !ok {
		return fmt.Errorf("reading the binlog at %s:%d: unexpected %T", d.file, d.offset, e.Event)
	}
	m := &tableMap{raw: append([]byte(nil), body...), schema: string(t.Schema), name: string(t.Table), columns: mysqlrow.TableMapOf(t)}
	for _, tr := range d.tables[tableKey(m.schema, m.name)] {
		m.bound = append(m.bound, &binding{table: tr})
	}
	d.maps[id] = m
	return nil
}

func tableID(body []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(body)) | uint64(binary.LittleEndian.Uint16(body[4:]))<<32
}

// tableKey is the map key of a table.
func tableKey(schema, name string) string { return schema + "\x00" + name }

// rows takes a rows event of version 2, the only one since MySQL 5.6.
func (d *dumper) rows(ctx context.Context, kind replication.EventType, body []byte) error {
	if len(body) < 10 {
		return errors.New("reading the binlog: short rows event")
	}
	m := d.maps[tableID(body)]
	if m == nil {
		return fmt.Errorf("reading the binlog at %s:%d: rows of table id %d without a table map", d.file, d.offset, tableID(body))
	}
	if len(m.bound) == 0 {
		return nil
	}
	r := mysqlrow.Rows{TableID: tableID(body)}
	extra := int(binary.LittleEndian.Uint16(body[8:]))
	at := 8 + extra
	if extra < 2 || len(body) <= at {
		return errors.New("reading the binlog: short rows event")
	}
	columns, _, n := mysql.LengthEncodedInt(body[at:])
	at += n
	bits := (int(columns) + 7) / 8
	switch kind {
	case replication.UPDATE_ROWS_EVENTv2:
		r.Op = mysqlrow.OpUpdate
	case replication.DELETE_ROWS_EVENTv2:
		r.Op = mysqlrow.OpDelete
	default:
		r.Op = mysqlrow.OpInsert
	}
	need := bits
	if r.Op == mysqlrow.OpUpdate {
		need *= 2
	}
	if columns > 4096 || len(body) < at+need {
		return errors.New("reading the binlog: short rows event")
	}
	r.Columns, r.Present = int(columns), body[at:at+bits]
	if r.Op == mysqlrow.OpUpdate {
		r.PresentAfter = body[at+bits : at+2*bits]
	}
	r.Data = body[at+need:]
	if d.xa {
		return xaError(m)
	}
	if !d.begun {
		d.begun = true
		if err := d.queue.put(ctx, event{kind: evBegin, id: d.id, millis: d.millis, file: d.file, offset: d.offset}); err != nil {
			return err
		}
	}
	return d.queue.put(ctx, event{kind: evRows, table: m, rows: r})
}

// foreignRows refuses forms of rows events that leat does not read, on tables of ours.
func (d *dumper) foreignRows(kind replication.EventType, body []byte) error {
	if len(body) < 8 {
		return errors.New("reading the binlog: short rows event")
	}
	m := d.maps[tableID(body)]
	if m == nil || len(m.bound) == 0 {
		return nil
	}
	if kind == replication.PARTIAL_UPDATE_ROWS_EVENT {
		return &diag.Error{
			Domain: diag.External, Code: diag.CodeSourceBinlog, Table: m.schema + "." + m.name,
			Msg:  "the binlog carries parts of JSON values instead of whole rows",
			Hint: "SET GLOBAL binlog_row_value_options = '', and in sessions that set it, then start the job again with --fresh --replace",
		}
	}
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceVersion, Table: m.schema + "." + m.name,
		Msg:  "the binlog holds rows events of an old version",
		Hint: "SET GLOBAL log_bin_use_v1_row_events = OFF at the server, then start the job again with --fresh --replace",
	}
}

func xaError(m *tableMap) error {
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceChanged, Table: m.schema + "." + m.name,
		Msg:  "an XA transaction writes the table, which leat does not follow yet",
		Hint: "write the table with ordinary transactions, then start the job again with --fresh --replace",
	}
}

// firstWord gives the first word of a statement in upper case, comments skipped.
func firstWord(text string) string {
	w, _ := nextWord(text)
	return strings.ToUpper(w)
}
