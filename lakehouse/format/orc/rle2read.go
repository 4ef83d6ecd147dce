package orc

// The sub-encodings of RLE version 2, in the two top bits of a run's header.
const (
	rleShortRepeat = 0
	rleDirect      = 1
	rlePatchedBase = 2
	rleDelta       = 3
)

// maxRun2 is the greatest number of values in a run of RLE version 2.
const maxRun2 = 512

// rle2Reader reads RLE version 2.
type rle2Reader struct {
	in     *inStream
	signed bool
	// pending are values of the current run not yet taken, in lits.
	pending []int64
	lits    [maxRun2]int64
	patches [32]int64
}

func (r *rle2Reader) read(dst []int64) error {
	for len(dst) > 0 {
		if len(r.pending) > 0 {
			n := copy(dst, r.pending)
			r.pending = r.pending[n:]
			dst = dst[n:]
			continue
		}
		if len(dst) >= maxRun2 {
			// Any run fits: decode in place.
			n, err := r.run(dst[:maxRun2])
			if err != nil {
				return err
			}
			dst = dst[n:]
			continue
		}
		n, err := r.run(r.lits[:])
		if err != nil {
			return err
		}
		r.pending = r.lits[:n]
	}
	return nil
}

func (r *rle2Reader) skip(n int64) error {
	for n > 0 {
		if len(r.pending) == 0 {
			k, err := r.run(r.lits[:])
			if err != nil {
				return err
			}
			r.pending = r.lits[:k]
		}
		k := min(n, int64(len(r.pending)))
		r.pending = r.pending[k:]
		n -= k
	}
	return nil
}

func (r *rle2Reader) seek(p *positions) error {
	r.pending = nil
	if err := r.in.seek(p); err != nil {
		return err
	}
	return r.skip(int64(min(p.next(), 1<<20)))
}

// run decodes one run into dst, which has room for maxRun2 values, and gives its length.
func (r *rle2Reader) run(dst []int64) (int, error) {
	first, err := r.in.byte()
	if err != nil {
		return 0, err
	}
	if first>>6 == rleShortRepeat {
		return r.shortRepeat(dst, first)
	}
	second, err := r.in.byte()
	if err != nil {
		return 0, err
	}
	code := first >> 1 & 0x1f
	n := int(first&1)<<8 | int(second) + 1
	switch first >> 6 {
	case rleDirect:
		return n, r.direct(dst[:n], int(widthCodes[code]))
	case rlePatchedBase:
		return n, r.patchedBase(dst[:n], int(widthCodes[code]))
	default:
		width := 0
		if code != 0 {
			width = int(widthCodes[code])
		}
		return n, r.delta(dst[:n], width)
	}
}

func (r *rle2Reader) shortRepeat(dst []int64, first byte) (int, error) {
	width, n := int(first>>3&7)+1, int(first&7)+minRun
	b, err := r.in.need(width)
	if err != nil {
		return 0, err
	}
	v := int64(bigEndian(b))
	if r.signed {
		v = unzigzag(uint64(v))
	}
	dst = dst[:n]
	for i := range dst {
		dst[i] = v
	}
	return n, nil
}

// bigEndian reads up to eight bytes.
func bigEndian(b []byte) uint64 {
	var v uint64
	for _, x := range b {
		v = v<<8 | uint64(x)
	}
	return v
}

func (r *rle2Reader) direct(dst []int64, width int) error {
	b, err := r.in.need(packedBytes(len(dst), width))
	if err != nil {
		return err
	}
	unpack(dst, b, width, r.signed)
	return nil
}

func (r *rle2Reader) patchedBase(dst []int64, width int) error {
	h, err := r.in.need(2)
	if err != nil {
		return err
	}
	baseBytes := int(h[0]>>5) + 1
	patchWidth := int(widthCodes[h[0]&0x1f])
	gapWidth := int(h[1]>>5) + 1
	count := int(h[1] & 0x1f)
	b, err := r.in.need(baseBytes)
	if err != nil {
		return err
	}
	base := int64(bigEndian(b))
	if sign := int64(1) << (baseBytes*8 - 1); base&sign != 0 {
		base = -(base &^ sign)
	}
	if b, err = r.in.need(packedBytes(len(dst), width)); err != nil {
		return err
	}
	unpack(dst, b, width, false)
	if gapWidth+patchWidth > 64 {
		return r.in.corrupt("patches of %d bits", gapWidth+patchWidth)
	}
	entry := anyWidth(gapWidth + patchWidth)
	if b, err = r.in.need(packedBytes(count, entry)); err != nil {
		return err
	}
	patches := r.patches[:count]
	unpack(patches, b, entry, false)
	at := 0
	for _, p := range patches {
		at += int(uint64(p) >> patchWidth)
		if at >= len(dst) {
			return r.in.corrupt("a patch is behind its run")
		}
		if width < 64 {
			dst[at] |= int64(uint64(p) & (1<<patchWidth - 1) << width)
		}
	}
	for i := range dst {
		dst[i] += base
	}
	return nil
}

// fillSteps writes v, v+step and so on; four at a time do not wait for each other.
func fillSteps(dst []int64, v, step int64) {
	two, three, four := 2*step, 3*step, 4*step
	for len(dst) >= 4 {
		dst[0], dst[1], dst[2], dst[3] = v, v+step, v+two, v+three
		v += four
		dst = dst[4:]
	}
	for i := range dst {
		dst[i] = v
		v += step
	}
}

func (r *rle2Reader) delta(dst []int64, width int) error {
	u, err := r.in.uvarint()
	if err != nil {
		return err
	}
	v := int64(u)
	if r.signed {
		v = unzigzag(u)
	}
	dst[0] = v
	if u, err = r.in.uvarint(); err != nil {
		return err
	}
	step := unzigzag(u)
	if width == 0 {
		fillSteps(dst, v, step)
		return nil
	}
	if len(dst) < 2 {
		return nil
	}
	v += step
	dst[1] = v
	rest := dst[2:]
	b, err := r.in.need(packedBytes(len(rest), width))
	if err != nil {
		return err
	}
	unpack(rest, b, width, false)
	if step < 0 {
		for i, d := range rest {
			v -= d
			rest[i] = v
		}
		return nil
	}
	for i, d := range rest {
		v += d
		rest[i] = v
	}
	return nil
}
