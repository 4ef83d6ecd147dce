package mysqlrow

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
)

// Builder collects decoded rows into a batch. It is for one goroutine.
type Builder struct {
	plan *Plan
	vecs []vec
	// kinds is nil as long as every row is an insert.
	kinds []columnar.RowKind
	rows  int
	// room and sizes are what the buffers of the next batch are made for.
	room  int
	sizes []int
	ready bool
}

// NewBuilder makes a builder whose batches are meant to hold about rows rows.
func NewBuilder(p *Plan, rows int) *Builder {
	b := &Builder{plan: p, vecs: make([]vec, len(p.cells)), room: max(rows, 1), sizes: make([]int, len(p.cells))}
	for i := range p.cells {
		b.vecs[i] = newVec(p.cells[i].store, p.cells[i].elem, p.cells[i].zone)
		b.sizes[i] = 16 * b.room
	}
	return b
}

// Len is the number of rows collected.
func (b *Builder) Len() int { return b.rows }

// Bytes estimates the memory that the collected rows take.
func (b *Builder) Bytes() int64 {
	n := len(b.kinds)
	for i := range b.vecs {
		n += b.vecs[i].bytes()
	}
	return int64(n)
}

// Oddities counts what the builder took as something else since it was made.
func (b *Builder) Oddities() Oddities {
	var sum Oddities
	for i := range b.vecs {
		sum.ZeroDates += b.vecs[i].seen.ZeroDates
		sum.InvalidText += b.vecs[i].seen.InvalidText
		sum.OddBooleans += b.vecs[i].seen.OddBooleans
	}
	return sum
}

func (b *Builder) prepare() {
	for i := range b.vecs {
		b.vecs[i].reserve(b.room, b.sizes[i])
	}
	b.ready = true
}

// AppendImage adds the row image at the front of data and gives its length. The
// image holds every column, as Layout.Check makes sure. After an error the
// builder holds what it held before.
func (b *Builder) AppendImage(l *Layout, kind columnar.RowKind, data []byte) (int, error) {
	return b.appendImage(l, kind, data, false)
}

// AppendGone is AppendImage for a row that goes, of which the key is all that
// counts: a value beside it that cannot be read becomes NULL, or the zero of its
// type where the column is NOT NULL.
func (b *Builder) AppendGone(l *Layout, kind columnar.RowKind, data []byte) (int, error) {
	return b.appendImage(l, kind, data, true)
}

func (b *Builder) appendImage(l *Layout, kind columnar.RowKind, data []byte, gone bool) (int, error) {
	if !b.ready {
		b.prepare()
	}
	if len(data) < l.nulls {
		return 0, b.plan.cellError("(NULL bits)", truncated)
	}
	at := l.nulls
	for i := range l.steps {
		s := &l.steps[i]
		isNull := data[i>>3]&(1<<(i&7)) != 0
		if s.cell == nil {
			if !isNull {
				n := s.read(s, nil, data[at:])
				if n < 0 {
					return 0, b.fail(b.plan.cols[i].Name, status(n))
				}
				at += n
			}
			continue
		}
		v := &b.vecs[s.cell.target]
		if isNull {
			if l.lax && kind.Retracts() {
				v.null(b.rows)
			} else if gone && !l.key[i] {
				s.cell.unread(v, b.rows)
			} else if st := s.cell.putNull(v, b.rows); st != okay {
				return 0, b.fail(s.cell.name, st)
			}
			continue
		}
		n := s.read(s, v, data[at:])
		if n < 0 && gone && !l.key[i] {
			if skip := s.skip(data[at:]); skip >= 0 {
				n = skip
				v.truncate(b.rows)
				s.cell.unread(v, b.rows)
			}
		}
		if n < 0 {
			return 0, b.fail(s.cell.name, status(n))
		}
		at += n
	}
	b.close(kind)
	return at, nil
}

// AppendRows adds all row changes of an event: +I for inserts, -D for deletes,
// -U and +U for updates, or -D and +I for an update that changes the key of
// Options.Key. After an error the builder holds what it held before.
func (b *Builder) AppendRows(l *Layout, r Rows) error {
	if err := l.Check(r); err != nil {
		return err
	}
	start, add := b.rows, b.appendRows
	if l.end >= 0 {
		add = b.appendCurrent
	}
	if err := add(l, r); err != nil {
		b.Truncate(start)
		return err
	}
	return nil
}

func (b *Builder) appendRows(l *Layout, r Rows) error {
	kind := columnar.Insert
	if r.Op == OpDelete {
		kind = columnar.Delete
	}
	for data := r.Data; len(data) > 0; {
		if r.Op != OpUpdate {
			n, err := b.AppendImage(l, kind, data)
			if err != nil {
				return err
			}
			data = data[n:]
			continue
		}
		n, err := b.AppendImage(l, columnar.UpdateBefore, data)
		if err != nil {
			return err
		}
		m, err := b.AppendImage(l, columnar.UpdateAfter, data[n:])
		if err != nil {
			return err
		}
		if l.last >= 0 {
			b.kinds[b.rows-2], b.kinds[b.rows-1] = kindsOf(l.SameKey(data[:n], data[n:n+m]))
		}
		data = data[n+m:]
	}
	return nil
}

