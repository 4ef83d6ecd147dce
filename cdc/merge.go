package cdc

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
)

// merge applies kept changes to the rows of a chunk as they leave.
type merge struct {
	table *table
	kept  *mysqlrow.Builder
	kinds []columnar.RowKind
	// state gives, for each key whose last change the view may not hold, the kept
	// row with its last state, -1 for a deleted row.
	state map[string]int
	// follow are kept rows of a table without key that leave as they are.
	follow [][2]int
	buf    []byte
}

// keyed finds the last state of each key. Earlier changes of a key do not
// matter, seen or not: each sets it to one value.
func (m *merge) keyed(spans []span) {
	m.state = map[string]int{}
	for _, sp := range spans {
		for i := sp.from; i < sp.to; i++ {
			m.buf = m.kept.AppendKey(m.buf[:0], i, m.table.key)
			switch {
			case sp.seen:
				delete(m.state, string(m.buf))
			case m.kinds[i].Retracts():
				m.state[string(m.buf)] = -1
			default:
				m.state[string(m.buf)] = i
			}
		}
	}
}

// keyless takes the changes beyond the view as they are.
func (m *merge) keyless(spans []span) {
	for _, sp := range spans {
		if !sp.seen {
			m.follow = appendSpan(m.follow, sp.from, sp.to)
		}
	}
}

// rows adds the rows of b to the batches, without those whose key has another state.
func (m *merge) rows(to []*columnar.Batch, b *mysqlrow.Builder) ([]*columnar.Batch, error) {
	var keep [][2]int
	from := 0
	if len(m.state) > 0 {
		for i := range b.Len() {
			m.buf = b.AppendKey(m.buf[:0], i, m.table.key)
			if _, touched := m.state[string(m.buf)]; touched {
				keep = appendSpan(keep, from, i)
				from = i + 1
			}
		}
	}
	keep = appendSpan(keep, from, b.Len())
	batch, err := b.Finish(m.table.schema)
	if err != nil {
		return to, err
	}
	defer batch.Release()
	return gather(to, batch, keep)
}

// last adds what follows the rows: the last states, as +I, or the changes of a
// table without key.
func (m *merge) last(to []*columnar.Batch) ([]*columnar.Batch, error) {
	keep := m.follow
	rows := make([]int, 0, len(m.state))
	for _, i := range m.state {
		if i >= 0 {
			rows = append(rows, i)
		}
	}
	slices.Sort(rows)
	for _, i := range rows {
		keep = appendSpan(keep, i, i+1)
	}
	if len(keep) == 0 {
		return to, nil
	}
	batch, err := m.kept.Finish(m.table.schema)
	if err != nil {
		return to, err
	}
	defer batch.Release()
	if m.state != nil {
		batch.Kinds = nil
	}
	return gather(to, batch, keep)
}

// appendSpan adds the rows from..to-1, joined to the span before where they touch.
func appendSpan(spans [][2]int, from, to int) [][2]int {
	if from >= to {
		return spans
	}
	if n := len(spans); n > 0 && spans[n-1][1] == from {
		spans[n-1][1] = to
		return spans
	}
	return append(spans, [2]int{from, to})
}

// gather adds the given spans of b as one batch: b itself if they are all of
// it, else a copy. b keeps its reference.
func gather(to []*columnar.Batch, b *columnar.Batch, spans [][2]int) ([]*columnar.Batch, error) {
	if len(spans) == 0 {
		return to, nil
	}
	if len(spans) == 1 && spans[0] == [2]int{0, b.Rows()} {
		b.Retain()
		return append(to, b), nil
	}
	rows := 0
	var kinds []columnar.RowKind
	for _, sp := range spans {
		rows += sp[1] - sp[0]
		if b.Kinds != nil {
			kinds = append(kinds, b.Kinds[sp[0]:sp[1]]...)
		}
	}
	cols := make([]arrow.Array, len(b.Cols))
	parts := make([]arrow.Array, len(spans))
	for i, c := range b.Cols {
		for j, sp := range spans {
			parts[j] = array.NewSlice(c, int64(sp[0]), int64(sp[1]))
		}
		joined, err := array.Concatenate(parts, memory.DefaultAllocator)
		for _, p := range parts {
			p.Release()
		}
		if err != nil {
			return to, fmt.Errorf("joining the rows of a chunk: %w", err)
		}
		cols[i] = joined
	}
	return append(to, columnar.NewBatch(b.Schema, kinds, cols, rows)), nil
}
