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
	"leat/lakehouse/spec"
)

// cells is a row of the engine table: key k, integers a to e; nil is null.
type cells [6]*int64

func (c cells) String() string {
	out := make([]string, len(c))
	for i, v := range c {
		out[i] = "null"
		if v != nil {
			out[i] = strconv.FormatInt(*v, 10)
		}
	}
	return strings.Join(out, "|")
}

func engineSchema(options map[string]string) *spec.TableSchema {
	s := &spec.TableSchema{PrimaryKeys: []string{"k"}, PartitionKeys: []string{}, Options: options}
	for i, n := range []string{"k", "a", "b", "c", "d", "e"} {
		t := columnar.Of(columnar.BigInt)
		if i == 0 {
			t = t.NotNull()
		}
		s.Fields = append(s.Fields, columnar.Field{Name: n, Type: t})
	}
	return s
}

type cellChange struct {
	kind columnar.RowKind
	row  cells
}

func cellBatch(s *spec.TableSchema, changes []cellChange) *columnar.Batch {
	b := columnar.NewBuilders(memory.DefaultAllocator, s.Columns())
	kinds := make([]columnar.RowKind, len(changes))
	for i, c := range changes {
		kinds[i] = c.kind
		for k, v := range c.row {
			if v == nil {
				b[k].AppendNull()
			} else {
				b[k].(*array.Int64Builder).Append(*v)
			}
		}
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	return columnar.NewBatch(s.Columns(), kinds, cols, len(changes))
}

// engineCase is a merge engine and what one more change does to the row of its key.
type engineCase struct {
	name    string
	options map[string]string
	// minus lets the stream have -U and -D.
	minus bool
	apply func(old *cells, c cellChange) *cells
}

var engineCases = []engineCase{
	{"first-row", map[string]string{"merge-engine": "first-row", "ignore-delete": "true"}, true, applyFirst},
	{"sequence", map[string]string{"sequence.field": "a,b"}, false, applySequence(1)},
	{"descending", map[string]string{"sequence.field": "a,b", "sequence.field.sort-order": "descending"}, false, applySequence(-1)},
	{"partial", map[string]string{"merge-engine": "partial-update", "ignore-delete": "true"}, true, applyPartial},
	{"partial-remove", map[string]string{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}, true, applyRemove},
	{"groups", map[string]string{
		"merge-engine": "partial-update", "fields.a.sequence-group": "b", "fields.c.sequence-group": "d", "fields.d.aggregate-function": "sum",
	}, true, applyGroups},
	{"aggregation", map[string]string{
		"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "max", "fields.b.ignore-retract": "true",
		"fields.c.aggregate-function": "last_value", "fields.d.aggregate-function": "first_non_null_value", "fields.d.ignore-retract": "true",
	}, true, applyAggregation(false)},
	{"aggregation-remove", map[string]string{
		"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "max", "fields.b.ignore-retract": "true",
		"fields.c.aggregate-function": "last_value", "fields.d.aggregate-function": "first_non_null_value", "fields.d.ignore-retract": "true",
		"aggregation.remove-record-on-delete": "true",
	}, true, applyAggregation(true)},
}

func applyFirst(old *cells, c cellChange) *cells {
	if old != nil || c.kind.Retracts() {
		return old
	}
	return &c.row
}

func compareCells(a, b *int64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	default:
		return int(max(-1, min(1, *a-*b)))
	}
}

func applySequence(sign int) func(*cells, cellChange) *cells {
	return func(old *cells, c cellChange) *cells {
		if old == nil {
			return &c.row
		}
		for i := 1; i <= 2; i++ {
			d := compareCells(c.row[i], old[i])
			if c.row[i] != nil && old[i] != nil {
				d *= sign
			}
			if d > 0 {
				return &c.row
			}
			if d < 0 {
				return old
			}
		}
		return &c.row
	}
}

