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
	rules  *Evolution
	schema *columnar.Schema
	// origin and metadata are those of the columns of schema, as Table has them.
	origin, metadata []string
	// renamed are columns of the target that get another name: those that keep the
	// values of a column which the source has dropped make room for a new one of
	// that name. removed are columns that go.
	renamed map[string]string
	removed []string
	// dropped counts for each name how often the source dropped such a column.
	dropped map[string]int
	// shared says that other tables go into the port, too.
	shared bool
	// changed says that schema is another than before.
	changed bool
	// reread says that rows from before have values that no event brings: those of
	// a new column.
	reread bool
	// rekeyed says that a column of the key has another type: the files of the
	// target are sorted by it, so that they are written anew.
	rekeyed bool
	// newKeys says that keys have got other values: they were cut or rounded, or 0 was numbered.
	newKeys bool
	notes   []string
}

// evolve gives the columns of the port once the source has the columns of next
// instead of those of was:
//
//	a new column     is added, last and nullable
//	a wider type     widens the column, a narrower one leaves it as it is; a wider
//	                 key lets the table be emptied and read again
//	a dropped one    stays, with NULL from now on, or goes where the rules say so; if
//	                 one of its name or of a type that no cast leads to comes, it is
//	                 renamed to make room
//	a renamed one    is dropped and added, or renamed where the rules say so
//	NOT NULL lifted  lifts it
//
// was may be next, for a target that lacks columns of the source. shared says that
// other tables go into the port, too.
func (t *table) evolve(was, next *sourceTable, statement string, shared bool) (*evolution, error) {
	n := len(t.def.Schema.Fields)
	e := &evolution{
		rules: &t.def.Evolution, schema: &columnar.Schema{Fields: slices.Clone(t.def.Schema.Fields)}, shared: shared,
		origin: padded(t.def.Origin, n), metadata: padded(t.def.Metadata, n), renamed: map[string]string{}, dropped: maps.Clone(t.dropped),
	}
	if e.dropped == nil {
		e.dropped = map[string]int{}
	}
	if !sameNames(was.primary, next.primary) {
		return nil, fmt.Errorf("its key was (%s) and is (%s)", strings.Join(was.primary, ", "), strings.Join(next.primary, ", "))
	}
	if e.rules.Stop && !sameColumns(was.columns, next.columns) {
		return nil, errStops
	}
	gone := map[string]bool{}
	for _, c := range was.columns {
		if next.index(c.Name) < 0 && !c.Hidden {
			gone[strings.ToLower(c.Name)] = true
		}
	}
	renames := len(gone) > 0 && mentions(statement, "RENAME", "CHANGE")
	arrived := map[string]bool{}
	e.missed(was, next, statement, gone)
	for _, p := range renamedColumns(statement) {
		if e.rename(t, was, next, p) {
			delete(gone, strings.ToLower(p.from))
			arrived[strings.ToLower(p.to)] = true
		} else if was.index(p.to) >= 0 && next.index(p.to) >= 0 && !strings.EqualFold(p.from, p.to) {
			e.reread = true // names change places
		}
	}
	for _, c := range next.columns {
		if c.Hidden || c.DataType == logOnly {
			continue
		}
		isNew := was.index(c.Name) < 0 && !arrived[strings.ToLower(c.Name)]
		if err := e.column(t, isNew, c, renames); err != nil {
			return nil, err
		}
	}
	e.replaced(was, next, statement, arrived)
	e.touched(was, next, statement, t.strict)
	e.drop(next, gone)
	e.lift(next)
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		e.dropped[name]++
		e.notes = append(e.notes, fmt.Sprintf("column '%s' is gone at the source: it stays in the lake, with NULL from now on", name))
	}
	if (e.reread || e.newKeys) && e.rules.NoReread {
		e.reread, e.newKeys = false, false
		e.notes = append(e.notes, "rows from before keep what they have in new columns, because the table is not read again")
	}
	return e, nil
}

