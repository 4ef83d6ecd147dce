package lakehouse

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// keyIndex knows, for a table whose key does not determine the partition, where
// each key is. It is read from the table when a Writer opens and is not stored.
// What does not fit its memory goes to a keyStore; the maps hold what is newer
// then. Writer.mu guards it.
type keyIndex struct {
	t     *Table
	codec *mergetree.KeyCodec
	// keys are the positions of the primary key in the table's columns.
	keys  []int
	parts []*keyPartition
	byRow map[string]int32
	// short and long hold the keys of a codec that is Short, or is not.
	short map[uint64]keyPlace
	long  map[string]keyPlace

	// left holds the buckets that keys left since the last Prepare. A key that comes
	// back goes there again: changes of two buckets of one snapshot have no order.
	left map[leftKey]int32
	// epoch counts calls of Prepare; leftStored says that the store has keys of left of it.
	epoch      uint32
	leftStored bool

	// store is nil while everything is in memory, dir its folder, "" for none.
	store *keyStore
	dir   string
	log   *slog.Logger
	// budget is what the maps may take in bytes, used what they do.
	budget, used int64
	shorts       []uint64
	arena        []byte
	offs         []int
	stored       []byte
}

// keyPlace is a partition by its position in keyIndex.parts, and a bucket.
type keyPlace struct{ part, bucket int32 }

// leftKey is a key and a partition that it was in.
type leftKey struct {
	part  int32
	short uint64
	long  string
}

// keyPartition counts the keys of the buckets of a partition.
type keyPartition struct {
	row    spec.BinaryRow
	counts []int
	open   openBuckets
}

// Memory of an entry of short and of long, about; the latter without the key.
const (
	shortEntryBytes = 32
	longEntryBytes  = 64
	leftEntryBytes  = 64
)

// newKeyIndex makes an empty index that takes about budget bytes of memory. dir is
// a folder that it may make; without one, more keys than that are refused.
func newKeyIndex(t *Table, budget int64, dir string, log *slog.Logger) (*keyIndex, error) {
	x := &keyIndex{
		t: t, keys: t.Schema.Indexes(t.Schema.PrimaryKeys), byRow: map[string]int32{}, left: map[leftKey]int32{}, budget: budget, dir: dir, log: log,
	}
	var err error
	if x.codec, err = mergetree.NewKeyCodec(t.Schema.Types(t.Schema.PrimaryKeys)); err != nil {
		return nil, fmt.Errorf("opening table %s: %w", t.Path, err)
	}
	x.clear()
	return x, nil
}

func (x *keyIndex) clear() {
	if x.codec.Short {
		x.short = map[uint64]keyPlace{}
	} else {
		x.long = map[string]keyPlace{}
	}
	x.used = 0
}

// load reads the keys of the latest snapshot; s is nil if there is none.
func (x *keyIndex) load(ctx context.Context, s *spec.Snapshot) error {
	if s == nil {
		return nil
	}
	// A key that no compaction has looked at has its place all the same.
	plan, err := x.t.ScanPlan(ctx, ScanOptions{Columns: x.t.Schema.PrimaryKeys, Level0: true})
	if err != nil {
		return err
	}
	for i := range plan.Splits {
		if err := x.loadSplit(ctx, plan, &plan.Splits[i]); err != nil {
			return fmt.Errorf("reading the keys of table %s: %w", x.t.Path, err)
		}
	}
	return nil
}

func (x *keyIndex) loadSplit(ctx context.Context, plan *Plan, s *Split) (err error) {
	at := keyPlace{part: x.partOf(s.Partition), bucket: s.Bucket}
	r := plan.Read(ctx, s)
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		x.bind(b.Cols, b.Rows())
		for i := range b.Rows() {
			if err := x.put(ctx, i, at); err != nil {
				b.Release()
				return err
			}
		}
		b.Release()
	}
}

