package columnar

import "fmt"

// Widest gives the type that holds the values of both, with the nullability of
// want. The error says that there is none.
func Widest(have, want DataType) (DataType, error) {
	out := want
	switch {
	case have.Kind == Decimal && want.Kind == Decimal:
		scale, whole := max(have.Scale, want.Scale), max(have.Precision-have.Scale, want.Precision-want.Scale)
		if scale+whole > 38 {
			return out, fmt.Errorf("%d digits are too many", scale+whole)
		}
		return DecimalOf(scale+whole, scale), nil
	case have.IsInteger() && want.IsInteger():
		out.Kind = max(have.Kind, want.Kind)
		return out, nil
	case have.IsInteger() && want.Kind == Decimal:
		digits := map[Kind]int{TinyInt: 3, SmallInt: 5, Int: 10, BigInt: 19}[have.Kind]
		whole := max(want.Precision-want.Scale, digits)
		if whole+want.Scale > 38 {
			return out, fmt.Errorf("%d digits are too many", whole+want.Scale)
		}
		return DecimalOf(whole+want.Scale, want.Scale), nil
	case have.Kind == Boolean && want.IsInteger():
		return want, nil
	case have.Kind == Float && want.Kind == Double:
		return want, nil
	case have.IsText() && want.IsText():
		out.Kind = VarChar
		out.Length = max(have.Length, want.Length)
		return out, nil
	case have.IsBytes() && want.IsBytes():
		out.Kind = VarBinary
		out.Length = max(have.Length, want.Length)
		return out, nil
	case have.Kind == want.Kind && (have.Kind == Timestamp || have.Kind == TimestampLTZ):
		out.Precision = max(have.Precision, want.Precision)
		return out, nil
	}
	return out, fmt.Errorf("%s does not widen to %s", have, want)
}
