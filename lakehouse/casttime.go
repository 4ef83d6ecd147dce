package lakehouse

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/internal/columnar"
)

const millisOfDay = 86_400_000

// moment is a timestamp as Paimon has it: milliseconds since 1970 and the
// nanoseconds in the last one, 0 to 999,999.
type moment struct {
	millis int64
	nanos  int32
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func moments(a *array.Timestamp, t columnar.DataType) func(i int) moment {
	switch columnar.TimestampUnit(t.Precision) {
	case arrow.Millisecond:
		return func(i int) moment { return moment{millis: int64(a.Value(i))} }
	case arrow.Microsecond:
		return func(i int) moment {
			v := int64(a.Value(i))
			ms := floorDiv(v, 1000)
			return moment{ms, int32(v-ms*1000) * 1000}
		}
	default:
		return func(i int) moment {
			v := int64(a.Value(i))
			ms := floorDiv(v, 1_000_000)
			return moment{ms, int32(v - ms*1_000_000)}
		}
	}
}

// stored gives m as it is stored with a precision; false where it is out of range.
func (m moment) stored(precision int) (arrow.Timestamp, bool) {
	per, rest := int64(1), int64(0)
	switch {
	case precision > 6:
		per, rest = 1_000_000, int64(m.nanos)
	case precision > 3:
		per, rest = 1000, int64(m.nanos)/1000
	}
	if m.millis > math.MaxInt64/per-1 || m.millis < math.MinInt64/per {
		return 0, false
	}
	return arrow.Timestamp(m.millis*per + rest), true
}

// local gives the clock of a zone at m, as if it were UTC.
func (m moment) local(zone *time.Location) moment {
	return moment{m.millis + offsetAt(m.millis, zone), m.nanos}
}

func offsetAt(millis int64, zone *time.Location) int64 {
	_, seconds := time.UnixMilli(millis).In(zone).Zone()
	return int64(seconds) * 1000
}

// instant gives when the clock of a zone shows m. What it shows twice is the
// first time; what it leaves out is later by the gap, as in Java.
func (m moment) instant(zone *time.Location) moment {
	before, after := offsetAt(m.millis-millisOfDay, zone), offsetAt(m.millis+millisOfDay, zone)
	at := m.millis - before
	if before != after && offsetAt(at, zone) != before {
		if later := m.millis - after; offsetAt(later, zone) == after {
			at = later
		}
	}
	return moment{at, m.nanos}
}

// truncated leaves a precision of digits after the point, as Paimon does: cut
// towards zero below three digits, and not cut where the nanoseconds of the second have no more digits.
func (m moment) truncated(precision int) moment {
	nanos := (m.millis-floorDiv(m.millis, 1000)*1000)*1_000_000 + int64(m.nanos)
	if len(strconv.FormatInt(nanos, 10)) <= precision {
		return m
	}
	unit := func(n int) int64 { return pow10(int32(n)).Int64() }
	if precision <= 3 {
		by := unit(3 - precision)
		return moment{millis: m.millis / by * by}
	}
	by := unit(9 - precision)
	return moment{m.millis, int32(int64(m.nanos) / by * by)}
}

// days gives timestamps and texts as days.
func days(a arrow.Array) func(i int) (arrow.Date32, error) {
	switch a := a.(type) {
	case *array.Timestamp:
		moment := localMoments(a)
		if a.DataType().(*arrow.TimestampType).TimeZone == "" {
			// Towards 1970, as Paimon 1.3 has it: the last day before is that of 1970 too, but for its midnight.
			return func(i int) (arrow.Date32, error) { return arrow.Date32(moment(i).millis / millisOfDay), nil }
		}
		return func(i int) (arrow.Date32, error) { return arrow.Date32(floorDiv(moment(i).millis, millisOfDay)), nil }
	case *array.String:
		return func(i int) (arrow.Date32, error) { return parseDay(a.Value(i)) }
	default:
		return nil
	}
}

// clocks gives timestamps and texts as times of day. Before 1970 Paimon 1.3 has
// negative ones, which are no times; here they are those of later versions.
func clocks(a arrow.Array) func(i int) (arrow.Time32, error) {
	switch a := a.(type) {
	case *array.Timestamp:
		moment := localMoments(a)
		return func(i int) (arrow.Time32, error) {
			ms := moment(i).millis
			return arrow.Time32(ms - floorDiv(ms, millisOfDay)*millisOfDay), nil
		}
	case *array.String:
		return func(i int) (arrow.Time32, error) { return parseClock(a.Value(i)) }
	default:
		return nil
	}
}

// localMoments gives a TIMESTAMP_LTZ by the clock of the process's zone: Java
// takes the JVM's.
func localMoments(a *array.Timestamp) func(i int) moment {
	t := a.DataType().(*arrow.TimestampType)
	precision := map[arrow.TimeUnit]int{arrow.Millisecond: 3, arrow.Microsecond: 6, arrow.Nanosecond: 9}[t.Unit]
	get := moments(a, columnar.DataType{Precision: precision})
	if t.TimeZone == "" {
		return get
	}
	return func(i int) moment { return get(i).local(time.Local) }
}

// putMoments appends timestamps of type to.
func putMoments(b *array.TimestampBuilder, a arrow.Array, from, to columnar.DataType) func(i int) error {
	get := toMoments(a, from, to)
	if get == nil {
		return nil
	}
	return func(i int) error {
		m, err := get(i)
		if err != nil {
			return err
		}
		v, ok := m.stored(to.Precision)
		if !ok {
			return errRange
		}
		b.Append(v)
		return nil
	}
}

func toMoments(a arrow.Array, from, to columnar.DataType) func(i int) (moment, error) {
	zoned := to.Kind == columnar.TimestampLTZ
	switch a := a.(type) {
	case *array.Timestamp:
		get := moments(a, from)
		return func(i int) (moment, error) {
			m := get(i)
			switch {
			case from.Kind == to.Kind:
			case zoned:
				m = m.instant(time.Local)
			default:
				m = m.local(time.Local)
			}
			if from.Precision > to.Precision {
				m = m.truncated(to.Precision)
			}
			return m, nil
		}
	case *array.Date32:
		return func(i int) (moment, error) {
			m := moment{millis: int64(a.Value(i)) * millisOfDay}
			if zoned {
				m = m.instant(time.Local)
			}
			return m, nil
		}
	case *array.Time32:
		// Java makes it local and an instant again for a zone.
		return func(i int) (moment, error) { return moment{millis: int64(a.Value(i))}, nil }
	case *array.String:
		return func(i int) (moment, error) { return parseMoment(a.Value(i), to) }
	case *array.Int32, *array.Int64:
		get := integers(a)
		return func(i int) (moment, error) {
			m := moment{millis: get(i) * 1000}
			if zoned { // by the clock of the zone, as if it were UTC: so does Java
				m = m.local(time.Local)
			}
			return m, nil
		}
	default:
		return nil
	}
}

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
