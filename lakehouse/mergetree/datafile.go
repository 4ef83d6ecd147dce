package mergetree

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/lakehouse/format"
	"leat/lakehouse/format/datafile"
	"leat/lakehouse/spec"
)

// Files says where and how the files of a bucket are written.
type Files struct {
	FS fileio.FS
	// Dir is the bucket's directory.
	Dir string
	// Prefix is data- or changelog-; Attempt and Counter make names unique.
	Prefix  string
	Attempt string
	Counter *atomic.Int64
	Format  datafile.ByLevel
	// Avro writes Avro files whatever Format says.
	Avro bool
	// TargetSize is the size in bytes at which the next file is begun.
	TargetSize int64
	// Confirm runs the commit of a finished file; nil runs it as it is.
	Confirm func(commit func() error) error
}

func (f *Files) nextName(extension string) string {
	return spec.DataFileName(f.Prefix, f.Attempt, f.Counter.Add(1)-1, extension)
}

// options says how files of a level are written.
func (f *Files) options(level int32) datafile.Options {
	o := f.Format.At(level)
	if f.Avro {
		o.Format, o.Compression = datafile.Avro, ""
	}
	return o
}

// chunk is a run of rows in key order, ready to be written.
type chunk struct {
	rows   int
	seq    []int64
	kinds  []int8
	values []arrow.Array
}

// fileWriter writes a sorted stream of chunks into one or more files.
type fileWriter struct {
	layout *Layout
	files  Files
	level  int32
	source spec.FileSource
	format datafile.Options
	stats  []spec.StatsMode
	keys   *spec.RowEncoder
	done   []spec.DataFileMeta

	out    fileio.Writer
	name   string
	w      datafile.Writer
	cols   []arrow.Array
	minKey spec.BinaryRow
	maxKey spec.BinaryRow
	minSeq int64
	maxSeq int64
	dels   int64
}

func newFileWriter(l *Layout, files Files, level int32, source spec.FileSource, stats StatsPlan) (*fileWriter, error) {
	keys, err := spec.NewRowEncoder(l.Columns, l.Keys)
	if err != nil {
		return nil, err
	}
	opts := files.options(level)
	opts.Distinct = l.distinct()
	modes := stats.modes(l, level, opts.Format)
	opts.Unbounded = l.unbounded(modes)
	return &fileWriter{layout: l, files: files, level: level, source: source, format: opts, stats: modes, keys: keys}, nil
}

// write appends c, which is not kept.
func (w *fileWriter) write(ctx context.Context, c *chunk) error {
	if c.rows == 0 {
		return nil
	}
	if w.w == nil {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	w.note(c)
	w.cols = w.cols[:0]
	if !w.layout.Append {
		w.addSystemColumns(c)
	}
	w.cols = append(w.cols, c.values...)
	if err := w.w.WriteBatch(w.cols, c.rows); err != nil {
		return fmt.Errorf("writing data file %s: %w", w.name, err)
	}
	if w.w.Size() >= w.files.TargetSize {
		return w.finish(ctx)
	}
	return nil
}

func (w *fileWriter) addSystemColumns(c *chunk) {
	if !w.layout.Thin {
		for _, k := range w.layout.Keys {
			w.cols = append(w.cols, c.values[k])
		}
	}
	w.cols = append(w.cols,
		sequenceArray(c.seq), kindArray(c.kinds))
}

func sequenceArray(seq []int64) arrow.Array {
	return array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, len(seq), []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(seq))}, nil, 0, 0))
}

func kindArray(kinds []int8) arrow.Array {
	return array.NewInt8Data(array.NewData(arrow.PrimitiveTypes.Int8, len(kinds), []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int8Traits.CastToBytes(kinds))}, nil, 0, 0))
}

// The system columns between the keys and the values of a file.
const (
	systemSequence = iota
	systemKind
)

// place says what column col of the file is: a system column, or a column of
// the table; the other is -1.
func (w *fileWriter) place(col int) (system, value int) {
	if w.layout.Append {
		return -1, col
	}
	if !w.layout.Thin {
		if col < len(w.layout.Keys) {
			return -1, w.layout.Keys[col]
		}
		col -= len(w.layout.Keys)
	}
	if col < systemFields {
		return col, -1
	}
	return -1, col - systemFields
}

// takesColumns reports whether rows of size bytes in memory are written column by
// column: they make one file, and one row group of it.
func (w *fileWriter) takesColumns(size int64) bool {
	block := w.format.BlockSize
	if block <= 0 {
		block = format.DefaultBlockSize
	}
	return (w.format.Format == "" || w.format.Format == datafile.Parquet) && size <= min(block, w.files.TargetSize)
}

// writeColumns writes all rows of a file that was begun.
func (w *fileWriter) writeColumns(ctx context.Context, rows int, give func(col int, put func(arrow.Array) error) error) error {
	cw, ok := w.w.(datafile.ColumnWriter)
	if !ok {
		return fmt.Errorf("writing data file %s: a %s file takes no columns", w.name, w.format.Format)
	}
	err := cw.WriteColumns(rows, func(col int, put func(arrow.Array) error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return give(col, put)
	})
	if err != nil {
		return fmt.Errorf("writing data file %s: %w", w.name, err)
	}
	return nil
}