// bind takes the key columns of a batch.
func (x *keyIndex) bind(keys []arrow.Array, rows int) {
	x.codec.Bind(keys)
	if x.codec.Short {
		if cap(x.shorts) < rows {
			x.shorts = make([]uint64, rows)
		}
		x.shorts = x.shorts[:rows]
		x.codec.Shorts(x.shorts)
		return
	}
	x.arena, x.offs = x.arena[:0], append(x.offs[:0], 0)
	for i := range rows {
		x.arena = x.codec.Append(x.arena, i)
		x.offs = append(x.offs, len(x.arena))
	}
}

func (x *keyIndex) key(i int) []byte { return x.arena[x.offs[i]:x.offs[i+1]] }

// get gives the place of the key of row i.
func (x *keyIndex) get(i int) (at keyPlace, ok bool, err error) {
	if x.codec.Short {
		at, ok = x.short[x.shorts[i]]
	} else {
		at, ok = x.long[string(x.key(i))]
	}
	switch {
	case ok:
		return at, at != gone, nil
	case x.store == nil:
		return keyPlace{}, false, nil
	}
	x.stored = x.appendKey(append(x.stored[:0], storedKey), i)
	return x.store.get(x.stored)
}

// appendKey appends the byte form of the key of row i.
func (x *keyIndex) appendKey(dst []byte, i int) []byte {
	if x.codec.Short {
		return binary.BigEndian.AppendUint64(dst, x.shorts[i])
	}
	return append(dst, x.key(i)...)
}

// set notes the place of the key of row i in memory.
func (x *keyIndex) set(i int, at keyPlace) {
	if x.codec.Short {
		n := len(x.short)
		x.short[x.shorts[i]] = at
		x.used += shortEntryBytes * int64(len(x.short)-n)
		return
	}
	n := len(x.long)
	x.long[string(x.key(i))] = at
	x.used += (longEntryBytes + int64(len(x.key(i)))) * int64(len(x.long)-n)
}

// put says that the key of row i, which had no place, is at at now.
func (x *keyIndex) put(ctx context.Context, i int, at keyPlace) error {
	x.set(i, at)
	p := x.parts[at.part]
	for len(p.counts) <= int(at.bucket) {
		p.counts = append(p.counts, 0)
	}
	p.counts[at.bucket]++
	return x.fit(ctx)
}

// remove forgets the key of row i, which is at at.
func (x *keyIndex) remove(ctx context.Context, i int, at keyPlace) error {
	switch {
	case x.store != nil:
		x.set(i, gone)
	case x.codec.Short:
		delete(x.short, x.shorts[i])
		x.used -= shortEntryBytes
	default:
		delete(x.long, string(x.key(i)))
		x.used -= longEntryBytes + int64(len(x.key(i)))
	}
	k := x.leftKey(i, at.part)
	if _, ok := x.left[k]; !ok {
		x.used += leftEntryBytes + int64(len(k.long))
	}
	x.left[k] = at.bucket
	p := x.parts[at.part]
	p.counts[at.bucket]--
	p.open.freed(int(at.bucket))
	return x.fit(ctx)
}

// fit moves what is in memory to the store where it takes more than it may.
func (x *keyIndex) fit(ctx context.Context) error {
	limit := x.budget
	if x.store != nil {
		limit = min(x.budget/4, maxNewKeys)
	}
	if x.used <= limit {
		return nil
	}
	if x.store == nil {
		if x.dir == "" {
			return indexTooLarge(x.t, x.used, x.budget)
		}
		var err error
		if x.store, err = openKeyStore(x.dir, x.budget/4, x.log); err != nil {
			return err
		}
	}
	entries := make([]storedEntry, 0, len(x.short)+len(x.long)+len(x.left))
	for k, at := range x.short {
		entries = append(entries, storedEntry{key: binary.BigEndian.AppendUint64([]byte{storedKey}, k), at: at})
	}
	for k, at := range x.long {
		entries = append(entries, storedEntry{key: append([]byte{storedKey}, k...), at: at})
	}
	for k, no := range x.left {
		entries = append(entries, storedEntry{key: x.storedLeft(nil, k), at: keyPlace{part: k.part, bucket: no}})
	}
	x.leftStored = x.leftStored || len(x.left) > 0
	x.clear()
	x.left = map[leftKey]int32{}
	return x.store.ingest(ctx, entries)
}

