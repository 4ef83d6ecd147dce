// Package paimon is the sink connector of lake tables: the bridge between the
// dataflow's two-phase commit and lakehouse.
//
// Prepare freezes the epoch of a lakehouse.Writer; its commit messages are the
// committable; Commit publishes them as snapshots under (commit user,
// checkpoint id). Recover finds out what of the last checkpoint is committed,
// commits the rest, and removes the files of dead attempts. Start with sink.go,
// then recover.go.
package paimon
