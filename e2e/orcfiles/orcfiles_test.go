package orcfiles

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	gocmp "github.com/google/go-cmp/cmp"

	"leat/e2e/judge"
	"leat/internal/cachedir"
	"leat/internal/columnar"
	"leat/internal/fileio/local"
	"leat/lakehouse/format/orc"
)

const orcTools = "org.apache.orc:orc-tools:1.9.5:jar:uber"

// toolsJar gives the jar of orc-tools; the first call on a machine fetches it.
var toolsJar = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	dir, err := cachedir.Ensure(ctx, "orc-tools-1.9.5", func(dir string) error {
		out, err := exec.CommandContext(ctx, "mvn", "-q", "-B", "-ntp", "dependency:copy", "-Dartifact="+orcTools, "-DoutputDirectory="+dir).CombinedOutput()
		if err != nil {
			return fmt.Errorf("fetching orc-tools with Maven: %w\n%s", err, out)
		}
		return nil
	})
	return filepath.Join(dir, "orc-tools-1.9.5-uber.jar"), err
})

// java runs a command of orc-tools, or OrcTool in a zone, and gives its lines.
func java(t testing.TB, zone string, args ...string) []string {
	t.Helper()
	jar, err := toolsJar()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "java", append([]string{"-Xmx500m", "-Duser.timezone=" + zone, "-cp", jar}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("java %v: %v\n%s", args, err, stderr.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

const tool = "testdata/OrcTool.java"

func python(t testing.TB, script string, args ...string) {
	t.Helper()
	py, _, err := judge.MakeVenv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), py, append([]string{"-c", script}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("python: %v\n%s", err, out)
	}
}

func write(t testing.TB, path string, fields []columnar.Field, cols []arrow.Array, opts orc.Options) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := orc.NewWriter(f, fields, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBatch(cols, cols[0].Len()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string, fields []columnar.Field) []arrow.Array {
	t.Helper()
	f, err := local.New().Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := orc.OpenReader(f, path, fields, orc.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	parts := make([][]arrow.Array, len(fields))
	for {
		cols, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range cols {
			parts[i] = append(parts[i], c)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	out := make([]arrow.Array, len(fields))
	for i := range out {
		if out[i], err = array.Concatenate(parts[i], memory.DefaultAllocator); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func same(t testing.TB, fields []columnar.Field, want, got []arrow.Array) {
	t.Helper()
	for i, f := range fields {
		if array.ApproxEqual(want[i], got[i], array.WithNaNsEqual(true), array.WithAbsTolerance(0)) {
			continue
		}
		t.Errorf("column %s (%s) differs", f.Name, f.Type)
		for row := range min(want[i].Len(), got[i].Len()) {
			if w, g := want[i].ValueStr(row), got[i].ValueStr(row); w != g {
				t.Errorf("row %d: got %s, want %s", row, g, w)
				break
			}
		}
	}
}

// TestArrowReadsAndWrites has pyarrow read what we write and write it anew: in
// both run-length versions, all codecs, with and without dictionaries.
func TestArrowReadsAndWrites(t *testing.T) {
	t.Parallel()
	const script = `
import sys, pyarrow as pa, pyarrow.orc as orc
table = orc.read_table(sys.argv[1])
orc.write_table(table, sys.argv[2], file_version=sys.argv[3], compression=sys.argv[4], stripe_size=int(sys.argv[5]),
    compression_block_size=65536, row_index_stride=1000, dictionary_key_size_threshold=float(sys.argv[6]), bloom_filter_columns=[0])
assert orc.read_table(sys.argv[2]).equals(table)
`
	fields := flatFields()
	want := rows(fields, 20_000, 7)
	cases := []struct{ ours, version, codec, stripe, threshold string }{
		{"zstd", "0.12", "zstd", "1000000", "0.9"},
		{"zlib", "0.11", "zlib", "67108864", "0.0"},
		{"snappy", "0.11", "snappy", "500000", "0.9"},
		{"lz4", "0.12", "lz4", "67108864", "0.0"},
		{"none", "0.11", "uncompressed", "100000", "0.9"},
	}
	for _, c := range cases {
		t.Run(c.version+"-"+c.codec, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ours, theirs := filepath.Join(dir, "ours.orc"), filepath.Join(dir, "theirs.orc")
			write(t, ours, fields, want, orc.Options{Compression: c.ours, StripeSize: 200_000})
			python(t, script, ours, theirs, c.version, c.codec, c.stripe, c.threshold)
			same(t, fields, want, read(t, theirs, fields))
		})
	}
}

// TestJavaReadsEveryCodec compares orc-tools' JSON of two columns with the values.
func TestJavaReadsEveryCodec(t *testing.T) {
	t.Parallel()
	fields := flatFields()
	want := rows(fields, 12_000, 8)
	for _, codec := range []string{"zstd", "zlib", "snappy", "lz4", "none"} {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "f.orc")
			write(t, path, fields, want, orc.Options{Compression: codec, StripeSize: 300_000, ChunkSize: 20_000})
			lines := java(t, "UTC", "org.apache.orc.tools.Driver", "data", path)
			if len(lines) < 12_000 {
				t.Fatalf("%d lines", len(lines))
			}
			for i := range 12_000 {
				var row struct {
					C00 int64
					C09 *string
					C10 *string
				}
				if err := json.Unmarshal([]byte(lines[i]), &row); err != nil {
					t.Fatal(err)
				}
				text := want[10].(*array.String)
				if row.C00 != int64(i) || (row.C10 == nil) != text.IsNull(i) || row.C10 != nil && *row.C10 != text.Value(i) || (row.C09 == nil) != want[9].IsNull(i) {
					t.Fatalf("row %d: %s", i, lines[i])
				}
			}
		})
	}
}

// TestJavaPrunesByOurStatistics asks Java for one value: it must read the row
// groups that may have it, and no others.
func TestJavaPrunesByOurStatistics(t *testing.T) {
	t.Parallel()
	char := typed(columnar.Char, 8)
	types := []columnar.DataType{
		columnar.Of(columnar.BigInt), columnar.Of(columnar.Double), columnar.StringType(), columnar.DecimalOf(20, 2), columnar.Of(columnar.Date),
		columnar.TimestampOf(6), columnar.Of(columnar.Boolean), columnar.Of(columnar.Double), char, columnar.StringType(),
	}
	fields := make([]columnar.Field, len(types))
	b := make([]array.Builder, len(types))
	for i, dt := range types {
		fields[i] = columnar.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: dt}
		b[i] = array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(dt))
	}
	base := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range int64(50_000) {
		b[0].(*array.Int64Builder).Append(i)
		b[1].(*array.Float64Builder).Append(float64(i) / 2)
		b[2].(*array.StringBuilder).Append(fmt.Sprintf("k%06d", i))
		b[3].(*array.Decimal128Builder).Append(decimal128.FromI64(i * 25))
		b[4].(*array.Date32Builder).Append(arrow.Date32(i))
		b[5].(*array.TimestampBuilder).Append(arrow.Timestamp(base.UnixMicro() + i*1_000_001))
		b[6].(*array.BooleanBuilder).Append(i >= 30_000)
		if v := float64(i); i%10_000 == 5 && i > 20_000 {
			b[7].(*array.Float64Builder).Append((v - v) / (v - v)) // Not a number.
		} else {
			b[7].(*array.Float64Builder).Append(v)
		}
		b[8].(*array.StringBuilder).Append(fmt.Sprintf("a%d", i/10_000))
		b[9].(*array.StringBuilder).Append(strings.Repeat(string(rune('a'+i/10_000)), 3000) + strconv.FormatInt(i%3, 10))
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	// Columns of every type, so that Java seeks in each kind of stream.
	for i, f := range flatFields()[1:] {
		f.ID = len(types) + i
		fields = append(fields, columnar.Field{ID: f.ID, Name: "more" + f.Name, Type: f.Type})
	}
	cols = append(cols, rows(flatFields(), 50_000, 5)[1:]...)
	path := filepath.Join(t.TempDir(), "f.orc")
	write(t, path, fields, cols, orc.Options{})
	cases := []struct {
		column, kind, value string
		want                string
	}{
		{"c0", "LONG", "23456", "10000"},
		{"c0", "LONG", "50000", "0"},
		{"c1", "FLOAT", "17000.5", "10000"},
		{"c2", "STRING", "k039999", "10000"},
		{"c2", "STRING", "zzz", "0"},
		{"c3", "DECIMAL", "100.25", "10000"},
		{"c4", "DATE", "1970-01-02", "10000"},
		{"c5", "TIMESTAMP", "2026-03-01 00:00:01.000001", "10000"},
		{"c5", "TIMESTAMP", "2025-12-31 00:00:00", "0"},
		{"c6", "BOOLEAN", "true", "20000"},
		// The groups with a NaN, from 20,000 on, are kept: there are three.
		{"c7", "FLOAT", "45000", "30000"},
		{"c7", "FLOAT", "99999999", "30000"},
		{"c8", "STRING", "a3", "10000"},
		{"c8", "STRING", "a3      ", "10000"},
		{"c9", "STRING", strings.Repeat("b", 3000) + "1", "10000"},
	}
	args := []string{tool, "count", path}
	for _, c := range cases {
		args = append(args, c.column, c.kind, c.value)
	}
	got := java(t, "UTC", args...)
	if len(got) != len(cases) {
		t.Fatalf("%d answers to %d questions", len(got), len(cases))
	}
	for i, c := range cases {
		if got[i] != c.want {
			t.Errorf("%s = %.30s: Java reads %s rows, want %s", c.column, c.value, got[i], c.want)
		}
	}
	for _, opts := range []orc.Options{{Compression: "none"}, {Compression: "snappy", ChunkSize: 3000}, {Compression: "zlib", StripeSize: 1, IndexRows: 2500}} {
		t.Run("seek in "+opts.Compression, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "f.orc")
			write(t, path, fields, cols, opts)
			want := strconv.Itoa(cmp.Or(opts.IndexRows, orc.DefaultIndexRows))
			if got := java(t, "UTC", tool, "count", path, "c0", "LONG", "23456"); len(got) != 1 || got[0] != want {
				t.Errorf("Java reads %v rows, want %s", got, want)
			}
		})
	}
}

// TestZonesOfJava reads files that Java wrote in zones with summer time: the
// wall clocks are those that Java shows there, the instants stay.
func TestZonesOfJava(t *testing.T) {
	t.Parallel()
	var millis []string
	rnd := rand.New(rand.NewPCG(9, 9))
	for range 300 {
		millis = append(millis, strconv.FormatInt(rnd.Int64N(3_000_000_000_000)-1_000_000_000_000, 10))
	}
	// Around the changes of 2026 in New York and Berlin, and before 1900.
	for _, s := range []int64{1772953199, 1772953200, 1793512799, 1793512800, 1774745999, 1774746000, -2300000000, -2208988801} {
		millis = append(millis, strconv.FormatInt(s*1000+500, 10))
	}
	ltz := typed(columnar.TimestampLTZ, 6)
	fields := []columnar.Field{{Name: "t", Type: columnar.TimestampOf(6)}, {Name: "i", Type: ltz}}
	for _, zone := range []string{"UTC", "America/New_York", "Europe/Berlin", "Asia/Shanghai", "Asia/Kolkata", "GMT-03:30"} {
		t.Run(strings.ReplaceAll(zone, "/", "-"), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "f.orc")
			shown := java(t, zone, append([]string{tool, "write", path}, millis...)...)
			compareClocks(t, millis, shown, read(t, path, fields))
		})
	}
}

func compareClocks(t *testing.T, millis, shown []string, cols []arrow.Array) {
	t.Helper()
	for i, m := range millis {
		wall, err := time.Parse("2006-01-02 15:04:05.999999999", shown[i])
		if err != nil {
			t.Fatal(err)
		}
		gotWall := cols[0].(*array.Timestamp).Value(i).ToTime(arrow.Microsecond)
		gotInstant := strconv.FormatInt(int64(cols[1].(*array.Timestamp).Value(i))/1000, 10)
		if d := gocmp.Diff([]string{m, wall.Format(time.RFC3339Nano)}, []string{gotInstant, gotWall.Format(time.RFC3339Nano)}); d != "" {
			t.Errorf("(-java +got):\n%s", d)
		}
	}
}
