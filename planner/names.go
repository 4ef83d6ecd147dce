package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/lakehouse/spec"
	"leat/sqlfront"
)

func (s *Session) openFlagWarehouse(ctx context.Context) {
	c, err := s.openCatalog(ctx, "lake", s.env.Warehouse, "default", diag.Pos{})
	if err != nil {
		s.fail(err)
		return
	}
	s.catalogs["lake"] = c
	s.current, s.database = c, c.defaultDB
}

func (s *Session) openCatalog(ctx context.Context, name, warehouse, defaultDB string, at diag.Pos) (*namespace, error) {
	lake, err := s.env.OpenLake(ctx, warehouse)
	if err != nil {
		return nil, placed(err, at)
	}
	return &namespace{
		name: name, warehouse: warehouse, defaultDB: defaultDB, lake: lake,
		databases: map[string]bool{defaultDB: true}, tables: map[string]*table{}, gone: map[string]bool{},
		options: map[string]string{"warehouse": warehouse},
	}, nil
}

// placed gives err the position at if it is an error for people without one.
func placed(err error, at diag.Pos) error {
	var l diag.List
	l.Add(err)
	for _, e := range l {
		if e.Pos.IsZero() {
			e.Pos = at
		}
	}
	return l
}

func (s *Session) createCatalog(ctx context.Context, v *sqlfront.CreateCatalog) {
	name := v.Name.Text
	if _, ok := s.catalogs[name]; ok {
		if !v.IfNotExists {
			s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeExists, Pos: v.Name.At, Msg: fmt.Sprintf("catalog %s exists already", name), Hint: "choose another name, or add IF NOT EXISTS"})
		}
		return
	}
	opts := optionValues(v.Options)
	for _, k := range slices.Sorted(maps.Keys(opts)) {
		// Paimon keeps such keys; a misspelt one is an error all the same.
		_, errs := configs.Catalog.Check(configs.Values{k: opts[k]}, configs.CheckOptions{})
		if slices.ContainsFunc(errs, func(e *diag.Error) bool { return e.Code == diag.CodeUnknownOption }) && configs.Catalog.Suggest(k) == "" {
			s.notice(configs.Notice{Pos: opts[k].KeyPos, Key: "catalog key " + k, Msg: fmt.Sprintf("there is no option '%s' of a catalog: it has no effect", k)})
			delete(opts, k)
		}
	}
	notices, errs := configs.Catalog.Check(opts, configs.CheckOptions{Table: "catalog " + name})
	for _, n := range notices {
		s.notice(n)
	}
	for _, e := range errs {
		e.Msg, e.Table = "catalog "+name+": "+e.Msg, ""
		if e.Pos.IsZero() {
			e.Pos = v.Name.At
		}
	}
	if len(errs) > 0 {
		s.fail(errs)
		return
	}
	if configs.CatalogType.Get(opts) != "paimon" {
		db := DefaultDatabase
		s.catalogs[name] = &namespace{name: name, defaultDB: db, databases: map[string]bool{db: true}, tables: map[string]*table{}}
		return
	}
	if !configs.CatalogWarehouse.IsSet(opts) {
		s.fail(&diag.Error{
			Domain: diag.User, Code: diag.CodeMissingOption, Pos: v.Name.At, Option: "warehouse",
			Msg: "a Paimon catalog needs a warehouse", Hint: "add 'warehouse' = 'file:///path'",
		})
		return
	}
	w, _ := configs.CatalogWarehouse.Value(opts)
	c, err := s.openCatalog(ctx, name, w.Text, configs.CatalogDefaultDB.Get(opts), w.Pos)
	if err != nil {
		s.fail(err)
		return
	}
	c.options = configs.Catalog.Redact(opts)
	s.catalogs[name] = c
}

func optionValues(opts sqlfront.Options) configs.Values {
	v := make(configs.Values, len(opts))
	for _, o := range opts {
		v[o.Key] = configs.Value{Text: o.Value, KeyPos: o.KeyPos, Pos: o.ValuePos}
	}
	return v
}

func (s *Session) useCatalog(v *sqlfront.UseCatalog) {
	c, ok := s.findCatalog(v.Name)
	if ok {
		s.current, s.database = c, c.defaultDB
	}
}

func (s *Session) findCatalog(n sqlfront.Name) (*namespace, bool) {
	if c, ok := s.catalogs[n.Text]; ok {
		return c, true
	}
	names := slices.Sorted(maps.Keys(s.catalogs))
	s.fail(unknown("catalog", n.Text, n.At, names, "create it first: CREATE CATALOG "+n.Text+" WITH ('type' = 'paimon', 'warehouse' = '…')"))
	return nil, false
}

func unknown(what, name string, at diag.Pos, have []string, hint string) *diag.Error {
	e := &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Pos: at, Msg: fmt.Sprintf("there is no %s %s", what, name), Hint: hint}
	if near := configs.Nearest(name, have); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	}
	return e
}

func (s *Session) use(ctx context.Context, v *sqlfront.Use) {
	c, db, ok := s.splitDatabase(v.Name)
	if !ok {
		return
	}
	if !s.databaseExists(ctx, c, db, v.Name.At) {
		return
	}
	s.current, s.database = c, db
}

func (s *Session) splitDatabase(n sqlfront.ObjectName) (*namespace, string, bool) {
	switch len(n.Parts) {
	case 1:
		return s.current, n.Parts[0].Text, true
	case 2:
		c, ok := s.findCatalog(n.Parts[0])
		return c, n.Parts[1].Text, ok
	default:
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Pos: n.At, Msg: fmt.Sprintf("%s is no name of a database", n), Hint: "write [catalog.]database"})
		return nil, "", false
	}
}

