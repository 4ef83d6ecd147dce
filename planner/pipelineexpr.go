package planner

import (
	"slices"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/sqlfront"
)

// repositioned puts errors of a text inside a file at the place of that text.
func repositioned(err error, at diag.Pos) error {
	var l diag.List
	l.Add(err)
	for i, e := range l {
		copied := *e
		copied.Pos = at
		l[i] = &copied
	}
	return l
}

// pipelineExpr gives an expression of a Flink CDC pipeline the meaning it has
// there: a comparison with NULL is FALSE, and LIKE without ESCAPE finds a regular
// expression anywhere in the text. It reports whether that matters.
func pipelineExpr(x sqlfront.Expr) (sqlfront.Expr, bool) {
	r := &pipelineRewrite{}
	return r.expr(x), r.changed
}

var comparisons = []sqlfront.Op{sqlfront.OpEq, sqlfront.OpNe, sqlfront.OpLt, sqlfront.OpLe, sqlfront.OpGt, sqlfront.OpGe}

type pipelineRewrite struct{ changed bool }

func (r *pipelineRewrite) isTrue(x sqlfront.Expr) sqlfront.Expr {
	r.changed = true
	return &sqlfront.Unary{Node: sqlfront.Node{At: x.Pos()}, Op: sqlfront.OpIsTrue, X: x}
}

func (r *pipelineRewrite) negated(not bool, x sqlfront.Expr) sqlfront.Expr {
	if !not {
		return x
	}
	return &sqlfront.Unary{Node: sqlfront.Node{At: x.Pos()}, Op: sqlfront.OpNot, X: x}
}

func (r *pipelineRewrite) exprs(list []sqlfront.Expr) []sqlfront.Expr {
	out := make([]sqlfront.Expr, len(list))
	for i, x := range list {
		out[i] = r.expr(x)
	}
	return out
}

func (r *pipelineRewrite) expr(x sqlfront.Expr) sqlfront.Expr {
	switch v := x.(type) {
	case *sqlfront.Ident:
		if len(v.Parts) == 1 && v.Parts[0].Text == "__namespace_name__" {
			// MySQL has no level above databases.
			return &sqlfront.Cast{Node: v.Node, X: &sqlfront.Literal{Node: v.Node, Kind: sqlfront.LitString}, Type: columnar.StringType()}
		}
	case *sqlfront.Unary:
		c := *v
		c.X = r.expr(v.X)
		return &c
	case *sqlfront.Binary:
		c := *v
		c.L, c.R = r.expr(v.L), r.expr(v.R)
		if slices.Contains(comparisons, v.Op) {
			return r.isTrue(&c)
		}
		return &c
	case *sqlfront.Between:
		c := *v
		c.X, c.Low, c.High, c.Not = r.expr(v.X), r.expr(v.Low), r.expr(v.High), false
		return r.negated(v.Not, r.isTrue(&c))
	case *sqlfront.In:
		c := *v
		c.X, c.List, c.Not = r.expr(v.X), r.exprs(v.List), false
		return r.negated(v.Not, r.isTrue(&c))
	case *sqlfront.LikeExpr:
		if v.Escape != nil || v.Similar {
			break
		}
		call := &sqlfront.Call{Node: v.Node, Func: "REGEXP", Args: []sqlfront.Expr{r.expr(v.X), r.expr(v.Pattern)}}
		return r.negated(v.Not, r.isTrue(call))
	case *sqlfront.Case:
		c := *v
		if v.Operand != nil {
			c.Operand = r.expr(v.Operand)
		}
		c.Whens = make([]sqlfront.When, len(v.Whens))
		for i, w := range v.Whens {
			c.Whens[i] = sqlfront.When{Cond: r.expr(w.Cond), Then: r.expr(w.Then)}
		}
		if v.Else != nil {
			c.Else = r.expr(v.Else)
		}
		return &c
	case *sqlfront.Cast:
		c := *v
		c.X = r.expr(v.X)
		return &c
	case *sqlfront.Call:
		c := *v
		c.Args = r.exprs(v.Args)
		return &c
	}
	return x
}
