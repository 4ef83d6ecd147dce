package mysqlrow

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// maxDecimalPrecision is the widest DECIMAL of the lake.
const maxDecimalPrecision = 38

// NaturalType gives the type that holds every value of c without loss: the
// default of a column whose type nobody declared. The nullability is that of c.
// The error is a *diag.Error for a MySQL type that cannot be read.
func NaturalType(c Column) (columnar.DataType, error) {
	t, err := natural(c)
	t.Nullable = c.Nullable
	return t, err
}

func natural(c Column) (columnar.DataType, error) {
	switch c.family() {
	case famInt:
		return naturalInt(c), nil
	case famDecimal:
		if c.Precision > maxDecimalPrecision {
			return columnar.StringType(), nil
		}
		return columnar.DecimalOf(c.Precision, c.Scale), nil
	case famFloat:
		if c.DataType == "double" {
			return columnar.Of(columnar.Double), nil
		}
		return columnar.Of(columnar.Float), nil
	case famText:
		if !knownCharset(c.Charset) {
			return columnar.DataType{}, unsupported(c)
		}
		return sized(c, columnar.Char, columnar.VarChar, columnar.StringType()), nil
	case famBytes:
		return sized(c, columnar.Binary, columnar.VarBinary, columnar.BytesType()), nil
	case famDate:
		return columnar.Of(columnar.Date), nil
	case famDatetime, famTimestamp:
		return columnar.TimestampOf(c.FractionDigits), nil
	case famBit:
		if c.Precision <= 1 {
			return columnar.Of(columnar.Boolean), nil
		}
		return columnar.DataType{Kind: columnar.Binary, Nullable: true, Length: c.bitBytes()}, nil
	case famYear:
		return columnar.Of(columnar.Int), nil
	case famEnum, famSet:
		return naturalLabels(c)
	case famTime, famJSON, famGeometry, famUUID, famInet4, famInet6:
		return columnar.StringType(), nil
	case famVector:
		return columnar.BytesType(), nil
	case famNone:
	}
	return columnar.DataType{}, unsupported(c)
}

func naturalLabels(c Column) (columnar.DataType, error) {
	if !knownCharset(c.Charset) {
		return columnar.DataType{}, unsupported(c)
	}
	text := columnar.StringType()
	if c.family() == famEnum {
		return text, nil
	}
	return columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &text}, nil
}

func naturalInt(c Column) columnar.DataType {
	if c.isBool() {
		return columnar.Of(columnar.Boolean)
	}
	n := c.intBytes()
	if c.Unsigned() && n != 3 {
		n *= 2
	}
	switch n {
	case 1:
		return columnar.Of(columnar.TinyInt)
	case 2:
		return columnar.Of(columnar.SmallInt)
	case 3, 4:
		return columnar.Of(columnar.Int)
	case 8:
		return columnar.Of(columnar.BigInt)
	default:
		return columnar.DecimalOf(20, 0)
	}
}

// sized gives the fixed or varying type of c's length, or the unbounded one.
// Length 0, which MySQL has and the lake has not, counts as 1.
func sized(c Column, fixed, varying columnar.Kind, unbounded columnar.DataType) columnar.DataType {
	if c.unbounded() {
		return unbounded
	}
	kind := fixed
	if strings.HasPrefix(c.DataType, "var") {
		kind = varying
	}
	return columnar.DataType{Kind: kind, Nullable: true, Length: max(1, int(c.Length))}
}

// CheckDeclared reports whether every value of c fits into the declared type
// unchanged; fraction digits of a time may be cut. The error is a *diag.Error
// that names column, MySQL type and the type to declare. Position and table are
// for the caller to fill in.
func CheckDeclared(c Column, declared columnar.DataType) error {
	want, err := natural(c)
	if err != nil {
		return err
	}
	if fits(c, declared) {
		return nil
	}
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeSourceColumn,
		Msg: fmt.Sprintf("column '%s' is %s at the source, which does not fit into %s",
			c.Name, c.sqlType(), declared.AsNullable()),
		Hint: fmt.Sprintf("declare `%s` as %s", c.Name, want),
	}
}

