package lakehouse

import (
	"context"
	"encoding/binary"
	"log/slog"
	"slices"
)

// hashSpill is the part of an index of hashes that does not fit its memory: which
// hash of which partition is in which bucket. The lists of hashes of the buckets
// need no place then: their files have them.
type hashSpill struct {
	store *keyStore
	dir   string
	log   *slog.Logger
	key   []byte
	// parts counts the partitions that were ever loaded.
	parts int32
}

// storedHash appends the key of a store for a hash of partition part.
func storedHash(dst []byte, part, hash int32) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, storedKey), uint32(part))
	return binary.BigEndian.AppendUint32(dst, uint32(hash))
}

// get gives the bucket of a hash that is not in memory.
func (s *hashSpill) get(part, hash int32) (bucket int32, ok bool, err error) {
	if s.store == nil {
		return 0, false, nil
	}
	s.key = storedHash(s.key[:0], part, hash)
	at, ok, err := s.store.get(s.key)
	return at.bucket, ok, err
}

// drop leaves the hashes of b to its file, but for those that the file does not have.
func (s *hashSpill) drop(b *indexBucket) {
	if s.store != nil {
		b.hashes, b.base = slices.Clone(b.hashes[b.written-b.base:]), b.written
	}
}

// fit moves what is in memory to the store where it takes more than it may.
// loading is a partition that is not among those loaded yet, or nil.
func (x *hashIndexes) fit(ctx context.Context, loading *partitionIndex) error {
	limit := x.budget
	if x.spill.store != nil {
		limit = min(x.budget/4, maxNewKeys)
	}
	if x.used <= limit {
		return nil
	}
	if x.spill.store == nil {
		if x.spill.dir == "" {
			return indexTooLarge(x.t, x.used, x.budget)
		}
		var err error
		if x.spill.store, err = openKeyStore(x.spill.dir, x.budget/4, x.spill.log); err != nil {
			return err
		}
	}
	parts := make([]*partitionIndex, 0, len(x.loaded)+1)
	for _, p := range x.loaded {
		parts = append(parts, p)
	}
	if loading != nil {
		parts = append(parts, loading)
	}
	slices.SortFunc(parts, func(a, b *partitionIndex) int { return int(a.no) - int(b.no) })
	var file []storedEntry
	for _, p := range parts {
		for r := range uint32(p.table.ranges()) {
			file = p.table.appendRange(file, p.no, r)
			if len(file) < spillEntries {
				continue
			}
			if err := x.spill.store.ingest(ctx, file); err != nil {
				return err
			}
			file = file[:0]
		}
		p.table = hashTable{}
		for _, b := range p.buckets {
			x.spill.drop(b)
		}
	}
	x.used = 0
	if len(file) == 0 {
		return nil
	}
	return x.spill.store.ingest(ctx, file)
}

// spillEntries is about how many hashes a file of the store gets: sorting and
// filtering them takes some 100 bytes each beside the memory of the index.
const spillEntries = 1 << 18

// ranges is in how many ranges the hashes have few enough for a file.
func (h *hashTable) ranges() int {
	n := 1
	for n < 256 && h.n/n > spillEntries {
		n *= 2
	}
	return n
}

// appendRange appends the hashes of range r, of those that ranges counts, with their buckets.
func (h *hashTable) appendRange(dst []storedEntry, part int32, r uint32) []storedEntry {
	n := uint64(h.ranges())
	for i, no := range h.buckets {
		if hash := h.hashes[i]; no != 0 && uint64(uint32(hash))*n>>32 == uint64(r) {
			dst = append(dst, storedEntry{key: storedHash(nil, part, hash), at: keyPlace{part: part, bucket: int32(no) - 1}})
		}
	}
	return dst
}

// close removes what the index has on the disk; nil has nothing.
func (x *hashIndexes) close(ctx context.Context) error {
	if x == nil || x.spill.store == nil {
		return nil
	}
	return x.spill.store.close(ctx)
}
