package spec

import (
	"strconv"
	"strings"
)

// Directories below a table.
const (
	SchemaDir    = "schema"
	SnapshotDir  = "snapshot"
	ManifestDir  = "manifest"
	IndexDir     = "index"
	StatsDir     = "statistics"
	TagDir       = "tag"
	ConsumerDir  = "consumer"
	ChangelogDir = "changelog"
	BranchDir    = "branch"
)

// Names of files and their prefixes.
const (
	LatestHint         = "LATEST"
	EarliestHint       = "EARLIEST"
	SchemaPrefix       = "schema-"
	SnapshotPrefix     = "snapshot-"
	TagPrefix          = "tag-"
	ConsumerPrefix     = "consumer-"
	ManifestPrefix     = "manifest-"
	ManifestListPrefix = "manifest-list-"
	DataPrefix         = "data-"
	ChangelogPrefix    = "changelog-"
)

// PostponeBucket is the bucket of rows that wait for a real one.
const PostponeBucket = -2

// SchemaName gives schema-<id>.
func SchemaName(id int64) string { return SchemaPrefix + strconv.FormatInt(id, 10) }

// SnapshotName gives snapshot-<id>.
func SnapshotName(id int64) string { return SnapshotPrefix + strconv.FormatInt(id, 10) }

// ParseNumbered gives the id of a name such as schema-7 or snapshot-12.
func ParseNumbered(name, prefix string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok || digits == "" || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, err == nil
}

// BucketDir gives the name of a bucket's directory.
func BucketDir(bucket int32) string {
	if bucket == PostponeBucket {
		return "bucket-postpone"
	}
	return "bucket-" + strconv.FormatInt(int64(bucket), 10)
}

// DataFileName gives <prefix><uuid>-<n>.<extension>; prefix is option
// data-file.prefix (DataPrefix) or changelog-file.prefix (ChangelogPrefix).
func DataFileName(prefix, uuid string, n int64, extension string) string {
	return prefix + uuid + "-" + strconv.FormatInt(n, 10) + "." + extension
}

// ManifestName gives manifest-<uuid>-<n>.
func ManifestName(uuid string, n int64) string {
	return ManifestPrefix + uuid + "-" + strconv.FormatInt(n, 10)
}

// ManifestListName gives manifest-list-<uuid>-<n>.
func ManifestListName(uuid string, n int64) string {
	return ManifestListPrefix + uuid + "-" + strconv.FormatInt(n, 10)
}
