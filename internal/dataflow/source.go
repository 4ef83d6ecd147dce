package dataflow

import (
	"context"
	"encoding/json"
	"time"

	"leat/internal/columnar"
)

// CheckpointID numbers the barriers and checkpoints of a job, from 1, rising over restarts.
type CheckpointID int64

// SourceReader reads one source. All its methods but Close run on one goroutine:
// Check (optional, before anything starts), Open once, Run once; SnapshotState
// is called by Collector.Edge from inside Run, and after Run has returned.
type SourceReader interface {
	// Open prepares reading. restored is the Data of the last completed
	// checkpoint, nil for a fresh start.
	Open(ctx context.Context, restored json.RawMessage) error
	// Run reads until the end of the input (nil), an error, ctx, or ErrStopped from Edge.
	Run(ctx context.Context, out Collector) error
	// SnapshotState gives the state at the barrier id, which stands between two transactions.
	SnapshotState(ctx context.Context, id CheckpointID) (SourceState, error)
	Close() error
}

// CheckpointFollower is a SourceReader that wants to know which of the states
// that it gave are in the log. Completed runs on a goroutine of the coordinator.
type CheckpointFollower interface {
	Completed(id CheckpointID)
}

// Checker is a SourceReader or Sink that can look at the outside world before a
// job starts: reach, rights, shape. Its errors end the command with exit code 2
// (3 for diag.Guard) and nothing is started.
type Checker interface {
	Check(ctx context.Context) error
}

// SourceState is what a source stores in a checkpoint.
type SourceState struct {
	// Data restores the reader.
	Data json.RawMessage `json:"data"`
	// Properties go into the snapshots that commit this checkpoint, such as leat.source.gtid.
	Properties map[string]string `json:"properties,omitempty"`
}

// PortError is an error that concerns what one port of a source reads, and nothing else.
type PortError struct {
	Port int
	Err  error
}

// Error is that of the cause.
func (e *PortError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *PortError) Unwrap() error { return e.Err }

// Collector takes the output of a source reader.
type Collector interface {
	// Emit sends b to the output port and takes it over. It blocks while the
	// channels are full. No barrier is injected by Emit.
	Emit(ctx context.Context, port int, b *columnar.Batch) error
	// BarrierDue reports, at the cost of one atomic load, whether a barrier waits for Edge.
	BarrierDue() bool
	// Due is signalled when a barrier becomes due, so that an idle reader can wake and call Edge.
	Due() <-chan struct{}
	// Edge says that everything up to a source transaction's end was emitted. A
	// due barrier is injected here: SnapshotState is called and the barrier
	// forwarded. After the last barrier of a stop it returns ErrStopped.
	Edge(ctx context.Context) error
	// Cut asks for a checkpoint with a barrier from a later Edge on, which the reader
	// goes on to call. The channel gets nil once everything before that barrier is
	// committed, or why it is not.
	Cut(ctx context.Context) <-chan error
	// Change sends a change of the table behind a port; everything emitted before
	// has to be committed.
	Change(ctx context.Context, port int, c *Change) error
	// InTransaction tells the coordinator that a barrier may have to wait: the
	// rows read so far of the open transaction.
	InTransaction(rows int64)
	// Report publishes progress; cheap, at most a few times a second. Any goroutine
	// of the reader may call it until Run returns.
	Report(SourceStatus)
}

// SourceStatus is the progress of one source.
type SourceStatus struct {
	// Phase is "snapshot" or "stream".
	Phase string `json:"phase"`
	// Rows read so far in this run.
	Rows int64 `json:"rows"`
	// SnapshotDone and SnapshotTotal are estimated rows; SnapshotTotal is 0 if unknown.
	SnapshotDone  int64 `json:"snapshot_done"`
	SnapshotTotal int64 `json:"snapshot_total"`
	// Lag is how long ago everything was committed that was read, 0 when caught up.
	// It grows while the reader waits, and while the source cannot be asked.
	Lag time.Duration `json:"lag"`
	// LagBytes is binlog written but not read yet; -1 if unknown.
	LagBytes int64 `json:"lag_bytes"`
	// CaughtUp is true once everything committed before the start of the run was read.
	CaughtUp bool `json:"caught_up"`
	// ReadAsOf is a moment before which nothing was committed that was not read;
	// zero as long as there is none.
	ReadAsOf time.Time `json:"read_as_of"`
	// Complete is false while snapshot chunks are outstanding.
	Complete bool `json:"complete"`
	// Position is the text of the position, for people.
	Position string `json:"position"`
	// NeededLog is the oldest file of the source's log that a restart from the last
	// checkpoint needs; PurgeAt is when the source may remove it, zero while that
	// cannot be foreseen, as for the newest file; Retention is how long files are
	// kept, 0 for ever.
	NeededLog string        `json:"needed_log,omitempty"`
	PurgeAt   time.Time     `json:"purge_at,omitzero"`
	Retention time.Duration `json:"retention,omitempty"`
	// Tables are the tables of a source that follows them, in order of their names.
	Tables []TableStatus `json:"tables,omitempty"`
}

// TableStatus is a source table at one moment.
type TableStatus struct {
	Name string `json:"name"`
	// State is "snapshot", "streaming", "catching up" after it was set aside,
	// "dropped" or "set aside".
	State string `json:"state"`
	// Reason and Position say why a table was set aside, and up to where it was read.
	Reason   string `json:"reason,omitempty"`
	Position string `json:"position,omitempty"`
	// BadRows counts the rows that went to dead letters since the job began.
	BadRows int64 `json:"bad_rows,omitempty"`
}
