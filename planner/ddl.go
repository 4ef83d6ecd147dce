package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"leat/catalog"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/lakehouse/spec"
	"leat/sqlfront"
)

func (s *Session) createTable(ctx context.Context, v *sqlfront.CreateTable) {
	c, db, name, ok := s.resolve(v.Name)
	if !ok {
		return
	}
	switch {
	case v.Like != nil:
		s.createLike(ctx, v)
		return
	case v.AsQuery != nil:
		s.createAs(ctx, v)
		return
	case v.Distributed != nil && (c.lake == nil || v.Temporary):
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: v.Distributed.At, Msg: "connectors have no buckets for DISTRIBUTED BY", Hint: "leave it out"})
		return
	case v.Distributed != nil:
		if v = s.distribute(v); v == nil {
			return
		}
	}
	if c.lake == nil || v.Temporary {
		s.createConnectorTable(c, db, name, v)
		return
	}
	s.createLakeTable(ctx, c, db, name, v)
}

// createConnectorTable declares a table that lives in the session.
func (s *Session) createConnectorTable(c *namespace, db, name string, v *sqlfront.CreateTable) {
	s.result.Shaped = true
	key := db + "." + name
	full := fullName(c, db, name)
	if _, ok := c.tables[key]; ok && !v.Temporary {
		if !v.IfNotExists {
			s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeExists, Pos: v.Name.At, Msg: fmt.Sprintf("table %s exists already", full), Hint: "choose another name, or add IF NOT EXISTS"})
		}
		return
	}
	conn := s.connectorOf(name, v)
	if conn == nil {
		c.tables[key] = nil
		return
	}
	opts := optionValues(v.Options)
	connector := opts["connector"]
	delete(opts, "connector")
	notices, errs := conn.Options().Check(opts, configs.CheckOptions{Table: name})
	for _, n := range notices {
		s.notice(n)
	}
	for _, e := range errs {
		if e.Pos.IsZero() {
			e.Pos = v.WithPos
		}
	}
	s.fail2(errs)
	t, bad := connectorTable(full, v)
	s.fail2(bad)
	if len(errs)+len(bad) > 0 {
		// The table is known all the same, so that its users give no further errors.
		c.tables[key] = nil
		return
	}
	t.connector, t.def.Options = conn, opts
	if err := conn.CheckTable(t.def); err != nil {
		s.fail(placed(err, connector.Pos))
		c.tables[key] = nil
		return
	}
	c.tables[key] = t
}

func (s *Session) fail2(l diag.List) {
	if len(l) > 0 {
		s.fail(l)
	}
}

func (s *Session) connectorOf(name string, v *sqlfront.CreateTable) connect.Connector {
	o, ok := v.Options.Get("connector")
	if !ok {
		s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeMissingOption, Pos: v.Name.At, Table: name, Option: "connector",
			Msg: "a table of the session needs a connector", Hint: "add 'connector' = '…' (" + strings.Join(s.env.Registry.Names(), ", ") + "), or create it in a Paimon catalog",
		})
		return nil
	}
	conn, ok := s.env.Registry.Get(o.Value)
	if !ok {
		e := &diag.Error{
			Domain: diag.User, Code: diag.CodeBadOption, Pos: o.ValuePos, Table: name, Option: "connector",
			Msg: fmt.Sprintf("leat has no connector '%s'", o.Value), Notes: []string{"connectors: " + strings.Join(s.env.Registry.Names(), ", ")},
			Hint: "use one of them, or run this statement on Flink",
		}
		if n := s.env.Registry.Suggest(o.Value); n != "" {
			e.Hint = fmt.Sprintf("write '%s'", n)
		}
		s.fail(e)
		return nil
	}
	return conn
}

// connectorTable takes over columns, key and partitioning of a definition.
func connectorTable(full string, v *sqlfront.CreateTable) (*table, diag.List) {
	var errs diag.List
	def := &connect.Table{Name: full, Pos: v.Name.At, Schema: &columnar.Schema{}, Metadata: map[string]string{}}
	t := &table{full: full, def: def}
	seen := map[string]bool{}
	key := keyNames(v)
	for _, col := range v.Columns {
		if seen[col.Name.Text] {
			errs = append(errs, duplicateColumn(v, col))
			continue
		}
		seen[col.Name.Text] = true
		if col.Kind == sqlfront.Computed {
			t.columns = append(t.columns, column{name: col.Name.Text, index: -1, expr: col.Expr})
			continue
		}
		if col.Kind == sqlfront.Metadata {
			def.Metadata[col.Name.Text] = col.MetadataKey
			if col.MetadataKey == "" {
				def.Metadata[col.Name.Text] = col.Name.Text
			}
		}
		typ := col.Type
		if slices.Contains(key, col.Name.Text) {
			typ = typ.NotNull()
		}
		t.columns = append(t.columns, column{name: col.Name.Text, index: len(def.Schema.Fields)})
		def.Schema.Fields = append(def.Schema.Fields, columnar.Field{ID: len(def.Schema.Fields), Name: col.Name.Text, Type: typ, Comment: text(col.Comment)})
		def.ColumnPos = append(def.ColumnPos, col.Name.At)
	}
	def.PrimaryKey = key
	if v.PrimaryKey != nil {
		errs = append(errs, checkNames(v.PrimaryKey.Columns, def.Schema, full, "primary key")...)
	}
	for _, p := range v.PartitionedBy {
		def.PartitionKeys = append(def.PartitionKeys, p.Text)
	}
	errs = append(errs, checkNames(v.PartitionedBy, def.Schema, full, "PARTITIONED BY")...)
	return t, errs
}