func applyPartial(old *cells, c cellChange) *cells {
	if c.kind.Retracts() {
		return old
	}
	row := cells{}
	if old != nil {
		row = *old
	}
	for i, v := range c.row {
		if v != nil {
			row[i] = v
		}
	}
	return &row
}

func applyRemove(old *cells, c cellChange) *cells {
	if c.kind == columnar.Delete {
		return nil
	}
	return applyPartial(old, c)
}

// applyGroups is partial-update with the groups (a: b) and (c: sum of d); e has no group.
func applyGroups(old *cells, c cellChange) *cells {
	if old == nil {
		if c.kind.Retracts() {
			return nil
		}
		old = &cells{0: c.row[0]}
	}
	row := *old
	retract := c.kind.Retracts()
	if c.row[1] != nil && compareCells(c.row[1], row[1]) >= 0 {
		if row[1], row[2] = c.row[1], c.row[2]; retract {
			row[2] = nil
		}
	}
	if c.row[3] != nil {
		if compareCells(c.row[3], row[3]) >= 0 {
			row[3] = c.row[3]
		}
		row[4] = addCells(row[4], c.row[4], retract)
	}
	if !retract && c.row[5] != nil {
		row[5] = c.row[5]
	}
	return &row
}

func addCells(acc, v *int64, retract bool) *int64 {
	switch {
	case v == nil:
		return acc
	case retract && acc == nil:
		return new(-*v)
	case retract:
		return new(*acc - *v)
	case acc == nil:
		return v
	default:
		return new(*acc + *v)
	}
}

// applyAggregation is sum a, max b, last_value c, first_non_null_value d, last_non_null_value e.
func applyAggregation(remove bool) func(*cells, cellChange) *cells {
	return func(old *cells, c cellChange) *cells {
		if remove && c.kind == columnar.Delete {
			return nil
		}
		if old == nil {
			if c.kind.Retracts() {
				return nil
			}
			return &c.row
		}
		row, v, retract := *old, c.row, c.kind.Retracts()
		row[1] = addCells(row[1], v[1], retract)
		if !retract && compareCells(v[2], row[2]) > 0 {
			row[2] = v[2]
		}
		if row[3] = v[3]; retract {
			row[3] = nil
		}
		if !retract && row[4] == nil {
			row[4] = v[4]
		}
		switch {
		case retract && v[5] != nil:
			row[5] = nil
		case !retract && v[5] != nil:
			row[5] = v[5]
		}
		return &row
	}
}

// engineRun writes changes to a table and applies them to a map, in batches,
// early flushes, epochs, crashes and compactions at random.
type engineRun struct {
	rt        *rapid.T
	c         engineCase
	tab       *lakehouse.Table
	fs        *crashfs.FS
	now       map[int64]cells
	committed map[int64]cells
	// last is the last row of each key that the source has.
	last, lastCommitted map[int64]cells
	attempt             int
	w                   *lakehouse.Writer
	com                 *commit.Committer
	id                  int64
	dropped             bool
}

func (r *engineRun) open() {
	r.attempt++
	name := fmt.Sprint("attempt", r.attempt)
	w, err := r.tab.NewWriter(r.rt.Context(), lakehouse.WriteConfig{Attempt: name, Budget: lakehouse.NewMemoryBudget(4000), Pool: lakehouse.NewWorkPool(2)})
	if err != nil {
		r.rt.Fatal(err)
	}
	r.w = w
	r.com = commit.New(r.tab.FS, r.tab.Path, r.tab.Schema, commit.Options{
		Attempt: name, MinRetryWait: 1, MaxRetryWait: 1, Dropped: func(int64, []spec.CommitMessage) { r.dropped = true },
	}, nil)
}

