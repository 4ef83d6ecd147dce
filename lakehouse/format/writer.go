package format

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"leat/internal/columnar"
	"leat/lakehouse/format/orc"
)

// FileInfo describes a finished file: its size in bytes, its rows, and
// statistics with one entry a column, in the order of the fields.
type FileInfo = orc.FileInfo

// magic stands at both ends of a file.
const magic = "PAR1"

// Writer writes one Parquet file. It is not safe for concurrent use.
type Writer struct {
	opts   Options
	fields []columnar.Field
	props  *parquet.WriterProperties
	meta   *metadata.FileMetaDataBuilder
	index  *metadata.PageIndexBuilder
	// places are the parts of index that say where the pages of a chunk are.
	places []*metadata.OffsetIndexBuilder
	sink   tellWriter
	cols   []column
	rows   int64
	// rg is the row group at hand, nil between two; groupRows are its rows, groups those before it.
	rg        *metadata.RowGroupMetaDataBuilder
	groupRows int
	groups    int16
	// leaf is the place of the next chunk in the row group at hand.
	leaf int16
	room *pageRoom
	// cut sums the compressed bytes of the row groups already cut.
	cut int64
	err error
}

// tellWriter counts what it writes. Small pieces, such as the headers of pages,
// wait for each other.
type tellWriter struct {
	w *bufio.Writer
	n int64
}

var sinkPool = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 16<<10) }}

func newTellWriter(w io.Writer) tellWriter {
	b := sinkPool.Get().(*bufio.Writer)
	b.Reset(w)
	return tellWriter{w: b}
}

// end writes what waits and gives the memory back.
func (t *tellWriter) end() error {
	err := t.w.Flush()
	t.w.Reset(nil)
	sinkPool.Put(t.w)
	t.w = nil
	return err
}

func (t *tellWriter) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	t.n += int64(n)
	return n, err
}

// Tell is where the next byte goes.
func (t *tellWriter) Tell() int64 { return t.n }

// NewWriter starts a file on w with the given columns, their ids included.
func NewWriter(w io.Writer, fields []columnar.Field, opts Options) (wr *Writer, err error) {
	defer recoverInto(&err, "starting a parquet file")
	opts = opts.withDefaults()
	root, err := parquetSchema(fields)
	if err != nil {
		return nil, err
	}
	wr = &Writer{opts: opts, fields: fields, cols: make([]column, len(fields)), sink: newTellWriter(w), room: pagePool.Get().(*pageRoom)}
	if wr.props, err = opts.properties(fields); err != nil {
		return nil, err
	}
	columns := schema.NewSchema(root)
	wr.meta = metadata.NewFileMetadataBuilder(columns, wr.props, nil)
	wr.index = &metadata.PageIndexBuilder{Schema: columns}
	for i, f := range fields {
		wr.cols[i] = newColumn(f)
	}
	if _, err := io.WriteString(&wr.sink, magic); err != nil {
		return nil, fmt.Errorf("starting a parquet file: %w", err)
	}
	return wr, nil
}

// WriteBatch appends rows rows. cols[i] is column i in the form of
// columnar.ArrowType and has rows entries; it is not kept.
func (w *Writer) WriteBatch(cols []arrow.Array, rows int) (err error) {
	if w.err != nil {
		return w.err
	}
	if rows == 0 {
		return nil
	}
	defer func() { w.err = err }()
	defer recoverInto(&err, "encoding parquet")
	if len(cols) != len(w.cols) {
		return fmt.Errorf("encoding parquet: %d columns given, the file has %d", len(cols), len(w.cols))
	}
	if w.rg == nil {
		if err = w.openRowGroup(); err != nil {
			return err
		}
	}
	for i := range w.cols {
		if cols[i].Len() != rows {
			return fmt.Errorf("encoding column %s: %d values for %d rows", w.fields[i].Name, cols[i].Len(), rows)
		}
		if err = w.cols[i].write(cols[i]); err != nil {
			return fmt.Errorf("encoding column %s: %w", w.fields[i].Name, err)
		}
	}
	w.rows += int64(rows)
	w.groupRows += rows
	if w.compressed() >= w.opts.BlockSize {
		return w.cutRowGroup()
	}
	return nil
}

// WriteColumns appends rows rows as a row group of its own, column by column:
// give calls put with arrays of column col, in order, which have rows entries
// together and are not kept. That takes less memory than WriteBatch, as the pages of one column go
// to the file before the next one begins.
func (w *Writer) WriteColumns(rows int, give func(col int, put func(arrow.Array) error) error) (err error) {
	if w.err != nil {
		return w.err
	}
	if rows == 0 {
		return nil
	}
	defer func() { w.err = err }()
	defer recoverInto(&err, "encoding parquet")
	if err = w.cutRowGroup(); err != nil {
		return err
	}
	if err = w.beginRowGroup(); err != nil {
		return err
	}
	for i := range w.cols {
		c, name, n := &w.cols[i], w.fields[i].Name, 0
		if err = w.openColumn(i, len(c.leaves) > 1); err != nil {
			return err
		}
		err = give(i, func(a arrow.Array) error {
			n += a.Len()
			return c.write(a)
		})
		if err != nil {
			return fmt.Errorf("encoding column %s: %w", name, err)
		}
		if n != rows {
			return fmt.Errorf("encoding column %s: %d values for %d rows", name, n, rows)
		}
		if err = w.closeColumn(i); err != nil {
			return err
		}
	}
	w.rows += int64(rows)
	return w.endRowGroup(rows)
}

