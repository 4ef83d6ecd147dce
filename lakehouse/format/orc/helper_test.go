package orc

import (
	"bytes"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// memFile is a file in memory.
type memFile struct{ *bytes.Reader }

func (memFile) Close() error   { return nil }
func (f memFile) Size() int64  { return f.Reader.Size() }
func newFile(b []byte) memFile { return memFile{bytes.NewReader(b)} }

// fatalizer is what testing.TB and rapid.T share.
type fatalizer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// writeFile writes the batches as one file.
func writeFile(t fatalizer, fields []columnar.Field, opts Options, batches ...[]arrow.Array) ([]byte, FileInfo) {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, fields, opts)
	if err != nil {
		t.Fatalf("NewWriter: %v", err)
	}
	for _, b := range batches {
		if err := w.WriteBatch(b, b[0].Len()); err != nil {
			t.Fatalf("WriteBatch: %v", err)
		}
	}
	info, err := w.Close()
	if err != nil {
		t.Fatalf("Close: %v", err)
	}
	if info.Size != int64(buf.Len()) {
		t.Fatalf("Size = %d, the file has %d bytes", info.Size, buf.Len())
	}
	return buf.Bytes(), info
}

// usedPool is a pool whose memory has been used for something else.
func usedPool() *columnar.Pool {
	pool := columnar.NewPool()
	var blocks [][]byte
	for size := 1 << 10; size <= 1<<16; size *= 2 {
		for range 8 {
			b := pool.Allocate(size)
			for i := range b {
				b[i] = 0xdb
			}
			blocks = append(blocks, b)
		}
	}
	for _, b := range blocks {
		pool.Free(b)
	}
	return pool
}

// readFile reads all rows of a file, each column as one array.
func readFile(t fatalizer, b []byte, fields []columnar.Field, opts ReadOptions) []arrow.Array {
	t.Helper()
	if opts.Mem == nil {
		opts.Mem = usedPool()
	}
	r, err := OpenReader(newFile(b), "mem.orc", fields, opts)
	if err != nil {
		t.Fatalf("OpenReader: %v", err)
	}
	cols := drain(t, r, len(fields))
	if err := r.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	out := make([]arrow.Array, len(fields))
	for i, f := range fields {
		if len(cols[i]) == 0 {
			out[i] = array.MakeArrayOfNull(memory.DefaultAllocator, columnar.ArrowType(f.Type), 0)
			continue
		}
		var err error
		if out[i], err = array.Concatenate(cols[i], memory.DefaultAllocator); err != nil {
			t.Fatalf("Concatenate: %v", err)
		}
	}
	return out
}

func drain(t fatalizer, r *Reader, n int) [][]arrow.Array {
	t.Helper()
	cols := make([][]arrow.Array, n)
	for {
		batch, rows, err := r.Next()
		if errors.Is(err, io.EOF) {
			return cols
		}
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		for i, c := range batch {
			if c.Len() != rows {
				t.Fatalf("column %d has %d values in a batch of %d rows", i, c.Len(), rows)
			}
			cols[i] = append(cols[i], c)
		}
	}
}

// sameColumns compares columns value by value; NaN equals NaN.
func sameColumns(t fatalizer, fields []columnar.Field, want, got []arrow.Array) {
	t.Helper()
	for i, f := range fields {
		if array.ApproxEqual(want[i], got[i], array.WithNaNsEqual(true), array.WithAbsTolerance(0)) {
			continue
		}
		for row := range min(want[i].Len(), got[i].Len()) {
			a, b := array.NewSlice(want[i], int64(row), int64(row+1)), array.NewSlice(got[i], int64(row), int64(row+1))
			if !array.ApproxEqual(a, b, array.WithNaNsEqual(true), array.WithAbsTolerance(0)) {
				t.Fatalf("column %s (%s), row %d of %d: got %v, want %v", f.Name, f.Type, row, want[i].Len(), b, a)
			}
		}
		t.Fatalf("column %s (%s): got %d rows, want %d", f.Name, f.Type, got[i].Len(), want[i].Len())
	}
}

func sliceOf(a arrow.Array, from, to int) arrow.Array {
	return array.NewSlice(a, int64(from), int64(to))
}
