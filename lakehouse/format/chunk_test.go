package format

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"leat/internal/columnar"
)

func chunkFields() []columnar.Field {
	return []columnar.Field{
		{ID: 0, Name: "i", Type: columnar.Of(columnar.Int)},
		{ID: 1, Name: "l", Type: columnar.Of(columnar.BigInt)},
		{ID: 2, Name: "s", Type: columnar.StringType()},
		{ID: 3, Name: "t", Type: columnar.Of(columnar.SmallInt)},
	}
}

// chunkColumns makes the columns of chunkFields from one number a row; odd ones in nulls are null.
func chunkColumns(rows int, value func(i int) int64, null func(i int) bool) []arrow.Array {
	var cols []arrow.Array
	for _, f := range chunkFields() {
		b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(f.Type))
		for i := range rows {
			v := value(i)
			switch b := b.(type) {
			case *array.Int32Builder:
				b.Append(int32(v))
			case *array.Int64Builder:
				b.Append(v)
			case *array.StringBuilder:
				b.Append(fmt.Sprint("value ", v))
			case *array.Int16Builder:
				b.Append(int16(v))
			}
		}
		a := b.NewArray()
		if null != nil {
			bits := make([]byte, (rows+7)/8)
			nulls := 0
			for i := range rows {
				if null(i) {
					nulls++
				} else {
					bits[i/8] |= 1 << (i % 8)
				}
			}
			bufs := append([]*memory.Buffer{memory.NewBufferBytes(bits)}, a.Data().Buffers()[1:]...)
			a = array.MakeFromData(array.NewData(a.DataType(), rows, bufs, nil, nulls, 0))
		}
		cols = append(cols, a)
	}
	return cols
}

// TestChunkEncodings writes values of several kinds and looks at what the pages
// are made of, as the library reads them.
func TestChunkEncodings(t *testing.T) {
	t.Parallel()
	mix := func(i int) int64 { return int64(uint64(i+1) * fibonacci) }
	few := func(i int) int64 { return mix(i) & 7 }
	for _, c := range []struct {
		name     string
		rows     int
		value    func(i int) int64
		null     func(i int) bool
		distinct bool
		// want are the encodings of the data pages of columns i, l, s and t.
		want [4]string
	}{
		{name: "few values", rows: 400_000, value: few, want: [4]string{"dict", "dict", "dict", "dict"}},
		{name: "one value, with nulls", rows: 300_000, value: func(int) int64 { return -5 }, null: func(i int) bool { return i%3 == 0 }, want: [4]string{"dict", "dict", "dict", "dict"}},
		{name: "rising values", rows: 300_000, value: func(i int) int64 { return int64(i) * 1000 }, want: [4]string{"delta", "delta", "plain", "plain"}},
		{name: "any values", rows: 200_000, value: mix, null: func(i int) bool { return i%7 == 1 }, want: [4]string{"delta", "delta", "plain", "plain"}},
		{name: "few values, later many", rows: 1_200_000, value: func(i int) int64 {
			if i < 400_000 {
				return few(i)
			}
			return mix(i)
		}, want: [4]string{"dict plain", "dict plain", "dict plain", "dict"}},
		{name: "only nulls", rows: 600_000, value: mix, null: func(int) bool { return true }, want: [4]string{"plain", "plain", "plain", "plain"}},
		{name: "nulls, then few values", rows: 600_000, value: few, null: func(i int) bool { return i < 300_000 }, want: [4]string{"plain dict", "plain dict", "plain dict", "plain dict"}},
		{name: "keys", rows: 300_000, value: func(i int) int64 { return few(i) }, distinct: true, want: [4]string{"delta", "delta", "plain", "plain"}},
		{name: "extremes", rows: 5000, value: func(i int) int64 { return []int64{math.MinInt64, math.MaxInt64, 0, -1}[i%4] ^ int64(i) }, want: [4]string{"delta", "delta", "plain", "plain"}},
		{name: "one row", rows: 1, value: few, want: [4]string{"dict", "dict", "plain", "plain"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cols := chunkColumns(c.rows, c.value, c.null)
			var opts Options
			if c.distinct {
				opts.Distinct = []string{"i", "l", "s", "t"}
			}
			var batches [][]arrow.Array
			for at := 0; at < c.rows; at += 8192 {
				var b []arrow.Array
				for _, a := range cols {
					b = append(b, array.NewSlice(a, int64(at), int64(min(at+8192, c.rows))))
				}
				batches = append(batches, b)
			}
			content, _ := writeFile(t, chunkFields(), opts, batches...)
			got := readFile(t, content, chunkFields(), 5000)
			for i, f := range chunkFields() {
				if !array.Equal(cols[i], got[i]) {
					t.Errorf("column %s differs", f.Name)
				}
				if e := pageEncodings(t, content, i); e != c.want[i] {
					t.Errorf("column %s has pages %q, want %q", f.Name, e, c.want[i])
				}
			}
		})
	}
}

