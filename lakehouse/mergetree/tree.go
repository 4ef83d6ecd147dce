package mergetree

import (
	"slices"
	"time"

	"leat/lakehouse/spec"
)

// Tree is what the writer of one bucket knows of its files. The methods are
// not safe for concurrent use: the owner's lock guards them, and only the work
// on a Unit goes on outside.
//
// A file takes part in compactions once its epoch was prepared. At most one
// compaction of a bucket is under way or waiting to be emitted, so a file never
// comes and goes inside one message.
type Tree struct {
	order    *KeyOrder
	strategy *Universal
	engine   *EngineSpec
	// Stale, if set, names files that hold rows which a full compaction leaves out.
	Stale func(f *spec.DataFileMeta) bool
	// pick is the strategy of an append table, nil in a merge tree.
	pick    func(live []spec.DataFileMeta) []spec.DataFileMeta
	live    []spec.DataFileMeta
	nextSeq int64
	// changed says that files came or went since Next found nothing to do.
	changed  bool
	running  bool
	pending  *Change
	prepared []preparedChange
}

// Change is a compaction's effect: Before leaves, After comes.
type Change struct {
	Before, After []spec.DataFileMeta
	// Changelog are the files with the changes of rows that it means.
	Changelog []spec.DataFileMeta
	// NewIndex and GoneIndex are the deletion vector files that come and leave.
	NewIndex, GoneIndex []spec.IndexFileMeta
}

// preparedChange is what a message that is not committed yet does to the files.
type preparedChange struct {
	id    int64
	files []spec.DataFileMeta
	Change
	// lift is the compaction of the files of the same message.
	lift Change
}

// NewTree makes the tree over the live files of a bucket, whose rows engine merges.
func NewTree(live []spec.DataFileMeta, order *KeyOrder, o UniversalOptions, engine *EngineSpec) *Tree {
	t := &Tree{order: order, strategy: NewUniversal(o), engine: engine, live: slices.Clone(live), changed: true}
	t.raise(live)
	return t
}

// NewAppendTree makes the list of the live files of an append table's bucket;
// pick gives the files worth joining, nil for none.
func NewAppendTree(live []spec.DataFileMeta, pick func(live []spec.DataFileMeta) []spec.DataFileMeta) *Tree {
	t := &Tree{strategy: NewUniversal(UniversalOptions{}), pick: pick, live: slices.Clone(live), changed: true}
	t.raise(live)
	return t
}

func (t *Tree) raise(files []spec.DataFileMeta) {
	for i := range files {
		t.nextSeq = max(t.nextSeq, files[i].MaxSequenceNumber+1)
	}
}

// Reserve takes n sequence numbers and gives the first.
func (t *Tree) Reserve(n int64) int64 {
	first := t.nextSeq
	t.nextSeq += n
	return first
}

// Prepare puts the files of epoch id and a finished compaction into the tree
// and gives the latter's effect for the message, zero if there is none.
func (t *Tree) Prepare(id int64, files []spec.DataFileMeta) Change {
	var c Change
	if t.pending != nil {
		c, t.pending = *t.pending, nil
		t.live = apply(t.live, c)
	}
	t.live = append(t.live, files...)
	if len(files) > 0 || len(c.Before) > 0 {
		t.changed = true
		t.prepared = append(t.prepared, preparedChange{id: id, files: files, Change: c})
	}
	return c
}

// Next picks a compaction and marks it as running; ok is false if none is due or possible now.
func (t *Tree) Next(now time.Time) (unit Unit, ok bool) {
	if t.running || t.pending != nil || (!t.changed && t.strategy.opts.FullInterval == 0) {
		return Unit{}, false
	}
	if t.pick != nil {
		unit.Files = t.pick(t.live)
		ok = len(unit.Files) > 0
	} else {
		runs := Runs(t.live, t.order)
		if unit, ok = t.strategy.next(runs, now); ok {
			unit = t.whole(unit, runs)
		}
	}
	t.running, t.changed = ok, ok
	return unit, ok
}

// whole takes all runs into a compaction that would else lose what deletes and
// retractions do to the rows below it.
func (t *Tree) whole(unit Unit, runs []Run) Unit {
	if unit.DropDelete || t.engine == nil || t.engine.Shallow || !t.engine.MustMeetAll() {
		return unit
	}
	for i := range unit.Files {
		if n := unit.Files[i].DeleteRowCount; n == nil || *n > 0 {
			if full, ok := t.strategy.Full(runs, nil); ok {
				return full
			}
		}
	}
	return unit
}

// Lifting says what a compaction takes that rides in the message of its files.
type Lifting uint8

const (
	// LiftDue takes what the strategy says is due.
	LiftDue Lifting = iota
	// LiftLevel0 takes all of level 0 and what the strategy adds.
	LiftLevel0
	// LiftAll takes everything.
	LiftAll
)

