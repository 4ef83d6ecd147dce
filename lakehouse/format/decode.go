package format

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"leat/internal/columnar"
)

// readDecimalsOf picks the decoder of a decimal by how it is stored; nil if it cannot be.
func readDecimalsOf(pt parquet.Type) func(*columnReader, int) (arrow.Array, error) {
	dec := arrow.Decimal128Traits.CastFromBytes
	switch pt {
	case parquet.Types.Int32:
		return readConverted(16, dec, decimalsOf[int32])
	case parquet.Types.Int64:
		return readConverted(16, dec, decimalsOf[int64])
	case parquet.Types.FixedLenByteArray:
		return readFixed(16, dec, decimalsOfBytes[parquet.FixedLenByteArray])
	case parquet.Types.ByteArray:
		return readFixed(16, dec, decimalsOfBytes[parquet.ByteArray])
	default:
		return nil
	}
}

func decimalsOfBytes[T ~[]byte](dst []decimal128.Num, src []T) {
	for i, b := range src {
		dst[i] = decimalOf(b)
	}
}

func narrow[T int8 | int16](dst []T, src []int32) {
	for i, v := range src {
		dst[i] = T(v)
	}
}

func decimalsOf[T int32 | int64](dst []decimal128.Num, src []T) {
	for i, v := range src {
		dst[i] = decimal128.FromI64(int64(v))
	}
}

// nanosPer gives the nanoseconds of one unit.
func nanosPer(u arrow.TimeUnit) int64 {
	switch u {
	case arrow.Second:
		return 1_000_000_000
	case arrow.Millisecond:
		return 1_000_000
	case arrow.Microsecond:
		return 1_000
	default:
		return 1
	}
}

// timestampsOf converts from the unit the file states to that of the type; nil if it is the same.
func timestampsOf(t columnar.DataType, col *schema.Column) func(dst, src []int64) {
	want := nanosPer(columnar.TimestampUnit(t.Precision))
	have := want
	if lt, ok := col.LogicalType().(schema.TimestampLogicalType); ok {
		switch lt.TimeUnit() {
		case schema.TimeUnitMillis:
			have = nanosPer(arrow.Millisecond)
		case schema.TimeUnitMicros:
			have = nanosPer(arrow.Microsecond)
		case schema.TimeUnitNanos:
			have = 1
		default:
		}
	}
	switch {
	case have == want:
		return nil
	case have > want:
		return func(dst, src []int64) {
			for i, v := range src {
				dst[i] = v * (have / want)
			}
		}
	default:
		return func(dst, src []int64) {
			for i, v := range src {
				dst[i] = floorDiv(v, want/have)
			}
		}
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// int96sOf reads both forms of instants before 1970: negative nanoseconds of the day, or an earlier day.
func int96sOf(t columnar.DataType) func(dst []int64, src []parquet.Int96) {
	unit := nanosPer(columnar.TimestampUnit(t.Precision))
	return func(dst []int64, src []parquet.Int96) {
		for i := range src {
			nanos := int64(binary.LittleEndian.Uint64(src[i][:8]))
			day := int64(int32(binary.LittleEndian.Uint32(src[i][8:]))) - julianEpoch
			dst[i] = day*(nanosPerDay/unit) + floorDiv(nanos, unit)
		}
	}
}
