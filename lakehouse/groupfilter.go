package lakehouse

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/lakehouse/format"
	"leat/lakehouse/spec"
)

// groupFilter leaves out the stripes and row groups of a file in which no row
// meets all conditions, by the statistics that lie in the file.
type groupFilter struct{ conds []groupCondition }

// groupCondition is a condition on a column of the file, which encodes bounds
// as those of the condition's values are.
type groupCondition struct {
	*condition
	schema *columnar.Schema
	rows   *spec.RowEncoder
}

// newGroupFilter makes the filter of a file with the columns have; nil if no
// condition is on one of them as it is now.
func newGroupFilter(conds []condition, have []columnar.Field) (format.Filter, error) {
	var f groupFilter
	for i := range conds {
		c := &conds[i]
		at := slices.IndexFunc(have, func(h columnar.Field) bool { return h.ID == c.field.ID })
		if at < 0 || have[at].Type.IsNested() || !have[at].Type.EqualIgnoreNull(c.field.Type) {
			continue
		}
		schema := &columnar.Schema{Fields: []columnar.Field{have[at]}}
		rows, err := spec.NewRowEncoder(schema, []int{0})
		if err != nil {
			return nil, fmt.Errorf("comparing column %s: %w", have[at].Name, err)
		}
		f.conds = append(f.conds, groupCondition{condition: c, schema: schema, rows: rows})
	}
	if len(f.conds) == 0 {
		return nil, nil
	}
	return &f, nil
}

// MayMatch reports whether one of rows rows can meet all conditions.
func (f *groupFilter) MayMatch(rows int64, stats func(columnar.Field) (format.ColumnStats, bool)) bool {
	for i := range f.conds {
		c := &f.conds[i]
		s, ok := stats(c.schema.Fields[0])
		if !ok {
			continue
		}
		bounds := spec.SimpleStats{NullCounts: []*int64{&s.Nulls}}
		if s.MinMax != nil {
			b := columnar.NewBatch(c.schema, nil, []arrow.Array{s.MinMax}, s.MinMax.Len())
			bounds.Min, bounds.Max = c.rows.Encode(b, 0).Clone(), c.rows.Encode(b, 1).Clone()
			b.Release()
		}
		if !c.mayMatch(&bounds, 0, c.schema.Fields[0].Type, rows) {
			return false
		}
	}
	return true
}
