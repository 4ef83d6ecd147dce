package lake

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// change is a row with its kind: the kind, then JSON values, null written as such.
type change string

// lakeTable is a table in a warehouse of its own, written by leat.
type lakeTable struct {
	t         testing.TB
	warehouse string
	name      string
	tab       *lakehouse.Table
	w         *lakehouse.Writer
	c         *commit.Committer
	id        int64
	attempt   int
	dropped   bool
}

// create makes the table with Paimon. columns are "name TYPE", a nested TYPE in
// JSON; the first is the key.
func create(t testing.TB, warehouse, name, columns string, options map[string]string) {
	t.Helper()
	type field struct {
		Name string `json:"name"`
		Type any    `json:"type"`
	}
	var fields []field
	for c := range strings.SplitSeq(columns, "; ") {
		n, typ, _ := strings.Cut(c, " ")
		f := field{n, typ}
		if strings.HasPrefix(typ, "{") {
			f.Type = json.RawMessage(typ)
		}
		fields = append(fields, f)
	}
	def, err := json.Marshal(map[string]any{"fields": fields, "primaryKeys": []string{fields[0].Name}, "options": options})
	if err != nil {
		t.Fatal(err)
	}
	judge.Java(t).Create(t, warehouse, name, string(def))
}

// open opens a table for writing; a table that is open already is abandoned, as by a crash.
func open(t testing.TB, warehouse, name string) *lakeTable {
	t.Helper()
	db, table, _ := strings.Cut(name, ".")
	tab, err := lakehouse.Open(t.Context(), local.New(), warehouse+"/"+db+".db/"+table)
	if err != nil {
		t.Fatal(err)
	}
	l := &lakeTable{t: t, warehouse: warehouse, name: name, tab: tab}
	l.start()
	t.Cleanup(func() {
		if err := l.w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *lakeTable) start() {
	l.t.Helper()
	l.attempt++
	attempt := fmt.Sprintf("leat%d", l.attempt)
	w, err := l.tab.NewWriter(l.t.Context(), lakehouse.WriteConfig{Attempt: attempt, Budget: lakehouse.NewMemoryBudget(0), Pool: lakehouse.NewWorkPool(2)})
	if err != nil {
		l.t.Fatal(err)
	}
	l.w = w
	l.c = commit.New(l.tab.FS, l.tab.Path, l.tab.Schema, commit.Options{Attempt: attempt, Dropped: func(int64, []spec.CommitMessage) { l.dropped = true }}, nil)
}

// restart ends the writer, losing what was not committed, and begins anew.
func (l *lakeTable) restart() {
	l.t.Helper()
	if err := l.w.Close(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	l.start()
}

func (l *lakeTable) write(rows ...change) {
	l.t.Helper()
	if err := l.w.Write(l.t.Context(), batch(l.t, l.tab.Schema.Columns(), rows)); err != nil {
		l.t.Fatal(err)
	}
}

func batch(t testing.TB, s *columnar.Schema, rows []change) *columnar.Batch {
	t.Helper()
	cols := make([][]json.RawMessage, len(s.Fields))
	kinds := make([]columnar.RowKind, len(rows))
	for i, r := range rows {
		kind, values, _ := strings.Cut(string(r), " ")
		kinds[i] = map[string]columnar.RowKind{"+I": columnar.Insert, "-U": columnar.UpdateBefore, "+U": columnar.UpdateAfter, "-D": columnar.Delete}[kind]
		var cells []json.RawMessage
		if err := json.Unmarshal([]byte("["+values+"]"), &cells); err != nil || len(cells) != len(cols) {
			t.Fatalf("row %s: %v", r, err)
		}
		for k := range cells {
			cols[k] = append(cols[k], cells[k])
		}
	}
	arrs := make([]arrow.Array, len(cols))
	for i, f := range s.Fields {
		text, err := json.Marshal(cols[i])
		if err != nil {
			t.Fatal(err)
		}
		if arrs[i], _, err = array.FromJSON(memory.DefaultAllocator, columnar.ArrowType(f.Type), strings.NewReader(string(text))); err != nil {
			t.Fatalf("column %s: %v", f.Name, err)
		}
	}
	return columnar.NewBatch(s, kinds, arrs, len(rows))
}

// commit ends the epoch and publishes it.
func (l *lakeTable) commit() {
	l.t.Helper()
	ctx := l.t.Context()
	l.id++
	p, err := l.w.Prepare(ctx, l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	msgs, err := p.Wait(ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	l.dropped = false
	ids, err := l.c.Commit(ctx, commit.Request{User: "leat", Identifier: l.id, Messages: msgs})
	if err == nil {
		err = l.w.Committed(ctx, l.id, ids, l.dropped)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// compact compacts apart from the writer.
func (l *lakeTable) compact(full bool) {
	l.t.Helper()
	l.attempt++
	attempt := fmt.Sprintf("compact%d", l.attempt)
	msgs, err := l.tab.Compact(l.t.Context(), lakehouse.WriteConfig{Attempt: attempt}, full)
	if err != nil {
		l.t.Fatal(err)
	}
	c := commit.New(l.tab.FS, l.tab.Path, l.tab.Schema, commit.Options{Attempt: attempt}, nil)
	if _, err := c.Commit(l.t.Context(), commit.Request{User: attempt, Identifier: 1, Messages: msgs}); err != nil {
		l.t.Fatal(err)
	}
}

// rows reads the table with leat; snapshot 0 is the latest.
func (l *lakeTable) rows(snapshot int64) []judge.Row {
	l.t.Helper()
	var out []judge.Row
	err := l.tab.Scan(l.t.Context(), lakehouse.ScanOptions{Snapshot: snapshot}, func(b *columnar.Batch) error {
		out = append(out, judgeRows(l.t, b)...)
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

// changelog reads the changes of all snapshots with leat.
func (l *lakeTable) changelog() []judge.Row {
	l.t.Helper()
	latest, err := l.tab.LatestSnapshot(l.t.Context())
	if err != nil || latest == nil {
		l.t.Fatal(err)
	}
	var out []judge.Row
	for id := int64(1); id <= latest.ID; id++ {
		err := l.tab.ReadChangelog(l.t.Context(), id, func(b *columnar.Batch) error {
			for i, r := range judgeRows(l.t, b) {
				r["_kind"], r["_snapshot"] = b.Kind(i).String(), json.Number(fmt.Sprint(id))
				out = append(out, r)
			}
			return nil
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
	return out
}

func judgeRows(t testing.TB, b *columnar.Batch) []judge.Row {
	t.Helper()
	out := make([]judge.Row, b.Rows())
	for i := range out {
		out[i] = judge.Row{}
	}
	for c, f := range b.Schema.Fields {
		text, err := b.Cols[c].MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		var cells []any
		if err := d.Decode(&cells); err != nil {
			t.Fatal(err)
		}
		for i := range out {
			out[i][f.Name] = cells[i]
			if v, ok := cell(b.Cols[c], i, f.Type); ok {
				out[i][f.Name] = v
			}
		}
	}
	return out
}

// check compares what leat, Java and, where it can, PyPaimon read of every snapshot.
func (l *lakeTable) check(python bool) {
	l.t.Helper()
	java := judge.Java(l.t)
	for _, s := range java.Snapshots(l.t, l.warehouse, l.name) {
		id := s.Int("id")
		if d := judge.Diff("java", java.Rows(l.t, l.warehouse, l.name, "--snapshot", fmt.Sprint(id)), "leat", l.rows(id)); d != "" {
			l.t.Errorf("snapshot %d: %s", id, d)
		}
	}
	if python {
		if d := judge.Diff("leat", l.rows(0), "pypaimon", judge.PyPaimon(l.t).Rows(l.t, l.warehouse, l.name)); d != "" {
			l.t.Error(d)
		}
	}
}

// checkRows compares the latest rows with those expected.
func (l *lakeTable) checkRows(want ...string) {
	l.t.Helper()
	var rows []judge.Row
	for _, r := range want {
		b := batch(l.t, l.tab.Schema.Columns(), []change{change("+I " + r)})
		rows = append(rows, judgeRows(l.t, b)...)
		b.Release()
	}
	if d := judge.Diff("expected", rows, "leat", l.rows(0)); d != "" {
		l.t.Error(d)
	}
	if d := judge.Diff("expected", rows, "java", judge.Java(l.t).Rows(l.t, l.warehouse, l.name)); d != "" {
		l.t.Error(d)
	}
}

// checkChangelog folds the changelog, read by leat and by Java, to the latest rows.
func (l *lakeTable) checkChangelog(key string) {
	l.t.Helper()
	for name, changes := range map[string][]judge.Row{"leat": l.changelog(), "java": judge.Java(l.t).Changelog(l.t, l.warehouse, l.name)} {
		folded, err := judge.Fold(changes, key)
		if err != nil {
			l.t.Errorf("changelog read by %s: %v", name, err)
			continue
		}
		if d := judge.Diff("rows", l.rows(0), "changelog read by "+name, folded); d != "" {
			l.t.Error(d)
		}
	}
}

// ndjson writes rows as Java's write command takes them.
func ndjson(t testing.TB, s *columnar.Schema, rows []change) string {
	t.Helper()
	b := batch(t, s, rows)
	defer b.Release()
	var out strings.Builder
	for i, r := range judgeRows(t, b) {
		r["_kind"] = b.Kind(i).String()
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	return out.String()
}
