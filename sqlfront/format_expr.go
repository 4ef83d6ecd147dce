package sqlfront

import (
	"encoding/hex"
	"strconv"
	"strings"

	"leat/internal/columnar"
)

// power tells how tight the outermost operator of x binds.
func power(x Expr) int {
	switch x := x.(type) {
	case *Binary:
		return binaryPower[x.Op]
	case *Unary:
		switch x.Op {
		case OpNot:
			return bpNot
		case OpAdd, OpSub:
			return bpSign
		default:
			return bpIs
		}
	case *Between, *In, *LikeExpr:
		return bpRange
	case *Overlaps:
		return bpSign
	case *Quantified:
		return bpCompare
	case *Literal:
		if strings.HasPrefix(x.Text, "-") && x.Kind == LitBigInt {
			return bpSign
		}
	}
	return bpAtom
}

// expr writes x, in parentheses if it does not bind tighter than above.
func (w *writer) expr(x Expr, above int) {
	if power(x) <= above {
		w.put("(")
		w.bare(x)
		w.put(")")
		return
	}
	w.bare(x)
}

func (w *writer) bare(x Expr) {
	switch x := x.(type) {
	case *Ident:
		w.object(ObjectName{Parts: x.Parts})
	case *Literal:
		w.literal(x)
	case *Unary:
		w.unary(x)
	case *Binary:
		bp := binaryPower[x.Op]
		w.expr(x.L, bp-1)
		w.put(" ", string(x.Op), " ")
		w.expr(x.R, bp)
	case *Between, *In, *LikeExpr:
		w.rangeTest(x)
	case *Case:
		w.caseExpr(x)
	case *Cast:
		w.putIf(x.Try, "TRY_")
		w.put("CAST(")
		w.expr(x.X, 0)
		w.put(" AS ")
		w.dataType(x.Type)
		w.put(")")
	case *Call:
		w.call(x)
	case *Symbol:
		w.put(x.Text)
	case *Star:
		w.object(ObjectName{Parts: x.Qualifier})
		w.putIf(len(x.Qualifier) > 0, ".")
		w.put("*")
	case *RowExpr:
		w.put("ROW(")
		w.exprs(x.Items)
		w.put(")")
	case *Subquery:
		w.putIf(x.Exists, "EXISTS ")
		w.put("(")
		w.query(x.Query)
		w.put(")")
	case *Collection:
		w.put(x.Word, "[")
		w.exprs(x.Items)
		w.put("]")
	case *Element:
		if id, ok := x.X.(*Ident); ok {
			w.bare(id)
		} else {
			w.base(x.X)
		}
		w.put("[")
		w.expr(x.Index, 0)
		w.put("]")
	case *FieldRef:
		w.base(x.X)
		w.put(".", QuoteName(x.Field.Text))
	case *Overlaps:
		w.expr(x.L, bpRange)
		w.put(" ", x.Op, " ")
		w.expr(x.R, bpRange)
	case *Quantified:
		w.expr(x.X, bpCompare-1)
		w.put(" ", string(x.Op), map[bool]string{true: " ALL (", false: " ANY ("}[x.All])
		w.query(x.Query)
		w.put(")")
	case *JSONCall:
		w.jsonCall(x)
	case *GroupingSets:
		w.put(x.Word, " (")
		w.list(len(x.Items), ", ", func(i int) { w.grouping(x.Items[i]) })
		w.put(")")
	case *UnsupportedExpr:
		w.put(x.Text)
	}
}

// base writes what an element or a field is taken of. A name in parentheses is no
// part of a longer name.
func (w *writer) base(x Expr) {
	switch v := x.(type) {
	case *Call:
		if v.Bare || v.Filter != nil || v.Over != nil {
			break
		}
		w.bare(x)
		return
	case *Collection, *Element, *FieldRef, *Cast, *RowExpr:
		w.bare(x)
		return
	}
	w.put("(")
	w.bare(x)
	w.put(")")
}

// grouping writes an item of GROUP BY.
func (w *writer) grouping(x Expr) {
	if row, ok := x.(*RowExpr); ok {
		w.put("(")
		w.exprs(row.Items)
		w.put(")")
		return
	}
	w.expr(x, 0)
}

