package lakehouse_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/internal/fileio/crashfs"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

// schema is the table of h with options besides those of the engine. layout is
// how the partition stands to the key.
func (h *history) schema(layout string, options map[string]string) *spec.TableSchema {
	s := &spec.TableSchema{PartitionKeys: []string{"part"}, PrimaryKeys: []string{"part", "key"}, Options: maps.Clone(h.options)}
	maps.Copy(s.Options, options)
	switch layout {
	case "flat":
		s.PartitionKeys, s.PrimaryKeys = []string{}, []string{"key"}
	case "cross":
		s.PrimaryKeys = []string{"key"}
	}
	key := columnar.Of(columnar.BigInt)
	if h.textKey {
		key = columnar.StringType()
	}
	for i, c := range h.columns {
		s.Fields = append(s.Fields, columnar.Field{Name: fmt.Sprint("c", i), Type: c.typ()})
	}
	s.Fields = append(s.Fields, columnar.Field{Name: "at", Type: columnar.Of(columnar.BigInt)},
		columnar.Field{Name: "key", Type: key.NotNull()}, columnar.Field{Name: "part", Type: columnar.StringType().NotNull()})
	return s
}

func (h *history) batch(s *spec.TableSchema, changes []histChange) *columnar.Batch {
	b := columnar.NewBuilders(memory.DefaultAllocator, s.Columns())
	kinds := make([]columnar.RowKind, len(changes))
	n := len(h.columns)
	for i, c := range changes {
		kinds[i] = c.kind
		for k, col := range h.columns {
			appendValue(b[k], col.value(c.row.cells[k]))
		}
		appendValue(b[n], timeOf(c.row.key))
		if h.textKey {
			appendValue(b[n+1], keyText(c.row.key))
		} else {
			appendValue(b[n+1], c.row.key)
		}
		appendValue(b[n+2], c.row.part)
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	return columnar.NewBatch(s.Columns(), kinds, cols, len(changes))
}

func appendValue(to array.Builder, v any) {
	switch v := v.(type) {
	case nil:
		to.AppendNull()
	case int64:
		to.(*array.Int64Builder).Append(v)
	case string:
		to.(*array.StringBuilder).Append(v)
	case bool:
		to.(*array.BooleanBuilder).Append(v)
	case []int64:
		l := to.(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.Int64Builder).AppendValues(v, nil)
	case []pair:
		if m, ok := to.(*array.MapBuilder); ok {
			m.Append(true)
			for _, p := range v {
				appendValue(m.KeyBuilder(), p.n)
				appendValue(m.ItemBuilder(), p.v)
			}
			return
		}
		l := to.(*array.ListBuilder)
		l.Append(true)
		for _, p := range v {
			r := l.ValueBuilder().(*array.StructBuilder)
			r.Append(true)
			appendValue(r.FieldBuilder(0), p.n)
			appendValue(r.FieldBuilder(1), p.v)
		}
	}
}

// setting is all that must not matter to the rows of a history.
type setting struct {
	layout   string
	options  map[string]string
	memory   int64
	expires  bool // rows
	upkeep   bool // snapshots
	producer string
}

func drawSetting(rt *rapid.T, h *history) setting {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, name) }
	yes := func(name string) string { return strconv.FormatBool(rapid.Bool().Draw(rt, name)) }
	s := setting{layout: "partitioned", memory: rapid.SampledFrom([]int64{2_000, 8_000, 1 << 30}).Draw(rt, "memory")}
	if h.whole {
		layouts := []string{"partitioned", "flat", "cross"}
		if h.options["sequence.field"] != "" {
			layouts = layouts[:2]
		}
		s.layout = pick("layout", layouts...)
	}
	bucket := pick("bucket", "1", "3", "-1", "-2")
	if s.layout == "cross" {
		bucket = "-1"
	}
	producers := []string{"none", "input", "lookup", "full-compaction"}
	if h.engine == "first-row" {
		producers = []string{"none", "lookup"}
	}
	s.producer = pick("producer", producers...)
	s.options = map[string]string{
		"bucket": bucket, "changelog-producer": s.producer, "file.compression": "uncompressed",
		"dynamic-bucket.target-row-num": "9", "postpone.default-bucket-num": "2", "dynamic-bucket.max-buckets": pick("max buckets", "-1", "3"),
		"num-sorted-run.compaction-trigger":         pick("trigger", "2", "3", "5"),
		"target-file-size":                          pick("target", "1 b", "3 kb", "128 mb"),
		"data-file.thin-mode":                       yes("thin"),
		"full-compaction.delta-commits":             pick("delta commits", "1", "3"),
		"changelog-producer.row-deduplicate":        yes("row-deduplicate"),
		"compaction.optimization-interval":          pick("optimization interval", "1 h", "1 ms"),
		"write-only":                                strconv.FormatBool(rapid.IntRange(0, 4).Draw(rt, "write-only") == 0),
		"force-lookup":                              yes("force-lookup"),
		"manifest.merge-min-count":                  pick("manifests", "1", "30"),
		"compaction.size-ratio":                     pick("size ratio", "1", "200"),
		"compaction.force-rewrite-all-files":        yes("rewrite all"),
		"compaction.max-size-amplification-percent": pick("amplification", "1", "200"),
	}
	if h.engine != "first-row" && s.producer != "full-compaction" {
		s.options["deletion-vectors.enabled"], s.options["deletion-vectors.bitmap64"] = yes("deletion vectors"), yes("bitmap64")
	}
	if s.expires = rapid.IntRange(0, 3).Draw(rt, "rows expire") == 0; s.expires {
		s.options["record-level.expire-time"], s.options["record-level.time-field"] = "1 h", "at"
	}
	s.upkeep = rapid.IntRange(0, 2).Draw(rt, "snapshots expire") == 0
	return s
}

