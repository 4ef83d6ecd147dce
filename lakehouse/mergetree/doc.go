// Package mergetree is the merge tree of one bucket of a primary-key table:
// buffered changes become sorted level-0 files, files are merged into deeper
// levels, and readers see one row a key.
//
// It knows nothing of tables, snapshots or commits. Rows are never copied on
// arrival: a Buffer keeps, for every change, a normalised key and where the row
// stands in the retained batches; FlushBuffer sorts keys and numbers of changes
// (sort.go), merges those of each key and takes one column after the other into
// the file (flushcolumns.go), rows in no order by way of a copy of the column
// (stage.go). Files are read back and merged by Merge with a loser tree over Arrow batches.
//
// An Engine says how the rows of a key become one. Deduplicate takes the last as
// it comes; other engines, and changelogs, arrange references to rows in groups
// (groups.go), which a folder turns into columns one by one (fold.go, pick.go,
// number.go, list.go). What must not be merged in one flush is cut into layers.
//
// Main types: Layout (the compiled schema), KeyCodec (keys as comparable
// numbers or bytes), Buffer and FlushBuffer (memory to level 0), Universal
// (which runs to compact), Compact (how), Merge (several runs to one stream),
// EngineSpec and Engine (how rows of a key become one), ChangeOptions (which
// changes a compaction gives).
//
// Invariants: a data file is sorted by key and holds a key once; levels above
// 0 are one sorted run each; sequence numbers of a bucket only grow.
//
// Start with layout.go, then buffer.go and flush.go; universal.go and
// compact.go for compaction; engine.go, fold.go and merging.go for merge engines.
package mergetree
