package cdc

import (
	"bytes"
	"errors"
	"time"

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
	// keys are the chunk keys of the row at hand.
	keys [2][]byte
	// refresh says that the table is read again: the target has rows of ranges that
	// were not read yet, so that all changes flow, and are kept for chunks besides.
	refresh bool
	// lenient lets old images hold values that cannot be read, see AppendGone.
	lenient bool
	// counts of row changes, for tests and progress
	flowed, kept, dropped int64
}

// chunk is a range of keys that is read in one view of the table.
type chunk struct {
	table *table
	keys  keyRange
	// plan is the table version whose columns the reader selects; cutting is the
	// table's count of changes of its chunk key when the range was cut.
	plan    *mysqlrow.Plan
	cutting int32
	// src is that version.
	src *sourceTable
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
	// bad are rows that could not be read.
	bad []letter
	// size is what the count of rows goes by; single says that it cannot be less.
	size   *chunkSize
	single bool
	// shown is how much of count was reported; tries how often it was read again.
	shown int64
	tries int
	// again says that the table changed its columns meanwhile.
	again bool
	err   error
	// came is when the last of its rows came.
	came time.Time

	// whole is a table, or a value of the chunk key, that cannot be cut: it is
	// emitted while it is read. ended says that all of it is in rows, and started that its emission began, at an
	// edge: merge then holds how kept changes before that edge merge.
	whole   bool
	ended   bool
	started bool
	merge   *merge
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

// firstRows is what a table has room for that nothing was read of: one with many
// rows soon has more, and there may be thousands of tables.
const firstRows = 64

// complete reports whether nothing is outstanding.
func (s *sequencer) complete() bool { return s.done.all }

// waits reports whether no range is emitted, nor being read: all changes are dropped.
func (s *sequencer) waits() bool {
	return !s.done.all && !s.refresh && len(s.reading) == 0 && s.done.edge.Open() && len(s.done.list) == 0
}

// begin marks the range of c: from now on its row changes are kept.
func (s *sequencer) begin(c *chunk) {
	c.kept, c.kinds, c.ends = mysqlrow.NewBuilder(c.plan, firstRows), nil, nil
	c.rows, c.low, c.count, c.bytes, c.again, c.err, c.bad = nil, nil, 0, 0, false, nil, nil
	c.ended, c.started, c.merge, c.shown = false, false, nil, 0
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
	return l.ForEach(r, func(before, after []byte) error { return s.change(l, before, after) })
}

// change takes the change of one row.
func (s *sequencer) change(l *mysqlrow.Layout, before, after []byte) error {
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
}

// put adds an image to a builder.
func (s *sequencer) put(to *mysqlrow.Builder, l *mysqlrow.Layout, kind columnar.RowKind, image []byte) (err error) {
	if s.lenient && kind.Retracts() {
		_, err = to.AppendGone(l, kind, image)
	} else {
		_, err = to.AppendImage(l, kind, image)
	}
	return err
}

// sameRange reports whether an update keeps key and chunk key.
func (s *sequencer) sameRange(l *mysqlrow.Layout, before, after []byte) (bool, error) {
	if !l.SameKey(before, after) {
		return false, nil
	}
	if !s.keyed || s.done.all {
		return true, nil
	}
	for i, image := range [2][]byte{before, after} {
		var err error
		if s.keys[i], err = l.AppendChunkKey(s.keys[i][:0], image); err != nil {
			return false, err
		}
	}
	return bytes.Equal(s.keys[0], s.keys[1]), nil
}

// one sends a row change where its range says.
func (s *sequencer) one(l *mysqlrow.Layout, kind columnar.RowKind, image []byte) error {
	to, flows, err := s.fate(l, image)
	switch {
	case err != nil:
	case flows || s.refresh && to == nil:
		s.flowed++
		err = s.put(s.out, l, kind, image)
	case to != nil:
		if s.refresh {
			s.flowed++
			if err = s.put(s.out, l, kind, image); err != nil {
				return err
			}
		}
		s.kept++
		if err = s.put(to.kept, l, kind, image); err == nil {
			to.kinds = append(to.kinds, kind)
		}
	default:
		s.dropped++
	}
	return err
}

// fate says whether a row change flows, or else which chunk keeps it, nil for none.
func (s *sequencer) fate(l *mysqlrow.Layout, image []byte) (to *chunk, flows bool, err error) {
	if s.done.all {
		return nil, true, nil
	}
	if !s.keyed {
		if len(s.reading) > 0 {
			return s.reading[0], false, nil
		}
		return nil, false, nil
	}
	if s.keys[0], err = l.AppendChunkKey(s.keys[0][:0], image); err != nil {
		return nil, false, err
	}
	if s.done.has(s.keys[0]) {
		return nil, true, nil
	}
	for _, c := range s.reading {
		if c.keys.has(s.keys[0]) {
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

// finish gives the batches of c that are to be emitted now, at an edge, beyond
// its view. done says that they are the last ones; from then on the range flows.
// errReadAgain leaves c marked, and comes before anything was emitted.
func (s *sequencer) finish(c *chunk) (batches []*columnar.Batch, done bool, err error) {
	if !c.started {
		if err := c.start(); err != nil {
			return nil, false, err
		}
	}
	for i, b := range c.rows {
		if batches, err = c.merge.rows(batches, b); err != nil {
			return batches, false, err
		}
		c.rows[i] = nil
	}
	c.rows = c.rows[:0]
	if c.whole && !c.ended {
		return batches, false, nil
	}
	if batches, err = c.merge.last(batches); err == nil {
		batches, err = c.later(batches)
	}
	if err != nil {
		return batches, false, err
	}
	s.drop(c)
	if s.keyed {
		s.done.add(c.keys)
	} else {
		s.done = rangeSet{all: true}
	}
	return batches, true, nil
}

// start fixes the edge as of which the rows of c leave. Changes kept from then
// on follow the rows.
func (c *chunk) start() error {
	spans, any, sure := c.spans()
	switch {
	case c.again:
		return errReadAgain
	case any && len(c.table.key) == 0 && !sure:
		// Without a key nobody can tell which rows such a change touched.
		return errReadAgain
	}
	c.started = true
	c.merge = &merge{table: c.table, kept: c.kept, kinds: c.kinds}
	if len(c.table.key) > 0 {
		c.merge.keyed(spans)
	} else {
		c.merge.keyless(spans)
	}
	c.kept, c.kinds, c.ends = mysqlrow.NewBuilder(c.plan, firstRows), nil, nil
	return nil
}

// later adds the changes that came after start.
func (c *chunk) later(to []*columnar.Batch) ([]*columnar.Batch, error) {
	if c.kept.Len() == 0 {
		return to, nil
	}
	b, err := c.kept.Finish(c.table.schema)
	if err != nil {
		return to, err
	}
	return append(to, b), nil
}
