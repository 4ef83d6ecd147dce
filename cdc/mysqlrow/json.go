package mysqlrow

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// putJSON stores a document of the server's binary form as the text that the
// server prints for it, without the blanks behind ':' and ',' unless c.spaced.
// The keys stand in the server's order (by length, then by bytes), numbers have
// its digits (3.0, 1e100, all digits of a DECIMAL), and values that JSON does not
// have are texts ("2024-02-29 10:11:12.250000", "base64:type15:AP8Q").
func (c *cell) putJSON(v *vec, doc []byte) status {
	r := jsonReader{dst: v.data, spaced: c.spaced, limit: len(v.data) + 64 + maxJSONGrowth*len(doc)}
	good := true
	if len(doc) == 0 {
		r.dst = append(r.dst, "null"...) // as the server takes a document of no bytes
	} else {
		good = r.value(doc[0], doc[1:], 0)
	}
	v.data = r.dst
	if !good {
		return badValue
	}
	return v.endText()
}

const (
	// maxJSONDepth is beyond the nesting that the server allows (100).
	maxJSONDepth = 128
	// maxJSONGrowth is how much longer than the binary form a text may be: six
	// bytes for a control character, seven for a literal in an array with its
	// comma, against three bytes. Documents whose parts overlap would be longer.
	maxJSONGrowth = 8
)

// The types of the binary form.
const (
	jsonSmallObject = 0x00
	jsonLargeObject = 0x01
	jsonSmallArray  = 0x02
	jsonLargeArray  = 0x03
	jsonLiteral     = 0x04
	jsonInt16       = 0x05
	jsonUint16      = 0x06
	jsonInt32       = 0x07
	jsonUint32      = 0x08
	jsonInt64       = 0x09
	jsonUint64      = 0x0A
	jsonDouble      = 0x0B
	jsonString      = 0x0C
	jsonOpaque      = 0x0F
)

// jsonReader writes values of the binary form as text.
type jsonReader struct {
	dst    []byte
	spaced bool
	limit  int // the length of dst beyond which the document is malformed
}

// value writes the value of type kind at the front of b.
func (r *jsonReader) value(kind byte, b []byte, depth int) bool {
	if len(r.dst) > r.limit {
		return false
	}
	switch kind {
	case jsonSmallObject, jsonLargeObject, jsonSmallArray, jsonLargeArray:
		return depth < maxJSONDepth && r.container(kind, b, depth+1)
	case jsonString:
		text, ok := jsonVariable(b)
		if ok {
			r.dst = appendJSONString(r.dst, text)
		}
		return ok
	case jsonOpaque:
		if len(b) == 0 {
			return false
		}
		data, ok := jsonVariable(b[1:])
		return ok && r.opaque(b[0], data)
	default:
		return r.scalar(kind, b)
	}
}

// scalar writes literals and numbers.
func (r *jsonReader) scalar(kind byte, b []byte) bool {
	if kind > jsonDouble || len(b) < jsonSizes[kind] {
		return false
	}
	switch kind {
	case jsonLiteral:
		if b[0] > 2 {
			return false
		}
		r.dst = append(r.dst, [...]string{"null", "true", "false"}[b[0]]...)
	case jsonInt16, jsonInt32, jsonInt64:
		r.dst = strconv.AppendInt(r.dst, integer(b, jsonSizes[kind], false), 10)
	case jsonUint16, jsonUint32, jsonUint64:
		r.dst = strconv.AppendUint(r.dst, uint64(integer(b, jsonSizes[kind], true)), 10)
	case jsonDouble:
		x := math.Float64frombits(binary.LittleEndian.Uint64(b))
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
		r.dst = appendJSONDouble(r.dst, x)
	}
	return true
}

// jsonSizes are the bytes of the scalars.
var jsonSizes = [...]int{
	jsonLiteral: 1, jsonInt16: 2, jsonUint16: 2, jsonInt32: 4, jsonUint32: 4, jsonInt64: 8, jsonUint64: 8, jsonDouble: 8,
}

