package dataflow

import (
	"context"
	"strings"

	"leat/internal/columnar"
)

// Change is what happens to the table behind a port between two transactions of
// its source, besides changes of rows. It travels in the stream: batches before
// it are of the old form, batches after it of the new one. Before a source emits
// one it makes sure, by Collector.Cut, that everything before is committed, so
// that a target changes its form or its rows at exactly that place.
type Change struct {
	Kind ChangeKind
	// Schema is that of later batches.
	Schema *columnar.Schema
	// Renamed gives columns another name, from the old one to the new; Schema has the new ones.
	Renamed map[string]string
	// Dropped are columns that are gone; Schema lacks them.
	Dropped []string
	// Truncate says that all rows from before are gone.
	Truncate bool
	// Reason is the statement that asked for it, for messages.
	Reason string
}

// HiddenPrefix begins the names of columns that operators read and that no target has.
const HiddenPrefix = "\x00"

// Hidden reports the name of a column that no target has.
func Hidden(name string) bool { return strings.HasPrefix(name, HiddenPrefix) }

// ChangeKind is what a change is about.
type ChangeKind uint8

// The kinds of changes.
const (
	// Reform changes the form of the table, or empties it.
	Reform ChangeKind = iota
	// CompareRows says that the rows that follow are read from the source once more:
	// the target may have them, with these values or others, as of what is
	// committed. A target whose readers see each change takes what differs.
	CompareRows
	// TakeRows ends CompareRows; what came between need not be committed.
	TakeRows
)

// Changer is an Operator or SinkWriter that follows changes of a table. An
// operator gives the change as it is behind it.
type Changer interface {
	Change(ctx context.Context, c *Change) (*Change, error)
}
