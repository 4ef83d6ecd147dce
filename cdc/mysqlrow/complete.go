package mysqlrow

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// Missing is the error of a row that lacks what its reader needs.
type Missing struct {
	// Columns are the names of the columns, in order of the table.
	Columns []string
	// Before says that the values before the change are missing.
	Before bool
	// JSON says that a part of a JSON value came, and not the value that it belongs to.
	JSON bool
}

// Error names the columns.
func (m *Missing) Error() string { return "a row lacks " + strings.Join(m.Columns, ", ") }

// Whole reports whether the images of r hold every column by itself, as they do
// under binlog_row_image=FULL.
func (l *Layout) Whole(r Rows) bool {
	return !r.JSONParts && allSet(r.Present, r.Columns) && (r.Op != OpUpdate || allSet(r.PresentAfter, r.Columns))
}

// completer makes whole images of those that lack columns.
type completer struct {
	l *Layout
	// after and before are the columns, by number, that the rows must have after and
	// before the change.
	after, before []bool
	out           []byte
	was, now      rowImage
}

// rowImage is a row image taken apart.
type rowImage struct {
	has  []bool   // the column is in the image
	vals [][]byte // its bytes with their length, nil for NULL
}

// Complete gives the rows of r, whose images lack columns, with whole images, and
// the layout to read them with. What an image after a change lacks has the value
// it had before; JSON values of which parts came are put together. Columns that
// nobody reads, and old values that nobody needs, become NULL.
//
// before lists the source columns whose old values are needed besides those of
// key and chunk key; nil stands for all that are read. The error is a *Missing
// where something is missing that is needed.
func (l *Layout) Complete(r Rows, before []int) (Rows, *Layout, error) {
	if r.Columns != len(l.steps) {
		return r, nil, l.plan.changed("%d columns instead of %d", r.Columns, len(l.steps))
	}
	n := len(l.steps)
	c := &completer{l: l, after: make([]bool, n), was: newImage(n), now: newImage(n)}
	for i := range l.steps {
		c.after[i] = l.steps[i].cell != nil || l.places(i)
	}
	c.before = slices.Clone(c.after)
	if before != nil {
		for i := range c.before {
			c.before[i] = l.places(i) || slices.Contains(before, i)
		}
	}
	// Most of the images are copied; what they lack is added.
	c.out = make([]byte, 0, len(r.Data)+len(r.Data)/2+l.nulls)
	for data := r.Data; len(data) > 0; {
		var err error
		if data, err = c.row(r, data); err != nil {
			return r, nil, err
		}
	}
	full := slices.Repeat([]byte{0xFF}, l.nulls)
	out := Rows{Op: r.Op, TableID: r.TableID, EndOfStatement: r.EndOfStatement, Columns: r.Columns, Present: full, Data: c.out}
	if r.Op == OpUpdate {
		out.PresentAfter = full
	}
	lax := *l
	lax.lax = true
	return out, &lax, nil
}

// places reports columns that say which row it is, and whether it is one.
func (l *Layout) places(i int) bool {
	return l.key[i] || i == l.end || slices.ContainsFunc(l.plan.chunk, func(p keyPart) bool { return p.column == i })
}

func newImage(n int) rowImage { return rowImage{has: make([]bool, n), vals: make([][]byte, n)} }

// row completes the images of the row at the front of data and gives the rest.
func (c *completer) row(r Rows, data []byte) ([]byte, error) {
	if r.Op == OpInsert {
		data, err := c.split(&c.now, r.Present, data)
		if err != nil {
			return nil, err
		}
		return data, c.write(&c.now, c.after, false)
	}
	data, err := c.split(&c.was, r.Present, data)
	if err != nil {
		return nil, err
	}
	if r.Op == OpDelete {
		return data, c.write(&c.was, c.before, true)
	}
	var parts []byte
	if r.JSONParts {
		if parts, data, err = c.parts(data); err != nil {
			return nil, err
		}
	}
	if data, err = c.split(&c.now, r.PresentAfter, data); err != nil {
		return nil, err
	}
	if err := c.patch(parts); err != nil {
		return nil, err
	}
	for i := range c.now.has {
		if !c.now.has[i] && c.was.has[i] {
			c.now.has[i], c.now.vals[i] = true, c.was.vals[i]
		}
	}
	if err := c.write(&c.was, c.before, true); err != nil {
		return nil, err
	}
	return data, c.write(&c.now, c.after, false)
}

