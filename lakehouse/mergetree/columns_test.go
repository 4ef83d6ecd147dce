package mergetree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse/format"
	"leat/lakehouse/format/formattest"
	"leat/lakehouse/spec"
)

// change is one change of a drawn buffer.
type change struct {
	batch, row uint32
	kind       columnar.RowKind
	log, skip  bool
}

// drawBatches draws a table, some batches of it and changes in them, with keys in order or not.
func drawBatches(rt *rapid.T) (*Layout, []*columnar.Batch, []change) {
	g := formattest.Types{ID: 10}
	key := rapid.SampledFrom([]columnar.DataType{
		columnar.Of(columnar.BigInt), columnar.Of(columnar.Int), columnar.StringType(), columnar.Of(columnar.SmallInt),
		columnar.Of(columnar.Date), columnar.TimestampOf(3), columnar.Of(columnar.Float), columnar.Of(columnar.Double),
	}).Draw(rt, "key").NotNull()
	fields := []columnar.Field{{ID: 0, Name: "id", Type: key}}
	for i := range rapid.IntRange(1, 4).Draw(rt, "columns") {
		fields = append(fields, columnar.Field{ID: i + 1, Name: fmt.Sprintf("c%d", i), Type: g.Draw(rt, 1)})
	}
	l, err := NewLayout(&spec.TableSchema{ID: 1, PrimaryKeys: []string{"id"}, Options: map[string]string{}, Fields: fields}, false)
	if err != nil {
		rt.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 9))
	s := formattest.Values{Rand: rnd, Entries: 2, Few: rapid.Bool().Draw(rt, "few"), Nulls: rapid.SampledFrom([]float64{0, 0.3}).Draw(rt, "nulls")}
	ordered, plain := rapid.Bool().Draw(rt, "ordered"), rapid.Bool().Draw(rt, "inserts alone")
	logged := rapid.SampledFrom([]int{1, 8}).Draw(rt, "one in so many for the changelog")
	span := rapid.SampledFrom([]int{5, 1_000_000}).Draw(rt, "keys")
	var batches []*columnar.Batch
	var changes []change
	id := 0
	for n := range rapid.IntRange(1, 4).Draw(rt, "batches") {
		rows := rapid.SampledFrom([]int{1, 10, 300}).Draw(rt, "rows")
		cols := s.Columns(fields, rows+2)
		b := array.NewBuilder(arrowPool, columnar.ArrowType(key))
		for range rows + 2 {
			id++
			v := id
			if !ordered {
				v = rnd.IntN(span)
			}
			switch b := b.(type) {
			case *array.Int64Builder:
				b.Append(int64(v) - 100)
			case *array.Int32Builder:
				b.Append(int32(v) - 100)
			case *array.Int16Builder:
				b.Append(int16(v) - 100)
			case *array.Date32Builder:
				b.Append(arrow.Date32(v - 100))
			case *array.TimestampBuilder:
				b.Append(arrow.Timestamp(v - 100))
			case *array.Float32Builder:
				b.Append(float32(v) - 100)
			case *array.Float64Builder:
				b.Append(float64(v) - 100)
			case *array.StringBuilder:
				b.Append(fmt.Sprintf("key %09d", v)[:10+v%4])
			}
		}
		cols[0] = b.NewArray()
		for i := range cols {
			cols[i] = array.NewSlice(cols[i], 1, int64(rows+1))
		}
		batches = append(batches, columnar.NewBatch(l.Columns, nil, cols, rows))
		for row := range uint32(rows) {
			c := change{batch: uint32(n), row: row}
			if !plain {
				c.kind, c.log, c.skip = columnar.RowKind(rnd.IntN(4)), rnd.IntN(logged) == 0, rnd.IntN(8) == 0
			}
			if rnd.IntN(4) > 0 {
				changes = append(changes, c)
			}
		}
	}
	return l, batches, changes
}

