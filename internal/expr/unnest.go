package expr

import (
	"leat/internal/columnar"
)

// unnestFunction gives the rows that UNNEST makes of a value, as an ARRAY. Its second
// argument says whether a position, from 1 on, is the last field of each.
var unnestFunction = &function{name: "UNNEST", minArgs: 2, maxArgs: 2}

func init() { unnestFunction.build = buildUnnest }

// UnnestRows gives what UNNEST makes rows of, as an ARRAY: the elements of an ARRAY or,
// as often as they are in it, of a MULTISET; ROWs of key and value of a MAP. With
// ordinality each is a ROW, whose last field is its position, an INT from 1 on.
func UnnestRows(x Expr, ordinality bool) (Expr, error) {
	t := x.Type()
	if !isList(t) {
		return nil, typeError("give it an ARRAY, a MAP or a MULTISET", "UNNEST does not take %s", typeName(t))
	}
	if t.Kind == columnar.Array && !ordinality {
		return x, nil
	}
	elem := *t.Elem
	if t.Kind == columnar.Map || ordinality {
		var fields []columnar.Field
		switch {
		case t.Kind == columnar.Map:
			fields = []columnar.Field{{Name: "KEY", Type: *t.Key}, {ID: 1, Name: "VALUE", Type: *t.Elem}}
		case t.Elem.Kind == columnar.Row:
			for _, f := range t.Elem.Fields {
				f.Type.Nullable = f.Type.Nullable || t.Elem.Nullable
				fields = append(fields, f)
			}
		default:
			fields = []columnar.Field{{Name: "EXPR$0", Type: *t.Elem}}
		}
		if ordinality {
			fields = append(fields, columnar.Field{ID: len(fields), Name: "ORDINALITY", Type: columnar.Of(columnar.Int).NotNull()})
		}
		elem = columnar.DataType{Kind: columnar.Row, Fields: fields}
	}
	rows := columnar.DataType{Kind: columnar.Array, Nullable: t.Nullable, Elem: &elem}
	return &callExpr{fn: unnestFunction, args: []Expr{x, LitBool(ordinality)}, t: rows}, nil
}

func buildUnnest(c *compiler, e *callExpr) (node, error) {
	x, err := c.compile(e.args[0])
	if err != nil {
		return nil, err
	}
	t := e.args[0].Type()
	ordinality := e.args[1].(*literalExpr).i != 0
	kids := kidTypes(t)
	return newLoop(func(f *frame, in []*vector, out *scratch) error {
		v, n := in[0], f.rows
		out.valid = v.valid
		from, to := make([]int32, n), make([]int32, n)
		var idx, places []int32
		for i := range n {
			from[i] = int32(len(idx))
			for j := v.from[i]; j < v.to[i] && v.isValid(i); j++ {
				times := int32(1)
				if t.Kind == columnar.Multiset {
					times = values[int32](v.kids[1])[j]
				}
				for range times {
					places = append(places, int32(len(idx))-from[i]+1)
					idx = append(idx, j)
				}
			}
			to[i] = int32(len(idx))
		}
		out.from, out.to = from, to
		elem := pick(v.kids[0], kids[0], idx)
		var fields []*vector
		switch {
		case t.Kind == columnar.Map:
			fields = []*vector{elem, pick(v.kids[1], kids[1], idx)}
		case !ordinality:
			out.kids = []*vector{elem}
			return nil
		case kids[0].Kind == columnar.Row:
			fields = rowFields(elem, kids[0], len(idx))
		default:
			fields = []*vector{elem}
		}
		if ordinality {
			s := &scratch{}
			copy(grow[int32](s, len(places)), places)
			fields = append(fields, &s.vector)
		}
		out.kids = []*vector{{kids: fields}}
		return nil
	}, x), nil
}

// rowFields gives the fields of ROWs, NULL where a ROW is.
func rowFields(v *vector, t columnar.DataType, n int) []*vector {
	if v.valid == nil {
		return v.kids
	}
	idx := make([]int32, n)
	for i := range idx {
		idx[i] = int32(i)
		if !v.valid[i] {
			idx[i] = -1
		}
	}
	out := make([]*vector, len(v.kids))
	for k, kt := range kidTypes(t) {
		out[k] = pick(v.kids[k], kt, idx)
	}
	return out
}
