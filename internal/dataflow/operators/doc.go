// Package operators holds the stateless operators of SQL plans: so far Calc,
// which filters, projects, enforces NOT NULL and splits updates that change a key.
//
// It knows nothing of SQL text: the planner hands over bound expressions.
//
// Invariant: a -U/+U pair is looked at as a whole and leaves in one batch, or as
// the -D or +I that is left of it.
//
// Start with calc.go; pairs.go says what becomes of the two rows of an update.
package operators
