package nested

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/columnar"
)

// TestAggregatesOfNestedColumns merges nested values by functions in every
// format: leat writes and takes back, Java goes on, leat compacts.
func TestAggregatesOfNestedColumns(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	number, word := columnar.Of(columnar.Int), columnar.StringType()
	item := rowOf(field(20, "k", number), field(21, "v", word))
	fields := []columnar.Field{
		{Name: "id", Type: number.NotNull()},
		{Name: "all", Type: arrayOf(number)},
		{Name: "different", Type: arrayOf(number)},
		{Name: "merged", Type: mapOf(word.NotNull(), number)},
		{Name: "items", Type: arrayOf(item)},
		{Name: "last", Type: rowOf(field(22, "x", arrayOf(number)))},
	}
	list := func(n ...int) []any {
		out := []any{}
		for _, v := range n {
			out = append(out, json.Number(text(v)[:len(text(v))-1]))
		}
		return out
	}
	pairs := func(keys string, v int) []any {
		out := []any{}
		for _, k := range keys {
			out = append(out, []any{string(k), list(v)[0]})
		}
		return out
	}
	items := func(v string, keys ...int) []any {
		out := []any{}
		for _, k := range list(keys...) {
			out = append(out, map[string]any{"k": k, "v": v})
		}
		return out
	}
	row := func(kind string, id int, numbers []any, merged, items any) judge.Row {
		return judge.Row{"_kind": kind, "id": list(id)[0], "all": numbers, "different": numbers, "merged": merged, "items": items, "last": map[string]any{"x": numbers}}
	}
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			lake := harness.Lake{Warehouse: t.TempDir(), Table: "d.t"}
			create(t, lake, fields, []string{"id"}, nil, map[string]string{
				"bucket": "1", "file.format": format, "merge-engine": "aggregation", "num-sorted-run.compaction-trigger": "9",
				"fields.all.aggregate-function": "collect", "fields.different.aggregate-function": "collect", "fields.different.distinct": "true",
				"fields.merged.aggregate-function": "merge_map", "fields.items.aggregate-function": "nested_update", "fields.items.nested-key": "k",
			})
			x := newWriter(t, lake)
			x.write([]judge.Row{row("+I", 1, list(1, 2, 2), pairs("ab", 1), items("one", 1, 2)), row("+I", 2, list(5), pairs("c", 1), nil), row("+I", 3, nil, nil, items("one", 9))})
			x.write([]judge.Row{row("+I", 1, list(2, 3), pairs("bc", 2), items("two", 2, 3)), row("+I", 3, list(7, 7), pairs("z", 3), items("two", 9))})
			x.write([]judge.Row{row("-D", 1, list(2), pairs("a", 1), items("one", 1)), row("+I", 2, list(6), nil, items("three", 1))})
			x.close()
			check := func(when string) {
				t.Helper()
				same(t, x.tab.Schema.Columns(), "Java "+when, sorted(java.Rows(t, lake.Warehouse, lake.Table)), "leat", sorted(rows(t, x.tab)))
			}
			check("of leat's files")
			java.Write(t, lake.Warehouse, lake.Table, "u", 1, lines([]judge.Row{row("+I", 2, list(6, 8), pairs("cd", 9), items("four", 1, 2)), row("+I", 4, list(1), pairs("q", 0), items("four", 4))}))
			check("with Java's file")
			compact(t, lake)
			check("compacted")
			java.Write(t, lake.Warehouse, lake.Table, "u", 2, lines([]judge.Row{row("-D", 2, list(6), pairs("d", 9), items("four", 2))}))
			check("with a retraction of Java")
		})
	}
}

// sorted brings the items of rows into one order: Java's is that of a hash table.
func sorted(rows []judge.Row) []judge.Row {
	for _, r := range rows {
		if items, ok := r["items"].([]any); ok {
			slices.SortFunc(items, func(a, b any) int { return cmp.Compare(text(a), text(b)) })
		}
	}
	return rows
}
