package orc

import (
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
	var vals []int64
	if c.width == 8 && valid == nil {
		vals = arrow.Int64Traits.CastFromBytes(out.Bytes())[:n]
	} else {
		c.vals = grow(c.vals, count)
		vals = c.vals
	}
	if err := c.data.read(vals); err != nil {
		releaseAll(buffers)
		return nil, err
	}
	switch c.width {
	case 1:
		place(arrow.Int8Traits.CastFromBytes(out.Bytes())[:n], vals, valid)
	case 2:
		place(arrow.Int16Traits.CastFromBytes(out.Bytes())[:n], vals, valid)
	case 4:
		place(arrow.Int32Traits.CastFromBytes(out.Bytes())[:n], vals, valid)
	default:
		if valid != nil {
			place(arrow.Int64Traits.CastFromBytes(out.Bytes())[:n], vals, valid)
		}
	}
	return c.array(n, count, buffers, nil), nil
}

func place[T int8 | int16 | int32 | int64](dst []T, vals []int64, valid *memory.Buffer) {
	if valid != nil {
		spread(dst, vals, valid.Bytes(), func(v int64) T { return T(v) })
		return
	}
	for i, v := range vals {
		dst[i] = T(v)
	}
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
	c.vals = grow(c.vals, (count+7)/8)
	clear(c.vals)
	if _, err := c.data.read(c.vals, count); err != nil {
		releaseAll(buffers)
		return nil, err
	}
	dst, bits, j := out.Bytes(), valid.Bytes(), 0
	for i := range n {
		if bits[i>>3]>>(i&7)&1 != 0 {
			dst[i>>3] |= c.vals[j>>3] >> (j & 7) & 1 << (i & 7)
			j++
		}
	}
	return c.array(n, count, buffers, nil), nil
}

// floatReader reads FLOAT and DOUBLE.
type floatReader struct {
	readBase
	width int
	data  *inStream
	v32   []uint32
	v64   []uint64
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
	switch {
	case valid == nil && c.width == 4:
		err = float32s(c.data, arrow.Uint32Traits.CastFromBytes(out.Bytes())[:n])
	case valid == nil:
		err = float64s(c.data, arrow.Uint64Traits.CastFromBytes(out.Bytes())[:n])
	case c.width == 4:
		c.v32 = grow(c.v32, count)
		if err = float32s(c.data, c.v32); err == nil {
			spread(arrow.Uint32Traits.CastFromBytes(out.Bytes())[:n], c.v32, valid.Bytes(), func(v uint32) uint32 { return v })
		}
	default:
		c.v64 = grow(c.v64, count)
		if err = float64s(c.data, c.v64); err == nil {
			spread(arrow.Uint64Traits.CastFromBytes(out.Bytes())[:n], c.v64, valid.Bytes(), func(v uint64) uint64 { return v })
		}
	}
	if err != nil {
		releaseAll(buffers)
		return nil, err
	}
	return c.array(n, count, buffers, nil), nil
}

// timestampReader reads TIMESTAMP and TIMESTAMP_LTZ into any unit. What is
// finer than the unit is cut.
type timestampReader struct {
	readBase
	perSecond      int64
	seconds, nanos intDecoder
	zone           *zone
	secs, subs     []int64
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

var powersOfTen = [...]int64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

func (c *timestampReader) read(n int, mask []byte, set int) (arrow.Array, error) {
	valid, count, err := c.validity(n, mask, set)
	if err != nil {
		return nil, err
	}
	out := c.buffer(8 * n)
	buffers := []*memory.Buffer{valid, out}
	c.secs, c.subs = grow(c.secs, count), grow(c.subs, count)
	if err = c.seconds.read(c.secs); err == nil {
		if err = c.nanos.read(c.subs); err == nil {
			err = c.combine()
		}
	}
	if err != nil {
		releaseAll(buffers)
		return nil, err
	}
	dst := arrow.Int64Traits.CastFromBytes(out.Bytes())[:n]
	if valid == nil {
		copy(dst, c.secs)
	} else {
		spread(dst, c.secs, valid.Bytes(), func(v int64) int64 { return v })
	}
	return c.array(n, count, buffers, nil), nil
}

// combine turns secs and subs into units of perSecond, in secs.
func (c *timestampReader) combine() error {
	unit := 1_000_000_000 / c.perSecond
	limit := int64(1<<63-1)/c.perSecond - 1
	for i, packed := range c.subs {
		// 32 bits with a sign, as in Java: Arrow writes negative ones before 1970.
		ns := int64(int32(uint64(packed) >> 3))
		if zeros := packed & 7; zeros != 0 {
			ns *= powersOfTen[zeros+1]
		}
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
		if sec > limit || sec < -limit {
			return &UnsupportedError{Feature: "a timestamp of " + c.dt.String() + " that far from 1970"}
		}
		c.secs[i] = sec*c.perSecond + ns/unit
	}
	return nil
}
