package cdc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
	"leat/internal/diag"
)

// Rows that cannot be read may go, as dead letters, to a port of their own, which
// is as exactly-once as the others: its rows stand before the same barriers.
//
// A change whose new image cannot be read is not carried out: the target keeps
// the row as it was before, but for an update that leaves its key, whose old row
// goes. Of a row that goes only the key is needed, so that a delete, or an update
// that makes the row readable again, is carried out whatever the old image holds.

// Kinds of dead letters.
const (
	letterSnapshot = "snapshot"
	letterInsert   = "insert"
	letterUpdate   = "update"
	letterDelete   = "delete"
)

// DeadLetterSchema is what the port of dead letters emits.
func DeadLetterSchema() *columnar.Schema {
	text := columnar.StringType()
	s := &columnar.Schema{}
	for _, f := range []columnar.Field{
		{Name: "source_database", Type: text.NotNull(), Comment: "database of the row at the source"},
		{Name: "source_table", Type: text.NotNull(), Comment: "table of the row at the source"},
		{Name: "gtid", Type: text, Comment: "transaction of the change, NULL without GTIDs and for rows of a snapshot"},
		{Name: "binlog_file", Type: text, Comment: "file of the binlog with that transaction; of a snapshot, up to where it was read"},
		{Name: "binlog_pos", Type: columnar.Of(columnar.BigInt), Comment: "offset in the file"},
		{Name: "event_time", Type: columnar.DataType{Kind: columnar.TimestampLTZ, Precision: 3, Nullable: true}, Comment: "when the transaction was committed, NULL for rows of a snapshot"},
		{Name: "kind", Type: text.NotNull(), Comment: "snapshot, insert, update or delete"},
		{Name: "error_code", Type: text.NotNull(), Comment: "code of the error"},
		{Name: "error", Type: text.NotNull(), Comment: "why the row cannot be read"},
		{Name: "before_image", Type: text, Comment: "the row before the change, as JSON"},
		{Name: "after_image", Type: text, Comment: "the row after the change, as JSON"},
	} {
		f.ID = len(s.Fields)
		s.Fields = append(s.Fields, f)
	}
	return s
}

// letter is a row that could not be read.
type letter struct {
	database, table string
	kind            string
	id              gtid
	file            string
	offset          uint64
	millis          int64 // 0 for unknown
	code, reason    string
	// before and after are the images as JSON, "" for none.
	before, after string
}

// letters collects dead letters for their port.
type letters struct {
	port int
	// name is that of the target, for the state.
	name string
	list []letter
	size int
}

// lettersBytes is how much may wait before it is emitted.
const lettersBytes = 1 << 20

func (l *letters) add(x letter) {
	l.list = append(l.list, x)
	l.size += 256 + len(x.before) + len(x.after) + len(x.reason)
}

// full reports whether it is time to emit.
func (l *letters) full() bool { return l != nil && l.size >= lettersBytes }

// waiting reports whether there is something to emit.
func (l *letters) waiting() bool { return l != nil && len(l.list) > 0 }

// flushLetters emits what was collected.
func (r *Reader) flushLetters(ctx context.Context) error {
	if !r.letters.waiting() {
		return nil
	}
	b := r.letters.batch()
	r.letters.list, r.letters.size = nil, 0
	r.run.rows += int64(b.Rows())
	return r.run.out.Emit(ctx, r.letters.port, b)
}

func (l *letters) batch() *columnar.Batch {
	schema := DeadLetterSchema()
	builders := columnar.NewBuilders(memory.DefaultAllocator, schema)
	text := func(i int, s string, null bool) {
		b, ok := builders[i].(*array.StringBuilder)
		if !ok || null {
			builders[i].AppendNull()
			return
		}
		b.Append(s)
	}
	for i := range l.list {
		x := &l.list[i]
		text(0, x.database, false)
		text(1, x.table, false)
		text(2, x.id.String(), x.id.gno == 0)
		text(3, x.file, x.file == "")
		if b, ok := builders[4].(*array.Int64Builder); ok && x.file != "" {
			b.Append(int64(x.offset))
		} else {
			builders[4].AppendNull()
		}
		if b, ok := builders[5].(*array.TimestampBuilder); ok && x.millis != 0 {
			b.Append(arrow.Timestamp(x.millis))
		} else {
			builders[5].AppendNull()
		}
		text(6, x.kind, false)
		text(7, x.code, false)
		text(8, x.reason, false)
		text(9, x.before, x.before == "")
		text(10, x.after, x.after == "")
	}
	cols := make([]arrow.Array, len(builders))
	for i, b := range builders {
		cols[i] = b.NewArray()
		b.Release()
	}
	return columnar.NewBatch(schema, nil, cols, len(l.list))
}