// NextLift picks the compaction that a message takes along with its files, and
// gives the files that are not in it too.
func (t *Tree) NextLift(now time.Time, what Lifting) (unit Unit, others []spec.DataFileMeta, ok bool) {
	if t.running || t.pending != nil {
		return Unit{}, nil, false
	}
	runs := Runs(t.live, t.order)
	switch what {
	case LiftAll:
		unit, ok = t.strategy.Full(runs, t.Stale)
	case LiftLevel0:
		unit, ok = t.strategy.Lift(runs, now)
	default:
		if unit, ok = t.strategy.next(runs, now); ok {
			unit = t.whole(unit, runs)
		}
	}
	if !ok {
		return Unit{}, nil, false
	}
	t.running = true
	return unit, t.outside(unit), true
}

// outside gives the live files that are not in unit.
func (t *Tree) outside(unit Unit) []spec.DataFileMeta {
	var out []spec.DataFileMeta
	for _, f := range t.live {
		if !slices.ContainsFunc(unit.Files, func(o spec.DataFileMeta) bool { return sameFile(&f, &o) }) {
			out = append(out, f)
		}
	}
	return out
}

// FinishLift ends the compaction of epoch id's own message; nil if it failed.
// It reports whether the result counts: not if inputs are no longer live.
func (t *Tree) FinishLift(id int64, c *Change) bool {
	t.running = false
	if c == nil || len(c.Before) == 0 || !t.has(c.Before) {
		return false
	}
	t.live, t.changed = apply(t.live, *c), true
	for i := range t.prepared {
		if t.prepared[i].id == id {
			t.prepared[i].lift = *c
			return true
		}
	}
	t.prepared = append(t.prepared, preparedChange{id: id, lift: *c})
	return true
}

// NextFull picks the compaction of everything.
func (t *Tree) NextFull() (unit Unit, ok bool) {
	if t.running || t.pending != nil {
		return Unit{}, false
	}
	if unit, ok = t.strategy.Full(Runs(t.live, t.order), t.Stale); ok {
		t.running = true
	}
	return unit, ok
}

// Finish ends the running compaction. It reports whether the result counts; if
// not, because the inputs are no longer live or c is nil, new files of it may be removed.
func (t *Tree) Finish(c *Change) bool {
	t.running = false
	if c == nil || len(c.Before) == 0 || !t.has(c.Before) {
		return false
	}
	t.pending = c
	return true
}

// Committed says that the message of epoch id is part of the table.
func (t *Tree) Committed(id int64) {
	t.prepared = slices.DeleteFunc(t.prepared, func(p preparedChange) bool { return p.id <= id })
}

// Reload takes the live files of the latest snapshot, after somebody else
// changed the bucket or a compaction was dropped. Messages prepared since go
// on top as far as they still fit; a compaction under way counts only if its
// inputs are still there when it ends.
func (t *Tree) Reload(live []spec.DataFileMeta) {
	t.live, t.changed = slices.Clone(live), true
	t.raise(live)
	for _, p := range t.prepared {
		if len(p.lift.Before) > 0 && len(p.lift.After) > 0 && t.has(p.lift.After) {
			continue // the snapshot holds all of the message
		}
		if len(p.Before) > 0 && t.has(p.Before) {
			t.live = apply(t.live, p.Change)
		}
		for _, f := range p.files {
			// The snapshot may hold the message already.
			if !t.has([]spec.DataFileMeta{f}) {
				t.live = append(t.live, f)
			}
		}
		if len(p.lift.Before) > 0 && t.has(p.lift.Before) {
			t.live = apply(t.live, p.lift)
		}
	}
	if t.pending != nil && !t.has(t.pending.Before) {
		t.pending = nil
	}
}

// Stalled reports that there are more runs than the stop trigger allows and a
// compaction that will make them fewer is under way.
func (t *Tree) Stalled() bool {
	return t.pick == nil && t.running && len(t.live) > t.strategy.opts.StopTrigger && len(Runs(t.live, t.order)) > t.strategy.opts.StopTrigger
}

// Quiet reports that nothing is under way or uncommitted.
func (t *Tree) Quiet() bool { return !t.running && t.pending == nil && len(t.prepared) == 0 }

// Settled reports that no message is prepared and not committed, nor a compaction under way.
func (t *Tree) Settled() bool { return !t.running && len(t.prepared) == 0 }

// Live gives the files the tree knows.
func (t *Tree) Live() []spec.DataFileMeta { return t.live }

func (t *Tree) has(files []spec.DataFileMeta) bool {
	return !slices.ContainsFunc(files, func(f spec.DataFileMeta) bool {
		return !slices.ContainsFunc(t.live, func(o spec.DataFileMeta) bool { return sameFile(&f, &o) })
	})
}

func apply(live []spec.DataFileMeta, c Change) []spec.DataFileMeta {
	out := slices.DeleteFunc(live, func(f spec.DataFileMeta) bool {
		return slices.ContainsFunc(c.Before, func(b spec.DataFileMeta) bool { return sameFile(&f, &b) })
	})
	return append(out, c.After...)
}

func sameFile(a, b *spec.DataFileMeta) bool { return a.FileName == b.FileName && a.Level == b.Level }

// TakePending gives a finished compaction that no message has, and forgets it.
func (t *Tree) TakePending() *Change {
	c := t.pending
	t.pending = nil
	return c
}
