package avro

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"leat/internal/columnar"
	"leat/lakehouse/format"
)

type field struct {
	Name    string `json:"name"`
	Type    any    `json:"type"`
	Default any    `json:"default,omitempty"`
}

// nullDefault is the default of a field that may be null: a JSON null that is not left out.
var nullDefault = json.RawMessage("null")

// schemaOf gives the schema text of a file with these columns (AvroSchemaConverter.java).
func schemaOf(fields []columnar.Field) ([]byte, error) {
	n := namer{}
	root, err := n.record(fields, n.name(rootName))
	if err != nil {
		return nil, err
	}
	root.Namespace = "org.apache.paimon.avro.generated"
	return json.Marshal(root)
}

const rootName = "record"

// namer gives records names that no other has.
type namer map[string]bool

// name gives path as a name, with a number if two paths come to the same one:
// readers take a type by its name where it was defined before.
func (n namer) name(path string) string {
	name := path
	for i := 2; n[name]; i++ {
		name = fmt.Sprint(path, "_", i)
	}
	n[name] = true
	return name
}

// isName reports whether Java's Avro library takes a name.
func isName(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != ""
}

type record struct {
	Type      string  `json:"type"`
	Name      string  `json:"name"`
	Namespace string  `json:"namespace,omitempty"`
	Fields    []field `json:"fields"`
}

func (n namer) record(fields []columnar.Field, path string) (*record, error) {
	r := &record{Type: kindRecord, Name: path, Fields: make([]field, len(fields))}
	for i, f := range fields {
		if !isName(f.Name) {
			return nil, fmt.Errorf("column %s: Avro has names of letters, digits and _ alone", f.Name)
		}
		t, err := n.typeOf(f, path+"_"+f.Name)
		if err != nil {
			return nil, err
		}
		r.Fields[i] = field{Name: f.Name, Type: t}
		if f.Type.Nullable {
			r.Fields[i].Default = nullDefault
		}
	}
	return r, nil
}

type arrayType struct {
	Type    string `json:"type"`
	Items   any    `json:"items"`
	Logical string `json:"logicalType,omitempty"`
}

type mapType struct {
	Type   string `json:"type"`
	Values any    `json:"values"`
}

// partsOf gives the children of a nested type: element, key and value, or fields.
func partsOf(t columnar.DataType) []columnar.Field {
	switch t.Kind {
	case columnar.Array:
		return []columnar.Field{{Name: "element", Type: *t.Elem}}
	case columnar.Map:
		return []columnar.Field{{Name: "key", Type: *t.Key}, {Name: "value", Type: *t.Elem}}
	case columnar.Multiset:
		return []columnar.Field{{Name: "key", Type: *t.Elem}, {Name: "value", Type: columnar.Of(columnar.Int)}}
	case columnar.Row:
		return t.Fields
	default:
		return nil
	}
}

// typeOf gives the form of f in a schema; path is what a record in it is called by.
func (n namer) typeOf(f columnar.Field, path string) (any, error) {
	var t any
	var err error
	if f.Type.IsNested() {
		t, err = n.nestedOf(f, path)
	} else {
		t, err = leafOf(f)
	}
	if err == nil && f.Type.Nullable {
		t = []any{kindNull, t}
	}
	return t, err
}

func (n namer) nestedOf(f columnar.Field, path string) (any, error) {
	parts := partsOf(f.Type)
	switch f.Type.Kind {
	case columnar.Array:
		items, err := n.typeOf(parts[0], path)
		return arrayType{Type: kindArray, Items: items}, err
	case columnar.Map, columnar.Multiset:
		if parts[0].Type.IsText() {
			values, err := n.typeOf(parts[1], path)
			return mapType{Type: kindMap, Values: values}, err
		}
		if f.Type.Kind == columnar.Map { // Java reads no such MULTISET
			entry, err := n.entry(parts, n.name(path))
			return arrayType{Type: kindArray, Items: entry, Logical: "map"}, err
		}
	case columnar.Row:
		return n.record(f.Type.Fields, n.name(path))
	default:
	}
	return nil, unsupported(f)
}

// entry is the record of a key and a value. Its key has no default.
func (n namer) entry(parts []columnar.Field, name string) (*record, error) {
	r, err := n.record(parts, name)
	if err == nil {
		r.Fields[0].Default = nil
	}
	return r, err
}

func unsupported(f columnar.Field) error {
	return &format.UnsupportedTypeError{Column: f.Name, Type: f.Type, Format: "Avro"}
}

type logical struct {
	Type      string `json:"type"`
	Logical   string `json:"logicalType"`
	Precision int    `json:"precision,omitempty"`
	Scale     *int   `json:"scale,omitempty"`
}

