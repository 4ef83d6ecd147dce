package mergetree

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// madeRow is a row of a stream: its sequence number is its value.
type madeRow struct {
	key, seq int64
	kind     columnar.RowKind
}

// madeRows gives the rows of one run, in batches.
type madeRows struct {
	rows  []madeRow
	batch int
	text  bool
}

func (m *madeRows) Close() error { return nil }

func (m *madeRows) Next() (*Rows, error) {
	if len(m.rows) == 0 {
		return nil, io.EOF
	}
	n := min(m.batch, len(m.rows))
	keys, texts := array.NewInt64Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	vals := array.NewInt64Builder(memory.DefaultAllocator)
	out := &Rows{NoDeletes: true}
	for _, r := range m.rows[:n] {
		keys.Append(r.key)
		texts.Append(fmt.Sprintf("key of more than eight bytes %06d", r.key))
		vals.Append(r.seq)
		out.Seq, out.Kinds = append(out.Seq, r.seq), append(out.Kinds, int8(r.kind))
		out.NoDeletes = out.NoDeletes && !r.kind.Retracts()
	}
	m.rows = m.rows[n:]
	out.Values = []arrow.Array{keys.NewArray(), vals.NewArray()}
	if m.text {
		out.Values[0] = texts.NewArray()
	}
	return out, nil
}

// merged drains a merge of runs into lines.
func merged(t *rapid.T, runs [][]madeRow, batch, chunk int, text bool, o MergeOptions) []string {
	key := columnar.Of(columnar.BigInt)
	if text {
		key = columnar.StringType()
	}
	columns := &columnar.Schema{Fields: []columnar.Field{{Name: "k", Type: key}, {Name: "v", Type: columnar.Of(columnar.BigInt)}}}
	streams := make([]RowReader, len(runs))
	for i, r := range runs {
		streams[i] = &madeRows{rows: r, batch: batch, text: text}
	}
	m, err := NewMerge(columns, []int{0}, streams, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for {
		rows, err := m.Next(chunk)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows.Len() {
			line := fmt.Sprintf("%s=%s", rows.Values[0].ValueStr(i), rows.Values[1].ValueStr(i))
			if !o.Ordered || o.Kinds {
				line += columnar.RowKind(rows.Kinds[i]).String()
			}
			out = append(out, line)
		}
		rows.Release()
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOrderedMergeGivesWhatSequenceNumbersDo merges runs of random keys, each run younger
// than those before it, by their order and by their sequence numbers.
func TestOrderedMergeGivesWhatSequenceNumbersDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var runs [][]madeRow
		seq, keys := int64(0), rapid.Int64Range(1, 80).Draw(t, "keys")
		for range rapid.IntRange(0, 6).Draw(t, "runs") {
			deletes := rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "deletes")
			var rows []madeRow
			for _, k := range rapid.SliceOfNDistinct(rapid.Int64Range(0, keys), 0, int(keys), rapid.ID[int64]).Draw(t, "run") {
				seq++
				r := madeRow{key: k, seq: seq}
				if deletes > 0 && rapid.IntRange(0, deletes).Draw(t, "delete") == 0 {
					r.kind = columnar.Delete
				}
				rows = append(rows, r)
			}
			slices.SortFunc(rows, func(a, b madeRow) int { return int(a.key - b.key) })
			runs = append(runs, rows)
		}
		batch, chunk := rapid.IntRange(1, 50).Draw(t, "batch"), rapid.IntRange(1, 40).Draw(t, "chunk")
		text := rapid.Bool().Draw(t, "text")
		o := MergeOptions{DropDelete: rapid.Bool().Draw(t, "drop"), Keep: rapid.Bool().Draw(t, "keep")}
		want := merged(t, runs, batch, chunk, text, o)
		o.Ordered, o.Kinds, o.Mem = true, rapid.Bool().Draw(t, "kinds"), columnar.NewPool()
		got := merged(t, runs, batch, chunk, text, o)
		if !o.Kinds {
			for i, line := range want {
				want[i] = strings.TrimRight(line, "+-IUD")
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("rows (-by sequence numbers +by order):\n%s", d)
		}
	})
}

func TestOrderRuns(t *testing.T) {
	t.Parallel()
	run := func(level int32, spans ...[2]int64) Run {
		r := Run{Level: level}
		for _, s := range spans {
			r.Files = append(r.Files, spec.DataFileMeta{MinSequenceNumber: s[0], MaxSequenceNumber: s[1]})
		}
		return r
	}
	for _, c := range []struct {
		name string
		runs []Run
		want []int32
		ok   bool
	}{
		{"none", nil, nil, true},
		{"one", []Run{run(0, [2]int64{5, 9})}, []int32{0}, true},
		{"youngest first", []Run{run(0, [2]int64{10, 19}), run(1, [2]int64{0, 9})}, []int32{1, 0}, true},
		{"files of a run overlap", []Run{run(3, [2]int64{0, 7}, [2]int64{2, 9}), run(0, [2]int64{10, 10})}, []int32{3, 0}, true},
		{"one number in both", []Run{run(0, [2]int64{10, 19}), run(1, [2]int64{0, 10})}, []int32{0, 1}, false},
		{"one within the other", []Run{run(0, [2]int64{4, 5}), run(1, [2]int64{0, 9})}, []int32{0, 1}, false},
		{"by the second file", []Run{run(0, [2]int64{10, 19}), run(1, [2]int64{0, 1}, [2]int64{2, 12})}, []int32{0, 1}, false},
	} {
		got, ok := OrderRuns(c.runs)
		var levels []int32
		for _, r := range got {
			levels = append(levels, r.Level)
		}
		if d := cmp.Diff(c.want, levels); d != "" || ok != c.ok {
			t.Errorf("%s: ordered %v, want %v; runs (-want +got):\n%s", c.name, ok, c.ok, d)
		}
	}
}
