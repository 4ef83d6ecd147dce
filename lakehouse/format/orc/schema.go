package orc

import (
	"fmt"
	"strconv"

	"leat/internal/columnar"
)

// typeKind is a type of the format, with its number in the file.
type typeKind uint8

const (
	kindBoolean          typeKind = 0
	kindByte             typeKind = 1
	kindShort            typeKind = 2
	kindInt              typeKind = 3
	kindLong             typeKind = 4
	kindFloat            typeKind = 5
	kindDouble           typeKind = 6
	kindString           typeKind = 7
	kindBinary           typeKind = 8
	kindTimestamp        typeKind = 9
	kindList             typeKind = 10
	kindMap              typeKind = 11
	kindStruct           typeKind = 12
	kindUnion            typeKind = 13
	kindDecimal          typeKind = 14
	kindDate             typeKind = 15
	kindVarchar          typeKind = 16
	kindChar             typeKind = 17
	kindTimestampInstant typeKind = 18
)

var kindNames = [...]string{
	"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "timestamp",
	"list", "map", "struct", "union", "decimal", "date", "varchar", "char", "timestamp with local time zone",
}

func (k typeKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "type " + strconv.Itoa(int(k))
}

// Limits of the type tree; a file beyond them is refused.
const (
	maxTypes = 1 << 16
	maxDepth = 64
)

// idAttribute is the type attribute in which Paimon keeps field ids.
const idAttribute = "paimon.id"

// The derived ids of elements, map keys and map values are counted from here.
const (
	elementIDBase = 536870911
	idsPerField   = 1024
)

// schemaBuilder flattens fields into the type list of the footer.
type schemaBuilder struct{ types []typeInfo }

// typesOf gives the type list of a file with the columns fields.
func typesOf(fields []columnar.Field) ([]typeInfo, error) {
	b := schemaBuilder{types: []typeInfo{{kind: kindStruct}}}
	if err := b.addFields(0, fields, 0); err != nil {
		return nil, err
	}
	return b.types, nil
}

func (b *schemaBuilder) addFields(parent int, fields []columnar.Field, depth int) error {
	if depth > maxDepth {
		return &UnsupportedError{Feature: fmt.Sprintf("nesting deeper than %d", maxDepth)}
	}
	for _, f := range fields {
		b.types[parent].names = append(b.types[parent].names, f.Name)
		if err := b.add(parent, f.Type, f.ID, f.ID, 0, depth); err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return nil
}

// add appends type t as a child of parent. id is its own field id; field and
// level are the id of the enclosing field and the nesting below it, from which
// the ids of elements are derived.
func (b *schemaBuilder) add(parent int, t columnar.DataType, id, field, level, depth int) error {
	self := len(b.types)
	if self >= maxTypes {
		return &UnsupportedError{Feature: fmt.Sprintf("more than %d types", maxTypes)}
	}
	if depth > maxDepth {
		return &UnsupportedError{Feature: fmt.Sprintf("nesting deeper than %d", maxDepth)}
	}
	info, err := typeInfoOf(t)
	if err != nil {
		return err
	}
	info.attrs = []attribute{{key: idAttribute, value: strconv.Itoa(id)}}
	b.types = append(b.types, info)
	b.types[parent].subtypes = append(b.types[parent].subtypes, uint64(self))
	down := level + 1
	up := elementIDBase + field*idsPerField + down
	switch t.Kind {
	case columnar.Array:
		return b.add(self, *t.Elem, up, field, down, depth+1)
	case columnar.Map:
		if err := b.add(self, *t.Key, elementIDBase-field*idsPerField-down, field, down, depth+1); err != nil {
			return err
		}
		return b.add(self, *t.Elem, up, field, down, depth+1)
	case columnar.Multiset:
		if err := b.add(self, *t.Elem, elementIDBase-field*idsPerField-down, field, down, depth+1); err != nil {
			return err
		}
		return b.add(self, columnar.Of(columnar.Int).NotNull(), up, field, down, depth+1)
	case columnar.Row:
		return b.addFields(self, t.Fields, depth+1)
	default:
		return nil
	}
}

// typeInfoOf maps one logical type, without children.
func typeInfoOf(t columnar.DataType) (typeInfo, error) {
	switch t.Kind {
	case columnar.Boolean:
		return typeInfo{kind: kindBoolean}, nil
	case columnar.TinyInt:
		return typeInfo{kind: kindByte}, nil
	case columnar.SmallInt:
		return typeInfo{kind: kindShort}, nil
	case columnar.Int, columnar.Time:
		return typeInfo{kind: kindInt}, nil
	case columnar.BigInt:
		return typeInfo{kind: kindLong}, nil
	case columnar.Float:
		return typeInfo{kind: kindFloat}, nil
	case columnar.Double:
		return typeInfo{kind: kindDouble}, nil
	case columnar.Decimal:
		return typeInfo{kind: kindDecimal, precision: uint64(t.Precision), scale: uint64(t.Scale)}, nil
	case columnar.Char:
		return typeInfo{kind: kindChar, maxLength: uint64(t.Length)}, nil
	case columnar.VarChar:
		if t.Length == columnar.MaxLength {
			return typeInfo{kind: kindString}, nil
		}
		return typeInfo{kind: kindVarchar, maxLength: uint64(t.Length)}, nil
	case columnar.Binary, columnar.VarBinary:
		return typeInfo{kind: kindBinary}, nil
	case columnar.Date:
		return typeInfo{kind: kindDate}, nil
	case columnar.Timestamp:
		return typeInfo{kind: kindTimestamp}, nil
	case columnar.TimestampLTZ:
		return typeInfo{kind: kindTimestampInstant}, nil
	case columnar.Array:
		return typeInfo{kind: kindList}, nil
	case columnar.Map, columnar.Multiset:
		return typeInfo{kind: kindMap}, nil
	case columnar.Row:
		return typeInfo{kind: kindStruct}, nil
	default:
		return typeInfo{}, &UnsupportedError{Feature: "type " + t.String()}
	}
}

// node is a column of a file, nested ones included.
type node struct {
	id       int
	info     *typeInfo
	children []*node
}

// treeOf checks the type list and links it into a tree: children follow their
// parents and have one parent only.
func treeOf(types []typeInfo) (*node, error) {
	if len(types) == 0 || len(types) > maxTypes {
		return nil, fmt.Errorf("the footer has %d types", len(types))
	}
	nodes := make([]node, len(types))
	depth := make([]int, len(types))
	seen := make([]bool, len(types))
	for i := range types {
		t, n := &types[i], &nodes[i]
		n.id, n.info = i, t
		if t.kind == kindStruct && len(t.names) != len(t.subtypes) {
			return nil, fmt.Errorf("type %d has %d names for %d fields", i, len(t.names), len(t.subtypes))
		}
		if want := arity(t.kind); want >= 0 && want != len(t.subtypes) {
			return nil, fmt.Errorf("type %d, a %s, has %d children", i, t.kind, len(t.subtypes))
		}
		if t.kind == kindDecimal && (t.precision > maxDecimalPrecision || t.scale > maxDecimalPrecision) {
			return nil, fmt.Errorf("type %d is decimal(%d,%d)", i, t.precision, t.scale)
		}
		for _, c := range t.subtypes {
			if c <= uint64(i) || c >= uint64(len(types)) || seen[c] {
				return nil, fmt.Errorf("type %d has child %d", i, c)
			}
			seen[c], depth[c] = true, depth[i]+1
			if depth[c] > maxDepth+1 {
				return nil, fmt.Errorf("types are nested deeper than %d", maxDepth)
			}
			n.children = append(n.children, &nodes[c])
		}
	}
	return &nodes[0], nil
}

// arity is the number of children that a kind must have; -1 if any.
func arity(k typeKind) int {
	switch k {
	case kindList:
		return 1
	case kindMap:
		return 2
	case kindStruct, kindUnion:
		return -1
	default:
		return 0
	}
}

// child finds a field of a struct by name, nil if there is none.
func (n *node) child(name string) *node {
	for i, f := range n.info.names {
		if f == name {
			return n.children[i]
		}
	}
	return nil
}

// fieldID gives the value of attribute paimon.id, -1 without it.
func (n *node) fieldID() int {
	for _, a := range n.info.attrs {
		if a.key == idAttribute {
			if id, err := strconv.Atoi(a.value); err == nil {
				return id
			}
		}
	}
	return -1
}

// fields describes the fields of a struct node; ids are -1 where the file has none.
func (n *node) fields() ([]columnar.Field, error) {
	out := make([]columnar.Field, len(n.children))
	for i, c := range n.children {
		t, err := c.dataType()
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", n.info.names[i], err)
		}
		out[i] = columnar.Field{ID: c.fieldID(), Name: n.info.names[i], Type: t}
	}
	return out, nil
}