func duplicateColumn(v *sqlfront.CreateTable, col sqlfront.Column) *diag.Error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeTableShape, Pos: col.Name.At, Table: v.Name.String(), Msg: fmt.Sprintf("column %s is declared twice", col.Name.Text), Hint: "remove one of them"}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func keyNames(v *sqlfront.CreateTable) []string {
	if v.PrimaryKey == nil {
		return nil
	}
	var key []string
	for _, n := range v.PrimaryKey.Columns {
		key = append(key, n.Text)
	}
	return key
}

func checkNames(names []sqlfront.Name, schema *columnar.Schema, tableName, where string) diag.List {
	var errs diag.List
	for _, n := range names {
		if schema.Index(n.Text) < 0 {
			e := unknownColumn(n.Text, n.At, schema.Names())
			e.Table, e.Msg = tableName, where+": "+e.Msg
			errs = append(errs, e)
		}
	}
	return errs
}

func unknownColumn(name string, at diag.Pos, have []string) *diag.Error {
	e := &diag.Error{Domain: diag.User, Code: diag.CodeUnknownColumn, Pos: at, Msg: fmt.Sprintf("there is no column %s", name), Notes: []string{"columns: " + strings.Join(have, ", ")}, Hint: "use one of the columns"}
	if n := configs.Nearest(name, have); n != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", n)
	}
	return e
}

// createLakeTable checks a definition as Paimon does and more, and plans its creation.
func (s *Session) createLakeTable(ctx context.Context, c *namespace, db, name string, v *sqlfront.CreateTable) {
	full := fullName(c, db, name)
	if o, ok := v.Options.Get("connector"); ok {
		s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeTableShape, Pos: o.KeyPos, Table: name, Msg: fmt.Sprintf("catalog %s holds Paimon tables only", c.name),
			Hint: "write CREATE TEMPORARY TABLE for a connector table",
		})
		return
	}
	if !s.databaseExists(ctx, c, db, v.Name.At) {
		c.tables[db+"."+name] = nil
		return
	}
	t, errs := connectorTable(full, v)
	schema := lakeSchema(t, v)
	errs = append(errs, s.checkLakeOptions(name, v)...)
	if len(errs) == 0 {
		if err := catalog.Validate(schema); err != nil {
			s.fail(namePositions(placed(err, v.Name.At), v))
			c.tables[db+"."+name] = nil
			return
		}
	}
	if len(errs) > 0 {
		s.fail(errs)
		c.tables[db+"."+name] = nil
		return
	}
	s.placeLakeTable(ctx, c, db, name, v, schema)
}

// placeLakeTable takes an existing table of the same shape, or plans a new one.
func (s *Session) placeLakeTable(ctx context.Context, c *namespace, db, name string, v *sqlfront.CreateTable, schema *spec.TableSchema) {
	key := db + "." + name
	cols := make([]diag.Pos, len(v.Columns))
	for i, col := range v.Columns {
		cols[i] = col.Name.At
	}
	if old := c.tables[key]; old != nil {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeExists, Pos: v.Name.At, Msg: fmt.Sprintf("table %s exists already", old.full), Hint: "choose another name, or remove one of the two statements"})
		return
	}
	var existing *spec.TableSchema
	if !c.gone[key] && !c.gone[db+"."] {
		var err error
		if existing, err = c.lake.Table(ctx, db, name); err != nil {
			s.fail(placed(err, v.Name.At))
			return
		}
	}
	if existing == nil {
		s.result.Steps = append(s.result.Steps, Step{Catalog: c.name, Warehouse: c.warehouse, Database: db, Table: name, Schema: schema})
		s.lakeTable(c, db, name, schema, v.Name.At, cols)
		return
	}
	if shape := s.otherShape(fullName(c, db, name), existing, schema, v); shape != nil {
		r, err := s.rerunOf(ctx, c, db, name)
		if err != nil {
			s.fail(placed(err, v.Name.At))
		}
		if r == nil || !r.createdAs(schema, shape) {
			s.fail(shape)
			// The table is known all the same, so that its users give no further errors.
			c.tables[key] = nil
			return
		}
	}
	s.lakeTable(c, db, name, existing, v.Name.At, cols)
}

func lakeSchema(t *table, v *sqlfront.CreateTable) *spec.TableSchema {
	ts := &spec.TableSchema{
		Version: 3, Fields: t.def.Schema.Fields, PrimaryKeys: t.def.PrimaryKey, PartitionKeys: t.def.PartitionKeys,
		Options: map[string]string{}, Comment: text(v.Comment), HighestFieldID: len(t.def.Schema.Fields) - 1,
	}
	for _, o := range v.Options {
		ts.Options[o.Key] = o.Value
	}
	return ts
}

func (s *Session) checkLakeOptions(name string, v *sqlfront.CreateTable) diag.List {
	opts := optionValues(v.Options)
	notices, errs := configs.LakeTable.Check(opts, configs.CheckOptions{Table: name})
	for _, n := range notices {
		s.notice(n)
	}
	if err := configs.CheckRetention(opts); err != nil {
		o, _ := configs.RetainMax.Value(opts)
		errs = append(errs, &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Pos: o.Pos, Table: name, Msg: err.Error(), Hint: "set both so that min is at most max"})
	}
	return errs
}

// namePositions moves errors that name an option or a column to its place in the statement.
func namePositions(err error, v *sqlfront.CreateTable) error {
	var l diag.List
	l.Add(err)
	for _, e := range l {
		if o, ok := v.Options.Get(e.Option); ok && e.Option != "" {
			e.Pos = o.ValuePos
		}
	}
	return l
}
