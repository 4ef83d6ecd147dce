package expr

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// sameValue reports whether two values, neither of them NULL, are equal.
type sameValue func(a *vector, i int, b *vector, j int) bool

// equality gives the equality of two values of type t. Within nested values a NULL
// equals a NULL, as in Flink; the entries of maps have no order.
func equality(t columnar.DataType) sameValue {
	switch t.Kind {
	case columnar.Float:
		return func(a *vector, i int, b *vector, j int) bool { return values[float32](a)[i] == values[float32](b)[j] }
	case columnar.Double:
		return func(a *vector, i int, b *vector, j int) bool { return values[float64](a)[i] == values[float64](b)[j] }
	case columnar.Array:
		elem := nullSafe(*t.Elem)
		return func(a *vector, i int, b *vector, j int) bool {
			if a.to[i]-a.from[i] != b.to[j]-b.from[j] {
				return false
			}
			for k := range int(a.to[i] - a.from[i]) {
				if !elem(a.kids[0], int(a.from[i])+k, b.kids[0], int(b.from[j])+k) {
					return false
				}
			}
			return true
		}
	case columnar.Map, columnar.Multiset:
		kids := kidTypes(t)
		return mapEquality(nullSafe(kids[0]), nullSafe(kids[1]))
	case columnar.Row:
		kids := kidTypes(t)
		fields := make([]sameValue, len(kids))
		for k := range kids {
			fields[k] = nullSafe(kids[k])
		}
		return func(a *vector, i int, b *vector, j int) bool {
			for k, same := range fields {
				if !same(a.kids[k], i, b.kids[k], j) {
					return false
				}
			}
			return true
		}
	default:
		compare := ordering(t)
		return func(a *vector, i int, b *vector, j int) bool { return compare(a, i, b, j) == 0 }
	}
}

func mapEquality(key, value sameValue) sameValue {
	return func(a *vector, i int, b *vector, j int) bool {
		if a.to[i]-a.from[i] != b.to[j]-b.from[j] {
			return false
		}
		for x := int(a.from[i]); x < int(a.to[i]); x++ {
			found := false
			for y := int(b.from[j]); y < int(b.to[j]) && !found; y++ {
				found = key(a.kids[0], x, b.kids[0], y) && value(a.kids[1], x, b.kids[1], y)
			}
			if !found {
				return false
			}
		}
		return true
	}
}

// nullSafe is equality to which NULL equals NULL.
func nullSafe(t columnar.DataType) sameValue {
	same := equality(t)
	return func(a *vector, i int, b *vector, j int) bool {
		va, vb := a.isValid(i), b.isValid(j)
		return va == vb && (!va || same(a, i, b, j))
	}
}

// ordering compares two values, neither NULL, of a type that is not nested.
func ordering(t columnar.DataType) func(a *vector, i int, b *vector, j int) int {
	switch t.Kind {
	case columnar.Boolean, columnar.TinyInt:
		return orderOf[int8]
	case columnar.SmallInt:
		return orderOf[int16]
	case columnar.Int, columnar.Date, columnar.Time:
		return orderOf[int32]
	case columnar.BigInt, columnar.Timestamp, columnar.TimestampLTZ:
		return orderOf[int64]
	case columnar.Float:
		return orderOf[float32]
	case columnar.Double:
		return orderOf[float64]
	case columnar.Decimal:
		return func(a *vector, i int, b *vector, j int) int {
			return values[decimal128.Num](a)[i].Cmp(values[decimal128.Num](b)[j])
		}
	default:
		return func(a *vector, i int, b *vector, j int) int { return cmp.Compare(a.strs[i], b.strs[j]) }
	}
}

func orderOf[T interface {
	fixed
	cmp.Ordered
}](a *vector, i int, b *vector, j int) int {
	return cmp.Compare(values[T](a)[i], values[T](b)[j])
}

