package expr

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// Env is what expressions take from their surroundings.
type Env struct {
	// Zone is table.local-time-zone; nil is UTC.
	Zone *time.Location
	// Now is the clock of CURRENT_TIMESTAMP and its relatives; nil is time.Now.
	Now func() time.Time
}

// Program is a list of compiled expressions. It belongs to one goroutine.
type Program struct {
	outputs []output
	frame   frame
}

type output struct {
	node  node
	t     columnar.DataType
	arrow arrow.DataType
	// column is the input column that is passed through, -1 if there is none.
	column int
	// constant holds the column of a constant for the largest batch so far, nil until the first.
	constant   arrow.Array
	isConstant bool
}

// Compile prepares exprs for evaluation. It fails for an expression that still
// has no type (a bare NULL) and for constants such as patterns that cannot be read.
func Compile(exprs []Expr, env Env) (*Program, error) {
	if env.Zone == nil {
		env.Zone = time.UTC
	}
	if env.Now == nil {
		env.Now = time.Now
	}
	c := &compiler{env: env, columns: map[int]*columnNode{}, nested: map[int]*nestedNode{}}
	p := &Program{outputs: make([]output, len(exprs))}
	for i, e := range exprs {
		t := e.Type()
		if t.Kind == columnar.Invalid {
			return nil, errBareNull()
		}
		n, err := c.compile(e)
		if err != nil {
			return nil, err
		}
		o := output{node: n, t: t, arrow: columnar.ArrowType(t), column: -1, isConstant: IsConstant(e) && !isBuilt(t)}
		if idx, ok := IsColumn(sameValues(e)); ok {
			o.column = idx
		}
		p.outputs[i] = o
	}
	return p, nil
}

// sameValues strips casts that leave every value as it is.
func sameValues(e Expr) Expr {
	for {
		c, ok := e.(*castExpr)
		if !ok || !sameForm(c.arg.Type(), c.t, c.mode) {
			return e
		}
		e = c.arg
	}
}

// Eval computes every expression over the first rows rows of cols and gives one
// new reference each. A plain column is passed through, sliced to rows if it is
// longer. The error is a *diag.Error with CodeRuntimeValue where a value cannot
// be computed. cols are not kept.
func (p *Program) Eval(mem memory.Allocator, cols []arrow.Array, rows int) ([]arrow.Array, error) {
	p.frame.begin(cols, rows)
	defer p.frame.end()
	out := make([]arrow.Array, len(p.outputs))
	for i := range p.outputs {
		a, err := p.outputs[i].eval(mem, &p.frame)
		if err != nil {
			for _, made := range out[:i] {
				made.Release()
			}
			return nil, err
		}
		out[i] = a
	}
	return out, nil
}

// EvalFilter sets sel[i] for i < rows to whether the only expression of p, a
// BOOLEAN, is TRUE for row i.
func (p *Program) EvalFilter(cols []arrow.Array, rows int, sel []bool) error {
	p.frame.begin(cols, rows)
	defer p.frame.end()
	v, err := p.outputs[0].node.eval(&p.frame)
	if err != nil {
		return err
	}
	vals := values[bool](v)[:rows]
	if v.valid == nil {
		copy(sel, vals)
		return nil
	}
	for i, ok := range v.valid[:rows] {
		sel[i] = ok && vals[i]
	}
	return nil
}

func (o *output) eval(mem memory.Allocator, f *frame) (arrow.Array, error) {
	if o.column >= 0 {
		col := f.cols[o.column]
		if col.Len() == f.rows {
			col.Retain()
			return col, nil
		}
		return array.NewSlice(col, 0, int64(f.rows)), nil
	}
	if o.isConstant {
		return o.evalConstant(f)
	}
	v, err := o.node.eval(f)
	if err != nil {
		return nil, err
	}
	return typedToArrow(mem, v, o.t, o.arrow, f.rows), nil
}

// evalConstant slices one kept column. It lives in Go memory whatever the
// allocator of the batch is, so that a Program needs no release.
func (o *output) evalConstant(f *frame) (arrow.Array, error) {
	if o.t.IsNested() { // the only constant of VARIANT is NULL
		return array.MakeArrayOfNull(memory.DefaultAllocator, o.arrow, f.rows), nil
	}
	if f.rows > 0 && (o.constant == nil || o.constant.Len() < f.rows) {
		v, err := o.node.eval(f)
		if err != nil {
			return nil, err
		}
		o.constant = toArrow(memory.DefaultAllocator, v, o.t.Kind, o.arrow, f.rows)
	}
	if f.rows == 0 {
		return array.MakeArrayOfNull(memory.DefaultAllocator, o.arrow, 0), nil
	}
	return array.NewSlice(o.constant, 0, int64(f.rows)), nil
}