func (r *engineRun) write() {
	value := rapid.Custom(func(t *rapid.T) *int64 {
		if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
			return nil
		}
		return new(rapid.Int64Range(-3, 9).Draw(t, "value"))
	})
	var changes []cellChange
	for range rapid.IntRange(1, 40).Draw(r.rt, "changes") {
		c := cellChange{row: cells{new(rapid.Int64Range(0, 6).Draw(r.rt, "key"))}}
		for i := 1; i < len(c.row); i++ {
			c.row[i] = value.Draw(r.rt, "cell")
		}
		if r.c.name == "groups" {
			// A row alone keeps what a group without sequence would leave out.
			for _, i := range []int{1, 3} {
				if c.row[i] == nil {
					c.row[i+1] = nil
				}
			}
		}
		key := *c.row[0]
		if last, there := r.last[key]; there && r.c.minus {
			// Changes retract what was there, as those of a source do.
			op := rapid.IntRange(0, 3).Draw(r.rt, "change")
			if op > 1 && strings.HasPrefix(r.c.name, "aggregation") {
				op = 0 // sources of aggregations give the old rows of all updates
			}
			switch op {
			case 0:
				if !strings.HasPrefix(r.c.name, "partial") {
					changes = append(changes, r.change(cellChange{columnar.UpdateBefore, last}))
					c.kind = columnar.UpdateAfter
				}
			case 1:
				c = cellChange{columnar.Delete, last}
			default:
				c.kind = columnar.UpdateAfter
			}
		}
		changes = append(changes, r.change(c))
		if r.last[key] = c.row; c.kind == columnar.Delete {
			delete(r.last, key)
		}
	}
	if err := r.w.Write(r.rt.Context(), cellBatch(r.tab.Schema, changes)); err != nil {
		r.rt.Fatal(err)
	}
}

// change applies c to the model.
func (r *engineRun) change(c cellChange) cellChange {
	key := *c.row[0]
	var old *cells
	if row, there := r.now[key]; there {
		old = &row
	}
	if row := r.c.apply(old, c); row != nil {
		r.now[key] = *row
	} else {
		delete(r.now, key)
	}
	return c
}

func (r *engineRun) commit() {
	ctx := r.rt.Context()
	r.id++
	p, err := r.w.Prepare(ctx, r.id)
	if err != nil {
		r.rt.Fatal(err)
	}
	msgs, err := p.Wait(ctx)
	if err != nil {
		r.rt.Fatal(err)
	}
	r.dropped = false
	ids, err := r.com.Commit(ctx, commit.Request{User: "user", Identifier: r.id, Messages: msgs})
	if err == nil {
		err = r.w.Committed(ctx, r.id, ids, r.dropped)
	}
	if err != nil {
		r.rt.Fatal(err)
	}
	r.committed, r.lastCommitted = maps.Clone(r.now), maps.Clone(r.last)
}

func (r *engineRun) crash() {
	if err := r.w.Close(r.rt.Context()); err != nil {
		r.rt.Fatal(err)
	}
	r.now, r.last = maps.Clone(r.committed), maps.Clone(r.lastCommitted)
	r.open()
}

func (r *engineRun) compact(full bool) {
	r.attempt++
	attempt := fmt.Sprint("attempt", r.attempt)
	msgs, err := r.tab.Compact(r.rt.Context(), lakehouse.WriteConfig{Attempt: attempt}, full)
	if err != nil {
		r.rt.Fatal(err)
	}
	c := commit.New(r.tab.FS, r.tab.Path, r.tab.Schema, commit.Options{Attempt: attempt, MinRetryWait: 1, MaxRetryWait: 1}, nil)
	if _, err := c.Commit(r.rt.Context(), commit.Request{User: "compactor" + attempt, Identifier: 1, Messages: msgs}); err != nil {
		r.rt.Fatal(err)
	}
}

