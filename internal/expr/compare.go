package expr

import (
	"cmp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
	"leat/internal/diag"
)

var compareFunctions = []*function{
	{name: "=", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindCompare, build: buildCompare},
	{name: "<>", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindCompare, build: buildCompare},
	{name: "<", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindCompare, build: buildCompare},
	{name: "<=", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindCompare, build: buildCompare},
	{name: ">", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindCompare, build: buildCompare},
	{name: ">=", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindCompare, build: buildCompare},
	{name: "IS DISTINCT FROM", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindDistinct, build: buildDistinct},
	{name: "IS NOT DISTINCT FROM", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindDistinct, build: buildDistinct},
	{name: "IN", form: infixForm, minArgs: 2, maxArgs: -1, bind: bindIn, build: buildIn},
	{name: "NOT IN", form: infixForm, minArgs: 2, maxArgs: -1, bind: bindIn, build: buildIn},
}

func boolType(nullable bool) columnar.DataType {
	return columnar.DataType{Kind: columnar.Boolean, Nullable: nullable}
}

func bindCompare(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	a, b, err := comparableSides(f, args[0], args[1])
	if err != nil {
		return columnar.DataType{}, nil, err
	}
	return boolType(anyNullable(args)), []Expr{a, b}, nil
}

func bindDistinct(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	a, b, err := comparableSides(f, args[0], args[1])
	if err != nil {
		return columnar.DataType{}, nil, err
	}
	return boolType(false), []Expr{a, b}, nil
}

// comparableSides brings both sides of a comparison to types that a loop compares,
// or says why they cannot be compared.
func comparableSides(f *function, x, y Expr) (a, b Expr, err error) {
	ta, tb := x.Type(), y.Type()
	switch {
	case ta.Kind == columnar.Invalid && tb.Kind == columnar.Invalid:
		return nil, nil, errBareNull()
	case ta.IsNested() || tb.IsNested():
		return nestedSides(f, x, y)
	case ta.IsNumeric() && tb.IsNumeric():
		return comparableNumbers(x, y)
	case ta.IsNumeric() && tb.IsText(), ta.IsText() && tb.IsNumeric():
		if f.name == "=" || f.name == "<>" {
			return nil, nil, mixedCompare(f, x, y)
		}
		if ta.IsNumeric() {
			return x, textTo(y, ta), nil
		}
		return textTo(x, tb), y, nil
	case isTemporal(ta) && tb.IsText():
		return x, textTo(y, ta), nil
	case ta.IsText() && isTemporal(tb):
		return textTo(x, tb), y, nil
	case isTimestamp(ta) && ta.Kind == tb.Kind:
		return x, y, nil
	case ta.IsText() && tb.IsText(), ta.IsBytes() && tb.IsBytes(), ta.Kind == columnar.Time && tb.Kind == columnar.Time:
		return x, y, nil
	}
	t, ok := commonType(ta, tb)
	if !ok {
		return nil, nil, mixedCompare(f, x, y)
	}
	return implicit(x, t), implicit(y, t), nil
}

// nestedSides brings nested values to one type; they are equal or not, and have no order.
func nestedSides(f *function, x, y Expr) (a, b Expr, err error) {
	switch t, ok := commonType(x.Type(), y.Type()); {
	case !ok:
		return nil, nil, mixedCompare(f, x, y)
	case t.Kind == columnar.Variant || strings.ContainsAny(f.name, "<>") && f.name != "<>":
		return nil, nil, argError(f, []Expr{x, y}, "compare what is in the values: nested values are equal or not, and have no order")
	default:
		return implicit(x, t), implicit(y, t), nil
	}
}

func comparableNumbers(x, y Expr) (a, b Expr, err error) {
	ta, tb := x.Type(), y.Type()
	if isExact(ta) && isExact(tb) && (ta.Kind == columnar.Decimal || tb.Kind == columnar.Decimal) {
		return toDecimal(x), toDecimal(y), nil
	}
	t := commonNumeric(ta, tb)
	return implicit(x, t), implicit(y, t), nil
}

func isTemporal(t columnar.DataType) bool {
	return isTimestamp(t) || t.Kind == columnar.Date || t.Kind == columnar.Time
}

// textTo casts text to t; a text that cannot be read fails when it is met.
func textTo(e Expr, t columnar.DataType) Expr {
	t.Nullable = e.Type().Nullable
	return &castExpr{arg: e, t: t}
}

func mixedCompare(f *function, x, y Expr) *diag.Error {
	ta, tb := x.Type(), y.Type()
	hint := "CAST one side to the type of the other"
	if ta.IsText() && !tb.IsText() {
		hint = "write CAST(" + String(x) + " AS " + typeName(tb) + ")"
	} else if tb.IsText() && !ta.IsText() {
		hint = "write CAST(" + String(y) + " AS " + typeName(ta) + ")"
	}
	return typeError(hint, "%s and %s cannot be compared with %s", typeName(ta), typeName(tb), f.name)
}

func buildCompare(c *compiler, e *callExpr) (node, error) {
	return c.loopOver(e, compareLoop(e.fn.name, e.args[0].Type(), e.args[1].Type()))
}

func texts(v *vector) []string { return v.strs }

