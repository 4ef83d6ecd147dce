package planner

import (
	"fmt"
	"regexp"
	"strings"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/sqlfront"
)

// aggregateFunctions are those that make one value of many rows.
var aggregateFunctions = map[string]bool{
	"COUNT": true, "SUM": true, "AVG": true, "MIN": true, "MAX": true, "LISTAGG": true, "COLLECT": true, "ARRAY_AGG": true, "FIRST_VALUE": true, "LAST_VALUE": true,
	"STDDEV": true, "STDDEV_POP": true, "STDDEV_SAMP": true, "VARIANCE": true, "VAR_POP": true, "VAR_SAMP": true, "APPROX_COUNT_DISTINCT": true,
}

// windowFunctions stand with OVER alone.
var windowFunctions = map[string]bool{
	"ROW_NUMBER": true, "RANK": true, "DENSE_RANK": true, "CUME_DIST": true, "PERCENT_RANK": true, "NTILE": true, "LAG": true, "LEAD": true, "NTH_VALUE": true,
}

// groupingFunctions tell by which keys a row is grouped.
var groupingFunctions = map[string]bool{"GROUPING": true, "GROUPING_ID": true, "GROUP_ID": true}

func functionName(v *sqlfront.Call) string {
	if v.Func != "" {
		return v.Func
	}
	return strings.ToUpper(v.Name.String())
}

func isAggregate(v *sqlfront.Call) bool { return aggregateFunctions[functionName(v)] }

// hasAggregates reports whether a SELECT has an aggregate without OVER of its own.
func hasAggregates(v *sqlfront.Select) bool {
	found := false
	visit := sqlfront.Visitor{
		Query: func(*sqlfront.Query) bool { return false },
		Expr: func(x sqlfront.Expr) bool {
			c, ok := x.(*sqlfront.Call)
			if ok && c.Over == nil && (isAggregate(c) || groupingFunctions[functionName(c)]) {
				found = true
			}
			return !found
		},
	}
	for _, it := range v.Items {
		sqlfront.WalkExpr(it.Expr, visit)
	}
	return found
}

// aggregateCall is an aggregate or a window function being bound.
type aggregateCall struct {
	call *sqlfront.Call
	// sc is the scope of the result, in that of the arguments.
	sc, in *lakeScope
	name   string
	args   []expr.Expr
	// filter is the condition of FILTER; tail is FILTER and OVER.
	filter, tail string
	// flat says that no window function may stand here.
	flat bool
}

func (sc *lakeScope) aggregate(v *sqlfront.Call, flat bool) (expr.Expr, error) {
	a := &aggregateCall{call: v, sc: sc, in: sc, name: functionName(v), flat: flat}
	if err := a.place(); err != nil {
		return nil, err
	}
	star := false
	for _, arg := range v.Args {
		if _, star = arg.(*sqlfront.Star); star {
			continue
		}
		x, err := sc.b.s.bindExpr(arg, a.in.argument())
		if err != nil {
			return nil, err
		}
		if x.Type().Kind == columnar.Invalid {
			return nil, bareNull(arg.Pos())
		}
		a.args = append(a.args, x)
	}
	if err := a.suffix(); err != nil {
		return nil, err
	}
	if want, ok := arity[a.name]; ok && (len(v.Args) < want[0] || len(v.Args) > want[1]) || star && a.name != "COUNT" {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.At, Msg: fmt.Sprintf("%s does not take %d arguments", a.name, len(v.Args)), Hint: "see its description in docs/sql.md"}
	}
	x, err := a.bind(star)
	return x, placedOrNil(err, v.At)
}