// missed adds columns to gone that was has not, as the columns were looked up after
// the statement or a run was killed between: the statement says that they were the
// source's, and the target has them.
func (e *evolution) missed(was, next *sourceTable, statement string, gone map[string]bool) {
	if !e.rules.Drop {
		return // they stay anyway
	}
	names := droppedColumns(statement)
	for _, p := range renamedColumns(statement) {
		if next.index(p.to) >= 0 && e.place(p.to) >= 0 {
			names = append(names, p.from)
		}
	}
	for _, name := range names {
		if was.index(name) < 0 && next.index(name) < 0 && e.place(name) >= 0 {
			gone[strings.ToLower(name)] = true
		}
	}
}

// padded gives n texts, those of list first.
func padded(list []string, n int) []string {
	out := make([]string, n)
	copy(out, list)
	return out
}

// place gives the column that holds a column of the source, -1 if there is none.
func (e *evolution) place(name string) int {
	for i := range e.schema.Fields {
		if e.metadata[i] == "" && strings.EqualFold(e.originOf(i), name) {
			return i
		}
	}
	return -1
}

func (e *evolution) originOf(i int) string {
	if e.origin[i] != "" {
		return e.origin[i]
	}
	return strings.TrimPrefix(e.schema.Fields[i].Name, dataflow.HiddenPrefix)
}

// hidden reports a column that the target does not have.
func (e *evolution) hidden(i int) bool { return dataflow.Hidden(e.schema.Fields[i].Name) }

// stays reports a column that the target has to keep.
func (e *evolution) stays(i int) bool {
	return e.metadata[i] != "" || slices.Contains(e.rules.Keep, e.schema.Fields[i].Name)
}

// rename lets a column be called as the source calls it now, and reports whether
// the new name is that column from here on.
func (e *evolution) rename(t *table, was, next *sourceTable, p columnRename) bool {
	i := e.place(p.from)
	switch {
	case !e.rules.Rename || e.shared || next.index(p.from) >= 0 || next.index(p.to) < 0:
		return false
	case was.index(p.from) < 0 && (i < 0 || e.place(p.to) >= 0): // see missed
		return false
	case i < 0: // it is not in the lake
		return e.place(p.to) >= 0 && e.dropped[strings.ToLower(p.to)] == 0 // done before a crash
	case e.origin[i] == "" && !e.hidden(i) && (e.stays(i) || slices.ContainsFunc(t.src.primary, func(k string) bool { return strings.EqualFold(k, p.from) })):
		e.notes = append(e.notes, fmt.Sprintf("column '%s' keeps its name in the lake, because the table is built on it", p.from))
		return false
	case was.index(p.to) >= 0 && !e.makeRoom(p.to):
		return false
	}
	if i = e.place(p.from); e.origin[i] != "" || e.hidden(i) {
		e.origin[i] = next.columns[next.index(p.to)].Name
		return true
	}
	if fieldIndex(e.schema, p.to) >= 0 {
		j := fieldIndex(e.schema, p.to)
		if e.metadata[j] != "" || e.stays(j) || e.dropped[strings.ToLower(p.to)] == 0 || e.setAside(j, p.to) >= 0 {
			return false
		}
	}
	old, name := e.schema.Fields[i].Name, next.columns[next.index(p.to)].Name
	e.renamed[old], e.schema.Fields[i].Name, e.changed = name, name, true
	e.notes = append(e.notes, fmt.Sprintf("column '%s' is called '%s'", old, name))
	return true
}

// makeRoom takes away a column that the source drops in the same statement in
// which it gives its name to another, and reports whether it could.
func (e *evolution) makeRoom(name string) bool {
	i := e.place(name)
	switch {
	case i < 0:
		return true
	case e.stays(i) || e.hidden(i) || e.origin[i] != "":
		return false
	case e.rules.Drop:
		e.remove(i)
		return true
	default:
		e.dropped[strings.ToLower(name)]++
		return e.setAside(i, name) < 0
	}
}

// remove drops column i.
func (e *evolution) remove(i int) {
	name := e.schema.Fields[i].Name
	e.removed, e.changed = append(e.removed, name), true
	e.notes = append(e.notes, fmt.Sprintf("column '%s' is dropped", name))
	e.schema.Fields = slices.Delete(e.schema.Fields, i, i+1)
	e.origin, e.metadata = slices.Delete(e.origin, i, i+1), slices.Delete(e.metadata, i, i+1)
}

