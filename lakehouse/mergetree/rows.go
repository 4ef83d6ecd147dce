package mergetree

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/lakehouse/spec"
)

// Rows is a batch of a data file: the table's columns with sequence number and kind of each row.
type Rows struct {
	Values []arrow.Array
	Seq    []int64
	Kinds  []int8
	// NoDeletes says that no row is a retraction; Kinds may then be 0 where they are not.
	NoDeletes bool
	// System holds what Seq and Kinds stand in.
	System []arrow.Array
	// Positions are the places of the rows in their file where a reader left some out; nil where it left none out.
	Positions []int64

	// file is the file read from, first the place of the first row in it; reference
	// says that the rows only show what the other streams' rows change.
	file      *spec.DataFileMeta
	first     int64
	reference bool
}

// level is the level of the rows' file.
func (r *Rows) level() int32 {
	if r.file == nil {
		return 0
	}
	return r.file.Level
}

// position is the place of a row in its file.
func (r *Rows) position(row uint32) int64 {
	if r.Positions != nil {
		return r.Positions[row]
	}
	return r.first + int64(row)
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Seq) }

// Release gives the arrays back.
func (r *Rows) Release() {
	for _, a := range r.Values {
		a.Release()
	}
	for _, a := range r.System {
		a.Release()
	}
	r.Values, r.System = nil, nil
}

// RowReader gives the rows of a sorted stream batch by batch, io.EOF at the
// end. The caller releases each batch.
type RowReader interface {
	Next() (*Rows, error)
	Close() error
}

// Opener opens a data file of the bucket at hand.
type Opener func(ctx context.Context, f *spec.DataFileMeta) (RowReader, error)

// runReader reads the files of a sorted run one after the other.
type runReader struct {
	ctx   context.Context //nolint:containedctx // a reader lives for one call of its owner
	open  Opener
	files []spec.DataFileMeta
	cur   RowReader
	// file is the open file, at the place of the next row in it.
	file      *spec.DataFileMeta
	at        int64
	reference bool
}

func (r *runReader) Next() (*Rows, error) {
	for {
		if r.cur == nil {
			if len(r.files) == 0 {
				return nil, io.EOF
			}
			var err error
			if r.cur, err = r.open(r.ctx, &r.files[0]); err != nil {
				return nil, err
			}
			r.file, r.at = &r.files[0], 0
			r.files = r.files[1:]
		}
		rows, err := r.cur.Next()
		if err == nil {
			rows.file, rows.first, rows.reference = r.file, r.at, r.reference
			r.at += int64(rows.Len())
			return rows, nil
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		err = r.cur.Close()
		r.cur = nil
		if err != nil {
			return nil, err
		}
	}
}

func (r *runReader) Close() error {
	if r.cur == nil {
		return nil
	}
	return r.cur.Close()
}
