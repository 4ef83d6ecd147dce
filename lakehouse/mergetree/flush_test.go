package mergetree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse/format"
	"leat/lakehouse/format/datafile"
	"leat/lakehouse/spec"
)

func testLayout(t testing.TB) *Layout {
	t.Helper()
	l, err := NewLayout(&spec.TableSchema{
		ID: 3, PrimaryKeys: []string{"id"}, Options: map[string]string{},
		Fields: []columnar.Field{
			{ID: 0, Name: "text", Type: columnar.StringType()},
			{ID: 1, Name: "id", Type: columnar.Of(columnar.BigInt).NotNull()},
		},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// numbered makes a batch of rows whose ids begin with from and rise by step.
func numbered(l *Layout, from, step int64, rows int) *columnar.Batch {
	b := columnar.NewBuilders(memory.DefaultAllocator, l.Columns)
	for i := range int64(rows) {
		b[0].(*array.StringBuilder).Append(fmt.Sprint("row ", from+i*step))
		b[1].(*array.Int64Builder).Append(from + i*step)
	}
	cols := []arrow.Array{b[0].NewArray(), b[1].NewArray()}
	return columnar.NewBatch(l.Columns, nil, cols, rows)
}

func flushRows(t testing.TB, l *Layout, files Files, base int64, kind columnar.RowKind, batches ...*columnar.Batch) []spec.DataFileMeta {
	t.Helper()
	codec, err := l.Codec()
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuffer(codec)
	for n, batch := range batches {
		codec.Bind([]arrow.Array{batch.Cols[1]})
		keys := make([]uint64, batch.Rows())
		codec.Shorts(keys)
		for i, k := range keys {
			b.Add(k, nil, uint32(n), uint32(i), kind, false)
		}
	}
	res, err := FlushBuffer(t.Context(), l, b, batches, base, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.Files
}

// testReader reads files of the layout.
type testReader struct {
	r *format.Reader
}

func (r testReader) Close() error { return r.r.Close() }

func (r testReader) Next() (*Rows, error) {
	cols, _, err := r.r.Next()
	if err != nil {
		return nil, err
	}
	return &Rows{System: cols[:2], Values: cols[2:], Seq: cols[0].(*array.Int64).Int64Values(), Kinds: cols[1].(*array.Int8).Int8Values()}, nil
}

func openerOf(fs fileio.FS, l *Layout, dir string) Opener {
	fields := append(slices.Clone(l.Fields[len(l.Keys):len(l.Keys)+systemFields]), l.Columns.Fields...)
	return func(ctx context.Context, f *spec.DataFileMeta) (RowReader, error) {
		file, err := fs.Open(ctx, fs.Join(dir, f.FileName))
		if err != nil {
			return nil, err
		}
		r, err := format.OpenReader(file, f.FileName, fields, format.ReadOptions{BatchRows: 1000})
		if err != nil {
			return nil, err
		}
		return testReader{r}, nil
	}
}

func testFiles(fs fileio.FS, target int64) Files {
	return Files{FS: fs, Dir: "/b", Prefix: "data-", Attempt: "x", Counter: new(atomic.Int64), TargetSize: target, Format: datafile.ByLevel{Options: datafile.Options{Options: format.Options{Compression: "uncompressed"}}}}
}

func TestFilesRollAtTheTargetSize(t *testing.T) {
	t.Parallel()
	l, fs := testLayout(t), crashfs.New()
	files := flushRows(t, l, testFiles(fs, 100_000), 50, columnar.Insert, numbered(l, 0, 2, 30_000), numbered(l, 1, 2, 30_000))
	if len(files) < 5 {
		t.Fatalf("%d files, want several of 100 kB", len(files))
	}
	order := NewKeyOrder(l.KeyTypes())
	var rows, next int64
	for i, f := range files {
		rows += f.RowCount
		lo, err1 := f.MinKey.Int64(0, l.KeyTypes()[0])
		hi, err2 := f.MaxKey.Int64(0, l.KeyTypes()[0])
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if lo != next || hi-lo+1 != f.RowCount {
			t.Errorf("file %d has %d keys from %d to %d, want them from %d on", i, f.RowCount, lo, hi, next)
		}
		next = hi + 1
		if i > 0 && order.Compare(files[i-1].MaxKey, f.MinKey) >= 0 {
			t.Errorf("file %d overlaps the one before", i)
		}
		if f.SchemaID != 3 || f.Level != 0 || *f.DeleteRowCount != 0 || *f.FileSource != spec.SourceAppend || f.MinSequenceNumber < 50 {
			t.Errorf("file %d is described as %+v", i, f)
		}
	}
	if rows != 60_000 {
		t.Errorf("%d rows, want 60000", rows)
	}
}

// TestCompactMergesRewritesAndUpgrades has overlapping, small, large and deleted rows in one unit.
func TestCompactMergesRewritesAndUpgrades(t *testing.T) {
	t.Parallel()
	l, fs := testLayout(t), crashfs.New()
	order := NewKeyOrder(l.KeyTypes())
	out := testFiles(fs, 1<<20)
	large := flushRows(t, l, out, 0, columnar.Insert, numbered(l, 1_000_000, 1, 9000))
	overlapA := flushRows(t, l, out, 10_000, columnar.Insert, numbered(l, 0, 1, 1000))
	overlapB := flushRows(t, l, out, 20_000, columnar.UpdateAfter, numbered(l, 500, 1, 1000))
	gone := flushRows(t, l, out, 30_000, columnar.Delete, numbered(l, 0, 1, 100))
	in := slices.Concat(large, overlapA, overlapB, gone)
	out.TargetSize = large[0].FileSize
	c, err := Compact(t.Context(), l, order, Unit{Output: 5, Files: in, MaxLevel: true, DropDelete: true}, out, openerOf(fs, l, "/b"), CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if names(c.Before) != names(slices.Concat(overlapA, gone, overlapB, large)) && len(c.Before) != 4 {
		t.Errorf("inputs %q", names(c.Before))
	}
	if len(c.After) != 2 {
		t.Fatalf("results %q, want a merged file and the upgraded one", names(c.After))
	}
	merged, upgraded := c.After[0], c.After[1]
	if upgraded.FileName != large[0].FileName || upgraded.Level != 5 || *upgraded.FileSource != spec.SourceAppend || upgraded.RowCount != large[0].RowCount {
		t.Errorf("upgraded file is %+v", upgraded)
	}
	if merged.RowCount != 1400 || merged.Level != 5 || *merged.FileSource != spec.SourceCompact || *merged.DeleteRowCount != 0 {
		t.Errorf("merged file has %d rows at level %d, want 1400 at 5", merged.RowCount, merged.Level)
	}
	m, err := MergeRuns(t.Context(), l.Columns, l.Keys, []Run{{Files: c.After}}, nil, openerOf(fs, l, "/b"), MergeOptions{DropDelete: true, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	want := int64(100)
	for {
		rows, err := m.Next(777)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows.Len() {
			if want == 1500 {
				want = 1_000_000
			}
			id := rows.Values[1].(*array.Int64).Value(i)
			kind := columnar.Insert
			if id >= 500 && id < 1500 {
				kind = columnar.UpdateAfter
			}
			if id != want || columnar.RowKind(rows.Kinds[i]) != kind || rows.Values[0].(*array.String).Value(i) != fmt.Sprint("row ", id) {
				t.Fatalf("row %d of kind %d, want %d of kind %s", id, rows.Kinds[i], want, kind)
			}
			want++
		}
	}
	if want != 1_009_000 {
		t.Errorf("rows end before %d", want)
	}
}

func TestDeletesStayAboveOlderLevels(t *testing.T) {
	t.Parallel()
	l, fs := testLayout(t), crashfs.New()
	out := testFiles(fs, 1<<20)
	a := flushRows(t, l, out, 0, columnar.Insert, numbered(l, 0, 1, 10))
	b := flushRows(t, l, out, 10, columnar.Delete, numbered(l, 0, 1, 5))
	c, err := Compact(t.Context(), l, NewKeyOrder(l.KeyTypes()), Unit{Output: 3, Files: slices.Concat(a, b)}, out, openerOf(fs, l, "/b"), CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.After) != 1 || c.After[0].RowCount != 10 || *c.After[0].DeleteRowCount != 5 {
		t.Errorf("result %+v, want 10 rows, 5 of them deletes", c.After)
	}
}

func TestFailedCompactionLeavesNoFile(t *testing.T) {
	t.Parallel()
	l, fs := testLayout(t), crashfs.New()
	out := testFiles(fs, 1)
	in := slices.Concat(
		flushRows(t, l, out, 0, columnar.Insert, numbered(l, 0, 1, 20_000)),
		flushRows(t, l, out, 20_000, columnar.Insert, numbered(l, 0, 1, 20_000)))
	before, err := fs.List(t.Context(), "/b")
	if err != nil {
		t.Fatal(err)
	}
	open := openerOf(fs, l, "/b")
	opened := 0
	out.TargetSize = 1 << 30
	_, err = Compact(t.Context(), l, NewKeyOrder(l.KeyTypes()), Unit{Output: 5, Files: in}, out, func(ctx context.Context, f *spec.DataFileMeta) (RowReader, error) {
		if opened++; opened == len(in) {
			return nil, errors.New("disk gone")
		}
		return open(ctx, f)
	}, CompactOptions{})
	if err == nil {
		t.Fatal("no error")
	}
	after, err := fs.List(t.Context(), "/b")
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != len(before) {
		t.Errorf("%d files, %d before", len(after), len(before))
	}
}

func TestAllocsOfGather(t *testing.T) {
	l := testLayout(t)
	batches := []*columnar.Batch{numbered(l, 0, 1, 8192), numbered(l, 0, 1, 8192)}
	refs := make([]rowRef, chunkRows)
	for i := range refs {
		refs[i] = rowRef{batch: uint32(i & 1), row: uint32(i)}
	}
	for c, f := range l.Columns.Fields {
		g, err := newGatherer(f.Type, false)
		if err != nil {
			t.Fatal(err)
		}
		g.bind([]arrow.Array{batches[0].Cols[c], batches[1].Cols[c]})
		g.gather(refs)
		allocs := testing.AllocsPerRun(20, func() { g.gather(refs).Release() })
		if allocs > 10 {
			t.Errorf("column %s: %v allocations for %d rows, want at most the 10 of an array's frame", f.Name, allocs, len(refs))
		}
	}
}
