package avro

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/format"
)

// Limits of what a file may ask for.
const (
	maxHeader = 16 << 20
	maxBlock  = 256 << 20
)

// Reader yields the wanted columns of one Avro file in batches of a block each.
// It is not safe for concurrent use.
type Reader struct {
	path  string
	file  fileio.File
	pos   int64
	codec string
	sync  []byte
	// steps decode a record field by field.
	steps []step
	// absent are the wanted columns that the file lacks.
	absent   []int
	builders []array.Builder
	wanted   []columnar.Field
	diskErr  error
	failed   error
	packed   []byte
	plain    []byte
}

// step is what happens with a field of the file.
type step struct {
	node   *node
	column int // -1 skips
	decode func(*cursor)
}

// OpenReader opens the file f, whose path is only for error text. wanted are
// columns of the schema that the file was written with; one that the file lacks
// reads as nulls. Damaged files give errors of domain Corrupt. The Reader owns
// f, also when OpenReader fails.
func OpenReader(f fileio.File, path string, wanted []columnar.Field, opts format.ReadOptions) (*Reader, error) {
	if opts.Mem == nil {
		opts.Mem = memory.DefaultAllocator
	}
	r := &Reader{path: path, file: f, wanted: wanted}
	root, err := r.header()
	if err == nil {
		err = r.plan(root, opts.Mem)
	}
	if err != nil {
		err = r.explain(err)
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// header reads the head of the file and gives its schema.
func (r *Reader) header() (*node, error) {
	head := make([]byte, min(r.file.Size(), 64<<10))
	for {
		if err := r.read(head, 0); err != nil {
			return nil, err
		}
		meta, n, err := parseHeader(head)
		if errors.Is(err, errShort) && int64(len(head)) < min(r.file.Size(), maxHeader) {
			head = make([]byte, min(r.file.Size(), maxHeader, 4*int64(len(head))))
			continue
		}
		if err != nil {
			return nil, err
		}
		r.codec, r.sync, r.pos = string(meta["avro.codec"]), head[n-syncBytes:n], int64(n)
		return parseSchema(meta["avro.schema"])
	}
}

func parseHeader(b []byte) (map[string][]byte, int, error) {
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return nil, 0, errors.New("it is no Avro file")
	}
	c := &cursor{rest: rest}
	meta := map[string][]byte{}
	for c.err == nil {
		count := c.long(-1<<30, 1<<30)
		if count == 0 {
			break
		}
		if count < 0 {
			count = -count
			c.long(0, maxHeader)
		}
		for range count {
			if k := c.bytes(); c.err == nil {
				meta[string(k)] = c.bytes()
			}
			if c.err != nil {
				break
			}
		}
	}
	c.take(syncBytes)
	if c.err != nil {
		return nil, 0, errShort
	}
	return meta, len(b) - len(c.rest), nil
}

// plan matches the columns by name.
func (r *Reader) plan(root *node, mem memory.Allocator) error {
	at := map[string]int{}
	for i, f := range r.wanted {
		at[f.Name] = i
		r.builders = append(r.builders, array.NewBuilder(mem, columnar.ArrowType(f.Type)))
	}
	found := map[int]bool{}
	for i, n := range root.items {
		s := step{node: n, column: -1}
		if c, ok := at[root.names[i]]; ok && !found[c] {
			s.column, found[c] = c, true
			d, err := decoderOf(r.wanted[c], n, r.builders[c])
			if err != nil {
				return err
			}
			s.decode = d
		}
		r.steps = append(r.steps, s)
	}
	for i := range r.wanted {
		if !found[i] {
			r.absent = append(r.absent, i)
		}
	}
	return nil
}

// Next gives the next batch, one array a wanted column in the form of
// columnar.ArrowType, which the caller releases; io.EOF after the last.
// After an error it gives that again.
func (r *Reader) Next() (cols []arrow.Array, rows int, err error) {
	if r.failed != nil {
		return nil, 0, r.failed
	}
	for rows == 0 {
		var block []byte
		if block, rows, err = r.block(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil, 0, io.EOF
			}
			return nil, 0, r.explain(err)
		}
		if err := r.decode(block, rows); err != nil {
			// The builders end at different places, so they are of no further use.
			r.failed = r.explain(err)
			return nil, 0, r.failed
		}
	}
	for _, i := range r.absent {
		r.builders[i].AppendNulls(rows)
	}
	cols = make([]arrow.Array, len(r.builders))
	for i, b := range r.builders {
		cols[i] = b.NewArray()
	}
	return cols, rows, nil
}