// arity bounds the number of arguments.
var arity = map[string][2]int{
	"COUNT": {1, 1}, "SUM": {1, 1}, "AVG": {1, 1}, "MIN": {1, 1}, "MAX": {1, 1}, "LISTAGG": {1, 2}, "COLLECT": {1, 1}, "ARRAY_AGG": {1, 1}, "FIRST_VALUE": {1, 1}, "LAST_VALUE": {1, 1},
	"STDDEV": {1, 1}, "STDDEV_POP": {1, 1}, "STDDEV_SAMP": {1, 1}, "VARIANCE": {1, 1}, "VAR_POP": {1, 1}, "VAR_SAMP": {1, 1}, "APPROX_COUNT_DISTINCT": {1, 1},
	"ROW_NUMBER": {0, 0}, "RANK": {0, 0}, "DENSE_RANK": {0, 0}, "CUME_DIST": {0, 0}, "PERCENT_RANK": {0, 0}, "NTILE": {1, 1}, "LAG": {1, 3}, "LEAD": {1, 3}, "NTH_VALUE": {2, 2},
}

// place decides over which rows the call goes.
func (a *aggregateCall) place() error {
	v, sc := a.call, a.sc
	user := func(msg, hint string) error {
		return &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.At, Msg: msg, Hint: hint}
	}
	switch {
	case v.Over != nil && !windowFunctions[a.name] && !aggregateFunctions[a.name]:
		return user("there is no window function "+a.name, "use ROW_NUMBER, RANK, LAG, SUM and their like")
	case v.Over != nil && (a.flat || !sc.windows):
		return user("a window function cannot stand here", "compute it in a query in FROM, and use its column")
	case v.Over != nil:
		return nil
	case windowFunctions[a.name]:
		return user(a.name+" needs OVER (…)", "write "+a.name+"(…) OVER (PARTITION BY … ORDER BY …)")
	case sc.groups == nil:
		return user("an aggregate cannot stand here", "use HAVING in place of WHERE, or aggregate in a query in FROM")
	default:
		a.in = sc.groups.below
		return nil
	}
}

// argument is the scope of arguments, in which no window function stands.
func (sc *lakeScope) argument() *scope { return &scope{lake: sc, flat: true} }

// suffix writes FILTER and OVER.
func (a *aggregateCall) suffix() error {
	v := a.call
	if v.Filter != nil {
		x, err := a.sc.b.s.bindExpr(v.Filter, a.in.argument())
		if err != nil {
			return err
		}
		if x.Type().Kind != boolKind {
			return &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: v.Filter.Pos(), Msg: fmt.Sprintf("FILTER needs a BOOLEAN, this is %s", x.Type()), Hint: "write a condition"}
		}
		a.filter = a.in.condition(x)
		a.tail += " FILTER (WHERE " + a.filter + ")"
	}
	if v.Over == nil {
		return nil
	}
	over, err := a.sc.window(v.Over, 0)
	if err != nil {
		return err
	}
	a.sc.windowed = true
	var parts []string
	for i, e := range over.PartitionBy {
		x, err := a.sc.b.s.bindExpr(e, a.in.argument())
		if err != nil {
			return err
		}
		text := a.in.sql(x)
		if i == 0 {
			text = "PARTITION BY " + text
		} else {
			parts[0] += ", " + text
			continue
		}
		parts = append(parts, text)
	}
	before := len(a.sc.b.s.errs)
	order, ok := a.in.orderBy(over.OrderBy, func(sqlfront.Expr) (string, bool) { return "", false })
	if !ok {
		err := a.sc.b.s.errs[before:].Err()
		a.sc.b.s.errs = a.sc.b.s.errs[:before]
		return err
	}
	if order != "" {
		parts = append(parts, strings.TrimSpace(order))
	}
	if over.Frame != "" {
		frame := strings.ToUpper(strings.Join(strings.Fields(over.Frame), " "))
		if !frames.MatchString(frame) {
			return &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: over.At, Msg: "the frame " + frame + " is not understood", Hint: "write ROWS BETWEEN n PRECEDING AND CURRENT ROW, UNBOUNDED in place of n for all"}
		}
		parts = append(parts, frame)
	}
	a.tail += " OVER (" + strings.Join(parts, " ") + ")"
	return nil
}

var frames = regexp.MustCompile(`^(ROWS|RANGE) (BETWEEN ` + frameBound + ` AND ` + frameBound + `|` + frameBound + `)$`)