// split takes the image at the front of data apart; present has a bit for each
// column that it holds. It gives the rest of data.
func (c *completer) split(to *rowImage, present, data []byte) ([]byte, error) {
	l := c.l
	columns := 0
	for i := range l.steps {
		if to.has[i] = isSet(present, i); to.has[i] {
			columns++
		}
	}
	nulls := (columns + 7) / 8
	if len(data) < nulls {
		return nil, l.plan.cellError("(NULL bits)", truncated)
	}
	bitmap, rest := data[:nulls], data[nulls:]
	k := 0
	for i := range l.steps {
		to.vals[i] = nil
		if !to.has[i] {
			continue
		}
		null := isSet(bitmap, k)
		k++
		if null {
			continue
		}
		n := l.steps[i].skip(rest)
		if n < 0 {
			return nil, l.plan.cellError(l.plan.cols[i].Name, status(n))
		}
		to.vals[i], rest = rest[:n:n], rest[n:]
	}
	return rest, nil
}

// parts reads what stands in front of an image after a change that may hold
// parts of JSON values: a bit for each JSON column of the table.
func (c *completer) parts(data []byte) (bitmap, rest []byte, err error) {
	const partialJSON = 1
	options, _, n := mysql.LengthEncodedInt(data)
	if n <= 0 || n > len(data) {
		return nil, nil, c.l.plan.cellError("(value options)", truncated)
	}
	data = data[n:]
	if options&partialJSON == 0 {
		return nil, data, nil
	}
	columns := 0
	for _, t := range c.l.from.Types {
		if t == mysql.MYSQL_TYPE_JSON {
			columns++
		}
	}
	if size := (columns + 7) / 8; len(data) >= size {
		return data[:size], data[size:], nil
	}
	return nil, nil, c.l.plan.cellError("(JSON bits)", truncated)
}

// patch puts the JSON values together of which parts came.
func (c *completer) patch(parts []byte) error {
	k := 0
	for i, t := range c.l.from.Types {
		if t != mysql.MYSQL_TYPE_JSON || parts == nil {
			continue
		}
		part := isSet(parts, k)
		k++
		if !part || !c.now.has[i] || c.now.vals[i] == nil {
			continue
		}
		if !c.after[i] {
			c.now.vals[i] = nil // nobody reads it
			continue
		}
		name := c.l.plan.cols[i].Name
		if !c.was.has[i] {
			return &Missing{Columns: []string{name}, JSON: true}
		}
		prefix := c.l.steps[i].prefix
		if c.was.vals[i] == nil {
			return c.l.plan.cellError(name, badValue)
		}
		doc, good := patchJSON(c.was.vals[i][prefix:], c.now.vals[i][prefix:])
		if !good {
			return fmt.Errorf("reading a row of %s, column %s: %w: parts of a JSON value that do not fit to it", c.l.plan.opt.Table, name, ErrMalformed)
		}
		value := binary.LittleEndian.AppendUint32(make([]byte, 0, len(doc)+prefix), uint32(len(doc)))
		c.now.vals[i] = append(value[:prefix], doc...)
	}
	return nil
}

// write appends an image with all columns to out; need are those it must have.
func (c *completer) write(from *rowImage, need []bool, before bool) error {
	start := len(c.out)
	c.out = append(c.out, make([]byte, c.l.nulls)...)
	var missing []string
	for i := range from.has {
		switch {
		case from.vals[i] != nil:
			c.out = append(c.out, from.vals[i]...)
			continue
		case !from.has[i] && need[i]:
			missing = append(missing, c.l.plan.cols[i].Name)
		}
		c.out[start+i>>3] |= 1 << (i & 7)
	}
	if missing != nil {
		return &Missing{Columns: missing, Before: before}
	}
	return nil
}

func isSet(bitmap []byte, i int) bool { return i>>3 < len(bitmap) && bitmap[i>>3]&(1<<(i&7)) != 0 }
