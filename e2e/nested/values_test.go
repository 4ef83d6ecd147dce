package nested

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/e2e/judge"
	"leat/internal/columnar"
)

// Values stand in tests in the JSON form of the judges; here they become Arrow
// arrays and come back from them.

const (
	dateLayout  = "2006-01-02"
	clockLayout = "15:04:05"
)

// timeLayout is the layout of a type's values.
func timeLayout(t columnar.DataType) string {
	layout, digits := dateLayout+"T"+clockLayout, t.Precision
	if t.Kind == columnar.Time {
		layout, digits = clockLayout, min(digits, 3)
	}
	if digits > 0 {
		layout += "." + strings.Repeat("0", digits)
	}
	if t.Kind == columnar.TimestampLTZ {
		layout += "Z"
	}
	return layout
}

// appendJSON appends v, of type t, to b.
func appendJSON(b array.Builder, v any, t columnar.DataType) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	text := fmt.Sprint(v)
	switch b := b.(type) {
	case *array.MapBuilder: // before lists
		b.Append(true)
		key, value := entryTypes(t)
		for _, p := range v.([]any) {
			pair := p.([]any)
			if err := cmp.Or(appendJSON(b.KeyBuilder(), pair[0], key), appendJSON(b.ItemBuilder(), pair[1], value)); err != nil {
				return err
			}
		}
		return nil
	case *array.ListBuilder:
		b.Append(true)
		for _, e := range v.([]any) {
			if err := appendJSON(b.ValueBuilder(), e, *t.Elem); err != nil {
				return err
			}
		}
		return nil
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range t.Fields {
			if err := appendJSON(b.FieldBuilder(i), v.(map[string]any)[f.Name], f.Type); err != nil {
				return err
			}
		}
		return nil
	case *array.Decimal128Builder:
		n, ok := new(big.Int).SetString(strings.Replace(text, ".", "", 1), 10)
		if !ok {
			return fmt.Errorf("%q is no decimal", text)
		}
		b.Append(decimal128.FromBigInt(n))
		return nil
	case *array.StringBuilder:
		b.Append(text)
		return nil
	case *array.BinaryBuilder:
		raw, err := hex.DecodeString(text)
		b.Append(raw)
		return err
	case *array.Date32Builder:
		at, err := time.Parse(dateLayout, text)
		b.Append(arrow.Date32FromTime(at))
		return err
	case *array.Time32Builder:
		at, err := time.Parse(clockLayout, text)
		b.Append(arrow.Time32(at.Sub(at.Truncate(24 * time.Hour)).Milliseconds()))
		return err
	case *array.TimestampBuilder:
		at, err := time.Parse(dateLayout+"T"+clockLayout, strings.TrimSuffix(text, "Z"))
		b.Append(arrow.Timestamp(map[arrow.TimeUnit]int64{arrow.Millisecond: at.UnixMilli(), arrow.Microsecond: at.UnixMicro(), arrow.Nanosecond: at.UnixNano()}[columnar.TimestampUnit(t.Precision)]))
		return err
	default:
		return b.AppendValueFromString(text)
	}
}

// entryTypes gives the types of key and value of a MAP or MULTISET.
func entryTypes(t columnar.DataType) (key, value columnar.DataType) {
	if t.Kind == columnar.Multiset {
		return *t.Elem, columnar.Of(columnar.Int).NotNull()
	}
	return *t.Key, *t.Elem
}

// shown gives value i of a, of type t.
func shown(a arrow.Array, i int, t columnar.DataType) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Map: // before lists
		out := []any{}
		key, value := entryTypes(t)
		from, to := a.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			out = append(out, []any{shown(a.Keys(), k, key), shown(a.Items(), k, value)})
		}
		return out
	case *array.List:
		out := []any{}
		from, to := a.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			out = append(out, shown(a.ListValues(), k, *t.Elem))
		}
		return out
	case *array.Struct:
		out := map[string]any{}
		for k, f := range t.Fields {
			out[f.Name] = shown(a.Field(k), i, f.Type)
		}
		return out
	case *array.Boolean:
		return a.Value(i)
	case *array.Decimal128:
		return decimalText(a.Value(i).BigInt(), t.Scale)
	case *array.String:
		return strings.Clone(a.Value(i)) // the array's memory is used again
	case *array.Binary:
		return hex.EncodeToString(a.Value(i))
	case *array.Date32:
		return a.Value(i).ToTime().Format(dateLayout)
	case *array.Time32:
		return time.UnixMilli(int64(a.Value(i))).UTC().Format(timeLayout(t))
	case *array.Timestamp:
		return a.Value(i).ToTime(columnar.TimestampUnit(t.Precision)).UTC().Format(timeLayout(t))
	case *array.Float32:
		return json.Number(strconv.FormatFloat(float64(a.Value(i)), 'g', -1, 32))
	case *array.Float64:
		return json.Number(strconv.FormatFloat(a.Value(i), 'g', -1, 64))
	default:
		return json.Number(a.ValueStr(i))
	}
}

