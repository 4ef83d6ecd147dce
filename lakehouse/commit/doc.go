// Package commit publishes snapshots of a table: conflict check, manifests,
// retries, and one exclusive create of snapshot/snapshot-<n+1>, which is the
// commit point (PAIMON format, FileStoreCommitImpl.java).
//
// A Request holds what one epoch of one commit user wrote. It becomes up to two
// snapshots with the same user and identifier: the append part (APPEND, or
// OVERWRITE), then the compact part (COMPACT).
//
// Invariants:
//   - The append part is never dropped. A compaction that conflicts with
//     another writer is dropped bucket by bucket; its inputs stay live.
//   - Commit may be repeated after any error or crash: before each try every
//     snapshot since the last one seen is looked at, and one of the same user,
//     identifier and kind ends the part as done.
//   - After a create whose outcome is unknown nothing is deleted.
//   - The own last snapshot is read again before the next one is made: other
//     writers on a local disk check and then rename, so they may replace it.
//
// Start with committer.go (Commit), then publish.go (one try), view.go (what is
// known of the table), conflict.go, merge.go. recover.go answers after a
// restart which epochs are in; snapshots.go finds and reads snapshots.
package commit
