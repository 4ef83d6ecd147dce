package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// Limits of Avro files read from disk; a manifest rolls at 8 MB, a block at 64 KB.
const (
	maxAvroFile    = 1 << 30
	maxAvroBlock   = 64 << 20
	maxAvroRecords = 1 << 24
	avroBlockBytes = 64_000
)

// statsAvro is the schema text of SimpleStats under a record name (names must be unique in a schema).
func statsAvro(name string) string {
	return `{"type":"record","name":"` + name + `","fields":[{"name":"_MIN_VALUES","type":"bytes"},` +
		`{"name":"_MAX_VALUES","type":"bytes"},` +
		`{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}`
}

func optional(name, avroType string) string {
	return `{"name":"` + name + `","type":["null",` + avroType + `],"default":null}`
}

const (
	avroRecord  = `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[`
	stringArray = `{"type":"array","items":"string"}`
)

// The schemas of manifest lists (ManifestFileMeta.java) and manifests (ManifestEntry.java, DataFileMeta.java).
var (
	listSchema = avro.MustParse(avroRecord +
		`{"name":"_VERSION","type":"int"},{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},` +
		`{"name":"_NUM_ADDED_FILES","type":"long"},{"name":"_NUM_DELETED_FILES","type":"long"},` +
		`{"name":"_PARTITION_STATS","type":` + statsAvro("record__PARTITION_STATS") + `},{"name":"_SCHEMA_ID","type":"long"},` +
		optional("_MIN_BUCKET", `"int"`) + `,` + optional("_MAX_BUCKET", `"int"`) + `,` +
		optional("_MIN_LEVEL", `"int"`) + `,` + optional("_MAX_LEVEL", `"int"`) + `]}`)

	manifestSchema = avro.MustParse(avroRecord +
		`{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},` +
		`{"name":"_BUCKET","type":"int"},{"name":"_TOTAL_BUCKETS","type":"int"},` +
		`{"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":[` +
		`{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},` +
		`{"name":"_MIN_KEY","type":"bytes"},{"name":"_MAX_KEY","type":"bytes"},` +
		`{"name":"_KEY_STATS","type":` + statsAvro("record__FILE__KEY_STATS") + `},` +
		`{"name":"_VALUE_STATS","type":` + statsAvro("record__FILE__VALUE_STATS") + `},` +
		`{"name":"_MIN_SEQUENCE_NUMBER","type":"long"},{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},` +
		`{"name":"_SCHEMA_ID","type":"long"},{"name":"_LEVEL","type":"int"},{"name":"_EXTRA_FILES","type":` + stringArray + `},` +
		optional("_CREATION_TIME", `{"type":"long","logicalType":"timestamp-millis"}`) + `,` +
		optional("_DELETE_ROW_COUNT", `"long"`) + `,` + optional("_EMBEDDED_FILE_INDEX", `"bytes"`) + `,` +
		optional("_FILE_SOURCE", `"int"`) + `,` + optional("_VALUE_STATS_COLS", stringArray) + `,` +
		optional("_EXTERNAL_PATH", `"string"`) + `,` + optional("_FIRST_ROW_ID", `"long"`) + `,` +
		optional("_WRITE_COLS", stringArray) + `]}}]}`)
)

// sharedZstd compresses and decompresses the blocks of all files: making an
// encoder for a manifest of one entry would cost more than the manifest. A
// block is at most avroBlockBytes, so a small window loses nothing.
var sharedZstd = ocf.NopCloser(ocf.MustZstdCodec(
	[]zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128 << 10), zstd.WithLowerEncoderMem(true)},
	[]zstd.DOption{zstd.WithDecoderMaxMemory(maxAvroBlock), zstd.WithDecoderLowmem(true)},
))

// writeAvro writes records with zstd, as Paimon does by default.
func writeAvro[T any](schema *avro.Schema, records []T) ([]byte, error) {
	var out bytes.Buffer
	w, err := ocf.NewWriter(&out, schema, ocf.WithCodec(sharedZstd), ocf.WithBlockBytes(avroBlockBytes))
	if err != nil {
		return nil, err
	}
	for i := range records {
		if err := w.Encode(&records[i]); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// readAvro calls each with every record. Fields are matched by name with the
// schema of the file, as Java does; unknown fields are skipped, missing ones
// keep their zero value.
func readAvro[T any](b []byte, each func(*T) error) error {
	if len(b) > maxAvroFile {
		return fmt.Errorf("%d bytes are too many", len(b))
	}
	r, err := ocf.NewReader(bytes.NewReader(b), ocf.WithDecodeOpts(avro.SkipUnknown()), ocf.WithCodec(sharedZstd),
		ocf.WithMaxBlockBytes(maxAvroBlock), ocf.WithMaxDecompressedBlockBytes(maxAvroBlock))
	if err != nil {
		return err
	}
	err = readRecords(r, each)
	return errors.Join(err, r.Close())
}

func readRecords[T any](r *ocf.Reader, each func(*T) error) error {
	for range maxAvroRecords {
		var rec T
		err := r.Decode(&rec)
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(&rec); err != nil {
			return err
		}
	}
	return fmt.Errorf("more than %d records", maxAvroRecords)
}
