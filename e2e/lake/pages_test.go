package lake

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/lakehouse"
)

// TestParquetPagesReadEqual writes columns whose pages are of every encoding
// (few values, many, none, some of each) and compares what the readers see,
// before and after a compaction, all rows and those that meet conditions: readers
// leave out pages by what the file says of them.
func TestParquetPagesReadEqual(t *testing.T) {
	t.Parallel()
	const columns = "id BIGINT NOT NULL; n INT; big BIGINT; de DECIMAL(9, 2); money DECIMAL(18, 2); s STRING; da DATE; tm TIME(3); " +
		"t3 TIMESTAMP(3); t6 TIMESTAMP(6); z TIMESTAMP(3) WITH LOCAL TIME ZONE; few INT; word STRING; nothing BIGINT; some BIGINT"
	warehouse := t.TempDir()
	create(t, warehouse, "db.pages", columns, map[string]string{"bucket": "1", "write-only": "true", "parquet.page.size": "8192"})
	l := open(t, warehouse, "db.pages")
	var samples []change
	or := func(null bool, format string, v ...any) string {
		if null {
			return "null"
		}
		return fmt.Sprintf(format, v...)
	}
	for epoch := range 2 {
		var rows []change
		for i := range 3000 {
			x := uint64(i*2+epoch+1) * 0x9e3779b97f4a7c15
			null := func(col int) bool { return (x>>col)%8 == 0 }
			stamp := fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d.%03d", 1900+x>>8%200, x>>16%12+1, x>>20%28+1, x>>24%24, x>>32%60, x>>40%60, x>>48%100*10+7)
			rows = append(rows, change(fmt.Sprintf("+I %d,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%d,%q,null,%s", i*(2-epoch),
				or(null(1), "%d", int32(x)), or(null(2), "%d", int64(x)), or(null(3), `"%d.%02d"`, int32(x>>3)%10_000_000, x%100),
				or(null(4), `"%d.%02d"`, int64(x>>9)%10_000_000_000_000_000, x%100), or(null(5), `"text %x"`, x), or(null(6), "%q", stamp[:10]), or(null(7), "%q", stamp[11:]),
				or(null(8), "%q", stamp), or(null(9), "%q", stamp+"123"), or(null(10), `"%sZ"`, stamp),
				x>>60%5, []string{"a", "b", ""}[x>>50%3], or(i < 2500, "%d", x>>40))))
		}
		l.write(rows...)
		l.commit()
		samples = append(samples, rows[700+324*epoch], rows[1900]) // 1024 begins a page of keys within those of other columns
	}
	l.checkLatest(true)
	l.compact(true)
	l.checkLatest(true)
	if left := l.checkConditions(samples); left == 0 {
		t.Error("no condition has left a row out in pages of leat")
	}
	judge.Java(t).Write(t, warehouse, "db.pages", "java", 1, ndjson(t, l.tab.Schema.Columns(), []change{samples[0]}))
	judge.Java(t).Compact(t, warehouse, "db.pages", "--option", "write-only=false")
	if left := l.checkConditions(samples); left == 0 {
		t.Error("no condition has left a row out in pages of Java")
	}
}

// checkConditions compares the rows that meet conditions on each column, with values
// of the samples: filtered here, and as Java and leat leave rows out themselves. It
// gives how many rows leat has left out.
func (l *lakeTable) checkConditions(samples []change) (left int) {
	l.t.Helper()
	all := l.rows(0)
	for i, f := range l.tab.Schema.Fields {
		for k, text := range samples {
			b := batch(l.t, l.tab.Schema.Columns(), []change{text})
			value := judgeRows(l.t, b)[0][f.Name]
			c := lakehouse.Condition{Column: f.Name, Op: []lakehouse.Op{lakehouse.Equal, lakehouse.Less, lakehouse.GreaterOrEqual}[k%3], Values: b.Cols[i]}
			op := []string{"=", "<", ">="}[k%3]
			if value == nil {
				c.Op, c.Values, op = lakehouse.IsNull, nil, "null"
			}
			where, err := json.Marshal([]map[string]any{{"column": f.Name, "op": op, "value": value}})
			if err != nil {
				l.t.Fatal(err)
			}
			want := meeting(all, f.Name, op, value)
			if d := judge.Diff("filtered", want, "java", judge.Java(l.t).Rows(l.t, l.warehouse, l.name, "--where", string(where))); d != "" {
				l.t.Errorf("%s: %s", where, d)
			}
			var came []judge.Row
			err = l.tab.Scan(l.t.Context(), lakehouse.ScanOptions{Where: []lakehouse.Condition{c}}, func(b *columnar.Batch) error {
				came = append(came, judgeRows(l.t, b)...)
				return nil
			})
			if err != nil {
				l.t.Fatal(err)
			}
			left += len(all) - len(came)
			if d := judge.Diff("filtered", want, "leat", meeting(came, f.Name, op, value)); d != "" {
				l.t.Errorf("%s: %s", where, d)
			}
		}
	}
	return left
}

// meeting gives the rows that meet a condition; numbers are compared as such, all else by its text.
func meeting(rows []judge.Row, column, op string, value any) (out []judge.Row) {
	for _, r := range rows {
		v := r[column]
		ok := op == "null" && v == nil
		if v != nil && value != nil {
			x, isNumber := new(big.Rat).SetString(fmt.Sprint(v))
			y, _ := new(big.Rat).SetString(fmt.Sprint(value))
			o := strings.Compare(fmt.Sprint(v), fmt.Sprint(value))
			if isNumber && y != nil {
				o = x.Cmp(y)
			}
			ok = op == "=" && o == 0 || op == "<" && o < 0 || op == ">=" && o >= 0
		}
		if ok {
			out = append(out, r)
		}
	}
	return out
}
