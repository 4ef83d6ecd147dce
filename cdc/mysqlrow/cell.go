package mysqlrow

import (
	"math/bits"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// cell is how the values of one source column enter its output column. The
// readers of both wire forms (image.go, text.go) end in one of its put
// functions, whichever the family of the source type asks for; that is why both
// forms give equal cells.
type cell struct {
	name    string
	target  int
	store   store
	notNull bool
	zone    *time.Location
	// text reads a field of the text protocol.
	text func(c *cell, v *vec, field []byte) status

	// putInt stores an integer of up to 64 bits; the bits of a BIGINT UNSIGNED.
	putInt func(c *cell, v *vec, x int64) status
	// unsigned64 says that the source is BIGINT UNSIGNED.
	unsigned64 bool

	// scale is the number of fraction digits of a DECIMAL source; mul1 and mul2
	// are the powers of ten that bring its digits to the scale of the target.
	scale      int
	mul1, mul2 uint64

	// pad is the length of a BINARY(n) source, to which values are filled with zeros.
	pad    int
	latin1 bool

	// unit is microseconds per unit of the target; step is the units that its
	// precision cannot tell apart (10^k, 1 for none).
	unit, step int64
	wallClock  bool // shift instants to the wall clock of zone
	zero       ZeroDate
}

func newCell(c Column, target int, t columnar.DataType, opt Options) cell {
	e := cell{
		name: c.Name, target: target, store: storeOf(t), notNull: !t.Nullable,
		zone: opt.ServerZone, zero: opt.ZeroDate, mul1: 1, mul2: 1,
	}
	if e.zero == ZeroDateNull && (!c.Nullable || e.notNull) {
		e.zero = ZeroDateEpoch
	}
	switch c.family() {
	case famInt:
		e.unsigned64 = c.Unsigned() && c.intBytes() == 8
		e.putInt, e.text = intSink(t, e.unsigned64), textInt
		e.setScale(0, t)
	case famDecimal:
		e.text = textDecimal
		e.setScale(c.Scale, t)
	case famFloat:
		e.text = textFloat
	case famText:
		e.text, e.latin1 = textText, c.Charset == "latin1"
	case famBytes:
		e.text = textBytes
		if c.DataType == "binary" {
			e.pad = int(c.Length)
		}
	case famDate:
		e.text = textDate
	case famDatetime:
		e.text = textDatetime
		e.setUnit(t)
	case famTimestamp:
		e.text = textTimestamp
		e.wallClock = t.Kind == columnar.Timestamp
		e.setUnit(t)
	case famNone: // refused by CheckDeclared
	}
	return e
}

// setScale prepares the way from a scale of the source to that of a DECIMAL target.
func (c *cell) setScale(scale int, t columnar.DataType) {
	c.scale = scale
	if t.Kind != columnar.Decimal {
		return
	}
	up := t.Scale - scale
	c.mul1 = pow10[min(up, 19)]
	c.mul2 = pow10[max(up-19, 0)]
}

// setUnit prepares the way from microseconds to a TIMESTAMP target.
func (c *cell) setUnit(t columnar.DataType) {
	c.unit, c.step = 1, int64(pow10[max(0, 6-t.Precision)])
	if t.Precision <= 3 {
		c.unit, c.step = 1000, int64(pow10[3-t.Precision])
	}
}

// pow10 holds the powers of ten that fit into 64 bits.
var pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

func intSink(t columnar.DataType, unsigned64 bool) func(*cell, *vec, int64) status {
	switch t.Kind {
	case columnar.Boolean:
		return putBool
	case columnar.TinyInt:
		return putInt8
	case columnar.SmallInt:
		return putInt16
	case columnar.Int:
		return putInt32
	case columnar.BigInt:
		return putInt64
	case columnar.Float:
		return putIntFloat32
	case columnar.Double:
		return putIntFloat64
	case columnar.Decimal:
		if unsigned64 {
			return putUintDecimal
		}
		return putIntDecimal
	default:
		if unsigned64 {
			return putUintText
		}
		return putIntText
	}
}

// putBool takes 1 alone as true, as MySQL connectors do for TINYINT(1).
func putBool(_ *cell, v *vec, x int64) status {
	var b int8
	switch x {
	case 0:
	case 1:
		b = 1
	default:
		v.seen.OddBooleans++
	}
	v.i8 = append(v.i8, b)
	return okay
}

func putInt8(_ *cell, v *vec, x int64) status {
	if int64(int8(x)) != x {
		return outOfRange
	}
	v.i8 = append(v.i8, int8(x))
	return okay
}

func putInt16(_ *cell, v *vec, x int64) status {
	if int64(int16(x)) != x {
		return outOfRange
	}
	v.i16 = append(v.i16, int16(x))
	return okay
}

func putInt32(_ *cell, v *vec, x int64) status {
	if int64(int32(x)) != x {
		return outOfRange
	}
	v.i32 = append(v.i32, int32(x))
	return okay
}

func putInt64(_ *cell, v *vec, x int64) status {
	v.i64 = append(v.i64, x)
	return okay
}

func putIntFloat32(_ *cell, v *vec, x int64) status {
	v.f32 = append(v.f32, float32(x))
	return okay
}

func putIntFloat64(_ *cell, v *vec, x int64) status {
	v.f64 = append(v.f64, float64(x))
	return okay
}

func putIntDecimal(c *cell, v *vec, x int64) status {
	if x < 0 {
		return c.putDigits(v, true, u128{lo: -uint64(x)})
	}
	return c.putDigits(v, false, u128{lo: uint64(x)})
}

func putUintDecimal(c *cell, v *vec, x int64) status {
	return c.putDigits(v, false, u128{lo: uint64(x)})
}

func putIntText(_ *cell, v *vec, x int64) status {
	v.data = strconv.AppendInt(v.data, x, 10)
	return v.endText()
}

func putUintText(_ *cell, v *vec, x int64) status {
	v.data = strconv.AppendUint(v.data, uint64(x), 10)
	return v.endText()
}

// u128 is an unsigned number of 128 bits.
type u128 struct{ hi, lo uint64 }

// mulAdd gives n*m + add; the decimals of the lake never overflow it.
func (n u128) mulAdd(m, add uint64) u128 {
	hi, lo := bits.Mul64(n.lo, m)
	lo, carry := bits.Add64(lo, add, 0)
	return u128{hi: hi + n.hi*m + carry, lo: lo}
}

// putDigits stores a decimal given by its sign and its digits at the source's scale.
func (c *cell) putDigits(v *vec, neg bool, n u128) status {
	if c.mul1 != 1 {
		n = n.mulAdd(c.mul1, 0)
	}
	if c.mul2 != 1 {
		n = n.mulAdd(c.mul2, 0)
	}
	d := decimal128.New(int64(n.hi), n.lo)
	if neg {
		d = d.Negate()
	}
	v.dec = append(v.dec, d)
	return okay
}

// putDigitText stores a decimal as text from its digits, of which the last
// scale ones are the fraction. Zeros in front are dropped, the fraction keeps all.
func (c *cell) putDigitText(v *vec, neg bool, digits []byte) status {
	whole := len(digits) - c.scale
	lead := 0
	for lead < whole-1 && digits[lead] == '0' {
		lead++
	}
	if neg && !allZero(digits) {
		v.data = append(v.data, '-')
	}
	if whole <= 0 {
		v.data = append(v.data, '0')
	}
	v.data = append(v.data, digits[lead:max(whole, 0)]...)
	if c.scale > 0 {
		v.data = append(v.data, '.')
		v.data = append(v.data, digits[max(whole, 0):]...)
	}
	return v.endText()
}

func allZero(digits []byte) bool {
	for _, d := range digits {
		if d != '0' {
			return false
		}
	}
	return true
}

// putFloat stores FLOAT (whose value x is exact) and DOUBLE. Minus zero, which
// the two ways of reading treat differently, becomes zero.
func (c *cell) putFloat(v *vec, x float64) status {
	if x == 0 {
		x = 0
	}
	if c.store == storeF32 {
		v.f32 = append(v.f32, float32(x))
	} else {
		v.f64 = append(v.f64, x)
	}
	return okay
}

// putText stores text in the character set of its column.
func (c *cell) putText(v *vec, b []byte) status {
	switch {
	case c.latin1:
		v.data = appendLatin1(v.data, b)
	case utf8.Valid(b):
		v.data = append(v.data, b...)
	default:
		v.seen.InvalidText++
		v.data = appendRepaired(v.data, b)
	}
	return v.endText()
}

// putBytes stores bytes; those of BINARY(n) are filled up with zeros, which the binlog leaves out.
func (c *cell) putBytes(v *vec, b []byte) status {
	v.data = append(v.data, b...)
	for range c.pad - len(b) {
		v.data = append(v.data, 0)
	}
	return v.endText()
}

// putNull stores NULL as row number row.
func (c *cell) putNull(v *vec, row int) status {
	if c.notNull {
		return nullRefused
	}
	v.null(row)
	return okay
}

// putZeroDate stores what the policy makes of a date that does not exist.
func (c *cell) putZeroDate(v *vec) status {
	v.seen.ZeroDates++
	switch c.zero {
	case ZeroDateError:
		return noSuchDate
	case ZeroDateNull:
		v.null(len(v.i32) + len(v.i64)) // one of them is in use
	case ZeroDateEpoch:
		if c.store == store32 {
			v.i32 = append(v.i32, 0)
		} else {
			v.i64 = append(v.i64, 0)
		}
	}
	return okay
}

// putDate stores a DATE.
func (c *cell) putDate(v *vec, year, month, day int) status {
	d, exists := civilDays(year, month, day)
	if !exists {
		return c.putZeroDate(v)
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
		return c.putZeroDate(v)
	}
	s := int64(at.hour*3600 + at.minute*60 + at.second)
	return c.putMicros(v, int64(d)*microsPerDay+s*microsPerSecond+int64(at.micro))
}

// putTimestamp stores a TIMESTAMP, given in UTC; second 0 is its zero date.
func (c *cell) putTimestamp(v *vec, sec int64, micro int) status {
	if sec == 0 {
		return c.putZeroDate(v)
	}
	if micro >= microsPerSecond {
		return badValue
	}
	if c.wallClock {
		sec += v.zone.at(sec)
	}
	return c.putMicros(v, sec*microsPerSecond+int64(micro))
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
