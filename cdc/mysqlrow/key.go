package mysqlrow

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A chunk key is the columns by which a table is cut in ranges, compared one
// after the other as the server compares them. Its order form is bytes whose order
// is that of the server: a row image and the text that the server prints give the
// same bytes for equal keys.

// Edge is a value of the chunk key at which a range ends. The zero Edge is none:
// the range is open there.
type Edge struct {
	// Texts is what the server prints for the expressions of KeySelect.
	Texts []string
	// Order is the order form.
	Order string
	parts []string // Order by column
}

// Open reports the zero Edge.
func (e Edge) Open() bool { return e.Texts == nil }

// keyForm is how the values of one column become order forms.
type keyForm uint8

const (
	keyNone    keyForm = iota
	keyOrdinal         // a number of 64 bits
	keyDecimal         // the packed form of DECIMAL
	keyBytes           // bytes
	keyText            // weights of a collation
)

// keyPart is one column of the chunk key.
type keyPart struct {
	column   int
	name     string // quoted
	form     keyForm
	family   family
	unsigned bool
	decimal  decimalForm
	scale    int
	// pad is the length of BINARY(n).
	pad     int
	charset string
	collate *collator
	last    bool
}

// CutBy reports whether ranges of c can be told in row images just as the server
// tells them; why says for people what stands against it.
func CutBy(c Column) (ok bool, why string) {
	if c.Nullable {
		return false, fmt.Sprintf("column '%s' may be NULL", c.Name)
	}
	return c.ordered()
}

// ordered is CutBy for the values of c that are not NULL.
func (c Column) ordered() (ok bool, why string) {
	if c.unbounded() || strings.Contains(strings.ToUpper(c.ColumnType), "COMPRESSED") {
		return false, fmt.Sprintf("column '%s' is %s", c.Name, c.sqlType())
	}
	switch c.family() {
	case famInt, famDecimal, famFloat, famDate, famDatetime, famTimestamp, famTime, famYear, famBit, famEnum, famBytes:
		return true, ""
	case famSet:
		// The server compares a SET with a number as DOUBLE.
		if len(c.labels()) <= 52 {
			return true, ""
		}
		return false, fmt.Sprintf("column '%s' is a SET of more than 52 labels", c.Name)
	case famText:
		if collatorOf(c.Collation) != nil {
			return true, ""
		}
		return false, fmt.Sprintf("the order of collation %s is not known, which column '%s' has", c.Collation, c.Name)
	default:
		return false, fmt.Sprintf("column '%s' is %s", c.Name, c.sqlType())
	}
}

func newKeyPart(c Column, column int) keyPart {
	k := keyPart{column: column, name: QuoteName(c.Name), form: keyOrdinal, family: c.family(), unsigned: c.Unsigned()}
	switch k.family {
	case famDecimal:
		k.form, k.scale = keyDecimal, c.Scale
		k.decimal, _ = newDecimalForm(c.Precision, c.Scale)
	case famBytes:
		k.form = keyBytes
		if c.DataType == "binary" {
			k.pad = int(c.Length)
		}
	case famText:
		k.form, k.charset, k.collate = keyText, c.Charset, collatorOf(c.Collation)
	default:
	}
	return k
}

// KeyOrder names the order of the chunk key: edges of one plan are edges of
// another that gives the same name. It is "" without a chunk key.
func (p *Plan) KeyOrder() string {
	list := make([]string, 0, len(p.chunk))
	for i := range p.chunk {
		k := &p.chunk[i]
		c := p.cols[k.column]
		order := strconv.Itoa(int(k.family))
		switch k.family {
		case famInt, famFloat, famDecimal:
			order = fmt.Sprintf("%s %t %d", order, k.unsigned && k.family == famInt, k.decimal.size)
			if k.family == famDecimal {
				order += fmt.Sprintf(" %d %d", c.Precision, c.Scale)
			}
		case famEnum, famSet:
			order += " " + c.ColumnType
		case famBytes:
			order += " " + strconv.Itoa(k.pad)
		case famText:
			order += " " + c.Charset + " " + c.Collation
		default:
		}
		list = append(list, k.name+" "+order)
	}
	return strings.Join(list, ", ")
}

