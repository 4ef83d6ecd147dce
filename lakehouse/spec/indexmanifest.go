package spec

import (
	"fmt"

	"github.com/twmb/avro"
)

// Types of index files.
const (
	// HashIndex lists the key hashes of a bucket of a table with dynamic buckets.
	HashIndex = "HASH"
	// DeletionVectorsIndex holds the deletion vectors of data files.
	DeletionVectorsIndex = "DELETION_VECTORS"
)

// indexVersion is the only version of index manifest rows in use.
const indexVersion = 1

// IndexFileMeta describes one index file.
type IndexFileMeta struct {
	// Type is HashIndex or DeletionVectorsIndex.
	Type     string
	FileName string
	FileSize int64
	// RowCount counts the hashes of a hash index, the data files of a deletion vector file.
	RowCount int64
	// Vectors are the ranges of a deletion vector file; nil for a hash index.
	Vectors      []DeletionVectorMeta
	ExternalPath *string
}

// DeletionVectorMeta says where the deletion vector of a data file stands.
type DeletionVectorMeta struct {
	DataFile string
	// Offset is that of the vector's size field; Length is as its version counts it.
	Offset, Length int32
	// Cardinality is the number of deleted rows; nil in files of older versions.
	Cardinality *int64
}

// IndexManifestEntry is one row of an index manifest, or one change of a commit.
type IndexManifestEntry struct {
	Kind      EntryKind
	Partition BinaryRow
	Bucket    int32
	File      IndexFileMeta
}

type vectorRecord struct {
	DataFile    string `avro:"f0"`
	Offset      int32  `avro:"f1"`
	Length      int32  `avro:"f2"`
	Cardinality *int64 `avro:"_CARDINALITY"`
}

type indexRecord struct {
	Version      int32            `avro:"_VERSION"`
	Kind         int32            `avro:"_KIND"`
	Partition    []byte           `avro:"_PARTITION"`
	Bucket       int32            `avro:"_BUCKET"`
	Type         string           `avro:"_INDEX_TYPE"`
	FileName     string           `avro:"_FILE_NAME"`
	FileSize     int64            `avro:"_FILE_SIZE"`
	RowCount     int64            `avro:"_ROW_COUNT"`
	Vectors      *[]*vectorRecord `avro:"_DELETIONS_VECTORS_RANGES"`
	ExternalPath *string          `avro:"_EXTERNAL_PATH"`
}

// indexSchema is that of IndexManifestEntry.java.
var indexSchema = avro.MustParse(avroRecord +
	`{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},{"name":"_BUCKET","type":"int"},` +
	`{"name":"_INDEX_TYPE","type":"string"},{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},` +
	optional("_DELETIONS_VECTORS_RANGES", `{"type":"array","items":["null",{"type":"record","name":"record__DELETIONS_VECTORS_RANGES","fields":[`+
		`{"name":"f0","type":"string"},{"name":"f1","type":"int"},{"name":"f2","type":"int"},`+optional("_CARDINALITY", `"long"`)+`]}]}`) + `,` +
	optional("_EXTERNAL_PATH", `"string"`) + `]}`)

// WriteIndexManifest gives the content of an index manifest: the whole set of live index files.
func WriteIndexManifest(entries []IndexManifestEntry) ([]byte, error) {
	recs := make([]indexRecord, len(entries))
	for i := range entries {
		e := &entries[i]
		recs[i] = indexRecord{
			Version: indexVersion, Kind: int32(e.Kind), Partition: e.Partition.Serialized(), Bucket: e.Bucket, Type: e.File.Type,
			FileName: e.File.FileName, FileSize: e.File.FileSize, RowCount: e.File.RowCount, ExternalPath: e.File.ExternalPath,
		}
		if e.File.Vectors == nil {
			continue
		}
		vectors := make([]*vectorRecord, len(e.File.Vectors))
		for k, v := range e.File.Vectors {
			vectors[k] = &vectorRecord{DataFile: v.DataFile, Offset: v.Offset, Length: v.Length, Cardinality: v.Cardinality}
		}
		recs[i].Vectors = &vectors
	}
	b, err := writeAvro(indexSchema, recs)
	if err != nil {
		return nil, fmt.Errorf("writing index manifest: %w", err)
	}
	return b, nil
}

// ReadIndexManifest gives the index files of an index manifest in Avro.
func ReadIndexManifest(b []byte) ([]IndexManifestEntry, error) {
	var out []IndexManifestEntry
	err := readAvro(b, func(r *indexRecord) error {
		e, err := r.entry()
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading index manifest: %w", err)
	}
	return out, nil
}

func (r *indexRecord) entry() (IndexManifestEntry, error) {
	e := IndexManifestEntry{Kind: EntryKind(r.Kind), Bucket: r.Bucket, File: IndexFileMeta{
		Type: r.Type, FileName: r.FileName, FileSize: r.FileSize, RowCount: r.RowCount, ExternalPath: r.ExternalPath,
	}}
	switch {
	case r.Version != indexVersion:
		return e, fmt.Errorf("row version %d is unknown", r.Version)
	case r.Kind != int32(Add) && r.Kind != int32(Remove):
		return e, fmt.Errorf("entry kind %d is unknown", r.Kind)
	case r.FileSize < 0 || r.RowCount < 0:
		return e, fmt.Errorf("index file %q: negative size or row count", r.FileName)
	}
	if err := checkName(r.FileName); err != nil {
		return e, err
	}
	if r.Vectors != nil {
		e.File.Vectors = make([]DeletionVectorMeta, 0, len(*r.Vectors))
		for _, v := range *r.Vectors {
			if v != nil {
				e.File.Vectors = append(e.File.Vectors, DeletionVectorMeta{DataFile: v.DataFile, Offset: v.Offset, Length: v.Length, Cardinality: v.Cardinality})
			}
		}
	}
	var err error
	e.Partition, err = ParseBinaryRow(r.Partition)
	return e, err
}
