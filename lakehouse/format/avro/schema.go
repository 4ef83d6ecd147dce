package avro

import (
	"encoding/json"
	"errors"
	"fmt"

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
	out := make([]field, len(fields))
	for i, f := range fields {
		t, err := typeOf(f)
		if err != nil {
			return nil, err
		}
		out[i] = field{Name: f.Name, Type: t}
		if f.Type.Nullable {
			out[i].Type, out[i].Default = []any{"null", t}, nullDefault
		}
	}
	return json.Marshal(struct {
		Type      string  `json:"type"`
		Name      string  `json:"name"`
		Namespace string  `json:"namespace"`
		Fields    []field `json:"fields"`
	}{"record", "record", "org.apache.paimon.avro.generated", out})
}

type logical struct {
	Type      string `json:"type"`
	Logical   string `json:"logicalType"`
	Precision int    `json:"precision,omitempty"`
	Scale     *int   `json:"scale,omitempty"`
}

func typeOf(f columnar.Field) (any, error) {
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
	return nil, &format.UnsupportedTypeError{Column: f.Name, Type: f.Type, Format: "Avro"}
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
	if n := p.named[name]; n != nil {
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
		p.named[o.Name] = n
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
		p.named[o.Name] = n
		return n, nil
	case `"fixed"`:
		if n.kind, n.size = kindFixed, o.Size; o.Size < 0 {
			return nil, errSchema
		}
		p.named[o.Name] = n
		return n, nil
	default:
		return p.parse(o.Type, depth+1)
	}
}
