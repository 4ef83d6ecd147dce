package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// literalExpr is a constant. Booleans, integers, dates (days), times (ms) and
// timestamps (in the unit of their precision) are in i, FLOAT and DOUBLE in f,
// DECIMAL in dec (unscaled), text and bytes in s.
type literalExpr struct {
	t    columnar.DataType
	null bool
	i    int64
	f    float64
	dec  decimal128.Num
	s    string
}

func (e *literalExpr) Type() columnar.DataType { return e.t }

// LitNull is NULL of type t; the zero DataType gives the bare NULL.
func LitNull(t columnar.DataType) Expr { return &literalExpr{t: t.AsNullable(), null: true} }

// LitBool is TRUE or FALSE.
func LitBool(v bool) Expr {
	l := &literalExpr{t: columnar.Of(columnar.Boolean).NotNull()}
	if v {
		l.i = 1
	}
	return l
}

// LitInt is an INT.
func LitInt(v int32) Expr {
	return &literalExpr{t: columnar.Of(columnar.Int).NotNull(), i: int64(v)}
}

// LitBigInt is a BIGINT.
func LitBigInt(v int64) Expr {
	return &literalExpr{t: columnar.Of(columnar.BigInt).NotNull(), i: v}
}

// LitDouble is a DOUBLE.
func LitDouble(v float64) Expr {
	return &literalExpr{t: columnar.Of(columnar.Double).NotNull(), f: v}
}

// LitString is a string literal, of type CHAR(n).
func LitString(v string) Expr {
	return &literalExpr{t: columnar.DataType{Kind: columnar.Char, Length: utf8.RuneCountInString(v)}, s: v}
}

// LitBytes is a binary literal such as x'0aff', of type BINARY(n).
func LitBytes(v []byte) Expr {
	return &literalExpr{t: columnar.DataType{Kind: columnar.Binary, Length: len(v)}, s: string(v)}
}

// LitNumber reads an unsigned number as SQL writes it: INT if it fits, else
// BIGINT; DECIMAL with a point; DOUBLE with an exponent.
func LitNumber(text string) (Expr, error) {
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, typeError("write a number within ±1.7E308", "%s is not a DOUBLE", text)
		}
		return LitDouble(f), nil
	}
	whole, frac, point := strings.Cut(text, ".")
	if !point || frac == "" {
		v, err := strconv.ParseInt(whole, 10, 64)
		if err != nil {
			return nil, typeError(fmt.Sprintf("write CAST('%s' AS DECIMAL(%d, 0))", whole, min(len(whole), 38)),
				"%s is out of the range of BIGINT", text)
		}
		if v >= math.MinInt32 && v <= math.MaxInt32 {
			return LitInt(int32(v)), nil
		}
		return LitBigInt(v), nil
	}
	digits := strings.TrimLeft(whole+frac, "0")
	scale := len(frac)
	// As in Flink every written digit counts, leading zeros too.
	precision := len(whole) + scale
	if len(digits) > 18 {
		if _, err := strconv.ParseInt(digits, 10, 64); err != nil {
			return nil, typeError(fmt.Sprintf("write CAST('%s' AS DECIMAL(%d, %d))", text, min(precision, 38), min(scale, 38)),
				"%s has too many digits for a literal", text)
		}
	}
	if precision > maxPrecision {
		return nil, typeError("write fewer digits", "%s has more than 38 digits", text)
	}
	n, err := strconv.ParseInt("0"+digits, 10, 64)
	if err != nil {
		return nil, typeError("write a number", "%s is not a number", text)
	}
	return &literalExpr{t: columnar.DecimalOf(precision, scale).NotNull(), dec: decimal128.FromI64(n)}, nil
}

// LitDate reads the text of DATE '…'.
func LitDate(text string) (Expr, error) {
	d, ok := parseLiteralDate(text)
	if !ok {
		return nil, typeError("write DATE 'yyyy-MM-dd' with a day that exists", "'%s' is not a date", text)
	}
	return &literalExpr{t: columnar.Of(columnar.Date).NotNull(), i: int64(d)}, nil
}

// LitTime reads the text of TIME '…'.
func LitTime(text string) (Expr, error) {
	ms, ok := parseTime(text)
	if !ok {
		return nil, typeError("write TIME 'HH:mm:ss'", "'%s' is not a time of day", text)
	}
	p := 0
	if _, frac, ok := strings.Cut(text, "."); ok {
		p = min(len(frac), 9)
	}
	return &literalExpr{t: columnar.DataType{Kind: columnar.Time, Precision: p}, i: int64(truncateMillis(ms, p))}, nil
}

// LitTimestamp reads the text of TIMESTAMP '…'; its precision is the number of fraction digits.
func LitTimestamp(text string) (Expr, error) {
	sec, nanos, ok := parseTimestamp(text)
	if y, m, d, _, split := splitYMD(trimBlanks(text)); !split || !validDate(y, m, d) {
		ok = false
	}
	p := 0
	if _, frac, has := strings.Cut(text, "."); has {
		p = len(frac)
	}
	if !ok || p > 9 {
		return nil, typeError("write TIMESTAMP 'yyyy-MM-dd HH:mm:ss[.fff]' with a day that exists", "'%s' is not a timestamp", text)
	}
	v, ok := timestampUnits(sec, nanos, p)
	if !ok {
		return nil, typeError("write at most six fraction digits", "'%s' is outside the range of TIMESTAMP(%d)", text, p)
	}
	return &literalExpr{t: columnar.TimestampOf(p).NotNull(), i: v}, nil
}
