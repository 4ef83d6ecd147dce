package format

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

const (
	// pageRows is how many rows a page has at most, as in Java's files: a lookup reads a page a column.
	pageRows = 20_000
	// indexedBytes is how long bounds of strings in the index are, as in Java's files; longer ones are widened to fit.
	indexedBytes = 64
)

// indexed gives the place of a leaf's pages in the page index to pager; the bounds are for the
// chunk to note, nil where it cannot. Pages that may end within a row have no place in it.
func (w *Writer) indexed(pager file.PageWriter, meta *metadata.ColumnChunkMetaDataBuilder) (metadata.ColumnIndexBuilder, error) {
	typ := meta.Descr().PhysicalType()
	own := typ == parquet.Types.Int32 || typ == parquet.Types.Int64 || typ == parquet.Types.ByteArray
	if !own && meta.Descr().MaxRepetitionLevel() > 0 {
		return nil, nil
	}
	offsets, err := w.index.GetOffsetIndexBuilder(int(w.leaf))
	if err != nil {
		return nil, fmt.Errorf("indexing pages: %w", err)
	}
	pager.SetIndexBuilders(nil, offsets)
	w.places = append(w.places, offsets)
	if meta.Descr().MaxRepetitionLevel() > 0 || !own && typ != parquet.Types.FixedLenByteArray || !w.props.StatisticsEnabledFor(meta.Descr().Path()) {
		return nil, nil
	}
	bounds, err := w.index.GetColumnIndexBuilder(int(w.leaf))
	if err != nil {
		return nil, fmt.Errorf("indexing pages: %w", err)
	}
	if !own {
		pager.SetIndexBuilders(bounds, offsets)
		return nil, nil
	}
	return bounds, nil
}

// indexKey is the entry of the footer that says where the page index is. The fields of the format that are for
// it stay unset: Java readers would skip rows within pages then, and 1.3.1 cannot do that in packed differences
// with nulls (a skip of no values begins the page's sums anew).
const indexKey = "leat.page-index"

// writeIndex writes the page index behind the last row group, and into the footer where it is: by row group and
// leaf, offset and length of the bounds of pages and of their places, as varints in base64. Where all leaves have
// one page, which the row group tells as much of, there is none.
func (w *Writer) writeIndex() error {
	if !slices.ContainsFunc(w.places, func(o *metadata.OffsetIndexBuilder) bool {
		index := o.Build()
		return index != nil && len(index.GetPageLocations()) > 1
	}) {
		return nil
	}
	w.index.Finish()
	var at metadata.PageIndexLocation
	if err := w.index.WriteTo(&w.sink, &at); err != nil {
		return fmt.Errorf("indexing pages: %w", err)
	}
	var b []byte
	for g := range uint64(w.groups) {
		for leaf := range w.index.Schema.NumColumns() {
			for _, of := range []map[uint64][]*metadata.IndexLocation{at.ColIndexLocation, at.OffsetIndexLocation} {
				var l metadata.IndexLocation
				if group := of[g]; leaf < len(group) && group[leaf] != nil {
					l = *group[leaf]
				}
				b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(l.Offset)), uint64(l.Length))
			}
		}
	}
	return w.meta.AppendKeyValueMetadata(indexKey, base64.StdEncoding.EncodeToString(b))
}

// adoptIndex puts the places of the page index of a file of leat to where the library looks for them.
func (r *Reader) adoptIndex() {
	meta := r.fr.MetaData()
	text := meta.KeyValueMetadata().FindValue(indexKey)
	if text == nil {
		return
	}
	b, err := base64.StdEncoding.DecodeString(*text)
	if err != nil {
		return
	}
	next := func() int64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return 0
		}
		b = b[n:]
		return int64(v)
	}
	for _, g := range meta.RowGroups {
		for _, c := range g.Columns {
			for _, to := range []struct {
				offset **int64
				length **int32
			}{{&c.ColumnIndexOffset, &c.ColumnIndexLength}, {&c.OffsetIndexOffset, &c.OffsetIndexLength}} {
				offset, length := next(), int32(next())
				if length > 0 && *to.offset == nil {
					*to.offset, *to.length = &offset, &length
				}
			}
		}
	}
}

// noteBounds gives the index the bounds of the page at hand, nil for none.
func (p *chunkPages) noteBounds(least, most []byte) error {
	if p.bounds == nil {
		return nil
	}
	return p.bounds.AddPage(&metadata.EncodedStatistics{
		HasMin: least != nil, Min: least, HasMax: most != nil, Max: most,
		HasNullCount: true, NullCount: int64(p.pageNulls), AllNullValue: p.pageNulls == p.levels,
	})
}

// lowerBound shortens v to one that is not greater.
func lowerBound(v []byte) []byte {
	if len(v) <= indexedBytes {
		return append([]byte{}, v...)
	}
	return append([]byte{}, v[:runeEnd(v, indexedBytes)]...)
}

// upperBound shortens v to one that is not less; nil if there is none so short.
func upperBound(v []byte) []byte {
	if len(v) <= indexedBytes {
		return append([]byte{}, v...)
	}
	short := append([]byte{}, v[:runeEnd(v, indexedBytes)]...)
	for len(short) > 0 {
		r, n := utf8.DecodeLastRune(short)
		short = short[:len(short)-n]
		if r == utf8.RuneError && n <= 1 {
			return nil
		}
		for r++; r <= utf8.MaxRune; r++ {
			if utf8.ValidRune(r) {
				return utf8.AppendRune(short, r)
			}
		}
	}
	return nil
}

// runeEnd is where a rune ends at most n bytes into v.
func runeEnd(v []byte, n int) int {
	for n > 0 && !utf8.RuneStart(v[n]) {
		n--
	}
	return n
}
