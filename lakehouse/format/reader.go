package format

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/format/orc"
)

// DefaultBatchRows is the number of rows a Reader gives at once.
const DefaultBatchRows = 8192

// ReadOptions steer a Reader.
type ReadOptions struct {
	// BatchRows is the greatest number of rows of a batch; 0 means DefaultBatchRows.
	BatchRows int
	// BufferSize is the read buffer of a column in bytes; 0 means 64 KiB.
	BufferSize int64
	// Mem allocates the arrays; nil means the Go allocator. Its memory need not be zeroed.
	Mem memory.Allocator
	// Filter leaves out stripes and row groups of ORC files, and row groups and pages of
	// Parquet files; nil keeps all, and so do other formats.
	Filter Filter
}

// Filter is asked whether rows stored together may hold one that is wanted.
type Filter = orc.Filter

// Reader yields the wanted columns of one Parquet file in batches. Memory is
// bounded by one page a column and the batch. It is not safe for concurrent use.
type Reader struct {
	path string
	src  *source
	fr   *file.Reader
	opts ReadOptions
	cols []columnReader
	// group is the next row group, spans are rows of the open one to give yet, and pos is the row
	// of it that the columns stand at.
	group int
	spans []rowSpan
	pos   int64
	rows  int64
	// before are the rows of the file before the open row group, next those before the next one;
	// first is the place in the file of the last batch.
	before, next, first int64
}

// OpenReader opens the file f, whose path is only for error text. wanted are
// columns of the schema that the file was written with; one that the file
// lacks reads as nulls. Damaged files give errors of domain Corrupt. The
// Reader owns f, also when OpenReader fails.
func OpenReader(f fileio.File, path string, wanted []columnar.Field, opts ReadOptions) (r *Reader, err error) {
	if opts.BatchRows <= 0 {
		opts.BatchRows = DefaultBatchRows
	}
	if opts.BufferSize <= 0 {
		opts.BufferSize = 64 << 10
	}
	if opts.Mem == nil {
		opts.Mem = memory.DefaultAllocator
	}
	src := &source{f: f, size: f.Size()}
	r = &Reader{path: path, src: src, opts: opts, cols: make([]columnReader, len(wanted))}
	defer func() {
		if err != nil {
			err = r.explain(err, 0)
			_ = f.Close()
			r = nil
		}
	}()
	defer recoverInto(&err, "reading the footer")
	props := parquet.NewReaderProperties(memory.DefaultAllocator)
	props.BufferedStreamEnabled = true
	props.BufferSize = opts.BufferSize
	meta, err := readFooter(src)
	if err != nil {
		return r, fmt.Errorf("reading the footer: %w", err)
	}
	r.fr, err = file.NewParquetReader(src, file.WithReadProps(props), file.WithMetadata(meta))
	if err != nil {
		return r, fmt.Errorf("reading the footer: %w", err)
	}
	root := r.fr.MetaData().Schema.Root()
	for i, f := range wanted {
		if r.cols[i], err = newColumnReader(f, root, r.fr.MetaData().Schema, opts.Mem); err != nil {
			return r, err
		}
	}
	if opts.Filter != nil {
		r.adoptIndex()
	}
	r.rows = r.fr.NumRows()
	if r.rows < 0 {
		return r, fmt.Errorf("reading the footer: %d rows", r.rows)
	}
	return r, nil
}

// Rows is the number of rows in the file.
func (r *Reader) Rows() int64 { return r.rows }

