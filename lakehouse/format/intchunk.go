package format

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/parquet"
)

// dictionaryTrial is how many values decide at first whether a dictionary pays.
const dictionaryTrial = 2048

// intChunk writes integers: by a dictionary while that is the smallest, else
// packed differences, which zstd has little left to do with, or as they are.
type intChunk[T int32 | int64] struct {
	chunkPages
	dict *intDictionary[T]
	// delta says what takes the place of a dictionary that does not pay.
	delta bool
	// gaveUp says that there are pages by a dictionary, and others behind them.
	gaveUp bool
	vals   []T
	dense  []T
	// least and most are those of the pages before the one at hand, if there was a value.
	least, most         T
	bounded             bool
	pageLeast, pageMost T
	room                *intRoom[T]
}

func newIntChunk[T int32 | int64](p chunkPages, dict, delta bool, limit int) *intChunk[T] {
	c := &intChunk[T]{chunkPages: p, delta: delta, room: new(intRoom[T])}
	if r, ok := poolOf[T]().Get().(*intRoom[T]); ok {
		c.room = r
	}
	c.vals = c.room.vals[:0]
	if dict {
		c.dict = newIntDictionary[T](limit / c.width())
		c.dict.at = c.room.at[:0]
	}
	return c
}

// intRoom is the memory of a chunk for its values and their numbers in the dictionary.
type intRoom[T int32 | int64] struct {
	vals []T
	at   []uint32
}

var int32Pool, int64Pool sync.Pool

func poolOf[T int32 | int64]() *sync.Pool {
	var v T
	if _, ok := any(v).(int32); ok {
		return &int32Pool
	}
	return &int64Pool
}

// giveRoom gives the memory back at the end of the chunk.
func (c *intChunk[T]) giveRoom() {
	c.room.vals = c.vals
	if c.dict != nil {
		c.room.at = c.dict.at
	}
	poolOf[T]().Put(c.room)
	c.room, c.vals = nil, nil
}

func (c *intChunk[T]) writer() any { return c }

func (c *intChunk[T]) width() int {
	var v T
	if _, ok := any(v).(int32); ok {
		return 4
	}
	return 8
}

func (c *intChunk[T]) buffered() int64 { return int64(len(c.vals) * c.width()) }

// WriteBatch takes values and the levels of their slots; def is nil where all slots have values.
func (c *intChunk[T]) WriteBatch(values []T, def, rep []int16) (int64, error) {
	if c.maxRep > 0 {
		return int64(len(values)), c.add(values, len(def), def, rep)
	}
	slots := max(len(values), len(def))
	for slot, at := 0, 0; slot < slots; {
		to := min(slots, slot+max(1, min(c.limit/c.width()-len(c.vals), pageRows-c.rows)))
		n := to - slot
		var d []int16
		if def != nil {
			d, n = def[slot:to], 0
			for _, l := range d {
				if l == c.maxDef {
					n++
				}
			}
		}
		if err := c.add(values[at:at+n], to-slot, d, nil); err != nil {
			return 0, err
		}
		slot, at = to, at+n
	}
	return int64(len(values)), nil
}

// WriteBatchSpacedWithError takes one value a slot of a flat column, those of nulls without meaning.
func (c *intChunk[T]) WriteBatchSpacedWithError(values []T, def, _ []int16, valid []byte, offset int64) (int64, error) {
	c.dense = c.dense[:0]
	densely(valid, offset, len(values), func(from, to int) { c.dense = append(c.dense, values[from:to]...) })
	return c.WriteBatch(c.dense, def, nil)
}

// add takes values of one page.
func (c *intChunk[T]) add(values []T, slots int, def, rep []int16) error {
	for i, v := range values {
		if i == 0 && len(c.vals) == 0 {
			c.pageLeast, c.pageMost = v, v
		}
		c.pageLeast, c.pageMost = min(c.pageLeast, v), max(c.pageMost, v)
	}
	c.addLevels(slots, len(values), def, rep)
	c.vals = append(c.vals, values...)
	if c.dict != nil {
		if fits := c.dict.add(values); !fits || len(c.held) == 0 && len(c.vals) >= dictionaryTrial && c.dictionaryLoses() {
			if err := c.dropDictionary(); err != nil {
				return err
			}
		}
	}
	if len(c.vals)*c.width() >= c.limit || c.full() {
		return c.flush()
	}
	return nil
}

// dictionaryLoses compares the page at hand with what would be in place of it.
func (c *intChunk[T]) dictionaryLoses() bool {
	n := len(c.dict.values)
	if n == 0 {
		return true
	}
	size := n*c.width() + len(c.vals)*c.dict.indexWidth()/8
	if !c.delta {
		return size >= len(c.vals)*c.width()
	}
	if n <= 16 {
		return false
	}
	c.page = appendDelta(c.page[:0], c.vals)
	return size >= len(c.page)
}

