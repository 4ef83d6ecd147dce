package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/lakehouse/commit"
	"leat/planner"
)

// changeTries is how often the rows of an UPDATE or DELETE are read: a commit of
// others in between rules out what was made of the rows before it.
const changeTries = 5

// changeRows carries out an UPDATE or a DELETE. The rows are read again where
// another commit came in between, so that no change of others is lost.
func (a *application) changeRows(ctx context.Context) error {
	w := a.step.Write
	what := map[planner.Change]string{planner.Updating: "updated", planner.Deleting: "deleted"}[w.Change]
	for try := 1; ; try++ {
		n, err := a.changeOnce(ctx)
		switch {
		case err == nil:
			return a.out.Done(rowsDone(n, what))
		case !errors.Is(err, commit.ErrConflict):
			return err
		case try == changeTries:
			return &diag.Error{
				Domain: diag.External, Code: diag.CodeLakeConflict, Table: w.Target.Name, Cause: err, Retry: true,
				Msg: fmt.Sprintf("others wrote the rows each of the %d times that they were to be %s; nothing was changed", try, what), Hint: "stop the other writer, or make WHERE narrower",
			}
		}
		select {
		case <-time.After(time.Duration(try) * 20 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (a *application) changeOnce(ctx context.Context) (int64, error) {
	w := a.step.Write
	sel, err := a.selectOf(ctx, &w.Inputs[0])
	if err != nil || sel.Source.Snapshot == nil {
		return 0, err
	}
	x := connect.Statement{Table: w.Target, NotNull: w.NotNull, Env: a.writeEnv(), Base: sel.Source.Snapshot.ID, Changes: true}
	var n int64
	_, err = w.Writer.WriteStatement(ctx, x, func(take func(*columnar.Batch) error) error {
		n = 0
		return sel.Run(ctx, func(b *columnar.Batch) error {
			n += int64(b.Rows())
			out, err := changedRows(ctx, w, b)
			if err != nil {
				return err
			}
			defer out.Release()
			return take(out)
		})
	})
	return n, err
}

// changedRows gives the changes of the rows that were found: each as -D, or as the
// pair of what it was (-U) and what it is now (+U).
func changedRows(ctx context.Context, w *planner.Write, b *columnar.Batch) (*columnar.Batch, error) {
	rows, width := b.Rows(), len(w.Target.Schema.Fields)
	if err := checkMerged(w, b); err != nil {
		return nil, err
	}
	if w.Change == planner.Deleting {
		for _, c := range b.Cols {
			c.Retain()
		}
		return columnar.NewBatch(w.Target.Schema, slices.Repeat([]columnar.RowKind{columnar.Delete}, rows), slices.Clone(b.Cols), rows), nil
	}
	cols := make([]arrow.Array, 0, width)
	for c := range width {
		now := b.Cols[c]
		if at := slices.Index(w.Set, c); at >= 0 {
			now = b.Cols[width+at]
		}
		col, err := interleave(ctx, b.Cols[c], now)
		if err != nil {
			for _, done := range cols {
				done.Release()
			}
			return nil, fmt.Errorf("pairing old and new values of column %s: %w", w.Target.Schema.Fields[c].Name, err)
		}
		cols = append(cols, col)
	}
	kinds := slices.Repeat([]columnar.RowKind{columnar.UpdateBefore, columnar.UpdateAfter}, rows)
	return columnar.NewBatch(w.Target.Schema, kinds, cols, 2*rows), nil
}

// interleave gives the values of old and now in turn.
func interleave(ctx context.Context, old, now arrow.Array) (arrow.Array, error) {
	n := int32(old.Len())
	both, second := old, int32(0)
	if old != now {
		var err error
		if both, err = array.Concatenate([]arrow.Array{old, now}, memory.DefaultAllocator); err != nil {
			return nil, err
		}
		defer both.Release()
		second = n
	}
	at := array.NewInt32Builder(memory.DefaultAllocator)
	defer at.Release()
	at.Reserve(2 * int(n))
	for i := range n {
		at.UnsafeAppend(i)
		at.UnsafeAppend(second + i)
	}
	indices := at.NewArray()
	defer indices.Release()
	return compute.TakeArrayOpts(ctx, both, indices, compute.TakeOptions{BoundsCheck: false})
}

// checkMerged refuses changes that the merge of the rows would drop in silence.
func checkMerged(w *planner.Write, b *columnar.Batch) error {
	for _, m := range w.Merged {
		for i := range b.Rows() {
			why, hint := "", ""
			switch {
			case len(m.Sequence) == 0 && keepsOld(w, b, m.At, i):
				why = fmt.Sprintf("the new value of column %s is NULL, which leaves the old one in a partial-update table", w.Target.Schema.Fields[w.Set[m.At]].Name)
				hint = "put the column into a sequence group, or DELETE the row and INSERT it again"
			case len(m.Sequence) > 0 && !anyValid(w, b, m.Sequence, i):
				why = "a row has no value in the columns that order its sequence group, so that the change would not count"
				hint = "give one of them a value too, or leave such rows out with WHERE"
			default:
				continue
			}
			return &diag.Error{Domain: diag.User, Code: diag.CodeTableShape, Table: w.Target.Name, Msg: why, Hint: hint}
		}
	}
	return nil
}

// keepsOld reports whether row i sets column at of w.Set from a value to NULL.
func keepsOld(w *planner.Write, b *columnar.Batch, at, i int) bool {
	return b.Cols[w.Set[at]].IsValid(i) && b.Cols[len(w.Target.Schema.Fields)+at].IsNull(i)
}

// anyValid reports whether one of columns has a new value in row i.
func anyValid(w *planner.Write, b *columnar.Batch, columns []int, i int) bool {
	return slices.ContainsFunc(columns, func(c int) bool {
		if at := slices.Index(w.Set, c); at >= 0 {
			c = len(w.Target.Schema.Fields) + at
		}
		return b.Cols[c].IsValid(i)
	})
}
