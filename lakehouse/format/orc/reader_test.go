package orc

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/internal/fileio"
)

// filterFunc is a Filter.
type filterFunc func(rows int64, stats func(columnar.Field) (ColumnStats, bool)) bool

func (f filterFunc) MayMatch(rows int64, stats func(columnar.Field) (ColumnStats, bool)) bool {
	return f(rows, stats)
}

// TestSkipping reads random row groups and compares each batch with the rows
// that it says it has.
func TestSkipping(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields, opts := genFields(t), genOptions(t)
		opts.IndexRows = rapid.SampledFrom([]int{10, 100, 999}).Draw(t, "index rows")
		want := genColumns(t, fields, 4000, rapid.Uint64().Draw(t, "seed"))
		b, _ := writeFile(t, fields, opts, want)
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "choice"), 1))
		odds := rapid.IntRange(2, 6).Draw(t, "odds")
		filter := filterFunc(func(int64, func(columnar.Field) (ColumnStats, bool)) bool { return rnd.IntN(odds) < odds-1 })
		r, err := OpenReader(newFile(b), "mem.orc", fields, ReadOptions{BatchRows: 300, Filter: filter})
		if err != nil {
			t.Fatalf("OpenReader: %v", err)
		}
		read := int64(0)
		for {
			cols, n, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("Next: %v", err)
			}
			from, part := int(r.FirstRow()), make([]arrow.Array, len(want))
			for i := range want {
				part[i] = sliceOf(want[i], from, from+n)
			}
			sameColumns(t, fields, part, cols)
			read += int64(n)
		}
		if read+r.Skipped() != 4000 {
			t.Fatalf("%d rows read and %d skipped of 4000", read, r.Skipped())
		}
	})
}

// TestPruning keeps the groups that may have ids of a range.
func TestPruning(t *testing.T) {
	t.Parallel()
	fields := OrderFields()
	b, _ := writeFile(t, fields, Options{IndexRows: 100, StripeSize: 1}, OrderColumns(1000, 0), OrderColumns(950, 1000))
	id := fields[3]
	filter := filterFunc(func(_ int64, stats func(columnar.Field) (ColumnStats, bool)) bool {
		s, ok := stats(id)
		if !ok || s.MinMax == nil {
			t.Error("no statistics of order_id")
			return true
		}
		v := s.MinMax.(*array.Int64)
		return v.Value(1) >= 1234 && v.Value(0) <= 1301
	})
	r, err := OpenReader(newFile(b), "mem.orc", fields[3:4], ReadOptions{Filter: filter})
	if err != nil {
		t.Fatal(err)
	}
	cols := drain(t, r, 1)
	var got []int64
	for _, c := range cols[0] {
		got = append(got, c.(*array.Int64).Int64Values()...)
	}
	if len(got) != 200 || got[0] != 1200 || got[199] != 1399 {
		t.Errorf("%d rows: %v", len(got), got)
	}
	if r.Skipped() != 1750 {
		t.Errorf("Skipped = %d, want 1750", r.Skipped())
	}
}

// column makes a one-column table of text values; "null" is null.
func column(t *testing.T, dt columnar.DataType, values ...string) ([]columnar.Field, []arrow.Array) {
	t.Helper()
	f := []columnar.Field{{ID: 1, Name: "c", Type: dt}}
	b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(dt))
	for _, v := range values {
		if v == "null" {
			b.AppendNull()
		} else if err := b.AppendValueFromString(v); err != nil {
			t.Fatal(err)
		}
	}
	return f, []arrow.Array{b.NewArray()}
}

