package orc

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// bombs are small files that claim or unpack to very much.
func bombs(t *testing.T) map[string][]byte {
	t.Helper()
	list := columnar.Of(columnar.Array)
	elem := columnar.Of(columnar.BigInt)
	list.Elem = &elem
	nested := columnar.Of(columnar.Array)
	nested.Elem = &list
	return map[string][]byte{
		"a footer of zeros":  footerBomb(t),
		"long lists":         lengthBomb(t, list, 1<<40),
		"many elements":      lengthBomb(t, list, 1<<17),
		"lists of lists":     lengthBomb(t, nested, 1<<16),
		"long strings":       lengthBomb(t, columnar.StringType(), 1<<29),
		"strings of a size":  lengthBomb(t, columnar.BytesType(), 1<<20),
		"a negative length":  lengthBomb(t, columnar.BytesType(), -1),
		"rows without bytes": rowsBomb(t),
	}
}

// footerBomb has a footer that unpacks to 512 MiB.
func footerBomb(t *testing.T) []byte {
	t.Helper()
	codec, err := newCompressor(CompressionZstd, 1)
	if err != nil {
		t.Fatal(err)
	}
	out, zeros := newOutStream(codec, maxBlockSize/2), make([]byte, 1<<20)
	for range 512 {
		if err := out.write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	pieces, err := out.finish()
	if err != nil {
		t.Fatal(err)
	}
	b := slices.Concat(pieces...)
	ps := postScript{footerLength: uint64(len(b)), compression: CompressionZstd, blockSize: maxBlockSize / 2, version: []uint64{0, 12}, magic: magic}
	tail := encode(ps.fields)
	return append(append(append([]byte(magic), b...), tail...), byte(len(tail)))
}

// lengthBomb has 400 values that claim the given length.
func lengthBomb(t *testing.T, dt columnar.DataType, length int64) []byte {
	t.Helper()
	fields := []columnar.Field{{ID: 1, Name: "c", Type: dt}}
	b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(dt))
	for range 400 {
		b.AppendEmptyValue()
	}
	var buf bytes.Buffer
	w, err := NewWriter(&buf, fields, Options{NoDictionary: []string{"c"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBatch([]arrow.Array{b.NewArray()}, 400); err != nil {
		t.Fatal(err)
	}
	lengths := &w.all[1].(interface{ pending() *intWriter }).pending().buf
	for i := range 400 {
		lengths[i] = length
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func (c *listColumn) pending() *intWriter   { return &c.lengths }
func (c *stringColumn) pending() *intWriter { return &c.lengths }

// rowsBomb claims more rows than it has bytes for.
func rowsBomb(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, OrderFields(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBatch(OrderColumns(100, 0), 100); err != nil {
		t.Fatal(err)
	}
	w.stripeRows, w.rows = 1<<50, 1<<50
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestBombs reads them in little memory, to an error.
func TestBombs(t *testing.T) {
	for name, b := range bombs(t) {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := readToEnd(b)
			runtime.ReadMemStats(&after)
			var corrupt *CorruptError
			var unsupported *UnsupportedError
			if !errors.As(err, &corrupt) && !errors.As(err, &unsupported) {
				t.Errorf("error %v", err)
			}
			if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 700 {
				t.Errorf("%d MiB for a file of %d bytes", got, len(b))
			} else {
				t.Logf("%d MiB: %v", got, err)
			}
		})
	}
}

func readToEnd(b []byte) error {
	r, err := OpenReader(newFile(b), "bomb.orc", nil, ReadOptions{})
	if err != nil {
		return err
	}
	fields, err := r.Fields()
	if err != nil {
		return err
	}
	if r, err = OpenReader(newFile(b), "bomb.orc", fields, ReadOptions{}); err != nil {
		return err
	}
	for {
		cols, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, c := range cols {
			c.Release()
		}
	}
}
