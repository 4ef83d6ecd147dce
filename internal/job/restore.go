package job

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/dataflow/checkpoint"
	"leat/internal/diag"
	"leat/planner"
)

// homecoming is the start of a job from a savepoint.
type homecoming struct {
	savepoint *Savepoint
	// rewinds take tables back, by uid of their sinks.
	rewinds map[string]json.RawMessage
	notices []string
}

// fromSavepoint reads the savepoint that the job is to start from, nil for none.
// Only the first attempt of a run starts from one: the next goes on in the log.
func (st *starter) fromSavepoint(ctx context.Context) (*homecoming, error) {
	j := st.job
	v := j.spec.Result.Settings
	path := j.spec.From
	if path == "" {
		path = configs.RecoveryPath.Get(v)
	}
	if !st.first || path == "" {
		if st.first && (j.spec.RollbackTables || j.spec.ResetConsumers) {
			return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: "--rollback-tables and --reset-consumers belong to a savepoint to start from", Hint: "add --from SAVEPOINT"}
		}
		return nil, nil //nolint:nilnil // no savepoint is no error
	}
	if j.spec.ResetConsumers && !j.spec.RollbackTables {
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: "--reset-consumers was given without --rollback-tables", Hint: "add --rollback-tables, or leave --reset-consumers out"}
	}
	s, err := ReadSavepoint(ctx, path)
	if err != nil {
		return nil, err
	}
	if s.Job != j.id.Name {
		return nil, savepointError(diag.Guard,
			fmt.Sprintf("savepoint %s is of job %s, and this is job %s", s.Name, s.Job, j.id.Name),
			fmt.Sprintf("give the savepoint of this job, or SET 'pipeline.name' = '%s' if it is the same job under another name", s.Job))
	}
	h := &homecoming{savepoint: s}
	if configs.ClaimMode.Get(v) == "LEGACY" {
		h.notices = append(h.notices, "'execution.state-recovery.claim-mode' = 'LEGACY' is NO_CLAIM here: the savepoint stays yours")
	}
	return h, nil
}

// underWay reports whether the log's newest entry goes back to this very
// savepoint. Another one must not come in between.
func (h *homecoming) underWay(store *checkpoint.Store) (bool, error) {
	l := store.Latest()
	if l == nil || l.Restore == nil || len(l.Restore.Rewinds) == 0 {
		return false, nil
	}
	if l.Restore.Savepoint.Name == h.savepoint.Name {
		return true, nil
	}
	return false, savepointError(diag.Guard,
		fmt.Sprintf("the job is on its way back to savepoint %s, which was not ended", l.Restore.Savepoint.Name),
		"run it once without --from, which ends that")
}

// compare looks at every table and refuses what would lose rows; it plans the
// way back of the tables that are ahead.
func (h *homecoming) compare(ctx context.Context, st *starter) error {
	j := st.job
	var errs diag.List
	own := connect.Own{Job: j.id.Name, Users: []string{h.savepoint.CommitUser}}
	for _, e := range st.store.Entries() {
		if !slices.Contains(own.Users, e.CommitUser) {
			own.Users = append(own.Users, e.CommitUser)
		}
	}
	var ahead []*aheadTable
	for i := range j.spec.Result.Plan.Sinks {
		sink := &j.spec.Result.Plan.Sinks[i]
		t, ok := h.savepoint.Tables[sink.UID]
		if !ok {
			continue
		}
		lake, ok := sink.Connector.(connect.Rewinder)
		if !ok {
			errs.Add(savepointError(diag.Guard, fmt.Sprintf("savepoint %s holds table %s as one of another kind", h.savepoint.Name, t.Name), "give the table the connector that it had"))
			continue
		}
		if l := st.store.Latest(); l != nil {
			own.Observed = l.Checkpoint.Sinks[sink.UID].Observed
		}
		standing, err := lake.Compare(ctx, sink.Table, t.Held, own)
		if err != nil {
			errs.Add(err)
			continue
		}
		h.notices = append(h.notices, standing.Notices...)
		if standing.Newer() {
			ahead = append(ahead, &aheadTable{sink: sink, lake: lake, held: t.Held, standing: standing})
		}
	}
	if len(errs) > 0 {
		return errs.Err()
	}
	return h.planRewinds(ctx, st, ahead)
}

