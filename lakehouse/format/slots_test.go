package format

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/internal/columnar"
)

// TestLevelsBecomeBits writes definition levels and reads them as the bits of a bitmap, in pieces.
func TestLevelsBecomeBits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var levels []int16
		for range rapid.IntRange(0, 30).Draw(t, "stretches") {
			n, kind := rapid.IntRange(1, 150).Draw(t, "length"), rapid.IntRange(0, 3).Draw(t, "kind")
			for i := range n {
				switch kind {
				case 0, 1:
					levels = append(levels, int16(kind))
				default:
					levels = append(levels, int16(i*7919%11&1))
				}
			}
		}
		data := appendHybrid(nil, levels, 1)
		var h hybridReader
		if err := h.reset(data, 1); err != nil {
			t.Fatal(err)
		}
		before := rapid.IntRange(0, 20).Draw(t, "rows before")
		v := validity{c: &columnReader{mem: memory.DefaultAllocator}, n: before + len(levels)}
		for at := 0; at < len(levels); {
			n := rapid.IntRange(1, len(levels)-at).Draw(t, "piece")
			count, err := h.readBits(n, &v, before+at)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, l := range levels[at : at+n] {
				want += int(l)
			}
			if count != want {
				t.Fatalf("%d of levels %d to %d have values, want %d", count, at, at+n, want)
			}
			at += n
		}
		nulls := 0
		for i := range v.n {
			want := i < before || levels[i-before] == 1
			if !want {
				nulls++
			}
			if got := bitutil.BitIsSet(v.bits(), i); got != want {
				t.Fatalf("bit %d is %v, want %v", i, got, want)
			}
		}
		if v.nulls != nulls {
			t.Fatalf("%d nulls, want %d", v.nulls, nulls)
		}
	})
}

// TestSpread moves dense values to their slots, within one slice.
func TestSpread(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.SliceOfN(rapid.Bool(), 0, 200).Draw(t, "set")
		at := rapid.IntRange(0, 17).Draw(t, "at")
		valid := make([]byte, bitutil.BytesForBits(int64(at+len(set))))
		vals, want, count := make([]int64, len(set)), make([]int64, len(set)), 0
		for i, s := range set {
			if s {
				bitutil.SetBit(valid, at+i)
				count++
				want[i] = -int64(count)
			}
		}
		for k := range count {
			vals[len(vals)-count+k] = -int64(k + 1)
		}
		for i := range vals[:len(vals)-count] {
			vals[i] = 99 // what was there before
		}
		spread(vals, count, valid, at)
		if d := cmp.Diff(want, vals); d != "" {
			t.Fatalf("values (-want +got):\n%s", d)
		}
	})
}

// TestPackedNumbers reads what is packed in every width, in pieces that begin anywhere.
func TestPackedNumbers(t *testing.T) {
	t.Parallel()
	for width := range 33 {
		rnd := rand.New(rand.NewPCG(uint64(width), 1))
		for range 20 {
			want := make([]uint32, 1+rnd.IntN(130))
			for i := range want {
				want[i] = rnd.Uint32() & (1<<width - 1)
			}
			var h hybridReader
			if err := h.reset(appendHybrid(nil, want, width), width); err != nil {
				t.Fatal(err)
			}
			got := make([]uint32, len(want))
			inPieces(t, rnd, got, h.read)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("numbers of %d bits (-want +got):\n%s", width, d)
			}
		}
	}
}

// inPieces fills vals piece by piece.
func inPieces[T any](t *testing.T, rnd *rand.Rand, vals []T, read func([]T) error) {
	t.Helper()
	for len(vals) > 0 {
		n := 1 + rnd.IntN(len(vals))
		if err := read(vals[:n]); err != nil {
			t.Fatal(err)
		}
		vals = vals[n:]
	}
}

// TestPackedDifferences reads packed differences of every width.
func TestPackedDifferences(t *testing.T) {
	t.Parallel()
	for width := range 65 {
		rnd := rand.New(rand.NewPCG(uint64(width), 2))
		for range 20 {
			last := int64(rnd.Uint64())
			least := last >> 8
			want, narrow := []int64{last}, []int32{int32(last)}
			for range rnd.IntN(400) {
				last += least + int64(rnd.Uint64()&(1<<width-1))
				want, narrow = append(want, last), append(narrow, int32(last))
			}
			checkDelta(t, rnd, want)
			checkDelta(t, rnd, narrow)
		}
	}
}

func checkDelta[T int32 | int64](t *testing.T, rnd *rand.Rand, want []T) {
	t.Helper()
	data := appendDelta(nil, want)
	if rnd.IntN(2) == 0 { // what follows must not matter
		data = append(data, "what stands behind the page"...)
	}
	var d deltaReader[T]
	if err := d.reset(data); err != nil {
		t.Fatal(err)
	}
	got := make([]T, len(want))
	inPieces(t, rnd, got, d.read)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("numbers (-want +got):\n%s", diff)
	}
}

