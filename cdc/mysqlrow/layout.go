package mysqlrow

import (
	"slices"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"

	"leat/internal/columnar"
)

// Layout is how the row images of one table map are read. It never changes and
// may be shared between goroutines.
type Layout struct {
	plan  *Plan
	from  TableMap
	steps []step // one a source column, in wire order
	nulls int    // bytes of the NULL bitmap in front of an image
	key   []bool // by source column: part of the primary key
	last  int    // index of the last key column, -1 for none
	end   int    // index of the column of RowEnd, -1 for none
	// lax lets old values be NULL in columns that are NOT NULL: they are not known.
	lax bool
}

// step reads the value of one source column.
type step struct {
	read reader
	// size is the number of bytes of a fixed value; prefix that of the length
	// in front of a variable one.
	size, prefix int
	unsigned     bool
	digits       int  // fraction digits of a time
	old          bool // a time of tables made before MySQL 5.6.4
	decimal      decimalForm
	labels       []string // of ENUM and SET
	cell         *cell    // nil for a column that nobody wants
}

// Bind checks a table map against the source columns and gives the way to read
// its images. Binding the same map again costs a comparison. The error is a
// *diag.Error with CodeSourceChanged that names the first difference.
func (p *Plan) Bind(m TableMap) (*Layout, error) {
	if l := p.last.Load(); l != nil && l.from.equal(m) {
		return l, nil
	}
	l, err := p.newLayout(m)
	if err != nil {
		return nil, err
	}
	p.last.Store(l)
	return l, nil
}

func (p *Plan) newLayout(m TableMap) (*Layout, error) {
	if len(m.Types) != len(p.cols) || len(m.Meta) != len(m.Types) {
		return nil, p.changed("%d columns instead of %d", len(m.Types), len(p.cols))
	}
	l := &Layout{
		plan: p, from: m.clone(), steps: make([]step, len(p.cols)),
		nulls: (len(p.cols) + 7) / 8, key: make([]bool, len(p.cols)), last: -1,
		end: slices.IndexFunc(p.cols, func(c Column) bool { return c.RowEnd }),
	}
	for _, k := range p.opt.Key {
		l.key[k] = true
		l.last = max(l.last, k)
	}
	wanted := make([]*cell, len(p.cols))
	for i, t := range p.targets {
		wanted[t.Column] = &p.cells[i]
	}
	enums, sets := m.Enums, m.Sets
	for i, c := range p.cols {
		if len(m.Names) == len(p.cols) && !c.Hidden && !strings.EqualFold(string(m.Names[i]), c.Name) {
			return nil, p.changed("column %d is '%s' instead of '%s'", i+1, m.Names[i], c.Name)
		}
		s, err := p.newStep(c, m.Types[i], m.Meta[i], wanted[i] != nil || slices.Contains(p.opt.ChunkKey, i))
		if err != nil {
			return nil, err
		}
		if inner, _ := innerType(m.Types[i], m.Meta[i]); inner == mysql.MYSQL_TYPE_ENUM {
			s.labels, enums = takeLabels(c, enums)
		} else if inner == mysql.MYSQL_TYPE_SET {
			s.labels, sets = takeLabels(c, sets)
		}
		s.cell = wanted[i]
		if s.cell == nil {
			s.read = readSkip
			if s.prefix > 0 {
				s.read = readSkipVar
			}
		}
		l.steps[i] = s
	}
	// A map does not say whether it counts YEAR columns: either reading may be the right one.
	if other := p.otherSign(m, true); other >= 0 && p.otherSign(m, false) >= 0 {
		c := p.cols[other]
		return nil, p.changed("column '%s' differs in UNSIGNED from %s", c.Name, c.sqlType())
	}
	return l, nil
}

// otherSign is the first column that is UNSIGNED in the map and not at the
// source, or the other way round; -1 if there is none.
func (p *Plan) otherSign(m TableMap, years bool) int {
	unsigned := m.unsigned(years)
	for i, c := range p.cols {
		if unsigned != nil && c.signed() && isNumeric(m.Types[i], years) && unsigned[i] != c.Unsigned() {
			return i
		}
	}
	return -1
}

// takeLabels gives the labels of a column: the next ones of the table map, or
// those of the source column if the map has none.
func takeLabels(c Column, rest [][][]byte) (labels []string, remaining [][][]byte) {
	if len(rest) == 0 {
		return c.labels(), nil
	}
	cs := charsetOf(c.Charset)
	labels = make([]string, len(rest[0]))
	for i, b := range rest[0] {
		if cs != nil {
			b, _ = cs.decode(cs, nil, b)
		}
		labels[i] = string(b)
	}
	return labels, rest[1:]
}