// compareLoop gives the loop of a comparison operator for two types that comparableSides let through.
func compareLoop(op string, a, b columnar.DataType) loop {
	switch a.Kind {
	case columnar.Boolean, columnar.TinyInt:
		return orderedLoop(op, values[int8])
	case columnar.SmallInt:
		return orderedLoop(op, values[int16])
	case columnar.Int, columnar.Date, columnar.Time:
		return orderedLoop(op, values[int32])
	case columnar.BigInt:
		return orderedLoop(op, values[int64])
	case columnar.Timestamp, columnar.TimestampLTZ:
		fa, fb := unitDigits(a.Precision), unitDigits(b.Precision)
		if fa == fb {
			return orderedLoop(op, values[int64])
		}
		return cmpLoop(op, values[int64], func(x, y int64) int { return compareUnits(x, fa, y, fb) })
	case columnar.Float:
		return orderedLoop(op, values[float32])
	case columnar.Double:
		return orderedLoop(op, values[float64])
	case columnar.Decimal:
		return cmpLoop(op, values[decimal128.Num], func(x, y decimal128.Num) int {
			return compareDecimals(x, a.Scale, y, b.Scale)
		})
	case columnar.Array, columnar.Map, columnar.Multiset, columnar.Row:
		return sameLoop(op, a)
	default:
		return orderedLoop(op, texts)
	}
}

// compareUnits compares timestamps counted with da and db fraction digits.
func compareUnits(x int64, da int, y int64, db int) int {
	if da > db {
		return -compareUnits(y, db, x, da)
	}
	step := int64(pow10u64[db-da])
	whole := floorDiv(y, step)
	if c := cmp.Compare(x, whole); c != 0 {
		return c
	}
	return cmp.Compare(0, y-whole*step)
}

// orderedLoop compares with Go's operators, so that NaN is equal to nothing.
func orderedLoop[T cmp.Ordered](op string, get func(*vector) []T) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[bool](out, n)
		out.mergeValid(n, in...)
		a, b := get(in[0])[:n], get(in[1])[:n]
		switch op {
		case "=":
			for i := range d {
				d[i] = a[i] == b[i]
			}
		case "<>":
			for i := range d {
				d[i] = a[i] != b[i]
			}
		case "<":
			for i := range d {
				d[i] = a[i] < b[i]
			}
		case "<=":
			for i := range d {
				d[i] = a[i] <= b[i]
			}
		case ">":
			for i := range d {
				d[i] = a[i] > b[i]
			}
		default:
			for i := range d {
				d[i] = a[i] >= b[i]
			}
		}
		return nil
	}
}

func cmpLoop[T any](op string, get func(*vector) []T, compare func(a, b T) int) loop {
	var accept [3]bool // for -1, 0, 1
	switch op {
	case "=":
		accept = [3]bool{false, true, false}
	case "<>":
		accept = [3]bool{true, false, true}
	case "<":
		accept = [3]bool{true, false, false}
	case "<=":
		accept = [3]bool{true, true, false}
	case ">":
		accept = [3]bool{false, false, true}
	default:
		accept = [3]bool{false, true, true}
	}
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[bool](out, n)
		out.mergeValid(n, in...)
		a, b := get(in[0])[:n], get(in[1])[:n]
		for i := range d {
			if out.valid == nil || out.valid[i] {
				d[i] = accept[compare(a[i], b[i])+1]
			}
		}
		return nil
	}
}

func buildDistinct(c *compiler, e *callExpr) (node, error) {
	equal := compareLoop("=", e.args[0].Type(), e.args[1].Type())
	distinct := e.fn.name == "IS DISTINCT FROM"
	return c.loopOver(e, func(f *frame, in []*vector, out *scratch) error {
		if err := equal(f, in, out); err != nil {
			return err
		}
		d := values[bool](&out.vector)[:f.rows]
		a, b := in[0].valid, in[1].valid
		for i := range d {
			va, vb := a == nil || a[i], b == nil || b[i]
			same := va == vb && (!va || d[i])
			d[i] = same != distinct
		}
		out.valid = nil
		return nil
	})
}

// bindIn pairs x with each element as a comparison does, except that text
// elements are cast to the number they are compared with.
func bindIn(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	out := make([]Expr, 0, 2*len(args))
	for _, elem := range args[1:] {
		a, b, err := comparableSides(f, args[0], elem)
		if err != nil {
			return columnar.DataType{}, nil, err
		}
		out = append(out, a, b)
	}
	return boolType(anyNullable(args)), out, nil
}

// buildIn makes one equality a pair; the result is TRUE where one is TRUE, else NULL where one is NULL.
func buildIn(c *compiler, e *callExpr) (node, error) {
	var pairs []node
	for i := 0; i < len(e.args); i += 2 {
		args, err := c.all(e.args[i : i+2])
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, newLoop(compareLoop("=", e.args[i].Type(), e.args[i+1].Type()), args...))
	}
	return newLoop(anyTrueLoop(e.fn.name == "NOT IN"), pairs...), nil
}

func anyTrueLoop(not bool) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[bool](out, n)
		clear(d)
		nullable := false
		for _, v := range in {
			nullable = nullable || v.valid != nil
			for i, eq := range values[bool](v)[:n] {
				d[i] = d[i] || eq && (v.valid == nil || v.valid[i])
			}
		}
		if nullable {
			ok := out.growValid(n)
			for i := range ok {
				ok[i] = d[i] || allValid(in, i)
			}
		}
		if not {
			for i := range d {
				d[i] = !d[i]
			}
		}
		return nil
	}
}

func allValid(in []*vector, i int) bool {
	for _, v := range in {
		if v.valid != nil && !v.valid[i] {
			return false
		}
	}
	return true
}
