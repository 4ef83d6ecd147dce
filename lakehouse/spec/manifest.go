package spec

import (
	"fmt"
)

// entryVersion is the only version of manifest and manifest list rows in use.
const entryVersion = 2

type statsRecord struct {
	Min        []byte    `avro:"_MIN_VALUES"`
	Max        []byte    `avro:"_MAX_VALUES"`
	NullCounts *[]*int64 `avro:"_NULL_COUNTS"`
}

type listRecord struct {
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
	MaxLevel   *int32      `avro:"_MAX_LEVEL"`
}

type entryRecord struct {
	Version      int32      `avro:"_VERSION"`
	Kind         int32      `avro:"_KIND"`
	Partition    []byte     `avro:"_PARTITION"`
	Bucket       int32      `avro:"_BUCKET"`
	TotalBuckets int32      `avro:"_TOTAL_BUCKETS"`
	File         fileRecord `avro:"_FILE"`
}

type fileRecord struct {
	FileName       string      `avro:"_FILE_NAME"`
	FileSize       int64       `avro:"_FILE_SIZE"`
	RowCount       int64       `avro:"_ROW_COUNT"`
	MinKey         []byte      `avro:"_MIN_KEY"`
	MaxKey         []byte      `avro:"_MAX_KEY"`
	KeyStats       statsRecord `avro:"_KEY_STATS"`
	ValueStats     statsRecord `avro:"_VALUE_STATS"`
	MinSequence    int64       `avro:"_MIN_SEQUENCE_NUMBER"`
	MaxSequence    int64       `avro:"_MAX_SEQUENCE_NUMBER"`
	SchemaID       int64       `avro:"_SCHEMA_ID"`
	Level          int32       `avro:"_LEVEL"`
	ExtraFiles     []string    `avro:"_EXTRA_FILES"`
	CreationTime   *int64      `avro:"_CREATION_TIME"`
	DeleteRowCount *int64      `avro:"_DELETE_ROW_COUNT"`
	EmbeddedIndex  *[]byte     `avro:"_EMBEDDED_FILE_INDEX"`
	FileSource     *int32      `avro:"_FILE_SOURCE"`
	ValueStatsCols *[]string   `avro:"_VALUE_STATS_COLS"`
	ExternalPath   *string     `avro:"_EXTERNAL_PATH"`
	FirstRowID     *int64      `avro:"_FIRST_ROW_ID"`
	WriteCols      *[]string   `avro:"_WRITE_COLS"`
}

// WriteManifestList gives the content of a manifest list; an empty list is a valid file.
func WriteManifestList(metas []ManifestFileMeta) ([]byte, error) {
	recs := make([]listRecord, len(metas))
	for i := range metas {
		m := &metas[i]
		recs[i] = listRecord{
			Version: entryVersion, FileName: m.FileName, FileSize: m.FileSize,
			NumAdded: m.NumAddedFiles, NumDeleted: m.NumDeletedFiles, Stats: toStatsRecord(&m.PartitionStats),
			SchemaID: m.SchemaID, MinBucket: m.MinBucket, MaxBucket: m.MaxBucket, MinLevel: m.MinLevel, MaxLevel: m.MaxLevel,
		}
	}
	b, err := writeAvro(listSchema, recs)
	if err != nil {
		return nil, fmt.Errorf("writing manifest list: %w", err)
	}
	return b, nil
}

