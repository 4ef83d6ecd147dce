package nested

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/columnar"
)

// statsRows are rows whose statistics both libraries take alike: no NaN, which
// leat leaves bounds out for, and no text whose last character before the cut
// has no follower in Java.
func statsRows(fields []columnar.Field, format string) []judge.Row {
	var out []judge.Row
	for i := range 9 {
		r := judge.Row{}
		for _, f := range fields {
			var v any
			switch t := f.Type; {
			case f.Name == "id" || f.Name == "k":
				v = json.Number(fmt.Sprint(i))
			case t.IsNested():
				v = []any{}
			case t.IsText():
				v = []string{"", "short", strings.Repeat("é", 30)}[i%3]
				if t.Length < 10 {
					v = []string{"a", "abc", "bz"}[i%3]
				}
			case t.Kind == columnar.Float || t.Kind == columnar.Double:
				v = json.Number(fmt.Sprint(float64(i-4) / 4))
			default:
				all := edgesIn(format, t, true)
				v = all[i%len(all)]
			}
			if i%4 == 3 && f.Type.Nullable {
				v = nil
			}
			r[f.Name] = v
		}
		out = append(out, r)
	}
	return out
}

// TestStatisticsAreJavas writes the same rows with leat and Java under every
// option on statistics, and compares what the manifests keep.
func TestStatisticsAreJavas(t *testing.T) {
	t.Parallel()
	java, wh := judge.Java(t), t.TempDir()
	cases := map[string]map[string]string{
		"default":  {},
		"none":     {"metadata.stats-mode": "none", "fields.c3.stats-mode": "full", "fields.c15.stats-mode": "truncate(4)"},
		"counts":   {"metadata.stats-mode": "counts", "fields.c4.stats-mode": "none"},
		"full":     {"metadata.stats-mode": "full", "fields.c0.stats-mode": "counts"},
		"truncate": {"metadata.stats-mode": "truncate(3)"},
		"level":    {"metadata.stats-mode": "full", "metadata.stats-mode.per.level": "0:truncate(2),5:none"},
		"sparse":   {"metadata.stats-mode": "none", "fields.c2.stats-mode": "full", "metadata.stats-dense-store": "false"},
		"thin":     {"data-file.thin-mode": "true"},
		"thinnest": {"data-file.thin-mode": "true", "metadata.stats-mode": "none", "fields.c1.stats-mode": "counts"},
		"first":    {"metadata.stats-keep-first-n-columns": "6", "fields.c9.stats-mode": "full"},
		"thin6":    {"metadata.stats-keep-first-n-columns": "6", "data-file.thin-mode": "true"},
		"append":   {"metadata.stats-mode": "truncate(5)", "bucket": "-1"},
	}
	for _, format := range formats {
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			number := columnar.Of(columnar.Int)
			fields := []columnar.Field{{Name: "id", Type: number.NotNull()}}
			for i, typ := range flatTypes() {
				// ORC pads CHAR in statistics of Java.
				if holds(format, typ) && typ.Kind != columnar.Char {
					fields = append(fields, columnar.Field{Name: fmt.Sprint("c", i), Type: typ})
				}
			}
			fields = append(fields, columnar.Field{Name: "list", Type: columnar.DataType{Kind: columnar.Array, Nullable: true, Elem: &number}}, columnar.Field{Name: "k", Type: number.NotNull()})
			options := map[string]string{"bucket": "1", "file.format": format}
			maps.Copy(options, cases[name])
			keys := []string{"k", "id"}
			if name == "append" {
				keys = nil
			}
			ours, theirs := harness.Lake{Warehouse: wh, Table: fmt.Sprintf("d.ours_%s_%s", format, name)}, harness.Lake{Warehouse: wh, Table: fmt.Sprintf("d.theirs_%s_%s", format, name)}
			create(t, ours, fields, keys, nil, options)
			create(t, theirs, fields, keys, nil, options)
			all := statsRows(fields, format)
			x := newWriter(t, ours)
			x.write(all)
			x.close()
			java.Write(t, wh, theirs.Table, "u", 1, lines(all))
			compareStats(t, format+" "+name, java.Files(t, wh, theirs.Table), java.Files(t, wh, ours.Table))
			if name == "level" {
				compact(t, ours)
				java.Compact(t, wh, theirs.Table)
				compareStats(t, format+" "+name+" compacted", java.Files(t, wh, theirs.Table), java.Files(t, wh, ours.Table))
			}
		}
	}
}

// compareStats compares the statistics of the only file of two tables.
func compareStats(t testing.TB, name string, want, got []judge.Row) {
	t.Helper()
	if len(want) != 1 || len(got) != 1 {
		t.Errorf("%s: %d files of Java, %d of leat", name, len(want), len(got))
		return
	}
	parts := []string{"value_stats_cols", "value_stats", "key_stats"}
	if strings.HasPrefix(name, "avro") {
		parts = parts[:2] // leat keeps bounds of keys always, Java by the mode of values there
	}
	for _, part := range parts {
		a, b := want[0][part], got[0][part]
		if text(a) == text(b) {
			continue
		}
		am, aok := a.(map[string]any)
		bm, bok := b.(map[string]any)
		if !aok || !bok {
			t.Errorf("%s: %s of Java is %s of leat %s", name, part, text(a), text(b))
			continue
		}
		for _, k := range slices.Sorted(maps.Keys(am)) {
			if text(am[k]) != text(bm[k]) {
				t.Errorf("%s: %s %s\n java %.900s leat %.900s", name, part, k, text(am[k]), text(bm[k]))
			}
		}
	}
}