// historyRun writes a history to a table of one setting.
type historyRun struct {
	rt  *rapid.T
	h   *history
	s   setting
	tab *lakehouse.Table

	w       *lakehouse.Writer
	c       *commit.Committer
	id      int64
	attempt int
	dropped bool
	// folded is what the changelog up to snapshot seen leads to.
	folded map[string]string
	seen   int64
}

func (r *historyRun) name() string {
	r.attempt++
	return attemptName(r.attempt)
}

func (r *historyRun) open() {
	name := r.name()
	w, err := r.tab.NewWriter(r.rt.Context(), lakehouse.WriteConfig{Attempt: name, Budget: lakehouse.NewMemoryBudget(r.s.memory), Pool: lakehouse.NewWorkPool(2)})
	if err != nil {
		r.rt.Fatal(err)
	}
	r.w = w
	r.c = commit.New(r.tab.FS, r.tab.Path, r.tab.Schema, commit.Options{
		Attempt: name, MinRetryWait: 1, MaxRetryWait: 1, Dropped: func(int64, []spec.CommitMessage) { r.dropped = true },
	}, nil)
}

func (r *historyRun) close() {
	if err := r.w.Close(r.rt.Context()); err != nil {
		r.rt.Fatal(err)
	}
}

func (r *historyRun) crash() {
	r.close()
	r.open()
}

// write writes an epoch in batches of any size, a pair of -U and +U together.
func (r *historyRun) write(changes []histChange) {
	for len(changes) > 0 {
		n := r.cut(changes)
		if err := r.w.Write(r.rt.Context(), r.h.batch(r.tab.Schema, changes[:n])); err != nil {
			r.rt.Fatal(err)
		}
		changes = changes[n:]
	}
}

// epoch writes and commits an epoch; it may crash and begin it anew. begun says
// that the writer has it already; it gives whether it has the next one.
func (r *historyRun) epoch(changes, next []histChange, begun bool) bool {
	ctx := r.rt.Context()
	fate := rapid.SampledFrom([]string{"", "", "", "", "written", "prepared", "committed", "early"}).Draw(r.rt, "fate")
	if !begun {
		r.write(changes)
	}
	if fate == "written" {
		r.crash()
		r.write(changes)
	}
	p := r.prepare()
	if fate == "prepared" {
		if _, err := p.Wait(ctx); err != nil {
			r.rt.Fatal(err)
		}
		r.crash()
		r.write(changes)
		p = r.prepare()
	}
	if fate == "early" {
		// Rows of the next epoch must not slip into this one.
		r.write(next)
	}
	msgs, err := p.Wait(ctx)
	if err != nil {
		r.rt.Fatal(err)
	}
	r.dropped = false
	ids, err := r.c.Commit(ctx, commit.Request{User: "user", Identifier: r.id, Messages: msgs})
	if err != nil {
		r.rt.Fatal(err)
	}
	if fate == "committed" {
		r.crash()
	} else if err := r.w.Committed(ctx, r.id, ids, r.dropped); err != nil {
		r.rt.Fatal(err)
	}
	return fate == "early"
}

// cut gives how many changes make the next batch.
func (r *historyRun) cut(changes []histChange) int {
	n := rapid.IntRange(1, len(changes)).Draw(r.rt, "batch")
	if n < len(changes) && changes[n-1].kind == columnar.UpdateBefore {
		n++
	}
	return n
}

func (r *historyRun) prepare() *lakehouse.Prepared {
	r.id++
	p, err := r.w.Prepare(r.rt.Context(), r.id)
	if err != nil {
		r.rt.Fatal(err)
	}
	return p
}

// compact is a compaction job beside the writer.
func (r *historyRun) compact(full bool) {
	job := lakehouse.Compaction{Full: full, Commit: commit.Options{MinRetryWait: 1, MaxRetryWait: 1}}
	if _, err := r.tab.RunCompaction(r.rt.Context(), lakehouse.WriteConfig{Attempt: r.name()}, job); err != nil {
		r.rt.Fatal(err)
	}
}

