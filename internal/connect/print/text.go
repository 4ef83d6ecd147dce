package print

import (
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/internal/columnar"
	"leat/internal/expr"
)

// appendRow writes row i as Flink's Row.toString.
func appendRow(buf []byte, b *columnar.Batch, i int) []byte {
	buf = append(buf, b.Kind(i).String()...)
	buf = append(buf, '[')
	for c, a := range b.Cols {
		if c > 0 {
			buf = append(buf, ", "...)
		}
		buf = appendValue(buf, a, b.Schema.Fields[c].Type, i)
	}
	return append(buf, ']')
}

// appendValue writes a value: dates and times in ISO form, bytes as signed
// numbers, numbers as Java writes them.
func appendValue(buf []byte, a arrow.Array, t columnar.DataType, i int) []byte {
	if a.IsNull(i) {
		return append(buf, "null"...)
	}
	switch v := a.(type) {
	case *array.Boolean:
		return strconv.AppendBool(buf, v.Value(i))
	case *array.Int8:
		return strconv.AppendInt(buf, int64(v.Value(i)), 10)
	case *array.Int16:
		return strconv.AppendInt(buf, int64(v.Value(i)), 10)
	case *array.Int32:
		return strconv.AppendInt(buf, int64(v.Value(i)), 10)
	case *array.Int64:
		return strconv.AppendInt(buf, v.Value(i), 10)
	case *array.Float32:
		return expr.AppendDouble(buf, float64(v.Value(i)), 32)
	case *array.Float64:
		return expr.AppendDouble(buf, v.Value(i), 64)
	case *array.Decimal128:
		return expr.AppendDecimal(buf, v.Value(i), t.Scale)
	case *array.String:
		return append(buf, v.Value(i)...)
	case *array.Binary:
		buf = append(buf, '[')
		for j, x := range v.Value(i) {
			if j > 0 {
				buf = append(buf, ", "...)
			}
			buf = strconv.AppendInt(buf, int64(int8(x)), 10)
		}
		return append(buf, ']')
	case *array.Date32:
		return v.Value(i).ToTime().AppendFormat(buf, time.DateOnly)
	case *array.Time32:
		return appendClock(buf, time.UnixMilli(int64(v.Value(i))).UTC(), false)
	case *array.Timestamp:
		at := v.Value(i).ToTime(v.DataType().(*arrow.TimestampType).Unit).UTC()
		buf = append(at.AppendFormat(buf, time.DateOnly), 'T')
		if t.Kind == columnar.TimestampLTZ {
			return append(appendClock(buf, at, true), 'Z')
		}
		return appendClock(buf, at, false)
	default:
		return appendNested(buf, a, t, i)
	}
}

// appendClock leaves out seconds that are zero unless asked for, and writes
// fractions in groups of three digits, as Java does.
func appendClock(buf []byte, at time.Time, seconds bool) []byte {
	layout := "15:04:05.000000000"
	switch ns := at.Nanosecond(); {
	case ns == 0 && at.Second() == 0 && !seconds:
		layout = "15:04"
	case ns == 0:
		layout = time.TimeOnly
	case ns%1e6 == 0:
		layout = "15:04:05.000"
	case ns%1e3 == 0:
		layout = "15:04:05.000000"
	}
	return at.AppendFormat(buf, layout)
}

func appendNested(buf []byte, a arrow.Array, t columnar.DataType, i int) []byte {
	switch v := a.(type) {
	case *array.Map:
		start, end := v.ValueOffsets(i)
		key, item := t.Key, t.Elem
		if t.Kind == columnar.Multiset {
			count := columnar.Of(columnar.Int)
			key, item = t.Elem, &count
		}
		buf = append(buf, '{')
		for j := start; j < end; j++ {
			if j > start {
				buf = append(buf, ", "...)
			}
			buf = appendValue(buf, v.Keys(), *key, int(j))
			buf = append(buf, '=')
			buf = appendValue(buf, v.Items(), *item, int(j))
		}
		return append(buf, '}')
	case *array.List:
		start, end := v.ValueOffsets(i)
		buf = append(buf, '[')
		for j := start; j < end; j++ {
			if j > start {
				buf = append(buf, ", "...)
			}
			buf = appendValue(buf, v.ListValues(), *t.Elem, int(j))
		}
		return append(buf, ']')
	case *array.Struct:
		if len(t.Fields) != v.NumField() {
			return append(buf, a.ValueStr(i)...)
		}
		buf = append(buf, "+I["...)
		for f := range v.NumField() {
			if f > 0 {
				buf = append(buf, ", "...)
			}
			buf = appendValue(buf, v.Field(f), t.Fields[f].Type, i)
		}
		return append(buf, ']')
	default:
		return append(buf, a.ValueStr(i)...)
	}
}
