package orc

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

// render gives a value as text: scalars as in the golden files, lists in
// brackets, maps as sorted pairs, rows in braces.
func render(a arrow.Array, i int, t columnar.DataType) string {
	if a.IsNull(i) {
		return "null"
	}
	switch v := a.(type) {
	case *array.Float32:
		return renderFloat(float64(v.Value(i)), 32)
	case *array.Float64:
		return renderFloat(v.Value(i), 64)
	case *array.Decimal128:
		return decimalFixed(decimalText(v.Value(i), t.Scale), t.Scale)
	case *array.String:
		return strconv.Quote(v.Value(i))
	case *array.Binary:
		return strconv.Quote(hex.EncodeToString(v.Value(i)))
	case *array.Date32:
		return v.Value(i).ToTime().Format("2006-01-02")
	case *array.Time32:
		return fraction(time.UnixMilli(int64(v.Value(i))).UTC(), "15:04:05", t.Precision)
	case *array.Timestamp:
		s := fraction(v.Value(i).ToTime(v.DataType().(*arrow.TimestampType).Unit), "2006-01-02T15:04:05", t.Precision)
		if t.Kind == columnar.TimestampLTZ {
			s += "Z"
		}
		return s
	case *array.Map:
		value := columnar.Of(columnar.Int)
		key := t.Elem
		if t.Kind == columnar.Map {
			key, value = t.Key, *t.Elem
		}
		from, to := v.ValueOffsets(i)
		var pairs []string
		for j := int(from); j < int(to); j++ {
			pairs = append(pairs, "["+render(v.Keys(), j, *key)+" "+render(v.Items(), j, value)+"]")
		}
		slices.Sort(pairs)
		return "[" + strings.Join(pairs, " ") + "]"
	case *array.List:
		from, to := v.ValueOffsets(i)
		var parts []string
		for j := int(from); j < int(to); j++ {
			parts = append(parts, render(v.ListValues(), j, *t.Elem))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case *array.Struct:
		var parts []string
		for j, f := range t.Fields {
			parts = append(parts, f.Name+":"+render(v.Field(j), i, f.Type))
		}
		return "{" + strings.Join(parts, " ") + "}"
	default:
		return a.ValueStr(i)
	}
}

func decimalFixed(s string, scale int) string {
	whole, frac, _ := strings.Cut(s, ".")
	if scale == 0 {
		return whole
	}
	return whole + "." + frac + strings.Repeat("0", scale-len(frac))
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

// expected gives a value of a golden file in the form of render.
func expected(t testing.TB, v any, typ columnar.DataType) string {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		if f, err := v.Float64(); err == nil && (typ.Kind == columnar.Float || typ.Kind == columnar.Double) {
			return renderFloat(f, map[columnar.Kind]int{columnar.Float: 32, columnar.Double: 64}[typ.Kind])
		}
		return v.String()
	case string:
		if typ.IsText() || typ.IsBytes() {
			return strconv.Quote(v)
		}
		return v
	case []any:
		var parts []string
		for _, e := range v {
			switch typ.Kind {
			case columnar.Map:
				p := e.([]any)
				parts = append(parts, "["+expected(t, p[0], *typ.Key)+" "+expected(t, p[1], *typ.Elem)+"]")
			case columnar.Multiset:
				p := e.([]any)
				parts = append(parts, "["+expected(t, p[0], *typ.Elem)+" "+expected(t, p[1], columnar.Of(columnar.Int))+"]")
			default:
				parts = append(parts, expected(t, e, *typ.Elem))
			}
		}
		if typ.Kind != columnar.Array {
			slices.Sort(parts)
		}
		return "[" + strings.Join(parts, " ") + "]"
	case map[string]any:
		var parts []string
		for _, f := range typ.Fields {
			parts = append(parts, f.Name+":"+expected(t, v[f.Name], f.Type))
		}
		return "{" + strings.Join(parts, " ") + "}"
	default:
		return fmt.Sprintf("?%T", v)
	}
}
