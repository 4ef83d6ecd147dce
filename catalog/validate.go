package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"leat/configs"
	"leat/internal/diag"
	"leat/lakehouse"
	"leat/lakehouse/spec"
)

// Names that columns must not have: they are columns of data files.
var systemColumns = []string{"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"}

const keyPrefix = "_KEY_"

// Validate checks a table definition as Paimon does when it creates a table.
// It gives all faults as a diag.List; those of an option name it.
func Validate(s *spec.TableSchema) error {
	v := &validation{s: withKeys(s)}
	v.once(s, optionPrimaryKey, s.PrimaryKeys)
	v.once(s, optionPartition, s.PartitionKeys)
	v.columns()
	v.keys()
	if len(v.errs) == 0 {
		v.buckets()
		v.engines()
		v.retention()
		v.formats()
		v.columnOptions()
		v.rowTracking()
	}
	return v.errs.Err()
}

// validation collects what is wrong with s.
type validation struct {
	s    *spec.TableSchema
	errs diag.List
}

func (v *validation) shape(code diag.Code, hint, format string, args ...any) {
	v.errs = append(v.errs, &diag.Error{Domain: diag.User, Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint})
}

func (v *validation) option(key, msg, hint string) {
	v.errs = append(v.errs, &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Option: key, Msg: msg, Hint: hint})
}

func (v *validation) get(key, def string) string {
	if text, ok := v.s.Options[key]; ok {
		return strings.ToLower(strings.TrimSpace(text))
	}
	return def
}

// once refuses an option that stands for a list which the definition has too.
func (v *validation) once(s *spec.TableSchema, option string, list []string) {
	if _, ok := s.Options[option]; ok && len(list) > 0 {
		v.option(option, "the table's columns define it already", "leave the option out")
	}
}

func (v *validation) columns() {
	if len(v.s.Fields) == 0 {
		v.shape(diag.CodeTableShape, "list the columns", "the table has no column")
	}
	seen := map[string]bool{}
	for _, f := range v.s.Fields {
		switch {
		case strings.TrimSpace(f.Name) == "":
			v.shape(diag.CodeTableShape, "name the column", "a column has no name")
		case seen[f.Name]:
			v.shape(diag.CodeTableShape, "rename one of them", "column %s is there twice", f.Name)
		case strings.HasPrefix(f.Name, keyPrefix) || slices.Contains(systemColumns, f.Name):
			v.shape(diag.CodeTableShape, "choose another name", "column %s: the name is reserved for columns of data files", f.Name)
		case (f.Type.IsText() || f.Type.IsBytes()) && f.Type.Length <= 0:
			v.shape(diag.CodeType, "give it one of at least 1, as by CAST(… AS STRING)", "column %s: its type %s has no length", f.Name, f.Type.AsNullable())
		}
		seen[f.Name] = true
	}
}

func (v *validation) keys() {
	v.keyList("primary key", v.s.PrimaryKeys)
	v.keyList("partition", v.s.PartitionKeys)
	if len(v.s.PrimaryKeys) > 0 && len(v.s.TrimmedPrimaryKeys()) == 0 {
		v.shape(diag.CodeTableShape, "add a column that is no partition column to the primary key",
			"the primary key (%s) holds partition columns only: each partition would have one row", strings.Join(v.s.PrimaryKeys, ", "))
	}
}

// keyList checks that columns exist, are not repeated and can be compared.
func (v *validation) keyList(what string, names []string) {
	seen := map[string]bool{}
	for _, n := range names {
		i := v.s.Index(n)
		switch {
		case i < 0:
			hint := "name one of the columns"
			if near := configs.Nearest(n, v.s.Columns().Names()); near != "" {
				hint = "did you mean " + near + "?"
			}
			v.shape(diag.CodeUnknownColumn, hint, "%s column %s is no column of the table", what, n)
		case seen[n]:
			v.shape(diag.CodeTableShape, "name it once", "%s column %s is named twice", what, n)
		case v.s.Fields[i].Type.IsNested():
			v.shape(diag.CodeTableShape, "use a column of an atomic type", "%s column %s has type %s", what, n, v.s.Fields[i].Type)
		}
		seen[n] = true
	}
}

