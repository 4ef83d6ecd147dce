package orc

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// decimalReader reads DECIMAL at the wanted scale.
type decimalReader struct {
	readBase
	scale  int64
	data   *inStream
	scales intDecoder
	each   [maxRun2]int64
}

func (c *decimalReader) open(s *stripe) error {
	c.openBase(s)
	c.data = c.input(streamData)
	c.scales = newIntDecoder(c.input(streamSecondary), c.encoding().kind, true)
	return nil
}

func (c *decimalReader) seek(group int) error {
	p, err := c.seekBase(group)
	if err != nil {
		return err
	}
	if err := c.data.seek(p); err != nil {
		return err
	}
	return c.scales.seek(p)
}

func (c *decimalReader) read(n int, mask []byte, set int) (arrow.Array, error) {
	valid, count, err := c.validity(n, mask, set)
	if err != nil {
		return nil, err
	}
	out := c.buffer(arrow.Decimal128SizeBytes * n)
	buffers := []*memory.Buffer{valid, out}
	dst := arrow.Decimal128Traits.CastFromBytes(out.Bytes())[:n]
	if err := c.decode(dst[:count]); err != nil {
		releaseAll(buffers)
		return nil, err
	}
	if valid != nil {
		expand(dst, count, valid.Bytes())
	}
	return c.array(n, count, buffers, nil), nil
}

func (c *decimalReader) decode(vals []decimal128.Num) error {
	for i := c.short(vals); i < len(vals); i++ {
		lo, hi, err := c.data.varint128()
		if err != nil {
			return err
		}
		sign := -(lo & 1)
		vals[i] = decimal128.New(int64(hi>>1^sign), (lo>>1|hi<<63)^sign)
	}
	for len(vals) > 0 {
		each := c.each[:min(len(vals), len(c.each))]
		if err := c.scales.read(each); err != nil {
			return err
		}
		others := int64(0)
		for _, s := range each {
			others |= s ^ c.scale
		}
		if others == 0 {
			vals = vals[len(each):]
			continue
		}
		for i, s := range each {
			if v, ok := upScale(vals[i], c.scale-s); ok {
				vals[i] = v
				continue
			}
			v, ok := atScale(vals[i], s, c.scale)
			if !ok {
				return c.data.corrupt("a decimal of scale %d that does not fit", s)
			}
			vals[i] = v
		}
		vals = vals[len(each):]
	}
	return nil
}

// short decodes values of at most 56 bits as long as they lie safely within what
// has been unpacked, and gives their number.
func (c *decimalReader) short(vals []decimal128.Num) int {
	b := c.data.buf
	at := c.data.pos
	i := 0
	for i < len(vals) && at+8 <= len(b) {
		// The first byte without its top bit set ends the number.
		x := binary.LittleEndian.Uint64(b[at:])
		ends := ^x & 0x8080808080808080
		if ends == 0 {
			break
		}
		vals[i] = smallDecimal(x & (ends ^ (ends - 1)))
		i++
		// Most often a second one is whole too: it need not wait for the length of the first.
		second := ends & (ends - 1)
		if second == 0 || i == len(vals) {
			at += bits.TrailingZeros64(ends)>>3 + 1
			continue
		}
		skip := bits.TrailingZeros64(ends) + 1
		vals[i] = smallDecimal(x & (second ^ (second - 1)) >> (skip & 63))
		i++
		at += bits.TrailingZeros64(second)>>3 + 1
	}
	c.data.pos = at
	return i
}

// smallDecimal decodes the groups of seven bits in the bytes of x.
func smallDecimal(x uint64) decimal128.Num {
	// Groups move together: pairs, fours, eights.
	x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
	x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
	x = x&0x000000000fffffff | x&0x0fffffff00000000>>4
	v := unzigzag(x)
	return decimal128.New(v>>63, uint64(v))
}

// smallPowers are the powers of ten that a number of 40 bits may be multiplied with.
var smallPowers = [7]int64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000}

// upScale is atScale for small numbers and scales that grow a little, as those
// of Java do, which drops zeros at the end; false for others.
func upScale(v decimal128.Num, by int64) (decimal128.Num, bool) {
	low := int64(v.LowBits())
	if uint64(by) >= uint64(len(smallPowers)) || low>>63 != v.HighBits() || low>>40 != low>>63 {
		return v, false
	}
	low *= smallPowers[by]
	return decimal128.New(low>>63, uint64(low)), true
}

// atScale changes the scale of v, rounding half away from zero; false if it does not fit.
func atScale(v decimal128.Num, from, to int64) (decimal128.Num, bool) {
	if v == (decimal128.Num{}) {
		return v, true
	}
	switch by := to - from; {
	case by > maxDecimalPrecision, from < -maxDecimalPrecision:
		return v, false
	case by < -maxDecimalPrecision:
		return decimal128.Num{}, true
	case by < 0:
		return v.ReduceScaleBy(int32(-by), true), true
	default:
		if !v.FitsInPrecision(int32(maxDecimalPrecision - by)) {
			return v, by == maxDecimalPrecision && v == (decimal128.Num{})
		}
		return v.IncreaseScaleBy(int32(by)), true
	}
}

// varint128 reads a base-128 number of at most 128 bits.
func (s *inStream) varint128() (lo, hi uint64, err error) {
	b := s.buf[s.pos:]
	if len(b) < binary.MaxVarintLen64 {
		if b, err = s.peek(19); err != nil {
			return 0, 0, err
		}
	}
	if v, n := binary.Uvarint(b); n > 0 {
		s.pos += n
		return v, 0, nil
	}
	if b, err = s.peek(19); err != nil {
		return 0, 0, err
	}
	for i, x := range b[:min(19, len(b))] {
		v, shift := uint64(x&0x7f), uint(7*i)
		if shift < 64 {
			lo |= v << shift
			if shift > 57 {
				hi |= v >> (64 - shift)
			}
		} else {
			hi |= v << (shift - 64)
			if shift > 121 && bits.Len64(v) > int(128-shift) {
				return 0, 0, s.corrupt("a decimal has more than 128 bits")
			}
		}
		if x < 0x80 {
			s.pos += i + 1
			return lo, hi, nil
		}
	}
	if len(b) < 19 {
		return 0, 0, s.short(nil)
	}
	return 0, 0, s.corrupt("a decimal has more than 128 bits")
}
