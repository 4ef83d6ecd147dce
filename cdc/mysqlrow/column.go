package mysqlrow

import "strings"

// Column is a column of a source table as information_schema.columns tells it.
type Column struct {
	Name string
	// DataType is data_type in lower case, such as "bigint"; ColumnType is
	// column_type, such as "bigint unsigned" or "tinyint(1)".
	DataType   string
	ColumnType string
	// Length is character_maximum_length: characters of text, bytes of binary types.
	Length int64
	// Precision and Scale are those of DECIMAL, and Precision counts the bits of
	// BIT; FractionDigits is datetime_precision.
	Precision      int
	Scale          int
	FractionDigits int
	// Charset is character_set_name, "" for a column without one.
	Charset string
	// Collation is collation_name, "" for a column without one.
	Collation string
	Nullable  bool
	// Default is column_default, nil if there is none.
	Default *string
	// Generated says that the value is computed, by Expression.
	Generated  bool
	Expression string `json:",omitempty"`
	// Counts says that the server gives rows without a value one (AUTO_INCREMENT).
	Counts bool `json:",omitempty"`
	// Hidden says that rows of the log have the column and the server does not list
	// it: MariaDB's hashes of long unique keys, and the period of a table WITH
	// SYSTEM VERSIONING that names no columns for it.
	Hidden bool `json:",omitempty"`
	// RowEnd says that the column is the end of a row's period in such a table:
	// a row whose period has ended is history and not in the table.
	RowEnd  bool `json:",omitempty"`
	Comment string
}

// Unsigned reports UNSIGNED; ZEROFILL implies it.
func (c Column) Unsigned() bool {
	t := strings.ToLower(c.ColumnType)
	return strings.Contains(t, "unsigned") || strings.Contains(t, "zerofill")
}

// family groups the MySQL types that share a form of value.
type family uint8

const (
	famNone family = iota
	famInt
	famDecimal
	famFloat
	famText
	famBytes
	famDate
	famDatetime
	famTimestamp
	famBit
	famYear
	famTime
	famEnum
	famSet
	famJSON
	famGeometry
	famVector
	famUUID
	famInet4
	famInet6
)

func (c Column) family() family {
	switch c.DataType {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint":
		return famInt
	case "decimal", "numeric":
		return famDecimal
	case "float", "double":
		return famFloat
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		return famText
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return famBytes
	case "date":
		return famDate
	case "datetime":
		return famDatetime
	case "timestamp":
		return famTimestamp
	case "bit":
		return famBit
	case "year":
		return famYear
	case "time":
		return famTime
	case "enum":
		return famEnum
	case "set":
		return famSet
	case "json":
		return famJSON
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
		"geomcollection", "geometrycollection":
		return famGeometry
	case "vector":
		return famVector
	case "uuid":
		return famUUID
	case "inet4":
		return famInet4
	case "inet6":
		return famInet6
	default:
		return famNone
	}
}

// intBytes is the storage size of an integer type, 0 for another type.
func (c Column) intBytes() int {
	switch c.DataType {
	case "tinyint":
		return 1
	case "smallint":
		return 2
	case "mediumint":
		return 3
	case "int", "integer":
		return 4
	case "bigint":
		return 8
	default:
		return 0
	}
}

// isBool reports TINYINT(1), the type behind BOOL.
func (c Column) isBool() bool {
	return c.DataType == "tinyint" && strings.HasPrefix(strings.ToLower(c.ColumnType), "tinyint(1)") && !c.Unsigned()
}

// unbounded reports TEXT and BLOB types, whose natural target has no length.
func (c Column) unbounded() bool {
	return strings.HasSuffix(c.DataType, "text") || strings.HasSuffix(c.DataType, "blob")
}

// Large reports the types that binlog_row_image=NOBLOB leaves out where they did
// not change: TEXT and BLOB. JSON and the like are not among them.
func (c Column) Large() bool { return c.unbounded() }

// sqlType names the type for people, in upper case, with length and charset where they matter.
func (c Column) sqlType() string {
	t := c.ColumnType
	if t == "" {
		t = c.DataType
	}
	t = strings.ToUpper(t)
	switch c.family() {
	case famText, famEnum, famSet:
		if !knownCharset(c.Charset) {
			t += " CHARACTER SET " + c.Charset
		}
	default:
	}
	return t
}

// bitBytes is the size of a BIT value.
func (c Column) bitBytes() int { return (max(c.Precision, 1) + 7) / 8 }

// labels gives the labels of ENUM and SET as COLUMN_TYPE lists them: quoted, a
// quote doubled, and backslash, newline, return and NUL escaped. The server
// prints characters beyond U+FFFF there as '?'.
func (c Column) labels() []string {
	_, list, _ := strings.Cut(c.ColumnType, "(")
	var out []string
	for {
		_, rest, found := strings.Cut(list, "'")
		if !found {
			return out
		}
		var label []byte
		label, list = unquote(rest)
		out = append(out, string(label))
	}
}

// unquote reads a label behind its opening quote; rest follows the closing one.
func unquote(s string) (label []byte, rest string) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\'' && strings.HasPrefix(s[i+1:], "'"):
			i++
			label = append(label, '\'')
		case s[i] == '\'':
			return label, s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
			label = append(label, unescape(s[i]))
		default:
			label = append(label, s[i])
		}
	}
	return label, ""
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case '0':
		return 0
	default:
		return c
	}
}
