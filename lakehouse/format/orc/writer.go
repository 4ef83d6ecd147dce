package orc

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
)

// How a file names its writer. Numbers below 6 are taken by known writers; a
// reader that does not know the number assumes that no old fault is in the file
// and trusts its statistics. softwareVersion is for people.
const (
	writerID        = 100
	writerVersion   = 6
	softwareVersion = "leat"
	writerTimezone  = "UTC"
)

// FileInfo describes a finished file.
type FileInfo struct {
	Size int64
	Rows int64
	// Stats has one entry a column, in the order of the fields.
	Stats []ColumnStats
}

// Writer writes one ORC file. It is not safe for concurrent use.
type Writer struct {
	w      io.Writer
	opts   Options
	codec  compressor
	kind   Compression
	fields []columnar.Field
	types  []typeInfo
	// root is the struct of the rows, all lists it and all below it in the order of the types.
	root *structColumn
	all  []columnWriter
	outs []*outStream
	// at is the number of bytes written, groupRows and stripeRows count rows since the last cut.
	at, rows              int64
	groupRows, stripeRows int
	stripes               []stripeInfo
	// metadata is the Metadata message, grown by one stripe's statistics at a time.
	metadata []byte
	tmp      outStream
	err      error
}

// NewWriter starts a file on w with the given columns, their ids included.
func NewWriter(w io.Writer, fields []columnar.Field, opts Options) (*Writer, error) {
	kind, err := ParseCompression(opts.Compression)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	codec, err := newCompressor(kind, opts.level(kind))
	if err != nil {
		return nil, err
	}
	types, err := typesOf(fields)
	if err != nil {
		return nil, fmt.Errorf("starting an ORC file: %w", err)
	}
	block := opts.ChunkSize
	set := columnSet{codec: codec, block: block, noDictionary: opts.NoDictionary, share: opts.DictionaryShare, all: []columnWriter{nil}}
	root := &structColumn{columnBase: newColumnBase(0, columnar.Of(columnar.Row).NotNull(), set.out())}
	set.all[0] = root
	if root.children, err = set.fields(fields, true); err != nil {
		return nil, fmt.Errorf("starting an ORC file: %w", err)
	}
	wr := &Writer{
		w: w, opts: opts, codec: codec, kind: kind, fields: fields, types: types, root: root, all: set.all, outs: set.outs,
		tmp: outStream{codec: codec, block: block},
	}
	return wr, wr.emit([]byte(magic))
}

func (w *Writer) emit(b []byte) error {
	n, err := w.w.Write(b)
	w.at += int64(n)
	if err != nil {
		return fmt.Errorf("writing an ORC file: %w", err)
	}
	return nil
}

// WriteBatch appends rows rows. cols[i] is column i in the form of
// columnar.ArrowType and has rows entries; it is not kept.
func (w *Writer) WriteBatch(cols []arrow.Array, rows int) (err error) {
	if w.err != nil {
		return w.err
	}
	defer func() { w.err = err }()
	if len(cols) != len(w.root.children) {
		return fmt.Errorf("encoding ORC: %d columns given, the file has %d", len(cols), len(w.root.children))
	}
	for i, c := range cols {
		if c.Len() != rows {
			return fmt.Errorf("encoding column %s: %d values for %d rows", w.fields[i].Name, c.Len(), rows)
		}
	}
	for lo := 0; lo < rows; {
		if w.groupRows == 0 {
			for _, c := range w.all {
				c.startGroup()
			}
		}
		n := min(rows-lo, w.opts.IndexRows-w.groupRows)
		w.root.group.count(n, 0)
		for i, c := range w.root.children {
			if err := c.write(cols[i], lo, lo+n); err != nil {
				return fmt.Errorf("encoding column %s: %w", w.fields[i].Name, err)
			}
		}
		lo += n
		w.groupRows += n
		w.stripeRows += n
		w.rows += int64(n)
		if w.groupRows == w.opts.IndexRows {
			if err := w.endGroup(); err != nil {
				return err
			}
			if w.buffered() >= w.opts.StripeSize {
				if err := w.cutStripe(); err != nil {
					return err
				}
			}
		}
	}
	if w.buffered() >= w.opts.StripeSize {
		return w.cutStripe()
	}
	return nil
}

func (w *Writer) endGroup() error {
	w.groupRows = 0
	for _, c := range w.all {
		if err := c.endGroup(); err != nil {
			return fmt.Errorf("ending a row group: %w", err)
		}
	}
	return nil
}

// buffered is about how many bytes the unfinished stripe holds.
func (w *Writer) buffered() int64 {
	n := 0
	for _, c := range w.all {
		n += c.size()
	}
	return int64(n)
}

// Size is about how many bytes the file has so far.
func (w *Writer) Size() int64 { return w.at + w.buffered() }

