package cdc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"

	"leat/internal/diag"
)

// eventHead is the size of a header.
const eventHead = replication.EventHeaderSize

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
	d.passed(h)
	return d.dispatch(ctx, h, raw, body)
}

// passed takes over the place of an event in the log.
func (d *dumper) passed(h header) {
	const artificial = 0x20
	if h.flags&artificial != 0 || h.kind == replication.HEARTBEAT_EVENT {
		return
	}
	if h.end != 0 {
		d.advance(h.end)
	} else if d.maria { // since 11.4 only the last event of a transaction tells
		d.offset += uint64(h.size)
	}
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
	if d.xa != nil && (h.kind == replication.TABLE_MAP_EVENT || rowsKind(h.kind)) {
		return d.keepXA(ctx, h, raw, body)
	}
	switch h.kind {
	case replication.TABLE_MAP_EVENT:
		return d.tableMap(body)
	case replication.WRITE_ROWS_EVENTv2, replication.UPDATE_ROWS_EVENTv2, replication.DELETE_ROWS_EVENTv2, replication.PARTIAL_UPDATE_ROWS_EVENT,
		replication.MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1, replication.MARIADB_UPDATE_ROWS_COMPRESSED_EVENT_V1, replication.MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1:
		return d.rows(ctx, h.kind, body)
	case replication.WRITE_ROWS_EVENTv1, replication.UPDATE_ROWS_EVENTv1, replication.DELETE_ROWS_EVENTv1:
		if d.maria {
			return d.rows(ctx, h.kind, body)
		}
		return d.foreignRows(body)
	case replication.MARIADB_GTID_EVENT:
		return d.mariaBegin(h, raw, body)
	case replication.MARIADB_QUERY_COMPRESSED_EVENT:
		plain, err := unpackQuery(body)
		if err != nil {
			return err
		}
		return d.query(ctx, h, plain)
	case replication.GTID_EVENT, replication.ANONYMOUS_GTID_EVENT:
		return d.begin(h, body)
	case replication.XID_EVENT:
		return d.commit(ctx, h)
	case replication.QUERY_EVENT:
		return d.query(ctx, h, body)
	case replication.EXECUTE_LOAD_QUERY_EVENT:
		return d.loadData(ctx, h, body)
	case replication.INCIDENT_EVENT:
		return d.incident(body)
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
		return d.taggedBegin(h, raw)
	case replication.XA_PREPARE_LOG_EVENT:
		return d.xaPrepared(ctx, h, body)
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
	return d.emit(ctx, event{kind: evAdvance, millis: d.fileTime * 1000, file: d.file, offset: d.offset, begun: d.fileTime})
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
	d.dropXA()
	d.open, d.begun, d.start = true, false, d.offset-uint64(h.size)
	return nil
}

func (d *dumper) taggedBegin(h header, raw []byte) error {
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
	d.dropXA()
	d.open, d.begun, d.start = true, false, d.offset-uint64(h.size)
	return nil
}

// commit ends the transaction.
func (d *dumper) commit(ctx context.Context, h header) error { return d.commitXA(ctx, h, nil) }

// commitXA ends the transaction, which may be a piece of an XA transaction.
func (d *dumper) commitXA(ctx context.Context, h header, xa *xaEnd) error {
	if d.xa != nil && d.xa.plain {
		if err := d.release(ctx); err != nil {
			return err
		}
	}
	if !d.open && d.millis == 0 {
		d.millis = int64(h.seconds) * 1000
	}
	d.open, d.begun = false, false
	return d.emit(ctx, event{kind: evCommit, id: d.id, millis: d.millis, file: d.file, offset: d.offset, begun: d.fileTime, xa: xa})
}

// loadData reads LOAD DATA written as a statement: a QUERY event that tells of the
// file between its fixed part and the rest.
func (d *dumper) loadData(ctx context.Context, h header, body []byte) error {
	const fixed, file = 13, 4 + 4 + 4 + 1
	if len(body) < fixed+file {
		return errors.New("reading the binlog: short event of LOAD DATA")
	}
	return d.query(ctx, h, append(body[:fixed:fixed], body[fixed+file:]...))
}

// incident reads the event by which a server says that its log lacks changes.
func (d *dumper) incident(body []byte) error {
	e := &diag.Error{
		Domain: diag.Guard, Code: diag.CodeSourceBinlog,
		Msg:  fmt.Sprintf("the binlog of %s says at %s:%d that it lacks changes which the server has made", d.conn.addr, d.file, d.offset),
		Hint: "look into the server's error log for what it could not write; then take a new snapshot of the tables with --fresh --replace",
	}
	const numberAndSize = 3
	if len(body) > numberAndSize {
		e.Notes = []string{"the server says: " + string(body[numberAndSize:])}
	}
	return e
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
	text := string(body[at+schemaLen+1:])
	switch text {
	case "BEGIN":
		d.open = true
		return nil
	case "COMMIT":
		return d.commit(ctx, h)
	}
	e := event{
		kind: evStatement, id: d.id, millis: d.millis, file: d.file, offset: d.offset,
		text: text, schema: string(body[at : at+schemaLen]), session: sessionOf(body[fixed:at]),
	}
	if d.maria {
		e.text = withoutSettings(text)
	}
	switch verb := firstWord(e.text); verb {
	case "SAVEPOINT":
		d.savepoint(e.text)
		return nil
	case "RELEASE":
		return nil
	case "ROLLBACK":
		if strings.Contains(strings.ToUpper(e.text), " TO ") {
			return d.rollbackTo(e.text)
		}
		return d.rollback(ctx, h, e.text)
	case "XA":
		return d.xaStatement(ctx, h, e)
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "WITH", "CALL", "SET", "DO", "SELECT":
		// Within a transaction; the edge is its end.
		return d.emit(ctx, e)
	default:
		if d.maria && d.open && !d.standalone {
			return d.emit(ctx, e) // CREATE TABLE … SELECT: rows and commit follow
		}
		d.open, d.begun = false, false
		if err := d.emit(ctx, e); err != nil {
			return err
		}
		return d.commit(ctx, h)
	}
}
