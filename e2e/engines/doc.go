// Package engines tests merge engines and changelog producers from the source
// to the reader: one MySQL table through leat run into a table of each kind,
// with a kill -9 in the middle. What Java reads, and what it folds from the
// changelog, is compared with the source. The tests are in the package's _test files.
package engines
