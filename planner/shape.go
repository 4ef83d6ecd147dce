package planner

import (
	"fmt"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/spec"
	"leat/sqlfront"
)

// fixedOptions cannot be changed once a table has data.
var fixedOptions = []string{"bucket", "bucket-key", "merge-engine", "changelog-producer", "bucket-function.type", "sequence.field", "rowkind.field"}

func schemaOf(ts *spec.TableSchema) *columnar.Schema { return &columnar.Schema{Fields: ts.Fields} }

// otherShape is the error of a CREATE TABLE whose existing table is another one;
// nil if it is the same. Options that the table keeps are told.
func (s *Session) otherShape(full string, have, want *spec.TableSchema, v *sqlfront.CreateTable) *diag.Error {
	if diff := shapeDiff(have, want); len(diff) > 0 {
		return &diag.Error{
			Domain: diag.User, Code: diag.CodeLakeShape, Pos: v.Name.At, Msg: fmt.Sprintf("table %s exists already with another shape", full), Notes: diff,
			Hint: "make the statement fit the table, or create it under another name",
		}
	}
	for _, k := range optionDiff(have.Options, want.Options) {
		s.notice(configs.Notice{Pos: v.Name.At, Key: full + " " + k, Msg: fmt.Sprintf("table %s keeps its option '%s' = '%s'", full, k, have.Options[k])})
	}
	return nil
}

func shapeDiff(have, want *spec.TableSchema) []string {
	var d []string
	for i := range max(len(have.Fields), len(want.Fields)) {
		switch {
		case i >= len(want.Fields):
			d = append(d, fmt.Sprintf("the table has a further column %s %s", have.Fields[i].Name, have.Fields[i].Type))
		case i >= len(have.Fields):
			d = append(d, fmt.Sprintf("the table has no column %s %s", want.Fields[i].Name, want.Fields[i].Type))
		case have.Fields[i].Name != want.Fields[i].Name || have.Fields[i].Type.String() != want.Fields[i].Type.String():
			d = append(d, fmt.Sprintf("column %d of the table is %s %s, here %s %s", i+1, have.Fields[i].Name, have.Fields[i].Type, want.Fields[i].Name, want.Fields[i].Type))
		}
	}
	return append(d, keysDiff(have, want)...)
}

// keysDiff lists what differs in keys and in the options that decide where a row goes.
func keysDiff(have, want *spec.TableSchema) []string {
	var d []string
	if !slices.Equal(have.PrimaryKeys, want.PrimaryKeys) {
		d = append(d, fmt.Sprintf("the table's primary key is (%s), here (%s)", strings.Join(have.PrimaryKeys, ", "), strings.Join(want.PrimaryKeys, ", ")))
	}
	if !slices.Equal(have.PartitionKeys, want.PartitionKeys) {
		d = append(d, fmt.Sprintf("the table is partitioned by (%s), here (%s)", strings.Join(have.PartitionKeys, ", "), strings.Join(want.PartitionKeys, ", ")))
	}
	for _, k := range fixedOptions {
		if h, w := optionOf(have.Options, k), optionOf(want.Options, k); h != w {
			d = append(d, fmt.Sprintf("the table has '%s' = '%s', here '%s'", k, h, w))
		}
	}
	return d
}

// optionOf gives the value or the default of a table option.
func optionOf(opts map[string]string, key string) string {
	if v, ok := opts[key]; ok {
		return v
	}
	if d, ok := configs.LakeTable.Find(key); ok {
		return d.Default
	}
	return ""
}

func optionDiff(have, want map[string]string) []string {
	var keys []string
	for k, w := range want {
		if h, ok := have[k]; ok && h != w && !slices.Contains(fixedOptions, k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
