package mysqlrow

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
)

// nextField takes one length-encoded field off a row packet of the text
// protocol. It gives the field, whether it is NULL, and how many bytes it took;
// 0 bytes mean that the packet ends within the field.
func nextField(b []byte) (field []byte, null bool, n int) {
	if len(b) == 0 {
		return nil, false, 0
	}
	var size uint64
	head := 1
	switch b[0] {
	case 0xFB:
		return nil, true, 1
	case 0xFC:
		head = 3
	case 0xFD:
		head = 4
	case 0xFE:
		head = 9
	case 0xFF:
		return nil, false, 0
	default:
		size = uint64(b[0])
	}
	if len(b) < head {
		return nil, false, 0
	}
	for i := head - 1; i > 0; i-- {
		size = size<<8 | uint64(b[i])
	}
	if size > uint64(len(b)-head) {
		return nil, false, 0
	}
	return b[head : head+int(size)], false, head + int(size)
}

func textInt(c *cell, v *vec, f []byte) status {
	x, st := parseInt(f, c.unsigned64)
	if st != okay {
		return st
	}
	return c.putInt(c, v, x)
}

// parseInt reads an integer, perhaps with the leading zeros of ZEROFILL. That
// of BIGINT UNSIGNED comes back as its 64 bits.
func parseInt(f []byte, unsigned64 bool) (int64, status) {
	neg := len(f) > 0 && f[0] == '-'
	if neg {
		f = f[1:]
	}
	for len(f) > 1 && f[0] == '0' {
		f = f[1:]
	}
	if len(f) == 0 || len(f) > 20 {
		return 0, badValue
	}
	var x uint64
	for i, ch := range f {
		d := uint64(ch - '0')
		if d > 9 {
			return 0, badValue
		}
		if i == 19 && (x > math.MaxUint64/10 || x == math.MaxUint64/10 && d > math.MaxUint64%10) {
			return 0, outOfRange
		}
		x = x*10 + d
	}
	switch {
	case unsigned64:
		if neg {
			return 0, outOfRange
		}
		return int64(x), okay
	case neg && x <= 1<<63:
		return -int64(x), okay
	case !neg && x <= math.MaxInt64:
		return int64(x), okay
	default:
		return 0, outOfRange
	}
}

func textDecimal(c *cell, v *vec, f []byte) status {
	var buf [maxDecimalDigits]byte
	digits := buf[:0]
	neg := len(f) > 0 && f[0] == '-'
	if neg {
		f = f[1:]
	}
	frac, inFrac := 0, false
	for _, ch := range f {
		switch {
		case ch == '.' && !inFrac:
			inFrac = true
			continue
		case ch < '0' || ch > '9':
			return badValue
		case ch == '0' && len(digits) == 0 && !inFrac:
			continue // of ZEROFILL, or the 0 before the point
		}
		if len(digits) == len(buf) {
			return outOfRange
		}
		digits = append(digits, ch)
		if inFrac {
			frac++
		}
	}
	if frac > c.scale || len(f) == 0 {
		return badValue
	}
	for ; frac < c.scale && len(digits) < len(buf); frac++ {
		digits = append(digits, '0')
	}
	if c.store == storeBytes {
		return c.putDigitText(v, neg, digits)
	}
	if len(digits) > maxDecimalPrecision {
		return outOfRange
	}
	var n u128
	for len(digits) > 0 {
		k := min(len(digits), 18)
		var part uint64
		for _, d := range digits[:k] {
			part = part*10 + uint64(d-'0')
		}
		n = n.mulAdd(pow10[k], part)
		digits = digits[k:]
	}
	return c.putDigits(v, neg, n)
}

func textFloat(c *cell, v *vec, f []byte) status {
	x, err := strconv.ParseFloat(string(f), 64)
	if err != nil {
		return badValue
	}
	return c.putFloat(v, x)
}

func textText(c *cell, v *vec, f []byte) status { return c.putText(v, f) }

func textBytes(c *cell, v *vec, f []byte) status { return c.putBytes(v, f) }

func textBit(c *cell, v *vec, f []byte) status { return c.putBit(v, f) }

func textGeometry(c *cell, v *vec, f []byte) status { return c.putGeometry(v, f) }

func textVector(c *cell, v *vec, f []byte) status { return c.putVector(v, f) }

// textJSON takes the text of the server, which has a blank behind ':' and ','.
func textJSON(c *cell, v *vec, f []byte) status {
	if c.spaced {
		v.data = append(v.data, f...)
	} else {
		v.data = appendCompactJSON(v.data, f)
	}
	return v.endText()
}

