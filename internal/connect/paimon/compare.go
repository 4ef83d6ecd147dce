package paimon

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/configs"
	"leat/internal/columnar"
	"leat/lakehouse"
	"leat/lakehouse/mergetree"
)

// A table whose changelog is its input gets each change of a row once, and as
// what it is. Rows of a source that is read again are compared with those of the
// table, which is committed up to there: only what differs is written. A table
// that loses all of its rows gets their deletes in place of an overwrite, which
// changelogs do not show.

// tellsInput reports whether the changelog of the table is what is written to it.
func (s *sink) tellsInput() bool {
	v := s.spec.Table.Options
	return configs.ChangelogProducer.Get(v) == "input" && configs.MergeEngine.Get(v) == "deduplicate" && len(s.table.Schema.PrimaryKeys) > 0
}

// comparer finds the rows of a table that others take the place of.
type comparer struct {
	table *lakehouse.Table
	keys  []int // the columns of the key
	codec *mergetree.KeyCodec
	first *mergetree.KeyCodec // of the first of them
	// rows wait for company: each look at the table may read much of it.
	rows *picked
}

// comparedAtOnce is how many rows are compared with one look at the table.
const comparedAtOnce = 1 << 18

// collect takes b over, and reports whether it is time to compare.
func (c *comparer) collect(b *columnar.Batch) (full bool, err error) {
	defer b.Release()
	if c.rows == nil {
		c.rows = &picked{schema: b.Schema}
	}
	err = c.rows.add(b, upTo(b.Rows()))
	return c.rows.rows >= comparedAtOnce, err
}

// close drops what was collected.
func (c *comparer) close() {
	if c.rows != nil {
		c.rows.release()
		c.rows = nil
	}
}

// upTo gives the numbers below n.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// newComparer makes one of batches with the columns of schema.
func newComparer(t *lakehouse.Table, schema *columnar.Schema) (*comparer, error) {
	c := &comparer{table: t}
	var types []columnar.DataType
	for _, name := range t.Schema.PrimaryKeys {
		i := slices.IndexFunc(schema.Fields, func(f columnar.Field) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("comparing rows of %s: they lack column %s of the key", t.Path, name)
		}
		c.keys, types = append(c.keys, i), append(types, schema.Fields[i].Type)
	}
	var err error
	if c.codec, err = mergetree.NewKeyCodec(types); err == nil {
		c.first, err = mergetree.NewKeyCodec(types[:1])
	}
	if err != nil {
		return nil, fmt.Errorf("comparing rows of %s: %w", t.Path, err)
	}
	return c, nil
}

// differences gives what the table lacks of the rows that were collected: its rows
// that others replace, as -U, then those that are new or replace them. nil is nothing.
func (c *comparer) differences(ctx context.Context) (out []*columnar.Batch, err error) {
	if c.rows == nil || c.rows.rows == 0 {
		return nil, nil
	}
	b, err := c.rows.batch(nil)
	c.close()
	if err != nil {
		return nil, err
	}
	defer b.Release()
	at := make(map[string]int, b.Rows())
	c.codec.Bind(columns(b, c.keys))
	var key []byte
	for i := range b.Rows() {
		key = c.codec.Append(key[:0], i)
		at[string(key)] = i
	}
	kinds := make([]columnar.RowKind, b.Rows())
	same := make([]bool, b.Rows())
	olds := &picked{schema: b.Schema}
	defer olds.release()
	o := lakehouse.ScanOptions{Columns: b.Schema.Names(), Where: c.around(b), Today: true}
	err = c.table.Scan(ctx, o, func(old *columnar.Batch) error {
		var rows []int
		c.codec.Bind(columns(old, c.keys))
		for j := range old.Rows() {
			key = c.codec.Append(key[:0], j)
			i, there := at[string(key)]
			if !there {
				continue
			}
			kinds[i] = columnar.UpdateAfter
			if same[i] = equalRows(b, i, old, j); !same[i] {
				rows = append(rows, j)
			}
		}
		return olds.add(old, rows)
	})
	if err != nil {
		return nil, err
	}
	if n := olds.rows; n > 0 {
		batch, err := olds.batch(slices.Repeat([]columnar.RowKind{columnar.UpdateBefore}, n))
		if err != nil {
			return nil, err
		}
		out = append(out, batch)
	}
	news := &picked{schema: b.Schema}
	defer news.release()
	var rows []int
	var kept []columnar.RowKind
	for i := range b.Rows() {
		if !same[i] {
			rows, kept = append(rows, i), append(kept, kinds[i])
		}
	}
	if err = news.add(b, rows); err == nil && len(rows) > 0 {
		var batch *columnar.Batch
		if batch, err = news.batch(kept); err == nil {
			out = append(out, batch)
		}
	}
	return out, err
}

