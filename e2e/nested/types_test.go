package nested

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

var formats = []string{"parquet", "orc", "avro"}

// holds reports whether files of a format can have a column.
func holds(format string, t columnar.DataType) bool {
	if format != "avro" {
		return true
	}
	isTime := t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ
	return !isTime || t.Precision <= 6
}

// create makes a table with Paimon.
func create(t testing.TB, lake harness.Lake, fields []columnar.Field, keys, partitions []string, options map[string]string) {
	t.Helper()
	type column struct {
		Name string          `json:"name"`
		Type json.RawMessage `json:"type"`
	}
	columns := make([]column, len(fields))
	for i, f := range fields {
		raw, err := spec.MarshalDataType(f.Type)
		if err != nil {
			t.Fatal(err)
		}
		columns[i] = column{f.Name, raw}
	}
	judge.Java(t).Create(t, lake.Warehouse, lake.Table, text(map[string]any{"fields": columns, "primaryKeys": keys, "partitionKeys": partitions, "options": options}))
}

// matrix gives columns of every type, alone and in an array, a map and a row.
func matrix(format string) []columnar.Field {
	out := []columnar.Field{{Name: "id", Type: columnar.Of(columnar.Int).NotNull()}}
	id := 1000
	for i, t := range flatTypes() {
		if !holds(format, t) {
			continue
		}
		key := t.NotNull()
		id++
		for k, nested := range []columnar.DataType{
			t,
			{Kind: columnar.Array, Nullable: true, Elem: &t},
			{Kind: columnar.Map, Nullable: true, Key: &key, Elem: &t},
			{Kind: columnar.Row, Nullable: true, Fields: []columnar.Field{{ID: id, Name: "f", Type: t}}},
		} {
			out = append(out, columnar.Field{Name: fmt.Sprintf("c%d_%d", i, k), Type: nested})
		}
	}
	return out
}

// matrixRow gives row id with the ends of every type, other ones each turn.
func matrixRow(format string, fields []columnar.Field, id, turn int) judge.Row {
	r := judge.Row{"id": json.Number(fmt.Sprint(id))}
	for _, f := range fields[1:] {
		var v any
		switch t := f.Type; t.Kind {
		case columnar.Array:
			v = append([]any{nil}, rotated(edgesIn(format, *t.Elem, false), id+turn)...)
		case columnar.Map:
			pairs := []any{}
			values := rotated(edgesIn(format, *t.Elem, false), id+turn)
			for i, k := range edgesIn(format, *t.Key, false) {
				pairs = append(pairs, []any{k, values[i]})
			}
			v = pairs
		case columnar.Row:
			v = map[string]any{"f": rotated(edgesIn(format, t.Fields[0].Type, false), id+turn)[0]}
		default:
			v = rotated(edgesIn(format, t, false), id+turn)[0]
		}
		if (id+turn)%9 == 0 {
			v = nil
		}
		r[f.Name] = v
	}
	return r
}

func rotated(values []any, by int) []any {
	by %= len(values)
	return slices.Concat(values[by:], values[:by])
}

// matrixCommits are three commits: rows, other values for half of them, deletes and new ones.
func matrixCommits(format string, fields []columnar.Field) (commits [][]judge.Row, left []judge.Row) {
	const n = 14
	live := map[int]judge.Row{}
	commits = make([][]judge.Row, 3)
	put := func(c, id, turn int, kind string) {
		r := matrixRow(format, fields, id, turn)
		live[id] = matrixRow(format, fields, id, turn)
		r["_kind"] = kind
		commits[c] = append(commits[c], r)
	}
	for id := range n {
		put(0, id, 0, "+I")
	}
	for id := 0; id < n; id += 2 {
		put(1, id, 5, "+U")
	}
	for id := range n / 3 {
		put(2, id, 5, "-D")
		delete(live, id)
	}
	for id := n; id < n+3; id++ {
		put(2, id, 3, "+I")
	}
	for _, r := range live {
		left = append(left, r)
	}
	return commits, left
}

// TestEveryTypeInEveryFormat has leat and Java write the ends of every type,
// alone and nested, and read what the other wrote, merged and compacted.
func TestEveryTypeInEveryFormat(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			java, wh := judge.Java(t), t.TempDir()
			fields := matrix(format)
			options := map[string]string{"bucket": "1", "file.format": format, "num-sorted-run.compaction-trigger": "9", "metadata.stats-mode": "full"}
			ours, theirs := harness.Lake{Warehouse: wh, Table: "d.ours"}, harness.Lake{Warehouse: wh, Table: "d.theirs"}
			create(t, ours, fields, []string{"id"}, nil, options)
			create(t, theirs, fields, []string{"id"}, nil, options)
			commits, want := matrixCommits(format, fields)
			x := newWriter(t, ours)
			s := x.tab.Schema.Columns()
			for i, c := range commits {
				x.write(c)
				java.Write(t, wh, theirs.Table, "u", int64(i+1), lines(c))
			}
			x.close()
			same(t, s, "expected", want, "leat of leat's files", rows(t, x.tab))
			same(t, s, "expected", want, "Java of leat's files", java.Rows(t, wh, ours.Table))
			same(t, s, "Java of Java's files", java.Rows(t, wh, theirs.Table), "leat of Java's files", rows(t, open(t, theirs)))
			compact(t, ours)
			compact(t, theirs)
			same(t, s, "expected", want, "Java of leat's files, compacted by leat", java.Rows(t, wh, ours.Table))
			same(t, s, "leat of Java's files, compacted by leat", rows(t, open(t, theirs)), "Java of Java's files, compacted by leat", java.Rows(t, wh, theirs.Table))
			x = newWriter(t, ours)
			x.write(commits[0])
			x.close()
			java.Compact(t, wh, ours.Table)
			same(t, s, "Java of leat's files, compacted by Java", java.Rows(t, wh, ours.Table), "leat of leat's files, compacted by Java", rows(t, open(t, ours)))
		})
	}
}

