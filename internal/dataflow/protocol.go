package dataflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"leat/internal/diag"
)

// protocol decides what the coordinator does. It is a state machine without
// clock, goroutine or I/O: the coordinator reports what happened and when, and
// carries out the actions that protocol appends to out.
//
// A checkpoint goes idle → due (triggered) → running (all sources injected) →
// storing (all acknowledged) → committing → idle, or fails on the way. A failed
// one leaves its epoch in epochs: the next entry is written only when that is
// acknowledged too, and carries it.
type protocol struct {
	cfg     Config
	sources []string
	sinks   []sinkShape
	// frozen are the records of sinks that take no part.
	frozen map[string]SinkRecord
	out    []action

	phase phase
	// next is the id of the next checkpoint, cur the one under way.
	next CheckpointID
	cur  *epochState
	// epochs are those not committed, in order of id, cur's the last while it is under way.
	epochs []*epochState
	// stored are the source states of the newest entry, nil without one;
	// unsettled says that it carries committables that no entry shows as committed.
	stored    map[string]SourceState
	unsettled bool

	started, lastTrigger, lastEnd time.Time
	// failures counts failed checkpoints in a row; held is an error of the current
	// one that waits until all sources have injected.
	failures int
	held     error

	stopping  bool
	requested bool
	// wanted are savepoints to take, each with a checkpoint of its own.
	wanted []*SavepointRequest
	ended  []bool
	stats  CheckpointStats
}

// sinkShape is what protocol needs to know of a sink.
type sinkShape struct {
	uid      string
	subtasks int
	// sources are the indexes of the sources that feed it.
	sources []int
}

type phase uint8

const (
	phaseIdle phase = iota
	phaseDue
	phaseRunning
	phaseStoring
	phaseCommitting
	phaseDone
)

func (p phase) String() string {
	return [...]string{"", "due", "running", "storing", "committing", ""}[p]
}

// action is a step for the coordinator.
type action struct {
	kind  actionKind
	id    CheckpointID
	final bool
	// checkpoint lacks what the sinks observe.
	checkpoint *Checkpoint
	// savepoint is what to take once the checkpoint is committed, nil for none.
	savepoint *SavepointRequest
	// until bounds the retries of a log write.
	until time.Time
	err   error
	// event is for the listener.
	event any
}

type actionKind uint8

const (
	// actInject gives barrier id to the sources.
	actInject actionKind = iota
	// actStore observes the sinks and appends the entry.
	actStore
	// actCommit commits the epochs of the entry.
	actCommit
	// actFail ends the job.
	actFail
	// actDone ends the job well.
	actDone
	// actTell tells the listener.
	actTell
)

func newProtocol(g *Graph, cfg Config, from *Restore, now time.Time) *protocol {
	p := &protocol{cfg: cfg, next: from.nextID(), started: now, ended: make([]bool, len(g.Sources))}
	at := map[string]int{}
	for i := range g.Sources {
		at[g.Sources[i].UID] = i
		p.sources = append(p.sources, g.Sources[i].UID)
	}
	for i := range g.Sinks {
		s := sinkShape{uid: g.Sinks[i].UID, subtasks: g.Sinks[i].subtasks()}
		for _, uid := range g.sourcesOf(s.uid) {
			s.sources = append(s.sources, at[uid])
		}
		p.sinks = append(p.sinks, s)
	}
	if c := from.Checkpoint; c != nil {
		p.frozen = map[string]SinkRecord{}
		for _, uid := range from.Frozen {
			if r, known := c.Sinks[uid]; known {
				r.DeadAttempts = r.deadWith(from.DeadAttempts)
				p.frozen[uid] = r
			}
		}
		p.stored, p.unsettled, p.stats.LastID = c.Sources, carriesCommittables(c), c.ID
	}
	return p
}

// tick lets time pass: it triggers what is due and fails what took too long.
func (p *protocol) tick(now time.Time) {
	switch d, ok := p.deadline(); {
	case !ok || now.Before(d):
	case p.phase == phaseRunning:
		p.fail(now, fmt.Errorf("not acknowledged within %s", p.cfg.Timeout))
	case p.phase == phaseIdle:
		p.trigger(now)
	}
}