// TestStatistics compares what a Writer returns, and what a Reader finds, with
// the least and greatest value.
func TestStatistics(t *testing.T) {
	t.Parallel()
	long, longer := strings.Repeat("x", 1500), strings.Repeat("y", 1500)
	char := columnar.Of(columnar.Char)
	char.Length = 5
	cases := []struct {
		name   string
		dt     columnar.DataType
		values []string
		// writer and reader are "min max" of either; reader is the same if "".
		writer, reader string
	}{
		{"int", columnar.Of(columnar.Int), []string{"5", "null", "-7"}, "-7 5", ""},
		{"tinyint", columnar.Of(columnar.TinyInt), []string{"-128", "127"}, "-128 127", ""},
		{"bigint", columnar.Of(columnar.BigInt), []string{fmt.Sprint(math.MinInt64), fmt.Sprint(math.MaxInt64), "-1"}, "-9223372036854775808 9223372036854775807", ""},
		{"boolean", columnar.Of(columnar.Boolean), []string{"true", "null"}, "true true", ""},
		{"both booleans", columnar.Of(columnar.Boolean), []string{"true", "false"}, "false true", ""},
		{"double", columnar.Of(columnar.Double), []string{"1.5", "-2e300"}, "-2e+300 1.5", ""},
		{"zero", columnar.Of(columnar.Double), []string{"0", "0"}, "0 0", "-0 0"},
		{"float", columnar.Of(columnar.Float), []string{"1.5", "+Inf"}, "1.5 +Inf", ""},
		{"not a number", columnar.Of(columnar.Double), []string{"1", "NaN", "3"}, "none", ""},
		{"decimal", columnar.DecimalOf(38, 3), []string{"-12345678901234567890123456789012345.678", "0.5"}, "-12345678901234567890123456789012345.678 0.5", ""},
		{"string", columnar.StringType(), []string{"b", "", "ab"}, " b", ""},
		{"long string", columnar.StringType(), []string{long, longer}, long + " " + longer, long[:1024] + " " + longer[:1023] + "z"},
		{"char", char, []string{"b", "ab"}, "ab b", "ab b    "},
		{"date", columnar.Of(columnar.Date), []string{"1969-12-31", "2026-03-01"}, "1969-12-31 2026-03-01", ""},
		{"time", columnar.DataType{Kind: columnar.Time, Nullable: true, Precision: 3}, []string{"00:00:01", "23:59:59.5"}, "00:00:01.000 23:59:59.500", ""},
		{"timestamp", columnar.TimestampOf(3), []string{"2026-03-01 10:00:00.123", "1960-01-01 00:00:00.5"}, "1960-01-01T00:00:00.5 2026-03-01T10:00:00.123", ""},
		{"nanoseconds", columnar.TimestampOf(9), []string{"2026-03-01 10:00:00.123456789", "1960-01-01 00:00:00.000000001"}, "1960-01-01T00:00:00.000000001 2026-03-01T10:00:00.123456789", ""},
		{"last second before 1970", columnar.TimestampOf(3), []string{"1969-12-31 23:59:59.9"}, "1969-12-31T23:59:59.9 1970-01-01T00:00:00.9", ""},
		{"binary", columnar.BytesType(), []string{"YQ=="}, "none", ""},
		{"nulls", columnar.Of(columnar.Int), []string{"null", "null"}, "none", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fields, cols := column(t, c.dt, c.values...)
			b, info := writeFile(t, fields, Options{}, cols)
			if got := rangeText(info.Stats[0]); got != c.writer {
				t.Errorf("the writer says %s, want %s", got, c.writer)
			}
			if c.reader == "" {
				c.reader = c.writer
			}
			var seen []string
			filter := filterFunc(func(_ int64, stats func(columnar.Field) (ColumnStats, bool)) bool {
				s, ok := stats(fields[0])
				seen = append(seen, fmt.Sprint(ok, " ", rangeText(s), " ", s.Nulls))
				return true
			})
			r, err := OpenReader(newFile(b), "mem.orc", fields, ReadOptions{Filter: filter})
			if err != nil {
				t.Fatal(err)
			}
			s, ok := r.Stats(fields[0])
			if got := rangeText(s); !ok || got != c.reader {
				t.Errorf("the file says %s, want %s", got, c.reader)
			}
			drain(t, r, 1)
			if want := []string{fmt.Sprint(true, " ", c.reader, " ", cols[0].NullN())}; cmp.Diff(want, seen) != "" {
				t.Errorf("the filter saw %v, want %v", seen, want)
			}
		})
	}
}

