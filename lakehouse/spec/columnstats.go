package spec

import (
	"bytes"
	"cmp"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"leat/internal/columnar"
)

// ColumnStats is min, max and null count of one column so far. The zero value
// is that of mode none; NewColumnStats gives an empty one to Update.
type ColumnStats struct {
	mode  StatsMode
	nulls int64
	// seen says that there is a min and a max; unbounded that there can be none (NaN).
	seen, unbounded bool

	minInt, maxInt         int64
	minFloat, maxFloat     float64
	minDecimal, maxDecimal decimal128.Num
	minBytes, maxBytes     []byte
}

// NewColumnStats gives empty statistics of a mode.
func NewColumnStats(mode StatsMode) ColumnStats { return ColumnStats{mode: mode} }

// CollectStats gives the statistics of one array of type t. Binary and nested
// types get null counts at most. A FLOAT or DOUBLE array with a NaN gets no
// min and max. (Paimon's Parquet writer leaves nested columns out altogether:
// pass mode none there.)
func CollectStats(arr arrow.Array, t columnar.DataType, mode StatsMode) ColumnStats {
	c := NewColumnStats(mode)
	c.Update(arr, t)
	return c
}

// NullCount gives the number of nulls seen.
func (c *ColumnStats) NullCount() int64 { return c.nulls }

// Update takes in one more array of type t.
func (c *ColumnStats) Update(arr arrow.Array, t columnar.DataType) {
	if c.mode.Kind == StatsNone {
		return
	}
	c.nulls += int64(arr.NullN())
	if c.mode.Kind == StatsCounts || c.unbounded || arr.NullN() == arr.Len() {
		return
	}
	switch v := arr.(type) {
	case *array.Boolean:
		for i := range v.Len() {
			if v.IsValid(i) {
				c.addInt(int64(boolInt(v.Value(i))))
			}
		}
	case *array.Int8:
		addInts(c, arr, v.Int8Values())
	case *array.Int16:
		addInts(c, arr, v.Int16Values())
	case *array.Int32:
		addInts(c, arr, v.Int32Values())
	case *array.Date32:
		addInts(c, arr, v.Date32Values())
	case *array.Time32:
		addInts(c, arr, v.Time32Values())
	case *array.Int64:
		addInts(c, arr, v.Int64Values())
	case *array.Timestamp:
		addInts(c, arr, v.TimestampValues())
	case *array.Float32:
		addFloats(c, arr, v.Float32Values())
	case *array.Float64:
		addFloats(c, arr, v.Float64Values())
	case *array.Decimal128:
		c.addDecimals(v)
	case *array.String:
		if t.IsText() {
			c.addTexts(v)
		}
	}
}

// Merge takes in the statistics o of other rows of the same column.
func (c *ColumnStats) Merge(o *ColumnStats) {
	c.nulls += o.nulls
	c.unbounded = c.unbounded || o.unbounded
	if !o.seen {
		return
	}
	if !c.seen {
		nulls, unbounded := c.nulls, c.unbounded
		*c = *o
		c.nulls, c.unbounded = nulls, unbounded
		c.minBytes, c.maxBytes = bytes.Clone(o.minBytes), bytes.Clone(o.maxBytes)
		return
	}
	c.minInt, c.maxInt = min(c.minInt, o.minInt), max(c.maxInt, o.maxInt)
	c.minFloat, c.maxFloat = lowerFloat(c.minFloat, o.minFloat), higherFloat(c.maxFloat, o.maxFloat)
	c.minDecimal, c.maxDecimal = decimal128.Min(c.minDecimal, o.minDecimal), decimal128.Max(c.maxDecimal, o.maxDecimal)
	if bytes.Compare(o.minBytes, c.minBytes) < 0 {
		c.minBytes = bytes.Clone(o.minBytes)
	}
	if bytes.Compare(o.maxBytes, c.maxBytes) > 0 {
		c.maxBytes = bytes.Clone(o.maxBytes)
	}
}

func (c *ColumnStats) addInt(v int64) {
	if !c.seen {
		c.seen, c.minInt, c.maxInt = true, v, v
		return
	}
	c.minInt, c.maxInt = min(c.minInt, v), max(c.maxInt, v)
}

