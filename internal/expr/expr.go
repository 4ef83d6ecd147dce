package expr

import (
	"maps"
	"slices"
	"strings"

	"leat/internal/columnar"
)

// Expr is a bound, typed expression.
type Expr interface {
	// Type is the type of the value. Kind Invalid is the bare NULL, which has no
	// type until Cast, Coerce or a neighbour in Call gives it one.
	Type() columnar.DataType
	text(b *strings.Builder)
}

type columnExpr struct {
	index int
	name  string
	t     columnar.DataType
}

type callExpr struct {
	fn   *function
	args []Expr
	t    columnar.DataType
}

type castExpr struct {
	arg  Expr
	t    columnar.DataType
	mode castMode
}

// castMode says how a cast treats what does not fit.
type castMode uint8

const (
	// castStrict fails, and pads and cuts text to the length of its type.
	castStrict castMode = iota
	// castTry gives NULL where castStrict fails.
	castTry
	// castAssign is the implicit cast: it leaves the length of text and bytes alone.
	castAssign
)

// Column reads input column index, whose type is t.
func Column(index int, t columnar.DataType) Expr { return &columnExpr{index: index, t: t} }

// NamedColumn is Column with a name for String and error texts.
func NamedColumn(index int, name string, t columnar.DataType) Expr {
	return &columnExpr{index: index, name: name, t: t}
}

func (e *columnExpr) Type() columnar.DataType { return e.t }
func (e *callExpr) Type() columnar.DataType   { return e.t }
func (e *castExpr) Type() columnar.DataType   { return e.t }

// IsColumn reports whether e is a plain column, and which.
func IsColumn(e Expr) (index int, ok bool) {
	if c, is := e.(*columnExpr); is {
		return c.index, true
	}
	return 0, false
}

// IsConstant reports whether e reads no column and gives the same value at every time.
func IsConstant(e Expr) bool {
	constant := true
	walk(e, func(x Expr) {
		switch v := x.(type) {
		case *columnExpr:
			constant = false
		case *callExpr:
			if v.fn.volatile {
				constant = false
			}
		}
	})
	return constant
}

// IsNullLiteral reports whether e is NULL, bare or cast to a type.
func IsNullLiteral(e Expr) bool {
	if c, ok := e.(*castExpr); ok {
		return IsNullLiteral(c.arg)
	}
	l, ok := e.(*literalExpr)
	return ok && l.null
}

// References lists the input columns that e reads, ascending, each once.
func References(e Expr) []int {
	set := map[int]struct{}{}
	walk(e, func(x Expr) {
		if c, ok := x.(*columnExpr); ok {
			set[c.index] = struct{}{}
		}
	})
	return slices.Sorted(maps.Keys(set))
}

// Remap gives e reading column mapping[i] in place of column i.
func Remap(e Expr, mapping []int) Expr {
	return Rewrite(e, func(x Expr) Expr {
		if c, ok := x.(*columnExpr); ok {
			return &columnExpr{index: mapping[c.index], name: c.name, t: c.t}
		}
		return x
	})
}

// Rewrite gives e with every node replaced by f of it, children first. f must
// return a node of the same type.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	switch v := e.(type) {
	case *callExpr:
		args := make([]Expr, len(v.args))
		for i, a := range v.args {
			args[i] = Rewrite(a, f)
		}
		return f(&callExpr{fn: v.fn, args: args, t: v.t})
	case *castExpr:
		return f(&castExpr{arg: Rewrite(v.arg, f), t: v.t, mode: v.mode})
	default:
		return f(e)
	}
}

// Inline gives e with column i replaced by with[i], for pushing an expression through a projection.
func Inline(e Expr, with []Expr) Expr {
	return Rewrite(e, func(x Expr) Expr {
		if c, ok := x.(*columnExpr); ok {
			return with[c.index]
		}
		return x
	})
}

func walk(e Expr, f func(Expr)) {
	f(e)
	switch v := e.(type) {
	case *callExpr:
		for _, a := range v.args {
			walk(a, f)
		}
	case *castExpr:
		walk(v.arg, f)
	}
}

// IsVolatile reports whether e gives another value at another time.
func IsVolatile(e Expr) bool {
	volatile := false
	walk(e, func(x Expr) {
		if c, ok := x.(*callExpr); ok && c.fn.volatile {
			volatile = true
		}
	})
	return volatile
}
