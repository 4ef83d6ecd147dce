package columnar

import (
	"fmt"
	"math"
	"strings"
)

// Kind is the root of a logical type, named as in Paimon.
type Kind uint8

// The kinds of the Paimon type system.
const (
	Invalid Kind = iota
	Boolean
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Char
	VarChar
	Binary
	VarBinary
	Date
	Time
	Timestamp
	TimestampLTZ
	Array
	Map
	Multiset
	Row
	Variant
)

// MaxLength is the length of STRING (VARCHAR) and BYTES (VARBINARY).
const MaxLength = math.MaxInt32

// DataType is a logical type. The zero value is Invalid.
type DataType struct {
	Kind     Kind
	Nullable bool
	// Length counts characters of CHAR and VARCHAR, bytes of BINARY and VARBINARY.
	Length int
	// Precision counts digits of DECIMAL (1–38) and fraction digits of TIME, TIMESTAMP and TIMESTAMP_LTZ (0–9).
	Precision int
	Scale     int
	// Elem is the element of ARRAY and MULTISET and the value of MAP; Key is the key of MAP.
	Elem *DataType
	Key  *DataType
	// Fields are the fields of ROW.
	Fields []Field
}

// Field is a column or a field of a ROW.
type Field struct {
	// ID is the field id of the table format; unique within a table, nested fields included.
	ID      int
	Name    string
	Type    DataType
	Comment string
	// Default is the text of a default value, nil if there is none.
	Default *string
}

// Schema is the columns of a table or of a stream.
type Schema struct {
	Fields []Field
}

// Index gives the position of the column called name, -1 if there is none.
func (s *Schema) Index(name string) int {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// Names lists the column names in order.
func (s *Schema) Names() []string {
	n := make([]string, len(s.Fields))
	for i := range s.Fields {
		n[i] = s.Fields[i].Name
	}
	return n
}

// Project gives the schema of the columns at idx, in that order.
func (s *Schema) Project(idx []int) *Schema {
	p := &Schema{Fields: make([]Field, len(idx))}
	for i, j := range idx {
		p.Fields[i] = s.Fields[j]
	}
	return p
}

// Of gives the nullable type of a kind without parameters.
func Of(k Kind) DataType { return DataType{Kind: k, Nullable: true} }

// DecimalOf is DECIMAL(precision, scale), nullable.
func DecimalOf(precision, scale int) DataType {
	return DataType{Kind: Decimal, Nullable: true, Precision: precision, Scale: scale}
}

// StringType is STRING, that is VARCHAR of MaxLength.
func StringType() DataType { return DataType{Kind: VarChar, Nullable: true, Length: MaxLength} }

// BytesType is BYTES, that is VARBINARY of MaxLength.
func BytesType() DataType { return DataType{Kind: VarBinary, Nullable: true, Length: MaxLength} }

// TimestampOf is TIMESTAMP(precision).
func TimestampOf(precision int) DataType {
	return DataType{Kind: Timestamp, Nullable: true, Precision: precision}
}

// NotNull gives t as NOT NULL.
func (t DataType) NotNull() DataType { t.Nullable = false; return t }

// AsNullable gives t as nullable.
func (t DataType) AsNullable() DataType { t.Nullable = true; return t }

// IsInteger reports TINYINT to BIGINT.
func (t DataType) IsInteger() bool { return t.Kind >= TinyInt && t.Kind <= BigInt }

// IsNumeric reports integers, FLOAT, DOUBLE and DECIMAL.
func (t DataType) IsNumeric() bool { return t.Kind >= TinyInt && t.Kind <= Decimal }

// IsText reports CHAR, VARCHAR and STRING.
func (t DataType) IsText() bool { return t.Kind == Char || t.Kind == VarChar }

// IsBytes reports BINARY, VARBINARY and BYTES.
func (t DataType) IsBytes() bool { return t.Kind == Binary || t.Kind == VarBinary }

// IsNested reports ARRAY, MAP, MULTISET, ROW and VARIANT.
func (t DataType) IsNested() bool { return t.Kind >= Array }

// EqualIgnoreNull reports whether t and o are the same type, nullability of the top level apart.
func (t DataType) EqualIgnoreNull(o DataType) bool {
	t.Nullable, o.Nullable = true, true
	return t.String() == o.String()
}

var atomNames = map[Kind]string{
	Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT", BigInt: "BIGINT",
	Float: "FLOAT", Double: "DOUBLE", Date: "DATE", Variant: "VARIANT",
}

// String gives the SQL text as Paimon renders it in schema files, such as
// "DECIMAL(18, 2) NOT NULL"; ROW and collections in SQL form.
func (t DataType) String() string {
	s := t.base()
	if !t.Nullable {
		s += " NOT NULL"
	}
	return s
}

func (t DataType) base() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case Char:
		return fmt.Sprintf("CHAR(%d)", t.Length)
	case VarChar:
		if t.Length == MaxLength {
			return "STRING"
		}
		return fmt.Sprintf("VARCHAR(%d)", t.Length)
	case Binary:
		return fmt.Sprintf("BINARY(%d)", t.Length)
	case VarBinary:
		if t.Length == MaxLength {
			return "BYTES"
		}
		return fmt.Sprintf("VARBINARY(%d)", t.Length)
	case Time:
		return fmt.Sprintf("TIME(%d)", t.Precision)
	case Timestamp:
		return fmt.Sprintf("TIMESTAMP(%d)", t.Precision)
	case TimestampLTZ:
		return fmt.Sprintf("TIMESTAMP(%d) WITH LOCAL TIME ZONE", t.Precision)
	case Array:
		return "ARRAY<" + t.Elem.String() + ">"
	case Multiset:
		return "MULTISET<" + t.Elem.String() + ">"
	case Map:
		return "MAP<" + t.Key.String() + ", " + t.Elem.String() + ">"
	case Row:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = "`" + f.Name + "` " + f.Type.String()
		}
		return "ROW<" + strings.Join(parts, ", ") + ">"
	default:
		if n, ok := atomNames[t.Kind]; ok {
			return n
		}
		return "INVALID"
	}
}
