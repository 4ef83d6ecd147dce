package orc

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// intReader reads TINYINT to BIGINT, DATE and TIME, widening where asked.
type intReader struct {
	readBase
	width int
	data  intDecoder
	vals  []int64
}

func (c *intReader) open(s *stripe) error {
	c.openBase(s)
	in := c.input(streamData)
	if c.node.info.kind == kindByte {
		c.data = &byteInts{byteReader: byteReader{in: in}}
		return nil
	}
	c.data = newIntDecoder(in, c.encoding().kind, true)
	return nil
}

// byteInts reads bytes as signed integers.
type byteInts struct {
	byteReader
	scratch []byte
}

func (b *byteInts) read(dst []int64) error {
	b.scratch = grow(b.scratch, len(dst))
	if err := b.byteReader.read(b.scratch); err != nil {
		return err
	}
	for i, v := range b.scratch {
		dst[i] = int64(int8(v))
	}
	return nil
}

func (c *intReader) seek(group int) error {
	p, err := c.seekBase(group)
	if err != nil {
		return err
	}
	return c.data.seek(p)
}

func (c *intReader) read(n int, mask []byte, set int) (arrow.Array, error) {
	valid, count, err := c.validity(n, mask, set)
	if err != nil {
		return nil, err
	}
	out := c.buffer(n * c.width)
	buffers := []*memory.Buffer{valid, out}
	if err := c.fill(out.Bytes(), count, bitmapOf(valid)); err != nil {
		releaseAll(buffers)
		return nil, err
	}
	return c.array(n, count, buffers, nil), nil
}

// fill decodes count values into their rows of out.
func (c *intReader) fill(out []byte, count int, valid []byte) error {
	if small, ok := c.data.(*byteInts); ok && c.width == 1 {
		if err := small.byteReader.read(out[:count]); err != nil {
			return err
		}
		if valid != nil {
			expandInts(arrow.Int8Traits.CastFromBytes(out), count, valid)
		}
		return nil
	}
	if c.width == 8 {
		dst := arrow.Int64Traits.CastFromBytes(out)
		if err := c.data.read(dst[:count]); err != nil {
			return err
		}
		if valid != nil {
			expandInts(dst, count, valid)
		}
		return nil
	}
	c.vals = grow(c.vals, count)
	if err := c.data.read(c.vals); err != nil {
		return err
	}
	switch c.width {
	case 1:
		narrow(arrow.Int8Traits.CastFromBytes(out), c.vals, valid)
	case 2:
		narrow(arrow.Int16Traits.CastFromBytes(out), c.vals, valid)
	default:
		narrow(arrow.Int32Traits.CastFromBytes(out), c.vals, valid)
	}
	return nil
}

// boolColumnReader reads BOOLEAN.
type boolColumnReader struct {
	readBase
	data boolReader
	vals []byte
}

func (c *boolColumnReader) open(s *stripe) error {
	c.openBase(s)
	c.data = boolReader{bytes: byteReader{in: c.input(streamData)}, scratch: c.data.scratch}
	return nil
}

func (c *boolColumnReader) seek(group int) error {
	p, err := c.seekBase(group)
	if err != nil {
		return err
	}
	return c.data.seek(p)
}

func (c *boolColumnReader) read(n int, mask []byte, set int) (arrow.Array, error) {
	valid, count, err := c.validity(n, mask, set)
	if err != nil {
		return nil, err
	}
	out := c.buffer((n + 7) / 8)
	clear(out.Bytes())
	buffers := []*memory.Buffer{valid, out}
	if valid == nil {
		if _, err := c.data.read(out.Bytes(), n); err != nil {
			releaseAll(buffers)
			return nil, err
		}
		return c.array(n, count, buffers, nil), nil
	}
	c.vals = grow(c.vals, count/8+1)
	clear(c.vals)
	if _, err := c.data.read(c.vals, count); err != nil {
		releaseAll(buffers)
		return nil, err
	}
	dst, bits, j := out.Bytes(), valid.Bytes(), 0
	for i := range n {
		bit := bits[i>>3] >> (i & 7) & 1
		dst[i>>3] |= c.vals[j>>3] >> (j & 7) & bit << (i & 7)
		j += int(bit)
	}
	return c.array(n, count, buffers, nil), nil
}

// floatReader reads FLOAT and DOUBLE.
type floatReader struct {
	readBase
	width int
	data  *inStream
}

func (c *floatReader) open(s *stripe) error {
	c.openBase(s)
	c.data = c.input(streamData)
	return nil
}

func (c *floatReader) seek(group int) error {
	p, err := c.seekBase(group)
	if err != nil {
		return err
	}
	return c.data.seek(p)
}

func (c *floatReader) read(n int, mask []byte, set int) (arrow.Array, error) {
	valid, count, err := c.validity(n, mask, set)
	if err != nil {
		return nil, err
	}
	out := c.buffer(n * c.width)
	buffers := []*memory.Buffer{valid, out}
	if err := c.fill(out.Bytes(), count, bitmapOf(valid)); err != nil {
		releaseAll(buffers)
		return nil, err
	}
	return c.array(n, count, buffers, nil), nil
}