// AppendChunkKey appends the order form of the chunk key of a row image to dst.
func (l *Layout) AppendChunkKey(dst, image []byte) ([]byte, error) {
	p := l.plan
	if len(p.chunk) == 0 {
		return dst, fmt.Errorf("reading a row of %s: the table has no chunk key", p.opt.Table)
	}
	for i := range p.chunk {
		k := &p.chunk[i]
		at, err := l.walk(image, k.column)
		if err != nil {
			return dst, err
		}
		good := image[k.column>>3]&(1<<(k.column&7)) == 0
		if good {
			dst, good = k.appendImage(dst, &l.steps[k.column], image[at:])
		}
		if !good {
			return dst, p.cellError(p.cols[k.column].Name, badValue)
		}
	}
	return dst, nil
}

// appendImage appends the order form of the value at the front of b.
func (k *keyPart) appendImage(dst []byte, s *step, b []byte) ([]byte, bool) {
	if s.prefix > 0 {
		value, n := s.variable(b)
		if n < 0 {
			return dst, false
		}
		return k.appendValue(dst, value), true
	}
	if len(b) < s.size {
		return dst, false
	}
	if k.form == keyDecimal {
		return append(dst, b[:s.size]...), s.size == k.decimal.size
	}
	x, good := k.ordinal(s, b)
	return binary.BigEndian.AppendUint64(dst, x), good
}

// appendValue appends the order form of bytes or text.
func (k *keyPart) appendValue(dst, value []byte) []byte {
	start := len(dst)
	if k.form == keyText {
		if dst = k.collate.appendKey(dst, value); k.collate.pad != nil {
			return dst // tells its end
		}
	} else {
		dst = append(dst, value...)
		for range k.pad - len(value) {
			dst = append(dst, 0)
		}
	}
	if k.last {
		return dst
	}
	return terminate(dst, start)
}

// terminate lets dst[start:] tell its end, without a change of its order: a 0
// becomes 0 and 1, and the end is 0 and 0.
func terminate(dst []byte, start int) []byte {
	zeros := 0
	for _, c := range dst[start:] {
		if c == 0 {
			zeros++
		}
	}
	n := len(dst)
	for range zeros + 2 {
		dst = append(dst, 0)
	}
	for i, at := n-1, n+zeros-1; i >= start && at > i; i-- {
		if dst[i] == 0 {
			dst[at], at = 1, at-1
		}
		dst[at], at = dst[i], at-1
	}
	return dst
}

// ordinal gives a value of fixed size as a number in its order.
func (k *keyPart) ordinal(s *step, b []byte) (uint64, bool) {
	switch k.family {
	case famInt:
		return k.integerOrder(integer(b, s.size, s.unsigned)), true
	case famFloat:
		if s.size == 4 {
			return floatOrder(float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))), true
		}
		return floatOrder(math.Float64frombits(binary.LittleEndian.Uint64(b))), true
	case famDate:
		x := integer(b, 3, true)
		return dateOrder(int(x>>9), int(x>>5&15), int(x&31)), true
	case famDatetime:
		year, month, day, at, good := s.datetime(b)
		return datetimeOrder(year, month, day, at), good
	case famTimestamp:
		sec, micro, good := s.timestamp(b)
		return uint64(sec)<<20 | uint64(micro), good
	case famTime:
		neg, at, good := s.time(b)
		return timeOrder(neg, at), good
	case famYear:
		return uint64(year(b[0])), true
	case famBit:
		return bitNumber(b[:s.size]), true
	case famEnum, famSet:
		return labelNumber(b[:s.size]), true
	default:
		return 0, false
	}
}

