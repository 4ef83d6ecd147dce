package checkpoint

import (
	"context"
	"fmt"
	"slices"

	"leat/internal/dataflow"
)

// Latest gives the newest completed checkpoint that counts, nil if there is none.
func (s *Store) Latest() *Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return latest(s.entries)
}

func latest(entries []Entry) *Entry {
	c := completed(entries)
	if len(c) == 0 {
		return nil
	}
	return &c[len(c)-1]
}

// completed gives the entries with a checkpoint that counts, oldest first: those
// after the last fresh takeover, from the last restore on.
func completed(entries []Entry) []Entry {
	var out []Entry
	for i := range entries {
		switch e := &entries[i]; e.Kind {
		case KindCheckpoint, KindSavepoint:
			out = append(out, *e)
		case KindRestore:
			out = []Entry{*e}
		case KindTakeover:
			if e.Fresh {
				out = nil
			}
		}
	}
	return out
}

// Restore gives the place from which a job goes on as d says. It is called after
// TakeOver. A refusal is returned as it is; a fresh start needs a log without a
// checkpoint that counts, so over an old job a fresh takeover.
func (s *Store) Restore(d Decision) (dataflow.Restore, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := dataflow.Restore{NextID: nextID(s.entries), DeadAttempts: deadAttempts(s.entries, s.attempt)}
	counting := completed(s.entries)
	switch d.Action {
	case Refuse:
		return r, d.Reason
	case Fresh:
		if len(counting) > 0 {
			return r, fmt.Errorf("starting fresh: checkpoint %d still counts", counting[len(counting)-1].Checkpoint.ID)
		}
		return r, nil
	case RestoreAt:
	}
	for _, e := range counting {
		if e.Checkpoint.ID == d.ID {
			r.Checkpoint = e.Checkpoint
			return r, nil
		}
	}
	return r, fmt.Errorf("restoring checkpoint %d: it is not in the log", d.ID)
}

func nextID(entries []Entry) dataflow.CheckpointID {
	next := dataflow.CheckpointID(1)
	for i := range entries {
		if c := entries[i].Checkpoint; c != nil {
			next = max(next, c.ID+1)
		}
	}
	return next
}

// deadAttempts lists the attempts that may have left files. Who writes a
// checkpoint has recovered its sinks before, and so removed the files of all
// attempts before it: the list is the author of the newest checkpoint and every
// takeover after that, own excepted.
func deadAttempts(entries []Entry, own string) []string {
	from := 0
	for i := range entries {
		if entries[i].completes() {
			from = i
		}
	}
	var out []string
	seen := map[string]bool{own: true}
	for _, e := range entries[from:] {
		if e.Attempt != "" && !seen[e.Attempt] {
			seen[e.Attempt] = true
			out = append(out, e.Attempt)
		}
	}
	return out
}

// oldestNeeded gives the number from which on entries are needed once e is
// written: that of the oldest checkpoint to keep.
func (s *Store) oldestNeeded(e Entry) int64 {
	all := append(slices.Clip(s.entries), e)
	if c := completed(all); e.completes() && len(c) >= s.opt.Retain {
		return c[len(c)-s.opt.Retain].Number
	}
	return all[0].Number
}

// prune removes the entries that the newest does not need, oldest first. What
// cannot be removed now is tried again after the next checkpoint.
func (s *Store) prune(ctx context.Context) {
	oldest := s.entries[len(s.entries)-1].Oldest
	i := slices.IndexFunc(s.entries, func(e Entry) bool { return e.Number >= oldest })
	for _, e := range s.entries[:i] {
		s.superseded = append(s.superseded, e.Number)
	}
	s.entries = slices.Clone(s.entries[i:])
	for len(s.superseded) > 0 {
		n := s.superseded[0]
		if err := s.fs.Remove(ctx, s.path(n)); err != nil {
			s.opt.Log.Warn("old checkpoint entry not removed", "entry", n, "error", err)
			return
		}
		s.superseded = s.superseded[1:]
	}
}
