package orc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
)

func TestOrdersInEveryCodec(t *testing.T) {
	t.Parallel()
	batches := [][]arrow.Array{OrderColumns(7000, 0), OrderColumns(7000, 7000), OrderColumns(7000, 14000)}
	want := concat(t, batches)
	for _, codec := range []string{"", "zstd", "snappy", "lz4", "zlib", "none"} {
		b, info := writeFile(t, OrderFields(), Options{Compression: codec}, batches...)
		if info.Rows != 21000 {
			t.Errorf("%s: Rows = %d", codec, info.Rows)
		}
		sameColumns(t, OrderFields(), want, readFile(t, b, OrderFields(), ReadOptions{}))
	}
}

func concat(t fatalizer, batches [][]arrow.Array) []arrow.Array {
	t.Helper()
	out := make([]arrow.Array, len(batches[0]))
	for i := range out {
		parts := make([]arrow.Array, len(batches))
		for j, b := range batches {
			parts[j] = b[i]
		}
		var err error
		if out[i], err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
			t.Fatalf("Concatenate: %v", err)
		}
	}
	return out
}

// genType draws a type; nested ones down to the given depth.
func genType(t *rapid.T, depth int) columnar.DataType {
	kinds := []columnar.Kind{
		columnar.Boolean, columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt, columnar.Float, columnar.Double,
		columnar.Decimal, columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary, columnar.Date, columnar.Time,
		columnar.Timestamp, columnar.TimestampLTZ,
	}
	if depth > 0 {
		kinds = append(kinds, columnar.Array, columnar.Map, columnar.Multiset, columnar.Row, columnar.Row, columnar.Array)
	}
	dt := columnar.DataType{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Nullable: rapid.Bool().Draw(t, "nullable")}
	switch dt.Kind {
	case columnar.Decimal:
		dt.Precision = rapid.IntRange(1, 38).Draw(t, "precision")
		dt.Scale = rapid.IntRange(0, dt.Precision).Draw(t, "scale")
	case columnar.Char, columnar.Binary:
		dt.Length = rapid.IntRange(1, 12).Draw(t, "length")
	case columnar.VarChar, columnar.VarBinary:
		dt.Length = rapid.SampledFrom([]int{20, columnar.MaxLength}).Draw(t, "length")
	case columnar.Time, columnar.Timestamp, columnar.TimestampLTZ:
		dt.Precision = rapid.IntRange(0, 9).Draw(t, "precision")
	case columnar.Array, columnar.Multiset:
		e := genType(t, depth-1)
		e.Nullable = e.Nullable && dt.Kind == columnar.Array
		dt.Elem = &e
	case columnar.Map:
		k, e := genType(t, 0).NotNull(), genType(t, depth-1)
		dt.Key, dt.Elem = &k, &e
	case columnar.Row:
		for i := range rapid.IntRange(1, 3).Draw(t, "fields") {
			dt.Fields = append(dt.Fields, columnar.Field{ID: 100 + i, Name: fmt.Sprintf("f%d", i), Type: genType(t, depth-1)})
		}
	default:
	}
	return dt
}

// source makes values. mode picks how they follow each other, so that every
// encoding is met: 0 random, 1 constant, 2 rising, 3 small with outliers, 4 runs.
type source struct {
	rnd   *rand.Rand
	mode  int
	last  int64
	nulls float64
}

func (s *source) int(bits int) int64 {
	limit := int64(1)<<(bits-1) - 1
	switch s.mode {
	case 0:
		v := s.rnd.Int64() >> s.rnd.IntN(64)
		s.last = v
	case 1:
	case 2:
		s.last += s.rnd.Int64N(3)
	case 3:
		s.last = s.rnd.Int64N(100)
		if s.rnd.IntN(30) == 0 {
			s.last = s.rnd.Int64N(limit)
		}
	default:
		if s.rnd.IntN(20) == 0 {
			s.last = s.rnd.Int64N(1000) - 500
		}
	}
	v := s.last
	if s.mode == 0 && s.rnd.IntN(2) == 0 {
		v = -v
	}
	if v > limit || v < -limit {
		v %= limit + 1
	}
	return v
}

func (s *source) text(n int) string {
	if s.mode == 1 {
		return "same"[:min(n, 4)]
	}
	runes := []rune("abcdefghijklmnopqrstuvwxyzé中😀 _\x01")
	out := make([]rune, s.rnd.IntN(n+1))
	for i := range out {
		out[i] = runes[s.rnd.IntN(len(runes))]
	}
	if len(out) > 0 && out[len(out)-1] == ' ' {
		out[len(out)-1] = 'x'
	}
	return string(out)
}

