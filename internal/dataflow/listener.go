package dataflow

import "time"

// Listener is told what happens. Any field may be nil. The functions are called
// from goroutines of the runtime: they return quickly and may run at the same time.
type Listener struct {
	// CheckpointDue: barrier id was given to the sources, which inject it at their next edge.
	CheckpointDue func(CheckpointDue)
	// CheckpointStarted: all sources have injected the barrier; the time-out runs from here.
	CheckpointStarted func(CheckpointStarted)
	// CheckpointCompleted: the entry is in the log.
	CheckpointCompleted func(CheckpointCompleted)
	// CheckpointFailed: nothing is taken back, the epochs ride in the next entry.
	CheckpointFailed func(CheckpointFailed)
	// CheckpointSkipped: nothing moved since the last entry, so none was written.
	CheckpointSkipped func(CheckpointSkipped)
	// Committed: one sink made epochs visible.
	Committed func(Committed)
	// CommitRetry: a commit failed and is tried again.
	CommitRetry func(CommitRetry)
	// SavepointTaken: a savepoint was written.
	SavepointTaken func(SavepointTaken)
	// SourceStatus: a source reported progress.
	SourceStatus func(uid string, s SourceStatus)
}

// CheckpointDue is told when a checkpoint is triggered.
type CheckpointDue struct {
	ID CheckpointID
	// Final marks the last checkpoint of a stop.
	Final bool
}

// CheckpointStarted is told when all sources have injected.
type CheckpointStarted struct {
	ID CheckpointID
	// Waited is the time from trigger to the last injection, such as for the end of a long transaction.
	Waited time.Duration
}

// CheckpointCompleted is told when the entry is written.
type CheckpointCompleted struct {
	ID CheckpointID
	// Duration runs from the last injection to the entry.
	Duration time.Duration
	// Rows and Bytes went into the sinks since the barrier before.
	Rows, Bytes int64
	// Epochs is the number of epochs the entry carries, above 1 after failed checkpoints.
	Epochs int
}

// CheckpointFailed is told when a checkpoint failed.
type CheckpointFailed struct {
	ID       CheckpointID
	Duration time.Duration
	Err      error
	// InARow counts the failures since the last completed checkpoint; above Tolerated the job fails.
	InARow, Tolerated int
}

// CheckpointSkipped is told when no entry was needed.
type CheckpointSkipped struct {
	ID CheckpointID
}

// Committed is told when a sink committed.
type Committed struct {
	// ID is the checkpoint whose commit this was.
	ID  CheckpointID
	UID string
	// Snapshot is the newest snapshot of the target; 0 if the sink is no SnapshotReporter.
	Snapshot int64
	Duration time.Duration
	// Tries counts the calls of Sink.Commit.
	Tries int
}

// SavepointTaken is told when a savepoint was written.
type SavepointTaken struct {
	ID CheckpointID
	SavepointRef
}

// CommitRetry is told when a commit will be tried again.
type CommitRetry struct {
	ID    CheckpointID
	UID   string
	Err   error
	Tries int
	// In is the pause before the next try.
	In time.Duration
}

// SnapshotReporter is a Sink whose target numbers its commits.
type SnapshotReporter interface {
	// LastSnapshot is the number of the newest commit seen, 0 if there is none. Safe for concurrent use.
	LastSnapshot() int64
}

func tell[E any](f func(E), e E) {
	if f != nil {
		f(e)
	}
}