// pageEncodings names the encodings of a column's data pages, each change once.
func pageEncodings(t *testing.T, content []byte, column int) string {
	t.Helper()
	r, err := file.NewParquetReader(memSource(content))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := r.RowGroup(0).GetColumnPageReader(column)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"PLAIN": "plain", "PLAIN_DICTIONARY": "dict", "DELTA_BINARY_PACKED": "delta"}
	var out, last string
	for pages.Next() {
		p, ok := pages.Page().(*file.DataPageV1)
		if !ok {
			continue
		}
		if e := names[parquet.Encoding(p.Encoding()).String()]; e != last {
			if out != "" {
				out += " "
			}
			out, last = out+e, e
		}
	}
	if err := pages.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func memSource(b []byte) *source {
	f := memFile{bytes.NewReader(b)}
	return &source{f: f, size: f.Size()}
}

// TestAllocsChunks guards that encoding allocates by page, not by value.
func TestAllocsChunks(t *testing.T) {
	for name, value := range map[string]func(i int) int64{
		"dictionary": func(i int) int64 { return int64(i % 50) },
		"delta":      func(i int) int64 { return int64(i) * 977 },
	} {
		cols := chunkColumns(8192, value, nil)
		w, err := NewWriter(io.Discard, chunkFields(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		write := func() {
			if err := w.WriteBatch(cols, 8192); err != nil {
				t.Fatal(err)
			}
		}
		for range 64 {
			write()
		}
		if n := testing.AllocsPerRun(64, write); n > 64 {
			t.Errorf("%s: %v allocations a batch of 8192 rows", name, n)
		}
	}
}

// TestPagesOfTheLibrary reads what the library writes in ways that neither
// Paimon nor leat has: pages of the second version, other block sizes of nulls.
func TestPagesOfTheLibrary(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	cols := chunkColumns(rows, func(i int) int64 { return int64(i*i) - 70_000 }, func(i int) bool { return i/100%3 == 1 })
	root, err := parquetSchema(chunkFields())
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
		for _, delta := range []bool{false, true} {
			var out bytes.Buffer
			props := []parquet.WriterProperty{parquet.WithDataPageVersion(version), parquet.WithDataPageSize(4096), parquet.WithDictionaryDefault(!delta)}
			if delta {
				props = append(props, parquet.WithEncodingFor("i", parquet.Encodings.DeltaBinaryPacked), parquet.WithEncodingFor("s", parquet.Encodings.DeltaByteArray))
			}
			fw := file.NewParquetWriter(&out, root, file.WithWriterProps(parquet.NewWriterProperties(props...)))
			rg, err := fw.AppendBufferedRowGroupChecked()
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range cols {
				cw, err := rg.Column(i)
				if err != nil {
					t.Fatal(err)
				}
				c := columnWriter{cw: &libraryChunk{ColumnChunkWriter: cw}, put: putterOf(chunkFields()[i].Type), nullable: true}
				if b, ok := cw.(*file.ByteArrayColumnChunkWriter); ok {
					c.put = func(_ *columnWriter, a arrow.Array, def []int16, valid []byte) error {
						vals := make([]parquet.ByteArray, a.Len())
						for k := range vals {
							vals[k] = parquet.ByteArray(a.(*array.String).Value(k))
						}
						_, err := b.WriteBatchSpacedWithError(vals, def, nil, valid, int64(a.Data().Offset()))
						return err
					}
				}
				if err := c.write(a); err != nil {
					t.Fatal(err)
				}
			}
			if err := fw.Close(); err != nil {
				t.Fatal(err)
			}
			got := readFile(t, out.Bytes(), chunkFields(), 777)
			for i, f := range chunkFields() {
				if !array.Equal(cols[i], got[i]) {
					t.Errorf("pages of version %d, delta %t: column %s differs", version, delta, f.Name)
				}
			}
		}
	}
}

// TestAllocsPages guards that decoding allocates by batch and page, not by value.
func TestAllocsPages(t *testing.T) {
	cols := chunkColumns(8192, func(i int) int64 { return int64(i) * 977 }, nil)
	var batches [][]arrow.Array
	for range 128 {
		batches = append(batches, cols)
	}
	content, _ := writeFile(t, chunkFields(), Options{}, batches...)
	r, err := OpenReader(memFile{bytes.NewReader(content)}, "f.parquet", chunkFields(), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := testing.AllocsPerRun(100, func() {
		cols, _, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cols {
			c.Release()
		}
	})
	if n > 150 {
		t.Errorf("%v allocations a batch of 8192 rows", n)
	}
}
