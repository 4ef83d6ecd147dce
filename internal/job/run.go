package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"leat/configs"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/dataflow/checkpoint"
	"leat/internal/diag"
	"leat/internal/fileio/local"
	"leat/planner"
)

// Spec is a job to run.
type Spec struct {
	Result *planner.Result
	// Replan plans the job again for a restart, as tables may have come and gone;
	// nil keeps Result, and lets no table be set aside. aside are source tables that
	// cannot go on, and why; resume are those that are to go on again.
	Replan func(ctx context.Context, aside map[string]string, resume []string) (*planner.Result, error)
	// Script is the file name, for people.
	Script   string
	StateDir string
	// Fresh begins anew under a new commit user; Replace overwrites non-empty tables then.
	Fresh, Replace bool
	// From is the savepoint to start from, empty for the newest checkpoint. With
	// RollbackTables tables that are ahead are taken back to it, with ResetConsumers
	// their consumers too.
	From                           string
	RollbackTables, ResetConsumers bool
	// CatchUp ends once everything committed at the start is committed in the lake.
	CatchUp  bool
	Log      *slog.Logger
	Listener dataflow.Listener
	// Notice tells the user something that stops nothing.
	Notice func(text string)
	// Output takes the rows of the script's queries and procedures; nil drops them.
	Output Output
}

// ErrNotStarted marks an error before anything was started (exit code 2).
var ErrNotStarted = errors.New("the job was not started")

// Job is a job of this process.
type Job struct {
	spec Spec
	id   Identity
	dir  string
	// settings are those of the session; a new plan has the same.
	settings configs.Values
	track    tracker
	// stopping is closed by Stop.
	stopping chan struct{}
	done     chan struct{}
	// over is closed when nothing is begun any more; beside is what is under way then.
	over   chan struct{}
	beside sync.WaitGroup
	// aside and resume are what the next attempt changes; both under the lock of track.
	aside  map[string]string
	resume []string
	// restart ends the running attempt for another one.
	restart bool
	// commitUser is that of the running attempt, under the lock of track.
	commitUser string
}

// New prepares a job; it does no I/O.
func New(spec Spec) *Job {
	id := IdentityOf(spec.Result)
	j := &Job{spec: spec, id: id, settings: spec.Result.Settings, stopping: make(chan struct{}), done: make(chan struct{}), over: make(chan struct{})}
	j.dir = jobFolder(spec.StateDir, spec.Result.Settings, id)
	j.track.st = Status{Name: id.Name, Key: id.Key, State: Starting, PID: os.Getpid(), Started: time.Now(), Script: spec.Script}
	j.track.st.setSinks(spec.Result)
	return j
}

// Status describes the job.
func (j *Job) Status() Status { return j.track.status() }

// Stop asks for an orderly end: a last checkpoint, committed. It returns at once.
func (j *Job) Stop() {
	j.track.mu.Lock()
	defer j.track.mu.Unlock()
	select {
	case <-j.stopping:
		return
	default:
	}
	close(j.stopping)
	j.track.st.State = Stopping
	if j.track.exec != nil {
		j.track.exec.Stop()
	}
}

// Done is closed when Run has returned.
func (j *Job) Done() <-chan struct{} { return j.done }

// Run runs the job to its end. An error that wraps ErrNotStarted came before
// anything outside was changed.
func (j *Job) Run(ctx context.Context) (err error) {
	defer close(j.done)
	defer func() { j.finish(err) }()
	limitMemory(j.spec.Result)
	if err := local.New().MkdirAll(ctx, j.dir); err != nil {
		return notStarted(&diag.Error{Domain: diag.External, Code: diag.CodeJobState, Msg: "the state directory cannot be made", Hint: "choose another with --state-dir", Cause: err})
	}
	lock, err := checkpoint.Lock(filepath.Join(j.dir, "lock"), checkpoint.Self())
	if err != nil {
		return notStarted(err)
	}
	defer func() { _ = lock.Release() }()
	defer func() { _ = local.New().RemoveAll(context.WithoutCancel(ctx), j.scratch()) }()
	control, err := j.serve()
	if err != nil {
		return notStarted(err)
	}
	defer control.close()
	defer j.end()
	if taken, err := j.registered(ctx); err == nil {
		j.track.set(func(s *Status) { s.Savepoints = taken })
	}
	return j.loop(ctx)
}

func notStarted(err error) error { return fmt.Errorf("%w: %w", ErrNotStarted, err) }

func (j *Job) tell(text string) {
	if j.spec.Notice != nil {
		j.spec.Notice(text)
	}
}

func (j *Job) finish(err error) {
	j.track.set(func(s *Status) {
		s.State = Finished
		if err != nil {
			s.State, s.Error = Failed, err.Error()
		}
	})
}

