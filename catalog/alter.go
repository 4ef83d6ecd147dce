package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/lakehouse"
	"leat/lakehouse/spec"
)

// AlterOptions say what a change may do.
type AlterOptions struct {
	// AllowLossy lets a new type lose part of the stored values (leat.alter.allow-lossy).
	AllowLossy bool
	// HasSnapshots says that the table has data, which freezes some options.
	HasSnapshots bool
	// Rekeyed says that the rows are written anew, see lakehouse.Table.Rekey: columns of
	// the key may get other types.
	Rekeyed bool
	// Emptied says that the rows go with the next commit, so that no file sorted by
	// a key stays: its columns may get other types.
	Emptied bool
}

// Alter gives the schema that follows s after changes, checked as a whole; nil
// if they change nothing. s is not changed. The error is a diag.List.
func Alter(s *spec.TableSchema, changes []SchemaChange, o AlterOptions) (*spec.TableSchema, error) {
	a := &alteration{s: withKeys(s), o: o, old: s}
	a.s.Fields = cloneFields(s.Fields)
	for _, ch := range changes {
		if err := a.apply(ch); err != nil {
			return nil, positioned(err, ch.Pos())
		}
	}
	if sameSchema(s, a.s) {
		return nil, nil //nolint:nilnil // nothing to do is no error
	}
	if err := Validate(a.s); err != nil {
		return nil, a.placed(err, changes)
	}
	a.s.ID, a.s.Version = s.ID+1, spec.SchemaVersion
	return a.s, nil
}

