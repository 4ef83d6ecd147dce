// Package orcfiles judges package lakehouse/format/orc by the other
// implementations of the format: Apache ORC in Java (orc-tools), Apache Arrow
// (pyarrow, over ORC C++) and Java Paimon read what it writes and write what it
// reads. The tests never skip.
//
// Start with orcfiles_test.go; testdata/OrcTool.java is run from its source.
package orcfiles
