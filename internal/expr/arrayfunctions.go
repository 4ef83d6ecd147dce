package expr

import (
	"slices"
	"strings"

	"leat/internal/columnar"
)

var arrayFunctions = []*function{
	{name: "ARRAY_APPEND", minArgs: 2, maxArgs: 2, bind: bindNeedle(listResult), build: buildAppend},
	{name: "ARRAY_PREPEND", minArgs: 2, maxArgs: 2, bind: bindNeedle(listResult), build: buildAppend},
	{name: "ARRAY_CONCAT", minArgs: 1, maxArgs: -1, bind: bindArrays, build: buildConcat},
	{name: "ARRAY_CONTAINS", minArgs: 2, maxArgs: 2, bind: bindNeedle(containsResult), build: buildContains},
	{name: "ARRAY_POSITION", minArgs: 2, maxArgs: 2, bind: bindNeedle(positionResult), build: buildPosition},
	{name: "ARRAY_REMOVE", minArgs: 2, maxArgs: 2, bind: bindNeedle(sameAsFirst), build: buildRemove},
	{name: "ARRAY_DISTINCT", minArgs: 1, maxArgs: 1, bind: bindArrays, build: buildSet},
	{name: "ARRAY_UNION", minArgs: 2, maxArgs: 2, bind: bindArrays, build: buildSet},
	{name: "ARRAY_EXCEPT", minArgs: 2, maxArgs: 2, bind: bindArrays, build: buildSet},
	{name: "ARRAY_INTERSECT", minArgs: 2, maxArgs: 2, bind: bindArrays, build: buildSet},
	{name: "ARRAY_REVERSE", minArgs: 1, maxArgs: 1, bind: bindArrays, build: buildReverse},
	{name: "ARRAY_SLICE", minArgs: 2, maxArgs: 3, bind: bindSlice, build: buildSlice},
	{name: "ARRAY_SORT", minArgs: 1, maxArgs: 3, bind: bindSort, build: buildSort},
	{name: "ARRAY_MAX", minArgs: 1, maxArgs: 1, bind: bindLargest, build: buildLargest},
	{name: "ARRAY_MIN", minArgs: 1, maxArgs: 1, bind: bindLargest, build: buildLargest},
	{name: "ARRAY_JOIN", minArgs: 2, maxArgs: 3, bind: bindJoin, build: buildJoin},
	{name: "SPLIT", minArgs: 2, maxArgs: 2, bind: takes(following(textArray), textParam), build: buildSplit},
}

var textArray = columnar.DataType{Kind: columnar.Array, Elem: &textElem}

var textElem = columnar.StringType()

// arrays checks that the first n arguments are ARRAYs.
func arrays(f *function, args []Expr, n int) error {
	for _, a := range args[:n] {
		if a.Type().Kind != columnar.Array {
			return argError(f, args, "give it an ARRAY, such as ARRAY[1, 2]")
		}
	}
	return nil
}

// bindNeedle takes an ARRAY and a value of the type of its elements.
func bindNeedle(result func(args []Expr) columnar.DataType) func(*function, []Expr) (columnar.DataType, []Expr, error) {
	return func(f *function, args []Expr) (columnar.DataType, []Expr, error) {
		if err := arrays(f, args, 1); err != nil {
			return columnar.DataType{}, nil, err
		}
		t := args[0].Type()
		elem, ok := commonType(*t.Elem, args[1].Type())
		if !ok {
			return t, nil, typeError("CAST the value to "+typeName(*t.Elem), "%s looks for %s among %s", f.name, typeName(args[1].Type()), typeName(*t.Elem))
		}
		elem.Nullable = t.Elem.Nullable
		t.Elem = &elem
		out := []Expr{implicit(args[0], t), implicit(args[1], elem)}
		return result(out), out, nil
	}
}

// listResult is the ARRAY that holds the value too.
func listResult(args []Expr) columnar.DataType {
	t := args[0].Type()
	elem := *t.Elem
	elem.Nullable = elem.Nullable || args[1].Type().Nullable
	t.Elem = &elem
	return t
}

func containsResult(args []Expr) columnar.DataType { return boolType(args[0].Type().Nullable) }

func positionResult(args []Expr) columnar.DataType { return withNull(columnar.Of(columnar.Int), args) }

// bindArrays takes ARRAYs and brings them to one type.
func bindArrays(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	if err := arrays(f, args, len(args)); err != nil {
		return columnar.DataType{}, nil, err
	}
	t, out, err := unify(f, args)
	if err != nil {
		return t, nil, err
	}
	return withNull(t, args), out, nil
}

func buildAppend(c *compiler, e *callExpr) (node, error) {
	front := e.fn.name == "ARRAY_PREPEND"
	return c.loopOver(e, listLoop(*e.t.Elem, 1, elementsAndValue, func(in []*vector, i int, add func(int, int32)) bool {
		if front {
			add(1, int32(i))
		}
		for j := in[0].from[i]; j < in[0].to[i]; j++ {
			add(0, j)
		}
		if !front {
			add(1, int32(i))
		}
		return true
	}))
}

