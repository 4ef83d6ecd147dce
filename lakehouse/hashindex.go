package lakehouse

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"

	"golang.org/x/sync/errgroup"

	"leat/internal/diag"
	"leat/lakehouse/spec"
)

const (
	// DefaultIndexBudget is the memory in bytes that the key index of a table may
	// take in a Writer made with WriteConfig.IndexBudget 0.
	DefaultIndexBudget = 1 << 30
	// maxDynamicBuckets is how many buckets a partition may have: Paimon keeps their numbers as shorts.
	maxDynamicBuckets = 1<<15 - 1
	// indexWriters is how many index files are written at once; each waits for its disk.
	indexWriters = 16
)

// hashIndexes is the index of a table with dynamic buckets: which hash of a key
// is in which bucket of its partition. Writer.mu guards it.
type hashIndexes struct {
	t *Table
	// target is how many hashes fill a bucket, maxBuckets the most a partition may have.
	target     int
	maxBuckets int
	// files are the index files by partition, as of everything prepared.
	files map[string]map[int32]spec.IndexFileMeta
	// loaded are the partitions in memory, budget what they may take in bytes.
	loaded map[string]*partitionIndex
	budget int64
	used   int64
	// spill is where the hashes are that memory has no room for.
	spill hashSpill
}

// newHashIndexes reads which index files the table has at s; nil starts from
// nothing. dir is a folder that it may make; without one, more hashes than budget has room for are refused.
func newHashIndexes(ctx context.Context, t *Table, s *spec.Snapshot, budget int64, dir string, log *slog.Logger) (*hashIndexes, error) {
	x := &hashIndexes{
		t: t, target: t.Options.Dynamic.TargetRows, maxBuckets: t.Options.Dynamic.buckets(), budget: budget, spill: hashSpill{dir: dir, log: log},
		files: map[string]map[int32]spec.IndexFileMeta{}, loaded: map[string]*partitionIndex{},
	}
	entries, err := t.manifests.Index(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	for i := range entries {
		e := &entries[i]
		if e.File.Type != spec.HashIndex {
			continue
		}
		of := x.files[string(e.Partition.Data)]
		if of == nil {
			of = map[int32]spec.IndexFileMeta{}
			x.files[string(e.Partition.Data)] = of
		}
		of[e.Bucket] = e.File
	}
	return x, nil
}

// partitionIndex is the index of one partition.
type partitionIndex struct {
	row spec.BinaryRow
	// no tells partitions apart in a store.
	no      int32
	table   hashTable
	buckets []*indexBucket
	open    openBuckets
}

// openBuckets are, for every class of keys, the first bucket that may have room.
// Keys of a class fill the buckets whose numbers, modulo the number of classes,
// are its own (BucketAssigner.java).
type openBuckets []int

func newOpenBuckets(classes int) openBuckets {
	o := make(openBuckets, classes)
	for i := range o {
		o[i] = i
	}
	return o
}

// first gives the first bucket for a hash that is not full.
func (o openBuckets) first(hash uint32, full func(no int) bool) int {
	c := int(hash % uint32(len(o)))
	for full(o[c]) {
		o[c] += len(o)
	}
	return o[c]
}

// freed says that bucket no has room again.
func (o openBuckets) freed(no int) {
	c := no % len(o)
	o[c] = min(o[c], no)
}

// hashBytes is about what a hash takes in memory: its slots in the table, 8 to 16
// bytes, and its place in the list, 4 to 8.
const hashBytes = 20

func (p *partitionIndex) bytes() int64 { return hashBytes * int64(p.table.n) }

// indexBucket is what one bucket's index file holds.
type indexBucket struct {
	// hashes only grows: a prefix of it is a consistent copy. The first base hashes
	// of the bucket stand in its file alone.
	hashes  []int32
	base    int
	changed bool
	// written is how many hashes the file has that was asked for last.
	written int
}

func (b *indexBucket) count() int { return b.base + len(b.hashes) }

// partition gives the index of a partition, reading its files the first time.
func (x *hashIndexes) partition(ctx context.Context, row spec.BinaryRow) (*partitionIndex, error) {
	if p := x.loaded[string(row.Data)]; p != nil {
		return p, nil
	}
	p := &partitionIndex{row: row, no: x.spill.parts, open: newOpenBuckets(x.t.Options.Dynamic.classes())}
	x.spill.parts++
	for no, f := range x.files[string(row.Data)] {
		if no < 0 || no >= maxDynamicBuckets {
			return nil, corrupt(f.FileName, fmt.Errorf("an index of bucket %d", no))
		}
		hashes, err := x.read(ctx, &f)
		if err != nil {
			return nil, err
		}
		b := p.bucket(int(no))
		b.hashes, b.written = hashes, len(hashes)
		before := p.bytes()
		for _, h := range hashes {
			p.table.put(h, no)
		}
		x.used += p.bytes() - before
		if err := x.fit(ctx, p); err != nil {
			return nil, err
		}
	}
	x.loaded[string(row.Data)] = p
	return p, nil
}

func (x *hashIndexes) read(ctx context.Context, f *spec.IndexFileMeta) ([]int32, error) {
	path := x.t.paths.IndexPath(f)
	b, err := x.t.FS.ReadFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("reading index file %s: %w", path, err)
	}
	out, err := parseHashes(b, f.RowCount)
	if err != nil {
		return nil, corrupt(path, err)
	}
	return out, nil
}

