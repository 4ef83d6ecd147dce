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
	// Savepoint is what the user asked to start from, nil for the newest checkpoint.
	Savepoint *dataflow.Checkpoint
	// IgnoreUnclaimed is execution.state-recovery.ignore-unclaimed-state.
	IgnoreUnclaimed bool
	// Sources and Sinks are the uids of the plan.
	Sources, Sinks []string
	// Mirror says that the tables are copies, in which the rows of others have no place.
	Mirror bool
	// Forgotten are sinks that neither source nor lake has any more: nobody misses state of them.
	Forgotten []string
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
	// ID is the checkpoint to restore. It is the savepoint's if one was asked for:
	// then Store.GoBack comes before Store.Restore.
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
		case e.Kind != KindTakeover:
			f.Replacing = false
		}
		if k := s.entries[i].Kind; !slices.Contains(known, k) && !slices.Contains(f.UnknownKinds, k) {
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
	case f.Fresh && f.Savepoint != nil:
		return refuse(diag.User, diag.CodeUsage, "--fresh begins anew, and a savepoint to start from was given too", "leave one of them out (--from, 'execution.state-recovery.path')")
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
	c := f.Savepoint
	if n := len(f.Completed); c == nil && n > 0 {
		c = f.Completed[n-1]
	}
	switch {
	case c == nil && f.Mirror && !f.Replacing && len(f.NonEmpty) > 0:
		return refuse(diag.Guard, diag.CodeFreshRefused,
			"this job is new, and tables that it is to fill hold rows: "+strings.Join(f.NonEmpty, ", "),
			"give it the name of the job that wrote them, to resume that; or overwrite them with --fresh --replace")
	case c == nil:
		return Decision{Action: Fresh, Replace: f.Replacing}
	}
	return restore(f, c)
}

func restore(f Facts, c *dataflow.Checkpoint) Decision {
	d := Decision{Action: RestoreAt, ID: c.ID}
	var gone []string
	for uid := range c.Sources {
		if !slices.Contains(f.Sources, uid) {
			gone = append(gone, uid)
		}
	}
	for uid := range c.Sinks {
		if !slices.Contains(f.Sinks, uid) && !slices.Contains(f.Forgotten, uid) {
			gone = append(gone, uid)
		}
	}
	slices.Sort(gone)
	if len(gone) > 0 && !f.IgnoreUnclaimed {
		return refuse(diag.Guard, diag.CodeJobState,
			fmt.Sprintf("%s holds state of %s, which the script no longer has", name(c), strings.Join(gone, ", ")),
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
	for _, uid := range f.Sinks {
		if _, ok := c.Sinks[uid]; !ok && !f.Mirror {
			d.Notices = append(d.Notices, fmt.Sprintf("%s is new: of source tables that were read before it gets what comes after %s, not the rows from before", uid, name(c)))
		}
	}
	return d
}

func refuse(d diag.Domain, code diag.Code, msg, hint string) Decision {
	return Decision{Action: Refuse, Reason: &diag.Error{Domain: d, Code: code, Msg: msg, Hint: hint}}
}

// name names a checkpoint as users know it.
func name(c *dataflow.Checkpoint) string {
	if c.Savepoint != nil {
		return c.Savepoint.Name
	}
	return fmt.Sprintf("checkpoint %d", c.ID)
}
