package lakehouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// keyIndex knows, for a table whose key does not determine the partition, where
// each key is. It is read from the table when a Writer opens and is not stored.
// Writer.mu guards it.
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

	budget, used int64
	shorts       []uint64
	arena        []byte
	offs         []int
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
	// open is the first bucket that may have room.
	open int
}

// Memory of an entry of short and of long, about; the latter without the key.
const (
	shortEntryBytes = 32
	longEntryBytes  = 64
)

func newKeyIndex(t *Table, budget int64) (*keyIndex, error) {
	x := &keyIndex{t: t, keys: t.Schema.Indexes(t.Schema.PrimaryKeys), byRow: map[string]int32{}, left: map[leftKey]int32{}, budget: budget}
	var err error
	if x.codec, err = mergetree.NewKeyCodec(t.Schema.Types(t.Schema.PrimaryKeys)); err != nil {
		return nil, fmt.Errorf("opening table %s: %w", t.Path, err)
	}
	if x.codec.Short {
		x.short = map[uint64]keyPlace{}
	} else {
		x.long = map[string]keyPlace{}
	}
	return x, nil
}

// load reads the keys of the latest snapshot; s is nil if there is none.
func (x *keyIndex) load(ctx context.Context, s *spec.Snapshot) error {
	if s == nil {
		return nil
	}
	plan, err := x.t.ScanPlan(ctx, ScanOptions{Columns: x.t.Schema.PrimaryKeys})
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
			if err := x.put(i, at); err != nil {
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

func (x *keyIndex) get(i int) (at keyPlace, ok bool) {
	if x.codec.Short {
		at, ok = x.short[x.shorts[i]]
	} else {
		at, ok = x.long[string(x.key(i))]
	}
	return at, ok
}

// put says that the key of row i, which had no place, is at at now.
func (x *keyIndex) put(i int, at keyPlace) error {
	if x.codec.Short {
		x.short[x.shorts[i]] = at
		x.used += shortEntryBytes
	} else {
		x.long[string(x.key(i))] = at
		x.used += longEntryBytes + int64(len(x.key(i)))
	}
	p := x.parts[at.part]
	for len(p.counts) <= int(at.bucket) {
		p.counts = append(p.counts, 0)
	}
	p.counts[at.bucket]++
	if x.used > x.budget {
		return indexTooLarge(x.t, x.used, x.budget)
	}
	return nil
}

// remove forgets the key of row i, which is at at.
func (x *keyIndex) remove(i int, at keyPlace) {
	if x.codec.Short {
		delete(x.short, x.shorts[i])
		x.used -= shortEntryBytes
	} else {
		delete(x.long, string(x.key(i)))
		x.used -= longEntryBytes + int64(len(x.key(i)))
	}
	x.left[x.leftKey(i, at.part)] = at.bucket
	p := x.parts[at.part]
	p.counts[at.bucket]--
	p.open = min(p.open, int(at.bucket))
}

func (x *keyIndex) leftKey(i int, part int32) leftKey {
	if x.codec.Short {
		return leftKey{part: part, short: x.shorts[i]}
	}
	return leftKey{part: part, long: string(x.key(i))}
}

// prepared ends an epoch.
func (x *keyIndex) prepared() {
	if len(x.left) > 0 {
		x.left = map[leftKey]int32{}
	}
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
		x.parts = append(x.parts, &keyPartition{row: row.Clone()})
		x.byRow[string(row.Data)] = n
	}
	return n
}

// assign gives a bucket of a partition for the key of row i, which has no place:
// the one it has just left, the first with room, a new one, or the emptiest
// where there can be no more.
func (x *keyIndex) assign(i int, part int32) (keyPlace, error) {
	if len(x.left) > 0 {
		if no, ok := x.left[x.leftKey(i, part)]; ok {
			return keyPlace{part: part, bucket: no}, nil
		}
	}
	p, o := x.parts[part], &x.t.Options.Dynamic
	for p.open < len(p.counts) && p.counts[p.open] >= o.TargetRows {
		p.open++
	}
	most := o.buckets()
	if p.open < most {
		return keyPlace{part: part, bucket: int32(p.open)}, nil
	}
	if o.MaxBuckets <= 0 {
		return keyPlace{}, tooManyBuckets(x.t)
	}
	least := 0
	for no := range most {
		if p.counts[no] < p.counts[least] {
			least = no
		}
	}
	return keyPlace{part: part, bucket: int32(least)}, nil
}

// routeKeys routes the rows of a table whose key does not determine the
// partition: a row with a known key leaves the partition it was in (GlobalIndexAssigner.java).
func (r *router) routeKeys(w *Writer, b *columnar.Batch) error {
	x := r.keyIndex
	keys := make([]arrow.Array, len(x.keys))
	for i, k := range x.keys {
		keys[i] = b.Cols[k]
	}
	x.bind(keys, b.Rows())
	for i := 0; i < b.Rows(); i++ {
		kind := b.Kind(i)
		var err error
		switch {
		case kind == columnar.UpdateBefore && i+1 < b.Rows() && b.Kind(i+1) == columnar.UpdateAfter:
			err = r.updateKey(w, i)
			i++
		case kind == columnar.UpdateBefore && r.noUB:
		case kind.Retracts():
			err = r.retractKey(w, i)
		default:
			err = r.upsertKey(w, i, kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// updateKey routes the pair of rows i (-U) and i+1 (+U).
func (r *router) updateKey(w *Writer, i int) error {
	x := r.keyIndex
	if at, ok := x.get(i); ok && x.sameKey(i, i+1) && sameRow(x.parts[at.part].row, r.partition(i+1).row) {
		b := r.bucketAt(w, at)
		switch {
		case r.noUB:
		case r.input:
			r.add(b, i, columnar.UpdateBefore, true)
		default:
			b.buf.Skip()
		}
		r.add(b, i+1, columnar.UpdateAfter, false)
		return nil
	}
	if err := r.retractKey(w, i); err != nil {
		return err
	}
	return r.upsertKey(w, i+1, columnar.Insert)
}

// retractKey deletes the key of row i where it is; one that is nowhere needs no delete.
func (r *router) retractKey(w *Writer, i int) error {
	at, ok := r.keyIndex.get(i)
	if !ok {
		return nil
	}
	r.keyIndex.remove(i, at)
	return r.deleteAt(w, i, at)
}

// upsertKey puts row i into its partition and out of any other.
func (r *router) upsertKey(w *Writer, i int, kind columnar.RowKind) error {
	x := r.keyIndex
	part := x.partOf(r.partition(i).row)
	at, ok := x.get(i)
	if ok && at.part == part {
		r.add(r.bucketAt(w, at), i, kind, false)
		return nil
	}
	if ok {
		x.remove(i, at)
		if err := r.deleteAt(w, i, at); err != nil {
			return err
		}
		kind = columnar.Insert
	}
	at, err := x.assign(i, part)
	if err != nil {
		return err
	}
	if err := x.put(i, at); err != nil {
		return err
	}
	r.add(r.bucketAt(w, at), i, kind, false)
	return nil
}

func sameRow(a, b spec.BinaryRow) bool { return bytes.Equal(a.Data, b.Data) }

func (r *router) bucketAt(w *Writer, at keyPlace) *bucket {
	p := r.last
	if row := r.keyIndex.parts[at.part].row; p == nil || !sameRow(p.row, row) {
		p = r.partitionOf(row)
	}
	return r.ready(w, p, at.bucket)
}

// deleteAt writes the delete of row i to another place than the row may name:
// its partition columns are those of the place.
func (r *router) deleteAt(w *Writer, i int, at keyPlace) error {
	row := r.keyIndex.parts[at.part].row
	if sameRow(r.partition(i).row, row) {
		r.add(r.bucketAt(w, at), i, columnar.Delete, false)
		return nil
	}
	cols := make([]arrow.Array, len(r.batch.Cols))
	for c := range cols {
		cols[c] = array.NewSlice(r.batch.Cols[c], int64(i), int64(i)+1)
	}
	for k, c := range r.t.Schema.Indexes(r.t.Schema.PartitionKeys) {
		f := r.layout.Columns.Fields[c]
		b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(f.Type))
		err := row.AppendValue(b, k, f.Type)
		cols[c].Release()
		cols[c] = b.NewArray()
		b.Release()
		if err != nil {
			return fmt.Errorf("moving a row out of its partition: %w", err)
		}
	}
	n := uint32(len(w.batches))
	w.batches = append(w.batches, columnar.NewBatch(r.layout.Columns, nil, cols, 1))
	r.extra += movedRowBytes * int64(len(cols))
	b := r.bucketAt(w, at)
	if r.codec.Short {
		b.buf.Add(r.short[i], nil, n, 0, columnar.Delete, false)
	} else {
		b.buf.Add(0, r.keyBytes(i), n, 0, columnar.Delete, false)
	}
	return nil
}

// movedRowBytes is about what a column of a row takes that stands in a batch of its own.
const movedRowBytes = 256

// checkAlone refuses to go on when somebody else wrote rows between the snapshot
// known and the last of own: the index does not know where their keys are.
func (w *Writer) checkAlone(ctx context.Context, known int64, own []int64) error {
	for id := known + 1; len(own) > 0 && id < own[len(own)-1]; id++ {
		if slices.Contains(own, id) {
			continue
		}
		s, err := w.t.snapshots.Read(ctx, id)
		if errors.Is(err, fileio.ErrNotExist) {
			continue // expired meanwhile
		}
		if err != nil {
			return fmt.Errorf("looking at the commits of others to table %s: %w", w.t.Path, err)
		}
		if s.CommitKind == spec.Append || s.CommitKind == spec.Overwrite {
			return &diag.Error{
				Domain: diag.Guard, Code: diag.CodeLakeConflict, Table: w.t.Path,
				Msg:  fmt.Sprintf("user %s wrote snapshot %d meanwhile: only one job may write a table whose rows move between partitions", s.CommitUser, id),
				Hint: "stop the other writer, and look for keys that are in two partitions now",
			}
		}
	}
	return nil
}
