package cdc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
)

// sequencer brings the chunks and the row changes of one table into one order.
//
// A row change meets one of three fates, by the chunk key of its row:
//
//	its range was emitted    it flows: it joins the output
//	its range is being read  it is kept beside the chunk
//	its range waits          it is dropped: the chunk will hold what it did
//
// When a chunk is emitted, the changes kept beside it that its view does not
// hold are merged into its rows by key, so that the rows leave as of the current
// edge of the stream and later changes of the range flow. An update that moves a
// row to another key is a delete and an insert, each with its own fate.
//
// It is called at the edges of transactions, except for apply; one goroutine uses it.
type sequencer struct {
	out     *mysqlrow.Builder
	done    rangeSet
	reading []*chunk
	keyed   bool // ranges of the chunk key, not one chunk for all
	// counts of row changes, for tests and progress
	flowed, kept, dropped int64
}

// chunk is a range of keys that is read in one view of the table.
type chunk struct {
	table *table
	keys  keyRange
	// plan is the table version whose columns the reader selects.
	plan *mysqlrow.Plan
	// kept are the row changes since the range was marked; ends tells which
	// transactions they belong to.
	kept  *mysqlrow.Builder
	kinds []columnar.RowKind
	ends  []txnEnd
	// The view holds all of low, and nothing beyond high. Without GTIDs low is
	// nil and high is exact.
	low  *GTIDSet
	high mark
	// rows is what was read.
	rows  []*mysqlrow.Builder
	count int64
	bytes int64
	// again says that the table changed its columns meanwhile.
	again bool
	err   error
}

// txnEnd closes the rows of one transaction in a chunk's kept rows.
type txnEnd struct {
	rows   int
	id     gtid
	file   string
	offset uint64
}

// batchRows is the row count at which batches close.
const batchRows = 8192

// complete reports whether nothing is outstanding.
func (s *sequencer) complete() bool { return s.done.all }

// begin marks the range of c: from now on its row changes are kept.
func (s *sequencer) begin(c *chunk) {
	c.kept, c.kinds, c.ends = mysqlrow.NewBuilder(c.plan, 64), nil, nil
	c.rows, c.low, c.count, c.bytes, c.again, c.err = nil, nil, 0, 0, false, nil
	s.reading = append(s.reading, c)
}

// drop forgets c, whose range waits again.
func (s *sequencer) drop(c *chunk) {
	for i, x := range s.reading {
		if x == c {
			s.reading = append(s.reading[:i], s.reading[i+1:]...)
			return
		}
	}
}

// apply takes the rows of one event.
func (s *sequencer) apply(l *mysqlrow.Layout, r mysqlrow.Rows) error {
	if s.done.all {
		return s.out.AppendRows(l, r)
	}
	return l.ForEach(r, func(before, after []byte) error {
		switch {
		case before == nil:
			return s.one(l, columnar.Insert, after)
		case after == nil:
			return s.one(l, columnar.Delete, before)
		}
		same, err := s.sameRange(l, before, after)
		if err != nil {
			return err
		}
		if !same {
			if err := s.one(l, columnar.Delete, before); err != nil {
				return err
			}
			return s.one(l, columnar.Insert, after)
		}
		if err := s.one(l, columnar.UpdateBefore, before); err != nil {
			return err
		}
		return s.one(l, columnar.UpdateAfter, after)
	})
}

// sameRange reports whether an update keeps key and chunk key.
func (s *sequencer) sameRange(l *mysqlrow.Layout, before, after []byte) (bool, error) {
	if !l.SameKey(before, after) {
		return false, nil
	}
	if !s.keyed {
		return true, nil
	}
	a, err := l.KeyOf(before)
	if err != nil {
		return false, err
	}
	b, err := l.KeyOf(after)
	return a == b, err
}

// one sends a row change where its range says.
func (s *sequencer) one(l *mysqlrow.Layout, kind columnar.RowKind, image []byte) error {
	to, flows, err := s.fate(l, image)
	switch {
	case err != nil:
	case flows:
		s.flowed++
		_, err = s.out.AppendImage(l, kind, image)
	case to != nil:
		s.kept++
		if _, err = to.kept.AppendImage(l, kind, image); err == nil {
			to.kinds = append(to.kinds, kind)
		}
	default:
		s.dropped++
	}
	return err
}

// fate says whether a row change flows, or else which chunk keeps it, nil for none.
func (s *sequencer) fate(l *mysqlrow.Layout, image []byte) (to *chunk, flows bool, err error) {
	if !s.keyed {
		if len(s.reading) > 0 {
			return s.reading[0], false, nil
		}
		return nil, false, nil
	}
	k, err := l.KeyOf(image)
	if err != nil {
		return nil, false, err
	}
	if s.done.has(k) {
		return nil, true, nil
	}
	for _, c := range s.reading {
		if k >= c.keys.lo && k <= c.keys.hi {
			return c, false, nil
		}
	}
	return nil, false, nil
}

// commit closes a transaction in the kept rows.
func (s *sequencer) commit(id gtid, file string, offset uint64) {
	for _, c := range s.reading {
		n := c.kept.Len()
		if len(c.ends) == 0 && n > 0 || len(c.ends) > 0 && n > c.ends[len(c.ends)-1].rows {
			c.ends = append(c.ends, txnEnd{n, id, file, offset})
		}
	}
}

