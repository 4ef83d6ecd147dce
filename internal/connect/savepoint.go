package connect

import (
	"context"
	"encoding/json"
)

// Rewinder is a SinkConnector whose sinks hold savepoints (dataflow.Savepointer)
// and whose tables can be taken back to one.
type Rewinder interface {
	// Compare tells how t stands to what a savepoint held of it; nothing is
	// changed. It is a diag.Guard error if t is another table, or nothing is held any more.
	Compare(ctx context.Context, t *Table, held json.RawMessage, own Own) (*Standing, error)
	// PlanRewind plans the way back of t; nothing is changed. consumers are those of
	// the Standing to reset.
	PlanRewind(ctx context.Context, t *Table, held json.RawMessage, consumers []Consumer) (json.RawMessage, error)
	// Rewind carries out a plan. It may be called again, by another process too:
	// what was done is not done twice, what others wrote afterwards stays.
	Rewind(ctx context.Context, t *Table, plan json.RawMessage) error
	// Release lets go of what a savepoint held of the table at location. It
	// reports false if there is no such table; nothing held is no error.
	Release(ctx context.Context, location string, held json.RawMessage) (bool, error)
}

// Own tells the commits of a job from those of others.
type Own struct {
	// Job is its name, Users the commit users it is known to have had.
	Job   string
	Users []string
	// Observed is what the newest entry of its log knows of the table, nil for nothing.
	Observed json.RawMessage
}

// Standing is how a table stands to a savepoint.
type Standing struct {
	// Snapshot was held, Latest is the newest.
	Snapshot, Latest int64
	// Own are the later commits of the job, Others those of others that brought or took rows.
	Own, Others []Commit
	// Unknown are the first and the last of the later snapshots that have expired
	// and of which nobody can tell whether others made them; zeros for none.
	Unknown [2]int64
	// Expired says that some of the later snapshots have expired: the job's may be among them.
	Expired bool
	// Consumers stand beyond the snapshot that would come next.
	Consumers []Consumer
	// Tags are those on later snapshots.
	Tags []string
	// Notices are for the user.
	Notices []string
}

// Newer reports whether the table may hold commits of the job that the savepoint does not know.
func (s *Standing) Newer() bool { return len(s.Own) > 0 || s.Expired }

// Commit is a snapshot of a lake table.
type Commit struct {
	Snapshot   int64
	User, Kind string
}

// Consumer is a streaming reader's mark on a lake table.
type Consumer struct {
	ID   string
	Next int64
}

// Author is a SinkConnector whose tables tell which jobs wrote them.
type Author interface {
	// LastJob gives the name of the job that made the newest commit of any leat job
	// in t, and its checkpoint; empty if there is none.
	LastJob(ctx context.Context, t *Table) (job, checkpoint string, err error)
}