func leafOf(f columnar.Field) (any, error) {
	switch t := f.Type; t.Kind {
	case columnar.Boolean:
		return "boolean", nil
	case columnar.TinyInt, columnar.SmallInt, columnar.Int:
		return "int", nil
	case columnar.BigInt:
		return "long", nil
	case columnar.Float:
		return "float", nil
	case columnar.Double:
		return "double", nil
	case columnar.Char, columnar.VarChar:
		return "string", nil
	case columnar.Binary, columnar.VarBinary:
		return "bytes", nil
	case columnar.Decimal:
		return logical{Type: "bytes", Logical: "decimal", Precision: t.Precision, Scale: &t.Scale}, nil
	case columnar.Date:
		return logical{Type: "int", Logical: "date"}, nil
	case columnar.Time:
		if t.Precision <= 3 {
			return logical{Type: "int", Logical: "time-millis"}, nil
		}
	case columnar.Timestamp, columnar.TimestampLTZ:
		name := "timestamp-millis"
		if t.Precision > 3 {
			name = "timestamp-micros"
		}
		if t.Kind == columnar.TimestampLTZ {
			name = "local-" + name
		}
		if t.Precision <= 6 {
			return logical{Type: "long", Logical: name}, nil
		}
	default:
	}
	return nil, unsupported(f)
}

// Supports reports whether files can hold these columns.
func Supports(fields []columnar.Field) bool {
	_, err := schemaOf(fields)
	return err == nil
}

// The kinds of nodes; a name stands for primitives of one wire form.
const (
	kindNull    = "null"
	kindBoolean = "boolean"
	kindInt     = "int" // and long
	kindFloat   = "float"
	kindDouble  = "double"
	kindBytes   = "bytes" // and string
	kindFixed   = "fixed"
	kindArray   = "array"
	kindMap     = "map"
	kindRecord  = "record"
	kindUnion   = "union"
)

// node is a type of a file's schema.
type node struct {
	kind string
	// items are the element of an array or map, the fields of a record, the branches of a union.
	items []*node
	names []string
	size  int
}

const (
	maxDepth = 64
	maxNodes = 1 << 16
)

// parser reads schema texts of any shape.
type parser struct {
	named map[string]*node
	nodes int
}

var errSchema = errors.New("the schema cannot be read")

func parseSchema(text []byte) (*node, error) {
	p := &parser{named: map[string]*node{}}
	n, err := p.parse(text, 0)
	if err == nil && n.kind != kindRecord {
		err = errSchema
	}
	return n, err
}

func (p *parser) parse(text []byte, depth int) (*node, error) {
	if p.nodes++; depth > maxDepth || p.nodes > maxNodes || len(text) == 0 {
		return nil, errSchema
	}
	switch text[0] {
	case '"':
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return nil, errSchema
		}
		return p.name(name)
	case '[':
		var branches []json.RawMessage
		if err := json.Unmarshal(text, &branches); err != nil {
			return nil, errSchema
		}
		n := &node{kind: kindUnion}
		for _, b := range branches {
			c, err := p.parse(b, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, c)
		}
		return n, nil
	default:
		return p.object(text, depth)
	}
}

func (p *parser) name(name string) (*node, error) {
	switch name {
	case "null", "boolean", "float", "double":
		return &node{kind: name}, nil
	case "int", "long":
		return &node{kind: kindInt}, nil
	case "bytes", "string":
		return &node{kind: kindBytes}, nil
	}
	if n := p.named[name[strings.LastIndexByte(name, '.')+1:]]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("type %q: %w", name, errSchema)
}

func (p *parser) object(text []byte, depth int) (*node, error) {
	var o struct {
		Type   json.RawMessage `json:"type"`
		Name   string          `json:"name"`
		Items  json.RawMessage `json:"items"`
		Values json.RawMessage `json:"values"`
		Size   int             `json:"size"`
		Fields []struct {
			Name string          `json:"name"`
			Type json.RawMessage `json:"type"`
		} `json:"fields"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, errSchema
	}
	n := &node{}
	switch string(o.Type) {
	case `"record"`:
		n.kind = kindRecord
		p.named[o.Name[strings.LastIndexByte(o.Name, '.')+1:]] = n
		for _, f := range o.Fields {
			c, err := p.parse(f.Type, depth+1)
			if err != nil {
				return nil, err
			}
			n.items, n.names = append(n.items, c), append(n.names, f.Name)
		}
		return n, nil
	case `"array"`, `"map"`:
		n.kind = kindArray
		of := o.Items
		if string(o.Type) == `"map"` {
			n.kind, of = kindMap, o.Values
		}
		c, err := p.parse(of, depth+1)
		n.items = []*node{c}
		return n, err
	case `"enum"`:
		n.kind = kindInt
		p.named[o.Name[strings.LastIndexByte(o.Name, '.')+1:]] = n
		return n, nil
	case `"fixed"`:
		if n.kind, n.size = kindFixed, o.Size; o.Size < 0 {
			return nil, errSchema
		}
		p.named[o.Name[strings.LastIndexByte(o.Name, '.')+1:]] = n
		return n, nil
	default:
		return p.parse(o.Type, depth+1)
	}
}
