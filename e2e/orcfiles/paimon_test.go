package orcfiles

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/lakehouse/format/orc"
	"leat/lakehouse/spec"
)

// allTypes is the table that Java Paimon makes; it has every type of the format.
const allTypes = `{"fields":[
 {"name":"id","type":"INT NOT NULL"},{"name":"c_bool","type":"BOOLEAN"},{"name":"c_tiny","type":"TINYINT"},{"name":"c_small","type":"SMALLINT"},
 {"name":"c_big","type":"BIGINT"},{"name":"c_float","type":"FLOAT"},{"name":"c_double","type":"DOUBLE"},{"name":"c_dec9","type":"DECIMAL(9, 2)"},
 {"name":"c_dec38","type":"DECIMAL(38, 10)"},{"name":"c_char","type":"CHAR(6)"},{"name":"c_varchar","type":"VARCHAR(20)"},{"name":"c_string","type":"STRING"},
 {"name":"c_binary","type":"BINARY(4)"},{"name":"c_bytes","type":"BYTES"},{"name":"c_date","type":"DATE"},{"name":"c_time","type":"TIME(3)"},
 {"name":"c_ts0","type":"TIMESTAMP(0)"},{"name":"c_ts3","type":"TIMESTAMP(3)"},{"name":"c_ts6","type":"TIMESTAMP(6)"},{"name":"c_ts9","type":"TIMESTAMP(9)"},
 {"name":"c_ltz3","type":"TIMESTAMP(3) WITH LOCAL TIME ZONE"},{"name":"c_ltz9","type":"TIMESTAMP(9) WITH LOCAL TIME ZONE"},
 {"name":"c_arr","type":{"type":"ARRAY","element":{"type":"ARRAY","element":"STRING"}}},
 {"name":"c_map","type":{"type":"MAP","key":"STRING NOT NULL","value":{"type":"ARRAY","element":"BIGINT"}}},
 {"name":"c_set","type":{"type":"MULTISET","element":"INT NOT NULL"}},
 {"name":"c_row","type":{"type":"ROW","fields":[{"id":100,"name":"a","type":"INT"},{"id":101,"name":"b","type":{"type":"ROW","fields":[{"id":102,"name":"c","type":"DECIMAL(20, 3)"},{"id":103,"name":"d","type":"TIMESTAMP(6)"}]}}]}}
],"primaryKeys":[],"partitionKeys":[],"options":{"bucket":"-1","file.format":"orc"}}`

// maybe gives null now and then.
func maybe(rnd *rand.Rand, v any) any {
	if rnd.IntN(6) == 0 {
		return nil
	}
	return v
}

func timeText(rnd *rand.Rand, digits int) string {
	// From 1850 to 2150; the second before 1970 is another story (see package orc).
	sec := rnd.Int64N(9_400_000_000) - 3_786_825_600
	if sec == -1 {
		sec = 0
	}
	t := time.Unix(sec, rnd.Int64N(1_000_000_000)).UTC()
	if digits == 0 {
		return t.Format("2006-01-02T15:04:05")
	}
	return t.Format("2006-01-02T15:04:05." + strings.Repeat("0", digits))
}

