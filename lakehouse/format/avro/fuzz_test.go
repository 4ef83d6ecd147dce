package avro

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/format"
	"leat/lakehouse/format/formattest"
)

// readAny reads any bytes as columns; what goes wrong has to be damage of the file.
func readAny(t *testing.T, b []byte, wanted []columnar.Field) {
	t.Helper()
	damage := func(err error) {
		if diag.DomainOf(err) != diag.Corrupt {
			t.Fatalf("error of domain %d, want Corrupt: %v", diag.DomainOf(err), err)
		}
	}
	r, err := OpenReader(memFile{bytes.NewReader(b)}, "f.avro", wanted, format.ReadOptions{})
	if err != nil {
		damage(err)
		return
	}
	defer r.Close()
	for range 20 {
		cols, n, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				damage(err)
			}
			return
		}
		for i, c := range cols {
			if c.Len() != n {
				t.Fatalf("column %s has %d values in a batch of %d rows", wanted[i].Name, c.Len(), n)
			}
			_ = c.String() // looks at every value
			c.Release()
		}
	}
}

// FuzzRead reads mutated files as flat and as nested columns.
func FuzzRead(f *testing.F) {
	s := formattest.Values{Rand: rand.New(rand.NewPCG(3, 4)), Nulls: 0.2, Entries: 3}
	for _, compression := range []string{"uncompressed", "zstd"} {
		for _, fs := range [][]columnar.Field{fields(), nestedFields()} {
			f.Add(encode(f, fs, compression, s.Columns(fs, 20), s.Columns(fs, 5)))
		}
	}
	names, err := filepath.Glob(filepath.Join("..", "..", "testdata", "golden", "pk_avro_all_types", "wh", "db.db", "t", "bucket-0", "*.avro"))
	if err != nil || len(names) == 0 {
		f.Fatalf("data files %v, error %v", names, err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		readAny(t, b, fields())
		readAny(t, b, nestedFields())
	})
}
