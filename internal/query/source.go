package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"leat/catalog"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse"
	"leat/lakehouse/spec"
	"leat/lakehouse/systable"
)

// SystemDatabase holds the system tables of a whole catalog.
const SystemDatabase = "sys"

// Warehouse is the catalog that is read.
type Warehouse struct {
	FS      fileio.FS
	Catalog *catalog.FileSystem
	// Options are those of the catalog, for sys.catalog_options.
	Options map[string]string
	// Zone is table.local-time-zone; nil is UTC.
	Zone *time.Location
}

func (w *Warehouse) zone() *time.Location {
	if w.Zone == nil {
		return time.UTC
	}
	return w.Zone
}

// Source is a table, system table or catalog-wide table at one moment.
type Source struct {
	// Name is the full name, for messages.
	Name   string
	Schema *columnar.Schema
	// Snapshot is what is read; nil where a table has none, and for other tables.
	Snapshot *spec.Snapshot

	table *lakehouse.Table
	opt   lakehouse.ScanOptions
	// changes are read in place of rows where they are set.
	changes *lakehouse.Changes
	// rowKind says that the first column is the kind of the row.
	rowKind bool
	// binlog says that the others are lists of values.
	binlog bool
	// combined is a query in place of a table.
	combined *Combined
	// read gives the one batch of a system table.
	read func(ctx context.Context) (*columnar.Batch, error)
	// rows are those of a table outside of the lake.
	rows connect.Rows
}

// RowsOf makes a source of the rows of a table outside of the lake. Close closes them.
func RowsOf(name string, schema *columnar.Schema, rows connect.Rows) *Source {
	return &Source{Name: name, Schema: schema, rows: rows}
}

// Close gives back what the source holds.
func (s *Source) Close() {
	if s.rows != nil {
		s.rows.Close()
	}
	if s.combined != nil {
		for _, of := range s.combined.Sources {
			of.Close()
		}
	}
}

// Name is the parts of a table's name: table$branch_b$system.
type Name struct{ Table, Branch, System string }

// SplitName takes the name of a table apart.
func SplitName(name string) (Name, error) {
	parts := strings.Split(name, "$")
	n := Name{Table: parts[0]}
	rest := parts[1:]
	if len(rest) > 0 && strings.HasPrefix(rest[0], "branch_") {
		n.Branch, rest = strings.TrimPrefix(rest[0], "branch_"), rest[1:]
	}
	if len(rest) > 0 {
		n.System, rest = strings.ToLower(rest[0]), rest[1:]
	}
	if n.Table == "" || len(rest) > 0 {
		return n, &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Msg: "'" + name + "' is no name of a table", Hint: "write table, table$branch_b, table$files or table$branch_b$files"}
	}
	return n, nil
}

// systemTables are the system tables of a table.
func systemTables() []string {
	all := append(systable.Names(), "audit_log", "binlog", "ro")
	slices.Sort(all)
	return all
}

// Open finds a table. options are the table options of an OPTIONS hint: those of
// time travel, see Travel.
func Open(ctx context.Context, w *Warehouse, database, name string, options map[string]string) (*Source, error) {
	if database == SystemDatabase {
		return openCatalogTable(w, name)
	}
	n, err := SplitName(name)
	if err != nil {
		return nil, err
	}
	id := catalog.Identifier{Database: database, Table: n.Table}
	if n.Branch == "" {
		n.Branch = options["branch"]
	}
	_, path, err := w.Catalog.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := lakehouse.OpenBranch(ctx, w.FS, path, n.Branch)
	if err != nil {
		return nil, err
	}
	s := &Source{Name: database + "." + name, table: t}
	travelled, err := s.travel(ctx, options, w.zone())
	if err != nil {
		return nil, err
	}
	switch n.System {
	case "", "ro", "audit_log", "binlog":
		return s, s.openScan(ctx, n.System, travelled)
	}
	schema, ok := systable.Schema(n.System)
	if !ok {
		e := &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Msg: "there is no system table $" + n.System, Notes: []string{"system tables: " + strings.Join(systemTables(), ", ")}, Hint: "use one of them"}
		if near := configs.Nearest(n.System, systemTables()); near != "" {
			e.Hint = "did you mean $" + near + "?"
		}
		return nil, e
	}
	if s.changes != nil {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Table: s.Name, Msg: "$" + n.System + " has no changes to read", Hint: "read those of the table, or of $audit_log"}
	}
	s.Schema = schema
	s.read = func(ctx context.Context) (*columnar.Batch, error) {
		return systable.Read(ctx, n.System, systable.Request{Table: t, Snapshot: s.Snapshot, Zone: w.zone()})
	}
	return s, nil
}

