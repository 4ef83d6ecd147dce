package planner

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// copyColumn is a column of copies that is not a column of the source as it is.
type copyColumn struct {
	name string
	// text is how the user wrote it.
	text string
	at   diag.Pos
	// bind gives the expression over the columns of a table.
	bind func(s *Session, sc *scope) (expr.Expr, error)
}

var computedCall = regexp.MustCompile(`(?s)^\s*([A-Za-z_][A-Za-z_0-9]*)\s*\((.*)\)\s*$`)

// asCast tells CAST(x AS type) from cast(literal, type).
var asCast = regexp.MustCompile(`(?i)\sAS\s`)

// computedColumn reads 'name = fn(args)' as Paimon's actions do, where fn is one
// of theirs and its first argument names a column, and else 'name = expression'.
func computedColumn(text string, vars func(string) (string, bool)) (*copyColumn, error) {
	name, rhs, ok := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !ok || name == "" || strings.TrimSpace(rhs) == "" {
		return nil, &diag.Error{
			Domain: diag.User, Code: diag.CodeUsage, Msg: fmt.Sprintf("computed column '%s' has no 'name ='", text), Hint: "write 'day = date_format(at, yyyy-MM-dd)', or 'total = price * amount'",
		}
	}
	c := &copyColumn{name: name, text: strings.TrimSpace(rhs)}
	plain, perr := parseExpression("computed column "+name, c.text, vars)
	m := computedCall.FindStringSubmatch(c.text)
	var fn *actionFunction
	var args []string
	if m != nil {
		if fn = actionFunctions[strings.ToLower(m[1])]; asCast.MatchString(m[2]) {
			fn = nil // CAST(x AS type)
		}
		if strings.TrimSpace(m[2]) != "" {
			args = strings.Split(m[2], ",")
		}
		for i := range args {
			args[i] = strings.TrimSpace(args[i])
		}
	}
	if fn == nil && perr != nil {
		return nil, perr
	}
	c.bind = func(s *Session, sc *scope) (expr.Expr, error) {
		if fn != nil && fn.takes(args) {
			if fn.noColumn {
				return fn.bind(s, nil, args)
			}
			if x := sc.find(args[0]); x != nil {
				return fn.bind(s, x, args[1:])
			}
			if plainWord(args[0]) {
				return nil, unknownColumn(args[0], c.at, sc.names())
			}
		}
		if perr != nil {
			return nil, perr
		}
		return s.bindExpr(plain, sc)
	}
	return c, nil
}

func plainWord(s string) bool {
	return s != "" && !strings.ContainsAny(s, " ()'\"`+-*/|<>=.:") && (s[0] < '0' || s[0] > '9')
}

// find gives the column of that name without case, as the actions look it up.
func (sc *scope) find(name string) expr.Expr {
	name = strings.Trim(name, "`")
	for _, c := range sc.rel.columns {
		if c.name == name {
			return c.expr
		}
	}
	for _, c := range sc.rel.columns {
		if strings.EqualFold(c.name, name) {
			return c.expr
		}
	}
	return nil
}

func (sc *scope) names() []string {
	out := make([]string, len(sc.rel.columns))
	for i, c := range sc.rel.columns {
		out[i] = c.name
	}
	return out
}

// parseExpression reads one expression.
func parseExpression(file, text string, vars func(string) (string, bool)) (sqlfront.Expr, error) {
	sel, err := parseSelect(file, "SELECT "+text+" FROM t", vars)
	if err != nil {
		return nil, err
	}
	if len(sel.Items) != 1 || sel.Items[0].Alias.Text != "" {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: fmt.Sprintf("%s: '%s' is not one expression", file, text), Hint: "write one function or expression"}
	}
	return sel.Items[0].Expr, nil
}

func parseSelect(file, text string, vars func(string) (string, bool)) (*sqlfront.Select, error) {
	if vars == nil {
		vars = func(string) (string, bool) { return "", false }
	}
	script, err := sqlfront.Parse(file, text, vars)
	if err != nil {
		return nil, err
	}
	if len(script.Statements) == 1 {
		if q, ok := script.Statements[0].(*sqlfront.QueryStatement); ok {
			sel, _ := plainSelect(q.Query)
			if sel == nil {
				return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Msg: file + ": it is computed from more than one row", Hint: "write an expression over the columns of one row"}
			}
			return sel, nil
		}
		if u, ok := script.Statements[0].(*sqlfront.Unsupported); ok {
			return nil, u.Error()
		}
	}
	return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: file + ": this is no expression", Hint: "write a function or an expression over the columns of the table"}
}