const signBit = 1 << 63

func (k *keyPart) integerOrder(x int64) uint64 {
	if k.unsigned {
		return uint64(x)
	}
	return uint64(x) ^ signBit
}

// floatOrder turns the bits of a number so that their order is its own; the two zeros are one.
func floatOrder(x float64) uint64 {
	if x == 0 {
		return signBit
	}
	bits := math.Float64bits(x)
	if bits&signBit != 0 {
		return ^bits
	}
	return bits | signBit
}

func dateOrder(year, month, day int) uint64 {
	return uint64(year)<<9 | uint64(month)<<5 | uint64(day)
}

func datetimeOrder(year, month, day int, at clock) uint64 {
	return dateOrder(year, month, day)<<37 | uint64(at.hour)<<32 | uint64(at.minute)<<26 | uint64(at.second)<<20 | uint64(at.micro)
}

func timeOrder(neg bool, at clock) uint64 {
	us := int64(at.hour*3600+at.minute*60+at.second)*microsPerSecond + int64(at.micro)
	if neg {
		us = -us
	}
	return uint64(us) ^ signBit
}

func bitNumber(b []byte) (x uint64) {
	for _, c := range b {
		x = x<<8 | uint64(c)
	}
	return x
}

func labelNumber(b []byte) (x uint64) {
	for _, c := range slices.Backward(b) {
		x = x<<8 | uint64(c)
	}
	return x
}

// ParseEdge reads a chunk key from what the server prints for KeySelect.
func (p *Plan) ParseEdge(texts []string) (Edge, error) {
	if len(texts) != len(p.chunk) || len(texts) == 0 {
		return Edge{}, fmt.Errorf("reading a key of %s: %d values for %d columns", p.opt.Table, len(texts), len(p.chunk))
	}
	e := Edge{Texts: texts}
	for i, text := range texts {
		k := &p.chunk[i]
		part, good := k.parse([]byte(text))
		if !good {
			return Edge{}, fmt.Errorf("reading a key of %s: %w", p.opt.Table, p.cellError(p.cols[k.column].Name, badValue))
		}
		e.parts = append(e.parts, string(part))
		e.Order += string(part)
	}
	return e, nil
}

// parse gives the order form of what the server prints.
func (k *keyPart) parse(f []byte) ([]byte, bool) {
	switch k.form {
	case keyDecimal:
		return k.decimal.pack(f, k.scale)
	case keyBytes, keyText:
		value := make([]byte, len(f)/2)
		if _, err := hex.Decode(value, f); err != nil {
			return nil, false
		}
		return k.appendValue(nil, value), true
	default:
		x, good := k.parseOrdinal(f)
		return binary.BigEndian.AppendUint64(nil, x), good
	}
}

func (k *keyPart) parseOrdinal(f []byte) (uint64, bool) {
	switch k.family {
	case famInt:
		x, st := parseInt(f, k.unsigned)
		return k.integerOrder(x), st == okay
	case famFloat:
		x, err := strconv.ParseFloat(string(f), 64)
		return floatOrder(x), err == nil
	case famDate:
		if len(f) != len("2006-01-02") {
			return 0, false
		}
		year, month, day, good := parseDate(f)
		return dateOrder(year, month, day), good
	case famDatetime:
		year, month, day, at, good := parseDatetime(f)
		return datetimeOrder(year, month, day, at), good
	case famTimestamp:
		year, month, day, at, good := parseDatetime(f)
		d, exists := civilDays(year, month, day)
		if !good || !exists {
			return 0, good
		}
		sec := int64(d)*86_400 + int64(at.hour*3600+at.minute*60+at.second)
		return uint64(sec)<<20 | uint64(at.micro), true
	case famTime:
		neg, at, good := parseTime(f)
		return timeOrder(neg, at), good
	default: // YEAR, BIT, ENUM and SET as a number
		x, st := parseInt(f, true)
		return uint64(x), st == okay
	}
}
