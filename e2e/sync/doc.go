// Package sync tests `leat sync mysql`: copies of whole tables of a real MySQL
// server, killed and resumed under a workload, judged by Paimon's Java reader,
// and what the command refuses. The tests are in the package's _test files.
package sync
