package lakehouse

import (
	"context"
	"errors"
	"slices"
	"sync"

	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// followSnapshots is how many snapshots liveCache goes forward by their deltas;
// beyond, all manifests are read again.
const followSnapshots = 32

// wholeAfter is how many times liveCache reads the manifests for partitions that
// it does not know; then it takes all partitions.
const wholeAfter = 3

// liveCache is the live files of a table by bucket, as of one snapshot, for all
// writers of a Table. It goes forward by the deltas of later snapshots: a job
// that keeps opening buckets does not read all manifests for each. A job that
// writes few partitions of many reads and keeps only those.
type liveCache struct {
	mu       sync.Mutex
	snapshot int64
	// delta is the delta list of that snapshot, to notice that another took its place.
	delta   string
	buckets map[bucketID]*liveBucket
	// partitions are those known; nil is all. reads counts how often it grew.
	partitions map[string]spec.BinaryRow
	reads      int
}

// liveBucket is the live files of one bucket and the number of buckets they were written for.
type liveBucket struct {
	files []spec.DataFileMeta
	total int32
}

// at gives the live files of the buckets in of, as of snapshot s or of a later one
// that another writer came with, whose id it gives; those without files are left out.
func (c *liveCache) at(ctx context.Context, t *Table, s *spec.Snapshot, of map[bucketID]*bucket) (map[bucketID]liveBucket, int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.follow(ctx, t, s, of); err != nil {
		return nil, 0, err
	}
	out := map[bucketID]liveBucket{}
	for id := range of {
		if b := c.buckets[id]; b != nil && len(b.files) > 0 {
			out[id] = liveBucket{files: slices.Clone(b.files), total: b.total}
		}
	}
	return out, c.snapshot, nil
}

// shallow gives the buckets with files above the deepest level, without those of
// partitions with another number of buckets than the table, as of snapshot s or
// of a later one that another writer came with. It takes all partitions.
func (c *liveCache) shallow(ctx context.Context, t *Table, s *spec.Snapshot) ([]bucketID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++ // from here on all are kept
	if c.partitions != nil {
		c.partitions, c.buckets = nil, nil
	}
	if err := c.follow(ctx, t, s, nil); err != nil {
		return nil, err
	}
	var out []bucketID
	for id, b := range c.buckets {
		if id.bucket < 0 || b.total > 0 && b.total != int32(t.Options.Bucket) {
			continue
		}
		top := int32(t.Options.Compaction.Levels - 1)
		for i := range b.files {
			top = max(top, b.files[i].Level)
		}
		if slices.ContainsFunc(b.files, func(f spec.DataFileMeta) bool { return f.Level < top }) {
			out = append(out, id)
		}
	}
	return out, nil
}

func (c *liveCache) follow(ctx context.Context, t *Table, s *spec.Snapshot, of map[bucketID]*bucket) error {
	if c.buckets != nil && c.knows(of) {
		if s.ID < c.snapshot {
			if now, err := t.snapshots.Read(ctx, c.snapshot); err == nil {
				s = now
			}
		}
		if c.snapshot <= s.ID && s.ID-c.snapshot <= followSnapshots {
			same, err := c.unchanged(ctx, t, s)
			if err == nil && same {
				err = c.forward(ctx, t, s)
			}
			if same && !errors.Is(err, fileio.ErrNotExist) {
				return err
			}
		}
	}
	return c.read(ctx, t, s, of)
}

// knows reports whether the partitions of buckets are known.
func (c *liveCache) knows(of map[bucketID]*bucket) bool {
	if c.partitions == nil {
		return true
	}
	for id := range of {
		if _, ok := c.partitions[id.partition]; !ok {
			return false
		}
	}
	return true
}

// read reads the manifests of s, for the partitions known and those of the buckets in of.
func (c *liveCache) read(ctx context.Context, t *Table, s *spec.Snapshot, of map[bucketID]*bucket) error {
	if c.buckets == nil && c.reads == 0 {
		c.partitions = map[string]spec.BinaryRow{}
	}
	c.buckets = nil
	if c.partitions != nil && !c.knows(of) {
		if c.reads++; c.reads > wholeAfter {
			c.partitions = nil
		}
	}
	var may func(*spec.ManifestFileMeta) bool
	var in func(spec.BinaryRow) bool
	if c.partitions != nil {
		arity := len(t.Schema.PartitionKeys)
		for id := range of {
			c.partitions[id.partition] = spec.BinaryRow{Arity: arity, Data: []byte(id.partition)}
		}
		types := t.Schema.Types(t.Schema.PartitionKeys)
		may = func(m *spec.ManifestFileMeta) bool {
			for _, p := range c.partitions {
				if m.PartitionStats.MayContain(p, types) {
					return true
				}
			}
			return false
		}
		in = func(p spec.BinaryRow) bool { return c.takes(p) }
	}
	entries, err := t.manifests.LiveIn(ctx, s, may, in)
	if err != nil {
		return err
	}
	c.buckets, c.snapshot, c.delta = map[bucketID]*liveBucket{}, s.ID, s.DeltaManifestList
	c.apply(entries)
	return nil
}

// takes reports whether files of a partition are kept.
func (c *liveCache) takes(partition spec.BinaryRow) bool {
	if c.partitions == nil {
		return true
	}
	_, ok := c.partitions[string(partition.Data)]
	return ok
}

// unchanged reports whether the snapshot that c knows is still the table's.
func (c *liveCache) unchanged(ctx context.Context, t *Table, s *spec.Snapshot) (bool, error) {
	if c.snapshot < s.ID {
		var err error
		if s, err = t.snapshots.Read(ctx, c.snapshot); err != nil {
			return false, err
		}
	}
	return s.DeltaManifestList == c.delta, nil
}

// forward applies the snapshots after c.snapshot up to s.
func (c *liveCache) forward(ctx context.Context, t *Table, s *spec.Snapshot) error {
	for c.snapshot < s.ID {
		next := s
		if c.snapshot+1 < s.ID {
			var err error
			if next, err = t.snapshots.Read(ctx, c.snapshot+1); err != nil {
				return err
			}
		}
		entries, err := t.manifests.Delta(ctx, next)
		if err != nil {
			return err
		}
		c.apply(entries)
		c.snapshot, c.delta = next.ID, next.DeltaManifestList
	}
	return nil
}

func (c *liveCache) apply(entries []spec.ManifestEntry) {
	for i := range entries {
		e := &entries[i]
		if !c.takes(e.Partition) {
			continue
		}
		id := idOf(e.Partition, e.Bucket)
		b := c.buckets[id]
		if b == nil {
			b = &liveBucket{}
			c.buckets[id] = b
		}
		if e.Kind == spec.Add {
			b.files, b.total = append(b.files, e.File), e.TotalBuckets
			continue
		}
		b.files = slices.DeleteFunc(b.files, func(f spec.DataFileMeta) bool {
			return f.FileName == e.File.FileName && f.Level == e.File.Level
		})
		if len(b.files) == 0 {
			delete(c.buckets, id)
		}
	}
}
