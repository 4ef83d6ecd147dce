package expr

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"leat/internal/columnar"
)

// String writes e as SQL, for EXPLAIN and error texts. Columns without a name are $0, $1, ….
func String(e Expr) string {
	var b strings.Builder
	e.text(&b)
	return b.String()
}

func (e *columnExpr) text(b *strings.Builder) {
	if e.name != "" {
		b.WriteString(e.name)
		return
	}
	b.WriteString("$" + strconv.Itoa(e.index))
}

func (e *castExpr) text(b *strings.Builder) {
	if e.mode == castAssign { // not written in the script
		e.arg.text(b)
		return
	}
	if e.mode == castTry {
		b.WriteString("TRY_")
	}
	fmt.Fprintf(b, "CAST(%s AS %s)", String(e.arg), e.t.AsNullable())
}

func (e *callExpr) text(b *strings.Builder) {
	args := make([]string, len(e.args))
	for i, a := range e.args {
		args[i] = String(a)
		if c, ok := written(a).(*callExpr); ok && e.fn.form != prefixForm && c.fn.form != prefixForm && c.fn.name != "CASE" {
			args[i] = "(" + args[i] + ")"
		}
	}
	switch e.fn.name {
	case "IN", "NOT IN":
		elems := make([]string, 0, len(args)/2)
		for i := 1; i < len(args); i += 2 {
			elems = append(elems, args[i])
		}
		fmt.Fprintf(b, "%s %s (%s)", args[0], e.fn.name, strings.Join(elems, ", "))
	case "CASE":
		b.WriteString("CASE")
		for i := 0; i+1 < len(args); i += 2 {
			fmt.Fprintf(b, " WHEN %s THEN %s", args[i], args[i+1])
		}
		fmt.Fprintf(b, " ELSE %s END", args[len(args)-1])
	case "JSON_VALUE", "JSON_QUERY", "JSON_EXISTS":
		fmt.Fprintf(b, "%s(%s, %s)", e.fn.name, args[0], args[1])
	case "ARRAY", "MAP":
		fmt.Fprintf(b, "%s[%s]", e.fn.name, strings.Join(args, ", "))
	case elementFunction.name:
		fmt.Fprintf(b, "%s[%s]", args[0], args[1])
	case memberFunction.name:
		fmt.Fprintf(b, "%s.%s", args[0], e.args[0].Type().Fields[e.args[1].(*literalExpr).i].Name)
	default:
		b.WriteString(writeCall(e.fn, args))
	}
}

// written gives what the script says below implicit casts.
func written(e Expr) Expr {
	for {
		c, ok := e.(*castExpr)
		if !ok || c.mode != castAssign {
			return e
		}
		e = c.arg
	}
}

func (e *literalExpr) text(b *strings.Builder) {
	if e.null {
		b.WriteString("NULL")
		return
	}
	switch e.t.Kind {
	case columnar.Boolean:
		b.WriteString(strings.ToUpper(strconv.FormatBool(e.i != 0)))
	case columnar.Float, columnar.Double:
		b.Write(AppendDouble(nil, e.f, 64))
	case columnar.Decimal:
		b.WriteString(e.dec.ToString(int32(e.t.Scale)))
	case columnar.Char, columnar.VarChar:
		b.WriteString("'" + strings.ReplaceAll(e.s, "'", "''") + "'")
	case columnar.Binary, columnar.VarBinary:
		fmt.Fprintf(b, "x'%x'", e.s)
	case columnar.Date:
		b.WriteString("DATE '" + time.Unix(e.i*secondsPerDay, 0).UTC().Format(time.DateOnly) + "'")
	case columnar.Time:
		fmt.Fprintf(b, "TIME '%s'", appendTime(nil, int32(e.i), e.t.Precision))
	case columnar.Timestamp, columnar.TimestampLTZ:
		fmt.Fprintf(b, "TIMESTAMP '%s'", appendTimestamp(nil, e.i, e.t.Precision))
	default:
		b.WriteString(strconv.FormatInt(e.i, 10))
	}
}
