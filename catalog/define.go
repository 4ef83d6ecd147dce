package catalog

import (
	"maps"
	"slices"
	"strings"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// Options that stand for keys of the definition: they are moved into it.
const (
	optionPrimaryKey = "primary-key"
	optionPartition  = "partition"
)

// Define gives the schema-0 of a definition: options that name keys moved to
// the key lists, key columns NOT NULL, field ids assigned as Paimon assigns
// them (a ROW's fields before the fields that follow it, an inner ROW's fields
// before the inner ROW itself). s is not changed.
func Define(s *spec.TableSchema, timeMillis int64) *spec.TableSchema {
	d := withKeys(s)
	d.Version, d.ID, d.TimeMillis = spec.SchemaVersion, 0, timeMillis
	next := 0
	take := func() int { next++; return next - 1 }
	for i := range d.Fields {
		f := &d.Fields[i]
		f.ID = take()
		f.Type = withIDs(f.Type, take)
		if slices.Contains(d.PrimaryKeys, f.Name) {
			f.Type = f.Type.NotNull()
		}
	}
	d.HighestFieldID = next - 1
	return d
}

// withKeys copies s and moves options primary-key and partition to the lists.
func withKeys(s *spec.TableSchema) *spec.TableSchema {
	d := *s
	d.Fields = slices.Clone(s.Fields)
	d.Options = maps.Clone(s.Options)
	if d.Options == nil {
		d.Options = map[string]string{}
	}
	move := func(option string, list []string) []string {
		if text, ok := d.Options[option]; ok {
			delete(d.Options, option)
			if len(list) == 0 {
				return splitNames(text)
			}
		}
		return slices.Clone(list)
	}
	d.PrimaryKeys = move(optionPrimaryKey, s.PrimaryKeys)
	d.PartitionKeys = move(optionPartition, s.PartitionKeys)
	return &d
}

func splitNames(text string) []string {
	var out []string
	for n := range strings.SplitSeq(text, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

func withIDs(t columnar.DataType, take func() int) columnar.DataType {
	if t.Elem != nil {
		e := withIDs(*t.Elem, take)
		t.Elem = &e
	}
	if t.Key != nil {
		k := withIDs(*t.Key, take)
		t.Key = &k
	}
	if len(t.Fields) > 0 {
		t.Fields = slices.Clone(t.Fields)
		for i := range t.Fields {
			t.Fields[i].Type = withIDs(t.Fields[i].Type, take)
			t.Fields[i].ID = take()
		}
	}
	return t
}
