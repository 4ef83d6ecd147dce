package planner

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// Current gives the current catalog and database.
func (s *Session) Current() (catalog, database string) { return s.current.name, s.database }

// Catalogs lists the catalogs of the session, sorted.
func (s *Session) Catalogs() []string { return slices.Sorted(maps.Keys(s.catalogs)) }

// Databases lists the databases of a catalog, sorted; none if there is no such catalog.
func (s *Session) Databases(ctx context.Context, catalog string) ([]string, error) {
	c := s.catalogs[catalog]
	if c == nil {
		return nil, nil
	}
	names := slices.Collect(maps.Keys(c.databases))
	if c.lake != nil {
		stored, err := c.lake.Databases(ctx)
		if err != nil {
			return nil, err
		}
		names = append(names, stored...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Tables lists the tables of a database, temporary ones too, sorted.
func (s *Session) Tables(ctx context.Context, catalog, database string) ([]string, error) {
	c := s.catalogs[catalog]
	if c == nil {
		return nil, nil
	}
	var names []string
	for k, t := range c.tables {
		if name, ok := strings.CutPrefix(k, database+"."); ok && t != nil {
			names = append(names, name)
		}
	}
	names = append(names, c.viewNames(database)...)
	if c.lake != nil {
		stored, err := c.lake.Tables(ctx, database)
		if err != nil {
			return nil, err
		}
		names = append(names, stored...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Columns lists the columns of a table, or of a system table such as t$files, in
// their order; none if there is no such table.
func (s *Session) Columns(ctx context.Context, catalog, database, name string) []string {
	c := s.catalogs[catalog]
	if c == nil {
		return nil
	}
	if t := c.tables[database+"."+name]; t != nil {
		names := make([]string, len(t.columns))
		for i := range t.columns {
			names[i] = t.columns[i].name
		}
		return names
	}
	if c.lake == nil {
		return nil
	}
	schema, err := c.lake.Columns(ctx, database, name, nil, "UTC")
	if err != nil {
		return nil
	}
	return schema.Names()
}
