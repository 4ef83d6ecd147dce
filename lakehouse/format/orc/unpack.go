package orc

import "encoding/binary"

// unpack reads len(dst) values of the given width from src, which is long
// enough; signed ones are zigzag.
func unpack(dst []int64, src []byte, width int, signed bool) {
	// With z 0 or 1, value gives u or its zigzag meaning without a branch.
	z := uint64(0)
	if signed {
		z = 1
	}
	switch width {
	case 1:
		unpack1(dst, src, z)
	case 2:
		unpack2(dst, src, z)
	case 4:
		unpack4(dst, src, z)
	case 8:
		for i, b := range src[:len(dst)] {
			dst[i] = value(uint64(b), z)
		}
	case 16:
		unpack16(dst, src, z)
	case 24:
		unpack24(dst, src, z)
	case 32:
		unpack32(dst, src, z)
	case 64:
		for i := range dst {
			dst[i] = value(binary.BigEndian.Uint64(src[8*i:]), z)
		}
	default:
		unpackBits(dst, src, width, z)
	}
}

func value(u, z uint64) int64 { return int64(u>>(z&1) ^ -(u & z)) }

func unpack1(dst []int64, src []byte, z uint64) {
	for len(dst) >= 8 {
		b := uint64(src[0])
		dst[0], dst[1], dst[2], dst[3] = value(b>>7, z), value(b>>6&1, z), value(b>>5&1, z), value(b>>4&1, z)
		dst[4], dst[5], dst[6], dst[7] = value(b>>3&1, z), value(b>>2&1, z), value(b>>1&1, z), value(b&1, z)
		dst, src = dst[8:], src[1:]
	}
	for i := range dst {
		dst[i] = value(uint64(src[0])>>(7-i)&1, z)
	}
}

func unpack2(dst []int64, src []byte, z uint64) {
	for len(dst) >= 4 {
		b := uint64(src[0])
		dst[0], dst[1], dst[2], dst[3] = value(b>>6, z), value(b>>4&3, z), value(b>>2&3, z), value(b&3, z)
		dst, src = dst[4:], src[1:]
	}
	for i := range dst {
		dst[i] = value(uint64(src[0])>>(6-2*i)&3, z)
	}
}

func unpack4(dst []int64, src []byte, z uint64) {
	for len(dst) >= 2 {
		b := uint64(src[0])
		dst[0], dst[1] = value(b>>4, z), value(b&15, z)
		dst, src = dst[2:], src[1:]
	}
	if len(dst) > 0 {
		dst[0] = value(uint64(src[0])>>4, z)
	}
}

func unpack16(dst []int64, src []byte, z uint64) {
	for len(dst) >= 4 && len(src) >= 8 {
		v := binary.BigEndian.Uint64(src)
		dst[0], dst[1], dst[2], dst[3] = value(v>>48, z), value(v>>32&0xffff, z), value(v>>16&0xffff, z), value(v&0xffff, z)
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = value(uint64(binary.BigEndian.Uint16(src[2*i:])), z)
	}
}

func unpack24(dst []int64, src []byte, z uint64) {
	for len(dst) >= 4 && len(src) >= 12 {
		a, b := binary.BigEndian.Uint64(src), uint64(binary.BigEndian.Uint32(src[8:]))
		dst[0], dst[1], dst[2], dst[3] = value(a>>40, z), value(a>>16&0xffffff, z), value(a<<8&0xffff00|b>>24, z), value(b&0xffffff, z)
		dst, src = dst[4:], src[12:]
	}
	for i := range dst {
		dst[i] = value(bigEndian(src[3*i:3*i+3]), z)
	}
}

func unpack32(dst []int64, src []byte, z uint64) {
	for len(dst) >= 2 && len(src) >= 8 {
		v := binary.BigEndian.Uint64(src)
		dst[0], dst[1] = value(v>>32, z), value(v&0xffffffff, z)
		dst, src = dst[2:], src[8:]
	}
	if len(dst) > 0 {
		dst[0] = value(uint64(binary.BigEndian.Uint32(src)), z)
	}
}

// unpackBits reads any width up to 64: up to 56 bits by loads of eight bytes,
// as long as there are eight; what is left bit by bit.
func unpackBits(dst []int64, src []byte, width int, z uint64) {
	i, bit := 0, 0
	if width <= 56 {
		shift := 64 - width
		for ; i < len(dst) && bit>>3+8 <= len(src); i++ {
			dst[i] = value(binary.BigEndian.Uint64(src[bit>>3:])<<(bit&7)>>shift, z)
			bit += width
		}
	}
	for ; i < len(dst); i++ {
		var v uint64
		for range width {
			v = v<<1 | uint64(src[bit>>3]>>(7-bit&7)&1)
			bit++
		}
		dst[i] = value(v, z)
	}
}
