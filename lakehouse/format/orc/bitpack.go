package orc

import "encoding/binary"

// widthCodes gives the width in bits of each 5-bit code of RLE version 2.
var widthCodes = [32]uint8{
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
	17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40, 48, 56, 64,
}

// alignedWidth is the least width >= bits that packs into whole bytes or their
// even parts, which is all that a writer should use; 1 for 0.
func alignedWidth(bits int) int {
	switch {
	case bits <= 1:
		return 1
	case bits <= 2:
		return 2
	case bits <= 4:
		return 4
	default:
		return (bits + 7) &^ 7
	}
}

// anyWidth is the least width >= bits that has a code; 1 for 0.
func anyWidth(bits int) int {
	for _, w := range widthCodes {
		if int(w) >= bits {
			return int(w)
		}
	}
	return 64
}

// codeOfWidth is the inverse of widthCodes.
func codeOfWidth(width int) int {
	switch {
	case width <= 24:
		return width - 1
	case width <= 32:
		return 24 + (width-26)/2
	default:
		return 28 + (width-40)/8
	}
}

// packedBytes is how long n values of the given width are.
func packedBytes(n, width int) int { return (n*width + 7) / 8 }

// pack appends vals, big-endian in width bits each.
func pack(dst []byte, vals []uint64, width int) []byte {
	switch width {
	case 8:
		for _, v := range vals {
			dst = append(dst, byte(v))
		}
	case 16:
		for _, v := range vals {
			dst = append(dst, byte(v>>8), byte(v))
		}
	case 24:
		for _, v := range vals {
			dst = append(dst, byte(v>>16), byte(v>>8), byte(v))
		}
	case 32:
		for _, v := range vals {
			dst = binary.BigEndian.AppendUint32(dst, uint32(v))
		}
	case 64:
		for _, v := range vals {
			dst = binary.BigEndian.AppendUint64(dst, v)
		}
	case 40, 48, 56:
		for _, v := range vals {
			at := len(dst)
			dst = binary.BigEndian.AppendUint64(dst, v<<(64-width))[:at+width/8]
		}
	default:
		dst = packBits(dst, vals, width)
	}
	return dst
}

// packBits packs widths that are no whole bytes, at most 57 bits.
func packBits(dst []byte, vals []uint64, width int) []byte {
	var acc uint64
	have := 0
	for _, v := range vals {
		acc = acc<<width | v
		have += width
		for have >= 8 {
			have -= 8
			dst = append(dst, byte(acc>>have))
		}
	}
	if have > 0 {
		dst = append(dst, byte(acc<<(8-have)))
	}
	return dst
}
