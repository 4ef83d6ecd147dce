package avro

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/format"
	"leat/lakehouse/format/formattest"
)

// memFile is a file in memory.
type memFile struct{ *bytes.Reader }

func (memFile) Close() error { return nil }

func fields() []columnar.Field {
	types := []columnar.DataType{
		columnar.Of(columnar.Boolean), columnar.Of(columnar.TinyInt), columnar.Of(columnar.SmallInt), columnar.Of(columnar.Int), columnar.Of(columnar.BigInt),
		columnar.Of(columnar.Float), columnar.Of(columnar.Double), columnar.DecimalOf(9, 2), columnar.DecimalOf(38, 10), columnar.StringType(), columnar.BytesType(),
		columnar.Of(columnar.Date),
		{Kind: columnar.Time, Nullable: true, Precision: 3},
		columnar.TimestampOf(3), columnar.TimestampOf(6),
		{Kind: columnar.TimestampLTZ, Nullable: true, Precision: 6},
		columnar.Of(columnar.BigInt).NotNull(), columnar.StringType().NotNull(),
	}
	out := make([]columnar.Field, len(types))
	for i, t := range types {
		out[i] = columnar.Field{ID: i, Name: fmt.Sprint("c", i), Type: t}
	}
	return out
}

// columns makes values that rise and fall over the whole range of each type, and nulls.
func columns(fs []columnar.Field, rows int) []arrow.Array {
	cols := make([]arrow.Array, len(fs))
	for i, f := range fs {
		b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(f.Type))
		for r := range rows {
			if f.Type.Nullable && r%5 == i%5 {
				b.AppendNull()
				continue
			}
			v := int64(1)<<(r%63) - int64(r)
			if r%2 == 1 {
				v = -v
			}
			appendValue(b, v)
		}
		cols[i] = b.NewArray()
	}
	return cols
}

func appendValue(b array.Builder, v int64) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v > 0)
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int64Builder:
		b.Append(v)
	case *array.Date32Builder:
		b.Append(arrow.Date32(v))
	case *array.Time32Builder:
		b.Append(arrow.Time32(v))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v))
	case *array.Float32Builder:
		b.Append(math.Float32frombits(uint32(v) &^ (0xff << 23)))
	case *array.Float64Builder:
		b.Append(float64(v) / 3)
	case *array.Decimal128Builder:
		b.Append(decimal128.New(v>>20, uint64(v)))
	case *array.StringBuilder:
		b.Append(fmt.Sprint("größe ", v))
	case *array.BinaryBuilder:
		b.Append(binary.BigEndian.AppendUint64(nil, uint64(v))[:v&7])
	}
}

func encode(t testing.TB, fs []columnar.Field, compression string, batches ...[]arrow.Array) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, fs, format.Options{Compression: compression})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, b := range batches {
		rows += b[0].Len()
		if err := w.WriteBatch(b, b[0].Len()); err != nil {
			t.Fatal(err)
		}
	}
	info, err := w.Close()
	if err != nil || info.Rows != int64(rows) || info.Size != int64(out.Len()) || w.Size() != info.Size {
		t.Fatalf("%+v, %v", info, err)
	}
	return out.Bytes()
}

func decode(b []byte, wanted []columnar.Field) ([][]arrow.Array, error) {
	r, err := OpenReader(memFile{bytes.NewReader(b)}, "f.avro", wanted, format.ReadOptions{})
	if err != nil {
		return nil, err
	}
	var out [][]arrow.Array
	for {
		cols, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, cols)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	fs := fields()
	for _, compression := range []string{"zstd", "uncompressed"} {
		want := columns(fs, 3000)
		batches, err := decode(encode(t, fs, compression, want, columns(fs, 100)), fs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range fs {
			var parts []arrow.Array
			for _, b := range batches {
				parts = append(parts, b[i])
			}
			got, err := array.Concatenate(parts, memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			all, err := array.Concatenate([]arrow.Array{want[i], columns(fs, 100)[i]}, memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			if !array.Equal(all, got) {
				t.Errorf("%s: column %d of type %s differs", compression, i, fs[i].Type)
			}
		}
	}
}

// A reader finds columns by name, skips others and gives nulls for absent ones.
func TestColumnsByName(t *testing.T) {
	t.Parallel()
	fs := fields()
	wanted := []columnar.Field{fs[9], {Name: "new", Type: columnar.Of(columnar.Int)}, fs[4]}
	want := columns(fs, 50)
	got, err := decode(encode(t, fs, "zstd", want), wanted)
	if err != nil || len(got) != 1 || !array.Equal(got[0][0], want[9]) || got[0][1].NullN() != 50 || !array.Equal(got[0][2], want[4]) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := decode(encode(t, fs, "zstd", want), []columnar.Field{{Name: "c9", Type: columnar.Of(columnar.Int)}}); diag.DomainOf(err) != diag.Corrupt {
		t.Errorf("a column of another type gives %v", err)
	}
}

func TestUnsupportedTypes(t *testing.T) {
	t.Parallel()
	number := columnar.Of(columnar.Int)
	for _, typ := range []columnar.DataType{
		columnar.TimestampOf(9),
		{Kind: columnar.Time, Precision: 6},
		columnar.Of(columnar.Variant),
		{Kind: columnar.Multiset, Elem: &number},
		list(columnar.TimestampOf(9)), mapOf(number, columnar.Of(columnar.Variant)),
	} {
		var unsupported *format.UnsupportedTypeError
		if _, err := NewWriter(io.Discard, []columnar.Field{{Name: "c", Type: typ}}, format.Options{}); !errors.As(err, &unsupported) {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// Java's library opens no table with other names.
func TestNamesThatAvroHas(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"größe": true, "_KEY_id": true, "x1": true, "1x": false, "a-b": false, "a b": false, "": false} {
		for _, f := range []columnar.Field{{Name: name, Type: columnar.Of(columnar.Int)}, {Name: "r", Type: row(columnar.Field{Name: name, Type: columnar.Of(columnar.Int)})}} {
			if _, err := NewWriter(io.Discard, []columnar.Field{f}, format.Options{}); (err == nil) != want {
				t.Errorf("%q in %s: error %v", name, f.Type, err)
			}
		}
	}
}

// Damage gives errors of domain Corrupt or other values, never a panic.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	fs := append(fields(), nestedFields()...)
	s := formattest.Values{Rand: rand.New(rand.NewPCG(1, 1)), Nulls: 0.2, Entries: 2}
	good := encode(t, fs, "uncompressed", append(columns(fields(), 10), s.Columns(nestedFields(), 10)...))
	whole, err := decode(good, fs)
	if err != nil || len(whole) != 1 {
		t.Fatal(err)
	}
	for n := range good {
		got, err := decode(good[:n], fs)
		if err == nil && len(got) > 0 || err != nil && diag.DomainOf(err) != diag.Corrupt {
			t.Fatalf("cut at %d: %v", n, err)
		}
		for _, flip := range []byte{0x01, 0x80, 0xff}[n%3 : n%3+1] {
			bad := bytes.Clone(good)
			bad[n] ^= flip
			if _, err := decode(bad, fs); err != nil && diag.DomainOf(err) != diag.Corrupt {
				t.Fatalf("byte %d: %v", n, err)
			}
		}
	}
}