func (w *Writer) beginRowGroup() error {
	if err := w.index.AppendRowGroup(); err != nil {
		return fmt.Errorf("starting a row group: %w", err)
	}
	w.rg, w.leaf = w.meta.AppendRowGroup(), 0
	return nil
}

// openRowGroup starts a row group and the chunks of all leaves.
func (w *Writer) openRowGroup() error {
	if err := w.beginRowGroup(); err != nil {
		return err
	}
	for i := range w.cols {
		if err := w.openColumn(i, true); err != nil {
			return err
		}
	}
	return nil
}

// openColumn starts the chunks of the leaves of column i, which comes next; their pages
// wait for its end if buffered is set.
func (w *Writer) openColumn(i int, buffered bool) error {
	for k := range w.cols[i].leaves {
		meta := w.rg.NextColumnChunk()
		path := meta.Descr().Path()
		pager, err := file.NewPageWriter(&w.sink, w.props.CompressionFor(path), w.props.CompressionLevelFor(path), meta, w.groups, w.leaf, w.opts.Mem, buffered, nil, nil)
		if err != nil {
			return fmt.Errorf("starting column %s: %w", w.fields[i].Name, err)
		}
		bounds, err := w.indexed(pager, meta)
		if err != nil {
			return fmt.Errorf("starting column %s: %w", w.fields[i].Name, err)
		}
		w.cols[i].leaves[k].cw = newChunk(meta, pager, w.props, w.room, bounds)
		w.leaf++
	}
	return nil
}

func (w *Writer) closeColumn(i int) error {
	for k := range w.cols[i].leaves {
		cw := w.cols[i].leaves[k].cw
		if err := cw.Close(); err != nil {
			return fmt.Errorf("ending column %s: %w", w.fields[i].Name, err)
		}
		w.cut += cw.compressed()
	}
	return nil
}

// compressed is the size of the finished pages of the row group at hand.
func (w *Writer) compressed() (n int64) {
	for i := range w.cols {
		for k := range w.cols[i].leaves {
			n += w.cols[i].leaves[k].cw.compressed()
		}
	}
	return n
}

func (w *Writer) cutRowGroup() error {
	if w.rg == nil {
		return nil
	}
	for i := range w.cols {
		if err := w.closeColumn(i); err != nil {
			return err
		}
	}
	return w.endRowGroup(w.groupRows)
}

// endRowGroup ends the row group at hand, whose columns are at their end.
func (w *Writer) endRowGroup(rows int) error {
	w.rg.SetNumRows(rows)
	if err := w.rg.Finish(0, w.groups); err != nil {
		return fmt.Errorf("closing a row group: %w", err)
	}
	w.rg, w.groupRows = nil, 0
	w.groups++
	return nil
}

// Size is about how many bytes the file has so far; data of unfinished pages counts as it is before compression.
func (w *Writer) Size() int64 {
	if w.rg == nil {
		return w.cut
	}
	n := w.cut + w.compressed()
	for i := range w.cols {
		for k := range w.cols[i].leaves {
			n += w.cols[i].leaves[k].cw.buffered()
		}
	}
	return n
}

// Close writes the footer. The underlying writer stays open.
func (w *Writer) Close() (info FileInfo, err error) {
	defer recoverInto(&err, "closing a parquet file")
	if w.err != nil {
		return info, w.err
	}
	if err := w.cutRowGroup(); err != nil {
		return info, err
	}
	w.room.give()
	w.room = nil
	meta, err := w.writeFooter()
	if err != nil {
		return info, fmt.Errorf("closing a parquet file: %w", err)
	}
	info = FileInfo{Size: w.sink.n, Rows: w.rows, Stats: make([]ColumnStats, len(w.fields))}
	at := 0
	for i, f := range w.fields {
		if c := &w.cols[i]; c.nested == nil {
			if info.Stats[i], err = footerStats(meta, at, f.Type, w.opts.Mem); err != nil {
				return info, fmt.Errorf("reading statistics of column %s: %w", f.Name, err)
			}
			if c.leaves[0].nan {
				info.Stats[i].MinMax = nil
			}
		}
		info.Stats[i].Nulls = w.cols[i].nulls
		at += len(w.cols[i].leaves)
	}
	return info, nil
}

// writeFooter ends the file: the index of pages, metadata, their length, magic.
func (w *Writer) writeFooter() (*metadata.FileMetaData, error) {
	if err := w.writeIndex(); err != nil {
		return nil, err
	}
	meta, err := w.meta.Finish()
	if err != nil {
		return nil, err
	}
	from := w.sink.n
	if _, err := meta.WriteTo(&w.sink, nil); err != nil {
		return nil, err
	}
	end := binary.LittleEndian.AppendUint32(nil, uint32(w.sink.n-from))
	if _, err := w.sink.Write(append(end, magic...)); err != nil {
		return nil, err
	}
	return meta, w.sink.end()
}

// recoverInto turns a panic of the Parquet library into an error.
func recoverInto(err *error, doing string) {
	if r := recover(); r != nil {
		if cause, ok := r.(error); ok {
			*err = fmt.Errorf("%s: %w", doing, cause)
			return
		}
		*err = fmt.Errorf("%s: %v", doing, r)
	}
}
