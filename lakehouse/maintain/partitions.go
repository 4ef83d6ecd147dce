package maintain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// Partition is a partition of the latest snapshot with what its files hold;
// rows are those of files, before merging.
type Partition struct {
	Row spec.BinaryRow
	// Path is the folder below the table, such as dt=2026-01-01/hh=03.
	Path               string
	Rows, Bytes, Files int64
	// LastMillis is the creation time of the newest file, as stored; 0 if unknown.
	LastMillis int64
}

// Partitions lists the partitions that have files, by path.
func Partitions(ctx context.Context, fs fileio.FS, path string) ([]Partition, error) {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return nil, err
	}
	return t.partitions(ctx)
}

func (t *table) partitions(ctx context.Context) ([]Partition, error) {
	latest, err := t.snaps.Latest(ctx)
	if err != nil || latest == 0 {
		return nil, err
	}
	s, err := t.snaps.Read(ctx, latest)
	if err != nil {
		return nil, err
	}
	live, err := t.manifests.Live(ctx, s)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var out []Partition
	for i := range live {
		e := &live[i]
		n, ok := at[string(e.Partition.Data)]
		if !ok {
			p, err := t.layout.Partitions.Path(e.Partition)
			if err != nil {
				return nil, err
			}
			n = len(out)
			at[string(e.Partition.Data)] = n
			out = append(out, Partition{Row: e.Partition, Path: strings.TrimSuffix(p, "/")})
		}
		p := &out[n]
		p.Rows += e.File.RowCount
		p.Bytes += e.File.FileSize
		p.Files++
		if e.File.CreationTimeMillis != nil {
			p.LastMillis = max(p.LastMillis, *e.File.CreationTimeMillis)
		}
	}
	slices.SortFunc(out, func(a, b Partition) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// PartitionSpec names values of some or all partition columns.
type PartitionSpec map[string]string

// MatchPartition gives a test for the partitions that one of specs names. A
// column that is no partition column is an error for people.
func MatchPartition(s *spec.TableSchema, specs []PartitionSpec) (func(spec.BinaryRow) bool, error) {
	for _, p := range specs {
		for column := range p {
			if !slices.Contains(s.PartitionKeys, column) {
				return nil, &diag.Error{
					Domain: diag.User, Code: diag.CodeUnknownColumn, Msg: column + " is no partition column",
					Notes: []string{"partition columns: " + cmp.Or(strings.Join(s.PartitionKeys, ", "), "none")}, Hint: "use one of the partition columns",
				}
			}
		}
	}
	plain, legacy := s.PartitionPaths(), s.PartitionPaths()
	plain.Plain, legacy.Plain = true, false
	return func(row spec.BinaryRow) bool {
		return slices.ContainsFunc(specs, func(p PartitionSpec) bool {
			for i, column := range s.PartitionKeys {
				want, given := p[column]
				if !given {
					continue
				}
				a, errA := plain.Value(row, i)
				b, errB := legacy.Value(row, i)
				if (errA != nil || a != want) && (errB != nil || b != want) {
					return false
				}
			}
			return true
		})
	}, nil
}

// DropPartitions removes the partitions that match as one OVERWRITE snapshot and
// gives their paths. A spec that matches nothing is an error unless ifExists;
// nothing is dropped then. Files go when the snapshots before expire.
func DropPartitions(ctx context.Context, fs fileio.FS, path string, specs []PartitionSpec, ifExists bool) ([]string, error) {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return nil, err
	}
	all, err := t.partitions(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range specs {
		match, err := MatchPartition(t.schema, []PartitionSpec{one})
		if err != nil {
			return nil, err
		}
		if !ifExists && !slices.ContainsFunc(all, func(p Partition) bool { return match(p.Row) }) {
			return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Table: path, Msg: fmt.Sprintf("no partition matches %s", one), Hint: "see SHOW PARTITIONS, or add IF EXISTS"}
		}
	}
	match, err := MatchPartition(t.schema, specs)
	if err != nil {
		return nil, err
	}
	return t.dropPartitions(ctx, all, match)
}

// Truncate removes all rows of the table in directory path as one OVERWRITE
// snapshot; older snapshots keep theirs.
func Truncate(ctx context.Context, fs fileio.FS, path string) error {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return err
	}
	if latest, err := t.snaps.Latest(ctx); err != nil || latest == 0 {
		return err
	}
	_, err = t.committer(commit.Options{}).Commit(ctx, commit.Request{User: uuid.NewString(), Identifier: spec.BatchIdentifier, Overwrite: true})
	return err
}

