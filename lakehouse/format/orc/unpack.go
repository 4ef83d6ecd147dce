package orc

import "encoding/binary"

// unpack reads len(dst) values of the given width from src, which is long
// enough; signed ones are zigzag.
func unpack(dst []int64, src []byte, width int, signed bool) {
	switch width {
	case 1:
		unpack1(dst, src)
	case 2:
		unpack2(dst, src)
	case 4:
		unpack4(dst, src)
	case 8:
		for i, b := range src[:len(dst)] {
			dst[i] = int64(b)
		}
	case 16:
		unpack16(dst, src)
	case 24:
		unpack24(dst, src)
	case 32:
		unpack32(dst, src)
	case 64:
		for i := range dst {
			dst[i] = int64(binary.BigEndian.Uint64(src[8*i:]))
		}
	default:
		unpackBits(dst, src, width)
	}
	if signed {
		for i, v := range dst {
			dst[i] = unzigzag(uint64(v))
		}
	}
}

func unpack1(dst []int64, src []byte) {
	for len(dst) >= 8 {
		b := uint64(src[0])
		dst[0], dst[1], dst[2], dst[3] = int64(b>>7), int64(b>>6&1), int64(b>>5&1), int64(b>>4&1)
		dst[4], dst[5], dst[6], dst[7] = int64(b>>3&1), int64(b>>2&1), int64(b>>1&1), int64(b&1)
		dst, src = dst[8:], src[1:]
	}
	for i := range dst {
		dst[i] = int64(uint64(src[0]) >> (7 - i) & 1)
	}
}

func unpack2(dst []int64, src []byte) {
	for len(dst) >= 4 {
		b := uint64(src[0])
		dst[0], dst[1], dst[2], dst[3] = int64(b>>6), int64(b>>4&3), int64(b>>2&3), int64(b&3)
		dst, src = dst[4:], src[1:]
	}
	for i := range dst {
		dst[i] = int64(uint64(src[0]) >> (6 - 2*i) & 3)
	}
}

func unpack4(dst []int64, src []byte) {
	for len(dst) >= 2 {
		b := uint64(src[0])
		dst[0], dst[1] = int64(b>>4), int64(b&15)
		dst, src = dst[2:], src[1:]
	}
	if len(dst) > 0 {
		dst[0] = int64(uint64(src[0]) >> 4)
	}
}

func unpack16(dst []int64, src []byte) {
	for len(dst) >= 4 && len(src) >= 8 {
		v := binary.BigEndian.Uint64(src)
		dst[0], dst[1], dst[2], dst[3] = int64(v>>48), int64(v>>32&0xffff), int64(v>>16&0xffff), int64(v&0xffff)
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = int64(uint64(binary.BigEndian.Uint16(src[2*i:])))
	}
}

func unpack24(dst []int64, src []byte) {
	for len(dst) >= 4 && len(src) >= 12 {
		a, b := binary.BigEndian.Uint64(src), uint64(binary.BigEndian.Uint32(src[8:]))
		dst[0], dst[1], dst[2], dst[3] = int64(a>>40), int64(a>>16&0xffffff), int64(a<<8&0xffff00|b>>24), int64(b&0xffffff)
		dst, src = dst[4:], src[12:]
	}
	for i := range dst {
		dst[i] = int64(bigEndian(src[3*i : 3*i+3]))
	}
}

func unpack32(dst []int64, src []byte) {
	for len(dst) >= 2 && len(src) >= 8 {
		v := binary.BigEndian.Uint64(src)
		dst[0], dst[1] = int64(v>>32), int64(v&0xffffffff)
		dst, src = dst[2:], src[8:]
	}
	if len(dst) > 0 {
		dst[0] = int64(uint64(binary.BigEndian.Uint32(src)))
	}
}

// unpackBits reads any width up to 64: up to 56 bits by loads of eight bytes,
// as long as there are eight; what is left bit by bit.
func unpackBits(dst []int64, src []byte, width int) {
	i, bit := 0, 0
	if width <= 56 {
		shift := 64 - width
		for ; i < len(dst) && bit>>3+8 <= len(src); i++ {
			dst[i] = int64(binary.BigEndian.Uint64(src[bit>>3:]) << (bit & 7) >> shift)
			bit += width
		}
	}
	for ; i < len(dst); i++ {
		var v uint64
		for range width {
			v = v<<1 | uint64(src[bit>>3]>>(7-bit&7)&1)
			bit++
		}
		dst[i] = int64(v)
	}
}
