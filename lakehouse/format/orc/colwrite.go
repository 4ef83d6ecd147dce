package orc

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"leat/internal/columnar"
)

// stream is a finished stream of a column, in pieces.
type stream struct {
	kind streamKind
	data [][]byte
}

func (s *stream) size() (n int) {
	for _, b := range s.data {
		n += len(b)
	}
	return n
}

// columnWriter writes one column of the type tree. Parents call their children.
type columnWriter interface {
	// write appends rows lo to hi-1 of a.
	write(a arrow.Array, lo, hi int) error
	// startGroup notes the positions of a row group that begins.
	startGroup()
	// endGroup is told that a row group is full or the stripe ends.
	endGroup() error
	// finish ends the stripe and gives the data streams but PRESENT.
	finish() ([]stream, columnEncoding, error)
	// reset begins the next stripe.
	reset()
	// size is about the bytes that the column holds.
	size() int
	common() *columnBase
}

// columnBase is what all columns have: PRESENT, statistics and the row index.
type columnBase struct {
	id       int
	nullable bool
	present  boolWriter
	// hasNull says that PRESENT is needed in this stripe.
	hasNull bool
	// group, stripe and file are statistics of growing range; file is exact.
	group, stripe, file fileStat
	entries             []groupEntry
}

// groupEntry is a row index entry; what PRESENT adds is kept apart because the
// stream is left out of a stripe without nulls.
type groupEntry struct {
	present, data []uint64
	stat          []byte
}

// newColumnBase starts a column whose PRESENT goes to out.
func newColumnBase(id int, t columnar.DataType, out *outStream) columnBase {
	b := columnBase{id: id, nullable: t.Nullable}
	b.present.bytes.out = out
	s := fileStat{kind: statKindOf(t), scale: t.Scale, tsPerSecond: unitsPerSecond(t)}
	if t.Kind == columnar.Char {
		s.charLength = t.Length
	}
	b.group, b.stripe, b.file = s, s, s
	return b
}

func statKindOf(t columnar.DataType) statKind {
	switch t.Kind {
	case columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt, columnar.Time:
		return statInt
	case columnar.Float, columnar.Double:
		return statDouble
	case columnar.Char, columnar.VarChar:
		return statString
	case columnar.Boolean:
		return statBool
	case columnar.Decimal:
		return statDecimal
	case columnar.Date:
		return statDate
	case columnar.Binary, columnar.VarBinary:
		return statBinary
	case columnar.Timestamp, columnar.TimestampLTZ:
		return statTimestamp
	case columnar.Array, columnar.Map, columnar.Multiset:
		return statCollection
	default:
		return statNone
	}
}

// unitsPerSecond is the resolution of a timestamp's Arrow form.
func unitsPerSecond(t columnar.DataType) int64 {
	switch columnar.TimestampUnit(t.Precision) {
	case arrow.Millisecond:
		return 1e3
	case arrow.Microsecond:
		return 1e6
	default:
		return 1e9
	}
}

func (c *columnBase) common() *columnBase { return c }

// rows writes PRESENT for rows lo to hi-1, counts them and gives their
// validity bitmap from the given bit on; nil if none is null.
func (c *columnBase) rows(a arrow.Array, lo, hi int) (valid []byte, off, nulls int, err error) {
	n := hi - lo
	if a.NullN() > 0 {
		valid, off = a.NullBitmapBytes(), a.Data().Offset()+lo
		if valid != nil {
			nulls = n - bitutil.CountSetBits(valid, off, n)
		} else {
			nulls = n // An array of type null.
		}
	}
	c.group.count(n, nulls)
	if nulls == 0 {
		return nil, 0, 0, c.present.ones(n)
	}
	if !c.nullable {
		return nil, 0, nulls, fmt.Errorf("%d nulls in a NOT NULL column", nulls)
	}
	c.hasNull = true
	return valid, off, nulls, c.present.bitmap(valid, off, n)
}

func (c *columnBase) startEntry(data []uint64) {
	c.entries = append(c.entries, groupEntry{present: c.present.position(nil), data: data})
}

// endEntry closes the row group's statistics.
func (c *columnBase) endEntry() {
	c.entries[len(c.entries)-1].stat = c.group.encode()
	c.stripe.merge(&c.group)
	c.group.reset()
}

// finishPresent gives the PRESENT stream, none without nulls.
func (c *columnBase) finishPresent() ([]stream, error) {
	if !c.hasNull {
		return nil, nil
	}
	if err := c.present.flush(); err != nil {
		return nil, err
	}
	b, err := c.present.bytes.out.finish()
	return []stream{{streamPresent, b}}, err
}

// index gives the ROW_INDEX message.
func (c *columnBase) index() []byte {
	index := rowIndex{entries: make([]indexEntry, len(c.entries))}
	for i, e := range c.entries {
		index.entries[i] = indexEntry{positions: e.data, stat: e.stat}
		if c.hasNull {
			index.entries[i].positions = slices.Concat(e.present, e.data)
		}
	}
	return encode(index.fields)
}

func (c *columnBase) resetBase() {
	out := c.present.bytes.out
	out.reset()
	c.present = boolWriter{bytes: byteWriter{out: out}}
	c.hasNull = false
	c.entries = c.entries[:0]
	c.stripe.reset()
}

func (c *columnBase) baseSize() int { return c.present.bytes.out.size() }

// number is what gather converts.
type number interface {
	int8 | int16 | int32 | int64 | uint32 | uint64 | float32 | float64
}

// gather gives the valid of vals, whose bits start at off, as another kind of
// number, in the memory of dst.
func gather[S, D number](dst []D, vals []S, valid []byte, off int) []D {
	dst = grow(dst, len(vals))
	if valid == nil {
		for i, v := range vals {
			dst[i] = D(v)
		}
		return dst
	}
	n := 0
	for i, v := range vals {
		dst[n] = D(v)
		n += int(valid[(off+i)>>3] >> ((off + i) & 7) & 1)
	}
	return dst[:n]
}

// fixedValues gives the value bytes of rows lo to hi-1 of a fixed-width array.
func fixedValues(a arrow.Array, width, lo, hi int) []byte {
	buf := a.Data().Buffers()[1]
	if buf == nil {
		return nil
	}
	off := a.Data().Offset()
	return buf.Bytes()[(off+lo)*width : (off+hi)*width]
}

// fits checks the Arrow type of a column once a batch.
func fits(a arrow.Array, id arrow.Type) error {
	if a.DataType().ID() != id {
		return fmt.Errorf("an array of type %s for a column of %s", a.DataType(), id)
	}
	return nil
}