func rangeText(s ColumnStats) string {
	if s.MinMax == nil {
		return "none"
	}
	if f, ok := s.MinMax.(*array.Float64); ok {
		return fmt.Sprint(f.Value(0), " ", f.Value(1))
	}
	return s.MinMax.ValueStr(0) + " " + s.MinMax.ValueStr(1)
}

func TestLastSecondBefore1970IsLate(t *testing.T) {
	t.Parallel()
	for _, precision := range []int{3, 6, 9} {
		fields, cols := column(t, columnar.TimestampOf(precision), "1969-12-31 23:59:59.9", "1969-12-31 23:59:59", "1969-12-31 23:59:58.9", "1970-01-01 00:00:00.9")
		b, _ := writeFile(t, fields, Options{}, cols)
		_, want := column(t, columnar.TimestampOf(precision), "1970-01-01 00:00:00.9", "1969-12-31 23:59:59", "1969-12-31 23:59:58.9", "1970-01-01 00:00:00.9")
		sameColumns(t, fields, want, readFile(t, b, fields, ReadOptions{}))
	}
}

func TestSignsOfZero(t *testing.T) {
	t.Parallel()
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues([]float64{math.Copysign(0, -1), 0, math.Float64frombits(0x7ff8000000000123)}, nil)
	fields := []columnar.Field{{Name: "d", Type: columnar.Of(columnar.Double)}}
	file, _ := writeFile(t, fields, Options{}, []arrow.Array{b.NewArray()})
	got := readFile(t, file, fields, ReadOptions{})[0].(*array.Float64)
	for i, want := range []uint64{1 << 63, 0, 0x7ff8000000000123} {
		if bits := math.Float64bits(got.Value(i)); bits != want {
			t.Errorf("value %d is %x, want %x", i, bits, want)
		}
	}
}

// TestMissingColumnsAreNullInUsedMemory has nulls made in memory with something in it.
func TestMissingColumnsAreNullInUsedMemory(t *testing.T) {
	t.Parallel()
	b, _ := writeFile(t, OrderFields(), Options{}, OrderColumns(5000, 0))
	missing := []columnar.Field{{ID: 99, Name: "missing", Type: columnar.Of(columnar.BigInt)}}
	col := readFile(t, b, missing, ReadOptions{})[0]
	for i := range col.Len() {
		if col.IsValid(i) {
			t.Fatalf("row %d of a missing column has a value", i)
		}
	}
}

func TestMissingAndMismatchedColumns(t *testing.T) {
	t.Parallel()
	fields := OrderFields()
	b, _ := writeFile(t, fields, Options{}, OrderColumns(10, 0))
	row := columnar.Of(columnar.Row)
	row.Fields = []columnar.Field{{Name: "a", Type: columnar.Of(columnar.Int)}}
	got := readFile(t, b, []columnar.Field{{Name: "none", Type: row}, {Name: "_VALUE_KIND", Type: columnar.Of(columnar.BigInt)}}, ReadOptions{})
	if got[0].NullN() != 10 || got[1].(*array.Int64).Value(3) != 0 {
		t.Errorf("got %v", got)
	}
	for _, f := range []columnar.Field{
		{Name: "status", Type: columnar.Of(columnar.Int)},
		{Name: "order_id", Type: columnar.Of(columnar.Int)},
		{Name: "order_id", Type: row},
		{Name: "order_id", Type: columnar.Of(columnar.Variant)},
	} {
		_, err := OpenReader(newFile(b), "mem.orc", []columnar.Field{f}, ReadOptions{})
		var unsupported *UnsupportedError
		if !errors.As(err, &unsupported) || unsupported.Path != "mem.orc" {
			t.Errorf("reading %s as %s: %v", f.Name, f.Type, err)
		}
	}
}

