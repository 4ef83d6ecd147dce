package orc

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// intColumn writes SMALLINT, INT, BIGINT, DATE and TIME: all but BIGINT are widened first.
type intColumn struct {
	columnBase
	arrow  arrow.Type
	data   intWriter
	values []int64
}

func (c *intColumn) write(a arrow.Array, lo, hi int) error {
	if err := fits(a, c.arrow); err != nil {
		return err
	}
	valid, off, _, err := c.rows(a, lo, hi)
	if err != nil {
		return err
	}
	vals := c.values
	switch c.arrow {
	case arrow.INT16:
		vals = gather(vals, arrow.Int16Traits.CastFromBytes(fixedValues(a, 2, lo, hi)), valid, off)
	case arrow.INT64:
		all := arrow.Int64Traits.CastFromBytes(fixedValues(a, 8, lo, hi))
		if valid == nil {
			return c.add(all)
		}
		vals = gather(vals, all, valid, off)
	default:
		vals = gather(vals, arrow.Int32Traits.CastFromBytes(fixedValues(a, 4, lo, hi)), valid, off)
	}
	c.values = vals
	return c.add(vals)
}

func (c *intColumn) add(vals []int64) error {
	if c.group.kind == statDate {
		c.group.addDates(vals)
	} else {
		c.group.addInts(vals)
	}
	return c.data.write(vals)
}

func (c *intColumn) startGroup() { c.startEntry(c.data.position(nil)) }

func (c *intColumn) endGroup() error {
	c.endEntry()
	return nil
}

func (c *intColumn) finish() ([]stream, columnEncoding, error) {
	if err := c.data.flush(); err != nil {
		return nil, columnEncoding{}, err
	}
	b, err := c.data.out.finish()
	return []stream{{streamData, b}}, columnEncoding{kind: encodingDirectV2}, err
}

func (c *intColumn) reset() {
	c.resetBase()
	c.data.out.reset()
}

func (c *intColumn) size() int { return c.baseSize() + c.data.out.size() }

// byteColumn writes TINYINT.
type byteColumn struct {
	columnBase
	data   byteWriter
	values []int64
}

func (c *byteColumn) write(a arrow.Array, lo, hi int) error {
	if err := fits(a, arrow.INT8); err != nil {
		return err
	}
	valid, off, _, err := c.rows(a, lo, hi)
	if err != nil {
		return err
	}
	c.values = gather(c.values, arrow.Int8Traits.CastFromBytes(fixedValues(a, 1, lo, hi)), valid, off)
	c.group.addInts(c.values)
	for _, v := range c.values {
		if err := c.data.write(byte(v)); err != nil {
			return err
		}
	}
	return nil
}

func (c *byteColumn) startGroup() { c.startEntry(c.data.position(nil)) }

func (c *byteColumn) endGroup() error {
	c.endEntry()
	return nil
}

func (c *byteColumn) finish() ([]stream, columnEncoding, error) {
	if err := c.data.flush(); err != nil {
		return nil, columnEncoding{}, err
	}
	b, err := c.data.out.finish()
	return []stream{{streamData, b}}, columnEncoding{kind: encodingDirect}, err
}

func (c *byteColumn) reset() {
	c.resetBase()
	c.data.out.reset()
}

func (c *byteColumn) size() int { return c.baseSize() + c.data.out.size() }

// boolColumn writes BOOLEAN.
type boolColumn struct {
	columnBase
	data boolWriter
}

func (c *boolColumn) write(a arrow.Array, lo, hi int) error {
	if err := fits(a, arrow.BOOL); err != nil {
		return err
	}
	valid, off, nulls, err := c.rows(a, lo, hi)
	if err != nil || nulls == hi-lo {
		return err
	}
	vals, from := a.Data().Buffers()[1].Bytes(), a.Data().Offset()+lo
	if valid == nil {
		c.group.trues += uint64(bitutil.CountSetBits(vals, from, hi-lo))
		return c.data.bitmap(vals, from, hi-lo)
	}
	for i := range hi - lo {
		if bitutil.BitIsNotSet(valid, off+i) {
			continue
		}
		var b byte
		if bitutil.BitIsSet(vals, from+i) {
			b = 1
			c.group.trues++
		}
		if err := c.data.bit(b); err != nil {
			return err
		}
	}
	return nil
}

func (c *boolColumn) startGroup() { c.startEntry(c.data.position(nil)) }

func (c *boolColumn) endGroup() error {
	c.endEntry()
	return nil
}

func (c *boolColumn) finish() ([]stream, columnEncoding, error) {
	if err := c.data.flush(); err != nil {
		return nil, columnEncoding{}, err
	}
	b, err := c.data.bytes.out.finish()
	return []stream{{streamData, b}}, columnEncoding{kind: encodingDirect}, err
}

func (c *boolColumn) reset() {
	c.resetBase()
	c.data.bytes.out.reset()
}

func (c *boolColumn) size() int { return c.baseSize() + c.data.bytes.out.size() }

// floatColumn writes FLOAT and DOUBLE, 4 or 8 bytes a value.
type floatColumn struct {
	columnBase
	arrow  arrow.Type
	data   *outStream
	values []float64
	// The valid values as they are in memory.
	bits32 []uint32
	bits64 []uint64
}

