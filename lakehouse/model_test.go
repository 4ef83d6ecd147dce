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

// modelRow is a row of the model table: the key is (part, key), key being an
// integer or its text.
type modelRow struct {
	part string
	key  int64
	text string
}

// change is one row of a change stream over the model table.
type change struct {
	kind columnar.RowKind
	row  modelRow
}

// keyText makes keys of which some are prefixes of others and some hold a zero byte.
func keyText(k int64) string { return strings.Repeat("k\x00", int(k%3)) + strconv.FormatInt(k, 10) }

func modelSchema(textKey bool, options map[string]string) *spec.TableSchema {
	key := columnar.Of(columnar.BigInt)
	if textKey {
		key = columnar.StringType()
	}
	return &spec.TableSchema{
		Fields: []columnar.Field{
			{Name: "text", Type: columnar.StringType()},
			{Name: "key", Type: key.NotNull()},
			{Name: "part", Type: columnar.StringType().NotNull()},
			{Name: "copy", Type: columnar.Of(columnar.Int)},
		},
		PartitionKeys: []string{"part"}, PrimaryKeys: []string{"part", "key"}, Options: options,
	}
}

func modelBatch(s *spec.TableSchema, changes []change) *columnar.Batch {
	b := columnar.NewBuilders(memory.DefaultAllocator, s.Columns())
	kinds := make([]columnar.RowKind, len(changes))
	for i, c := range changes {
		kinds[i] = c.kind
		b[0].(*array.StringBuilder).Append(c.row.text)
		if k, ok := b[1].(*array.Int64Builder); ok {
			k.Append(c.row.key)
		} else {
			b[1].(*array.StringBuilder).Append(keyText(c.row.key))
		}
		b[2].(*array.StringBuilder).Append(c.row.part)
		if c.row.key%5 == 0 {
			b[3].AppendNull()
		} else {
			b[3].(*array.Int32Builder).Append(int32(c.row.key))
		}
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	return columnar.NewBatch(s.Columns(), kinds, cols, len(changes))
}

// place is where a row stands; one place has one row.
type place struct {
	part string
	key  int64
}

// tableModel is what the table must hold.
type tableModel struct {
	rt       *rapid.T
	tab      *lakehouse.Table
	textKey  bool
	producer string
	// cross says that the key alone is the primary key: a row may move between partitions unseen.
	cross     bool
	committed map[place]modelRow
	now       map[place]modelRow

	attempt int
	w       *lakehouse.Writer
	c       *commit.Committer
	id      int64
	dropped bool
	next    int
}

func (m *tableModel) open() {
	m.attempt++
	w, err := m.tab.NewWriter(m.rt.Context(), lakehouse.WriteConfig{
		Attempt: fmt.Sprintf("attempt%d", m.attempt), Budget: lakehouse.NewMemoryBudget(8_000), Pool: lakehouse.NewWorkPool(2),
	})
	if err != nil {
		m.rt.Fatal(err)
	}
	m.w = w
	m.c = commit.New(m.tab.FS, m.tab.Path, m.tab.Schema, commit.Options{
		Attempt: fmt.Sprintf("attempt%d", m.attempt), MinRetryWait: 1, MaxRetryWait: 1, Dropped: func(int64, []spec.CommitMessage) { m.dropped = true },
	}, nil)
}

func (m *tableModel) render(r modelRow) string {
	key, copied := strconv.FormatInt(r.key, 10), strconv.FormatInt(r.key, 10)
	if m.textKey {
		key = keyText(r.key)
	}
	if r.key%5 == 0 {
		copied = "null"
	}
	return strings.Join([]string{r.text, key, r.part, copied}, "|")
}

// write makes random changes that a source could make.
func (m *tableModel) write(rt *rapid.T) {
	var changes []change
	for range rapid.IntRange(1, 120).Draw(rt, "changes") {
		m.next++
		at := place{part: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "part"), key: rapid.Int64Range(0, 60).Draw(rt, "key")}
		row := modelRow{part: at.part, key: at.key, text: fmt.Sprint("t", m.next)}
		if m.cross {
			at.part = ""
		}
		old, exists := m.now[at]
		switch op := rapid.IntRange(0, 4).Draw(rt, "op"); {
		case !exists && op == 4:
			changes = append(changes, change{columnar.Delete, row})
		case !exists:
			changes = append(changes, change{columnar.Insert, row})
			m.now[at] = row
		case op == 0:
			changes = append(changes, change{columnar.Delete, old})
			delete(m.now, at)
		case op == 1:
			// The row moves to another partition, as when an order's day changes.
			to, target := row, at
			to.part = map[string]string{"a": "b", "b": "c", "c": "a"}[old.part]
			if !m.cross {
				target.part = to.part
				if _, taken := m.now[target]; taken {
					continue
				}
			}
			changes = append(changes, change{columnar.UpdateBefore, old}, change{columnar.UpdateAfter, to})
			delete(m.now, at)
			m.now[target] = to
		case m.cross && op == 2:
			// The source does not say where the row was.
			changes = append(changes, change{columnar.UpdateAfter, row})
			m.now[at] = row
		default:
			changes = append(changes, change{columnar.UpdateBefore, old}, change{columnar.UpdateAfter, row})
			m.now[at] = row
		}
	}
	if len(changes) == 0 {
		return
	}
	if err := m.w.Write(rt.Context(), modelBatch(m.tab.Schema, changes)); err != nil {
		rt.Fatal(err)
	}
}

