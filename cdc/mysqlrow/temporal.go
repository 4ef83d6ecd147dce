package mysqlrow

// putZeroDate stores what the policy makes of a date that does not exist.
func (c *cell) putZeroDate(v *vec, raw moment) status {
	v.seen.ZeroDates++
	switch c.zero {
	case ZeroDateError:
		return noSuchDate
	case ZeroDateNull:
		v.null(v.rows())
	case ZeroDateText:
		return c.putMoment(v, raw)
	case ZeroDateEpoch:
		switch c.store {
		case store32:
			v.i32 = append(v.i32, 0)
		case storeBytes:
			raw.year, raw.month, raw.day, raw.clock = 1970, 1, 1, clock{}
			return c.putMoment(v, raw)
		default:
			v.i64 = append(v.i64, 0)
		}
	}
	return okay
}

// moment is a date or a date and time as they are written.
type moment struct {
	form             momentForm
	year, month, day int
	clock
}

// momentForm is how a moment is written.
type momentForm uint8

const (
	dateForm    momentForm = iota // 2024-02-29
	localForm                     // 2024-02-29 23:59:59.5
	instantForm                   // 2024-02-29T23:59:59.5Z
)

// putMoment stores a date or time as text with the digits of its column.
func (c *cell) putMoment(v *vec, m moment) status {
	v.data = appendDate(v.data, m.year, m.month, m.day)
	if m.form != dateForm {
		sep := byte(' ')
		if m.form == instantForm {
			sep = 'T'
		}
		v.data = append(v.data, sep)
		v.data = appendClock(v.data, m.clock, c.digits)
	}
	if m.form == instantForm {
		v.data = append(v.data, 'Z')
	}
	return v.endText()
}

// appendDate writes YYYY-MM-DD.
func appendDate(dst []byte, year, month, day int) []byte {
	dst = appendTwo(dst, year/100)
	dst = append(appendTwo(dst, year%100), '-')
	dst = append(appendTwo(dst, month), '-')
	return appendTwo(dst, day)
}

// appendClock writes hh:mm:ss and as many digits of a fraction as are asked for.
// Hours from 100 on take more than two digits.
func appendClock(dst []byte, at clock, digits int) []byte {
	if at.hour >= 100 {
		dst = append(dst, byte('0'+at.hour/100))
	}
	dst = append(appendTwo(dst, at.hour%100), ':')
	dst = append(appendTwo(dst, at.minute), ':')
	dst = appendTwo(dst, at.second)
	if digits > 0 {
		dst = append(dst, '.')
	}
	for k := range digits {
		dst = append(dst, byte('0'+uint64(at.micro)/pow10[5-k]%10))
	}
	return dst
}

// appendTwo writes two digits.
func appendTwo(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// putDate stores a DATE.
func (c *cell) putDate(v *vec, year, month, day int) status {
	d, exists := civilDays(year, month, day)
	if !exists {
		return c.putZeroDate(v, moment{form: dateForm, year: year, month: month, day: day})
	}
	if c.store == storeBytes {
		return c.putMoment(v, moment{form: dateForm, year: year, month: month, day: day})
	}
	v.i32 = append(v.i32, d)
	return okay
}

// clock is a time of the day.
type clock struct{ hour, minute, second, micro int }

// putDatetime stores a DATETIME.
func (c *cell) putDatetime(v *vec, year, month, day int, at clock) status {
	if at.hour > 23 || at.minute > 59 || at.second > 59 || at.micro >= microsPerSecond {
		return badValue
	}
	d, exists := civilDays(year, month, day)
	if !exists {
		return c.putZeroDate(v, moment{localForm, year, month, day, at})
	}
	if c.store == storeBytes {
		return c.putMoment(v, moment{localForm, year, month, day, at})
	}
	s := int64(at.hour*3600 + at.minute*60 + at.second)
	return c.putMicros(v, int64(d)*microsPerDay+s*microsPerSecond+int64(at.micro))
}

// putTimestamp stores a TIMESTAMP, given in UTC; second 0 is its zero date.
func (c *cell) putTimestamp(v *vec, sec int64, micro int) status {
	if sec == 0 {
		return c.putZeroTimestamp(v)
	}
	if micro >= microsPerSecond {
		return badValue
	}
	if c.store == storeBytes {
		day := floorDiv(sec, 86_400)
		year, month, dom := civilDate(int32(day))
		s := int(sec - day*86_400)
		return c.putMoment(v, moment{instantForm, year, month, dom, clock{s / 3600, s / 60 % 60, s % 60, micro}})
	}
	if c.wallClock {
		sec += v.zone.at(sec)
	}
	return c.putMicros(v, sec*microsPerSecond+int64(micro))
}

// putZeroTimestamp stores the zero date of TIMESTAMP, which is no instant.
func (c *cell) putZeroTimestamp(v *vec) status {
	form := instantForm
	if c.zero == ZeroDateText {
		form = localForm
	}
	return c.putZeroDate(v, moment{form: form})
}

// putTime stores a TIME: a span of up to 839 hours, which may be negative. The
// lake's TIME holds the milliseconds of a day; what it cannot hold is an error.
func (c *cell) putTime(v *vec, neg bool, at clock) status {
	if at.minute > 59 || at.second > 59 || at.micro >= microsPerSecond || at.hour > 999 {
		return badValue
	}
	if c.store == storeBytes {
		if neg {
			v.data = append(v.data, '-')
		}
		v.data = appendClock(v.data, at, c.digits)
		return v.endText()
	}
	if neg || at.hour > 23 {
		return noTimeOfDay
	}
	ms := int64(at.hour*3600+at.minute*60+at.second)*1000 + int64(at.micro/1000)
	v.i32 = append(v.i32, int32(ms/c.step*c.step))
	return okay
}

// putMicros stores microseconds since the epoch in the unit and precision of
// the target; what these cannot hold is cut.
func (c *cell) putMicros(v *vec, us int64) status {
	x := floorDiv(us, c.unit)
	if c.step > 1 {
		x = floorDiv(x, c.step) * c.step
	}
	v.i64 = append(v.i64, x)
	return okay
}

func floorDiv(a, b int64) int64 {
	if b == 1 {
		return a
	}
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
