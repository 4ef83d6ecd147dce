package connect

import (
	"context"
	"log/slog"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/expr"
)

// Table is a table definition whose options passed the connector's Set.
type Table struct {
	// Name is the full name for messages, such as default_catalog.default_database.src.
	Name string
	// Pos is where the script defines it; zero for tables found in a catalog.
	Pos diag.Pos
	// Schema holds the physical and metadata columns, without computed ones.
	Schema *columnar.Schema
	// ColumnPos gives the script position of each column of Schema; nil if unknown.
	ColumnPos     []diag.Pos
	PrimaryKey    []string
	PartitionKeys []string
	// Metadata maps a column of Schema to the metadata key it reads, if any.
	Metadata map[string]string
	// Origin maps a column of Schema to the column of the source that it holds,
	// where that has another name.
	Origin  map[string]string
	Options configs.Values
	// Location is the folder or URL of a table that a catalog holds; empty for connector tables.
	Location string
}

// ChangelogMode says which kinds of rows a table gives or takes.
type ChangelogMode uint8

// The changelog modes.
const (
	// InsertOnly: +I.
	InsertOnly ChangelogMode = iota
	// Upsert: +I, +U and -D by key; -U is not needed.
	Upsert
	// All: +I, -U, +U, -D.
	All
)

// String names the mode as EXPLAIN prints it.
func (m ChangelogMode) String() string { return [...]string{"I", "I,UA,D", "I,UB,UA,D"}[m] }

// Env is what connectors get from the job.
type Env struct {
	Log *slog.Logger
	// Zone is table.local-time-zone.
	Zone *time.Location
	// Parallelism is the number of workers for encoding and compaction.
	Parallelism int
	// CatchUp asks sources to end at what is committed when they open.
	CatchUp bool
	// MemoryLimit bounds the write buffers of all sinks together, in bytes.
	MemoryLimit int64
	// Scratch is a local folder for what sinks keep beside memory; it is empty when
	// an attempt begins and goes with the job.
	Scratch string
}

// Connector is known by the value of 'connector'.
type Connector interface {
	// Name is the value of the option 'connector'.
	Name() string
	// Options declares the keys of WITH.
	Options() *configs.Set
	// CheckTable looks at one definition alone: columns, key, options that depend
	// on each other. No I/O.
	CheckTable(t *Table) error
}

// ComputedColumn is the metadata key of a column of a source's table that is
// computed from others later: it is NULL until then.
const ComputedColumn = "none"

// TableName names a table of a source.
type TableName struct{ Database, Name string }

// Evolution says how a copy takes the changes of the columns of its source. The
// zero value adds and widens columns, and lets dropped ones stay.
type Evolution struct {
	// TypeModes change what the types of the source become, by the names of the
	// source's connector.
	TypeModes []string
	// Rename and Drop let columns be renamed and dropped as the source does it;
	// those of Keep stay in any case.
	Rename, Drop bool
	Keep         []string
	// NoAdd, NoWiden and NoTruncate leave out what they name; NoReread does not
	// read rows a second time for values of new columns.
	NoAdd, NoWiden, NoTruncate, NoReread bool
	// Rekeys says that the target writes its rows anew where a column of the key gets
	// a wider type: they are not read again.
	Rekeys bool
	// Stop refuses every change of columns.
	Stop bool
}

// SourceTable is one table a source has to read: the output port is its index in SourceSpec.Tables.
type SourceTable struct {
	Table *Table
	// Needed are the indexes of the columns of Table.Schema to emit, in this order.
	Needed []int
	// Before are the indexes of those among them whose values before a change are
	// used, by a filter, a key, or a target that takes old values back; nil stands
	// for all. A source that does not know the others gives NULL.
	Before []int
	// Follow asks for the changes of the table's columns, too: see dataflow.Change.
	Follow bool
	// Evolution says how, where Follow is set.
	Evolution Evolution
	// Shards are further tables whose rows go into the port.
	Shards []TableName
	// StateKey tells apart the states of a table that several ports read.
	StateKey string
	// Aside says why the table is not read for now, "" if it is: its state is kept.
	Aside string
	// BadRowsAside lets a row that cannot be read set the table aside.
	BadRowsAside bool
	// DeadLetters sends rows that cannot be read to the table of the source that
	// TakesDeadLetters: one that is not read, whose rows are those.
	DeadLetters, TakesDeadLetters bool
	// InsertsOnly refuses updates and deletes, because the target has no place for them.
	InsertsOnly bool
	// Compares says that readers of the target see each change that it gets: rows
	// that are read once more are compared with it, see dataflow.CompareRows.
	Compares bool
}

// Schema is the schema of the batches emitted for the table.
func (t SourceTable) Schema() *columnar.Schema { return t.Table.Schema.Project(t.Needed) }

