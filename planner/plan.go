package planner

import (
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/expr"
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
}

// InputSchema is the schema of the port that p reads.
func (pl *Plan) InputSchema(p *Pipe) *columnar.Schema {
	return pl.Sources[p.Source].Tables[p.Port].Schema()
}

// Step is a change of a catalog that the script asks for, in script order.
type Step struct {
	// Catalog is the name of the lake catalog, Warehouse its folder or URL.
	Catalog, Warehouse string
	Database           string
	// Table is empty for CREATE DATABASE.
	Table  string
	Schema *spec.TableSchema
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
}