// deadline is when tick has something to do next; false if only an event can change anything.
func (p *protocol) deadline() (time.Time, bool) {
	switch {
	case p.phase == phaseRunning:
		return p.cur.injected.Add(p.cfg.Timeout), true
	case p.phase != phaseIdle:
		return time.Time{}, false
	case p.stopping || p.requested || len(p.wanted) > 0 || p.allEnded():
		return p.started, true
	case p.cfg.Interval <= 0:
		return time.Time{}, false
	}
	at := p.started.Add(p.cfg.InitialDelay)
	if !p.lastTrigger.IsZero() {
		at = p.lastTrigger.Add(p.cfg.Interval)
	}
	if pause := p.lastEnd.Add(p.cfg.MinPause); !p.lastEnd.IsZero() && pause.After(at) {
		at = pause
	}
	return at, true
}

func (p *protocol) allEnded() bool {
	for _, e := range p.ended {
		if !e {
			return false
		}
	}
	return true
}

func (p *protocol) trigger(now time.Time) {
	e := &epochState{
		id: p.next, triggered: now, last: true, states: make([]*SourceState, len(p.sources)),
		injections: len(p.sources), values: make([][]json.RawMessage, len(p.sinks)),
	}
	for i, s := range p.sinks {
		e.values[i] = make([]json.RawMessage, s.subtasks)
		e.acks += s.subtasks
	}
	if len(p.wanted) > 0 {
		e.savepoint, p.wanted = p.wanted[0], p.wanted[1:]
		p.stopping = p.stopping || e.savepoint.Stop
	}
	p.next++
	p.cur, p.epochs = e, append(p.epochs, e)
	p.phase, p.lastTrigger, p.requested = phaseDue, now, false
	p.tell(CheckpointDue{ID: e.id, Final: p.stopping})
	p.out = append(p.out, action{kind: actInject, id: e.id, final: p.stopping})
}

// injectedBy says that a source has put barrier id into its stream; last that it reads nothing after it.
func (p *protocol) injectedBy(now time.Time, source int, id CheckpointID, s SourceState, last bool) {
	e := p.cur
	if e == nil || e.id != id || e.states[source] != nil {
		p.broken(fmt.Errorf("source %s injected barrier %d, which is not due", p.sources[source], id))
		return
	}
	if len(s.Data) == 0 {
		s.Data = nil
	}
	e.states[source] = &s
	e.last = e.last && last
	if e.injections--; e.injections > 0 {
		return
	}
	e.injected, p.phase = now, phaseRunning
	p.tell(CheckpointStarted{ID: e.id, Waited: now.Sub(e.triggered)})
	if err := p.held; err != nil {
		p.held = nil
		p.fail(now, err)
		return
	}
	p.maybeComplete(now)
}

// ackedBy says that what a subtask wrote in an epoch is durable.
func (p *protocol) ackedBy(now time.Time, sink, subtask int, id CheckpointID, value json.RawMessage, rows, size int64) {
	for _, e := range p.epochs {
		if e.id != id {
			continue
		}
		if len(value) == 0 {
			value = json.RawMessage("null")
		}
		e.values[sink][subtask] = value
		e.acks--
		e.rows += rows
		e.bytes += size
		p.maybeComplete(now)
		return
	}
	p.broken(fmt.Errorf("sink %s acknowledged barrier %d, which is not under way", p.sinks[sink].uid, id))
}

// ackFailed says that a subtask could not make an epoch durable yet and tries on.
// It fails the checkpoint under way, which waits for that epoch.
func (p *protocol) ackFailed(now time.Time, sink int, err error) {
	err = fmt.Errorf("operator %s: %w", p.sinks[sink].uid, err)
	switch p.phase {
	case phaseDue:
		p.held = err
	case phaseRunning:
		p.fail(now, err)
	case phaseIdle, phaseStoring, phaseCommitting, phaseDone:
	}
}