func (r *Reader) decode(block []byte, rows int) error {
	c := &cursor{rest: block}
	for range rows {
		for i := range r.steps {
			s := &r.steps[i]
			if s.column < 0 {
				c.skip(s.node, 0)
				continue
			}
			s.decode(c)
		}
		if c.err != nil {
			return c.err
		}
	}
	if len(c.rest) > 0 {
		return fmt.Errorf("%d bytes after the last record of a block", len(c.rest))
	}
	return nil
}

// block reads the next block; io.EOF at the end of the file.
func (r *Reader) block() ([]byte, int, error) {
	left := r.file.Size() - r.pos
	if left == 0 {
		return nil, 0, io.EOF
	}
	var head [2 * binary.MaxVarintLen64]byte
	n := min(left, int64(len(head)))
	if err := r.read(head[:n], r.pos); err != nil {
		return nil, 0, err
	}
	c := &cursor{rest: head[:n]}
	count, size := c.long(0, maxBlock), c.long(0, min(left, maxBlock))
	r.pos += n - int64(len(c.rest))
	if c.err != nil || size+syncBytes > r.file.Size()-r.pos {
		return nil, 0, errShort
	}
	if int64(cap(r.packed)) < size+syncBytes {
		r.packed = make([]byte, size+syncBytes)
	}
	b := r.packed[:size+syncBytes]
	if err := r.read(b, r.pos); err != nil {
		return nil, 0, err
	}
	r.pos += size + syncBytes
	if !bytes.Equal(b[size:], r.sync) {
		return nil, 0, errors.New("a block ends without the sync marker")
	}
	plain, err := r.unpack(b[:size])
	if err == nil && len(r.steps) > 0 && count > int64(len(plain)) {
		err = fmt.Errorf("%d records in a block of %d bytes", count, len(plain))
	}
	return plain, int(count), err
}

var zstdReader = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true))
})

func (r *Reader) unpack(b []byte) ([]byte, error) {
	var err error
	switch r.codec {
	case "", "null":
		return b, nil
	case "zstandard":
		d, err := zstdReader()
		if err != nil {
			return nil, err
		}
		r.plain, err = d.DecodeAll(b, r.plain[:0])
		return r.plain, err
	case "deflate":
		var out bytes.Buffer
		n, err := io.Copy(&out, io.LimitReader(flate.NewReader(bytes.NewReader(b)), maxBlock+1))
		if n > maxBlock {
			return nil, errValue
		}
		return out.Bytes(), err
	case "snappy":
		const crc = 4
		n, err := snappy.DecodedLen(b)
		if err != nil || n > maxBlock || len(b) < crc {
			return nil, errShort
		}
		r.plain, err = snappy.Decode(r.plain[:cap(r.plain)], b[:len(b)-crc])
		return r.plain, err
	default:
		err = fmt.Errorf("codec %q is unknown", r.codec)
	}
	return nil, err
}

func (r *Reader) read(b []byte, at int64) error {
	n, err := r.file.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.diskErr = err
	}
	return errShort
}

// Close closes the file.
func (r *Reader) Close() error {
	for _, b := range r.builders {
		b.Release()
	}
	r.builders = nil
	return r.file.Close()
}

// explain tells trouble of the disk from a damaged file.
func (r *Reader) explain(err error) error {
	if r.diskErr != nil {
		return fmt.Errorf("reading data file %s: %w", r.path, r.diskErr)
	}
	return &diag.Error{
		Domain: diag.Corrupt, Code: diag.CodeLakeCorrupt,
		Msg:   fmt.Sprintf("data file %s cannot be read (near byte %d)", r.path, r.pos),
		Hint:  "restore the file from a copy, or roll the table back to a snapshot without it",
		Cause: err,
	}
}
