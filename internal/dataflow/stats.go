package dataflow

import (
	"sync/atomic"
	"time"
)

// Stats is the state of an execution at one moment.
type Stats struct {
	Started     time.Time       `json:"started"`
	Checkpoints CheckpointStats `json:"checkpoints"`
	Sources     []SourceStats   `json:"sources"`
	Pipelines   []NodeStats     `json:"pipelines"`
	Sinks       []SinkStats     `json:"sinks"`
}

// CheckpointStats counts checkpoints since the start of the execution.
type CheckpointStats struct {
	// Completed are in the log; what the sinks wrote for the newest may still be on its way into the tables.
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	// Skipped needed no entry because nothing moved.
	Skipped int64 `json:"skipped"`
	// LastID is the newest checkpoint in the log, restored ones included; 0 if there is none.
	LastID CheckpointID `json:"last_id"`
	// LastTime is when its commit was done, zero in an execution that completed none.
	LastTime time.Time `json:"last_time"`
	// LastDuration runs from injection to the entry; LastBytes and LastRows went in since the barrier before.
	LastDuration time.Duration `json:"last_duration"`
	LastBytes    int64         `json:"last_bytes"`
	LastRows     int64         `json:"last_rows"`
	// Current is the checkpoint under way, 0 if there is none; Phase is "due",
	// "running" or "committing", Since when it was triggered.
	Current CheckpointID `json:"current"`
	Phase   string       `json:"phase,omitempty"`
	Since   time.Time    `json:"since"`
	// FailedInARow counts failures since the last completed checkpoint.
	FailedInARow int `json:"failed_in_a_row"`
}

// Committed counts the checkpoints whose rows are in the tables. One that was
// skipped found everything committed.
func (s *CheckpointStats) Committed() int64 {
	n := s.Completed + s.Skipped
	if s.Phase == phaseCommitting.String() {
		n--
	}
	return n
}

// SourceStats describes a source.
type SourceStats struct {
	UID    string       `json:"uid"`
	Status SourceStatus `json:"status"`
	// TransactionRows are the rows read of the open source transaction, 0 outside.
	TransactionRows int64 `json:"transaction_rows"`
	// Rows and Bytes were emitted.
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// Ended says that the reader has returned.
	Ended bool `json:"ended"`
}

// NodeStats describes a pipeline.
type NodeStats struct {
	UID     string `json:"uid"`
	RowsIn  int64  `json:"rows_in"`
	RowsOut int64  `json:"rows_out"`
	// QueuedBytes wait in its input channel.
	QueuedBytes int64 `json:"queued_bytes"`
}

// SinkStats describes a sink, its subtasks together.
type SinkStats struct {
	UID string `json:"uid"`
	// Rows and Bytes were written to it, committed or not.
	Rows        int64 `json:"rows"`
	Bytes       int64 `json:"bytes"`
	QueuedBytes int64 `json:"queued_bytes"`
	// Snapshot is the newest snapshot of the target; 0 if unknown.
	Snapshot int64 `json:"snapshot"`
}

// counter counts what passes a node.
type counter struct {
	rows, bytes atomic.Int64
}

func (c *counter) add(rows int, bytes int64) {
	c.rows.Add(int64(rows))
	c.bytes.Add(bytes)
}
