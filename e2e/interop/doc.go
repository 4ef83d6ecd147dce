// Package interop tests that leat and the real Paimon library write one table in
// turn: each goes on where the other stopped.
package interop
