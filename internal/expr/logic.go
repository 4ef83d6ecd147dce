package expr

import (
	"leat/internal/columnar"
)

var logicFunctions = []*function{
	{name: "AND", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindLogic, build: buildAndOr},
	{name: "OR", form: infixForm, minArgs: 2, maxArgs: 2, bind: bindLogic, build: buildAndOr},
	{name: "NOT", form: unaryForm, minArgs: 1, maxArgs: 1, bind: bindLogic, build: func(c *compiler, e *callExpr) (node, error) {
		return c.loopOver(e, mapLoop(func(v bool) bool { return !v }))
	}},
	{name: "IS NULL", form: postfixForm, minArgs: 1, maxArgs: 1, bind: bindNullTest, build: nullTest(false)},
	{name: "IS NOT NULL", form: postfixForm, minArgs: 1, maxArgs: 1, bind: bindNullTest, build: nullTest(true)},
	{name: "IS UNKNOWN", form: postfixForm, minArgs: 1, maxArgs: 1, bind: bindTruthTest, build: nullTest(false)},
	{name: "IS NOT UNKNOWN", form: postfixForm, minArgs: 1, maxArgs: 1, bind: bindTruthTest, build: nullTest(true)},
	{name: "IS TRUE", form: postfixForm, minArgs: 1, maxArgs: 1, bind: bindTruthTest, build: truthTest(true, false)},
	{name: "IS NOT TRUE", form: postfixForm, minArgs: 1, maxArgs: 1, bind: bindTruthTest, build: truthTest(true, true)},
	{name: "IS FALSE", form: postfixForm, minArgs: 1, maxArgs: 1, bind: bindTruthTest, build: truthTest(false, false)},
	{name: "IS NOT FALSE", form: postfixForm, minArgs: 1, maxArgs: 1, bind: bindTruthTest, build: truthTest(false, true)},
	{name: "BETWEEN", minArgs: 3, maxArgs: 3, expand: expandBetween},
	{name: "NOT BETWEEN", minArgs: 3, maxArgs: 3, expand: expandBetween},
	{name: "BETWEEN SYMMETRIC", minArgs: 3, maxArgs: 3, expand: expandBetween},
	{name: "NOT BETWEEN SYMMETRIC", minArgs: 3, maxArgs: 3, expand: expandBetween},
}

func bindLogic(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	out := make([]Expr, len(args))
	for i, a := range args {
		switch a.Type().Kind {
		case columnar.Boolean, columnar.Invalid:
			out[i] = implicit(a, boolType(true))
		default:
			return columnar.DataType{}, nil, argError(f, args, "write BOOLEAN values, such as comparisons")
		}
	}
	return boolType(anyNullable(out)), out, nil
}

func bindNullTest(_ *function, args []Expr) (columnar.DataType, []Expr, error) {
	if args[0].Type().Kind == columnar.Invalid {
		return columnar.DataType{}, nil, errBareNull()
	}
	return boolType(false), args, nil
}

func bindTruthTest(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	_, out, err := bindLogic(f, args)
	return boolType(false), out, err
}

// nullTest works on every type, nested ones included, of which only validity is read.
func nullTest(want bool) func(*compiler, *callExpr) (node, error) {
	return func(c *compiler, e *callExpr) (node, error) {
		l := func(f *frame, in []*vector, out *scratch) error {
			d := grow[bool](out, f.rows)
			for i := range d {
				valid := in[0].valid == nil || in[0].valid[i]
				d[i] = valid == want
			}
			return nil
		}
		if v, ok := e.args[0].(*columnExpr); ok {
			return newLoop(l, c.column(v)), nil
		}
		return c.loopOver(e, l)
	}
}

func truthTest(truth, not bool) func(*compiler, *callExpr) (node, error) {
	return func(c *compiler, e *callExpr) (node, error) {
		return c.loopOver(e, func(f *frame, in []*vector, out *scratch) error {
			d := grow[bool](out, f.rows)
			a := values[bool](in[0])[:f.rows]
			for i := range d {
				is := (in[0].valid == nil || in[0].valid[i]) && a[i] == truth
				d[i] = is != not
			}
			return nil
		})
	}
}

func expandBetween(f *function, args []Expr) (Expr, error) {
	between := func(low, high Expr) (Expr, error) {
		a, err := Call(">=", args[0], low)
		if err != nil {
			return nil, err
		}
		b, err := Call("<=", args[0], high)
		if err != nil {
			return nil, err
		}
		return Call("AND", a, b)
	}
	e, err := between(args[1], args[2])
	if err != nil {
		return nil, err
	}
	if f.name == "BETWEEN SYMMETRIC" || f.name == "NOT BETWEEN SYMMETRIC" {
		swapped, err := between(args[2], args[1])
		if err != nil {
			return nil, err
		}
		if e, err = Call("OR", e, swapped); err != nil {
			return nil, err
		}
	}
	if f.name == "NOT BETWEEN" || f.name == "NOT BETWEEN SYMMETRIC" {
		return Call("NOT", e)
	}
	return e, nil
}

// andOrNode evaluates its right side only for the rows that the left side does
// not decide: FALSE for AND, TRUE for OR.
type andOrNode struct {
	left, right node
	// decides is the value of the left side that settles the result.
	decides bool
	active  []bool
	out     scratch
}

func buildAndOr(c *compiler, e *callExpr) (node, error) {
	args, err := c.all(e.args)
	if err != nil {
		return nil, err
	}
	return &andOrNode{left: args[0], right: args[1], decides: e.fn.name == "OR"}, nil
}

func (a *andOrNode) eval(f *frame) (*vector, error) {
	n := f.rows
	l, err := a.left.eval(f)
	if err != nil {
		return nil, err
	}
	d := grow[bool](&a.out, n)
	copy(d, values[bool](l)[:n])
	a.out.mergeValid(n, l)

	a.active = resize(a.active, n)
	open := 0
	for i := range a.active {
		decided := d[i] == a.decides && (a.out.valid == nil || a.out.valid[i])
		a.active[i] = !decided && f.isActive(i)
		if a.active[i] {
			open++
		}
	}
	if open == 0 {
		return &a.out.vector, nil
	}
	outer := f.active
	f.active = a.active
	r, err := a.right.eval(f)
	f.active = outer
	if err != nil {
		return nil, err
	}
	a.combine(r, n)
	return &a.out.vector, nil
}

// combine folds the right side into the open rows: a deciding right value wins
// over NULL, a NULL on either side wins over the other value.
func (a *andOrNode) combine(r *vector, n int) {
	d, right := values[bool](&a.out.vector)[:n], values[bool](r)[:n]
	if a.out.valid == nil && r.valid == nil {
		for i, open := range a.active {
			if open {
				d[i] = right[i]
			}
		}
		return
	}
	for i, open := range a.active {
		if !open {
			continue
		}
		switch {
		case r.valid != nil && !r.valid[i]:
			a.out.setNull(i, n)
		case right[i] == a.decides:
			d[i] = a.decides
			if a.out.valid != nil {
				a.out.valid[i] = true
			}
		case a.out.valid == nil || a.out.valid[i]:
			d[i] = right[i]
		}
	}
}

func resize(b []bool, n int) []bool {
	if cap(b) < n {
		return make([]bool, n)
	}
	return b[:n]
}
