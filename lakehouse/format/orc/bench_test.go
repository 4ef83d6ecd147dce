package orc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/lakehouse/format"
	"leat/lakehouse/format/orc"
)

// table is what a benchmark writes and reads.
type table struct {
	name   string
	fields []columnar.Field
	rows   int
	chunks [][]arrow.Array
}

func orders() table {
	t := table{name: "orders", fields: orc.OrderFields(), rows: 1_000_000}
	const chunk = 16_384
	for at := 0; at < t.rows; at += chunk {
		t.chunks = append(t.chunks, orc.OrderColumns(min(chunk, t.rows-at), int64(at)))
	}
	return t
}

// wide is a table of 120 nullable columns.
func wide() table {
	t := table{name: "wide", rows: 50_000}
	for i := range 30 {
		for j, dt := range []columnar.DataType{columnar.Of(columnar.BigInt), columnar.StringType(), columnar.Of(columnar.Double), columnar.Of(columnar.Int)} {
			t.fields = append(t.fields, columnar.Field{ID: 4*i + j, Name: fmt.Sprintf("c%d_%d", i, j), Type: dt})
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	b := columnar.NewBuilders(memory.DefaultAllocator, &columnar.Schema{Fields: t.fields})
	for range t.rows {
		for i := range b {
			if rnd.IntN(10) == 0 {
				b[i].AppendNull()
				continue
			}
			switch b := b[i].(type) {
			case *array.Int64Builder:
				b.Append(rnd.Int64N(1_000_000))
			case *array.Int32Builder:
				b.Append(rnd.Int32N(1000))
			case *array.Float64Builder:
				b.Append(rnd.Float64())
			case *array.StringBuilder:
				b.Append(fmt.Sprintf("value %d", rnd.IntN(300)))
			}
		}
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	const chunk = 10_000
	for at := 0; at < t.rows; at += chunk {
		part := make([]arrow.Array, len(cols))
		for i := range cols {
			part[i] = array.NewSlice(cols[i], int64(at), int64(min(at+chunk, t.rows)))
		}
		t.chunks = append(t.chunks, part)
	}
	return t
}

// batchWriter is what both formats' writers share.
type batchWriter interface {
	WriteBatch(cols []arrow.Array, rows int) error
}

func (t table) write(w batchWriter) error {
	for _, c := range t.chunks {
		if err := w.WriteBatch(c, c[0].Len()); err != nil {
			return err
		}
	}
	return nil
}

func (t table) writeORC(w io.Writer, codec string) (int64, error) {
	o, err := orc.NewWriter(w, t.fields, orc.Options{Compression: codec})
	if err != nil {
		return 0, err
	}
	if err := t.write(o); err != nil {
		return 0, err
	}
	info, err := o.Close()
	return info.Size, err
}

func (t table) writeParquet(w io.Writer, codec string) (int64, error) {
	opts := format.Options{Compression: codec}
	if t.name == "orders" {
		opts.Distinct = []string{"_KEY_order_id", "_SEQUENCE_NUMBER", "order_id"}
	}
	p, err := format.NewWriter(w, t.fields, opts)
	if err != nil {
		return 0, err
	}
	if err := t.write(p); err != nil {
		return 0, err
	}
	info, err := p.Close()
	return info.Size, err
}

// BenchmarkWrite writes the same tables as ORC and as Parquet.
func BenchmarkWrite(b *testing.B) {
	for _, t := range []table{orders(), wide()} {
		for _, codec := range []string{"zstd", "snappy"} {
			for name, write := range map[string]func(io.Writer, string) (int64, error){"orc": t.writeORC, "parquet": t.writeParquet} {
				b.Run(t.name+"/"+codec+"/"+name, func(b *testing.B) {
					b.ReportAllocs()
					var size int64
					for b.Loop() {
						var err error
						if size, err = write(io.Discard, codec); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.N)*float64(t.rows)/b.Elapsed().Seconds(), "rows/s")
					b.ReportMetric(float64(size)/float64(t.rows), "B/row")
				})
			}
		}
	}
}

// memFile is a file in memory.
type memFile struct{ *bytes.Reader }

func (memFile) Close() error  { return nil }
func (f memFile) Size() int64 { return f.Reader.Size() }

// batchReader is what both formats' readers share.
type batchReader interface {
	Next() (cols []arrow.Array, rows int, err error)
}

// BenchmarkRead reads the same tables from ORC and from Parquet.
func BenchmarkRead(b *testing.B) {
	for _, t := range []table{orders(), wide()} {
		var o, p bytes.Buffer
		if _, err := t.writeORC(&o, "zstd"); err != nil {
			b.Fatal(err)
		}
		if _, err := t.writeParquet(&p, "zstd"); err != nil {
			b.Fatal(err)
		}
		open := map[string]func() (batchReader, error){
			"orc": func() (batchReader, error) {
				return orc.OpenReader(file(o.Bytes()), "bench.orc", t.fields, orc.ReadOptions{})
			},
			"parquet": func() (batchReader, error) {
				return format.OpenReader(file(p.Bytes()), "bench.parquet", t.fields, format.ReadOptions{})
			},
		}
		for name, open := range open {
			b.Run(t.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := open()
					if err != nil {
						b.Fatal(err)
					}
					if n := readAll(b, r); n != t.rows {
						b.Fatalf("%d rows", n)
					}
				}
				b.ReportMetric(float64(b.N)*float64(t.rows)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

func file(b []byte) fileio.File { return memFile{bytes.NewReader(b)} }

func readAll(b *testing.B, r batchReader) (rows int) {
	b.Helper()
	for {
		cols, n, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			b.Fatal(err)
		}
		rows += n
		for _, c := range cols {
			c.Release()
		}
	}
}
