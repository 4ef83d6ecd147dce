package orc

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// binaryArray is what String and Binary arrays share.
type binaryArray interface {
	arrow.Array
	ValueOffsets() []int32
}

// stringColumn writes CHAR, VARCHAR, STRING, BINARY, VARBINARY and BYTES. Text
// begins with a dictionary; a column whose values repeat too little loses it
// for the rest of the file.
type stringColumn struct {
	columnBase
	text       bool
	charLength int
	data       *outStream
	lengths    intWriter
	lens       []int64
	padded     []byte
	// dict is nil once the column is direct; share is what it must not exceed.
	// blob takes its values at the end of a stripe.
	dict  *dictionary
	blob  *outStream
	share float64
	ids   []uint32
	// starts are the lengths of ids at which row groups begin.
	starts []int
}

func (c *stringColumn) write(a arrow.Array, lo, hi int) error {
	v, ok := a.(binaryArray)
	if !ok {
		return fmt.Errorf("an array of type %s for a column of strings or bytes", a.DataType())
	}
	valid, off, nulls, err := c.rows(a, lo, hi)
	if err != nil || nulls == hi-lo {
		return err
	}
	offsets := v.ValueOffsets()
	if len(offsets) == 0 {
		return nil
	}
	offsets = offsets[lo : hi+1]
	var values []byte
	if buf := a.Data().Buffers()[2]; buf != nil {
		values = buf.Bytes()
	}
	if !c.text {
		return c.writeBinary(values, offsets, valid, off)
	}
	c.lens = grow(c.lens, hi-lo)[:0]
	if c.dict != nil {
		c.ids = slices.Grow(c.ids, hi-lo)
	}
	for i := range hi - lo {
		if valid != nil && bitutil.BitIsNotSet(valid, off+i) {
			continue
		}
		b := values[offsets[i]:offsets[i+1]]
		if c.charLength > 0 {
			b = c.pad(b)
		} else {
			c.group.addString(b)
		}
		if c.dict != nil {
			c.ids = append(c.ids, c.dict.id(b))
			c.group.sum += int64(len(b))
			continue
		}
		c.lens = append(c.lens, int64(len(b)))
		if valid != nil || c.charLength > 0 {
			if err := c.data.write(b); err != nil {
				return err
			}
		}
	}
	if c.dict != nil {
		return nil
	}
	if valid == nil && c.charLength == 0 {
		if err := c.data.write(values[offsets[0]:offsets[hi-lo]]); err != nil {
			return err
		}
	}
	return c.writeLengths()
}

// pad gives a CHAR value at its full length; its statistics are of the text
// without the blanks at the end, which no reader returns.
func (c *stringColumn) pad(b []byte) []byte {
	b = bytes.TrimRight(b, " ")
	c.group.addString(b)
	c.padded = appendPadded(c.padded[:0], b, c.charLength)
	return c.padded
}

func (c *stringColumn) writeBinary(values []byte, offsets []int32, valid []byte, off int) error {
	n := len(offsets) - 1
	c.lens = grow(c.lens, n)[:0]
	if valid == nil {
		for i := range n {
			c.lens = append(c.lens, int64(offsets[i+1]-offsets[i]))
		}
		if err := c.data.write(values[offsets[0]:offsets[n]]); err != nil {
			return err
		}
		return c.writeLengths()
	}
	for i := range n {
		if bitutil.BitIsNotSet(valid, off+i) {
			continue
		}
		c.lens = append(c.lens, int64(offsets[i+1]-offsets[i]))
		if err := c.data.write(values[offsets[i]:offsets[i+1]]); err != nil {
			return err
		}
	}
	return c.writeLengths()
}

func (c *stringColumn) writeLengths() error {
	for _, n := range c.lens {
		c.group.sum += n
	}
	return c.lengths.write(c.lens)
}

func (c *stringColumn) startGroup() {
	if c.dict != nil {
		// The position is known only when the ids are written.
		c.starts = append(c.starts, len(c.ids))
		c.startEntry(nil)
		return
	}
	c.startEntry(c.lengths.position(c.data.position(nil)))
}

// maxDictionaryBytes is how long a dictionary gets.
const maxDictionaryBytes = 16 << 20

func (c *stringColumn) endGroup() error {
	c.endEntry()
	if c.dict != nil && (float64(c.dict.len()) > c.share*float64(len(c.ids)) || len(c.dict.data) > maxDictionaryBytes) {
		return c.giveUpDictionary()
	}
	return nil
}

// giveUpDictionary writes what was collected directly.
func (c *stringColumn) giveUpDictionary() error {
	dict := c.dict
	c.dict = nil
	for g, start := range c.starts {
		end := len(c.ids)
		if g+1 < len(c.starts) {
			end = c.starts[g+1]
		}
		c.entries[g].data = c.lengths.position(c.data.position(nil))
		c.lens = c.lens[:0]
		for _, id := range c.ids[start:end] {
			b := dict.value(id)
			c.lens = append(c.lens, int64(len(b)))
			if err := c.data.write(b); err != nil {
				return err
			}
		}
		if err := c.lengths.write(c.lens); err != nil {
			return err
		}
	}
	c.ids, c.starts = nil, nil
	return nil
}

