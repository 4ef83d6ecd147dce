package format

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/lakehouse/format/formattest"
)

// orderFields are the columns of a merge-tree file of a seven-column orders table.
func orderFields() []columnar.Field {
	return []columnar.Field{
		{ID: 1073741823, Name: "_KEY_order_id", Type: columnar.Of(columnar.BigInt).NotNull()},
		{ID: 2147483646, Name: "_SEQUENCE_NUMBER", Type: columnar.Of(columnar.BigInt).NotNull()},
		{ID: 2147483645, Name: "_VALUE_KIND", Type: columnar.Of(columnar.TinyInt).NotNull()},
		{ID: 0, Name: "order_id", Type: columnar.Of(columnar.BigInt).NotNull()},
		{ID: 1, Name: "user_id", Type: columnar.Of(columnar.BigInt)},
		{ID: 2, Name: "order_amount", Type: columnar.DecimalOf(18, 2)},
		{ID: 3, Name: "status", Type: columnar.StringType()},
		{ID: 4, Name: "address", Type: columnar.StringType()},
		{ID: 5, Name: "create_time", Type: columnar.TimestampOf(3)},
		{ID: 6, Name: "update_time", Type: columnar.TimestampOf(3)},
	}
}

func orderColumns(rows int, from int64) []arrow.Array {
	mem := memory.DefaultAllocator
	s := &columnar.Schema{Fields: orderFields()}
	b := columnar.NewBuilders(mem, s)
	rnd := rand.New(rand.NewPCG(1, uint64(from)))
	states := []string{"created", "paid", "shipped", "delivered", "cancelled"}
	base := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for i := range int64(rows) {
		id := from + i
		b[0].(*array.Int64Builder).Append(id)
		b[1].(*array.Int64Builder).Append(id)
		b[2].(*array.Int8Builder).Append(0)
		b[3].(*array.Int64Builder).Append(id)
		b[4].(*array.Int64Builder).Append(rnd.Int64N(100_000))
		b[5].(*array.Decimal128Builder).Append(decimal128.FromI64(rnd.Int64N(1_000_000)))
		b[6].(*array.StringBuilder).Append(states[rnd.IntN(len(states))])
		b[7].(*array.StringBuilder).Append(fmt.Sprintf("%d Main Street, City %d", rnd.IntN(10_000), rnd.IntN(500)))
		ts := base + id*86 + rnd.Int64N(50)
		b[8].(*array.TimestampBuilder).Append(arrow.Timestamp(ts))
		b[9].(*array.TimestampBuilder).Append(arrow.Timestamp(ts + rnd.Int64N(1000)))
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	return cols
}

func BenchmarkWriteOrders(b *testing.B) {
	const rows, chunk = 1_000_000, 16_384
	var chunks [][]arrow.Array
	for at := 0; at < rows; at += chunk {
		chunks = append(chunks, orderColumns(min(chunk, rows-at), int64(at)))
	}
	for _, codec := range []string{"zstd", "snappy", "uncompressed"} {
		b.Run(codec, func(b *testing.B) {
			b.ReportAllocs()
			var size int64
			for b.Loop() {
				w, err := NewWriter(io.Discard, orderFields(), Options{Compression: codec, Distinct: []string{"_KEY_order_id", "_SEQUENCE_NUMBER", "order_id"}})
				if err != nil {
					b.Fatal(err)
				}
				for _, c := range chunks {
					if err := w.WriteBatch(c, c[0].Len()); err != nil {
						b.Fatal(err)
					}
				}
				info, err := w.Close()
				if err != nil {
					b.Fatal(err)
				}
				size = info.Size
			}
			b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(size)/rows, "B/row")
		})
	}
}

// BenchmarkNested writes and reads lists, maps and rows; allocations are to follow batches, not rows.
func BenchmarkNested(b *testing.B) {
	const rows, chunks = 16_384, 8
	fields := nestedFields()
	s := formattest.Values{Rand: rand.New(rand.NewPCG(1, 2)), Nulls: 0.05, Entries: 4, Few: true}
	cols := s.Columns(fields, rows)
	write := func(w io.Writer) {
		f, err := NewWriter(w, fields, Options{})
		if err != nil {
			b.Fatal(err)
		}
		for range chunks {
			if err := f.WriteBatch(cols, rows); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			write(io.Discard)
		}
		b.ReportMetric(float64(b.N)*rows*chunks/b.Elapsed().Seconds(), "rows/s")
	})
	var content bytes.Buffer
	write(&content)
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := drain(content.Bytes(), fields); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)*rows*chunks/b.Elapsed().Seconds(), "rows/s")
	})
}
