package query

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/expr"
)

// values gives the rows of constants as one batch.
func (s *Select) values(each func(*columnar.Batch) error) error {
	width := len(s.Columns.Fields)
	rows := make([][]arrow.Array, 0, len(s.Values))
	defer func() {
		for _, r := range rows {
			release(r)
		}
	}()
	for _, v := range s.Values {
		p, err := expr.Compile(v, s.Env)
		if err != nil {
			return err
		}
		r, err := p.Eval(memory.DefaultAllocator, nil, 1)
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	cols := make([]arrow.Array, width)
	for c := range cols {
		parts := make([]arrow.Array, len(rows))
		for i, r := range rows {
			parts[i] = r[c]
		}
		all, err := array.Concatenate(parts, memory.DefaultAllocator)
		if err != nil {
			return fmt.Errorf("putting values of column %s together: %w", s.Columns.Fields[c].Name, err)
		}
		cols[c] = all
	}
	b := columnar.NewBatch(s.Columns, nil, cols, len(rows))
	defer b.Release()
	return each(b)
}
