package spec

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// loadVectors reads one of the vector files that Paimon Java wrote.
func loadVectors[T any](t *testing.T, name string) []T {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Vectors []T `json:"vectors"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Vectors) == 0 {
		t.Fatalf("%s holds no vectors", name)
	}
	return f.Vectors
}

func parseTypes(t *testing.T, raw []json.RawMessage) []columnar.DataType {
	t.Helper()
	out := make([]columnar.DataType, len(raw))
	for i, r := range raw {
		typ, err := ParseDataType(r)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = typ
	}
	return out
}

// parseTime reads the ISO texts of the vectors.
func parseTime(t *testing.T, s string) time.Time {
	t.Helper()
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02", "15:04:05.999999999"} {
		if v, err := time.Parse(layout, strings.TrimSuffix(s, "Z")); err == nil {
			return v
		}
	}
	t.Fatalf("no time: %q", s)
	return time.Time{}
}

func parseDecimal(t *testing.T, s string) decimal128.Num {
	t.Helper()
	n, ok := new(big.Int).SetString(strings.ReplaceAll(s, ".", ""), 10)
	if !ok {
		t.Fatalf("no decimal: %q", s)
	}
	return decimal128.FromBigInt(n)
}

func parseFloat(t *testing.T, raw json.RawMessage) float64 {
	t.Helper()
	s := strings.Trim(string(raw), `"`)
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// setJSON sets field i of type typ from the JSON value of a vector.
func setJSON(t *testing.T, w *RowWriter, i int, typ columnar.DataType, raw json.RawMessage) {
	t.Helper()
	if string(raw) == "null" {
		w.SetNull(i)
		return
	}
	var text string
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			t.Fatal(err)
		}
	}
	switch typ.Kind {
	case columnar.Boolean:
		w.SetBool(i, string(raw) == "true")
	case columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt:
		v, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		w.SetInt64(i, v)
	case columnar.Float:
		w.SetFloat32(i, float32(parseFloat(t, raw)))
	case columnar.Double:
		w.SetFloat64(i, parseFloat(t, raw))
	case columnar.Decimal:
		w.SetDecimal128(i, parseDecimal(t, text))
	case columnar.Char, columnar.VarChar:
		w.SetString(i, text)
	case columnar.Binary, columnar.VarBinary:
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		w.SetBytes(i, b)
	case columnar.Date:
		w.SetInt64(i, parseTime(t, text).Unix()/86400)
	case columnar.Time:
		at := parseTime(t, text)
		w.SetInt64(i, int64(at.Hour()*3600+at.Minute()*60+at.Second())*1000+int64(at.Nanosecond()/1e6))
	case columnar.Timestamp, columnar.TimestampLTZ:
		at := parseTime(t, text)
		w.SetTimestamp(i, at.UnixMilli(), int32(at.Nanosecond()%1e6))
	default:
		t.Fatalf("no setter for %s", typ)
	}
}

func rowOf(t *testing.T, types []columnar.DataType, values []json.RawMessage) BinaryRow {
	t.Helper()
	w := NewRowWriter(types)
	// A first round leaves dirt behind, which Reset has to clear.
	for range 2 {
		w.Reset()
		for i, v := range values {
			setJSON(t, w, i, types[i], v)
		}
	}
	return w.Row().Clone()
}

// batchOf builds one Arrow row from a BinaryRow. exact is false where the
// Arrow unit cannot hold the row's nanoseconds.
func batchOf(t *testing.T, row BinaryRow, types []columnar.DataType) (b *columnar.Batch, exact bool) {
	t.Helper()
	exact = true
	schema := &columnar.Schema{}
	cols := make([]arrow.Array, len(types))
	for i, typ := range types {
		schema.Fields = append(schema.Fields, columnar.Field{ID: i, Name: "f" + strconv.Itoa(i), Type: typ})
		builder := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(typ))
		if err := row.AppendValue(builder, i, typ); err != nil {
			t.Fatal(err)
		}
		cols[i] = builder.NewArray()
		builder.Release()
		if typ.Kind == columnar.Timestamp || typ.Kind == columnar.TimestampLTZ {
			_, nanos, err := row.Timestamp(i, typ)
			if err != nil {
				t.Fatal(err)
			}
			if !row.IsNull(i) && typ.Precision <= 6 && nanos%1000 != 0 {
				exact = false
			}
		}
	}
	return columnar.NewBatch(schema, nil, cols, 1), exact
}

