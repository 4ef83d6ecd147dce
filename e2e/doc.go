// Package e2e holds the end-to-end tests and what they judge by: oracle/ is a
// small Maven project over the real Paimon library, pypaimon/ a script over the
// Python reader; package judge builds, runs and compares, package bench
// measures. The tests run the built leat program against real MySQL servers
// that they start themselves. Start with judge/doc.go.
package e2e
