package expr

import (
	"math"
	"math/bits"
)

const (
	secondsPerDay = 86400
	millisPerDay  = secondsPerDay * 1000
)

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

// unitDigits gives the fraction digits of the unit that stores a timestamp of a precision.
func unitDigits(precision int) int {
	switch {
	case precision <= 3:
		return 3
	case precision <= 6:
		return 6
	default:
		return 9
	}
}

func unitsPerSecond(precision int) int64 { return int64(pow10u64[unitDigits(precision)]) }

// daysOf gives the days from 1970-01-01 to a day of the proleptic Gregorian calendar.
func daysOf(year, month, day int) int64 {
	y, m := int64(year), int64(month)
	if m <= 2 {
		y--
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	doy := (153*((m+9)%12)+2)/5 + int64(day) - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// dateOf is the inverse of daysOf.
func dateOf(days int64) (year, month, day int) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d := int(doy - (153*mp+2)/5 + 1)
	m := int(mp) + 3
	y := yoe + era*400
	if m > 12 {
		m -= 12
		y++
	}
	return int(y), m, d
}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysInMonth(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if isLeap(year) {
			return 29
		}
		return 28
	default:
		return 31
	}
}

func validDate(y, m, d int) bool {
	return y >= 0 && y <= 9999 && m >= 1 && m <= 12 && d >= 1 && d <= daysInMonth(y, m)
}

// timestampUnits counts a point in the unit of a precision, cut off to the
// precision as Flink does; ok is false outside the range of int64.
func timestampUnits(sec int64, nanos, precision int) (units int64, ok bool) {
	ms, ok := mulAdd(sec, 1000, int64(nanos/1e6))
	if !ok {
		return 0, false
	}
	return fromMillis(ms, nanos%1e6, precision)
}

// fromMillis is timestampUnits for milliseconds and the nanoseconds beyond them.
// Up to three digits Flink cuts the milliseconds toward the epoch, beyond
// that the nanoseconds toward the past.
func fromMillis(ms int64, nanos, precision int) (int64, bool) {
	if precision <= 3 {
		step := int64(pow10u64[3-precision])
		return ms / step * step, true
	}
	step := int(pow10u64[9-precision])
	nanos -= nanos % step
	if precision <= 6 {
		return mulAdd(ms, 1000, int64(nanos/1000))
	}
	return mulAdd(ms, 1e6, int64(nanos))
}

// toMillis splits units of a precision into milliseconds and the nanoseconds beyond them.
func toMillis(v int64, precision int) (ms int64, nanos int) {
	switch unitDigits(precision) {
	case 3:
		return v, 0
	case 6:
		ms = floorDiv(v, 1000)
		return ms, int(v-ms*1000) * 1000
	default:
		ms = floorDiv(v, 1e6)
		return ms, int(v - ms*1e6)
	}
}

// mulAdd gives a·m+b for b ≥ 0, unless int64 does not hold it.
func mulAdd(a, m, b int64) (int64, bool) {
	neg := a < 0
	u := uint64(a)
	if neg {
		u = -u
	}
	hi, lo := bits.Mul64(u, uint64(m))
	if hi != 0 || lo > math.MaxInt64-uint64(b) {
		return 0, false
	}
	if neg {
		return b - int64(lo), true
	}
	return int64(lo) + b, true
}

// truncateMillis cuts a time of day to precision fraction digits.
func truncateMillis(ms int32, precision int) int32 {
	if precision >= 3 {
		return ms
	}
	step := int32(pow10u64[3-precision])
	return ms / step * step
}

// digits reads one to limit decimal digits at the start of s.
func digits(s string, limit int) (value, n int) {
	for n < len(s) && n < limit && s[n] >= '0' && s[n] <= '9' {
		value = value*10 + int(s[n]-'0')
		n++
	}
	return value, n
}

// splitYMD reads y-m-d at the start of s and gives what follows; the parts may be out of range.
func splitYMD(s string) (y, m, d int, rest string, ok bool) {
	var n int
	if y, n = digits(s, 9); n == 0 || n >= len(s) || s[n] != '-' {
		return 0, 0, 0, "", false
	}
	s = s[n+1:]
	if m, n = digits(s, 2); n == 0 || n >= len(s) || s[n] != '-' {
		return 0, 0, 0, "", false
	}
	s = s[n+1:]
	if d, n = digits(s, 2); n == 0 {
		return 0, 0, 0, "", false
	}
	return y, m, d, s[n:], true
}

// parseLiteralDate reads the text of a DATE literal.
func parseLiteralDate(s string) (days int32, ok bool) {
	y, m, d, rest, ok := splitYMD(s)
	if !ok || rest != "" || !validDate(y, m, d) {
		return 0, false
	}
	return int32(daysOf(y, m, d)), true
}