// parseHashes reads a hash index of count hashes.
func parseHashes(b []byte, count int64) ([]int32, error) {
	if len(b)%4 != 0 || int64(len(b)/4) != count {
		return nil, fmt.Errorf("%d bytes for %d hashes", len(b), count)
	}
	out := make([]int32, len(b)/4)
	for i := range out {
		out[i] = int32(binary.BigEndian.Uint32(b[4*i:]))
	}
	return out, nil
}

func indexTooLarge(t *Table, used, budget int64) error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeLakeShape, Table: t.Path, Option: spec.OptionBucket,
		Msg:  fmt.Sprintf("the index of its keys takes %d MB, more than the %d MB it may", used>>20, budget>>20),
		Hint: "use a fixed number of buckets, for which no index is kept, or write fewer partitions at a time",
	}
}

func tooManyBuckets(t *Table) error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeLakeShape, Table: t.Path, Option: "dynamic-bucket.target-row-num",
		Msg:  fmt.Sprintf("a partition has %d buckets, the most there can be", maxDynamicBuckets),
		Hint: "raise 'dynamic-bucket.target-row-num', or set 'dynamic-bucket.max-buckets'",
	}
}

// assign gives the bucket of a hash (PartitionIndex.java): the one it has, else
// the first with room, else a new one, else any.
func (x *hashIndexes) assign(ctx context.Context, p *partitionIndex, hash int32) (int32, error) {
	if no, ok := p.table.get(hash); ok {
		return no, nil
	}
	if no, ok, err := x.spill.get(p.no, hash); err != nil || ok {
		return no, err
	}
	no := p.open.first(uint32(hash), func(no int) bool { return no < len(p.buckets) && p.buckets[no].count() >= x.target })
	if no >= x.maxBuckets {
		if no = int(uint32(hash)) % x.maxBuckets; x.t.Options.Dynamic.MaxBuckets <= 0 {
			return 0, tooManyBuckets(x.t)
		}
	}
	b := p.bucket(no)
	b.hashes, b.changed = append(b.hashes, hash), true
	p.table.put(hash, int32(no))
	x.used += hashBytes
	return int32(no), x.fit(ctx, nil)
}

func (p *partitionIndex) bucket(no int) *indexBucket {
	for len(p.buckets) <= no {
		p.buckets = append(p.buckets, &indexBucket{})
	}
	return p.buckets[no]
}

// indexChange is a bucket's index as an epoch leaves it.
type indexChange struct {
	partition spec.BinaryRow
	bucket    int32
	// hashes follow the first base ones of the bucket, which the file before has.
	hashes []int32
	base   int
	file   spec.IndexFileMeta
}

// take gives the buckets that got hashes since the last call.
func (x *hashIndexes) take() []indexChange {
	var out []indexChange
	for _, p := range x.loaded {
		for no, b := range p.buckets {
			if b.changed {
				b.changed, b.written = false, b.count()
				out = append(out, indexChange{partition: p.row, bucket: int32(no), hashes: slices.Clip(b.hashes), base: b.base})
				x.spill.drop(b)
			}
		}
	}
	return out
}

