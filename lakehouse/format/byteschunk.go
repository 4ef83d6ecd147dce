package format

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/parquet"
)

// bytesChunk writes strings and bytes: by a dictionary while it makes them smaller, else as they are.
type bytesChunk struct {
	chunkPages
	dict *bytesDictionary
	// gaveUp says that there are pages by a dictionary, and others behind them.
	gaveUp bool
	// raw are the values of the page at hand in the plain form, as which rawSize bytes count.
	raw     []byte
	rawSize int
	room    *bytesRoom
	stats   bool
	most    int
	// chunkRange has the bounds of the pages before the one at hand, pageRange those of that one.
	chunkRange, pageRange bytesRange
	ends                  []int32
	dense                 []byte
}

func newBytesChunk(p chunkPages, dict bool, limit int, stats bool, statsLimit int) *bytesChunk {
	c := &bytesChunk{chunkPages: p, stats: stats, most: statsLimit, room: bytesPool.Get().(*bytesRoom)}
	c.raw = c.room.raw[:0]
	if dict {
		c.dict = &bytesDictionary{seed: maphash.MakeSeed(), slots: make([]uint32, 256), ends: []int32{0}, limit: limit, at: c.room.at[:0]}
	}
	return c
}

// bytesRoom is the memory of a chunk for its values and their numbers in the dictionary.
type bytesRoom struct {
	raw []byte
	at  []uint32
}

var bytesPool = sync.Pool{New: func() any { return new(bytesRoom) }}

// giveRoom gives the memory back at the end of the chunk.
func (c *bytesChunk) giveRoom() {
	if cap(c.raw) <= maxRoom {
		c.room.raw = c.raw
	}
	if c.dict != nil {
		c.room.at = c.dict.at
	}
	bytesPool.Put(c.room)
	c.room, c.raw = nil, nil
}

func (c *bytesChunk) writer() any     { return c }
func (c *bytesChunk) buffered() int64 { return int64(c.rawSize) }

// write takes values[offsets[i]:offsets[i+1]] and the levels of their slots; def is nil where all slots have values.
func (c *bytesChunk) write(values []byte, offsets []int32, def, rep []int16) error {
	slots := max(len(offsets)-1, len(def))
	if c.maxRep > 0 {
		return c.add(values, offsets, slots, def, rep)
	}
	for slot, at := 0, 0; slot < slots; {
		to, n, size := slot, 0, c.rawSize
		for ; to < slots && size < c.limit && c.rows+to-slot < pageRows; to++ {
			if def == nil || def[to] == c.maxDef {
				size += int(offsets[at+n+1]-offsets[at+n]) + 4
				n++
			}
		}
		var d []int16
		if def != nil {
			d = def[slot:to]
		}
		if err := c.add(values, offsets[at:at+n+1], to-slot, d, nil); err != nil {
			return err
		}
		slot, at = to, at+n
	}
	return nil
}

// writeSpaced takes one value a slot of a flat column, those of nulls without meaning.
func (c *bytesChunk) writeSpaced(values []byte, offsets []int32, def []int16, valid []byte, offset int64) error {
	c.ends, c.dense = append(c.ends[:0], 0), c.dense[:0]
	densely(valid, offset, len(offsets)-1, func(from, to int) {
		base := int32(len(c.dense)) - offsets[from]
		c.dense = append(c.dense, values[offsets[from]:offsets[to]]...)
		for _, o := range offsets[from+1 : to+1] {
			c.ends = append(c.ends, o+base)
		}
	})
	return c.write(c.dense, c.ends, def, nil)
}

// add takes values of one page.
func (c *bytesChunk) add(values []byte, offsets []int32, slots int, def, rep []int16) error {
	n := len(offsets) - 1
	c.addLevels(slots, n, def, rep)
	if n > 0 {
		c.rawSize += int(offsets[n]-offsets[0]) + 4*n
	}
	switch {
	case c.dict == nil:
		c.addRaw(values, offsets)
	default:
		taken := c.dict.add(values, offsets)
		if taken < n || len(c.held) == 0 && len(c.dict.at) >= dictionaryTrial && c.dictionaryLoses() {
			if err := c.dropDictionary(); err != nil {
				return err
			}
			c.addRaw(values, offsets[taken:])
		}
	}
	if c.rawSize >= c.limit || c.full() {
		return c.flush()
	}
	return nil
}

// addRaw takes values in the plain form.
func (c *bytesChunk) addRaw(values []byte, offsets []int32) {
	for i := range len(offsets) - 1 {
		v := values[offsets[i]:offsets[i+1]]
		c.note(v)
		c.raw = append(binary.LittleEndian.AppendUint32(c.raw, uint32(len(v))), v...)
	}
}

// note keeps the bounds of the page, as far as it takes to tell that one is too long for
// the footer: between two values that begin alike so far it then makes no difference.
func (c *bytesChunk) note(v []byte) {
	if c.stats {
		c.pageRange.widen(v[:min(len(v), c.most+1)])
	}
}

// noteNumbers is note of the values whose numbers are of the page at hand, each once.
func (c *bytesChunk) noteNumbers() {
	if !c.stats {
		return
	}
	d := c.dict
	d.seen = append(d.seen, make([]bool, d.count()-len(d.seen))...)
	for _, at := range d.at {
		if !d.seen[at] {
			d.seen[at] = true
			c.note(d.value(int(at)))
		}
	}
	clear(d.seen)
}

