// Package mergetree is the merge tree of one bucket of a primary-key table:
// buffered changes become sorted level-0 files, files are merged into deeper
// levels, and readers see one row a key.
//
// It knows nothing of tables, snapshots or commits. Rows are never copied on
// arrival: a Buffer keeps, for every change, a normalised key and where the row
// stands in the retained batches; FlushBuffer sorts those entries, keeps the
// last of each key and gathers every column once into a Parquet file. Files
// are read back and merged by Merge with a loser tree over Arrow batches.
//
// Main types: Layout (the compiled schema), KeyCodec (keys as comparable
// numbers or bytes), Buffer and FlushBuffer (memory to level 0), Universal
// (which runs to compact), Compact (how), Merge (several runs to one stream).
//
// Invariants: a data file is sorted by key and holds a key once; levels above
// 0 are one sorted run each; sequence numbers of a bucket only grow.
//
// Start with layout.go, then buffer.go and flush.go; universal.go and
// compact.go for compaction.
package mergetree
