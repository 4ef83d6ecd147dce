package expr

import (
	"cmp"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

var conditionalFunctions = []*function{
	{name: "CASE", minArgs: 3, maxArgs: -1, bind: bindCase, build: buildCase},
	{name: "IF", minArgs: 3, maxArgs: 3, bind: bindCase, build: buildCase},
	{name: "COALESCE", minArgs: 1, maxArgs: -1, bind: bindCoalesce, build: buildCoalesce},
	{name: "IFNULL", minArgs: 2, maxArgs: 2, bind: bindCoalesce, build: buildCoalesce},
	{name: "NULLIF", minArgs: 2, maxArgs: 2, expand: expandNullIf},
	{name: "GREATEST", minArgs: 1, maxArgs: -1, bind: bindExtreme, build: buildExtreme},
	{name: "LEAST", minArgs: 1, maxArgs: -1, bind: bindExtreme, build: buildExtreme},
}

// unify brings exprs to their common type.
func unify(f *function, exprs []Expr) (columnar.DataType, []Expr, error) {
	var t columnar.DataType
	for _, e := range exprs {
		next, ok := commonType(t, e.Type())
		if !ok {
			return t, nil, typeError("CAST the values to one type", "%s: %s and %s have no common type",
				f.name, typeName(t), typeName(e.Type()))
		}
		t = next
	}
	if t.Kind == columnar.Invalid {
		return t, nil, errBareNull()
	}
	if t.Kind == columnar.Variant {
		return t, nil, typeError("choose between values of other types", "%s does not yield %s", f.name, typeName(t))
	}
	out := make([]Expr, len(exprs))
	for i, e := range exprs {
		out[i] = implicit(e, t)
	}
	return t, out, nil
}

func bindCase(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	if len(args)%2 == 0 {
		return columnar.DataType{}, nil, typeError("give a condition and a value each, and the ELSE value last", "CASE without ELSE value")
	}
	last := len(args) - 1
	var branches []Expr
	for i := 0; i < last; i += 2 {
		if k := args[i].Type().Kind; k != columnar.Boolean && k != columnar.Invalid {
			return columnar.DataType{}, nil, typeError("write a comparison", "the condition of %s is %s, not BOOLEAN", f.name, typeName(args[i].Type()))
		}
		branches = append(branches, args[i+1])
	}
	branches = append(branches, args[last])
	t, unified, err := unify(f, branches)
	if err != nil {
		return t, nil, err
	}
	out := make([]Expr, len(args))
	for i := 0; i < last; i += 2 {
		out[i] = implicit(args[i], boolType(true))
		out[i+1] = unified[i/2]
	}
	out[last] = unified[len(unified)-1]
	t.Nullable = anyNullable(branches)
	return t, out, nil
}

// caseNode gives each row the value of its first true condition. A branch is
// evaluated only if some row takes it, and hides the other rows.
type caseNode struct {
	conds  []node
	values []node // one more than conds: ELSE
	rest   []bool
	take   []bool
	out    merger
}

func buildCase(c *compiler, e *callExpr) (node, error) {
	args, err := c.all(e.args)
	if err != nil {
		return nil, err
	}
	n := &caseNode{out: merger{t: e.t}}
	for i := 0; i+1 < len(args); i += 2 {
		n.conds = append(n.conds, args[i])
		n.values = append(n.values, args[i+1])
	}
	n.values = append(n.values, args[len(args)-1])
	return n, nil
}

func (c *caseNode) eval(f *frame) (*vector, error) {
	n, outer := f.rows, f.active
	defer func() { f.active = outer }()
	c.rest, c.take = resize(c.rest, n), resize(c.take, n)
	left := 0
	for i := range c.rest {
		c.rest[i] = f.isActive(i)
		if c.rest[i] {
			left++
		}
	}
	c.out.begin(n)
	for b, cond := range c.conds {
		if left == 0 {
			break
		}
		f.active = c.rest
		v, err := cond.eval(f)
		if err != nil {
			return nil, err
		}
		taken := 0
		truth := values[bool](v)[:n]
		for i := range c.take {
			c.take[i] = c.rest[i] && truth[i] && (v.valid == nil || v.valid[i])
			if c.take[i] {
				c.rest[i] = false
				taken++
			}
		}
		left -= taken
		if err := c.branch(f, c.values[b], c.take, taken); err != nil {
			return nil, err
		}
	}
	if err := c.branch(f, c.values[len(c.conds)], c.rest, left); err != nil {
		return nil, err
	}
	return c.out.done(), nil
}

// branch copies the value of a branch into the rows that take it.
func (c *caseNode) branch(f *frame, value node, take []bool, taken int) error {
	if taken == 0 {
		return nil
	}
	f.active = take
	v, err := value.eval(f)
	if err != nil {
		return err
	}
	c.out.take(v, take)
	return nil
}

func growKind(out *scratch, kind columnar.Kind, n int) {
	if width := widthOf(kind); width == 0 {
		out.growText(n)
	} else {
		growWidth(out, width, n)
	}
}

// copyRows copies values and validity of the chosen rows.
func copyRows(out *scratch, v *vector, kind columnar.Kind, rows []bool) {
	switch widthOf(kind) {
	case 0:
		copyChosen(out.strs, v.strs, rows)
	case 1:
		copyChosen(values[int8](&out.vector), values[int8](v), rows)
	case 2:
		copyChosen(values[int16](&out.vector), values[int16](v), rows)
	case 4:
		copyChosen(values[int32](&out.vector), values[int32](v), rows)
	case 8:
		copyChosen(values[int64](&out.vector), values[int64](v), rows)
	default:
		copyChosen(values[decimal128.Num](&out.vector), values[decimal128.Num](v), rows)
	}
	for i, chosen := range rows {
		if chosen {
			out.valid[i] = v.valid == nil || v.valid[i]
		}
	}
}

func copyChosen[T any](dst, src []T, rows []bool) {
	for i, chosen := range rows {
		if chosen {
			dst[i] = src[i]
		}
	}
}

func bindCoalesce(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	t, out, err := unify(f, args)
	if err != nil {
		return t, nil, err
	}
	t.Nullable = true
	for _, a := range args {
		if !a.Type().Nullable {
			t.Nullable = false
		}
	}
	return t, out, nil
}

// coalesceNode evaluates each argument only for the rows that are still NULL.
type coalesceNode struct {
	args []node
	rest []bool
	take []bool
	out  merger
}

func buildCoalesce(c *compiler, e *callExpr) (node, error) {
	args, err := c.all(e.args)
	if err != nil {
		return nil, err
	}
	return &coalesceNode{args: args, out: merger{t: e.t}}, nil
}

func (c *coalesceNode) eval(f *frame) (*vector, error) {
	n, outer := f.rows, f.active
	defer func() { f.active = outer }()
	first, err := c.args[0].eval(f)
	if err != nil || first.valid == nil || len(c.args) == 1 {
		return first, err
	}
	c.rest, c.take = resize(c.rest, n), resize(c.take, n)
	c.out.begin(n)
	for i := range c.take {
		c.take[i] = true
	}
	c.out.take(first, c.take)
	for _, a := range c.args[1:] {
		left := 0
		for i, ok := range c.out.out.valid {
			c.rest[i] = !ok && (outer == nil || outer[i])
			if c.rest[i] {
				left++
			}
		}
		if left == 0 {
			break
		}
		f.active = c.rest
		v, err := a.eval(f)
		if err != nil {
			return nil, err
		}
		c.out.take(v, c.rest)
	}
	return c.out.done(), nil
}

// expandNullIf writes NULLIF(a, b) as CASE WHEN a = b THEN NULL ELSE a END.
func expandNullIf(_ *function, args []Expr) (Expr, error) {
	equal, err := Call("=", args...)
	if err != nil {
		return nil, err
	}
	return Call("CASE", equal, LitNull(args[0].Type()), args[0])
}

func bindExtreme(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	for _, a := range args {
		if a.Type().Kind == columnar.Invalid {
			return columnar.DataType{}, nil, errBareNull()
		}
	}
	t, out, err := unify(f, args)
	if err != nil {
		return t, nil, err
	}
	if t.IsNested() {
		return t, nil, argError(f, args, "give it values that have an order")
	}
	t.Nullable = anyNullable(args)
	return t, out, nil
}

func buildExtreme(c *compiler, e *callExpr) (node, error) {
	greatest := e.fn.name == "GREATEST"
	switch e.t.Kind {
	case columnar.Boolean, columnar.TinyInt:
		return c.loopOver(e, extremeLoop[int8](greatest))
	case columnar.SmallInt:
		return c.loopOver(e, extremeLoop[int16](greatest))
	case columnar.Int, columnar.Date, columnar.Time:
		return c.loopOver(e, extremeLoop[int32](greatest))
	case columnar.BigInt, columnar.Timestamp, columnar.TimestampLTZ:
		return c.loopOver(e, extremeLoop[int64](greatest))
	case columnar.Float:
		return c.loopOver(e, extremeLoop[float32](greatest))
	case columnar.Double:
		return c.loopOver(e, extremeLoop[float64](greatest))
	case columnar.Decimal:
		return c.loopOver(e, extremeBy(greatest, values[decimal128.Num], func(out *scratch, n int) []decimal128.Num {
			return grow[decimal128.Num](out, n)
		}, decimal128.Num.Less))
	default:
		return c.loopOver(e, extremeBy(greatest, texts, (*scratch).growText, cmp.Less[string]))
	}
}

func extremeLoop[T interface {
	fixed
	cmp.Ordered
}](greatest bool) loop {
	return extremeBy(greatest, values[T], func(out *scratch, n int) []T { return grow[T](out, n) }, cmp.Less[T])
}

func extremeBy[T any](greatest bool, get func(*vector) []T, room func(*scratch, int) []T, less func(a, b T) bool) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := room(out, n)
		out.mergeValid(n, in...)
		copy(d, get(in[0])[:n])
		for _, v := range in[1:] {
			for i, x := range get(v)[:n] {
				if greatest && less(d[i], x) || !greatest && less(x, d[i]) {
					d[i] = x
				}
			}
		}
		return nil
	}
}
