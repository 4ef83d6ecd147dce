package cdc

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"leat/cdc/mysqlrow"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
)

// evolution is how the columns of a port follow the columns of its source table.
type evolution struct {
	schema *columnar.Schema
	// renamed are columns of the target that keep the values of a column which the
	// source has dropped, and make room for a new one of that name.
	renamed map[string]string
	// dropped counts for each name how often the source dropped such a column.
	dropped map[string]int
	// changed says that schema is another than before.
	changed bool
	// reread says that rows from before have values that no event brings: those of
	// a new column.
	reread bool
	// rekeyed says that a column of the key has another type: the files of the
	// target are sorted by it, so that they are written anew.
	rekeyed bool
	notes   []string
}

// evolve gives the columns of the port once the source has the columns of next
// instead of those of was:
//
//	a new column     is added, last and nullable
//	a wider type     widens the column, a narrower one leaves it as it is; a wider
//	                 key lets the table be emptied and read again
//	a dropped one    stays, with NULL from now on; if one of its name or of a type
//	                 that no cast leads to comes, it is renamed to make room
//	NOT NULL lifted  lifts it
//
// was may be next, for a target that lacks columns of the source.
func (t *table) evolve(was, next *sourceTable, statement string) (*evolution, error) {
	e := &evolution{schema: &columnar.Schema{Fields: slices.Clone(t.def.Schema.Fields)}, renamed: map[string]string{}, dropped: maps.Clone(t.dropped)}
	if e.dropped == nil {
		e.dropped = map[string]int{}
	}
	if !slices.EqualFunc(was.primary, next.primary, strings.EqualFold) {
		return nil, fmt.Errorf("its key was (%s) and is (%s)", strings.Join(was.primary, ", "), strings.Join(next.primary, ", "))
	}
	gone := map[string]bool{}
	for _, c := range was.columns {
		if next.index(c.Name) < 0 && !c.Hidden {
			gone[strings.ToLower(c.Name)] = true
		}
	}
	renames := len(gone) > 0 && mentions(statement, "RENAME", "CHANGE")
	for _, c := range next.columns {
		if c.Hidden {
			continue
		}
		if err := e.column(t, was, c, renames); err != nil {
			return nil, err
		}
	}
	e.lift(t, next)
	for name := range gone {
		e.dropped[name]++
		e.notes = append(e.notes, fmt.Sprintf("column '%s' is gone at the source: it stays in the lake, with NULL from now on", name))
	}
	return e, nil
}

// lift lets columns that the source does not have be NULL.
func (e *evolution) lift(t *table, next *sourceTable) {
	for i := range e.schema.Fields {
		f := &e.schema.Fields[i]
		if t.def.metadata(i) == "" && next.index(f.Name) < 0 && !f.Type.Nullable {
			f.Type, e.changed = f.Type.AsNullable(), true
		}
	}
}

// mentions reports whether a statement has one of the keywords.
func mentions(statement string, keywords ...string) bool {
	for _, w := range words(statement) {
		if slices.ContainsFunc(keywords, w.is) {
			return true
		}
	}
	return false
}

// column lets the schema follow one column of the source.
func (e *evolution) column(t *table, was *sourceTable, c mysqlrow.Column, renames bool) error {
	natural, err := mysqlrow.NaturalType(c)
	if err != nil {
		return t.at(-1, err)
	}
	isNew := was.index(c.Name) < 0
	i := fieldIndex(e.schema, c.Name)
	inKey := slices.ContainsFunc(t.src.primary, func(k string) bool { return strings.EqualFold(k, c.Name) })
	if i >= 0 && isNew && e.dropped[strings.ToLower(c.Name)] > 0 {
		i = e.setAside(i, c.Name)
	}
	if i >= 0 && mysqlrow.CheckDeclared(c, e.schema.Fields[i].Type) != nil && !inKey {
		if _, err := widen(e.schema.Fields[i].Type, natural); err != nil {
			// A change that no cast carries, or a column dropped and made anew before
			// it was looked at: the two are told apart by nobody but their rows.
			e.dropped[strings.ToLower(c.Name)]++
			i = e.setAside(i, c.Name)
			e.reread = true
		}
	}
	if i < 0 {
		e.schema.Fields = append(e.schema.Fields, columnar.Field{Name: c.Name, Type: natural.AsNullable(), Comment: c.Comment})
		e.changed = true
	}
	if i < 0 || isNew {
		e.reread = e.reread || renames || !isNew || c.Generated || !c.Nullable || c.Default != nil
	}
	if i < 0 {
		return nil
	}
	f := &e.schema.Fields[i]
	if mysqlrow.CheckDeclared(c, f.Type) != nil {
		wide, err := widen(f.Type, natural)
		if err != nil {
			return &diag.Error{
				Domain: diag.Guard, Code: diag.CodeSourceChanged, Table: t.def.Label,
				Msg:  fmt.Sprintf("column '%s' is %s at the source, which does not go into %s", c.Name, strings.ToUpper(c.ColumnType), f.Type.AsNullable()),
				Hint: "read the table anew with --fresh --replace after dropping it in the lake",
			}
		}
		// A TINYINT(1) may hold other numbers than the 1 that true becomes.
		e.reread = e.reread || f.Type.Kind == columnar.Boolean
		wide.Nullable = f.Type.Nullable
		f.Type, e.changed = wide, true
		e.rekeyed = e.rekeyed || inKey
	} else if !f.Type.EqualIgnoreNull(natural) {
		e.notes = append(e.notes, fmt.Sprintf("column '%s' is %s at the source and stays %s in the lake", c.Name, strings.ToUpper(c.ColumnType), f.Type.AsNullable()))
	}
	if c.Nullable && !f.Type.Nullable && !inKey {
		f.Type, e.changed = f.Type.AsNullable(), true
	}
	return nil
}