// loop runs attempts until one ends well or its failure is not to be restarted.
func (j *Job) loop(ctx context.Context) error {
	strategy := newRestarts(j.spec.Result.Settings)
	for first := true; ; first = false {
		err := j.attempt(ctx, first)
		j.track.running(nil)
		if err == nil && j.resumes() || err != nil && ctx.Err() == nil && j.setAside(err) {
			continue
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		delay, again := strategy.next(err)
		if !again || errors.Is(err, ErrNotStarted) {
			return err
		}
		j.track.set(func(s *Status) { s.State, s.Restarts, s.Error = Restarting, strategy.used, err.Error() })
		j.spec.Log.Warn("job restarts", "attempt", strategy.used, "delay", delay, "error", err)
		select {
		case <-time.After(delay):
		case <-j.stopping:
			// Nothing runs that a last checkpoint could be taken of.
			j.tell("stopped while waiting to restart after: " + err.Error())
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// replan brings the plan to the tables of now.
func (j *Job) replan(ctx context.Context) error {
	if j.spec.Replan == nil {
		return nil
	}
	j.track.mu.Lock()
	aside, resume := maps.Clone(j.aside), slices.Clone(j.resume)
	j.track.mu.Unlock()
	r, err := j.spec.Replan(ctx, aside, resume)
	if err != nil {
		return err
	}
	j.spec.Result = r
	j.track.set(func(s *Status) { s.setSinks(r) })
	return nil
}

// scratch is the folder for what does not outlive an attempt.
func (j *Job) scratch() string { return filepath.Join(j.dir, "scratch") }

// attempt is one run: decide, check, take over, execute.
func (j *Job) attempt(ctx context.Context, first bool) error {
	// A process that was killed left its own.
	if err := local.New().RemoveAll(ctx, j.scratch()); err != nil {
		return fmt.Errorf("emptying the scratch folder: %w", err)
	}
	if !first {
		if err := j.replan(ctx); err != nil {
			return err
		}
	}
	st := &starter{job: j, first: first, fs: local.New()}
	graph, restore, err := st.prepare(ctx)
	if err != nil {
		if first {
			return notStarted(err)
		}
		return err
	}
	exec, err := dataflow.NewExecution(graph, j.config(), st.store, restore, j.spec.Listener)
	if err != nil {
		return err
	}
	j.track.running(exec)
	if j.asked() {
		exec.Stop()
	}
	select {
	case <-j.stopping:
		exec.Stop()
	default:
	}
	return exec.Run(ctx)
}

func (j *Job) config() dataflow.Config {
	v := j.spec.Result.Settings
	return dataflow.Config{
		Interval: configs.CheckpointInterval.Get(v), MinPause: configs.CheckpointMinPause.Get(v), Timeout: configs.CheckpointTimeout.Get(v),
		TolerableFailures: int(configs.CheckpointTolerable.Get(v)), Log: j.spec.Log,
	}
}

// starter carries one attempt from the log to a graph.
type starter struct {
	job   *Job
	first bool
	fs    *local.FS
	store *checkpoint.Store
}

func (st *starter) prepare(ctx context.Context) (dataflow.Graph, dataflow.Restore, error) {
	j := st.job
	pl := j.spec.Result.Plan
	var none dataflow.Restore
	store, err := checkpoint.Open(ctx, st.fs, j.dir, checkpoint.Options{Retain: int(configs.CheckpointRetained.Get(pl.Settings)), Log: j.spec.Log})
	if err != nil {
		return dataflow.Graph{}, none, err
	}
	st.store = store
	at, decision, home, err := st.decide(ctx)
	if err != nil {
		return dataflow.Graph{}, none, err
	}
	if j.spec.Result.Extend != nil {
		at.Watch = func(source int) *connect.Watch { return st.watch(at, source) }
	}
	g, err := Build(pl, j.id.Name, at, st.env())
	if err != nil {
		return g, none, err
	}
	if err := checkSources(ctx, &g); err != nil {
		return g, none, err
	}
	steps := j.spec.Result.Steps
	if !st.first {
		// On a restart the other statements of the script were carried out by this very run.
		steps = creations(steps)
	}
	if err := (Statements{Output: j.spec.Output, Jobs: NewClient(j.spec.StateDir)}).Apply(ctx, steps); err != nil {
		return g, none, err
	}
	abandoned, err := st.abandoned(ctx)
	if err != nil {
		return g, none, err
	}
	take := checkpoint.Takeover{Owner: checkpoint.Self(), Attempt: at.UUID, CommitUser: at.CommitUser, Fresh: decision.Action == checkpoint.Fresh, Replace: decision.Replace}
	if user := store.CommitUser(); home != nil && user != "" {
		// The new user begins with the restore entry: until that stands, the newest
		// checkpoint may still have to be committed, under its own user.
		take.CommitUser = user
	}
	if err := store.TakeOver(ctx, take); err != nil {
		return g, none, err
	}
	if err := st.goBack(ctx, home, at.CommitUser); err != nil {
		return g, none, err
	}
	restore, err := store.Restore(decision)
	if err != nil {
		return g, none, err
	}
	restore.Abandoned, restore.Frozen = abandoned, frozenSinks(pl)
	j.track.set(func(s *Status) { s.Resumed, j.commitUser = decision.ID, at.CommitUser })
	return g, restore, nil
}

// decide asks the checkpoint log how to start, and guards the tables it knows.
// The homecoming is nil unless the job is to go back to a savepoint.
func (st *starter) decide(ctx context.Context) (Attempt, checkpoint.Decision, *homecoming, error) {
	j := st.job
	var none Attempt
	home, err := st.fromSavepoint(ctx)
	if err != nil {
		return none, checkpoint.Decision{}, nil, err
	}
	facts, err := st.facts(ctx, home)
	if err != nil {
		return none, checkpoint.Decision{}, nil, err
	}
	d := checkpoint.Decide(facts)
	if d.Action == checkpoint.Refuse {
		return none, d, nil, d.Reason
	}
	if d.Action == checkpoint.Fresh && !facts.Fresh && !facts.Known && st.first {
		if err := guardLostState(ctx, j); err != nil {
			return none, d, nil, err
		}
	}
	if home != nil {
		if home, err = st.welcome(ctx, home); err != nil {
			return none, d, nil, err
		}
	}
	// On a restart the tables of the script were made by this very run.
	if d.Action == checkpoint.RestoreAt && st.first && home == nil {
		if err := guardTables(j.spec.Result, st.store.Latest().Checkpoint); err != nil {
			return none, d, nil, err
		}
	}
	if d.Action == checkpoint.RestoreAt && home == nil {
		if err := guardNewTables(ctx, j.spec.Result, st.store.Latest().Checkpoint); err != nil {
			return none, d, nil, err
		}
	}
	st.tell(d, home)
	return st.newAttempt(d, facts.Fresh, home), d, home, nil
}

// facts gathers what Decide looks at.
func (st *starter) facts(ctx context.Context, home *homecoming) (checkpoint.Facts, error) {
	j := st.job
	facts := st.store.Facts()
	facts.Fresh, facts.Replace = j.spec.Fresh && st.first, j.spec.Replace && st.first
	facts.Mirror, facts.Forgotten = j.spec.Result.Mirror, j.spec.Result.Forgotten
	facts.IgnoreUnclaimed = configs.IgnoreUnclaimed.Get(j.spec.Result.Settings)
	for i := range j.spec.Result.Plan.Sources {
		facts.Sources = append(facts.Sources, j.spec.Result.Plan.Sources[i].UID)
	}
	for i := range j.spec.Result.Plan.Sinks {
		facts.Sinks = append(facts.Sinks, j.spec.Result.Plan.Sinks[i].UID)
	}
	if home != nil {
		facts.Savepoint = home.savepoint.Checkpoint
	} else if facts.Fresh || facts.Mirror && st.first && len(facts.Completed) == 0 {
		full, err := nonEmpty(ctx, j.spec.Result.Plan)
		if err != nil {
			return facts, err
		}
		facts.NonEmpty = full
	}
	return facts, nil
}

// welcome checks the tables for a start from a savepoint; nil if the log is on
// its way back to that one already.
func (st *starter) welcome(ctx context.Context, home *homecoming) (*homecoming, error) {
	again, err := home.underWay(st.store)
	if err != nil || again {
		return nil, err
	}
	if err := guardTables(st.job.spec.Result, home.savepoint.Checkpoint); err != nil {
		return nil, err
	}
	return home, home.compare(ctx, st)
}

func (st *starter) tell(d checkpoint.Decision, home *homecoming) {
	if !st.first {
		return
	}
	for _, n := range d.Notices {
		st.job.tell(n)
	}
	switch l := st.store.Latest(); {
	case home != nil:
		for _, n := range home.notices {
			st.job.tell(n)
		}
		st.job.tell(fmt.Sprintf("job %s starts from %s (checkpoint %d)", st.job.id.Name, home.savepoint.Name, d.ID))
	case d.Action == checkpoint.RestoreAt && l.Restore != nil:
		st.job.tell(fmt.Sprintf("job %s goes on with its start from %s (checkpoint %d)", st.job.id.Name, l.Restore.Savepoint.Name, d.ID))
	case d.Action == checkpoint.RestoreAt:
		st.job.tell(fmt.Sprintf("job %s resumes from checkpoint %d", st.job.id.Name, d.ID))
	}
}

func (st *starter) env() connect.Env {
	v := st.job.spec.Result.Settings
	return connect.Env{
		Log: st.job.spec.Log, Zone: zoneOf(v), Parallelism: workers(v), CatchUp: st.job.spec.CatchUp, MemoryLimit: configs.MemoryLimit.Get(v), Scratch: st.job.scratch(),
	}
}
