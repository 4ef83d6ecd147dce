package format

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"leat/internal/columnar"
)

// javaWriter is how the Java library names itself in its files.
const javaWriter = "parquet-mr"

// keepGroup asks the filter about row group g; asked are the columns that it wanted to know of.
func (r *Reader) keepGroup(g int) (keep bool, asked []columnar.Field) {
	if r.opts.Filter == nil {
		return true, nil
	}
	meta := r.fr.MetaData()
	group := meta.RowGroups[g]
	keep = r.opts.Filter.MayMatch(group.NumRows, func(f columnar.Field) (ColumnStats, bool) {
		asked = append(asked, f)
		leaf, col := r.flatLeaf(f)
		if leaf < 0 || leaf >= len(group.Columns) {
			return ColumnStats{}, false
		}
		chunk := group.Columns[leaf].MetaData
		if chunk == nil || chunk.Statistics == nil {
			return ColumnStats{}, false
		}
		s, out := chunk.Statistics, ColumnStats{}
		switch {
		case s.NullCount != nil:
			out.Nulls = *s.NullCount
		case col.MaxDefinitionLevel() > 0:
			return ColumnStats{}, false // not even whether all are null
		}
		// The older fields for both are of no order, and a long value may be missing alone.
		if s.MinValue != nil && s.MaxValue != nil {
			out.MinMax = boundsOf(s.MinValue, s.MaxValue, f.Type, col, meta.WriterVersion().App)
		}
		return out, true
	})
	return keep, asked
}

// flatLeaf finds the leaf of a column that is not nested, -1 if the file has none.
func (r *Reader) flatLeaf(f columnar.Field) (int, *schema.Column) {
	if f.Type.IsNested() {
		return -1, nil
	}
	s := r.fr.MetaData().Schema
	leaf, col, err := leafOf(f.Name, s.Root(), s)
	if err != nil || leaf < 0 || col.MaxRepetitionLevel() > 0 || col.MaxDefinitionLevel() > 1 {
		return -1, nil
	}
	return leaf, col
}

// boundsOf gives a lower and an upper bound in the form of the type; nil where the
// file's are none for a reader of t. writer wrote the file.
func boundsOf(low, high []byte, t columnar.DataType, col *schema.Column, writer string) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, columnar.ArrowType(t))
	defer b.Release()
	ok := false
	switch pt := col.PhysicalType(); {
	case pt == parquet.Types.ByteArray:
		var sb *array.StringBuilder
		if sb, ok = b.(*array.StringBuilder); ok {
			sb.AppendStringValues([]string{string(low), string(high)}, nil)
		}
	case pt == parquet.Types.FixedLenByteArray:
		// The C++ library once compared decimals as bytes.
		var db *array.Decimal128Builder
		if db, ok = b.(*array.Decimal128Builder); ok && !strings.HasPrefix(writer, "parquet-cpp") {
			db.Append(decimalOf(low))
			db.Append(decimalOf(high))
		}
	case len(low) != pt.ByteSize() || len(high) != pt.ByteSize():
	case pt == parquet.Types.Boolean:
		var bb *array.BooleanBuilder
		if bb, ok = b.(*array.BooleanBuilder); ok {
			bb.AppendValues([]bool{low[0] != 0, high[0] != 0}, nil)
		}
	case pt == parquet.Types.Int32:
		ok = appendBounds(b, t, col, int64(int32(binary.LittleEndian.Uint32(low))), int64(int32(binary.LittleEndian.Uint32(high))))
	case pt == parquet.Types.Int64:
		ok = appendBounds(b, t, col, int64(binary.LittleEndian.Uint64(low)), int64(binary.LittleEndian.Uint64(high)))
	case pt == parquet.Types.Float:
		lo, hi := math.Float32frombits(binary.LittleEndian.Uint32(low)), math.Float32frombits(binary.LittleEndian.Uint32(high))
		ok = appendFloats(b, float64(lo), float64(hi), writer == javaWriter)
	case pt == parquet.Types.Double:
		lo, hi := math.Float64frombits(binary.LittleEndian.Uint64(low)), math.Float64frombits(binary.LittleEndian.Uint64(high))
		ok = appendFloats(b, lo, hi, writer == javaWriter)
	}
	if !ok || b.Len() != 2 {
		return nil
	}
	return b.NewArray()
}

// appendFloats appends bounds of floats; false if there are none. A maximum that leaves NaN
// out is widened to it, the greatest value; only Java's comes with it if there is one.
func appendFloats(b array.Builder, lo, hi float64, withNaN bool) bool {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return false
	}
	if !withNaN {
		hi = math.NaN()
	}
	switch b := b.(type) {
	case *array.Float32Builder:
		b.AppendValues([]float32{float32(lo), float32(hi)}, nil)
	case *array.Float64Builder:
		b.AppendValues([]float64{lo, hi}, nil)
	default:
		return false
	}
	return true
}

// appendBounds appends bounds of integers as a column of type t has them; false if it cannot.
func appendBounds(b array.Builder, t columnar.DataType, col *schema.Column, lo, hi int64) bool {
	if lt, ok := col.LogicalType().(schema.IntLogicalType); ok && !lt.IsSigned() {
		return false
	}
	if t.Kind == columnar.Timestamp || t.Kind == columnar.TimestampLTZ {
		if convert := timestampsOf(t, col); convert != nil {
			in, out := [2]int64{lo, hi}, [2]int64{}
			convert(out[:], in[:])
			if lo, hi = out[0], out[1]; in[0] <= in[1] && lo > hi {
				return false // beyond what the type holds
			}
		}
	}
	limit := int64(math.MaxInt64)
	switch t.Kind {
	case columnar.TinyInt:
		limit = math.MaxInt8
	case columnar.SmallInt:
		limit = math.MaxInt16
	case columnar.Int, columnar.Date, columnar.Time:
		limit = math.MaxInt32
	case columnar.BigInt, columnar.Timestamp, columnar.TimestampLTZ, columnar.Decimal:
	default:
		return false
	}
	if lo < -limit-1 || hi > limit {
		return false
	}
	appendInt(b, lo)
	appendInt(b, hi)
	return true
}