// actionFunction is a function of computed columns of Paimon's actions, whose
// arguments are texts without quotes.
type actionFunction struct {
	min, max int
	// noColumn says that the first argument is none.
	noColumn bool
	bind     func(s *Session, x expr.Expr, args []string) (expr.Expr, error)
}

func (f *actionFunction) takes(args []string) bool { return len(args) >= f.min && len(args) <= f.max }

var actionFunctions map[string]*actionFunction

func init() {
	field := func(name string) *actionFunction {
		return &actionFunction{min: 1, max: 2, bind: func(_ *Session, x expr.Expr, args []string) (expr.Expr, error) {
			m, err := momentFrom(x, args)
			if err != nil {
				return nil, err
			}
			n, err := expr.Call(name, m)
			if err != nil {
				return nil, err
			}
			return expr.Cast(n, columnar.Of(columnar.Int), false)
		}}
	}
	text := func(name string) *actionFunction {
		return &actionFunction{min: 1, max: 1, bind: func(_ *Session, x expr.Expr, _ []string) (expr.Expr, error) {
			x, err := textOf(x)
			if err != nil {
				return nil, err
			}
			return expr.Call(name, x)
		}}
	}
	actionFunctions = map[string]*actionFunction{
		"year": field("YEAR"), "month": field("MONTH"), "day": field("DAYOFMONTH"), "hour": field("HOUR"), "minute": field("MINUTE"), "second": field("SECOND"),
		"upper": text("UPPER"), "lower": text("LOWER"), "trim": text("TRIM"),
		"date_format": {min: 2, max: 3, bind: bindActionFormat},
		"substring":   {min: 2, max: 3, bind: bindActionSubstring},
		"truncate":    {min: 2, max: 2, bind: bindActionTruncate},
		"now": {max: 0, noColumn: true, bind: func(*Session, expr.Expr, []string) (expr.Expr, error) {
			return expr.Call("LOCALTIMESTAMP")
		}},
		"cast": {min: 1, max: 4, noColumn: true, bind: bindActionCast},
	}
}

func textOf(x expr.Expr) (expr.Expr, error) {
	if x.Type().IsText() {
		return x, nil
	}
	return expr.Cast(x, columnar.StringType(), false)
}

func actionError(msg, hint string) error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeType, Msg: msg, Hint: hint}
}

// momentFrom gives the point of time that a column holds: itself, the text of a
// date-time, or with a precision of 0, 3, 6 or 9 a number of s, ms, µs or ns
// since 1970 in UTC; numbers without one are seconds.
func momentFrom(x expr.Expr, args []string) (expr.Expr, error) {
	t := x.Type()
	precision := ""
	if len(args) > 0 {
		precision = args[0]
	}
	switch {
	case t.Kind == columnar.Date || t.Kind == columnar.Timestamp:
		return expr.Cast(x, columnar.TimestampOf(max(t.Precision, 3)), false)
	case t.Kind == columnar.TimestampLTZ:
		return expr.Cast(x, columnar.TimestampOf(max(t.Precision, 3)), false)
	case t.IsInteger() && precision == "":
		precision = "0"
	case t.IsText() && precision == "":
		return expr.Cast(x, columnar.TimestampOf(9), false)
	case !t.IsInteger() && !t.IsText() && !(t.Kind == columnar.Decimal && t.Scale == 0):
		return nil, actionError(fmt.Sprintf("%s is %s, which is no point of time", expr.String(x), t.AsNullable()), "name a column of dates, times, texts or whole numbers")
	}
	n, err := expr.Cast(x, columnar.Of(columnar.BigInt), false)
	if err != nil {
		return nil, err
	}
	switch precision {
	case "0":
		n, err = expr.Call("*", n, expr.LitBigInt(1000))
	case "3":
	case "6", "9":
		unit := expr.LitBigInt(map[string]int64{"6": 1000, "9": 1000000}[precision])
		var rest expr.Expr
		if rest, err = floorMod(n, unit); err == nil {
			if n, err = expr.Call("-", n, rest); err == nil {
				n, err = expr.Call("/", n, unit)
			}
		}
	default:
		return nil, actionError(fmt.Sprintf("the precision '%s' is none of 0, 3, 6 and 9", precision), "write 0 for seconds, 3 for milliseconds, 6 for microseconds, 9 for nanoseconds")
	}
	if err != nil {
		return nil, err
	}
	epoch, err := expr.LitTimestamp("1970-01-01 00:00:00.000")
	if err != nil {
		return nil, err
	}
	return expr.Call("ADD INTERVAL", epoch, expr.LitBigInt(0), n)
}

