package job

import (
	"testing"

	"leat/internal/dataflow"
)

// TestProgressedWaitsForACommitThatBeganAfterTheRead walks through checkpoints: in
// each list of statuses all but the last one are too early.
func TestProgressedWaitsForACommitThatBeganAfterTheRead(t *testing.T) {
	t.Parallel()
	at := func(completed, skipped, current int64, phase string) dataflow.CheckpointStats {
		return dataflow.CheckpointStats{Completed: completed, Skipped: skipped, Current: dataflow.CheckpointID(current), Phase: phase}
	}
	for name, steps := range map[string][]dataflow.CheckpointStats{
		"between two":          {at(3, 0, 0, ""), at(3, 0, 4, "due"), at(3, 0, 4, "running"), at(4, 0, 4, "committing"), at(4, 0, 0, "")},
		"while one is due":     {at(3, 0, 4, "due"), at(4, 0, 4, "committing"), at(4, 0, 0, ""), at(4, 0, 5, "running"), at(5, 0, 5, "committing"), at(5, 0, 0, "")},
		"during a commit":      {at(4, 0, 4, "committing"), at(4, 0, 0, ""), at(4, 0, 5, "running"), at(5, 0, 5, "committing"), at(5, 0, 6, "due")},
		"nothing is to do":     {at(4, 7, 0, ""), at(4, 7, 12, "running"), at(4, 8, 0, "")},
		"the job is restarted": {at(4, 0, 0, ""), at(0, 0, 5, "running"), at(1, 0, 5, "committing"), at(1, 0, 0, ""), at(1, 1, 0, "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Progressed{Read: func(*Status) bool { return true }}
			for i, c := range steps {
				s := Status{Stats: dataflow.Stats{Checkpoints: c}}
				if done := w.Committed(&s); done != (i == len(steps)-1) {
					t.Errorf("status %d: %v", i, done)
				}
			}
		})
	}
}
