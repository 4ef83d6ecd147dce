package expr

import (
	"leat/internal/columnar"
	"leat/internal/diag"
)

// Cast is CAST(e AS to), or TRY_CAST, which gives NULL where CAST fails the job.
// The result is as nullable as e; TRY_CAST is always nullable.
func Cast(e Expr, to columnar.DataType, try bool) (Expr, error) {
	from := e.Type()
	to.Nullable = from.Nullable || try
	if from.Kind == columnar.Invalid {
		return LitNull(to), nil
	}
	if !castable(from, to) {
		return nil, castError(from, to)
	}
	if from.EqualIgnoreNull(to) && from.Nullable == to.Nullable {
		return e, nil
	}
	c := &castExpr{arg: e, t: to, mode: castStrict}
	if try {
		c.mode = castTry
	}
	return c, nil
}

// Coerce gives e the type of a sink column without a CAST in the script. Only
// casts that lose nothing of note are accepted: wider numbers, another decimal
// (half up; overflow gives NULL), another length of text (not checked), another
// precision of a timestamp (cut off), TIMESTAMP to DATE, TIME and TIMESTAMP_LTZ.
// The nullability of the result is that of e; the sink checks NOT NULL.
func Coerce(e Expr, to columnar.DataType) (Expr, error) {
	from := e.Type()
	to.Nullable = from.Nullable
	if from.Kind == columnar.Invalid {
		return LitNull(to), nil
	}
	if from.EqualIgnoreNull(to) {
		return e, nil
	}
	if !assignable(from, to) {
		hint := "write CAST(" + String(e) + " AS " + typeName(to) + ")"
		if !castable(from, to) {
			hint = castError(from, to).Hint
		}
		return nil, typeError(hint, "%s does not fit a column of type %s", typeName(from), typeName(to))
	}
	return implicit(e, to), nil
}

func assignable(from, to columnar.DataType) bool {
	switch {
	case from.IsInteger():
		return to.IsInteger() && to.Kind >= from.Kind || isApproximate(to) || to.Kind == columnar.Decimal
	case from.Kind == columnar.Float:
		return isApproximate(to) || to.Kind == columnar.Decimal
	case from.Kind == columnar.Double:
		return to.Kind == columnar.Decimal
	case from.Kind == columnar.Decimal:
		return isApproximate(to) || to.Kind == columnar.Decimal
	case from.IsText():
		return to.IsText()
	case from.IsBytes():
		return to.IsBytes()
	case from.Kind == columnar.Time:
		return to.Kind == columnar.Time
	case from.Kind == columnar.Timestamp:
		return isTemporal(to)
	case from.Kind == columnar.TimestampLTZ:
		return isTimestamp(to)
	case isBuilt(from):
		return eachKid(from, to, func(a, b columnar.DataType) bool {
			return a.Kind == columnar.Invalid || a.EqualIgnoreNull(b) || assignable(a, b)
		})
	default:
		return false
	}
}

// eachKid reports whether two nested types are of one form and what is in them is as ok says.
func eachKid(from, to columnar.DataType, ok func(from, to columnar.DataType) bool) bool {
	a, b := kidTypes(from), kidTypes(to)
	if from.Kind != to.Kind || len(a) != len(b) {
		return false
	}
	for i := range a {
		if !ok(a[i], b[i]) {
			return false
		}
	}
	return true
}

// implicit casts e to t if it has another type; the caller knows that it may.
func implicit(e Expr, t columnar.DataType) Expr {
	from := e.Type()
	t.Nullable = from.Nullable
	if from.Kind == columnar.Invalid {
		return LitNull(t)
	}
	if from.EqualIgnoreNull(t) {
		return e
	}
	return &castExpr{arg: e, t: t, mode: castAssign}
}

// castable says whether CAST exists between two types.
func castable(from, to columnar.DataType) bool {
	switch {
	case isBuilt(from) && isBuilt(to):
		return eachKid(from, to, castable)
	case isBuilt(from):
		return to.IsText()
	case from.IsNested() || to.IsNested():
		return from.EqualIgnoreNull(to)
	case to.IsText():
		return true
	case from.IsText():
		return true
	case from.Kind == columnar.Boolean || from.IsNumeric():
		return to.Kind == columnar.Boolean || to.IsNumeric()
	case from.IsBytes():
		return to.IsBytes()
	case from.Kind == columnar.Date:
		return to.Kind == columnar.Date || isTimestamp(to)
	case from.Kind == columnar.Time:
		return to.Kind == columnar.Time
	default:
		return isTemporal(to)
	}
}

func castError(from, to columnar.DataType) *diag.Error {
	hint := "cast through STRING, or to a type of the same family"
	switch {
	case from.IsNumeric() && isTemporal(to):
		hint = "write TO_TIMESTAMP(FROM_UNIXTIME(x)) for seconds, or TO_TIMESTAMP_LTZ(x, 0) for seconds and TO_TIMESTAMP_LTZ(x, 3) for milliseconds"
	case isTemporal(from) && to.IsNumeric():
		hint = "write UNIX_TIMESTAMP(CAST(x AS STRING)) for seconds"
	case from.Kind == columnar.Date && to.Kind == columnar.Time, from.Kind == columnar.Time:
		hint = "write a TIMESTAMP, which holds both a day and a time of day"
	}
	return typeError(hint, "%s cannot be cast to %s", typeName(from), typeName(to))
}