// setAside renames column i, whose values are those of a column that the source
// has no more, and gives the place of a column called name then.
func (e *evolution) setAside(i int, name string) int {
	old := name + "_dropped_" + strconv.Itoa(e.dropped[strings.ToLower(name)])
	if fieldIndex(e.schema, old) >= 0 {
		return i // done before a crash
	}
	e.renamed[e.schema.Fields[i].Name] = old
	e.schema.Fields[i].Name = old
	e.changed = true
	e.notes = append(e.notes, fmt.Sprintf("column '%s' is another one at the source: its former values stay in '%s'", name, old))
	return -1
}

func fieldIndex(s *columnar.Schema, name string) int {
	return slices.IndexFunc(s.Fields, func(f columnar.Field) bool { return strings.EqualFold(f.Name, name) })
}

// widen gives the type that holds the values of both.
func widen(have, want columnar.DataType) (columnar.DataType, error) {
	out := want
	switch {
	case have.Kind == columnar.Decimal && want.Kind == columnar.Decimal:
		scale, whole := max(have.Scale, want.Scale), max(have.Precision-have.Scale, want.Precision-want.Scale)
		if scale+whole > 38 {
			return out, fmt.Errorf("%d digits are too many", scale+whole)
		}
		return columnar.DecimalOf(scale+whole, scale), nil
	case have.IsInteger() && want.IsInteger():
		out.Kind = max(have.Kind, want.Kind)
		return out, nil
	case have.IsInteger() && want.Kind == columnar.Decimal:
		digits := map[columnar.Kind]int{columnar.TinyInt: 3, columnar.SmallInt: 5, columnar.Int: 10, columnar.BigInt: 19}[have.Kind]
		whole := max(want.Precision-want.Scale, digits)
		if whole+want.Scale > 38 {
			return out, fmt.Errorf("%d digits are too many", whole+want.Scale)
		}
		return columnar.DecimalOf(whole+want.Scale, want.Scale), nil
	case have.Kind == columnar.Boolean && want.IsInteger():
		return want, nil
	case have.Kind == columnar.Float && want.Kind == columnar.Double:
		return want, nil
	case have.IsText() && want.IsText():
		out.Kind = columnar.VarChar
		out.Length = max(have.Length, want.Length)
		return out, nil
	case isBytes(have) && isBytes(want):
		out.Kind = columnar.VarBinary
		out.Length = max(have.Length, want.Length)
		return out, nil
	case have.Kind == want.Kind && (have.Kind == columnar.Timestamp || have.Kind == columnar.TimestampLTZ):
		out.Precision = max(have.Precision, want.Precision)
		return out, nil
	}
	return out, fmt.Errorf("%s does not widen to %s", have, want)
}

func isBytes(t columnar.DataType) bool {
	return t.Kind == columnar.Binary || t.Kind == columnar.VarBinary
}

// change makes the message that tells the target.
func (e *evolution) change(truncate bool, reason string) *dataflow.Change {
	return &dataflow.Change{Schema: e.schema, Renamed: e.renamed, Truncate: truncate, Reason: clip(reason)}
}

// fit is adopt for a table whose target may not have the columns of src yet: a
// table that is followed gets them when reading begins.
func (t *table) fit(src *sourceTable, cells mysqlrow.Options) error {
	if !t.def.Follow {
		return t.adopt(src, cells)
	}
	schema := t.def.Schema
	t.src = src
	ev, err := t.evolve(src, src, "")
	if err != nil {
		return t.at(-1, err)
	}
	t.def.Schema = ev.schema
	err = t.adopt(src, cells)
	t.def.Schema = schema
	return err
}
