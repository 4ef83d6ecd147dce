package mergetree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"leat/internal/columnar"
	"leat/internal/fileio"
)

// LookupBlockRows is how many rows a block of a lookup file has: what is read
// for one key.
const LookupBlockRows = 128

// LookupFile is a data file in a form that rows are found in by key: the same
// rows in the same order, in blocks of an Arrow file on a local disk. The first
// key of every block is in memory. It is open while a reader uses it.
type LookupFile struct {
	fs    fileio.FS
	path  string
	size  int64
	first *KeySet
	// start are the places of the blocks' first rows in the data file.
	start []int64
}

// WriteLookupFile copies the rows of r, all of a data file, to path of fs. It owns r.
func WriteLookupFile(ctx context.Context, l *Layout, fs fileio.FS, path string, r RowReader) (f *LookupFile, err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	codec, err := l.Codec()
	if err != nil {
		return nil, err
	}
	out, err := fs.Create(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("writing lookup file %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Abort(context.WithoutCancel(ctx)))
		}
	}()
	w := &lookupWriter{layout: l, schema: lookupSchema(l), codec: codec, first: &KeySet{bytes: !codec.Short}}
	if w.out, err = ipc.NewFileWriter(out, ipc.WithSchema(w.schema)); err != nil {
		return nil, fmt.Errorf("writing lookup file %s: %w", path, err)
	}
	if err := w.copy(ctx, r); err != nil {
		return nil, fmt.Errorf("writing lookup file %s: %w", path, err)
	}
	if err := errors.Join(w.out.Close(), out.Commit(ctx)); err != nil {
		return nil, fmt.Errorf("writing lookup file %s: %w", path, err)
	}
	st, err := fs.Stat(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("writing lookup file %s: %w", path, err)
	}
	return &LookupFile{fs: fs, path: path, size: st.Size, first: w.first, start: w.start}, nil
}

// lookupSchema is the columns of l, then sequence number and kind.
func lookupSchema(l *Layout) *arrow.Schema {
	fields := make([]arrow.Field, 0, len(l.Columns.Fields)+systemFields)
	for _, f := range l.Columns.Fields {
		fields = append(fields, arrow.Field{Name: f.Name, Type: columnar.ArrowType(f.Type), Nullable: true})
	}
	fields = append(fields, arrow.Field{Name: seqColumn, Type: arrow.PrimitiveTypes.Int64}, arrow.Field{Name: kindColumn, Type: arrow.PrimitiveTypes.Int8})
	return arrow.NewSchema(fields, nil)
}

type lookupWriter struct {
	layout *Layout
	schema *arrow.Schema
	codec  *KeyCodec
	out    *ipc.FileWriter
	first  *KeySet
	keys   []arrow.Array
	start  []int64
	rows   int64
}

// copy cuts every batch of r into blocks.
func (w *lookupWriter) copy(ctx context.Context, r RowReader) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = w.write(rows)
		rows.Release()
		if err != nil {
			return err
		}
	}
}

func (w *lookupWriter) write(rows *Rows) error {
	w.keys = w.keys[:0]
	for _, k := range w.layout.Keys {
		w.keys = append(w.keys, rows.Values[k])
	}
	n := rows.Len()
	w.first.add(w.codec, w.keys, n, LookupBlockRows)
	cols := append(slices.Clip(rows.Values), rows.System...)
	all := array.NewRecordBatch(w.schema, cols, int64(n))
	defer all.Release()
	for from := 0; from < n; from += LookupBlockRows {
		block := all.NewSlice(int64(from), int64(min(n, from+LookupBlockRows)))
		err := w.out.Write(block)
		block.Release()
		if err != nil {
			return err
		}
		w.start = append(w.start, w.rows+int64(from))
	}
	w.rows += int64(n)
	return nil
}

// Bytes is the memory of the file's index; Size its size on the disk.
func (f *LookupFile) Bytes() int64 { return f.first.Bytes() + 8*int64(len(f.start)) }

// Size is the size of the file in bytes.
func (f *LookupFile) Size() int64 { return f.size }

// Remove removes the file from the disk.
func (f *LookupFile) Remove(ctx context.Context) error {
	if err := f.fs.Remove(ctx, f.path); err != nil {
		return fmt.Errorf("removing lookup file %s: %w", f.path, err)
	}
	return nil
}
