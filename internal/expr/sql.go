package expr

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"leat/internal/columnar"
)

// DuckSQL writes e in DuckDB's SQL if every node of it means there what it means
// here: ok is false where one does not, such as integer division or a cast that
// rounds. column writes column i. Values are taken to be carried as DuckType says.
// What is left out must be computed by a Program.
func DuckSQL(e Expr, column func(i int) string) (text string, ok bool) {
	w := sqlWriter{column: column}
	if !w.expr(e) {
		return "", false
	}
	return w.b.String(), true
}

// DuckType is the type of DuckDB in which values of t are carried: TIME as the
// INTEGER of its milliseconds, TIMESTAMP_LTZ as the TIMESTAMP of its instant in UTC,
// fields of a ROW under the names f0, f1, ….
func DuckType(t columnar.DataType) string {
	switch t.Kind {
	case columnar.Int, columnar.Time:
		return "INTEGER"
	case columnar.Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case columnar.Char, columnar.VarChar:
		return "VARCHAR"
	case columnar.Binary, columnar.VarBinary:
		return "BLOB"
	case columnar.Timestamp, columnar.TimestampLTZ:
		return map[int]string{3: "TIMESTAMP_MS", 6: "TIMESTAMP", 9: "TIMESTAMP_NS"}[unitDigits(t.Precision)]
	case columnar.Array:
		return DuckType(*t.Elem) + "[]"
	case columnar.Map:
		return "MAP(" + DuckType(*t.Key) + ", " + DuckType(*t.Elem) + ")"
	case columnar.Multiset:
		return "MAP(" + DuckType(*t.Elem) + ", INTEGER)"
	case columnar.Row:
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = "f" + strconv.Itoa(i) + " " + DuckType(f.Type)
		}
		return "STRUCT(" + strings.Join(fields, ", ") + ")"
	case columnar.Variant:
		return "STRUCT(f0 BLOB, f1 BLOB)"
	default:
		return t.AsNullable().String()
	}
}

type sqlWriter struct {
	b      strings.Builder
	column func(int) string
}

func (w *sqlWriter) put(texts ...string) bool {
	for _, s := range texts {
		w.b.WriteString(s)
	}
	return true
}

func (w *sqlWriter) expr(e Expr) bool {
	switch v := e.(type) {
	case *columnExpr:
		return w.put(w.column(v.index))
	case *literalExpr:
		return w.literal(v)
	case *castExpr:
		return w.cast(v)
	case *callExpr:
		return w.call(v)
	default:
		return false
	}
}

func (w *sqlWriter) literal(e *literalExpr) bool {
	t := DuckType(e.t)
	if e.null {
		return w.put("CAST(NULL AS ", t, ")")
	}
	switch e.t.Kind {
	case columnar.Boolean:
		return w.put(strings.ToUpper(strconv.FormatBool(e.i != 0)))
	case columnar.Int, columnar.Time:
		if e.i < 0 {
			return w.put("CAST('", strconv.FormatInt(e.i, 10), "' AS INTEGER)")
		}
		return w.put(strconv.FormatInt(e.i, 10))
	case columnar.TinyInt, columnar.SmallInt, columnar.BigInt:
		return w.put("CAST('", strconv.FormatInt(e.i, 10), "' AS ", t, ")")
	case columnar.Float, columnar.Double:
		if math.IsNaN(e.f) || math.IsInf(e.f, 0) {
			return false
		}
		return w.put("CAST('", strconv.FormatFloat(e.f, 'g', -1, 64), "' AS ", t, ")")
	case columnar.Decimal:
		return w.put("CAST('", e.dec.ToString(int32(e.t.Scale)), "' AS ", t, ")")
	case columnar.Char, columnar.VarChar:
		if strings.ContainsRune(e.s, 0) {
			return false
		}
		return w.put("'", strings.ReplaceAll(e.s, "'", "''"), "'")
	case columnar.Binary, columnar.VarBinary:
		return w.put("unhex('", hex.EncodeToString([]byte(e.s)), "')")
	case columnar.Date:
		return w.put("(DATE '1970-01-01' + CAST('", strconv.FormatInt(e.i, 10), "' AS INTEGER))")
	default:
		return false
	}
}

// cast writes casts that change no value.
func (w *sqlWriter) cast(e *castExpr) bool {
	from, to := e.arg.Type(), e.t
	switch {
	case sameForm(from, to, e.mode), isBuilt(from) && DuckType(from) == DuckType(to) && sameInside(from, to, e.mode):
		return w.expr(e.arg)
	case to.Kind == columnar.Double && from.Kind != columnar.BigInt && (from.IsInteger() || from.Kind == columnar.Float):
	case from.IsInteger() && to.IsInteger() && to.Kind > from.Kind:
	case isExact(from) && to.Kind == columnar.Decimal && holdsAll(from, to):
	default:
		return false
	}
	return w.put("CAST(") && w.expr(e.arg) && w.put(" AS ", DuckType(to), ")")
}

// sameInside reports casts of nested values that change at most what may be NULL in them.
func sameInside(from, to columnar.DataType, mode castMode) bool {
	return eachKid(from, to, func(a, b columnar.DataType) bool {
		return sameForm(a, b, mode) || isBuilt(a) && sameInside(a, b, mode)
	})
}

// holdsAll reports whether a DECIMAL holds every number of an exact type.
func holdsAll(from, to columnar.DataType) bool {
	p, s := asDecimal(from)
	return to.Scale >= s && to.Precision-to.Scale >= p-s
}

