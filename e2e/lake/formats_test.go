package lake

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/e2e/judge"
	"leat/internal/columnar"
)

// everyType has a column of each flat type whose values the readers show alike.
const everyType = "id BIGINT NOT NULL; bo BOOLEAN; ti TINYINT; sm SMALLINT; n INT; f FLOAT; d DOUBLE; de DECIMAL(10, 2); wide DECIMAL(38, 10); s STRING; " +
	"v VARCHAR(10); b BYTES; da DATE; t3 TIMESTAMP(3); t6 TIMESTAMP(6); z TIMESTAMP(3) WITH LOCAL TIME ZONE"

// everyRow gives a row of everyType; n tells rows of one id apart.
func everyRow(kind string, id, n int) change {
	if n%4 == 3 {
		return change(fmt.Sprintf("%s %d%s", kind, id, strings.Repeat(",null", 15)))
	}
	binary := []byte(`"` + strings.Repeat("AP8B", n%3) + `"`)
	return change(fmt.Sprintf(`%s %d,%t,%d,%d,%d,%g,%g,"%d.%02d","-%d234567890123456789.0123456789","näme %d","v%d",%s,"%s","%s","%s","%s"`,
		kind, id, n%2 == 0, n-60, 300*n-9000, 70000*n, float32(n)/4, float64(n)/8-1, id-20, n%100, n%9+1, n%5, n, binary,
		time.Unix(0, 0).UTC().AddDate(0, 0, 31*n-400).Format("2006-01-02"),
		time.UnixMilli(int64(n-40)*86_399_123).UTC().Format("2006-01-02T15:04:05.000"),
		time.UnixMicro(int64(n-40)*86_399_123_457).UTC().Format("2006-01-02T15:04:05.000000"),
		time.UnixMilli(int64(n)*86_399_123_000).UTC().Format("2006-01-02T15:04:05.000Z")))
}

// formatEpochs are histories of inserts, updates and deletes of everyType.
func formatEpochs() [][]change {
	var out [][]change
	for e := range 5 {
		var rows []change
		for i := range 12 {
			id := (e*5 + i) % 25
			switch {
			case e > 0 && i%5 == 4:
				rows = append(rows, everyRow("-D", id, e))
			case e > 0:
				rows = append(rows, everyRow("+U", id, e*12+i))
			default:
				rows = append(rows, everyRow("+I", id, i))
			}
		}
		out = append(out, rows)
	}
	return out
}

// extensions counts the live files of the latest snapshot by extension.
func (l *lakeTable) extensions() map[string]int {
	l.t.Helper()
	out := map[string]int{}
	for _, f := range judge.Java(l.t).Files(l.t, l.warehouse, l.name) {
		for k, v := range f {
			if text, ok := v.(string); ok && strings.Contains(k, "file") && strings.HasPrefix(path.Base(text), "data-") {
				out[path.Ext(text)]++
			}
		}
	}
	return out
}

// TestFormatsReadEqual writes tables of every format and mixture with leat,
// with compactions on the way and at the end, and compares what all readers
// see of them; then Java goes on, and leat after it.
func TestFormatsReadEqual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options []string
		// live are extensions that files have after the compactions, one of each at least.
		live   []string
		python bool
	}{
		{"orc", []string{"file.format", "orc", "changelog-producer", "input"}, []string{".orc"}, true},
		{"thin", []string{
			"file.format", "orc", "file.compression", "zlib", "data-file.thin-mode", "true", "changelog-producer", "lookup", "changelog-file.format", "parquet", "changelog-file.compression", "snappy",
			"metadata.stats-mode", "full", "file.block-size", "64 kb",
		}, []string{".orc"}, true},
		{"snappy", []string{"file.format", "orc", "file.compression", "snappy", "changelog-producer", "none", "metadata.stats-dense-store", "false", "metadata.stats-mode", "counts"}, []string{".orc"}, false},
		{"levels", []string{
			"file.format", "orc", "file.format.per.level", "0:avro,5:parquet", "file.compression.per.level", "5:gzip", "changelog-producer", "lookup", "changelog-file.format", "orc", "changelog-file.compression", "zstd",
		}, []string{".parquet"}, false},
		{"avro", []string{"file.format", "avro", "changelog-producer", "input"}, []string{".avro"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			warehouse := t.TempDir()
			options := with(map[string]string{}, c.options...)
			options["num-sorted-run.compaction-trigger"] = "3"
			options["num-levels"] = "6"
			create(t, warehouse, "db.t", everyType, options)
			l := open(t, warehouse, "db.t")
			for _, e := range formatEpochs() {
				l.write(e...)
				l.commit()
			}
			l.check(false)
			producer := options["changelog-producer"]
			if producer != "none" {
				l.sameChangelog(producer == "lookup")
			}
			l.compact(true)
			l.checkLatest(false)
			live := l.extensions()
			for _, want := range c.live {
				if live[want] == 0 {
					t.Errorf("live files by extension are %v, want some %s", live, want)
				}
			}
			judge.Java(t).Write(t, warehouse, "db.t", "java", 1, ndjson(t, l.tab.Schema.Columns(), []change{everyRow("+U", 3, 50), everyRow("-D", 4, 1), everyRow("+I", 77, 52)}))
			l.checkLatest(false)
			l.restart()
			l.write(everyRow("+U", 77, 2), everyRow("+I", 78, 0))
			l.commit()
			judge.Java(t).Compact(t, warehouse, "db.t")
			l.checkLatest(c.python)
		})
	}
}

