package sketch

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// Sizes of roaring containers.
const (
	arrayMax    = 4096
	bitmapWords = 1024
)

var errBitmap = errors.New("the bitmap is damaged")

// container is a set of 16-bit numbers: sorted values, or a bit for each.
type container struct {
	values []uint16
	words  []uint64
}

func (c container) count() int {
	if c.words == nil {
		return len(c.values)
	}
	n := 0
	for _, w := range c.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// set gives c as bits, its own if it has some.
func (c container) set() []uint64 {
	if c.words != nil {
		return c.words
	}
	words := make([]uint64, bitmapWords)
	for _, v := range c.values {
		words[v>>6] |= 1 << (v & 63)
	}
	return words
}

// union gives the numbers of both; it may change c.
func (c container) union(o container) container {
	if c.words == nil && o.words == nil && len(c.values)+len(o.values) <= arrayMax {
		all := append(slices.Clone(c.values), o.values...)
		slices.Sort(all)
		return container{values: slices.Compact(all)}
	}
	words := c.set()
	for i, w := range o.set() {
		words[i] |= w
	}
	return fromWords(words)
}

// fromWords gives the container that few or many numbers have.
func fromWords(words []uint64) container {
	c := container{words: words}
	if c.count() > arrayMax {
		return c
	}
	values := make([]uint16, 0, c.count())
	for i, w := range words {
		for ; w != 0; w &= w - 1 {
			values = append(values, uint16(i<<6|bits.TrailingZeros64(w)))
		}
	}
	return container{values: values}
}

// runs gives the numbers as runs: first number and length less one in turn.
func (c container) runs() []uint16 {
	var out []uint16
	last := -2
	put := func(v uint16) {
		if int(v) == last+1 {
			out[len(out)-1]++
		} else {
			out = append(out, v, 0)
		}
		last = int(v)
	}
	if c.words == nil {
		for _, v := range c.values {
			put(v)
		}
		return out
	}
	for i, w := range c.words {
		for ; w != 0; w &= w - 1 {
			put(uint16(i<<6 | bits.TrailingZeros64(w)))
		}
	}
	return out
}

// Kinds of containers, as Java numbers them in 64-bit bitmaps.
const (
	kindRuns = iota
	kindBits
	kindValues
)

// encoded is a container ready to be written.
type encoded struct {
	kind  byte
	count int
	data  []byte
}

// encode takes the smallest form; runs have to be smaller than the others.
func (c container) encode() encoded {
	e := encoded{kind: kindValues, count: c.count()}
	size := 2 * e.count
	if c.words != nil {
		e.kind, size = kindBits, 8*bitmapWords
	}
	if runs := c.runs(); 2+2*len(runs) < size {
		e.kind = kindRuns
		e.data = appendShorts(binary.LittleEndian.AppendUint16(nil, uint16(len(runs)/2)), runs)
		return e
	}
	if c.words == nil {
		e.data = appendShorts(nil, c.values)
		return e
	}
	for _, w := range c.words {
		e.data = binary.LittleEndian.AppendUint64(e.data, w)
	}
	return e
}

func appendShorts(dst []byte, values []uint16) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint16(dst, v)
	}
	return dst
}

// input reads numbers off the front of bytes; bad says that there were too few.
type input struct {
	b   []byte
	bad bool
}

func (in *input) take(n int) []byte {
	if in.bad || n < 0 || n > len(in.b) {
		in.bad = true
		return nil
	}
	out := in.b[:n]
	in.b = in.b[n:]
	return out
}

func (in *input) u8() byte {
	if b := in.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (in *input) u16() uint16 {
	if b := in.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (in *input) u32() uint32 {
	if b := in.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (in *input) u64() uint64 {
	if b := in.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// container reads a container of a kind and a number of values.
func (in *input) container(kind byte, count int) (container, error) {
	switch kind {
	case kindValues:
		raw := in.take(2 * count)
		values := make([]uint16, len(raw)/2)
		for i := range values {
			values[i] = binary.LittleEndian.Uint16(raw[2*i:])
			if i > 0 && values[i] <= values[i-1] {
				in.bad = true
			}
		}
		if in.bad || count > bitmapWords*64 {
			return container{}, errBitmap
		}
		return container{values: values}, nil
	case kindBits:
		raw := in.take(8 * bitmapWords)
		if in.bad {
			return container{}, errBitmap
		}
		words := make([]uint64, bitmapWords)
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(raw[8*i:])
		}
		return fromWords(words), nil
	case kindRuns:
		words := make([]uint64, bitmapWords)
		for range in.u16() {
			first := int(in.u16())
			last := first + int(in.u16())
			if in.bad || last >= bitmapWords*64 {
				return container{}, errBitmap
			}
			for v := first; v <= last; v++ {
				words[v>>6] |= 1 << (v & 63)
			}
		}
		if in.bad {
			return container{}, errBitmap
		}
		return fromWords(words), nil
	default:
		return container{}, errBitmap
	}
}
