package mysqlrow

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"leat/internal/columnar"
)

// Target is one column of the output: which source column it takes and as what type.
type Target struct {
	// Column is the index into the source columns.
	Column int
	Type   columnar.DataType
}

// ZeroDate says what becomes of dates that do not exist: '0000-00-00', a zero
// year, month or day, or a day like February 31.
type ZeroDate uint8

const (
	// ZeroDateNull gives NULL where the source column and the target are
	// nullable, else 1970-01-01 00:00:00. It is the default.
	ZeroDateNull ZeroDate = iota
	// ZeroDateEpoch gives 1970-01-01 00:00:00.
	ZeroDateEpoch
	// ZeroDateError refuses the row.
	ZeroDateError
	// ZeroDateText keeps the digits of the server where the target is text, and
	// is ZeroDateNull elsewhere.
	ZeroDateText
)

// Options are the settings of a Plan.
type Options struct {
	// Table names the table in errors, as database.table.
	Table string
	// ServerZone is the zone whose wall clock a TIMESTAMP column shows as
	// TIMESTAMP; it has no effect on TIMESTAMP_LTZ. Nil means UTC.
	ServerZone *time.Location
	ZeroDate   ZeroDate
	// BitsLittleEndian turns the bytes of BIT(n) around, as Flink's connector
	// does; without it they stand as the server shows them.
	BitsLittleEndian bool
	// SpacedJSON keeps a blank behind the ':' and ',' of JSON, as the server
	// prints it; without it there is none.
	SpacedJSON bool
	// Key holds the source columns of the primary key, for SameKey and for the
	// split of updates in AppendRows. Empty: no update changes a key.
	Key []int
	// ChunkKey holds the source columns by which the table is cut in chunks, in
	// the order of an index over them; CutBy has to allow each. Empty: one chunk.
	ChunkKey []int
	// Mapping allows types that do not hold every value of their source.
	Mapping Mapping
}

// Plan is how the rows of one table version become columns. It never changes
// and may be shared between goroutines.
type Plan struct {
	cols    []Column
	targets []Target
	cells   []cell // one a target
	opt     Options
	chunk   []keyPart
	last    atomic.Pointer[Layout]
}

// NewPlan compiles the decoding of a table with the source columns cols into
// targets. Each source column may be used once. Errors are those of CheckDeclared.
func NewPlan(cols []Column, targets []Target, opt Options) (*Plan, error) {
	if opt.ServerZone == nil {
		opt.ServerZone = time.UTC
	}
	p := &Plan{cols: slices.Clone(cols), targets: slices.Clone(targets), opt: opt}
	used := make([]bool, len(cols))
	for i, t := range targets {
		if t.Column < 0 || t.Column >= len(cols) || used[t.Column] {
			return nil, fmt.Errorf("planning the rows of %s: target %d takes source column %d, which is missing or taken", opt.Table, i, t.Column)
		}
		used[t.Column] = true
		if err := opt.Mapping.Check(cols[t.Column], t.Type); err != nil {
			return nil, p.inTable(err)
		}
		p.cells = append(p.cells, newCell(cols[t.Column], i, t.Type, opt))
	}
	for _, k := range opt.Key {
		if k < 0 || k >= len(cols) {
			return nil, fmt.Errorf("planning the rows of %s: key column %d is missing", opt.Table, k)
		}
	}
	for i, k := range opt.ChunkKey {
		if k < 0 || k >= len(cols) {
			return nil, fmt.Errorf("planning the rows of %s: chunk key column %d is missing", opt.Table, k)
		}
		if ok, why := cols[k].ordered(); !ok {
			return nil, fmt.Errorf("planning the rows of %s: there are no chunks, because %s", opt.Table, why)
		}
		p.chunk = append(p.chunk, newKeyPart(cols[k], k))
		p.chunk[i].last = i == len(opt.ChunkKey)-1
	}
	return p, nil
}

// SelectList gives the expressions that a snapshot must select, one a target in
// order. FLOAT and DOUBLE carry +0e0, which makes the server print every digit.
func (p *Plan) SelectList() []string {
	out := make([]string, len(p.targets))
	for i, t := range p.targets {
		c := p.cols[t.Column]
		out[i] = QuoteName(c.Name)
		if c.family() == famFloat {
			out[i] += "+0e0"
		}
	}
	return out
}

// SessionStatements gives what a snapshot session must run before it selects:
// times in UTC, text in the character set of its column, CHAR without padding,
// and comparisons with dates that do not exist.
func SessionStatements() []string {
	return []string{
		"SET SESSION time_zone = '+00:00'",
		"SET SESSION character_set_results = NULL",
		"SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
	}
}

// QuoteName writes a name as a MySQL identifier in backquotes.
func QuoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
