package format

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
	"leat/lakehouse/format/formattest"
	"leat/lakehouse/spec"
)

// nestedFields are columns of every nested kind, one in the other.
func nestedFields() []columnar.Field {
	list := func(e columnar.DataType) columnar.DataType {
		return columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &e}
	}
	key, value := columnar.StringType().NotNull(), list(columnar.Of(columnar.BigInt))
	row := columnar.DataType{Kind: columnar.Row, Nullable: true, Fields: []columnar.Field{
		{ID: 10, Name: "x", Type: columnar.TimestampOf(9)}, {ID: 11, Name: "y", Type: columnar.DecimalOf(20, 2)}, {ID: 12, Name: "z", Type: list(columnar.Of(columnar.Boolean))},
	}}
	return []columnar.Field{
		{ID: 0, Name: "id", Type: columnar.Of(columnar.Int).NotNull()},
		{ID: 1, Name: "lists", Type: list(list(columnar.StringType()))},
		{ID: 2, Name: "map", Type: columnar.DataType{Kind: columnar.Map, Nullable: true, Key: &key, Elem: &value}},
		{ID: 3, Name: "bag", Type: columnar.DataType{Kind: columnar.Multiset, Nullable: true, Elem: &key}},
		{ID: 4, Name: "rows", Type: list(row)},
		{ID: 5, Name: "row", Type: row},
	}
}

// seeds are small files, flat and nested, ours and Java's, with the columns to ask for.
func seeds(t testing.TB) (files [][]byte, fields [][]columnar.Field) {
	t.Helper()
	for _, opts := range []Options{{Compression: "uncompressed", PageSize: 100}, {Compression: "zstd", BlockSize: 1}} {
		s := formattest.Values{Rand: rand.New(rand.NewPCG(3, 4)), Nulls: 0.2, Entries: 3}
		for _, f := range [][]columnar.Field{nestedFields(), flatFields()} {
			b, _ := writeFile(t, f, opts, s.Columns(f, 20), s.Columns(f, 5))
			files, fields = append(files, b), append(fields, f)
		}
	}
	for _, table := range []string{"pk_parquet_all_types", "multiset_variant"} {
		dir := filepath.Join("..", "testdata", "golden", table, "wh", "db.db", "t")
		raw, err := os.ReadFile(filepath.Join(dir, "schema", "schema-0"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := spec.ParseSchema(raw)
		if err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(dir, "bucket-0", "*.parquet"))
		if err != nil || len(names) == 0 {
			t.Fatalf("data files %v, error %v", names, err)
		}
		for _, n := range names {
			b, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			files, fields = append(files, b), append(fields, s.Fields)
		}
	}
	return files, fields
}

// readAny reads at most so many batches of any bytes, all pages or every other one; what goes wrong has to be damage of the file.
func readAny(t *testing.T, b []byte, fields []columnar.Field, all bool) {
	t.Helper()
	opts := ReadOptions{BatchRows: 1000}
	if !all {
		calls := 0
		opts.Filter = &tellingFilter{fields: fields, keep: func() bool { calls++; return calls%2 == 1 }}
	}
	r, err := OpenReader(memFile{bytes.NewReader(b)}, "f.parquet", fields, opts)
	if err != nil {
		checkDamage(t, err)
		return
	}
	defer r.Close()
	for range 20 {
		cols, n, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				checkDamage(t, err)
			}
			return
		}
		for i, c := range cols {
			if c.Len() != n {
				t.Fatalf("column %s has %d values in a batch of %d rows", fields[i].Name, c.Len(), n)
			}
			_ = c.String() // looks at every value
			c.Release()
		}
	}
}

func checkDamage(t *testing.T, err error) {
	t.Helper()
	if diag.DomainOf(err) != diag.Corrupt {
		t.Fatalf("error of domain %d, want Corrupt: %v", diag.DomainOf(err), err)
	}
}

// FuzzRead reads mutated files as flat and as nested columns.
func FuzzRead(f *testing.F) {
	files, _ := seeds(f)
	for _, b := range files {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, all := range []bool{true, false} {
			readAny(t, b, nestedFields(), all)
			readAny(t, b, flatFields(), all)
		}
	})
}

// TestCutsAndFlips cuts files at many places and changes bytes there.
func TestCutsAndFlips(t *testing.T) {
	t.Parallel()
	files, fields := seeds(t)
	for n, b := range files {
		readAny(t, b, fields[n], true)
		step := 1 + len(b)/150
		for i := 0; i < len(b); i += step {
			readAny(t, b[:i], fields[n], true)
			broken := bytes.Clone(b)
			broken[i] ^= byte(1 + i*37)
			readAny(t, broken, fields[n], i/step%2 == 0)
		}
	}
}