// floorMod is the remainder that is never negative.
func floorMod(x, width expr.Expr) (expr.Expr, error) {
	for _, op := range []string{"%", "+", "%"} {
		var err error
		if x, err = expr.Call(op, x, width); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func bindActionFormat(_ *Session, x expr.Expr, args []string) (expr.Expr, error) {
	m, err := momentFrom(x, args[1:])
	if err != nil {
		return nil, err
	}
	return expr.Call("DATE_FORMAT", m, expr.LitString(strings.Trim(args[0], "'")))
}

// bindActionSubstring counts characters from 0; the end is not part of it.
func bindActionSubstring(_ *Session, x expr.Expr, args []string) (expr.Expr, error) {
	x, err := textOf(x)
	if err != nil {
		return nil, err
	}
	at := make([]int, len(args))
	for i, a := range args {
		if at[i], err = strconv.Atoi(a); err != nil || at[i] < 0 || i == 1 && at[1] < at[0] {
			return nil, actionError(fmt.Sprintf("substring from %s", strings.Join(args, " to ")), "write substring(column, begin[, end]) with 0 <= begin <= end")
		}
	}
	list := []expr.Expr{x, expr.LitInt(int32(at[0] + 1))}
	if len(at) == 2 {
		list = append(list, expr.LitInt(int32(at[1]-at[0])))
	}
	return expr.Call("SUBSTRING", list...)
}

// bindActionTruncate cuts texts to a width and numbers down to a multiple of it;
// of a DECIMAL the digits count as a whole number.
func bindActionTruncate(_ *Session, x expr.Expr, args []string) (expr.Expr, error) {
	t := x.Type()
	width, err := strconv.ParseInt(args[0], 10, 32)
	if err != nil || width <= 0 {
		return nil, actionError(fmt.Sprintf("truncate to '%s'", args[0]), "write truncate(column, width) with a whole number above 0")
	}
	var rest expr.Expr
	switch {
	case t.IsText():
		return expr.Call("SUBSTRING", x, expr.LitInt(1), expr.LitInt(int32(width)))
	case t.IsInteger():
		wide, err := expr.Cast(x, columnar.Of(columnar.BigInt), false)
		if err != nil {
			return nil, err
		}
		if rest, err = floorMod(wide, expr.LitBigInt(width)); err != nil {
			return nil, err
		}
		x = wide
	case t.Kind == columnar.Decimal:
		digits := fmt.Sprintf("%0*d", t.Scale+1, width)
		unit, err := expr.LitNumber(digits[:len(digits)-t.Scale] + "." + digits[len(digits)-t.Scale:])
		if t.Scale == 0 {
			unit, err = expr.LitNumber(digits)
		}
		if err != nil {
			return nil, err
		}
		if rest, err = floorMod(x, unit); err != nil {
			return nil, err
		}
	default:
		return nil, actionError(fmt.Sprintf("truncate does not take %s", t.AsNullable()), "name a column of texts, whole numbers or decimals")
	}
	cut, err := expr.Call("-", x, rest)
	if err != nil {
		return nil, err
	}
	return expr.Cast(cut, t, false)
}

// bindActionCast is a constant, of STRING where no type is given.
func bindActionCast(_ *Session, _ expr.Expr, args []string) (expr.Expr, error) {
	literal := expr.LitString(strings.Trim(args[0], "'"))
	if len(args) == 1 {
		// STRING, not CHAR(n).
		return expr.Cast(literal, columnar.StringType(), false)
	}
	typed, err := parseExpression("cast", "CAST('' AS "+strings.Join(args[1:], ",")+")", nil)
	if err != nil {
		return nil, err
	}
	c, ok := typed.(*sqlfront.Cast)
	if !ok {
		return nil, actionError("cast to "+strings.Join(args[1:], ","), "write cast(literal, type)")
	}
	return expr.Cast(literal, c.Type, false)
}