func addInts[T ~int8 | ~int16 | ~int32 | ~int64](c *ColumnStats, arr arrow.Array, values []T) {
	first := firstValid(arr)
	lo, hi := values[first], values[first]
	if arr.NullN() == 0 {
		for _, v := range values {
			lo, hi = min(lo, v), max(hi, v)
		}
	} else {
		for i, v := range values[first:] {
			if arr.IsValid(first + i) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	c.addInt(int64(lo))
	c.addInt(int64(hi))
}

func addFloats[T float32 | float64](c *ColumnStats, arr arrow.Array, values []T) {
	for i, v := range values {
		if arr.IsNull(i) {
			continue
		}
		f := float64(v)
		if math.IsNaN(f) {
			c.unbounded = true
			return
		}
		if !c.seen {
			c.seen, c.minFloat, c.maxFloat = true, f, f
			continue
		}
		c.minFloat, c.maxFloat = lowerFloat(c.minFloat, f), higherFloat(c.maxFloat, f)
	}
}

func (c *ColumnStats) addDecimals(arr *array.Decimal128) {
	for i, v := range arr.Values() {
		switch {
		case arr.IsNull(i):
		case !c.seen:
			c.seen, c.minDecimal, c.maxDecimal = true, v, v
		case v.Less(c.minDecimal):
			c.minDecimal = v
		case c.maxDecimal.Less(v):
			c.maxDecimal = v
		}
	}
}

// addTexts keeps strings of the array while it looks and copies the two winners at the end.
func (c *ColumnStats) addTexts(arr *array.String) {
	first := firstValid(arr)
	lo, hi := arr.Value(first), arr.Value(first)
	for i := first + 1; i < arr.Len(); i++ {
		if arr.IsNull(i) {
			continue
		}
		switch v := arr.Value(i); {
		case v < lo:
			lo = v
		case v > hi:
			hi = v
		}
	}
	if !c.seen || cmp.Less(lo, string(c.minBytes)) {
		c.minBytes = append(c.minBytes[:0], lo...)
	}
	if !c.seen || cmp.Less(string(c.maxBytes), hi) {
		c.maxBytes = append(c.maxBytes[:0], hi...)
	}
	c.seen = true
}

// write sets field i of the two rows: the bounds, or null where there are none.
func (c *ColumnStats) write(low, high *RowWriter, i int, t columnar.DataType) {
	if c.mode.Kind < StatsTruncate || !c.seen || c.unbounded {
		low.SetNull(i)
		high.SetNull(i)
		return
	}
	switch t.Kind {
	case columnar.Boolean, columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt, columnar.Date, columnar.Time:
		low.SetInt64(i, c.minInt)
		high.SetInt64(i, c.maxInt)
	case columnar.Float:
		low.SetFloat32(i, float32(c.minFloat))
		high.SetFloat32(i, float32(c.maxFloat))
	case columnar.Double:
		low.SetFloat64(i, c.minFloat)
		high.SetFloat64(i, c.maxFloat)
	case columnar.Decimal:
		low.SetDecimal128(i, c.minDecimal)
		high.SetDecimal128(i, c.maxDecimal)
	case columnar.Timestamp, columnar.TimestampLTZ:
		op, _ := encodeOpOf(t)
		millis, nanos := splitTimestamp(op, c.minInt)
		low.SetTimestamp(i, millis, nanos)
		millis, nanos = splitTimestamp(op, c.maxInt)
		high.SetTimestamp(i, millis, nanos)
	case columnar.Char, columnar.VarChar:
		lo, hi, ok := c.minBytes, c.maxBytes, true
		if c.mode.Kind == StatsTruncate {
			lo, hi, ok = truncateText(lo, hi, c.mode.Length)
		}
		if !ok {
			low.SetNull(i)
			high.SetNull(i)
			return
		}
		low.SetBytes(i, lo)
		high.SetBytes(i, hi)
	default:
		panic(fmt.Sprintf("spec: bounds of a column of type %s", t))
	}
}

func firstValid(arr arrow.Array) int {
	for i := range arr.Len() {
		if arr.IsValid(i) {
			return i
		}
	}
	return -1
}

func lowerFloat(a, b float64) float64 {
	if compareFloat(b, a) < 0 {
		return b
	}
	return a
}

func higherFloat(a, b float64) float64 {
	if compareFloat(b, a) > 0 {
		return b
	}
	return a
}
