package mysqlrow

import (
	"encoding/binary"
	"fmt"

	"github.com/go-mysql-org/go-mysql/replication"

	"leat/internal/diag"
)

// Op is what a rows event does with its rows.
type Op uint8

// The operations.
const (
	OpInsert Op = iota
	OpUpdate    // each row has two images, before and after
	OpDelete
)

// Rows is a rows event: its images stand one after the other in Data.
type Rows struct {
	Op      Op
	TableID uint64
	// EndOfStatement marks the last rows event of a statement.
	EndOfStatement bool
	// Columns is the number of columns; Present and PresentAfter have a bit for
	// each that the images hold, PresentAfter only for updates.
	Columns      int
	Present      []byte
	PresentAfter []byte
	// JSONParts says that images after a change may hold parts of JSON values.
	JSONParts bool
	Data      []byte
}

// ParseRows reads the header of a rows event; made for RowsEventDecodeFunc. It
// sets e.Table. Data is a part of data. The rows of MariaDB's compressed events
// stay compressed: their receiver passes Data through mysql.DecompressMariadbData.
func ParseRows(e *replication.RowsEvent, data []byte) (r Rows, err error) {
	defer func() {
		if p := recover(); p != nil { // the header parser does not check bounds
			err = fmt.Errorf("reading the header of a rows event: %w: %v", ErrMalformed, p)
		}
	}()
	at, err := e.DecodeHeader(data)
	if err != nil {
		return Rows{}, fmt.Errorf("reading the header of a rows event: %w", err)
	}
	r = Rows{
		TableID: e.TableID, EndOfStatement: e.Flags&replication.RowsEventStmtEndFlag != 0,
		Columns: int(e.ColumnCount), Present: e.ColumnBitmap1, PresentAfter: e.ColumnBitmap2, Data: data[at:],
	}
	switch e.Type() {
	case replication.EnumRowsEventTypeInsert:
		r.Op = OpInsert
	case replication.EnumRowsEventTypeUpdate:
		r.Op = OpUpdate
	case replication.EnumRowsEventTypeDelete:
		r.Op = OpDelete
	case replication.EnumRowsEventTypeUnknown:
		r.Op, r.JSONParts = OpUpdate, true
	}
	return r, nil
}

// Check reports whether the images of r hold every column, as they do from the
// server under binlog_row_image=FULL, and from Complete. The error is a
// *diag.Error with the remedy: a session wrote with a row image that is not FULL.
func (l *Layout) Check(r Rows) error {
	if r.Columns != len(l.steps) {
		return l.plan.changed("%d columns instead of %d", r.Columns, len(l.steps))
	}
	if l.Whole(r) {
		return nil
	}
	if r.JSONParts {
		return &diag.Error{
			Domain: diag.External, Code: diag.CodeSourceBinlog, Table: l.plan.opt.Table,
			Msg:  "the binlog carries parts of JSON values instead of whole rows",
			Hint: "SET GLOBAL binlog_row_value_options = '', and in sessions that set it, then start the job again with --fresh",
		}
	}
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceBinlog, Table: l.plan.opt.Table,
		Msg:  "the binlog holds rows without all of their columns",
		Hint: "SET GLOBAL binlog_row_image = 'FULL', and in sessions that set it, then start the job again with --fresh",
	}
}

func allSet(bitmap []byte, n int) bool {
	if len(bitmap) < (n+7)/8 {
		return false
	}
	for len(bitmap) >= 8 && n >= 64 {
		if binary.LittleEndian.Uint64(bitmap) != ^uint64(0) {
			return false
		}
		bitmap, n = bitmap[8:], n-64
	}
	for i := range n {
		if bitmap[i>>3]&(1<<(i&7)) == 0 {
			return false
		}
	}
	return true
}

// ForEach calls fn for each row change of r with its images: before is nil for
// inserts, after for deletes. It checks r first. Of a table WITH SYSTEM VERSIONING
// it tells what becomes of the rows that are not history: the end of a row's
// period is a delete.
func (l *Layout) ForEach(r Rows, fn func(before, after []byte) error) error {
	if err := l.Check(r); err != nil {
		return err
	}
	for data := r.Data; len(data) > 0; {
		n, err := l.Skip(data)
		if err != nil {
			return err
		}
		image := data[:n]
		data = data[n:]
		before, after := image, []byte(nil)
		switch r.Op {
		case OpInsert:
			before, after = nil, image
		case OpDelete:
		case OpUpdate:
			if n, err = l.Skip(data); err != nil {
				return err
			}
			after, data = data[:n], data[n:]
		}
		if l.end >= 0 {
			if before, err = l.current(before); err != nil {
				return err
			}
			if after, err = l.current(after); err != nil {
				return err
			}
			if before == nil && after == nil {
				continue
			}
		}
		if err := fn(before, after); err != nil {
			return err
		}
	}
	return nil
}

// current gives an image, or nil if the row's period has ended: it goes on if its
// end is the largest TIMESTAMP(6), which is a later one since MariaDB 11.5.
func (l *Layout) current(image []byte) ([]byte, error) {
	if image == nil {
		return nil, nil
	}
	at, err := l.walk(image, l.end)
	if err != nil {
		return nil, err
	}
	n := 0
	if image[l.end>>3]&(1<<(l.end&7)) == 0 {
		n = l.steps[l.end].skip(image[at:])
	}
	if n < 0 {
		return nil, l.plan.cellError(l.plan.cols[l.end].Name, status(n))
	}
	switch string(image[at : at+n]) {
	case "\x7F\xFF\xFF\xFF\x0F\x42\x3F", "\xFF\xFF\xFF\xFF\x0F\x42\x3F":
		return image, nil
	default:
		return nil, nil
	}
}
