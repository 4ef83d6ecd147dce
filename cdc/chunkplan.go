package cdc

import (
	"fmt"
	"strings"
	"sync/atomic"

	"leat/cdc/mysqlrow"
)

// Sizes of chunks.
const (
	defaultChunkRows     = 65536
	maxChunkBytes        = 16 << 20
	minChunkBytes        = 256 << 10
	defaultSnapshotBytes = 128 << 20
	// splitTimes is how much larger than planned a chunk may turn out, before it is
	// given up and cut anew.
	splitTimes = 4
)

func (c *Config) snapshotBytes() int64 {
	if c.SnapshotBytes > 0 {
		return c.SnapshotBytes
	}
	return defaultSnapshotBytes
}

// chunkBytes is the size that chunks are to have: a part of what may wait.
func (c *Config) chunkBytes() int64 {
	return max(minChunkBytes, min(maxChunkBytes, c.snapshotBytes()/splitTimes))
}

// chunkPlan cuts one table, or one range of it.
type chunkPlan struct {
	table *table
	plan  *mysqlrow.Plan
	// columns of the chunk key, none for one chunk; unique says that no two rows
	// share a key; cutting counts the changes of the key before.
	columns int
	unique  bool
	cutting int32
	// done is what was emitted when reading began.
	done rangeSet
	// from and until bound what is still to be cut.
	from, until mysqlrow.Edge
	// size is the number of rows of a chunk, one for all plans of the table;
	// limit, if it is not 0, is a smaller one for this plan.
	size  *chunkSize
	limit int64
	over  bool
}

// chunkSize is how many rows the chunks of a table have.
type chunkSize struct {
	rows  atomic.Int64
	bytes int64
	// fixed says that the user chose.
	fixed bool
}

func newChunkPlan(cfg *Config, t *table) *chunkPlan {
	p := &chunkPlan{table: t, plan: t.plan, columns: len(t.cut), unique: t.unique(), cutting: t.cuttings.Load(), size: newChunkSize(cfg, t.src)}
	p.done = t.seq.done
	p.done.list = append([]keyRange(nil), p.done.list...)
	return p
}

// newChunkSize takes what the user wants, else as many rows as keep a chunk of
// wide rows small.
func newChunkSize(cfg *Config, src *sourceTable) *chunkSize {
	s := &chunkSize{fixed: cfg.ChunkRows > 0, bytes: cfg.chunkBytes()}
	s.rows.Store(defaultChunkRows)
	switch {
	case s.fixed:
		s.rows.Store(int64(cfg.ChunkRows))
	case src.rowBytes > 0:
		s.fit(1, src.rowBytes)
	}
	return s
}

// fit lets chunks have the size that was asked for if rows are as wide as those measured.
func (s *chunkSize) fit(rows, bytes int64) {
	if bytes > 0 && rows > 0 {
		s.rows.Store(max(1, min(defaultChunkRows, s.bytes*rows/bytes)))
	}
}

// measured takes over the width of the rows of a chunk.
func (s *chunkSize) measured(rows, bytes int64) {
	// A few rows at the end of a table tell little of the rest.
	if !s.fixed && 4*rows >= s.rows.Load() {
		s.fit(rows, bytes)
	}
}

// void reports whether the table is gone, or is cut by another key now.
func (p *chunkPlan) void() bool {
	return p.table.absent.Load() || p.cutting != p.table.cuttings.Load()
}

// cut gives the next chunk of the table, nil if none is left. The edge comes
// from the index over the chunk key alone.
func (p *chunkPlan) cut(n *conn) (*chunk, error) {
	t := p.table
	if p.columns == 0 {
		p.over = true
		return &chunk{table: t, plan: p.plan, cutting: p.cutting, whole: true}, nil
	}
	gap, ok := p.done.gap(p.from)
	if !ok {
		p.over = true
		return nil, nil
	}
	if gap.hi.Open() {
		gap.hi = p.until
	}
	rows := p.size.rows.Load()
	if p.limit > 0 {
		rows = min(rows, p.limit)
	}
	sql := fmt.Sprintf("SELECT %s FROM %s WHERE %s ORDER BY %s LIMIT 1 OFFSET %d", strings.Join(p.plan.KeySelect(), ", "), t.sqlName(),
		p.plan.Between(gap.lo, gap.hi), strings.Join(p.plan.KeyColumns(), ", "), rows-1)
	found, err := n.query(sql)
	if err != nil {
		return nil, err
	}
	if len(found.rows) > 0 {
		hi, err := p.plan.ParseEdge(found.rows[0])
		if err != nil {
			return nil, err
		}
		if gap.hi.Open() || below(hi, gap.hi) {
			gap.hi = hi
		}
	}
	if gap.hi.Open() || !p.until.Open() && !below(gap.hi, p.until) {
		p.over = true
	} else {
		p.from = gap.hi
	}
	c := &chunk{table: t, plan: p.plan, keys: gap, cutting: p.cutting, size: p.size}
	// Rows of one key cannot be told apart: they come in pieces, however many they are.
	c.single = rows == 1
	c.whole = c.single && !p.unique
	return c, nil
}

// split cuts what c covers in smaller chunks: that many rows of it took too much memory.
func (c *chunk) split(rows int64) *chunkPlan {
	return &chunkPlan{
		table: c.table, plan: c.plan, columns: len(c.plan.KeyColumns()), unique: c.table.unique(), cutting: c.cutting,
		from: c.keys.lo, until: c.keys.hi, size: c.size, limit: max(1, rows/(2*splitTimes)),
	}
}
