package query

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/variant"

	"leat/lakehouse/spec"
)

var decimals = []variant.Type{variant.Decimal4, variant.Decimal8, variant.Decimal16}

// maxVariantDepth bounds how deep objects and arrays are shown.
const maxVariantDepth = 1000

// variantText gives row i of a VARIANT column as JSON, in the form of Java's
// Variant.toJson; false if the bytes are no variant.
func variantText(v *array.Struct, i int) (string, bool) {
	value, ok := v.Field(0).(*array.Binary)
	meta, ok2 := v.Field(1).(*array.Binary)
	if !ok || !ok2 {
		return "", false
	}
	x, err := variant.New(meta.Value(i), value.Value(i))
	if err != nil {
		return "", false
	}
	b, ok := appendVariant(nil, x, 0)
	return string(b), ok
}

func appendVariant(dst []byte, x variant.Value, depth int) ([]byte, bool) {
	if depth > maxVariantDepth {
		return dst, false
	}
	switch v := x.Value().(type) {
	case nil:
		return append(dst, "null"...), true
	case bool:
		return strconv.AppendBool(dst, v), true
	case int8:
		return strconv.AppendInt(dst, int64(v), 10), true
	case int16:
		return strconv.AppendInt(dst, int64(v), 10), true
	case int32:
		return strconv.AppendInt(dst, int64(v), 10), true
	case int64:
		return strconv.AppendInt(dst, v, 10), true
	case float32:
		return appendJavaFloat(dst, float64(v), true), true
	case float64:
		return appendJavaFloat(dst, v, false), true
	case string:
		return appendText(dst, v), true
	case []byte:
		return appendText(dst, base64.StdEncoding.EncodeToString(v)), true
	case variant.ArrayValue:
		return appendVariants(dst, v, depth)
	case variant.ObjectValue:
		return appendVariantFields(dst, v, depth)
	default:
		return appendVariantScalar(dst, x, v)
	}
}

// appendVariantScalar appends decimals without trailing zeros, and the others as text.
func appendVariantScalar(dst []byte, x variant.Value, v any) ([]byte, bool) {
	switch v := v.(type) {
	case arrow.Date32:
		return appendText(dst, v.ToTime().Format(time.DateOnly)), true
	case arrow.Timestamp:
		at := time.UnixMicro(int64(v)).UTC().Format("2006-01-02 15:04:05.999999")
		if x.Type() == variant.TimestampMicros {
			at += "+00:00"
		}
		return appendText(dst, at), true
	}
	b, err := x.MarshalJSON()
	if err != nil {
		return dst, false
	}
	if slices.Contains(decimals, x.Type()) && strings.Contains(string(b), ".") {
		b = []byte(strings.TrimSuffix(strings.TrimRight(string(b), "0"), "."))
	}
	return append(dst, b...), true
}

func appendVariants(dst []byte, v variant.ArrayValue, depth int) (_ []byte, ok bool) {
	dst = append(dst, '[')
	first := true
	for e := range v.Values() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if dst, ok = appendVariant(dst, e, depth+1); !ok {
			return dst, false
		}
	}
	return append(dst, ']'), true
}

func appendVariantFields(dst []byte, v variant.ObjectValue, depth int) (_ []byte, ok bool) {
	dst = append(dst, '{')
	first := true
	for key, e := range v.Values() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendText(dst, key), ':')
		if dst, ok = appendVariant(dst, e, depth+1); !ok {
			return dst, false
		}
	}
	return append(dst, '}'), true
}

func appendJavaFloat(dst []byte, f float64, single bool) []byte {
	s := spec.JavaFloat(f, single)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return appendText(dst, s)
	}
	return append(dst, s...)
}

// appendVariantColumn appends {"variant": text}.
func appendVariantColumn(dst []byte, v *array.Struct, i int) []byte {
	text, ok := variantText(v, i)
	if !ok {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"variant":`...)
	return append(appendText(dst, text), '}')
}
