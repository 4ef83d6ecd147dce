package configs

import (
	"errors"
	"math"
	"time"
)

// The table options of compaction, of buckets that open as they fill, and of
// what is kept on the local disk for both.
var (
	RunTrigger = Int(LakeTable, "num-sorted-run.compaction-trigger", 5, "Sorted runs that start a compaction.", AtLeast(2))
	RunStop    = Int(LakeTable, "num-sorted-run.stop-trigger", 8, "Sorted runs at which writing waits; trigger + 3.", Optional())
	NumLevels  = Int(LakeTable, "num-levels", 6, "Levels of the merge tree; trigger + 1.", Optional())
	SizeAmp    = Int(LakeTable, "compaction.max-size-amplification-percent", 200, "Size of the younger runs against the oldest that starts a full compaction.")
	SizeRatio  = Int(LakeTable, "compaction.size-ratio", 1, "Percent by which runs may differ to be merged.")

	OptInterval   = Duration(LakeTable, "compaction.optimization-interval", 0, "A full compaction at least this often.", Optional())
	SizeThreshold = Size(LakeTable, "compaction.total-size-threshold", 0, "Size of a bucket below which every compaction is a full one.", Optional())
	ForceUp       = Bool(LakeTable, "compaction.force-up-level-0", false, "Compactions take all of level 0 as soon as there is something.")
	ForceRewrite  = Bool(LakeTable, "compaction.force-rewrite-all-files", false, "Compactions write every file anew, full ones also those of the deepest level.")
	OffPeakStart  = Int(LakeTable, "compaction.offpeak.start.hour", -1, "First hour of the quiet hours; -1 for none.", Check(ParseInt, hour))
	OffPeakEnd    = Int(LakeTable, "compaction.offpeak.end.hour", -1, "Hour at which they end; -1 for none.", Check(ParseInt, hour))
	OffPeakRatio  = Int(LakeTable, "compaction.offpeak-ratio", 0, "What is added to compaction.size-ratio in quiet hours.", NotNegative())
	CompactMin    = Int(LakeTable, "compaction.min.file-num", 5, "Small files of an append table that start a compaction.", AtLeast(2))
	DeleteRatio   = Double(LakeTable, "compaction.delete-ratio-threshold", 0.2, "Share of deleted rows from which a file of an append table is written anew.", Check(ParseDouble, share))

	FullDeltaCommits = Int(LakeTable, "full-compaction.delta-commits", 0, "Checkpoints between full compactions; 1 with changelog producer full-compaction.", Optional())
	FullInterval     = Duration(LakeTable, "changelog-producer.compaction-interval", 0, "Time between the full compactions of changelog producer full-compaction.")

	DynamicRows    = Int(LakeTable, "dynamic-bucket.target-row-num", 2_000_000, "Keys that fill a bucket where 'bucket' is -1.", AtLeast(1))
	DynamicMost    = Int(LakeTable, "dynamic-bucket.max-buckets", -1, "Most buckets of a partition where 'bucket' is -1; -1 for no bound.")
	DynamicInitial = Int(LakeTable, "dynamic-bucket.initial-buckets", 1, "Buckets of a partition that fill side by side where 'bucket' is -1.", AtLeast(1), Optional())
	PostponeCount  = Int(LakeTable, "postpone.default-bucket-num", 1, "Buckets that a partition gets with its first postponed rows.", AtLeast(1))
	BucketFunction = Enum(LakeTable, "bucket-function.type", "default", "How a bucket is chosen: by the hash of the bucket key, or the key itself modulo the number of buckets.", []string{"default", "mod"})

	LookupDisk   = Size(LakeTable, "lookup.cache-max-disk-size", math.MaxInt64, "Size on the local disk of the data files that rows are looked up in.")
	LookupMemory = Size(LakeTable, "lookup.cache-max-memory-size", 256<<20, "Memory of the indexes of those files.")
	LookupKept   = Duration(LakeTable, "lookup.cache-file-retention", time.Hour, "Time after which one of those files goes that no row was looked up in.")
)

func share(f float64) error {
	if f < 0 || f > 1 {
		return errors.New("must be from 0 to 1")
	}
	return nil
}

func hour(n int64) error {
	if n < -1 || n > 23 {
		return errors.New("must be -1, or an hour from 0 to 23")
	}
	return nil
}

// What has no meaning where one process writes a table with one budget.
func init() {
	const (
		lookups = "the look-ups of a checkpoint are done in it, as if it were true and radical"
		blocks  = "rows are looked up in blocks of an Arrow file, without compression"
		buffers = "what leat.memory.write-buffers has no room for becomes level-0 files, which need no spilling"
	)
	Bool(LakeTable, "lookup-wait", true, "Commits wait for look-ups.", WithAliases("changelog-producer.lookup-wait"), NoMeaningHere(lookups))
	Enum(LakeTable, "lookup-compact", "radical", "How eagerly rows are looked up.", []string{"radical", "gentle"}, NoMeaningHere(lookups))
	Int(LakeTable, "lookup-compact.max-interval", 0, "Commits between look-ups.", Optional(), NoMeaningHere(lookups))
	for _, key := range []string{
		"lookup.cache-spill-compression", "lookup.cache.bloom.filter.enabled", "lookup.cache.bloom.filter.fpp", "lookup.cache.high-priority-pool-ratio",
		"lookup.hash-load-factor", "lookup.local-file-type", "lookup.merge-buffer-size", "lookup.merge-records-threshold",
	} {
		String(LakeTable, key, "", "Form of lookup files.", Optional(), NoMeaningHere(blocks))
	}
	for _, key := range []string{
		"write-buffer-spillable", "write-buffer-spill.max-disk-size", "write-max-writers-to-spill", "write-buffer-for-append", "sort-spill-buffer-size",
		"sort-spill-threshold", "spill-compression", "spill-compression.zstd-level", "page-size", "local-sort.max-num-file-handles",
	} {
		String(LakeTable, key, "", "Spilling of buffers.", Optional(), NoMeaningHere(buffers))
	}
	Bool(LakeTable, "commit.force-compact", false, "Commits wait for compactions.", NoMeaningHere("a commit waits for look-ups alone: other compactions run beside checkpoints, and writing waits at num-sorted-run.stop-trigger"))
	Bool(LakeTable, "precommit-compact", false, "Small files are joined before a commit.", NoMeaningHere("a checkpoint writes one file a bucket"))
	Bool(LakeTable, "bucket-append-ordered", true, "Compactions of append tables with buckets keep the order of rows.", NoMeaningHere("they always do"))
	Int(LakeTable, "dynamic-bucket.assigner-parallelism", 0, "Assigners of buckets.", Optional(), NoMeaningHere("one assigner knows all keys"))
	Int(LakeTable, "unaware-bucket.compaction.parallelism", 0, "Compactors of append tables.", Optional(), NoMeaningHere("all tables of a job share its compactors"))
	Int(LakeTable, "cross-partition-upsert.bootstrap-parallelism", 10, "Readers of the keys at the start.", NoMeaningHere("one reader loads them"))
	Duration(LakeTable, "cross-partition-upsert.index-ttl", 0, "Age at which keys are forgotten.", Optional(), NoMeaningHere("no key is forgotten, those without room in memory go to the local disk"))
}
