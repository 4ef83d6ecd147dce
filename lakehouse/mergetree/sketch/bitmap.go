package sketch

import (
	"encoding/binary"
	"maps"
	"slices"
)

// bitmap is a set of numbers: containers by the bits above the lowest 16.
type bitmap map[uint64]container

func (b bitmap) add(o bitmap) {
	for key, c := range o {
		if mine, ok := b[key]; ok {
			c = mine.union(c)
		}
		b[key] = c
	}
}

// unite decodes all values and encodes their union.
func unite(values [][]byte, decode func([]byte) (bitmap, error), encode func(bitmap) []byte) ([]byte, error) {
	all := bitmap{}
	for _, v := range values {
		b, err := decode(v)
		if err != nil {
			return nil, err
		}
		all.add(b)
	}
	return encode(all), nil
}

// Numbers of the portable form of 32-bit bitmaps.
const (
	cookiePlain = 12346
	cookieRuns  = 12347
	// offsetsFrom is how many containers a bitmap with runs has at least, to tell where they begin.
	offsetsFrom = 4
)

// Bitmap32 unites bitmaps of 32-bit numbers (function rbm32).
func Bitmap32(values [][]byte) ([]byte, error) { return unite(values, decode32, encode32) }

func decode32(b []byte) (bitmap, error) {
	in := &input{b: b}
	var size int
	var runs []byte
	switch cookie := in.u32(); {
	case cookie == cookiePlain:
		size = int(in.u32())
	case cookie&0xffff == cookieRuns:
		size = int(cookie>>16) + 1
		runs = in.take((size + 7) / 8)
	default:
		return nil, errBitmap
	}
	if size > 1<<16 {
		return nil, errBitmap
	}
	heads := in.take(4 * size)
	if runs == nil || size >= offsetsFrom {
		in.take(4 * size)
	}
	if in.bad {
		return nil, errBitmap
	}
	out := bitmap{}
	for i := range size {
		key := uint64(binary.LittleEndian.Uint16(heads[4*i:]))
		count := int(binary.LittleEndian.Uint16(heads[4*i+2:])) + 1
		kind := byte(kindValues)
		switch {
		case runs != nil && runs[i/8]>>(i%8)&1 == 1:
			kind = kindRuns
		case count > arrayMax:
			kind = kindBits
		}
		c, err := in.container(kind, count)
		if err != nil {
			return nil, err
		}
		out[key] = c
	}
	return out, nil
}

func encode32(b bitmap) []byte {
	keys := slices.Sorted(maps.Keys(b))
	cs := make([]encoded, len(keys))
	runs := make([]byte, (len(keys)+7)/8)
	hasRuns := false
	for i, k := range keys {
		if cs[i] = b[k].encode(); cs[i].kind == kindRuns {
			runs[i/8] |= 1 << (i % 8)
			hasRuns = true
		}
	}
	var out []byte
	if hasRuns {
		out = binary.LittleEndian.AppendUint32(out, cookieRuns|uint32(len(keys)-1)<<16)
		out = append(out, runs...)
	} else {
		out = binary.LittleEndian.AppendUint32(out, cookiePlain)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(keys)))
	}
	for i, k := range keys {
		out = binary.LittleEndian.AppendUint16(out, uint16(k))
		out = binary.LittleEndian.AppendUint16(out, uint16(cs[i].count-1))
	}
	if !hasRuns || len(keys) >= offsetsFrom {
		at := len(out) + 4*len(keys)
		for i := range cs {
			out = binary.LittleEndian.AppendUint32(out, uint32(at))
			at += len(cs[i].data)
		}
	}
	for i := range cs {
		out = append(out, cs[i].data...)
	}
	return out
}
