package spec

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
)

func TestParseAtomicType(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want, wantErr string }{
		{in: "INT", want: "INT"},
		{in: "integer not null", want: "INT NOT NULL"},
		{in: "DEC", want: "DECIMAL(10, 0)"},
		{in: "NUMERIC(5,2) NULL", want: "DECIMAL(5, 2)"},
		{in: "DOUBLE PRECISION", want: "DOUBLE"},
		{in: "VARCHAR", want: "VARCHAR(1)"},
		{in: "VARCHAR(2147483647)", want: "STRING"},
		{in: "STRING NOT NULL", want: "STRING NOT NULL"},
		{in: "BYTES", want: "BYTES"},
		{in: "TIME(3) WITHOUT TIME ZONE", want: "TIME(3)"},
		{in: "TIMESTAMP", want: "TIMESTAMP(6)"},
		{in: "TIMESTAMP_LTZ(3)", want: "TIMESTAMP(3) WITH LOCAL TIME ZONE"},
		{in: "TIMESTAMP(9) WITH LOCAL TIME ZONE NOT NULL", want: "TIMESTAMP(9) WITH LOCAL TIME ZONE NOT NULL"},
		{in: "", wantErr: "empty"},
		{in: "FOO", wantErr: "unknown type"},
		{in: "INT(3)", wantErr: "too many parameters"},
		{in: "DECIMAL(39)", wantErr: "out of range"},
		{in: "DECIMAL(5, 6)", wantErr: "scale"},
		{in: "VARCHAR(", wantErr: "unreadable"},
		{in: "INT NOT", wantErr: "unexpected"},
	}
	for _, tt := range tests {
		got, err := ParseAtomicType(tt.in)
		switch {
		case tt.wantErr != "":
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("%q: error %v, want %q", tt.in, err, tt.wantErr)
			}
		case err != nil || got.String() != tt.want:
			t.Errorf("%q: %s (%v), want %s", tt.in, got, err, tt.want)
		}
	}
}

func TestSchemaVersionDefaults(t *testing.T) {
	t.Parallel()
	body := `"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{},"comment":null,"timeMillis":1}`
	for prefix, want := range map[string]map[string]string{
		`{`:             {"bucket": "1", "file.format": "orc"},
		`{"version":2,`: {"file.format": "orc"},
		`{"version":3,`: {},
	} {
		s, err := ParseSchema([]byte(prefix + body))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, s.Options); d != "" {
			t.Errorf("%s: %s", prefix, d)
		}
	}
	for _, bad := range []string{
		"", "{}x", `{"version":4,` + body, strings.Replace(`{"version":3,`+body, `"primaryKeys":[]`, `"primaryKeys":["b"]`, 1),
		strings.Replace(`{"version":3,`+body, `"INT"`, `{"type":"ARRAY"}`, 1),
	} {
		if s, err := ParseSchema([]byte(bad)); err == nil {
			t.Errorf("%s reads as %+v", bad, s)
		}
	}
}

