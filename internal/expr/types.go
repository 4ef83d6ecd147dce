package expr

import (
	"slices"

	"leat/internal/columnar"
)

const maxPrecision = 38

// capDecimal applies the cap rule: digits before the point are kept, the scale
// gives way down to 6 (or less where it was less).
func capDecimal(p, s int) columnar.DataType {
	if p > maxPrecision {
		digits := p - s
		s = max(maxPrecision-digits, min(s, 6))
		p = maxPrecision
	}
	return columnar.DecimalOf(p, s)
}

// asDecimal gives the decimal that an exact number counts as in type rules.
func asDecimal(t columnar.DataType) (p, s int) {
	switch t.Kind {
	case columnar.TinyInt:
		return 3, 0
	case columnar.SmallInt:
		return 5, 0
	case columnar.Int:
		return 10, 0
	case columnar.BigInt:
		return 19, 0
	default:
		return t.Precision, t.Scale
	}
}

func isApproximate(t columnar.DataType) bool {
	return t.Kind == columnar.Float || t.Kind == columnar.Double
}

func isExact(t columnar.DataType) bool { return t.IsInteger() || t.Kind == columnar.Decimal }

func isTimestamp(t columnar.DataType) bool {
	return t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ
}

// commonNumeric is the type two numbers meet in, outside the decimal rules of
// arithmetic. Between FLOAT and DOUBLE the first one wins, as in Flink.
func commonNumeric(a, b columnar.DataType) columnar.DataType {
	switch {
	case isApproximate(a) && isApproximate(b):
		return columnar.Of(a.Kind)
	case isApproximate(a) || isApproximate(b):
		if a.Kind == columnar.Decimal || b.Kind == columnar.Decimal {
			return columnar.Of(columnar.Double)
		}
		if isApproximate(a) {
			return columnar.Of(a.Kind)
		}
		return columnar.Of(b.Kind)
	case a.IsInteger() && b.IsInteger():
		return columnar.Of(max(a.Kind, b.Kind))
	default:
		p1, s1 := asDecimal(a)
		p2, s2 := asDecimal(b)
		s := max(s1, s2)
		return capDecimal(max(p1-s1, p2-s2)+s, s)
	}
}

// commonType is the type in which the branches of CASE and the arguments of
// COALESCE, GREATEST and IN meet. ok is false where there is none. A bare NULL
// takes the type of the other side.
func commonType(a, b columnar.DataType) (t columnar.DataType, ok bool) {
	nullable := a.Nullable || b.Nullable
	t, ok = commonBase(a, b)
	t.Nullable = nullable
	return t, ok
}

func commonBase(a, b columnar.DataType) (columnar.DataType, bool) {
	switch {
	case a.Kind == columnar.Invalid:
		return b, true
	case b.Kind == columnar.Invalid:
		return a, true
	case a.IsNumeric() && b.IsNumeric():
		return commonNumeric(a, b), true
	case a.IsText() && b.IsText():
		return commonLength(a, b, columnar.Char, columnar.VarChar), true
	case a.IsBytes() && b.IsBytes():
		return commonLength(a, b, columnar.Binary, columnar.VarBinary), true
	case a.Kind == b.Kind && (isTimestamp(a) || a.Kind == columnar.Time):
		a.Precision = max(a.Precision, b.Precision)
		return a, true
	case isTimestamp(a) && isTimestamp(b):
		return columnar.DataType{Kind: columnar.TimestampLTZ, Precision: max(a.Precision, b.Precision)}, true
	case a.Kind == columnar.Date && b.Kind == columnar.Timestamp:
		return b, true
	case a.Kind == columnar.Timestamp && b.Kind == columnar.Date:
		return a, true
	case isBuilt(a) && a.Kind == b.Kind:
		return commonNested(a, b)
	default:
		return a, a.EqualIgnoreNull(b)
	}
}

// commonNested is the nested type whose parts are the common types of the parts; the
// fields of a ROW are called as those of the first.
func commonNested(a, b columnar.DataType) (t columnar.DataType, ok bool) {
	part := func(x, y *columnar.DataType) *columnar.DataType {
		if x == nil || y == nil {
			return x
		}
		c, fits := commonType(*x, *y)
		ok = ok && fits
		return &c
	}
	ok = len(a.Fields) == len(b.Fields)
	if !ok {
		return a, false
	}
	t = a
	t.Elem, t.Key, t.Fields = part(a.Elem, b.Elem), part(a.Key, b.Key), slices.Clone(a.Fields)
	for i := range t.Fields {
		t.Fields[i].Type = *part(&a.Fields[i].Type, &b.Fields[i].Type)
	}
	return t, ok
}

func commonLength(a, b columnar.DataType, fixedKind, varKind columnar.Kind) columnar.DataType {
	t := columnar.DataType{Kind: varKind, Length: max(a.Length, b.Length)}
	if a.Kind == fixedKind && b.Kind == fixedKind && a.Length == b.Length {
		t.Kind = fixedKind
	}
	return t
}

// arithmeticType gives the result of a op b for numbers by Flink's rules.
func arithmeticType(op string, a, b columnar.DataType) columnar.DataType {
	if a.Kind != columnar.Decimal && b.Kind != columnar.Decimal || isApproximate(a) || isApproximate(b) {
		return commonNumeric(a, b)
	}
	p1, s1 := asDecimal(a)
	p2, s2 := asDecimal(b)
	switch op {
	case "*":
		return capDecimal(p1+p2+1, s1+s2)
	case "/":
		s := max(6, s1+p2+1)
		return capDecimal(p1-s1+s2+s, s)
	case "%":
		s := max(s1, s2)
		return capDecimal(min(p1-s1, p2-s2)+s, s)
	default:
		s := max(s1, s2)
		return capDecimal(max(p1-s1, p2-s2)+s+1, s)
	}
}

func anyNullable(args []Expr) bool {
	for _, a := range args {
		if a.Type().Nullable {
			return true
		}
	}
	return false
}

// withNull gives t nullable if one of args is.
func withNull(t columnar.DataType, args []Expr) columnar.DataType {
	t.Nullable = anyNullable(args)
	return t
}
