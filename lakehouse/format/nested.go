package format

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"leat/internal/columnar"
)

// Ids of elements, map keys and map values are counted from here, so many a field.
const (
	elementIDBase = 536870911
	idsPerField   = 1024
)

// child is a child of a nested type as it stands in the file.
type child struct {
	columnar.Field
	// field and level are what the ids of its own children are derived from.
	field, level int
}

// childFields gives the children of nested type t, in file order. Fields of a
// ROW have their own ids; those of elements, keys and values are derived from
// the enclosing field's and the nesting below it, as Paimon's SpecialFields does.
func childFields(t columnar.DataType, field, level int) []child {
	down := level + 1
	up := elementIDBase + field*idsPerField + down
	key := elementIDBase - field*idsPerField - down
	inner := func(id int, name string, t columnar.DataType) child {
		return child{Field: columnar.Field{ID: id, Name: name, Type: t}, field: field, level: down}
	}
	switch t.Kind {
	case columnar.Array:
		return []child{inner(up, "element", *t.Elem)}
	case columnar.Map:
		return []child{inner(key, "key", t.Key.NotNull()), inner(up, "value", *t.Elem)}
	case columnar.Multiset:
		return []child{inner(key, "key", t.Elem.NotNull()), inner(up, "value", columnar.Of(columnar.Int).NotNull())}
	case columnar.Row:
		out := make([]child, len(t.Fields))
		for i, f := range t.Fields {
			out[i] = child{Field: f, field: f.ID}
		}
		return out
	case columnar.Variant:
		return []child{inner(-1, "value", columnar.BytesType().NotNull()), inner(-1, "metadata", columnar.BytesType().NotNull())}
	default:
		return nil
	}
}

// repeatedName is the name of the repeated group of a nested kind, "" if it has none.
func repeatedName(k columnar.Kind) string {
	switch k {
	case columnar.Array:
		return "list"
	case columnar.Map, columnar.Multiset:
		return "key_value"
	default:
		return ""
	}
}

// eachLeaf visits the leaves of f in file order; path is the dotted path of f.
func eachLeaf(f columnar.Field, path string, visit func(path string, t columnar.DataType)) {
	if !f.Type.IsNested() {
		visit(path, f.Type)
		return
	}
	if r := repeatedName(f.Type.Kind); r != "" {
		path += "." + r
	}
	for _, c := range childFields(f.Type, 0, 0) {
		eachLeaf(c.Field, path+"."+c.Name, visit)
	}
}

// groupNode makes the node of a nested field.
func groupNode(f columnar.Field, field, level int) (schema.Node, error) {
	kids := childFields(f.Type, field, level)
	if len(kids) == 0 {
		return nil, &UnsupportedTypeError{Column: f.Name, Type: f.Type}
	}
	nodes := make(schema.FieldList, len(kids))
	for i, c := range kids {
		var err error
		if nodes[i], err = parquetNode(c.Field, c.field, c.level); err != nil {
			return nil, err
		}
	}
	rep := parquet.Repetitions.Optional
	if !f.Type.Nullable {
		rep = parquet.Repetitions.Required
	}
	name := repeatedName(f.Type.Kind)
	if name == "" {
		return schema.NewGroupNode(f.Name, rep, nodes, int32(f.ID))
	}
	var logical schema.LogicalType = schema.ListLogicalType{}
	converted := schema.ConvertedTypes.None
	if f.Type.Kind != columnar.Array {
		logical, converted = schema.MapLogicalType{}, schema.ConvertedTypes.MapKeyValue
	}
	repeated, err := schema.NewGroupNodeConverted(name, parquet.Repetitions.Repeated, nodes, converted, -1)
	if err != nil {
		return nil, fmt.Errorf("making the schema of column %s: %w", f.Name, err)
	}
	return schema.NewGroupNodeLogical(f.Name, rep, schema.FieldList{repeated}, logical, int32(f.ID))
}
