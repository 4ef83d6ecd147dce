package orcfiles

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/lakehouse/format/orc"
)

// randomFile is a file to write: its columns and how.
type randomFile struct {
	fields []columnar.Field
	rows   int
	ours   orc.Options
	// java is how Java writes it anew: version, codec, sizes of stripe, row group and chunk, dictionary threshold.
	java string
}

var randomFiles = rapid.Custom(func(t *rapid.T) randomFile {
	f := randomFile{rows: rapid.IntRange(1, 4000).Draw(t, "rows")}
	for i := range rapid.IntRange(1, 8).Draw(t, "columns") {
		f.fields = append(f.fields, columnar.Field{ID: i, Name: fmt.Sprint("c", i), Type: randomType(t, 2)})
	}
	f.ours = orc.Options{
		Compression: rapid.SampledFrom([]string{"zstd", "zlib", "snappy", "lz4", "none"}).Draw(t, "codec"),
		StripeSize:  rapid.SampledFrom([]int64{0, 5000, 100_000}).Draw(t, "stripe"),
		ChunkSize:   rapid.SampledFrom([]int{0, 1000, 30_000}).Draw(t, "chunk"),
		IndexRows:   rapid.SampledFrom([]int{0, 100, 1000}).Draw(t, "row group"),
	}
	f.java = strings.Join([]string{
		rapid.SampledFrom([]string{"0.11", "0.12", "0.12"}).Draw(t, "version"),
		rapid.SampledFrom([]string{"ZSTD", "ZLIB", "SNAPPY", "LZ4", "NONE"}).Draw(t, "Java's codec"),
		rapid.SampledFrom([]string{"67108864", "20000"}).Draw(t, "Java's stripe"),
		rapid.SampledFrom([]string{"10000", "1000"}).Draw(t, "Java's row group"),
		rapid.SampledFrom([]string{"262144", "4096"}).Draw(t, "Java's chunk"),
		rapid.SampledFrom([]string{"0", "0.8", "1"}).Draw(t, "threshold"),
	}, " ")
	return f
})

func randomType(t *rapid.T, depth int) columnar.DataType {
	kinds := []columnar.Kind{
		columnar.BigInt, columnar.BigInt, columnar.Int, columnar.SmallInt, columnar.TinyInt, columnar.Boolean, columnar.Float, columnar.Double,
		columnar.Decimal, columnar.VarChar, columnar.VarBinary, columnar.Date, columnar.Time, columnar.Timestamp, columnar.TimestampLTZ,
	}
	if depth > 0 {
		kinds = append(kinds, columnar.Array, columnar.Map, columnar.Row)
	}
	dt := columnar.DataType{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Nullable: rapid.Bool().Draw(t, "nullable")}
	switch dt.Kind {
	case columnar.Decimal:
		dt.Precision = rapid.SampledFrom([]int{9, 18, 38}).Draw(t, "precision")
		dt.Scale = rapid.IntRange(0, 9).Draw(t, "scale")
	case columnar.VarChar, columnar.VarBinary:
		dt.Length = columnar.MaxLength
	case columnar.Time:
		dt.Precision = 3
	case columnar.Timestamp, columnar.TimestampLTZ:
		dt.Precision = rapid.SampledFrom([]int{0, 3, 6, 9}).Draw(t, "precision")
	case columnar.Array:
		e := randomType(t, depth-1)
		dt.Elem = &e
	case columnar.Map:
		k, e := columnar.StringType().NotNull(), randomType(t, depth-1)
		dt.Key, dt.Elem = &k, &e
	case columnar.Row:
		for i := range rapid.IntRange(1, 3).Draw(t, "fields") {
			dt.Fields = append(dt.Fields, columnar.Field{ID: 100 + i, Name: fmt.Sprint("f", i), Type: randomType(t, depth-1)})
		}
	default:
	}
	return dt
}

// columns makes the values of f: whole numbers in stretches that each kind of
// run takes, others at random.
func (f randomFile) columns(seed uint64) []arrow.Array {
	rnd := rand.New(rand.NewPCG(seed, 3))
	out := make([]arrow.Array, len(f.fields))
	for i, field := range f.fields {
		b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(field.Type))
		ints, ok := b.(*array.Int64Builder)
		for n := 0; n < f.rows; n++ {
			if ok && !field.Type.Nullable {
				n += stretch(ints, rnd, f.rows-n) - 1
			} else {
				fill(b, field.Type, rnd, rnd.IntN(4))
			}
		}
		out[i] = b.NewArray()
	}
	return out
}

// stretch appends numbers of one shape, at most so many, and gives how many.
func stretch(b *array.Int64Builder, rnd *rand.Rand, most int) int {
	n := min(most, 1+rnd.IntN(700))
	shape := rnd.IntN(7)
	if shape == 0 {
		n = min(most, 3+rnd.IntN(8)) // SHORT_REPEAT
	}
	at, step, bits := rnd.Int64()>>rnd.IntN(64), rnd.Int64()>>(20+rnd.IntN(40)), rnd.IntN(63)
	for i := range n {
		switch shape {
		case 0, 1: // a DELTA without a width, step 0
		case 2: // the same with a step
			at += step
		case 3, 4: // DELTA with a width, up or down
			d := rnd.Int64N(1 << min(bits, 20))
			if shape == 4 {
				d = -d
			}
			at += d
		case 5: // DIRECT
			at = rnd.Int64() >> bits
		default: // PATCHED_BASE: near each other, but for a few
			at = 1000 + rnd.Int64N(100)
			if i%60 == 59 {
				at = rnd.Int64N(1 << 40)
			}
		}
		b.Append(at)
	}
	return n
}

// TestRandomFiles writes random files, has Java write each anew in one process,
// and reads both.
func TestRandomFiles(t *testing.T) {
	t.Parallel()
	const files = 40
	dir := t.TempDir()
	var list strings.Builder
	all, want := make([]randomFile, files), make([][]arrow.Array, files)
	path := func(who string, i int) string { return filepath.Join(dir, fmt.Sprintf("%s-%d.orc", who, i)) }
	for i := range all {
		f := randomFiles.Example(i)
		cols := f.columns(uint64(i))
		write(t, path("ours", i), f.fields, cols, f.ours)
		// Times of the last second before 1970 come back later than they were.
		all[i], want[i] = f, read(t, path("ours", i), f.fields)
		for c, field := range f.fields {
			if !holdsTime(field.Type) {
				same(t, f.fields[c:c+1], cols[c:c+1], want[i][c:c+1])
			}
		}
		fmt.Fprintln(&list, path("ours", i), path("java", i), f.java)
	}
	listFile := filepath.Join(dir, "list")
	if err := os.WriteFile(listFile, []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	java(t, "UTC", tool, "copy", listFile)
	for i, f := range all {
		if same(t, f.fields, want[i], read(t, path("java", i), f.fields)); t.Failed() {
			t.Fatalf("file %d: ours %+v, Java's %s", i, f.ours, f.java)
		}
	}
}

// holdsTime reports whether there are timestamps in t.
func holdsTime(t columnar.DataType) bool {
	for _, f := range t.Fields {
		if holdsTime(f.Type) {
			return true
		}
	}
	return t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ || t.Elem != nil && holdsTime(*t.Elem)
}