// SourceSpec is one source node of a plan.
type SourceSpec struct {
	// UID is the stable operator uid.
	UID    string
	Tables []SourceTable
	// Watch asks for tables that come while the job runs, too; nil for Tables alone.
	Watch *Watch
	Env   Env
}

// Watch takes up tables of a source that come while a job runs.
type Watch struct {
	// Spec says where to look and for which tables.
	Spec DiscoverSpec
	// Add plans and makes the targets of a table and adds all to the running job,
	// which out belongs to. It gives what the source reads for it. The error is of
	// what could not be added; what was added before it stays.
	Add func(ctx context.Context, d *Discovered, out dataflow.Collector) ([]Added, error)
}

// Added is a port that a running source has to fill from a table that came.
type Added struct {
	Table SourceTable
	Port  int
	// Joined says that the port is there already, for other tables.
	Joined bool
}

// SourceConnector makes sources.
type SourceConnector interface {
	Connector
	// SourceMode is what the table emits.
	SourceMode(t *Table) ChangelogMode
	// Group gives a key: tables with equal keys are read by one source node, such
	// as all tables of one MySQL server.
	Group(t *Table) string
	// Bounded reports whether the source ends by itself.
	Bounded(t *Table) bool
	// NewSource makes the reader; it does no I/O. Readers that implement
	// dataflow.Checker are checked before the job starts.
	NewSource(spec SourceSpec) (dataflow.SourceReader, error)
}

// RowReader is a SourceConnector whose tables a query can read as they are at one moment.
type RowReader interface {
	SourceConnector
	// OpenRows fixes the moment and checks the table.
	OpenRows(ctx context.Context, t *Table, env Env) (Rows, error)
}

// Endless is a RowReader that has tables without an end.
type Endless interface {
	// Endless reports whether the rows of t go on until a query stops.
	Endless(t *Table) bool
}

// Rows are the rows of a table at one moment.
type Rows interface {
	// Estimate is about how many rows there are; negative if unknown.
	Estimate() int64
	// Scan gives batches of the columns at used, in that order, to each; a batch is
	// released after each returns. Rows that fail one of the conditions may be left
	// out. It may be called again, but not at the same time, and not after an error.
	Scan(ctx context.Context, used []int, where []expr.Condition, each func(cols []arrow.Array, rows int) error) error
	Close()
}

// SinkSpec is one sink node of a plan.
type SinkSpec struct {
	UID   string
	Table *Table
	// Mode is what arrives.
	Mode ChangelogMode
	// Job names the job; CommitUser is stable over restarts of one job; Attempt is
	// the uuid of this run, recorded in the log before the first file.
	Job, CommitUser, Attempt string
	// Replace asks to overwrite what the table holds by the first commit.
	Replace bool
	Env     Env
}

// SinkConnector makes sinks.
type SinkConnector interface {
	Connector
	// SinkMode is the richest mode the table wants: sources then leave out what it does not need.
	SinkMode(t *Table) ChangelogMode
	NewSink(spec SinkSpec) (dataflow.Sink, error)
}

// Retractor is a SinkConnector with tables that look at more of a -D row than its
// key and partition, though their mode is Upsert.
type Retractor interface {
	// RetractColumns names the columns.
	RetractColumns(t *Table) []string
}

// Holder is a SinkConnector whose tables hold rows that a fresh job would meet.
type Holder interface {
	// HasRows reports whether t exists and holds rows.
	HasRows(ctx context.Context, t *Table) (bool, error)
}

// Statement is a write that is carried out at once: all of its rows become one
// commit, or none do.
type Statement struct {
	// Table is what is written, Env what the writer may use.
	Table *Table
	Env   Env
	// NotNull are the columns that must not be NULL, by index.
	NotNull []int
	// Overwrite replaces rows: with Dynamic those of the partitions that rows come
	// to, else those of the partitions that have the values of Static, one row of
	// partition columns; nil is all.
	Overwrite, Dynamic bool
	Static             *columnar.Batch
	// Base, if above 0, is the snapshot that the rows were made from. Another commit
	// since then is a conflict for an overwrite; for rows that change others, see
	// Changes, one that wrote where they go.
	Base int64
	// Changes says that the rows change or delete rows of the table.
	Changes bool
}

// StatementWriter is a SinkConnector that carries out statements.
type StatementWriter interface {
	SinkConnector
	// WriteStatement writes the batches that give hands to take, which keeps none of
	// them, and gives the number of their rows. The columns are those of the table;
	// rows of batches without kinds are inserts. Nothing is in the table after an error;
	// one that wraps commit.ErrConflict says that the rows are to be made from the table anew.
	WriteStatement(ctx context.Context, st Statement, give func(take func(*columnar.Batch) error) error) (rows int64, err error)
}
