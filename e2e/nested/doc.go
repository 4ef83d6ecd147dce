// Package nested writes every type, alone and nested, in every format with leat and
// with Java, and compares what leat, Java and PyPaimon read of it.
//
// edges_test.go has the values at the ends of the types, values_test.go their JSON
// form; start with types_test.go.
package nested