// compact compacts a table fully with leat.
func compact(t testing.TB, lake harness.Lake) {
	t.Helper()
	tab := open(t, lake)
	attempt := uuid.NewString()
	msgs, err := tab.Compact(t.Context(), lakehouse.WriteConfig{Attempt: attempt}, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(msgs) == 0 {
		t.Fatal("there was nothing to compact")
	}
	c := commit.New(tab.FS, tab.Path, tab.Schema, commit.Options{Attempt: attempt}, nil)
	if _, err := c.Commit(t.Context(), commit.Request{User: attempt, Identifier: 1, Messages: msgs}); err != nil {
		t.Fatal(err)
	}
}

// TestEveryTypeAsKey writes the ends of every type as keys: Java then updates
// and deletes them, so that buckets, order and statistics have to be its own.
func TestEveryTypeAsKey(t *testing.T) {
	t.Parallel()
	java, wh := judge.Java(t), t.TempDir()
	for i, typ := range flatTypes() {
		format := formats[i%len(formats)]
		if !holds(format, typ) {
			format = "orc"
		}
		lake := harness.Lake{Warehouse: wh, Table: fmt.Sprint("d.k", i)}
		fields := []columnar.Field{{Name: "k", Type: typ.NotNull()}, {Name: "v", Type: columnar.StringType()}}
		create(t, lake, fields, []string{"k"}, nil, map[string]string{"bucket": "2", "file.format": format})
		var first, second []judge.Row
		want := map[string]judge.Row{}
		keys := edgesIn(format, typ, true)
		if typ.Kind == columnar.Float || typ.Kind == columnar.Double {
			// Java takes the two zeros for one key, and NaN for any.
			keys = slices.DeleteFunc(keys, func(v any) bool { return v == "NaN" || v == "-0.0" })
		}
		for n, k := range keys {
			r := judge.Row{"k": k, "v": "leat"}
			first = append(first, r)
			want[text(normal(k, typ))] = r
			switch n % 3 {
			case 0:
				r = judge.Row{"k": k, "v": "java", "_kind": "+U"}
				second = append(second, r)
				want[text(normal(k, typ))] = r
			case 1:
				second = append(second, judge.Row{"k": k, "v": "leat", "_kind": "-D"})
				delete(want, text(normal(k, typ)))
			}
		}
		x := newWriter(t, lake)
		x.write(first)
		s := x.tab.Schema.Columns()
		same(t, s, "expected", first, typ.String()+" by Java", java.Rows(t, wh, lake.Table))
		java.Write(t, wh, lake.Table, "u", 1, lines(second))
		var left []judge.Row
		for _, r := range want {
			left = append(left, r)
		}
		same(t, s, "expected", left, typ.String()+" by leat", rows(t, x.tab))
		same(t, s, "expected", left, typ.String()+" by Java", java.Rows(t, wh, lake.Table))
		x.close()
	}
}

// TestEveryTypeAsPartition writes the ends of every type as partitions, into
// the folders that Java makes of the same rows.
func TestEveryTypeAsPartition(t *testing.T) {
	t.Parallel()
	java, wh := judge.Java(t), t.TempDir()
	for i, typ := range flatTypes() {
		if typ.IsBytes() {
			continue // Java names the folder by the identity of an object
		}
		lakes := []harness.Lake{{Warehouse: wh, Table: fmt.Sprint("d.ours", i)}, {Warehouse: wh, Table: fmt.Sprint("d.theirs", i)}}
		fields := []columnar.Field{{Name: "p", Type: typ}, {Name: "id", Type: columnar.Of(columnar.Int)}}
		var all []judge.Row
		for n, p := range append(edgesIn("orc", typ, true), nil) {
			if s := fmt.Sprint(p); s == "1.1754944e-38" || len(s) > 200 {
				continue // its text depends on the version of Java, or is no name of a file
			}
			all = append(all, judge.Row{"p": p, "id": json.Number(fmt.Sprint(n))})
		}
		for _, l := range lakes {
			create(t, l, fields, nil, []string{"p"}, map[string]string{"bucket": "-1", "file.format": "orc"})
		}
		x := newWriter(t, lakes[0])
		x.write(all)
		x.close()
		java.Write(t, wh, lakes[1].Table, "u", 1, lines(all))
		s := x.tab.Schema.Columns()
		same(t, s, "expected", all, typ.String()+" by leat", rows(t, x.tab))
		same(t, s, "expected", all, typ.String()+" by Java", java.Rows(t, wh, lakes[0].Table))
		same(t, s, "expected", all, typ.String()+" of Java by leat", rows(t, open(t, lakes[1])))
		if ours, theirs := folders(t, lakes[0]), folders(t, lakes[1]); !slices.Equal(ours, theirs) {
			t.Errorf("%s: leat's folders are %q, Java's %q", typ, ours, theirs)
		}
	}
}

// folders lists those of the partitions of a table.
func folders(t testing.TB, lake harness.Lake) []string {
	t.Helper()
	db, name, _ := strings.Cut(lake.Table, ".")
	entries, err := fs.ReadDir(os.DirFS(filepath.Join(lake.Warehouse, db+".db", name)), ".")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "p=") {
			out = append(out, e.Name())
		}
	}
	return out
}