func buildConcat(c *compiler, e *callExpr) (node, error) {
	return c.loopOver(e, listLoop(*e.t.Elem, len(e.args), elementsOf, func(in []*vector, i int, add func(int, int32)) bool {
		for p, v := range in {
			for j := v.from[i]; j < v.to[i]; j++ {
				add(p, j)
			}
		}
		return true
	}))
}

// find gives the place of the value in row i of the second argument among the
// elements of the first, negative if it is not there.
func find(in []*vector, i int, same sameValue) int32 {
	for j := in[0].from[i]; j < in[0].to[i]; j++ {
		if same(in[0].kids[0], int(j), in[1], i) {
			return j
		}
	}
	return -1
}

// buildContains finds NULL too.
func buildContains(c *compiler, e *callExpr) (node, error) {
	same := nullSafe(*e.args[0].Type().Elem)
	return c.loopOver(e, func(f *frame, in []*vector, out *scratch) error {
		d := grow[bool](out, f.rows)
		out.mergeValid(f.rows, in[0])
		for i := range d {
			d[i] = out.isValid(i) && find(in, i, same) >= 0
		}
		return nil
	})
}

func buildPosition(c *compiler, e *callExpr) (node, error) {
	same := nullSafe(*e.args[0].Type().Elem)
	return c.loopOver(e, fixedRows(func(in []*vector, i int) (int32, bool) {
		if j := find(in, i, same); j >= 0 {
			return j - in[0].from[i] + 1, true
		}
		return 0, true
	}))
}

func buildRemove(c *compiler, e *callExpr) (node, error) {
	same := nullSafe(*e.args[0].Type().Elem)
	return c.loopOver(e, listLoop(*e.t.Elem, 1, elementsOfFirst, func(in []*vector, i int, add func(int, int32)) bool {
		for j := in[0].from[i]; j < in[0].to[i]; j++ {
			if !same(in[0].kids[0], int(j), in[1], i) {
				add(0, j)
			}
		}
		return true
	}))
}

// buildSet gives ARRAYs in which each element is once, at its first place.
func buildSet(c *compiler, e *callExpr) (node, error) {
	same := nullSafe(*e.t.Elem)
	name := e.fn.name
	return c.loopOver(e, listLoop(*e.t.Elem, len(e.args), elementsOf, func(in []*vector, i int, add func(int, int32)) bool {
		among := func(p int, to int32, v *vector, at int32) bool {
			for j := in[p].from[i]; j < to; j++ {
				if same(in[p].kids[0], int(j), v, int(at)) {
					return true
				}
			}
			return false
		}
		for p, v := range in {
			if p == 1 && name != "ARRAY_UNION" {
				break
			}
			for j := v.from[i]; j < v.to[i]; j++ {
				kept := !among(p, j, v.kids[0], j)
				switch {
				case name == "ARRAY_EXCEPT":
					kept = kept && !among(1, in[1].to[i], v.kids[0], j)
				case name == "ARRAY_INTERSECT":
					kept = kept && among(1, in[1].to[i], v.kids[0], j)
				case p == 1:
					kept = kept && !among(0, in[0].to[i], v.kids[0], j)
				}
				if kept {
					add(p, j)
				}
			}
		}
		return true
	}))
}

func buildReverse(c *compiler, e *callExpr) (node, error) {
	return c.loopOver(e, listLoop(*e.t.Elem, 1, elementsOfFirst, func(in []*vector, i int, add func(int, int32)) bool {
		for j := in[0].to[i] - 1; j >= in[0].from[i]; j-- {
			add(0, j)
		}
		return true
	}))
}

func bindSlice(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	if err := arrays(f, args, 1); err != nil {
		return columnar.DataType{}, nil, err
	}
	out := []Expr{args[0]}
	for _, a := range args[1:] {
		if !a.Type().IsInteger() {
			return columnar.DataType{}, nil, argError(f, args, "write ARRAY_SLICE(a, 1, 2)")
		}
		out = append(out, implicit(a, columnar.Of(columnar.Int)))
	}
	return sameAsFirst(out), out, nil
}

// buildSlice gives the elements from one position to another, both included; negative
// ones count from the end.
func buildSlice(c *compiler, e *callExpr) (node, error) {
	return c.loopOver(e, listLoop(*e.t.Elem, len(e.args), elementsOfFirst, func(in []*vector, i int, add func(int, int32)) bool {
		size := in[0].to[i] - in[0].from[i]
		start, end := int32(intAt(in[1], i)), size
		if len(in) > 2 {
			end = int32(intAt(in[2], i))
		}
		if start < 0 {
			start += size + 1
		}
		if end < 0 {
			end += size + 1
		}
		start, end = max(start, 1), min(end, size)
		if len(in) > 2 && end == 0 && size > 0 {
			end = 1
		}
		for p := start; p <= end; p++ {
			add(0, in[0].from[i]+p-1)
		}
		return true
	}))
}

