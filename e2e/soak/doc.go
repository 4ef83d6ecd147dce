// Package soak makes up sources, jobs and accidents at random and judges what
// comes of them.
//
// A round is one seed: a server of a random release and setting, tables of
// random columns, keys and character sets, a script with random sinks and a
// startup mode, writers, and a list of accidents (the job and the server killed
// or restarted, connections cut, binlog files ended). One writer works in order
// and notes after each commit how many rows every table has and what they add
// up to; other writers move amounts between accounts beside it. In the end
//
//   - Paimon's Java reader gives the rows of the source,
//   - the changelog of every table that has one folds to them,
//   - every retained snapshot since the first complete one is a state that the
//     ordered writer noted, in that order, and the accounts have their sum in each,
//   - the numbers of the transactions are there once, and no file is nobody's.
//
// A round prints its seed and how to run it again:
//
//	go test ./e2e/soak -run TestSoak -seed 17 -rounds 1
//
// What a seed fixes is all that is drawn; when the accidents meet the job is up
// to the machine. `make soak` runs rounds for as long as it is told.
//
// Start with round_test.go; schema_test.go and values_test.go make tables, orders_test.go
// and accounts_test.go write, accidents_test.go breaks, verdict_test.go judges.
package soak
