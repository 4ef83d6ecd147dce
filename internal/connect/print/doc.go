// Package print is the sink that writes each change as a line such as
// "+I[1, a]" to standard output or standard error. Lines appear as rows arrive:
// after a crash those since the last checkpoint appear again.
//
// Start with print.go; text.go writes values as Flink's print connector does.
package print
