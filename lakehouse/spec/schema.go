package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leat/internal/columnar"
)

// SchemaVersion is the version of schema files that leat writes.
const SchemaVersion = 3

// Option keys that the structures themselves depend on.
const (
	OptionBucket     = "bucket"
	OptionBucketKey  = "bucket-key"
	OptionFileFormat = "file.format"
)

// schemaJSON is a schema file in field order of SchemaSerializer.java.
type schemaJSON struct {
	Version        *int              `json:"version"`
	ID             int64             `json:"id"`
	Fields         []fieldJSON       `json:"fields"`
	HighestFieldID int               `json:"highestFieldId"`
	PartitionKeys  []string          `json:"partitionKeys"`
	PrimaryKeys    []string          `json:"primaryKeys"`
	Options        map[string]string `json:"options"`
	Comment        *string           `json:"comment,omitempty"`
	TimeMillis     int64             `json:"timeMillis"`
}

// MarshalSchema gives the content of schema/schema-<id>.
func MarshalSchema(s *TableSchema) ([]byte, error) {
	fields, err := fieldsToJSON(s.Fields)
	if err != nil {
		return nil, fmt.Errorf("writing schema %d: %w", s.ID, err)
	}
	version := SchemaVersion
	j := schemaJSON{
		Version: &version, ID: s.ID, Fields: fields, HighestFieldID: s.HighestFieldID,
		PartitionKeys: append([]string{}, s.PartitionKeys...), PrimaryKeys: append([]string{}, s.PrimaryKeys...),
		Options: s.Options, TimeMillis: s.TimeMillis,
	}
	if j.Options == nil {
		j.Options = map[string]string{}
	}
	if s.Comment != "" {
		j.Comment = &s.Comment
	}
	return encodeJSON(j)
}

// ParseSchema reads a schema file. Options that older versions meant by
// leaving them out are filled in: `bucket` = 1 up to version 1, `file.format`
// = orc up to version 2.
func ParseSchema(b []byte) (*TableSchema, error) {
	var j schemaJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	version := 1
	if j.Version != nil {
		version = *j.Version
	}
	if version < 1 || version > SchemaVersion {
		return nil, fmt.Errorf("reading schema %d: version %d is unknown", j.ID, version)
	}
	fields, err := fieldsFromJSON(j.Fields, 0)
	if err != nil {
		return nil, fmt.Errorf("reading schema %d: %w", j.ID, err)
	}
	s := &TableSchema{
		Version: version, ID: j.ID, Fields: fields, HighestFieldID: j.HighestFieldID,
		PartitionKeys: j.PartitionKeys, PrimaryKeys: j.PrimaryKeys, Options: j.Options, TimeMillis: j.TimeMillis,
	}
	if j.Comment != nil {
		s.Comment = *j.Comment
	}
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	if _, ok := s.Options[OptionBucket]; !ok && version <= 1 {
		s.Options[OptionBucket] = "1"
	}
	if _, ok := s.Options[OptionFileFormat]; !ok && version <= 2 {
		s.Options[OptionFileFormat] = "orc"
	}
	for _, k := range slices.Concat(s.PartitionKeys, s.PrimaryKeys) {
		if s.Index(k) < 0 {
			return nil, fmt.Errorf("reading schema %d: key %s is no column", j.ID, k)
		}
	}
	return s, nil
}

// Columns gives the columns as a columnar schema.
func (s *TableSchema) Columns() *columnar.Schema { return &columnar.Schema{Fields: s.Fields} }

// Index gives the position of a column, -1 if there is none.
func (s *TableSchema) Index(name string) int { return s.Columns().Index(name) }

// Indexes gives the positions of columns; every name must exist.
func (s *TableSchema) Indexes(names []string) []int {
	out := make([]int, len(names))
	for i, n := range names {
		out[i] = s.Index(n)
	}
	return out
}

// Types gives the types of columns; every name must exist.
func (s *TableSchema) Types(names []string) []columnar.DataType {
	out := make([]columnar.DataType, len(names))
	for i, n := range names {
		out[i] = s.Fields[s.Index(n)].Type
	}
	return out
}

// ColumnTypes gives the types of all columns.
func (s *TableSchema) ColumnTypes() []columnar.DataType {
	out := make([]columnar.DataType, len(s.Fields))
	for i, f := range s.Fields {
		out[i] = f.Type
	}
	return out
}

// TrimmedPrimaryKeys gives the primary key without partition columns, in key order: the key within a bucket.
func (s *TableSchema) TrimmedPrimaryKeys() []string {
	var out []string
	for _, k := range s.PrimaryKeys {
		if !slices.Contains(s.PartitionKeys, k) {
			out = append(out, k)
		}
	}
	return out
}

// BucketKeys gives the columns that a row's bucket is computed from, in order:
// option `bucket-key`, else the trimmed primary key.
func (s *TableSchema) BucketKeys() []string {
	if text := strings.TrimSpace(s.Options[OptionBucketKey]); text != "" {
		keys := strings.Split(text, ",")
		for i, k := range keys {
			keys[i] = strings.TrimSpace(k)
		}
		return keys
	}
	return s.TrimmedPrimaryKeys()
}

// Bucket gives option `bucket`: n ≥ 1 fixed, -1 unaware or dynamic (the default), -2 postponed.
func (s *TableSchema) Bucket() (int, error) {
	text, ok := s.Options[OptionBucket]
	if !ok {
		return -1, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n == 0 || n < PostponeBucket {
		return 0, fmt.Errorf("reading option bucket: %q is no number of buckets", text)
	}
	return n, nil
}

// PartitionPaths gives the path computation that the table's options ask for.
func (s *TableSchema) PartitionPaths() *PartitionPaths {
	return &PartitionPaths{
		Keys: s.PartitionKeys, Types: s.Types(s.PartitionKeys),
		Default: s.Options["partition.default-name"],
		Plain:   strings.EqualFold(strings.TrimSpace(s.Options["partition.legacy-name"]), "false"),
	}
}