// drop removes the columns that the source has no more, where the rules say so.
func (e *evolution) drop(next *sourceTable, gone map[string]bool) {
	if !e.rules.Drop || e.shared {
		return
	}
	for name := range maps.Clone(gone) {
		i := e.place(name)
		if i < 0 || next.index(name) >= 0 || e.stays(i) || e.hidden(i) {
			continue
		}
		e.remove(i)
		delete(gone, name)
	}
	slices.Sort(e.removed)
}

// lift lets columns that the source does not have be NULL.
func (e *evolution) lift(next *sourceTable) {
	for i := range e.schema.Fields {
		f := &e.schema.Fields[i]
		if e.metadata[i] == "" && next.index(e.originOf(i)) < 0 && !f.Type.Nullable {
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
func (e *evolution) column(t *table, isNew bool, c mysqlrow.Column, renames bool) error {
	natural, err := e.rules.Types.Type(c)
	if err != nil {
		return t.at(-1, err)
	}
	i := e.place(c.Name)
	inKey := slices.ContainsFunc(t.src.primary, func(k string) bool { return strings.EqualFold(k, c.Name) })
	fits := func(i int) bool { return e.fits(c, e.schema.Fields[i].Type, natural) }
	if i >= 0 && e.hidden(i) {
		if !fits(i) {
			e.schema.Fields[i].Type, e.changed = natural.AsNullable(), true
		}
		return nil
	}
	if i >= 0 && isNew && e.dropped[strings.ToLower(c.Name)] > 0 {
		if e.shared {
			e.reread = true // the column is that of others, too
		} else {
			i = e.setAside(i, c.Name)
		}
	}
	if i >= 0 && !fits(i) && !inKey && !e.shared && !e.rules.NoWiden {
		if _, err := e.widen(e.schema.Fields[i].Type, natural); err != nil {
			// A change that no cast carries, or a column dropped and made anew before
			// it was looked at: the two are told apart by nobody but their rows.
			e.dropped[strings.ToLower(c.Name)]++
			i = e.setAside(i, c.Name)
			e.reread = true
		}
	}
	if i < 0 && (e.rules.NoAdd || t.leaving[strings.ToLower(c.Name)]) {
		return nil
	}
	if i < 0 {
		if j := fieldIndex(e.schema, c.Name); j >= 0 {
			return t.at(-1, &diag.Error{
				Domain: diag.Guard, Code: diag.CodeSourceChanged, Table: t.def.Label,
				Msg:  fmt.Sprintf("the source has a new column '%s', and the table of the lake has another one of that name", c.Name),
				Hint: "give the computed column another name, and read the table anew",
			})
		}
		e.schema.Fields = append(e.schema.Fields, columnar.Field{Name: c.Name, Type: natural.AsNullable(), Comment: c.Comment})
		e.origin, e.metadata = append(e.origin, ""), append(e.metadata, "")
		e.changed = true
	}
	if i < 0 || isNew {
		e.reread = e.reread || renames || !isNew || c.Generated || !c.Nullable || c.Default != nil
	}
	if i < 0 {
		return nil
	}
	return e.fitType(t, i, c, natural, inKey)
}

// fitType widens column i to what the source has.
func (e *evolution) fitType(t *table, i int, c mysqlrow.Column, natural columnar.DataType, inKey bool) error {
	f := &e.schema.Fields[i]
	keeps := e.rules.NoWiden || e.rules.Types.KeepDecimal && f.Type.Kind == columnar.Decimal && natural.Kind == columnar.Decimal
	switch fits := e.fits(c, f.Type, natural); {
	case !fits && keeps:
		return &diag.Error{
			Domain: diag.Guard, Code: diag.CodeSourceChanged, Table: t.def.Label,
			Msg:  fmt.Sprintf("column '%s' is %s at the source, which does not go into %s, and the job leaves types as they are", c.Name, strings.ToUpper(c.ColumnType), f.Type.AsNullable()),
			Hint: "alter the column of the lake, or let the job follow changes of types",
		}
	case !fits:
		wide, err := e.widen(f.Type, natural)
		if err != nil {
			return &diag.Error{
				Domain: diag.Guard, Code: diag.CodeSourceChanged, Table: t.def.Label,
				Msg:  fmt.Sprintf("column '%s' is %s at the source, which does not go into %s", c.Name, strings.ToUpper(c.ColumnType), f.Type.AsNullable()),
				Hint: "read the table anew with --fresh --replace after dropping it in the lake",
			}
		}
		// A TINYINT(1) may hold other numbers than the 1 that true becomes.
		e.reread = e.reread || f.Type.Kind == columnar.Boolean
		was := f.Type
		wide.Nullable = f.Type.Nullable
		f.Type, e.changed = wide, true
		e.rekeyed = e.rekeyed || inKey && !(e.rules.Rekeys && sortAlike(was, wide))
	case !f.Type.EqualIgnoreNull(natural):
		e.notes = append(e.notes, fmt.Sprintf("column '%s' is %s at the source and stays %s in the lake", c.Name, strings.ToUpper(c.ColumnType), f.Type.AsNullable()))
	}
	if c.Nullable && !f.Type.Nullable && !inKey && !slices.Contains(t.def.PrimaryKey, f.Name) {
		f.Type, e.changed = f.Type.AsNullable(), true
	}
	return nil
}

// sortAlike reports whether values of a type keep their order in a wider one.
func sortAlike(was, wide columnar.DataType) bool {
	return was.IsText() && wide.IsText() || was.IsNumeric() && wide.IsNumeric()
}

// fits reports whether a column of the lake holds every value of c. A script may
// declare fewer digits of a second than the source has; a copy keeps them all.
func (e *evolution) fits(c mysqlrow.Column, have, natural columnar.DataType) bool {
	cuts := have.Kind == natural.Kind && (have.Kind == columnar.Timestamp || have.Kind == columnar.TimestampLTZ) && have.Precision < natural.Precision
	return !cuts && e.rules.Types.Check(c, have) == nil
}

// widen is columnar.Widest under the rules.
func (e *evolution) widen(have, want columnar.DataType) (columnar.DataType, error) {
	if e.rules.Types.WidenToText && want.IsText() && !have.IsText() && !have.IsBytes() {
		return columnar.StringType(), nil
	}
	return columnar.Widest(have, want)
}

// setAside renames column i, whose values are those of a column that the source
// has no more, and gives the place of a column called name then.
func (e *evolution) setAside(i int, name string) int {
	old := name + "_dropped_" + strconv.Itoa(e.dropped[strings.ToLower(name)])
	if fieldIndex(e.schema, old) >= 0 {
		return i // done before a crash
	}
	e.renamed[e.schema.Fields[i].Name] = old
	e.schema.Fields[i].Name, e.origin[i] = old, ""
	e.changed = true
	e.notes = append(e.notes, fmt.Sprintf("column '%s' is another one at the source: its former values stay in '%s'", name, old))
	return -1
}

func fieldIndex(s *columnar.Schema, name string) int {
	return slices.IndexFunc(s.Fields, func(f columnar.Field) bool { return strings.EqualFold(f.Name, name) })
}

// change makes the message that tells the target.
func (e *evolution) change(truncate bool, reason string) *dataflow.Change {
	return &dataflow.Change{Schema: e.schema, Renamed: e.renamed, Dropped: e.removed, Truncate: truncate, Reason: clip(reason)}
}

// fit is adopt for a table whose target may not have the columns of src yet: a
// table that is followed gets them when reading begins.
func (t *table) fit(src *sourceTable, cells mysqlrow.Options) error {
	if !t.def.Follow {
		return t.adopt(src, cells)
	}
	def := t.def
	t.src = src
	ev, err := t.evolve(src, src, "", false)
	if err != nil {
		return t.at(-1, err)
	}
	ev.apply(&t.def)
	err = t.adopt(src, cells)
	t.def = def
	return err
}

// apply gives a definition the columns of e.
func (e *evolution) apply(def *Table) {
	def.Schema, def.Origin, def.Metadata = e.schema, e.origin, e.metadata
}
