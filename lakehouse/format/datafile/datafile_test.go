package datafile_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/format"
	"leat/lakehouse/format/datafile"
)

var fields = []columnar.Field{
	{ID: 0, Name: "id", Type: columnar.Of(columnar.BigInt).NotNull()},
	{ID: 1, Name: "name", Type: columnar.StringType()},
}

// memFile is a file in memory.
type memFile struct{ *bytes.Reader }

func (memFile) Close() error { return nil }

func columns(t *testing.T, mem memory.Allocator) []arrow.Array {
	t.Helper()
	ids, _, err := array.FromJSON(mem, arrow.PrimitiveTypes.Int64, strings.NewReader("[3, 1, 2]"))
	if err != nil {
		t.Fatal(err)
	}
	names, _, err := array.FromJSON(mem, arrow.BinaryTypes.String, strings.NewReader(`["c", null, "b"]`))
	if err != nil {
		t.Fatal(err)
	}
	return []arrow.Array{ids, names}
}

func encode(t *testing.T, o datafile.Options) ([]byte, format.FileInfo) {
	t.Helper()
	var out bytes.Buffer
	w, err := datafile.Create(&out, fields, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBatch(columns(t, memory.DefaultAllocator), 3); err != nil {
		t.Fatal(err)
	}
	if w.Size() <= 0 {
		t.Errorf("%s: size %d after a batch", o.Format, w.Size())
	}
	info, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), info
}

// TestEveryFormatReadsBack writes each format and opens it by its name, with a
// column that the file lacks.
func TestEveryFormatReadsBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format, codec string
		magic         string
		bounds        bool
	}{
		{"", "gzip", "PAR1", true},
		{datafile.Parquet, "uncompressed", "PAR1", true},
		{datafile.ORC, "", "ORC", true},
		{datafile.ORC, "zlib", "ORC", true},
		{datafile.ORC, "none", "ORC", true},
		{datafile.Avro, "zstd", "Obj\x01", true},
	} {
		b, info := encode(t, datafile.Options{Format: c.format, Options: format.Options{Compression: c.codec, ZstdLevel: 3}})
		if !bytes.HasPrefix(b, []byte(c.magic)) || info.Size != int64(len(b)) || info.Rows != 3 {
			t.Errorf("%s: %d bytes and %d rows said of %d bytes that begin with %q", c.format, info.Size, info.Rows, len(b), b[:4])
		}
		if info.Stats[1].Nulls != 1 || (info.Stats[0].MinMax != nil) != c.bounds {
			t.Errorf("%s: statistics %+v", c.format, info.Stats)
		}
		name := "data-1." + cmp.Or(c.format, datafile.Parquet)
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		opts := format.ReadOptions{Mem: mem}
		if c.magic == "PAR1" {
			opts.Mem = nil // the Parquet library leaves page buffers to the garbage collector
		}
		wanted := []columnar.Field{fields[1], {Type: columnar.Of(columnar.Int)}, fields[0]}
		r, err := datafile.Open(memFile{bytes.NewReader(b)}, name, wanted, opts)
		if err != nil {
			t.Fatal(err)
		}
		cols, rows, err := r.Next()
		if err != nil || rows != 3 {
			t.Fatalf("%s: %d rows, %v", name, rows, err)
		}
		want := columns(t, mem)
		if !array.Equal(cols[0], want[1]) || cols[1].NullN() != 3 || !array.Equal(cols[2], want[0]) {
			t.Errorf("%s: read %v", name, cols)
		}
		for _, a := range append(cols, want...) {
			a.Release()
		}
		if _, _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the rows: %v", name, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		mem.AssertSize(t, 0)
	}
}

// TestDamageIsCorrupt cuts and spoils files of each format.
func TestDamageIsCorrupt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{datafile.Parquet, datafile.ORC, datafile.Avro} {
		whole, _ := encode(t, datafile.Options{Format: name})
		for n, b := range [][]byte{nil, whole[:len(whole)/2], append(bytes.Clone(whole[:len(whole)-5]), "12345"...)} {
			r, err := datafile.Open(memFile{bytes.NewReader(b)}, "f."+name, fields, format.ReadOptions{})
			for err == nil {
				_, _, err = r.Next()
			}
			if diag.DomainOf(err) != diag.Corrupt || !strings.Contains(err.Error(), "f."+name) {
				t.Errorf("%s, damage %d: error %v, want one of a corrupt file", name, n, err)
			}
		}
	}
}