func (m *tableModel) commit(rt *rapid.T) {
	ctx := rt.Context()
	m.id++
	p, err := m.w.Prepare(ctx, m.id)
	if err != nil {
		rt.Fatal(err)
	}
	if rapid.Bool().Draw(rt, "next epoch begins before") {
		// Rows of the next epoch must not slip into this one.
		held := maps.Clone(m.now)
		m.write(rt)
		m.publish(rt, p)
		m.committed = held
		return
	}
	m.publish(rt, p)
	m.committed = maps.Clone(m.now)
}

func (m *tableModel) publish(rt *rapid.T, p *lakehouse.Prepared) {
	ctx := rt.Context()
	msgs, err := p.Wait(ctx)
	if err != nil {
		rt.Fatal(err)
	}
	m.dropped = false
	ids, err := m.c.Commit(ctx, commit.Request{User: "user", Identifier: m.id, Messages: msgs})
	if err != nil {
		rt.Fatal(err)
	}
	if err := m.w.Committed(ctx, m.id, ids, m.dropped); err != nil {
		rt.Fatal(err)
	}
}

// crash loses what was not committed.
func (m *tableModel) crash(rt *rapid.T) {
	if err := m.w.Close(rt.Context()); err != nil {
		rt.Fatal(err)
	}
	m.now = maps.Clone(m.committed)
	m.open()
}

// compactBeside is another process that compacts.
func (m *tableModel) compactBeside(rt *rapid.T) { m.compact(rt, rapid.Bool().Draw(rt, "full")) }

// compactAll compacts everything.
func (m *tableModel) compactAll(rt *rapid.T) { m.compact(rt, true) }

func (m *tableModel) compact(rt *rapid.T, full bool) {
	m.attempt++
	attempt := fmt.Sprintf("attempt%d", m.attempt)
	msgs, err := m.tab.Compact(rt.Context(), lakehouse.WriteConfig{Attempt: attempt}, full)
	if err != nil {
		rt.Fatal(err)
	}
	c := commit.New(m.tab.FS, m.tab.Path, m.tab.Schema, commit.Options{Attempt: attempt, MinRetryWait: 1, MaxRetryWait: 1}, nil)
	if _, err := c.Commit(rt.Context(), commit.Request{User: "compactor" + attempt, Identifier: 1, Messages: msgs}); err != nil {
		rt.Fatal(err)
	}
}