const frameBound = `(UNBOUNDED (PRECEDING|FOLLOWING)|CURRENT ROW|([0-9]+|INTERVAL '[0-9]+' (SECOND|MINUTE|HOUR|DAY|MONTH|YEAR)) (PRECEDING|FOLLOWING))`

// value gives the leaf of DuckDB's name(args…), whose type is t; as casts it there.
func (a *aggregateCall) value(name, args, as string, t columnar.DataType) expr.Expr {
	distinct := ""
	if a.call.Distinct {
		distinct = "DISTINCT "
	}
	text := name + "(" + distinct + args + ")" + a.tail
	if as != "" {
		text = "CAST(" + text + " AS " + as + ")"
	}
	if a.call.Over != nil {
		return a.sc.computedLeaf(a.name, text, t)
	}
	g := a.sc.groups
	return g.leaf(g.add(a.name, text, t, computed))
}

// arg writes argument i.
func (a *aggregateCall) arg(i int) string { return a.in.sql(a.args[i]) }

func (a *aggregateCall) bind(star bool) (expr.Expr, error) {
	bigint := columnar.Of(columnar.BigInt).NotNull()
	switch a.name {
	case "COUNT":
		if star {
			return a.value("COUNT", "*", "", bigint), nil
		}
		return a.value("COUNT", a.arg(0), "", bigint), nil
	case "APPROX_COUNT_DISTINCT":
		return a.value("approx_count_distinct", a.arg(0), "BIGINT", bigint), nil
	case "ROW_NUMBER", "RANK", "DENSE_RANK":
		return a.value(a.name, "", "BIGINT", bigint), nil
	case "CUME_DIST", "PERCENT_RANK":
		return a.value(a.name, "", "", columnar.Of(columnar.Double).NotNull()), nil
	case "NTILE":
		return a.value(a.name, a.arg(0), "BIGINT", bigint), nil
	case "LAG", "LEAD":
		return a.shifted()
	case "NTH_VALUE":
		return a.value(a.name, a.arg(0)+", "+a.arg(1), "", a.args[0].Type().AsNullable()), nil
	}
	t := a.args[0].Type().AsNullable()
	switch a.name {
	case "MIN", "MAX":
		if t.IsNested() {
			return nil, a.refuse("values that can be compared")
		}
		return a.value(a.name, a.arg(0), "", t), nil
	case "FIRST_VALUE", "LAST_VALUE":
		if a.call.Over != nil {
			return a.value(a.name, a.arg(0), "", t), nil
		}
		return a.edge(t), nil
	case "LISTAGG":
		return a.listagg()
	case "COLLECT":
		m := columnar.DataType{Kind: columnar.Multiset, Nullable: true, Elem: &t}
		return a.value("histogram", a.arg(0), expr.DuckType(m), m), nil
	case "ARRAY_AGG":
		return a.value("list", a.arg(0), "", columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &t}), nil
	}
	if !t.IsNumeric() {
		return nil, a.refuse("a number")
	}
	switch a.name {
	case "SUM":
		return a.sum(t)
	case "AVG":
		return a.average(t)
	default:
		return a.deviation(t)
	}
}

// edge is the first or last value that is not NULL.
func (a *aggregateCall) edge(t columnar.DataType) expr.Expr {
	given := a.arg(0) + " IS NOT NULL"
	if a.filter != "" {
		given += " AND (" + a.filter + ")"
	}
	a.tail = " FILTER (WHERE " + given + ")"
	return a.value(strings.ToLower(strings.TrimSuffix(a.name, "_VALUE")), a.arg(0), "", t)
}

func (a *aggregateCall) refuse(want string) error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeType, Msg: fmt.Sprintf("%s does not take %s", a.name, a.args[0].Type().AsNullable()), Hint: "give it " + want}
}

// sum has the type of its argument, in which it wraps; that of DECIMAL(p, s) is DECIMAL(38, s).
func (a *aggregateCall) sum(t columnar.DataType) (expr.Expr, error) {
	switch {
	case t.Kind == columnar.Decimal:
		t.Precision = 38
		return a.value("SUM", a.arg(0), expr.DuckType(t), t), nil
	case t.Kind == columnar.Double:
		return a.value("SUM", a.arg(0), "", t), nil
	case t.Kind == columnar.Float:
		return a.value("SUM", a.arg(0), "FLOAT", t), nil
	default:
		return a.whole(t)
	}
}