func fits(c Column, t columnar.DataType) bool {
	switch c.family() {
	case famInt:
		return intFits(c, t)
	case famDecimal:
		if t.Kind == columnar.Decimal {
			return t.Scale >= c.Scale && t.Precision-t.Scale >= c.Precision-c.Scale
		}
		if t.Kind == columnar.Double || t.Kind == columnar.Float {
			return c.Precision <= floatDigits[t.Kind]
		}
		return t.Kind == columnar.VarChar && t.Length >= c.Precision+3
	case famFloat:
		return t.Kind == columnar.Double || t.Kind == columnar.Float && c.DataType == "float"
	case famText:
		return t.IsText() && int64(t.Length) >= min(c.Length, columnar.MaxLength)
	case famBytes:
		if t.Kind == columnar.Binary {
			return c.DataType == "binary" && int64(t.Length) == max(1, c.Length)
		}
		return t.Kind == columnar.VarBinary && int64(t.Length) >= min(c.Length, columnar.MaxLength)
	case famDate:
		return t.Kind == columnar.Date || holds(t, len("2006-01-02"))
	case famDatetime:
		return t.Kind == columnar.Timestamp && t.Precision <= 6 || holds(t, len("2006-01-02 15:04:05")+c.fractionText())
	case famTimestamp:
		return (t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ) && t.Precision <= 6 ||
			holds(t, len("2006-01-02T15:04:05Z")+c.fractionText())
	case famTime:
		return t.Kind == columnar.Time || holds(t, len("-838:59:59")+c.fractionText())
	case famBit:
		return bitFits(c, t)
	case famYear:
		return yearFits(t)
	case famEnum, famSet:
		return labelsFit(c, t)
	case famJSON, famGeometry:
		return holds(t, columnar.MaxLength)
	case famUUID:
		return holds(t, uuidText)
	case famInet4:
		return holds(t, len("255.255.255.255"))
	case famInet6:
		return holds(t, inet6Text)
	case famVector:
		return t.Kind == columnar.VarBinary && int64(t.Length) >= min(c.Length, columnar.MaxLength) ||
			t.Kind == columnar.Array && t.Elem.Kind == columnar.Float
	case famNone:
	}
	return false
}

// floatDigits gives the decimal digits that a floating number keeps all.
var floatDigits = map[columnar.Kind]int{columnar.Float: 6, columnar.Double: 15}

// holds reports a text type for n characters.
func holds(t columnar.DataType, n int) bool { return t.IsText() && t.Length >= n }

// fractionText is the number of characters of the fraction of a second, the point included.
func (c Column) fractionText() int {
	if c.FractionDigits == 0 {
		return 0
	}
	return c.FractionDigits + 1
}

func bitFits(c Column, t columnar.DataType) bool {
	switch t.Kind {
	case columnar.Boolean:
		return c.Precision <= 1
	case columnar.Binary:
		return t.Length == c.bitBytes()
	default:
		return t.Kind == columnar.VarBinary && t.Length >= c.bitBytes()
	}
}

func yearFits(t columnar.DataType) bool {
	switch t.Kind {
	case columnar.SmallInt, columnar.Int, columnar.BigInt, columnar.Float, columnar.Double:
		return true
	case columnar.Decimal:
		return t.Precision-t.Scale >= 4
	default:
		return t.Kind == columnar.VarChar && t.Length >= 4
	}
}

// labelsFit looks at the longest label, or at all of a SET joined by commas.
func labelsFit(c Column, t columnar.DataType) bool {
	longest, all := 0, -1
	for _, l := range c.labels() {
		n := utf8.RuneCountInString(l)
		longest, all = max(longest, n), all+1+n
	}
	if c.family() == famEnum {
		return holds(t, longest)
	}
	return holds(t, all) || t.Kind == columnar.Array && holds(*t.Elem, longest)
}

func intFits(c Column, t columnar.DataType) bool {
	bits := c.intBytes() * 8 // of the value, the sign included
	if c.Unsigned() {
		bits++
	}
	switch t.Kind {
	case columnar.Boolean:
		return c.isBool()
	case columnar.TinyInt:
		return bits <= 8
	case columnar.SmallInt:
		return bits <= 16
	case columnar.Int:
		return bits <= 32
	case columnar.BigInt:
		return bits <= 64
	case columnar.Float:
		return bits <= 25
	case columnar.Double:
		return bits <= 54
	case columnar.Decimal:
		return t.Precision-t.Scale >= intDigits[bits]
	case columnar.VarChar:
		return t.Length >= intDigits[bits]+1
	default:
		return false
	}
}

// intDigits gives the decimal digits of an integer by its bits, the sign included.
var intDigits = map[int]int{8: 3, 9: 3, 16: 5, 17: 5, 24: 7, 25: 8, 32: 10, 33: 10, 64: 19, 65: 20}

func unsupported(c Column) error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeSourceColumn,
		Msg:  fmt.Sprintf("column '%s' is %s at the source, a type that leat does not read yet", c.Name, c.sqlType()),
		Hint: fmt.Sprintf("leave `%s` out of the CREATE TABLE statement", c.Name),
	}
}
