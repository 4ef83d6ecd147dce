package lakehouse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

const fieldsPrefix = "fields."

// parseEngine reads the options that say how rows of a key become one; nil is
// deduplicate by sequence number, of everything.
func parseEngine(r *optionReader, s *spec.TableSchema, o *Options) *mergetree.EngineSpec {
	if len(s.PrimaryKeys) == 0 {
		return nil
	}
	e := &mergetree.EngineSpec{
		Kind:         read(r, "merge-engine", mergetree.Deduplicate, parseEngineKind),
		IgnoreDelete: o.IgnoreDelete,
		Sequence:     names(readText(r, "sequence.field", "")),
		Descending:   strings.EqualFold(readText(r, "sequence.field.sort-order", "ascending"), "descending"),
		Default:      readText(r, "fields.default-aggregate-function", ""),
		Columns:      map[string]mergetree.ColumnSpec{},
	}
	e.Shallow = o.Lookup
	switch e.Kind {
	case mergetree.PartialUpdate:
		e.RemoveOnDelete = readBool(r, "partial-update.remove-record-on-delete", false)
		parseGroups(e, s, names(readText(r, "partial-update.remove-record-on-sequence-group", "")))
	case mergetree.Aggregation:
		e.RemoveOnDelete = readBool(r, "aggregation.remove-record-on-delete", false)
	case mergetree.Deduplicate:
		if len(e.Sequence) == 0 && !e.IgnoreDelete {
			return nil
		}
	case mergetree.FirstRow:
	}
	for i := range s.Fields {
		parseColumn(r, e, s.Fields[i].Name)
	}
	return e
}

func parseEngineKind(text string) (mergetree.EngineKind, error) {
	switch strings.ToLower(text) {
	case "deduplicate":
		return mergetree.Deduplicate, nil
	case "partial-update":
		return mergetree.PartialUpdate, nil
	case "aggregation":
		return mergetree.Aggregation, nil
	case "first-row":
		return mergetree.FirstRow, nil
	default:
		return 0, fmt.Errorf("there is no merge engine %s", text)
	}
}

// parseGroups reads fields.<a,b>.sequence-group, in an order that does not depend on the map's.
func parseGroups(e *mergetree.EngineSpec, s *spec.TableSchema, remove []string) {
	for key, columns := range s.Options {
		sequence, ok := strings.CutPrefix(key, fieldsPrefix)
		if !ok {
			continue
		}
		if sequence, ok = strings.CutSuffix(sequence, ".sequence-group"); !ok {
			continue
		}
		g := mergetree.GroupSpec{Sequence: names(sequence), Columns: names(columns)}
		g.RemoveOnDelete = slices.ContainsFunc(g.Sequence, func(c string) bool { return slices.Contains(remove, c) })
		e.Groups = append(e.Groups, g)
	}
	slices.SortFunc(e.Groups, func(a, b mergetree.GroupSpec) int { return slices.Compare(a.Sequence, b.Sequence) })
}

func parseColumn(r *optionReader, e *mergetree.EngineSpec, name string) {
	key := func(option string) string { return fieldsPrefix + name + "." + option }
	c := mergetree.ColumnSpec{
		Func:          readText(r, key("aggregate-function"), ""),
		IgnoreRetract: readBool(r, key("ignore-retract"), false),
		Delimiter:     read(&optionReader{raw: r.raw}, key("list-agg-delimiter"), ",", func(string) (string, error) { return r.raw[key("list-agg-delimiter")], nil }),
		Distinct:      readBool(r, key("distinct"), false),
		NestedKey:     names(readText(r, key("nested-key"), "")),
		Limit:         int(read(r, key("count-limit"), 1<<31-1, configs.ParseInt)),
	}
	if c.Func != "" || c.IgnoreRetract || c.Delimiter != "," || c.Distinct {
		e.Columns[name] = c
	}
}

// names splits a list of column names.
func names(list string) []string {
	var out []string
	for n := range strings.SplitSeq(list, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// engineError says that rows cannot be merged as the table's options want.
func (t *Table) engineError(err error) error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeTableShape, Table: t.Path, Msg: "leat cannot merge the rows of this table", Cause: err,
		Hint: "check the table's merge-engine, sequence and fields options",
	}
}

// refusesMinus gives the error for deletes and retractions where the engine
// takes none; nil where it does.
func (t *Table) refusesMinus() *diag.Error {
	e := t.Options.Engine
	hint := "set 'ignore-delete' = 'true' to drop them"
	switch {
	case e == nil || e.IgnoreDelete || e.RemoveOnDelete || len(e.Groups) > 0:
		return nil
	case e.Kind == mergetree.PartialUpdate:
		hint += ", or 'partial-update.remove-record-on-delete' = 'true', or use sequence groups"
	case e.Kind != mergetree.FirstRow:
		return nil
	}
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeTableShape, Table: t.Path, Option: "merge-engine",
		Msg: fmt.Sprintf("a %s table takes no deletes", t.Options.MergeEngine), Hint: hint,
	}
}

// kindsOf reads the row kinds that stand in a column (option rowkind.field).
func (t *Table) kindsOf(b *columnar.Batch, col int) ([]columnar.RowKind, error) {
	text, ok := b.Cols[col].(*array.String)
	kinds := make([]columnar.RowKind, b.Rows())
	for i := range kinds {
		word := ""
		if ok && text.IsValid(i) {
			word = text.Value(i)
		}
		switch word {
		case "+I":
			kinds[i] = columnar.Insert
		case "-U":
			kinds[i] = columnar.UpdateBefore
		case "+U":
			kinds[i] = columnar.UpdateAfter
		case "-D":
			kinds[i] = columnar.Delete
		default:
			return nil, &diag.Error{
				Domain: diag.User, Code: diag.CodeTableShape, Table: t.Path, Option: "rowkind.field",
				Msg: fmt.Sprintf("'%s' is not a row kind", word), Hint: "the column has to hold +I, -U, +U or -D",
			}
		}
	}
	return kinds, nil
}
