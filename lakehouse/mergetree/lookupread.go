package mergetree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"leat/internal/fileio"
)

// Bounds of what a lookup gives at a time: rows, and the blocks they stand in.
const (
	lookupRows   = 4096
	lookupBlocks = 64
)

// Reader gives the rows with the keys wanted, in order.
func (f *LookupFile) Reader(ctx context.Context, l *Layout, wanted *KeySet) (RowReader, error) {
	r := &lookupReader{file: f, layout: l, wanted: wanted, block: -1}
	var err error
	if r.codec, err = l.Codec(); err != nil {
		return nil, err
	}
	r.keys = make([]arrow.Array, len(l.Keys))
	for _, c := range l.Columns.Fields {
		g, err := newGatherer(c.Type, true)
		if err != nil {
			return nil, err
		}
		r.cols = append(r.cols, g)
	}
	if r.open, err = f.fs.Open(ctx, f.path); err != nil {
		return nil, fmt.Errorf("reading lookup file %s: %w", f.path, err)
	}
	if r.blocks, err = ipc.NewFileReader(io.NewSectionReader(r.open, 0, r.open.Size())); err != nil {
		return nil, fmt.Errorf("reading lookup file %s: %w", f.path, errors.Join(err, r.open.Close()))
	}
	return r, nil
}

// lookupReader reads the blocks that the keys wanted may be in.
type lookupReader struct {
	file   *LookupFile
	open   fileio.File
	blocks *ipc.FileReader
	layout *Layout
	codec  *KeyCodec
	wanted *KeySet
	// next is the first key not looked for yet, block the one that was read last, -1 before.
	next, block int
	keys        []arrow.Array
	cols        []gatherer
	// held are the blocks that refs are of.
	held  []arrow.RecordBatch
	refs  []rowRef
	row   []byte
	short []uint64
	at    []int64
}

func (r *lookupReader) Close() error {
	r.drop()
	return errors.Join(r.blocks.Close(), r.open.Close())
}

func (r *lookupReader) drop() {
	for _, b := range r.held {
		b.Release()
	}
	r.held, r.refs, r.at, r.block = r.held[:0], r.refs[:0], r.at[:0], -1
}

func (r *lookupReader) Next() (*Rows, error) {
	r.drop()
	lo := 0
	for r.next < r.wanted.Len() && len(r.refs) < lookupRows {
		b := r.file.first.search(lo, r.wanted, r.next) - 1
		if b < 0 {
			r.next++ // below all keys of the file
			continue
		}
		lo = b
		if b != r.block {
			if len(r.held) == lookupBlocks {
				break
			}
			if err := r.load(b); err != nil {
				return nil, err
			}
		}
		if row, ok := r.find(r.next); ok {
			r.refs = append(r.refs, rowRef{batch: uint32(len(r.held) - 1), row: uint32(row)})
			r.at = append(r.at, r.file.start[b]+int64(row))
		}
		r.next++
	}
	if len(r.refs) == 0 && r.next == r.wanted.Len() {
		return nil, io.EOF
	}
	return r.rows()
}

// load reads block b.
func (r *lookupReader) load(b int) error {
	rec, err := r.blocks.RecordBatchAt(b)
	if err != nil {
		return fmt.Errorf("reading lookup file %s: %w", r.file.path, err)
	}
	r.held, r.block = append(r.held, rec), b
	for i, k := range r.layout.Keys {
		r.keys[i] = rec.Column(k)
	}
	r.codec.Bind(r.keys)
	if r.codec.Short {
		r.short = scratch(&r.short, int(rec.NumRows()), false)
		r.codec.Shorts(r.short)
	}
	return nil
}

// find looks for key i of those wanted in the block at hand.
func (r *lookupReader) find(i int) (row int, ok bool) {
	n := int(r.held[len(r.held)-1].NumRows())
	return sort.Find(n, func(row int) int {
		if r.codec.Short {
			return cmp.Compare(r.wanted.short[i], r.short[row])
		}
		r.row = r.codec.Append(r.row[:0], row)
		return bytes.Compare(r.wanted.at(i), r.row)
	})
}

// rows gathers the rows found; there may be none.
func (r *lookupReader) rows() (*Rows, error) {
	out := &Rows{Seq: make([]int64, len(r.refs)), Kinds: make([]int8, len(r.refs)), Positions: append([]int64{}, r.at...)}
	n := len(r.cols)
	seqs, kinds := make([][]int64, len(r.held)), make([][]int8, len(r.held))
	for i, rec := range r.held {
		s, ok1 := rec.Column(n).(*array.Int64)
		k, ok2 := rec.Column(n + 1).(*array.Int8)
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("reading lookup file %s: %w", r.file.path, io.ErrUnexpectedEOF)
		}
		seqs[i], kinds[i] = s.Int64Values(), k.Int8Values()
	}
	for i, ref := range r.refs {
		out.Seq[i], out.Kinds[i] = seqs[ref.batch][ref.row], kinds[ref.batch][ref.row]
	}
	arrs := make([]arrow.Array, len(r.held))
	for c, g := range r.cols {
		for i, rec := range r.held {
			arrs[i] = rec.Column(c)
		}
		g.bind(arrs)
		out.Values = append(out.Values, g.gather(r.refs))
	}
	return out, nil
}