// sameLoop compares nested values of type t.
func sameLoop(op string, t columnar.DataType) loop {
	same := equality(t)
	return func(f *frame, in []*vector, out *scratch) error {
		n := f.rows
		d := grow[bool](out, n)
		out.mergeValid(n, in...)
		for i := range d {
			if out.valid == nil || out.valid[i] {
				d[i] = same(in[0], i, in[1], i) == (op == "=")
			}
		}
		return nil
	}
}

// valueText appends row i of a vector as CAST AS STRING writes it.
type valueText func(b []byte, v *vector, i int) []byte

// textOf gives the text of values: [1, 2, NULL], {a=1}, (1, x); texts in them are not quoted.
func (c *compiler) textOf(t columnar.DataType) valueText {
	switch t.Kind {
	case columnar.Array:
		return listText("[", "]", c.orNull(*t.Elem))
	case columnar.Map, columnar.Multiset:
		kids := kidTypes(t)
		key, value := c.orNull(kids[0]), c.orNull(kids[1])
		return func(b []byte, v *vector, i int) []byte {
			b = append(b, '{')
			for j := int(v.from[i]); j < int(v.to[i]); j++ {
				if j > int(v.from[i]) {
					b = append(b, ", "...)
				}
				b = append(key(b, v.kids[0], j), '=')
				b = value(b, v.kids[1], j)
			}
			return append(b, '}')
		}
	case columnar.Row:
		kids := kidTypes(t)
		fields := make([]valueText, len(kids))
		for k := range kids {
			fields[k] = c.orNull(kids[k])
		}
		return func(b []byte, v *vector, i int) []byte {
			b = append(b, '(')
			for k, text := range fields {
				if k > 0 {
					b = append(b, ", "...)
				}
				b = text(b, v.kids[k], i)
			}
			return append(b, ')')
		}
	default:
		return c.flatText(t)
	}
}

func listText(head, tail string, elem valueText) valueText {
	return func(b []byte, v *vector, i int) []byte {
		b = append(b, head...)
		for j := int(v.from[i]); j < int(v.to[i]); j++ {
			if j > int(v.from[i]) {
				b = append(b, ", "...)
			}
			b = elem(b, v.kids[0], j)
		}
		return append(b, tail...)
	}
}

func (c *compiler) orNull(t columnar.DataType) valueText {
	text := c.textOf(t)
	return func(b []byte, v *vector, i int) []byte {
		if !v.isValid(i) {
			return append(b, "NULL"...)
		}
		return text(b, v, i)
	}
}

func (c *compiler) flatText(t columnar.DataType) valueText {
	switch t.Kind {
	case columnar.Boolean:
		return func(b []byte, v *vector, i int) []byte {
			if values[bool](v)[i] {
				return append(b, "TRUE"...)
			}
			return append(b, "FALSE"...)
		}
	case columnar.TinyInt:
		return integerText[int8]
	case columnar.SmallInt:
		return integerText[int16]
	case columnar.Int:
		return integerText[int32]
	case columnar.BigInt:
		return integerText[int64]
	case columnar.Float:
		return func(b []byte, v *vector, i int) []byte {
			return AppendDouble(b, float64(values[float32](v)[i]), 32)
		}
	case columnar.Double:
		return func(b []byte, v *vector, i int) []byte { return AppendDouble(b, values[float64](v)[i], 64) }
	case columnar.Decimal:
		return func(b []byte, v *vector, i int) []byte {
			return AppendDecimal(b, values[decimal128.Num](v)[i], t.Scale)
		}
	case columnar.Date:
		return func(b []byte, v *vector, i int) []byte { return appendDate(b, int64(values[int32](v)[i])) }
	case columnar.Time:
		return func(b []byte, v *vector, i int) []byte { return appendTime(b, values[int32](v)[i], t.Precision) }
	case columnar.Timestamp, columnar.TimestampLTZ:
		z, per := &zone{loc: c.env.Zone}, unitsPerSecond(t.Precision)
		local := t.Kind == columnar.TimestampLTZ
		return func(b []byte, v *vector, i int) []byte {
			at := values[int64](v)[i]
			if local {
				at += z.offsetAt(floorDiv(at, per)) * per
			}
			return appendTimestamp(b, at, t.Precision)
		}
	case columnar.Binary, columnar.VarBinary:
		return func(b []byte, v *vector, i int) []byte { return AppendDecoded(b, v.strs[i]) }
	default:
		return func(b []byte, v *vector, i int) []byte { return append(b, v.strs[i]...) }
	}
}

