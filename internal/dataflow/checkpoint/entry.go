package checkpoint

import (
	"encoding/json"
	"time"

	"leat/internal/dataflow"
)

// Kind says what an entry is.
type Kind string

// The kinds of entries.
const (
	// KindTakeover begins an attempt: from here on older attempts are fenced.
	KindTakeover Kind = "takeover"
	// KindCheckpoint completes a checkpoint.
	KindCheckpoint Kind = "checkpoint"
	// KindSavepoint completes a checkpoint that a savepoint is taken of.
	KindSavepoint Kind = "savepoint"
	// KindRestore goes back to a savepoint: all checkpoints before it are void.
	KindRestore Kind = "restore"
)

// known are the kinds that this version writes.
var known = []Kind{KindTakeover, KindCheckpoint, KindSavepoint, KindRestore}

// completes reports whether the entry ends a checkpoint of the attempt that wrote it.
func (e *Entry) completes() bool { return e.Kind == KindCheckpoint || e.Kind == KindSavepoint }

// Entry is one entry of the log.
type Entry struct {
	// Version is the version of this form, 1.
	Version int `json:"version"`
	// Number is the place in the log, from 1.
	Number int64 `json:"number"`
	Kind   Kind  `json:"kind"`
	// Oldest is the number of the oldest entry still needed once this one stands;
	// what lies below is pruned, or counts for nothing.
	Oldest int64 `json:"oldest"`
	// UUID tells two writers of the same number apart.
	UUID string    `json:"uuid"`
	Time time.Time `json:"time"`
	// Attempt is the uuid of the run that wrote the entry, CommitUser the user under which it commits.
	Attempt    string `json:"attempt"`
	CommitUser string `json:"commit_user"`
	// Owner is set in a takeover; Fresh there makes all checkpoints before it void.
	Owner *Owner `json:"owner,omitempty"`
	Fresh bool   `json:"fresh,omitempty"`
	// Replace is set in a fresh takeover whose first commit overwrites the tables.
	Replace bool `json:"replace,omitempty"`
	// Checkpoint is set in a checkpoint, a savepoint and a restore.
	Checkpoint *dataflow.Checkpoint `json:"checkpoint,omitempty"`
	// Restore is set in a restore, whose Checkpoint is that of the savepoint.
	Restore *Restore `json:"restore,omitempty"`
}

// Restore goes back to a savepoint.
type Restore struct {
	Savepoint dataflow.SavepointRef `json:"savepoint"`
	// Rewinds are what brings the sinks back, by uid, in a form that the sinks'
	// connectors know. They are to be carried out, again and again, until a
	// checkpoint follows the entry.
	Rewinds map[string]json.RawMessage `json:"rewinds,omitempty"`
}

// Owner is a process that runs a job.
type Owner struct {
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}
