package lakehouse

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// rowSet is a set of row positions of one file, a bit a row.
type rowSet []uint64

func (s rowSet) has(i int64) bool { return int(i>>6) < len(s) && s[i>>6]>>(i&63)&1 == 1 }

func (s *rowSet) add(i int64) {
	for int(i>>6) >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[i>>6] |= 1 << (i & 63)
}

func (s rowSet) count() int64 {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return int64(n)
}

// Numbers of the portable form of roaring bitmaps.
const (
	roaringCookie     = 12346
	roaringRunCookie  = 12347
	roaringArrayMax   = 4096
	roaringBitmap     = 8192
	roaringOffsetsMin = 4
	containerWords    = 1024
)

var errRoaring = errors.New("the bitmap of a deletion vector is damaged")

// appendRoaring appends words, the bits of one 32-bit space, in the portable form without runs.
func appendRoaring(dst []byte, words rowSet) []byte {
	type container struct {
		key, card int
		words     []uint64
	}
	var cs []container
	for at := 0; at < len(words); at += containerWords {
		w := words[at:min(at+containerWords, len(words))]
		if n := int(w.count()); n > 0 {
			cs = append(cs, container{at / containerWords, n, w})
		}
	}
	dst = binary.LittleEndian.AppendUint32(dst, roaringCookie)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(cs)))
	offset := 8 + 8*len(cs)
	for _, c := range cs {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(c.key))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(c.card-1))
	}
	for _, c := range cs {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(offset))
		if c.card <= roaringArrayMax {
			offset += 2 * c.card
		} else {
			offset += roaringBitmap
		}
	}
	for _, c := range cs {
		if c.card > roaringArrayMax {
			for i := range containerWords {
				var w uint64
				if i < len(c.words) {
					w = c.words[i]
				}
				dst = binary.LittleEndian.AppendUint64(dst, w)
			}
			continue
		}
		for i, w := range c.words {
			for ; w != 0; w &= w - 1 {
				dst = binary.LittleEndian.AppendUint16(dst, uint16(i<<6+bits.TrailingZeros64(w)))
			}
		}
	}
	return dst
}

// roaringReader takes numbers from the front of b.
type roaringReader struct {
	b   []byte
	err error
	// rows is what all positions are below.
	rows int64
}

// add adds a position to s.
func (r *roaringReader) add(s *rowSet, position int64) {
	if position < 0 || position >= r.rows {
		r.err = errRoaring
		return
	}
	s.add(position)
}

func (r *roaringReader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.err = errRoaring
		return make([]byte, max(0, min(n, roaringBitmap)))
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *roaringReader) u16() int { return int(binary.LittleEndian.Uint16(r.take(2))) }
func (r *roaringReader) u32() uint32 {
	return binary.LittleEndian.Uint32(r.take(4))
}

// readRoaring adds the positions of a portable bitmap, shifted by base and all
// below rows, to s; it gives what is behind the bitmap.
func readRoaring(b []byte, base, rows int64, s *rowSet) ([]byte, error) {
	r := &roaringReader{b: b, rows: rows}
	cookie := r.u32()
	var n int
	var runs []byte
	switch {
	case cookie == roaringCookie:
		n = int(r.u32())
	case cookie&0xffff == roaringRunCookie:
		n = int(cookie>>16) + 1
		runs = r.take((n + 7) / 8)
	default:
		return nil, errRoaring
	}
	if r.err != nil || n > 1<<16 {
		return nil, errRoaring
	}
	heads := r.take(4 * n)
	if runs == nil || n >= roaringOffsetsMin {
		r.take(4 * n)
	}
	if r.err != nil {
		return nil, r.err
	}
	for i := range n {
		key, card := int64(binary.LittleEndian.Uint16(heads[4*i:])), int(binary.LittleEndian.Uint16(heads[4*i+2:]))+1
		r.container(base+key<<16, card, runs != nil && runs[i/8]>>(i%8)&1 == 1, s)
	}
	return r.b, r.err
}

func (r *roaringReader) container(base int64, card int, run bool, s *rowSet) {
	switch {
	case run:
		for range r.u16() {
			start, more := r.u16(), r.u16()
			if r.err != nil || start+more > 0xffff {
				r.err = errRoaring
				return
			}
			for v := start; v <= start+more && r.err == nil; v++ {
				r.add(s, base+int64(v))
			}
		}
	case card <= roaringArrayMax:
		values := r.take(2 * card)
		for ; len(values) >= 2 && r.err == nil; values = values[2:] {
			r.add(s, base+int64(binary.LittleEndian.Uint16(values)))
		}
	default:
		words := r.take(roaringBitmap)
		for i := 0; i+8 <= len(words) && r.err == nil; i += 8 {
			for w := binary.LittleEndian.Uint64(words[i:]); w != 0; w &= w - 1 {
				r.add(s, base+int64(i*8+bits.TrailingZeros64(w)))
			}
		}
	}
}
