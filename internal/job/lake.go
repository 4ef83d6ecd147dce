package job

import (
	"context"

	"leat/catalog"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/internal/fileio/open"
	"leat/internal/query"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
	"leat/planner"
)

// lake is a Paimon catalog as the planner sees it.
type lake struct {
	fs fileio.FS
	c  *catalog.FileSystem
}

// OpenLake opens the catalog of a warehouse; a missing folder is an empty catalog.
func OpenLake(_ context.Context, warehouse string) (planner.Lake, error) {
	fs, root, err := open.FromURL(warehouse)
	if err != nil {
		return nil, err
	}
	return &lake{fs: fs, c: catalog.New(fs, root)}, nil
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

func (l *lake) Databases(ctx context.Context) ([]string, error) { return l.c.Databases(ctx) }

func (l *lake) Columns(ctx context.Context, database, table string, options map[string]string, zone string) (*columnar.Schema, error) {
	w := query.Warehouse{FS: l.fs, Catalog: l.c, Zone: zoneOf(configs.Values{configs.LocalTimeZone.Key: {Text: zone}})}
	s, err := query.Open(ctx, &w, database, table, options)
	if err != nil {
		return nil, err
	}
	return s.Schema, nil
}

func (l *lake) Partitions(ctx context.Context, database, table string) ([]string, error) {
	all, err := maintain.Partitions(ctx, l.fs, l.Location(database, table))
	if err != nil {
		return nil, err
	}
	out := make([]string, len(all))
	for i := range all {
		out[i] = all[i].Path
	}
	return out, nil
}

func (l *lake) History(ctx context.Context, database, table string) ([]*spec.TableSchema, error) {
	return l.c.History(ctx, catalog.Identifier{Database: database, Table: table})
}

func (l *lake) HasSnapshots(ctx context.Context, database, table string) (bool, error) {
	return l.c.HasSnapshots(ctx, catalog.Identifier{Database: database, Table: table})
}
