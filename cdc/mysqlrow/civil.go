package mysqlrow

import (
	"math"
	"time"
)

const (
	microsPerSecond = 1_000_000
	microsPerDay    = 86_400 * microsPerSecond
)

// civilDays gives the days from 1970-01-01 to a date of the proleptic Gregorian
// calendar, and false for a date that does not exist or has the year 0.
func civilDays(y, m, d int) (int32, bool) {
	if y < 1 || m < 1 || m > 12 || d < 1 || d > 28 && d > daysIn(y, m) {
		return 0, false
	}
	if m <= 2 {
		y--
		m += 12
	}
	return int32(365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 1 - 719468), true
}

// civilDate gives the date of a day counted from 1970-01-01.
func civilDate(days int32) (y, m, d int) {
	n := int(days) + 719468
	era := floorDiv(int64(n), 146_097)
	doe := n - int(era)*146_097
	yoe := (doe - doe/1460 + doe/36_524 - doe/146_096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	y, m, d = yoe+int(era)*400, mp+3, doy-(153*mp+2)/5+1
	if m > 12 {
		y, m = y+1, m-12
	}
	return y, m, d
}

func daysIn(y, m int) int {
	switch m {
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	default:
		return 31
	}
}

// zoneCache gives the offset of a zone from UTC; it keeps the period of the
// last answer, because neighbouring rows mostly fall into the same one.
type zoneCache struct {
	loc      *time.Location
	from, to int64 // seconds since the epoch, to exclusive
	offset   int64 // seconds east of UTC
}

func (z *zoneCache) at(sec int64) int64 {
	if sec >= z.from && sec < z.to {
		return z.offset
	}
	t := time.Unix(sec, 0).In(z.loc)
	_, off := t.Zone()
	start, end := t.ZoneBounds()
	z.from, z.to, z.offset = math.MinInt64, math.MaxInt64, int64(off)
	if !start.IsZero() {
		z.from = start.Unix()
	}
	if !end.IsZero() {
		z.to = end.Unix()
	}
	return z.offset
}
