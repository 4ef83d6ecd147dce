// Package sqlfront reads SQL scripts in the Flink dialect and prints them again.
//
// Parse turns the text of a script into a Script: statements with positions,
// notices, and all errors at once as a diag.List. Format and FormatExpr print a
// tree in canonical form; parsing that text again gives the same tree.
//
// The package knows syntax and literals only. Which tables and functions exist,
// whether types fit and what an option means is the planner's work. Syntax that
// Flink knows and leat does not run yet comes out as an Unsupported,
// UnsupportedTable or UnsupportedExpr node that carries its position, so that
// the planner can refuse it with a reason; syntax that no reader should accept
// (MySQL types, "==", double quotes, …) is an error with the rewrite as its hint.
//
// Invariants:
//   - statements end at real ";" tokens only, never inside strings, comments or hints;
//   - after an error in a statement reading goes on behind its ";";
//   - columns in positions count characters, from 1;
//   - ${NAME} is replaced in string literals only, never in names or comments.
//
// Read ast.go first, then lexer.go, parser.go and expr_parse.go.
package sqlfront
