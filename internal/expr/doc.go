// Package expr evaluates typed SQL expressions over Arrow columns with Flink's
// rules: integer arithmetic wraps, integer division truncates, decimals round
// half up and overflow to NULL, logic has three values.
//
// It does not parse: the planner translates a syntax tree with Column, Lit…,
// Call, Cast and Coerce, each of which checks types and returns a bound Expr or
// a *diag.Error without a position. Compile turns bound expressions into a
// Program of typed loops; Eval runs it over one batch.
//
// Invariants:
//   - An Expr never changes after it was made.
//   - A Program belongs to one goroutine: it owns scratch memory that the next
//     Eval overwrites. Compile once per subtask.
//   - A value that fails (x/0, a CAST) fails the Eval only if its row reaches
//     it: the branches of CASE, IF, COALESCE, AND and OR hide rows from it.
//
// Start with expr.go (the tree), then call.go (functions and their types),
// types.go (common types and decimal rules), program.go (evaluation) and
// vector.go (how values look inside).
package expr
