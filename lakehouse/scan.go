package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// splitBytes is about how many bytes of files one split has (option source.split.target-size).
const splitBytes = 128 << 20

// scanRows is the number of rows of a batch that comes out of a merge.
const scanRows = 8192

// ScanOptions say what to read; the zero value is all of the latest snapshot.
type ScanOptions struct {
	// Snapshot is the snapshot's id; 0 means the latest.
	Snapshot int64
	// Columns are the columns wanted, in order; nil means all.
	Columns []string
	// Partition picks partitions; nil takes all.
	Partition func(partition spec.BinaryRow) bool
	// At is read in place of a snapshot by id: what a tag holds. Snapshot is ignored then.
	At *spec.Snapshot
	// File picks files; nil takes all.
	File func(*spec.ManifestEntry) bool
	// Travel picks the state to read where At and Snapshot do not.
	Travel Travel
	// Where are conditions that all rows wanted meet. Files and buckets that hold no
	// such row are left out, and stripes and row groups within files of ORC and Parquet;
	// the rows that come are not filtered.
	Where []Condition
	// Today reads any snapshot with the table's schema in place of its own.
	Today bool
	// KeepDeletes gives deleted rows too; every batch has kinds then.
	KeepDeletes bool
	// Level0 reads level 0 too where readers see only what compactions have looked at.
	Level0 bool
	// AllMeet merges all files of a bucket with each other: the ranges of their keys,
	// which are of another type than the table's, tell nothing.
	AllMeet bool
}

// Plan is what a scan reads: independent splits of one snapshot.
type Plan struct {
	// Snapshot is nil if the table has none; there are no splits then.
	Snapshot *spec.Snapshot
	// Schema is the columns that the splits give.
	Schema *columnar.Schema
	Splits []Split
	// AllFiles counts the files, and AllBytes their bytes, that the snapshot has and of
	// which the splits are what conditions leave.
	AllFiles int
	AllBytes int64

	t *Table
	// columns are those read: Schema's, then key columns needed to merge; keys are the key's positions.
	columns *columnar.Schema
	keys    []int
	// keepDeletes is ScanOptions.KeepDeletes; keepKinds gives rows their stored kinds
	// where deleted ones are left out.
	keepDeletes, keepKinds bool
	allMeet                bool // ScanOptions.AllMeet
	// engine merges the rows of columns; nil is plain deduplicate. skipLevel0 leaves
	// out what no compaction has looked at.
	engine     *mergetree.Engine
	skipLevel0 bool
	// deleted are the deletion vectors by data file; alone says that files need no
	// merge: vectors have deleted what younger files hold.
	deleted map[string]vectorRef
	alone   bool
	// conds are what the rows wanted meet; keyConds those of them on key columns,
	// by which rows may be left out below a merge.
	conds, keyConds []condition
	// mem is the memory of the rows read: of files always, of batches given out until their release.
	mem *columnar.Pool
}

// Split is a part of a bucket that can be read by itself.
type Split struct {
	Partition spec.BinaryRow
	Bucket    int32
	// Files counts the files, Rows the rows in them, before merging, and Bytes their size.
	Files int
	Rows  int64
	Bytes int64

	sections [][]mergetree.Run
}

// ScanPlan plans the read of a snapshot. A snapshot named by id is read with
// the schema it was made with, the latest one with the table's.
func (t *Table) ScanPlan(ctx context.Context, o ScanOptions) (*Plan, error) {
	s, err := o.At, error(nil)
	if s == nil && o.Snapshot == 0 && o.Travel != (Travel{}) {
		s, err = t.Resolve(ctx, o.Travel)
		o.At = s
	}
	if s == nil && err == nil {
		s, err = t.snapshotOf(ctx, o.Snapshot)
	}
	if err != nil {
		return nil, err
	}
	p, err := t.newPlan(ctx, s, o)
	if err != nil || s == nil {
		return p, err
	}
	entries, err := t.manifests.Live(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("reading table %s: %w", t.Path, err)
	}
	p.AllFiles = len(entries)
	for i := range entries {
		p.AllBytes += entries[i].File.FileSize
	}
	if o.Partition != nil {
		entries = slices.DeleteFunc(entries, func(e spec.ManifestEntry) bool { return !o.Partition(e.Partition) })
	}
	if o.File != nil {
		entries = slices.DeleteFunc(entries, func(e spec.ManifestEntry) bool { return !o.File(&e) })
	}
	if len(o.Where) > 0 {
		if entries, err = p.prune(ctx, entries, o.Where); err != nil {
			return nil, err
		}
	}
	if p.deleted, err = t.vectorRefs(ctx, s, nil); err != nil {
		return nil, err
	}
	for i := range entries {
		if ref, ok := p.deleted[entries[i].File.FileName]; ok {
			ref.rows = entries[i].File.RowCount
			p.deleted[entries[i].File.FileName] = ref
		}
	}
	for _, b := range byBucket(entries) {
		p.addBucket(b)
	}
	return p, nil
}

