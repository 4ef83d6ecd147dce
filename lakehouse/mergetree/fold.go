package mergetree

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
)

// folder turns groups of rows into one row a group, column by column: decide
// says once per row what it does, then each column folds all groups in one
// typed loop. A group of one row stays as it is, retractions too.
type folder struct {
	engine  *Engine
	columns *columnar.Schema
	cols    []columnFold
	orders  []*rowOrder
	nulls   []arrow.Array
	// acts[0] are the acts of rows upon columns without group, acts[1+i] those of group i.
	acts [][]uint8
	out  chunk
	// kept are the groups of out, in order.
	kept groupSet
}

// columnFold folds one column. bind gets the arrays of all batches and behind
// them one with a null.
type columnFold interface {
	bind(arrs []arrow.Array)
	fold(g *groupSet, acts []uint8) (arrow.Array, error)
}

func newFolder(e *Engine, columns *columnar.Schema, keep bool) (*folder, error) {
	f := &folder{engine: e, columns: columns, acts: make([][]uint8, 1+len(e.groups))}
	for i, c := range columns.Fields {
		col, err := newColumnFold(c, e.rules[i], keep)
		if err != nil {
			return nil, err
		}
		f.cols = append(f.cols, col)
		f.nulls = append(f.nulls, nullRow(c.Type))
	}
	for _, g := range e.groups {
		o, err := newRowOrder(columns, g, false)
		if err != nil {
			return nil, err
		}
		f.orders = append(f.orders, o)
	}
	return f, nil
}

// bind takes the arrays of column i in every batch.
func (f *folder) bind(i int, arrs []arrow.Array) {
	all := append(append(make([]arrow.Array, 0, len(arrs)+1), arrs...), f.nulls[i])
	f.cols[i].bind(all)
	for _, o := range f.orders {
		o.bind(i, arrs)
	}
}

// fold gives the row of each group; those that end as deleted are left out with
// dropDelete. rows, if not nil, gets the row in the chunk of each group, -1 for none.
func (f *folder) fold(g *groupSet, dropDelete bool, rows []int32) (*chunk, error) {
	f.decide(g)
	c, k := &f.out, &f.kept
	c.kinds, c.seq = c.kinds[:0], c.seq[:0]
	k.refs, k.seq, k.kinds = g.refs, g.seq, g.kinds
	k.from, k.to = k.from[:0], k.to[:0]
	for i := range g.from {
		kind, ok := f.kindOf(g, i)
		if !ok || dropDelete && columnar.RowKind(kind).Retracts() {
			if rows != nil {
				rows[i] = -1
			}
			continue
		}
		if rows != nil {
			rows[i] = int32(len(k.from))
		}
		k.from, k.to = append(k.from, g.from[i]), append(k.to, g.to[i])
		c.kinds = append(c.kinds, kind)
		c.seq = append(c.seq, f.seqOf(g, i))
	}
	c.rows, c.values = len(k.from), c.values[:0]
	for i, col := range f.cols {
		a, err := col.fold(k, f.acts[1+f.engine.track[i]])
		if err != nil {
			return nil, fmt.Errorf("merging column %s: %w", f.columns.Fields[i].Name, err)
		}
		c.values = append(c.values, a)
	}
	return c, nil
}

func (f *folder) seqOf(g *groupSet, i int) int64 {
	if f.engine.spec.Kind == FirstRow {
		return g.seq[g.from[i]]
	}
	return g.seq[g.to[i]-1]
}

// kindOf gives the kind of the row of group i; ok is false if nothing comes of it.
func (f *folder) kindOf(g *groupSet, i int) (kind int8, ok bool) {
	a, b := g.from[i], g.to[i]
	last := g.kinds[b-1]
	if b-a == 1 {
		return last, true
	}
	switch f.engine.spec.Kind {
	case FirstRow:
		return g.kinds[a], true
	case Aggregation:
		if f.acts[0][b-1] == actClear {
			return int8(columnar.Delete), true
		}
	case PartialUpdate:
		if f.acts[0][b-1] == actClear {
			return int8(columnar.Delete), true
		}
		for r := a; r < b; r++ {
			if !columnar.RowKind(g.kinds[r]).Retracts() {
				return int8(columnar.Insert), true
			}
		}
		return int8(columnar.Delete), true
	default:
		return last, true
	}
	return int8(columnar.Insert), true
}

// decide fills acts for all rows of g.
func (f *folder) decide(g *groupSet) {
	for t := range f.acts {
		f.acts[t] = scratch(&f.acts[t], len(g.refs), false)
	}
	s := f.engine.spec
	for i := range g.from {
		if g.to[i]-g.from[i] == 1 {
			continue
		}
		switch {
		case s.Kind == PartialUpdate:
			f.decidePartial(g, g.from[i], g.to[i])
		case s.Kind == Aggregation:
			for r := g.from[i]; r < g.to[i]; r++ {
				f.acts[0][r] = actOf(columnar.RowKind(g.kinds[r]), s.RemoveOnDelete)
			}
		default:
			for r := g.from[i]; r < g.to[i]; r++ {
				f.acts[0][r] = actAdd
			}
		}
	}
}

func actOf(k columnar.RowKind, remove bool) uint8 {
	switch {
	case !k.Retracts():
		return actAdd
	case remove && k == columnar.Delete:
		return actClear
	default:
		return actRetract
	}
}

// decidePartial is partial-update: each sequence group accepts a row whose
// fields are not all null and not below those of the last row it accepted.
func (f *folder) decidePartial(g *groupSet, from, to int32) {
	s := f.engine.spec
	var stored [16]rowRef
	at := stored[:0]
	for range f.orders {
		at = append(at, rowRef{batch: noRow})
	}
	for r := from; r < to; r++ {
		kind := columnar.RowKind(g.kinds[r])
		free := actOf(kind, s.RemoveOnDelete && len(s.Groups) == 0)
		if free == actRetract {
			free = actSkip
		}
		for i, o := range f.orders {
			act := groupAct(o, g.refs[r], at[i], kind.Retracts())
			f.acts[1+i][r] = act
			if act != actAdd && act != actRetract {
				continue
			}
			if kind == columnar.Delete && s.Groups[i].RemoveOnDelete {
				free = actClear
			}
			at[i] = g.refs[r]
		}
		f.acts[0][r] = free
		if free != actClear {
			continue
		}
		for i := range f.orders {
			f.acts[1+i][r], at[i] = actClear, rowRef{batch: noRow}
		}
	}
}

// groupAct says what a row does to the columns of a group that last accepted the row stored.
func groupAct(o *rowOrder, row, stored rowRef, retracts bool) uint8 {
	if o == nil || o.empty(row) {
		return actSkip
	}
	accepted := stored.batch == noRow || o.compare(row, stored) >= 0
	switch {
	case accepted && retracts:
		return actRetract
	case accepted:
		return actAdd
	case retracts:
		return actRetractOld
	default:
		return actOlder
	}
}
