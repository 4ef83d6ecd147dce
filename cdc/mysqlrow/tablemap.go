package mysqlrow

import (
	"bytes"
	"slices"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

// TableMap is what a TABLE_MAP event tells of a table's columns. The slices may
// be shared with the event; Bind copies what it keeps.
type TableMap struct {
	// Types and Meta are the wire types and their parameters, one a column; a
	// two-byte parameter of STRING and DECIMAL has its first byte on top.
	Types []byte
	Meta  []uint16
	// Signedness has a bit a numeric column, the first one on top, set for
	// UNSIGNED; empty if the server does not tell.
	Signedness []byte
	// Names are the column names under binlog_row_metadata=FULL, else empty.
	Names [][]byte
	// Enums and Sets are the labels of the ENUM and of the SET columns in order,
	// in the character set of each, under binlog_row_metadata=FULL, else empty.
	Enums, Sets [][][]byte
}

// TableMapOf takes the columns out of an event, without a copy.
func TableMapOf(e *replication.TableMapEvent) TableMap {
	return TableMap{
		Types: e.ColumnType, Meta: e.ColumnMeta, Signedness: e.SignednessBitmap, Names: e.ColumnName,
		Enums: e.EnumStrValue, Sets: e.SetStrValue,
	}
}

func (m TableMap) equal(o TableMap) bool {
	if !bytes.Equal(m.Types, o.Types) || !bytes.Equal(m.Signedness, o.Signedness) ||
		!slices.Equal(m.Meta, o.Meta) {
		return false
	}
	return equalTexts(m.Names, o.Names) && slices.EqualFunc(m.Enums, o.Enums, equalTexts) && slices.EqualFunc(m.Sets, o.Sets, equalTexts)
}

func equalTexts(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

func (m TableMap) clone() TableMap {
	c := TableMap{Types: bytes.Clone(m.Types), Signedness: bytes.Clone(m.Signedness)}
	c.Meta = append(c.Meta, m.Meta...)
	c.Names = cloneTexts(m.Names)
	for _, labels := range m.Enums {
		c.Enums = append(c.Enums, cloneTexts(labels))
	}
	for _, labels := range m.Sets {
		c.Sets = append(c.Sets, cloneTexts(labels))
	}
	return c
}

func cloneTexts(texts [][]byte) [][]byte {
	out := make([][]byte, len(texts))
	for i, b := range texts {
		out[i] = bytes.Clone(b)
	}
	return out
}

// isNumeric reports the wire types that have a bit in Signedness. YEAR has one
// since some MySQL 8.0; 8.0.15 leaves it out.
func isNumeric(wire byte, years bool) bool {
	switch wire {
	case mysql.MYSQL_TYPE_NEWDECIMAL, mysql.MYSQL_TYPE_FLOAT, mysql.MYSQL_TYPE_DOUBLE:
		return true
	case mysql.MYSQL_TYPE_YEAR:
		return years
	default:
		return isInteger(wire)
	}
}

func isInteger(wire byte) bool {
	switch wire {
	case mysql.MYSQL_TYPE_TINY, mysql.MYSQL_TYPE_SHORT, mysql.MYSQL_TYPE_INT24, mysql.MYSQL_TYPE_LONG, mysql.MYSQL_TYPE_LONGLONG:
		return true
	default:
		return false
	}
}

// unsigned lists for each column whether it is UNSIGNED; nil if the map does not
// tell. years says whether YEAR columns have a bit.
func (m TableMap) unsigned(years bool) []bool {
	if len(m.Signedness) == 0 {
		return nil
	}
	out := make([]bool, len(m.Types))
	bit := 0
	for i, t := range m.Types {
		if !isNumeric(t, years) {
			continue
		}
		if bit/8 < len(m.Signedness) {
			out[i] = m.Signedness[bit/8]&(0x80>>(bit%8)) != 0
		}
		bit++
	}
	return out
}

// stringMeta unpacks the parameter of a STRING column: its real type (STRING,
// ENUM or SET) and the largest length in bytes, whose two top bits MySQL hides
// inverted in the type.
func stringMeta(meta uint16) (wire byte, length int) {
	hi, lo := byte(meta>>8), int(meta&0xFF)
	if hi == 0 {
		return mysql.MYSQL_TYPE_STRING, lo
	}
	if hi&0x30 != 0x30 {
		return hi | 0x30, lo | int(hi&0x30^0x30)<<4
	}
	return hi, lo
}

// innerType is the type of a column and, for STRING, the largest length of its values.
func innerType(wire byte, meta uint16) (inner byte, length int) {
	if wire == mysql.MYSQL_TYPE_STRING {
		return stringMeta(meta)
	}
	return wire, 0
}

// wireForm says how many bytes a value takes: size bytes, or a length of prefix
// bytes and then that many. Both are 0 for a type that is not known.
func wireForm(wire byte, meta uint16) (size, prefix int) {
	switch wire {
	case mysql.MYSQL_TYPE_TINY, mysql.MYSQL_TYPE_YEAR:
		return 1, 0
	case mysql.MYSQL_TYPE_SHORT:
		return 2, 0
	case mysql.MYSQL_TYPE_INT24, mysql.MYSQL_TYPE_DATE, mysql.MYSQL_TYPE_NEWDATE, mysql.MYSQL_TYPE_TIME:
		return 3, 0
	case mysql.MYSQL_TYPE_LONG, mysql.MYSQL_TYPE_FLOAT, mysql.MYSQL_TYPE_TIMESTAMP:
		return 4, 0
	case mysql.MYSQL_TYPE_LONGLONG, mysql.MYSQL_TYPE_DOUBLE, mysql.MYSQL_TYPE_DATETIME:
		return 8, 0
	case mysql.MYSQL_TYPE_TIME2:
		return 3 + fractionBytes(meta), 0
	case mysql.MYSQL_TYPE_TIMESTAMP2:
		return 4 + fractionBytes(meta), 0
	case mysql.MYSQL_TYPE_DATETIME2:
		return 5 + fractionBytes(meta), 0
	case mysql.MYSQL_TYPE_NEWDECIMAL:
		form, good := newDecimalForm(int(meta>>8), int(meta&0xFF))
		if !good {
			return 0, 0
		}
		return form.size, 0
	case mysql.MYSQL_TYPE_BIT:
		return (int(meta>>8)*8 + int(meta&0xFF) + 7) / 8, 0
	case mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_VAR_STRING:
		if meta > 255 {
			return 0, 2
		}
		return 0, 1
	case typeVarcharCompressed:
		return 0, 2
	case mysql.MYSQL_TYPE_BLOB, mysql.MYSQL_TYPE_JSON, mysql.MYSQL_TYPE_GEOMETRY, mysql.MYSQL_TYPE_VECTOR, typeBlobCompressed:
		if meta < 1 || meta > 4 {
			return 0, 0
		}
		return 0, int(meta)
	case mysql.MYSQL_TYPE_STRING:
		switch inner, length := stringMeta(meta); {
		case inner == mysql.MYSQL_TYPE_ENUM || inner == mysql.MYSQL_TYPE_SET:
			return length, 0
		case length > 255:
			return 0, 2
		default:
			return 0, 1
		}
	default:
		return 0, 0
	}
}

func fractionBytes(digits uint16) int { return int(min(digits, 6)+1) / 2 }
