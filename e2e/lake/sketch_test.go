package lake

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/e2e/judge"
	"leat/lakehouse/mergetree/sketch"
)

// sketchAnswer is what Java says of serialized sets.
type sketchAnswer struct {
	Hex    []string  `json:"hex"`
	Counts []float64 `json:"counts"`
	Union  string    `json:"union"`
	Count  float64   `json:"count"`
	Digest int64     `json:"digest"`
}

// sketches asks Java to make sets, or to look at some.
func sketches(t testing.TB, request map[string]any) sketchAnswer {
	t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := judge.Java(t).Call(string(text), "sketch")
	if err != nil || len(lines) != 1 {
		t.Fatalf("%s: %d lines, %v", text, len(lines), err)
	}
	var a sketchAnswer
	if err := json.Unmarshal(lines[0], &a); err != nil {
		t.Fatal(err)
	}
	return a
}

var unions = map[string]sketch.Union{"theta": sketch.Theta, "hll": sketch.HLL, "rbm32": sketch.Bitmap32, "rbm64": sketch.Bitmap64}

// TestSketchUnions unites sets that Java made: sketches to Java's bytes, bitmaps to Java's numbers.
func TestSketchUnions(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 7))
	spans := map[string][]int64{"theta": {1, 2, 60, 3000, 9000}, "hll": {1, 5, 9, 40, 300, 420, 2000, 30_000}, "rbm32": {1, 40, 5000, 70_000}, "rbm64": {1, 40, 5000, 70_000}}
	for _, kind := range []string{"theta", "hll", "rbm32", "rbm64"} {
		for range 30 {
			request := map[string]any{"kind": kind, "lgk": []int{12, 12, 11, 8, 5, 13}[rnd.IntN(6)], "type": []string{"HLL_4", "HLL_6", "HLL_8"}[rnd.IntN(3)], "updatable": rnd.IntN(3) == 0}
			var sets [][]int64
			for range 2 + rnd.IntN(3) {
				n := spans[kind][rnd.IntN(len(spans[kind]))]
				from, step := rnd.Int64N(20_000), 1+rnd.Int64N(4)
				if strings.HasPrefix(kind, "rbm") && rnd.IntN(2) == 0 {
					from, step = from<<rnd.IntN(12), step<<rnd.IntN(10)
				}
				if kind == "rbm64" && rnd.IntN(2) == 0 {
					from, step, n = from<<30, int64(1)<<(15+rnd.IntN(25)), min(n, 900)
				}
				if rnd.IntN(15) == 0 {
					n = 0
				}
				sets = append(sets, []int64{from, from + n*step, step})
			}
			request["sets"] = sets
			checkUnion(t, kind, request)
		}
	}
}

func checkUnion(t *testing.T, kind string, request map[string]any) {
	t.Helper()
	java := sketches(t, request)
	var values [][]byte
	for _, h := range java.Hex {
		b, err := hex.DecodeString(h)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, b)
	}
	got, err := unions[kind](values)
	if err != nil {
		t.Errorf("%v: %v", request, err)
		return
	}
	if u := hex.EncodeToString(got); u != java.Union {
		if !strings.HasPrefix(kind, "rbm") {
			t.Errorf("%v: %d bytes %.200s, Java's are %d %.200s", request, len(u)/2, u, len(java.Union)/2, java.Union)
			return
		}
		read := sketches(t, map[string]any{"kind": kind, "hex": []string{u}})
		if fmt.Sprint(read.Count, read.Digest) != fmt.Sprint(java.Count, java.Digest) {
			t.Errorf("%v: Java reads %v numbers, has %v", request, read.Count, java.Count)
		}
	}
}

// sketchColumns are the sets of TestSketchTables by column.
var sketchColumns = []struct{ column, kind, function string }{
	{"th", "theta", "theta_sketch"}, {"hl", "hll", "hll_sketch"}, {"b32", "rbm32", "rbm32"}, {"b64", "rbm64", "rbm64"},
}

