package mysqlrow

import (
	"encoding/binary"
	"math"
)

// A reader takes the value at the front of b, stores it and gives the number of
// bytes it took, or a negative status. b may be shorter than the value.
type reader func(s *step, v *vec, b []byte) int

// take turns the outcome of storing a value of n bytes into that of its reader.
func take(n int, st status) int {
	if st != okay {
		return int(st)
	}
	return n
}

// readSkip passes a value of fixed size.
func readSkip(s *step, _ *vec, b []byte) int {
	if len(b) < s.size {
		return int(truncated)
	}
	return s.size
}

// readSkipVar passes a value with a length in front.
func readSkipVar(s *step, _ *vec, b []byte) int {
	_, n := s.variable(b)
	return n
}

// variable gives the value with a length in front, and the bytes both take.
func (s *step) variable(b []byte) (value []byte, n int) {
	if len(b) < s.prefix {
		return nil, int(truncated)
	}
	var size int
	switch s.prefix {
	case 1:
		size = int(b[0])
	case 2:
		size = int(binary.LittleEndian.Uint16(b))
	case 3:
		size = int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	default:
		size = int(binary.LittleEndian.Uint32(b))
	}
	if size > len(b)-s.prefix {
		return nil, int(truncated)
	}
	return b[s.prefix : s.prefix+size], s.prefix + size
}

// integer reads an integer of size bytes, widened by its sign.
func integer(b []byte, size int, unsigned bool) int64 {
	switch size {
	case 1:
		if unsigned {
			return int64(b[0])
		}
		return int64(int8(b[0]))
	case 2:
		x := binary.LittleEndian.Uint16(b)
		if unsigned {
			return int64(x)
		}
		return int64(int16(x))
	case 3:
		x := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		if unsigned {
			return int64(x)
		}
		return int64(int32(x<<8) >> 8)
	case 4:
		x := binary.LittleEndian.Uint32(b)
		if unsigned {
			return int64(x)
		}
		return int64(int32(x))
	default:
		return int64(binary.LittleEndian.Uint64(b))
	}
}

func readInt(s *step, v *vec, b []byte) int {
	if len(b) < s.size {
		return int(truncated)
	}
	return take(s.size, s.cell.putInt(s.cell, v, integer(b, s.size, s.unsigned)))
}

func readFloat(s *step, v *vec, b []byte) int {
	if len(b) < s.size {
		return int(truncated)
	}
	var x float64
	if s.size == 4 {
		x = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	} else {
		x = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return int(badValue)
	}
	return take(s.size, s.cell.putFloat(v, x))
}

func readDecimal(s *step, v *vec, b []byte) int {
	d := &s.decimal
	if len(b) < d.size {
		return int(truncated)
	}
	if s.cell.store == storeBytes {
		var buf [maxDecimalDigits]byte
		digits, neg, good := d.text(buf[:0], b)
		if !good {
			return int(badValue)
		}
		return take(d.size, s.cell.putDigitText(v, neg, digits))
	}
	n, neg, good := d.number(b)
	if !good {
		return int(badValue)
	}
	return take(d.size, s.cell.putDigits(v, neg, n))
}

func readText(s *step, v *vec, b []byte) int {
	value, n := s.variable(b)
	if n < 0 {
		return n
	}
	return take(n, s.cell.putText(v, value))
}

func readBytes(s *step, v *vec, b []byte) int {
	value, n := s.variable(b)
	if n < 0 {
		return n
	}
	return take(n, s.cell.putBytes(v, value))
}

// readDate reads year<<9 | month<<5 | day.
func readDate(s *step, v *vec, b []byte) int {
	if len(b) < 3 {
		return int(truncated)
	}
	x := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	return take(3, s.cell.putDate(v, x>>9, x>>5&15, x&31))
}

// readDatetime reads the packed form, or that of tables made before MySQL 5.6.4,
// the number YYYYMMDDhhmmss. The packed form is a sign bit that is always set, then
// year*13+month, day, hour, minute and second, then the fraction.
func readDatetime(s *step, v *vec, b []byte) int {
	if len(b) < s.size {
		return int(truncated)
	}
	year, month, day, at, good := s.datetime(b)
	if !good {
		return int(badValue)
	}
	return take(s.size, s.cell.putDatetime(v, year, month, day, at))
}

