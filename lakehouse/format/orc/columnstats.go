package orc

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"leat/internal/columnar"
)

// ColumnStats is what is known of a column of a file, a stripe or a row group.
type ColumnStats struct {
	// Nulls is the number of nulls, exact for what a Writer returns; -1 where a Filter is not told.
	Nulls int64
	// MinMax has two entries, a minimum and a maximum in the form of
	// columnar.ArrowType: exact for what a Writer returns, else bounds. It is nil
	// without any: bytes, nested types, columns with a NaN, columns without values.
	MinMax arrow.Array
}

// columnStats gives the statistics of a column of type t and rows rows.
func (s *fileStat) columnStats(rows int64, t columnar.DataType, mem memory.Allocator) ColumnStats {
	out := ColumnStats{Nulls: max(0, rows-int64(min(s.values, math.MaxInt64)))}
	b := array.NewBuilder(mem, columnar.ArrowType(t))
	defer b.Release()
	if s.appendRange(b, t) && b.Len() == 2 {
		out.MinMax = b.NewArray()
	}
	return out
}

// appendRange appends minimum and maximum; false if there are none that a
// column of type t can hold.
func (s *fileStat) appendRange(b array.Builder, t columnar.DataType) bool {
	if s.kind == statBool {
		bb, ok := b.(*array.BooleanBuilder)
		if !ok || s.values == 0 {
			return false
		}
		bb.Append(s.trues == s.values)
		bb.Append(s.trues > 0)
		return true
	}
	if !s.hasRange {
		return false
	}
	switch s.kind {
	case statInt, statDate:
		return appendInts(b, s.min, s.max)
	case statDouble:
		return s.appendDoubles(b)
	case statString:
		sb, ok := b.(*array.StringBuilder)
		if !ok {
			return false
		}
		lo, hi := s.minBytes, s.maxBytes
		if t.Kind == columnar.Char && s.charLength == 0 {
			// Of a file: a padded maximum is a bound, a padded minimum would not be one.
			lo = trimBlanks(lo)
		}
		sb.Append(string(lo))
		sb.Append(string(hi))
		return true
	case statDecimal:
		return s.appendDecimals(b, t)
	case statTimestamp:
		tb, ok := b.(*array.TimestampBuilder)
		if !ok {
			return false
		}
		lo, okLo := rescale(s.min, s.minSubNanos, s.tsPerSecond, unitsPerSecond(t), false)
		hi, okHi := rescale(s.max, s.maxSubNanos, s.tsPerSecond, unitsPerSecond(t), true)
		if !okLo || !okHi {
			return false
		}
		if second := unitsPerSecond(t); hi < 0 && hi >= -second {
			// Of the last second before 1970 values are read one second late; a
			// Writer's statistics have that already.
			hi += second
		}
		tb.Append(arrow.Timestamp(lo))
		tb.Append(arrow.Timestamp(hi))
		return true
	default:
		return false
	}
}

func appendInts(b array.Builder, vals ...int64) bool {
	for _, v := range vals {
		switch b := b.(type) {
		case *array.Int8Builder:
			b.Append(int8(v))
		case *array.Int16Builder:
			b.Append(int16(v))
		case *array.Int32Builder:
			b.Append(int32(v))
		case *array.Int64Builder:
			b.Append(v)
		case *array.Date32Builder:
			b.Append(arrow.Date32(v))
		case *array.Time32Builder:
			b.Append(arrow.Time32(v))
		default:
			return false
		}
	}
	return true
}

func (s *fileStat) appendDoubles(b array.Builder) bool {
	if s.nan || s.minDouble != s.minDouble || s.maxDouble != s.maxDouble {
		return false
	}
	for _, v := range []float64{s.minDouble, s.maxDouble} {
		switch b := b.(type) {
		case *array.Float32Builder:
			b.Append(float32(v))
		case *array.Float64Builder:
			b.Append(v)
		default:
			return false
		}
	}
	return true
}

func (s *fileStat) appendDecimals(b array.Builder, t columnar.DataType) bool {
	db, ok := b.(*array.Decimal128Builder)
	if !ok {
		return false
	}
	bounds := [2]decimal128.Num{s.minDecimal, s.maxDecimal}
	if s.minText != "" {
		var okLo, okHi bool
		bounds[0], okLo = parseDecimal(s.minText, t.Scale)
		bounds[1], okHi = parseDecimal(s.maxText, t.Scale)
		if !okLo || !okHi {
			return false
		}
	}
	db.Append(bounds[0])
	db.Append(bounds[1])
	return true
}

// rescale turns v in units of from a second, plus nanoseconds below a
// millisecond, into units of to a second, rounded up or down; false if that overflows.
func rescale(v, subNanos, from, to int64, up bool) (int64, bool) {
	if from == to {
		return v, true
	}
	if from > to {
		return v / (from / to), true
	}
	factor := to / from
	r := v * factor
	if r/factor != v {
		return 0, false
	}
	unit := 1_000_000_000 / to
	sub := subNanos / unit
	if up && subNanos%unit != 0 {
		sub++
	}
	return r + sub, true
}

// trimBlanks cuts the blanks at the end.
func trimBlanks(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}