// aheadTable is a table with commits that the savepoint does not know.
type aheadTable struct {
	sink     *planner.Sink
	lake     connect.Rewinder
	held     json.RawMessage
	standing *connect.Standing
}

func (h *homecoming) planRewinds(ctx context.Context, st *starter, ahead []*aheadTable) error {
	if len(ahead) == 0 {
		return nil
	}
	if !st.job.spec.RollbackTables {
		return h.refuseNewer(ahead)
	}
	if err := otherWriters(ctx, st.job); err != nil {
		return err
	}
	var errs diag.List
	h.rewinds = map[string]json.RawMessage{}
	for _, a := range ahead {
		if err := a.check(st.job.spec.ResetConsumers); err != nil {
			errs = append(errs, err)
			continue
		}
		plan, err := a.lake.PlanRewind(ctx, a.sink.Table, a.held, a.standing.Consumers)
		if err != nil {
			errs.Add(err)
			continue
		}
		h.rewinds[a.sink.UID] = plan
		h.notices = append(h.notices, a.notice())
	}
	return errs.Err()
}

func (h *homecoming) refuseNewer(ahead []*aheadTable) error {
	e := savepointError(diag.Guard,
		fmt.Sprintf("the tables hold commits of the job that savepoint %s does not know: it would write their rows again", h.savepoint.Name),
		"add --rollback-tables to take the tables back to the savepoint, leave --from out to resume from the newest checkpoint, or begin anew with --fresh --replace")
	for _, a := range ahead {
		e.Notes = append(e.Notes, "table "+a.sink.Table.Name+": "+a.distance())
	}
	return e
}

// distance says how far a table is ahead.
func (a *aheadTable) distance() string {
	s := a.standing
	if len(s.Own) == 0 {
		return fmt.Sprintf("the savepoint is of snapshot %d, the latest is %d, and some between have expired", s.Snapshot, s.Latest)
	}
	first, last := s.Own[0].Snapshot, s.Own[len(s.Own)-1].Snapshot
	what := fmt.Sprintf("snapshots %d to %d", first, last)
	if first == last {
		what = fmt.Sprintf("snapshot %d", first)
	}
	return fmt.Sprintf("the savepoint is of snapshot %d, %s came after it (the latest is %d)", s.Snapshot, what, s.Latest)
}

// check refuses a way back that would lose what others wrote, or leave readers behind.
func (a *aheadTable) check(resetConsumers bool) *diag.Error {
	s := a.standing
	e := &diag.Error{Domain: diag.Guard, Code: diag.CodeSavepoint, Table: a.sink.Table.Name}
	byHand := fmt.Sprintf("if their rows may go, roll the table back by hand (CALL sys.rollback_to with snapshot %d or the savepoint's tag), then start with --from alone", s.Snapshot)
	switch {
	case len(s.Others) > 0:
		e.Msg, e.Hint = fmt.Sprintf("others have written to it after snapshot %d of the savepoint; a rollback would lose their rows", s.Snapshot), byHand
		for _, c := range s.Others[:min(len(s.Others), 5)] {
			e.Notes = append(e.Notes, fmt.Sprintf("snapshot %d (%s) is by %s", c.Snapshot, c.Kind, c.User))
		}
	case s.Unknown[0] > 0:
		e.Msg, e.Hint = fmt.Sprintf("snapshots %d to %d have expired, and the job's log does not tell whether others made some of them", s.Unknown[0], s.Unknown[1]), byHand
	case len(s.Consumers) > 0 && !resetConsumers:
		e.Msg, e.Hint = fmt.Sprintf("consumers stand beyond snapshot %d of the savepoint", s.Snapshot), fmt.Sprintf("add --reset-consumers to let them read from snapshot %d on, or delete them: CALL sys.reset_consumer", s.Snapshot+1)
		for _, c := range s.Consumers {
			e.Notes = append(e.Notes, fmt.Sprintf("consumer %s reads snapshot %d next", c.ID, c.Next))
		}
	default:
		return nil
	}
	return e
}