// checkLatest compares what the readers see of the latest snapshot.
func (l *lakeTable) checkLatest(python bool) {
	l.t.Helper()
	rows := l.rows(0)
	if d := judge.Diff("java", judge.Java(l.t).Rows(l.t, l.warehouse, l.name), "leat", rows); d != "" {
		l.t.Error(d)
	}
	if python {
		if d := judge.Diff("leat", rows, "pypaimon", judge.PyPaimon(l.t).Rows(l.t, l.warehouse, l.name)); d != "" {
			l.t.Error(d)
		}
	}
}

// sameChangelog compares the changes that leat and Java read; folds says that they give the rows.
func (l *lakeTable) sameChangelog(folds bool) {
	l.t.Helper()
	if folds {
		l.checkChangelog("id")
	}
	if d := judge.Diff("java", judge.Java(l.t).Changelog(l.t, l.warehouse, l.name), "leat", l.changelog()); d != "" {
		l.t.Error(d)
	}
}

// TestAppendTableInORC writes a table without a key, and joins its files.
func TestAppendTableInORC(t *testing.T) {
	t.Parallel()
	warehouse := t.TempDir()
	type field struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	var fields []field
	for c := range strings.SplitSeq(everyType, "; ") {
		n, typ, _ := strings.Cut(c, " ")
		fields = append(fields, field{n, typ})
	}
	def, err := json.Marshal(map[string]any{"fields": fields, "options": map[string]string{"bucket": "-1", "file.format": "orc", "file.compression": "lz4"}})
	if err != nil {
		t.Fatal(err)
	}
	judge.Java(t).Create(t, warehouse, "db.log", string(def))
	l := open(t, warehouse, "db.log")
	for e := range 6 {
		var rows []change
		for i := range 50 {
			rows = append(rows, everyRow("+I", 50*e+i, i))
		}
		l.write(rows...)
		l.commit()
	}
	l.checkLatest(false)
	l.compact(true)
	l.checkLatest(true)
	if live := l.extensions(); live[".orc"] == 0 || len(live) != 1 {
		t.Errorf("live files by extension are %v, want some .orc", live)
	}
}

// cell gives a value in the form of the judges where JSON of the array has another one.
func cell(a arrow.Array, i int, t columnar.DataType) (any, bool) {
	if a.IsNull(i) {
		return nil, false
	}
	switch a := a.(type) {
	case *array.Decimal128:
		return a.Value(i).ToString(int32(t.Scale)), true
	case *array.Binary:
		return hex.EncodeToString(a.Value(i)), true
	case *array.Timestamp:
		layout := "2006-01-02T15:04:05"
		if t.Precision > 0 {
			layout += "." + strings.Repeat("0", t.Precision)
		}
		if t.Kind == columnar.TimestampLTZ {
			layout += "Z"
		}
		return a.Value(i).ToTime(columnar.TimestampUnit(t.Precision)).UTC().Format(layout), true
	default:
		return nil, false
	}
}
