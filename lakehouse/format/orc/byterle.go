package orc

import (
	"math/bits"
)

const (
	minRun         = 3
	maxByteRun     = 127 + minRun
	maxByteLiteral = 128
)

// byteWriter writes the run-length encoding of bytes.
type byteWriter struct {
	out *outStream
	// lit[:n] are the pending bytes; in a run all n are lit[0], and tail counts
	// the equal bytes at the end of a literal list.
	lit  [maxByteLiteral]byte
	n    int
	tail int
	run  bool
}

func (w *byteWriter) write(b byte) error {
	switch {
	case w.n == 0:
		w.lit[0], w.n, w.tail, w.run = b, 1, 1, false
		return nil
	case w.run:
		if b == w.lit[0] {
			w.n++
			if w.n == maxByteRun {
				return w.flush()
			}
			return nil
		}
		if err := w.flush(); err != nil {
			return err
		}
		w.lit[0], w.n, w.tail = b, 1, 1
		return nil
	}
	if b == w.lit[w.n-1] {
		w.tail++
	} else {
		w.tail = 1
	}
	if w.tail == minRun {
		if w.n+1 > minRun {
			w.n -= minRun - 1
			if err := w.flush(); err != nil {
				return err
			}
		}
		w.lit[0], w.n, w.run = b, minRun, true
		return nil
	}
	w.lit[w.n] = b
	w.n++
	if w.n == maxByteLiteral {
		return w.flush()
	}
	return nil
}

// flush writes what is pending.
func (w *byteWriter) flush() error {
	if w.n == 0 {
		return nil
	}
	var b [1 + maxByteLiteral]byte
	n := 2
	if w.run {
		b[0], b[1] = byte(w.n-minRun), w.lit[0]
	} else {
		b[0] = byte(-w.n)
		n = 1 + copy(b[1:], w.lit[:w.n])
	}
	w.n, w.tail, w.run = 0, 0, false
	return w.out.write(b[:n])
}

func (w *byteWriter) position(dst []uint64) []uint64 {
	return append(w.out.position(dst), uint64(w.n))
}

// boolWriter writes bits, the first in the highest bit of a byte.
type boolWriter struct {
	bytes byteWriter
	cur   byte
	used  int
}

// ones writes n set bits.
func (w *boolWriter) ones(n int) error {
	for ; n > 0 && w.used > 0; n-- {
		if err := w.bit(1); err != nil {
			return err
		}
	}
	for ; n >= 8; n -= 8 {
		if err := w.bytes.write(0xff); err != nil {
			return err
		}
	}
	for ; n > 0; n-- {
		if err := w.bit(1); err != nil {
			return err
		}
	}
	return nil
}

func (w *boolWriter) bit(b byte) error {
	w.cur |= b << (7 - w.used)
	w.used++
	if w.used < 8 {
		return nil
	}
	b = w.cur
	w.cur, w.used = 0, 0
	return w.bytes.write(b)
}

// bitmap writes n bits of an Arrow bitmap from bit off on.
func (w *boolWriter) bitmap(b []byte, off, n int) error {
	for ; n > 0 && w.used > 0; n, off = n-1, off+1 {
		if err := w.bit(b[off>>3] >> (off & 7) & 1); err != nil {
			return err
		}
	}
	for ; n >= 8; n, off = n-8, off+8 {
		v := b[off>>3] >> (off & 7)
		if off&7 != 0 {
			v |= b[off>>3+1] << (8 - off&7)
		}
		if err := w.bytes.write(bits.Reverse8(v)); err != nil {
			return err
		}
	}
	for ; n > 0; n, off = n-1, off+1 {
		if err := w.bit(b[off>>3] >> (off & 7) & 1); err != nil {
			return err
		}
	}
	return nil
}

func (w *boolWriter) flush() error {
	if w.used > 0 {
		b := w.cur
		w.cur, w.used = 0, 0
		if err := w.bytes.write(b); err != nil {
			return err
		}
	}
	return w.bytes.flush()
}

func (w *boolWriter) position(dst []uint64) []uint64 {
	return append(w.bytes.position(dst), uint64(w.used))
}

// byteReader reads the run-length encoding of bytes.
type byteReader struct {
	in *inStream
	// left values of the current group are not read; in a run they are value.
	left  int
	run   bool
	value byte
}

func (r *byteReader) group() error {
	b, err := r.in.byte()
	if err != nil {
		return err
	}
	if b >= 0x80 {
		r.run, r.left = false, 256-int(b)
		return nil
	}
	r.run, r.left = true, int(b)+minRun
	r.value, err = r.in.byte()
	return err
}

func (r *byteReader) read(dst []byte) error {
	for len(dst) > 0 {
		if r.left == 0 {
			if err := r.group(); err != nil {
				return err
			}
		}
		n := min(r.left, len(dst))
		if r.run {
			for i := range dst[:n] {
				dst[i] = r.value
			}
		} else if err := r.in.copyTo(dst[:n]); err != nil {
			return err
		}
		r.left -= n
		dst = dst[n:]
	}
	return nil
}

func (r *byteReader) skip(n int64) error {
	for n > 0 {
		if r.left == 0 {
			if err := r.group(); err != nil {
				return err
			}
		}
		k := min(int64(r.left), n)
		if !r.run {
			if err := r.in.skip(k); err != nil {
				return err
			}
		}
		r.left -= int(k)
		n -= k
	}
	return nil
}

func (r *byteReader) seek(p *positions) error {
	r.left = 0
	if err := r.in.seek(p); err != nil {
		return err
	}
	return r.skip(int64(min(p.next(), 1<<20)))
}

// boolReader reads bits.
type boolReader struct {
	bytes byteReader
	// cur holds the unread bits of the current byte, left of them, at the top.
	cur     byte
	left    int
	scratch []byte
}

// read sets bits 0 to n-1 of the zeroed Arrow bitmap dst and gives how many are set.
func (r *boolReader) read(dst []byte, n int) (set int, err error) {
	at := min(n, r.left)
	for i := range at {
		dst[i>>3] |= r.cur >> 7 << (i & 7)
		set += int(r.cur >> 7)
		r.cur <<= 1
	}
	r.left -= at
	if at == n {
		return set, nil
	}
	need := (n - at + 7) / 8
	if cap(r.scratch) < need {
		r.scratch = make([]byte, need)
	}
	src := r.scratch[:need]
	if err := r.bytes.read(src); err != nil {
		return 0, err
	}
	whole := (n - at) / 8
	shift := at & 7
	for _, b := range src[:whole] {
		v := bits.Reverse8(b)
		set += bits.OnesCount8(v)
		dst[at>>3] |= v << shift
		if shift > 0 {
			dst[at>>3+1] |= v >> (8 - shift)
		}
		at += 8
	}
	if whole == need {
		return set, nil
	}
	r.cur, r.left = src[whole], 8
	for ; at < n; at++ {
		dst[at>>3] |= r.cur >> 7 << (at & 7)
		set += int(r.cur >> 7)
		r.cur <<= 1
		r.left--
	}
	return set, nil
}

func (r *boolReader) seek(p *positions) error {
	r.left = 0
	if err := r.bytes.seek(p); err != nil {
		return err
	}
	if n := min(p.next(), 8); n > 0 {
		b, err := r.next()
		if err != nil {
			return err
		}
		r.cur, r.left = b<<n, 8-int(n)
	}
	return nil
}

func (r *boolReader) next() (byte, error) {
	var b [1]byte
	err := r.bytes.read(b[:])
	return b[0], err
}
