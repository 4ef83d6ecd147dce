package orc

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
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
	c.lens = grow(c.lens, count+1)[:count]
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
	c.sizes = grow(c.sizes, len(refs)+1)[:len(refs)]
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