// Whole makes s read rows too that readers see after the next compaction only.
func (s *Source) Whole() { s.opt.Level0 = true }

// openScan prepares the read of the table's own rows. A snapshot that was asked
// for is read with its own schema, the latest one with the table's.
func (s *Source) openScan(ctx context.Context, system string, travelled bool) error {
	schema := s.table.Schema
	if travelled && s.Snapshot != nil {
		var err error
		if schema, err = s.table.SchemaOf(ctx, s.Snapshot.SchemaID); err != nil {
			return err
		}
		s.opt.At = s.Snapshot
	}
	s.Schema = schema.Columns()
	switch {
	case system == "ro" && s.changes != nil:
		return &diag.Error{Domain: diag.User, Code: diag.CodeUnsupported, Table: s.Name, Msg: "$ro has no changes to read", Hint: "read those of the table, or of $audit_log"}
	case system == "ro" && len(schema.PrimaryKeys) > 0:
		top := int32(s.table.Options.Compaction.Levels - 1)
		s.opt.File = func(e *spec.ManifestEntry) bool { return e.File.Level == top }
	case system == "audit_log" || system == "binlog":
		s.rowKind, s.binlog, s.opt.KeepDeletes = true, system == "binlog", len(schema.PrimaryKeys) > 0
		s.Schema = &columnar.Schema{Fields: append([]columnar.Field{{ID: 2147483641, Name: "rowkind", Type: columnar.StringType()}}, schema.Fields...)}
		for i := range s.Schema.Fields {
			if f := &s.Schema.Fields[i]; i > 0 && s.binlog {
				f.Type = listOf(f.Type)
			}
		}
	}
	return nil
}

func openCatalogTable(w *Warehouse, name string) (*Source, error) {
	text := columnar.StringType().NotNull()
	fields := func(names ...string) *columnar.Schema {
		s := &columnar.Schema{}
		for i, n := range names {
			s.Fields = append(s.Fields, columnar.Field{ID: i, Name: n, Type: text})
		}
		return s
	}
	switch strings.ToLower(name) {
	case "catalog_options":
		s := &Source{Name: "sys." + name, Schema: fields("key", "value")}
		s.read = func(context.Context) (*columnar.Batch, error) {
			sheet := systable.NewSheet(s.Schema)
			for _, k := range sortedKeys(w.Options) {
				sheet.Text(k).Text(w.Options[k])
			}
			return sheet.Batch(), nil
		}
		return s, nil
	case "all_table_options":
		s := &Source{Name: "sys." + name, Schema: fields("database_name", "table_name", "key", "value")}
		s.read = func(ctx context.Context) (*columnar.Batch, error) { return allTableOptions(ctx, w, s.Schema) }
		return s, nil
	}
	return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUnknownObject, Msg: "there is no table sys." + name, Notes: []string{"tables of sys: all_table_options, catalog_options"}, Hint: "use one of them"}
}

func allTableOptions(ctx context.Context, w *Warehouse, schema *columnar.Schema) (*columnar.Batch, error) {
	sheet := systable.NewSheet(schema)
	databases, err := w.Catalog.Databases(ctx)
	if err != nil {
		return nil, err
	}
	for _, db := range databases {
		tables, err := w.Catalog.Tables(ctx, db)
		if err != nil {
			return nil, err
		}
		for _, name := range tables {
			t, path, err := w.Catalog.Table(ctx, catalog.Identifier{Database: db, Table: name})
			if err != nil {
				return nil, fmt.Errorf("reading options of %s.%s: %w", db, name, err)
			}
			// Paimon shows the table's place as an option, which no schema file holds.
			sheet.Text(db).Text(name).Text("path").Text(path)
			for _, k := range sortedKeys(t.Options) {
				sheet.Text(db).Text(name).Text(k).Text(t.Options[k])
			}
		}
	}
	return sheet.Batch(), nil
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