func (t *Table) snapshotOf(ctx context.Context, id int64) (*spec.Snapshot, error) {
	if id == 0 {
		return t.LatestSnapshot(ctx)
	}
	return t.Snapshot(ctx, id)
}

func (t *Table) newPlan(ctx context.Context, s *spec.Snapshot, o ScanOptions) (*Plan, error) {
	schema := t.Schema
	if (o.Snapshot != 0 || o.At != nil) && s != nil && !o.Today {
		var err error
		if schema, err = t.schemaOf(ctx, s.SchemaID); err != nil {
			return nil, err
		}
	}
	p := &Plan{Snapshot: s, t: t, Schema: schema.Columns(), keepDeletes: o.KeepDeletes, allMeet: o.AllMeet, mem: columnar.NewPool()}
	if o.Columns != nil {
		idx := make([]int, len(o.Columns))
		for i, c := range o.Columns {
			if idx[i] = schema.Index(c); idx[i] < 0 {
				return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnknownColumn, Table: t.Path, Msg: fmt.Sprintf("there is no column %s", c), Hint: "check the column names"}
			}
		}
		p.Schema = schema.Columns().Project(idx)
	}
	p.columns = &columnar.Schema{Fields: slices.Clone(p.Schema.Fields)}
	if len(schema.PrimaryKeys) == 0 {
		return p, nil
	}
	for _, k := range schema.TrimmedPrimaryKeys() {
		i := p.columns.Index(k)
		if i < 0 {
			i = len(p.columns.Fields)
			p.columns.Fields = append(p.columns.Fields, schema.Fields[schema.Index(k)])
		}
		p.keys = append(p.keys, i)
	}
	err := p.bindEngine(schema)
	if o.Level0 {
		p.alone, p.skipLevel0 = false, false
	}
	return p, err
}

// bindEngine compiles the merge of the plan's columns as the options of schema want it.
func (p *Plan) bindEngine(schema *spec.TableSchema) error {
	o := p.t.Options
	if schema != p.t.Schema {
		var err error
		if o, err = parseOptions(p.t.Path, schema); err != nil {
			return err
		}
	}
	p.alone = o.DeletionVectors
	p.skipLevel0 = o.DeletionVectors || o.Engine != nil && o.Engine.Kind == mergetree.FirstRow
	if o.Engine == nil {
		return nil
	}
	for _, c := range o.Engine.Needs(p.columns.Names()) {
		if i := schema.Index(c); i >= 0 {
			p.columns.Fields = append(p.columns.Fields, schema.Fields[i])
		}
	}
	var err error
	if p.engine, err = o.Engine.Bind(p.columns, p.keys); err != nil {
		return p.t.engineError(err)
	}
	return nil
}

