package mergetree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"leat/lakehouse/spec"
)

// Small reports whether a file is worth joining with others.
func Small(f *spec.DataFileMeta, target int64) bool {
	return f.FileSize < int64(float64(target)*smallFile)
}

// PickAppend gives the files of one partition of an append table that are worth
// joining, oldest first: at least minFiles files smaller than 0.7 of the target
// size, or enough bytes for a whole file; nil if there are none.
func PickAppend(files []spec.DataFileMeta, target int64, minFiles int) []spec.DataFileMeta {
	var small []spec.DataFileMeta
	var size int64
	limit := int64(float64(target) * smallFile)
	for _, f := range files {
		if f.FileSize >= limit {
			continue
		}
		small = append(small, f)
		if size += f.FileSize; size >= 2*target {
			break
		}
	}
	if len(small) < 2 || (len(small) < minFiles && size < target) {
		return nil
	}
	return small
}

// PickAdjacent gives files of one bucket of an append table whose rows keep
// their order that are worth joining, nil if there are none: minFiles small
// files, or as many as make a whole one, with nothing in between. Files that
// are large enough end a run.
func PickAdjacent(files []spec.DataFileMeta, target int64, minFiles int) []spec.DataFileMeta {
	files = slices.Clone(files)
	SortByArrival(files)
	limit := int64(float64(target) * smallFile)
	from, size := 0, int64(0)
	for i := range files {
		if files[i].FileSize >= limit {
			from, size = i+1, 0
			continue
		}
		size += files[i].FileSize
		if n := i + 1 - from; n > 1 && (n >= minFiles || size >= target) {
			return files[from : i+1]
		}
	}
	return nil
}

// SortByArrival puts files of one bucket of an append table into the order in
// which their rows came.
func SortByArrival(files []spec.DataFileMeta) {
	slices.SortStableFunc(files, func(a, b spec.DataFileMeta) int {
		return cmp.Or(cmp.Compare(a.MinSequenceNumber, b.MinSequenceNumber), cmp.Compare(a.MaxSequenceNumber, b.MaxSequenceNumber))
	})
}

// CompactAppend joins files of an append table in the order given.
func CompactAppend(ctx context.Context, l *Layout, in []spec.DataFileMeta, files Files, open Opener) (*Change, error) {
	w, err := newFileWriter(l, files, 0, spec.SourceCompact, l.Stats)
	if err != nil {
		return nil, err
	}
	defer w.abort(ctx)
	err = func() error {
		for i := range in {
			if err := copyRows(ctx, w, &in[i], open); err != nil {
				return err
			}
		}
		return w.finish(ctx)
	}()
	if err != nil {
		for i := range w.done {
			_ = files.FS.Remove(context.WithoutCancel(ctx), files.FS.Join(files.Dir, w.done[i].FileName))
		}
		return nil, err
	}
	return &Change{Before: in, After: w.done}, nil
}

func copyRows(ctx context.Context, w *fileWriter, f *spec.DataFileMeta, open Opener) (err error) {
	r, err := open(ctx, f)
	if err != nil {
		return fmt.Errorf("opening data file %s: %w", f.FileName, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	seq := f.MinSequenceNumber
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range rows.Seq {
			rows.Seq[i] = seq
			seq++
		}
		err = w.write(ctx, &chunk{rows: rows.Len(), seq: rows.Seq, kinds: rows.Kinds, values: rows.Values})
		rows.Release()
		if err != nil {
			return err
		}
	}
}