// container writes an object or an array. It begins with the number of its
// members and its size; then come, for an object, where each key stands and its
// length, and for each member its type and where it stands, or the value itself
// where it is small. Places count from the front of b.
func (r *jsonReader) container(kind byte, b []byte, depth int) bool {
	c, good := openJSON(kind, b)
	if !good {
		return false
	}
	open, end := byte('['), byte(']')
	if c.object {
		open, end = '{', '}'
	}
	r.dst = append(r.dst, open)
	for i := range c.count {
		if i > 0 {
			r.dst = append(r.dst, ',')
			r.blank()
		}
		if c.object {
			key, good := c.key(i)
			if !good || len(r.dst) > r.limit {
				return false
			}
			r.dst = append(appendJSONString(r.dst, key), ':')
			r.blank()
		}
		kind, value, good := c.entry(i)
		if !good || !r.value(kind, value, depth) {
			return false
		}
	}
	r.dst = append(r.dst, end)
	return true
}

// jsonContainer is an object or an array of the binary form.
type jsonContainer struct {
	b            []byte
	object       bool
	count, width int
	keys, values int // where their entries begin
}

// openJSON checks the entries of a container.
func openJSON(kind byte, b []byte) (c jsonContainer, good bool) {
	c = jsonContainer{object: kind == jsonSmallObject || kind == jsonLargeObject, width: 2}
	if kind == jsonLargeObject || kind == jsonLargeArray {
		c.width = 4
	}
	if len(b) < 2*c.width {
		return c, false
	}
	size := jsonOffset(b[c.width:], c.width)
	if c.count = jsonOffset(b, c.width); size > len(b) {
		return c, false
	}
	c.b, c.keys, c.values = b[:size], 2*c.width, 2*c.width
	if c.object {
		c.values += c.count * (c.width + 2)
	}
	// The first test keeps the second from overflow.
	return c, c.count <= size && c.values+c.count*(1+c.width) <= size
}

// key gives the key of member i.
func (c *jsonContainer) key(i int) (key []byte, good bool) {
	at := c.keys + i*(c.width+2)
	from, n := jsonOffset(c.b[at:], c.width), int(binary.LittleEndian.Uint16(c.b[at+c.width:]))
	if from > len(c.b) || n > len(c.b)-from {
		return nil, false
	}
	return c.b[from : from+n], true
}

// entry gives type and bytes of member i.
func (c *jsonContainer) entry(i int) (kind byte, value []byte, good bool) {
	at := c.values + i*(1+c.width)
	kind, place := c.b[at], c.b[at+1:at+1+c.width]
	switch kind {
	case jsonLiteral, jsonInt16, jsonUint16:
		return kind, place, true
	case jsonInt32, jsonUint32:
		if c.width == 4 {
			return kind, place, true
		}
	}
	from := jsonOffset(place, c.width)
	if from > len(c.b) {
		return kind, nil, false
	}
	return kind, c.b[from:], true
}

func (r *jsonReader) blank() {
	if r.spaced {
		r.dst = append(r.dst, ' ')
	}
}

func jsonOffset(b []byte, width int) int {
	if width == 2 {
		return int(binary.LittleEndian.Uint16(b))
	}
	return int(binary.LittleEndian.Uint32(b))
}

// jsonVariable reads bytes with their length in front: seven bits a byte, the
// lowest first, the top bit set on all but the last.
func jsonVariable(b []byte) (data []byte, ok bool) {
	n := 0
	for i := range min(5, len(b)) {
		n |= int(b[i]&0x7F) << (7 * i)
		if b[i]&0x80 == 0 {
			b = b[i+1:]
			if n > len(b) {
				return nil, false
			}
			return b[:n], true
		}
	}
	return nil, false
}