// datetime takes a DATETIME of either form apart; b is long enough.
func (s *step) datetime(b []byte) (year, month, day int, at clock, good bool) {
	if s.old && s.digits > 0 {
		return s.fineDatetime(b)
	}
	if s.old {
		x := binary.LittleEndian.Uint64(b)
		d, tm := int(x/1_000_000%1_000_000_000), int(x%1_000_000)
		return d / 10_000, d / 100 % 100, d % 100, clock{hour: tm / 10_000, minute: tm / 100 % 100, second: tm % 100}, true
	}
	x := uint64(b[0])<<32 | uint64(binary.BigEndian.Uint32(b[1:]))
	good = x>>39 == 1
	x &= 1<<39 - 1
	ym := int(x >> 22)
	at = clock{
		hour: int(x >> 12 & 31), minute: int(x >> 6 & 63), second: int(x & 63),
		micro: s.fraction(b[5:]),
	}
	return ym / 13, ym % 13, int(x >> 17 & 31), at, good
}

// readTimestamp reads seconds since the epoch, then the fraction; tables made
// before MySQL 5.6.4 have little-endian seconds alone.
func readTimestamp(s *step, v *vec, b []byte) int {
	if len(b) < s.size {
		return int(truncated)
	}
	sec, micro, good := s.timestamp(b)
	if !good {
		return int(badValue)
	}
	return take(s.size, s.cell.putTimestamp(v, sec, micro))
}

// timestamp takes a TIMESTAMP of either form apart; b is long enough.
func (s *step) timestamp(b []byte) (sec int64, micro int, good bool) {
	switch {
	case s.old && s.digits > 0:
		return s.fineTimestamp(b)
	case s.old:
		return int64(binary.LittleEndian.Uint32(b)), 0, true
	default:
		return int64(binary.BigEndian.Uint32(b)), s.fraction(b[4:]), true
	}
}

// fraction reads the fraction digits of a time as microseconds.
func (s *step) fraction(b []byte) int {
	switch s.digits {
	case 0:
		return 0
	case 1, 2:
		return int(b[0]) * 10_000
	case 3, 4:
		return int(binary.BigEndian.Uint16(b)) * 100
	default:
		return int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	}
}

// readTime reads the packed form, or that of tables made before MySQL 5.6.4, the
// number hhmmss. The packed form is hours, minutes and seconds in 10, 6 and 6 bits,
// then the fraction, all as one number whose sign is that of the span.
func readTime(s *step, v *vec, b []byte) int {
	if len(b) < s.size {
		return int(truncated)
	}
	neg, at, good := s.time(b)
	if !good {
		return int(badValue)
	}
	return take(s.size, s.cell.putTime(v, neg, at))
}

// time takes a TIME of either form apart; b is long enough.
func (s *step) time(b []byte) (neg bool, at clock, good bool) {
	if s.old && s.digits > 0 {
		return s.fineTime(b)
	}
	var x int64
	if s.old {
		x = integer(b, 3, false)
	} else {
		for _, d := range b[:s.size] {
			x = x<<8 | int64(d)
		}
		x -= 1 << (8*s.size - 1)
	}
	if neg = x < 0; neg {
		x = -x
	}
	if s.old {
		return neg, clock{hour: int(x / 10_000), minute: int(x / 100 % 100), second: int(x % 100)}, true
	}
	fraction := s.size - 3
	at.micro = int(x & (1<<(8*fraction) - 1) * int64(pow10[6-2*fraction]))
	x >>= 8 * fraction
	at.hour, at.minute, at.second = int(x>>12&1023), int(x>>6&63), int(x&63)
	return neg, at, true
}

// readYear reads the years from 1900 on; 0 is the year 0000.
func readYear(s *step, v *vec, b []byte) int {
	if len(b) < 1 {
		return int(truncated)
	}
	return take(1, s.cell.putInt(s.cell, v, year(b[0])))
}

func year(b byte) int64 {
	if b == 0 {
		return 0
	}
	return int64(b) + 1900
}

// readBit reads big-endian bytes.
func readBit(s *step, v *vec, b []byte) int {
	if len(b) < s.size {
		return int(truncated)
	}
	return take(s.size, s.cell.putBit(v, b[:s.size]))
}

func readJSON(s *step, v *vec, b []byte) int {
	value, n := s.variable(b)
	if n < 0 {
		return n
	}
	return take(n, s.cell.putJSON(v, value))
}

func readGeometry(s *step, v *vec, b []byte) int {
	value, n := s.variable(b)
	if n < 0 {
		return n
	}
	return take(n, s.cell.putGeometry(v, value))
}

func readVector(s *step, v *vec, b []byte) int {
	value, n := s.variable(b)
	if n < 0 {
		return n
	}
	return take(n, s.cell.putVector(v, value))
}