func (s *source) append(b array.Builder, t columnar.DataType) {
	if t.Nullable && s.rnd.Float64() < s.nulls {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(s.int(8)&1 == 1)
	case *array.Int8Builder:
		b.Append(int8(s.int(8)))
	case *array.Int16Builder:
		b.Append(int16(s.int(16)))
	case *array.Int32Builder:
		b.Append(int32(s.int(32)))
	case *array.Int64Builder:
		b.Append(s.int(64))
	case *array.Date32Builder:
		b.Append(arrow.Date32(s.int(22)))
	case *array.Time32Builder:
		b.Append(arrow.Time32(s.rnd.IntN(86_400_000)))
	case *array.Float32Builder:
		b.Append(math.Float32frombits(s.rnd.Uint32()))
	case *array.Float64Builder:
		b.Append(math.Float64frombits(s.rnd.Uint64()))
	case *array.Decimal128Builder:
		v := decimal128.New(s.int(63), s.rnd.Uint64())
		if t.Precision <= 18 || !v.FitsInPrecision(int32(t.Precision)) {
			v = decimal128.FromI64(s.int(63) % int64(math.Pow10(min(18, t.Precision))))
		}
		b.Append(v)
	case *array.StringBuilder:
		b.Append(s.text(min(t.Length, 20)))
	case *array.BinaryBuilder:
		v := make([]byte, s.rnd.IntN(min(t.Length, 20)+1))
		for i := range v {
			v[i] = byte(s.rnd.Uint32())
		}
		b.Append(v)
	case *array.TimestampBuilder:
		per := unitsPerSecond(t)
		v := s.int(61)
		if per < 1e9 {
			v = s.int(57)
		}
		if v < 0 && v > -per {
			v = -v // The format cannot keep these: see splitSeconds.
		}
		b.Append(arrow.Timestamp(v))
	default:
		s.appendNested(b, t)
	}
}

func (s *source) appendNested(b array.Builder, t columnar.DataType) {
	n := s.rnd.IntN(4)
	switch b := b.(type) {
	case *array.ListBuilder:
		b.Append(true)
		for range n {
			s.append(b.ValueBuilder(), *t.Elem)
		}
	case *array.MapBuilder:
		b.Append(true)
		for range n {
			if t.Kind == columnar.Multiset {
				s.append(b.KeyBuilder(), *t.Elem)
				s.append(b.ItemBuilder(), columnar.Of(columnar.Int).NotNull())
				continue
			}
			s.append(b.KeyBuilder(), *t.Key)
			s.append(b.ItemBuilder(), *t.Elem)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range t.Fields {
			s.append(b.FieldBuilder(i), f.Type)
		}
	default:
		panic(fmt.Sprintf("no values of %s", t))
	}
}

func genColumns(t *rapid.T, fields []columnar.Field, rows int, seed uint64) []arrow.Array {
	b := columnar.NewBuilders(memory.DefaultAllocator, &columnar.Schema{Fields: fields})
	out := make([]arrow.Array, len(b))
	for i, f := range fields {
		src := source{
			rnd:   rand.New(rand.NewPCG(seed, uint64(i))),
			mode:  rapid.IntRange(0, 4).Draw(t, "mode"),
			nulls: rapid.SampledFrom([]float64{0, 0.01, 0.5, 1}).Draw(t, "nulls"),
		}
		for range rows {
			src.append(b[i], f.Type)
		}
		out[i] = b[i].NewArray()
	}
	return out
}

func genFields(t *rapid.T) []columnar.Field {
	fields := make([]columnar.Field, rapid.IntRange(1, 4).Draw(t, "columns"))
	for i := range fields {
		fields[i] = columnar.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: genType(t, 3)}
	}
	return fields
}

func genOptions(t *rapid.T) Options {
	return Options{
		Compression: rapid.SampledFrom([]string{"zstd", "zlib", "snappy", "lz4", "none"}).Draw(t, "codec"),
		ChunkSize:   rapid.SampledFrom([]int{0, 64, 700, 5000}).Draw(t, "chunk"),
		IndexRows:   rapid.SampledFrom([]int{0, 10, 333, 1000}).Draw(t, "stride"),
		StripeSize:  rapid.SampledFrom([]int64{0, 1, 20_000}).Draw(t, "stripe"),
	}
}

// TestRoundTrip writes random tables with random options and reads them back,
// whole, projected, and by row groups.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields, opts := genFields(t), genOptions(t)
		var batches [][]arrow.Array
		for i := range rapid.IntRange(1, 3).Draw(t, "batches") {
			rows := rapid.SampledFrom([]int{1, 7, 100, 1500, 3000}).Draw(t, "rows")
			cols := genColumns(t, fields, rows, uint64(i)+rapid.Uint64().Draw(t, "seed"))
			if from := rapid.IntRange(0, rows-1).Draw(t, "from"); rapid.Bool().Draw(t, "slice") {
				for j := range cols {
					cols[j] = sliceOf(cols[j], from, rows)
				}
			}
			batches = append(batches, cols)
		}
		want := concat(t, batches)
		b, info := writeFile(t, fields, opts, batches...)
		for i, s := range info.Stats {
			if s.Nulls != int64(want[i].NullN()) {
				t.Fatalf("column %s: Nulls = %d, want %d", fields[i].Name, s.Nulls, want[i].NullN())
			}
		}
		read := ReadOptions{BatchRows: rapid.SampledFrom([]int{0, 1, 50, 999}).Draw(t, "batch rows")}
		sameColumns(t, fields, want, readFile(t, b, fields, read))
		one := rapid.IntRange(0, len(fields)-1).Draw(t, "column")
		sameColumns(t, fields[one:one+1], want[one:one+1], readFile(t, b, fields[one:one+1], read))
	})
}
