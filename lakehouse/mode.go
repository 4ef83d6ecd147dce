package lakehouse

import (
	"fmt"
	"slices"
	"strings"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// bucketMode is how a table assigns rows to buckets (BucketMode.java).
type bucketMode uint8

const (
	// fixedBuckets hashes the bucket key onto option bucket.
	fixedBuckets bucketMode = iota
	// dynamicBuckets keeps an index of key hashes for each partition and opens buckets as they fill.
	dynamicBuckets
	// crossPartition is dynamic where the key does not determine the partition: a
	// row with a known key moves out of the partition it was in.
	crossPartition
	// unawareBuckets has no buckets: files of a partition are independent of each other.
	unawareBuckets
	// postponedBuckets leaves the assignment to a later compaction.
	postponedBuckets
)

// String names the mode as Paimon does.
func (m bucketMode) String() string {
	return [...]string{"HASH_FIXED", "HASH_DYNAMIC", "KEY_DYNAMIC", "BUCKET_UNAWARE", "POSTPONE_MODE"}[m]
}

// mode gives the bucket mode of the table.
func (t *Table) mode() bucketMode {
	switch n := t.Options.Bucket; {
	case n > 0:
		return fixedBuckets
	case len(t.Schema.PrimaryKeys) == 0:
		return unawareBuckets
	case n == spec.PostponeBucket:
		return postponedBuckets
	case keyCovers(t.Schema):
		return dynamicBuckets
	default:
		return crossPartition
	}
}

// keyCovers reports whether the primary key contains all partition columns.
func keyCovers(s *spec.TableSchema) bool {
	return !slices.ContainsFunc(s.PartitionKeys, func(k string) bool { return !slices.Contains(s.PrimaryKeys, k) })
}

// checkBuckets refuses numbers of buckets that a table of this kind cannot have.
func (t *Table) checkBuckets() error {
	n := t.Options.Bucket
	refuse := func(option, msg, hint string) error {
		return &diag.Error{Domain: diag.User, Code: diag.CodeRefusedOption, Table: t.Path, Option: option, Msg: msg, Hint: hint}
	}
	if t.Options.ModBuckets {
		keys := t.Schema.Types(t.Schema.BucketKeys())
		if len(keys) != 1 || keys[0].Kind != columnar.Int && keys[0].Kind != columnar.BigInt {
			return refuse("bucket-function.type", "'mod' needs a bucket key of one INT or BIGINT column", "set 'bucket-key' to such a column, or leave the option out")
		}
	}
	if len(t.Schema.PrimaryKeys) > 0 {
		if n == 0 || n < spec.PostponeBucket {
			return refuse(spec.OptionBucket, fmt.Sprintf("%d is no number of buckets", n), "use -1, -2 or a positive number")
		}
		if n != -1 && !keyCovers(t.Schema) {
			return refuse(spec.OptionBucket, "it has to be -1 where the primary key does not contain all partition columns", "add the partition columns to the primary key, or set 'bucket' to -1")
		}
		return nil
	}
	switch {
	case n == 0 || n < -1:
		return refuse(spec.OptionBucket, fmt.Sprintf("%d is not possible for an append table", n), "use -1, or a positive number with 'bucket-key'")
	case n > 0 && len(t.Schema.BucketKeys()) == 0:
		return refuse(spec.OptionBucketKey, "an append table with fixed buckets needs it", "name the columns that choose the bucket, or set 'bucket' to -1")
	}
	return nil
}

// checkCrossPartition refuses what would leave a row in the partition that its key has left.
func (t *Table) checkCrossPartition() error {
	if t.mode() != crossPartition {
		return nil
	}
	for key, harmless := range map[string]string{
		"merge-engine": "deduplicate", "sequence.field": "", "rowkind.field": "", "ignore-delete": "false", "deduplicate.ignore-delete": "false",
	} {
		if v := strings.ToLower(strings.TrimSpace(t.Schema.Options[key])); v != "" && v != harmless {
			return &diag.Error{
				Domain: diag.User, Code: diag.CodeRefusedOption, Table: t.Path, Option: key,
				Msg:  "leat cannot honour it where the primary key does not contain all partition columns",
				Hint: "leave it out, or add the partition columns to the primary key",
			}
		}
	}
	return nil
}

// DynamicOptions are the options of tables whose buckets open as they fill or are given later.
type DynamicOptions struct {
	// TargetRows is 'dynamic-bucket.target-row-num': the keys that fill a bucket.
	TargetRows int
	// MaxBuckets is 'dynamic-bucket.max-buckets' of a partition; -1 for no bound of its own.
	MaxBuckets int
	// Initial is 'dynamic-bucket.initial-buckets': the buckets of a partition that fill
	// side by side, keys by their hash.
	Initial int
	// PostponeBuckets is 'postpone.default-bucket-num': the buckets that a partition gets with its first rows.
	PostponeBuckets int
}

// buckets is the most buckets that a partition can have.
func (o *DynamicOptions) buckets() int {
	if o.MaxBuckets > 0 {
		return min(o.MaxBuckets, maxDynamicBuckets)
	}
	return maxDynamicBuckets
}

// classes is how many buckets of a partition fill side by side.
func (o *DynamicOptions) classes() int { return min(max(1, o.Initial), o.buckets()) }

func parseBucketFunction(text string) (mod bool, err error) {
	switch strings.ToLower(text) {
	case "default":
		return false, nil
	case "mod":
		return true, nil
	default:
		return false, fmt.Errorf("there is no bucket function %s", text)
	}
}

func readOffPeak(r *optionReader) mergetree.OffPeak {
	return mergetree.OffPeak{
		Start: readInt(r, "compaction.offpeak.start.hour", -1), End: readInt(r, "compaction.offpeak.end.hour", -1),
		Ratio: readInt(r, "compaction.offpeak-ratio", 0),
	}
}

func readDynamic(r *optionReader) DynamicOptions {
	return DynamicOptions{
		TargetRows: max(1, readInt(r, "dynamic-bucket.target-row-num", 2_000_000)),
		MaxBuckets: readInt(r, "dynamic-bucket.max-buckets", -1),
		Initial:    max(1, readInt(r, "dynamic-bucket.initial-buckets", 1)),

		PostponeBuckets: max(1, readInt(r, "postpone.default-bucket-num", 1)),
	}
}
