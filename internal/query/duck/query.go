package duck

import (
	"context"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/internal/expr"
)

// Relation is what a query reads: a lake table, a table of a MySQL server, a batch.
type Relation interface {
	// Schema is the columns, to which the query refers by position.
	Schema() *columnar.Schema
	// Rows estimates the number of rows for the order of joins; negative if unknown.
	Rows() int64
	// Scan gives batches of the columns at used, in that order, to each, which may
	// be called by several goroutines at once and keeps arrays by retaining them.
	// It may be called more than once, where a query reads the relation twice, and
	// gives the same rows then. It ends early with the error of ctx or of each.
	Scan(ctx context.Context, used []int, each func(cols []arrow.Array, rows int) error) error
}

// Function is a scalar function: Expr over columns 0 to len(Args)-1.
type Function struct {
	Args []columnar.DataType
	Expr expr.Expr
}

// Query is a text of DuckDB's SQL and what it refers to.
type Query struct {
	SQL       string
	Relations []Relation
	Functions []Function
	// Columns are those of the result.
	Columns *columnar.Schema
	// Env is what Functions take from their surroundings.
	Env expr.Env
	Settings
}

// Settings bound what a query takes.
type Settings struct {
	// Memory is the limit in bytes, beyond which DuckDB spills; 0 is DefaultMemory.
	Memory int64
	// Threads is the number of threads; 0 is that of the processors.
	Threads int
	// TempDir is the folder in which a private folder for spilled rows is made;
	// empty is that of the system.
	TempDir string
}

// DefaultMemory is the limit of a query's memory in bytes where none is set.
const DefaultMemory = 1 << 30

// RelationName is the function that gives the rows of relation i in a query's text.
func RelationName(i int) string { return "leat_table_" + strconv.Itoa(i) }

// FunctionName is the name of function i in a query's text.
func FunctionName(i int) string { return "leat_function_" + strconv.Itoa(i) }

// ColumnName is column i of a relation in a query's text: DuckDB would take names
// that differ in case alone for one.
func ColumnName(i int) string { return "c" + strconv.Itoa(i) }

// FieldName is field i of a ROW in a query's text.
func FieldName(i int) string { return "f" + strconv.Itoa(i) }
