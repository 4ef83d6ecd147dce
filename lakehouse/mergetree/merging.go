package mergetree

import (
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// ChangeOptions say which changes a compaction gives.
type ChangeOptions struct {
	// TopLevel, if above 0, compares with the rows of that level (changelog producer
	// full-compaction), else with the rows above level 0 (lookup).
	TopLevel int32
	// Deduplicate leaves out updates that change no value, those of Ignored apart.
	Deduplicate bool
	Ignored     []string
	// Compare takes the rows of level 0 for one state of a table and those above it
	// for another, from which the changes lead to the first.
	Compare bool
	// After leaves out the rows before an update, and keeps the kinds of those after.
	After bool
}

// AtLevel gives the rows of r, which have no sequence numbers, as those of a
// file of that level: lower levels hold younger rows.
func AtLevel(r RowReader, level int32) RowReader {
	return &leveled{RowReader: r, file: &spec.DataFileMeta{Level: level}}
}

type leveled struct {
	RowReader
	file *spec.DataFileMeta
}

func (l *leveled) Next() (*Rows, error) {
	rows, err := l.RowReader.Next()
	if err != nil {
		return nil, err
	}
	rows.file = l.file
	for i := range rows.Seq {
		rows.Seq[i] = -int64(l.file.Level)
	}
	return rows, nil
}

// NextChanges gives the next changes, of about n keys; io.EOF at the end. Only
// with MergeOptions.Changes; the caller releases the rows before the next call.
func (m *Merge) NextChanges(n int) (*Rows, error) {
	for {
		c, err := m.next(n)
		if err != nil {
			return nil, err
		}
		if c == nil {
			return nil, io.EOF
		}
		for _, a := range c.values {
			a.Release()
		}
		if ch := &m.fold.changes.chunk; ch.rows > 0 {
			return &Rows{Values: slices.Clone(ch.values), Seq: slices.Clone(ch.seq), Kinds: slices.Clone(ch.kinds)}, nil
		}
	}
}

// merging is what a Merge needs besides the loser tree where it folds.
type merging struct {
	opts    *MergeOptions
	keys    []int
	engine  *EngineSpec
	folder  *folder
	groups  groupSet
	rowOf   []int32
	changes *changeSet
}

func newMerging(columns *columnar.Schema, keys []int, o *MergeOptions) (*merging, error) {
	e := o.Engine
	if e == nil {
		var err error
		if e, err = (&EngineSpec{}).Bind(columns, keys); err != nil {
			return nil, err
		}
	}
	f := &merging{opts: o, keys: keys, engine: e.spec}
	var err error
	if f.folder, err = newFolder(e, columns, o.Keep); err != nil {
		return nil, err
	}
	if o.Changes != nil {
		f.changes, err = newChangeSet(columns, keys, o.Changes)
	}
	return f, err
}

// liveBatches bounds the batches a chunk may stand in: rows that only show
// what others change come and go without filling one.
func (m *Merge) liveBatches() int { return 2*len(m.cursors) + 16 }

// nextFolded is next where rows of a key are folded.
func (m *Merge) nextFolded(n int) (*chunk, error) {
	f := m.fold
	for {
		f.groups.keepOpen()
		m.trim()
		end := false
		for len(f.groups.from) < n && len(m.live) < m.liveBatches() {
			var c *cursor
			if len(m.cursors) > 0 {
				c = m.cursors[m.tree[0]]
			}
			if end = c == nil || c.end; end {
				m.closeGroup()
				break
			}
			m.collect(c)
			if err := m.advance(c); err != nil {
				return nil, err
			}
		}
		if len(f.groups.from) > 0 {
			c, err := m.foldGroups()
			if err != nil || c.rows > 0 || f.changes != nil && f.changes.chunk.rows > 0 {
				return c, err
			}
		}
		if end {
			return nil, nil
		}
	}
}

// collect takes the row at c.
func (m *Merge) collect(c *cursor) {
	kind := c.rows.Kinds[c.row]
	if m.ignoreDelete && columnar.RowKind(kind).Retracts() {
		return
	}
	if m.has && m.lastKey.Compare(c.key) != 0 {
		m.closeGroup()
	}
	if !m.has {
		m.has = true
		m.lastKey.Prefix = c.key.Prefix
		m.lastKey.Rest = append(m.lastKey.Rest[:0], c.key.Rest...)
	}
	m.fold.groups.add(rowRef{batch: c.slot, row: uint32(c.row)}, c.rows.Seq[c.row], kind, c.rows.level())
}

// closeGroup ends the group of the key at hand, if anything comes of it.
func (m *Merge) closeGroup() {
	f := m.fold
	g := &f.groups
	from, to := int(g.open()), len(g.refs)
	m.has = false
	own, ownUpper, level0, upper := false, false, false, -1
	for i := from; i < to; i++ {
		reference := m.live[g.refs[i].batch].reference
		own = own || !reference
		if g.levels[i] == 0 {
			level0 = true
			continue
		}
		ownUpper = ownUpper || !reference
		if upper < 0 || g.levels[i] < g.levels[upper] {
			upper = i
		}
	}
	if !own || f.engine.Kind == FirstRow && upper >= 0 && !ownUpper {
		// Nobody changes the row, or there is a first row already.
		g.truncate(int32(from))
		return
	}
	if f.changes != nil {
		f.before(from, to, level0, upper)
	}
	if f.opts.Replaced != nil {
		for i := from; i < to; i++ {
			if r := m.live[g.refs[i].batch]; r.reference {
				f.opts.Replaced(r.file, r.position(g.refs[i].row))
			}
		}
	}
	if f.engine.Shallow && upper >= 0 {
		f.dropDeeper(from, to, upper)
	}
	g.end()
}

// before notes the row that changes are told against.
func (f *merging) before(from, to int, level0 bool, upper int) {
	g := &f.groups
	touched := level0
	if top := f.opts.Changes.TopLevel; top > 0 {
		upper = -1
		if i := slices.Index(g.levels[from:to], top); i >= 0 {
			upper = from + i
		}
		touched = to-from > 1 || upper < 0
	}
	b, seq := rowRef{batch: noRow}, int64(0)
	if upper >= 0 && !columnar.RowKind(g.kinds[upper]).Retracts() {
		b, seq = g.refs[upper], g.seq[upper]
		touched = touched && f.engine.Kind != FirstRow
	}
	if f.opts.Changes.Compare {
		// A row that the newer state lacks is a deleted one.
		touched = true
		if !level0 {
			g.kinds[to-1] = int8(columnar.Delete)
		}
	}
	g.before, g.beforeS, g.touched = append(g.before, b), append(g.beforeS, seq), append(g.touched, touched)
}

// dropDeeper removes the rows above level 0 other than row upper.
func (f *merging) dropDeeper(from, to, upper int) {
	g := &f.groups
	at := from
	for i := from; i < to; i++ {
		if g.levels[i] > 0 && i != upper {
			continue
		}
		g.refs[at], g.seq[at], g.kinds[at], g.levels[at] = g.refs[i], g.seq[i], g.kinds[i], g.levels[i]
		at++
	}
	g.truncate(int32(at))
}

func (m *Merge) foldGroups() (*chunk, error) {
	f := m.fold
	arrs := make([]arrow.Array, len(m.live))
	for i := range f.folder.cols {
		for k, r := range m.live {
			arrs[k] = r.Values[i]
		}
		f.folder.bind(i, arrs)
	}
	f.rowOf = scratch(&f.rowOf, len(f.groups.from), false)
	c, err := f.folder.fold(&f.groups, f.opts.DropDelete, f.rowOf)
	if err != nil || f.changes == nil {
		return c, err
	}
	f.changes.collect(&f.groups, c, f.rowOf, m.live)
	return c, nil
}

// changeSet turns groups into changelog rows.
type changeSet struct {
	opts   *ChangeOptions
	cols   []gatherer
	equals []valueOrder // nil entries are not compared
	refs   []rowRef
	chunk  chunk
}

func newChangeSet(columns *columnar.Schema, keys []int, o *ChangeOptions) (*changeSet, error) {
	s := &changeSet{opts: o, cols: make([]gatherer, len(columns.Fields)), equals: make([]valueOrder, len(columns.Fields))}
	for i, f := range columns.Fields {
		var err error
		if s.cols[i], err = newGatherer(f.Type, false); err != nil {
			return nil, err
		}
		if !o.Deduplicate || slices.Contains(o.Ignored, f.Name) || slices.Contains(keys, i) {
			continue
		}
		if s.equals[i], err = newValueOrder(f.Type); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// collect fills the chunk with the changes from the rows before to those of after.
func (s *changeSet) collect(g *groupSet, after *chunk, rowOf []int32, live []*Rows) {
	c := &s.chunk
	s.refs, c.seq, c.kinds = s.refs[:0], c.seq[:0], c.kinds[:0]
	add := func(kind columnar.RowKind, r rowRef, seq int64) {
		s.refs, c.seq, c.kinds = append(s.refs, r), append(c.seq, seq), append(c.kinds, int8(kind))
	}
	arrs := make([]arrow.Array, len(live)+1)
	for i, col := range s.cols {
		for k, r := range live {
			arrs[k] = r.Values[i]
		}
		arrs[len(live)] = after.values[i]
		col.bind(arrs)
		if s.equals[i] != nil {
			s.equals[i].bind(arrs)
		}
	}
	for i := range g.from {
		if !g.touched[i] {
			continue
		}
		row := rowOf[i]
		there := row >= 0 && !columnar.RowKind(after.kinds[row]).Retracts()
		now := rowRef{batch: uint32(len(live)), row: uint32(max(row, 0))}
		switch was := g.before[i].batch != noRow; {
		case was && there:
			if s.opts.Deduplicate && s.equal(g.before[i], now) {
				continue
			}
			if s.opts.After {
				add(columnar.RowKind(after.kinds[row]), now, after.seq[row])
				continue
			}
			add(columnar.UpdateBefore, g.before[i], g.beforeS[i])
			add(columnar.UpdateAfter, now, after.seq[row])
		case was:
			add(columnar.Delete, g.before[i], g.beforeS[i])
		case there && s.opts.After:
			add(columnar.RowKind(after.kinds[row]), now, after.seq[row])
		case there:
			add(columnar.Insert, now, after.seq[row])
		}
	}
	c.rows, c.values = len(s.refs), c.values[:0]
	for _, col := range s.cols {
		c.values = append(c.values, col.gather(s.refs))
	}
}

func (s *changeSet) equal(a, b rowRef) bool {
	for _, v := range s.equals {
		if v != nil && v.compare(a, b) != 0 {
			return false
		}
	}
	return true
}