// dataType gives the logical type; timestamps get precision 9.
func (n *node) dataType() (columnar.DataType, error) {
	switch n.info.kind {
	case kindBoolean:
		return columnar.Of(columnar.Boolean), nil
	case kindByte:
		return columnar.Of(columnar.TinyInt), nil
	case kindShort:
		return columnar.Of(columnar.SmallInt), nil
	case kindInt:
		return columnar.Of(columnar.Int), nil
	case kindLong:
		return columnar.Of(columnar.BigInt), nil
	case kindFloat:
		return columnar.Of(columnar.Float), nil
	case kindDouble:
		return columnar.Of(columnar.Double), nil
	case kindDecimal:
		return columnar.DecimalOf(int(n.info.precision), int(n.info.scale)), nil
	case kindChar, kindVarchar:
		k := columnar.Char
		if n.info.kind == kindVarchar {
			k = columnar.VarChar
		}
		t := columnar.Of(k)
		t.Length = int(min(n.info.maxLength, columnar.MaxLength))
		return t, nil
	case kindString:
		return columnar.StringType(), nil
	case kindBinary:
		return columnar.BytesType(), nil
	case kindDate:
		return columnar.Of(columnar.Date), nil
	case kindTimestamp:
		return columnar.TimestampOf(9), nil
	case kindTimestampInstant:
		t := columnar.TimestampOf(9)
		t.Kind = columnar.TimestampLTZ
		return t, nil
	default:
		return n.nestedType()
	}
}

func (n *node) nestedType() (columnar.DataType, error) {
	children := make([]columnar.DataType, len(n.children))
	for i, c := range n.children {
		if n.info.kind == kindStruct {
			break
		}
		t, err := c.dataType()
		if err != nil {
			return t, err
		}
		children[i] = t
	}
	switch n.info.kind {
	case kindList:
		t := columnar.Of(columnar.Array)
		t.Elem = &children[0]
		return t, nil
	case kindMap:
		t := columnar.Of(columnar.Map)
		t.Key, t.Elem = &children[0], &children[1]
		return t, nil
	case kindStruct:
		fs, err := n.fields()
		t := columnar.Of(columnar.Row)
		t.Fields = fs
		return t, err
	default:
		return columnar.DataType{}, &UnsupportedError{Feature: "type " + n.info.kind.String()}
	}
}
