package query

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// listOf is the type of a column of $binlog.
func listOf(t columnar.DataType) columnar.DataType {
	t.Nullable = true
	return columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &t}
}

// packer makes the rows of $binlog: every value in an ARRAY, the rows before and
// after an update in one row of kind +U with two values each. Where states are
// read in place of changes nothing is joined.
type packer struct {
	join bool
	// open is the row before an update whose other half the next batch brings.
	open   []arrow.Array
	isOpen bool
	each   func(kinds []columnar.RowKind, lists []arrow.Array, rows int) error
}

// add takes the rows of a batch.
func (p *packer) add(cols []arrow.Array, kinds []columnar.RowKind, rows int) error {
	if rows == 0 {
		return nil
	}
	all := make([]columnar.RowKind, 0, rows+1)
	if p.isOpen {
		joined := make([]arrow.Array, len(cols))
		for i := range cols {
			a, err := array.Concatenate([]arrow.Array{p.open[i], cols[i]}, memory.DefaultAllocator)
			if err != nil {
				release(joined[:i])
				return fmt.Errorf("joining the halves of an update: %w", err)
			}
			joined[i] = a
		}
		defer release(joined)
		all = append(all, columnar.UpdateBefore)
		cols = joined
		p.drop()
	}
	for i := range rows {
		k := columnar.Insert
		if kinds != nil {
			k = kinds[i]
		}
		all = append(all, k)
	}
	n := len(all)
	if p.join && opens(all) {
		n--
		for _, c := range cols {
			p.open = append(p.open, array.NewSlice(c, int64(n), int64(n+1)))
		}
		p.isOpen = true
	}
	return p.pack(cols, all[:n])
}

// opens says that the last of these rows is the first half of an update.
func opens(kinds []columnar.RowKind) bool {
	open := false
	for _, k := range kinds {
		open = !open && k == columnar.UpdateBefore
	}
	return open
}

func (p *packer) drop() {
	release(p.open)
	p.open, p.isOpen = nil, false
}

// end gives a first half that stayed alone.
func (p *packer) end() error {
	defer p.drop()
	if !p.isOpen {
		return nil
	}
	return p.pack(p.open, []columnar.RowKind{columnar.UpdateBefore})
}

func (p *packer) pack(cols []arrow.Array, kinds []columnar.RowKind) error {
	if len(kinds) == 0 {
		return nil
	}
	offsets, out := []int32{0}, make([]columnar.RowKind, 0, len(kinds))
	for i := 0; i < len(kinds); i++ {
		k := kinds[i]
		if p.join && k == columnar.UpdateBefore && i+1 < len(kinds) {
			i++
			k = kinds[i]
		}
		offsets, out = append(offsets, int32(i+1)), append(out, k)
	}
	lists := make([]arrow.Array, len(cols))
	for i, c := range cols {
		values := array.NewSlice(c, 0, int64(len(kinds)))
		field := arrow.Field{Name: "element", Type: c.DataType(), Nullable: true}
		data := array.NewData(arrow.ListOfField(field), len(out), []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))}, []arrow.ArrayData{values.Data()}, 0, 0)
		lists[i] = array.NewListData(data)
		data.Release()
		values.Release()
	}
	defer release(lists)
	return p.each(out, lists, len(out))
}

// scanBinlog gives the columns at used of $binlog.
func (s *Source) scanBinlog(ctx context.Context, used []int, each func(cols []arrow.Array, rows int) error) (err error) {
	p := &packer{join: s.changes != nil && !s.changes.Compares(), each: func(kinds []columnar.RowKind, lists []arrow.Array, rows int) error {
		b := columnar.NewBatch(s.Schema, kinds, nil, rows)
		column := kindColumn(b)
		defer column.Release()
		out := make([]arrow.Array, len(used))
		for i, c := range used {
			if out[i] = column; c > 0 {
				out[i] = lists[c-1]
			}
		}
		return each(out, rows)
	}}
	defer p.drop()
	add := func(b *columnar.Batch) error { return p.add(b.Cols, b.Kinds, b.Rows()) }
	switch {
	case s.changes != nil:
		err = s.readChanges(ctx, add)
	case s.Snapshot != nil:
		err = s.table.Scan(ctx, s.opt, add)
	}
	if err != nil {
		return err
	}
	return p.end()
}