func (v *validation) buckets() {
	n, err := v.s.Bucket()
	if err != nil {
		v.option(spec.OptionBucket, "'"+v.s.Options[spec.OptionBucket]+"' is no number of buckets", "write -1, or a number from 1 on")
		return
	}
	hasKey := len(v.s.PrimaryKeys) > 0
	keys := splitNames(v.s.Options[spec.OptionBucketKey])
	_, given := v.s.Options[spec.OptionBucketKey]
	switch {
	case n == spec.PostponeBucket && !hasKey:
		v.option(spec.OptionBucket, "-2 needs a primary key", "declare a primary key, or write -1")
	case n != -1 && hasKey && v.crossPartition():
		v.option(spec.OptionBucket, "the primary key does not hold all partition columns: such a table needs -1", "write -1, or add the partition columns to the primary key")
	case n == -1 && given:
		v.option(spec.OptionBucketKey, "it has no use with bucket -1", "set 'bucket' to the number of buckets, or leave 'bucket-key' out")
	case n >= 1 && !hasKey && len(keys) == 0:
		v.option(spec.OptionBucketKey, "a table without a primary key needs it when 'bucket' is "+strconv.Itoa(n), "name the columns that choose the bucket, or set 'bucket' to -1")
	}
	for _, k := range keys {
		i := v.s.Index(k)
		switch {
		case i < 0:
			v.option(spec.OptionBucketKey, k+" is no column of the table", "name columns of the table")
		case slices.Contains(v.s.PartitionKeys, k):
			v.option(spec.OptionBucketKey, k+" is a partition column", "leave it out: all rows of a partition have the same value")
		case hasKey && !slices.Contains(v.s.PrimaryKeys, k):
			v.option(spec.OptionBucketKey, k+" is not in the primary key ("+strings.Join(v.s.PrimaryKeys, ", ")+")", "use columns of the primary key: rows of one key must meet in one bucket")
		case v.s.Fields[i].Type.IsNested():
			v.option(spec.OptionBucketKey, k+" has type "+v.s.Fields[i].Type.String(), "use columns of atomic types")
		}
	}
}

func (v *validation) engines() {
	producer := v.get("changelog-producer", "none")
	engine := v.get("merge-engine", "deduplicate")
	deletionVectors := v.get("deletion-vectors.enabled", "false") == "true"
	sequence := splitNames(v.s.Options["sequence.field"])
	if producer != "none" && len(v.s.PrimaryKeys) == 0 {
		v.errs = append(v.errs, &diag.Error{
			Domain: diag.User, Code: diag.CodeNoPrimaryKey, Option: "changelog-producer",
			Msg: "'" + producer + "' needs a primary key", Hint: "declare a primary key, or leave the option out",
		})
	}
	if engine == "first-row" {
		if producer != "none" && producer != "lookup" {
			v.option("changelog-producer", "merge engine first-row takes none and lookup only", "write 'lookup'")
		}
		if deletionVectors {
			v.option("deletion-vectors.enabled", "merge engine first-row takes no deletion vectors", "leave it out")
		}
		if len(sequence) > 0 {
			v.option("sequence.field", "merge engine first-row takes no sequence field", "leave it out")
		}
	}
	if deletionVectors && producer == "full-compaction" {
		v.option("changelog-producer", "with deletion vectors it is none, input or lookup", "write 'lookup'")
	}
	for _, f := range sequence {
		if v.s.Index(f) < 0 {
			v.option("sequence.field", f+" is no column of the table", "name columns of the table")
		}
		if _, ok := v.s.Options["fields."+f+".aggregate-function"]; ok {
			v.option("fields."+f+".aggregate-function", "a sequence field cannot be aggregated", "leave it out")
		}
	}
	if len(sequence) > 0 && len(v.s.PrimaryKeys) > 0 && v.crossPartition() {
		v.option("sequence.field", "the primary key does not hold all partition columns: such a table takes no sequence field", "add the partition columns to the primary key")
	}
}

func (v *validation) crossPartition() bool {
	for _, p := range v.s.PartitionKeys {
		if !slices.Contains(v.s.PrimaryKeys, p) {
			return true
		}
	}
	return false
}

func (v *validation) retention() {
	const lowKey, highKey = "snapshot.num-retained.min", "snapshot.num-retained.max"
	low, err1 := strconv.ParseInt(v.get(lowKey, "10"), 10, 64)
	high, err2 := strconv.ParseInt(v.get(highKey, "2147483647"), 10, 64)
	switch {
	case err1 != nil || low < 1:
		v.option(lowKey, "'"+v.s.Options[lowKey]+"' is no number from 1 on", "write a number from 1 on")
	case err2 != nil || high < low:
		v.option(highKey, "'"+v.s.Options[highKey]+"' is not at least "+lowKey+" ("+strconv.FormatInt(low, 10)+")", "raise it, or lower "+lowKey)
	}
}

// formats refuses formats and codecs of files that do not go together.
func (v *validation) formats() { v.errs.Add(lakehouse.CheckFormats(v.s)) }

// columnOptions checks that fields.<column>.… names columns.
func (v *validation) columnOptions() {
	for _, key := range slices.Sorted(maps.Keys(v.s.Options)) {
		rest, ok := strings.CutPrefix(key, "fields.")
		if !ok || key == "fields.default-aggregate-function" {
			continue
		}
		columns, _, _ := strings.Cut(rest, ".")
		for _, c := range splitNames(columns) {
			if v.s.Index(c) < 0 {
				v.option(key, c+" is no column of the table", "name a column of the table")
			}
		}
	}
}

func (v *validation) rowTracking() {
	tracked := v.get("row-tracking.enabled", "false") == "true"
	evolution := v.get("data-evolution.enabled", "false") == "true"
	n, err := v.s.Bucket()
	if tracked && (err != nil || n != -1 || len(v.s.PrimaryKeys) > 0) {
		v.option("row-tracking.enabled", "it needs bucket -1 and no primary key", "leave it out")
	}
	if evolution && (!tracked || v.get("deletion-vectors.enabled", "false") == "true") {
		v.option("data-evolution.enabled", "it needs row-tracking.enabled and no deletion vectors", "leave it out")
	}
}
