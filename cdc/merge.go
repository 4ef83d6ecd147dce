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
	// row with its last state, -1 for a row that was deleted or has left.
	state map[string]int
	// follow are kept rows of a table without key that leave as they are.
	follow []piece
	// changes are the kept rows, from the first use on.
	changes *columnar.Batch
	buf     []byte
}

// piece is the rows from..to-1 of the chunk as it was read, or of what was kept.
type piece struct {
	kept     bool
	from, to int
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
			m.follow = appendPiece(m.follow, piece{true, sp.from, sp.to})
		}
	}
}

// rows adds the rows of b to the batches: those whose key has another state
// leave in that state, in their place, so that a chunk keeps the order of its key.
func (m *merge) rows(to []*columnar.Batch, b *mysqlrow.Builder) ([]*columnar.Batch, error) {
	var keep []piece
	from := 0
	if len(m.state) > 0 {
		for i := range b.Len() {
			m.buf = b.AppendKey(m.buf[:0], i, m.table.key)
			last, touched := m.state[string(m.buf)]
			if !touched {
				continue
			}
			m.state[string(m.buf)] = -1 // it has left, or was deleted
			keep = appendPiece(keep, piece{false, from, i})
			if from = i + 1; last >= 0 {
				keep = appendPiece(keep, piece{true, last, last + 1})
			}
		}
	}
	keep = appendPiece(keep, piece{false, from, b.Len()})
	batch, err := b.Finish(m.table.schema)
	if err != nil {
		return to, err
	}
	defer batch.Release()
	return m.gather(to, batch, keep)
}

// last adds what follows the rows: the states of rows that the view lacks, as
// +I, or the changes of a table without key.
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
		keep = appendPiece(keep, piece{true, i, i + 1})
	}
	to, err := m.gather(to, nil, keep)
	if m.changes != nil {
		m.changes.Release()
		m.changes = nil
	}
	return to, err
}

// appendPiece adds p, joined to the piece before where they touch.
func appendPiece(pieces []piece, p piece) []piece {
	if p.from >= p.to {
		return pieces
	}
	if n := len(pieces); n > 0 && pieces[n-1].kept == p.kept && pieces[n-1].to == p.from {
		pieces[n-1].to = p.to
		return pieces
	}
	return append(pieces, p)
}

// gather adds the given pieces of b and of what was kept as one batch: b itself
// if they are all of it, else a copy. b keeps its reference.
func (m *merge) gather(to []*columnar.Batch, b *columnar.Batch, pieces []piece) ([]*columnar.Batch, error) {
	if len(pieces) == 0 {
		return to, nil
	}
	if p := pieces[0]; len(pieces) == 1 && !p.kept && p.to-p.from == b.Rows() {
		b.Retain()
		return append(to, b), nil
	}
	var err error
	if m.changes == nil && slices.ContainsFunc(pieces, func(p piece) bool { return p.kept }) {
		if m.changes, err = m.kept.Finish(m.table.schema); err != nil {
			return to, err
		}
	}
	rows := 0
	var kinds []columnar.RowKind
	for _, p := range pieces {
		rows += p.to - p.from
		if p.kept && m.state == nil {
			kinds = append(kinds, m.kinds[p.from:p.to]...)
		}
	}
	cols := make([]arrow.Array, len(m.table.schema.Fields))
	parts := make([]arrow.Array, len(pieces))
	for i := range cols {
		for j, p := range pieces {
			from := b
			if p.kept {
				from = m.changes
			}
			parts[j] = array.NewSlice(from.Cols[i], int64(p.from), int64(p.to))
		}
		cols[i], err = array.Concatenate(parts, memory.DefaultAllocator)
		for _, p := range parts {
			p.Release()
		}
		if err != nil {
			return to, fmt.Errorf("joining the rows of a chunk: %w", err)
		}
	}
	return append(to, columnar.NewBatch(m.table.schema, kinds, cols, rows)), nil
}