func bufferOf(rt *rapid.T, l *Layout, batches []*columnar.Batch, changes []change) *Buffer {
	codec, err := l.Codec()
	if err != nil {
		rt.Fatal(err)
	}
	b := NewBuffer(codec)
	for _, c := range changes {
		if c.skip {
			b.Skip()
			continue
		}
		codec.Bind([]arrow.Array{batches[c.batch].Cols[0]})
		if !codec.Short {
			b.Add(0, codec.Append(nil, int(c.row)), c.batch, c.row, c.kind, c.log)
			continue
		}
		keys := make([]uint64, batches[c.batch].Rows())
		codec.Shorts(keys)
		if c.kind == columnar.Insert && !c.log {
			b.AddInsert(keys[c.row], c.batch, c.row)
			continue
		}
		b.Add(keys[c.row], nil, c.batch, c.row, c.kind, c.log)
	}
	return b
}

// TestFlushByColumnsEqualsByChunks flushes the same changes both ways, with a changelog or without.
func TestFlushByColumnsEqualsByChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l, batches, changes := drawBatches(rt)
		log := rapid.Bool().Draw(rt, "changelog")
		fs := crashfs.New()
		flush := func(dir string, target int64) []spec.DataFileMeta {
			files := testFiles(fs, target)
			files.Dir = dir
			var changelog *Files
			if log {
				c := files
				c.Prefix = "changelog-"
				changelog = &c
			}
			res, err := FlushBuffer(rt.Context(), l, bufferOf(rt, l, batches, changes), batches, 7, files, changelog)
			if err != nil {
				rt.Fatal(err)
			}
			if rows, want := rowsOf(res.Files), survivors(rt, l, batches, changes); rows != want {
				rt.Fatalf("%d rows, want one for each of %d keys", rows, want)
			}
			return slices.Concat(res.Files, res.Changelog)
		}
		columns, chunks := flush("/columns", 1<<30), flush("/chunks", 1)
		ignore := cmpopts.IgnoreFields(spec.DataFileMeta{}, "FileName", "FileSize", "CreationTimeMillis")
		if d := cmp.Diff(chunks, columns, ignore); d != "" {
			rt.Fatalf("files by chunks and by columns differ (-chunks +columns):\n%s", d)
		}
		for i := range chunks {
			want, got := readAll(rt, fs, "/chunks", chunks[i].FileName, l.Fields), readAll(rt, fs, "/columns", columns[i].FileName, l.Fields)
			for c := range want {
				if !formattest.Same(want[c], got[c]) {
					rt.Fatalf("file %d, column %s of type %s:\nby chunks  %v\nby columns %v", i, l.Fields[c].Name, l.Fields[c].Type, want[c], got[c])
				}
			}
		}
	})
}

func rowsOf(files []spec.DataFileMeta) (n int64) {
	for i := range files {
		n += files[i].RowCount
	}
	return n
}

// survivors counts the keys of changes that are not for the changelog alone.
func survivors(rt *rapid.T, l *Layout, batches []*columnar.Batch, changes []change) int64 {
	codec, err := l.Codec()
	if err != nil {
		rt.Fatal(err)
	}
	keys := map[string]bool{}
	for _, c := range changes {
		if !c.skip && !c.log {
			codec.Bind([]arrow.Array{batches[c.batch].Cols[0]})
			keys[string(codec.Append(nil, int(c.row)))] = true
		}
	}
	return int64(len(keys))
}

func readAll(rt *rapid.T, fs *crashfs.FS, dir, name string, fields []columnar.Field) []arrow.Array {
	f, err := fs.Open(rt.Context(), fs.Join(dir, name))
	if err != nil {
		rt.Fatal(err)
	}
	r, err := format.OpenReader(f, name, fields, format.ReadOptions{BatchRows: 10_000})
	if err != nil {
		rt.Fatal(err)
	}
	defer r.Close()
	cols, _, err := r.Next()
	if err != nil {
		rt.Fatal(err)
	}
	return cols
}
