package spec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/internal/columnar"
)

// AppendValue appends field i of r, of type t, to the builder of its Arrow
// form (columnar.ArrowType). It fails on damaged rows and on nested types.
func (r BinaryRow) AppendValue(b array.Builder, i int, t columnar.DataType) error {
	if r.IsNull(i) {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		v, err := r.Bool(i)
		return appendOr(err, func() { b.Append(v) })
	case *array.Int8Builder:
		v, err := r.Int64(i, t)
		return appendOr(err, func() { b.Append(int8(v)) })
	case *array.Int16Builder:
		v, err := r.Int64(i, t)
		return appendOr(err, func() { b.Append(int16(v)) })
	case *array.Int32Builder:
		v, err := r.Int64(i, t)
		return appendOr(err, func() { b.Append(int32(v)) })
	case *array.Int64Builder:
		v, err := r.Int64(i, t)
		return appendOr(err, func() { b.Append(v) })
	case *array.Date32Builder:
		v, err := r.Int64(i, t)
		return appendOr(err, func() { b.Append(arrow.Date32(v)) })
	case *array.Time32Builder:
		v, err := r.Int64(i, t)
		return appendOr(err, func() { b.Append(arrow.Time32(v)) })
	case *array.Float32Builder:
		v, err := r.Float64(i, t)
		return appendOr(err, func() { b.Append(float32(v)) })
	case *array.Float64Builder:
		v, err := r.Float64(i, t)
		return appendOr(err, func() { b.Append(v) })
	case *array.Decimal128Builder:
		v, err := r.Decimal(i, t)
		return appendOr(err, func() { b.Append(v) })
	case *array.StringBuilder:
		v, err := r.Bytes(i)
		return appendOr(err, func() { b.Append(string(v)) })
	case *array.BinaryBuilder:
		v, err := r.Bytes(i)
		return appendOr(err, func() { b.Append(v) })
	case *array.TimestampBuilder:
		millis, nanos, err := r.Timestamp(i, t)
		return appendOr(err, func() { b.Append(arrow.Timestamp(joinTimestamp(t.Precision, millis, nanos))) })
	default:
		return fmt.Errorf("reading binary row: field %d of type %s into %T", i, t, b)
	}
}

func appendOr(err error, add func()) error {
	if err == nil {
		add()
	}
	return err
}

// joinTimestamp is the inverse of splitTimestamp; it wraps outside the range of the unit.
func joinTimestamp(precision int, millis int64, nanos int32) int64 {
	switch columnar.TimestampUnit(precision) {
	case arrow.Millisecond:
		return millis
	case arrow.Microsecond:
		return millis*1_000 + int64(nanos)/1_000
	default:
		return millis*1_000_000 + int64(nanos)
	}
}

// CompareRows orders two rows of the same types field by field, as keys are
// ordered in data files: numbers by value (-0.0 before 0.0, NaN last), text
// and binary by unsigned bytes, false before true, null first.
func CompareRows(a, b BinaryRow, types []columnar.DataType) (int, error) {
	for i, t := range types {
		an, bn := a.IsNull(i), b.IsNull(i)
		if an || bn {
			if an == bn {
				continue
			}
			if an {
				return -1, nil
			}
			return 1, nil
		}
		c, err := compareField(a, b, i, t)
		if c != 0 || err != nil {
			return c, err
		}
	}
	return 0, nil
}

func compareField(a, b BinaryRow, i int, t columnar.DataType) (int, error) {
	switch t.Kind {
	case columnar.Boolean:
		return compareBoth(a, b, func(r BinaryRow) (int, error) {
			v, err := r.Bool(i)
			if v {
				return 1, err
			}
			return 0, err
		}, cmp.Compare)
	case columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt, columnar.Date, columnar.Time:
		return compareBoth(a, b, func(r BinaryRow) (int64, error) { return r.Int64(i, t) }, cmp.Compare)
	case columnar.Float, columnar.Double:
		return compareBoth(a, b, func(r BinaryRow) (float64, error) { return r.Float64(i, t) }, compareFloat)
	case columnar.Decimal:
		av, err := a.Decimal(i, t)
		if err != nil {
			return 0, err
		}
		bv, err := b.Decimal(i, t)
		return av.Cmp(bv), err
	case columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		return compareBoth(a, b, func(r BinaryRow) ([]byte, error) { return r.Bytes(i) }, bytes.Compare)
	case columnar.Timestamp, columnar.TimestampLTZ:
		am, an, err := a.Timestamp(i, t)
		if err != nil {
			return 0, err
		}
		bm, bn, err := b.Timestamp(i, t)
		return cmp.Or(cmp.Compare(am, bm), cmp.Compare(an, bn)), err
	default:
		return 0, fmt.Errorf("comparing binary rows: type %s has no order", t)
	}
}