// sketchRow is a change whose columns all hold the numbers from to to; both 0 are null.
func sketchRow(t testing.TB, id, from, to int64) change {
	t.Helper()
	row := fmt.Sprint("+I ", id)
	for _, c := range sketchColumns {
		if from == to {
			row += ",null"
			continue
		}
		b, err := hex.DecodeString(sketches(t, map[string]any{"kind": c.kind, "sets": [][]int64{{from, to, 1}}}).Hex[0])
		if err != nil {
			t.Fatal(err)
		}
		row += fmt.Sprintf(",%q", base64.StdEncoding.EncodeToString(b))
	}
	return change(row)
}

// checkSketches compares what leat and Java read: sketches by their bytes,
// bitmaps by their numbers, both with how many numbers there are.
func checkSketches(l *lakeTable, counts map[int64]float64) {
	l.t.Helper()
	of := func(rows []judge.Row) map[string]string {
		out := map[string]string{}
		for _, r := range rows {
			for _, c := range sketchColumns {
				name := fmt.Sprint(r.Int("id"), " ", c.column)
				if r[c.column] == nil {
					out[name] = "null"
					continue
				}
				a := sketches(l.t, map[string]any{"kind": c.kind, "hex": []string{r.Text(c.column)}})
				if out[name] = fmt.Sprint(a.Count, a.Digest); a.Digest == 0 {
					out[name] = a.Union
				}
				if want := counts[r.Int("id")]; a.Count < 0.95*want || a.Count > 1.05*want {
					l.t.Errorf("%s counts %v, want about %v", name, a.Count, want)
				}
			}
		}
		return out
	}
	leat, java := of(l.rows(0)), of(judge.Java(l.t).Rows(l.t, l.warehouse, l.name))
	if d := cmp.Diff(java, leat); d != "" || len(leat) != len(counts)*len(sketchColumns) {
		l.t.Errorf("%d cells (-Java +leat):\n%s", len(leat), d)
	}
}

// TestSketchTables has leat and Java write and compact tables of sets in turn.
func TestSketchTables(t *testing.T) {
	t.Parallel()
	options := map[string]string{"merge-engine": "aggregation", "changelog-producer": "lookup"}
	columns := "id BIGINT NOT NULL"
	for _, c := range sketchColumns {
		options["fields."+c.column+".aggregate-function"] = c.function
		columns += "; " + c.column + " BYTES"
	}
	warehouse := t.TempDir()
	create(t, warehouse, "db.t", columns, with(options))
	l := open(t, warehouse, "db.t")
	java := judge.Java(t)
	id := int64(0)
	byJava := func(rows ...change) {
		t.Helper()
		id++
		java.Write(t, warehouse, "db.t", "java", id, ndjson(t, l.tab.Schema.Columns(), rows), "--wait")
		l.restart()
	}
	l.write(sketchRow(t, 1, 0, 3), sketchRow(t, 1, 2, 500), sketchRow(t, 2, 0, 9000), sketchRow(t, 3, 0, 0))
	l.commit()
	checkSketches(l, map[int64]float64{1: 500, 2: 9000, 3: 0})
	byJava(sketchRow(t, 1, 400, 800), sketchRow(t, 2, 5000, 20_000), sketchRow(t, 3, 7, 8), sketchRow(t, 4, 1, 2))
	checkSketches(l, map[int64]float64{1: 800, 2: 20_000, 3: 1, 4: 1})
	l.write(sketchRow(t, 2, 100, 25_000), sketchRow(t, 3, 0, 0), sketchRow(t, 4, 3, 4), sketchRow(t, 4, 1, 3))
	l.commit()
	checkSketches(l, map[int64]float64{1: 800, 2: 25_000, 3: 1, 4: 3})
	java.Compact(t, warehouse, "db.t")
	checkSketches(l, map[int64]float64{1: 800, 2: 25_000, 3: 1, 4: 3})
	l.restart()
	l.write(sketchRow(t, 1, 0, 2000))
	l.commit()
	l.compact(true)
	byJava(sketchRow(t, 1, 1990, 2010))
	checkSketches(l, map[int64]float64{1: 2010, 2: 25_000, 3: 1, 4: 3})
	l.checkChangelog("id")
}
