package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"leat/catalog"
	"leat/configs"
	"leat/internal/diag"
	"leat/sqlfront"
)

// step makes a step of the session as it is now.
func (s *Session) step(kind StepKind, at diag.Pos, c *namespace, db, name string) Step {
	st := Step{Kind: kind, Pos: at, Database: db, Table: name, Settings: configs.Values{}}
	if c != nil {
		st.Catalog, st.Warehouse = c.name, c.warehouse
	}
	maps.Copy(st.Settings, s.settings)
	return st
}

func (s *Session) add(st Step) { s.result.Steps = append(s.result.Steps, st) }

// lakeTarget finds the lake table that a statement is about; false after an
// error, or where ifExists lets it be missing.
func (s *Session) lakeTarget(ctx context.Context, n sqlfront.ObjectName, ifExists bool) (c *namespace, db, name string, t *table, ok bool) {
	c, db, name, ok = s.resolve(n)
	if !ok {
		return nil, "", "", nil, false
	}
	if ifExists {
		there, err := s.exists(ctx, c, db, name)
		if err != nil {
			s.fail(placed(err, n.At))
		}
		if err != nil || !there {
			return nil, "", "", nil, false
		}
	}
	// The warehouse of a job is that of its sinks.
	warehouse := s.result.Warehouse
	t = s.findTable(ctx, n)
	s.result.Warehouse = warehouse
	if t == nil {
		return nil, "", "", nil, false
	}
	if !t.lake {
		s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeUnsupported, Pos: n.At, Msg: fmt.Sprintf("table %s is declared in the script: it cannot be changed", t.full),
			Hint: "change its CREATE TABLE",
		})
		return nil, "", "", nil, false
	}
	return c, db, name, t, true
}

// exists reports whether a table is there, or will be when the statement runs.
func (s *Session) exists(ctx context.Context, c *namespace, db, name string) (bool, error) {
	key := db + "." + name
	switch t, known := c.tables[key]; {
	case known:
		return t != nil, nil
	case c.lake == nil || c.gone[key] || c.gone[db+"."]:
		return false, nil
	}
	schema, err := c.lake.Table(ctx, db, name)
	return schema != nil, err
}

func (s *Session) alterTable(ctx context.Context, v *sqlfront.AlterTable) {
	c, db, name, t, ok := s.lakeTarget(ctx, v.Name, v.IfExists)
	if !ok {
		return
	}
	switch {
	case v.Action == "RENAME TO":
		s.renameTable(ctx, v, c, db, name)
	case len(v.Partitions) > 0:
		s.alterPartitions(v, c, db, name, t)
	default:
		s.alterSchema(ctx, v, c, db, name, t)
	}
}

func (s *Session) renameTable(ctx context.Context, v *sqlfront.AlterTable, c *namespace, db, name string) {
	toC, toDB, to, ok := s.resolve(v.NewName)
	if !ok {
		return
	}
	if len(v.NewName.Parts) == 1 {
		toC, toDB = c, db
	}
	there, err := s.exists(ctx, toC, toDB, to)
	switch {
	case err != nil:
		s.fail(placed(err, v.NewName.At))
		return
	case toC != c || toDB != db:
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.NewName.At, Msg: "a table is renamed within its database", Hint: "write the new name alone"})
		return
	case there:
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeExists, Pos: v.NewName.At, Msg: fmt.Sprintf("table %s exists already", fullName(c, db, to)), Hint: "choose another name"})
		return
	}
	st := s.step(StepRenameTable, v.Pos(), c, db, name)
	st.NewName = to
	s.add(st)
	old := c.tables[db+"."+name]
	delete(c.tables, db+"."+name)
	c.gone[db+"."+name] = true
	if old != nil && old.schema != nil {
		s.lakeTable(c, db, to, old.schema, v.NewName.At, nil)
	}
}

func (s *Session) alterPartitions(v *sqlfront.AlterTable, c *namespace, db, name string, t *table) {
	if v.Action == "ADD" {
		s.notice(configs.Notice{Pos: v.Pos(), Key: "ADD PARTITION", Msg: "ADD PARTITION does nothing: a partition is there once rows are written to it"})
		return
	}
	st := s.step(StepDropPartitions, v.Pos(), c, db, name)
	st.IfExists = v.IfPartition
	for _, p := range v.Partitions {
		one := map[string]string{}
		for _, pv := range p {
			if !slices.Contains(t.def.PartitionKeys, pv.Column.Text) {
				s.fail(unknownColumn(pv.Column.Text, pv.Column.At, t.def.PartitionKeys))
				return
			}
			if pv.Value == nil {
				s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeParse, Pos: pv.Column.At, Msg: "partition column " + pv.Column.Text + " has no value", Hint: "write " + pv.Column.Text + " = '…'"})
				return
			}
			val, err := s.constant(pv.Value)
			if err != nil {
				s.fail(err)
				return
			}
			one[pv.Column.Text] = val.Value
		}
		st.Partitions = append(st.Partitions, one)
	}
	s.add(st)
}