// describe fills in what the error of a row says.
func (x *letter) describe(err error) {
	var one *diag.Error
	var all diag.List
	switch {
	case errors.As(err, &one):
		x.code, x.reason = one.Code.String(), one.Msg
	case errors.As(err, &all) && len(all) > 0:
		x.code, x.reason = all[0].Code.String(), all[0].Msg
	default:
		x.code, x.reason = diag.CodeRuntimeValue.String(), err.Error()
	}
}

// lettersOf gives what takes the changes of an event that cannot be read; nil if
// they are not to go to dead letters.
func (r *Reader) lettersOf(t *table, m *tableMap) func(before, after []byte, err error) error {
	if t.def.PassBadRows {
		return func(_, _ []byte, err error) error {
			t.bad++
			r.log.Warn("a change that cannot be read is passed over", "table", t.id(), "at", fmt.Sprintf("%s:%d", r.run.open.file, r.run.open.offset), "gtid", r.run.open.id.String(), "error", err)
			return nil
		}
	}
	if !t.def.DeadLetters || r.letters == nil {
		return nil
	}
	var w *mysqlrow.Witness
	return func(before, after []byte, err error) error {
		if w == nil {
			var wrong error
			if w, wrong = mysqlrow.NewWitness(t.plan); wrong != nil {
				return wrong
			}
		}
		open := &r.run.open
		x := letter{database: m.schema, table: m.name, kind: letterUpdate, id: open.id, file: open.file, offset: open.offset, millis: open.millis}
		switch {
		case before == nil:
			x.kind = letterInsert
		case after == nil:
			x.kind = letterDelete
		}
		if before != nil {
			x.before = w.Image(m.columns, before)
		}
		if after != nil {
			x.after = w.Image(m.columns, after)
		}
		x.describe(err)
		r.letters.add(x)
		t.bad++
		return nil
	}
}

// applyEach is apply for a table whose bad rows go elsewhere: bad takes each
// change that cannot be read, and the others are applied.
func (s *sequencer) applyEach(plan *mysqlrow.Plan, l *mysqlrow.Layout, r mysqlrow.Rows, bad func(before, after []byte, err error) error) error {
	if s.done.all && s.out.AppendRows(l, r) == nil {
		return nil // nearly always
	}
	s.lenient = true
	defer func() { s.lenient = false }()
	trial := mysqlrow.NewBuilder(plan, 1)
	return l.ForEach(r, func(before, after []byte) error {
		err := s.try(trial, l, before, after)
		if err == nil {
			return s.change(l, before, after)
		}
		if before != nil && after != nil && !l.SameKey(before, after) && s.try(trial, l, before, nil) == nil {
			// The row has left its key.
			if err := s.change(l, before, nil); err != nil {
				return err
			}
		}
		return bad(before, after, err)
	})
}

// try reports whether a change can be applied, which is not to be begun else.
func (s *sequencer) try(trial *mysqlrow.Builder, l *mysqlrow.Layout, before, after []byte) error {
	defer trial.Truncate(0)
	for i, image := range [2][]byte{before, after} {
		if image == nil {
			continue
		}
		var err error
		if i == 0 {
			_, err = trial.AppendGone(l, columnar.Delete, image)
		} else {
			_, err = trial.AppendImage(l, columnar.Insert, image)
		}
		if err == nil && s.keyed && !s.done.all {
			s.keys[0], err = l.AppendChunkKey(s.keys[0][:0], image)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// badRow marks the error of a row of a chunk.
type badRow struct{ err error }

func (e *badRow) Error() string { return e.err.Error() }
func (e *badRow) Unwrap() error { return e.err }

// StoredDeadLetters gives the name of the target of dead letters that a state
// knows, "" for none.
func StoredDeadLetters(data json.RawMessage) (string, error) {
	s, err := readState(data)
	if err != nil {
		return "", err
	}
	return s.DeadLetters, nil
}

// post sends the rows of a chunk that could not be read.
func (r *Reader) post(c *chunk) {
	for _, x := range c.bad {
		x.database, x.table, x.kind, x.file, x.offset = c.table.def.Database, c.table.def.Name, letterSnapshot, c.high.file, c.high.offset
		r.letters.add(x)
		c.table.bad++
	}
	c.bad = nil
}

// readBad takes a row packet of c that cannot be read: the error is nil if it
// goes to dead letters. A table that is followed may have other columns by now;
// then all of the chunk is read again.
func (r *chunkReader) readBad(ctx context.Context, c *chunk, d *delivery, packet []byte, err error) error {
	if !c.table.def.DeadLetters {
		return &badRow{err}
	}
	if r.witness == nil || r.seen != c {
		if r.changed(ctx, c) {
			return err
		}
		w, wrong := mysqlrow.NewWitness(c.plan)
		if wrong != nil {
			return wrong
		}
		r.witness, r.seen = w, c
	}
	x := letter{after: r.witness.Packet(packet)}
	x.describe(err)
	d.bad = append(d.bad, x)
	return nil
}
