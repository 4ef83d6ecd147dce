// Package crash tests what survives: the leat program killed at random moments,
// the MySQL server killed under it, servers without GTIDs, and jobs that run for
// many checkpoints. The tests are in the package's _test files; accounts_test.go
// has the source whose every transaction keeps a sum.
package crash
