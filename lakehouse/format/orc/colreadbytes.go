package orc

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// bytesReader reads text and binary values, with a dictionary or without.
type bytesReader struct {
	readBase
	data    *inStream
	lengths intDecoder
	lens    []int64
	// refs and dict are those of a dictionary; dict is loaded with the first values.
	refs       intDecoder
	dictBytes  []byte
	dictStarts []int32
	loaded     bool
}

func (c *bytesReader) open(s *stripe) error {
	c.openBase(s)
	enc := c.encoding()
	c.data = c.input(streamData)
	c.lengths = newIntDecoder(c.input(streamLength), enc.kind, false)
	c.refs, c.loaded = nil, false
	if enc.kind == encodingDictionary || enc.kind == encodingDictionaryV2 {
		c.refs = newIntDecoder(c.data, enc.kind, false)
	}
	return nil
}

func (c *bytesReader) seek(group int) error {
	p, err := c.seekBase(group)
	if err != nil {
		return err
	}
	if c.refs != nil {
		return c.refs.seek(p)
	}
	if err := c.data.seek(p); err != nil {
		return err
	}
	return c.lengths.seek(p)
}

func (c *bytesReader) read(n int, mask []byte, set int) (arrow.Array, error) {
	valid, count, err := c.validity(n, mask, set)
	if err != nil {
		return nil, err
	}
	offsets := c.buffer(4 * (n + 1))
	buffers := []*memory.Buffer{valid, offsets, nil}
	c.lens = grow(c.lens, count)
	starts := arrow.Int32Traits.CastFromBytes(offsets.Bytes())[:n+1]
	if c.refs != nil {
		buffers[2], err = c.fromDictionary(starts, bitmapOf(valid))
	} else {
		buffers[2], err = c.direct(starts, bitmapOf(valid))
	}
	if err != nil {
		releaseAll(buffers)
		return nil, err
	}
	if c.node.info.kind == kindChar {
		trimValues(starts, buffers[2].Bytes())
	}
	return c.array(n, count, buffers, nil), nil
}

// growStep is how much memory a length is trusted for before its bytes are seen.
const growStep = 1 << 20

func (c *bytesReader) direct(starts []int32, valid []byte) (*memory.Buffer, error) {
	total, err := readLengths(c.lengths, c.lens, starts, valid, 1, c.stripe)
	if err != nil {
		return nil, err
	}
	out := c.buffer(int(min(total, growStep)))
	for at := 0; ; {
		if err := c.data.copyTo(out.Bytes()[at:]); err != nil {
			return out, err
		}
		at = out.Len()
		if int64(at) == total {
			return out, nil
		}
		out.Resize(int(min(total, 2*int64(at))))
	}
}

// Limits of a dictionary, and of all of a stripe together.
const (
	maxDictionaryEntries = 1 << 24
	maxDictionarySize    = 1 << 28
	maxDictionaries      = 1 << 29
)

// load reads the dictionary of the stripe.
func (c *bytesReader) load() error {
	size := c.encoding().dictionarySize
	if size > maxDictionaryEntries || size > c.stripe.rows && c.stripe.nested == 0 {
		return corruptf(c.stripe.start, "a dictionary of %d entries for %d rows", size, c.stripe.rows)
	}
	c.dictStarts = append(c.dictStarts[:0], 0)
	total := int64(0)
	var lens [maxRun2]int64
	for left := int(size); left > 0; {
		k := min(left, len(lens))
		if err := c.lengths.read(lens[:k]); err != nil {
			return err
		}
		for _, n := range lens[:k] {
			if n < 0 || n > maxDictionarySize-total {
				return corruptf(c.stripe.start, "a dictionary of more than %d bytes", maxDictionarySize)
			}
			total += n
			c.dictStarts = append(c.dictStarts, int32(total))
		}
		left -= k
	}
	if c.stripe.dictionaries += total + 4*int64(size); c.stripe.dictionaries > maxDictionaries {
		return &UnsupportedError{Feature: fmt.Sprintf("dictionaries of more than %d bytes in a stripe", maxDictionaries)}
	}
	blob := c.input(streamDictionaryData)
	c.dictBytes = c.dictBytes[:0]
	for int64(len(c.dictBytes)) < total {
		at := len(c.dictBytes)
		c.dictBytes = extend(c.dictBytes, int(min(total-int64(at), growStep)))
		if err := blob.copyTo(c.dictBytes[at:]); err != nil {
			return err
		}
	}
	c.loaded = true
	return nil
}

