package lakehouse

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/format"
	"leat/lakehouse/format/datafile"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// System columns of merge-tree files, as readers ask for them.
var systemFields = []columnar.Field{
	{ID: 2147483646, Name: "_SEQUENCE_NUMBER", Type: columnar.Of(columnar.BigInt).NotNull()},
	{ID: 2147483645, Name: "_VALUE_KIND", Type: columnar.Of(columnar.TinyInt).NotNull()},
}

// schemaCache keeps the schemas that data files were written with.
type schemaCache struct {
	mu   sync.Mutex
	byID map[int64]*spec.TableSchema
}

func (t *Table) schemaOf(ctx context.Context, id int64) (*spec.TableSchema, error) {
	if id == t.Schema.ID {
		return t.Schema, nil
	}
	t.schemas.mu.Lock()
	defer t.schemas.mu.Unlock()
	if s := t.schemas.byID[id]; s != nil {
		return s, nil
	}
	s, err := readSchema(ctx, t.FS, t.home, id)
	if err != nil {
		return nil, err
	}
	if t.schemas.byID == nil {
		t.schemas.byID = map[int64]*spec.TableSchema{}
	}
	t.schemas.byID[id] = s
	return s, nil
}

// opener opens files of a bucket as rows of the columns wanted, as compactions
// read them: without expired rows. The columns of an older file are found by
// field id; one that it lacks is null, one of another type is cast. system says
// that files have sequence numbers and kinds.
func (t *Table) opener(partition spec.BinaryRow, bucket int32, wanted []columnar.Field, system bool) mergetree.Opener {
	return t.filteredOpener(partition, bucket, wanted, system, nil, t.Options.Expire, nil)
}

// filteredOpener is opener without the rows that deleted names and those that
// have expired, nil for none, and without most of those that do not meet conds.
func (t *Table) filteredOpener(partition spec.BinaryRow, bucket int32, wanted []columnar.Field, system bool, deleted deletedRows, expire *expiry, conds []condition) mergetree.Opener {
	return t.openerAs(partition, bucket, wanted, deleted, expire, readAs{sequence: system, kinds: system, conds: conds, mem: columnar.NewPool()})
}

// readAs says how a file is read besides its columns.
type readAs struct {
	// sequence and kinds ask for the rows' sequence numbers and kinds.
	sequence, kinds bool
	// deletesOnly asks for kinds only where a file has rows that are deleted.
	deletesOnly bool
	// conds are conditions; rows that do not meet them may be left out.
	conds []condition
	// mem, if set, gives the memory of the rows, which is then used again.
	mem *columnar.Pool
}

// openerAs is filteredOpener for rows read as r says.
func (t *Table) openerAs(partition spec.BinaryRow, bucket int32, wanted []columnar.Field, deleted deletedRows, expire *expiry, r readAs) mergetree.Opener {
	return func(ctx context.Context, f *spec.DataFileMeta) (mergetree.RowReader, error) {
		var rows rowSet
		if deleted != nil {
			var err error
			if rows, err = deleted(ctx, f.FileName); err != nil {
				return nil, err
			}
		}
		if rows == nil && expire == nil {
			return t.openFileAs(ctx, partition, bucket, f, wanted, r)
		}
		return openFiltered(f.FileName, wanted, rows, expire, func(wanted []columnar.Field) (mergetree.RowReader, error) {
			return t.openFileAs(ctx, partition, bucket, f, wanted, r)
		})
	}
}

// openFile opens a file as opener does; rows that do not meet conds may be left out.
func (t *Table) openFile(ctx context.Context, partition spec.BinaryRow, bucket int32, f *spec.DataFileMeta, wanted []columnar.Field, system bool, conds []condition) (mergetree.RowReader, error) {
	return t.openFileAs(ctx, partition, bucket, f, wanted, readAs{sequence: system, kinds: system, conds: conds})
}

