package expr

import "leat/internal/columnar"

// listRow makes the elements of row i by calls of add with a part and a place in it;
// it is called where no argument is NULL that has to be given. ok false gives NULL.
type listRow func(in []*vector, i int, add func(part int, at int32)) (ok bool)

// listLoop makes ARRAYs of elements of parts; needed are the arguments without which
// the result is NULL.
func listLoop(elem columnar.DataType, needed int, parts func(in []*vector, n int) ([]*vector, []int), row listRow) loop {
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		out.valid = nil
		out.mergeValid(n, in[:needed]...)
		from, to := make([]int32, n), make([]int32, n)
		vs, sizes := parts(in, n)
		bases := make([]int32, len(vs))
		for p := 1; p < len(vs); p++ {
			bases[p] = bases[p-1] + int32(sizes[p-1])
		}
		var idx []int32
		add := func(part int, at int32) { idx = append(idx, bases[part]+at) }
		for i := range n {
			from[i] = int32(len(idx))
			if out.isValid(i) && !row(in, i, add) {
				idx = idx[:from[i]]
				out.setNull(i, n)
			}
			to[i] = int32(len(idx))
		}
		out.from, out.to = from, to
		out.kids = []*vector{pick(stack(elem, vs, sizes), elem, idx)}
		return nil
	}
}

// elementsOf gives the elements of the arguments, all of them ARRAYs.
func elementsOf(in []*vector, n int) (parts []*vector, sizes []int) {
	for _, v := range in {
		parts, sizes = append(parts, v.kids[0]), append(sizes, v.elements(n))
	}
	return parts, sizes
}

func elementsOfFirst(in []*vector, n int) (parts []*vector, sizes []int) {
	return elementsOf(in[:1], n)
}

// elementsAndValue gives the elements of the first argument and the second argument.
func elementsAndValue(in []*vector, n int) (parts []*vector, sizes []int) {
	return []*vector{in[0].kids[0], in[1]}, []int{in[0].elements(n), n}
}
