package format

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// slotValue are the values whose pages give one a slot: numbers, floats as their bits, and booleans as bytes.
type slotValue interface{ uint8 | int32 | int64 }

// slotPages is valuePages with a zero in the slots that have no value.
type slotPages[P slotValue] struct{ *valuePages[P] }

func newSlotPages[P slotValue](rg *file.RowGroupReader, leaf int, typ parquet.Type, optional bool, d pageDecoder[P]) (chunkReader, error) {
	pages, err := rg.GetColumnPageReader(leaf)
	if err != nil {
		return nil, err
	}
	return slotPages[P]{&valuePages[P]{pages: pages, typ: typ, optional: optional, decoder: d}}, nil
}

// readSlots fills values with the next slots at most, those of the page at hand,
// and gives their number; 0 at the end of the chunk. See readDense for valid and at.
func (s slotPages[P]) readSlots(values []P, valid *validity, at int) (int, error) {
	n, count, err := s.nextSlots(len(values), valid, at)
	if err != nil || n == 0 {
		return 0, err
	}
	if err := s.readValues(values[n-count : n]); err != nil {
		return 0, err
	}
	if count < n {
		spread(values[:n], count, valid.bits(), at)
	}
	return n, nil
}

// spread puts the last count of values, in order, where the bits from at on are
// set, and zeros where they are not: there are count set. A value moves to the
// front or stays, so that none is overwritten before it moved.
func spread[P slotValue](values []P, count int, valid []byte, at int) {
	dense := values[len(values)-count:]
	i, k := 0, 0
	for ; i < len(values) && k < len(dense); i++ {
		bit := valid[(at+i)>>3] >> ((at + i) & 7) & 1
		values[i] = dense[k] & -P(bit)
		k += int(bit)
	}
	clear(values[i:])
}

// readBits reads the n next levels of a flat optional column: those of slots
// without values clear their bits in valid, where slot 0 is bit at. It gives the
// number of the others.
func (h *hybridReader) readBits(n int, valid *validity, at int) (int, error) {
	nulls := 0
	for left := n; left > 0; {
		if h.run == 0 {
			if err := h.next(); err != nil {
				return 0, err
			}
		}
		k := min(h.run, left)
		h.run -= k
		left -= k
		switch {
		case h.packed != nil:
			from := h.at
			h.at += k
			for ; k > 0; k -= clearedAtOnce {
				m := min(k, clearedAtOnce)
				none := ^bitsAt(h.packed[:cap(h.packed)], from) & (1<<m - 1)
				if none != 0 {
					clearBits(valid.bits(), at, none)
					nulls += bits.OnesCount64(none)
				}
				from += m
				at += m
			}
			continue
		case h.value == 0:
			nulls += k
			for i := 0; i < k; i += clearedAtOnce {
				clearBits(valid.bits(), at+i, 1<<min(k-i, clearedAtOnce)-1)
			}
		case h.value != 1:
			return 0, fmt.Errorf("level %d of a flat column", h.value)
		}
		at += k
	}
	valid.nulls += nulls
	return n - nulls, nil
}

// clearedAtOnce is the number of bits that lie in one word from whatever bit of its first byte on.
const clearedAtOnce = 56

// bitsAt gives the clearedAtOnce bits of b from bit at on, zeros behind its end.
func bitsAt(b []byte, at int) uint64 {
	if o := at >> 3; o+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[o:]) >> (at & 7)
	}
	var word [8]byte
	copy(word[:], b[min(at>>3, len(b)):])
	return binary.LittleEndian.Uint64(word[:]) >> (at & 7)
}

// clearBits clears the bits of b that are set in none, whose first is bit at; b has room for a word.
func clearBits(b []byte, at int, none uint64) {
	word := b[at>>3:]
	binary.LittleEndian.PutUint64(word, binary.LittleEndian.Uint64(word)&^(none<<(at&7)))
}

// boolDecoder reads plain booleans and those in runs, a byte each.
type boolDecoder struct {
	plain []byte
	bit   int
	runs  hybridReader
	byRun bool
	at    []uint32
}

func (d *boolDecoder) start(data []byte, enc parquet.Encoding) error {
	switch enc {
	case parquet.Encodings.Plain:
		d.plain, d.bit, d.byRun = data, 0, false
		return nil
	case parquet.Encodings.RLE:
		if len(data) < 4 {
			return errPageEnds
		}
		n := binary.LittleEndian.Uint32(data)
		if uint64(n) > uint64(len(data)-4) {
			return errPageEnds
		}
		d.byRun = true
		return d.runs.reset(data[4:4+n], 1)
	default:
		return fmt.Errorf("booleans in %s", enc)
	}
}

func (d *boolDecoder) read(dst []uint8) error {
	if d.byRun {
		d.at = grow(d.at, len(dst))
		if err := d.runs.read(d.at); err != nil {
			return err
		}
		for i, v := range d.at {
			dst[i] = uint8(v & 1)
		}
		return nil
	}
	if d.bit+len(dst) > 8*len(d.plain) {
		return errPageEnds
	}
	for i := range dst {
		dst[i] = d.plain[d.bit>>3] >> (d.bit & 7) & 1
		d.bit++
	}
	return nil
}

// packBits sets the bits of bits from at on where vals are 1; the others are not touched.
func packBits(dst []byte, at int, vals []uint8) {
	i := 0
	for ; i < len(vals) && (at+i)&7 != 0; i++ {
		dst[(at+i)>>3] |= vals[i] << ((at + i) & 7)
	}
	for ; i+8 <= len(vals); i += 8 {
		// Each byte is 0 or 1: the product gathers them in the highest one.
		dst[(at+i)>>3] |= byte(binary.LittleEndian.Uint64(vals[i:]) * 0x0102040810204080 >> 56)
	}
	for ; i < len(vals); i++ {
		dst[(at+i)>>3] |= vals[i] << ((at + i) & 7)
	}
}