// dropDictionary writes what stands by the dictionary so far; the page at hand goes another way.
func (c *intChunk[T]) dropDictionary() error {
	d := c.dict
	c.dict, c.room.at = nil, d.at
	if len(c.held) == 0 {
		return nil
	}
	c.gaveUp = true
	return c.writeDictionary(d.encode(c.width()), len(d.values))
}

// flush ends the page at hand.
func (c *intChunk[T]) flush() error {
	if err := c.endBounds(); err != nil {
		return err
	}
	page, enc := c.begin(), parquet.Encodings.Plain
	switch {
	case len(c.vals) == 0: // nulls alone are read whatever the encoding is, without a dictionary too
	case c.dict != nil:
		enc = parquet.Encodings.PlainDict
		width := c.dict.indexWidth()
		page = appendHybrid(append(page, byte(width)), c.dict.at, width)
		c.dict.at = c.dict.at[:0]
	case c.delta && !c.gaveUp:
		enc = parquet.Encodings.DeltaBinaryPacked
		page = appendDelta(page, c.vals)
	default:
		page = appendPlain(page, c.vals, c.width())
	}
	c.vals = c.vals[:0]
	return c.end(page, enc, c.dict != nil)
}

// endBounds notes the bounds of the page at hand.
func (c *intChunk[T]) endBounds() error {
	if len(c.vals) == 0 {
		return c.noteBounds(nil, nil)
	}
	if !c.bounded {
		c.least, c.most, c.bounded = c.pageLeast, c.pageMost, true
	}
	c.least, c.most = min(c.least, c.pageLeast), max(c.most, c.pageMost)
	return c.noteBounds(appendPlain(nil, []T{c.pageLeast}, c.width()), appendPlain(nil, []T{c.pageMost}, c.width()))
}

// Close ends the chunk.
func (c *intChunk[T]) Close() error {
	if c.levels > 0 {
		if c.dict != nil && len(c.held) == 0 && c.dictionaryLoses() {
			c.dict, c.room.at = nil, c.dict.at
		}
		if err := c.flush(); err != nil {
			return err
		}
	}
	hasDict := c.gaveUp
	if c.dict != nil {
		hasDict = len(c.dict.values) > 0
		if err := c.writeDictionary(c.dict.encode(c.width()), len(c.dict.values)); err != nil {
			return err
		}
	}
	var least, most []byte
	if c.bounded {
		least, most = appendPlain(nil, []T{c.least}, c.width()), appendPlain(nil, []T{c.most}, c.width())
	}
	c.giveRoom()
	return c.finish(hasDict, c.gaveUp, true, least, most)
}

func appendPlain[T int32 | int64](dst []byte, vals []T, width int) []byte {
	if width == 4 {
		for _, v := range vals {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
		}
		return dst
	}
	for _, v := range vals {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

// intDictionary numbers values in order of their first appearance.
type intDictionary[T int32 | int64] struct {
	values []T
	// at are the numbers of the values of the page at hand.
	at []uint32
	// slots is a hash table of numbers, counted from 1.
	slots []uint32
	limit int
}

func newIntDictionary[T int32 | int64](limit int) *intDictionary[T] {
	return &intDictionary[T]{slots: make([]uint32, 256), limit: limit}
}

const fibonacci = 0x9e3779b97f4a7c15

// add takes values; it reports whether they all fit.
func (d *intDictionary[T]) add(values []T) bool {
	shift := 64 - bits.Len(uint(len(d.slots)-1))
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			d.at = append(d.at, d.at[len(d.at)-1])
			continue
		}
		h := int(uint64(v) * fibonacci >> shift)
		for d.slots[h] != 0 && d.values[d.slots[h]-1] != v {
			h = (h + 1) & (len(d.slots) - 1)
		}
		if d.slots[h] == 0 {
			if len(d.values) >= d.limit {
				return false
			}
			d.values = append(d.values, v)
			d.slots[h] = uint32(len(d.values))
			if 2*len(d.values) > len(d.slots) {
				d.at = append(d.at, uint32(len(d.values)-1))
				d.grow()
				shift = 64 - bits.Len(uint(len(d.slots)-1))
				continue
			}
		}
		d.at = append(d.at, d.slots[h]-1)
	}
	return true
}

func (d *intDictionary[T]) grow() {
	d.slots = make([]uint32, 2*len(d.slots))
	shift := 64 - bits.Len(uint(len(d.slots)-1))
	for i, v := range d.values {
		h := int(uint64(v) * fibonacci >> shift)
		for d.slots[h] != 0 {
			h = (h + 1) & (len(d.slots) - 1)
		}
		d.slots[h] = uint32(i + 1)
	}
}

// indexWidth is the width of a number in bits.
func (d *intDictionary[T]) indexWidth() int { return max(1, bits.Len(uint(max(0, len(d.values)-1)))) }

func (d *intDictionary[T]) encode(width int) []byte { return appendPlain(nil, d.values, width) }
