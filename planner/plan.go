package planner

import (
	"context"

	"leat/catalog"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/diag"
	"leat/internal/expr"
	"leat/internal/procedure"
	"leat/lakehouse/spec"
)

// Plan is the physical plan of all INSERTs of a script: one job with one
// checkpoint domain.
type Plan struct {
	// Name is pipeline.name, or insert-into_<sinks>.
	Name     string
	Sources  []Source
	Pipes    []Pipe
	Sinks    []Sink
	Settings configs.Values
}

// Source is a node that reads; its output port i is Tables[i].
type Source struct {
	UID       string
	Connector connect.SourceConnector
	Tables    []connect.SourceTable
	Bounded   bool
	// Watch says which tables are taken up when they come; nil for none.
	Watch *connect.DiscoverSpec
}

// Pipe leads the rows of one source port, computed and filtered, into one sink.
type Pipe struct {
	UID string
	// Source and Port name the input; Sink the output, all by index.
	Source, Port, Sink int
	// Exprs compute the columns of the sink over the columns of the port.
	Exprs []expr.Expr
	// Filter keeps rows for which it is TRUE; nil keeps all.
	Filter expr.Expr
	// Identity says that Exprs are the input columns as they are.
	Identity bool
	// Reshape computes rows of a port that follows its source; nil for Exprs alone.
	Reshape *Reshape
	// In is the changelog mode of the source.
	In connect.ChangelogMode
}

// Sink is a node that writes.
type Sink struct {
	UID       string
	Connector connect.SinkConnector
	Table     *connect.Table
	// Mode is what arrives.
	Mode connect.ChangelogMode
	// KeyColumns are the indexes of primary-key, partition and bucket columns: a
	// row that changes one of them leaves its old place with -D.
	KeyColumns []int
	// NotNull are the indexes of columns that must not be NULL.
	NotNull []int
	// Keeps says that the table keeps the rows it has, also where the job begins
	// anew: they are of the same kind and nobody else's.
	Keeps bool
}

// Reshape is how rows of a table that changes its columns become those of the
// sink: Build says it for each form of the port.
type Reshape struct {
	// Build gives the columns of the target, how each is computed, and the filter,
	// nil for all rows.
	Build func(in *columnar.Schema) (out *columnar.Schema, exprs []expr.Expr, filter expr.Expr, err error)
	// Text is the computed columns and the filter for EXPLAIN.
	Text []string
	// SoftDelete turns deletions into inserts.
	SoftDelete bool
}

// InputSchema is the schema of the port that p reads.
func (pl *Plan) InputSchema(p *Pipe) *columnar.Schema {
	return pl.Sources[p.Source].Tables[p.Port].Schema()
}

// StepKind is what a step does.
type StepKind uint8

// The kinds of steps.
const (
	// StepCreate makes a database, or a table if Table is not empty; what is there stays.
	StepCreate StepKind = iota
	StepAlter
	StepRenameTable
	StepDropTable
	StepDropDatabase
	StepDropPartitions
	StepTruncate
	StepCall
	StepSelect
	// StepRows gives rows that were known when the script was planned.
	StepRows
	// StepShowJobs lists the running jobs, StepDescribeJob one of them.
	StepShowJobs
	StepDescribeJob
	// StepStopJob ends a job, with a savepoint if Savepoint is set.
	StepStopJob
	// StepWrite is an INSERT that is carried out at once.
	StepWrite
)

// Step is a statement that is carried out before the job starts, in script order.
type Step struct {
	Kind StepKind
	Pos  diag.Pos
	// Catalog is the name of the lake catalog, Warehouse its folder or URL.
	Catalog, Warehouse string
	Database           string
	// Table is empty for CREATE DATABASE.
	Table string
	// Schema is that of a table to create.
	Schema *spec.TableSchema
	// IfExists lets a drop find nothing; Cascade drops the tables of a database.
	IfExists, Cascade bool
	// NewName is that of a renamed table.
	NewName string
	// Changes are those of StepAlter, under the conditions of Alter.
	Changes []catalog.SchemaChange
	Alter   catalog.AlterOptions
	// Partitions are those of StepDropPartitions, as column=value.
	Partitions []map[string]string
	Call       *procedure.Call
	Select     *Query
	// Analyze is the plan of a SELECT that is run for what it reads, in place of its rows.
	Analyze string
	Write   *Write
	// Job is the name or the id of a job.
	Job       string
	Savepoint bool
	// Columns and Rows are those of StepRows.
	Columns []string
	Rows    [][]string
	// Settings are those at the statement.
	Settings configs.Values
}

// Query is a SELECT over Table of a Step.
type Query struct {
	// Options are those of the OPTIONS hint and of FOR SYSTEM_TIME AS OF.
	Options map[string]string
	// CatalogOptions are those that the catalog was made with.
	CatalogOptions map[string]string
	// Input is the columns that Exprs read; Columns those of the result.
	Input, Columns *columnar.Schema
	Exprs          []expr.Expr
	// Values are rows of constants in place of Exprs: there is no table then.
	Values [][]expr.Expr
	// Filter is nil to keep all rows.
	Filter expr.Expr
	// Limit is negative for all rows.
	Offset, Limit int64
	// Count gives the number of rows instead of the rows.
	Count bool
	// Rows reads Table, which is no lake table, as it is now.
	Rows  connect.RowReader
	Table *connect.Table
	// Endless says that the rows of Table go on until the query is stopped.
	Endless bool
	// Follow gives the changes of the table, too, as they come, with the kind of each
	// in front.
	Follow bool
	// Whole reads rows too that readers see after the next compaction only.
	Whole bool
	// Lake is a query for DuckDB in place of Table, whose columns are Input; nil for none.
	Lake *LakeQuery
}

// Result is what a script asks for.
type Result struct {
	// Plan is nil if the script inserts nothing.
	Plan *Plan
	// Steps are carried out before the job starts.
	Steps []Step
	// Explained holds the text of each EXPLAIN, in order.
	Explained []string
	Notices   []configs.Notice
	Settings  configs.Values
	// Warehouse is that of the first sink in a lake catalog; part of a job's identity.
	Warehouse string
	// Shaped says that a statement changed the session itself, as SET and CREATE
	// TEMPORARY TABLE do: what is planned elsewhere needs it, too.
	Shaped bool
	// Mirror says that each sink is a copy of a source table: the job is known by
	// name and warehouse alone, and does not begin over rows that others wrote.
	Mirror bool
	// Left are tables that a pattern names and that stay out.
	Left []connect.LeftOut
	// Forgotten are uids of sinks that source and lake have no more: state of them is left behind.
	Forgotten []string
	// Replan plans a job of copies anew, without tables that cannot go on and with
	// those that are to go on; nil for other jobs.
	Replan func(ctx context.Context, aside map[string]string, resume []string) (*Result, error)
	// Extend plans a table that came while the job runs, once for each of its
	// targets; nil if none may.
	Extend func(ctx context.Context, d *connect.Discovered) ([]*Extension, error)
}

// Extension is a table added to a plan.
type Extension struct {
	// Pipe and Sink are what was added for it, by index. Joined says that its rows
	// go the way of others instead, and nothing was.
	Pipe, Sink int
	Joined     bool
	// Steps make the table where it is missing.
	Steps   []Step
	Notices []configs.Notice
	// Source and Port are where its rows come from.
	Source, Port int
	// Undo takes it, and what was added after it, out of the plan.
	Undo func()
}
