// Package maintain keeps a table small: ExpireSnapshots removes old snapshots
// with the files that only they used, RemoveAttempt removes what a dead run of
// a job left behind.
//
// The order of removal is Paimon's (ExpireSnapshotsImpl.java): data files,
// changelog files, manifests, snapshot files, the hint. A crash at any point
// leaves files that nothing refers to, never a snapshot that refers to a missing
// file, and the next run takes up the work. Where a file that says what may go
// cannot be read, nothing goes.
//
// The same rule holds for the rest: DeleteTag, Rollback, DeleteBranch, FastForward
// and ExpireChangelogs take away what names files first and then the files that
// nothing names any more; RemoveOrphans sweeps what crashes left. Partitions and
// manifests change by commits.
//
// Tags, consumers, branches and whatever Options.Protect names hold files back.
// Start with expire.go; usage.go tells which files are in use, refs.go finds what
// tags and consumers hold, attempt.go removes the files of a run.
package maintain
