package job

import (
	"sync"
	"time"

	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/planner"
)

// State is what a job is doing.
type State string

// The states of a job.
const (
	Starting   State = "STARTING"
	Running    State = "RUNNING"
	Restarting State = "RESTARTING"
	Stopping   State = "STOPPING"
	Finished   State = "FINISHED"
	Failed     State = "FAILED"
)

// Status is a job at one moment, as `leat job show` prints it.
type Status struct {
	Name    string    `json:"name"`
	Key     string    `json:"key"`
	State   State     `json:"state"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Script  string    `json:"script"`
	// Resumed is the checkpoint the run began from, 0 if fresh.
	Resumed  dataflow.CheckpointID `json:"resumed_from"`
	Restarts int64                 `json:"restarts"`
	// Sinks are the full names of the tables written.
	Sinks []string `json:"sinks"`
	// Tables are the folders of the lake tables among them.
	Tables []string `json:"tables,omitempty"`
	// Left are tables that a pattern names and that stay out.
	Left []LeftOut `json:"left_out,omitempty"`
	// Error is the last failure.
	Error string         `json:"error,omitempty"`
	Stats dataflow.Stats `json:"stats"`
	// Savepoints are those known to the job, oldest first.
	Savepoints []SavepointInfo `json:"savepoints,omitempty"`
	// Memory is the resident set of the process in bytes, PeakMemory its maximum.
	Memory     int64 `json:"memory_bytes"`
	PeakMemory int64 `json:"peak_memory_bytes"`
}

// setSinks names the tables that a plan writes.
func (s *Status) setSinks(r *planner.Result) {
	pl := r.Plan
	s.Sinks, s.Tables, s.Left = nil, nil, nil
	for _, l := range r.Left {
		s.Left = append(s.Left, LeftOut{Name: l.Name, Reason: reasonOf(l.Reason)})
	}
	for i := range pl.Sinks {
		s.addSink(pl.Sinks[i].Table)
	}
}

// addSink adds a table that is written.
func (s *Status) addSink(t *connect.Table) {
	s.Sinks = append(s.Sinks, t.Name)
	if t.Location != "" {
		s.Tables = append(s.Tables, t.Location)
	}
}

// LeftOut is a source table that stays out.
type LeftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// CaughtUp reports whether every source has read what was committed before since.
func (s *Status) CaughtUp(since time.Time) bool {
	for i := range s.Stats.Sources {
		if s.Stats.Sources[i].Status.ReadAsOf.Before(since) {
			return false
		}
	}
	return len(s.Stats.Sources) > 0
}

// SnapshotComplete reports whether no source has snapshot rows outstanding.
func (s *Status) SnapshotComplete() bool {
	for i := range s.Stats.Sources {
		if !s.Stats.Sources[i].Status.Complete {
			return false
		}
	}
	return len(s.Stats.Sources) > 0
}

// tracker is the mutable part of a status.
type tracker struct {
	mu   sync.Mutex
	st   Status
	exec *dataflow.Execution
}

func (t *tracker) set(f func(*Status)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.st)
}

func (t *tracker) running(e *dataflow.Execution) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exec != nil {
		t.st.Stats = t.exec.Stats()
	}
	t.exec = e
	if e != nil && t.st.State != Stopping {
		t.st.State = Running
	}
}

func (t *tracker) status() Status {
	t.mu.Lock()
	s, e := t.st, t.exec
	t.mu.Unlock()
	if e != nil {
		s.Stats = e.Stats()
	}
	s.Memory, s.PeakMemory = memoryUse()
	return s
}
