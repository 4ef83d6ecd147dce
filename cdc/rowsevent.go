package cdc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"leat/cdc/mysqlrow"
	"leat/internal/diag"
)

// tableMap reads a TABLE_MAP event, or knows it already.
func (d *dumper) tableMap(body []byte) error {
	if len(body) < 8 {
		return errors.New("reading the binlog: short table map")
	}
	id := tableID(body)
	if m := d.maps[id]; m != nil && string(m.raw) == string(body) {
		return nil
	}
	m := &tableMap{raw: bytes.Clone(body)}
	t, err := mysqlrow.ParseTableMap(m.raw)
	if err != nil {
		return fmt.Errorf("reading the binlog at %s:%d: %w", d.file, d.offset, err)
	}
	m.schema, m.name, m.columns = t.Database, t.Name, t.TableMap
	for _, tr := range d.tables[d.server.tableKey(m.schema, m.name)] {
		m.bound = append(m.bound, &binding{table: tr})
	}
	m.watched = len(m.bound) == 0 && d.watch.matches(m.schema, m.name)
	d.maps[id] = m
	return nil
}

func tableID(body []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(body)) | uint64(binary.LittleEndian.Uint16(body[4:]))<<32
}

// rows takes a rows event: of version 2, the only one since MySQL 5.6, or of
// MariaDB's version 1, which lacks the extra data and may be compressed.
func (d *dumper) rows(ctx context.Context, kind replication.EventType, body []byte) error {
	if len(body) < 10 {
		return errors.New("reading the binlog: short rows event")
	}
	m := d.maps[tableID(body)]
	if m == nil {
		return fmt.Errorf("reading the binlog at %s:%d: rows of table id %d without a table map", d.file, d.offset, tableID(body))
	}
	if !m.wanted() {
		return nil
	}
	r := mysqlrow.Rows{TableID: tableID(body)}
	at := 8
	if !d.maria || kind == replication.WRITE_ROWS_EVENTv2 || kind == replication.UPDATE_ROWS_EVENTv2 || kind == replication.DELETE_ROWS_EVENTv2 {
		extra := int(binary.LittleEndian.Uint16(body[8:]))
		at += extra
		if extra < 2 || len(body) <= at {
			return errors.New("reading the binlog: short rows event")
		}
	}
	columns, _, n := mysql.LengthEncodedInt(body[at:])
	at += n
	bits := (int(columns) + 7) / 8
	switch kind {
	case replication.UPDATE_ROWS_EVENTv2, replication.UPDATE_ROWS_EVENTv1, replication.MARIADB_UPDATE_ROWS_COMPRESSED_EVENT_V1:
		r.Op = mysqlrow.OpUpdate
	case replication.PARTIAL_UPDATE_ROWS_EVENT:
		r.Op, r.JSONParts = mysqlrow.OpUpdate, true
	case replication.DELETE_ROWS_EVENTv2, replication.DELETE_ROWS_EVENTv1, replication.MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1:
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
	if packedRows(kind) {
		var err error
		if r.Data, err = unpackMaria(r.Data); err != nil {
			return fmt.Errorf("reading the binlog at %s:%d: %w", d.file, d.offset, err)
		}
	}
	if !d.begun {
		d.begun = true
		if err := d.emit(ctx, event{kind: evBegin, id: d.id, millis: d.millis, file: d.file, offset: d.start}); err != nil {
			return err
		}
	}
	return d.emit(ctx, event{kind: evRows, table: m, rows: r})
}

// foreignRows refuses rows events of an old version on tables of ours.
func (d *dumper) foreignRows(body []byte) error {
	if len(body) < 8 {
		return errors.New("reading the binlog: short rows event")
	}
	m := d.maps[tableID(body)]
	if m == nil || !m.wanted() {
		return nil
	}
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceVersion, Table: m.schema + "." + m.name,
		Msg:  "the binlog holds rows events of an old version",
		Hint: "SET GLOBAL log_bin_use_v1_row_events = OFF at the server, then start the job again with --fresh --replace",
	}
}

// firstWord gives the first word of a statement in upper case, comments skipped.
func firstWord(text string) string {
	w, _ := nextWord(text)
	return strings.ToUpper(w)
}
