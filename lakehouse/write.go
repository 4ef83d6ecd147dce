package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/format/avro"
	"leat/lakehouse/format/datafile"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// WriteConfig is what a Writer gets from the job.
type WriteConfig struct {
	// Attempt is the uuid in all names of files that this writer makes. Writers with
	// the same Attempt share their Pool, which numbers the files.
	Attempt string
	// User is the commit user, for messages.
	User string
	// Budget and Pool are shared by all writers of a process.
	Budget *MemoryBudget
	Pool   *WorkPool
	Log    *slog.Logger
	// IndexBudget is the memory in bytes that the index of the keys of a table
	// without fixed buckets may take; 0 means DefaultIndexBudget. Where Scratch is
	// set, what is more goes there.
	IndexBudget int64
	// Scratch is a folder of a local disk for what the writer keeps beside memory:
	// rows that compactions look up, and the index of keys beyond IndexBudget. The
	// writer makes and removes folders of its own in it; whoever gives the folder
	// empties it after a crash. "" keeps everything in memory.
	Scratch string
	// Replace says that the first commit overwrites the table: its keys count as unknown.
	Replace bool
	// Anew says that what is written replaces what its partitions hold, which is
	// not looked at then.
	Anew bool
	// Claim is asked before a partition, given as its path, gets its first file of
	// this writer ("" for a table without partitions); its error ends the writer.
	// It may be asked again. nil claims nothing.
	Claim func(partition string) error
	// Partition picks the partitions that Compact works on; nil takes all.
	Partition func(spec.BinaryRow) bool
}

// Writer turns change batches into data files of one table. Write, Prepare and
// Committed are called by one goroutine at a time each; Committed may run
// beside the others.
type Writer struct {
	t      *Table
	cfg    WriteConfig
	log    *slog.Logger
	layout *mergetree.Layout
	order  *mergetree.KeyOrder
	router *router
	// lastFull is when everything was compacted, or the writer opened; only lift uses it.
	lastFull time.Time
	// lookups is nil where compactions read files whole.
	lookups *lookupFiles

	// openBytes is guarded by cfg.Budget.
	openBytes int64

	ctx    context.Context //nolint:containedctx // ends the work in the background when the writer is closed
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	buckets map[bucketID]*bucket
	// batches and touched are the rows not frozen yet and the buckets they are in.
	batches []*columnar.Batch
	touched []*bucket
	// entryBytes is the memory of the buffers alone.
	entryBytes int64
	// chunks were frozen since the last Prepare; lastChunk and lastPrepared order the work in the background.
	chunks       []*frozen
	lastChunk    *frozen
	lastPrepared *Prepared
	// epoch counts calls of Prepare, to find idle buckets.
	epoch int64
	// snapshot is the newest snapshot known to be in the trees; up to looked,
	// commits of others were looked for.
	snapshot, looked int64
	// compacting counts compactions under way; compacted is closed and renewed whenever one ends.
	compacting int
	compacted  chan struct{}
	err        error
	closed     bool
}

// NewWriter opens t for writing; it fails for tables whose options leat cannot
// honour when writing. The latest snapshot is read, no file is made yet.
func (t *Table) NewWriter(ctx context.Context, cfg WriteConfig) (*Writer, error) {
	if err := t.checkWritable(); err != nil {
		return nil, err
	}
	if cfg.Budget == nil {
		cfg.Budget = NewMemoryBudget(0)
	}
	if cfg.Pool == nil {
		cfg.Pool = NewWorkPool(1)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	layout, err := t.layout()
	if err != nil {
		return nil, err
	}
	if t.mode() == postponedBuckets {
		layout.Postponed = true
		layout.Stats = mergetree.NoStats()
	}
	r, err := newRouter(t, layout)
	if err != nil {
		return nil, err
	}
	s, err := t.LatestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		t: t, cfg: cfg, log: cfg.Log.With("table", t.Path), layout: layout, router: r,
		order: mergetree.NewKeyOrder(layout.KeyTypes()), buckets: map[bucketID]*bucket{}, compacted: make(chan struct{}), lastFull: time.Now(),
	}
	if s != nil {
		w.snapshot = s.ID
	}
	if cfg.Scratch != "" {
		w.lookups = newLookupFiles(t, layout, filepath.Join(cfg.Scratch, "lookup-"+uuid.NewString()), w.log)
	}
	if err := w.openIndex(ctx, s); err != nil {
		return nil, err
	}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	cfg.Budget.register(w)
	return w, nil
}

// openIndex reads the index of the keys of a table without fixed buckets, as of s.
func (w *Writer) openIndex(ctx context.Context, s *spec.Snapshot) (err error) {
	budget := w.cfg.IndexBudget
	if budget <= 0 {
		budget = DefaultIndexBudget
	}
	if w.cfg.Replace {
		s = nil
	}
	dir := ""
	if w.cfg.Scratch != "" {
		dir = filepath.Join(w.cfg.Scratch, "keys-"+uuid.NewString())
	}
	switch w.t.mode() {
	case dynamicBuckets:
		w.router.dynamic, err = newHashIndexes(ctx, w.t, s, budget, dir, w.log)
	case crossPartition:
		if w.router.keyIndex, err = newKeyIndex(w.t, budget, dir, w.log); err != nil {
			return err
		}
		if err = w.router.keyIndex.load(ctx, s); err != nil {
			err = errors.Join(err, w.router.keyIndex.close(ctx))
		}
	default:
	}
	return err
}