// signed reports the types that may be UNSIGNED.
func (c Column) signed() bool {
	switch c.family() {
	case famInt, famDecimal, famFloat:
		return true
	default:
		return false
	}
}

// newStep compiles the reading of one column. One that is not used may have any known type.
func (p *Plan) newStep(c Column, wire byte, meta uint16, used bool) (step, error) {
	s := step{unsigned: c.Unsigned(), digits: int(meta)}
	s.size, s.prefix = wireForm(wire, meta)
	if size := oldTimeSize(wire, c.FractionDigits); size > 0 {
		s.size, s.digits = size, c.FractionDigits
	}
	s.old = wire == mysql.MYSQL_TYPE_DATETIME || wire == mysql.MYSQL_TYPE_TIMESTAMP || wire == mysql.MYSQL_TYPE_TIME
	if s.size == 0 && s.prefix == 0 {
		return step{}, p.changed("column '%s' has the unknown type %d", c.Name, wire)
	}
	if !used {
		return s, nil
	}
	inner, length := innerType(wire, meta)
	if s.read = readerOf(c, inner, s.size); s.read == nil {
		return step{}, p.changed("column '%s' has the type %d, which is not that of %s", c.Name, wire, c.sqlType())
	}
	switch wire {
	case mysql.MYSQL_TYPE_NEWDECIMAL:
		if int(meta>>8) != c.Precision || int(meta&0xFF) != c.Scale {
			return step{}, p.changed("column '%s' is DECIMAL(%d,%d) instead of %s", c.Name, meta>>8, meta&0xFF, c.sqlType())
		}
		s.decimal, _ = newDecimalForm(c.Precision, c.Scale)
	case mysql.MYSQL_TYPE_DATETIME2, mysql.MYSQL_TYPE_TIMESTAMP2, mysql.MYSQL_TYPE_TIME2:
		if int(meta) != c.FractionDigits {
			return step{}, p.changed("column '%s' has %d fraction digits instead of %s", c.Name, meta, c.sqlType())
		}
	case mysql.MYSQL_TYPE_STRING:
		if inner == mysql.MYSQL_TYPE_STRING && int64(length) > c.maxBytes() {
			return step{}, p.changed("column '%s' holds up to %d bytes, more than %s", c.Name, length, c.sqlType())
		}
	case typeVarcharCompressed:
		if int64(meta)-1 > c.maxBytes() { // a byte says how it is compressed
			return step{}, p.changed("column '%s' holds up to %d bytes, more than %s", c.Name, meta-1, c.sqlType())
		}
	case mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_VAR_STRING:
		if int64(meta) > c.maxBytes() {
			return step{}, p.changed("column '%s' holds up to %d bytes, more than %s", c.Name, meta, c.sqlType())
		}
	}
	return s, nil
}

// maxBytes is the largest size of a CHAR, VARCHAR or binary value.
func (c Column) maxBytes() int64 {
	if n := c.fixedBytes(); n > 0 {
		return int64(n)
	}
	return c.Length * charWidth(c.Charset)
}

