// Package cdcsource tests the MySQL source on real servers: a Reader runs while
// sessions change its tables, and what it emits is folded, strictly, into a copy
// of the table. A row may enter only where none is, and leave only as it stands
// there. The copy must equal the table in the end, and from the first complete
// edge on it must keep, at every edge, a sum that each transaction keeps.
//
// Start with fold_test.go (the strict copy), then source_test.go.
package cdcsource
