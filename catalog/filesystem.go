package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"leat/configs"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// databaseSuffix ends the directory name of every database.
const databaseSuffix = ".db"

// FileSystem is the filesystem catalog of one warehouse. It holds no state and
// is safe for concurrent use.
type FileSystem struct {
	fs        fileio.FS
	warehouse string
}

// New gives the catalog of the warehouse directory; no I/O.
func New(fs fileio.FS, warehouse string) *FileSystem {
	return &FileSystem{fs: fs, warehouse: warehouse}
}

// DatabasePath gives the directory of a database.
func (c *FileSystem) DatabasePath(database string) string {
	return c.fs.Join(c.warehouse, database+databaseSuffix)
}

// TablePath gives the directory of a table, whether it exists or not.
func (c *FileSystem) TablePath(id Identifier) string {
	return c.fs.Join(c.DatabasePath(id.Database), id.Table)
}

// Databases lists the databases in name order.
func (c *FileSystem) Databases(ctx context.Context) ([]string, error) {
	infos, err := c.fs.List(ctx, c.warehouse)
	if err != nil {
		return nil, fmt.Errorf("listing databases: %w", err)
	}
	var out []string
	for _, i := range infos {
		if name, ok := strings.CutSuffix(i.Name, databaseSuffix); ok && i.IsDir && name != "" {
			out = append(out, name)
		}
	}
	return out, nil
}

// HasDatabase reports whether a database exists.
func (c *FileSystem) HasDatabase(ctx context.Context, database string) (bool, error) {
	if checkDatabaseName(database) != nil {
		return false, nil
	}
	info, err := c.fs.Stat(ctx, c.DatabasePath(database))
	if errors.Is(err, fileio.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for database %s: %w", database, err)
	}
	return info.IsDir, nil
}

// CreateDatabase makes a database; one that is there already is an error unless ifNotExists.
func (c *FileSystem) CreateDatabase(ctx context.Context, database string, ifNotExists bool) error {
	if err := checkDatabaseName(database); err != nil {
		return err
	}
	switch has, err := c.HasDatabase(ctx, database); {
	case err != nil:
		return err
	case has && ifNotExists:
		return nil
	case has:
		return &diag.Error{
			Domain: diag.User, Code: diag.CodeExists, Msg: "database " + database + " exists already",
			Hint: "write CREATE DATABASE IF NOT EXISTS, or choose another name",
		}
	}
	if err := c.fs.MkdirAll(ctx, c.DatabasePath(database)); err != nil {
		return fmt.Errorf("creating database %s: %w", database, err)
	}
	return nil
}

// DropDatabase removes a database; one that holds tables is an error unless cascade.
func (c *FileSystem) DropDatabase(ctx context.Context, database string, ifExists, cascade bool) error {
	has, err := c.HasDatabase(ctx, database)
	if err != nil {
		return err
	}
	if !has {
		if ifExists {
			return nil
		}
		return c.noDatabase(ctx, database)
	}
	if !cascade {
		tables, err := c.Tables(ctx, database)
		if err != nil {
			return err
		}
		if len(tables) > 0 {
			return &diag.Error{
				Domain: diag.User, Code: diag.CodeExists, Msg: "database " + database + " holds tables: " + strings.Join(tables, ", "),
				Hint: "drop the tables first, or write DROP DATABASE … CASCADE",
			}
		}
	}
	if err := c.fs.RemoveAll(ctx, c.DatabasePath(database)); err != nil {
		return fmt.Errorf("dropping database %s: %w", database, err)
	}
	return nil
}

// Tables lists the tables of a database in name order.
func (c *FileSystem) Tables(ctx context.Context, database string) ([]string, error) {
	switch has, err := c.HasDatabase(ctx, database); {
	case err != nil:
		return nil, err
	case !has:
		return nil, c.noDatabase(ctx, database)
	}
	infos, err := c.fs.List(ctx, c.DatabasePath(database))
	if err != nil {
		return nil, fmt.Errorf("listing tables of %s: %w", database, err)
	}
	var out []string
	for _, i := range infos {
		if !i.IsDir {
			continue
		}
		latest, err := c.latestSchema(ctx, i.Path)
		if err != nil {
			return nil, err
		}
		if latest >= 0 {
			out = append(out, i.Name)
		}
	}
	return out, nil
}

