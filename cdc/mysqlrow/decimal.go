package mysqlrow

import "encoding/binary"

// maxDecimalDigits is the largest precision of a MySQL DECIMAL.
const maxDecimalDigits = 65

// decimalForm is the packed form of DECIMAL(p,s): groups of up to nine digits,
// each a big-endian number; the partial group of the whole part comes first,
// that of the fraction last. The top bit of the first byte is set for numbers
// that are not negative; all other bits of a negative number are inverted.
type decimalForm struct {
	groups []digitGroup
	size   int // bytes
}

type digitGroup struct {
	bytes, digits int
}

// groupBytes is the size of a group by its digits.
var groupBytes = [10]int{0, 1, 1, 2, 2, 3, 3, 4, 4, 4}

// maxWorkingDigits is the largest precision of a decimal that the server works
// with, as it may stand in JSON.
const maxWorkingDigits = 81

// newDecimalForm gives the form of DECIMAL(precision,scale), false for numbers that MySQL does not have.
func newDecimalForm(precision, scale int) (decimalForm, bool) {
	if precision > maxDecimalDigits {
		return decimalForm{}, false
	}
	return newWorkingForm(precision, scale)
}

// newWorkingForm is newDecimalForm for up to maxWorkingDigits.
func newWorkingForm(precision, scale int) (decimalForm, bool) {
	if precision < 1 || precision > maxWorkingDigits || scale > precision {
		return decimalForm{}, false
	}
	var f decimalForm
	add := func(digits int) {
		if digits > 0 {
			f.groups = append(f.groups, digitGroup{bytes: groupBytes[digits], digits: digits})
			f.size += groupBytes[digits]
		}
	}
	whole := precision - scale
	add(whole % 9)
	for range whole/9 + scale/9 {
		add(9)
	}
	add(scale % 9)
	return f, true
}

// group reads one group of n bytes.
func group(b []byte, n int) uint32 {
	switch n {
	case 1:
		return uint32(b[0])
	case 2:
		return uint32(binary.BigEndian.Uint16(b))
	case 3:
		return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
	default:
		return binary.BigEndian.Uint32(b)
	}
}

// allBits has every bit set.
const allBits = ^uint32(0)

// masks gives the bits to turn in every group of a number that begins with the
// byte first, and the sign bit, to be turned in the first group alone.
func (f *decimalForm) masks(first byte) (every, sign uint32, neg bool) {
	sign = 0x80 << (8 * (f.groups[0].bytes - 1))
	if first&0x80 == 0 {
		return allBits, sign, true
	}
	return 0, sign, false
}

// number reads a decimal of up to 38 digits; b holds at least size bytes.
func (f *decimalForm) number(b []byte) (n u128, neg, good bool) {
	every, sign, neg := f.masks(b[0])
	var small uint64 // of the first 18 digits, which need no 128 bits
	digits := 0
	for _, g := range f.groups {
		part := (group(b, g.bytes) ^ sign ^ every) & (allBits >> (32 - 8*g.bytes))
		sign = 0
		m := pow10[g.digits]
		if uint64(part) >= m {
			return u128{}, false, false
		}
		if digits += g.digits; digits <= 18 {
			small = small*m + uint64(part)
			n.lo = small
		} else {
			n = n.mulAdd(m, uint64(part))
		}
		b = b[g.bytes:]
	}
	return n, neg, true
}

// text appends all digits of a decimal to dst; b holds at least size bytes.
func (f *decimalForm) text(dst, b []byte) (digits []byte, neg, good bool) {
	every, sign, neg := f.masks(b[0])
	for _, g := range f.groups {
		part := (group(b, g.bytes) ^ sign ^ every) & (allBits >> (32 - 8*g.bytes))
		sign = 0
		if uint64(part) >= pow10[g.digits] {
			return nil, false, false
		}
		for k := g.digits - 1; k >= 0; k-- {
			dst = append(dst, byte('0'+uint64(part)/pow10[k]%10))
		}
		b = b[g.bytes:]
	}
	return dst, neg, true
}
