package lakehouse

import (
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
)

// isNumber reports digits, with a minus or without.
func isNumber(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && allDigits(digits)
}

// smallNumber reads digits between blanks as Java's int.
func smallNumber(s string) (int, error) {
	s = javaTrim(s)
	if s == "" || !allDigits(s) {
		return 0, errSyntax
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, errRange
	}
	return int(n), nil
}

// parseDay reads a day: digits alone are the number of the day, else year, year-month or year-month-day,
// up to a blank.
func parseDay(s string) (arrow.Date32, error) {
	if isNumber(s) {
		n, err := parseWhole(s, 32)
		return arrow.Date32(n), err
	}
	if at := strings.IndexByte(s, ' '); at > 0 {
		s = s[:at]
	}
	ymd := [3]int{1, 1, 1}
	parts := strings.SplitN(s, "-", 3)
	for i, p := range parts {
		var err error
		if ymd[i], err = smallNumber(p); err != nil {
			return 0, err
		}
	}
	year, month, day := ymd[0], ymd[1], ymd[2]
	if year > 9999 || month < 1 || month > 12 || day < 1 || day > monthDays(year, month) {
		return 0, errRange
	}
	return arrow.Date32(dayOf(year, month, day)), nil
}

func dayOf(year, month, day int) int64 {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix() / 86400
}

func monthDays(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// parseClock reads hour, hour:minute or hour:minute:second with a fraction, and an offset of a zone after;
// digits alone are milliseconds. Nothing checks that there are so many hours.
func parseClock(s string) (arrow.Time32, error) {
	if isNumber(s) {
		n, err := parseWhole(s, 32)
		return arrow.Time32(n), err
	}
	var zone [2]int
	sign := -1
	at := strings.IndexByte(s, '-')
	if at < 0 {
		at, sign = strings.IndexByte(s, '+'), 1
	}
	var err error
	if at >= 0 {
		for i, p := range strings.SplitN(s[at+1:], ":", 2) {
			if zone[i], err = smallNumber(p); err != nil {
				return 0, err
			}
		}
		s = s[:at]
	}
	var hms [3]int
	fraction := 0
	for i, p := range strings.SplitN(s, ":", 3) {
		if i == 2 {
			whole, digits, _ := strings.Cut(p, ".")
			p, fraction = whole, parseFraction(javaTrim(digits))
		}
		if hms[i], err = smallNumber(p); err != nil {
			return 0, err
		}
	}
	hour, minute := int32(hms[0]+sign*zone[0]), int32(hms[1]+sign*zone[1])
	return arrow.Time32(hour*3_600_000 + minute*60_000 + int32(hms[2])*1000 + int32(fraction)), nil
}

// parseFraction gives milliseconds, rounded by the fourth digit. Other characters are zeros.
func parseFraction(s string) int {
	ms, by := 0, 100
	for i := range min(len(s), 3) {
		if s[i] >= '0' && s[i] <= '9' {
			ms += by * int(s[i]-'0')
		}
		by /= 10
	}
	if len(s) > 3 && s[3] >= '5' {
		ms++
	}
	return ms
}

// parseMoment reads a timestamp; digits alone are units of its precision since
// 1970 for one without a zone.
func parseMoment(s string, to columnar.DataType) (moment, error) {
	zoned := to.Kind == columnar.TimestampLTZ
	if !zoned && isNumber(s) {
		n, err := parseWhole(s, 64)
		if err != nil {
			return moment{}, err
		}
		switch to.Precision {
		case 0:
			return moment{millis: n * 1000}, nil
		case 3:
			return moment{millis: n}, nil
		case 6:
			ms := floorDiv(n, 1000)
			return moment{ms, int32(n-ms*1000) * 1000}, nil
		case 9:
			ms := floorDiv(n, 1_000_000)
			return moment{ms, int32(n - ms*1_000_000)}, nil
		default:
			return moment{}, errNumeric
		}
	}
	p := clockText{rest: s}
	m, err := p.moment()
	if err != nil {
		return m, err
	}
	nanos := (m.millis-floorDiv(m.millis, 1000)*1000)*1_000_000 + int64(m.nanos)
	nanos -= nanos % pow10(int32(9-to.Precision)).Int64()
	m = moment{floorDiv(m.millis, 1000)*1000 + nanos/1_000_000, int32(nanos % 1_000_000)}
	if zoned {
		m = m.instant(time.Local)
	}
	return m, nil
}

// clockText is what is left to read of a text in Java's pattern
// yyyy-[MM][M]-[dd][d][ [HH][H]:[mm][m]:[ss][s][.fraction]].
type clockText struct{ rest string }

// part reads an optional number of two digits, then one of any; absent gives
// def. Both may be there if they are the same.
func (p *clockText) part(def int) int {
	have := false
	if len(p.rest) >= 2 && allDigits(p.rest[:2]) {
		def, have = int(p.rest[0]-'0')*10+int(p.rest[1]-'0'), true
		p.rest = p.rest[2:]
	}
	n := 0
	for n < len(p.rest) && n < 19 && p.rest[n] >= '0' && p.rest[n] <= '9' {
		n++
	}
	if n > 0 {
		if v, err := strconv.Atoi(p.rest[:n]); err == nil && (!have || v == def) {
			def = v
			p.rest = p.rest[n:]
		}
	}
	return def
}

func (p *clockText) skip(s string) bool {
	rest, ok := strings.CutPrefix(p.rest, s)
	p.rest = rest
	return ok
}

// year reads four digits, or more after a plus.
func (p *clockText) year() (int, bool) {
	plus := p.skip("+")
	n := 0
	for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
		n++
	}
	if n < 4 || plus != (n > 4) {
		return 0, false
	}
	v, err := strconv.Atoi(p.rest[:n])
	p.rest = p.rest[n:]
	return v, err == nil && v >= 1 && v <= 999_999_999
}

func (p *clockText) moment() (moment, error) {
	year, ok := p.year()
	if !ok || !p.skip("-") {
		return moment{}, errSyntax
	}
	month := p.part(1)
	if !p.skip("-") {
		return moment{}, errSyntax
	}
	day := p.part(1)
	var hour, minute, second, nanos int
	if p.skip(" ") {
		hour = p.part(0)
		if !p.skip(":") {
			return moment{}, errSyntax
		}
		minute = p.part(0)
		if !p.skip(":") {
			return moment{}, errSyntax
		}
		second = p.part(0)
		if p.skip(".") {
			by := 100_000_000
			for len(p.rest) > 0 && by > 0 && p.rest[0] >= '0' && p.rest[0] <= '9' {
				nanos += by * int(p.rest[0]-'0')
				by /= 10
				p.rest = p.rest[1:]
			}
		}
	}
	midnight := hour == 24 && minute == 0 && second == 0 && nanos == 0
	switch {
	case p.rest != "":
		return moment{}, errSyntax
	case month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 && !midnight || minute > 59 || second > 59:
		return moment{}, errRange
	}
	// Days past the end of a month are its last one, as Java reads them.
	day = min(day, monthDays(year, month))
	seconds := dayOf(year, month, day)*86400 + int64(hour*3600+minute*60+second)
	return moment{seconds*1000 + int64(nanos/1_000_000), int32(nanos % 1_000_000)}, nil
}