// expire removes old snapshots; the changelog is read before.
func (r *historyRun) expire() {
	r.fold()
	_, err := maintain.ExpireSnapshots(r.rt.Context(), r.tab.FS, r.tab.Path, maintain.ExpireOptions{
		RetainMin: 1, RetainMax: int64(rapid.IntRange(1, 3).Draw(r.rt, "retain")), Limit: 100, CleanEmptyDirs: rapid.Bool().Draw(r.rt, "clean"),
	})
	if err != nil {
		r.rt.Fatal(err)
	}
}

func (r *historyRun) check(epoch int) {
	want := r.h.want(epoch, r.s.expires)
	_, lookup := r.s.options["deletion-vectors.enabled"]
	if lookup || r.h.engine == "first-row" || r.s.options["bucket"] == "-2" || r.s.producer == "lookup" || r.s.producer == "full-compaction" {
		// A compaction that lost against another one, or is not the writer's, left
		// rows and changes for the next.
		r.compact(true)
	}
	_, got := readAll(r.rt, r.tab, lakehouse.ScanOptions{})
	if r.s.expires {
		got = slices.DeleteFunc(got, hasExpired) // those that no compaction has dropped yet
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.rt.Fatalf("rows after epoch %d of %d, %+v (-want +got):\n%s", epoch, len(r.h.epochs), r.s, diff)
	}
	if !r.fold() {
		return
	}
	folded := slices.AppendSeq([]string{}, maps.Values(r.folded))
	if r.s.expires {
		folded = slices.DeleteFunc(folded, hasExpired)
	}
	slices.Sort(folded)
	if diff := cmp.Diff(want, folded); diff != "" {
		r.rt.Fatalf("folded changelog after epoch %d of %d, %+v (-want +got):\n%s", epoch, len(r.h.epochs), r.s, diff)
	}
}

// fold goes on applying the changelog; false where there is none that says all.
func (r *historyRun) fold() bool {
	if r.s.producer == "none" || r.s.producer == "input" && (r.h.engine != "deduplicate" || r.h.late) {
		return false
	}
	latest, err := r.tab.LatestSnapshot(r.rt.Context())
	if err != nil {
		r.rt.Fatal(err)
	}
	for latest != nil && r.seen < latest.ID {
		r.seen++
		if err := r.tab.ReadChangelog(r.rt.Context(), r.seen, r.applyChanges); err != nil {
			r.rt.Fatalf("changelog of snapshot %d, %+v: %v", r.seen, r.s, err)
		}
	}
	return true
}

func (r *historyRun) applyChanges(b *columnar.Batch) error {
	for i, text := range renderRows(b) {
		_, row, _ := strings.Cut(text, "|")
		cells := strings.Split(row, "|")
		at := strings.Join(cells[len(cells)-2:], "|")
		exact := r.s.producer != "input" && !(r.s.expires && hasExpired(row))
		old, there := r.folded[at]
		switch {
		case b.Kinds[i].Retracts():
			if exact && old != row {
				return fmt.Errorf("%s retracts what was %q", text, old)
			}
			delete(r.folded, at)
		case exact && there:
			return fmt.Errorf("%s comes over %q", text, old)
		default:
			r.folded[at] = row
		}
	}
	return nil
}

// run writes the whole history and checks it.
func (r *historyRun) run() {
	r.tab = newTable(r.rt, crashfs.New(), "/wh/db.db/t", r.h.schema(r.s.layout, r.s.options))
	r.folded = map[string]string{}
	r.open()
	defer func() {
		if err := r.w.Close(r.rt.Context()); err != nil {
			r.rt.Error(err)
		}
	}()
	begun := false
	for i, changes := range r.h.epochs {
		var next []histChange
		if i+1 < len(r.h.epochs) {
			next = r.h.epochs[i+1]
		}
		begun = r.epoch(changes, next, begun)
		switch what := rapid.IntRange(0, 9).Draw(r.rt, "then"); {
		case what < 2:
			r.compact(what == 0)
		case what == 2:
			r.check(i)
		case what < 5 && r.s.upkeep:
			r.expire()
		}
	}
	r.check(len(r.h.epochs) - 1)
}

// last is the id of the latest snapshot.
func (r *historyRun) last() int64 {
	s, err := r.tab.LatestSnapshot(r.rt.Context())
	if err != nil {
		r.rt.Fatal(err)
	}
	if s == nil {
		return 0
	}
	return s.ID
}

// TestHistoriesDoNotDependOnSettings writes one history of changes to tables of
// several settings, with crashes, compactions and expirations at other moments
// each time: rows and folded changelog are always those of the changes applied
// one by one.
func TestHistoriesDoNotDependOnSettings(t *testing.T) {
	t.Parallel()
	var histories, tables, epochs, changes, snapshots int64
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHistory(rt)
		histories++
		for range rapid.IntRange(1, 2).Draw(rt, "settings") {
			r := &historyRun{rt: rt, h: h, s: drawSetting(rt, h)}
			r.run()
			tables, epochs, changes, snapshots = tables+1, epochs+int64(len(h.epochs)), changes+h.size(), snapshots+r.last()
		}
	})
	t.Logf("%d histories in %d tables: %d epochs, %d changes, %d snapshots", histories, tables, epochs, changes, snapshots)
}
