package format

import (
	"fmt"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"leat/internal/columnar"
)

// rowSpan is a range of rows of a row group.
type rowSpan struct{ from, to int64 }

// groupIndex is the page index of a row group; without a reader it has none.
type groupIndex struct {
	reader *metadata.RowGroupPageIndexReader
	rows   int64
	firsts map[int][]int64
}

// indexOf gives the page index of row group g, which is read when it is asked. Nobody does without a filter.
func (r *Reader) indexOf(g int) (*groupIndex, error) {
	group := r.fr.MetaData().RowGroups[g]
	x := &groupIndex{rows: group.NumRows, firsts: map[int][]int64{}}
	if r.opts.Filter == nil {
		return x, nil
	}
	for _, c := range group.Columns {
		for _, at := range []struct {
			offset *int64
			length *int32
		}{{c.ColumnIndexOffset, c.ColumnIndexLength}, {c.OffsetIndexOffset, c.OffsetIndexLength}} {
			// The library takes memory for all that lies between the first and the last of them.
			if at.offset != nil && at.length != nil && (*at.offset < 0 || *at.length < 0 || *at.offset > r.src.size-int64(*at.length)) {
				return nil, fmt.Errorf("a page index at %d of %d bytes", *at.offset, *at.length)
			}
		}
	}
	var err error
	x.reader, err = r.fr.GetPageIndexReader().RowGroup(g)
	return x, err
}

// pagesOf gives the first rows of the pages of a leaf, in order; nil if the file does not tell.
func (x *groupIndex) pagesOf(leaf int) ([]int64, error) {
	if x.reader == nil {
		return nil, nil
	}
	if f, ok := x.firsts[leaf]; ok {
		return f, nil
	}
	index, err := x.reader.GetOffsetIndex(leaf)
	if err != nil {
		return nil, fmt.Errorf("reading a page index: %w", err)
	}
	var firsts []int64
	if index != nil {
		for _, p := range index.GetPageLocations() {
			firsts = append(firsts, p.FirstRowIndex)
		}
	}
	if len(firsts) > 0 && (firsts[0] != 0 || firsts[len(firsts)-1] >= x.rows || !slices.IsSorted(firsts)) {
		firsts = nil
	}
	x.firsts[leaf] = firsts
	return firsts, nil
}

// pageAt gives the page that row lies in.
func pageAt(firsts []int64, row int64) int {
	return sort.Search(len(firsts), func(i int) bool { return firsts[i] > row }) - 1
}

// columnPages is what the index knows of the pages of a column.
type columnPages struct {
	field  columnar.Field
	col    *schema.Column
	writer string
	firsts []int64
	index  metadata.ColumnIndex
	// page is the one that stats is of, -1 at first.
	page  int
	stats ColumnStats
}

