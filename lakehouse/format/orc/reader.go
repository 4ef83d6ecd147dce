package orc

import (
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/fileio"
)

// DefaultBatchRows is the number of rows a Reader gives at once.
const DefaultBatchRows = 8192

// batchBytes is how large a batch is wanted at most, by the file's statistics.
const batchBytes = 64 << 20

// ReadOptions steer a Reader.
type ReadOptions struct {
	// BatchRows is the greatest number of rows of a batch; 0 means
	// DefaultBatchRows. Files with long values give fewer.
	BatchRows int
	// Filter leaves out stripes and row groups; nil keeps all.
	Filter Filter
	// Mem allocates the arrays; nil means the Go allocator.
	Mem memory.Allocator
}

// Reader yields the wanted columns of one ORC file in batches. Memory is
// bounded by one chunk a stream, the dictionaries of one stripe and the batch.
// It is not safe for concurrent use.
type Reader struct {
	path   string
	file   fileio.File
	opts   ReadOptions
	ps     postScript
	footer footer
	codec  decompressor
	block  int
	root   *node
	wanted []columnar.Field
	cols   []columnReader
	// ids are the types that cols read.
	ids         []int
	metadataAt  int64
	stripeStats [][]byte
	// next is the next stripe to open, first the number of rows before the open one.
	next        int
	before      int64
	first       int64
	open        *stripe
	left        []span
	at          int64
	batchRows   int64
	lastRow     int64
	skippedRows int64
}

// OpenReader opens the file f, whose path is only for error text. wanted are
// the columns to read, by name; one that the file lacks reads as nulls. Damaged
// files give a *CorruptError. The Reader owns f, also when OpenReader fails.
func OpenReader(f fileio.File, path string, wanted []columnar.Field, opts ReadOptions) (*Reader, error) {
	if opts.BatchRows <= 0 {
		opts.BatchRows = DefaultBatchRows
	}
	if opts.Mem == nil {
		opts.Mem = memory.DefaultAllocator
	}
	r := &Reader{path: path, file: f, opts: opts, wanted: wanted}
	if err := r.readTail(); err != nil {
		_ = f.Close()
		return nil, explain(err, path, "reading the footer")
	}
	set := readerSet{mem: opts.Mem}
	for _, w := range wanted {
		c, err := set.column(r.root.child(w.Name), w.Type)
		if err != nil {
			_ = f.Close()
			return nil, explain(err, path, "column "+w.Name)
		}
		r.cols = append(r.cols, c)
		r.ids = c.ids(r.ids)
	}
	r.batchRows = r.chooseBatchRows()
	return r, nil
}

// tailSize is how much of the end of a file is read at once.
const tailSize = 16 << 10

// readTail reads postscript and footer and checks what the rest relies on.
func (r *Reader) readTail() error {
	size := r.file.Size()
	tail := make([]byte, min(size, tailSize))
	if len(tail) < 4 {
		return corruptf(0, "%d bytes are too short", size)
	}
	if err := readAt(r.file, tail, size-int64(len(tail))); err != nil {
		return err
	}
	n := int(tail[len(tail)-1])
	if n+1 > len(tail) {
		return corruptf(size, "the postscript is longer than the file")
	}
	psAt := size - 1 - int64(n)
	var ps postScript
	err := decode(tail[len(tail)-1-n:len(tail)-1], ps.fields)
	if err != nil || ps.magic != magic {
		return corruptf(psAt, "no ORC postscript")
	}
	r.ps = ps
	if len(ps.version) > 0 && ps.version[0] > 0 {
		return &UnsupportedError{Feature: fmt.Sprintf("file version %v", ps.version)}
	}
	if r.codec, err = newDecompressor(ps.compression); err != nil {
		return err
	}
	r.block = int(min(ps.blockSize, math.MaxInt32))
	if r.codec != nil && (r.block == 0 || r.block > maxBlockSize) {
		return corruptf(psAt, "a compression block of %d bytes", ps.blockSize)
	}
	if ps.footerLength > uint64(psAt) || ps.metadataLength > uint64(psAt)-ps.footerLength {
		return corruptf(psAt, "a footer of %d bytes", ps.footerLength)
	}
	footerAt := psAt - int64(ps.footerLength)
	r.metadataAt = footerAt - int64(ps.metadataLength)
	b, err := r.section(footerAt, int64(ps.footerLength))
	if err != nil {
		return err
	}
	if err := decode(b, r.footer.fields); err != nil {
		return corruptf(footerAt, "the footer: %v", err)
	}
	if r.root, err = treeOf(r.footer.types); err != nil {
		return corruptf(footerAt, "the schema: %v", err)
	}
	return r.checkFooter(footerAt)
}

