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

// liveCache is the live files of a table by bucket, as of one snapshot. It goes
// forward by the deltas of later snapshots: a job that keeps opening buckets
// does not read all manifests for each.
type liveCache struct {
	mu       sync.Mutex
	snapshot int64
	// delta is the delta list of that snapshot, to notice that another took its place.
	delta   string
	buckets map[bucketID]*liveBucket
}

// liveBucket is the live files of one bucket and the number of buckets they were written for.
type liveBucket struct {
	files []spec.DataFileMeta
	total int32
}

// at gives the live files at snapshot s of the buckets in of; those without files are left out.
func (c *liveCache) at(ctx context.Context, t *Table, s *spec.Snapshot, of map[bucketID]*bucket) (map[bucketID]liveBucket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.follow(ctx, t, s); err != nil {
		return nil, err
	}
	out := map[bucketID]liveBucket{}
	for id := range of {
		if b := c.buckets[id]; b != nil && len(b.files) > 0 {
			out[id] = liveBucket{files: slices.Clone(b.files), total: b.total}
		}
	}
	return out, nil
}

// shallow gives the buckets at snapshot s with files above the deepest level,
// without those of partitions with another number of buckets than the table.
func (c *liveCache) shallow(ctx context.Context, t *Table, s *spec.Snapshot) ([]bucketID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.follow(ctx, t, s); err != nil {
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

func (c *liveCache) follow(ctx context.Context, t *Table, s *spec.Snapshot) error {
	if c.buckets != nil && c.snapshot <= s.ID && s.ID-c.snapshot <= followSnapshots {
		same, err := c.unchanged(ctx, t, s)
		if err == nil && same {
			err = c.forward(ctx, t, s)
		}
		if same && !errors.Is(err, fileio.ErrNotExist) {
			return err
		}
	}
	c.buckets = nil
	entries, err := t.manifests.Live(ctx, s)
	if err != nil {
		return err
	}
	c.buckets, c.snapshot, c.delta = map[bucketID]*liveBucket{}, s.ID, s.DeltaManifestList
	c.apply(entries)
	return nil
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
