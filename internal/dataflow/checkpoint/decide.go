package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"leat/internal/dataflow"
	"leat/internal/diag"
)

// Facts is all that Decide looks at.
type Facts struct {
	// Fresh and Replace are what the user asked for with --fresh and --replace.
	Fresh, Replace bool
	// From is the checkpoint the user asked for, 0 for the newest.
	From dataflow.CheckpointID
	// IgnoreUnclaimed is execution.state-recovery.ignore-unclaimed-state.
	IgnoreUnclaimed bool
	// Sources and Sinks are the uids of the plan.
	Sources, Sinks []string
	// Mirror says that the tables are copies, in which the rows of others have no place.
	Mirror bool
	// NonEmpty are the sinks whose tables hold rows; looked at for a fresh start only.
	NonEmpty []string

	// Known says that the job has run before; Completed are the checkpoints that
	// count, oldest first; UnknownKinds are kinds of entries this program does not know.
	Known bool
	// Replacing says that the newest fresh takeover was to overwrite the tables and
	// no checkpoint of it is complete: the next start has to do it.
	Replacing    bool
	Completed    []*dataflow.Checkpoint
	UnknownKinds []Kind
}

// Action is what a start does.
type Action string

// The actions.
const (
	Fresh     Action = "fresh"
	RestoreAt Action = "restore"
	Refuse    Action = "refuse"
)

// Decision is what Decide found.
type Decision struct {
	Action Action
	// Replace says that the first commit overwrites the tables.
	Replace bool
	// ID is the checkpoint to restore.
	ID dataflow.CheckpointID
	// Reason is why a start is refused.
	Reason *diag.Error
	// Notices are for the user.
	Notices []string
}

// Facts gives what the log knows; the caller adds what the user and the plan say.
func (s *Store) Facts() Facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := Facts{Known: len(s.entries) > 0}
	for _, e := range completed(s.entries) {
		f.Completed = append(f.Completed, e.Checkpoint)
	}
	for i := range s.entries {
		switch e := &s.entries[i]; {
		case e.Kind == KindTakeover && e.Fresh:
			f.Replacing = e.Replace
		case e.Kind == KindCheckpoint:
			f.Replacing = false
		}
		if k := s.entries[i].Kind; k != KindTakeover && k != KindCheckpoint && !slices.Contains(f.UnknownKinds, k) {
			f.UnknownKinds = append(f.UnknownKinds, k)
		}
	}
	return f
}

// Decide says how a job starts. It is a pure function of the facts.
func Decide(f Facts) Decision {
	switch {
	case f.Replace && !f.Fresh:
		return refuse(diag.User, diag.CodeUsage, "--replace was given without --fresh", "add --fresh, or leave --replace out")
	case f.Fresh && len(f.NonEmpty) > 0 && !f.Replace:
		return refuse(diag.Guard, diag.CodeFreshRefused,
			"--fresh over tables that hold rows would keep rows that the source has deleted since: "+strings.Join(f.NonEmpty, ", "),
			"add --replace to overwrite them, or leave --fresh out to resume")
	case f.Fresh:
		return Decision{Action: Fresh, Replace: f.Replace}
	case len(f.UnknownKinds) > 0:
		return refuse(diag.Guard, diag.CodeJobState, fmt.Sprintf("the checkpoint log has entries of kind %q, which this version does not know", f.UnknownKinds[0]),
			"run the version that wrote them")
	}
	c, ok := candidate(f)
	switch {
	case !ok:
		return refuse(diag.User, diag.CodeJobState, fmt.Sprintf("checkpoint %d is not in the log; it has %s", f.From, ids(f.Completed)), "choose one of them")
	case c == nil && f.Mirror && !f.Replacing && len(f.NonEmpty) > 0:
		return refuse(diag.Guard, diag.CodeFreshRefused,
			"this job is new, and tables that it is to fill hold rows: "+strings.Join(f.NonEmpty, ", "),
			"give it the name of the job that wrote them, to resume that; or overwrite them with --fresh --replace")
	case c == nil:
		return Decision{Action: Fresh, Replace: f.Replacing}
	}
	return restore(f, c)
}

// candidate gives the checkpoint to restore, nil if the log has none; it is
// false if the one asked for is not there.
func candidate(f Facts) (*dataflow.Checkpoint, bool) {
	if f.From == 0 {
		if n := len(f.Completed); n > 0 {
			return f.Completed[n-1], true
		}
		return nil, true
	}
	for _, c := range f.Completed {
		if c.ID == f.From {
			return c, true
		}
	}
	return nil, false
}

func restore(f Facts, c *dataflow.Checkpoint) Decision {
	d := Decision{Action: RestoreAt, ID: c.ID}
	newest := f.Completed[len(f.Completed)-1]
	if c != newest {
		return refuse(diag.Guard, diag.CodeJobState,
			fmt.Sprintf("checkpoint %d is older than the newest, %d, whose changes the tables hold already", c.ID, newest.ID),
			"resume from the newest checkpoint")
	}
	var gone []string
	for uid := range c.Sources {
		if !slices.Contains(f.Sources, uid) {
			gone = append(gone, uid)
		}
	}
	for uid := range c.Sinks {
		if !slices.Contains(f.Sinks, uid) {
			gone = append(gone, uid)
		}
	}
	slices.Sort(gone)
	if len(gone) > 0 && !f.IgnoreUnclaimed {
		return refuse(diag.Guard, diag.CodeJobState,
			fmt.Sprintf("checkpoint %d holds state of %s, which the script no longer has", c.ID, strings.Join(gone, ", ")),
			"put it back, give the changed job another pipeline.name, or SET 'execution.state-recovery.ignore-unclaimed-state' = 'true'")
	}
	if len(gone) > 0 {
		d.Notices = append(d.Notices, "state is left behind of "+strings.Join(gone, ", "))
	}
	for _, uid := range f.Sources {
		if _, ok := c.Sources[uid]; !ok {
			d.Notices = append(d.Notices, fmt.Sprintf("source %s is new and starts from its beginning", uid))
		}
	}
	return d
}

func refuse(d diag.Domain, code diag.Code, msg, hint string) Decision {
	return Decision{Action: Refuse, Reason: &diag.Error{Domain: d, Code: code, Msg: msg, Hint: hint}}
}

func ids(list []*dataflow.Checkpoint) string {
	if len(list) == 0 {
		return "none"
	}
	s := make([]string, len(list))
	for i, c := range list {
		s[i] = fmt.Sprint(c.ID)
	}
	return strings.Join(s, ", ")
}