// readerOf gives the reader of a column's wire type, nil if the type is not the column's.
func readerOf(c Column, wire byte, size int) reader {
	f := c.family()
	switch wire {
	case mysql.MYSQL_TYPE_TINY, mysql.MYSQL_TYPE_SHORT, mysql.MYSQL_TYPE_INT24, mysql.MYSQL_TYPE_LONG, mysql.MYSQL_TYPE_LONGLONG:
		return only(f == famInt && size == c.intBytes(), readInt)
	case mysql.MYSQL_TYPE_NEWDECIMAL:
		return only(f == famDecimal, readDecimal)
	case mysql.MYSQL_TYPE_FLOAT, mysql.MYSQL_TYPE_DOUBLE:
		return only(f == famFloat && (size == 4) == (c.DataType == "float"), readFloat)
	case mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_VAR_STRING, mysql.MYSQL_TYPE_BLOB:
		return stringReader(c, wire)
	case typeBlobCompressed:
		return only(c.unbounded() && (f == famText || f == famBytes), readPacked)
	case typeVarcharCompressed:
		return only(!c.unbounded() && strings.HasPrefix(c.DataType, "var"), readPacked)
	case mysql.MYSQL_TYPE_DATE, mysql.MYSQL_TYPE_NEWDATE:
		return only(f == famDate, readDate)
	case mysql.MYSQL_TYPE_DATETIME2, mysql.MYSQL_TYPE_DATETIME:
		return only(f == famDatetime, readDatetime)
	case mysql.MYSQL_TYPE_TIMESTAMP2, mysql.MYSQL_TYPE_TIMESTAMP:
		return only(f == famTimestamp, readTimestamp)
	case mysql.MYSQL_TYPE_TIME2, mysql.MYSQL_TYPE_TIME:
		return only(f == famTime, readTime)
	case mysql.MYSQL_TYPE_YEAR:
		return only(f == famYear, readYear)
	case mysql.MYSQL_TYPE_BIT:
		return only(f == famBit && size == c.bitBytes(), readBit)
	case mysql.MYSQL_TYPE_ENUM:
		return only(f == famEnum, readEnum)
	case mysql.MYSQL_TYPE_SET:
		return only(f == famSet, readSet)
	case mysql.MYSQL_TYPE_JSON:
		return only(f == famJSON, readJSON)
	case mysql.MYSQL_TYPE_GEOMETRY:
		return only(f == famGeometry, readGeometry)
	case mysql.MYSQL_TYPE_VECTOR:
		return only(f == famVector, readVector)
	default:
		return nil
	}
}

// only gives r if it is the right one.
func only(right bool, r reader) reader {
	if !right {
		return nil
	}
	return r
}

func stringReader(c Column, wire byte) reader {
	switch c.family() {
	case famUUID:
		return only(wire == mysql.MYSQL_TYPE_STRING, readUUID)
	case famInet4:
		return only(wire == mysql.MYSQL_TYPE_STRING, readInet4)
	case famInet6:
		return only(wire == mysql.MYSQL_TYPE_STRING, readInet6)
	case famVector: // MariaDB has no wire type for it
		return only(wire == mysql.MYSQL_TYPE_VARCHAR, readVector)
	default:
	}
	fixed := c.DataType == "char" || c.DataType == "binary"
	var good bool
	switch wire {
	case mysql.MYSQL_TYPE_STRING:
		good = fixed
	case mysql.MYSQL_TYPE_BLOB:
		good = c.unbounded()
	default:
		good = !fixed && !c.unbounded()
	}
	switch {
	case good && c.family() == famText:
		return readText
	case good && c.family() == famBytes:
		return readBytes
	default:
		return nil
	}
}

// Skip gives the length of the row image at the front of data.
func (l *Layout) Skip(data []byte) (int, error) {
	return l.walk(data, len(l.steps))
}

// walk gives the length of an image up to column number cols.
func (l *Layout) walk(data []byte, cols int) (int, error) {
	if len(data) < l.nulls {
		return 0, l.plan.cellError("(NULL bits)", truncated)
	}
	at := l.nulls
	for i := range l.steps[:cols] {
		if data[i>>3]&(1<<(i&7)) != 0 {
			continue
		}
		n := l.steps[i].skip(data[at:])
		if n < 0 {
			return 0, l.plan.cellError(l.plan.cols[i].Name, status(n))
		}
		at += n
	}
	return at, nil
}

func (s *step) skip(b []byte) int {
	if s.prefix > 0 {
		return readSkipVar(s, nil, b)
	}
	return readSkip(s, nil, b)
}

// SameKey reports whether two whole images agree in the bytes of the key
// columns of Options.Key. Malformed images do not.
func (l *Layout) SameKey(before, after []byte) bool {
	if len(before) < l.nulls || len(after) < l.nulls {
		return false
	}
	a, b := before[l.nulls:], after[l.nulls:]
	for i := range l.last + 1 {
		s := &l.steps[i]
		bit := byte(1 << (i & 7))
		nullA, nullB := before[i>>3]&bit != 0, after[i>>3]&bit != 0
		var n, m int
		if !nullA {
			n = s.skip(a)
		}
		if !nullB {
			m = s.skip(b)
		}
		if n < 0 || m < 0 || l.key[i] && (nullA != nullB || string(a[:n]) != string(b[:m])) {
			return false
		}
		a, b = a[n:], b[m:]
	}
	return true
}

// kindsOf gives the row kinds of an update.
func kindsOf(sameKey bool) (before, after columnar.RowKind) {
	if sameKey {
		return columnar.UpdateBefore, columnar.UpdateAfter
	}
	return columnar.Delete, columnar.Insert
}