func TestParseSnapshotRefusesPaths(t *testing.T) {
	t.Parallel()
	good := `{"version":3,"id":1,"schemaId":0,"baseManifestList":"a","deltaManifestList":"b","changelogManifestList":null,` +
		`"commitUser":"u","commitIdentifier":1,"commitKind":"APPEND","timeMillis":1,"totalRecordCount":0,"deltaRecordCount":0}`
	if _, err := ParseSnapshot([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, repl := range [][2]string{
		{`"a"`, `"../a"`}, {`"b"`, `""`}, {`null`, `"x/y"`}, {`"id":1`, `"id":0`}, {`"version":3`, `"version":9`},
	} {
		if _, err := ParseSnapshot([]byte(strings.Replace(good, repl[0], repl[1], 1))); err == nil {
			t.Errorf("accepted %s", repl[1])
		}
	}
}

// No file content may panic or allocate without bound.
func FuzzReadManifest(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/changelog_input/wh/db.db/t/manifest/*")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := ReadManifest(b)
		if err == nil {
			for i := range entries {
				if entries[i].File.FileName == "" {
					t.Error("entry without a name")
				}
			}
		}
		if _, err := ReadManifestList(b); err == nil && len(b) == 0 {
			t.Error("an empty file is no manifest list")
		}
	})
}

func FuzzBinaryRow(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Add(EmptyRow().Serialized())
	types := []columnar.DataType{
		columnar.Of(columnar.Boolean), columnar.Of(columnar.TinyInt), columnar.Of(columnar.BigInt), columnar.Of(columnar.Double),
		columnar.DecimalOf(10, 2), columnar.DecimalOf(38, 2), columnar.StringType(), columnar.BytesType(),
		columnar.TimestampOf(3), columnar.TimestampOf(9),
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		row, err := ParseBinaryRow(b)
		if err != nil {
			return
		}
		if !bytes.Equal(row.Serialized(), b) {
			t.Error("serialised form changes")
		}
		for i, typ := range types {
			builder := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(typ))
			if err := row.AppendValue(builder, i, typ); err == nil && builder.Len() != 1 {
				t.Error("no value and no error")
			}
			if i >= row.Arity && !row.IsNull(i) {
				t.Errorf("field %d of %d is not null", i, row.Arity)
			}
		}
		if c, err := CompareRows(row, row, types); err == nil && c != 0 {
			t.Error("row differs from itself")
		}
	})
}

func keyBatch(rows int) *columnar.Batch {
	id := array.NewInt64Builder(memory.DefaultAllocator)
	day := array.NewDate32Builder(memory.DefaultAllocator)
	name := array.NewStringBuilder(memory.DefaultAllocator)
	at := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Microsecond})
	for i := range rows {
		id.Append(int64(i)*2_654_435_761 - 5)
		day.Append(arrow.Date32(i))
		if i%3 == 0 {
			name.AppendNull()
		} else {
			name.Append(strings.Repeat("x", i%20))
		}
		at.Append(arrow.Timestamp(-int64(i) * 1001))
	}
	schema := &columnar.Schema{Fields: []columnar.Field{
		{ID: 0, Name: "id", Type: columnar.Of(columnar.BigInt)},
		{ID: 1, Name: "day", Type: columnar.Of(columnar.Date)},
		{ID: 2, Name: "name", Type: columnar.StringType()},
		{ID: 3, Name: "at", Type: columnar.TimestampOf(6)},
	}}
	return columnar.NewBatch(schema, nil, []arrow.Array{id.NewArray(), day.NewArray(), name.NewArray(), at.NewArray()}, rows)
}

func TestBucketsFastPathEqualsPlain(t *testing.T) {
	t.Parallel()
	b := keyBatch(500)
	for _, cols := range [][]int{{0}, {1}, {2}, {3, 0}, {0, 1, 2, 3}} {
		enc, err := NewRowEncoder(b.Schema, cols)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]int32, b.Rows())
		enc.Buckets(b, 7, out)
		for i, got := range out {
			if want := Bucket(Hash(enc.Encode(b, i).Data), 7); int(got) != want {
				t.Fatalf("columns %v row %d: bucket %d, want %d", cols, i, got, want)
			}
		}
	}
}

func TestAllocsRowEncoder(t *testing.T) {
	b := keyBatch(100)
	enc, err := NewRowEncoder(b.Schema, []int{0, 1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Rows() {
		enc.Encode(b, i)
	}
	var sum int32
	n := testing.AllocsPerRun(10, func() {
		for i := range b.Rows() {
			sum += Hash(enc.Encode(b, i).Data)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for %d rows (checksum %d)", n, b.Rows(), sum)
	}
}

func BenchmarkRowEncoder(b *testing.B) {
	batch := keyBatch(8192)
	for name, cols := range map[string][]int{"bigint": {0}, "four": {0, 1, 2, 3}} {
		b.Run(name, func(b *testing.B) {
			enc, err := NewRowEncoder(batch.Schema, cols)
			if err != nil {
				b.Fatal(err)
			}
			out := make([]int32, batch.Rows())
			b.ReportAllocs()
			for b.Loop() {
				enc.Buckets(batch, 16, out)
			}
			b.ReportMetric(float64(batch.Rows()*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
