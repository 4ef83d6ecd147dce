package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"

	"leat/configs"
	"leat/internal/columnar"
)

// TablePattern names tables of a source: one table, with Table "*" all tables of
// a database, or all whose names match regular expressions as a whole.
type TablePattern struct {
	Database, Table string
	// match is nil for names.
	match *namePatterns
}

// namePatterns are the compiled Database and Table of a pattern, or one
// expression over both, joined by a dot.
type namePatterns struct{ database, table, both *regexp.Regexp }

// PatternOf reads regular expressions for the names of databases and of tables.
func PatternOf(database, table string) (TablePattern, error) {
	db, err := wholeName(database)
	if err != nil {
		return TablePattern{}, err
	}
	name, err := wholeName(table)
	return TablePattern{Database: database, Table: table, match: &namePatterns{database: db, table: name}}, err
}

// PatternOfBoth reads a regular expression for database.table.
func PatternOfBoth(text string) (TablePattern, error) {
	both, err := wholeName(text)
	return TablePattern{Database: text, match: &namePatterns{both: both}}, err
}

// wholeName compiles a pattern that has to match all of a name.
func wholeName(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		var cause *syntax.Error
		if errors.As(err, &cause) {
			return nil, fmt.Errorf("reading the pattern '%s': %s: '%s'", pattern, cause.Code, cause.Expr)
		}
		return nil, fmt.Errorf("reading the pattern '%s': %w", pattern, err)
	}
	return re, nil
}

// String gives database.table.
func (p TablePattern) String() string {
	if p.Table == "" {
		return p.Database
	}
	return p.Database + "." + p.Table
}

// Open reports whether tables of later may match p.
func (p TablePattern) Open() bool { return p.match != nil || p.Table == "*" }

// Regexp reports a pattern of regular expressions.
func (p TablePattern) Regexp() bool { return p.match != nil }

// Matches reports whether p names the table.
func (p TablePattern) Matches(database, table string) bool {
	switch {
	case p.match != nil && p.match.both != nil:
		return p.match.both.MatchString(database + "." + table)
	case p.match != nil:
		return p.match.database.MatchString(database) && p.match.table.MatchString(table)
	}
	return p.Database == database && (p.Table == "*" || p.Table == table)
}

// DiscoverSpec says where to look for tables, and for which.
type DiscoverSpec struct {
	// Options are those of a table of the source, without the name of the table.
	Options          configs.Values
	Include, Exclude []TablePattern
	// TypeModes are those of Evolution, for the columns of new tables.
	TypeModes []string
	// Keyless takes tables without a primary key, too.
	Keyless bool
	// Stored is what the last checkpoint holds of the source, nil for nothing: its
	// tables belong to the job although the source may have them no more.
	Stored json.RawMessage
	// Aside are tables that cannot go on, as database.table, and why; Resume those
	// that were set aside and are to go on.
	Aside  map[string]string
	Resume []string
}

// Wants reports whether a table belongs to those looked for.
func (s *DiscoverSpec) Wants(database, table string) bool {
	matches := func(p TablePattern) bool { return p.Matches(database, table) }
	return slices.ContainsFunc(s.Include, matches) && !slices.ContainsFunc(s.Exclude, matches)
}

// Discovered is a table found at a source.
type Discovered struct {
	Database, Name string
	// Comment is what the source says of the table.
	Comment string
	// Bytes is the source's estimate of the size of the rows.
	Bytes int64
	// Matched says that only a pattern names it: it stays out where it cannot be carried.
	Matched bool
	// Aside says why the job does not read it for now; Table is what it was then.
	Aside string
	// Was is the definition by which the job has read it, nil for a table that is new.
	Was *Table
	// Gone says that only the last checkpoint knows it: the source has dropped it.
	Gone bool
	// Table is a definition that passes CheckTable: all columns, each of the type
	// that holds every value of the source, and the primary key.
	Table *Table
}

// Discovery is what a look at a source brought.
type Discovery struct {
	// Tables are in the order of the patterns, then of the names; none is there twice.
	Tables []Discovered
	// Left are tables that a pattern names and that cannot be carried.
	Left    []LeftOut
	Notices []configs.Notice
	// DeadLetters names the target of rows that could not be read, as the last
	// checkpoint knows it; "" for none.
	DeadLetters string
}

// DeadLetterer is a SourceConnector that can send rows that it cannot read to a
// table of their own.
type DeadLetterer interface {
	// DeadLetterSchema is that of the table.
	DeadLetterSchema() *columnar.Schema
}

// LeftOut is a table that stays out, and why.
type LeftOut struct {
	Name   string
	Reason error
}

// Discoverer is a SourceConnector that finds the definitions of tables itself.
type Discoverer interface {
	SourceConnector
	// Discover looks at the source. The error is a diag.List of all that is wrong:
	// options, patterns without a table, tables that cannot be carried.
	Discover(ctx context.Context, spec DiscoverSpec) (*Discovery, error)
}