func (c *stringColumn) finish() ([]stream, columnEncoding, error) {
	if c.dict != nil {
		return c.finishDictionary()
	}
	if err := c.lengths.flush(); err != nil {
		return nil, columnEncoding{}, err
	}
	data, err := c.data.finish()
	if err != nil {
		return nil, columnEncoding{}, err
	}
	lengths, err := c.lengths.out.finish()
	return []stream{{streamData, data}, {streamLength, lengths}}, columnEncoding{kind: encodingDirectV2}, err
}

func (c *stringColumn) finishDictionary() ([]stream, columnEncoding, error) {
	enc := columnEncoding{kind: encodingDictionaryV2, dictionarySize: uint64(c.dict.len())}
	order, rank := c.dict.sorted()
	c.lens = c.lens[:0]
	for _, id := range order {
		b := c.dict.value(id)
		c.lens = append(c.lens, int64(len(b)))
		if err := c.blob.write(b); err != nil {
			return nil, enc, err
		}
	}
	if err := c.lengths.write(c.lens); err != nil {
		return nil, enc, err
	}
	refs := intWriter{out: c.data}
	var block [maxRun2]int64
	for g, start := range c.starts {
		ids := c.ids[start:]
		if g+1 < len(c.starts) {
			ids = c.ids[start:c.starts[g+1]]
		}
		c.entries[g].data = refs.position(nil)
		for len(ids) > 0 {
			n := min(len(ids), len(block))
			for i, id := range ids[:n] {
				block[i] = int64(rank[id])
			}
			if err := refs.write(block[:n]); err != nil {
				return nil, enc, err
			}
			ids = ids[n:]
		}
	}
	streams, err := finishInts(&refs, streamData, &c.lengths, streamLength)
	if err != nil {
		return nil, enc, err
	}
	b, err := c.blob.finish()
	return append(streams, stream{streamDictionaryData, b}), enc, err
}

func (c *stringColumn) reset() {
	c.resetBase()
	c.data.reset()
	c.lengths.out.reset()
	if c.dict != nil {
		c.dict.reset()
		c.blob.reset()
		c.ids, c.starts = c.ids[:0], c.starts[:0]
	}
}

func (c *stringColumn) size() int {
	n := c.baseSize() + c.data.size() + c.lengths.out.size()
	if c.dict != nil {
		n += len(c.dict.data) + len(c.ids)
	}
	return n
}

// decimalColumn writes DECIMAL: unscaled values as varints, and the scale of each.
type decimalColumn struct {
	columnBase
	scale  int64
	data   *outStream
	scales intWriter
	values []decimal128.Num
	same   []int64
	enc    []byte
}

func (c *decimalColumn) write(a arrow.Array, lo, hi int) error {
	if err := fits(a, arrow.DECIMAL128); err != nil {
		return err
	}
	valid, off, _, err := c.rows(a, lo, hi)
	if err != nil {
		return err
	}
	vals := arrow.Decimal128Traits.CastFromBytes(fixedValues(a, arrow.Decimal128SizeBytes, lo, hi))
	if valid != nil {
		c.values = grow(c.values, len(vals))
		n := 0
		for i, v := range vals {
			c.values[n] = v
			n += int(valid[(off+i)>>3] >> ((off + i) & 7) & 1)
		}
		vals = c.values[:n]
	}
	c.group.addDecimals(vals)
	c.enc = grow(c.enc, 4*len(vals))[:0]
	for _, v := range vals {
		low, high := v.LowBits(), v.HighBits()
		sign := uint64(high >> 63)
		zlo, zhi := low<<1^sign, (uint64(high)<<1|low>>63)^sign
		for zhi != 0 {
			c.enc = append(c.enc, byte(zlo)|0x80)
			zlo, zhi = zlo>>7|zhi<<57, zhi>>7
		}
		for zlo >= 0x80 {
			c.enc = append(c.enc, byte(zlo)|0x80)
			zlo >>= 7
		}
		c.enc = append(c.enc, byte(zlo))
	}
	if err := c.data.write(c.enc); err != nil {
		return err
	}
	for len(c.same) < len(vals) {
		c.same = append(c.same, c.scale)
	}
	return c.scales.write(c.same[:len(vals)])
}

func (c *decimalColumn) startGroup() { c.startEntry(c.scales.position(c.data.position(nil))) }

func (c *decimalColumn) endGroup() error {
	c.endEntry()
	return nil
}

func (c *decimalColumn) finish() ([]stream, columnEncoding, error) {
	if err := c.scales.flush(); err != nil {
		return nil, columnEncoding{}, err
	}
	data, err := c.data.finish()
	if err != nil {
		return nil, columnEncoding{}, err
	}
	scales, err := c.scales.out.finish()
	return []stream{{streamData, data}, {streamSecondary, scales}}, columnEncoding{kind: encodingDirectV2}, err
}

func (c *decimalColumn) reset() {
	c.resetBase()
	c.data.reset()
	c.scales.out.reset()
}

func (c *decimalColumn) size() int { return c.baseSize() + c.data.size() + c.scales.out.size() }