func TestUnsupportedORCFeatureIsTold(t *testing.T) {
	t.Parallel()
	b, _ := encode(t, datafile.Options{Format: datafile.ORC})
	wanted := []columnar.Field{{Name: "name", Type: columnar.Of(columnar.Date)}}
	_, err := datafile.Open(memFile{bytes.NewReader(b)}, "f.orc", wanted, format.ReadOptions{})
	if diag.DomainOf(err) != diag.User || !strings.Contains(err.Error(), "f.orc uses reading string as DATE") {
		t.Errorf("error %v", err)
	}
}

func TestNamesSayTheFormat(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"/w/t/data-1.parquet": "parquet", "data-1.zstd.orc": "orc", "data-1.avro": "avro", "data-1.csv": "", "orc": "", "/a.orc/data": "", "": "",
	} {
		if got := datafile.NameOf(name); got != want {
			t.Errorf("NameOf(%q) = %q, want %q", name, got, want)
		}
	}
	if _, err := datafile.Open(memFile{bytes.NewReader(nil)}, "data-1.csv", fields, format.ReadOptions{}); err == nil {
		t.Error("a csv file was opened")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format, codec string
		ok            bool
	}{
		{"", "", true},
		{datafile.Parquet, "gzip", true},
		{datafile.Parquet, "none", false},
		{datafile.ORC, "zlib", true},
		{datafile.ORC, "gzip", false},
		{datafile.Avro, "zstd", true},
		{datafile.Avro, "snappy", false},
	} {
		o := datafile.Options{Format: c.format, Options: format.Options{Compression: c.codec}}
		if err := o.CheckCompression(); (err == nil) != c.ok {
			t.Errorf("%s with %s: %v", c.format, c.codec, err)
		}
	}
	nanos := columnar.Of(columnar.Timestamp)
	nanos.Precision = 9
	for name, ok := range map[string]bool{datafile.Parquet: true, datafile.ORC: true, datafile.Avro: false, "csv": false} {
		o := datafile.Options{Format: name}
		if err := o.CheckFields([]columnar.Field{{Name: "t", Type: nanos}}); (err == nil) != ok {
			t.Errorf("TIMESTAMP(9) in %s: %v", name, err)
		}
	}
}

func TestLevelsTakeTheirOwnOptions(t *testing.T) {
	t.Parallel()
	b := datafile.ByLevel{Levels: map[int32]datafile.Options{5: {Format: datafile.ORC}}}
	if b.At(0).Format != datafile.Parquet || b.At(5).Format != datafile.ORC {
		t.Errorf("levels 0 and 5 are %+v and %+v", b.At(0), b.At(5))
	}
}

// TestORCOptionsWin writes a column that repeats: the size tells codec, dictionary and row groups.
func TestORCOptionsWin(t *testing.T) {
	t.Parallel()
	const rows = 4000
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range rows {
		b.Append([]string{"abcdefghij", "klmnopqrst"}[i*i%7%2])
	}
	col := b.NewArray()
	size := func(o datafile.Options) int64 {
		var out bytes.Buffer
		o.Format = datafile.ORC
		w, err := datafile.Create(&out, fields[1:], o)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteBatch([]arrow.Array{col}, rows); err != nil {
			t.Fatal(err)
		}
		info, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		return info.Size
	}
	zstd := datafile.Options{Options: format.Options{Compression: "zstd"}}
	none := zstd
	none.ORC.Compression = "none"
	direct, share, groups := none, none, none
	direct.ORC.NoDictionary = []string{"name"}
	share.ORC.DictionaryShare = -1
	groups.ORC.IndexRows = 100
	if a, b, c := size(zstd), size(none), size(groups); a >= b || b > rows || b >= c {
		t.Errorf("%d bytes with zstd, %d without, %d with small groups", a, b, c)
	}
	if a, b := size(direct), size(share); a < 10*rows || b < 10*rows {
		t.Errorf("%d and %d bytes of %d values of ten bytes that want no dictionary", a, b, rows)
	}
}
