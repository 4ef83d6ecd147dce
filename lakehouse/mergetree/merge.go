package mergetree

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// MergeOptions say how rows of a key become one; the zero value is deduplicate.
type MergeOptions struct {
	// Engine is nil for deduplicate by sequence number.
	Engine *Engine
	// DropDelete leaves out rows that end as deleted.
	DropDelete bool
	// Keep makes the arrays of every chunk their own memory, which Mem, if set, allocates.
	Keep bool
	Mem  memory.Allocator
	// Ordered says that of a key's rows that of a later stream is the younger one: see
	// OrderRuns. Rows then have no sequence numbers and, unless Kinds is set, no kinds.
	// Deduplicate alone may be ordered.
	Ordered, Kinds bool
	// Changes, if set, has the changes collected that the merge means.
	Changes *ChangeOptions
	// OpenReference opens the files of references, nil as the others are opened.
	OpenReference Opener
	// Replaced is told of every row of a reference stream whose key the other streams have.
	Replaced func(f *spec.DataFileMeta, position int64)
}

// Merge joins sorted streams into one, a row a key. Deduplicate takes the last
// row of each key as it comes; other engines, and changes, need all rows of a
// key and go through a folder.
type Merge struct {
	keys    []int
	opts    MergeOptions
	cursors []*cursor
	tree    []int // loser tree over cursors; tree[0] is the winner
	cols    []gatherer
	// order compares rows of a key before their sequence numbers do; nil without sequence fields.
	order        *rowOrder
	ignoreDelete bool
	fold         *merging
	// window takes the place of the tree where keys are short and only their youngest rows matter.
	window *window

	// live are the batches that refs may name; used by index.
	live  []*Rows
	refs  []rowRef
	chunk chunk
	// last is the youngest row so far of the key at hand, if has is set.
	has     bool
	last    rowRef
	lastKey Key
	seq     int64
	kind    int8
}

// cursor is the place in one stream.
type cursor struct {
	r     RowReader
	codec *KeyCodec
	rows  *Rows
	slot  uint32
	row   int
	short []uint64
	buf   []byte
	key   Key
	end   bool
}

// NewMerge makes the merge of streams whose rows have these columns, keys
// being the positions of the key columns. It owns the streams.
func NewMerge(columns *columnar.Schema, keys []int, streams []RowReader, o MergeOptions) (*Merge, error) {
	m := &Merge{keys: keys, opts: o, cols: make([]gatherer, len(columns.Fields))}
	types := make([]columnar.DataType, len(keys))
	for i, k := range keys {
		types[i] = columns.Fields[k].Type
	}
	if e := o.Engine; e != nil {
		m.ignoreDelete = e.spec.IgnoreDelete
		var err error
		if m.order, err = newRowOrder(columns, e.sequence, e.spec.Descending); err != nil {
			return nil, err
		}
	}
	if err := m.compile(columns); err != nil {
		return nil, err
	}
	for _, s := range streams {
		codec, err := NewKeyCodec(types)
		if err != nil {
			return nil, err
		}
		m.cursors = append(m.cursors, &cursor{r: s, codec: codec})
	}
	if len(streams) > 0 && m.cursors[0].codec.Short && m.fold == nil && m.order == nil && !m.ignoreDelete {
		m.window = &window{}
	}
	return m, nil
}

// compile makes the gatherers of deduplicate or the folder of everything else.
func (m *Merge) compile(columns *columnar.Schema) error {
	if m.opts.Engine != nil && m.opts.Engine.spec.Folds() || m.opts.Changes != nil || m.opts.Replaced != nil {
		var err error
		m.fold, err = newMerging(columns, m.keys, &m.opts)
		return err
	}
	for i, f := range columns.Fields {
		var err error
		if m.cols[i], err = newGatherer(f.Type, m.opts.Keep); err != nil {
			return err
		}
		m.cols[i].allocate(m.opts.Mem)
	}
	return nil
}

// Close closes the streams.
func (m *Merge) Close() error {
	var err error
	for _, c := range m.cursors {
		err = errors.Join(err, c.r.Close())
	}
	for _, r := range m.live {
		if r != nil {
			r.Release()
		}
	}
	m.live = nil
	return err
}

