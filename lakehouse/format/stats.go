package format

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"leat/internal/columnar"
	"leat/lakehouse/format/orc"
)

// ColumnStats is what a file knows of one of its columns: the number of nulls,
// and MinMax with two entries, the exact minimum and maximum, in the form of
// columnar.ArrowType. It is nil where Paimon keeps none: bytes, columns with a
// NaN, columns without values; in Parquet also INT96 timestamps and values above
// 4 KiB.
type ColumnStats = orc.ColumnStats

// footerStats merges minimum and maximum of column i over the row groups.
func footerStats(meta *metadata.FileMetaData, i int, t columnar.DataType, mem memory.Allocator) (ColumnStats, error) {
	var merged metadata.TypedStatistics
	for g := range meta.NumRowGroups() {
		chunk, err := meta.RowGroup(g).ColumnChunk(i)
		if err != nil {
			return ColumnStats{}, err
		}
		if set, err := chunk.StatsSet(); err != nil || !set {
			return ColumnStats{}, err
		}
		s, err := chunk.Statistics()
		if err != nil {
			return ColumnStats{}, err
		}
		if !s.HasMinMax() {
			if s.NumValues() > 0 {
				return ColumnStats{}, nil
			}
			continue
		}
		if merged == nil {
			merged = s
		} else {
			merged.Merge(s)
		}
	}
	if merged == nil {
		return ColumnStats{}, nil
	}
	return ColumnStats{MinMax: minMaxArray(merged, t, mem)}, nil
}

func minMaxArray(s metadata.TypedStatistics, t columnar.DataType, mem memory.Allocator) arrow.Array {
	b := array.NewBuilder(mem, columnar.ArrowType(t))
	defer b.Release()
	switch s := s.(type) {
	case *metadata.BooleanStatistics:
		bb := b.(*array.BooleanBuilder)
		bb.Append(s.Min())
		bb.Append(s.Max())
	case *metadata.Int32Statistics:
		appendInt(b, int64(s.Min()))
		appendInt(b, int64(s.Max()))
	case *metadata.Int64Statistics:
		appendInt(b, s.Min())
		appendInt(b, s.Max())
	case *metadata.Float32Statistics:
		fb := b.(*array.Float32Builder)
		fb.Append(s.Min())
		fb.Append(s.Max())
	case *metadata.Float64Statistics:
		fb := b.(*array.Float64Builder)
		fb.Append(s.Min())
		fb.Append(s.Max())
	case *metadata.ByteArrayStatistics:
		sb, ok := b.(*array.StringBuilder)
		if !ok {
			return nil
		}
		sb.Append(string(s.Min()))
		sb.Append(string(s.Max()))
	case *metadata.FixedLenByteArrayStatistics:
		db := b.(*array.Decimal128Builder)
		db.Append(decimalOf(s.Min()))
		db.Append(decimalOf(s.Max()))
	default:
		return nil
	}
	return b.NewArray()
}

func appendInt(b array.Builder, v int64) {
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
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(v))
	}
}

// decimalOf reads big-endian two's complement bytes, 1 to 16 of them.
func decimalOf(b []byte) decimal128.Num {
	var full [16]byte
	if len(b) > 0 && b[0]&0x80 != 0 {
		for i := range full {
			full[i] = 0xff
		}
	}
	if len(b) > 16 {
		b = b[len(b)-16:]
	}
	copy(full[16-len(b):], b)
	return decimal128.New(int64(binary.BigEndian.Uint64(full[:8])), binary.BigEndian.Uint64(full[8:]))
}
