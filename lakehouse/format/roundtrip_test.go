package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// memFile is a file in memory.
type memFile struct{ *bytes.Reader }

func (memFile) Close() error { return nil }

func flatFields() []columnar.Field {
	types := []columnar.DataType{
		columnar.Of(columnar.Boolean), columnar.Of(columnar.TinyInt), columnar.Of(columnar.SmallInt), columnar.Of(columnar.Int), columnar.Of(columnar.BigInt),
		columnar.Of(columnar.Float), columnar.Of(columnar.Double), columnar.DecimalOf(9, 2), columnar.DecimalOf(18, 4), columnar.DecimalOf(38, 10), columnar.DecimalOf(19, 0),
		columnar.StringType(), columnar.BytesType(), columnar.Of(columnar.Date),
		{Kind: columnar.Time, Nullable: true, Precision: 3},
		columnar.TimestampOf(3), columnar.TimestampOf(6), columnar.TimestampOf(9),
		{Kind: columnar.TimestampLTZ, Nullable: true, Precision: 6},
		columnar.Of(columnar.BigInt).NotNull(), columnar.Of(columnar.Int).NotNull(), columnar.StringType().NotNull(), columnar.TimestampOf(3).NotNull(),
	}
	out := make([]columnar.Field, len(types))
	for i, t := range types {
		out[i] = columnar.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: t}
	}
	return out
}

// randomColumns makes rows values a field; distinct is about how many different ones.
func randomColumns(fields []columnar.Field, rows int, distinct int64, nulls float64, rnd *rand.Rand) []arrow.Array {
	cols := make([]arrow.Array, len(fields))
	for i, f := range fields {
		b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(f.Type))
		for range rows {
			if f.Type.Nullable && rnd.Float64() < nulls {
				b.AppendNull()
				continue
			}
			v := rnd.Int64N(distinct) - distinct/2
			switch b := b.(type) {
			case *array.BooleanBuilder:
				b.Append(v&1 == 0)
			case *array.Float32Builder:
				b.Append(float32(v) / 3)
			case *array.Float64Builder:
				b.Append(float64(v) / 7)
			case *array.Decimal128Builder:
				n := decimal128.FromI64(v)
				if f.Type.Precision > 18 {
					n = n.Mul(decimal128.FromI64(1 << 20))
				}
				b.Append(n)
			case *array.StringBuilder:
				b.Append(fmt.Sprintf("värde-%d", v))
			case *array.BinaryBuilder:
				b.Append(fmt.Appendf(nil, "\x00%d", v))
			default:
				appendInt(b, v)
			}
		}
		cols[i] = b.NewArray()
		b.Release()
	}
	return cols
}

func writeFile(t testing.TB, fields []columnar.Field, opts Options, batches ...[]arrow.Array) ([]byte, FileInfo) {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, fields, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.WriteBatch(b, b[0].Len()); err != nil {
			t.Fatal(err)
		}
	}
	info, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if info.Size != int64(buf.Len()) {
		t.Errorf("Size = %d, file has %d bytes", info.Size, buf.Len())
	}
	return buf.Bytes(), info
}

// readFile reads all batches of a file and joins them by column.
func readFile(t testing.TB, content []byte, wanted []columnar.Field, batch int) []arrow.Array {
	t.Helper()
	r, err := OpenReader(memFile{bytes.NewReader(content)}, "f.parquet", wanted, ReadOptions{BatchRows: batch})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	parts := make([][]arrow.Array, len(wanted))
	for {
		cols, n, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n > batch {
			t.Fatalf("batch of %d rows, want at most %d", n, batch)
		}
		for i := range cols {
			parts[i] = append(parts[i], cols[i])
		}
	}
	out := make([]arrow.Array, len(wanted))
	for i := range parts {
		a, err := array.Concatenate(parts[i], memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = a
	}
	return out
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		fields := flatFields()
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 7))
		opts := Options{
			Compression: rapid.SampledFrom([]string{"zstd", "snappy", "gzip", "lz4", "uncompressed"}).Draw(rt, "codec"),
			PageSize:    rapid.SampledFrom([]int64{64, 4096, 1 << 20}).Draw(rt, "page"),
			BlockSize:   rapid.SampledFrom([]int64{1, 1 << 14, 1 << 30}).Draw(rt, "block"),
			Distinct:    []string{"c4", "c19", "c20", "c21"},
		}
		var batches [][]arrow.Array
		for range rapid.IntRange(1, 4).Draw(rt, "batches") {
			rows := rapid.IntRange(1, 3000).Draw(rt, "rows")
			nulls := rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(rt, "nulls")
			distinct := rapid.SampledFrom([]int64{1, 20, 100, 1 << 30}).Draw(rt, "distinct")
			b := randomColumns(fields, rows, distinct, nulls, rnd)
			if rows > 10 {
				// A slice has an offset that is no multiple of a byte.
				for i := range b {
					b[i] = array.NewSlice(b[i], 3, int64(rows-2))
				}
			}
			batches = append(batches, b)
		}
		content, info := writeFile(t, fields, opts, batches...)
		missing := columnar.Field{ID: 99, Name: "absent", Type: columnar.DecimalOf(20, 2)}
		got := readFile(t, content, append(fields, missing), rapid.IntRange(1, 4000).Draw(rt, "batch"))
		for i, f := range fields {
			parts := make([]arrow.Array, len(batches))
			var nulls int64
			for k := range batches {
				parts[k] = batches[k][i]
				nulls += int64(parts[k].NullN())
			}
			want, err := array.Concatenate(parts, memory.DefaultAllocator)
			if err != nil {
				rt.Fatal(err)
			}
			if !array.Equal(want, got[i]) {
				rt.Fatalf("column %s of type %s differs:\nwant %v\ngot  %v", f.Name, f.Type, want, got[i])
			}
			if info.Stats[i].Nulls != nulls {
				rt.Errorf("column %s: %d nulls in the statistics, want %d", f.Name, info.Stats[i].Nulls, nulls)
			}
		}
		if n := got[len(fields)]; n.NullN() != n.Len() {
			rt.Errorf("column absent has %d nulls of %d", n.NullN(), n.Len())
		}
	})
}

func TestDamagedFileIsAnErrorNotAPanic(t *testing.T) {
	t.Parallel()
	fields := flatFields()
	rnd := rand.New(rand.NewPCG(1, 2))
	content, _ := writeFile(t, fields, Options{PageSize: 512}, randomColumns(fields, 500, 20, 0.1, rnd))
	corrupt := 0
	for range 600 {
		bad := bytes.Clone(content)
		switch rnd.IntN(3) {
		case 0:
			bad = bad[:rnd.IntN(len(bad))]
		default:
			for range 1 + rnd.IntN(4) {
				bad[rnd.IntN(len(bad))] = byte(rnd.Uint32())
			}
		}
		err := drain(bad, fields)
		if err == nil {
			continue
		}
		corrupt++
		if diag.DomainOf(err) != diag.Corrupt {
			t.Fatalf("error of domain %d, want Corrupt: %v", diag.DomainOf(err), err)
		}
	}
	if corrupt == 0 {
		t.Error("no damage was noticed")
	}
}

func drain(content []byte, fields []columnar.Field) error {
	r, err := OpenReader(memFile{bytes.NewReader(content)}, "f.parquet", fields, ReadOptions{})
	if err != nil {
		return err
	}
	defer r.Close()
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