// parseDate reads what CAST(… AS DATE) accepts: y, y-m or y-m-d, then nothing or a blank and anything.
func parseDate(s string) (days int32, ok bool) {
	s = trimBlanks(s)
	for i := range len(s) {
		if s[i] == ' ' {
			s = s[:i]
			break
		}
	}
	y, n := digits(s, 9)
	if n == 0 {
		return 0, false
	}
	m, d := 1, 1
	if s = s[n:]; s != "" {
		if s[0] != '-' {
			return 0, false
		}
		if m, n = digits(s[1:], 2); n == 0 {
			return 0, false
		}
		if s = s[1+n:]; s != "" {
			if s[0] != '-' {
				return 0, false
			}
			if d, n = digits(s[1:], 2); n == 0 || 1+n != len(s) {
				return 0, false
			}
		}
	}
	if !validDate(y, m, d) {
		return 0, false
	}
	return int32(daysOf(y, m, d)), true
}

// parseClock reads H:m:s[.f] and gives seconds of the day and nanoseconds.
func parseClock(s string) (sec, nanos int, ok bool) {
	h, n := digits(s, 2)
	if n == 0 || n >= len(s) || s[n] != ':' {
		return 0, 0, false
	}
	s = s[n+1:]
	m, n := digits(s, 2)
	if n == 0 || n >= len(s) || s[n] != ':' {
		return 0, 0, false
	}
	s = s[n+1:]
	x, n := digits(s, 2)
	if n == 0 || h > 23 || m > 59 || x > 59 {
		return 0, 0, false
	}
	nanos, ok = parseFraction(s[n:])
	return h*3600 + m*60 + x, nanos, ok
}

// parseFraction reads nothing or a point and up to nine digits.
func parseFraction(s string) (nanos int, ok bool) {
	if s == "" {
		return 0, true
	}
	if s[0] != '.' {
		return 0, false
	}
	v, n := digits(s[1:], 9)
	if 1+n != len(s) {
		return 0, false
	}
	return v * int(pow10u64[9-n]), true
}

// parseTime reads what CAST(… AS TIME) accepts and gives milliseconds of the day.
func parseTime(s string) (ms int32, ok bool) {
	s = trimBlanks(s)
	if h, n := digits(s, 2); n > 0 && h < 24 {
		if n == len(s) {
			return int32(h * 3600000), true
		}
		if m, k := digits(s[n+1:], 2); s[n] == ':' && k > 0 && n+1+k == len(s) && m < 60 {
			return int32(h*3600000 + m*60000), true
		}
	}
	sec, nanos, ok := parseClock(s)
	return int32(sec*1000 + nanos/1e6), ok
}

// parseTimestamp reads what CAST(… AS TIMESTAMP) accepts, y-m-d[ H:m:s[.f]], and
// gives seconds since the epoch and nanoseconds. As in Flink the year has four
// digits and day 30 or 31 of a shorter month is its last day.
func parseTimestamp(s string) (sec int64, nanos int, ok bool) {
	y, m, d, rest, ok := splitYMD(trimBlanks(s))
	if !ok || y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 || d > 31 {
		return 0, 0, false
	}
	d = min(d, daysInMonth(y, m))
	sec = daysOf(y, m, d) * secondsPerDay
	if rest == "" {
		return sec, 0, true
	}
	if rest[0] != ' ' {
		return 0, 0, false
	}
	clock, nanos, ok := parseClock(rest[1:])
	return sec + int64(clock), nanos, ok
}

func trimBlanks(s string) string {
	for s != "" && s[0] <= ' ' {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// appendPadded writes v with at least width digits.
func appendPadded(b []byte, v, width int) []byte {
	if width == 2 && uint(v) < 100 {
		return append(b, byte('0'+v/10), byte('0'+v%10))
	}
	if v < 0 {
		b = append(b, '-')
		v = -v
	}
	var tmp [20]byte
	i := len(tmp)
	for v > 0 || width > 0 {
		i--
		tmp[i] = byte('0' + v%10)
		v /= 10
		width--
	}
	return append(b, tmp[i:]...)
}

func appendDate(b []byte, days int64) []byte {
	y, m, d := dateOf(days)
	b = append(appendPadded(b, y, 4), '-')
	b = append(appendPadded(b, m, 2), '-')
	return appendPadded(b, d, 2)
}

func appendClock(b []byte, sec int) []byte {
	b = append(appendPadded(b, sec/3600, 2), ':')
	b = append(appendPadded(b, sec/60%60, 2), ':')
	return appendPadded(b, sec%60, 2)
}

// appendTime writes HH:mm:ss and precision fraction digits.
func appendTime(b []byte, ms int32, precision int) []byte {
	b = appendClock(b, int(ms/1000))
	return appendFraction(b, int(ms%1000)*1e6, min(precision, 3))
}

func appendFraction(b []byte, nanos, precision int) []byte {
	if precision == 0 {
		return b
	}
	return appendPadded(append(b, '.'), nanos/int(pow10u64[9-precision]), precision)
}

// appendTimestamp writes yyyy-MM-dd HH:mm:ss and precision fraction digits.
func appendTimestamp(b []byte, v int64, precision int) []byte {
	per := unitsPerSecond(precision)
	sec := floorDiv(v, per)
	days := floorDiv(sec, secondsPerDay)
	b = append(appendDate(b, days), ' ')
	b = appendClock(b, int(sec-days*secondsPerDay))
	return appendFraction(b, int(v-sec*per)*int(1e9/per), precision)
}
