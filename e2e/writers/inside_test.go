package writers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/uuid"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

// write writes rows until the given time, as a job does, and expires snapshots on the way.
func write(ctx context.Context, dir, table string, e entrant, until time.Time) (r result, err error) {
	fs, path := local.New(), dir+"/"+strings.Replace(table, ".", ".db/", 1)
	t, err := lakehouse.Open(ctx, fs, path)
	if err != nil {
		return r, err
	}
	attempt := uuid.NewString()
	w, err := t.NewWriter(ctx, lakehouse.WriteConfig{Attempt: attempt, User: e.name})
	if err != nil {
		return r, err
	}
	dropped := false
	c := commit.New(fs, path, t.Schema, commit.Options{
		Attempt: attempt,
		Dropped: func(int64, []spec.CommitMessage) { dropped = true; r.dropped++ },
		Lost:    func(int64) { r.lost++ },
	}, nil)
	for id := int64(1); time.Now().Before(until); id++ {
		if err := w.Write(ctx, rows(t.Schema, e, r.acked+1, r.acked+20)); err != nil {
			return r, err
		}
		p, err := w.Prepare(ctx, id)
		if err != nil {
			return r, err
		}
		messages, err := p.Wait(ctx)
		if err != nil {
			return r, err
		}
		dropped = false
		snapshots, err := c.Commit(ctx, commit.Request{User: e.name, Identifier: id, Messages: messages})
		for ; diag.Retryable(err); snapshots, err = c.Commit(ctx, commit.Request{User: e.name, Identifier: id, Messages: messages}) {
			r.failed++
		}
		if err != nil {
			return r, err
		}
		r.acked += 20
		r.commits++
		if err := w.Committed(ctx, id, snapshots, dropped); err != nil {
			return r, err
		}
		if id%20 == 0 {
			if _, err := maintain.ExpireSnapshots(ctx, fs, path, maintain.ExpireOptions{RetainMin: 100, RetainMax: 1 << 30, Limit: 50}); err != nil {
				return r, err
			}
		}
		time.Sleep(300 * time.Millisecond)
	}
	if err := c.Settle(ctx); err != nil {
		return r, err
	}
	return r, w.Close(ctx)
}

// rows makes the rows from and to, both included.
func rows(s *spec.TableSchema, e entrant, from, to int64) *columnar.Batch {
	b := columnar.NewBuilders(memory.DefaultAllocator, s.Columns())
	kinds := make([]columnar.RowKind, 0, to-from+1)
	for v := from; v <= to; v++ {
		kinds = append(kinds, columnar.Insert)
		for i, text := range []string{e.name, e.parts[v%int64(len(e.parts))]} {
			appendTo(b[i], func(b *array.StringBuilder) { b.Append(text) })
		}
		for i, n := range []int64{v % keys, v} {
			appendTo(b[i+2], func(b *array.Int64Builder) { b.Append(n) })
		}
	}
	columns := make([]arrow.Array, len(b))
	for i := range b {
		columns[i] = b[i].NewArray()
	}
	return columnar.NewBatch(s.Columns(), kinds, columns, len(kinds))
}

func appendTo[B array.Builder](b array.Builder, add func(B)) {
	typed, ok := b.(B)
	if !ok {
		panic(fmt.Sprintf("a builder of another type: %T", b))
	}
	add(typed)
}
