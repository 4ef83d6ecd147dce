package dataflow

import (
	"context"
	"encoding/json"
	"errors"

	"leat/internal/columnar"
)

// ErrStopped ends a source reader after the last barrier of a stop.
var ErrStopped = errors.New("job is stopping")

// Sink is one target of a job: a factory of writers plus the committer.
// Order of calls in a run: Recover (with the last entry, nil if fresh), NewWriter,
// then Write/Prepare on the writers and Observe and Commit on the sink, Close.
// Observe and Commit are never called at the same time for one sink, but beside
// its writers and beside other sinks.
type Sink interface {
	// Recover brings the target to the state of the last entry: it commits what
	// that checkpoint prepared and did not commit, refuses (diag.Guard) if the
	// target is not the one the entry knows, and then removes the files of dead
	// attempts and what abandoned savepoints hold. last is nil for a fresh job;
	// after an attempt that completed no checkpoint it has these two only, and
	// Observed is nil.
	Recover(ctx context.Context, last *SinkRecovery) error
	// NewWriter opens the writer of one of n parallel subtasks.
	NewWriter(ctx context.Context, subtask, n int) (SinkWriter, error)
	// Observe gives what the next entry shall remember of the target, such as
	// the identity of the table and the latest snapshot id seen.
	Observe(ctx context.Context) (json.RawMessage, error)
	// Commit makes epochs visible in order of ID. It is idempotent and may be
	// called again after any crash or error. Retryable errors are retried by the coordinator.
	Commit(ctx context.Context, epochs []Epoch) error
	// Close frees memory and ends goroutines, also if nothing was opened. It
	// deletes nothing that a later attempt may need: files of an attempt are removed by the next Recover.
	Close() error
}

// SinkWriter is the writer of one subtask; one goroutine calls it.
type SinkWriter interface {
	// Write takes b over. It may block for memory.
	Write(ctx context.Context, b *columnar.Batch) error
	// Prepare freezes what was written before barrier id and returns at once;
	// encoding and upload go on beside the next epoch. id is the checkpoint.
	Prepare(ctx context.Context, id CheckpointID) (Prepared, error)
	Close() error
}

// Prepared becomes ready when everything of its epoch is durable and invisible.
type Prepared interface {
	// Wait gives the committables of the epoch, one JSON value; nil, null and []
	// say that the epoch is empty. A checkpoint in which every epoch is empty and
	// no source moved is not written, and its epoch not committed: a sink that has
	// to commit at every checkpoint gives a value. After a retryable error Wait is
	// called again; the epoch then rides in a later checkpoint.
	Wait(ctx context.Context) (json.RawMessage, error)
}

// Epoch is what one checkpoint commits to one sink.
type Epoch struct {
	ID CheckpointID `json:"id"`
	// Properties are the source positions at the barrier.
	Properties map[string]string `json:"properties,omitempty"`
	// Committables has one value a writer subtask, in order of subtasks, empty ones included.
	Committables []json.RawMessage `json:"committables"`
}

// SinkRecovery is what the last entry of the log knows of a sink.
type SinkRecovery struct {
	// Observed is what Observe gave when the entry was made.
	Observed json.RawMessage `json:"observed"`
	// Epochs are those the entry carries; they may or may not be committed.
	Epochs []Epoch `json:"epochs"`
	// DeadAttempts are the uuids of earlier runs, recorded before their first file.
	DeadAttempts []string `json:"dead_attempts"`
	// Abandoned are savepoints whose hold, if there is one, is to be released.
	Abandoned []string `json:"abandoned,omitempty"`
}

// Router chooses the subtask of each row for a hash exchange.
type Router interface {
	// Route fills out[i] with the subtask (0..n-1) of row i. Both rows of a
	// -U/+U pair may get different subtasks; the exchange then turns them into -D and +I.
	Route(b *columnar.Batch, n int, out []int32) error
}