// compressed gives b as a compressed section, valid until the next call.
func (w *Writer) compressed(b []byte) ([]byte, error) {
	w.tmp.reset()
	if err := w.tmp.write(b); err != nil {
		return nil, err
	}
	pieces, err := w.tmp.finish()
	if len(pieces) == 1 {
		return pieces[0], err
	}
	return slices.Concat(pieces...), err
}

// cutStripe writes index, data and footer of the stripe.
func (w *Writer) cutStripe() error {
	if w.stripeRows == 0 {
		return nil
	}
	if w.groupRows > 0 {
		if err := w.endGroup(); err != nil {
			return err
		}
	}
	foot := stripeFooter{timezone: writerTimezone}
	data := make([][]stream, len(w.all))
	for i, c := range w.all {
		present, err := c.common().finishPresent()
		if err != nil {
			return fmt.Errorf("ending a stripe: %w", err)
		}
		rest, enc, err := c.finish()
		if err != nil {
			return fmt.Errorf("ending a stripe: %w", err)
		}
		data[i] = append(present, rest...)
		foot.encodings = append(foot.encodings, enc)
	}
	info := stripeInfo{offset: uint64(w.at), rows: uint64(w.stripeRows)}
	for i, c := range w.all {
		b, err := w.compressed(c.common().index())
		if err != nil {
			return fmt.Errorf("ending a stripe: %w", err)
		}
		foot.streams = append(foot.streams, streamInfo{kind: streamRowIndex, column: i, length: uint64(len(b))})
		if err := w.emit(b); err != nil {
			return err
		}
	}
	info.indexLength = uint64(w.at) - info.offset
	for i, c := range w.all {
		for _, s := range data[i] {
			foot.streams = append(foot.streams, streamInfo{kind: s.kind, column: i, length: uint64(s.size())})
			c.common().stripe.bytesOnDisk += uint64(s.size())
			for _, b := range s.data {
				if err := w.emit(b); err != nil {
					return err
				}
			}
		}
	}
	info.dataLength = uint64(w.at) - info.offset - info.indexLength
	b, err := w.compressed(encode(foot.fields))
	if err != nil {
		return fmt.Errorf("ending a stripe: %w", err)
	}
	info.footerLength = uint64(len(b))
	w.stripes = append(w.stripes, info)
	if err := w.emit(b); err != nil {
		return err
	}
	w.nextStripe()
	return nil
}

// nextStripe keeps the statistics of the stripe and empties the columns.
func (w *Writer) nextStripe() {
	var stats []byte
	for _, c := range w.all {
		b := c.common()
		stats = putBytes(stats, 1, b.stripe.encode())
		b.file.merge(&b.stripe)
		c.reset()
	}
	w.metadata = putBytes(w.metadata, 1, stats)
	w.stripeRows = 0
}

var errClosed = errors.New("the ORC writer is closed")

// Close writes the tail. The underlying writer stays open.
func (w *Writer) Close() (info FileInfo, err error) {
	if w.err != nil {
		return info, w.err
	}
	defer func() {
		if w.err = err; err == nil {
			w.err = errClosed
		}
		w.tmp.close()
		for _, o := range w.outs {
			o.close()
		}
	}()
	if err := w.cutStripe(); err != nil {
		return info, err
	}
	content := uint64(w.at)
	b, err := w.compressed(w.metadata)
	if err != nil {
		return info, fmt.Errorf("ending an ORC file: %w", err)
	}
	ps := postScript{
		compression: w.kind, blockSize: uint64(w.opts.ChunkSize), version: []uint64{0, 12},
		metadataLength: uint64(len(b)), writerVersion: writerVersion, magic: magic,
	}
	if err := w.emit(b); err != nil {
		return info, err
	}
	foot := footer{
		headerLength: uint64(len(magic)), contentLength: content, stripes: w.stripes, types: w.types, rows: uint64(w.rows),
		stride: uint64(w.opts.IndexRows), writer: writerID, calendar: calendarJulianGregorian, software: softwareVersion,
	}
	for _, c := range w.all {
		foot.stats = append(foot.stats, c.common().file)
	}
	if b, err = w.compressed(encode(foot.fields)); err != nil {
		return info, fmt.Errorf("ending an ORC file: %w", err)
	}
	ps.footerLength = uint64(len(b))
	if err := w.emit(b); err != nil {
		return info, err
	}
	b = encode(ps.fields)
	if err := w.emit(append(b, byte(len(b)))); err != nil {
		return info, err
	}
	info = FileInfo{Size: w.at, Rows: w.rows, Stats: make([]ColumnStats, len(w.fields))}
	for i, f := range w.fields {
		info.Stats[i] = w.root.children[i].common().file.columnStats(w.rows, f.Type, w.opts.Mem)
	}
	return info, nil
}