// addBucket makes the splits of one bucket's files.
func (p *Plan) addBucket(entries []spec.ManifestEntry) {
	e := &entries[0]
	files := make([]spec.DataFileMeta, len(entries))
	for i := range entries {
		files[i] = entries[i].File
	}
	if p.skipLevel0 {
		files = slices.DeleteFunc(files, func(f spec.DataFileMeta) bool { return f.Level == 0 })
	}
	var sections [][]mergetree.Run
	if p.keys == nil || p.alone {
		if p.t.mode() == fixedBuckets {
			mergetree.SortByArrival(files)
		}
		for _, f := range files {
			sections = append(sections, []mergetree.Run{{Files: []spec.DataFileMeta{f}}})
		}
	} else if p.allMeet {
		runs := make([]mergetree.Run, len(files))
		for i, f := range files {
			runs[i].Files = []spec.DataFileMeta{f}
		}
		sections = append(sections, runs)
	} else {
		types := make([]columnar.DataType, len(p.keys))
		for i, k := range p.keys {
			types[i] = p.columns.Fields[k].Type
		}
		sections = mergetree.Sections(files, mergetree.NewKeyOrder(types))
	}
	split := Split{Partition: e.Partition, Bucket: e.Bucket}
	var size int64
	for _, s := range sections {
		if size >= splitBytes {
			p.Splits = append(p.Splits, split)
			split, size = Split{Partition: e.Partition, Bucket: e.Bucket}, 0
		}
		split.sections = append(split.sections, s)
		for i := range s {
			size += s[i].Size()
			for k := range s[i].Files {
				split.Files++
				split.Rows += s[i].Files[k].RowCount
				split.Bytes += s[i].Files[k].FileSize
			}
		}
	}
	p.Splits = append(p.Splits, split)
}

// Scan gives the rows of a snapshot to each, split by split. The batches are
// released after each returns, and their memory is used again: arrays that are to
// be kept are retained, texts of them copied.
func (t *Table) Scan(ctx context.Context, o ScanOptions, each func(*columnar.Batch) error) error {
	p, err := t.ScanPlan(ctx, o)
	if err != nil {
		return err
	}
	return p.Scan(ctx, each)
}

// Scan gives the rows of all splits to each, split by split. The batches are
// released after each returns.
func (p *Plan) Scan(ctx context.Context, each func(*columnar.Batch) error) error {
	for i := range p.Splits {
		if err := p.ReadSplit(ctx, &p.Splits[i], each); err != nil {
			return err
		}
	}
	return nil
}

// ReadSplit gives the rows of one split to each, which may run beside those of others.
// The batches are released after each returns.
func (p *Plan) ReadSplit(ctx context.Context, s *Split, each func(*columnar.Batch) error) (err error) {
	r := p.Read(ctx, s)
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = each(b)
		b.Release()
		if err != nil {
			return err
		}
	}
}

// ReadChangelog gives the changes that snapshot id brought, with their kinds,
// to each: the rows of its changelog files or, where the table keeps none,
// those of the files that an APPEND snapshot added. The batches are released
// after each returns.
func (t *Table) ReadChangelog(ctx context.Context, id int64, each func(*columnar.Batch) error) error {
	s, err := t.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	schema, err := t.schemaOf(ctx, s.SchemaID)
	if err != nil {
		return err
	}
	var entries []spec.ManifestEntry
	switch {
	case t.Options.ChangelogProducer != ChangelogNone:
		if s.ChangelogManifestList == nil {
			return nil
		}
		metas, err := t.manifests.List(ctx, *s.ChangelogManifestList)
		if err != nil {
			return fmt.Errorf("reading changelog of table %s: %w", t.Path, err)
		}
		if entries, err = t.manifests.Read(ctx, metas); err != nil {
			return fmt.Errorf("reading changelog of table %s: %w", t.Path, err)
		}
	case s.CommitKind == spec.Append:
		if entries, err = t.manifests.Delta(ctx, s); err != nil {
			return fmt.Errorf("reading changes of table %s: %w", t.Path, err)
		}
	}
	for i := range entries {
		if e := &entries[i]; e.Kind == spec.Add && e.Bucket >= 0 {
			if err := t.readChanges(ctx, schema, e, each); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Table) readChanges(ctx context.Context, schema *spec.TableSchema, e *spec.ManifestEntry, each func(*columnar.Batch) error) (err error) {
	r, err := t.openFile(ctx, e.Partition, e.Bucket, &e.File, schema.Fields, len(schema.PrimaryKeys) > 0, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		rows, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		kinds := make([]columnar.RowKind, rows.Len())
		for i, k := range rows.Kinds {
			kinds[i] = columnar.RowKind(k)
		}
		b := columnar.NewBatch(schema.Columns(), kinds, append([]arrow.Array(nil), rows.Values...), rows.Len())
		for _, a := range rows.System {
			a.Release()
		}
		err = each(b)
		b.Release()
		if err != nil {
			return err
		}
	}
}