// appendCurrent is appendRows for a table whose log holds history, too.
func (b *Builder) appendCurrent(l *Layout, r Rows) error {
	return l.ForEach(r, func(before, after []byte) error {
		old, now := columnar.Delete, columnar.Insert
		if before != nil && after != nil {
			old, now = kindsOf(l.last < 0 || l.SameKey(before, after))
		}
		if before != nil {
			if _, err := b.AppendImage(l, old, before); err != nil {
				return err
			}
		}
		if after != nil {
			if _, err := b.AppendImage(l, now, after); err != nil {
				return err
			}
		}
		return nil
	})
}

// AppendText adds a row packet of the text protocol, selected by Plan.SelectList.
// After an error the builder holds what it held before.
func (b *Builder) AppendText(kind columnar.RowKind, packet []byte) error {
	if !b.ready {
		b.prepare()
	}
	for i := range b.plan.cells {
		c := &b.plan.cells[i]
		field, isNull, n := nextField(packet)
		if n == 0 {
			return b.fail(c.name, truncated)
		}
		packet = packet[n:]
		if st := b.putField(c, field, isNull); st != okay {
			return b.fail(c.name, st)
		}
	}
	if len(packet) > 0 {
		b.Truncate(b.rows)
		return fmt.Errorf("reading a row of %s: %w: %d bytes too many", b.plan.opt.Table, ErrMalformed, len(packet))
	}
	b.close(kind)
	return nil
}

// AppendFields adds a row of the text protocol given by its fields; a nil field is NULL.
func (b *Builder) AppendFields(kind columnar.RowKind, fields [][]byte) error {
	if len(fields) != len(b.plan.cells) {
		return fmt.Errorf("reading a row of %s: %w: %d fields instead of %d", b.plan.opt.Table, ErrMalformed, len(fields), len(b.plan.cells))
	}
	if !b.ready {
		b.prepare()
	}
	for i, f := range fields {
		c := &b.plan.cells[i]
		if st := b.putField(c, f, f == nil); st != okay {
			return b.fail(c.name, st)
		}
	}
	b.close(kind)
	return nil
}

func (b *Builder) putField(c *cell, field []byte, isNull bool) status {
	v := &b.vecs[c.target]
	if isNull {
		return c.putNull(v, b.rows)
	}
	return c.text(c, v, field)
}

// close ends a row whose cells are all stored.
func (b *Builder) close(kind columnar.RowKind) {
	if kind != columnar.Insert && b.kinds == nil {
		b.kinds = make([]columnar.RowKind, b.rows, max(b.room, b.rows+1))
	}
	if b.kinds != nil {
		b.kinds = append(b.kinds, kind)
	}
	b.rows++
}

// fail drops the row at hand and gives its error.
func (b *Builder) fail(column string, st status) error {
	b.Truncate(b.rows)
	return b.plan.cellError(column, st)
}

// Truncate drops the rows from number rows on.
func (b *Builder) Truncate(rows int) {
	if !b.ready {
		return
	}
	for i := range b.vecs {
		b.vecs[i].truncate(rows)
	}
	b.kinds = b.kinds[:min(rows, len(b.kinds))]
	b.rows = min(rows, b.rows)
}

// SetKind changes the kind of row i.
func (b *Builder) SetKind(i int, kind columnar.RowKind) {
	if b.kinds == nil {
		b.kinds = make([]columnar.RowKind, b.rows, max(b.room, b.rows))
	}
	b.kinds[i] = kind
}

// AppendKey appends a canonical form of the cells of row i in the given targets
// to dst: equal for equal values, whichever wire form they came from, and
// different for different ones. It serves as a map key.
func (b *Builder) AppendKey(dst []byte, i int, targets []int) []byte {
	for _, t := range targets {
		dst = b.vecs[t].appendKey(dst, i)
	}
	return dst
}

// Finish gives the collected rows as a batch, which takes over the buffers, and
// empties the builder. schema has the types of the targets.
func (b *Builder) Finish(schema *columnar.Schema) (*columnar.Batch, error) {
	if len(schema.Fields) != len(b.vecs) {
		return nil, fmt.Errorf("finishing a batch of %s: %d columns instead of %d", b.plan.opt.Table, len(schema.Fields), len(b.vecs))
	}
	for i, f := range schema.Fields {
		if !f.Type.EqualIgnoreNull(b.plan.targets[i].Type) {
			return nil, fmt.Errorf("finishing a batch of %s: column %s is %s instead of %s", b.plan.opt.Table, f.Name, f.Type, b.plan.targets[i].Type)
		}
	}
	if !b.ready {
		b.prepare()
	}
	cols := make([]arrow.Array, len(b.vecs))
	for i := range b.vecs {
		size := b.vecs[i].textBytes()
		b.sizes[i] = size + size/8 + 64
		cols[i] = b.vecs[i].finish(b.plan.targets[i].Type, b.rows)
	}
	batch := columnar.NewBatch(schema, b.kinds, cols, b.rows)
	b.room = max(b.rows, 1)
	b.rows, b.kinds, b.ready = 0, nil, false
	return batch, nil
}
