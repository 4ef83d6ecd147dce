package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// chunkWriter writes the part of a leaf in a row group.
type chunkWriter interface {
	Type() parquet.Type
	Close() error
	// compressed is how many bytes its pages have, buffered about how many wait for their page.
	compressed() int64
	buffered() int64
	// writer is what takes the values.
	writer() any
}

// libraryChunk is a chunk that the library encodes: types that are rare or need no help.
type libraryChunk struct {
	file.ColumnChunkWriter
	// limit is the size in bytes at which the library ends a page, rows are those of the page at hand.
	limit, rows int
}

func (c *libraryChunk) compressed() int64 { return c.TotalCompressedBytes() }
func (c *libraryChunk) buffered() int64   { return c.CurrentEncoder().EstimatedDataEncodedSize() }
func (c *libraryChunk) writer() any       { return c.ColumnChunkWriter }

// took ends the page at hand behind pageRows rows of a flat column, of which rows came last.
func (c *libraryChunk) took(rows int) error {
	const widest = 16
	c.rows += rows
	page, ok := c.ColumnChunkWriter.(interface{ FlushCurrentPage() error })
	if c.rows < pageRows || c.rows*widest >= c.limit || !ok { // the library may have ended the page itself
		return nil
	}
	c.rows = 0
	return page.FlushCurrentPage()
}

// newChunk starts the chunk of a leaf whose metadata is meta; bounds take those of its pages, if they are wanted.
func newChunk(meta *metadata.ColumnChunkMetaDataBuilder, pager file.PageWriter, props *parquet.WriterProperties, shared *pageRoom, bounds metadata.ColumnIndexBuilder) chunkWriter {
	p := chunkPages{
		meta: meta, pager: pager, limit: int(props.DataPageSize()), pageRoom: shared, bounds: bounds,
		maxDef: meta.Descr().MaxDefinitionLevel(), maxRep: meta.Descr().MaxRepetitionLevel(),
	}
	p.take()
	path := meta.Descr().Path()
	dict, delta := props.DictionaryEnabledFor(path), props.EncodingFor(path) == parquet.Encodings.DeltaBinaryPacked
	dictLimit := int(props.DictionaryPageSizeLimit())
	switch meta.Descr().PhysicalType() {
	case parquet.Types.Int32:
		return newIntChunk[int32](p, dict, delta, dictLimit)
	case parquet.Types.Int64:
		return newIntChunk[int64](p, dict, delta, dictLimit)
	case parquet.Types.ByteArray:
		return newBytesChunk(p, dict, dictLimit, props.StatisticsEnabledFor(path), int(props.MaxStatsSizeFor(path)))
	default:
		return &libraryChunk{ColumnChunkWriter: file.NewColumnChunkWriter(meta, pager, props), limit: int(props.DataPageSize())}
	}
}

// chunkPages makes the pages of a chunk. Those of a dictionary wait for its end,
// as the dictionary stands in front of them.
type chunkPages struct {
	meta           *metadata.ColumnChunkMetaDataBuilder
	pager          file.PageWriter
	maxDef, maxRep int16
	// limit is the size in bytes of the values of a page.
	limit int

	// def and rep are the levels of the page at hand, levels their number.
	def, rep []int16
	levels   int
	// rows and pageNulls are those of the page at hand, firstRow is its first one in the chunk.
	rows, pageNulls int
	firstRow        int64
	// bounds take the bounds of pages for the index; nil if it has none.
	bounds metadata.ColumnIndexBuilder
	// nulls and values count for the whole chunk.
	nulls, values int64
	held          []*file.DataPageV1
	size          int64
	// pageRoom is shared by all chunks of a file.
	*pageRoom
}

// pageRoom is the memory for making a page, used by one chunk at a time.
type pageRoom struct {
	page   []byte
	packed bytes.Buffer
}

// maxRoom is how large memory for values or a page may be that is kept for later: pages of long
// values are larger.
const maxRoom = 4 << 20

// give keeps the room for another file.
func (r *pageRoom) give() {
	if cap(r.page) <= maxRoom && r.packed.Cap() <= 2*maxRoom {
		pagePool.Put(r)
	}
}

// pagePool and its likes keep the memory of files that were written: fresh memory takes about as long
// as what is done in it.
var pagePool = sync.Pool{New: func() any { return new(pageRoom) }}

func (p *chunkPages) Type() parquet.Type { return p.meta.Descr().PhysicalType() }
func (p *chunkPages) compressed() int64  { return p.size }

