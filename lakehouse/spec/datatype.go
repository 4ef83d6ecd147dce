package spec

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"leat/internal/columnar"
)

// maxTypeDepth bounds nesting of types read from files.
const maxTypeDepth = 64

// nestedType is the JSON form of ARRAY, MULTISET, MAP and ROW; " NOT NULL" may follow in Type.
type nestedType struct {
	Type    string          `json:"type"`
	Element json.RawMessage `json:"element,omitempty"`
	Key     json.RawMessage `json:"key,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	Fields  *[]fieldJSON    `json:"fields,omitempty"`
}

type fieldJSON struct {
	ID          *int            `json:"id"`
	Name        string          `json:"name"`
	Type        json.RawMessage `json:"type"`
	Description *string         `json:"description,omitempty"`
	Default     *string         `json:"defaultValue,omitempty"`
}

// MarshalDataType gives the JSON of a type in a schema file: a string, or an object for nested types.
func MarshalDataType(t columnar.DataType) (json.RawMessage, error) {
	n := nestedType{}
	var err error
	switch t.Kind {
	case columnar.Invalid:
		return nil, fmt.Errorf("writing data type: invalid type")
	case columnar.Array, columnar.Multiset:
		n.Type = "ARRAY"
		if t.Kind == columnar.Multiset {
			n.Type = "MULTISET"
		}
		n.Element, err = MarshalDataType(*t.Elem)
	case columnar.Map:
		n.Type = "MAP"
		if n.Key, err = MarshalDataType(*t.Key); err != nil {
			return nil, err
		}
		n.Value, err = MarshalDataType(*t.Elem)
	case columnar.Row:
		n.Type = "ROW"
		var fields []fieldJSON
		fields, err = fieldsToJSON(t.Fields)
		n.Fields = &fields
	default:
		return json.Marshal(t.String())
	}
	if err != nil {
		return nil, err
	}
	if !t.Nullable {
		n.Type += " NOT NULL"
	}
	return json.Marshal(n)
}

// ParseDataType reads the JSON of a type in a schema file.
func ParseDataType(raw json.RawMessage) (columnar.DataType, error) {
	return parseDataType(raw, 0)
}

func parseDataType(raw json.RawMessage, depth int) (columnar.DataType, error) {
	if depth > maxTypeDepth {
		return columnar.DataType{}, fmt.Errorf("reading data type: nested too deeply")
	}
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return ParseAtomicType(text)
	}
	var n nestedType
	if err := json.Unmarshal(raw, &n); err != nil {
		return columnar.DataType{}, fmt.Errorf("reading data type %s: %w", raw, err)
	}
	root, rest, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(n.Type)), " ")
	t := columnar.DataType{Nullable: true}
	switch rest = strings.Join(strings.Fields(rest), " "); rest {
	case "":
	case "NOT NULL":
		t.Nullable = false
	default:
		return t, fmt.Errorf("reading data type: %q is no type", n.Type)
	}
	sub := func(raw json.RawMessage) (*columnar.DataType, error) {
		s, err := parseDataType(raw, depth+1)
		return &s, err
	}
	var err error
	switch root {
	case "ARRAY", "MULTISET":
		t.Kind = columnar.Array
		if root == "MULTISET" {
			t.Kind = columnar.Multiset
		}
		t.Elem, err = sub(n.Element)
	case "MAP":
		t.Kind = columnar.Map
		if t.Key, err = sub(n.Key); err == nil {
			t.Elem, err = sub(n.Value)
		}
	case "ROW":
		t.Kind = columnar.Row
		if n.Fields == nil {
			return t, fmt.Errorf("reading data type: ROW without fields")
		}
		t.Fields, err = fieldsFromJSON(*n.Fields, depth+1)
	default:
		return t, fmt.Errorf("reading data type: %q is no nested type", n.Type)
	}
	return t, err
}

func fieldsToJSON(fs []columnar.Field) ([]fieldJSON, error) {
	out := make([]fieldJSON, len(fs))
	for i, f := range fs {
		raw, err := MarshalDataType(f.Type)
		if err != nil {
			return nil, fmt.Errorf("writing field %s: %w", f.Name, err)
		}
		out[i] = fieldJSON{ID: &f.ID, Name: f.Name, Type: raw, Default: f.Default}
		if f.Comment != "" {
			out[i].Description = &f.Comment
		}
	}
	return out, nil
}

func fieldsFromJSON(in []fieldJSON, depth int) ([]columnar.Field, error) {
	out := make([]columnar.Field, len(in))
	for i, f := range in {
		if f.ID == nil || f.Name == "" {
			return nil, fmt.Errorf("reading field %d: id or name is missing", i)
		}
		t, err := parseDataType(f.Type, depth)
		if err != nil {
			return nil, fmt.Errorf("reading field %s: %w", f.Name, err)
		}
		out[i] = columnar.Field{ID: *f.ID, Name: f.Name, Type: t, Default: f.Default}
		if f.Description != nil {
			out[i].Comment = *f.Description
		}
	}
	return out, nil
}

// atomNames maps root names, aliases included, to kinds.
var atomNames = map[string]columnar.Kind{
	"BOOLEAN": columnar.Boolean, "TINYINT": columnar.TinyInt, "SMALLINT": columnar.SmallInt,
	"INT": columnar.Int, "INTEGER": columnar.Int, "BIGINT": columnar.BigInt,
	"FLOAT": columnar.Float, "DOUBLE": columnar.Double,
	"DECIMAL": columnar.Decimal, "DEC": columnar.Decimal, "NUMERIC": columnar.Decimal,
	"CHAR": columnar.Char, "VARCHAR": columnar.VarChar, "STRING": columnar.VarChar,
	"BINARY": columnar.Binary, "VARBINARY": columnar.VarBinary, "BYTES": columnar.VarBinary,
	"DATE": columnar.Date, "TIME": columnar.Time,
	"TIMESTAMP": columnar.Timestamp, "TIMESTAMP_LTZ": columnar.TimestampLTZ, "VARIANT": columnar.Variant,
}

// ParseAtomicType reads the SQL text of a type that is not nested, such as "DECIMAL(10, 2) NOT NULL".
func ParseAtomicType(text string) (columnar.DataType, error) {
	t := columnar.DataType{Nullable: true}
	bad := func(why string) (columnar.DataType, error) {
		return columnar.DataType{}, fmt.Errorf("reading data type %q: %s", text, why)
	}
	words := typeWords(text)
	if len(words) == 0 {
		return bad("it is empty")
	}
	root := words[0]
	kind, ok := atomNames[root]
	if !ok {
		return bad("unknown type")
	}
	t.Kind = kind
	words = words[1:]
	if root == "DOUBLE" {
		words = dropWords(words, "PRECISION")
	}
	var args []int
	if len(words) > 0 && words[0] == "(" {
		args, words, ok = typeArgs(words)
		if !ok {
			return bad("unreadable parameters")
		}
	}
	if kind == columnar.Timestamp || kind == columnar.Time {
		words = dropWords(words, "WITHOUT", "TIME", "ZONE")
	}
	if kind == columnar.Timestamp && len(words) >= 4 && strings.Join(words[:4], " ") == "WITH LOCAL TIME ZONE" {
		t.Kind = columnar.TimestampLTZ
		words = words[4:]
	}
	switch strings.Join(words, " ") {
	case "", "NULL":
	case "NOT NULL":
		t.Nullable = false
	default:
		return bad("unexpected " + strings.Join(words, " "))
	}
	if why := setTypeArgs(&t, root, args); why != "" {
		return bad(why)
	}
	return t, nil
}

// setTypeArgs puts parameters or their defaults into t; it gives what is wrong with them, or "".
func setTypeArgs(t *columnar.DataType, root string, args []int) string {
	most, low, high := 1, 1, columnar.MaxLength
	var first int
	switch t.Kind {
	case columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		first = 1
		if root == "STRING" || root == "BYTES" {
			first, most = columnar.MaxLength, 0
		}
	case columnar.Decimal:
		first, most, high = 10, 2, 38
	case columnar.Time:
		first, low, high = 0, 0, 9
	case columnar.Timestamp, columnar.TimestampLTZ:
		first, low, high = 6, 0, 9
	default:
		most = 0
	}
	if len(args) > most {
		return "too many parameters"
	}
	if len(args) > 0 {
		if first = args[0]; first < low || first > high {
			return "parameter out of range"
		}
	}
	switch t.Kind {
	case columnar.Char, columnar.VarChar, columnar.Binary, columnar.VarBinary:
		t.Length = first
	case columnar.Decimal:
		t.Precision = first
		if len(args) == 2 {
			t.Scale = args[1]
		}
		if t.Scale < 0 || t.Scale > t.Precision {
			return "scale out of range"
		}
	case columnar.Time, columnar.Timestamp, columnar.TimestampLTZ:
		t.Precision = first
	default:
	}
	return ""
}

// typeWords cuts text into upper-case words and the characters "(", ")" and ",".
func typeWords(text string) []string {
	text = strings.ToUpper(text)
	for _, c := range []string{"(", ")", ","} {
		text = strings.ReplaceAll(text, c, " "+c+" ")
	}
	return strings.Fields(text)
}

func dropWords(words []string, drop ...string) []string {
	if len(words) >= len(drop) && strings.Join(words[:len(drop)], " ") == strings.Join(drop, " ") {
		return words[len(drop):]
	}
	return words
}

// typeArgs reads "( n )" or "( n , m )" in front of words.
func typeArgs(words []string) (args []int, rest []string, ok bool) {
	for i := 1; i+1 < len(words); i += 2 {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			return nil, nil, false
		}
		args = append(args, n)
		switch words[i+1] {
		case ")":
			return args, words[i+2:], true
		case ",":
		default:
			return nil, nil, false
		}
	}
	return nil, nil, false
}