func (w *writer) exprs(list []Expr) {
	w.list(len(list), ", ", func(i int) { w.expr(list[i], 0) })
}

func (w *writer) unary(x *Unary) {
	switch x.Op {
	case OpNot:
		w.put("NOT ")
		w.expr(x.X, bpNot-1)
	case OpAdd, OpSub: // "--" would start a comment
		w.put(string(x.Op))
		w.expr(x.X, bpSign)
	default:
		w.expr(x.X, bpIs-1)
		w.put(" ", string(x.Op))
	}
}

func (w *writer) rangeTest(x Expr) {
	switch x := x.(type) {
	case *Between:
		w.expr(x.X, bpRange-1)
		w.putIf(x.Not, " NOT")
		w.put(" BETWEEN ")
		w.putIf(x.Symmetric, "SYMMETRIC ")
		w.expr(x.Low, bpRange)
		w.put(" AND ")
		w.expr(x.High, bpRange)
	case *In:
		w.expr(x.X, bpRange-1)
		w.putIf(x.Not, " NOT")
		w.put(" IN (")
		if x.Query != nil {
			w.query(x.Query)
		} else {
			w.exprs(x.List)
		}
		w.put(")")
	case *LikeExpr:
		w.expr(x.X, bpRange-1)
		w.putIf(x.Not, " NOT")
		w.put(map[bool]string{true: " SIMILAR TO ", false: " LIKE "}[x.Similar])
		w.expr(x.Pattern, bpRange)
		if x.Escape != nil {
			w.put(" ESCAPE ")
			w.expr(x.Escape, bpRange)
		}
	}
}

func (w *writer) caseExpr(x *Case) {
	w.put("CASE")
	if x.Operand != nil {
		w.put(" ")
		w.expr(x.Operand, 0)
	}
	for _, b := range x.Whens {
		w.put(" WHEN ")
		w.expr(b.Cond, 0)
		w.put(" THEN ")
		w.expr(b.Then, 0)
	}
	if x.Else != nil {
		w.put(" ELSE ")
		w.expr(x.Else, 0)
	}
	w.put(" END")
}

func (w *writer) literal(x *Literal) {
	if x.Raw != "" && x.Kind != LitInterval {
		w.put(x.Raw)
		return
	}
	switch x.Kind {
	case LitNull:
		w.put(map[bool]string{true: "UNKNOWN", false: "NULL"}[x.Unknown])
	case LitBool:
		w.put(map[bool]string{true: "TRUE", false: "FALSE"}[x.Bool])
	case LitInt, LitBigInt, LitDecimal, LitDouble:
		w.put(x.Text)
	case LitString:
		w.put(QuoteString(x.Text))
	case LitBinary:
		w.put("x'", hex.EncodeToString(x.Bytes), "'")
	case LitDate:
		w.put("DATE '", x.Text, "'")
	case LitTime:
		w.put("TIME '", x.Text, "'")
	case LitTimestamp:
		w.put("TIMESTAMP '", x.Text, "'")
	case LitTimestampLTZ:
		w.put("TIMESTAMP WITH LOCAL TIME ZONE '", x.Text, "'")
	case LitInterval:
		w.put("INTERVAL ", QuoteString(x.Text), " ", x.Unit.From)
		if x.Unit.Lead > 0 {
			w.put("(", strconv.Itoa(x.Unit.Lead), ")")
		}
		if x.Unit.To != "" {
			w.put(" TO ", x.Unit.To)
		}
	}
}

// infixArguments are the words between the arguments of functions that have a
// syntax of their own.
var infixArguments = map[string][]string{
	"EXTRACT": {" FROM "}, "POSITION": {" IN "}, "OVERLAY": {" PLACING ", " FROM ", " FOR "}, "CEIL": {" TO "}, "CEILING": {" TO "}, "FLOOR": {" TO "},
}

