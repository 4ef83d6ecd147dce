package lakehouse

import (
	"bytes"
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// partition is one partition that rows go to; buckets are made when first used.
type partition struct {
	row     spec.BinaryRow
	buckets []*bucket
	// index is that of a table with dynamic buckets, nil until rows come.
	index *partitionIndex
}

// slot is where the bucket no stands; the only one of a table without real buckets has a negative number.
func (p *partition) slot(no int32) **bucket {
	i := int(max(no, 0))
	if i >= len(p.buckets) {
		p.buckets = append(p.buckets, make([]*bucket, i+1-len(p.buckets))...)
	}
	return &p.buckets[i]
}

// router finds the bucket of each row. Consecutive rows often share the
// partition: the last one is compared first.
type router struct {
	t      *Table
	layout *mergetree.Layout
	// codec is nil for append tables.
	codec  *mergetree.KeyCodec
	part   *spec.RowEncoder
	bucket *spec.RowEncoder
	// modKey is the bucket key of bucket function mod, -1 for another.
	modKey  int
	total   int // buckets a partition has; 1 for unaware append tables
	input   bool
	noMinus bool // -D and -U are dropped
	noUB    bool // -U is dropped
	append  bool
	// postponed says that all rows wait in one place.
	postponed bool
	// kindCol is the column of rowkind.field, -1 for none; keepBefore says that -U
	// rows retract; refused is the error for deletes, nil where the engine takes them.
	kindCol    int
	keepBefore bool
	refused    *diag.Error

	parts map[string]*partition
	last  *partition

	// dynamic assigns rows to buckets by their hashes; nil in other modes. rowParts
	// and nos are then what it found for the batch.
	dynamic  *hashIndexes
	rowParts []*partition
	// keyIndex knows where the keys are whose partition may change; nil in other
	// modes. extra is the memory of the rows made for the batch.
	keyIndex *keyIndex
	extra    int64

	batch *columnar.Batch
	n     uint32
	nos   []int32
	short []uint64
	// offs and arena hold the byte forms of the batch's keys where they are not short.
	offs  []int
	arena []byte
	keys  []arrow.Array
	// bufs are those of the buckets of a batch.
	bufs []*mergetree.Buffer
}

func newRouter(t *Table, l *mergetree.Layout) (*router, error) {
	r := &router{
		t: t, layout: l, total: max(1, t.Options.Bucket), append: l.Append, modKey: -1, parts: map[string]*partition{},
		input: t.Options.ChangelogProducer == ChangelogInput, noMinus: t.Options.IgnoreDelete, noUB: t.Options.IgnoreUpdateBefore,
	}
	r.kindCol, r.keepBefore, r.refused = t.Schema.Index(t.Options.RowKindField), t.Options.Engine.KeepsBefore(), t.refusesMinus()
	if l.Postponed {
		// What an old row means is for those to say who give the rows their buckets.
		r.postponed, r.input, r.keepBefore = true, false, true
	}
	var err error
	if !l.Append {
		if r.codec, err = l.Codec(); err != nil {
			return nil, fmt.Errorf("opening table %s: %w", t.Path, err)
		}
	}
	if keys := t.Schema.PartitionKeys; len(keys) > 0 {
		if r.part, err = spec.NewRowEncoder(l.Columns, t.Schema.Indexes(keys)); err != nil {
			return nil, fmt.Errorf("opening table %s: %w", t.Path, err)
		}
	}
	if r.total > 1 || t.mode() == dynamicBuckets {
		if r.bucket, err = spec.NewRowEncoder(l.Columns, t.Schema.Indexes(t.Schema.BucketKeys())); err != nil {
			return nil, fmt.Errorf("opening table %s: %w", t.Path, err)
		}
		if t.Options.ModBuckets {
			r.modKey = t.Schema.Index(t.Schema.BucketKeys()[0])
		}
	}
	return r, nil
}

// modBuckets gives the buckets of bucket function mod (ModBucketFunction.java):
// the remainder that is never negative. A null counts as 0, as in its rows.
func modBuckets(key arrow.Array, total int, out []int32) {
	switch k := key.(type) {
	case *array.Int32:
		for i, v := range k.Int32Values()[:len(out)] {
			if out[i] = 0; k.IsValid(i) {
				out[i] = (v%int32(total) + int32(total)) % int32(total)
			}
		}
	case *array.Int64:
		for i, v := range k.Int64Values()[:len(out)] {
			if out[i] = 0; k.IsValid(i) {
				out[i] = int32((v%int64(total) + int64(total)) % int64(total))
			}
		}
	}
}

// check refuses batches that are not of the table's shape.
func (r *router) check(b *columnar.Batch) error {
	fields := r.layout.Columns.Fields
	if len(b.Cols) != len(fields) {
		return fmt.Errorf("writing table %s: %d columns given, the table has %d", r.t.Path, len(b.Cols), len(fields))
	}
	for i, f := range fields {
		if !f.Type.Nullable && b.Cols[i].NullN() > 0 {
			return &diag.Error{
				Domain: diag.User, Code: diag.CodeNullability, Table: r.t.Path,
				Msg:  fmt.Sprintf("a row has no value for column %s, which is NOT NULL", f.Name),
				Hint: "make the column nullable, or give it a value with COALESCE",
			}
		}
		if want := columnar.ArrowType(f.Type); !arrow.TypeEqual(want, b.Cols[i].DataType()) {
			return fmt.Errorf("writing table %s: column %s is of type %s, want %s", r.t.Path, f.Name, b.Cols[i].DataType(), want)
		}
	}
	return nil
}

// route hands the rows of b, batch number n, to the buffers of their buckets.
// It gives the memory that takes besides the batch.
func (r *router) route(w *Writer, b *columnar.Batch, n uint32) (int64, error) {
	rows := b.Rows()
	r.bind(b, n)
	defer r.unbind()
	extra := int64(rows)*24 + int64(len(r.arena))
	if r.dynamic != nil {
		if err := r.assign(w.ctx); err != nil {
			return extra, err
		}
	}
	if r.append {
		return extra, r.routeAppend(w, b)
	}
	if r.keyIndex != nil {
		r.extra = 0
		err := r.routeKeys(w, b)
		return extra + r.extra, err
	}
	kinds := b.Kinds
	if r.kindCol >= 0 {
		var err error
		if kinds, err = r.t.kindsOf(b, r.kindCol); err != nil {
			return extra, err
		}
	}
	if kinds == nil {
		if r.part == nil && r.codec.Short {
			r.insertAll(w, rows)
			return extra, nil
		}
		for i := range rows {
			r.add(r.place(w, i), i, columnar.Insert, false)
		}
		return extra, nil
	}
	for i := 0; i < rows; i++ {
		kind := kinds[i]
		if kind == columnar.UpdateBefore && i+1 < rows && kinds[i+1] == columnar.UpdateAfter {
			r.update(w, i)
			i++
			continue
		}
		if (r.noMinus && kind.Retracts()) || (r.noUB && kind == columnar.UpdateBefore) {
			continue
		}
		if r.refused != nil && kind.Retracts() {
			return extra, r.refused
		}
		r.add(r.place(w, i), i, kind, false)
	}
	return extra, nil
}

func (r *router) routeAppend(w *Writer, b *columnar.Batch) error {
	for i := range b.Rows() {
		switch k := b.Kind(i); {
		case k == columnar.Insert:
		case k.Retracts() && r.noMinus:
			continue
		default:
			return &diag.Error{
				Domain: diag.User, Code: diag.CodeNoPrimaryKey, Table: r.t.Path, Msg: fmt.Sprintf("an append table cannot take updates and deletes (%s)", k),
				Hint: "give the table a primary key, or read only inserts from the source",
			}
		}
		r.place(w, i).buf.Add(0, nil, r.n, uint32(i), columnar.Insert, false)
	}
	return nil
}

func (r *router) bind(b *columnar.Batch, n uint32) {
	rows := b.Rows()
	r.batch, r.n = b, n
	if r.bucket != nil {
		if cap(r.nos) < rows {
			r.nos = make([]int32, rows)
		}
		r.nos = r.nos[:rows]
		switch {
		case r.dynamic != nil:
			r.bucket.Hashes(b, r.nos)
		case r.modKey >= 0:
			modBuckets(b.Cols[r.modKey], r.total, r.nos)
		default:
			r.bucket.Buckets(b, r.total, r.nos)
		}
	}
	r.arena = r.arena[:0]
	if r.codec == nil {
		return
	}
	r.keys = r.keys[:0]
	for _, k := range r.layout.Keys {
		r.keys = append(r.keys, b.Cols[k])
	}
	r.codec.Bind(r.keys)
	if r.codec.Short {
		if cap(r.short) < rows {
			r.short = make([]uint64, rows)
		}
		r.short = r.short[:rows]
		r.codec.Shorts(r.short)
		return
	}
	r.offs = append(r.offs[:0], 0)
	for i := range rows {
		r.arena = r.codec.Append(r.arena, i)
		r.offs = append(r.offs, len(r.arena))
	}
}

func (r *router) unbind() {
	r.batch = nil
	if r.part != nil {
		r.part.Unbind()
	}
	if r.bucket != nil {
		r.bucket.Unbind()
	}
}

func (r *router) sameKey(i, j int) bool {
	if r.codec.Short {
		return r.short[i] == r.short[j]
	}
	return bytes.Equal(r.keyBytes(i), r.keyBytes(j))
}

func (r *router) keyBytes(i int) []byte { return r.arena[r.offs[i]:r.offs[i+1]] }

func (r *router) add(b *bucket, i int, kind columnar.RowKind, logOnly bool) {
	if r.codec.Short {
		b.buf.Add(r.short[i], nil, r.n, uint32(i), kind, logOnly)
		return
	}
	b.buf.Add(0, r.keyBytes(i), r.n, uint32(i), kind, logOnly)
}

// assign finds partition and bucket of every row: their hashes are in nos.
func (r *router) assign(ctx context.Context) error {
	r.rowParts = r.rowParts[:0]
	for i, hash := range r.nos {
		p := r.partition(i)
		var err error
		if p.index == nil {
			if p.index, err = r.dynamic.partition(ctx, p.row); err != nil {
				return err
			}
		}
		r.rowParts = append(r.rowParts, p)
		if r.nos[i], err = r.dynamic.assign(ctx, p.index, hash); err != nil {
			return err
		}
	}
	return nil
}

// partition gives the partition of row i.
func (r *router) partition(i int) *partition {
	p := r.last
	if r.part == nil {
		if p == nil {
			p = r.partitionOf(spec.EmptyRow())
		}
		return p
	}
	if row := r.part.Encode(r.batch, i); p == nil || !bytes.Equal(p.row.Data, row.Data) {
		p = r.partitionOf(row)
	}
	return p
}

// partitionOf gives the partition of a row that is not kept, and remembers it as the last.
func (r *router) partitionOf(row spec.BinaryRow) *partition {
	p := r.parts[string(row.Data)]
	if p == nil {
		p = &partition{row: row.Clone()}
		r.parts[string(p.row.Data)] = p
	}
	r.last = p
	return p
}

// place gives the bucket of row i, ready to take it.
func (r *router) place(w *Writer, i int) *bucket {
	if r.dynamic != nil {
		return r.ready(w, r.rowParts[i], r.nos[i])
	}
	no := int32(0)
	switch {
	case r.postponed:
		no = spec.PostponeBucket
	case r.bucket != nil:
		no = r.nos[i]
	}
	return r.ready(w, r.partition(i), no)
}

// ready gives a bucket with a buffer.
func (r *router) ready(w *Writer, p *partition, no int32) *bucket {
	at := p.slot(no)
	b := *at
	if b == nil {
		b = w.newBucket(p, no)
		*at = b
	}
	if b.buf == nil {
		b.buf = mergetree.NewBuffer(r.codec)
		w.touched = append(w.touched, b)
	}
	return b
}

// forget drops an idle bucket.
func (r *router) forget(b *bucket) {
	p := b.part
	*p.slot(b.no) = nil
	for _, o := range p.buckets {
		if o != nil {
			return
		}
	}
	delete(r.parts, string(p.row.Data))
	if r.dynamic != nil {
		r.dynamic.forget(string(p.row.Data))
	}
	if r.last == p {
		r.last = nil
	}
}
