package format

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/file"

	"leat/internal/columnar"
	"leat/lakehouse/format/orc"
)

// FileInfo describes a finished file: its size in bytes, its rows, and
// statistics with one entry a column, in the order of the fields.
type FileInfo = orc.FileInfo

// Writer writes one Parquet file. It is not safe for concurrent use.
type Writer struct {
	opts   Options
	fields []columnar.Field
	fw     *file.Writer
	rg     file.BufferedRowGroupWriter
	cols   []column
	rows   int64
	// cut sums the compressed bytes of the row groups already cut.
	cut int64
	err error
}

// NewWriter starts a file on w with the given columns, their ids included.
func NewWriter(w io.Writer, fields []columnar.Field, opts Options) (wr *Writer, err error) {
	defer recoverInto(&err, "starting a parquet file")
	opts = opts.withDefaults()
	root, err := parquetSchema(fields)
	if err != nil {
		return nil, err
	}
	props, err := opts.properties(fields)
	if err != nil {
		return nil, err
	}
	fw, err := file.NewParquetWriterWithError(w, root, file.WithWriterProps(props))
	if err != nil {
		return nil, fmt.Errorf("starting a parquet file: %w", err)
	}
	wr = &Writer{opts: opts, fields: fields, fw: fw, cols: make([]column, len(fields))}
	for i, f := range fields {
		wr.cols[i] = newColumn(f)
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
		if w.rg, err = w.fw.AppendBufferedRowGroupChecked(); err != nil {
			return fmt.Errorf("starting a row group: %w", err)
		}
		if err = w.openColumns(); err != nil {
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
	if w.rg.TotalCompressedBytes() >= w.opts.BlockSize {
		return w.cutRowGroup()
	}
	return nil
}

// openColumns takes the chunk writers of the row group at hand.
func (w *Writer) openColumns() (err error) {
	at := 0
	for i := range w.cols {
		for k := range w.cols[i].leaves {
			if w.cols[i].leaves[k].cw, err = w.rg.Column(at); err != nil {
				return fmt.Errorf("starting column %s: %w", w.fields[i].Name, err)
			}
			at++
		}
	}
	return nil
}

func (w *Writer) cutRowGroup() error {
	if w.rg == nil {
		return nil
	}
	if err := w.rg.Close(); err != nil {
		return fmt.Errorf("closing a row group: %w", err)
	}
	w.cut += w.rg.TotalCompressedBytes()
	w.rg = nil
	return nil
}

// Size is about how many bytes the file has so far; data of unfinished pages counts as it is before compression.
func (w *Writer) Size() int64 {
	if w.rg == nil {
		return w.cut
	}
	n := w.cut + w.rg.TotalCompressedBytes()
	for i := range w.cols {
		for k := range w.cols[i].leaves {
			n += w.cols[i].leaves[k].cw.CurrentEncoder().EstimatedDataEncodedSize()
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
	if err := w.fw.Close(); err != nil {
		return info, fmt.Errorf("closing a parquet file: %w", err)
	}
	meta, err := w.fw.FileMetadata()
	if err != nil {
		return info, fmt.Errorf("reading back the footer: %w", err)
	}
	info = FileInfo{Size: w.fw.TotalBytesWritten(), Rows: w.rows, Stats: make([]ColumnStats, len(w.fields))}
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
