package lakehouse_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/internal/columnar"
)

// render gives a cell as text in the form of the golden files; null is "null".
func render(a arrow.Array, i int, t columnar.DataType) string {
	if a.IsNull(i) {
		return "null"
	}
	switch v := a.(type) {
	case *array.Boolean:
		return strconv.FormatBool(v.Value(i))
	case *array.Int8:
		return strconv.Itoa(int(v.Value(i)))
	case *array.Int16:
		return strconv.Itoa(int(v.Value(i)))
	case *array.Int32:
		return strconv.Itoa(int(v.Value(i)))
	case *array.Int64:
		return strconv.FormatInt(v.Value(i), 10)
	case *array.Float32:
		return renderFloat(float64(v.Value(i)), 32)
	case *array.Float64:
		return renderFloat(v.Value(i), 64)
	case *array.Decimal128:
		return v.Value(i).ToString(int32(t.Scale))
	case *array.String:
		return v.Value(i)
	case *array.Binary:
		return hex.EncodeToString(v.Value(i))
	case *array.Date32:
		return v.Value(i).ToTime().Format("2006-01-02")
	case *array.Time32:
		return fraction(time.UnixMilli(int64(v.Value(i))).UTC(), "15:04:05", t.Precision)
	case *array.Timestamp:
		unit := v.DataType().(*arrow.TimestampType).Unit
		s := fraction(v.Value(i).ToTime(unit), "2006-01-02T15:04:05", t.Precision)
		if t.Kind == columnar.TimestampLTZ {
			s += "Z"
		}
		return s
	case *array.Map:
		var pairs []string
		for _, p := range listOf(v.ValueOffsets(i)) {
			value := columnar.Of(columnar.Int)
			key := t.Elem
			if t.Kind == columnar.Map {
				key, value = t.Key, *t.Elem
			}
			pairs = append(pairs, render(v.Keys(), p, *key)+"="+render(v.Items(), p, value))
		}
		slices.Sort(pairs)
		return "{" + strings.Join(pairs, ",") + "}"
	case *array.List:
		var parts []string
		for _, p := range listOf(v.ValueOffsets(i)) {
			parts = append(parts, render(v.ListValues(), p, *t.Elem))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *array.Struct:
		var parts []string
		for k, f := range t.Fields {
			parts = append(parts, f.Name+":"+render(v.Field(k), i, f.Type))
		}
		return "(" + strings.Join(parts, ",") + ")"
	default:
		return fmt.Sprintf("?%T", a)
	}
}

func listOf(from, to int64) []int {
	var out []int
	for i := from; i < to; i++ {
		out = append(out, int(i))
	}
	return out
}

func fraction(t time.Time, layout string, digits int) string {
	if digits > 0 {
		layout += "." + strings.Repeat("0", digits)
	}
	return t.Format(layout)
}

func renderFloat(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	default:
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
}

// expected gives a value of expected.json in the form of render.
func expected(t testing.TB, raw json.RawMessage, typ columnar.DataType) string {
	t.Helper()
	if typ.IsNested() && string(raw) != "null" {
		return expectedNested(t, raw, typ)
	}
	var s string
	if json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
		return s
	}
	if typ.Kind == columnar.Float || typ.Kind == columnar.Double {
		bits := 64
		if typ.Kind == columnar.Float {
			bits = 32
		}
		if f, err := strconv.ParseFloat(string(raw), bits); err == nil {
			return renderFloat(f, bits)
		}
	}
	return string(raw)
}

// expectedNested does it for a nested value, which is not null: maps are lists of pairs.
func expectedNested(t testing.TB, raw json.RawMessage, typ columnar.DataType) string {
	t.Helper()
	var list []json.RawMessage
	var fields map[string]json.RawMessage
	into := any(&list)
	if typ.Kind == columnar.Row {
		into = &fields
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s is no %s: %v", raw, typ, err)
	}
	var parts []string
	switch typ.Kind {
	case columnar.Row:
		for _, f := range typ.Fields {
			parts = append(parts, f.Name+":"+expected(t, fields[f.Name], f.Type))
		}
		return "(" + strings.Join(parts, ",") + ")"
	case columnar.Array:
		for _, e := range list {
			parts = append(parts, expected(t, e, *typ.Elem))
		}
		return "[" + strings.Join(parts, ",") + "]"
	default:
		key, value := typ.Elem, columnar.Of(columnar.Int)
		if typ.Kind == columnar.Map {
			key, value = typ.Key, *typ.Elem
		}
		for _, e := range list {
			var pair [2]json.RawMessage
			if err := json.Unmarshal(e, &pair); err != nil {
				t.Fatalf("%s is no pair: %v", e, err)
			}
			parts = append(parts, expected(t, pair[0], *key)+"="+expected(t, pair[1], value))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
}

// renderRows gives each row of b as "kind|cell|cell…"; without kinds if b has none.
func renderRows(b *columnar.Batch) []string {
	out := make([]string, b.Rows())
	for i := range out {
		var cells []string
		if b.Kinds != nil {
			cells = append(cells, b.Kinds[i].String())
		}
		for c, f := range b.Schema.Fields {
			cells = append(cells, render(b.Cols[c], i, f.Type))
		}
		out[i] = strings.Join(cells, "|")
	}
	return out
}