func sameSchema(a, b *spec.TableSchema) bool {
	x, errX := spec.MarshalSchema(a)
	y, errY := spec.MarshalSchema(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// alteration is a schema under change.
type alteration struct {
	old *spec.TableSchema
	s   *spec.TableSchema
	o   AlterOptions
}

func positioned(err error, at diag.Pos) error {
	var l diag.List
	l.Add(err)
	for _, e := range l {
		if e.Pos.IsZero() {
			e.Pos = at
		}
	}
	return l.Err()
}

// placed gives errors about options the place of the change that set the option.
func (a *alteration) placed(err error, changes []SchemaChange) error {
	var l diag.List
	l.Add(err)
	for _, e := range l {
		for _, ch := range changes {
			if o, ok := ch.(SetOption); (ok && o.Key == e.Option || e.Option == "") && e.Pos.IsZero() {
				e.Pos = ch.Pos()
			}
		}
		if e.Pos.IsZero() && len(changes) > 0 {
			e.Pos = changes[0].Pos()
		}
	}
	return l.Err()
}

func wrong(code diag.Code, hint, format string, args ...any) *diag.Error {
	return &diag.Error{Domain: diag.User, Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

func (a *alteration) apply(ch SchemaChange) error {
	switch v := ch.(type) {
	case AddColumn:
		return a.add(v)
	case DropColumn:
		return a.drop(v)
	case RenameColumn:
		return a.rename(v)
	case MoveColumn:
		return a.inParent(v.Path, func(fields []columnar.Field, i int) ([]columnar.Field, error) {
			f := fields[i]
			return insertField(slices.Delete(fields, i, i+1), f, v.Position, len(fields)-1)
		})
	case ModifyType:
		return a.modify(v)
	case CommentColumn:
		return a.inParent(v.Path, func(fields []columnar.Field, i int) ([]columnar.Field, error) {
			fields[i].Comment = v.Comment
			return fields, nil
		})
	case DefaultColumn:
		return a.inParent(v.Path, func(fields []columnar.Field, i int) ([]columnar.Field, error) {
			fields[i].Default = v.Value
			return fields, nil
		})
	case SetOption:
		return a.setOption(v)
	case ResetOption:
		return a.resetOption(v)
	case CommentTable:
		a.s.Comment = v.Comment
		return nil
	default:
		return fmt.Errorf("changing a table: unknown change %T", ch)
	}
}

func cloneFields(in []columnar.Field) []columnar.Field {
	out := slices.Clone(in)
	for i := range out {
		out[i].Type = cloneType(out[i].Type)
	}
	return out
}

func cloneType(t columnar.DataType) columnar.DataType {
	if t.Elem != nil {
		e := cloneType(*t.Elem)
		t.Elem = &e
	}
	if t.Key != nil {
		k := cloneType(*t.Key)
		t.Key = &k
	}
	t.Fields = cloneFields(t.Fields)
	return t
}

// siblings gives the fields that the last name of path belongs to. Names
// element and value lead into an ARRAY and a MAP.
func (a *alteration) siblings(path []string) (*[]columnar.Field, error) {
	at := &a.s.Fields
	for depth := 0; depth < len(path)-1; depth++ {
		i := fieldIndex(*at, path[depth])
		if i < 0 {
			return nil, noColumn(path[depth], *at)
		}
		t := &(*at)[i].Type
		for t.Kind == columnar.Array || t.Kind == columnar.Map {
			if word := map[columnar.Kind]string{columnar.Array: "element", columnar.Map: "value"}[t.Kind]; depth+2 < len(path) && path[depth+1] == word {
				depth++
			}
			t = t.Elem
		}
		if t.Kind != columnar.Row {
			return nil, wrong(diag.CodeType, "name a column of type ROW", "%s is %s and has no fields", strings.Join(path[:depth+1], "."), t)
		}
		at = &t.Fields
	}
	return at, nil
}

func fieldIndex(fields []columnar.Field, name string) int {
	return slices.IndexFunc(fields, func(f columnar.Field) bool { return f.Name == name })
}

func noColumn(name string, fields []columnar.Field) *diag.Error {
	names := (&columnar.Schema{Fields: fields}).Names()
	e := wrong(diag.CodeUnknownColumn, "use one of the columns", "there is no column %s", name)
	e.Notes = []string{"columns: " + strings.Join(names, ", ")}
	if near := configs.Nearest(name, names); near != "" {
		e.Hint = "did you mean " + near + "?"
	}
	return e
}

// inParent changes the fields that path's last name belongs to; i is its place.
func (a *alteration) inParent(path []string, change func(fields []columnar.Field, i int) ([]columnar.Field, error)) error {
	at, err := a.siblings(path)
	if err != nil {
		return err
	}
	i := fieldIndex(*at, path[len(path)-1])
	if i < 0 {
		return noColumn(path[len(path)-1], *at)
	}
	changed, err := change(*at, i)
	if err == nil {
		*at = changed
	}
	return err
}

func insertField(fields []columnar.Field, f columnar.Field, p Position, otherwise int) ([]columnar.Field, error) {
	at := otherwise
	switch {
	case p.First:
		at = 0
	case p.After != "":
		i := fieldIndex(fields, p.After)
		if i < 0 {
			return nil, noColumn(p.After, fields)
		}
		at = i + 1
	}
	return slices.Insert(fields, at, f), nil
}

func (a *alteration) nextID() int {
	a.s.HighestFieldID++
	return a.s.HighestFieldID
}

func (a *alteration) add(v AddColumn) error {
	at, err := a.siblings(v.Path)
	if err != nil {
		return err
	}
	name := v.Path[len(v.Path)-1]
	switch {
	case fieldIndex(*at, name) >= 0:
		return wrong(diag.CodeExists, "choose another name, or MODIFY the column", "there is a column %s already", name)
	case !v.Type.Nullable:
		return wrong(diag.CodeNullability, "leave NOT NULL out", "column %s: rows that are stored have no value for it, so it cannot be NOT NULL", name)
	}
	f := columnar.Field{ID: a.nextID(), Name: name, Comment: v.Comment}
	f.Type = withIDs(cloneType(v.Type), a.nextID)
	fields, err := insertField(*at, f, v.Position, len(*at))
	if err == nil {
		*at = fields
	}
	return err
}

// isKey refuses changes of key columns.
func (a *alteration) isKey(path []string, what string, primary bool) error {
	if len(path) > 1 {
		return nil
	}
	switch {
	case slices.Contains(a.s.PartitionKeys, path[0]):
		return wrong(diag.CodeTableShape, "make a new table with other partitions", "column %s is a partition column: folders are named after it, it cannot be %s", path[0], what)
	case primary && slices.Contains(a.s.PrimaryKeys, path[0]):
		return wrong(diag.CodeTableShape, "make a new table with another key", "column %s is in the primary key: files are sorted by it, it cannot be %s", path[0], what)
	}
	return nil
}

func (a *alteration) drop(v DropColumn) error {
	if err := a.isKey(v.Path, "dropped", true); err != nil {
		return err
	}
	return a.inParent(v.Path, func(fields []columnar.Field, i int) ([]columnar.Field, error) {
		if len(fields) == 1 {
			return nil, wrong(diag.CodeTableShape, "keep one column", "%s is the only column", fields[i].Name)
		}
		return slices.Delete(fields, i, i+1), nil
	})
}

func (a *alteration) rename(v RenameColumn) error {
	if err := a.isKey(v.Path, "renamed", false); err != nil {
		return err
	}
	from := v.Path[len(v.Path)-1]
	err := a.inParent(v.Path, func(fields []columnar.Field, i int) ([]columnar.Field, error) {
		if v.To != from && fieldIndex(fields, v.To) >= 0 {
			return nil, wrong(diag.CodeExists, "choose another name", "there is a column %s already", v.To)
		}
		fields[i].Name = v.To
		return fields, nil
	})
	if err != nil || len(v.Path) > 1 {
		return err
	}
	for i, k := range a.s.PrimaryKeys {
		if k == from {
			a.s.PrimaryKeys[i] = v.To
		}
	}
	a.s.Options = renameInOptions(a.s.Options, from, v.To)
	return nil
}

// renameInOptions gives options in which a column has its new name.
func renameInOptions(in map[string]string, from, to string) map[string]string {
	list := func(text string) string {
		names := splitNames(text)
		i := slices.Index(names, from)
		if i < 0 {
			return text
		}
		names[i] = to
		return strings.Join(names, ",")
	}
	out := maps.Clone(in)
	for k, v := range in {
		switch rest, columnOption := strings.CutPrefix(k, "fields."); {
		case k == spec.OptionBucketKey, k == "sequence.field", k == "rowkind.field":
			out[k] = list(v)
		case columnOption && k != "fields.default-aggregate-function":
			columns, property, _ := strings.Cut(rest, ".")
			if property == "sequence-group" {
				v = list(v)
			}
			delete(out, k)
			out["fields."+list(columns)+"."+property] = v
		}
	}
	return out
}

func (a *alteration) modify(v ModifyType) error {
	return a.inParent(v.Path, func(fields []columnar.Field, i int) ([]columnar.Field, error) {
		f := &fields[i]
		to, err := a.newType(strings.Join(v.Path, "."), f.Type, v.Type)
		if err != nil {
			return nil, err
		}
		if !to.EqualIgnoreNull(f.Type) {
			if err := a.isKey(v.Path, "given another type", !a.o.Emptied && !a.o.Rekeyed); err != nil {
				return nil, err
			}
		}
		if to.Nullable && len(v.Path) == 1 && slices.Contains(a.s.PrimaryKeys, f.Name) {
			to = to.NotNull()
		}
		f.Type = to
		return fields, nil
	})
}

// newType gives the type that from becomes when to is asked for: nested fields
// keep their ids by name.
func (a *alteration) newType(name string, from, to columnar.DataType) (columnar.DataType, error) {
	if from.Nullable && !to.Nullable && !strings.EqualFold(a.s.Options["alter-column-null-to-not-null.disabled"], "false") {
		return to, wrong(diag.CodeNullability, "leave NOT NULL out, or SET 'alter-column-null-to-not-null.disabled' = 'false' on the table first",
			"column %s: stored rows may hold NULL, so it cannot become NOT NULL", name)
	}
	out := to
	switch {
	case from.Kind == columnar.Row && to.Kind == columnar.Row:
		out.Fields = make([]columnar.Field, len(to.Fields))
		for i, f := range to.Fields {
			old := fieldIndex(from.Fields, f.Name)
			if old < 0 {
				f.ID = a.nextID()
				f.Type = withIDs(cloneType(f.Type), a.nextID)
				out.Fields[i] = f
				continue
			}
			t, err := a.newType(name+"."+f.Name, from.Fields[old].Type, f.Type)
			if err != nil {
				return to, err
			}
			f.ID, f.Type = from.Fields[old].ID, t
			out.Fields[i] = f
		}
		return out, nil
	case from.Kind == to.Kind && (from.Kind == columnar.Array || from.Kind == columnar.Map):
		if from.Key != nil && !from.Key.EqualIgnoreNull(*to.Key) {
			return to, wrong(diag.CodeType, "keep the type of the key", "column %s: the key of a map keeps its type", name)
		}
		e, err := a.newType(name+".element", *from.Elem, *to.Elem)
		out.Elem, out.Key = &e, from.Key
		return out, err
	}
	if strings.EqualFold(a.s.Options["disable-explicit-type-casting"], "true") && !lakehouse.ImplicitCast(from, to) {
		return to, wrong(diag.CodeType, "SET 'disable-explicit-type-casting' = 'false' on the table first, or add a column of the new type",
			"column %s: the table's option 'disable-explicit-type-casting' forbids to make %s of %s", name, to.AsNullable(), from.AsNullable())
	}
	switch lakehouse.CastOf(from, to) {
	case lakehouse.CastLossless:
	case lakehouse.CastLossy:
		if !a.o.AllowLossy {
			return to, wrong(diag.CodeType, "keep "+from.AsNullable().String()+" or widen it; SET 'leat.alter.allow-lossy' = 'true' if losing values is meant",
				"column %s: %s cannot hold every value of %s; values in files that are stored would be cut, changed, NULL, or an error for readers", name, to.AsNullable(), from.AsNullable())
		}
	case lakehouse.CastNone:
		return to, wrong(diag.CodeType, "add a column of the new type instead", "column %s: values of %s cannot be read as %s", name, from.AsNullable(), to.AsNullable())
	}
	return out, nil
}
