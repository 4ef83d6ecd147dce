// Package lakehouse opens tables of the Paimon format for writing and reading.
//
// A Table is one schema over one directory. Its Writer takes change batches,
// routes rows to (partition, bucket) and, at every Prepare, freezes what it
// holds: the epoch's files are encoded beside the next epoch and come out of
// Prepared.Wait as commit messages. Publishing them as a snapshot is
// lakehouse/commit's work; its outcome comes back through Writer.Committed.
// Scan reads a snapshot, merged; ReadChangelog the changes of one, ReadChanges
// those between two. Options of merge engines are read in engine.go, deletion
// vectors are vectors.go, states by time timetravel.go, pruning prune.go.
//
// How rows find their buckets is the table's mode (mode.go): by hash, by the
// index of key hashes that is committed with the rows (hashindex.go), by the
// index of keys read at the start where a row may change its partition
// (keyindex.go), or later, by a compaction (postpone.go).
//
// What is not here: the merge tree of one bucket (mergetree), file formats
// (format), structures and codecs (spec), snapshots' commit (commit) and
// expiration (maintain).
//
// Invariants: no row is copied before it is encoded; one memory budget counts
// batches, buffers and frozen epochs of all writers; a file named in a
// prepared message is never removed by a Writer; a compaction's result rides
// in the message of a later epoch than its inputs, or, where readers only see
// what was compacted, in that of its inputs (lift.go).
//
// Compactions apart from any writer are compaction.go and compact.go.
//
// Start with table.go, then write.go (routing), prepare.go (epochs), bucket.go
// (levels and compaction) and scan.go.
package lakehouse
