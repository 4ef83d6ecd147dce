// Package planner turns the statements of a script into a physical plan, which
// is data: nodes, edges, stable operator uids, needed columns and changelog
// modes. It does not build or run anything.
//
// A Session walks the statements in order and keeps what they change: settings,
// the current catalog and database, temporary tables, tables to be created.
// Nothing is changed in the outside world: DDL of the script becomes Steps, which
// the job carries out after all checks have passed. All errors of a script are
// reported at once.
//
// Start with session.go (statements), then insert.go and query.go (binding of
// INSERT), bind_expr.go (expressions) and plan.go (the result). EXPLAIN is explain.go.
package planner