// alterSchema turns ADD, MODIFY, DROP, RENAME, SET and RESET into changes, and
// checks them on the table as the script leaves it so far.
func (s *Session) alterSchema(ctx context.Context, v *sqlfront.AlterTable, c *namespace, db, name string, t *table) {
	if err := unsupportedAlter(v); err != nil {
		s.fail(err)
		return
	}
	changes, errs := alterChanges(v, t)
	if len(errs) > 0 {
		s.fail(errs)
		return
	}
	st := s.step(StepAlter, v.Pos(), c, db, name)
	st.Changes = changes
	st.Alter.AllowLossy = configs.AllowLossy.Get(s.settings)
	var err error
	if st.Alter.HasSnapshots, err = c.lake.HasSnapshots(ctx, db, name); err != nil {
		s.fail(placed(err, v.Name.At))
		return
	}
	held, err := s.skipHeld(ctx, v.Pos(), c, db, name, t.schema, changes, st.Alter)
	if err != nil {
		s.fail(placed(err, v.Name.At))
		return
	}
	if held {
		return
	}
	next, err := catalog.Alter(t.schema, changes, st.Alter)
	if err != nil {
		s.fail(inTable(placed(err, v.Pos()), t.full))
		return
	}
	s.noticeOptions(v)
	if next == nil {
		return
	}
	warehouse := s.result.Warehouse
	s.lakeTable(c, db, name, next, v.Name.At, nil)
	s.result.Warehouse = warehouse
	s.add(st)
}

// inTable names the table in errors that name none.
func inTable(err error, name string) error {
	var l diag.List
	l.Add(err)
	for _, e := range l {
		if e.Table == "" {
			e.Table = name
		}
	}
	return l.Err()
}

// noticeOptions says which options of SET have no effect here.
func (s *Session) noticeOptions(v *sqlfront.AlterTable) {
	opts := optionValues(v.Options)
	delete(opts, "comment")
	notices, _ := configs.LakeTable.Check(opts, configs.CheckOptions{Table: v.Name.String()})
	for _, n := range notices {
		s.notice(n)
	}
}

func unsupportedAlter(v *sqlfront.AlterTable) *diag.Error {
	refuse := func(at diag.Pos, msg, hint string) *diag.Error {
		return &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: at, Msg: msg, Hint: hint}
	}
	switch {
	case !v.Key.IsZero():
		return refuse(v.Key, "the key of a table cannot be changed: its files are sorted by it", "make a new table with the key and copy the rows")
	case v.Watermark != nil:
		return refuse(v.Watermark.At, "leat computes no watermarks", "leave it out")
	case v.DropWatermark:
		return refuse(v.Pos(), "lake tables keep no watermark here", "leave it out")
	case !v.OfPartition.IsZero():
		return refuse(v.OfPartition, "ALTER TABLE … PARTITION is not known", "CALL sys.compact('db.table', 'column=value')")
	}
	for i := range v.Columns {
		if col := &v.Columns[i]; col.Kind != sqlfront.Physical {
			return refuse(col.Name.At, "a lake table has physical columns only", "give the column a type")
		}
	}
	return nil
}

func path(names []sqlfront.Name) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n.Text
	}
	return out
}

func alterChanges(v *sqlfront.AlterTable, t *table) ([]catalog.SchemaChange, diag.List) {
	var out []catalog.SchemaChange
	var errs diag.List
	switch v.Action {
	case "SET":
		for _, o := range v.Options {
			at := o.ValuePos
			if d, ok := configs.LakeTable.Find(o.Key); !ok || d.Class == configs.Refused {
				at = o.KeyPos
			}
			out = append(out, catalog.SetOption{At: catalog.At{Place: at}, Key: o.Key, Value: o.Value})
		}
	case "RESET":
		for _, k := range v.Keys {
			out = append(out, catalog.ResetOption{At: catalog.At{Place: k.KeyPos}, Key: k.Key})
		}
	case "DROP":
		for _, p := range v.Dropped {
			out = append(out, catalog.DropColumn{At: catalog.At{Place: p[len(p)-1].At}, Path: path(p)})
		}
	case "RENAME":
		at := v.Renamed[len(v.Renamed)-1]
		if len(v.Renamed) == 1 && slices.Contains(t.def.PrimaryKey, at.Text) {
			errs = append(errs, &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: at.At, Msg: "column " + at.Text + " is in the primary key: Flink does not rename it either", Hint: "make a new table with the key and copy the rows"})
		}
		out = append(out, catalog.RenameColumn{At: catalog.At{Place: at.At}, Path: path(v.Renamed), To: v.NewColumn.Text})
	default:
		for i := range v.Columns {
			out = append(out, columnChanges(v.Action, &v.Columns[i])...)
		}
	}
	return out, errs
}

