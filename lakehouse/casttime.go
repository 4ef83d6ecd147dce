package lakehouse

import (
	"math"
	"strconv"
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