// fill decodes count values into their rows of out. They are little-endian in
// the file, and so they are in memory: arrow-go takes no other machine.
func (c *floatReader) fill(out []byte, count int, valid []byte) error {
	if err := c.data.copyTo(out[:count*c.width]); err != nil {
		return err
	}
	switch {
	case valid == nil:
	case c.width == 4:
		expandInts(arrow.Uint32Traits.CastFromBytes(out), count, valid)
	default:
		expandInts(arrow.Uint64Traits.CastFromBytes(out), count, valid)
	}
	return nil
}

// timestampReader reads TIMESTAMP and TIMESTAMP_LTZ into any unit. What is
// finer than the unit is cut.
type timestampReader struct {
	readBase
	perSecond      int64
	factors        [8]int64
	seconds, nanos intDecoder
	zone           *zone
	secs, subs     [2 * maxRun2]int64
}

func (c *timestampReader) open(s *stripe) error {
	c.openBase(s)
	kind := c.encoding().kind
	c.seconds = newIntDecoder(c.input(streamData), kind, true)
	c.nanos = newIntDecoder(c.input(streamSecondary), kind, false)
	c.zone = &zone{base: baseSeconds}
	if c.node.info.kind == kindTimestampInstant {
		return nil
	}
	z, err := s.writerZone()
	c.zone = z
	return err
}

func (c *timestampReader) seek(group int) error {
	p, err := c.seekBase(group)
	if err != nil {
		return err
	}
	if err := c.seconds.seek(p); err != nil {
		return err
	}
	return c.nanos.seek(p)
}

func (c *timestampReader) read(n int, mask []byte, set int) (arrow.Array, error) {
	valid, count, err := c.validity(n, mask, set)
	if err != nil {
		return nil, err
	}
	out := c.buffer(8 * n)
	buffers := []*memory.Buffer{valid, out}
	dst := arrow.Int64Traits.CastFromBytes(out.Bytes())[:n]
	if err := c.fill(dst[:count]); err != nil {
		releaseAll(buffers)
		return nil, err
	}
	if valid != nil {
		expandInts(dst, count, valid.Bytes())
	}
	return c.array(n, count, buffers, nil), nil
}

// fill decodes values into dst, in units of perSecond. It goes in small steps:
// what is decoded is still in the nearest cache when it is combined.
func (c *timestampReader) fill(dst []int64) error {
	for len(dst) > 0 {
		n := min(len(dst), len(c.secs))
		if err := c.seconds.read(c.secs[:n]); err != nil {
			return err
		}
		if err := c.nanos.read(c.subs[:n]); err != nil {
			return err
		}
		if c.zone.location != nil || !c.combineLate(dst[:n]) {
			if err := c.combine(dst[:n]); err != nil {
				return err
			}
		}
		dst = dst[n:]
	}
	return nil
}

// nanoFactors are what the upper bits of packed nanoseconds are to be multiplied
// with, by the three lower bits, which count decimal zeros.
var nanoFactors = [8]int64{1, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// subFactors are nanoFactors by the unit that the product is in. Where that would
// cut something off, a factor makes it too large.
func subFactors(perSecond int64) (f [8]int64) {
	unit := 1_000_000_000 / perSecond
	for i, n := range nanoFactors {
		if f[i] = n / unit; n%unit != 0 {
			f[i] = 1 << 31
		}
	}
	return f
}

// combineLate is combine for UTC, times from 1970 on and nothing finer than the
// unit; false if there is something else.
func (c *timestampReader) combineLate(dst []int64) bool {
	base, perSecond, factors := c.zone.base, c.perSecond, &c.factors
	subs, secs := c.subs[:len(dst)], c.secs[:len(dst)]
	// The sign of bad tells that a part of a second was out of its range, the
	// bits of the others that a product may not be right.
	var bad, allSubs, allSecs int64
	for i, packed := range subs {
		part := packed >> 3 * factors[packed&7]
		sec := secs[i] + base
		bad |= part | (perSecond - 1 - part)
		allSubs |= packed
		allSecs |= sec
		dst[i] = sec*perSecond + part
	}
	return bad >= 0 && uint64(allSubs) < 1<<33 && bits.Len64(uint64(allSecs)) < bits.Len64(uint64(math.MaxInt64/perSecond))
}

// combine turns secs and subs into units of perSecond.
func (c *timestampReader) combine(dst []int64) error {
	unit := 1_000_000_000 / c.perSecond
	most, rest := int64(math.MaxInt64)/c.perSecond, int64(math.MaxInt64)%c.perSecond
	for i, packed := range c.subs[:len(dst)] {
		// 32 bits with a sign, as in Java: Arrow writes negative ones before 1970.
		ns := int64(int32(uint64(packed) >> 3))
		ns *= nanoFactors[packed&7]
		if ns >= 1e9 || ns <= -1e9 {
			return corruptf(c.stripe.start, "%d nanoseconds", ns)
		}
		sec := c.secs[i] + c.zone.base
		switch {
		case ns < 0:
			sec, ns = sec-1, ns+1e9
		case sec < 0 && ns > 999_999:
			sec--
		}
		if c.zone.location != nil {
			sec += c.zone.offset(sec)
		}
		sub := ns / unit
		if sec > most || sec == most && sub > rest || sec < -most-1 || sec == -most-1 && sub < c.perSecond-rest-1 {
			return &UnsupportedError{Feature: "a timestamp of " + c.dt.String() + " that far from 1970"}
		}
		dst[i] = sec*c.perSecond + sub // right also where the product alone would overflow
	}
	return nil
}