// around are conditions that the keys of b meet.
func (c *comparer) around(b *columnar.Batch) []lakehouse.Condition {
	col := b.Cols[c.keys[0]]
	c.first.Bind([]arrow.Array{col})
	var low, high []byte
	var lowAt, highAt int
	for i := range b.Rows() {
		k := c.first.Append(nil, i)
		if i == 0 || string(k) < string(low) {
			low, lowAt = k, i
		}
		if i == 0 || string(k) > string(high) {
			high, highAt = k, i
		}
	}
	name := b.Schema.Fields[c.keys[0]].Name
	one := func(i int) arrow.Array { return array.NewSlice(col, int64(i), int64(i+1)) }
	return []lakehouse.Condition{{Column: name, Op: lakehouse.GreaterOrEqual, Values: one(lowAt)}, {Column: name, Op: lakehouse.LessOrEqual, Values: one(highAt)}}
}

func columns(b *columnar.Batch, at []int) []arrow.Array {
	out := make([]arrow.Array, len(at))
	for i, c := range at {
		out[i] = b.Cols[c]
	}
	return out
}

func equalRows(a *columnar.Batch, i int, b *columnar.Batch, j int) bool {
	for c := range a.Cols {
		if !array.SliceEqual(a.Cols[c], int64(i), int64(i+1), b.Cols[c], int64(j), int64(j+1)) {
			return false
		}
	}
	return true
}

// picked collects single rows of batches.
type picked struct {
	schema *columnar.Schema
	parts  [][]arrow.Array // by column
	rows   int
}

// add takes rows of b, in order; what it keeps holds the memory of b.
func (p *picked) add(b *columnar.Batch, rows []int) error {
	if len(rows) == 0 {
		return nil
	}
	if p.parts == nil {
		p.parts = make([][]arrow.Array, len(b.Cols))
	}
	for c, col := range b.Cols {
		parts := make([]arrow.Array, 0, len(rows))
		for from := 0; from < len(rows); {
			to := from + 1
			for to < len(rows) && rows[to] == rows[to-1]+1 {
				to++
			}
			parts = append(parts, array.NewSlice(col, int64(rows[from]), int64(rows[to-1]+1)))
			from = to
		}
		joined, err := array.Concatenate(parts, memory.DefaultAllocator)
		for _, a := range parts {
			a.Release()
		}
		if err != nil {
			return fmt.Errorf("collecting rows: %w", err)
		}
		p.parts[c] = append(p.parts[c], joined)
	}
	p.rows += len(rows)
	return nil
}

// batch gives what was collected.
func (p *picked) batch(kinds []columnar.RowKind) (*columnar.Batch, error) {
	cols := make([]arrow.Array, len(p.parts))
	for c, parts := range p.parts {
		joined, err := array.Concatenate(parts, memory.DefaultAllocator)
		if err != nil {
			return nil, fmt.Errorf("collecting rows: %w", err)
		}
		cols[c] = joined
	}
	return columnar.NewBatch(p.schema, kinds, cols, p.rows), nil
}

func (p *picked) release() {
	for _, parts := range p.parts {
		for _, a := range parts {
			a.Release()
		}
	}
}

// deleteAll writes deletes of all rows that the table has.
func (w *writer) deleteAll(ctx context.Context) error {
	return w.sink.table.Scan(ctx, lakehouse.ScanOptions{Today: true}, func(b *columnar.Batch) error {
		gone := &picked{schema: b.Schema}
		defer gone.release()
		if err := gone.add(b, upTo(b.Rows())); err != nil || gone.rows == 0 {
			return err
		}
		batch, err := gone.batch(slices.Repeat([]columnar.RowKind{columnar.Delete}, gone.rows))
		if err != nil {
			return err
		}
		return w.w.Write(ctx, batch)
	})
}
