package expr

import (
	"slices"

	"leat/internal/columnar"
)

var mapFunctions = []*function{
	{name: "MAP_KEYS", minArgs: 1, maxArgs: 1, bind: bindMapPart, build: buildMapPart},
	{name: "MAP_VALUES", minArgs: 1, maxArgs: 1, bind: bindMapPart, build: buildMapPart},
	{name: "MAP_ENTRIES", minArgs: 1, maxArgs: 1, bind: bindMapPart, build: buildMapPart},
	{name: "MAP_FROM_ARRAYS", minArgs: 2, maxArgs: 2, bind: bindFromArrays, build: buildFromArrays},
	{name: "MAP_UNION", minArgs: 1, maxArgs: -1, bind: bindMapUnion, build: buildMapUnion},
	{name: "STR_TO_MAP", minArgs: 1, maxArgs: 3, bind: takes(following(textMap), textParam), build: buildTextMap},
}

var textMap = columnar.DataType{Kind: columnar.Map, Key: &textElem, Elem: &textElem}

func bindMapPart(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	t := args[0].Type()
	if t.Kind != columnar.Map {
		return t, nil, argError(f, args, "give it a MAP, such as MAP['a', 1]")
	}
	elem := columnar.DataType{}
	switch f.name {
	case "MAP_KEYS":
		elem = *t.Key
	case "MAP_VALUES":
		elem = *t.Elem
	default:
		elem = columnar.DataType{Kind: columnar.Row, Fields: []columnar.Field{{Name: "key", Type: *t.Key}, {ID: 1, Name: "value", Type: *t.Elem}}}
	}
	return withNull(columnar.DataType{Kind: columnar.Array, Elem: &elem}, args), args, nil
}

func buildMapPart(c *compiler, e *callExpr) (node, error) {
	name := e.fn.name
	return c.loopOver(e, func(_ *frame, in []*vector, out *scratch) error {
		m := in[0]
		out.from, out.to, out.valid = m.from, m.to, m.valid
		switch name {
		case "MAP_KEYS":
			out.kids = m.kids[:1]
		case "MAP_VALUES":
			out.kids = m.kids[1:]
		default:
			out.kids = []*vector{{kids: m.kids}}
		}
		return nil
	})
}

func bindFromArrays(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	if err := arrays(f, args, 2); err != nil {
		return columnar.DataType{}, nil, err
	}
	return withNull(columnar.DataType{Kind: columnar.Map, Key: args[0].Type().Elem, Elem: args[1].Type().Elem}, args), args, nil
}

func buildFromArrays(c *compiler, e *callExpr) (node, error) {
	kids := kidTypes(e.t)
	return c.loopOver(e, func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		out.valid = nil
		out.mergeValid(n, in...)
		from, to := make([]int32, n), make([]int32, n)
		var idx [2][]int32
		for i := range n {
			from[i] = int32(len(idx[0]))
			if out.isValid(i) {
				size := in[0].to[i] - in[0].from[i]
				if other := in[1].to[i] - in[1].from[i]; other != size && f.isActive(i) {
					return valueError(e, "give it as many values as keys", "%d keys and %d values", size, other)
				}
				size = min(size, in[1].to[i]-in[1].from[i])
				for j := range size {
					idx[0], idx[1] = append(idx[0], in[0].from[i]+j), append(idx[1], in[1].from[i]+j)
				}
			}
			to[i] = int32(len(idx[0]))
		}
		out.from, out.to = from, to
		out.kids = []*vector{pick(in[0].kids[0], kids[0], idx[0]), pick(in[1].kids[0], kids[1], idx[1])}
		return nil
	})
}

func bindMapUnion(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	for _, a := range args {
		if a.Type().Kind != columnar.Map {
			return columnar.DataType{}, nil, argError(f, args, "give it MAPs, such as MAP['a', 1]")
		}
	}
	t, out, err := unify(f, args)
	if err != nil {
		return t, nil, err
	}
	return withNull(t, args), out, nil
}

// buildMapUnion takes the value of the last MAP that has a key.
func buildMapUnion(c *compiler, e *callExpr) (node, error) {
	kids := kidTypes(e.t)
	same := nullSafe(kids[0])
	return c.loopOver(e, func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		out.valid = nil
		out.mergeValid(n, in...)
		from, to := make([]int32, n), make([]int32, n)
		sizes, bases, total := make([]int, len(in)), make([]int32, len(in)), int32(0)
		for p, v := range in {
			bases[p], sizes[p] = total, v.elements(n)
			total += int32(sizes[p])
		}
		keys := stack(kids[0], kidsOf(in, 0), sizes)
		var idx []int32
		for i := range n {
			from[i] = int32(len(idx))
			for p := 0; p < len(in) && out.isValid(i); p++ {
				for j := bases[p] + in[p].from[i]; j < bases[p]+in[p].to[i]; j++ {
					mine := idx[from[i]:]
					if k := slices.IndexFunc(mine, func(x int32) bool { return same(keys, int(x), keys, int(j)) }); k >= 0 {
						mine[k] = j
					} else {
						idx = append(idx, j)
					}
				}
			}
			to[i] = int32(len(idx))
		}
		out.from, out.to = from, to
		out.kids = []*vector{pick(keys, kids[0], idx), pick(stack(kids[1], kidsOf(in, 1), sizes), kids[1], idx)}
		return nil
	})
}

// buildTextMap reads a=1,b=2; what stands between entries, and between key and value,
// are regular expressions. An entry without a value has NULL; the last of equal keys stays.
func buildTextMap(c *compiler, e *callExpr) (node, error) {
	var between [2]*regexps
	for p := range between {
		pattern := LitString([]string{",", "="}[p])
		if len(e.args) > p+1 {
			pattern = e.args[p+1]
		}
		var err error
		if between[p], err = newRegexps(pattern, unchanged); err != nil {
			return nil, err
		}
	}
	return c.loopOver(e, func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		out.valid = nil
		out.mergeValid(n, in...)
		at := func(p, i int, instead string) string {
			if len(in) > p {
				return in[p].strs[i]
			}
			return instead
		}
		from, to := make([]int32, n), make([]int32, n)
		var keys, vals []string
		var valid []bool
		for i := range n {
			from[i] = int32(len(keys))
			if out.isValid(i) {
				for _, entry := range splitBy(between[0], at(1, i, ","), in[0].strs[i]) {
					parts := append(splitBy(between[1], at(2, i, "="), entry), "", "")
					key, value, ok := parts[0], parts[1], len(parts) > 3
					if k := slices.Index(keys[from[i]:], key); k >= 0 {
						vals[int(from[i])+k], valid[int(from[i])+k] = value, ok
						continue
					}
					keys, vals, valid = append(keys, key), append(vals, value), append(valid, ok)
				}
			}
			to[i] = int32(len(keys))
		}
		out.from, out.to, out.kids = from, to, []*vector{{strs: keys}, {strs: vals, valid: valid}}
		return nil
	})
}

// splitBy splits s and leaves out empty parts at its end; a pattern that cannot be
// compiled is nowhere in s.
func splitBy(r *regexps, pattern, s string) []string {
	re := r.get(pattern)
	if re == nil {
		return []string{s}
	}
	parts := re.Split(s, -1)
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}