// keepPages gives the rows of a row group whose pages of the columns asked the filter keeps.
func (r *Reader) keepPages(x *groupIndex, rows int64, asked []columnar.Field) ([]rowSpan, error) {
	all := []rowSpan{{0, rows}}
	known := map[string]*columnPages{}
	cuts := []int64{0, rows}
	for _, f := range asked {
		if known[f.Name] != nil {
			continue
		}
		c, err := r.columnPages(x, f)
		if err != nil {
			return nil, err
		}
		if c != nil {
			known[f.Name] = c
			cuts = append(cuts, c.firsts...)
		}
	}
	if len(known) == 0 {
		return all, nil
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []rowSpan
	for i, from := range cuts[:len(cuts)-1] {
		to := cuts[i+1]
		keep := r.opts.Filter.MayMatch(to-from, func(f columnar.Field) (ColumnStats, bool) {
			c := known[f.Name]
			if c == nil {
				return ColumnStats{}, false
			}
			return c.of(from, to), true
		})
		switch {
		case !keep:
		case len(out) > 0 && out[len(out)-1].to == from:
			out[len(out)-1].to = to
		default:
			out = append(out, rowSpan{from, to})
		}
	}
	return out, nil
}

// columnPages gives what the index knows of the pages of a column; nil if it does not.
func (r *Reader) columnPages(x *groupIndex, f columnar.Field) (*columnPages, error) {
	leaf, col := r.flatLeaf(f)
	if leaf < 0 || x.reader == nil {
		return nil, nil
	}
	firsts, err := x.pagesOf(leaf)
	if err != nil || len(firsts) == 0 {
		return nil, err
	}
	index, err := x.reader.GetColumnIndex(leaf)
	if err != nil {
		return nil, fmt.Errorf("reading a page index: %w", err)
	}
	n := len(firsts)
	if index == nil || len(index.GetNullPages()) != n || len(index.GetMinValues()) != n || len(index.GetMaxValues()) != n || index.IsSetNullCounts() && len(index.GetNullCounts()) != n {
		return nil, nil
	}
	return &columnPages{field: f, col: col, writer: r.fr.MetaData().WriterVersion().App, firsts: firsts, index: index, page: -1}, nil
}

// of gives the statistics of rows that lie within one page.
func (c *columnPages) of(from, to int64) ColumnStats {
	p := pageAt(c.firsts, from)
	if c.index.GetNullPages()[p] {
		return ColumnStats{Nulls: to - from}
	}
	if p != c.page {
		c.page, c.stats = p, ColumnStats{Nulls: -1}
		c.stats.MinMax = boundsOf(c.index.GetMinValues()[p], c.index.GetMaxValues()[p], c.field.Type, c.col, c.writer)
		if c.index.IsSetNullCounts() && c.index.GetNullCounts()[p] == 0 || c.col.MaxDefinitionLevel() == 0 {
			c.stats.Nulls = 0
		}
	}
	if c.stats.MinMax != nil {
		c.stats.MinMax.Retain()
	}
	return c.stats
}

// seek brings all columns to row of the open row group, which is none before those read, and
// gives the file offset concerned.
func (r *Reader) seek(row int64) (at int64, err error) {
	if r.pos == row {
		return 0, nil
	}
	for i := range r.cols {
		c := &r.cols[i]
		if err := c.seek(r.pos, row, int64(r.opts.BatchRows)); err != nil {
			return c.offset, fmt.Errorf("seeking in column %s: %w", c.field.Name, err)
		}
	}
	r.pos = row
	return 0, nil
}

// seek goes from row pos to row: to its page, and on by reading pieces of at most piece rows.
func (c *columnReader) seek(pos, row, piece int64) error {
	switch {
	case c.nested != nil:
		return c.nested.seek(pos, row, piece)
	case c.leaf < 0:
		return nil
	}
	pos, err := c.seekPage(pos, row)
	if err != nil {
		return err
	}
	for pos < row {
		n := min(piece, row-pos)
		a, err := c.read(int(n))
		if err != nil {
			return err
		}
		a.Release()
		pos += n
	}
	return nil
}

// seekPage goes from row pos to the page that row is in, if that is another one, and gives its first row.
func (c *columnReader) seekPage(pos, row int64) (int64, error) {
	firsts, err := c.pages.pagesOf(c.leaf)
	if err != nil || len(firsts) == 0 {
		return pos, err
	}
	first := firsts[pageAt(firsts, row)]
	if first <= pos {
		return pos, nil
	}
	if p, ok := c.cr.(pageSeeker); ok {
		return first, p.seekPage(first)
	}
	return first, seekLibrary(c.cr, first)
}

// pageSeeker is a chunk that can go to a page by the number of its first row.
type pageSeeker interface{ seekPage(row int64) error }

// rowSeeker is what chunk readers of the library offer.
type rowSeeker interface {
	HasNext() bool
	SeekToRow(row int64) error
	Err() error
}

// seekLibrary goes to the page that begins with row; the dictionary, if there is one, is read before.
func seekLibrary(cr chunkReader, row int64) error {
	s, ok := cr.(rowSeeker)
	if !ok {
		return fmt.Errorf("%T cannot seek", cr)
	}
	if !s.HasNext() && s.Err() != nil {
		return s.Err()
	}
	return s.SeekToRow(row)
}

// seekPage goes to the page that begins with row.
func (v *valuePages[P]) seekPage(row int64) error {
	if !v.begun {
		d, err := v.pages.GetDictionaryPage()
		if err != nil {
			return err
		}
		if d != nil {
			if err := v.readDictionary(d); err != nil {
				return err
			}
		}
		v.begun = true
	}
	if err := v.pages.SeekToPageWithRow(row); err != nil {
		return err
	}
	v.left = 0
	return v.begin(v.pages.Page())
}

// seekPage goes to the page that begins with row.
func (p *typedPages[P]) seekPage(row int64) error {
	if err := seekLibrary(p.chunkReader, row); err != nil {
		return err
	}
	p.def, p.rep, p.vals = p.def[:0], p.rep[:0], p.vals[:0]
	p.levels, p.values, p.level, p.value, p.ended = 0, 0, 0, 0, false
	return nil
}

// seek is columnReader.seek, leaf by leaf.
func (r *nestedReader) seek(pos, row, piece int64) error {
	for _, l := range r.leaves {
		at, err := l.seekPage(pos, row)
		if err != nil {
			return err
		}
		for at < row {
			n := min(piece, row-at)
			if _, _, err := l.pages.fill(int(n)); err != nil {
				return err
			}
			at += n
		}
	}
	return nil
}
