package expr

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// compiler turns bound expressions into nodes; columns are shared between them.
type compiler struct {
	env     Env
	columns map[int]*columnNode
	// nested are the columns of which more than the validity is read.
	nested map[int]*nestedNode
}

// loop computes the rows of a frame from the evaluated arguments. It begins by
// giving out room for the rows.
type loop func(f *frame, in []*vector, out *scratch) error

// loopNode evaluates its arguments, then runs a loop over them.
type loopNode struct {
	args []node
	in   []*vector
	out  scratch
	loop loop
}

func (l *loopNode) eval(f *frame) (*vector, error) {
	for i, a := range l.args {
		v, err := a.eval(f)
		if err != nil {
			return nil, err
		}
		l.in[i] = v
	}
	if err := l.loop(f, l.in, &l.out); err != nil {
		return nil, err
	}
	return &l.out.vector, nil
}

func newLoop(l loop, args ...node) node {
	return &loopNode{args: args, in: make([]*vector, len(args)), loop: l}
}

func (c *compiler) compile(e Expr) (node, error) {
	switch v := e.(type) {
	case *columnExpr:
		if isBuilt(v.t) {
			n, ok := c.nested[v.index]
			if !ok {
				n = &nestedNode{index: v.index, t: v.t}
				c.nested[v.index] = n
			}
			return n, nil
		}
		return c.column(v), nil
	case *literalExpr:
		if isBuilt(v.t) {
			return nullNode{t: v.t}, nil
		}
		return &constNode{arg: &literalNode{lit: v}, kind: v.t.Kind}, nil
	}
	n, err := c.build(e)
	if err != nil {
		return nil, err
	}
	if IsConstant(e) && !isBuilt(e.Type()) {
		return &constNode{arg: n, kind: e.Type().Kind}, nil
	}
	return n, nil
}

// column gives the node that reads a column, of nested ones the validity alone.
func (c *compiler) column(v *columnExpr) node {
	n, ok := c.columns[v.index]
	if !ok {
		n = &columnNode{index: v.index, kind: v.t.Kind}
		c.columns[v.index] = n
	}
	return n
}

func (c *compiler) build(e Expr) (node, error) {
	switch v := e.(type) {
	case *castExpr:
		arg, err := c.compile(v.arg)
		if err != nil {
			return nil, err
		}
		return c.cast(v, arg)
	case *callExpr:
		return v.fn.build(c, v)
	default:
		return nil, fmt.Errorf("compiling %s: no such node", String(e))
	}
}

// all compiles several expressions.
func (c *compiler) all(es []Expr) ([]node, error) {
	out := make([]node, len(es))
	for i, e := range es {
		n, err := c.compile(e)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// loopOver compiles the arguments of e in front of l.
func (c *compiler) loopOver(e *callExpr, l loop) (node, error) {
	args, err := c.all(e.args)
	if err != nil {
		return nil, err
	}
	return newLoop(l, args...), nil
}

// literalNode gives one row with the value of a literal.
type literalNode struct {
	lit *literalExpr
	out scratch
}

func (l *literalNode) eval(*frame) (*vector, error) {
	e, out := l.lit, &l.out
	if e.null {
		return nullVector(out, e.t.Kind, 1), nil
	}
	switch e.t.Kind {
	case columnar.Boolean:
		grow[bool](out, 1)[0] = e.i != 0
	case columnar.TinyInt:
		grow[int8](out, 1)[0] = int8(e.i)
	case columnar.SmallInt:
		grow[int16](out, 1)[0] = int16(e.i)
	case columnar.Int, columnar.Date, columnar.Time:
		grow[int32](out, 1)[0] = int32(e.i)
	case columnar.BigInt, columnar.Timestamp, columnar.TimestampLTZ:
		grow[int64](out, 1)[0] = e.i
	case columnar.Float:
		grow[float32](out, 1)[0] = float32(e.f)
	case columnar.Double:
		grow[float64](out, 1)[0] = e.f
	case columnar.Decimal:
		grow[decimal128.Num](out, 1)[0] = e.dec
	default:
		out.growText(1)[0] = e.s
	}
	return &out.vector, nil
}

// constantText gives the value of e if it is a text literal.
func constantText(e Expr) (string, bool) {
	l, ok := e.(*literalExpr)
	if !ok || l.null || !l.t.IsText() {
		return "", false
	}
	return l.s, true
}