func TestWriterErrors(t *testing.T) {
	t.Parallel()
	for _, f := range []columnar.Field{{Name: "v", Type: columnar.Of(columnar.Variant)}, {Name: "z"}} {
		if _, err := NewWriter(io.Discard, []columnar.Field{f}, Options{}); err == nil {
			t.Errorf("a column of %s is taken", f.Type)
		}
	}
	for _, name := range []string{"lzo", "gzip"} {
		if _, err := NewWriter(io.Discard, OrderFields(), Options{Compression: name}); err == nil {
			t.Errorf("compression %s is taken", name)
		}
	}
	fields, cols := column(t, columnar.Of(columnar.Int), "1", "null")
	fields[0].Type = fields[0].Type.NotNull()
	w, err := NewWriter(io.Discard, fields, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBatch(cols, 2); err == nil || !strings.Contains(err.Error(), "NOT NULL") {
		t.Errorf("a null in a NOT NULL column: %v", err)
	}
	if _, err := w.Close(); err == nil {
		t.Error("Close forgets the error")
	}
	if err := w.WriteBatch(OrderColumns(1, 0), 1); err == nil {
		t.Error("WriteBatch forgets the error")
	}
}

func TestEmptyFile(t *testing.T) {
	t.Parallel()
	b, info := writeFile(t, OrderFields(), Options{})
	if info.Rows != 0 || info.Stats[0].MinMax != nil {
		t.Errorf("info %+v", info)
	}
	if got := readFile(t, b, OrderFields(), ReadOptions{}); got[0].Len() != 0 {
		t.Errorf("%d rows", got[0].Len())
	}
}

// slowFile fails after some reads.
type slowFile struct {
	memFile
	left int
}

var errDisk = errors.New("the disk is on fire")

func (f *slowFile) ReadAt(p []byte, off int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errDisk
	}
	return f.memFile.ReadAt(p, off)
}

var _ fileio.File = &slowFile{}

func TestDiskErrorsAreNoDamage(t *testing.T) {
	t.Parallel()
	b, _ := writeFile(t, OrderFields(), Options{StripeSize: 1, IndexRows: 1000}, OrderColumns(20_000, 0))
	failed := 0
	for n := 0; failed == n; n++ {
		r, err := OpenReader(&slowFile{newFile(b), n}, "mem.orc", OrderFields(), ReadOptions{})
		for err == nil {
			_, _, err = r.Next()
		}
		var corrupt *CorruptError
		if errors.Is(err, errDisk) && !errors.As(err, &corrupt) {
			failed++
		} else if !errors.Is(err, io.EOF) {
			t.Fatalf("after %d reads: %v", n, err)
		}
	}
	if failed < 20 {
		t.Errorf("the whole file is read with %d reads", failed)
	}
}

// TestMemoryIsGivenBack counts what is allocated and released, in good runs and bad.
func TestMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	file, fields, _ := loadGolden(t, "all_types_1")
	for cut := range file {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		broken := append([]byte{}, file...)
		if cut > 0 {
			broken[cut] ^= 0x55
		}
		r, err := OpenReader(newFile(broken), "mem.orc", fields, ReadOptions{Mem: mem, BatchRows: 2})
		for err == nil {
			var cols []arrow.Array
			cols, _, err = r.Next()
			for _, c := range cols {
				c.Release()
			}
		}
		mem.AssertSize(t, 0)
		if cut == 0 && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
}

