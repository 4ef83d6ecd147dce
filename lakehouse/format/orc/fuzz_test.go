package orc

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
)

// readAny reads what can be read of any bytes, at most so many batches.
func readAny(t *testing.T, b []byte, filter Filter) {
	t.Helper()
	r, err := OpenReader(newFile(b), "fuzz.orc", nil, ReadOptions{})
	if err != nil {
		checkKnown(t, err)
		return
	}
	fields, err := r.Fields()
	if err != nil {
		checkKnown(t, err)
		return
	}
	fields = fields[:min(len(fields), 40)]
	if r, err = OpenReader(newFile(b), "fuzz.orc", fields, ReadOptions{BatchRows: 1000, Filter: filter}); err != nil {
		checkKnown(t, err)
		return
	}
	for range 50 {
		var cols []arrow.Array
		if cols, _, err = r.Next(); err != nil {
			if !errors.Is(err, io.EOF) {
				checkKnown(t, err)
			}
			return
		}
		for i, c := range cols {
			touch(c, fields[i].Type)
			c.Release()
		}
	}
}

// touch looks at every value.
func touch(a arrow.Array, t columnar.DataType) {
	for i := range min(a.Len(), 200) {
		render(a, i, t)
	}
}

// checkKnown wants damage with its path, or a feature not supported.
func checkKnown(t *testing.T, err error) {
	t.Helper()
	var corrupt *CorruptError
	var unsupported *UnsupportedError
	switch {
	case errors.As(err, &corrupt):
		if corrupt.Path != "fuzz.orc" || corrupt.Offset < 0 {
			t.Fatalf("damage without a place: %v", err)
		}
	case !errors.As(err, &unsupported):
		t.Fatalf("neither damage nor a missing feature: %v", err)
	}
}

// seeds are small files of every codec, flat and nested, ours and Java's.
func seeds(t testing.TB) (files [][]byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "golden", "*.orc"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	for _, codec := range []string{"none", "zstd", "snappy", "lz4", "zlib"} {
		b, _ := writeFile(t, OrderFields(), Options{Compression: codec, IndexRows: 20, StripeSize: 1, ChunkSize: 100}, OrderColumns(50, 0))
		files = append(files, b)
	}
	return files
}

// FuzzRead reads mutated files, whole and by row groups.
func FuzzRead(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		readAny(t, b, nil)
		turn := 0
		readAny(t, b, filterFunc(func(int64, func(columnar.Field) (ColumnStats, bool)) bool { turn++; return turn%3 > 0 }))
	})
}

// FuzzRuns decodes any bytes as each kind of integer stream.
func FuzzRuns(f *testing.F) {
	f.Add([]byte{0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8})
	f.Add([]byte{0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46})
	f.Add([]byte{127, 0xff, 0xd0, 0x0f, 0xfe, 0x01, 0xd8, 0x04, 2, 0, 10})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, enc := range []encodingKind{encodingDirect, encodingDirectV2} {
			r := newIntDecoder(plainIn(b), enc, true)
			dst := make([]int64, 100)
			for range 100 {
				if err := r.read(dst); err != nil {
					var corrupt *CorruptError
					if !errors.As(err, &corrupt) {
						t.Fatal(err)
					}
					break
				}
			}
		}
	})
}

// TestCutsAndFlips cuts files at every byte, longer ones at some, and changes the byte there.
func TestCutsAndFlips(t *testing.T) {
	t.Parallel()
	for _, b := range seeds(t) {
		for i := 0; i < len(b); i += 1 + len(b)/1000*2 {
			readAny(t, b[:i], nil)
			broken := append([]byte{}, b...)
			broken[i] ^= byte(1 + i*37)
			readAny(t, broken, nil)
		}
	}
}
