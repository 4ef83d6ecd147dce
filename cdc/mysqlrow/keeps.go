package mysqlrow

import (
	"math/big"
	"slices"
	"strings"
)

// KeepsValues reports whether ALTER TABLE, which makes column now of column was,
// leaves every value as it was read before. strict says that the session refuses
// values that do not fit; without it they are cut. Numbers of fewer digits and
// fractions of a second are rounded under either.
func KeepsValues(was, now Column, strict bool) bool {
	switch {
	case was.Generated && now.Generated && was.Expression != now.Expression, !was.Generated && now.Generated:
		return false
	case was.Nullable && !now.Nullable && (!strict || was.family() == famTimestamp):
		return false // NULL becomes the zero of the type
	case was.family() == famInt && now.family() == famText:
		return !strings.Contains(strings.ToLower(was.ColumnType), "zerofill") && (strict || now.Length >= int64(len(was.intRange(1).String())+1))
	case was.family() != now.family() || was.family() == famNone:
		return false
	}
	switch was.family() {
	case famInt:
		return strict || was.intRange(-1).Cmp(now.intRange(-1)) >= 0 && was.intRange(1).Cmp(now.intRange(1)) <= 0
	case famDecimal:
		whole := now.Precision-now.Scale >= was.Precision-was.Scale && (was.Unsigned() || !now.Unsigned())
		return now.Scale >= was.Scale && (whole || strict)
	case famFloat:
		return was.DataType == now.DataType && strings.EqualFold(was.ColumnType, now.ColumnType) || was.DataType == "float" && strings.EqualFold(now.ColumnType, "double")
	case famText:
		fixed := now.DataType == "char" && was.DataType != "char"
		return !fixed && now.Length >= was.Length && (now.Charset == was.Charset || now.Charset == "utf8mb4" || was.Charset == "ascii")
	case famBytes:
		fixed := now.DataType == "binary" && (was.DataType != "binary" || was.Length != now.Length)
		return !fixed && (now.Length >= was.Length || strict)
	case famDatetime, famTimestamp:
		return now.FractionDigits >= was.FractionDigits
	case famTime: // kept as text with its digits
		return now.FractionDigits == was.FractionDigits
	case famBit:
		return now.bitBytes() == was.bitBytes() && (now.Precision >= was.Precision || strict)
	case famEnum, famSet:
		return sublist(was.labels(), now.labels())
	case famVector, famGeometry:
		return strings.EqualFold(was.ColumnType, now.ColumnType) || now.DataType == "geometry"
	default:
		return true
	}
}

// intRange gives the lowest or highest value of an integer type.
func (c Column) intRange(sign int) *big.Int {
	bits := uint(c.intBytes() * 8)
	one := big.NewInt(1)
	switch {
	case c.Unsigned() && sign < 0:
		return new(big.Int)
	case c.Unsigned():
		return new(big.Int).Lsh(one, bits)
	default:
		v := new(big.Int).Lsh(one, bits-1)
		return v.Mul(v, big.NewInt(int64(sign)))
	}
}

// sublist reports whether all of a is in b, in the same order.
func sublist(a, b []string) bool {
	for _, x := range a {
		i := slices.Index(b, x)
		if i < 0 {
			return false
		}
		b = b[i+1:]
	}
	return true
}