func (c *bytesReader) fromDictionary(starts []int32, valid []byte) (*memory.Buffer, error) {
	if !c.loaded && len(c.lens) > 0 {
		if err := c.load(); err != nil {
			return nil, err
		}
	}
	refs := c.lens
	if err := c.refs.read(refs); err != nil {
		return nil, err
	}
	dict := c.dictStarts
	var total int64
	for _, r := range refs {
		if uint64(r) >= uint64(len(dict)-1) {
			return nil, c.data.corrupt("entry %d of a dictionary of %d", r, len(dict)-1)
		}
		total += int64(dict[r+1] - dict[r])
	}
	if err := c.stripe.spend(total); err != nil {
		return nil, err
	}
	out := c.buffer(int(total))
	dst, at, j := out.Bytes(), int32(0), 0
	for i := range starts[:len(starts)-1] {
		starts[i] = at
		if valid != nil && valid[i>>3]>>(i&7)&1 == 0 {
			continue
		}
		r := refs[j]
		j++
		at += int32(copy(dst[at:], c.dictBytes[dict[r]:dict[r+1]]))
	}
	starts[len(starts)-1] = at
	return out, nil
}

// trimValues cuts the padding of CHAR values in place.
func trimValues(starts []int32, b []byte) {
	at, from := int32(0), starts[0]
	for i := range starts[:len(starts)-1] {
		v := trimBlanks(b[from:starts[i+1]])
		from = starts[i+1]
		starts[i] = at
		at += int32(copy(b[at:], v))
	}
	starts[len(starts)-1] = at
}

// decimalReader reads DECIMAL at the wanted scale.
type decimalReader struct {
	readBase
	scale  int64
	data   *inStream
	scales intDecoder
	vals   []decimal128.Num
	each   []int64
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
	vals := dst
	if valid != nil {
		c.vals = grow(c.vals, count)
		vals = c.vals
	}
	if err := c.decode(vals); err != nil {
		releaseAll(buffers)
		return nil, err
	}
	if valid != nil {
		spread(dst, vals, valid.Bytes(), func(v decimal128.Num) decimal128.Num { return v })
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
	c.each = grow(c.each, len(vals))
	if err := c.scales.read(c.each); err != nil {
		return err
	}
	for i, s := range c.each {
		if s == c.scale {
			continue
		}
		v, ok := atScale(vals[i], s, c.scale)
		if !ok {
			return c.data.corrupt("a decimal of scale %d that does not fit", s)
		}
		vals[i] = v
	}
	return nil
}

// short decodes values of at most 63 bits as long as they lie safely within what
// has been unpacked, and gives their number.
func (c *decimalReader) short(vals []decimal128.Num) int {
	b, at := c.data.buf, c.data.pos
	for i := range vals {
		if at+binary.MaxVarintLen64 > len(b) {
			c.data.pos = at
			return i
		}
		var u uint64
		n, shift := 0, uint(0)
		for ; shift < 63; n, shift = n+1, shift+7 {
			x := b[at+n]
			u |= uint64(x&0x7f) << shift
			if x < 0x80 {
				break
			}
		}
		if shift >= 63 {
			c.data.pos = at
			return i
		}
		at += n + 1
		v := unzigzag(u)
		vals[i] = decimal128.New(v>>63, uint64(v))
	}
	c.data.pos = at
	return len(vals)
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
