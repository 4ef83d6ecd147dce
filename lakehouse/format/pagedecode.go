package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var errPageEnds = fmt.Errorf("a page ends early: %w", io.ErrUnexpectedEOF)

// unpack reads n values of width bits each, least bits first, from the front of
// data and calls put with each; width is at most 64 and data long enough.
func unpack(data []byte, width, n int, put func(i int, v uint64)) {
	mask := ^uint64(0) >> (64 - width)
	if width == 0 {
		mask = 0
	}
	i := 0
	if width <= 56 { // a value starts in the first byte of a word and ends in the same word
		for ; i < n && (i*width>>3)+8 <= len(data); i++ {
			put(i, binary.LittleEndian.Uint64(data[i*width>>3:])>>(i*width&7)&mask)
		}
	}
	for ; i < n; i++ {
		var word [16]byte
		bit := i * width
		copy(word[:], data[min(bit>>3, len(data)):])
		lo, hi := binary.LittleEndian.Uint64(word[:]), binary.LittleEndian.Uint64(word[8:])
		v := lo >> (bit & 7)
		if bit&7 > 0 {
			v |= hi << (64 - bit&7)
		}
		put(i, v&mask)
	}
}

// hybridReader reads numbers in Parquet's hybrid of runs and bit-packed groups of eight.
type hybridReader struct {
	data  []byte
	width int
	// run is how often value comes yet, or how many numbers are left in packed.
	run    int
	value  uint32
	packed []byte
	// at is the next number of packed.
	at int
}

func (h *hybridReader) reset(data []byte, width int) error {
	if width < 0 || width > 32 {
		return fmt.Errorf("numbers of %d bits", width)
	}
	*h = hybridReader{data: data, width: width}
	return nil
}

// next starts the next run.
func (h *hybridReader) next() error {
	head, n := binary.Uvarint(h.data)
	if n <= 0 || head>>1 == 0 || head>>1 > 1<<31 {
		return errPageEnds
	}
	h.data = h.data[n:]
	if head&1 == 0 {
		size := (h.width + 7) / 8
		if size > len(h.data) {
			return errPageEnds
		}
		var word [4]byte
		copy(word[:], h.data[:size])
		h.run, h.value, h.packed = int(head>>1), binary.LittleEndian.Uint32(word[:]), nil
		h.data = h.data[size:]
		return nil
	}
	size := min(int(head>>1)*h.width, len(h.data)) // the last group may be cut where it is padding
	h.run, h.at, h.packed = int(head>>1)*8, 0, h.data[:size:len(h.data)]
	if h.width > 0 {
		h.run = min(h.run, size*8/h.width)
	} else {
		h.packed, h.value = nil, 0
	}
	if h.run == 0 {
		return errPageEnds
	}
	h.data = h.data[size:]
	return nil
}

// read fills dst.
func (h *hybridReader) read(dst []uint32) error {
	for len(dst) > 0 {
		if h.run == 0 {
			if err := h.next(); err != nil {
				return err
			}
		}
		n := min(h.run, len(dst))
		if h.packed == nil {
			for i := range dst[:n] {
				dst[i] = h.value
			}
		} else {
			h.unpack(dst[:n])
		}
		h.run -= n
		dst = dst[n:]
	}
	return nil
}

// unpack reads from the middle of a bit-packed run.
func (h *hybridReader) unpack(dst []uint32) {
	head := min(-h.at&7, len(dst))
	h.unpackEach(dst[:head])
	if dst = dst[head:]; h.width <= 16 && len(dst) >= 8 {
		n := unpackEights(dst, h.packed[h.at*h.width>>3:], h.width)
		h.at += n
		dst = dst[n:]
	}
	h.unpackEach(dst)
}

// unpackEights reads whole groups of eight numbers of at most 16 bits, as many as
// it can without a look behind data, and gives how many numbers that are.
func unpackEights(dst []uint32, data []byte, width int) int {
	mask, n := uint32(1)<<width-1, 0
	w := width & 63
	if width <= 8 {
		for ; n+8 <= len(dst) && len(data) >= 8; n += 8 {
			d, x := dst[n:n+8:n+8], binary.LittleEndian.Uint64(data)
			d[0], d[1] = uint32(x)&mask, uint32(x>>(w&63))&mask
			d[2], d[3] = uint32(x>>(2*w&63))&mask, uint32(x>>(3*w&63))&mask
			d[4], d[5] = uint32(x>>(4*w&63))&mask, uint32(x>>(5*w&63))&mask
			d[6], d[7] = uint32(x>>(6*w&63))&mask, uint32(x>>(7*w&63))&mask
			data = data[width:]
		}
		return n
	}
	for ; n+8 <= len(dst) && len(data) >= 16; n += 8 {
		d, x := dst[n:n+8:n+8], binary.LittleEndian.Uint64(data)
		y := binary.LittleEndian.Uint64(data[width/2:]) >> (4 * (width & 1))
		d[0], d[1] = uint32(x)&mask, uint32(x>>(w&63))&mask
		d[2], d[3] = uint32(x>>(2*w&63))&mask, uint32(x>>(3*w&63))&mask
		d[4], d[5] = uint32(y)&mask, uint32(y>>(w&63))&mask
		d[6], d[7] = uint32(y>>(2*w&63))&mask, uint32(y>>(3*w&63))&mask
		data = data[width:]
	}
	return n
}

