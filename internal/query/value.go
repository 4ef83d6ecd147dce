package query

import (
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/internal/columnar"
)

// AppendValue appends row i of a, whose type is t, as JSON: numbers for
// integers, FLOAT and DOUBLE ("NaN", "Infinity" as text); text for DECIMAL with
// its scale, for dates and times in ISO form with the digits of the type, for
// TIMESTAMP_LTZ in UTC with Z, for bytes in hexadecimal; MAP and MULTISET as
// [key, value] pairs in order of the key's JSON; VARIANT as {"variant": text}.
func AppendValue(dst []byte, a arrow.Array, i int, t columnar.DataType) []byte {
	if a.IsNull(i) {
		return append(dst, "null"...)
	}
	switch v := a.(type) {
	case *array.Boolean:
		return strconv.AppendBool(dst, v.Value(i))
	case *array.Int8:
		return strconv.AppendInt(dst, int64(v.Value(i)), 10)
	case *array.Int16:
		return strconv.AppendInt(dst, int64(v.Value(i)), 10)
	case *array.Int32:
		return strconv.AppendInt(dst, int64(v.Value(i)), 10)
	case *array.Int64:
		return strconv.AppendInt(dst, v.Value(i), 10)
	case *array.Float32:
		return appendFloat(dst, float64(v.Value(i)), 32)
	case *array.Float64:
		return appendFloat(dst, v.Value(i), 64)
	case *array.Decimal128:
		return appendText(dst, v.Value(i).ToString(int32(t.Scale)))
	case *array.String:
		return appendText(dst, v.Value(i))
	case *array.Binary:
		return appendText(dst, hex.EncodeToString(v.Value(i)))
	case *array.Date32:
		return appendText(dst, v.Value(i).ToTime().Format(time.DateOnly))
	case *array.Time32:
		return appendText(dst, time.UnixMilli(int64(v.Value(i))).UTC().Format(withDigits("15:04:05", min(t.Precision, 3))))
	case *array.Timestamp:
		return appendText(dst, timestampText(v, i, t))
	default:
		return appendNested(dst, a, i, t)
	}
}

func timestampText(v *array.Timestamp, i int, t columnar.DataType) string {
	s := v.Value(i).ToTime(v.DataType().(*arrow.TimestampType).Unit).Format(withDigits("2006-01-02T15:04:05", t.Precision))
	if t.Kind == columnar.TimestampLTZ {
		s += "Z"
	}
	return s
}

func withDigits(layout string, digits int) string {
	if digits == 0 {
		return layout
	}
	return layout + "." + strings.Repeat("0", digits)
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	case f == math.Trunc(f) && math.Abs(f) < 1e7:
		return append(strconv.AppendFloat(dst, f, 'f', -1, bits), ".0"...)
	default:
		return strconv.AppendFloat(dst, f, 'g', -1, bits)
	}
}

// appendText appends s as a JSON string; what is no UTF-8 becomes the replacement character.
func appendText(dst []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r < 0x20 || r == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			dst = append(dst, string(r)...)
		}
	}
	return append(dst, '"')
}

func appendNested(dst []byte, a arrow.Array, i int, t columnar.DataType) []byte {
	switch v := a.(type) {
	case *array.Map:
		from, to := v.ValueOffsets(i)
		key, value := t.Key, t.Elem
		if t.Kind == columnar.Multiset {
			count := columnar.Of(columnar.Int)
			key, value = t.Elem, &count
		}
		pairs := make([][]byte, 0, to-from)
		keys := map[string]string{}
		for j := int(from); j < int(to); j++ {
			k := AppendValue(nil, v.Keys(), j, *key)
			pair := append(append([]byte("["), k...), ',')
			pair = append(AppendValue(pair, v.Items(), j, *value), ']')
			pairs = append(pairs, pair)
			keys[string(pair)] = string(k)
		}
		slices.SortFunc(pairs, func(x, y []byte) int { return strings.Compare(keys[string(x)], keys[string(y)]) })
		dst = append(dst, '[')
		for j, p := range pairs {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, p...)
		}
		return append(dst, ']')
	case *array.List:
		from, to := v.ValueOffsets(i)
		dst = append(dst, '[')
		for j := int(from); j < int(to); j++ {
			if j > int(from) {
				dst = append(dst, ',')
			}
			dst = AppendValue(dst, v.ListValues(), j, *t.Elem)
		}
		return append(dst, ']')
	case *array.Struct:
		return appendStruct(dst, v, i, t)
	default:
		return append(dst, "null"...)
	}
}

func appendStruct(dst []byte, v *array.Struct, i int, t columnar.DataType) []byte {
	if t.Kind == columnar.Variant {
		return appendVariantColumn(dst, v, i)
	}
	dst = append(dst, '{')
	for f := range t.Fields {
		if f > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, t.Fields[f].Name), ':')
		dst = AppendValue(dst, v.Field(f), i, t.Fields[f].Type)
	}
	return append(dst, '}')
}