func allColumns(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

type hashVector struct {
	Types  []json.RawMessage `json:"types"`
	Values []json.RawMessage `json:"values"`
	RowHex string            `json:"row_hex"`
	Hash   int32             `json:"hash"`
	Bucket map[string]int    `json:"bucket"`
}

func TestHashVectors(t *testing.T) {
	t.Parallel()
	for _, v := range loadVectors[hashVector](t, "hashes.json") {
		types := parseTypes(t, v.Types)
		row := rowOf(t, types, v.Values)
		if got := hex.EncodeToString(row.Data); got != v.RowHex {
			t.Errorf("%s %s: row %s, want %s", v.Types, v.Values, got, v.RowHex)
			continue
		}
		if got := Hash(row.Data); got != v.Hash {
			t.Errorf("%s %s: hash %d, want %d", v.Types, v.Values, got, v.Hash)
		}
		batch, exact := batchOf(t, row, types)
		enc, err := NewRowEncoder(batch.Schema, allColumns(len(types)))
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(enc.Encode(batch, 0).Data); exact && got != v.RowHex {
			t.Errorf("%s %s: encoder gives %s, want %s", v.Types, v.Values, got, v.RowHex)
		}
		for n, want := range v.Bucket {
			count, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			if got := Bucket(v.Hash, count); got != want {
				t.Errorf("%s %s: bucket %d of %d, want %d", v.Types, v.Values, got, count, want)
			}
			out := []int32{-1}
			enc.Buckets(batch, count, out)
			if exact && int(out[0]) != want {
				t.Errorf("%s %s: Buckets gives %d of %d, want %d", v.Types, v.Values, out[0], count, want)
			}
		}
		batch.Release()
	}
}

func TestBinaryRowVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		Note          string            `json:"note"`
		Types         []json.RawMessage `json:"types"`
		Values        []json.RawMessage `json:"values"`
		RowHex        string            `json:"row_hex"`
		SerializedHex string            `json:"serialized_hex"`
	}
	for _, v := range loadVectors[vector](t, "binaryrow.json") {
		types := parseTypes(t, v.Types)
		raw, err := hex.DecodeString(v.SerializedHex)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := ParseBinaryRow(raw)
		if err != nil {
			t.Errorf("%s: %v", v.Note, err)
			continue
		}
		row := parsed
		if len(types) > 0 && types[0].IsNested() {
			// Nested values are taken from the row: this proves slot, offset and padding.
			nested, err := parsed.Bytes(0)
			if err != nil {
				t.Errorf("%s: %v", v.Note, err)
				continue
			}
			w := NewRowWriter(types)
			w.Reset()
			w.SetNested(0, nested)
			row = w.Row()
		} else if len(types) > 0 {
			row = rowOf(t, types, v.Values)
			batch, exact := batchOf(t, parsed, types)
			enc, err := NewRowEncoder(batch.Schema, allColumns(len(types)))
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(enc.Encode(batch, 0).Data); !exact || got != v.RowHex {
				t.Errorf("%s: encoder gives %s, want %s", v.Note, got, v.RowHex)
			}
			batch.Release()
		}
		if got := hex.EncodeToString(row.Data); got != v.RowHex {
			t.Errorf("%s: row %s, want %s", v.Note, got, v.RowHex)
		}
		if got := hex.EncodeToString(row.Serialized()); got != v.SerializedHex {
			t.Errorf("%s: serialised %s, want %s", v.Note, got, v.SerializedHex)
		}
	}
	if got := hex.EncodeToString(EmptyRow().Serialized()); got != "000000000000000000000000" {
		t.Errorf("empty row is %s", got)
	}
}

func TestPartitionPathVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		Types  []json.RawMessage `json:"types"`
		Values []json.RawMessage `json:"values"`
		Legacy string            `json:"path_legacy"`
		Plain  string            `json:"path"`
	}
	for _, v := range loadVectors[vector](t, "partition_paths.json") {
		types := parseTypes(t, v.Types)
		row := rowOf(t, types, v.Values)
		p := PartitionPaths{Keys: []string{"f0", "f1"}[:len(types)], Types: types}
		if got, err := p.Path(row); err != nil || got != v.Legacy {
			t.Errorf("%s %s: legacy path %q (%v), want %q", v.Types, v.Values, got, err, v.Legacy)
		}
		p.Plain = true
		if got, err := p.Path(row); err != nil || got != v.Plain {
			t.Errorf("%s %s: path %q (%v), want %q", v.Types, v.Values, got, err, v.Plain)
		}
	}
}

func TestStatsVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		Mode      string            `json:"mode"`
		Type      json.RawMessage   `json:"type"`
		Values    []json.RawMessage `json:"values"`
		NullCount *int64            `json:"null_count"`
		MinHex    string            `json:"min_row_serialized_hex"`
		MaxHex    string            `json:"max_row_serialized_hex"`
	}
	for _, v := range loadVectors[vector](t, "stats.json") {
		mode, err := ParseStatsMode(v.Mode)
		if err != nil {
			t.Fatal(err)
		}
		typ := parseTypes(t, []json.RawMessage{v.Type})[0]
		minHex, maxHex := v.MinHex, v.MaxHex
		for _, raw := range v.Values {
			// A column with NaN has no bounds here; Java's row-wise collector takes NaN as the maximum.
			if string(raw) == `"NaN"` {
				minHex = "0000000100010000000000000000000000000000"
				maxHex = minHex
			}
		}
		whole := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(typ))
		merged := NewColumnStats(mode)
		for _, raw := range v.Values {
			single := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(typ))
			for _, b := range []array.Builder{whole, single} {
				appendJSON(t, b, typ, raw)
			}
			part := CollectStats(single.NewArray(), typ, mode)
			merged.Merge(&part)
		}
		for name, col := range map[string]ColumnStats{"whole": CollectStats(whole.NewArray(), typ, mode), "merged": merged} {
			s := BuildStats([]ColumnStats{col}, []columnar.DataType{typ})
			if got := hex.EncodeToString(s.Min.Serialized()); got != minHex {
				t.Errorf("%s %s %s %s: min %s, want %s", name, v.Mode, v.Type, v.Values, got, minHex)
			}
			if got := hex.EncodeToString(s.Max.Serialized()); got != maxHex {
				t.Errorf("%s %s %s %s: max %s, want %s", name, v.Mode, v.Type, v.Values, got, maxHex)
			}
			n := s.NullCounts[0]
			if (n == nil) != (v.NullCount == nil) || n != nil && *n != *v.NullCount {
				t.Errorf("%s %s %s %s: null count %v, want %v", name, v.Mode, v.Type, v.Values, n, v.NullCount)
			}
		}
	}
}

func appendJSON(t *testing.T, b array.Builder, typ columnar.DataType, raw json.RawMessage) {
	t.Helper()
	if typ.IsNested() {
		if err := b.UnmarshalJSON(append(append([]byte{'['}, raw...), ']')); err != nil {
			t.Fatal(err)
		}
		return
	}
	row := rowOf(t, []columnar.DataType{typ}, []json.RawMessage{raw})
	if err := row.AppendValue(b, 0, typ); err != nil {
		t.Fatal(err)
	}
}

func TestTruncatedMaximumIsGreater(t *testing.T) {
	t.Parallel()
	tests := []struct {
		low, high string
		n         int
		min, max  string
		none      bool
	}{
		{low: "a", high: "abc", n: 2, min: "a", max: "ac"},
		{low: "abc", high: "ab", n: 2, min: "ab", max: "ab"},
		{low: "x", high: "a\ud7ffz", n: 2, min: "x", max: "a\ue000"},
		{low: "x", high: "a\U0010ffff\U0010ffffz", n: 3, min: "x", max: "b"},
		{low: "x", high: "\U0010ffff\U0010ffff", n: 1, none: true},
		{low: "x", high: "\xff\xff", n: 1, none: true},
	}
	for _, tt := range tests {
		lo, hi, ok := truncateText([]byte(tt.low), []byte(tt.high), tt.n)
		if ok == tt.none || ok && (string(lo) != tt.min || string(hi) != tt.max) {
			t.Errorf("truncateText(%q, %q, %d) = %q, %q, %v", tt.low, tt.high, tt.n, lo, hi, ok)
		}
		if ok && string(hi) < tt.high {
			t.Errorf("maximum %q is below %q", hi, tt.high)
		}
	}
}

func TestStatsOfFloats(t *testing.T) {
	t.Parallel()
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues([]float64{0, math.Copysign(0, -1), 3}, nil)
	typ := columnar.Of(columnar.Double)
	c := CollectStats(b.NewArray(), typ, DefaultStatsMode)
	s := BuildStats([]ColumnStats{c}, []columnar.DataType{typ})
	lo, err := s.Min.Float64(0, typ)
	if err != nil || !math.Signbit(lo) {
		t.Errorf("minimum is %v (%v), want -0.0", lo, err)
	}
	b.AppendValues([]float64{math.NaN()}, nil)
	more := CollectStats(b.NewArray(), typ, DefaultStatsMode)
	c.Merge(&more)
	s = BuildStats([]ColumnStats{c}, []columnar.DataType{typ})
	if !s.Min.IsNull(0) || !s.Max.IsNull(0) {
		t.Errorf("a column with NaN has bounds %x, %x", s.Min.Data, s.Max.Data)
	}
}