func bindSort(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	if err := arrays(f, args, 1); err != nil {
		return columnar.DataType{}, nil, err
	}
	for _, a := range args[1:] {
		if a.Type().Kind != columnar.Boolean {
			return columnar.DataType{}, nil, argError(f, args, "write ARRAY_SORT(a, TRUE) for ascending, FALSE for descending order")
		}
	}
	if args[0].Type().Elem.IsNested() {
		return columnar.DataType{}, nil, argError(f, args, "give it elements that have an order")
	}
	return sameAsFirst(args), args, nil
}

// buildSort sorts ascending with NULL first, descending with NULL last, unless told otherwise.
func buildSort(c *compiler, e *callExpr) (node, error) {
	compare := ordering(*e.t.Elem)
	return c.loopOver(e, listLoop(*e.t.Elem, len(e.args), elementsOfFirst, func(in []*vector, i int, add func(int, int32)) bool {
		ascending := len(in) < 2 || values[bool](in[1])[i]
		nullsFirst := ascending
		if len(in) > 2 {
			nullsFirst = values[bool](in[2])[i]
		}
		kid := in[0].kids[0]
		var order []int32
		for j := in[0].from[i]; j < in[0].to[i]; j++ {
			order = append(order, j)
		}
		slices.SortStableFunc(order, func(x, y int32) int {
			vx, vy := kid.isValid(int(x)), kid.isValid(int(y))
			switch {
			case !vx && !vy:
				return 0
			case !vx || !vy:
				if vx != nullsFirst {
					return -1
				}
				return 1
			case ascending:
				return compare(kid, int(x), kid, int(y))
			default:
				return compare(kid, int(y), kid, int(x))
			}
		})
		for _, j := range order {
			add(0, j)
		}
		return true
	}))
}

func bindLargest(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	if err := arrays(f, args, 1); err != nil {
		return columnar.DataType{}, nil, err
	}
	t := *args[0].Type().Elem
	if t.IsNested() {
		return t, nil, argError(f, args, "give it elements that have an order")
	}
	return t.AsNullable(), args, nil
}

// buildLargest leaves NULL out.
func buildLargest(c *compiler, e *callExpr) (node, error) {
	compare, sign := ordering(e.t), 1
	if e.fn.name == "ARRAY_MIN" {
		sign = -1
	}
	return c.loopOver(e, pickLoop(e.t, 0, func(in []*vector, i int) int32 {
		best, kid := int32(-1), in[0].kids[0]
		for j := in[0].from[i]; j < in[0].to[i]; j++ {
			if kid.isValid(int(j)) && (best < 0 || sign*compare(kid, int(j), kid, int(best)) > 0) {
				best = j
			}
		}
		return best
	}))
}

func bindJoin(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	if err := arrays(f, args, 1); err != nil {
		return columnar.DataType{}, nil, err
	}
	texts := args[0].Type().Elem.IsText()
	for _, a := range args[1:] {
		texts = texts && a.Type().IsText()
	}
	if !texts {
		return columnar.DataType{}, nil, argError(f, args, "give it an ARRAY of strings: CAST(a AS ARRAY<STRING>)")
	}
	return withNull(columnar.StringType(), args), args, nil
}

// buildJoin leaves NULL out, or writes the third argument in its place.
func buildJoin(c *compiler, e *callExpr) (node, error) {
	return c.loopOver(e, textRowsOf(func(in []*vector, i int, out *scratch) string {
		start, first := len(out.arena), true
		kid := in[0].kids[0]
		for j := int(in[0].from[i]); j < int(in[0].to[i]); j++ {
			if !kid.isValid(j) && len(in) < 3 {
				continue
			}
			if !first {
				out.arena = append(out.arena, in[1].strs[i]...)
			}
			first = false
			if kid.isValid(j) {
				out.arena = append(out.arena, kid.strs[j]...)
			} else {
				out.arena = append(out.arena, in[2].strs[i]...)
			}
		}
		return out.since(start)
	}))
}

// buildSplit splits text; an empty separator gives the characters.
func buildSplit(c *compiler, e *callExpr) (node, error) {
	return c.loopOver(e, func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		out.valid = nil
		out.mergeValid(n, in...)
		var parts []string
		from, to := make([]int32, n), make([]int32, n)
		for i := range n {
			from[i] = int32(len(parts))
			if out.isValid(i) {
				parts = append(parts, strings.Split(in[0].strs[i], in[1].strs[i])...)
			}
			to[i] = int32(len(parts))
		}
		out.from, out.to, out.kids = from, to, []*vector{{strs: parts}}
		return nil
	})
}