func (t *Table) checkWritable() error {
	refuse := func(option, msg, hint string) error {
		return &diag.Error{Domain: diag.User, Code: diag.CodeRefusedOption, Table: t.Path, Option: option, Msg: msg, Hint: hint}
	}
	if err := t.Options.Files.check(t.Path, t.Schema); err != nil {
		return err
	}
	if v, ok := t.Schema.Options["manifest.format"]; ok && !strings.EqualFold(v, datafile.Avro) {
		return refuse("manifest.format", "leat reads manifests of other formats and writes those of Avro alone", "write this table with another engine, or SET 'manifest.format' = 'avro' in a new table")
	}
	if err := t.checkBuckets(); err != nil || len(t.Schema.PrimaryKeys) == 0 {
		return err
	}
	return t.checkCrossPartition()
}

// layout compiles the file layout of the table's latest schema.
func (t *Table) layout() (*mergetree.Layout, error) {
	var l *mergetree.Layout
	var err error
	if len(t.Schema.PrimaryKeys) == 0 {
		l, err = mergetree.NewAppendLayout(t.Schema)
	} else {
		l, err = mergetree.NewLayout(t.Schema, t.Options.ThinMode)
	}
	if err != nil {
		return nil, &diag.Error{
			Domain: diag.User, Code: diag.CodeTableShape, Table: t.Path, Msg: "leat cannot read or write this table", Cause: err,
			Hint: "use columns of other types, or leave the column out",
		}
	}
	if e := t.Options.Engine; e != nil && !l.Append {
		if l.Engine, err = e.Bind(l.Columns, l.Keys); err != nil {
			return nil, t.engineError(err)
		}
		if err := l.Engine.Check(l.Columns); err != nil {
			return nil, err
		}
	}
	l.Stats, l.ChangelogStats = t.Options.Stats, t.Options.ChangelogStats
	l.Dense = t.Options.StatsDense
	return l, nil
}

// Write takes the rows of b, which it owns from now on. The columns are those
// of the table, in order. It blocks while the memory budget is used up by
// epochs on their way to files, or while a bucket waits for its compaction.
func (w *Writer) Write(ctx context.Context, b *columnar.Batch) error {
	if err := w.awaitCompaction(ctx); err != nil {
		b.Release()
		return err
	}
	if err := w.take(b); err != nil {
		return err
	}
	for v := w.cfg.Budget.largest(); v != nil; v = w.cfg.Budget.largest() {
		if !v.flushEarly() {
			break
		}
	}
	return w.cfg.Budget.wait(ctx)
}

// take routes the rows of b.
func (w *Writer) take(b *columnar.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		b.Release()
		return err
	}
	for _, c := range b.Cols {
		countNulls(c)
	}
	if b.Rows() == 0 {
		b.Release()
		return nil
	}
	if err := w.router.check(b); err != nil {
		b.Release()
		return err
	}
	n := uint32(len(w.batches))
	w.batches = append(w.batches, b)
	extra, err := w.router.route(w, b, n)
	if err != nil {
		w.fail(err) // part of the batch is in the buffers
	}
	size := b.Bytes() + extra
	w.cfg.Budget.grow(w, size)
	if w.entryBytes += extra; w.entryBytes > maxEntryBytes {
		w.freeze()
	}
	return err
}

// maxEntryBytes bounds the buffers below what they can address, however large the budget is.
const maxEntryBytes = 1 << 30

// flushEarly freezes what the buffers hold, to level-0 files of the same epoch.
func (w *Writer) flushEarly() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.freeze() != nil
}

func (w *Writer) usable() error {
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return fmt.Errorf("writing table %s: the writer is closed", w.t.Path)
	default:
		return nil
	}
}

// fail keeps the first error of the background; every later call gives it.
func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// awaitCompaction blocks while a bucket has more runs than its stop trigger
// allows and a compaction is at work on it.
func (w *Writer) awaitCompaction(ctx context.Context) error {
	for {
		w.mu.Lock()
		stalled, compacted := false, w.compacted
		if w.err == nil && w.compacting > 0 {
			for _, b := range w.buckets {
				if b.tree != nil && b.tree.Stalled() {
					stalled = true
					break
				}
			}
		}
		w.mu.Unlock()
		if !stalled {
			return nil
		}
		select {
		case <-compacted:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// files says where files of bucket b go.
func (w *Writer) files(b *bucket, prefix string) mergetree.Files {
	return mergetree.Files{
		FS: w.t.FS, Dir: b.dir, Prefix: prefix, Attempt: w.cfg.Attempt, Counter: &w.cfg.Pool.names,
		Format: w.t.Options.Files.Data, TargetSize: w.t.Options.TargetFileSize,
		Avro: w.layout.Postponed && avro.Supports(w.layout.Fields),
	}
}

// Close ends the writer and waits for its background work. Rows that were not
// prepared are dropped; their files, and a compaction's that no message names, are removed.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.freeze()
	loose := w.chunks
	w.chunks = nil
	w.mu.Unlock()
	w.cancel()
	w.wg.Wait()
	w.cfg.Budget.unregister(w)
	err := errors.Join(w.lookups.close(ctx), w.router.keyIndex.close(ctx), w.router.dynamic.close(ctx))
	for _, c := range loose {
		for i := range c.work {
			w.remove(ctx, c.work[i].b, c.work[i].res.Files)
			w.remove(ctx, c.work[i].b, c.work[i].res.Changelog)
		}
	}
	for _, b := range w.buckets {
		if b.tree != nil {
			if c := b.tree.TakePending(); c != nil {
				w.removeChange(ctx, b, c)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("closing the writer of table %s: %w", w.t.Path, err)
	}
	return nil
}

// remove deletes files that no message names; trouble is logged, the files are orphans then.
func (w *Writer) remove(ctx context.Context, b *bucket, files []spec.DataFileMeta) {
	for i := range files {
		if err := w.t.FS.Remove(ctx, w.t.FS.Join(b.dir, files[i].FileName)); err != nil {
			w.log.Warn("data file left behind", "file", files[i].FileName, "error", err)
		}
	}
}
