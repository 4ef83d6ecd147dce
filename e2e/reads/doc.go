// Package reads tests SELECT beside running jobs: reads that wait for what was
// written to the source, and reads as of a place of the source.
package reads