// maybeComplete asks for the entry once every epoch up to the current one is durable.
func (p *protocol) maybeComplete(now time.Time) {
	if p.phase != phaseRunning {
		return
	}
	for _, e := range p.epochs {
		if e.acks > 0 {
			return
		}
	}
	c := p.checkpoint()
	if p.cur.savepoint == nil && p.stored != nil && !p.unsettled && !carriesCommittables(c) && sameStates(p.stored, c.Sources) {
		p.stats.Skipped++
		p.tell(CheckpointSkipped{ID: c.ID})
		p.finish(now)
		return
	}
	maps.Copy(c.Sinks, p.frozen)
	p.phase = phaseStoring
	p.out = append(p.out, action{kind: actStore, id: c.ID, checkpoint: c, until: p.cur.injected.Add(p.cfg.Timeout)})
}

// storedNow says that the entry of the current checkpoint is in the log, or not, after retries.
func (p *protocol) storedNow(now time.Time, c *Checkpoint, err error) {
	if err != nil {
		p.fail(now, fmt.Errorf("writing the checkpoint log: %w", err))
		return
	}
	p.stored, p.unsettled = c.Sources, carriesCommittables(c)
	p.phase = phaseCommitting
	d := now.Sub(p.cur.injected)
	p.stats.Completed++
	p.stats.LastID, p.stats.LastDuration, p.stats.LastRows, p.stats.LastBytes = c.ID, d, p.cur.rows, p.cur.bytes
	p.tell(CheckpointCompleted{ID: c.ID, Duration: d, Rows: p.cur.rows, Bytes: p.cur.bytes, Epochs: len(p.epochs)})
	p.out = append(p.out, action{kind: actCommit, id: c.ID, checkpoint: c, savepoint: p.cur.savepoint})
}

// committedNow says that all sinks have committed.
func (p *protocol) committedNow(now time.Time) {
	p.stats.LastTime = now
	p.finish(now)
}

func (p *protocol) finish(now time.Time) {
	last := p.cur.last
	p.cur, p.epochs, p.failures, p.lastEnd, p.phase = nil, nil, 0, now, phaseIdle
	if last {
		p.phase = phaseDone
		p.out = append(p.out, action{kind: actDone})
	}
}

func (p *protocol) fail(now time.Time, err error) {
	e := p.cur
	p.cur, p.phase, p.lastEnd = nil, phaseIdle, now
	if e.savepoint != nil {
		p.wanted = append([]*SavepointRequest{e.savepoint}, p.wanted...)
	}
	p.failures++
	p.stats.Failed++
	p.tell(CheckpointFailed{ID: e.id, Duration: now.Sub(e.injected), Err: err, InARow: p.failures, Tolerated: p.cfg.TolerableFailures})
	if p.failures <= p.cfg.TolerableFailures {
		return
	}
	p.phase = phaseDone
	p.out = append(p.out, action{kind: actFail, err: &diag.Error{
		Domain: diag.External, Code: diag.CodeCheckpoint, Retry: true, Cause: err,
		Msg:  fmt.Sprintf("checkpoint %d failed, %d in a row of which %d are tolerated", e.id, p.failures, p.cfg.TolerableFailures),
		Hint: checkpointHint(err),
	}})
}

func checkpointHint(err error) string {
	var e *diag.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Hint
	}
	return "raise 'execution.checkpointing.timeout', or tolerate failures with 'execution.checkpointing.tolerable-failed-checkpoints'"
}

// broken ends the job for a fault of the runtime.
func (p *protocol) broken(err error) {
	p.phase = phaseDone
	p.out = append(p.out, action{kind: actFail, err: err})
}

func (p *protocol) tell(event any) { p.out = append(p.out, action{kind: actTell, event: event}) }

// take gives the actions since the last call.
func (p *protocol) take() []action {
	out := p.out
	p.out = nil
	return out
}

func (p *protocol) snapshot() CheckpointStats {
	s := p.stats
	s.FailedInARow = p.failures
	if p.cur != nil {
		s.Current, s.Phase, s.Since = p.cur.id, p.phase.String(), p.cur.triggered
	}
	return s
}
