package format

import (
	"cmp"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"leat/internal/columnar"
)

// rootName is the message name of Paimon's Parquet files.
const rootName = "paimon_schema"

// UnsupportedTypeError says that a column's type cannot be stored in files of a format.
type UnsupportedTypeError struct {
	Column string
	Type   columnar.DataType
	// Format is the format's name, "" for Parquet.
	Format string
}

func (e *UnsupportedTypeError) Error() string {
	return fmt.Sprintf("column %s: type %s cannot be stored in %s files", e.Column, e.Type, cmp.Or(e.Format, "Parquet"))
}

// parquetSchema builds the file schema of fields, as Paimon's ParquetSchemaConverter does.
func parquetSchema(fields []columnar.Field) (*schema.GroupNode, error) {
	nodes := make(schema.FieldList, len(fields))
	for i, f := range fields {
		n, err := parquetNode(f, f.ID, 0)
		if err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	return schema.NewGroupNode(rootName, parquet.Repetitions.Required, nodes, -1)
}

// parquetNode makes the node of f. field and level are the id of the enclosing
// field of the table's schema and the nesting below it; see childFields.
func parquetNode(f columnar.Field, field, level int) (schema.Node, error) {
	if f.Type.IsNested() {
		return groupNode(f, field, level)
	}
	rep := parquet.Repetitions.Optional
	if !f.Type.Nullable {
		rep = parquet.Repetitions.Required
	}
	id := int32(f.ID)
	logical := func(lt schema.LogicalType, pt parquet.Type, length int) (schema.Node, error) {
		return schema.NewPrimitiveNodeLogical(f.Name, rep, lt, pt, length, id)
	}
	switch t := f.Type; t.Kind {
	case columnar.Boolean:
		return schema.NewBooleanNode(f.Name, rep, id), nil
	case columnar.TinyInt:
		return logical(schema.NewIntLogicalType(8, true), parquet.Types.Int32, -1)
	case columnar.SmallInt:
		return logical(schema.NewIntLogicalType(16, true), parquet.Types.Int32, -1)
	case columnar.Int:
		return schema.NewInt32Node(f.Name, rep, id), nil
	case columnar.BigInt:
		return schema.NewInt64Node(f.Name, rep, id), nil
	case columnar.Float:
		return schema.NewFloat32Node(f.Name, rep, id), nil
	case columnar.Double:
		return schema.NewFloat64Node(f.Name, rep, id), nil
	case columnar.Decimal:
		lt := schema.NewDecimalLogicalType(int32(t.Precision), int32(t.Scale))
		switch {
		case t.Precision <= 9:
			return logical(lt, parquet.Types.Int32, -1)
		case t.Precision <= 18:
			return logical(lt, parquet.Types.Int64, -1)
		default:
			return logical(lt, parquet.Types.FixedLenByteArray, decimalWidth(t.Precision))
		}
	case columnar.Char, columnar.VarChar:
		return logical(schema.StringLogicalType{}, parquet.Types.ByteArray, -1)
	case columnar.Binary, columnar.VarBinary:
		return schema.NewByteArrayNode(f.Name, rep, id), nil
	case columnar.Date:
		return logical(schema.DateLogicalType{}, parquet.Types.Int32, -1)
	case columnar.Time:
		return logical(schema.NewTimeLogicalType(true, schema.TimeUnitMillis), parquet.Types.Int32, -1)
	case columnar.Timestamp, columnar.TimestampLTZ:
		utc := t.Kind == columnar.TimestampLTZ
		switch {
		case t.Precision <= 3:
			return logical(schema.NewTimestampLogicalType(utc, schema.TimeUnitMillis), parquet.Types.Int64, -1)
		case t.Precision <= 6:
			return logical(schema.NewTimestampLogicalType(utc, schema.TimeUnitMicros), parquet.Types.Int64, -1)
		default:
			return schema.NewInt96Node(f.Name, rep, id), nil
		}
	default:
		return nil, &UnsupportedTypeError{Column: f.Name, Type: f.Type}
	}
}

// decimalWidth is the least number of bytes that hold every unscaled value of precision digits.
func decimalWidth(precision int) int {
	// Digits held by n bytes are floor(log10(2^(8n-1)-1)).
	digits := [...]int{0, 2, 4, 6, 9, 11, 14, 16, 18, 21, 23, 26, 28, 31, 33, 35, 38}
	for n, d := range digits {
		if d >= precision {
			return n
		}
	}
	return 16
}
