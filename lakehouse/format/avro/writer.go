package avro

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"leat/internal/columnar"
	"leat/lakehouse/format"
	"leat/lakehouse/spec"
)

// blockBytes is the size of a block before compression.
const blockBytes = 64_000

// syncBytes is the length of the marker between blocks.
const syncBytes = 16

const magic = "Obj\x01"

// Writer writes one Avro file. It is not safe for concurrent use.
type Writer struct {
	out  io.Writer
	cols []*encoder
	sync [syncBytes]byte
	enc  *zstd.Encoder // nil writes blocks as they are
	// block is the block at hand, records what is in it; packed and head are used again.
	block, packed, head []byte
	records             int64
	rows                int64
	size                int64
	err                 error
}

// NewWriter starts a file on w with the given columns. Of opts, Compression,
// ZstdLevel and Unbounded count: uncompressed stays so, everything else becomes zstd.
func NewWriter(w io.Writer, fields []columnar.Field, opts format.Options) (*Writer, error) {
	schema, err := schemaOf(fields)
	if err != nil {
		return nil, err
	}
	wr := &Writer{out: w, cols: make([]*encoder, len(fields)), sync: uuid.New()}
	codec := "null"
	if opts.Compression != "uncompressed" {
		codec = "zstandard"
		wr.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(max(opts.ZstdLevel, 1))), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(128<<10))
		if err != nil {
			return nil, fmt.Errorf("starting an avro file: %w", err)
		}
	}
	for i, f := range fields {
		wr.cols[i] = newEncoder(f)
		mode := spec.StatsMode{Kind: spec.StatsFull}
		if slices.Contains(opts.Unbounded, f.Name) {
			mode.Kind = spec.StatsCounts
		}
		wr.cols[i].stats = spec.NewColumnStats(mode)
	}
	b := append([]byte(magic), binary.AppendVarint(nil, 2)...)
	for _, kv := range [][2]string{{"avro.schema", string(schema)}, {"avro.codec", codec}} {
		b = appendBytes(appendBytes(b, kv[0]), kv[1])
	}
	b = append(b, 0)
	return wr, wr.write(append(b, wr.sync[:]...))
}

func appendBytes(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

func (w *Writer) write(b []byte) error {
	n, err := w.out.Write(b)
	w.size += int64(n)
	if err != nil {
		w.err = fmt.Errorf("writing an avro file: %w", err)
	}
	return w.err
}

// WriteBatch appends rows rows. cols[i] is column i in the form of
// columnar.ArrowType and has rows entries; it is not kept.
func (w *Writer) WriteBatch(cols []arrow.Array, rows int) error {
	if w.err != nil {
		return w.err
	}
	if len(cols) != len(w.cols) {
		return fmt.Errorf("encoding avro: %d columns given, the file has %d", len(cols), len(w.cols))
	}
	for i := range w.cols {
		if cols[i].Len() != rows {
			return fmt.Errorf("encoding column %s: %d values for %d rows", w.cols[i].field.Name, cols[i].Len(), rows)
		}
		if err := w.cols[i].bind(cols[i]); err != nil {
			return err
		}
		w.cols[i].stats.Update(cols[i], w.cols[i].field.Type)
	}
	for r := range rows {
		for i := range w.cols {
			w.block = w.cols[i].append(w.block, r)
		}
		w.records++
		if len(w.block) >= blockBytes {
			if err := w.cut(); err != nil {
				return err
			}
		}
	}
	for _, c := range w.cols {
		if w.err = c.check(); w.err != nil {
			return w.err
		}
	}
	w.rows += int64(rows)
	return nil
}

// cut writes the block at hand.
func (w *Writer) cut() error {
	if w.records == 0 {
		return nil
	}
	content := w.block
	if w.enc != nil {
		w.packed = w.enc.EncodeAll(w.block, w.packed[:0])
		content = w.packed
	}
	w.head = binary.AppendVarint(binary.AppendVarint(w.head[:0], w.records), int64(len(content)))
	for _, part := range [][]byte{w.head, content, w.sync[:]} {
		if err := w.write(part); err != nil {
			return err
		}
	}
	w.block, w.records = w.block[:0], 0
	return nil
}

// Size is how many bytes the file has so far, those of an unfinished block before compression.
func (w *Writer) Size() int64 { return w.size + int64(len(w.block)) }

// Close writes what is left. The underlying writer stays open.
func (w *Writer) Close() (format.FileInfo, error) {
	if w.err == nil {
		w.err = w.cut()
	}
	info := format.FileInfo{Size: w.size, Rows: w.rows, Stats: make([]format.ColumnStats, len(w.cols))}
	for i, c := range w.cols {
		info.Stats[i] = format.ColumnStats{Nulls: c.stats.NullCount(), MinMax: c.stats.Bounds(memory.DefaultAllocator, c.field.Type)}
	}
	return info, w.err
}
