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
	LatestHint          = "LATEST"
	EarliestHint        = "EARLIEST"
	SchemaPrefix        = "schema-"
	SnapshotPrefix      = "snapshot-"
	TagPrefix           = "tag-"
	ConsumerPrefix      = "consumer-"
	ManifestPrefix      = "manifest-"
	ManifestListPrefix  = "manifest-list-"
	DataPrefix          = "data-"
	ChangelogPrefix     = "changelog-"
	IndexPrefix         = "index-"
	IndexManifestPrefix = "index-manifest-"
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

// IndexManifestName gives index-manifest-<uuid>-<n>.
func IndexManifestName(uuid string, n int64) string {
	return IndexManifestPrefix + uuid + "-" + strconv.FormatInt(n, 10)
}

// IndexFileName gives index-<uuid>-<n>.
func IndexFileName(uuid string, n int64) string {
	return IndexPrefix + uuid + "-" + strconv.FormatInt(n, 10)
}

// Layout computes where data files of one table lie.
type Layout struct {
	// Root is the table's directory; Directory is option data-file.path-directory, "" for none.
	Root, Directory string
	Partitions      *PartitionPaths
	// Join puts path elements together, as fileio.FS.Join does.
	Join func(elem ...string) string
}

// NewLayout gives the layout of a table at root.
func NewLayout(root string, s *TableSchema, join func(...string) string) *Layout {
	return &Layout{Root: root, Directory: s.Options["data-file.path-directory"], Partitions: s.PartitionPaths(), Join: join}
}

// BucketPath gives the directory of a bucket.
func (l *Layout) BucketPath(partition BinaryRow, bucket int32) (string, error) {
	p, err := l.Partitions.Path(partition)
	if err != nil {
		return "", err
	}
	elem := []string{l.Root}
	for _, e := range []string{l.Directory, strings.TrimSuffix(p, "/"), BucketDir(bucket)} {
		if e != "" {
			elem = append(elem, e)
		}
	}
	return l.Join(elem...), nil
}

// IndexPath gives the path of an index file.
func (l *Layout) IndexPath(f *IndexFileMeta) string {
	if f.ExternalPath != nil {
		return *f.ExternalPath
	}
	return l.Join(l.Root, IndexDir, f.FileName)
}

// FilePaths gives the path of a file and those of its extra files.
func (l *Layout) FilePaths(partition BinaryRow, bucket int32, f *DataFileMeta) ([]string, error) {
	dir, err := l.BucketPath(partition, bucket)
	if err != nil {
		return nil, err
	}
	out := []string{l.Join(dir, f.FileName)}
	if f.ExternalPath != nil {
		out[0] = *f.ExternalPath
		dir = out[0][:strings.LastIndexByte(out[0], '/')+1]
	}
	for _, e := range f.ExtraFiles {
		out = append(out, l.Join(dir, e))
	}
	return out, nil
}