// notice tells what the way back means for readers.
func (a *aheadTable) notice() string {
	s := a.standing
	text := fmt.Sprintf("table %s is rolled back from snapshot %d to %d; snapshot ids from %d on will be given again, so programs that read the table as a stream must restart",
		a.sink.Table.Name, s.Latest, s.Snapshot, s.Snapshot+1)
	if len(s.Consumers) > 0 {
		ids := make([]string, len(s.Consumers))
		for i, c := range s.Consumers {
			ids[i] = c.ID
		}
		text += fmt.Sprintf("; consumers %s read from snapshot %d on", strings.Join(ids, ", "), s.Snapshot+1)
	}
	if len(s.Tags) > 0 {
		text += "; with the later snapshots go their tags " + strings.Join(s.Tags, ", ")
	}
	return text
}

// otherWriters refuses a rollback under other running jobs of the state directory.
func otherWriters(ctx context.Context, j *Job) error {
	running, err := NewClient(j.spec.StateDir).List(ctx)
	if err != nil {
		return err
	}
	for i := range running {
		if running[i].Key == j.id.Key {
			continue
		}
		for _, t := range running[i].Tables {
			if slices.Contains(j.track.st.Tables, t) {
				return &diag.Error{
					Domain: diag.Guard, Code: diag.CodeLakeInUse, Msg: fmt.Sprintf("job %s (pid %d) is writing to %s, which would be rolled back", running[i].Name, running[i].PID, t),
					Hint: "stop it first: leat job stop " + running[i].Name,
				}
			}
		}
	}
	return nil
}

// goBack writes the restore entry, and carries out the way back of the newest
// one: its own, or that of a run that was killed on the way.
func (st *starter) goBack(ctx context.Context, h *homecoming, commitUser string) error {
	if h != nil {
		r := checkpoint.Restore{Savepoint: *h.savepoint.Checkpoint.Savepoint, Rewinds: h.rewinds}
		if err := st.store.GoBack(ctx, h.savepoint.Checkpoint, r, commitUser); err != nil {
			return err
		}
	}
	l := st.store.Latest()
	if l == nil || l.Restore == nil {
		return nil
	}
	sinks := st.job.spec.Result.Plan.Sinks
	for uid, plan := range l.Restore.Rewinds {
		i := slices.IndexFunc(sinks, func(s planner.Sink) bool { return s.UID == uid })
		if i < 0 {
			return savepointError(diag.Guard, fmt.Sprintf("%s is on its way back to savepoint %s, and the script no longer has it", uid, l.Restore.Savepoint.Name), "put it back into the script until the job has run once")
		}
		lake, ok := sinks[i].Connector.(connect.Rewinder)
		if !ok {
			return savepointError(diag.Guard, fmt.Sprintf("%s is on its way back to savepoint %s, and is of another kind now", uid, l.Restore.Savepoint.Name), "give it back its connector until the job has run once")
		}
		if err := lake.Rewind(ctx, sinks[i].Table, plan); err != nil {
			return err
		}
	}
	return nil
}

// newAttempt names an attempt. After a way back commits are made under a new user.
func (st *starter) newAttempt(d checkpoint.Decision, fresh bool, h *homecoming) Attempt {
	at := Attempt{UUID: uuid.NewString(), CommitUser: st.store.CommitUser(), Replace: d.Replace}
	if h != nil || d.Action == checkpoint.Fresh && (fresh || at.CommitUser == "") {
		at.CommitUser = uuid.NewString()
	}
	return at
}
