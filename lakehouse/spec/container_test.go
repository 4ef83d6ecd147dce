package spec

import (
	"bytes"
	"compress/flate"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// Other writers use other codecs, record names and fewer or more fields.
func TestForeignManifestLists(t *testing.T) {
	t.Parallel()
	schema := avro.MustParse(strings.NewReplacer(
		`"name":"record"`, `"name":"ManifestFileMeta"`, `,"namespace":"org.apache.paimon.avro.generated"`, ``,
		`,{"name":"_MAX_LEVEL","type":["null","int"],"default":null}`, `,{"name":"_MIN_ROW_ID","type":["null","long"]}`,
	).Replace(listSchema.String()))
	type record struct {
		Version    int32       `avro:"_VERSION"`
		FileName   string      `avro:"_FILE_NAME"`
		FileSize   int64       `avro:"_FILE_SIZE"`
		NumAdded   int64       `avro:"_NUM_ADDED_FILES"`
		NumDeleted int64       `avro:"_NUM_DELETED_FILES"`
		Stats      statsRecord `avro:"_PARTITION_STATS"`
		SchemaID   int64       `avro:"_SCHEMA_ID"`
		MinBucket  *int32      `avro:"_MIN_BUCKET"`
		MaxBucket  *int32      `avro:"_MAX_BUCKET"`
		MinLevel   *int32      `avro:"_MIN_LEVEL"`
		MinRowID   *int64      `avro:"_MIN_ROW_ID"`
	}
	row, level := int64(7), int32(1)
	empty := EmptyStats()
	codecs := map[string]ocf.Codec{
		"null": nil, "deflate": ocf.DeflateCodec(flate.BestSpeed), "snappy": ocf.SnappyCodec(), "zstandard": ocf.MustZstdCodec(nil, nil),
	}
	for name, codec := range codecs {
		var b bytes.Buffer
		w, err := ocf.NewWriter(&b, schema, ocf.WithCodec(codec), ocf.WithBlockCount(2))
		if err != nil {
			t.Fatal(err)
		}
		var want []ManifestFileMeta
		for i := range int64(5) {
			file := "manifest-" + string(rune('a'+i))
			if err := w.Encode(&record{Version: 2, FileName: file, FileSize: i, Stats: toStatsRecord(&empty), MinLevel: &level, MinRowID: &row}); err != nil {
				t.Fatal(err)
			}
			want = append(want, ManifestFileMeta{FileName: file, FileSize: i, PartitionStats: empty, MinLevel: &level})
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := ReadManifestList(b.Bytes())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		for n := range b.Len() - 1 {
			if got, err := ReadManifestList(b.Bytes()[:n]); err == nil && len(got) == len(want) {
				t.Fatalf("%s: %d of %d bytes give everything", name, n, b.Len())
			}
		}
	}
}

func TestDamagedManifests(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile("testdata/golden/changelog_input/wh/db.db/t/manifest/manifest-8f3897cc-5f13-4e07-9b2b-974341c5979f-0")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := ReadManifest(good)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x55
		// A changed byte is an error or changes nothing that counts; it is never a panic.
		if got, err := ReadManifest(bad); err == nil && len(got) != len(whole) {
			t.Errorf("byte %d: %d entries instead of %d, and no error", i, len(got), len(whole))
		}
	}
	for name, b := range map[string][]byte{"empty": nil, "no container": []byte("PAR1"), "magic alone": []byte("Obj\x01")} {
		if _, err := ReadManifest(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := ReadManifest(good[:len(good)-1]); err == nil {
		t.Error("a cut file gives no error")
	}
}

func TestIndexManifest(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/index-manifest")
	if err != nil {
		t.Fatal(err)
	}
	files, err := ReadIndexManifest(b)
	if err != nil || len(files) == 0 || !strings.HasPrefix(files[0].File.FileName, "index-") || files[0].File.ExternalPath != nil {
		t.Errorf("%+v, %v", files, err)
	}
	deleted, path := int64(3), "elsewhere/index-1"
	files = append(files, IndexManifestEntry{Kind: Remove, Partition: files[0].Partition, Bucket: 7, File: IndexFileMeta{
		Type: DeletionVectorsIndex, FileName: "index-1", FileSize: 99, RowCount: 2, ExternalPath: &path,
		Vectors: []DeletionVectorMeta{{DataFile: "a", Offset: 1, Length: 40, Cardinality: &deleted}, {DataFile: "b", Offset: 49, Length: 42}},
	}})
	if b, err = WriteIndexManifest(files); err != nil {
		t.Fatal(err)
	}
	again, err := ReadIndexManifest(b)
	if d := cmp.Diff(files, again); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}
