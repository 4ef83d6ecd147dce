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
	return func(ctx context.Context, f *spec.DataFileMeta) (mergetree.RowReader, error) {
		var rows rowSet
		if deleted != nil {
			var err error
			if rows, err = deleted(ctx, f.FileName); err != nil {
				return nil, err
			}
		}
		if rows == nil && expire == nil {
			return t.openFile(ctx, partition, bucket, f, wanted, system, conds)
		}
		return openFiltered(f.FileName, wanted, rows, expire, func(wanted []columnar.Field) (mergetree.RowReader, error) {
			return t.openFile(ctx, partition, bucket, f, wanted, system, conds)
		})
	}
}

// openFile opens a file as opener does; rows that do not meet conds may be left out.
func (t *Table) openFile(ctx context.Context, partition spec.BinaryRow, bucket int32, f *spec.DataFileMeta, wanted []columnar.Field, system bool, conds []condition) (mergetree.RowReader, error) {
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
	var ask []columnar.Field
	if system {
		ask = append(ask, systemFields...)
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
	filter, err := newGroupFilter(conds, have.Fields)
	if err != nil {
		return nil, err
	}
	file, err := t.FS.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("opening data file %s: %w", path, err)
	}
	r, err := datafile.Open(file, path, ask, format.ReadOptions{Filter: filter})
	if err != nil {
		return nil, err
	}
	placer, _ := r.(datafile.Placer)
	return &fileReader{r: r, path: path, system: system, casts: casts, placer: placer}, nil
}

// fileReader gives the rows of one data file.
type fileReader struct {
	r      datafile.Reader
	path   string
	system bool
	casts  []*columnCast
	// placer is nil if all rows come; at is the number of rows given so far.
	placer datafile.Placer
	at     int64
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
	rows := &mergetree.Rows{Values: cols}
	if r.placer != nil {
		if first := r.placer.FirstRow(); first != r.at {
			rows.Positions = make([]int64, n)
			for i := range rows.Positions {
				rows.Positions[i] = first + int64(i)
			}
		}
		r.at += int64(n)
	}
	if r.system {
		rows.System, rows.Values = cols[:2:2], cols[2:]
		seq, ok1 := cols[0].(*array.Int64)
		kinds, ok2 := cols[1].(*array.Int8)
		if !ok1 || !ok2 || seq.NullN() > 0 || kinds.NullN() > 0 {
			rows.Release()
			return nil, corrupt(r.path, io.ErrUnexpectedEOF)
		}
		rows.Seq, rows.Kinds = seq.Int64Values(), kinds.Int8Values()
	} else {
		rows.Seq, rows.Kinds = make([]int64, n), make([]int8, n)
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
