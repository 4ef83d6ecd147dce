package dataflow

import (
	"context"
	"encoding/json"
	"slices"
)

// Checkpoint is what one completed checkpoint stores: enough to restore every
// source and to commit what the sinks prepared.
type Checkpoint struct {
	ID CheckpointID `json:"id"`
	// Sources holds the state of each source by uid.
	Sources map[string]SourceState `json:"sources"`
	// Sinks holds what is known of each sink by uid.
	Sinks map[string]SinkRecord `json:"sinks"`
	// Savepoint is the one the checkpoint was taken for.
	Savepoint *SavepointRef `json:"savepoint,omitempty"`
}

// SinkRecord is what a checkpoint stores of a sink.
type SinkRecord struct {
	// Observed is what Sink.Observe gave when the entry was made.
	Observed json.RawMessage `json:"observed,omitempty"`
	// Epochs are those not yet known to be committed, in order of ID; several if
	// earlier checkpoints failed.
	Epochs []Epoch `json:"epochs,omitempty"`
	// DeadAttempts are the uuids of earlier runs that may have left files of a sink
	// which has taken no part since; it is left to its next recovery.
	DeadAttempts []string `json:"dead_attempts,omitempty"`
}

// Log makes a checkpoint count. checkpoint.Store is the durable one.
type Log interface {
	// AppendCheckpoint writes the entry of c. After nil c counts. After a
	// retryable error it may or may not count: the same or a later checkpoint,
	// which carries all of c's epochs, is appended next. Any other error, such as
	// having been fenced, ends the job.
	AppendCheckpoint(ctx context.Context, c *Checkpoint) error
}

// Restore is where an execution begins.
type Restore struct {
	// Checkpoint is the last completed one; nil for a fresh job.
	Checkpoint *Checkpoint
	// NextID is the first id to use, above all ids ever used; 0 means Checkpoint.ID+1, or 1.
	NextID CheckpointID
	// DeadAttempts are the uuids of earlier runs whose files may be lying about.
	DeadAttempts []string
	// Frozen are sinks of the checkpoint that the graph leaves out and that will come
	// back: later entries hold of them what the checkpoint does.
	Frozen []string
	// Abandoned are the names of savepoints that were begun and not written.
	Abandoned []string
}

func (r *Restore) nextID() CheckpointID {
	n := max(r.NextID, 1)
	if r.Checkpoint != nil {
		n = max(n, r.Checkpoint.ID+1)
	}
	return n
}

// source gives the stored data of a source; nil if it is fresh or stored none.
func (r *Restore) source(uid string) json.RawMessage {
	if r.Checkpoint == nil {
		return nil
	}
	if d := r.Checkpoint.Sources[uid].Data; string(d) != "null" {
		return d
	}
	return nil
}

// sink gives what Sink.Recover needs; nil for a fresh job. A sink that the
// checkpoint does not know gets a recovery without epochs, for its dead attempts.
func (r *Restore) sink(uid string) *SinkRecovery {
	if r.Checkpoint == nil && len(r.DeadAttempts) == 0 && len(r.Abandoned) == 0 {
		return nil
	}
	rec := &SinkRecovery{DeadAttempts: r.DeadAttempts, Abandoned: r.Abandoned}
	if r.Checkpoint != nil {
		s := r.Checkpoint.Sinks[uid]
		rec.Observed, rec.Epochs, rec.DeadAttempts = s.Observed, s.Epochs, s.deadWith(r.DeadAttempts)
	}
	return rec
}

// deadWith gives the dead attempts of a sink, with others that come to them.
func (s *SinkRecord) deadWith(more []string) []string {
	out := slices.Clone(s.DeadAttempts)
	for _, a := range more {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}