func (r *Reader) checkFooter(at int64) error {
	switch {
	case r.footer.encrypted:
		return &UnsupportedError{Feature: "encryption"}
	case r.root.info.kind != kindStruct:
		return &UnsupportedError{Feature: "a file whose rows are of type " + r.root.info.kind.String()}
	}
	var rows uint64
	limit := uint64(r.metadataAt)
	for i, s := range r.footer.stripes {
		if s.offset > limit || s.indexLength > limit-s.offset || s.dataLength > limit-s.offset-s.indexLength ||
			s.footerLength > limit-s.offset-s.indexLength-s.dataLength {
			return corruptf(at, "stripe %d is not within the file", i)
		}
		if s.rows > math.MaxInt64-rows {
			return corruptf(at, "stripe %d has %d rows", i, s.rows)
		}
		rows += s.rows
	}
	if rows != r.footer.rows {
		return corruptf(at, "%d rows in the stripes, %d in the footer", rows, r.footer.rows)
	}
	return nil
}

// chooseBatchRows picks how many rows keep a batch near batchBytes, judged by
// the total lengths in the file's statistics.
func (r *Reader) chooseBatchRows() int64 {
	rows := int64(r.opts.BatchRows)
	if r.footer.rows == 0 {
		return rows
	}
	var total float64
	for _, id := range r.ids {
		if id >= len(r.footer.stats) {
			continue
		}
		switch s := &r.footer.stats[id]; s.kind {
		case statString, statBinary:
			total += max(0, float64(s.sum))
		default:
			total += 8 * float64(min(s.values, math.MaxInt64))
		}
	}
	if perRow := total / float64(r.footer.rows); perRow > 1 {
		rows = min(rows, max(1, int64(batchBytes/perRow)))
	}
	return rows
}

// Rows is the number of rows in the file.
func (r *Reader) Rows() int64 { return int64(r.footer.rows) }

// Fields describes the columns of the file; ids come from attribute paimon.id
// and are -1 without it, timestamps have precision 9.
func (r *Reader) Fields() ([]columnar.Field, error) {
	fs, err := r.root.fields()
	if err != nil {
		return nil, explain(err, r.path, "reading the schema")
	}
	return fs, nil
}

// Stats gives the statistics of the whole file of top-level column f, by name
// and in the form of its type; false if there are none.
func (r *Reader) Stats(f columnar.Field) (ColumnStats, bool) {
	if !r.trustsStats() {
		return ColumnStats{}, false
	}
	return r.lookup(r.Rows(), func(id int) *fileStat {
		if id < len(r.footer.stats) {
			return &r.footer.stats[id]
		}
		return nil
	})(f)
}

// FirstRow is the number, within the file, of the first row of the last batch.
func (r *Reader) FirstRow() int64 { return r.lastRow }

// Skipped is the number of rows that the filter has left out so far.
func (r *Reader) Skipped() int64 { return r.skippedRows }

// Next gives the next batch, one array a wanted column in the form of
// columnar.ArrowType, which the caller releases; io.EOF after the last. The
// rows of a batch follow each other in the file.
func (r *Reader) Next() (cols []arrow.Array, rows int, err error) {
	for len(r.left) == 0 {
		if r.next >= len(r.footer.stripes) {
			return nil, 0, io.EOF
		}
		if err := r.nextStripe(); err != nil {
			return nil, 0, explain(err, r.path, fmt.Sprintf("opening stripe %d", r.next-1))
		}
	}
	s := &r.left[0]
	if r.at != s.from {
		group := int(s.from / int64(r.footer.stride))
		if err := seekAll(group, r.cols); err != nil {
			return nil, 0, explain(err, r.path, fmt.Sprintf("seeking to row group %d of stripe %d", group, r.next-1))
		}
		r.at = s.from
	}
	n := int(min(s.to-s.from, r.batchRows))
	r.open.budget = maxBatchBytes
	cols = make([]arrow.Array, len(r.cols))
	for i, c := range r.cols {
		if cols[i], err = c.read(n, nil, n); err != nil {
			for _, done := range cols[:i] {
				done.Release()
			}
			r.left, r.next = nil, len(r.footer.stripes)
			return nil, 0, explain(err, r.path, "decoding column "+r.wanted[i].Name)
		}
	}
	r.lastRow = r.first + s.from
	s.from += int64(n)
	r.at = s.from
	if s.from == s.to {
		r.left = r.left[1:]
	}
	return cols, n, nil
}

// nextStripe opens the next stripe, or passes over it.
func (r *Reader) nextStripe() error {
	i := r.next
	r.next++
	rows := int64(r.footer.stripes[i].rows)
	r.first, r.before = r.before, r.before+rows
	keep, err := r.keepStripe(i)
	if err != nil || !keep || rows == 0 {
		r.skippedRows += rows
		return err
	}
	s, err := r.openStripe(i)
	if err != nil {
		return err
	}
	if r.left, err = r.spans(s); err != nil {
		return err
	}
	kept := int64(0)
	for _, sp := range r.left {
		kept += sp.to - sp.from
	}
	r.skippedRows += rows - kept
	if kept == 0 {
		return nil
	}
	if r.open != nil {
		r.open.close()
	}
	r.open, r.at = s, 0
	if err := s.readAhead(r.ids); err != nil {
		return err
	}
	return openAll(s, r.cols)
}

// Close closes the file.
func (r *Reader) Close() error {
	if r.open != nil {
		r.open.close()
		r.open, r.left, r.next = nil, nil, len(r.footer.stripes)
	}
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("closing ORC file %s: %w", r.path, err)
	}
	return nil
}