// unpackEach is unpack number by number.
func (h *hybridReader) unpackEach(dst []uint32) {
	data, mask := h.packed, uint32(1<<h.width-1)
	bit := h.at * h.width
	h.at += len(dst)
	i := 0
	for ; i < len(dst) && bit>>3+8 <= len(data); i++ {
		dst[i] = uint32(binary.LittleEndian.Uint64(data[bit>>3:])>>(bit&7)) & mask
		bit += h.width
	}
	for ; i < len(dst); i++ {
		var word [8]byte
		copy(word[:], data[bit>>3:])
		dst[i] = uint32(binary.LittleEndian.Uint64(word[:])>>(bit&7)) & mask
		bit += h.width
	}
}

// deltaReader reads DELTA_BINARY_PACKED integers.
type deltaReader[T int32 | int64] struct {
	data []byte
	// part is the number of values of a part of a block, parts how many a block has.
	part, parts int
	left        int // values not read yet
	first       bool
	last, least T
	// widths are those of the parts of the block not begun yet; ready are decoded values of the part at hand.
	widths []byte
	ready  []T
	buf    []T
}

func (d *deltaReader[T]) reset(data []byte) error {
	var head [3]uint64
	for i := range head {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return errPageEnds
		}
		head[i], data = v, data[n:]
	}
	first, n := binary.Varint(data)
	block, parts := head[0], head[1]
	if n <= 0 || block == 0 || block > 1<<20 || block%128 != 0 || parts == 0 || block%parts != 0 || block/parts%32 != 0 || head[2] > 1<<31 {
		return errors.New("a head of packed differences that cannot be")
	}
	d.data, d.part, d.parts, d.left = data[n:], int(block/parts), int(parts), int(head[2])
	d.first, d.last, d.widths, d.ready = true, T(first), nil, nil
	return nil
}

// read fills dst.
func (d *deltaReader[T]) read(dst []T) error {
	if len(dst) > d.left {
		return errPageEnds
	}
	d.left -= len(dst)
	if d.first && len(dst) > 0 {
		d.first, dst[0], dst = false, d.last, dst[1:]
	}
	for len(dst) > 0 {
		if len(d.ready) > 0 {
			n := copy(dst, d.ready)
			d.ready, dst = d.ready[n:], dst[n:]
			continue
		}
		if len(d.widths) == 0 {
			if err := d.nextBlock(); err != nil {
				return err
			}
		}
		width := int(d.widths[0])
		d.widths = d.widths[1:]
		size := width * d.part / 8
		if width > 64 || size > len(d.data) {
			return errPageEnds
		}
		if len(dst) >= d.part {
			d.unpack(dst[:d.part], width)
			dst = dst[d.part:]
		} else {
			d.buf = grow(d.buf, d.part)
			d.unpack(d.buf, width)
			d.ready = d.buf
		}
		d.data = d.data[size:]
	}
	return nil
}

func (d *deltaReader[T]) nextBlock() error {
	least, n := binary.Varint(d.data)
	if n <= 0 || n+d.parts > len(d.data) {
		return errPageEnds
	}
	d.least, d.widths, d.data = T(least), d.data[n:n+d.parts], d.data[n+d.parts:]
	return nil
}

// unpack adds up the differences of a part.
func (d *deltaReader[T]) unpack(dst []T, width int) {
	data := d.data
	switch room := len(data) >= len(dst)*width/8+8; {
	case width == 0:
		last, least := d.last, d.least
		for i := range dst {
			last += least
			dst[i] = last
		}
		d.last = last
	case room && width <= 16:
		d.last = addFours(dst, data, width, d.last, d.least)
	case room && width <= 28:
		d.last = addTwos(dst, data, width, d.last, d.least)
	case room && width <= 56:
		last, least := d.last, d.least
		mask, bit := ^uint64(0)>>(64-width), 0
		for i := range dst {
			last += least + T(binary.LittleEndian.Uint64(data[bit>>3:])>>(bit&7)&mask)
			dst[i] = last
			bit += width
		}
		d.last = last
	default:
		last, least := d.last, d.least
		unpack(data, width, len(dst), func(i int, v uint64) {
			last += least + T(v)
			dst[i] = last
		})
		d.last = last
	}
}

// addFours adds up differences of at most 16 bits, four of which a word holds
// from the half byte on that the first begins at; len(dst) is a multiple of four.
func addFours[T int32 | int64](dst []T, data []byte, width int, last, least T) T {
	mask, w := uint64(1)<<width-1, uint(width)
	for bit := 0; len(dst) >= 4; bit += 4 * width {
		o := bit >> 3
		x := binary.LittleEndian.Uint64(data[o:o+8:o+8]) >> (bit & 4)
		a := T(x&mask) + least
		b := T(x>>(w&63)&mask) + least + a
		c := T(x>>(2*w&63)&mask) + least + b
		e := T(x>>(3*w&63)&mask) + least + c
		dst[0], dst[1], dst[2], dst[3] = last+a, last+b, last+c, last+e
		last += e
		dst = dst[4:]
	}
	return last
}

// addTwos adds up differences of at most 28 bits, two of which a word holds from
// the bit on that the first begins at; len(dst) is a multiple of two.
func addTwos[T int32 | int64](dst []T, data []byte, width int, last, least T) T {
	mask, w := uint64(1)<<width-1, uint(width)
	for bit := 0; len(dst) >= 2; bit += 2 * width {
		o := bit >> 3
		x := binary.LittleEndian.Uint64(data[o:o+8:o+8]) >> (bit & 7)
		a := T(x&mask) + least
		b := T(x>>(w&63)&mask) + least + a
		dst[0], dst[1] = last+a, last+b
		last += b
		dst = dst[2:]
	}
	return last
}