func (w *fileWriter) begin(ctx context.Context) error {
	w.name = w.files.nextName(w.format.Format)
	out, err := w.files.FS.Create(ctx, w.files.FS.Join(w.files.Dir, w.name))
	if err != nil {
		return fmt.Errorf("creating data file %s: %w", w.name, err)
	}
	w.out = out
	if w.w, err = datafile.Create(out, w.layout.Fields, w.format); err != nil {
		return fmt.Errorf("creating data file %s: %w", w.name, err)
	}
	w.minKey, w.dels = spec.BinaryRow{}, 0
	return nil
}

// note keeps what the file's metadata needs of c.
func (w *fileWriter) note(c *chunk) {
	b := columnar.NewBatch(w.layout.Columns, nil, c.values, c.rows)
	if w.minKey.Data == nil {
		w.minKey = w.keys.Encode(b, 0).Clone()
		w.minSeq, w.maxSeq = c.seq[0], c.seq[0]
	}
	w.maxKey = w.keys.Encode(b, c.rows-1).Clone()
	w.keys.Unbind()
	for _, s := range c.seq {
		w.minSeq, w.maxSeq = min(w.minSeq, s), max(w.maxSeq, s)
	}
	for _, k := range c.kinds {
		if columnar.RowKind(k).Retracts() {
			w.dels++
		}
	}
}

// finish closes the file at hand, makes it durable and describes it.
func (w *fileWriter) finish(ctx context.Context) error {
	if w.w == nil {
		return nil
	}
	info, err := w.w.Close()
	if err != nil {
		return fmt.Errorf("closing data file %s: %w", w.name, err)
	}
	commit := func() error { return w.out.Commit(ctx) }
	if w.files.Confirm != nil {
		err = w.files.Confirm(commit)
	} else {
		err = commit()
	}
	if err != nil {
		return fmt.Errorf("committing data file %s: %w", w.name, err)
	}
	w.w, w.out = nil, nil
	created, dels, source := localMillis(time.Now()), w.dels, w.source
	meta := spec.DataFileMeta{
		FileName: w.name, FileSize: info.Size, RowCount: info.Rows, MinKey: w.minKey, MaxKey: w.maxKey,
		MinSequenceNumber: w.minSeq, MaxSequenceNumber: w.maxSeq, SchemaID: w.layout.SchemaID, Level: w.level,
		ExtraFiles: []string{}, CreationTimeMillis: &created, DeleteRowCount: &dels, FileSource: &source,
	}
	values := info.Stats[len(info.Stats)-len(w.layout.Columns.Fields):]
	meta.ValueStats, meta.ValueStatsCols = ValueStats(values, w.layout.Columns, w.stats, w.layout.Dense)
	if w.layout.Append {
		meta.MinKey, meta.MaxKey, meta.KeyStats = spec.EmptyRow(), spec.EmptyRow(), spec.EmptyStats()
		w.done = append(w.done, meta)
		return nil
	}
	keyStats := make([]spec.ColumnStats, len(w.layout.Keys))
	for i, k := range w.layout.Keys {
		keyStats[i] = StatsOf(values[k], w.layout.Columns.Fields[k].Type, spec.KeyStatsMode)
	}
	meta.KeyStats = spec.BuildStats(keyStats, w.layout.KeyTypes())
	w.done = append(w.done, meta)
	return nil
}

// abort removes the file at hand.
func (w *fileWriter) abort(ctx context.Context) {
	if w.out != nil {
		_ = w.out.Abort(context.WithoutCancel(ctx))
		w.out, w.w = nil, nil
	}
}

// StatsOf turns what a file knows of a column into statistics of a mode.
func StatsOf(s format.ColumnStats, t columnar.DataType, mode spec.StatsMode) spec.ColumnStats {
	c := spec.NewColumnStats(mode)
	c.Update(array.NewNull(int(s.Nulls)), t)
	if s.MinMax != nil {
		c.Update(s.MinMax, t)
	}
	return c
}

// ValueStats builds the value statistics of a file with these columns.
func ValueStats(stats []format.ColumnStats, columns *columnar.Schema, modes []spec.StatsMode, dense bool) (spec.SimpleStats, *[]string) {
	cols := make([]spec.ColumnStats, len(stats))
	types := make([]columnar.DataType, len(stats))
	for i, s := range stats {
		types[i] = columns.Fields[i].Type
		cols[i] = StatsOf(s, types[i], modes[i])
	}
	if dense {
		return spec.BuildDenseStats(cols, columns)
	}
	return spec.BuildStats(cols, types), nil
}

// localMillis is the wall clock of the process' zone, stored as if it were UTC: Paimon's _CREATION_TIME.
func localMillis(t time.Time) int64 {
	_, offset := t.Zone()
	return t.UnixMilli() + int64(offset)*1000
}
