package expr

import (
	"strconv"

	"leat/internal/columnar"
)

// buildingFunctions make nested values. Their names are words of the grammar.
var buildingFunctions = []*function{
	{name: "ARRAY", minArgs: 1, maxArgs: -1, bind: bindArray, build: buildCollection},
	{name: "MAP", minArgs: 2, maxArgs: -1, bind: bindMap, build: buildCollection},
	{name: "ROW", minArgs: 1, maxArgs: -1, bind: bindRow, build: buildRow},
	{name: "CARDINALITY", minArgs: 1, maxArgs: 1, bind: bindCardinality, build: buildCardinality},
	{name: "ELEMENT", minArgs: 1, maxArgs: 1, bind: bindOnly, build: buildOnly},
}

// elementFunction is a[i] and m[k]; memberFunction is r.f, whose second argument is the
// place of the field.
var (
	elementFunction = &function{name: "[]", minArgs: 2, maxArgs: 2, bind: bindElement}
	memberFunction  = &function{name: ".", minArgs: 2, maxArgs: 2}
)

func init() {
	elementFunction.build = buildElement
	memberFunction.build = buildField
}

// Element is x[index]: of an ARRAY the element at a position from 1 on, of a MAP the
// value of a key; NULL where there is none.
func Element(x, index Expr) (Expr, error) {
	t, args, err := bindElement(elementFunction, []Expr{x, index})
	if err != nil {
		return nil, err
	}
	return &callExpr{fn: elementFunction, args: args, t: t}, nil
}

// FieldOf is field i of a ROW.
func FieldOf(x Expr, i int) Expr {
	t := x.Type().Fields[i].Type
	t.Nullable = t.Nullable || x.Type().Nullable
	return &callExpr{fn: memberFunction, args: []Expr{x, LitInt(int32(i))}, t: t}
}

func bindArray(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	elem, out, err := unify(f, args)
	if err != nil {
		return elem, nil, err
	}
	elem.Nullable = anyNullable(args)
	return columnar.DataType{Kind: columnar.Array, Elem: &elem}, out, nil
}

func bindMap(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	if len(args)%2 != 0 {
		return columnar.DataType{}, nil, typeError("write MAP[key, value, key, value]", "MAP with a key without a value")
	}
	var sides [2][]Expr
	for i, a := range args {
		sides[i%2] = append(sides[i%2], a)
	}
	var types [2]columnar.DataType
	for s := range sides {
		nullable := anyNullable(sides[s])
		var err error
		if types[s], sides[s], err = unify(f, sides[s]); err != nil {
			return types[s], nil, err
		}
		types[s].Nullable = nullable
	}
	out := make([]Expr, len(args))
	for i := range out {
		out[i] = sides[i%2][i/2]
	}
	return columnar.DataType{Kind: columnar.Map, Key: &types[0], Elem: &types[1]}, out, nil
}

func bindRow(_ *function, args []Expr) (columnar.DataType, []Expr, error) {
	t := columnar.DataType{Kind: columnar.Row}
	for i, a := range args {
		if a.Type().Kind == columnar.Invalid {
			return t, nil, errBareNull()
		}
		t.Fields = append(t.Fields, columnar.Field{ID: i, Name: "EXPR$" + strconv.Itoa(i), Type: a.Type()})
	}
	return t, args, nil
}

// buildCollection gives ARRAY[…] and MAP[…], whose arguments alternate. Of equal keys the last one stays.
func buildCollection(c *compiler, e *callExpr) (node, error) {
	kids := kidTypes(e.t)
	width := len(e.args) / len(kids)
	isMap := e.t.Kind == columnar.Map
	var same sameValue
	if isMap {
		same = nullSafe(kids[0])
	}
	return c.loopOver(e, func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		out.valid, out.kids = nil, make([]*vector, len(kids))
		idx := make([]int32, 0, n*width)
		from, to := make([]int32, n), make([]int32, n)
		for i := range n {
			from[i] = int32(len(idx))
			for w := range width {
				if isMap && f.isActive(i) && !in[2*w].isValid(i) {
					return valueError(e, "give each entry a key", "NULL is no key of a MAP")
				}
				if isMap && keyFollows(in, same, w, width, i) {
					continue
				}
				idx = append(idx, int32(w*n+i))
			}
			to[i] = int32(len(idx))
		}
		out.from, out.to = from, to
		for k, t := range kids {
			parts, sizes := make([]*vector, width), make([]int, width)
			for w := range parts {
				parts[w], sizes[w] = in[w*len(kids)+k], n
			}
			out.kids[k] = pick(stack(t, parts, sizes), t, idx)
		}
		return nil
	})
}

// keyFollows reports whether the key of entry w comes again behind it.
func keyFollows(in []*vector, same sameValue, w, width, i int) bool {
	for later := w + 1; later < width; later++ {
		if same(in[2*w], i, in[2*later], i) {
			return true
		}
	}
	return false
}

func buildRow(c *compiler, e *callExpr) (node, error) {
	return c.loopOver(e, func(_ *frame, in []*vector, out *scratch) error {
		out.valid, out.kids = nil, in
		return nil
	})
}

