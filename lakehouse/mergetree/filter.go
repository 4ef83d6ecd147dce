package mergetree

import (
	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
)

// Filter leaves rows out of batches whose columns have its types.
type Filter struct {
	cols []gatherer
	refs []rowRef
}

// NewFilter makes the filter of rows of these columns.
func NewFilter(columns []columnar.Field) (*Filter, error) {
	f := &Filter{}
	for _, c := range columns {
		g, err := newGatherer(c.Type, true)
		if err != nil {
			return nil, err
		}
		f.cols = append(f.cols, g)
	}
	return f, nil
}

// Keep gives the rows at keep, which rises, and takes over r, whose first row
// stands at first in its file.
func (f *Filter) Keep(r *Rows, keep []uint32, first int64) *Rows {
	f.refs = f.refs[:0]
	out := &Rows{Seq: make([]int64, len(keep)), Kinds: make([]int8, len(keep)), Positions: make([]int64, len(keep))}
	for i, k := range keep {
		f.refs = append(f.refs, rowRef{row: k})
		out.Seq[i], out.Kinds[i], out.Positions[i] = r.Seq[k], r.Kinds[k], first+int64(k)
		if r.Positions != nil {
			out.Positions[i] = r.Positions[k]
		}
	}
	for i, g := range f.cols {
		g.bind([]arrow.Array{r.Values[i]})
		out.Values = append(out.Values, g.gather(f.refs))
	}
	r.Release()
	return out
}