// whole is the sum of integers. DuckDB's has 128 bits, of which the low ones are kept.
func (a *aggregateCall) whole(t columnar.DataType) (expr.Expr, error) {
	wide := columnar.DecimalOf(38, 0)
	low, err := expr.Cast(a.value("SUM", a.arg(0), expr.DuckType(wide), wide), columnar.Of(columnar.BigInt), false)
	if err != nil {
		return nil, err
	}
	return expr.Cast(low, t, false)
}

// average has the type of its argument, cut to a whole number for integers; that of
// DECIMAL(p, s) is DECIMAL(38, max(6, s)).
func (a *aggregateCall) average(t columnar.DataType) (expr.Expr, error) {
	switch t.Kind {
	case columnar.Double:
		return a.value("AVG", a.arg(0), "", t), nil
	case columnar.Float:
		return a.value("AVG", a.arg(0), "FLOAT", t), nil
	case columnar.Decimal:
		t.Precision = 38
		sum := a.value("SUM", a.arg(0), expr.DuckType(t), t)
		t.Scale = max(6, t.Scale)
		return a.ratio(sum, t)
	default:
		sum, err := a.whole(columnar.Of(columnar.BigInt))
		if err != nil {
			return nil, err
		}
		return a.ratio(sum, t)
	}
}

// ratio divides by the number of values; that of none is NULL.
func (a *aggregateCall) ratio(sum expr.Expr, t columnar.DataType) (expr.Expr, error) {
	count := a.value("COUNT", a.arg(0), "", columnar.Of(columnar.BigInt).NotNull())
	none, err := expr.Call("=", count, expr.LitBigInt(0))
	if err != nil {
		return nil, err
	}
	quotient, err := expr.Call("/", sum, count)
	if err != nil {
		return nil, err
	}
	if quotient, err = expr.Cast(quotient, t, false); err != nil {
		return nil, err
	}
	return expr.Call("CASE", none, expr.LitNull(t), quotient)
}

// deviation computes in DOUBLE and has the type that an average has.
func (a *aggregateCall) deviation(t columnar.DataType) (expr.Expr, error) {
	x, err := expr.Cast(a.args[0], columnar.Of(columnar.Double), false)
	if err != nil {
		return nil, err
	}
	name := map[string]string{"STDDEV": "STDDEV_SAMP", "VARIANCE": "VAR_SAMP"}[a.name]
	if name == "" {
		name = a.name
	}
	v := a.value(name, a.in.sql(x), "", columnar.Of(columnar.Double))
	if t.Kind == columnar.Decimal {
		t = columnar.DecimalOf(38, max(6, t.Scale))
	}
	if t.Kind == columnar.Double {
		return v, nil
	}
	return expr.Cast(v, t, false)
}

func (a *aggregateCall) listagg() (expr.Expr, error) {
	for i := range a.args {
		if !a.args[i].Type().IsText() {
			return nil, a.refuse("text: CAST(x AS STRING)")
		}
	}
	sep := "','"
	if len(a.args) > 1 {
		sep = a.arg(1)
	}
	return a.value("string_agg", a.arg(0)+", "+sep, "", columnar.StringType()), nil
}

// shifted is LAG and LEAD; the value where there is no row takes the type of the others.
func (a *aggregateCall) shifted() (expr.Expr, error) {
	t := a.args[0].Type().AsNullable()
	list := []string{a.arg(0)}
	if len(a.args) > 1 {
		list = append(list, "CAST("+a.arg(1)+" AS BIGINT)")
	}
	if len(a.args) > 2 {
		x, err := expr.Cast(a.args[2], t, false)
		if err != nil {
			return nil, err
		}
		list = append(list, a.in.sql(x))
	}
	return a.value(a.name, strings.Join(list, ", "), "", t), nil
}
