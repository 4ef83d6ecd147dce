package columnar

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// ArrowType gives the one Arrow form of a logical type that leat uses:
//
//	BOOLEAN bool · TINYINT..BIGINT int8..int64 · FLOAT, DOUBLE float32, float64
//	DECIMAL(p,s) decimal128(p,s) · CHAR, VARCHAR utf8 · BINARY, VARBINARY binary
//	DATE date32 · TIME time32[ms] · TIMESTAMP(p), TIMESTAMP_LTZ(p) timestamp
//	  [ms] p≤3, [us] p≤6, [ns] p≤9; LTZ with zone "UTC"
//	ARRAY list · MAP, MULTISET map (multiset value int32 not null) · ROW struct
//	VARIANT struct<value binary, metadata binary>
func ArrowType(t DataType) arrow.DataType {
	switch t.Kind {
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case TinyInt:
		return arrow.PrimitiveTypes.Int8
	case SmallInt:
		return arrow.PrimitiveTypes.Int16
	case Int:
		return arrow.PrimitiveTypes.Int32
	case BigInt:
		return arrow.PrimitiveTypes.Int64
	case Float:
		return arrow.PrimitiveTypes.Float32
	case Double:
		return arrow.PrimitiveTypes.Float64
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case Char, VarChar:
		return arrow.BinaryTypes.String
	case Binary, VarBinary:
		return arrow.BinaryTypes.Binary
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Time:
		return arrow.FixedWidthTypes.Time32ms
	case Timestamp:
		return &arrow.TimestampType{Unit: TimestampUnit(t.Precision)}
	case TimestampLTZ:
		return &arrow.TimestampType{Unit: TimestampUnit(t.Precision), TimeZone: "UTC"}
	case Array:
		return arrow.ListOfField(arrow.Field{Name: "element", Type: ArrowType(*t.Elem), Nullable: t.Elem.Nullable})
	case Map:
		m := arrow.MapOf(ArrowType(*t.Key), ArrowType(*t.Elem))
		m.SetItemNullable(t.Elem.Nullable)
		return m
	case Multiset:
		m := arrow.MapOf(ArrowType(*t.Elem), arrow.PrimitiveTypes.Int32)
		m.SetItemNullable(false)
		return m
	case Row:
		return arrow.StructOf(arrowFields(t.Fields)...)
	case Variant:
		return arrow.StructOf(arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary}, arrow.Field{Name: "metadata", Type: arrow.BinaryTypes.Binary})
	default:
		panic(fmt.Sprintf("columnar: no arrow form of %s", t))
	}
}

// TimestampUnit gives the Arrow unit of a timestamp of the given precision.
func TimestampUnit(precision int) arrow.TimeUnit {
	switch {
	case precision <= 3:
		return arrow.Millisecond
	case precision <= 6:
		return arrow.Microsecond
	default:
		return arrow.Nanosecond
	}
}

// ArrowSchema gives the Arrow schema of s.
func ArrowSchema(s *Schema) *arrow.Schema { return arrow.NewSchema(arrowFields(s.Fields), nil) }

func arrowFields(fs []Field) []arrow.Field {
	out := make([]arrow.Field, len(fs))
	for i, f := range fs {
		out[i] = arrow.Field{Name: f.Name, Type: ArrowType(f.Type), Nullable: f.Type.Nullable}
	}
	return out
}

// NewBuilders makes one Arrow builder a column of s.
func NewBuilders(mem memory.Allocator, s *Schema) []array.Builder {
	out := make([]array.Builder, len(s.Fields))
	for i, f := range s.Fields {
		out[i] = array.NewBuilder(mem, ArrowType(f.Type))
	}
	return out
}
