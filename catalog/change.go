package catalog

import (
	"leat/internal/columnar"
	"leat/internal/diag"
)

// SchemaChange is one change of a table's definition: one of the types of this file.
type SchemaChange interface {
	// Pos is the place in a script that asks for the change; zero without one.
	Pos() diag.Pos
}

// At is the place that a change was asked for at.
type At struct{ Place diag.Pos }

// Pos gives the place.
func (a At) Pos() diag.Pos { return a.Place }

// Position is where a column is put; the zero value leaves it where it is, or
// puts a new one last.
type Position struct {
	First bool
	// After is the name of the column in front of it.
	After string
}

// AddColumn adds a column, or a field to a ROW where Path has several names.
type AddColumn struct {
	At
	Path     []string
	Type     columnar.DataType
	Comment  string
	Position Position
}

// DropColumn removes a column or a field of a ROW. Its data is not read any
// more, also if a column of the same name is added later.
type DropColumn struct {
	At
	Path []string
}

// RenameColumn gives the last name of Path another one. Data files are not touched.
type RenameColumn struct {
	At
	Path []string
	To   string
}

// MoveColumn puts a column elsewhere among its siblings.
type MoveColumn struct {
	At
	Path     []string
	Position Position
}

// ModifyType gives a column another type; stored values are cast when they are read.
type ModifyType struct {
	At
	Path []string
	Type columnar.DataType
}

// CommentColumn sets the comment of a column; empty removes it.
type CommentColumn struct {
	At
	Path    []string
	Comment string
}

// DefaultColumn sets the default value of a column, nil removes it.
type DefaultColumn struct {
	At
	Path  []string
	Value *string
}

// SetOption sets a table option.
type SetOption struct {
	At
	Key, Value string
}

// ResetOption brings an option back to its default.
type ResetOption struct {
	At
	Key string
}

// CommentTable sets the comment of the table; empty removes it.
type CommentTable struct {
	At
	Comment string
}
