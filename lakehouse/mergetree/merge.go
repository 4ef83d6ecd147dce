package mergetree

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// Rows is a batch of a data file: the table's columns with sequence number and kind of each row.
type Rows struct {
	Values []arrow.Array
	Seq    []int64
	Kinds  []int8
	// System holds what Seq and Kinds stand in.
	System []arrow.Array
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Seq) }

// Release gives the arrays back.
func (r *Rows) Release() {
	for _, a := range r.Values {
		a.Release()
	}
	for _, a := range r.System {
		a.Release()
	}
	r.Values, r.System = nil, nil
}

// RowReader gives the rows of a sorted stream batch by batch, io.EOF at the
// end. The caller releases each batch.
type RowReader interface {
	Next() (*Rows, error)
	Close() error
}

// Opener opens a data file of the bucket at hand.
type Opener func(ctx context.Context, f *spec.DataFileMeta) (RowReader, error)

// runReader reads the files of a sorted run one after the other.
type runReader struct {
	ctx   context.Context //nolint:containedctx // a reader lives for one call of its owner
	open  Opener
	files []spec.DataFileMeta
	cur   RowReader
}

func (r *runReader) Next() (*Rows, error) {
	for {
		if r.cur == nil {
			if len(r.files) == 0 {
				return nil, io.EOF
			}
			var err error
			if r.cur, err = r.open(r.ctx, &r.files[0]); err != nil {
				return nil, err
			}
			r.files = r.files[1:]
		}
		rows, err := r.cur.Next()
		if !errors.Is(err, io.EOF) {
			return rows, err
		}
		err = r.cur.Close()
		r.cur = nil
		if err != nil {
			return nil, err
		}
	}
}

func (r *runReader) Close() error {
	if r.cur == nil {
		return nil
	}
	return r.cur.Close()
}

// Merge joins sorted streams into one: for each key the row with the highest
// sequence number, that is the merge function deduplicate. Other merge engines
// would take the place of its method resolve.
type Merge struct {
	keys    []int
	cursors []*cursor
	tree    []int // loser tree over cursors; tree[0] is the winner
	// dropDelete leaves out rows that end as deleted.
	dropDelete bool
	cols       []gatherer

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
// being the positions of the key columns. It owns the streams. keep makes the
// arrays of every chunk their own memory.
func NewMerge(columns *columnar.Schema, keys []int, streams []RowReader, dropDelete, keep bool) (*Merge, error) {
	m := &Merge{keys: keys, dropDelete: dropDelete, cols: make([]gatherer, len(columns.Fields))}
	types := make([]columnar.DataType, len(keys))
	for i, k := range keys {
		types[i] = columns.Fields[k].Type
	}
	for i, f := range columns.Fields {
		var err error
		if m.cols[i], err = newGatherer(f.Type, keep); err != nil {
			return nil, err
		}
	}
	for _, s := range streams {
		codec, err := NewKeyCodec(types)
		if err != nil {
			return nil, err
		}
		m.cursors = append(m.cursors, &cursor{r: s, codec: codec})
	}
	return m, nil
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
		if c.row++; c.row < c.rows.Len() {
			c.setKey()
		} else if err := m.load(c); err != nil {
			return nil, err
		}
		m.replay(m.tree[0])
	}
	if len(m.refs) == 0 {
		return nil, nil
	}
	return m.gather(), nil
}

// resolve takes the row at c: with another key the row held so far is done with.
func (m *Merge) resolve(c *cursor) {
	if m.has && m.lastKey.Compare(c.key) != 0 {
		m.emit()
	}
	if !m.has {
		m.has = true
		m.lastKey.Prefix = c.key.Prefix
		m.lastKey.Rest = append(m.lastKey.Rest[:0], c.key.Rest...)
	}
	// Rows of a key come in order of their sequence numbers.
	m.last, m.seq, m.kind = rowRef{batch: c.slot, row: uint32(c.row)}, c.rows.Seq[c.row], c.rows.Kinds[c.row]
}

func (m *Merge) emit() {
	if !m.has {
		return
	}
	m.has = false
	if m.dropDelete && columnar.RowKind(m.kind).Retracts() {
		return
	}
	m.refs = append(m.refs, m.last)
	m.chunk.seq = append(m.chunk.seq, m.seq)
	m.chunk.kinds = append(m.chunk.kinds, m.kind)
}

// trim releases the batches that neither a cursor nor the row held stands in.
func (m *Merge) trim() {
	keep := make([]*Rows, 0, len(m.live))
	held := m.last.batch
	for i, r := range m.live {
		at := slices.IndexFunc(m.cursors, func(c *cursor) bool { return c.rows == r })
		isHeld := m.has && held == uint32(i)
		if at < 0 && !isHeld {
			r.Release()
			continue
		}
		if at >= 0 {
			m.cursors[at].slot = uint32(len(keep))
		}
		if isHeld {
			m.last.batch = uint32(len(keep))
		}
		keep = append(keep, r)
	}
	m.live = keep
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
	return &Rows{Values: slices.Clone(c.values), Seq: slices.Clone(c.seq), Kinds: slices.Clone(c.kinds)}, nil
}

// MergeRuns merges sorted runs whose files open opens; see NewMerge.
func MergeRuns(ctx context.Context, columns *columnar.Schema, keys []int, runs []Run, open Opener, dropDelete, keep bool) (*Merge, error) {
	streams := make([]RowReader, len(runs))
	for i, r := range runs {
		streams[i] = &runReader{ctx: ctx, open: open, files: r.Files}
	}
	return NewMerge(columns, keys, streams, dropDelete, keep)
}