func (w *sqlWriter) call(e *callExpr) bool {
	switch name := e.fn.name; name {
	case "AND", "OR":
		return w.put("(") && w.expr(e.args[0]) && w.put(" ", name, " ") && w.expr(e.args[1]) && w.put(")")
	case "NOT":
		return w.put("(NOT ") && w.expr(e.args[0]) && w.put(")")
	case "IS NULL", "IS NOT NULL":
		return w.put("(") && w.expr(e.args[0]) && w.put(" ", name, ")")
	case "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS UNKNOWN", "IS NOT UNKNOWN":
		word := name[strings.LastIndexByte(name, ' ')+1:]
		if word == "UNKNOWN" {
			word = "NULL"
		}
		test := " IS DISTINCT FROM "
		if !strings.Contains(name, "NOT") {
			test = " IS NOT DISTINCT FROM "
		}
		return w.put("(") && w.expr(e.args[0]) && w.put(test, "CAST(", word, " AS BOOLEAN))")
	case "=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM":
		return w.compare(name, e.args[0], e.args[1])
	case "IN", "NOT IN":
		return w.in(name, e.args)
	case "CASE", "IF":
		return w.caseOf(e.args)
	case "COALESCE", "IFNULL":
		return w.list("COALESCE(", e.args)
	case memberFunction.name:
		return w.put("struct_extract(") && w.expr(e.args[0]) && w.put(", 'f", strconv.FormatInt(e.args[1].(*literalExpr).i, 10), "')")
	case elementFunction.name:
		return w.element(e)
	case "LIKE", "NOT LIKE":
		return len(e.args) == 2 && w.put("(") && w.expr(e.args[0]) && w.put(" ", name, " ") && w.expr(e.args[1]) && w.put(")")
	default:
		return false
	}
}

// element writes a[i] for a position that is written down: others may be 0 or negative,
// which DuckDB counts from the end.
func (w *sqlWriter) element(e *callExpr) bool {
	l, ok := e.args[1].(*literalExpr)
	if !ok || l.null || e.args[0].Type().Kind != columnar.Array {
		return false
	}
	return w.put("list_extract(") && w.expr(e.args[0]) && w.put(", ", strconv.FormatInt(l.i, 10), ")")
}

func (w *sqlWriter) list(head string, args []Expr) bool {
	w.put(head)
	for i, a := range args {
		if i > 0 {
			w.put(", ")
		}
		if !w.expr(a) {
			return false
		}
	}
	return w.put(")")
}

// comparesAlike reports whether DuckDB compares two types as compareLoop does.
// Floating numbers are not alike: NaN is the greatest number there.
func comparesAlike(a, b columnar.DataType) bool {
	switch {
	case a.Kind == columnar.Decimal && b.Kind == columnar.Decimal:
		s := max(a.Scale, b.Scale)
		return max(a.Precision-a.Scale, b.Precision-b.Scale)+s <= maxPrecision
	case isTimestamp(a):
		return a.Kind == b.Kind && unitDigits(a.Precision) == unitDigits(b.Precision)
	case a.IsText() || a.IsBytes():
		return a.IsText() == b.IsText() && a.IsBytes() == b.IsBytes()
	default:
		return a.Kind == b.Kind && (a.IsInteger() || a.Kind == columnar.Boolean || a.Kind == columnar.Date || a.Kind == columnar.Time)
	}
}

func (w *sqlWriter) compare(op string, a, b Expr) bool {
	return comparesAlike(a.Type(), b.Type()) && w.put("(") && w.expr(a) && w.put(" ", op, " ") && w.expr(b) && w.put(")")
}

// in writes IN, whose arguments are pairs of the value and an element.
func (w *sqlWriter) in(op string, args []Expr) bool {
	elements := make([]Expr, 0, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		if args[i] != args[0] || !comparesAlike(args[0].Type(), args[i+1].Type()) {
			return false
		}
		elements = append(elements, args[i+1])
	}
	return w.put("(") && w.expr(args[0]) && w.list(" "+op+" (", elements) && w.put(")")
}

func (w *sqlWriter) caseOf(args []Expr) bool {
	w.put("CASE")
	last := len(args) - 1
	for i := 0; i < last; i += 2 {
		if !w.put(" WHEN ") || !w.expr(args[i]) || !w.put(" THEN ") || !w.expr(args[i+1]) {
			return false
		}
	}
	return w.put(" ELSE ") && w.expr(args[last]) && w.put(" END")
}

// Operands gives the arguments of a call or a cast, with the casts that it needs;
// nil for others.
func Operands(e Expr) []Expr {
	switch v := e.(type) {
	case *callExpr:
		return v.args
	case *castExpr:
		return []Expr{v.arg}
	default:
		return nil
	}
}

// Conjuncts gives the sides of AND.
func Conjuncts(e Expr) []Expr {
	if c, ok := e.(*callExpr); ok && c.fn.name == "AND" {
		return append(Conjuncts(c.args[0]), Conjuncts(c.args[1])...)
	}
	return []Expr{e}
}

// Same reports whether two expressions are the same tree over the same columns.
func Same(a, b Expr) bool {
	switch x := a.(type) {
	case *columnExpr:
		y, ok := b.(*columnExpr)
		return ok && x.index == y.index
	case *literalExpr:
		y, ok := b.(*literalExpr)
		return ok && x.t.EqualIgnoreNull(y.t) && x.null == y.null && x.i == y.i && math.Float64bits(x.f) == math.Float64bits(y.f) && x.dec == y.dec && x.s == y.s
	case *castExpr:
		y, ok := b.(*castExpr)
		return ok && x.t.EqualIgnoreNull(y.t) && x.mode == y.mode && Same(x.arg, y.arg)
	case *callExpr:
		y, ok := b.(*callExpr)
		if !ok || x.fn != y.fn || len(x.args) != len(y.args) {
			return false
		}
		for i := range x.args {
			if !Same(x.args[i], y.args[i]) {
				return false
			}
		}
		return true
	default:
		return false
	}
}
