package format

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/lakehouse/format/formattest"
)

// TestColumnsEqualBatches writes the same rows by columns, in pieces of other sizes, and by batches.
func TestColumnsEqualBatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := formattest.Types{ID: 10}
		fields := make([]columnar.Field, rapid.IntRange(1, 4).Draw(rt, "columns"))
		for i := range fields {
			fields[i] = columnar.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: g.Draw(rt, 1)}
		}
		opts := Options{PageSize: rapid.SampledFrom([]int64{64, 4096, 1 << 20}).Draw(rt, "page"), Compression: rapid.SampledFrom([]string{"zstd", "uncompressed"}).Draw(rt, "codec")}
		s := formattest.Values{Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 8)), Entries: 3, Few: rapid.Bool().Draw(rt, "few")}
		s.Nulls = rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(rt, "nulls")
		rows := rapid.SampledFrom([]int{1, 200, 5000}).Draw(rt, "rows")
		cols := s.Columns(fields, rows)
		_, want := writeFile(t, fields, opts, cols)

		var buf bytes.Buffer
		w, err := NewWriter(&buf, fields, opts)
		if err != nil {
			rt.Fatal(err)
		}
		groups := 0
		if rapid.Bool().Draw(rt, "rows before") {
			groups++
			if err := w.WriteBatch(cols, rows); err != nil {
				rt.Fatal(err)
			}
		}
		piece := rapid.SampledFrom([]int{7, 500, 9000}).Draw(rt, "piece")
		for range rapid.IntRange(1, 2).Draw(rt, "groups") {
			groups++
			err := w.WriteColumns(rows, func(col int, put func(arrow.Array) error) error {
				for from := 0; from < rows; from += piece {
					if err := put(array.NewSlice(cols[col], int64(from), int64(min(rows, from+piece)))); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				rt.Fatal(err)
			}
		}
		info, err := w.Close()
		if err != nil {
			rt.Fatal(err)
		}
		if info.Rows != int64(groups*rows) || info.Size != int64(buf.Len()) {
			rt.Fatalf("%d rows in %d bytes, want %d in %d", info.Rows, info.Size, groups*rows, buf.Len())
		}
		got := readFile(t, buf.Bytes(), fields, 1000)
		for i, f := range fields {
			all := make([]arrow.Array, groups)
			for k := range all {
				all[k] = cols[i]
			}
			joined, err := array.Concatenate(all, memory.DefaultAllocator)
			if err != nil {
				rt.Fatal(err)
			}
			if !formattest.Same(joined, got[i]) {
				rt.Fatalf("column %s of type %s differs", f.Name, f.Type)
			}
			a, b := want.Stats[i], info.Stats[i]
			if a.Nulls*int64(groups) != b.Nulls || (a.MinMax == nil) != (b.MinMax == nil) || a.MinMax != nil && !array.Equal(a.MinMax, b.MinMax) {
				rt.Fatalf("statistics of column %s of type %s are %v, by batches %v", f.Name, f.Type, b, a)
			}
		}
	})
}

// TestColumnsOfWrongLength has a column with fewer values than rows.
func TestColumnsOfWrongLength(t *testing.T) {
	t.Parallel()
	fields := []columnar.Field{{ID: 1, Name: "a", Type: columnar.Of(columnar.Int)}}
	w, err := NewWriter(new(bytes.Buffer), fields, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := formattest.Values{Rand: rand.New(rand.NewPCG(1, 2))}
	err = w.WriteColumns(3, func(_ int, put func(arrow.Array) error) error { return put(s.Columns(fields, 2)[0]) })
	if err == nil {
		t.Fatal("no error for 2 values of 3 rows")
	}
	if _, again := w.Close(); again == nil {
		t.Error("the file can be closed after that")
	}
}