// decimalText gives an unscaled number with its point.
func decimalText(n *big.Int, scale int) string {
	digits := new(big.Int).Abs(n).String()
	digits = strings.Repeat("0", max(0, scale+1-len(digits))) + digits
	if at := len(digits) - scale; scale > 0 {
		digits = digits[:at] + "." + digits[at:]
	}
	if n.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

// normal brings a value of either reader to one form: floats as they are
// printed shortest, maps in order of their keys.
func normal(v any, t columnar.DataType) any {
	if v == nil {
		return nil
	}
	switch t.Kind {
	case columnar.Float, columnar.Double:
		bits := 64
		if t.Kind == columnar.Float {
			bits = 32
		}
		f, err := strconv.ParseFloat(fmt.Sprint(v), bits)
		if err != nil {
			return v
		}
		return strconv.FormatFloat(f, 'g', -1, bits)
	case columnar.Array:
		out := []any{}
		for _, e := range v.([]any) {
			out = append(out, normal(e, *t.Elem))
		}
		return out
	case columnar.Map, columnar.Multiset:
		key, value := entryTypes(t)
		out := []any{}
		for _, e := range v.([]any) {
			pair := e.([]any)
			out = append(out, []any{normal(pair[0], key), normal(pair[1], value)})
		}
		slices.SortFunc(out, func(a, b any) int { return cmp.Compare(text(a), text(b)) })
		return out
	case columnar.Row:
		out := map[string]any{}
		for _, f := range t.Fields {
			out[f.Name] = normal(v.(map[string]any)[f.Name], f.Type)
		}
		return out
	default:
		return v
	}
}

// text gives a value as JSON.
func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.String()
}

func normalRows(rows []judge.Row, s *columnar.Schema) []judge.Row {
	out := make([]judge.Row, len(rows))
	for i, r := range rows {
		out[i] = judge.Row{}
		for _, f := range s.Fields {
			out[i][f.Name] = normal(r[f.Name], f.Type)
		}
	}
	return out
}

// same compares rows of columns s, of which the first tells rows apart, as two
// readers, or an expectation, have them.
func same(t testing.TB, s *columnar.Schema, wantName string, want []judge.Row, gotName string, got []judge.Row) {
	t.Helper()
	want, got = normalRows(want, s), normalRows(got, s)
	if judge.Diff(wantName, want, gotName, got) == "" {
		return
	}
	key := s.Fields[0].Name
	byKey := map[string]judge.Row{}
	for _, r := range got {
		byKey[text(r[key])] = r
	}
	for _, f := range s.Fields {
		differ, sample := 0, ""
		for _, r := range want {
			other, ok := byKey[text(r[key])]
			if a, b := text(r[f.Name]), text(other[f.Name]); !ok || a != b {
				if differ++; differ == 1 {
					sample = fmt.Sprintf("%s %s: %.300s, in %s: %.300s", key, text(r[key]), a, gotName, b)
				}
			}
		}
		if differ > 0 {
			t.Errorf("%s has %d rows, %s has %d; column %s of type %s differs in %d: %s", wantName, len(want), gotName, len(got), f.Name, f.Type, differ, sample)
			return
		}
	}
	t.Errorf("%s has %d rows, %s has %d", wantName, len(want), gotName, len(got))
}

// batchOf makes a batch of rows; a row without _kind is an insert.
func batchOf(t testing.TB, s *columnar.Schema, rows []judge.Row) *columnar.Batch {
	t.Helper()
	builders := columnar.NewBuilders(memory.DefaultAllocator, s)
	kinds := make([]columnar.RowKind, len(rows))
	for i, r := range rows {
		kinds[i] = map[string]columnar.RowKind{"+I": columnar.Insert, "-U": columnar.UpdateBefore, "+U": columnar.UpdateAfter, "-D": columnar.Delete}[r.Kind()]
		for c, f := range s.Fields {
			if err := appendJSON(builders[c], r[f.Name], f.Type); err != nil {
				t.Fatalf("column %s of type %s: %v", f.Name, f.Type, err)
			}
		}
	}
	cols := make([]arrow.Array, len(builders))
	for i, b := range builders {
		cols[i] = b.NewArray()
	}
	return columnar.NewBatch(s, kinds, cols, len(rows))
}

// lines writes rows as Java's write command takes them.
func lines(rows []judge.Row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(text(r))
	}
	return b.String()
}