// start loads the first batch of each stream and plays the first round.
func (m *Merge) start() error {
	for _, c := range m.cursors {
		if err := m.load(c); err != nil {
			return err
		}
	}
	n := len(m.cursors)
	m.tree = make([]int, max(1, n))
	if m.window != nil {
		return nil
	}
	for i := range m.tree {
		m.tree[i] = -1
	}
	for i := n - 1; i >= 0; i-- {
		m.replay(i)
	}
	return nil
}

// replay moves cursor i up the tree; losers stay behind.
func (m *Merge) replay(i int) {
	n := len(m.cursors)
	winner := i
	for p := (i + n) / 2; p > 0; p /= 2 {
		if m.tree[p] == -1 {
			m.tree[p] = winner
			return
		}
		if m.less(m.tree[p], winner) {
			m.tree[p], winner = winner, m.tree[p]
		}
	}
	m.tree[0] = winner
}

// less orders the rows at two cursors by key and sequence number.
func (m *Merge) less(i, j int) bool {
	a, b := m.cursors[i], m.cursors[j]
	if a.end || b.end {
		return !a.end
	}
	if c := a.key.Compare(b.key); c != 0 {
		return c < 0
	}
	if m.order != nil {
		if c := m.order.compare(rowRef{a.slot, uint32(a.row)}, rowRef{b.slot, uint32(b.row)}); c != 0 {
			return c < 0
		}
	}
	if m.opts.Ordered {
		return i < j
	}
	return a.rows.Seq[a.row] < b.rows.Seq[b.row]
}

// load fetches the next batch of c that has rows.
func (m *Merge) load(c *cursor) error {
	for {
		rows, err := c.r.Next()
		if errors.Is(err, io.EOF) {
			c.end, c.rows = true, nil
			return nil
		}
		if err != nil {
			return err
		}
		if rows.Len() == 0 {
			rows.Release()
			continue
		}
		c.rows, c.row, c.slot = rows, 0, uint32(len(m.live))
		m.live = append(m.live, rows)
		m.order.bindRows(m.live)
		cols := make([]arrow.Array, len(m.keys))
		for i, k := range m.keys {
			cols[i] = rows.Values[k]
		}
		c.codec.Bind(cols)
		if c.codec.Short {
			c.short = scratch(&c.short, rows.Len(), false)
			c.codec.Shorts(c.short)
		}
		c.setKey()
		return nil
	}
}

func (c *cursor) setKey() {
	if c.codec.Short {
		c.key.Prefix = c.short[c.row]
		return
	}
	c.buf = c.codec.Append(c.buf[:0], c.row)
	c.key = Key{Prefix: prefixOf(c.buf), Rest: c.buf}
}

// next gives up to n merged rows; the chunk is valid until the following call. nil at the end.
func (m *Merge) next(n int) (*chunk, error) {
	if m.tree == nil {
		if err := m.start(); err != nil {
			return nil, err
		}
	}
	switch {
	case m.fold != nil:
		return m.nextFolded(n)
	case m.window != nil:
		return m.nextWindowed(n)
	}
	m.trim()
	m.refs, m.chunk.seq, m.chunk.kinds = m.refs[:0], m.chunk.seq[:0], m.chunk.kinds[:0]
	for len(m.refs) < n {
		c := (*cursor)(nil)
		if len(m.cursors) > 0 {
			c = m.cursors[m.tree[0]]
		}
		if c == nil || c.end {
			m.emit()
			break
		}
		m.resolve(c)
		if err := m.advance(c); err != nil {
			return nil, err
		}
	}
	if len(m.refs) == 0 {
		return nil, nil
	}
	return m.gather(), nil
}

// advance moves c, the winner, on to its next row.
func (m *Merge) advance(c *cursor) error {
	if c.row++; c.row < c.rows.Len() {
		c.setKey()
	} else if err := m.load(c); err != nil {
		return err
	}
	m.replay(m.tree[0])
	return nil
}

