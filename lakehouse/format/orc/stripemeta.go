package orc

type streamInfo struct {
	kind   streamKind
	column int
	length uint64
}

func (s *streamInfo) fields(c *coder) {
	codeSmall(c, 1, &s.kind)
	c.count(2, &s.column, maxTypes)
	c.uint(3, &s.length)
}

type columnEncoding struct {
	kind           encodingKind
	dictionarySize uint64
}

func (e *columnEncoding) fields(c *coder) {
	codeSmall(c, 1, &e.kind)
	if c.reading() || e.kind == encodingDictionary || e.kind == encodingDictionaryV2 {
		c.uint(2, &e.dictionarySize)
	}
}

type stripeFooter struct {
	streams   []streamInfo
	encodings []columnEncoding
	timezone  string
}

func (s *stripeFooter) fields(c *coder) {
	codeEach(c, 1, &s.streams, maxStreams, (*streamInfo).fields)
	codeEach(c, 2, &s.encodings, maxTypes, (*columnEncoding).fields)
	c.string(3, &s.timezone)
}

// indexEntry is one row group of a column's row index. Its statistics are a
// ColumnStatistics message.
type indexEntry struct {
	positions []uint64
	stat      []byte
}

func (e *indexEntry) fields(c *coder) {
	c.uints(1, &e.positions)
	c.bytes(2, &e.stat)
}

// rowIndex is the row index of a column.
type rowIndex struct{ entries []indexEntry }

func (r *rowIndex) fields(c *coder) { codeEach(c, 1, &r.entries, maxGroups, (*indexEntry).fields) }