func (m *tableModel) check(rt *rapid.T) {
	if m.tab.Options.Bucket == spec.PostponeBucket {
		m.attempt++
		if _, err := m.tab.RunCompaction(rt.Context(), lakehouse.WriteConfig{Attempt: fmt.Sprintf("attempt%d", m.attempt)}, lakehouse.Compaction{}); err != nil {
			rt.Fatal(err)
		}
	}
	want := make([]string, 0, len(m.committed))
	for _, r := range m.committed {
		want = append(want, m.render(r))
	}
	slices.Sort(want)
	if m.tab.Options.DeletionVectors {
		// A compaction that lost against another one left rows where readers do not look.
		m.compactAll(rt)
	}
	_, got := readAll(rt, m.tab, lakehouse.ScanOptions{})
	if got == nil {
		got = []string{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("table after epoch %d (-want +got):\n%s", m.id, diff)
	}
	if m.producer == "none" {
		return
	}
	if m.producer != "input" {
		// A compaction that lost against another one left its changes for the next.
		m.compactAll(rt)
	}
	folded := m.fold(rt)
	if diff := cmp.Diff(want, folded); diff != "" {
		rt.Fatalf("folded changelog after epoch %d (-want +got):\n%s", m.id, diff)
	}
}

// fold applies the changelog of all snapshots.
func (m *tableModel) fold(rt *rapid.T) []string {
	latest, err := m.tab.LatestSnapshot(rt.Context())
	if err != nil {
		rt.Fatal(err)
	}
	rows := map[string]string{}
	for id := int64(1); latest != nil && id <= latest.ID; id++ {
		err := m.tab.ReadChangelog(rt.Context(), id, func(b *columnar.Batch) error {
			for i, text := range renderRows(b) {
				kind, row, _ := strings.Cut(text, "|")
				cells := strings.Split(row, "|")
				at := cells[1] + "|" + cells[2]
				if b.Kinds[i].Retracts() {
					if b.Kinds[i] == columnar.UpdateBefore && rows[at] != row {
						return fmt.Errorf("%s %s retracts what was %q", kind, row, rows[at])
					}
					delete(rows, at)
				} else {
					rows[at] = row
				}
			}
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
	}
	out := slices.AppendSeq(make([]string, 0, len(rows)), maps.Values(rows))
	slices.Sort(out)
	return out
}

// TestTableEqualsModel drives a writer with random changes, crashes, early
// flushes and compactions, its own and another's, and compares with a map.
func TestTableEqualsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := &tableModel{
			rt: rt, textKey: rapid.Bool().Draw(rt, "text key"), producer: rapid.SampledFrom([]string{"none", "input", "lookup", "full-compaction"}).Draw(rt, "producer"),
			now: map[place]modelRow{}, committed: map[place]modelRow{},
		}
		options := map[string]string{
			"bucket":                            rapid.SampledFrom([]string{"1", "3", "-1", "-2"}).Draw(rt, "bucket"),
			"dynamic-bucket.target-row-num":     "9",
			"postpone.default-bucket-num":       "2",
			"dynamic-bucket.max-buckets":        rapid.SampledFrom([]string{"-1", "3"}).Draw(rt, "max buckets"),
			"num-sorted-run.compaction-trigger": rapid.SampledFrom([]string{"2", "3", "5"}).Draw(rt, "trigger"),
			"target-file-size":                  rapid.SampledFrom([]string{"1 b", "3 kb", "128 mb"}).Draw(rt, "target"),
			"data-file.thin-mode":               strconv.FormatBool(rapid.Bool().Draw(rt, "thin")),
			"file.compression":                  "uncompressed",
		}
		options["changelog-producer"] = m.producer
		if m.producer != "full-compaction" {
			options["deletion-vectors.enabled"] = strconv.FormatBool(rapid.Bool().Draw(rt, "deletion vectors"))
			options["deletion-vectors.bitmap64"] = strconv.FormatBool(rapid.Bool().Draw(rt, "bitmap64"))
		}
		options["full-compaction.delta-commits"] = rapid.SampledFrom([]string{"1", "3"}).Draw(rt, "delta commits")
		options["changelog-producer.row-deduplicate"] = strconv.FormatBool(rapid.Bool().Draw(rt, "row-deduplicate"))
		schema := modelSchema(m.textKey, options)
		if m.cross = options["bucket"] == "-1" && rapid.Bool().Draw(rt, "key without partition"); m.cross {
			schema.PrimaryKeys = []string{"key"}
		}
		m.tab = newTable(rt, crashfs.New(), "/wh/db.db/t", schema)
		m.open()
		defer func() {
			if err := m.w.Close(rt.Context()); err != nil {
				rt.Error(err)
			}
		}()
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0:
				m.crash(rt)
			case 1:
				m.compactBeside(rt)
			case 2, 3, 4:
				m.commit(rt)
				m.check(rt)
			default:
				m.write(rt)
			}
		}
		m.commit(rt)
		m.check(rt)
	})
}
