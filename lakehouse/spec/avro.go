package spec

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// Limits of Avro files read from disk; a manifest rolls at 8 MB, which is some
// 100,000 records, and a block at 64 KB.
const (
	maxAvroFile    = 1 << 30
	maxAvroBlock   = 64 << 20
	maxAvroRecords = 1 << 22
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
	c, err := openContainer(b)
	if err != nil {
		return err
	}
	for {
		block, count, err := c.next()
		if err != nil || count == 0 {
			return err
		}
		for range count {
			var rec T
			if block, err = c.schema.Decode(block, &rec, skipUnknown); err != nil {
				return err
			}
			if err := each(&rec); err != nil {
				return err
			}
		}
		if len(block) > 0 {
			return fmt.Errorf("%d bytes after the last record of a block", len(block))
		}
	}
}

var skipUnknown = avro.SkipUnknown()