func integerText[T integer](b []byte, v *vector, i int) []byte {
	return strconv.AppendInt(b, int64(values[T](v)[i]), 10)
}

// nestedTextLoop casts nested values to text, which fit brings to its length.
func (c *compiler) nestedTextLoop(from columnar.DataType, fit func(*scratch, string) string) loop {
	text := c.textOf(from)
	return textRowsOf(func(in []*vector, i int, out *scratch) string {
		start := len(out.arena)
		out.arena = text(out.arena, in[0], i)
		return fit(out, out.since(start))
	})
}

func textRowsOf(op func(in []*vector, i int, out *scratch) string) loop {
	return textRows(func(in []*vector, i int, out *scratch) (string, bool) { return op(in, i, out), true })
}

// heldNode gives a vector that stands inside of another.
type heldNode struct{ v *vector }

func (h *heldNode) eval(*frame) (*vector, error) { return h.v, nil }

// nestedCast casts what is inside of nested values, kid by kid.
func (c *compiler) nestedCast(e *castExpr, arg node) (node, error) {
	from, to := kidTypes(e.arg.Type()), kidTypes(e.t)
	inputs, casts := make([]*heldNode, len(from)), make([]node, len(from))
	for k := range from {
		inputs[k] = &heldNode{}
		casts[k] = inputs[k]
		if from[k].EqualIgnoreNull(to[k]) {
			continue
		}
		n, err := c.cast(&castExpr{arg: Column(k, from[k]), t: to[k], mode: e.mode}, inputs[k])
		if err != nil {
			return nil, err
		}
		casts[k] = n
	}
	list := isList(e.t)
	return newLoop(func(f *frame, in []*vector, out *scratch) error {
		v := in[0]
		sub := frame{rows: f.rows, epoch: f.epoch, active: activeRows(f, v)}
		if list {
			sub.rows = v.elements(f.rows)
			sub.active = activeElements(sub.active, v, sub.rows)
		}
		out.from, out.to, out.valid, out.kids = v.from, v.to, v.valid, make([]*vector, len(casts))
		for k, n := range casts {
			inputs[k].v = v.kids[k]
			kid, err := n.eval(&sub)
			if err != nil {
				return err
			}
			out.kids[k] = kid
		}
		if e.mode == castTry {
			failedInside(out, v, list, f.rows)
		}
		return nil
	}, arg), nil
}

// failedInside makes NULL of the rows in which something became NULL by TRY_CAST.
func failedInside(out *scratch, v *vector, list bool, n int) {
	out.valid = slices.Clone(out.valid)
	for i := range n {
		from, to := i, i+1
		if list {
			from, to = int(v.from[i]), int(v.to[i])
		}
		for k := range v.kids {
			for j := from; j < to && v.isValid(i); j++ {
				if v.kids[k].isValid(j) && !out.kids[k].isValid(j) {
					out.setNull(i, n)
				}
			}
		}
	}
}

// activeRows gives the rows that are active and not NULL.
func activeRows(f *frame, v *vector) []bool {
	out := make([]bool, f.rows)
	for i := range out {
		out[i] = f.isActive(i) && v.isValid(i)
	}
	return out
}

// activeElements gives the elements of rows.
func activeElements(rows []bool, v *vector, n int) []bool {
	out := make([]bool, n)
	for i, ok := range rows {
		if ok {
			for j := v.from[i]; j < v.to[i]; j++ {
				out[j] = true
			}
		}
	}
	return out
}