// textTime reads [-]hh:mm:ss with up to six fraction digits; hours may have three.
func textTime(c *cell, v *vec, f []byte) status {
	neg, at, good := parseTime(f)
	if !good {
		return badValue
	}
	return c.putTime(v, neg, at)
}

// parseTime takes a TIME apart.
func parseTime(f []byte) (neg bool, at clock, good bool) {
	neg = len(f) > 0 && f[0] == '-'
	if neg {
		f = f[1:]
	}
	if i := bytes.IndexByte(f, ':'); i == 3 {
		if f[0] < '0' || f[0] > '9' {
			return false, clock{}, false
		}
		at.hour = int(f[0]-'0') * 100
		f = f[1:]
	}
	const fixed = len("15:04:05")
	if len(f) < fixed || len(f) > fixed+7 || len(f) == fixed+1 || f[2] != ':' || f[5] != ':' {
		return false, clock{}, false
	}
	hour, minute, second := twoDigits(f), twoDigits(f[3:]), twoDigits(f[6:])
	if hour|minute|second < 0 {
		return false, clock{}, false
	}
	at.hour, at.minute, at.second = at.hour+hour, minute, second
	at.micro, good = parseFraction(f[fixed:])
	return neg, at, good
}

// parseFraction reads a point and up to six digits as microseconds, or nothing as none.
func parseFraction(f []byte) (micro int, good bool) {
	if len(f) == 0 {
		return 0, true
	}
	if f[0] != '.' || len(f) == 1 || len(f) > 7 {
		return 0, false
	}
	for _, ch := range f[1:] {
		if ch < '0' || ch > '9' {
			return 0, false
		}
		micro = micro*10 + int(ch-'0')
	}
	return micro * int(pow10[7-len(f)]), true
}

func textDate(c *cell, v *vec, f []byte) status {
	if len(f) != len("2006-01-02") {
		return badValue
	}
	year, month, day, good := parseDate(f)
	if !good {
		return badValue
	}
	return c.putDate(v, year, month, day)
}

func textDatetime(c *cell, v *vec, f []byte) status {
	year, month, day, at, good := parseDatetime(f)
	if !good {
		return badValue
	}
	return c.putDatetime(v, year, month, day, at)
}

// textTimestamp reads a TIMESTAMP that the server printed in UTC.
func textTimestamp(c *cell, v *vec, f []byte) status {
	year, month, day, at, good := parseDatetime(f)
	if !good || at.hour > 23 || at.minute > 59 || at.second > 59 {
		return badValue
	}
	d, exists := civilDays(year, month, day)
	if !exists {
		return c.putTimestamp(v, 0, 0)
	}
	return c.putTimestamp(v, int64(d)*86_400+int64(at.hour*3600+at.minute*60+at.second), at.micro)
}

// parseDate reads YYYY-MM-DD at the front of f, which is long enough.
func parseDate(f []byte) (year, month, day int, good bool) {
	hi, lo := twoDigits(f), twoDigits(f[2:])
	month, day = twoDigits(f[5:]), twoDigits(f[8:])
	good = hi|lo|month|day >= 0 && f[4] == '-' && f[7] == '-'
	return hi*100 + lo, month, day, good
}

// parseDatetime reads YYYY-MM-DD hh:mm:ss with up to six fraction digits.
func parseDatetime(f []byte) (year, month, day int, at clock, good bool) {
	const fixed = len("2006-01-02 15:04:05")
	if len(f) < fixed || len(f) > fixed+7 {
		return 0, 0, 0, clock{}, false
	}
	year, month, day, good = parseDate(f)
	at.hour, at.minute, at.second = twoDigits(f[11:]), twoDigits(f[14:]), twoDigits(f[17:])
	good = good && at.hour|at.minute|at.second >= 0 && f[10] == ' ' && f[13] == ':' && f[16] == ':'
	if len(f) == fixed || !good {
		return year, month, day, at, good
	}
	at.micro, good = parseFraction(f[fixed:])
	return year, month, day, at, good
}

// twoDigits reads two decimal digits; a negative number says that they are none.
func twoDigits(b []byte) int {
	v := binary.BigEndian.Uint16(b) - 0x3030
	if v>>8 > 9 || v&0xFF > 9 {
		return -1
	}
	return int(v>>8)*10 + int(v&0xFF)
}
