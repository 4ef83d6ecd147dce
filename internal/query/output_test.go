package query_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/query"
)

func textBatch(rows ...[2]string) *columnar.Batch {
	schema := &columnar.Schema{Fields: []columnar.Field{
		{ID: 0, Name: "name", Type: columnar.StringType()}, {ID: 1, Name: "remark", Type: columnar.StringType()},
	}}
	var cols []arrow.Array
	for c := range 2 {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		for _, r := range rows {
			if r[c] == "NULL" {
				b.AppendNull()
			} else {
				b.Append(r[c])
			}
		}
		cols = append(cols, b.NewArray())
	}
	return columnar.NewBatch(schema, nil, cols, len(rows))
}

func printed(t *testing.T, format string, set func(*query.Printer), batches ...*columnar.Batch) string {
	t.Helper()
	var out bytes.Buffer
	p, err := query.NewPrinter(&out, format)
	if err != nil {
		t.Fatal(err)
	}
	set(p)
	if err := p.Begin(batches[0].Schema); err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := p.Batch(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.End(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestForms(t *testing.T) {
	t.Parallel()
	b := textBatch([2]string{"a\"b", "one|two, three"}, [2]string{"", "NULL"}, [2]string{"漢字かな", "a long remark that no narrow window holds"})
	for _, c := range []struct {
		name, format string
		set          func(*query.Printer)
		want         string
	}{
		{"csv", "csv", func(*query.Printer) {}, `
name,remark
"a""b","one|two, three"
"",
漢字かな,a long remark that no narrow window holds
`},
		{"markdown", "markdown", func(*query.Printer) {}, `
| name | remark |
|---|---|
| a"b | one\|two, three |
|  | NULL |
| 漢字かな | a long remark that no narrow window holds |
`},
		{"wide characters take two cells", "table", func(*query.Printer) {}, `
name     | remark
---------+------------------------------------------
a"b      | one|two, three
         | NULL
漢字かな | a long remark that no narrow window holds
(3 rows)
`},
		{"fitted", "table", func(p *query.Printer) { p.Width = 24 }, `
name     | remark
---------+--------------
a"b      | one|two, thr…
         | NULL
漢字かな | a long remar…
(3 rows)
`},
		{"no narrower than eight", "table", func(p *query.Printer) { p.Width = 3 }, `
name     | remark
---------+---------
a"b      | one|two…
         | NULL
漢字かな | a long …
(3 rows)
`},
		{"expanded", "table", func(p *query.Printer) { p.Expanded = true }, `
-[ row 1 ]---
name   | a"b
remark | one|two, three
-[ row 2 ]---
name   |
remark | NULL
-[ row 3 ]---
name   | 漢字かな
remark | a long remark that no narrow window holds
(3 rows)
`},
	} {
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), printed(t, c.format, c.set, b)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// TestLongTable streams rows behind those that the widths were taken from.
func TestLongTable(t *testing.T) {
	t.Parallel()
	var batches []*columnar.Batch
	for range 7 {
		rows := make([][2]string, 300)
		for i := range rows {
			rows[i] = [2]string{"n", "r"}
		}
		batches = append(batches, textBatch(rows...))
	}
	batches = append(batches, textBatch([2]string{"wider than the others", "r"}))
	out := printed(t, "table", func(*query.Printer) {}, batches...)
	if n := strings.Count(out, "n    | r\n"); n != 2100 {
		t.Errorf("%d rows of the usual width, want 2100", n)
	}
	if !strings.HasSuffix(out, "wider than the others | r\n(2101 rows)\n") {
		t.Errorf("the end is %q", out[len(out)-60:])
	}
}