// resolve takes the row at c: with another key the row held so far is done with.
func (m *Merge) resolve(c *cursor) {
	if m.ignoreDelete && columnar.RowKind(c.rows.Kinds[c.row]).Retracts() {
		return
	}
	if m.has && m.lastKey.Compare(c.key) != 0 {
		m.emit()
	}
	if !m.has {
		m.has = true
		m.lastKey.Prefix = c.key.Prefix
		m.lastKey.Rest = append(m.lastKey.Rest[:0], c.key.Rest...)
	}
	// Rows of a key come in their order: sequence fields, then sequence numbers.
	m.last, m.seq, m.kind = rowRef{batch: c.slot, row: uint32(c.row)}, c.rows.Seq[c.row], c.rows.Kinds[c.row]
}

func (m *Merge) emit() {
	if !m.has {
		return
	}
	m.has = false
	if m.opts.DropDelete && columnar.RowKind(m.kind).Retracts() {
		return
	}
	m.refs = append(m.refs, m.last)
	m.chunk.seq = append(m.chunk.seq, m.seq)
	m.chunk.kinds = append(m.chunk.kinds, m.kind)
}

// trim releases the batches that neither a cursor nor a row held stands in.
func (m *Merge) trim() {
	used := make([]bool, len(m.live))
	if m.has && m.fold == nil {
		used[m.last.batch] = true
	}
	if m.fold != nil {
		for _, r := range m.fold.groups.refs {
			used[r.batch] = true
		}
	}
	if m.window != nil {
		for _, r := range m.window.rows {
			used[r.at>>32] = true
		}
	}
	keep, slots := make([]*Rows, 0, len(m.live)), make([]uint32, len(m.live))
	for i, r := range m.live {
		at := slices.IndexFunc(m.cursors, func(c *cursor) bool { return c.rows == r })
		if at < 0 && !used[i] {
			r.Release()
			continue
		}
		slots[i] = uint32(len(keep))
		if at >= 0 {
			m.cursors[at].slot = slots[i]
		}
		keep = append(keep, r)
	}
	m.live = keep
	if m.window != nil {
		for i := range m.window.rows {
			r := &m.window.rows[i]
			r.at = uint64(slots[r.at>>32])<<32 | r.at&math.MaxUint32
		}
	}
	if m.fold == nil {
		if m.has {
			m.last.batch = slots[m.last.batch]
		}
	} else {
		for i := range m.fold.groups.refs {
			m.fold.groups.refs[i].batch = slots[m.fold.groups.refs[i].batch]
		}
	}
	m.order.bindRows(m.live)
}

func (m *Merge) gather() *chunk {
	m.chunk.rows = len(m.refs)
	m.chunk.values = m.chunk.values[:0]
	arrs := make([]arrow.Array, len(m.live))
	for i, g := range m.cols {
		for k, r := range m.live {
			arrs[k] = r.Values[i]
		}
		g.bind(arrs)
		m.chunk.values = append(m.chunk.values, g.gather(m.refs))
	}
	return &m.chunk
}

// Next gives the next merged rows, at most n; io.EOF at the end. Release gives
// them back; with keep unset they are valid until the following call only.
func (m *Merge) Next(n int) (*Rows, error) {
	c, err := m.next(n)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, io.EOF
	}
	if m.opts.Ordered && !m.opts.Kinds && m.window != nil {
		return &Rows{Values: slices.Clone(c.values), Seq: c.seq, Kinds: c.kinds}, nil // zeros, all of them
	}
	return &Rows{Values: slices.Clone(c.values), Seq: slices.Clone(c.seq), Kinds: slices.Clone(c.kinds)}, nil
}

// MergeRuns merges sorted runs whose files open opens; see NewMerge. The rows
// of references have no part in the result but that of rows which the runs'
// rows change; both are in it together.
func MergeRuns(ctx context.Context, columns *columnar.Schema, keys []int, runs, references []Run, open Opener, o MergeOptions) (*Merge, error) {
	streams := make([]RowReader, 0, len(runs)+len(references))
	for _, r := range runs {
		streams = append(streams, &runReader{ctx: ctx, open: open, files: r.Files})
	}
	if o.OpenReference != nil {
		open = o.OpenReference
	}
	for _, r := range references {
		streams = append(streams, &runReader{ctx: ctx, open: open, files: r.Files, reference: true})
	}
	return NewMerge(columns, keys, streams, o)
}
