package connect

import (
	"context"

	"leat/configs"
)

// TablePattern names tables of a source: one table, or with Table "*" all
// tables of a database.
type TablePattern struct{ Database, Table string }

// String gives database.table.
func (p TablePattern) String() string { return p.Database + "." + p.Table }

// Matches reports whether p names the table.
func (p TablePattern) Matches(database, table string) bool {
	return p.Database == database && (p.Table == "*" || p.Table == table)
}

// DiscoverSpec says where to look for tables, and for which.
type DiscoverSpec struct {
	// Options are those of a table of the source, without the name of the table.
	Options          configs.Values
	Include, Exclude []TablePattern
}

// Discovered is a table found at a source.
type Discovered struct {
	Database, Name string
	// Comment is what the source says of the table.
	Comment string
	// Bytes is the source's estimate of the size of the rows.
	Bytes int64
	// Table is a definition that passes CheckTable: all columns, each of the type
	// that holds every value of the source, and the primary key.
	Table *Table
}

// Discovery is what a look at a source brought.
type Discovery struct {
	// Tables are in the order of the patterns, then of the names; none is there twice.
	Tables  []Discovered
	Notices []configs.Notice
}

// Discoverer is a SourceConnector that finds the definitions of tables itself.
type Discoverer interface {
	SourceConnector
	// Discover looks at the source. The error is a diag.List of all that is wrong:
	// options, patterns without a table, tables that cannot be carried.
	Discover(ctx context.Context, spec DiscoverSpec) (*Discovery, error)
}
