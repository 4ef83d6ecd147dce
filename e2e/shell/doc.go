// Package shell holds end-to-end tests of statements: system tables, schema
// changes and maintenance by SQL, judged by Paimon's Java library.
package shell
