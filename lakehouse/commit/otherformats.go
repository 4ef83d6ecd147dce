package commit

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"leat/internal/columnar"
	"leat/lakehouse/format"
	"leat/lakehouse/format/avro"
	"leat/lakehouse/format/datafile"
)

// Manifests are Avro files unless 'manifest.format' says otherwise. Those of
// another format are rare: they are turned into Avro before they are read.

// memFile is a file in memory.
type memFile struct{ *bytes.Reader }

func (memFile) Close() error { return nil }

// inAvro gives b, the content of a manifest with these columns, as an Avro file;
// path is for error text.
func inAvro(b []byte, path string, columns []columnar.Field) ([]byte, error) {
	extension := ""
	switch {
	case bytes.HasPrefix(b, []byte("PAR1")):
		extension = datafile.Parquet
	case bytes.HasPrefix(b, []byte("ORC")):
		extension = datafile.ORC
	default:
		return b, nil
	}
	r, err := datafile.Open(memFile{bytes.NewReader(b)}, path+"."+extension, columns, format.ReadOptions{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out bytes.Buffer
	w, err := avro.NewWriter(&out, columns, format.Options{Compression: "uncompressed"})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	for {
		cols, rows, err := r.Next()
		if errors.Is(err, io.EOF) {
			_, err = w.Close()
			return out.Bytes(), err
		}
		if err != nil {
			return nil, err
		}
		err = w.WriteBatch(cols, rows)
		for _, c := range cols {
			c.Release()
		}
		if err != nil {
			return nil, corrupt(path, err)
		}
	}
}

func column(name string, t columnar.DataType) columnar.Field {
	return columnar.Field{Name: name, Type: t}
}

func rowOf(fields ...columnar.Field) columnar.DataType {
	return columnar.DataType{Kind: columnar.Row, Fields: fields}
}

func listOf(e columnar.DataType) columnar.DataType {
	return columnar.DataType{Kind: columnar.Array, Elem: &e}
}

var (
	tiny   = columnar.Of(columnar.TinyInt).NotNull()
	number = columnar.Of(columnar.Int).NotNull()
	long   = columnar.Of(columnar.BigInt).NotNull()
	text   = columnar.StringType().NotNull()
	octets = columnar.BytesType().NotNull()

	statsRow = rowOf(column("_MIN_VALUES", octets), column("_MAX_VALUES", octets),
		column("_NULL_COUNTS", listOf(long.AsNullable()).AsNullable()))
)

// The columns of the rows of manifest lists, manifests and index manifests.
var (
	listColumns = []columnar.Field{
		column("_VERSION", number), column("_FILE_NAME", text), column("_FILE_SIZE", long),
		column("_NUM_ADDED_FILES", long), column("_NUM_DELETED_FILES", long), column("_PARTITION_STATS", statsRow), column("_SCHEMA_ID", long),
		column("_MIN_BUCKET", number.AsNullable()), column("_MAX_BUCKET", number.AsNullable()),
		column("_MIN_LEVEL", number.AsNullable()), column("_MAX_LEVEL", number.AsNullable()),
	}
	entryColumns = []columnar.Field{
		column("_VERSION", number), column("_KIND", tiny), column("_PARTITION", octets), column("_BUCKET", number), column("_TOTAL_BUCKETS", number),
		column("_FILE", rowOf(
			column("_FILE_NAME", text), column("_FILE_SIZE", long), column("_ROW_COUNT", long), column("_MIN_KEY", octets), column("_MAX_KEY", octets),
			column("_KEY_STATS", statsRow), column("_VALUE_STATS", statsRow), column("_MIN_SEQUENCE_NUMBER", long), column("_MAX_SEQUENCE_NUMBER", long),
			column("_SCHEMA_ID", long), column("_LEVEL", number), column("_EXTRA_FILES", listOf(text)),
			column("_CREATION_TIME", columnar.TimestampOf(3)), column("_DELETE_ROW_COUNT", long.AsNullable()),
			column("_EMBEDDED_FILE_INDEX", octets.AsNullable()), column("_FILE_SOURCE", tiny.AsNullable()),
			column("_VALUE_STATS_COLS", listOf(text).AsNullable()), column("_EXTERNAL_PATH", text.AsNullable()),
			column("_FIRST_ROW_ID", long.AsNullable()), column("_WRITE_COLS", listOf(text).AsNullable()))),
	}
	indexColumns = []columnar.Field{
		column("_VERSION", number), column("_KIND", tiny), column("_PARTITION", octets), column("_BUCKET", number),
		column("_INDEX_TYPE", text), column("_FILE_NAME", text), column("_FILE_SIZE", long), column("_ROW_COUNT", long),
		column("_DELETIONS_VECTORS_RANGES", listOf(rowOf(column("f0", text), column("f1", number), column("f2", number),
			column("_CARDINALITY", long.AsNullable())).AsNullable()).AsNullable()),
		column("_EXTERNAL_PATH", text.AsNullable()),
	}
)
