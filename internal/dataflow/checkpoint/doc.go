// Package checkpoint is the checkpoint log of a job: which checkpoint counts and
// who may write the next one.
//
// The log is a folder of entries 1, 2, 3… without gaps, each an exclusive
// create: takeover (a process begins to run the job), checkpoint (a completed
// checkpoint), savepoint (one that a savepoint is taken of) and restore (the job
// goes back to a savepoint: all checkpoints before are void). Who loses a create
// is fenced: somebody else has taken the job over.
// Old entries are pruned from the front; the newest is never pruned, so numbers
// and checkpoint ids are never used again.
//
// What it does not do: it runs nothing and knows no table. dataflow writes
// checkpoints through Store, the job package calls Open, Decide and TakeOver.
//
// Invariants:
//   - an entry, once there, never changes;
//   - every entry carries the attempt and the commit user that wrote it, so the
//     newest checkpoint and what follows it are enough to resume;
//   - every entry names the oldest one it needs; what lies below counts for nothing;
//   - the attempt's uuid stands in the log before the attempt's first file.
//
// Start with entry.go, then store.go and decide.go; lock.go keeps two processes
// of one host apart.
package checkpoint
