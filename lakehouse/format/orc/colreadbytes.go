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
	refs      intDecoder
	entries   []entry
	longest   int32
	dictBytes []byte
	sizes     []int64
	loaded    bool
}

// entry is where a value of a dictionary lies.
type entry struct{ start, length int32 }

// shortValue is the length up to which values are copied as one block of that
// size; behind the dictionary and the values is room for one.
const shortValue = 16

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
	c.entries, c.longest = c.entries[:0], 0
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
			c.entries = append(c.entries, entry{int32(total), int32(n)})
			c.longest = max(c.longest, int32(n))
			total += n
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
	c.dictBytes = append(c.dictBytes, make([]byte, shortValue)...)
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
	// refs become the places of the values, lens their lengths.
	c.sizes = grow(c.sizes, len(refs))
	entries := c.entries
	var total int64
	for i, r := range refs {
		if uint64(r) >= uint64(len(entries)) {
			return nil, c.data.corrupt("entry %d of a dictionary of %d", r, len(entries))
		}
		e := entries[r]
		total += int64(e.length)
		refs[i], c.sizes[i] = int64(e.start), int64(e.length)
	}
	if err := c.stripe.spend(total); err != nil {
		return nil, err
	}
	place(starts, c.sizes, valid)
	out := c.buffer(int(total) + shortValue)
	c.gather(out.Bytes(), refs)
	out.ResizeNoShrink(int(total))
	return out, nil
}

// gather copies the values that begin at from and are as long as sizes say.
func (c *bytesReader) gather(dst []byte, from []int64) {
	dict, sizes := c.dictBytes, c.sizes[:len(from)]
	at := 0
	if c.longest <= shortValue {
		for i, s := range from {
			*(*[shortValue]byte)(dst[at:]) = *(*[shortValue]byte)(dict[s:])
			at += int(sizes[i])
		}
		return
	}
	for i, s := range from {
		n := int(sizes[i])
		if n <= shortValue {
			*(*[shortValue]byte)(dst[at:]) = *(*[shortValue]byte)(dict[s:])
		} else {
			copy(dst[at:], dict[s:int(s)+n])
		}
		at += n
	}
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
		for i, s := range each {
			if s == c.scale {
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
	for i := range vals {
		if at+8 > len(b) {
			c.data.pos = at
			return i
		}
		// The first byte without its top bit set ends the number.
		x := binary.LittleEndian.Uint64(b[at:])
		end := ^x & 0x8080808080808080
		if end == 0 {
			c.data.pos = at
			return i
		}
		x &= end ^ (end-1)&0x7f7f7f7f7f7f7f7f
		// Groups of seven bits move together: pairs, fours, eights.
		x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
		x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
		x = x&0x000000000fffffff | x&0x0fffffff00000000>>4
		at += bits.TrailingZeros64(end)>>3 + 1
		v := unzigzag(x)
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
