package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// SchemaText is the parts of a schema as compact JSON, as the system table of schemas shows them.
type SchemaText struct {
	Fields, PartitionKeys, PrimaryKeys, Options string
}

// SchemaCells gives the parts of a schema as text.
func SchemaCells(s *TableSchema) (SchemaText, error) {
	fields, err := fieldsToJSON(s.Fields)
	if err != nil {
		return SchemaText{}, fmt.Errorf("writing schema %d: %w", s.ID, err)
	}
	var out SchemaText
	for to, v := range map[*string]any{
		&out.Fields: fields, &out.PartitionKeys: append([]string{}, s.PartitionKeys...),
		&out.PrimaryKeys: append([]string{}, s.PrimaryKeys...), &out.Options: s.Options,
	} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return SchemaText{}, fmt.Errorf("writing schema %d: %w", s.ID, err)
		}
		*to = string(bytes.TrimSpace(b.Bytes()))
	}
	return out, nil
}
