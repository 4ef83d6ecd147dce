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
}

// preparedChange is what a message that is not committed yet does to the files.
type preparedChange struct {
	id    int64
	files []spec.DataFileMeta
	Change
}

// NewTree makes the tree over the live files of a bucket.
func NewTree(live []spec.DataFileMeta, order *KeyOrder, o UniversalOptions) *Tree {
	t := &Tree{order: order, strategy: NewUniversal(o), live: slices.Clone(live), changed: true}
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
		unit, ok = t.strategy.Pick(Runs(t.live, t.order), now)
	}
	t.running, t.changed = ok, ok
	return unit, ok
}

// NextFull picks the compaction of everything.
func (t *Tree) NextFull() (unit Unit, ok bool) {
	if t.running || t.pending != nil {
		return Unit{}, false
	}
	if unit, ok = t.strategy.Full(Runs(t.live, t.order)); ok {
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
		if len(p.Before) > 0 && t.has(p.Before) {
			t.live = apply(t.live, p.Change)
		}
		for _, f := range p.files {
			// The snapshot may hold the message already.
			if !t.has([]spec.DataFileMeta{f}) {
				t.live = append(t.live, f)
			}
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
