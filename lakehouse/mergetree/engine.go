package mergetree

import (
	"fmt"
	"slices"

	"leat/internal/columnar"
)

// EngineKind is a 'merge-engine'.
type EngineKind uint8

// The merge engines.
const (
	Deduplicate EngineKind = iota
	PartialUpdate
	Aggregation
	FirstRow
)

// EngineSpec says by column name how the rows of one key become one. It is
// bound to the columns at hand, which may be a projection, with Bind.
type EngineSpec struct {
	Kind EngineKind
	// IgnoreDelete leaves -U and -D rows out of every merge.
	IgnoreDelete bool
	// RemoveOnDelete lets -D clear the row (partial-update and aggregation).
	RemoveOnDelete bool
	// Sequence orders the rows of a key before their sequence numbers do; null is
	// the least value. With Descending the least other value wins.
	Sequence   []string
	Descending bool
	// Shallow says that of the rows above level 0 only the one of the lowest level
	// counts: compactions of such tables write rows that are whole.
	Shallow bool
	// Groups are the sequence groups of partial-update.
	Groups []GroupSpec
	// Columns are the columns with an aggregate function or its options.
	Columns map[string]ColumnSpec
	// Default is the function of the other columns, "" for the engine's own.
	Default string
}

// GroupSpec is 'fields.<sequence>.sequence-group' = '<columns>'.
type GroupSpec struct {
	Sequence, Columns []string
	// RemoveOnDelete lets an accepted -D remove the row.
	RemoveOnDelete bool
}

// ColumnSpec is the aggregation of a column.
type ColumnSpec struct {
	Func          string
	IgnoreRetract bool
	Delimiter     string
	Distinct      bool
	NestedKey     []string
	Limit         int
}

// Engine is an EngineSpec bound to columns. It is immutable.
type Engine struct {
	spec *EngineSpec
	// sequence are the positions of the sequence fields, groups those of every sequence group.
	sequence []int
	groups   [][]int
	// track is the sequence group of each column, -1 for none; rules its function.
	track []int
	rules []ColumnSpec
}