// databaseExists reports an error if db is missing; databases the script creates exist.
func (s *Session) databaseExists(ctx context.Context, c *namespace, db string, at diag.Pos) bool {
	ok, err := s.hasDatabase(ctx, c, db)
	if err != nil {
		s.fail(placed(err, at))
		return false
	}
	if !ok {
		s.fail(unknown("database", c.name+"."+db, at, prefixed(c.name+".", slices.Sorted(maps.Keys(c.databases))), "create it first: CREATE DATABASE IF NOT EXISTS "+db))
	}
	return ok
}

func prefixed(p string, names []string) []string {
	for i := range names {
		names[i] = p + names[i]
	}
	return names
}

func (s *Session) hasDatabase(ctx context.Context, c *namespace, db string) (bool, error) {
	if c.databases[db] {
		return true, nil
	}
	if c.lake == nil || c.gone[db+"."] {
		return false, nil
	}
	ok, err := c.lake.HasDatabase(ctx, db)
	if ok {
		c.databases[db] = true
	}
	return ok, err
}

func (s *Session) createDatabase(ctx context.Context, v *sqlfront.CreateDatabase) {
	c, db, ok := s.splitDatabase(v.Name)
	if !ok {
		return
	}
	exists, err := s.hasDatabase(ctx, c, db)
	if err != nil {
		s.fail(placed(err, v.Name.At))
		return
	}
	if exists {
		// Catalogs on a file system make their default database by themselves, and
		// a script that resumes meets the database it made.
		if !v.IfNotExists && db != c.defaultDB {
			s.notice(configs.Notice{Pos: v.Name.At, Key: "database " + db, Msg: fmt.Sprintf("database %s exists already", db)})
		}
		return
	}
	c.databases[db] = true
	s.result.Shaped = c.lake == nil
	if c.lake != nil {
		s.result.Steps = append(s.result.Steps, Step{Catalog: c.name, Warehouse: c.warehouse, Database: db})
	}
}

// resolve gives catalog, database and table of a name of one to three parts.
func (s *Session) resolve(n sqlfront.ObjectName) (*namespace, string, string, bool) {
	p := n.Parts
	switch len(p) {
	case 1:
		return s.current, s.database, p[0].Text, true
	case 2:
		return s.current, p[0].Text, p[1].Text, true
	case 3:
		c, ok := s.findCatalog(p[0])
		return c, p[1].Text, p[2].Text, ok
	default:
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Pos: n.At, Msg: fmt.Sprintf("%s is no name of a table", n), Hint: "write [[catalog.]database.]table"})
		return nil, "", "", false
	}
}

// findTable gives the table called n: a temporary one, one the script creates,
// or one of the lake; nil after reporting an error.
func (s *Session) findTable(ctx context.Context, n sqlfront.ObjectName) *table {
	c, db, name, ok := s.resolve(n)
	if !ok {
		return nil
	}
	if t, ok := c.tables[db+"."+name]; ok {
		return t
	}
	if v := c.views[db+"."+name]; v != nil {
		s.fail(&diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Pos: n.At, Msg: v.full + " is a view: it is read, and not written", Hint: "name a table"})
		return nil
	}
	var have []string
	for k := range c.tables {
		have = append(have, strings.TrimPrefix(k, db+"."))
	}
	if c.lake != nil && !c.gone[db+"."+name] && !c.gone[db+"."] {
		schema, err := c.lake.Table(ctx, db, name)
		if err != nil {
			s.fail(placed(err, n.At))
			return nil
		}
		if schema != nil {
			return s.lakeTable(c, db, name, schema, diag.Pos{}, nil)
		}
		if more, err := c.lake.Tables(ctx, db); err == nil {
			have = append(have, more...)
		}
	}
	slices.Sort(have)
	e := unknown("table", fullName(c, db, name), n.At, nil, "create it first, or give catalog and database in front of its name")
	if near := configs.Nearest(name, have); near != "" {
		e.Hint = fmt.Sprintf("did you mean %s?", near)
	}
	s.fail(e)
	return nil
}

func fullName(c *namespace, db, name string) string { return c.name + "." + db + "." + name }

// lakeTable makes the planner's form of a lake table from its stored schema.
func (s *Session) lakeTable(c *namespace, db, name string, schema *spec.TableSchema, at diag.Pos, cols []diag.Pos) *table {
	def := &connect.Table{
		Name: fullName(c, db, name), Pos: at, ColumnPos: cols, Schema: schemaOf(schema), PrimaryKey: schema.PrimaryKeys,
		PartitionKeys: schema.PartitionKeys, Options: configs.Values{}, Location: c.lake.Location(db, name),
	}
	for k, v := range schema.Options {
		def.Options[k] = configs.Value{Text: v, KeyPos: at, Pos: at}
	}
	t := &table{full: def.Name, def: def, connector: s.env.Lake, lake: true, schema: schema, columns: physicalColumns(def)}
	c.tables[db+"."+name] = t
	if s.result.Warehouse == "" {
		s.result.Warehouse = c.warehouse
	}
	return t
}

func physicalColumns(def *connect.Table) []column {
	cols := make([]column, len(def.Schema.Fields))
	for i, f := range def.Schema.Fields {
		cols[i] = column{name: f.Name, index: i}
	}
	return cols
}
