package cdc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"leat/internal/diag"
)

// A log may hold rows that count for nothing: those between SAVEPOINT and
// ROLLBACK TO, and those of a transaction that ends with ROLLBACK. MariaDB writes
// them where a transaction made a temporary table, or touched a table whose engine
// has no transactions, and nothing at its begin tells. So the rows of all its
// transactions are held until the end; MySQL's are from the first SAVEPOINT on.

// savepoint is a place among the events that are held.
type savepoint struct {
	name string
	at   int
}

// eventRange is a range of events by their number, the last not included.
type eventRange struct{ from, to int }

// hold begins to keep the events of the transaction at hand.
func (d *dumper) hold() {
	d.xa = &xaReading{plain: true, events: d.held[:0]}
	d.held = nil
}

// savepoint notes where a transaction may go back to.
func (d *dumper) savepoint(text string) {
	if d.xa == nil {
		d.hold()
	}
	name := lastWord(text)
	d.xa.marks = append(slices.DeleteFunc(d.xa.marks, func(m savepoint) bool { return strings.EqualFold(m.name, name) }), savepoint{name, d.xa.count})
}

// rollbackTo drops what came since a savepoint.
func (d *dumper) rollbackTo(text string) error {
	name := lastWord(text)
	if d.xa == nil {
		return d.cannotUndo(text)
	}
	i := slices.IndexFunc(d.xa.marks, func(m savepoint) bool { return strings.EqualFold(m.name, name) })
	at := 0
	switch {
	case i >= 0:
		at, d.xa.marks = d.xa.marks[i].at, d.xa.marks[:i+1]
	case d.begun:
		return d.cannotUndo(text)
	}
	d.xa.undone = append(d.xa.undone, eventRange{at, d.xa.count})
	return nil
}

// rollback ends a transaction whose rows count for nothing.
func (d *dumper) rollback(ctx context.Context, h header, text string) error {
	if d.begun {
		return d.cannotUndo(text)
	}
	d.dropXA()
	return d.commit(ctx, h)
}

// cannotUndo tells of rows that were handed on before the log took them back.
func (d *dumper) cannotUndo(text string) error {
	if !d.begun {
		return nil // none of ours
	}
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeSourceBinlog,
		Msg:   fmt.Sprintf("the transaction at %s:%d of the binlog of %s takes rows back that it has written", d.file, d.start, d.conn.addr),
		Notes: []string{"statement: " + clip(text)},
		Hint:  "SET GLOBAL binlog_format = 'ROW', and in sessions that set it: MySQL writes such transactions only in other formats; then read the tables anew with --fresh --replace",
	}
}

// release takes the events that were held as ones of the transaction at hand.
func (d *dumper) release(ctx context.Context) error {
	x := d.xa
	d.xa = nil
	rows := &xaRows{events: x.events, undone: x.undone}
	if x.spill != nil {
		var err error
		if rows.spill, err = x.spill.commit(ctx); err != nil {
			return err
		}
		defer removeSpill(rows.spill)
	}
	err := d.replay(ctx, "", rows)
	const kept = 1 << 20
	if cap(x.events) <= kept {
		d.held = x.events[:0]
	}
	return err
}

// whole gives the events of x without those that were undone.
func (x *xaReading) whole() []byte {
	if len(x.undone) == 0 || x.spill != nil {
		return x.events
	}
	var out bytes.Buffer
	at := 0
	for n := 0; at < len(x.events); n++ {
		h, err := readHeader(x.events[at:])
		if err != nil {
			break
		}
		end := min(len(x.events), at+int(h.size))
		if !undone(x.undone, n) {
			out.Write(x.events[at:end])
		}
		at = max(end, at+1)
	}
	return out.Bytes()
}

// undone reports whether event number n was taken back.
func undone(list []eventRange, n int) bool {
	return slices.ContainsFunc(list, func(s eventRange) bool { return n >= s.from && n < s.to })
}

// skipping passes over the events of r that were undone.
type skipping struct {
	r    io.Reader
	list []eventRange
	n    int
	// left is what is left of the event at hand.
	left int64
	head []byte
}

func (s *skipping) Read(p []byte) (int, error) {
	for s.left == 0 && len(s.head) == 0 {
		var head [eventHead]byte
		if _, err := io.ReadFull(s.r, head[:]); err != nil {
			return 0, err
		}
		h, err := readHeader(head[:])
		if err != nil {
			return 0, err
		}
		s.left = int64(h.size) - eventHead
		if undone(s.list, s.n) {
			if _, err := io.CopyN(io.Discard, s.r, s.left); err != nil {
				return 0, err
			}
			s.left = 0
		} else {
			s.head = head[:]
		}
		s.n++
	}
	if len(s.head) > 0 {
		n := copy(p, s.head)
		s.head = s.head[n:]
		return n, nil
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	return n, err
}

// lastWord is the name at the end of SAVEPOINT and ROLLBACK TO.
func lastWord(text string) string {
	w := words(text)
	if len(w) == 0 {
		return ""
	}
	return w[len(w)-1].text
}