func (c *floatColumn) write(a arrow.Array, lo, hi int) error {
	if err := fits(a, c.arrow); err != nil {
		return err
	}
	valid, off, _, err := c.rows(a, lo, hi)
	if err != nil {
		return err
	}
	width := 4
	if c.arrow == arrow.FLOAT64 {
		width = 8
	}
	raw := fixedValues(a, width, lo, hi)
	if width == 4 {
		bits := arrow.Uint32Traits.CastFromBytes(raw)
		if valid != nil {
			c.bits32 = gather(c.bits32, bits, valid, off)
			bits = c.bits32
		}
		raw = arrow.Uint32Traits.CastToBytes(bits)
		c.values = gather(c.values, arrow.Float32Traits.CastFromBytes(raw), nil, 0)
		c.group.addDoubles(c.values)
		return c.data.write(raw)
	}
	bits := arrow.Uint64Traits.CastFromBytes(raw)
	if valid != nil {
		c.bits64 = gather(c.bits64, bits, valid, off)
		bits = c.bits64
	}
	raw = arrow.Uint64Traits.CastToBytes(bits)
	c.group.addDoubles(arrow.Float64Traits.CastFromBytes(raw))
	return c.data.write(raw)
}

func (c *floatColumn) startGroup() { c.startEntry(c.data.position(nil)) }

func (c *floatColumn) endGroup() error {
	c.endEntry()
	return nil
}

func (c *floatColumn) finish() ([]stream, columnEncoding, error) {
	b, err := c.data.finish()
	return []stream{{streamData, b}}, columnEncoding{kind: encodingDirect}, err
}

func (c *floatColumn) reset() {
	c.resetBase()
	c.data.reset()
}

func (c *floatColumn) size() int { return c.baseSize() + c.data.size() }

// The base from which timestamps are counted: 2015-01-01T00:00:00 in the
// writer's zone, which is UTC here.
const baseSeconds = 1420070400

// splitSeconds gives the seconds and nanoseconds as ORC keeps a timestamp. Java
// counts seconds towards zero, and readers take a second off again where the
// seconds are negative and the nanoseconds exceed 999,999. The sub-second values of the last
// second before 1970 cannot be told from those after it: every reader sees
// them a second late.
func splitSeconds(sec, nanos int64) (int64, int64) {
	if sec < 0 && nanos > 999_999 {
		sec++
	}
	return sec, nanos
}

// packNanos moves trailing decimal zeros into the low three bits.
func packNanos(n int64) int64 {
	if n == 0 || n%100 != 0 {
		return n << 3
	}
	n /= 100
	zeros := int64(1)
	for n%10 == 0 && zeros < 7 {
		n /= 10
		zeros++
	}
	return n<<3 | zeros
}

// packedMillis holds packNanos of every millisecond of a second.
var packedMillis = func() (t [1000]int64) {
	for i := range t {
		t[i] = packNanos(int64(i) * nanosPerMilli)
	}
	return t
}()

// timestampColumn writes TIMESTAMP and TIMESTAMP_LTZ of any unit.
type timestampColumn struct {
	columnBase
	seconds, nanos intWriter
	values         []int64
	secs, subs     []int64
}

func (c *timestampColumn) write(a arrow.Array, lo, hi int) error {
	if err := fits(a, arrow.TIMESTAMP); err != nil {
		return err
	}
	valid, off, _, err := c.rows(a, lo, hi)
	if err != nil {
		return err
	}
	vals := arrow.Int64Traits.CastFromBytes(fixedValues(a, 8, lo, hi))
	if valid != nil {
		c.values = gather(c.values, vals, valid, off)
		vals = c.values
	}
	c.group.addTimestamps(vals)
	c.secs, c.subs = grow(c.secs, len(vals))[:0], grow(c.subs, len(vals))[:0]
	if c.group.tsPerSecond == 1e3 {
		for _, v := range vals {
			sec, ms := v/1000, v%1000
			if ms < 0 {
				sec, ms = sec-1, ms+1000
			}
			sec, _ = splitSeconds(sec, ms*nanosPerMilli)
			c.secs = append(c.secs, sec-baseSeconds)
			c.subs = append(c.subs, packedMillis[ms])
		}
	} else {
		per, nano := c.group.tsPerSecond, 1_000_000_000/c.group.tsPerSecond
		for _, v := range vals {
			sec, sub := v/per, v%per
			if sub < 0 {
				sec, sub = sec-1, sub+per
			}
			sec, ns := splitSeconds(sec, sub*nano)
			c.secs = append(c.secs, sec-baseSeconds)
			c.subs = append(c.subs, packNanos(ns))
		}
	}
	if err := c.seconds.write(c.secs); err != nil {
		return err
	}
	return c.nanos.write(c.subs)
}

func (c *timestampColumn) startGroup() { c.startEntry(c.nanos.position(c.seconds.position(nil))) }

func (c *timestampColumn) endGroup() error {
	c.endEntry()
	return nil
}

func (c *timestampColumn) finish() ([]stream, columnEncoding, error) {
	streams, err := finishInts(&c.seconds, streamData, &c.nanos, streamSecondary)
	return streams, columnEncoding{kind: encodingDirectV2}, err
}

func finishInts(a *intWriter, ka streamKind, b *intWriter, kb streamKind) ([]stream, error) {
	if err := a.flush(); err != nil {
		return nil, err
	}
	if err := b.flush(); err != nil {
		return nil, err
	}
	first, err := a.out.finish()
	if err != nil {
		return nil, err
	}
	second, err := b.out.finish()
	return []stream{{ka, first}, {kb, second}}, err
}

func (c *timestampColumn) reset() {
	c.resetBase()
	c.seconds.out.reset()
	c.nanos.out.reset()
}

func (c *timestampColumn) size() int {
	return c.baseSize() + c.seconds.out.size() + c.nanos.out.size()
}