func compareBoth[T any](a, b BinaryRow, get func(BinaryRow) (T, error), compare func(T, T) int) (int, error) {
	av, err := get(a)
	if err != nil {
		return 0, err
	}
	bv, err := get(b)
	if err != nil {
		return 0, err
	}
	return compare(av, bv), nil
}

// compareFloat orders as java.lang.Double.compare: -0.0 before 0.0, NaN greatest.
func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case math.IsNaN(a) || math.IsNaN(b):
		return cmp.Compare(boolInt(math.IsNaN(a)), boolInt(math.IsNaN(b)))
	default:
		return cmp.Compare(boolInt(math.Signbit(b)), boolInt(math.Signbit(a)))
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// SetFrom sets field i of w from field j of r, which has the same type. Nested types are refused.
func (w *RowWriter) SetFrom(i int, r BinaryRow, j int) error {
	if r.IsNull(j) {
		w.SetNull(i)
		return nil
	}
	switch t := w.types[i]; t.Kind {
	case columnar.Boolean:
		v, err := r.Bool(j)
		return appendOr(err, func() { w.SetBool(i, v) })
	case columnar.TinyInt, columnar.SmallInt, columnar.Int, columnar.BigInt, columnar.Date, columnar.Time:
		v, err := r.Int64(j, t)
		return appendOr(err, func() { w.SetInt64(i, v) })
	case columnar.Float:
		v, err := r.Float64(j, t)
		return appendOr(err, func() { w.SetFloat32(i, float32(v)) })
	case columnar.Double:
		v, err := r.Float64(j, t)
		return appendOr(err, func() { w.SetFloat64(i, v) })
	case columnar.Decimal:
		v, err := r.Decimal(j, t)
		return appendOr(err, func() { w.SetDecimal128(i, v) })
	case columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		v, err := r.Bytes(j)
		return appendOr(err, func() { w.SetBytes(i, v) })
	case columnar.Timestamp, columnar.TimestampLTZ:
		millis, nanos, err := r.Timestamp(j, t)
		return appendOr(err, func() { w.SetTimestamp(i, millis, nanos) })
	default:
		return fmt.Errorf("copying binary row: field %d of type %s", i, t)
	}
}

// RowBounds gives the statistics over rows of these types: exact min and max
// and the null count of every field, as manifest lists keep them of partitions.
func RowBounds(rows []BinaryRow, types []columnar.DataType) (SimpleStats, error) {
	if len(types) == 0 {
		return EmptyStats(), nil
	}
	low, high := NewRowWriter(types), NewRowWriter(types)
	low.Reset()
	high.Reset()
	s := SimpleStats{NullCounts: make([]*int64, len(types))}
	for i, t := range types {
		var nulls int64
		var lo, hi *BinaryRow
		for j := range rows {
			r := &rows[j]
			if r.IsNull(i) {
				nulls++
				continue
			}
			if lo == nil {
				lo, hi = r, r
				continue
			}
			below, err := compareField(*r, *lo, i, t)
			if err != nil {
				return s, err
			}
			above, err := compareField(*r, *hi, i, t)
			if err != nil {
				return s, err
			}
			if below < 0 {
				lo = r
			}
			if above > 0 {
				hi = r
			}
		}
		s.NullCounts[i] = &nulls
		if lo == nil {
			low.SetNull(i)
			high.SetNull(i)
			continue
		}
		if err := errors.Join(low.SetFrom(i, *lo, i), high.SetFrom(i, *hi, i)); err != nil {
			return s, err
		}
	}
	s.Min, s.Max = low.Row(), high.Row()
	return s, nil
}

// MayContain reports whether statistics over rows of these types leave room for row.
func (s *SimpleStats) MayContain(row BinaryRow, types []columnar.DataType) bool {
	for i, t := range types {
		if row.IsNull(i) {
			if i < len(s.NullCounts) && s.NullCounts[i] != nil && *s.NullCounts[i] == 0 {
				return false
			}
			continue
		}
		if s.Min.IsNull(i) || s.Max.IsNull(i) {
			continue
		}
		if c, err := compareField(row, s.Min, i, t); err == nil && c < 0 {
			return false
		}
		if c, err := compareField(row, s.Max, i, t); err == nil && c > 0 {
			return false
		}
	}
	return true
}
