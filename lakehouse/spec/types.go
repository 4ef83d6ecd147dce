package spec

import "leat/internal/columnar"

// TableSchema is one schema/schema-<id> file (PAIMON schema version 3).
type TableSchema struct {
	Version        int
	ID             int64
	Fields         []columnar.Field
	HighestFieldID int
	PartitionKeys  []string
	PrimaryKeys    []string
	Options        map[string]string
	Comment        string
	// TimeMillis is the creation time in epoch milliseconds; that of schema-0 identifies a table.
	TimeMillis int64
}

// CommitKind is the kind of a snapshot.
type CommitKind string

// The commit kinds.
const (
	Append    CommitKind = "APPEND"
	Compact   CommitKind = "COMPACT"
	Overwrite CommitKind = "OVERWRITE"
	Analyze   CommitKind = "ANALYZE"
)

// BatchIdentifier is the commit identifier of batch commits.
const BatchIdentifier int64 = 1<<63 - 1

// Snapshot is one snapshot/snapshot-<id> file. Pointers are fields that may be absent.
type Snapshot struct {
	Version                   int               `json:"version"`
	ID                        int64             `json:"id"`
	SchemaID                  int64             `json:"schemaId"`
	BaseManifestList          string            `json:"baseManifestList"`
	BaseManifestListSize      *int64            `json:"baseManifestListSize,omitempty"`
	DeltaManifestList         string            `json:"deltaManifestList"`
	DeltaManifestListSize     *int64            `json:"deltaManifestListSize,omitempty"`
	ChangelogManifestList     *string           `json:"changelogManifestList"`
	ChangelogManifestListSize *int64            `json:"changelogManifestListSize,omitempty"`
	IndexManifest             *string           `json:"indexManifest,omitempty"`
	CommitUser                string            `json:"commitUser"`
	CommitIdentifier          int64             `json:"commitIdentifier"`
	CommitKind                CommitKind        `json:"commitKind"`
	TimeMillis                int64             `json:"timeMillis"`
	LogOffsets                map[string]int64  `json:"logOffsets"`
	TotalRecordCount          *int64            `json:"totalRecordCount"`
	DeltaRecordCount          *int64            `json:"deltaRecordCount"`
	ChangelogRecordCount      *int64            `json:"changelogRecordCount,omitempty"`
	Watermark                 *int64            `json:"watermark,omitempty"`
	Statistics                *string           `json:"statistics,omitempty"`
	Properties                map[string]string `json:"properties,omitempty"`
	NextRowID                 *int64            `json:"nextRowId,omitempty"`
}

// BinaryRow is a row in Paimon's binary layout without the arity prefix; Arity is its field count.
type BinaryRow struct {
	Arity int
	Data  []byte
}

// SimpleStats is min, max and null counts of columns: two rows over the same
// columns and one count a column (nil count = unknown).
type SimpleStats struct {
	Min, Max   BinaryRow
	NullCounts []*int64
}

// FileSource says what made a data file.
type FileSource int32

// The file sources.
const (
	SourceAppend  FileSource = 0
	SourceCompact FileSource = 1
)

// DataFileMeta describes one data or changelog file, as in the _FILE record of a manifest.
type DataFileMeta struct {
	FileName          string
	FileSize          int64
	RowCount          int64
	MinKey, MaxKey    BinaryRow // trimmed primary key; the empty row for append tables
	KeyStats          SimpleStats
	ValueStats        SimpleStats
	MinSequenceNumber int64
	MaxSequenceNumber int64
	SchemaID          int64
	Level             int32
	ExtraFiles        []string
	// CreationTimeMillis is local wall-clock time stored as if UTC; nil if absent.
	CreationTimeMillis *int64
	// DeleteRowCount counts rows of kind -U and -D.
	DeleteRowCount    *int64
	EmbeddedFileIndex []byte
	FileSource        *FileSource
	// ValueStatsCols lists the columns ValueStats covers; nil = all of the schema.
	ValueStatsCols *[]string
	ExternalPath   *string
	FirstRowID     *int64
	WriteCols      *[]string
}

// EntryKind says whether a manifest entry adds or deletes its file.
type EntryKind int32

// The entry kinds.
const (
	Add    EntryKind = 0
	Remove EntryKind = 1
)

// ManifestEntry is one row of a manifest file.
type ManifestEntry struct {
	Kind         EntryKind
	Partition    BinaryRow // partition columns only; the empty row when unpartitioned
	Bucket       int32
	TotalBuckets int32
	File         DataFileMeta
}

// ManifestFileMeta is one row of a manifest list.
type ManifestFileMeta struct {
	FileName        string
	FileSize        int64
	NumAddedFiles   int64
	NumDeletedFiles int64
	PartitionStats  SimpleStats
	SchemaID        int64
	MinBucket       *int32
	MaxBucket       *int32
	MinLevel        *int32
	MaxLevel        *int32
}

// CommitMessage is what one epoch wrote for one (partition, bucket): the
// committable of the lake. It is stored as JSON in the checkpoint entry.
type CommitMessage struct {
	Partition    BinaryRow
	Bucket       int32
	TotalBuckets int32
	// NewFiles and Changelog belong to the append part, the others to the compact part.
	NewFiles         []DataFileMeta
	Changelog        []DataFileMeta
	CompactBefore    []DataFileMeta
	CompactAfter     []DataFileMeta
	CompactChangelog []DataFileMeta
	// NewIndex and GoneIndex are index files of the append part that come and leave,
	// CompactNewIndex and CompactGoneIndex those of the compact part.
	NewIndex         []IndexFileMeta `json:",omitempty"`
	GoneIndex        []IndexFileMeta `json:",omitempty"`
	CompactNewIndex  []IndexFileMeta `json:",omitempty"`
	CompactGoneIndex []IndexFileMeta `json:",omitempty"`
}
