package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// Condition is a comparison of a column with constants, which readers can look
// up in statistics.
type Condition struct {
	// Column is the index of the input column.
	Column int
	// Op is =, <, <=, >, >=, IN, IS NULL or IS NOT NULL, read with the column on the left.
	Op string
	// Values are the constants: several for IN, none for IS NULL and IS NOT NULL.
	// Their types need not be the column's.
	Values []Expr
}

// Constants computes the values of c as an array of type t. It declines if one of
// them is NULL or no value of t, as 1.5 is none of INT, or cannot be computed: the
// expression that c is part of then says so, if a row reaches it.
func (c *Condition) Constants(t columnar.DataType, env Env) (arrow.Array, bool) {
	switch {
	case t.IsText():
		t = columnar.StringType()
	case t.IsBytes():
		t = columnar.BytesType()
	}
	cast := make([]Expr, 0, 2*len(c.Values))
	for _, v := range c.Values {
		as, err := Cast(v, t, true)
		if err != nil {
			return nil, false
		}
		same, err := Call("=", as, v)
		if err != nil {
			return nil, false
		}
		cast = append(cast, as, same)
	}
	p, err := Compile(cast, env)
	if err != nil {
		return nil, false
	}
	out, err := p.Eval(memory.DefaultAllocator, nil, 1)
	if err != nil {
		return nil, false
	}
	defer func() {
		for _, a := range out {
			a.Release()
		}
	}()
	var kept []arrow.Array
	for i := 0; i < len(out); i += 2 {
		same, ok := out[i+1].(*array.Boolean)
		if !ok || same.IsNull(0) || !same.Value(0) {
			return nil, false
		}
		kept = append(kept, out[i])
	}
	all, err := array.Concatenate(kept, memory.DefaultAllocator)
	return all, err == nil
}

// Conditions lists the comparisons that every row must meet for which e is
// TRUE: the sides of AND of the form "column compared with constants". A row
// that meets all of them may still fail e.
func Conditions(e Expr) []Condition {
	call, ok := e.(*callExpr)
	if !ok {
		return nil
	}
	switch call.fn.name {
	case "AND":
		return append(Conditions(call.args[0]), Conditions(call.args[1])...)
	case "IS NULL", "IS NOT NULL", "IN", "=", "<", "<=", ">", ">=":
		c, ok := conditionOf(call)
		if ok {
			return []Condition{c}
		}
	}
	return nil
}

// mirrored are the comparisons seen from the other side.
var mirrored = map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func conditionOf(call *callExpr) (Condition, bool) {
	if call.fn.name == "IN" {
		return memberOf(call)
	}
	c := Condition{Op: call.fn.name, Values: call.args[1:]}
	column, ok := IsColumn(call.args[0])
	if !ok && mirrored[c.Op] != "" {
		if column, ok = IsColumn(call.args[1]); ok {
			c.Op, c.Values = mirrored[c.Op], call.args[:1]
		}
	}
	c.Column = column
	for _, v := range c.Values {
		ok = ok && IsConstant(v)
	}
	return c, ok
}

// memberOf reads IN, whose arguments are pairs of the column and a constant.
func memberOf(call *callExpr) (Condition, bool) {
	column, ok := IsColumn(call.args[0])
	c := Condition{Column: column, Op: "IN"}
	for i := 0; i < len(call.args); i += 2 {
		at, is := IsColumn(call.args[i])
		ok = ok && is && at == column && IsConstant(call.args[i+1])
		c.Values = append(c.Values, call.args[i+1])
	}
	return c, ok
}
