package mysqlrow

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
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

	// pad is the length of a BINARY(n) source, to which values are filled with
	// zeros, and the size of a BIT value.
	pad int
	// reversed turns the bytes of BIT around.
	reversed bool
	// charset decodes text; nil for UTF-8.
	charset *charset
	// elem is the store of list elements.
	elem store
	// floatBits is the size of a FLOAT or DOUBLE that becomes text.
	floatBits int
	// bytes is the text that bytes become.
	bytes BytesText
	// binary says that the source holds bytes rather than text.
	binary bool
	// spaced keeps the blanks of JSON.
	spaced bool
	// digits are the fraction digits of a time that becomes text.
	digits int

	// unit is microseconds per unit of the target; step is the units that its
	// precision cannot tell apart (10^k, 1 for none).
	unit, step int64
	wallClock  bool // shift instants to the wall clock of zone
	zero       ZeroDate
}

func newCell(c Column, target int, t columnar.DataType, opt Options) cell {
	e := cell{
		name: c.Name, target: target, store: storeOf(t), notNull: !t.Nullable, zone: opt.ServerZone,
		zero: opt.ZeroDate, mul1: 1, mul2: 1, digits: c.FractionDigits, charset: charsetOf(c.Charset),
	}
	if e.store == storeList {
		e.elem = storeOf(*t.Elem)
	}
	if e.zero == ZeroDateText && e.store != storeBytes {
		e.zero = ZeroDateNull
	}
	if e.zero == ZeroDateNull && (!c.Nullable || e.notNull) {
		e.zero = ZeroDateEpoch
	}
	switch c.family() {
	case famInt:
		e.unsigned64 = c.Unsigned() && c.intBytes() == 8
		e.putInt, e.text = intSink(t, e.unsigned64), textInt
		e.setScale(0, t)
	case famYear:
		e.putInt, e.text = intSink(t, false), textInt
		e.setScale(0, t)
	case famDecimal:
		e.text = textDecimal
		e.setScale(c.Scale, t)
	case famFloat:
		e.text, e.floatBits = textFloat, 64
		if c.DataType == "float" {
			e.floatBits = 32
		}
	case famText, famEnum:
		e.text = textText
	case famSet:
		e.text = textSet
	case famBytes:
		e.text, e.binary = textBytes, true
		if t.IsText() {
			e.bytes = opt.Mapping.Bytes
		}
		if c.DataType == "binary" {
			e.pad = int(c.Length)
		}
	case famBit:
		e.text, e.pad, e.reversed = textBit, c.bitBytes(), opt.BitsLittleEndian
	case famJSON:
		e.text, e.spaced = textJSON, opt.SpacedJSON
	case famGeometry:
		e.text = textGeometry
	case famVector:
		e.text = textVector
	case famUUID, famInet4, famInet6:
		e.text, e.charset = textText, nil
	case famDate, famDatetime, famTimestamp, famTime:
		e.setTime(c, t)
	case famNone: // refused by CheckDeclared
	}
	return e
}

// setTime prepares the way of dates and times.
func (c *cell) setTime(col Column, t columnar.DataType) {
	switch col.family() {
	case famDate:
		c.text = textDate
	case famTime:
		c.text = textTime
	case famTimestamp:
		c.text, c.wallClock = textTimestamp, t.Kind == columnar.Timestamp
	default:
		c.text = textDatetime
	}
	c.setUnit(t)
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
	if t.Kind == columnar.Time {
		c.step = int64(pow10[max(0, 3-t.Precision)])
		return
	}
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
	if c.store != storeDec {
		// Both numbers are exact, so that their quotient is the nearest one.
		x := float64(n.lo) / float64(pow10[c.scale])
		if neg {
			x = -x
		}
		return c.putFloat(v, x)
	}
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
// scale ones are the fraction.
func (c *cell) putDigitText(v *vec, neg bool, digits []byte) status {
	v.data = appendDecimal(v.data, neg, digits, c.scale)
	return v.endText()
}

// appendDecimal writes a decimal from its digits, of which the last scale ones
// are the fraction. Zeros in front are dropped, the fraction keeps all.
func appendDecimal(dst []byte, neg bool, digits []byte, scale int) []byte {
	whole := len(digits) - scale
	lead := 0
	for lead < whole-1 && digits[lead] == '0' {
		lead++
	}
	if neg && !allZero(digits) {
		dst = append(dst, '-')
	}
	if whole <= 0 {
		dst = append(dst, '0')
	}
	dst = append(dst, digits[lead:max(whole, 0)]...)
	if scale > 0 {
		dst = append(dst, '.')
		dst = append(dst, digits[max(whole, 0):]...)
	}
	return dst
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
	switch {
	case c.store == storeF32:
		v.f32 = append(v.f32, float32(x))
	case c.store == storeBytes:
		v.data = strconv.AppendFloat(v.data, x, 'g', -1, c.floatBits)
		return v.endText()
	default:
		v.f64 = append(v.f64, x)
	}
	return okay
}

// putText stores text in the character set of its column.
func (c *cell) putText(v *vec, b []byte) status {
	c.appendText(v, b)
	return v.endText()
}

// appendText appends text in the character set of its column, without an end.
func (c *cell) appendText(v *vec, b []byte) {
	switch {
	case c.charset != nil:
		var valid bool
		if v.data, valid = c.charset.decode(c.charset, v.data, b); !valid {
			v.seen.InvalidText++
		}
	case utf8.Valid(b):
		v.data = append(v.data, b...)
	default:
		v.seen.InvalidText++
		v.data = appendRepaired(v.data, b)
	}
}

// putBytes stores bytes; those of BINARY(n) are filled up with zeros, which the binlog leaves out.
func (c *cell) putBytes(v *vec, b []byte) status {
	from := len(v.data)
	v.data = append(v.data, b...)
	for range c.pad - len(b) {
		v.data = append(v.data, 0)
	}
	if c.bytes != BytesAsThey {
		plain := bytes.Clone(v.data[from:])
		v.data = v.data[:from]
		switch c.bytes {
		case BytesHex:
			v.data = hex.AppendEncode(v.data, plain)
		case BytesBase64URL:
			v.data = base64.URLEncoding.AppendEncode(v.data, plain)
		case BytesBase64, BytesAsThey:
			v.data = base64.StdEncoding.AppendEncode(v.data, plain)
		}
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

// unread stands for a value that cannot be read, in row number row: NULL, or the
// zero of its type where the column is NOT NULL.
func (c *cell) unread(v *vec, row int) {
	v.null(row)
	if c.notNull {
		v.nulls = v.nulls[:len(v.nulls)-1]
	}
}
