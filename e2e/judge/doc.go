// Package judge is what end-to-end tests judge by: the real Paimon readers and
// real MySQL servers.
//
// Java gives a running process over Paimon's own library (built once from
// e2e/oracle), PyPaimon the Python reader (a venv made once), MySQL a throw-away
// server; each is shared by the tests of a package and ends with its process.
// They never skip: what is missing on the machine fails the test and says what
// to install. Rows are compared as Row values and lines of one JSON form, the
// same for both readers and for the source (SourceRows); Fold replays a
// changelog, Diff shows how two row sets differ.
//
// Start with java.go; rows.go holds the JSON form.
package judge