// replace makes c's file the one of its bucket and gives the one before, if any.
func (x *hashIndexes) replace(c *indexChange) (old spec.IndexFileMeta, ok bool) {
	of := x.files[string(c.partition.Data)]
	if of == nil {
		of = map[int32]spec.IndexFileMeta{}
		x.files[string(c.partition.Data)] = of
	}
	old, ok = of[c.bucket]
	of[c.bucket] = c.file
	return old, ok
}

// forget drops a partition from memory; it is read again when rows come.
func (x *hashIndexes) forget(partition string) {
	// What a store has of it would have to be found again: it stays.
	if p := x.loaded[partition]; p != nil && x.spill.store == nil {
		x.used -= p.bytes()
		delete(x.loaded, partition)
	}
}

// writeIndexes writes the files of changes.
func (w *Writer) writeIndexes(ctx context.Context, changes []indexChange) error {
	var g errgroup.Group
	g.SetLimit(indexWriters)
	for i := range changes {
		c := &changes[i]
		g.Go(func() error {
			content, err := w.indexBefore(ctx, c)
			if err != nil {
				return err
			}
			for _, h := range c.hashes {
				content = binary.BigEndian.AppendUint32(content, uint32(h))
			}
			c.file = spec.IndexFileMeta{
				Type: spec.HashIndex, FileName: spec.IndexFileName(w.cfg.Attempt, w.cfg.Pool.names.Add(1)-1),
				FileSize: int64(len(content)), RowCount: int64(c.base + len(c.hashes)),
			}
			path := w.t.paths.IndexPath(&c.file)
			if err := w.t.FS.CreateExclusive(ctx, path, content); err != nil {
				return fmt.Errorf("writing index file %s: %w", path, err)
			}
			c.hashes = nil
			return nil
		})
	}
	return g.Wait()
}

// indexBefore gives the hashes of c's bucket that only its file has. Epochs come one
// after the other here, so the file is that of everything before.
func (w *Writer) indexBefore(ctx context.Context, c *indexChange) ([]byte, error) {
	if c.base == 0 {
		return make([]byte, 0, 4*len(c.hashes)), nil
	}
	w.mu.Lock()
	f := w.router.dynamic.files[string(c.partition.Data)][c.bucket]
	w.mu.Unlock()
	path := w.t.paths.IndexPath(&f)
	b, err := w.t.FS.ReadFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("reading index file %s: %w", path, err)
	}
	if len(b) != 4*c.base {
		return nil, corrupt(path, fmt.Errorf("%d bytes for %d hashes", len(b), c.base))
	}
	return b, nil
}

// hashTable maps hashes to bucket numbers: open addressing, 6 bytes a slot.
type hashTable struct {
	hashes []int32
	// buckets are the buckets' numbers plus one; 0 is an empty slot.
	buckets []uint16
	n       int
}

// find gives the slot of hash, or the empty one where it belongs. The hashes
// are spread well: their low bits say where to begin.
func (h *hashTable) find(hash int32) int {
	mask := len(h.hashes) - 1
	for i := int(uint32(hash)) & mask; ; i = (i + 1) & mask {
		if h.buckets[i] == 0 || h.hashes[i] == hash {
			return i
		}
	}
}

func (h *hashTable) get(hash int32) (int32, bool) {
	if h.n == 0 {
		return 0, false
	}
	no := h.buckets[h.find(hash)]
	return int32(no) - 1, no != 0
}

func (h *hashTable) put(hash, bucket int32) {
	if 4*(h.n+1) > 3*len(h.hashes) {
		hashes, buckets := h.hashes, h.buckets
		size := max(16, 2*len(hashes))
		h.hashes, h.buckets = make([]int32, size), make([]uint16, size)
		for i, no := range buckets {
			if no != 0 {
				at := h.find(hashes[i])
				h.hashes[at], h.buckets[at] = hashes[i], no
			}
		}
	}
	i := h.find(hash)
	if h.buckets[i] == 0 {
		h.n++
	}
	h.hashes[i], h.buckets[i] = hash, uint16(bucket+1)
}
