// Package duck runs a query in an embedded DuckDB over relations and functions of
// ours. It knows no tables and no SQL of users: the text comes from the planner,
// names relation i RelationName(i) and function i FunctionName(i), and takes from
// DuckDB only what means the same there as in Flink.
//
// A Relation gives Arrow batches, which a table function of ours copies into
// DuckDB's vectors, only the columns that the query reads. Scalar expressions that
// DuckDB would compute otherwise are Functions: whole trees of internal/expr, run
// over DuckDB's vectors by the same loops that jobs use.
//
// The database lives in memory for one query. It loads no extension, asks no
// network, keeps to its memory and spills to a folder of its own, which is removed.
// TIME is carried as INTEGER (milliseconds) and TIMESTAMP_LTZ as TIMESTAMP of its
// instant in UTC: what depends on zones is computed by Functions.
//
// DuckDB needs cgo. Without it Available is false and Run refuses.
//
// Start with query.go; run.go runs, relation.go and function.go are the callbacks
// of DuckDB, read.go and write.go convert vectors.
package duck