// opaque writes a value that JSON does not have: DECIMAL as a number, times as
// text with six fraction digits, and all else in base64 with the number of its
// MySQL type.
func (r *jsonReader) opaque(typ byte, b []byte) bool {
	switch typ {
	case mysql.MYSQL_TYPE_NEWDECIMAL:
		return r.decimal(b)
	case mysql.MYSQL_TYPE_DATE, mysql.MYSQL_TYPE_DATETIME, mysql.MYSQL_TYPE_TIMESTAMP, mysql.MYSQL_TYPE_TIME:
		if len(b) != 8 {
			return false
		}
		r.dst = append(r.dst, '"')
		r.dst = appendPackedTime(r.dst, typ, int64(binary.LittleEndian.Uint64(b)))
	default:
		r.dst = append(r.dst, `"base64:type`...)
		r.dst = append(strconv.AppendUint(r.dst, uint64(typ), 10), ':')
		const line = 57 // bytes that make the 76 letters after which the server breaks the line
		for ; len(b) > line; b = b[line:] {
			r.dst = append(base64.StdEncoding.AppendEncode(r.dst, b[:line]), `\n`...)
		}
		r.dst = base64.StdEncoding.AppendEncode(r.dst, b)
	}
	r.dst = append(r.dst, '"')
	return true
}

// decimal writes precision, scale and the packed form as plain digits.
func (r *jsonReader) decimal(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	scale := int(b[1])
	form, good := newWorkingForm(int(b[0]), scale)
	if !good || len(b) != 2+form.size {
		return false
	}
	var buf [maxWorkingDigits]byte
	digits, neg, good := form.text(buf[:0], b[2:])
	if good {
		r.dst = appendDecimal(r.dst, neg, digits, scale)
	}
	return good
}

// appendPackedTime writes the server's in-memory form of times: the fraction in
// the lowest 24 bits, then second, minute and hour, then day, month and year of
// a date. The sign is that of a span.
func appendPackedTime(dst []byte, typ byte, packed int64) []byte {
	x := packed
	if x < 0 {
		x = -x
	}
	at := clock{micro: int(x & (1<<24 - 1) % microsPerSecond), second: int(x >> 24 & 63), minute: int(x >> 30 & 63)}
	if typ == mysql.MYSQL_TYPE_TIME {
		at.hour = int(x >> 36 & 1023)
		if packed < 0 {
			dst = append(dst, '-')
		}
		return appendClock(dst, at, 6)
	}
	at.hour = int(x >> 36 & 31)
	ym := int(x >> 46 & (1<<17 - 1))
	dst = appendDate(dst, ym/13, ym%13, int(x>>41&31))
	if typ == mysql.MYSQL_TYPE_DATE {
		return dst
	}
	return appendClock(append(dst, ' '), at, 6)
}

// appendJSONDouble writes the shortest digits that give x again: plain from
// 1e-15 to below 1e15 and beyond where there are digits behind the point, else
// with an exponent, and ".0" where neither a point nor an exponent tells that it
// is no integer.
func appendJSONDouble(dst []byte, x float64) []byte {
	a := math.Abs(x)
	if a >= 1e-15 && (a < 1e15 || a != math.Trunc(a)) || a == 0 {
		start := len(dst)
		dst = strconv.AppendFloat(dst, x, 'f', -1, 64)
		if bytes.IndexByte(dst[start:], '.') < 0 {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, x, 'e', -1, 64)
	// The exponent has no plus and no zero in front: 1e+20 is 1e20, 1e-07 is 1e-7.
	e := start + bytes.IndexByte(dst[start:], 'e') + 1
	from := e
	if dst[from] == '+' {
		from++
	} else {
		e, from = e+1, from+1
	}
	if dst[from] == '0' {
		from++
	}
	return append(dst[:e], dst[from:]...)
}

// appendJSONString writes a quoted text with the server's escapes.
func appendJSONString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		dst = append(dst, '\\')
		switch c {
		case '\b':
			dst = append(dst, 'b')
		case '\t':
			dst = append(dst, 't')
		case '\f':
			dst = append(dst, 'f')
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '"', '\\':
			dst = append(dst, c)
		default:
			dst = append(dst, 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// appendCompactJSON copies a document as the server prints it without the blanks
// between its parts.
func appendCompactJSON(dst, s []byte) []byte {
	for len(s) > 0 {
		quote := bytes.IndexByte(s, '"')
		if quote < 0 {
			quote = len(s)
		}
		for _, c := range s[:quote] {
			if c != ' ' {
				dst = append(dst, c)
			}
		}
		s = s[quote:]
		n := quotedLength(s)
		dst = append(dst, s[:n]...)
		s = s[n:]
	}
	return dst
}

// quotedLength is the length of the quoted text at the front of s.
func quotedLength(s []byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}
