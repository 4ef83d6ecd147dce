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
	s := shapeOf(vals)
	// A repetition pays for its own header and that of the run after it from here on.
	width := alignedWidth(w.width(s.lo, s.hi))
	worth := max(4, (6*8+width)/width+1)
	if s.lo == s.hi && len(vals) >= minRun {
		w.repeat(vals[0], len(vals))
		return w.out.write(w.enc)
	}
	if s.fixed || s.equal < min(worth, len(vals))-1 {
		w.literals(vals, s)
		return w.out.write(w.enc)
	}
	all := vals
	for len(vals) > 0 {
		if n := repeats(vals); n >= worth || n == len(vals) && n >= minRun {
			w.repeat(vals[0], n)
			vals = vals[n:]
			continue
		}
		n := nextRepeat(vals, worth)
		if n == len(all) {
			w.literals(vals, s)
		} else {
			w.literals(vals[:n], shapeOf(vals[:n]))
		}
		vals = vals[n:]
	}
	if size, steps, ok := w.planDelta(all, s); ok && size < len(w.enc) {
		w.enc = w.enc[:0]
		w.delta(all, steps)
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
	// equal is how many values are the same as the one before.
	equal int
	// fixed: all steps are equal. rising, falling: no step goes the other way.
	fixed, rising, falling bool
	// stepBits is the width of the greatest absolute step but the first.
	stepBits int
}

func shapeOf(vals []int64) shape {
	s := shape{lo: vals[0], hi: vals[0], fixed: true, rising: true, falling: true}
	if len(vals) < 2 {
		return s
	}
	first := vals[1] - vals[0]
	prev := vals[1]
	lo, hi := min(vals[0], prev), max(vals[0], prev)
	// The bits of all steps, of their differences to the first, and the sign
	// bits of steps in either direction; no branch on what cannot be foretold.
	var sizes, others uint64
	down, up := first, -first
	moves := int(uint64(first|-first) >> 63)
	for _, v := range vals[2:] {
		step := v - prev
		prev = v
		lo, hi = min(lo, v), max(hi, v)
		down, up = down|step, up|-step
		others |= uint64(step ^ first)
		moves += int(uint64(step|-step) >> 63)
		sizes |= uint64(step ^ step>>63 - step>>63)
	}
	return shape{
		lo: lo, hi: hi, equal: len(vals) - 1 - moves, fixed: others == 0, rising: down >= 0, falling: up >= 0,
		stepBits: bits.Len64(sizes),
	}
}

// planDelta gives the length of vals in DELTA and the width of their steps;
// false if steps go both ways.
func (w *intWriter) planDelta(vals []int64, s shape) (size, steps int, ok bool) {
	// Readers tell the direction from the sign of the first step: a falling
	// sequence must not begin with two equal values.
	if s.hi-s.lo < 0 || len(vals) < minRun || !s.fixed && !s.rising && (!s.falling || vals[1] == vals[0]) {
		return 0, 0, false
	}
	if !s.fixed {
		// Width 1 has no code here.
		steps = max(2, alignedWidth(s.stepBits))
	}
	size = 2 + uvarintBytes(w.code(vals[0])) + uvarintBytes(zigzag(vals[1]-vals[0])) + packedBytes(len(vals)-2, steps)
	return size, steps, true
}

func uvarintBytes(u uint64) int { return (bits.Len64(u|1) + 6) / 7 }

// literals writes values of the given shape, taken for ones without long repetitions.
func (w *intWriter) literals(vals []int64, s shape) {
	width := alignedWidth(w.width(s.lo, s.hi))
	direct := 2 + packedBytes(len(vals), width)
	if s.hi-s.lo < 0 || len(vals) < minRun {
		w.direct(vals, width)
		return
	}
	if size, steps, ok := w.planDelta(vals, s); ok && size < direct {
		w.delta(vals, steps)
		return
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

// planPatches picks the width that most values, less the minimum, fit into. One
// that all fit into is right where the minimum is far from zero.
func (w *intWriter) planPatches(vals []int64, s shape) (patchPlan, bool) {
	if s.lo <= -1<<55 || s.lo >= 1<<55 {
		return patchPlan{}, false
	}
	longest := bits.Len64(uint64(s.hi - s.lo))
	p := patchPlan{width: alignedWidth(longest), baseBytes: bits.Len64(uint64(max(s.lo, -s.lo)))/8 + 1}
	for p.width > 1 {
		narrower := alignedBelow(p.width)
		if wider(vals, s.lo, narrower) > min(len(vals)/10, maxPatches-3) {
			break
		}
		p.width = narrower
	}
	if p.width >= longest {
		// Nothing to patch, but readers want a patch: one of zeros.
		p.count, p.patchWidth, p.gapWidth, p.entryWidth = 1, 1, 1, 2
		p.size = p.bytes(len(vals))
		return p, p.width < 64
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
	p.size = p.bytes(len(vals))
	return p, p.count > 0 && p.count <= maxPatches && p.patchWidth+p.gapWidth <= 64
}

func (p *patchPlan) bytes(n int) int {
	return 4 + p.baseBytes + packedBytes(n, p.width) + packedBytes(p.count, p.entryWidth)
}

// alignedBelow is the aligned width next to the given one, which is more than 1.
func alignedBelow(width int) int {
	if width <= 8 {
		return width / 2
	}
	return width - 8
}

// wider counts the values that, less lo, do not fit into width bits.
func wider(vals []int64, lo int64, width int) int {
	n := 0
	for _, v := range vals {
		u := uint64(v-lo) >> (width & 63)
		n += int((u | -u) >> 63)
	}
	return n
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
	w.enc = pack(w.enc, entries[:p.count], p.entryWidth)
}