// String gives the spec as a=1,b=2 in order of the names.
func (p PartitionSpec) String() string {
	parts := make([]string, 0, len(p))
	for k, v := range p {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

func (t *table) dropPartitions(ctx context.Context, all []Partition, match func(spec.BinaryRow) bool) ([]string, error) {
	var paths []string
	for _, p := range all {
		if match(p.Row) {
			paths = append(paths, p.Path)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	req := commit.Request{User: uuid.NewString(), Identifier: spec.BatchIdentifier, Overwrite: true, Partition: match}
	if _, err := t.committer(commit.Options{}).Commit(ctx, req); err != nil {
		return nil, err
	}
	return paths, nil
}

// PartitionExpiry steers ExpirePartitions.
type PartitionExpiry struct {
	// Before is the time up to which partitions go.
	Before time.Time
	// ByUpdate takes the time of the newest file, else the partition's values tell the time.
	ByUpdate bool
	// Pattern makes the time's text of values, such as "$dt $hh:00:00"; empty is the first column.
	Pattern string
	// Formatter is the form of the text as in Java, such as yyyyMMdd; empty takes
	// yyyy-MM-dd HH:mm:ss and yyyy-MM-dd.
	Formatter string
	// Limit bounds the partitions that go; 0 does not.
	Limit int
}

// ExpirePartitions drops the partitions whose time is over and gives their paths.
// One whose values are no time stays.
func ExpirePartitions(ctx context.Context, fs fileio.FS, path string, o PartitionExpiry) ([]string, error) {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return nil, err
	}
	if len(t.schema.PartitionKeys) == 0 {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeTableShape, Table: path, Msg: "it has no partitions", Hint: "expire snapshots instead"}
	}
	all, err := t.partitions(ctx)
	if err != nil {
		return nil, err
	}
	over := map[string]bool{}
	for i := range all {
		at, ok := t.partitionTime(&all[i], &o)
		if ok && at.Before(o.Before) && (o.Limit <= 0 || len(over) < o.Limit) {
			over[string(all[i].Row.Data)] = true
		}
	}
	return t.dropPartitions(ctx, all, func(r spec.BinaryRow) bool { return over[string(r.Data)] })
}

func (t *table) partitionTime(p *Partition, o *PartitionExpiry) (time.Time, bool) {
	if o.ByUpdate {
		// Stored as local wall-clock time in UTC.
		u := time.UnixMilli(p.LastMillis).UTC()
		return time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), u.Nanosecond(), time.Local), p.LastMillis > 0
	}
	paths := t.schema.PartitionPaths()
	paths.Plain = true
	text := o.Pattern
	if text == "" {
		text = "$" + t.schema.PartitionKeys[0]
	}
	// Longer names first, so that $dt does not eat the front of $dtx.
	order := slices.Clone(t.schema.PartitionKeys)
	slices.SortFunc(order, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, k := range order {
		v, err := paths.Value(p.Row, slices.Index(t.schema.PartitionKeys, k))
		if err != nil {
			return time.Time{}, false
		}
		text = strings.ReplaceAll(text, "$"+k, v)
	}
	layouts := []string{"2006-01-02 15:04:05", "2006-01-02"}
	if o.Formatter != "" {
		layouts = []string{javaLayout.Replace(o.Formatter)}
	}
	for _, l := range layouts {
		if at, err := time.ParseInLocation(l, text, time.Local); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// javaLayout turns the letters of Java's date patterns into Go's.
var javaLayout = strings.NewReplacer("yyyy", "2006", "MM", "01", "dd", "02", "HH", "15", "mm", "04", "ss", "05", "SSS", "000", "'", "")

// MarkPartitionsDone writes the file _SUCCESS into the folders of partitions and
// gives their paths.
func MarkPartitionsDone(ctx context.Context, fs fileio.FS, path string, specs []PartitionSpec, now time.Time) ([]string, error) {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return nil, err
	}
	match, err := MatchPartition(t.schema, specs)
	if err != nil {
		return nil, err
	}
	all, err := t.partitions(ctx)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, p := range all {
		if !match(p.Row) {
			continue
		}
		content := fmt.Appendf(nil, "{\n  \"creationTime\" : %d,\n  \"modificationTime\" : %d\n}", now.UnixMilli(), now.UnixMilli())
		elem := []string{t.path}
		if t.layout.Directory != "" {
			elem = append(elem, t.layout.Directory)
		}
		if err := fs.Replace(ctx, fs.Join(append(elem, p.Path, "_SUCCESS")...), content); err != nil {
			return paths, fmt.Errorf("marking partition %s: %w", p.Path, err)
		}
		paths = append(paths, p.Path)
	}
	return paths, nil
}

// CompactManifests rewrites the manifests of the table without deleted files and
// gives the new snapshot; 0 where there is nothing to rewrite.
func CompactManifests(ctx context.Context, fs fileio.FS, path string) (int64, error) {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return 0, err
	}
	return t.committer(commit.Options{ManifestFullCompactionSize: 1}).CompactManifests(ctx, uuid.NewString())
}