func (w *writer) call(x *Call) {
	if x.Bare {
		w.put(x.Func)
		return
	}
	between, special := infixArguments[x.Func]
	switch x.Func {
	case "EXTRACT", "TIMESTAMPADD", "TIMESTAMPDIFF":
		special = isSymbol(x.Args, 0)
	case "POSITION":
		special = len(x.Args) == 2 && power(x.Args[0]) > bpRange
	case "OVERLAY":
		special = len(x.Args) == 3 || len(x.Args) == 4
	case "CEIL", "CEILING", "FLOOR":
		special = len(x.Args) == 1 || isSymbol(x.Args, 1)
	case "TRIM":
		special = len(x.Args) == 1 || isSymbol(x.Args, 0)
	case "SUBSTRING", "JSON_VALUE", "JSON_QUERY", "JSON_EXISTS":
		special = len(x.Args) > 0
	}
	w.callName(x, special)
	w.put("(")
	w.putIf(x.Distinct, "DISTINCT ")
	switch {
	case x.Func == "TRIM" && len(x.Args) == 3 && special:
		w.bare(x.Args[0])
		w.put(" ")
		w.expr(x.Args[1], 0)
		w.put(" FROM ")
		w.expr(x.Args[2], 0)
	default:
		for i, arg := range x.Args {
			switch {
			case i > 0 && special && between != nil:
				w.put(between[i-1])
			case i > 0:
				w.put(", ")
			}
			w.expr(arg, 0)
		}
	}
	w.put(")")
	if x.Filter != nil {
		w.put(" FILTER (WHERE ")
		w.expr(x.Filter, 0)
		w.put(")")
	}
	if x.Over != nil {
		w.window(x.Over)
	}
}

func isSymbol(args []Expr, i int) bool {
	if i >= len(args) {
		return false
	}
	_, ok := args[i].(*Symbol)
	return ok
}

// specialCalls are names that the parser reads in a way of their own when bare.
var specialCalls = wordSet(`CAST TRY_CAST ROW ARRAY MAP TRIM EXTRACT POSITION OVERLAY SUBSTRING CEIL CEILING FLOOR TIMESTAMPADD TIMESTAMPDIFF
JSON_VALUE JSON_QUERY JSON_EXISTS JSON_OBJECT JSON_ARRAY JSON_OBJECTAGG JSON_ARRAYAGG TUMBLE HOP SESSION TUMBLE_START TUMBLE_END`)

// callName writes the name of a function. Reserved words are good names of
// functions; those with a syntax of their own are bare only where it is used.
func (w *writer) callName(x *Call, special bool) {
	bare := len(x.Name.Parts) == 1 && x.Func != "" && isNameStart(rune(x.Func[0])) &&
		(!grammarWord[x.Func] || x.Func == "LEFT" || x.Func == "RIGHT") && (special || !specialCalls[x.Func])
	for i := 0; i < len(x.Func) && bare; i++ {
		bare = isNamePart(x.Func[i])
	}
	if bare {
		w.put(x.Name.Parts[0].Text)
		return
	}
	w.object(x.Name)
}

func (w *writer) window(o *Window) {
	w.put(" OVER ")
	w.windowText(o)
}

func (w *writer) windowText(o *Window) {
	w.put("(")
	space := ""
	if o.Base.Text != "" {
		w.put(QuoteName(o.Base.Text))
		space = " "
	}
	if len(o.PartitionBy) > 0 {
		w.put(space)
		space = ""
	}
	if len(o.PartitionBy) > 0 {
		w.put("PARTITION BY ")
		w.exprs(o.PartitionBy)
		space = " "
	}
	if len(o.OrderBy) > 0 {
		w.put(space)
		w.orderBy(o.OrderBy)
		space = " "
	}
	if o.Frame != "" {
		w.put(space, o.Frame)
	}
	w.put(")")
}

func (w *writer) jsonCall(x *JSONCall) {
	w.put(x.Func, "(")
	w.exprs([]Expr{x.X, x.Path})
	if x.Returning.Kind != columnar.Invalid {
		w.put(" RETURNING ")
		w.dataType(x.Returning)
	}
	if x.Wrapper != "" {
		w.put(" ", x.Wrapper, " WRAPPER")
	}
	for i, b := range []JSONBehavior{x.OnEmpty, x.OnError} {
		if b.Word == "" {
			continue
		}
		w.put(" ", b.Word)
		if b.Default != nil {
			w.put(" ")
			w.expr(b.Default, 0)
		}
		w.put([]string{" ON EMPTY", " ON ERROR"}[i])
	}
	w.put(")")
}