func bindElement(_ *function, args []Expr) (columnar.DataType, []Expr, error) {
	x, index := args[0], args[1]
	t := x.Type()
	switch t.Kind {
	case columnar.Array:
		if !index.Type().IsInteger() {
			return t, nil, typeError("write a position, such as a[1]", "the positions of an ARRAY are whole numbers, this is %s", typeName(index.Type()))
		}
		if l, ok := index.(*literalExpr); ok && !l.null && l.i < 1 {
			return t, nil, typeError("write a[1] for the first element", "the positions of an ARRAY begin at 1, this is %d", l.i)
		}
		return t.Elem.AsNullable(), []Expr{x, implicit(index, columnar.Of(columnar.BigInt))}, nil
	case columnar.Map:
		common, ok := commonType(*t.Key, index.Type())
		if !ok {
			return t, nil, typeError("CAST the key to "+typeName(*t.Key), "the keys of this MAP are %s, not %s", typeName(*t.Key), typeName(index.Type()))
		}
		if !common.EqualIgnoreNull(*t.Key) { // keys of another length or precision
			wide := t
			key := common.NotNull()
			wide.Key = &key
			x = implicit(x, wide)
		}
		return t.Elem.AsNullable(), []Expr{x, implicit(index, common)}, nil
	case columnar.Row:
		return t, nil, typeError("write the name of a field, as in r."+t.Fields[0].Name, "the fields of a ROW have no positions")
	default:
		return t, nil, typeError("use an ARRAY or a MAP", "%s has no elements", typeName(t))
	}
}

func buildElement(c *compiler, e *callExpr) (node, error) {
	t := e.args[0].Type()
	if t.Kind == columnar.Map {
		same := nullSafe(*t.Key)
		return c.loopOver(e, pickLoop(*t.Elem, 1, func(in []*vector, i int) int32 {
			m := in[0]
			for j := m.from[i]; j < m.to[i]; j++ {
				if same(m.kids[0], int(j), in[1], i) {
					return j
				}
			}
			return -1
		}))
	}
	return c.loopOver(e, pickLoop(*t.Elem, 0, func(in []*vector, i int) int32 {
		p := values[int64](in[1])[i]
		if p < 1 || p > int64(in[0].to[i]-in[0].from[i]) {
			return -1
		}
		return in[0].from[i] + int32(p) - 1
	}))
}

// pickLoop gives elements of a kid of the first argument, whose type is t; negative is
// NULL. at is asked where no argument is NULL.
func pickLoop(t columnar.DataType, kid int, at func(in []*vector, i int) int32) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		idx := make([]int32, f.rows)
		for i := range idx {
			idx[i] = -1
			if allValid(in, i) {
				idx[i] = at(in, i)
			}
		}
		out.vector = *pick(in[0].kids[kid], t, idx)
		return nil
	}
}

func buildField(c *compiler, e *callExpr) (node, error) {
	row, err := c.compile(e.args[0])
	if err != nil {
		return nil, err
	}
	place := e.args[1].(*literalExpr).i
	return newLoop(func(f *frame, in []*vector, out *scratch) error {
		out.vector = *in[0].kids[place]
		if in[0].valid == nil {
			return nil
		}
		valid := make([]bool, f.rows)
		for i := range valid {
			valid[i] = in[0].valid[i] && in[0].kids[place].isValid(i)
		}
		out.valid = valid
		return nil
	}, row), nil
}

func bindCardinality(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	if !isList(args[0].Type()) {
		return columnar.DataType{}, nil, argError(f, args, "give it an ARRAY, a MAP or a MULTISET")
	}
	return withNull(columnar.Of(columnar.Int), args), args, nil
}

// buildCardinality counts elements, those of a MULTISET as often as they are in it.
func buildCardinality(c *compiler, e *callExpr) (node, error) {
	multiset := e.args[0].Type().Kind == columnar.Multiset
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (int32, bool) {
		v := in[0]
		if !multiset {
			return v.to[i] - v.from[i], true
		}
		sum := int32(0)
		for j := v.from[i]; j < v.to[i]; j++ {
			sum += values[int32](v.kids[1])[j]
		}
		return sum, true
	}))
}

func bindOnly(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	t := args[0].Type()
	if t.Kind != columnar.Array {
		return t, nil, argError(f, args, "give it an ARRAY of one element")
	}
	return t.Elem.AsNullable(), args, nil
}

// buildOnly gives the one element of an ARRAY, NULL if it is empty; more are an error.
func buildOnly(c *compiler, e *callExpr) (node, error) {
	one := pickLoop(*e.args[0].Type().Elem, 0, func(in []*vector, i int) int32 {
		if in[0].from[i] == in[0].to[i] {
			return -1
		}
		return in[0].from[i]
	})
	return c.loopOver(e, func(f *frame, in []*vector, out *scratch) error {
		for i := range f.rows {
			if n := in[0].to[i] - in[0].from[i]; f.isActive(i) && in[0].isValid(i) && n > 1 {
				return valueError(e, "write a[1] for the first one", "the ARRAY has %d elements, not one", n)
			}
		}
		return one(f, in, out)
	})
}