// Table gives the latest schema of a table and its directory. A table that does
// not exist is a *diag.Error with CodeUnknownObject.
func (c *FileSystem) Table(ctx context.Context, id Identifier) (*spec.TableSchema, string, error) {
	if err := errors.Join(checkDatabaseName(id.Database), checkTableName(id.Table)); err != nil {
		return nil, "", err
	}
	path := c.TablePath(id)
	latest, err := c.latestSchema(ctx, path)
	if err != nil {
		return nil, "", err
	}
	if latest < 0 {
		return nil, "", c.noTable(ctx, id)
	}
	name := c.fs.Join(path, spec.SchemaDir, spec.SchemaName(latest))
	b, err := c.fs.ReadFile(ctx, name)
	if err != nil {
		return nil, "", fmt.Errorf("reading schema of table %s: %w", id, err)
	}
	s, err := spec.ParseSchema(b)
	if err != nil {
		return nil, "", &diag.Error{
			Domain: diag.Corrupt, Code: diag.CodeLakeCorrupt, Table: id.String(), Msg: "file " + name + " cannot be read", Cause: err,
			Hint: "restore the file from a copy",
		}
	}
	return s, path, nil
}

// History gives all stored schemas of a table, oldest first; none if there is no
// such table.
func (c *FileSystem) History(ctx context.Context, id Identifier) ([]*spec.TableSchema, error) {
	path := c.TablePath(id)
	latest, err := c.latestSchema(ctx, path)
	if err != nil {
		return nil, err
	}
	var out []*spec.TableSchema
	for n := range latest + 1 {
		name := c.fs.Join(path, spec.SchemaDir, spec.SchemaName(n))
		b, err := c.fs.ReadFile(ctx, name)
		if errors.Is(err, fileio.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading schema %d of table %s: %w", n, id, err)
		}
		s, err := spec.ParseSchema(b)
		if err != nil {
			return nil, &diag.Error{
				Domain: diag.Corrupt, Code: diag.CodeLakeCorrupt, Table: id.String(), Msg: "file " + name + " cannot be read", Cause: err,
				Hint: "restore the file from a copy",
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// HasTable reports whether a table exists.
func (c *FileSystem) HasTable(ctx context.Context, id Identifier) (bool, error) {
	if checkTableName(id.Table) != nil || checkDatabaseName(id.Database) != nil {
		return false, nil
	}
	latest, err := c.latestSchema(ctx, c.TablePath(id))
	return latest >= 0, err
}

// CreateTable checks s (Validate), completes a copy of it (Define) and makes the
// table; one that is there already is an error unless ifNotExists.
func (c *FileSystem) CreateTable(ctx context.Context, id Identifier, s *spec.TableSchema, ifNotExists bool) error {
	if err := errors.Join(checkDatabaseName(id.Database), checkTableName(id.Table)); err != nil {
		return err
	}
	if err := Validate(s); err != nil {
		return inTable(err, id)
	}
	switch has, err := c.HasDatabase(ctx, id.Database); {
	case err != nil:
		return err
	case !has:
		return c.noDatabase(ctx, id.Database)
	}
	exists := &diag.Error{
		Domain: diag.User, Code: diag.CodeExists, Table: id.String(), Msg: "it exists already",
		Hint: "write CREATE TABLE IF NOT EXISTS, or choose another name",
	}
	switch has, err := c.HasTable(ctx, id); {
	case err != nil:
		return err
	case has && ifNotExists:
		return nil
	case has:
		return exists
	}
	content, err := spec.MarshalSchema(Define(s, time.Now().UnixMilli()))
	if err != nil {
		return fmt.Errorf("creating table %s: %w", id, err)
	}
	name := c.fs.Join(c.TablePath(id), spec.SchemaDir, spec.SchemaName(0))
	err = c.fs.CreateExclusive(ctx, name, content)
	if errors.Is(err, fileio.ErrExist) {
		if ifNotExists {
			return nil
		}
		return exists
	}
	if err == nil {
		return nil
	}
	// The answer may be lost, not the file: look before giving up.
	if b, readErr := c.fs.ReadFile(ctx, name); readErr == nil && string(b) == string(content) {
		return nil
	}
	return fmt.Errorf("creating table %s: %w", id, err)
}

// DropTable removes a table with all its files.
func (c *FileSystem) DropTable(ctx context.Context, id Identifier, ifExists bool) error {
	switch has, err := c.HasTable(ctx, id); {
	case err != nil:
		return err
	case !has && ifExists:
		return nil
	case !has:
		return c.noTable(ctx, id)
	}
	if err := c.fs.RemoveAll(ctx, c.TablePath(id)); err != nil {
		return fmt.Errorf("dropping table %s: %w", id, err)
	}
	return nil
}

// latestSchema gives the greatest schema id below a table's directory, -1 if there is none.
func (c *FileSystem) latestSchema(ctx context.Context, path string) (int64, error) {
	infos, err := c.fs.List(ctx, c.fs.Join(path, spec.SchemaDir))
	if err != nil {
		return -1, fmt.Errorf("listing schemas in %s: %w", path, err)
	}
	latest := int64(-1)
	for _, i := range infos {
		if id, ok := spec.ParseNumbered(i.Name, spec.SchemaPrefix); ok {
			latest = max(latest, id)
		}
	}
	return latest, nil
}

func (c *FileSystem) noDatabase(ctx context.Context, database string) error {
	e := &diag.Error{
		Domain: diag.User, Code: diag.CodeUnknownObject, Msg: "database " + database + " does not exist in " + c.warehouse,
		Hint: "write CREATE DATABASE IF NOT EXISTS " + database,
	}
	if all, err := c.Databases(ctx); err == nil {
		e.Notes = known("databases", all)
		if near := configs.Nearest(database, all); near != "" {
			e.Hint = "did you mean " + near + "?"
		}
	}
	return e
}

func (c *FileSystem) noTable(ctx context.Context, id Identifier) error {
	has, err := c.HasDatabase(ctx, id.Database)
	if err != nil {
		return err
	}
	if !has {
		return c.noDatabase(ctx, id.Database)
	}
	e := &diag.Error{
		Domain: diag.User, Code: diag.CodeUnknownObject, Table: id.String(), Msg: "it does not exist in " + c.warehouse,
		Hint: "create it, or check its name",
	}
	if all, err := c.Tables(ctx, id.Database); err == nil {
		e.Notes = known("tables", all)
		if near := configs.Nearest(id.Table, all); near != "" {
			e.Hint = "did you mean " + near + "?"
		}
	}
	return e
}

// mostNames bounds the names listed in a message.
const mostNames = 10

func known(what string, names []string) []string {
	if len(names) == 0 {
		return []string{what + ": none"}
	}
	if len(names) > mostNames {
		names = append(names[:mostNames:mostNames], "…")
	}
	return []string{what + ": " + strings.Join(names, ", ")}
}

// inTable names the table in errors that name none.
func inTable(err error, id Identifier) error {
	var l diag.List
	l.Add(err)
	for _, e := range l {
		if e.Table == "" {
			e.Table = id.String()
		}
	}
	return l.Err()
}

// renamer is a file system that moves a directory in one step.
type renamer interface {
	RenameDir(ctx context.Context, from, to string) error
}

// RenameTable gives a table another name in its database. On file systems that
// cannot move a directory it is refused: a copy would not be one step.
func (c *FileSystem) RenameTable(ctx context.Context, id Identifier, to string) error {
	if err := checkTableName(to); err != nil {
		return err
	}
	target := Identifier{Catalog: id.Catalog, Database: id.Database, Table: to}
	switch has, err := c.HasTable(ctx, id); {
	case err != nil:
		return err
	case !has:
		return c.noTable(ctx, id)
	}
	switch has, err := c.HasTable(ctx, target); {
	case err != nil:
		return err
	case has:
		return &diag.Error{Domain: diag.User, Code: diag.CodeExists, Table: target.String(), Msg: "it exists already", Hint: "choose another name"}
	}
	r, ok := c.fs.(renamer)
	if !ok {
		return &diag.Error{
			Domain: diag.User, Code: diag.CodeUnsupported, Table: id.String(), Msg: "the storage of the warehouse cannot rename a folder in one step",
			Hint: "make a new table and copy the rows",
		}
	}
	if err := r.RenameDir(ctx, c.TablePath(id), c.TablePath(target)); err != nil {
		return fmt.Errorf("renaming table %s: %w", id, err)
	}
	return nil
}
