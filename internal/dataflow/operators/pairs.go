package operators

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// isPair reports whether rows i and i+1 are the two images of one update.
func isPair(kinds []columnar.RowKind, i int) bool {
	return kinds[i] == columnar.UpdateBefore && i+1 < len(kinds) && kinds[i+1] == columnar.UpdateAfter
}

// picker chooses rows of a change stream. Its slices are used again by the next batch.
type picker struct {
	rows  []int32
	kinds []columnar.RowKind
	// inserts says that all rows are +I and kinds is not used.
	inserts bool
}

// choose keeps the rows that sel accepts and reports whether that changes
// anything. Of an update whose images differ in it, -D is left where only the
// old image is accepted, +I where only the new one is. A +U without its -U, as
// upsert sinks get it, becomes -D where it is not accepted: an earlier version
// may have been.
func (p *picker) choose(kinds []columnar.RowKind, sel []bool) bool {
	p.rows, p.kinds, p.inserts = p.rows[:0], p.kinds[:0], kinds == nil
	if kinds == nil {
		for i, ok := range sel {
			if ok {
				p.rows = append(p.rows, int32(i))
			}
		}
		return len(p.rows) != len(sel)
	}
	changed := false
	keep := func(i int, k columnar.RowKind) {
		p.rows = append(p.rows, int32(i))
		p.kinds = append(p.kinds, k)
		changed = changed || k != kinds[i]
	}
	for i := 0; i < len(sel); i++ {
		switch {
		case isPair(kinds, i):
			before, after := sel[i], sel[i+1]
			switch {
			case before && after:
				keep(i, columnar.UpdateBefore)
				keep(i+1, columnar.UpdateAfter)
			case before:
				keep(i, columnar.Delete)
			case after:
				keep(i+1, columnar.Insert)
			}
			i++
		case sel[i]:
			keep(i, kinds[i])
		case kinds[i] == columnar.UpdateAfter:
			keep(i, columnar.Delete)
		}
	}
	return changed || len(p.rows) != len(sel)
}

// takeKinds gives the kinds of the chosen rows as a slice of their own; nil if all are +I.
func (p *picker) takeKinds() []columnar.RowKind {
	if p.inserts {
		return nil
	}
	return slices.Clone(p.kinds)
}

// splitKeys turns updates that change a key column into -D and +I. kinds is not
// changed; without such an update it is given back.
func splitKeys(kinds []columnar.RowKind, cols []arrow.Array, key []int) []columnar.RowKind {
	if kinds == nil || len(key) == 0 {
		return kinds
	}
	split := kinds
	for _, col := range key {
		differs := differ(cols[col])
		for i := 0; i+1 < len(kinds); i++ {
			if !isPair(kinds, i) {
				continue
			}
			if split[i] == columnar.UpdateBefore && differs(i) {
				if &split[0] == &kinds[0] {
					split = slices.Clone(kinds)
				}
				split[i], split[i+1] = columnar.Delete, columnar.Insert
			}
			i++
		}
	}
	return split
}

// differ gives a test whether rows i and i+1 of a hold different values. NULL equals NULL.
func differ(a arrow.Array) func(i int) bool {
	var values func(i int) bool
	switch v := a.(type) {
	case *array.Boolean:
		values = func(i int) bool { return v.Value(i) != v.Value(i+1) }
	case *array.Int8:
		values = neighbours(v.Int8Values())
	case *array.Int16:
		values = neighbours(v.Int16Values())
	case *array.Int32:
		values = neighbours(v.Int32Values())
	case *array.Int64:
		values = neighbours(v.Int64Values())
	case *array.Date32:
		values = neighbours(v.Date32Values())
	case *array.Time32:
		values = neighbours(v.Time32Values())
	case *array.Timestamp:
		values = neighbours(v.TimestampValues())
	case *array.Decimal128:
		values = neighbours[decimal128.Num](v.Values())
	case *array.String:
		values = func(i int) bool { return v.Value(i) != v.Value(i+1) }
	case *array.Binary:
		values = func(i int) bool { return v.ValueString(i) != v.ValueString(i+1) }
	default:
		values = func(i int) bool { return !array.SliceEqual(a, int64(i), int64(i+1), a, int64(i+1), int64(i+2)) }
	}
	if a.NullN() == 0 {
		return values
	}
	return func(i int) bool {
		if a.IsNull(i) || a.IsNull(i+1) {
			return a.IsNull(i) != a.IsNull(i+1)
		}
		return values(i)
	}
}

func neighbours[T comparable](v []T) func(i int) bool {
	return func(i int) bool { return v[i] != v[i+1] }
}
