package cdc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

// What MariaDB does in its own way: GTIDs by domain, a dump that starts from
// them by session variables, transactions without BEGIN, row events of version 1
// that may be compressed, and a snapshot that knows its exact place in the log.

// Flags of MariaDB's GTID event.
const (
	mariaStandalone = 0x01 // one statement, no commit follows
	mariaGroup      = 0x02 // a commit id follows
	mariaPrepared   = 0x40 // the rows of an XA transaction up to XA PREPARE
	mariaCompleted  = 0x80 // its XA COMMIT or XA ROLLBACK
)

// identify gives what tells one MariaDB from another: file names and offsets
// hold for one server.
func (s *server) identify() string {
	if uid := s.vars["server_uid"]; uid != "" {
		return uid
	}
	return s.vars["hostname"] + ":" + s.vars["port"] + ":" + s.vars["server_id"]
}

// mariaPosition is a place in the log with the GTID position there.
func (n *conn) mariaPosition(s *server, end mark) (Position, error) {
	p := Position{ServerUUID: s.uuid, File: end.file, Offset: end.offset}
	text, err := n.value("SELECT BINLOG_GTID_POS(" + literal(end.file) + ", " + strconv.FormatUint(end.offset, 10) + ")")
	if err != nil {
		return p, err
	}
	p.GTID, err = parseGTIDs(text, true)
	return p, err
}

// mariaPurged is the GTID position at the start of the oldest log.
func (n *conn) mariaPurged(s *server) (*GTIDSet, error) {
	files, err := n.logFiles()
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("looking for the oldest binlog: the server lists none")
	}
	p, err := n.mariaPosition(s, mark{file: files[0].name, offset: 4})
	return p.GTID, err
}

// mariaStart sets what makes the server send its log from a GTID position.
func mariaStart(pos Position) []string {
	out := []string{"SET @mariadb_slave_capability = 4"}
	if pos.GTID != nil {
		out = append(out, "SET @slave_connect_state = '"+pos.GTID.String()+"', @slave_gtid_strict_mode = 0, @slave_gtid_ignore_duplicates = 0")
	}
	return out
}

// markSnapshot opens the view of a chunk, of which MariaDB knows the exact place
// in the log. The view has to hold what the stream has passed.
func (r *chunkReader) markSnapshot(ctx context.Context, c *chunk, passed passedMark) error {
	deadline := time.Now().Add(time.Minute)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		if err := r.conn.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
			return err
		}
		t, err := r.conn.query("SHOW STATUS LIKE 'binlog_snapshot_%'")
		if err != nil {
			return err
		}
		c.high = mark{uuid: r.uuid}
		for _, row := range t.rows {
			switch row[0] {
			case "Binlog_snapshot_file":
				c.high.file = row[1]
			case "Binlog_snapshot_position":
				c.high.offset = uint64(number(row[1]))
			}
		}
		if c.high.file == "" {
			return errors.New("opening a view of the table: the server gives no binlog_snapshot_file")
		}
		if passed.at.file == "" || passed.at.uuid != r.uuid || passed.at.reached(c.high.file, c.high.offset) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("opening a view of the table: it is behind %s:%d for a minute", passed.at.file, passed.at.offset)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// mariaBegin reads MariaDB's GTID event, which opens every transaction.
func (d *dumper) mariaBegin(h header, raw, body []byte) error {
	const seqAt, domainAt, flagsAt, end = 0, 8, 12, 13
	const serverAt = 5 // in the header
	if len(body) < end {
		return errors.New("reading the binlog: short GTID event")
	}
	d.id = gtid{
		maria: true, gno: int64(binary.LittleEndian.Uint64(body[seqAt:])),
		domain: binary.LittleEndian.Uint32(body[domainAt:]), server: binary.LittleEndian.Uint32(raw[serverAt:]),
	}
	d.millis = int64(h.seconds) * 1000
	d.dropXA()
	d.open, d.begun, d.start = true, false, d.offset-uint64(h.size)
	flags, rest := body[flagsAt], body[end:]
	d.standalone = flags&mariaStandalone != 0
	d.xaID = ""
	if flags&mariaGroup != 0 {
		const commitID = 8
		if len(rest) < commitID {
			return errors.New("reading the binlog: short GTID event")
		}
		rest = rest[commitID:]
	}
	if flags&(mariaPrepared|mariaCompleted) == 0 {
		if !d.standalone && (len(d.tables) > 0 || d.watch != nil) {
			d.hold()
		}
		return nil
	}
	const fixed = 6 // format id, two lengths
	if len(rest) < fixed || len(rest) < fixed+int(rest[4])+int(rest[5]) {
		return errors.New("reading the binlog: short GTID event of an XA transaction")
	}
	d.xaID = fmt.Sprintf("%d %d %x", binary.LittleEndian.Uint32(rest), rest[4], rest[fixed:fixed+int(rest[4])+int(rest[5])])
	if flags&mariaPrepared != 0 {
		d.xa = &xaReading{id: d.xaID}
	}
	return nil
}

// unpackQuery gives the body of a compressed QUERY event as one of a plain one.
func unpackQuery(body []byte) ([]byte, error) {
	const fixed = 13
	if len(body) < fixed {
		return nil, errors.New("reading the binlog: short query event")
	}
	at := fixed + int(binary.LittleEndian.Uint16(body[11:])) + int(body[8]) + 1
	if len(body) < at {
		return nil, errors.New("reading the binlog: short query event")
	}
	text, err := unpackMaria(body[at:])
	if err != nil {
		return nil, err
	}
	return append(body[:at:at], text...), nil
}

// mariaLimit bounds what a compressed event may unpack to, in bytes: the largest event.
const mariaLimit = 1 << 30

// unpackMaria unpacks a compressed part of an event.
func unpackMaria(data []byte) ([]byte, error) {
	short := errors.New("unpacking a compressed event: its head is cut")
	if len(data) == 0 {
		return nil, short
	}
	n := int(data[0] & 0x07)
	if n == 0 || n > 4 || len(data) < 1+n {
		return nil, short
	}
	if mysql.BFixedLengthInt(data[1:1+n]) > mariaLimit {
		return nil, errors.New("unpacking a compressed event: its size is impossible")
	}
	out, err := mysql.DecompressMariadbData(data)
	if err != nil {
		return nil, fmt.Errorf("unpacking a compressed event: %w", err)
	}
	return out, nil
}

// rowsKind reports whether an event holds rows that leat reads.
func rowsKind(kind replication.EventType) bool {
	switch kind {
	case replication.WRITE_ROWS_EVENTv2, replication.UPDATE_ROWS_EVENTv2, replication.DELETE_ROWS_EVENTv2,
		replication.WRITE_ROWS_EVENTv1, replication.UPDATE_ROWS_EVENTv1, replication.DELETE_ROWS_EVENTv1, replication.PARTIAL_UPDATE_ROWS_EVENT:
		return true
	default:
		return packedRows(kind)
	}
}

// packedRows reports MariaDB's compressed events of rows.
func packedRows(kind replication.EventType) bool {
	return kind == replication.MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1 || kind == replication.MARIADB_UPDATE_ROWS_COMPRESSED_EVENT_V1 ||
		kind == replication.MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1
}