// Next gives the next batch, one array a wanted column in the form of
// columnar.ArrowType, which the caller releases; io.EOF after the last.
func (r *Reader) Next() (cols []arrow.Array, rows int, err error) {
	var at int64
	defer func() {
		if err != nil {
			for _, c := range cols {
				if c != nil {
					c.Release()
				}
			}
			cols, rows = nil, 0
			if !errors.Is(err, io.EOF) {
				err = r.explain(err, at)
			}
		}
	}()
	defer recoverInto(&err, "decoding")
	for len(r.spans) == 0 {
		if r.group >= r.fr.NumRowGroups() {
			return nil, 0, io.EOF
		}
		if at, err = r.nextGroup(); err != nil {
			return nil, 0, notEOF(err)
		}
	}
	s := &r.spans[0]
	if at, err = r.seek(s.from); err != nil {
		return nil, 0, notEOF(err)
	}
	n := int(min(s.to-s.from, int64(r.opts.BatchRows)))
	cols = make([]arrow.Array, len(r.cols))
	for i := range r.cols {
		at = r.cols[i].offset
		if cols[i], err = r.cols[i].read(n); err != nil {
			return cols, 0, fmt.Errorf("decoding column %s: %w", r.cols[i].field.Name, notEOF(err))
		}
	}
	r.first = r.before + s.from
	s.from += int64(n)
	r.pos = s.from
	if s.from == s.to {
		r.spans = r.spans[1:]
	}
	return cols, n, nil
}

// FirstRow is the number, within the file, of the first row of the last batch.
func (r *Reader) FirstRow() int64 { return r.first }

// nextGroup starts the next row group, or goes over it if the filter does, and gives the file offset concerned.
func (r *Reader) nextGroup() (at int64, err error) {
	g := r.group
	r.group++
	rg := r.fr.RowGroup(g)
	rows := rg.NumRows()
	if rows < 0 {
		return 0, fmt.Errorf("row group %d has %d rows", g, rows)
	}
	r.before, r.next, r.pos = r.next, r.next+rows, 0
	keep, asked := r.keepGroup(g)
	if !keep || rows == 0 {
		return 0, nil
	}
	pages, err := r.indexOf(g)
	if err != nil {
		return 0, err
	}
	if r.spans, err = r.keepPages(pages, rows, asked); err != nil || len(r.spans) == 0 {
		return 0, err
	}
	for i := range r.cols {
		c := &r.cols[i]
		if err := c.open(rg, pages); err != nil {
			return c.offset, fmt.Errorf("opening column %s: %w", c.field.Name, err)
		}
	}
	return 0, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.src.f.Close() }

// explain tells trouble of the disk from a damaged file.
func (r *Reader) explain(err error, at int64) error {
	if r.src.err != nil {
		return fmt.Errorf("reading data file %s: %w", r.path, r.src.err)
	}
	var unsupported *UnsupportedTypeError
	if errors.As(err, &unsupported) {
		return fmt.Errorf("reading data file %s: %w", r.path, err)
	}
	return CorruptFile(r.path, at, err)
}

// CorruptFile says that the data file path is damaged near byte at.
func CorruptFile(path string, at int64, cause error) error {
	return &diag.Error{
		Domain: diag.Corrupt, Code: diag.CodeLakeCorrupt,
		Msg:   fmt.Sprintf("data file %s cannot be read (near byte %d)", path, at),
		Hint:  "restore the file from a copy, or roll the table back to a snapshot without it",
		Cause: cause,
	}
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// source is the file as the library wants it; it remembers errors of the disk.
type source struct {
	f    fileio.File
	size int64
	pos  int64
	err  error
}

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > s.size {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := s.f.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.ReadAt(p, s.pos)
	s.pos += int64(n)
	return n, err
}

func (s *source) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.pos
	case io.SeekEnd:
		offset += s.size
	}
	if offset < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	s.pos = offset
	return offset, nil
}

// leafOf finds the column called name, -1 if the file has none.
func leafOf(name string, root *schema.GroupNode, s *schema.Schema) (int, *schema.Column, error) {
	i := root.FieldIndexByName(name)
	if i < 0 {
		return -1, nil, nil
	}
	leaf := s.ColumnIndexByNode(root.Field(i))
	if leaf < 0 {
		return -1, nil, fmt.Errorf("column %s is nested in the file", name)
	}
	return leaf, s.Column(leaf), nil
}
