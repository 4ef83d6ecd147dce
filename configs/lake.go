package configs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// LakeTable declares the options of Paimon tables that leat acts by or refuses;
// the others of Paimon 1.3 are accepted with a notice and stored in the schema.
var LakeTable = NewSet("Paimon table")

// codecs are the words of file.compression, of any format; the last two are not written.
var codecs = []string{"zstd", "snappy", "gzip", "lz4", "uncompressed", "zlib", "none", "lzo", "brotli"}

// levelsOf gives the check that options per level hold only these words.
func levelsOf(words ...string) func(map[int32]string) error {
	return func(levels map[int32]string) error {
		for _, level := range slices.Sorted(maps.Keys(levels)) {
			if w := levels[level]; !slices.Contains(words, w) {
				return fmt.Errorf("level %d: '%s' is not one of %s", level, w, strings.Join(words, ", "))
			}
		}
		return nil
	}
}

// statsWords reports modes of levels that are none; truncate(n) is checked by the table.
func statsWords(levels map[int32]string) error {
	for _, level := range slices.Sorted(maps.Keys(levels)) {
		if w := levels[level]; w != "none" && w != "counts" && w != "full" && !strings.HasPrefix(w, "truncate(") {
			return fmt.Errorf("level %d: '%s' is not one of none, counts, truncate(n), full", level, w)
		}
	}
	return nil
}

