package job

import (
	"context"

	"leat/catalog"
	"leat/internal/fileio/open"
	"leat/lakehouse/spec"
	"leat/planner"
)

// lake is a Paimon catalog as the planner sees it.
type lake struct {
	c *catalog.FileSystem
}

// OpenLake opens the catalog of a warehouse; a missing folder is an empty catalog.
func OpenLake(_ context.Context, warehouse string) (planner.Lake, error) {
	fs, root, err := open.FromURL(warehouse)
	if err != nil {
		return nil, err
	}
	return &lake{c: catalog.New(fs, root)}, nil
}

func (l *lake) HasDatabase(ctx context.Context, database string) (bool, error) {
	return l.c.HasDatabase(ctx, database)
}

func (l *lake) Table(ctx context.Context, database, table string) (*spec.TableSchema, error) {
	id := catalog.Identifier{Database: database, Table: table}
	ok, err := l.c.HasTable(ctx, id)
	if err != nil || !ok {
		return nil, err
	}
	s, _, err := l.c.Table(ctx, id)
	return s, err
}

func (l *lake) Location(database, table string) string {
	return l.c.TablePath(catalog.Identifier{Database: database, Table: table})
}

func (l *lake) Tables(ctx context.Context, database string) ([]string, error) {
	return l.c.Tables(ctx, database)
}