// ReadManifestList reads a manifest list in Avro.
func ReadManifestList(b []byte) ([]ManifestFileMeta, error) {
	var out []ManifestFileMeta
	err := readAvro(b, func(r *listRecord) error {
		if r.Version != entryVersion {
			return fmt.Errorf("row version %d is unknown", r.Version)
		}
		if err := checkName(r.FileName); err != nil {
			return err
		}
		stats, err := r.Stats.stats()
		if err != nil {
			return fmt.Errorf("manifest %s: %w", r.FileName, err)
		}
		out = append(out, ManifestFileMeta{
			FileName: r.FileName, FileSize: r.FileSize, NumAddedFiles: r.NumAdded, NumDeletedFiles: r.NumDeleted,
			PartitionStats: stats, SchemaID: r.SchemaID,
			MinBucket: r.MinBucket, MaxBucket: r.MaxBucket, MinLevel: r.MinLevel, MaxLevel: r.MaxLevel,
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading manifest list: %w", err)
	}
	return out, nil
}

// WriteManifest gives the content of a manifest.
func WriteManifest(entries []ManifestEntry) ([]byte, error) {
	recs := make([]entryRecord, len(entries))
	for i := range entries {
		e := &entries[i]
		recs[i] = entryRecord{
			Version: entryVersion, Kind: int32(e.Kind), Partition: e.Partition.Serialized(),
			Bucket: e.Bucket, TotalBuckets: e.TotalBuckets, File: toFileRecord(&e.File),
		}
	}
	b, err := writeAvro(manifestSchema, recs)
	if err != nil {
		return nil, fmt.Errorf("writing manifest: %w", err)
	}
	return b, nil
}

// ReadManifest reads a manifest in Avro.
func ReadManifest(b []byte) ([]ManifestEntry, error) {
	var out []ManifestEntry
	err := readAvro(b, func(r *entryRecord) error {
		if r.Version != entryVersion {
			return fmt.Errorf("row version %d is unknown", r.Version)
		}
		if r.Kind != int32(Add) && r.Kind != int32(Remove) {
			return fmt.Errorf("entry kind %d is unknown", r.Kind)
		}
		e := ManifestEntry{Kind: EntryKind(r.Kind), Bucket: r.Bucket, TotalBuckets: r.TotalBuckets}
		var err error
		if e.Partition, err = ParseBinaryRow(r.Partition); err != nil {
			return err
		}
		if e.File, err = r.File.file(); err != nil {
			return fmt.Errorf("file %q: %w", r.File.FileName, err)
		}
		out = append(out, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading manifest: %w", err)
	}
	return out, nil
}

func toStatsRecord(s *SimpleStats) statsRecord {
	r := statsRecord{Min: s.Min.Serialized(), Max: s.Max.Serialized()}
	if s.NullCounts != nil {
		r.NullCounts = &s.NullCounts
	}
	return r
}

func (r *statsRecord) stats() (SimpleStats, error) {
	var s SimpleStats
	var err error
	if s.Min, err = ParseBinaryRow(r.Min); err != nil {
		return s, fmt.Errorf("reading statistics: %w", err)
	}
	if s.Max, err = ParseBinaryRow(r.Max); err != nil {
		return s, fmt.Errorf("reading statistics: %w", err)
	}
	if r.NullCounts != nil {
		if s.NullCounts = *r.NullCounts; s.NullCounts == nil {
			s.NullCounts = []*int64{}
		}
	}
	return s, nil
}

func toFileRecord(f *DataFileMeta) fileRecord {
	r := fileRecord{
		FileName: f.FileName, FileSize: f.FileSize, RowCount: f.RowCount,
		MinKey: f.MinKey.Serialized(), MaxKey: f.MaxKey.Serialized(),
		KeyStats: toStatsRecord(&f.KeyStats), ValueStats: toStatsRecord(&f.ValueStats),
		MinSequence: f.MinSequenceNumber, MaxSequence: f.MaxSequenceNumber, SchemaID: f.SchemaID, Level: f.Level,
		ExtraFiles: f.ExtraFiles, CreationTime: f.CreationTimeMillis, DeleteRowCount: f.DeleteRowCount,
		FileSource: (*int32)(f.FileSource), ValueStatsCols: f.ValueStatsCols, ExternalPath: f.ExternalPath,
		FirstRowID: f.FirstRowID, WriteCols: f.WriteCols,
	}
	if f.EmbeddedFileIndex != nil {
		r.EmbeddedIndex = &f.EmbeddedFileIndex
	}
	return r
}

func (r *fileRecord) file() (DataFileMeta, error) {
	f := DataFileMeta{
		FileName: r.FileName, FileSize: r.FileSize, RowCount: r.RowCount,
		MinSequenceNumber: r.MinSequence, MaxSequenceNumber: r.MaxSequence, SchemaID: r.SchemaID, Level: r.Level,
		ExtraFiles: r.ExtraFiles, CreationTimeMillis: r.CreationTime, DeleteRowCount: r.DeleteRowCount,
		FileSource: (*FileSource)(r.FileSource), ValueStatsCols: r.ValueStatsCols, ExternalPath: r.ExternalPath,
		FirstRowID: r.FirstRowID, WriteCols: r.WriteCols,
	}
	if r.EmbeddedIndex != nil {
		f.EmbeddedFileIndex = *r.EmbeddedIndex
	}
	if err := checkName(f.FileName); err != nil {
		return f, err
	}
	for _, n := range f.ExtraFiles {
		if err := checkName(n); err != nil {
			return f, err
		}
	}
	if f.RowCount < 0 || f.FileSize < 0 || f.Level < 0 {
		return f, fmt.Errorf("negative size, row count or level")
	}
	var err error
	if f.MinKey, err = ParseBinaryRow(r.MinKey); err != nil {
		return f, err
	}
	if f.MaxKey, err = ParseBinaryRow(r.MaxKey); err != nil {
		return f, err
	}
	if f.KeyStats, err = r.KeyStats.stats(); err != nil {
		return f, err
	}
	f.ValueStats, err = r.ValueStats.stats()
	return f, err
}