// The table options that leat acts by.
var (
	Bucket = Int(LakeTable, "bucket", -1, "Buckets of a partition; -1 opens buckets as they fill, or is the unaware append mode without a primary key; -2 leaves rows unseen until CALL sys.compact gives them buckets.",
		Check(ParseInt, func(n int64) error {
			if n != -1 && n != -2 && n < 1 {
				return errors.New("must be -1, -2, or 1 and more")
			}
			return nil
		}))
	BucketKey  = String(LakeTable, "bucket-key", "", "Columns whose hash chooses the bucket; the default is the primary key without the partition columns.", Optional())
	FileFormat = Enum(LakeTable, "file.format", "parquet", "Format of data files.",
		[]string{"parquet", "orc", "avro", "csv", "json", "text"}, RefuseWords("parquet", "csv", "json", "text"))
	FormatLevels = String(LakeTable, "file.format.per.level", "", "Formats of levels of the merge tree, such as '0:avro,5:orc'; the others have file.format.", Optional(),
		Check(ParseLevels, levelsOf("parquet", "orc", "avro")))
	ManifestFormat = Enum(LakeTable, "manifest.format", "avro", "Format of manifests.", []string{"avro", "parquet", "orc"}, OnlyNow("avro", "write 'avro'"))
	Compression    = Enum(LakeTable, "file.compression", "zstd", "Codec of data files: gzip and uncompressed are Parquet's, zlib and none are ORC's.",
		codecs, RefuseWords("zstd", "lzo", "brotli"))
	CompressionLevels = String(LakeTable, "file.compression.per.level", "", "Codecs of levels of the merge tree, such as '0:lz4,5:zstd'; the others have file.compression.", Optional(),
		Check(ParseLevels, levelsOf(codecs[:7]...)))
	ZstdLevel     = Int(LakeTable, "file.compression.zstd-level", 1, "zstd level.", AtLeast(1))
	BlockSize     = Size(LakeTable, "file.block-size", 128<<20, "Size of a row group or stripe.", Optional())
	ORCCompress   = Enum(LakeTable, "orc.compress", "zstd", "Codec of ORC files, in place of file.compression.", []string{"zstd", "zlib", "snappy", "lz4", "none", "lzo", "brotli"}, RefuseWords("zstd", "lzo", "brotli"), Optional())
	ORCZstdLevel  = Int(LakeTable, "orc.compression.zstd.level", 1, "zstd level of ORC files, in place of file.compression.zstd-level.", AtLeast(1), Optional())
	ORCStripeSize = Int(LakeTable, "orc.stripe.size", 64<<20, "Bytes of a stripe of ORC files; file.block-size wins over it.", AtLeast(1), Optional())
	ORCChunkSize  = Int(LakeTable, "orc.compress.size", 256<<10, "Bytes of a compression chunk of ORC files.", AtLeast(1), Optional())
	ORCIndexRows  = Int(LakeTable, "orc.row.index.stride", 10_000, "Rows of a row group of ORC files; Java takes 1,000 and more.", AtLeast(1000), Optional())
	ORCDictionary = Double(LakeTable, "orc.dictionary.key.threshold", 0.5, "Share of distinct values up to which text columns of ORC files have a dictionary; 0 for none.", Optional())
	ORCDirect     = String(LakeTable, "orc.column.encoding.direct", "", "Text columns of ORC files without a dictionary, separated by commas.", Optional())

	TargetFileSize       = Size(LakeTable, "target-file-size", 128<<20, "Size at which a data file is rolled; 128 MB with a primary key, else 256 MB.", Optional())
	MergeEngine          = Enum(LakeTable, "merge-engine", "deduplicate", "How rows of one key become one.", []string{"deduplicate", "partial-update", "aggregation", "first-row"})
	ChangelogProducer    = Enum(LakeTable, "changelog-producer", "none", "Where changelog files come from.", []string{"none", "input", "lookup", "full-compaction"})
	SequenceField        = String(LakeTable, "sequence.field", "", "Columns that order rows of one key.", Optional())
	SequenceOrder        = Enum(LakeTable, "sequence.field.sort-order", "ascending", "Whether the greatest or the least sequence wins.", []string{"ascending", "descending"})
	RowKindField         = String(LakeTable, "rowkind.field", "", "Column with the row kind: +I, -U, +U or -D.", Optional())
	IgnoreDelete         = Bool(LakeTable, "ignore-delete", false, "Deletes and before-images are dropped.", WithAliases("deduplicate.ignore-delete", "partial-update.ignore-delete", "first-row.ignore-delete"))
	IgnoreBefore         = Bool(LakeTable, "ignore-update-before", false, "Before-images are dropped.")
	PartialRemove        = Bool(LakeTable, "partial-update.remove-record-on-delete", false, "A delete removes the row of a partial-update table.")
	GroupRemove          = String(LakeTable, "partial-update.remove-record-on-sequence-group", "", "Sequence fields whose group's deletes remove the row.", Optional())
	AggregateRemove      = Bool(LakeTable, "aggregation.remove-record-on-delete", false, "A delete removes the row of an aggregation table.")
	RowDeduplicate       = Bool(LakeTable, "changelog-producer.row-deduplicate", false, "Updates that change nothing stay out of the changelog.")
	RowDeduplicateIgnore = String(LakeTable, "changelog-producer.row-deduplicate-ignore-fields", "", "Columns whose changes do not count for that.", Optional())
	ForceLookup          = Bool(LakeTable, "force-lookup", false, "Compactions look rows up as changelog producer lookup does.")
	ChangelogPrefix      = String(LakeTable, "changelog-file.prefix", "changelog-", "Prefix of changelog files.")
	ChangelogFormat      = Enum(LakeTable, "changelog-file.format", "parquet", "Format of changelog files.", []string{"parquet", "orc", "avro"}, Optional())
	ChangelogCompression = Enum(LakeTable, "changelog-file.compression", "zstd", "Codec of changelog files; that of data files.",
		codecs, RefuseWords("zstd", "lzo", "brotli"), Optional())
	ChangelogStats   = String(LakeTable, "changelog-file.stats-mode", "", "Statistics of changelog files in manifests.", Optional())
	DeletionVectors  = Bool(LakeTable, "deletion-vectors.enabled", false, "Deletion vectors instead of merge on read.")
	Bitmap64         = Bool(LakeTable, "deletion-vectors.bitmap64", false, "Deletion vectors of 64 bits; fewer readers know them.")
	ExpireTime       = Duration(LakeTable, "record-level.expire-time", 0, "Age at which rows are left out and compacted away.", Optional())
	ExpireField      = String(LakeTable, "record-level.time-field", "", "Column that the age of a row is counted from.", Optional())
	DynamicOverwrite = Bool(LakeTable, "dynamic-partition-overwrite", true, "INSERT OVERWRITE replaces the partitions that rows come to, and no others.")
	WriteOnly        = Bool(LakeTable, "write-only", false, "No compaction and no expiration by this writer.", WithAliases("write.compaction-skip"))

	ForceCreateSnapshot = Bool(LakeTable, "commit.force-create-snapshot", false, "A checkpoint without changes makes a snapshot too.")
	CommitMaxRetries    = Int(LakeTable, "commit.max-retries", 10, "Tries after a lost race.", NotNegative())
	CommitMinWait       = Duration(LakeTable, "commit.min-retry-wait", 10*time.Millisecond, "First wait between tries.")
	CommitMaxWait       = Duration(LakeTable, "commit.max-retry-wait", 10*time.Second, "Longest wait between tries.")
	CommitRetryInterval = Duration(LakeTable, "commit.retry-interval", time.Second, "Not a Paimon option: sets commit.min-retry-wait and commit.max-retry-wait.", Optional())
	CommitTimeout       = Duration(LakeTable, "commit.timeout", 0, "Limit of all tries.", Optional())
	CommitUserPrefix    = String(LakeTable, "commit.user-prefix", "", "Prefix of generated commit users.", Optional())

	RetainMin     = Int(LakeTable, "snapshot.num-retained.min", 10, "Least snapshots kept.", AtLeast(1))
	RetainMax     = Int(LakeTable, "snapshot.num-retained.max", 1<<31-1, "Most snapshots kept.", AtLeast(1))
	RetainTime    = Duration(LakeTable, "snapshot.time-retained", time.Hour, "Age up to which snapshots are kept.")
	ExpireLimit   = Int(LakeTable, "snapshot.expire.limit", 50, "Snapshots removed at a time.", AtLeast(1))
	ExpireMode    = Enum(LakeTable, "snapshot.expire.execution-mode", "sync", "When snapshots are removed.", []string{"sync", "async"})
	CleanEmpty    = Bool(LakeTable, "snapshot.clean-empty-directories", false, "Remove empty folders.", WithAliases("snapshot.expire.clean-empty-directories"))
	StatsMode     = String(LakeTable, "metadata.stats-mode", "truncate(16)", "Statistics in manifests: none, counts, truncate(n), full.")
	StatsLevels   = String(LakeTable, "metadata.stats-mode.per.level", "", "Statistics of files of single levels of the merge tree, such as '0:none,5:full'.", Optional(), Check(ParseLevels, statsWords))
	StatsFirst    = Int(LakeTable, "metadata.stats-keep-first-n-columns", -1, "Columns in front that have statistics; -1 for all. Columns with fields.….stats-mode have them anyway.")
	StatsDense    = Bool(LakeTable, "metadata.stats-dense-store", true, "Leave columns without statistics out.")
	PartitionName = String(LakeTable, "partition.default-name", "__DEFAULT_PARTITION__", "Folder of null and blank partition values.")
	LegacyName    = Bool(LakeTable, "partition.legacy-name", true, "Partition folders in the old text form.")
	ManifestSize  = Size(LakeTable, "manifest.target-file-size", 8<<20, "Size at which manifests roll.")
	ManifestMerge = Int(LakeTable, "manifest.merge-min-count", 30, "Manifests that are merged.")
	ManifestFull  = Size(LakeTable, "manifest.full-compaction-threshold-size", 16<<20, "Size that starts a full rewrite of manifests.")
	WriteBuffer   = Size(LakeTable, "write-buffer-size", 256<<20, "Write buffer of a table; leat.memory.write-buffers bounds all of them.")
	AutoCreate    = Bool(LakeTable, "auto-create", false, "Create the table's folder.")
)