// addLevels takes the levels of some slots, of which values have a value.
func (p *chunkPages) addLevels(slots, values int, def, rep []int16) {
	p.levels += slots
	p.values += int64(values)
	p.nulls += int64(slots - values)
	p.pageNulls += slots - values
	if p.maxDef > 0 {
		p.def = append(p.def, def...)
	}
	if p.maxRep == 0 {
		p.rows += slots
		return
	}
	p.rep = append(p.rep, rep...)
	for _, l := range rep {
		if l == 0 {
			p.rows++
		}
	}
}

// full reports whether the page at hand has as many rows, or levels, as a page may have.
func (p *chunkPages) full() bool { return p.rows >= pageRows || p.levels*4 >= p.limit }

// begin starts the page at hand with its levels; the caller appends the values.
func (p *chunkPages) begin() []byte {
	p.page = appendLevels(p.page[:0], p.rep, p.maxRep)
	return appendLevels(p.page, p.def, p.maxDef)
}

// appendLevels appends levels behind their length, if there are any at all.
func appendLevels(dst []byte, levels []int16, highest int16) []byte {
	if highest == 0 {
		return dst
	}
	at := len(dst)
	dst = appendHybrid(append(dst, 0, 0, 0, 0), levels, bits.Len16(uint16(highest)))
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// end writes the page that begin started, or holds it back.
func (p *chunkPages) end(page []byte, enc parquet.Encoding, hold bool) error {
	if len(page) > math.MaxInt32 {
		return fmt.Errorf("a page of %d bytes", len(page))
	}
	p.page = page
	data := page
	if p.pager.HasCompressor() {
		p.packed.Reset()
		data = p.pager.Compress(&p.packed, page)
	}
	if hold {
		data = bytes.Clone(data)
	}
	p.size += int64(len(data))
	d := file.NewDataPageV1WithConfig(memory.NewBufferBytes(data), parquet.Encodings.RLE, parquet.Encodings.RLE, file.DataPageConfig{
		Num: int32(p.levels), Encoding: enc, UncompressedSize: int32(len(page)), FirstRowIndex: p.firstRow,
	})
	p.firstRow += int64(p.rows)
	p.def, p.rep, p.levels, p.rows, p.pageNulls = p.def[:0], p.rep[:0], 0, 0, 0
	if hold {
		p.held = append(p.held, d)
		return nil
	}
	return p.write(d)
}

func (p *chunkPages) write(d *file.DataPageV1) error {
	defer d.Release()
	_, err := p.pager.WriteDataPage(d)
	return err
}

// writeDictionary writes the dictionary of n entries, and the pages that waited for it.
func (p *chunkPages) writeDictionary(dict []byte, n int) error {
	if len(dict) == 0 { // the compressor takes no empty page
		return p.writeHeld()
	}
	page := file.NewDictionaryPage(memory.NewBufferBytes(dict), int32(n), parquet.Encodings.Plain)
	defer page.Release()
	if _, err := p.pager.WriteDictionaryPage(page); err != nil {
		return err
	}
	return p.writeHeld()
}

func (p *chunkPages) writeHeld() error {
	for _, d := range p.held {
		if err := p.write(d); err != nil {
			return err
		}
	}
	p.held = nil
	return nil
}

// levelRoom keeps levels.
type levelRoom struct{ def, rep []int16 }

var levelPool = sync.Pool{New: func() any { return new(levelRoom) }}

// take gets memory for levels, give returns it.
func (p *chunkPages) take() {
	r := levelPool.Get().(*levelRoom)
	p.def, p.rep = r.def[:0], r.rep[:0]
}

func (p *chunkPages) give() {
	levelPool.Put(&levelRoom{p.def, p.rep})
	p.def, p.rep = nil, nil
}

// finish ends the chunk; least and most are the plain forms of its bounds, nil without.
func (p *chunkPages) finish(hasDict, gaveUp, stats bool, least, most []byte) error {
	p.give()
	if stats {
		var s metadata.EncodedStatistics
		s.SetNullCount(p.nulls)
		s.Signed = p.meta.Descr().SortOrder() == schema.SortSIGNED
		if least != nil {
			s.SetMin(least)
		}
		if most != nil {
			s.SetMax(most)
		}
		p.meta.SetStats(s)
	}
	if p.bounds != nil {
		if err := p.bounds.Finish(); err != nil {
			return fmt.Errorf("indexing pages: %w", err)
		}
	}
	return p.pager.Close(hasDict, gaveUp)
}

// densely calls put with the values that are there, run by run.
func densely(valid []byte, offset int64, n int, put func(from, to int)) {
	set := func(i int) bool { at := offset + int64(i); return valid[at>>3]>>(at&7)&1 != 0 }
	for i := 0; i < n; {
		if !set(i) {
			i++
			continue
		}
		from := i
		for i < n && set(i) {
			i++
		}
		put(from, i)
	}
}