// tableRows makes rows in the JSON form of the oracle.
func tableRows(n int) string {
	rnd := rand.New(rand.NewPCG(4, 2))
	words := []string{"", "a", "é中", "😀 tail", "some longer text than sixteen bytes"}
	word := func(n int) string {
		r := []rune(words[rnd.IntN(len(words))])
		return strings.TrimRight(string(r[:min(len(r), n)]), " ")
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	for i := range n {
		small := rnd.IntN(5)
		row := map[string]any{
			"id": i, "c_bool": maybe(rnd, i%7 == 0), "c_tiny": maybe(rnd, small-2), "c_small": maybe(rnd, rnd.IntN(60000)-30000),
			"c_big": maybe(rnd, rnd.Int64()>>[]int{56, 56, 10}[min(2, rnd.IntN(80)/39)]), "c_float": maybe(rnd, float32(rnd.IntN(1000))/8), "c_double": maybe(rnd, rnd.Float64()),
			"c_dec9":  maybe(rnd, fmt.Sprintf("%d.%02d", rnd.IntN(9_999_999)-5_000_000, rnd.IntN(100))),
			"c_dec38": maybe(rnd, fmt.Sprintf("-%d%018d.%010d", 1+rnd.IntN(999_999_999), rnd.Int64N(1e18), rnd.Int64N(1e10))),
			"c_char":  maybe(rnd, word(6)), "c_varchar": maybe(rnd, fmt.Sprintf("v%d", rnd.IntN(50))), "c_string": maybe(rnd, word(40)),
			"c_binary": maybe(rnd, fmt.Sprintf("%08x", rnd.Uint32())), "c_bytes": maybe(rnd, strings.Repeat("ab", rnd.IntN(9))),
			"c_date": maybe(rnd, timeText(rnd, 0)[:10]), "c_time": maybe(rnd, fmt.Sprintf("%02d:%02d:%02d.%03d", rnd.IntN(24), rnd.IntN(60), rnd.IntN(60), rnd.IntN(1000))),
			"c_ts0": maybe(rnd, timeText(rnd, 0)), "c_ts3": maybe(rnd, timeText(rnd, 3)), "c_ts6": maybe(rnd, timeText(rnd, 6)), "c_ts9": maybe(rnd, timeText(rnd, 9)),
			"c_ltz3": maybe(rnd, timeText(rnd, 3)+"Z"), "c_ltz9": maybe(rnd, timeText(rnd, 9)+"Z"),
			"c_arr": maybe(rnd, []any{[]any{word(9), nil}, nil, []any{}}[:rnd.IntN(4)]),
			"c_map": maybe(rnd, []any{[]any{"k" + word(3), []any{i, nil}}, []any{"l", nil}}[:rnd.IntN(3)]),
			"c_set": maybe(rnd, []any{[]any{i, 2}, []any{-i - 1, 1}}[:rnd.IntN(3)]),
			"c_row": maybe(rnd, map[string]any{"a": maybe(rnd, i), "b": maybe(rnd, map[string]any{"c": maybe(rnd, "1.500"), "d": maybe(rnd, timeText(rnd, 6))})}),
		}
		if err := e.Encode(row); err != nil {
			panic(err)
		}
	}
	return b.String()
}

// TestJavaPaimonReadsTheSameRows has Java Paimon write a table, writes its data
// file anew in several ways, and has Java read it again.
func TestJavaPaimonReadsTheSameRows(t *testing.T) {
	t.Parallel()
	oracle, wh := judge.Java(t), t.TempDir()
	oracle.Create(t, wh, "d.t", allTypes)
	oracle.Write(t, wh, "d.t", "u", 1, tableRows(3000))
	want := oracle.Rows(t, wh, "d.t")
	if len(want) != 3000 {
		t.Fatalf("%d rows", len(want))
	}
	schema, err := os.ReadFile(filepath.Join(wh, "d.db", "t", "schema", "schema-0"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := spec.ParseSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(wh, "d.db", "t", "bucket-0", "*.orc"))
	if err != nil || len(files) != 1 {
		t.Fatalf("data files %v, error %v", files, err)
	}
	cols := read(t, files[0], table.Fields)
	for _, opts := range []orc.Options{
		{},
		{Compression: "zlib", IndexRows: 500, StripeSize: 1},
		{Compression: "none", ChunkSize: 1000},
		{Compression: "snappy", Level: 3},
		{Compression: "lz4", IndexRows: 777},
		{Compression: "zstd", Level: 9, ChunkSize: 5000},
	} {
		write(t, files[0], table.Fields, cols, opts)
		if d := judge.Diff("java", want, "java from our file", oracle.Rows(t, wh, "d.t")); d != "" {
			t.Errorf("%+v: %s", opts, d)
		}
		same(t, table.Fields, cols, read(t, files[0], table.Fields))
	}
}

// TestOldTimestamps writes wall clocks before the calendar reform and before
// 1970: Java reads those that we wrote, where it shifts its own.
func TestOldTimestamps(t *testing.T) {
	t.Parallel()
	oracle, wh := judge.Java(t), t.TempDir()
	oracle.Create(t, wh, "d.t", `{"fields":[{"name":"t","type":"TIMESTAMP(6)"},{"name":"d","type":"DATE"}],"primaryKeys":[],"partitionKeys":[],"options":{"bucket":"-1","file.format":"orc"}}`)
	oracle.Write(t, wh, "d.t", "u", 1, `{"t":"2026-03-01T00:00:00.000000","d":"2026-03-01"}`)
	files, err := filepath.Glob(filepath.Join(wh, "d.db", "t", "bucket-0", "*.orc"))
	if err != nil || len(files) != 1 {
		t.Fatalf("data files %v, error %v", files, err)
	}
	fields := []columnar.Field{{ID: 0, Name: "t", Type: columnar.TimestampOf(6)}, {ID: 1, Name: "d", Type: columnar.Of(columnar.Date)}}
	var want []judge.Row
	b := columnar.NewBuilders(memory.DefaultAllocator, &columnar.Schema{Fields: fields})
	for _, s := range []string{
		"0001-01-01T00:00:00.000000", "1582-10-04T12:00:00.500000", "1582-10-10T00:00:00.000001", "1899-12-31T23:59:59.999999",
		"1969-12-31T23:59:58.999999", "1969-12-31T23:59:59.000000", "1969-12-31T23:59:59.000999", "1970-01-01T00:00:00.999999", "9999-12-31T23:59:59.999999",
	} {
		want = append(want, judge.Row{"t": s, "d": s[:10]})
		for i, text := range []string{s, s[:10]} {
			if err := b[i].AppendValueFromString(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(t, files[0], fields, []arrow.Array{b[0].NewArray(), b[1].NewArray()}, orc.Options{})
	if d := judge.Diff("written", want, "java", oracle.Rows(t, wh, "d.t")); d != "" {
		t.Error(d)
	}
}