func init() {
	LakeTable.Prefix("oss.", "Settings of an object store client.", NoMeaningHere("it is not a table option; give it to the catalog as fs.oss.*"))
	for _, k := range []string{"write-mode", "commit.ignore-non-existing-files", "append-only.assert-disorder", "compaction.max-sorted-run-num", "compaction.max.file-num", "streaming-compact", "write-manifest-cache", "log.scan.remove-normalize", "sequence.auto-padding"} {
		String(LakeTable, k, "", "An option of older versions.", Optional(), NoMeaningHere("Paimon removed it; the table's primary key decides"))
	}
	for _, k := range []string{"orc.encrypt", "orc.mask", "orc.key.provider", "orc.kms"} {
		LakeTable.Prefix(k, "Encryption of ORC files.", RefusedHere("ORC files are not encrypted by leat", "leave it out"))
	}
	String(LakeTable, "orc.timestamp-ltz.legacy.type", "", "How Java keeps TIMESTAMP_LTZ in ORC files.", Optional(),
		NoMeaningHere("files of leat hold the instant in UTC; Java reads it right with 'false', or in a JVM of zone UTC"))
	for _, k := range []string{"orc.force.positional.evolution", "orc.skip.corrupt.data"} {
		Enum(LakeTable, k, "false", "How Java's ORC library reads odd files.", []string{"false", "true"}, OnlyNow("false", "leave it out"))
	}
	LakeTable.Prefix("orc.bloom.filter.", "Bloom filters of ORC files.", NoMeaningHere("no Bloom filters are written; readers leave rows out by statistics"))
	LakeTable.Prefix("orc.", "Further settings of Java's ORC library.", NoMeaningHere("the files do not depend on it"))
	LakeTable.Prefix("fields.", "Options of one column: aggregate-function, sequence-group, ignore-retract, list-agg-delimiter, stats-mode.")
	LakeTable.AlsoKnown(known("table"))
}

// Catalog declares the options of CREATE CATALOG with type paimon.
var Catalog = NewSet("Paimon catalog")

// The catalog options that leat acts by.
var (
	CatalogType      = Enum(Catalog, "type", "", "Kind of catalog.", []string{"paimon", "generic_in_memory"}, Require())
	CatalogWarehouse = String(Catalog, "warehouse", "", "Folder or URL of the warehouse.", Optional())
	CatalogMetastore = Enum(Catalog, "metastore", "filesystem", "Where tables are registered.", []string{"filesystem", "hive", "jdbc", "rest"}, OnlyNow("filesystem", "write 'filesystem'"))
	CatalogDefaultDB = String(Catalog, "default-database", "default", "Database that is current after USE CATALOG.")
)

func init() {
	for _, p := range []string{"fs.", "s3.", "hadoop.", "oss.", "table-default."} {
		Catalog.Prefix(p, "Settings of the file system.", NoMeaningHere("only local folders are opened by this version"))
	}
	Catalog.AlsoKnown(known("catalog"))
}

// CheckRetention checks what Paimon checks of the retention options together.
func CheckRetention(v Values) error {
	if lo, hi := RetainMin.Get(v), RetainMax.Get(v); lo > hi {
		return fmt.Errorf("snapshot.num-retained.min (%d) is more than snapshot.num-retained.max (%d)", lo, hi)
	}
	return nil
}
