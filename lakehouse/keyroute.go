package lakehouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

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
	at, ok, err := x.get(i)
	if err != nil {
		return err
	}
	if ok && x.sameKey(i, i+1) && sameRow(x.parts[at.part].row, r.partition(i+1).row) {
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
	at, ok, err := r.keyIndex.get(i)
	if err != nil || !ok {
		return err
	}
	if err := r.keyIndex.remove(w.ctx, i, at); err != nil {
		return err
	}
	return r.deleteAt(w, i, at)
}

// upsertKey puts row i into its partition and out of any other.
func (r *router) upsertKey(w *Writer, i int, kind columnar.RowKind) error {
	x := r.keyIndex
	part := x.partOf(r.partition(i).row)
	at, ok, err := x.get(i)
	if err != nil {
		return err
	}
	if ok && at.part == part {
		r.add(r.bucketAt(w, at), i, kind, false)
		return nil
	}
	if ok {
		if err := x.remove(w.ctx, i, at); err != nil {
			return err
		}
		if err := r.deleteAt(w, i, at); err != nil {
			return err
		}
		kind = columnar.Insert
	}
	if at, err = x.assign(i, part); err != nil {
		return err
	}
	if err := x.put(w.ctx, i, at); err != nil {
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