// span is a run of kept rows, from included, to not; seen says that the view
// holds their transactions for sure.
type span struct {
	from, to int
	seen     bool
}

// spans splits the kept rows by whether the view holds them. any says that there
// are rows it may not hold; sure that it holds none of those.
func (c *chunk) spans() (out []span, any, sure bool) {
	from := 0
	sure = true
	for _, e := range c.ends {
		beyond := c.high.compare(e.file, e.offset) > 0
		seen := !beyond
		if c.low != nil {
			seen = c.low.Has(e.id)
		}
		any = any || !seen
		sure = sure && (seen || beyond)
		out = append(out, span{from, e.rows, seen})
		from = e.rows
	}
	return out, any, sure
}

// errReadAgain says that a chunk cannot be merged and is to be read again.
var errReadAgain = errors.New("the chunk has to be read again")

// finish merges the kept changes of c into its rows and gives the batches to
// emit. From now on the range flows. errReadAgain leaves c marked.
func (s *sequencer) finish(c *chunk) ([]*columnar.Batch, error) {
	spans, any, sure := c.spans()
	var batches []*columnar.Batch
	var err error
	switch {
	case c.again:
		return nil, errReadAgain
	case !any:
		batches, err = c.plain()
	case len(c.table.key) > 0:
		batches, err = c.merged(spans)
	case !sure:
		// Without a key nobody can tell which rows such a change touched.
		return nil, errReadAgain
	default:
		if batches, err = c.plain(); err == nil {
			var tail []*columnar.Batch
			tail, err = c.changes(spans)
			batches = append(batches, tail...)
		}
	}
	if err != nil {
		return nil, err
	}
	s.drop(c)
	if s.keyed {
		s.done.add(c.keys)
	} else {
		s.done = rangeSet{all: true}
	}
	return batches, nil
}

// plain gives the rows as they were read.
func (c *chunk) plain() ([]*columnar.Batch, error) {
	out := make([]*columnar.Batch, 0, len(c.rows))
	for _, b := range c.rows {
		batch, err := b.Finish(c.table.schema)
		if err != nil {
			return nil, err
		}
		out = append(out, batch)
	}
	return out, nil
}

// changes gives the kept changes that the view does not hold, as they are.
func (c *chunk) changes(spans []span) ([]*columnar.Batch, error) {
	var keep [][2]int
	for _, sp := range spans {
		if !sp.seen {
			keep = appendSpan(keep, sp.from, sp.to)
		}
	}
	kept, err := c.kept.Finish(c.table.schema)
	if err != nil {
		return nil, err
	}
	defer kept.Release()
	return gather(kept, keep)
}

// lastStates gives, for each key whose last change the view may not hold, the
// kept row with its last state, -1 for a deleted row. Earlier changes of the key
// do not matter: each sets it to one value.
func (c *chunk) lastStates(spans []span) map[string]int {
	last := map[string]int{}
	var buf []byte
	for _, sp := range spans {
		for i := sp.from; i < sp.to; i++ {
			buf = c.kept.AppendKey(buf[:0], i, c.table.key)
			switch {
			case sp.seen:
				delete(last, string(buf))
			case c.kinds[i].Retracts():
				last[string(buf)] = -1
			default:
				last[string(buf)] = i
			}
		}
	}
	return last
}

// merged gives the rows of the chunk with the kept changes applied by key.
func (c *chunk) merged(spans []span) ([]*columnar.Batch, error) {
	last := c.lastStates(spans)
	var buf []byte
	var out []*columnar.Batch
	for _, b := range c.rows {
		var keep [][2]int
		from := 0
		for i := range b.Len() {
			buf = b.AppendKey(buf[:0], i, c.table.key)
			if _, touched := last[string(buf)]; touched {
				keep = appendSpan(keep, from, i)
				from = i + 1
			}
		}
		keep = appendSpan(keep, from, b.Len())
		batch, err := b.Finish(c.table.schema)
		if err != nil {
			return nil, err
		}
		parts, err := gather(batch, keep)
		batch.Release()
		if err != nil {
			return nil, err
		}
		out = append(out, parts...)
	}
	parts, err := c.states(last)
	return append(out, parts...), err
}

// states gives the rows of lastStates as +I.
func (c *chunk) states(last map[string]int) ([]*columnar.Batch, error) {
	rows := make([]int, 0, len(last))
	for _, i := range last {
		if i >= 0 {
			rows = append(rows, i)
		}
	}
	slices.Sort(rows)
	var keep [][2]int
	for _, i := range rows {
		keep = appendSpan(keep, i, i+1)
	}
	kept, err := c.kept.Finish(c.table.schema)
	if err != nil {
		return nil, err
	}
	defer kept.Release()
	kept.Kinds = nil
	return gather(kept, keep)
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

// gather copies the given spans of b into one batch, or gives b itself if they
// are all of it. b keeps its reference.
func gather(b *columnar.Batch, spans [][2]int) ([]*columnar.Batch, error) {
	if len(spans) == 0 {
		return nil, nil
	}
	if len(spans) == 1 && spans[0] == [2]int{0, b.Rows()} {
		b.Retain()
		return []*columnar.Batch{b}, nil
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
			return nil, fmt.Errorf("joining the rows of a chunk: %w", err)
		}
		cols[i] = joined
	}
	return []*columnar.Batch{columnar.NewBatch(b.Schema, kinds, cols, rows)}, nil
}