// endBounds notes the bounds of the page at hand.
func (c *bytesChunk) endBounds() error {
	if c.dict != nil {
		c.noteNumbers()
	}
	r := &c.pageRange
	if r.least == nil {
		return c.noteBounds(nil, nil)
	}
	c.chunkRange.widen(r.least)
	c.chunkRange.widen(r.most)
	err := c.noteBounds(lowerBound(r.least), upperBound(r.most))
	r.least, r.most = nil, nil
	return err
}

// bytesRange are bounds of values; nil before the first.
type bytesRange struct{ least, most []byte }

func (r *bytesRange) widen(v []byte) {
	if r.least == nil {
		r.least, r.most = append([]byte{}, v...), append([]byte{}, v...)
		return
	}
	if bytes.Compare(v, r.least) < 0 {
		r.least = append(r.least[:0], v...)
	}
	if bytes.Compare(v, r.most) > 0 {
		r.most = append(r.most[:0], v...)
	}
}

func (c *bytesChunk) dictionaryLoses() bool {
	return c.dict.size()+len(c.dict.at)*c.dict.indexWidth()/8 >= c.rawSize
}

// dropDictionary writes what stands by the dictionary so far; the page at hand becomes plain.
func (c *bytesChunk) dropDictionary() error {
	c.noteNumbers()
	d := c.dict
	c.dict, c.room.at = nil, d.at
	for _, at := range d.at {
		v := d.value(int(at))
		c.raw = append(binary.LittleEndian.AppendUint32(c.raw, uint32(len(v))), v...)
	}
	if len(c.held) == 0 {
		return nil
	}
	c.gaveUp = true
	return c.writeDictionary(d.encode(), d.count())
}

// flush ends the page at hand.
func (c *bytesChunk) flush() error {
	if err := c.endBounds(); err != nil {
		return err
	}
	page, enc := c.begin(), parquet.Encodings.Plain
	hold := c.dict != nil
	if hold && len(c.dict.at) > 0 {
		enc = parquet.Encodings.PlainDict
		width := c.dict.indexWidth()
		page = appendHybrid(append(page, byte(width)), c.dict.at, width)
		c.dict.at = c.dict.at[:0]
	} else {
		page = append(page, c.raw...)
	}
	c.raw, c.rawSize = c.raw[:0], 0
	return c.end(page, enc, hold)
}

// Close ends the chunk.
func (c *bytesChunk) Close() error {
	if c.levels > 0 {
		if c.dict != nil && len(c.held) == 0 && c.dictionaryLoses() {
			if err := c.dropDictionary(); err != nil {
				return err
			}
		}
		if err := c.flush(); err != nil {
			return err
		}
	}
	hasDict := c.gaveUp
	if c.dict != nil {
		hasDict = c.dict.count() > 0
		if err := c.writeDictionary(c.dict.encode(), c.dict.count()); err != nil {
			return err
		}
	}
	bounds := c.chunkRange
	if len(bounds.least) > c.most {
		bounds.least = nil
	}
	if len(bounds.most) > c.most {
		bounds.most = nil
	}
	c.giveRoom()
	return c.finish(hasDict, c.gaveUp, c.stats, bounds.least, bounds.most)
}

// bytesDictionary numbers values in order of their first appearance.
type bytesDictionary struct {
	seed maphash.Seed
	// value i is bytes[ends[i]:ends[i+1]].
	bytes []byte
	ends  []int32
	// at are the numbers of the values of the page at hand.
	at []uint32
	// slots is a hash table of numbers, counted from 1.
	slots []uint32
	limit int
	// seen says of values whether they are in the page at hand, while its bounds are taken.
	seen []bool
}

func (d *bytesDictionary) count() int         { return len(d.ends) - 1 }
func (d *bytesDictionary) value(i int) []byte { return d.bytes[d.ends[i]:d.ends[i+1]] }
func (d *bytesDictionary) size() int          { return len(d.bytes) + 4*d.count() }
func (d *bytesDictionary) indexWidth() int    { return max(1, bits.Len(uint(max(0, d.count()-1)))) }

// add takes values until the dictionary is full, or one comes that would fill it
// alone, and gives how many it took.
func (d *bytesDictionary) add(values []byte, offsets []int32) int {
	var last []byte
	for i := range len(offsets) - 1 {
		v := values[offsets[i]:offsets[i+1]]
		if i > 0 && bytes.Equal(v, last) {
			d.at = append(d.at, d.at[len(d.at)-1])
			continue
		}
		last = v
		h := d.slot(v)
		if d.slots[h] == 0 {
			if max(d.size(), len(v)) >= d.limit {
				return i
			}
			d.bytes = append(d.bytes, v...)
			d.ends = append(d.ends, int32(len(d.bytes)))
			d.slots[h] = uint32(d.count())
			d.at = append(d.at, uint32(d.count()-1))
			if 2*d.count() > len(d.slots) {
				d.grow()
			}
			continue
		}
		d.at = append(d.at, d.slots[h]-1)
	}
	return len(offsets) - 1
}

// slot finds where v stands, or would.
func (d *bytesDictionary) slot(v []byte) int {
	h := int(maphash.Bytes(d.seed, v)) & (len(d.slots) - 1)
	for d.slots[h] != 0 && !bytes.Equal(d.value(int(d.slots[h]-1)), v) {
		h = (h + 1) & (len(d.slots) - 1)
	}
	return h
}

func (d *bytesDictionary) grow() {
	d.slots = make([]uint32, 2*len(d.slots))
	for i := range d.count() {
		d.slots[d.slot(d.value(i))] = uint32(i + 1)
	}
}

func (d *bytesDictionary) encode() []byte {
	out := make([]byte, 0, d.size())
	for i := range d.count() {
		v := d.value(i)
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(v))), v...)
	}
	return out
}