// TestBooleans reads booleans bit by bit and in runs, and packs them again.
func TestBooleans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.SliceOfN(rapid.Bool(), 1, 100).Draw(t, "set")
		plain := make([]byte, bitutil.BytesForBits(int64(len(set))))
		levels := make([]int16, len(set))
		for i, s := range set {
			if s {
				bitutil.SetBit(plain, i)
				levels[i] = 1
			}
		}
		d := boolDecoder{}
		if err := d.start(plain, parquet.Encodings.Plain); err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "runs") {
			runs := appendHybrid(nil, levels, 1)
			if err := d.start(append([]byte{byte(len(runs)), byte(len(runs) >> 8), 0, 0}, runs...), parquet.Encodings.RLE); err != nil {
				t.Fatal(err)
			}
		}
		at := rapid.IntRange(0, 9).Draw(t, "at")
		got := make([]byte, bitutil.BytesForBits(int64(at+len(set))))
		for from := 0; from < len(set); {
			vals := make([]uint8, rapid.IntRange(1, len(set)-from).Draw(t, "piece"))
			if err := d.read(vals); err != nil {
				t.Fatal(err)
			}
			packBits(got, at+from, vals)
			from += len(vals)
		}
		for i, s := range set {
			if bitutil.BitIsSet(got, at+i) != s {
				t.Fatalf("value %d is %v, want %v", i, !s, s)
			}
		}
	})
}

// TestFloatsAndBooleansOfTheLibrary reads pages of the library of the types that it does not leave
// to it: plain, by dictionary, in runs and in the encoding that is the library's own.
func TestFloatsAndBooleansOfTheLibrary(t *testing.T) {
	t.Parallel()
	const rows = 5000
	fields := []columnar.Field{
		{ID: 0, Name: "f", Type: columnar.Of(columnar.Float)},
		{ID: 1, Name: "d", Type: columnar.Of(columnar.Double)},
		{ID: 2, Name: "b", Type: columnar.Of(columnar.Boolean)},
	}
	b := columnar.NewBuilders(memory.DefaultAllocator, &columnar.Schema{Fields: fields})
	for i := range rows {
		if i%7 == 3 || i/100%5 == 2 {
			for _, c := range b {
				c.AppendNull()
			}
			continue
		}
		v := []float64{math.NaN(), math.Copysign(0, -1), math.Inf(1), float64(i) / 7}[i%4]
		b[0].(*array.Float32Builder).Append(float32(v))
		b[1].(*array.Float64Builder).Append(v)
		b[2].(*array.BooleanBuilder).Append(i%3 == 0 || i > 3000)
	}
	floats, doubles, bools := b[0].NewArray().(*array.Float32), b[1].NewArray().(*array.Float64), b[2].NewArray().(*array.Boolean)
	def := make([]int16, rows)
	var fv []float32
	var dv []float64
	var bv []bool
	for i := range rows {
		if floats.IsValid(i) {
			def[i] = 1
			fv, dv, bv = append(fv, floats.Value(i)), append(dv, doubles.Value(i)), append(bv, bools.Value(i))
		}
	}
	root, err := parquetSchema(fields)
	if err != nil {
		t.Fatal(err)
	}
	for name, props := range map[string][]parquet.WriterProperty{
		"plain":      {parquet.WithDictionaryDefault(false)},
		"dictionary": {parquet.WithDictionaryDefault(true)},
		"runs":       {parquet.WithDictionaryDefault(false), parquet.WithEncodingFor("b", parquet.Encodings.RLE), parquet.WithDataPageVersion(parquet.DataPageV2)},
		"split":      {parquet.WithDictionaryDefault(false), parquet.WithEncodingFor("f", parquet.Encodings.ByteStreamSplit), parquet.WithEncodingFor("d", parquet.Encodings.ByteStreamSplit)},
	} {
		var out bytes.Buffer
		fw := file.NewParquetWriter(&out, root, file.WithWriterProps(parquet.NewWriterProperties(append(props, parquet.WithDataPageSize(3000))...)))
		rg, err := fw.AppendBufferedRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		for i := range fields {
			cw, err := rg.Column(i)
			if err != nil {
				t.Fatal(err)
			}
			switch c := cw.(type) {
			case *file.Float32ColumnChunkWriter:
				_, err = c.WriteBatch(fv, def, nil)
			case *file.Float64ColumnChunkWriter:
				_, err = c.WriteBatch(dv, def, nil)
			case *file.BooleanColumnChunkWriter:
				_, err = c.WriteBatch(bv, def, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := fw.Close(); err != nil {
			t.Fatal(err)
		}
		got := readFile(t, out.Bytes(), fields, 777)
		for i, want := range []arrow.Array{floats, doubles, bools} {
			// By text, which tells NaN and the sign of 0.
			if d := cmp.Diff(want.String(), got[i].String()); d != "" {
				t.Errorf("%s, column %s (-want +got):\n%s", name, fields[i].Name, d)
			}
		}
	}
}
