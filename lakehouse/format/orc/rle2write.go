package orc

import (
	"encoding/binary"
	"math/bits"
)

// intWriter writes RLE version 2. Values are taken in blocks of maxRun2; each
// block becomes as many runs as make it small.
type intWriter struct {
	out    *outStream
	signed bool
	buf    [maxRun2]int64
	n      int
	words  [maxRun2]uint64
	enc    []byte
}

func (w *intWriter) write(vals []int64) error {
	for len(vals) > 0 {
		if w.n == 0 && len(vals) >= maxRun2 {
			if err := w.block(vals[:maxRun2]); err != nil {
				return err
			}
			vals = vals[maxRun2:]
			continue
		}
		k := copy(w.buf[w.n:], vals)
		w.n += k
		vals = vals[k:]
		if w.n == maxRun2 {
			w.n = 0
			if err := w.block(w.buf[:]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *intWriter) flush() error {
	n := w.n
	w.n = 0
	return w.block(w.buf[:n])
}

// position is that of the output and the number of values not yet in it.
func (w *intWriter) position(dst []uint64) []uint64 {
	return append(w.out.position(dst), uint64(w.n))
}

// code is the value as the stream's signedness writes it.
func (w *intWriter) code(v int64) uint64 {
	if w.signed {
		return zigzag(v)
	}
	return uint64(v)
}

// width is the bits of the longest of lo and hi in code form.
func (w *intWriter) width(lo, hi int64) int {
	return bits.Len64(max(w.code(lo), w.code(hi)))
}

// block writes at most maxRun2 values.
func (w *intWriter) block(vals []int64) error {
	if len(vals) == 0 {
		return nil
	}
	w.enc = w.enc[:0]
	lo, hi := rangeOf(vals)
	// A repetition pays for its own header and that of the run after it from here on.
	width := alignedWidth(w.width(lo, hi))
	worth := max(4, (6*8+width)/width+1)
	for len(vals) > 0 {
		if n := repeats(vals); n >= worth || n == len(vals) && n >= minRun {
			w.repeat(vals[0], n)
			vals = vals[n:]
			continue
		}
		n := nextRepeat(vals, worth)
		w.literals(vals[:n])
		vals = vals[n:]
	}
	return w.out.write(w.enc)
}

// repeats counts how often the first value comes in a row.
func repeats(vals []int64) int {
	n := 1
	for n < len(vals) && vals[n] == vals[0] {
		n++
	}
	return n
}

// nextRepeat finds where a repetition of at least worth values starts behind
// the first value; len(vals) if none does.
func nextRepeat(vals []int64, worth int) int {
	same := 1
	for i := 1; i < len(vals); i++ {
		if vals[i] != vals[i-1] {
			same = 1
			continue
		}
		if same++; same == worth && i+1 > worth {
			return i + 1 - worth
		}
	}
	return len(vals)
}

func (w *intWriter) repeat(v int64, n int) {
	if n <= 10 {
		u := w.code(v)
		size := max(1, (bits.Len64(u)+7)/8)
		w.enc = append(w.enc, byte((size-1)<<3|(n-minRun)))
		w.enc = binary.BigEndian.AppendUint64(w.enc, u<<(64-8*size))
		w.enc = w.enc[:len(w.enc)-8+size]
		return
	}
	w.header(rleDelta, 0, n)
	w.enc = append(binary.AppendUvarint(w.enc, w.code(v)), 0)
}

func (w *intWriter) header(kind, widthCode, n int) {
	w.enc = append(w.enc, byte(kind<<6|widthCode<<1|(n-1)>>8), byte(n-1))
}

// shape is what one pass over the values tells.
type shape struct {
	lo, hi int64
	// fixed: all steps are equal. rising, falling: no step goes the other way.
	fixed, rising, falling bool
	// maxStep is the greatest absolute step but the first.
	maxStep uint64
}

func shapeOf(vals []int64) shape {
	s := shape{lo: vals[0], hi: vals[0], fixed: true, rising: true, falling: true}
	if len(vals) < 2 {
		return s
	}
	first := vals[1] - vals[0]
	prev := vals[0]
	for i, v := range vals[1:] {
		step := v - prev
		prev = v
		s.lo, s.hi = min(s.lo, v), max(s.hi, v)
		if step != first {
			s.fixed = false
		}
		if step < 0 {
			s.rising = false
			step = -step
		} else if step > 0 {
			s.falling = false
		}
		if i > 0 {
			s.maxStep = max(s.maxStep, uint64(step))
		}
	}
	return s
}

// literals writes values without long repetitions.
func (w *intWriter) literals(vals []int64) {
	s := shapeOf(vals)
	width := alignedWidth(w.width(s.lo, s.hi))
	direct := 2 + packedBytes(len(vals), width)
	span := s.hi - s.lo
	if span < 0 || len(vals) < minRun {
		w.direct(vals, width)
		return
	}
	if s.fixed || (s.rising || s.falling) && vals[1] != vals[0] {
		steps := 0
		if !s.fixed {
			// Width 1 has no code here.
			steps = max(2, alignedWidth(bits.Len64(s.maxStep)))
		}
		size := 2 + (bits.Len64(w.code(vals[0]))+6)/7 + (bits.Len64(zigzag(vals[1]-vals[0]))+6)/7 + packedBytes(len(vals)-2, steps)
		if size < direct {
			w.delta(vals, steps)
			return
		}
	}
	if width >= 16 && len(vals) >= 32 {
		if p, ok := w.planPatches(vals, s); ok && 10*p.size < 9*direct {
			w.patched(vals, s.lo, p)
			return
		}
	}
	w.direct(vals, width)
}

func (w *intWriter) direct(vals []int64, width int) {
	w.header(rleDirect, codeOfWidth(width), len(vals))
	words := w.words[:len(vals)]
	if w.signed {
		for i, v := range vals {
			words[i] = zigzag(v)
		}
	} else {
		for i, v := range vals {
			words[i] = uint64(v)
		}
	}
	w.enc = pack(w.enc, words, width)
}

// delta writes the first value, the first step and the sizes of the others; a
// width of 0 says that all steps are the first.
func (w *intWriter) delta(vals []int64, width int) {
	code := 0
	if width > 0 {
		code = codeOfWidth(width)
	}
	w.header(rleDelta, code, len(vals))
	w.enc = binary.AppendUvarint(w.enc, w.code(vals[0]))
	w.enc = binary.AppendUvarint(w.enc, zigzag(vals[1]-vals[0]))
	if width == 0 {
		return
	}
	words := w.words[:len(vals)-2]
	prev := vals[1]
	for i, v := range vals[2:] {
		step := v - prev
		prev = v
		words[i] = uint64(max(step, -step))
	}
	w.enc = pack(w.enc, words, width)
}

// patchPlan is how a block is written in PATCHED_BASE.
type patchPlan struct {
	width, patchWidth, gapWidth, entryWidth int
	count, baseBytes                        int
	size                                    int
}

// maxPatches is the length of a patch list that has a code.
const maxPatches = 31

// planPatches picks the width that most values, less the minimum, fit into.
func (w *intWriter) planPatches(vals []int64, s shape) (patchPlan, bool) {
	if s.lo <= -1<<55 || s.lo >= 1<<55 {
		return patchPlan{}, false
	}
	var histogram [65]int
	for _, v := range vals {
		histogram[bits.Len64(uint64(v-s.lo))]++
	}
	longest := bits.Len64(uint64(s.hi - s.lo))
	width, above := longest, 0
	for width > 1 && above+histogram[width] <= min(len(vals)/10, maxPatches-3) {
		above += histogram[width]
		width--
	}
	p := patchPlan{width: alignedWidth(width), baseBytes: bits.Len64(uint64(max(s.lo, -s.lo)))/8 + 1}
	if p.width >= longest {
		return p, false
	}
	p.patchWidth = anyWidth(longest - p.width)
	if p.width+p.patchWidth > 64 || p.patchWidth > 56 {
		return p, false
	}
	gap, last := 0, 0
	for i, v := range vals {
		if uint64(v-s.lo)>>p.width == 0 {
			continue
		}
		g := i - last
		last = i
		for ; g > 255; g -= 255 {
			gap = 255
			p.count++
		}
		gap = max(gap, g)
		p.count++
	}
	p.gapWidth = max(1, bits.Len(uint(gap)))
	p.entryWidth = anyWidth(p.patchWidth + p.gapWidth)
	p.size = 4 + p.baseBytes + packedBytes(len(vals), p.width) + packedBytes(p.count, p.entryWidth)
	return p, p.count > 0 && p.count <= maxPatches && p.patchWidth+p.gapWidth <= 64
}

func (w *intWriter) patched(vals []int64, lo int64, p patchPlan) {
	w.header(rlePatchedBase, codeOfWidth(p.width), len(vals))
	w.enc = append(w.enc, byte((p.baseBytes-1)<<5|codeOfWidth(p.patchWidth)), byte((p.gapWidth-1)<<5|p.count))
	base := uint64(max(lo, -lo))
	if lo < 0 {
		base |= 1 << (8*p.baseBytes - 1)
	}
	w.enc = binary.BigEndian.AppendUint64(w.enc, base<<(64-8*p.baseBytes))
	w.enc = w.enc[:len(w.enc)-8+p.baseBytes]
	words := w.words[:len(vals)]
	var entries [maxPatches]uint64
	n, last := 0, 0
	for i, v := range vals {
		u := uint64(v - lo)
		words[i] = u & (1<<p.width - 1)
		if u >>= p.width; u == 0 {
			continue
		}
		gap := i - last
		last = i
		for ; gap > 255; gap -= 255 {
			entries[n] = 255 << p.patchWidth
			n++
		}
		entries[n] = uint64(gap)<<p.patchWidth | u
		n++
	}
	w.enc = pack(w.enc, words, p.width)
	w.enc = pack(w.enc, entries[:n], p.entryWidth)
}