func (t *Table) openFileAs(ctx context.Context, partition spec.BinaryRow, bucket int32, f *spec.DataFileMeta, wanted []columnar.Field, as readAs) (mergetree.RowReader, error) {
	paths, err := t.paths.FilePaths(partition, bucket, f)
	if err != nil {
		return nil, fmt.Errorf("naming data file %s: %w", f.FileName, err)
	}
	path := paths[0]
	if datafile.NameOf(path) == "" {
		return nil, &diag.Error{
			Domain: diag.User, Code: diag.CodeUnsupported, Table: t.Path, Msg: fmt.Sprintf("data file %s is not in a format that leat reads", f.FileName),
			Hint: "read the table with another engine, or rewrite it as Parquet",
		}
	}
	have, err := t.schemaOf(ctx, f.SchemaID)
	if err != nil {
		return nil, err
	}
	byID := make(map[int]columnar.Field, len(have.Fields))
	for _, c := range have.Fields {
		byID[c.ID] = c
	}
	out := &fileReader{sequence: as.sequence, kinds: as.kinds, noDeletes: f.DeleteRowCount != nil && *f.DeleteRowCount == 0}
	if out.noDeletes && as.deletesOnly {
		out.kinds = false
	}
	var ask []columnar.Field
	if out.sequence {
		ask = append(ask, systemFields[0])
	}
	if out.kinds {
		ask = append(ask, systemFields[1])
	}
	casts := make([]*columnCast, len(wanted))
	for i, c := range wanted {
		old, ok := byID[c.ID]
		switch {
		case !ok:
			// No column has an empty name: this one reads as nulls.
			old = columnar.Field{Type: c.Type.AsNullable()}
		case c.Type.IsNested() && sameNested(old.Type, c.Type):
			old.Type = c.Type
		case c.Type.IsNested() || !old.Type.EqualIgnoreNull(c.Type):
			if err := checkCast(old.Type, c.Type); err != nil {
				return nil, fmt.Errorf("reading data file %s: column %s: %w", f.FileName, c.Name, err)
			}
			part, ok := stored(old.Type, c.Type)
			if !ok {
				old = columnar.Field{Type: c.Type.AsNullable()}
				break
			}
			old.Type = part
			casts[i] = &columnCast{name: c.Name, from: part, to: c.Type}
		}
		ask = append(ask, old)
	}
	out.path, out.casts = path, casts
	opts := format.ReadOptions{}
	if as.mem != nil {
		opts.Mem = as.mem
	}
	if opts.Filter, err = newGroupFilter(as.conds, have.Fields); err != nil {
		return nil, err
	}
	file, err := t.FS.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("opening data file %s: %w", path, err)
	}
	if out.r, err = datafile.Open(file, path, ask, opts); err != nil {
		return nil, err
	}
	out.placer, _ = out.r.(datafile.Placer)
	return out, nil
}

// fileReader gives the rows of one data file.
type fileReader struct {
	r    datafile.Reader
	path string
	// sequence and kinds say which system columns are read, before the others; noDeletes
	// that no row of the file is a retraction.
	sequence, kinds, noDeletes bool

	casts []*columnCast
	// placer is nil if all rows come; at is the number of rows given so far.
	placer datafile.Placer
	at     int64
	// zeros stand for the system columns that are not read.
	zeroSeq   []int64
	zeroKinds []int8
}

// columnCast is what reading an older column takes.
type columnCast struct {
	name     string
	from, to columnar.DataType
}

func (r *fileReader) Close() error { return r.r.Close() }

func (r *fileReader) Next() (*mergetree.Rows, error) {
	cols, n, err := r.r.Next()
	if err != nil {
		return nil, err
	}
	rows := &mergetree.Rows{Values: cols, NoDeletes: r.noDeletes}
	if r.placer != nil {
		if first := r.placer.FirstRow(); first != r.at {
			rows.Positions = make([]int64, n)
			for i := range rows.Positions {
				rows.Positions[i] = first + int64(i)
			}
		}
		r.at += int64(n)
	}
	if err := r.system(rows, cols, n); err != nil {
		rows.Release()
		return nil, err
	}
	for i, c := range r.casts {
		if c == nil {
			continue
		}
		var cast arrow.Array
		if cast, err = castArray(rows.Values[i], c.from, c.to); err != nil {
			rows.Release()
			return nil, &diag.Error{
				Domain: diag.User, Code: diag.CodeType, Msg: fmt.Sprintf("reading data file %s: column %s", r.path, c.name), Cause: err,
				Hint: "change the column back to a type that holds every stored value, or leave it out",
			}
		}
		rows.Values[i].Release()
		rows.Values[i] = cast
	}
	return rows, nil
}

// system takes the system columns from the front of cols.
func (r *fileReader) system(rows *mergetree.Rows, cols []arrow.Array, n int) error {
	read := 0
	if r.sequence {
		seq, ok := cols[read].(*array.Int64)
		if !ok || seq.NullN() > 0 {
			return corrupt(r.path, io.ErrUnexpectedEOF)
		}
		rows.Seq = seq.Int64Values()
		read++
	} else {
		if len(r.zeroSeq) < n {
			r.zeroSeq = make([]int64, n)
		}
		rows.Seq = r.zeroSeq[:n]
	}
	if r.kinds {
		kinds, ok := cols[read].(*array.Int8)
		if !ok || kinds.NullN() > 0 {
			return corrupt(r.path, io.ErrUnexpectedEOF)
		}
		rows.Kinds = kinds.Int8Values()
		read++
	} else {
		if len(r.zeroKinds) < n {
			r.zeroKinds = make([]int8, n)
		}
		rows.Kinds = r.zeroKinds[:n]
	}
	rows.System, rows.Values = cols[:read:read], cols[read:]
	return nil
}
