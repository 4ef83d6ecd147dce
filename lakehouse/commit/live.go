package commit

import (
	"maps"

	"leat/lakehouse/spec"
)

// liveFile is what conflict checks need of a live file.
type liveFile struct {
	name           string
	level          int32
	totalBuckets   int32
	minKey, maxKey spec.BinaryRow
}

// liveSet is the live files of a table by bucket and identity within it. It
// follows the table from snapshot to snapshot.
type liveSet struct {
	buckets map[bucketID]map[string]liveFile
	// totals counts live files by partition and their number of buckets.
	totals map[string]map[int32]int
}

func newLiveSet() *liveSet {
	return &liveSet{buckets: map[bucketID]map[string]liveFile{}, totals: map[string]map[int32]int{}}
}

// apply follows entries of committed manifests, in order.
func (l *liveSet) apply(entries []spec.ManifestEntry) {
	for i := range entries {
		e := &entries[i]
		id, key := bucketOf(e), fileIdentity(&e.File)
		files := l.buckets[id]
		if e.Kind == spec.Remove {
			if old, ok := files[key]; ok {
				delete(files, key)
				l.count(id.partition, old.totalBuckets, -1)
				if len(files) == 0 {
					delete(l.buckets, id)
				}
			}
			continue
		}
		if files == nil {
			files = map[string]liveFile{}
			l.buckets[id] = files
		}
		if _, ok := files[key]; !ok {
			l.count(id.partition, e.TotalBuckets, 1)
		}
		files[key] = newLiveFile(e)
	}
}

func newLiveFile(e *spec.ManifestEntry) liveFile {
	return liveFile{
		name: e.File.FileName, level: e.File.Level, totalBuckets: e.TotalBuckets,
		minKey: e.File.MinKey, maxKey: e.File.MaxKey,
	}
}

func (l *liveSet) count(partition string, total int32, n int) {
	byTotal := l.totals[partition]
	if byTotal == nil {
		byTotal = map[int32]int{}
		l.totals[partition] = byTotal
	}
	if byTotal[total] += n; byTotal[total] <= 0 {
		delete(byTotal, total)
		if len(byTotal) == 0 {
			delete(l.totals, partition)
		}
	}
}

// bucket gives a copy of the live files of one bucket.
func (l *liveSet) bucket(id bucketID) map[string]liveFile {
	if files := l.buckets[id]; files != nil {
		return maps.Clone(files)
	}
	return map[string]liveFile{}
}

// otherTotal gives a number of buckets that live files of the partition have and want is not.
func (l *liveSet) otherTotal(partition string, want int32) (int32, bool) {
	for total := range l.totals[partition] {
		if total > 0 && total != want {
			return total, true
		}
	}
	return 0, false
}