func TestZones(t *testing.T) {
	t.Parallel()
	cases := []struct {
		zone string
		utc  string
		wall string
	}{
		{"", "2026-07-01T12:00:00Z", "2026-07-01T12:00:00Z"},
		{"UTC", "1800-07-01T12:00:00Z", "1800-07-01T12:00:00Z"},
		{"America/New_York", "2026-01-15T12:00:00Z", "2026-01-15T07:00:00Z"},
		{"America/New_York", "2026-07-15T12:00:00Z", "2026-07-15T08:00:00Z"},
		{"America/New_York", "1883-01-01T12:00:00Z", "1883-01-01T07:00:00Z"},
		{"Asia/Shanghai", "1899-12-31T23:59:59Z", "1900-01-01T07:59:59Z"},
		{"Asia/Shanghai", "1900-01-01T00:00:00Z", "1900-01-01T08:05:43Z"},
		{"Asia/Kolkata", "2026-07-01T00:00:00Z", "2026-07-01T05:30:00Z"},
		{"GMT-03:30", "2026-07-01T00:00:00Z", "2026-06-30T20:30:00Z"},
		{"GMT+8", "2026-07-01T00:00:00Z", "2026-07-01T08:00:00Z"},
		{"PST", "2026-07-01T00:00:00Z", "2026-06-30T17:00:00Z"},
	}
	for _, c := range cases {
		z, err := newZone(c.zone)
		if err != nil {
			t.Errorf("%s: %v", c.zone, err)
			continue
		}
		at, err := time.Parse(time.RFC3339, c.utc)
		if err != nil {
			t.Fatal(err)
		}
		sec := at.Unix()
		if z.location != nil {
			for range 2 {
				if got := time.Unix(sec+z.offset(sec), 0).UTC().Format(time.RFC3339); got != c.wall {
					t.Errorf("%s at %s: wall clock %s, want %s", c.zone, c.utc, got, c.wall)
				}
			}
		} else if c.utc != c.wall {
			t.Errorf("%s is taken for UTC", c.zone)
		}
	}
	if z, err := newZone("America/Los_Angeles"); err != nil || z.base != baseSeconds+8*3600 {
		t.Errorf("base %v, error %v", z, err)
	}
	if _, err := newZone("Mars/Olympus"); err == nil {
		t.Error("a zone that is none is taken")
	}
}

// TestOtherCodecsAndVersions changes the postscript of a sound file.
func TestOtherCodecsAndVersions(t *testing.T) {
	t.Parallel()
	file, _ := writeFile(t, OrderFields(), Options{}, OrderColumns(10, 0))
	n := int(file[len(file)-1])
	at := len(file) - 1 - n
	for want, change := range map[string]func(*postScript){
		"compression lzo":     func(p *postScript) { p.compression = CompressionLZO },
		"compression unknown": func(p *postScript) { p.compression = 77 },
		"file version [1 0]":  func(p *postScript) { p.version = []uint64{1, 0} },
	} {
		var ps postScript
		if err := decode(file[at:at+n], ps.fields); err != nil {
			t.Fatal(err)
		}
		change(&ps)
		b := encode(ps.fields)
		changed := append(append(append([]byte{}, file[:at]...), b...), byte(len(b)))
		_, err := OpenReader(newFile(changed), "mem.orc", OrderFields(), ReadOptions{})
		var unsupported *UnsupportedError
		if !errors.As(err, &unsupported) || unsupported.Feature != want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

// TestTimestampsAtTheEnds reads the least and the greatest that 64 bits of nanoseconds hold.
func TestTimestampsAtTheEnds(t *testing.T) {
	t.Parallel()
	b := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Nanosecond})
	for _, v := range []int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64 - 1, math.MaxInt64} {
		b.Append(arrow.Timestamp(v))
	}
	fields := []columnar.Field{{ID: 1, Name: "t", Type: columnar.TimestampOf(9)}}
	want := []arrow.Array{b.NewArray()}
	content, _ := writeFile(t, fields, Options{}, want)
	sameColumns(t, fields, want, readFile(t, content, fields, ReadOptions{}))
}
