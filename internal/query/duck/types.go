//go:build cgo

package duck

import (
	"github.com/apache/arrow-go/v18/arrow"
	db "github.com/duckdb/duckdb-go-bindings"

	"leat/internal/columnar"
)

// logicalType gives the type in which values of t are carried; destroy it.
func logicalType(t columnar.DataType) db.LogicalType {
	switch t.Kind {
	case columnar.Decimal:
		return db.CreateDecimalType(uint8(t.Precision), uint8(t.Scale))
	case columnar.Array:
		e := logicalType(*t.Elem)
		defer db.DestroyLogicalType(&e)
		return db.CreateListType(e)
	case columnar.Map, columnar.Multiset:
		kt, vt := mapTypes(t)
		k, v := logicalType(kt), logicalType(vt)
		defer db.DestroyLogicalType(&k)
		defer db.DestroyLogicalType(&v)
		return db.CreateMapType(k, v)
	case columnar.Row, columnar.Variant:
		fields := structFields(t)
		types, names := make([]db.LogicalType, len(fields)), make([]string, len(fields))
		for i := range fields {
			types[i], names[i] = logicalType(fields[i].Type), FieldName(i)
		}
		defer func() {
			for i := range types {
				db.DestroyLogicalType(&types[i])
			}
		}()
		return db.CreateStructType(types, names)
	default:
		return db.CreateLogicalType(typeID(t))
	}
}

func typeID(t columnar.DataType) db.Type {
	switch t.Kind {
	case columnar.Boolean:
		return db.TypeBoolean
	case columnar.TinyInt:
		return db.TypeTinyInt
	case columnar.SmallInt:
		return db.TypeSmallInt
	case columnar.Int, columnar.Time:
		return db.TypeInteger
	case columnar.BigInt:
		return db.TypeBigInt
	case columnar.Float:
		return db.TypeFloat
	case columnar.Double:
		return db.TypeDouble
	case columnar.Decimal:
		return db.TypeDecimal
	case columnar.Char, columnar.VarChar:
		return db.TypeVarchar
	case columnar.Binary, columnar.VarBinary:
		return db.TypeBlob
	case columnar.Date:
		return db.TypeDate
	case columnar.Timestamp, columnar.TimestampLTZ:
		switch columnar.TimestampUnit(t.Precision) {
		case arrow.Millisecond:
			return db.TypeTimestampMS
		case arrow.Nanosecond:
			return db.TypeTimestampNS
		default:
			return db.TypeTimestamp
		}
	case columnar.Array:
		return db.TypeList
	case columnar.Map, columnar.Multiset:
		return db.TypeMap
	default:
		return db.TypeStruct
	}
}

func mapTypes(t columnar.DataType) (key, value columnar.DataType) {
	if t.Kind == columnar.Multiset {
		return *t.Elem, columnar.Of(columnar.Int).NotNull()
	}
	return *t.Key, *t.Elem
}

// structFields gives the fields of a ROW, and of a VARIANT the parts it is stored in.
func structFields(t columnar.DataType) []columnar.Field {
	if t.Kind == columnar.Variant {
		return []columnar.Field{{Name: "value", Type: columnar.BytesType()}, {Name: "metadata", Type: columnar.BytesType()}}
	}
	return t.Fields
}

// width is the size in bytes of a value of t in a vector, 0 if it has none of its own.
func width(t columnar.DataType) int {
	switch typeID(t) {
	case db.TypeBoolean, db.TypeTinyInt:
		return 1
	case db.TypeSmallInt:
		return 2
	case db.TypeInteger, db.TypeFloat, db.TypeDate:
		return 4
	case db.TypeBigInt, db.TypeDouble, db.TypeTimestamp, db.TypeTimestampMS, db.TypeTimestampNS:
		return 8
	case db.TypeDecimal:
		switch {
		case t.Precision <= 4:
			return 2
		case t.Precision <= 9:
			return 4
		case t.Precision <= 18:
			return 8
		default:
			return 16
		}
	case db.TypeVarchar, db.TypeBlob, db.TypeList, db.TypeMap:
		return 16
	default:
		return 0
	}
}