func columnChanges(action string, col *sqlfront.AlterColumn) []catalog.SchemaChange {
	at := catalog.At{Place: col.Name.At}
	place := catalog.Position{First: col.First, After: col.After.Text}
	if action == "ADD" {
		return []catalog.SchemaChange{catalog.AddColumn{At: at, Path: path(col.Path), Type: col.Type, Comment: text(col.Comment), Position: place}}
	}
	out := []catalog.SchemaChange{catalog.ModifyType{At: catalog.At{Place: col.TypePos}, Path: path(col.Path), Type: col.Type}}
	if col.Comment != nil {
		out = append(out, catalog.CommentColumn{At: at, Path: path(col.Path), Comment: *col.Comment})
	}
	if place != (catalog.Position{}) {
		out = append(out, catalog.MoveColumn{At: at, Path: path(col.Path), Position: place})
	}
	return out
}

func (s *Session) drop(ctx context.Context, v *sqlfront.Drop) {
	switch v.Kind {
	case sqlfront.DropTable:
		s.dropTable(ctx, v)
	case sqlfront.DropDatabase:
		s.dropDatabase(ctx, v)
	case sqlfront.DropCatalog:
		s.dropCatalog(v)
	case sqlfront.DropView:
		s.dropView(v)
	}
}

func (s *Session) dropTable(ctx context.Context, v *sqlfront.Drop) {
	c, db, name, ok := s.resolve(v.Name)
	if !ok {
		return
	}
	key := db + "." + name
	if t := c.tables[key]; t != nil && !t.lake {
		delete(c.tables, key)
		s.result.Shaped = true
		return
	}
	if strings.Contains(name, "$") {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Name.At, Msg: "'" + name + "' is a branch or a system table", Hint: "drop the table itself, or CALL sys.delete_branch"})
		return
	}
	there, err := s.exists(ctx, c, db, name)
	switch {
	case err != nil:
		s.fail(placed(err, v.Name.At))
		return
	case there && !v.Temporary:
	case v.IfExists:
		return
	default:
		s.findTable(ctx, v.Name) // says what is missing
		if len(s.errs) == 0 {
			s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Pos: v.Name.At, Msg: fmt.Sprintf("there is no temporary table %s", fullName(c, db, name)), Hint: "write DROP TABLE"})
		}
		return
	}
	st := s.step(StepDropTable, v.Pos(), c, db, name)
	st.IfExists = v.IfExists
	s.add(st)
	delete(c.tables, key)
	c.gone[key] = true
}

func (s *Session) truncate(ctx context.Context, v *sqlfront.Truncate) {
	if c, db, name, _, ok := s.lakeTarget(ctx, v.Name, false); ok {
		s.add(s.step(StepTruncate, v.Pos(), c, db, name))
	}
}

func (s *Session) dropDatabase(ctx context.Context, v *sqlfront.Drop) {
	c, db, ok := s.splitDatabase(v.Name)
	if !ok {
		return
	}
	has, err := s.hasDatabase(ctx, c, db)
	switch {
	case err != nil:
		s.fail(placed(err, v.Name.At))
		return
	case !has && v.IfExists:
		return
	case !has:
		s.databaseExists(ctx, c, db, v.Name.At)
		return
	case c.lake == nil:
		delete(c.databases, db)
		return
	}
	st := s.step(StepDropDatabase, v.Pos(), c, db, "")
	st.IfExists, st.Cascade = true, v.Cascade
	s.add(st)
	delete(c.databases, db)
	for k := range c.tables {
		if strings.HasPrefix(k, db+".") {
			delete(c.tables, k)
		}
	}
	c.gone[db+"."] = true
}

func (s *Session) dropCatalog(v *sqlfront.Drop) {
	name := v.Name.String()
	switch c, ok := s.catalogs[name]; {
	case !ok && v.IfExists:
	case !ok:
		s.findCatalog(v.Name.Parts[0])
	case c == s.current:
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Name.At, Msg: "catalog " + name + " is in use", Hint: "USE CATALOG another one first"})
	default:
		delete(s.catalogs, name)
		s.result.Shaped = true
	}
}