// Needs gives the columns that merging wanted takes besides them and the key.
func (s *EngineSpec) Needs(wanted []string) []string {
	if s == nil {
		return nil
	}
	var out []string
	need := func(names []string) {
		for _, n := range names {
			if !slices.Contains(wanted, n) && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	need(s.Sequence)
	for _, g := range s.Groups {
		// A removal by one group clears the columns of all.
		if g.RemoveOnDelete || slices.ContainsFunc(wanted, func(c string) bool { return slices.Contains(g.Columns, c) || slices.Contains(g.Sequence, c) }) {
			need(g.Sequence)
		}
	}
	return out
}

// Bind compiles s for columns, in which keys are the positions of the key.
// Sequence groups whose fields are not among columns are left out; Needs names
// those that must not be.
func (s *EngineSpec) Bind(columns *columnar.Schema, keys []int) (*Engine, error) {
	e := &Engine{spec: s, track: make([]int, len(columns.Fields)), rules: make([]ColumnSpec, len(columns.Fields))}
	var err error
	if e.sequence, err = positions(columns, s.Sequence); err != nil {
		return nil, err
	}
	for i := range e.track {
		e.track[i] = -1
	}
	removed := 0
	for i, g := range s.Groups {
		fields, err := positions(columns, g.Sequence)
		if err != nil {
			removed++
			fields = nil
		}
		e.groups = append(e.groups, fields)
		for _, c := range slices.Concat(g.Sequence, g.Columns) {
			if at := columns.Index(c); at >= 0 {
				e.track[at] = i
			}
		}
	}
	for i, f := range columns.Fields {
		e.rules[i] = s.rule(f.Name, slices.Contains(keys, i), e.track[i])
	}
	return e, nil
}

// rule gives the function of a column. "" is the plain one of partial-update.
func (s *EngineSpec) rule(name string, key bool, group int) ColumnSpec {
	r := s.Columns[name]
	switch {
	case s.Kind == FirstRow:
		return ColumnSpec{Func: "first_value"}
	case key || s.Kind == Deduplicate || slices.Contains(s.Sequence, name):
		return ColumnSpec{Func: fnKey}
	case s.Kind == PartialUpdate && group >= 0 && slices.Contains(s.Groups[group].Sequence, name):
		return ColumnSpec{Func: fnSequence}
	case s.Kind == PartialUpdate && group < 0:
		return ColumnSpec{Func: fnNonNull, IgnoreRetract: true}
	}
	if r.Func == "" {
		r.Func = s.Default
	}
	if r.Func == "" {
		r.Func = map[EngineKind]string{PartialUpdate: fnPlain, Aggregation: fnNonNull}[s.Kind]
	}
	if r.Func == "first_not_null_value" {
		r.Func = "first_non_null_value"
	}
	return r
}

// The functions that tables do not name, and last_non_null_value.
const (
	// fnKey takes the last row's value, whatever its kind.
	fnKey = "primary_key"
	// fnSequence takes the value of the last row that its group accepted.
	fnSequence = "sequence"
	// fnPlain is fnSequence with null for retractions.
	fnPlain   = "plain"
	fnNonNull = "last_non_null_value"
)

// Check finds functions that leat does not run, or not on the type of their column.
func (e *Engine) Check(columns *columnar.Schema) error {
	if !e.spec.Folds() {
		return nil
	}
	_, err := newFolder(e, columns, false)
	return err
}

func positions(columns *columnar.Schema, names []string) ([]int, error) {
	out := make([]int, len(names))
	for i, n := range names {
		if out[i] = columns.Index(n); out[i] < 0 {
			return nil, fmt.Errorf("there is no column %s to order rows by", n)
		}
	}
	return out, nil
}

// Folds reports whether rows of a key are merged column by column, not picked whole.
func (s *EngineSpec) Folds() bool { return s != nil && s.Kind != Deduplicate }

// Picks reports whether one row of each key is taken whole: deduplicate, with sequence fields or without.
func (e *Engine) Picks() bool { return e == nil || !e.spec.Folds() }

// KeepsBefore reports whether -U rows matter to the merge: they retract.
func (s *EngineSpec) KeepsBefore() bool {
	switch {
	case s == nil || s.IgnoreDelete:
		return false
	case s.Kind == Aggregation:
		return true
	default:
		return s.Kind == PartialUpdate && len(s.Groups) > 0
	}
}

// splitsDeletes reports that a -D removes what older rows gave, so that merging
// it with a younger row loses it for the levels below.
func (s *EngineSpec) splitsDeletes() bool {
	return s.Folds() && (s.RemoveOnDelete || slices.ContainsFunc(s.Groups, func(g GroupSpec) bool { return g.RemoveOnDelete }))
}

// splitsRetracts reports that a retraction without the rows it retracts cannot
// be merged with younger rows: the result would no longer retract.
func (s *EngineSpec) splitsRetracts() bool {
	if !s.KeepsBefore() {
		return false
	}
	loses := func(c ColumnSpec) bool {
		if c.Func == "" {
			c.Func = s.Default
		}
		switch c.Func {
		case "", "sum", fnKey:
			return false
		case "last_value":
			// Retractions alone would make a row of null, which is then the last value.
			return c.IgnoreRetract
		default:
			return !c.IgnoreRetract
		}
	}
	if s.Kind == PartialUpdate {
		if s.Default != "" {
			return true
		}
		for _, c := range s.Columns {
			if c.Func != "" && c.Func != fnNonNull {
				return true
			}
		}
		return false
	}
	if s.Default == "" || loses(ColumnSpec{Func: s.Default}) {
		return true
	}
	for _, c := range s.Columns {
		if loses(c) {
			return true
		}
	}
	return false
}

// MustMeetAll reports that deletes and retractions may only be compacted
// together with everything older.
func (s *EngineSpec) MustMeetAll() bool { return s.splitsDeletes() || s.splitsRetracts() }

// What a row of a group does to a column.
const (
	actSkip uint8 = iota
	actAdd
	// actOlder adds a row that stands before the accumulated ones.
	actOlder
	actRetract
	// actRetractOld retracts from aggregates only.
	actRetractOld
	// actClear forgets the row; NOT NULL columns keep this row's value.
	actClear
)
