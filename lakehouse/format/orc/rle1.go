package orc

// intDecoder reads a run-length encoded stream of integers.
type intDecoder interface {
	// read fills dst.
	read(dst []int64) error
	skip(n int64) error
	seek(p *positions) error
}

func newIntDecoder(in *inStream, enc encodingKind, signed bool) intDecoder {
	if enc == encodingDirectV2 || enc == encodingDictionaryV2 {
		return &rle2Reader{in: in, signed: signed}
	}
	return &rle1Reader{in: in, signed: signed}
}

// rle1Reader reads version 1: runs with a fixed step, and lists of literals.
type rle1Reader struct {
	in     *inStream
	signed bool
	left   int
	run    bool
	value  int64
	step   int64
}

func (r *rle1Reader) number() (int64, error) {
	v, err := r.in.uvarint()
	if r.signed {
		return unzigzag(v), err
	}
	return int64(v), err
}

func (r *rle1Reader) group() error {
	b, err := r.in.byte()
	if err != nil {
		return err
	}
	if b >= 0x80 {
		r.run, r.left = false, 256-int(b)
		return nil
	}
	step, err := r.in.byte()
	if err != nil {
		return err
	}
	r.run, r.left, r.step = true, int(b)+minRun, int64(int8(step))
	r.value, err = r.number()
	return err
}

func (r *rle1Reader) read(dst []int64) error {
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
				r.value += r.step
			}
		} else {
			for i := range dst[:n] {
				v, err := r.number()
				if err != nil {
					return err
				}
				dst[i] = v
			}
		}
		r.left -= n
		dst = dst[n:]
	}
	return nil
}

func (r *rle1Reader) skip(n int64) error {
	var scratch [256]int64
	for n > 0 {
		k := min(n, int64(len(scratch)))
		if err := r.read(scratch[:k]); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

func (r *rle1Reader) seek(p *positions) error {
	r.left = 0
	if err := r.in.seek(p); err != nil {
		return err
	}
	return r.skip(int64(min(p.next(), 1<<20)))
}