func (r *engineRun) check() {
	want := []string{}
	for _, row := range r.committed {
		want = append(want, row.String())
	}
	slices.Sort(want)
	if r.tab.Options.DeletionVectors || r.c.name == "first-row" {
		// A compaction that lost against another one left rows where readers do not look.
		r.compact(true)
	}
	_, got := readAll(r.rt, r.tab, lakehouse.ScanOptions{})
	if diff := cmp.Diff(want, got); diff != "" {
		r.rt.Fatalf("%s after epoch %d (-want +got):\n%s", r.c.name, r.id, diff)
	}
	if r.tab.Options.ChangelogProducer != lakehouse.ChangelogNone {
		// A compaction that lost against another one left its changes for the next.
		r.compact(true)
	}
	if folded := r.fold(); folded != nil {
		if diff := cmp.Diff(want, folded); diff != "" {
			r.rt.Fatalf("folded changelog of %s after epoch %d (-want +got):\n%s", r.c.name, r.id, diff)
		}
	}
}

// fold applies the changelog of all snapshots; nil where the table keeps none.
func (r *engineRun) fold() []string {
	if r.tab.Options.ChangelogProducer == lakehouse.ChangelogNone {
		return nil
	}
	latest, err := r.tab.LatestSnapshot(r.rt.Context())
	if err != nil {
		r.rt.Fatal(err)
	}
	rows := map[string]string{}
	for id := int64(1); latest != nil && id <= latest.ID; id++ {
		err := r.tab.ReadChangelog(r.rt.Context(), id, func(b *columnar.Batch) error {
			for i, text := range renderRows(b) {
				_, row, _ := strings.Cut(text, "|")
				key, _, _ := strings.Cut(row, "|")
				if old, there := rows[key]; b.Kinds[i].Retracts() {
					if old != row {
						return fmt.Errorf("%s retracts what was %q", text, old)
					}
					delete(rows, key)
				} else {
					if there {
						return fmt.Errorf("%s comes over %q", text, old)
					}
					rows[key] = row
				}
			}
			return nil
		})
		if err != nil {
			r.rt.Fatal(err)
		}
	}
	return slices.Sorted(maps.Values(rows))
}

// TestEnginesEqualModel drives every merge engine with random changes and
// compares with the changes applied one by one.
func TestEnginesEqualModel(t *testing.T) {
	t.Parallel()
	for _, c := range engineCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				r := &engineRun{
					rt: rt, c: c, fs: crashfs.New(), now: map[int64]cells{}, committed: map[int64]cells{},
					last: map[int64]cells{}, lastCommitted: map[int64]cells{},
				}
				options := map[string]string{
					"bucket": rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "bucket"), "file.compression": "uncompressed",
					"num-sorted-run.compaction-trigger": rapid.SampledFrom([]string{"2", "3", "5"}).Draw(rt, "trigger"),
					"target-file-size":                  rapid.SampledFrom([]string{"1 b", "128 mb"}).Draw(rt, "target"),
				}
				maps.Copy(options, c.options)
				producers := []string{"none", "lookup", "full-compaction"}
				if c.name == "first-row" {
					producers = []string{"none", "lookup"}
				}
				options["changelog-producer"] = rapid.SampledFrom(producers).Draw(rt, "producer")
				if c.name != "first-row" && options["changelog-producer"] != "full-compaction" {
					options["deletion-vectors.enabled"] = strconv.FormatBool(rapid.Bool().Draw(rt, "deletion vectors"))
				}
				r.tab = newTable(rt, r.fs, "/wh/db.db/t", engineSchema(options))
				r.open()
				defer func() {
					if err := r.w.Close(rt.Context()); err != nil {
						rt.Error(err)
					}
				}()
				for range rapid.IntRange(1, 15).Draw(rt, "steps") {
					switch rapid.IntRange(0, 7).Draw(rt, "step") {
					case 0:
						r.crash()
					case 1:
						r.commit()
						r.compact(rapid.Bool().Draw(rt, "full"))
					case 2, 3:
						r.commit()
						r.check()
					default:
						r.write()
					}
				}
				r.commit()
				r.check()
			})
		})
	}
}