// maxNewKeys bounds the memory of what is newer than the store, and with it how
// long writing waits while it is sorted and written.
const maxNewKeys = 32 << 20

// storedLeft appends the key of a store for k, which counts in this epoch alone.
func (x *keyIndex) storedLeft(dst []byte, k leftKey) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, storedLeft), x.epoch)
	dst = binary.BigEndian.AppendUint32(dst, uint32(k.part))
	if x.codec.Short {
		return binary.BigEndian.AppendUint64(dst, k.short)
	}
	return append(dst, k.long...)
}

func (x *keyIndex) leftKey(i int, part int32) leftKey {
	if x.codec.Short {
		return leftKey{part: part, short: x.shorts[i]}
	}
	return leftKey{part: part, long: string(x.key(i))}
}

// leftBucket gives the bucket of a partition that the key of row i left in this epoch.
func (x *keyIndex) leftBucket(i int, part int32) (no int32, ok bool, err error) {
	if len(x.left) == 0 && !x.leftStored {
		return 0, false, nil
	}
	k := x.leftKey(i, part)
	if no, ok = x.left[k]; ok || !x.leftStored {
		return no, ok, nil
	}
	x.stored = x.storedLeft(x.stored[:0], k)
	at, ok, err := x.store.get(x.stored)
	return at.bucket, ok, err
}

// prepared ends an epoch.
func (x *keyIndex) prepared() error {
	for k := range x.left {
		x.used -= leftEntryBytes + int64(len(k.long))
	}
	clear(x.left)
	x.epoch++
	if !x.leftStored {
		return nil
	}
	x.leftStored = false
	return x.store.dropLeft()
}

// close removes what the index has on the disk; nil has nothing.
func (x *keyIndex) close(ctx context.Context) error {
	if x == nil || x.store == nil {
		return nil
	}
	return x.store.close(ctx)
}

// sameKey compares the keys of two rows of the batch.
func (x *keyIndex) sameKey(i, j int) bool {
	if x.codec.Short {
		return x.shorts[i] == x.shorts[j]
	}
	return string(x.key(i)) == string(x.key(j))
}

// partOf gives the number of a partition.
func (x *keyIndex) partOf(row spec.BinaryRow) int32 {
	n, ok := x.byRow[string(row.Data)]
	if !ok {
		n = int32(len(x.parts))
		x.parts = append(x.parts, &keyPartition{row: row.Clone(), open: newOpenBuckets(x.t.Options.Dynamic.classes())})
		x.byRow[string(row.Data)] = n
	}
	return n
}

// classOf spreads keys over the buckets that fill side by side.
func (x *keyIndex) classOf(i int) uint32 {
	if x.codec.Short {
		return uint32(x.shorts[i] * 0x9e3779b97f4a7c15 >> 32)
	}
	return crc32.ChecksumIEEE(x.key(i))
}

// assign gives a bucket of a partition for the key of row i, which has no place:
// the one it has just left, the first with room, a new one, or the emptiest
// where there can be no more.
func (x *keyIndex) assign(i int, part int32) (keyPlace, error) {
	if no, ok, err := x.leftBucket(i, part); err != nil || ok {
		return keyPlace{part: part, bucket: no}, err
	}
	p, o := x.parts[part], &x.t.Options.Dynamic
	most := o.buckets()
	no := p.open.first(x.classOf(i), func(no int) bool { return no < len(p.counts) && p.counts[no] >= o.TargetRows })
	if no < most {
		return keyPlace{part: part, bucket: int32(no)}, nil
	}
	if o.MaxBuckets <= 0 {
		return keyPlace{}, tooManyBuckets(x.t)
	}
	least := 0
	for no := range p.counts {
		if p.counts[no] < p.counts[least] {
			least = no
		}
	}
	return keyPlace{part: part, bucket: int32(least)}, nil
}
