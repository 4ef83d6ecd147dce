package commit

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// ErrConflict marks a commit that another writer's snapshots rule out. It is
// inside a *diag.Error that names user, snapshot and partitions.
var ErrConflict = errors.New("commit conflict")

// conflict is why the entries of one bucket cannot be committed.
type conflict struct {
	bucket bucketID
	why    string
}

// findConflicts checks entries against the live files, bucket by bucket:
//   - files of one partition have one number of buckets (unless overwrite);
//   - a deleted file is live, an added one is not;
//   - with a primary key, files of one level above 0 do not overlap.
//
// keys are the types of the trimmed primary key, nil for append tables.
func findConflicts(live *liveSet, entries []spec.ManifestEntry, overwrite bool, keys []columnar.DataType) ([]conflict, error) {
	byBucket := map[bucketID][]*spec.ManifestEntry{}
	var order []bucketID
	for i := range entries {
		id := bucketOf(&entries[i])
		if byBucket[id] == nil {
			order = append(order, id)
		}
		byBucket[id] = append(byBucket[id], &entries[i])
	}
	var out []conflict
	for _, id := range order {
		why, err := checkBucket(live, id, byBucket[id], overwrite, keys)
		if err != nil {
			return nil, err
		}
		if why != "" {
			out = append(out, conflict{bucket: id, why: why})
		}
	}
	return out, nil
}

func checkBucket(live *liveSet, id bucketID, entries []*spec.ManifestEntry, overwrite bool, keys []columnar.DataType) (string, error) {
	files := live.bucket(id)
	for _, e := range entries {
		key := fileIdentity(&e.File)
		_, present := files[key]
		switch {
		case e.Kind == spec.Remove && !present:
			return fmt.Sprintf("file %s at level %d is not live any more", e.File.FileName, e.File.Level), nil
		case e.Kind == spec.Remove:
			delete(files, key)
		case present:
			return fmt.Sprintf("file %s is live already", e.File.FileName), nil
		default:
			files[key] = newLiveFile(e)
			if e.TotalBuckets > 0 && !overwrite {
				if other, ok := live.otherTotal(id.partition, e.TotalBuckets); ok {
					return fmt.Sprintf("the partition has %d buckets, the commit was made for %d", other, e.TotalBuckets), nil
				}
			}
		}
	}
	if len(keys) == 0 {
		return "", nil
	}
	return checkLevels(files, keys)
}

// checkLevels looks for two files of one level above 0 whose key ranges overlap.
func checkLevels(files map[string]liveFile, keys []columnar.DataType) (string, error) {
	byLevel := map[int32][]liveFile{}
	for _, f := range files {
		if f.level > 0 {
			byLevel[f.level] = append(byLevel[f.level], f)
		}
	}
	for _, level := range slices.Sorted(maps.Keys(byLevel)) {
		run := byLevel[level]
		var failed error
		compare := func(a, b spec.BinaryRow) int {
			c, err := spec.CompareRows(a, b, keys)
			failed = errors.Join(failed, err)
			return c
		}
		slices.SortFunc(run, func(a, b liveFile) int { return compare(a.minKey, b.minKey) })
		for i := 1; i < len(run); i++ {
			if compare(run[i-1].maxKey, run[i].minKey) >= 0 {
				return fmt.Sprintf("files %s and %s of level %d overlap", run[i-1].name, run[i].name, level), failed
			}
		}
		if failed != nil {
			return "", fmt.Errorf("comparing keys of level %d: %w", level, failed)
		}
	}
	return "", nil
}
