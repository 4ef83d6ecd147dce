package dataflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"leat/internal/dataflow"
	"leat/internal/dataflow/checkpoint"
	"leat/internal/fileio/local"
)

// growing is a counting source that adds a port with a sink of its own in the
// middle: the sink gets what was counted before, as a snapshot, and what follows.
type growing struct {
	counting
	at    int64
	grown bool
	add   func() *dataflow.Growth
}

type growingState struct {
	Next  int64 `json:"next"`
	Grown bool  `json:"grown"`
}

func (g *growing) Open(_ context.Context, restored json.RawMessage) error {
	var s growingState
	if restored != nil {
		if err := json.Unmarshal(restored, &s); err != nil {
			return err
		}
	}
	g.next, g.grown = s.Next, s.Grown
	return nil
}

func (g *growing) SnapshotState(ctx context.Context, id dataflow.CheckpointID) (dataflow.SourceState, error) {
	s, err := g.counting.SnapshotState(ctx, id)
	if err == nil {
		s.Data, err = json.Marshal(growingState{g.next, g.grown})
	}
	return s, err
}

func (g *growing) Run(ctx context.Context, out dataflow.Collector) error {
	for g.next < g.total {
		if g.next >= g.at && !g.grown {
			if err := g.grow(ctx, out); err != nil {
				return err
			}
		}
		if err := g.oneTransaction(ctx, out); err != nil {
			return err
		}
		if err := out.Edge(ctx); err != nil {
			return err
		}
		if err := g.rest(ctx, out, g.pause); err != nil {
			return err
		}
	}
	return nil
}

// grow adds the port, with a barrier under way or not as it comes.
func (g *growing) grow(ctx context.Context, out dataflow.Collector) error {
	if err := out.(dataflow.Grower).Grow(ctx, g.add()); err != nil {
		return err
	}
	g.grown, g.ports = true, 2
	var before []int64
	for v := range g.next {
		before = append(before, v)
	}
	g.open = true // until the end of the next transaction
	return out.Emit(ctx, 1, batchOf(nil, before...))
}

// grownJob runs a growing source; a run that begins from a state with the second
// sink has it from the start.
func grownJob(ctx context.Context, dir string, attempt int, at int64, one, two *target, c *crasher) error {
	store, err := checkpoint.Open(ctx, local.New(), dir, checkpoint.Options{})
	if err != nil {
		return err
	}
	uuid := fmt.Sprintf("attempt%d", attempt)
	if err := store.TakeOver(ctx, checkpoint.Takeover{Owner: checkpoint.Self(), Attempt: uuid, CommitUser: "user"}); err != nil {
		return err
	}
	facts := store.Facts()
	facts.Sources, facts.Sinks = []string{"src"}, []string{"one", "two"}
	restore, err := store.Restore(checkpoint.Decide(facts))
	if err != nil {
		return err
	}
	// A slow first sink leaves barriers in the stream for some time.
	slow := func(context.Context, dataflow.CheckpointID) error {
		time.Sleep(45 * time.Millisecond)
		return nil
	}
	first := &sink{target: one, attempt: uuid, crash: c, wait: slow}
	second := dataflow.SinkNode{UID: "two", Sink: &sink{target: two, attempt: uuid, crash: c}}
	lead := dataflow.Pipeline{UID: "calc-2", Source: "src", Port: 1, Sink: "two"}
	src := &growing{counting: counting{total: 300, transaction: 20, batch: 7, pause: 30 * time.Millisecond}, at: at}
	src.add = func() *dataflow.Growth {
		return &dataflow.Growth{Ports: 1, Pipelines: []dataflow.Pipeline{lead}, Sinks: []dataflow.SinkNode{second}}
	}
	g := dataflow.Graph{
		Sources:   []dataflow.SourceNode{{UID: "src", Reader: src, Ports: 1}},
		Pipelines: []dataflow.Pipeline{{UID: "calc", Source: "src", Sink: "one"}},
		Sinks:     []dataflow.SinkNode{{UID: "one", Sink: first}},
	}
	if restore.Checkpoint != nil {
		var s growingState
		if err := json.Unmarshal(restore.Checkpoint.Sources["src"].Data, &s); err != nil {
			return err
		}
		if s.Grown {
			g.Sources[0].Ports, src.ports = 2, 2
			g.Pipelines, g.Sinks = append(g.Pipelines, lead), append(g.Sinks, second)
		}
	}
	cfg := dataflow.Config{Interval: 70 * time.Millisecond, InitialDelay: 50 * time.Millisecond}
	e, err := dataflow.NewExecution(g, cfg, &crashingLog{Store: store, crash: c}, restore, dataflow.Listener{})
	if err != nil {
		return err
	}
	return e.Run(ctx)
}

// TestGrowsExactlyOnce lets a job grow by a sink, before, beside and after a
// barrier, and die at every step of it and of the next run.
func TestGrowsExactlyOnce(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{20, 40, 60, 80, 100} {
		steps := &crasher{}
		synctest.Test(t, func(t *testing.T) {
			one, two := newTarget(), newTarget()
			if err := grownJob(t.Context(), t.TempDir(), 1, at, one, two, steps); err != nil {
				t.Fatal(err)
			}
			one.checkExactlyOnce(t, 300)
			two.checkExactlyOnce(t, 300)
			if len(two.snapshots) < 3 {
				t.Errorf("%d snapshots", len(two.snapshots))
			}
		})
		if len(steps.steps) < 30 {
			t.Fatalf("only %d steps: %v", len(steps.steps), steps.steps)
		}
		for first := 1; first <= len(steps.steps); first++ {
			synctest.Test(t, func(t *testing.T) {
				one, two, dir := newTarget(), newTarget(), t.TempDir()
				for attempt, step := range []int{first, 1 + first%7, 0} {
					err := grownJob(t.Context(), dir, attempt, at, one, two, &crasher{at: step})
					if step > 0 && !errors.Is(err, errCrash) {
						t.Fatalf("crash at step %d: %v", step, err)
					}
					if step == 0 && err != nil {
						t.Fatal(err)
					}
				}
				one.checkExactlyOnce(t, 300)
				two.checkExactlyOnce(t, 300)
			})
		}
	}
}

// TestGrowthThatFailsChangesNothing lets the new sink refuse: the job goes on without it.
func TestGrowthThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := newTarget()
		refused := &sink{target: newTarget(), crash: &crasher{at: 1}}
		src := &growing{counting: counting{total: 200, transaction: 20, batch: 7, pause: 30 * time.Millisecond}, at: 100}
		tried := 0
		src.add = func() *dataflow.Growth {
			tried++
			return &dataflow.Growth{
				Ports: 1, Pipelines: []dataflow.Pipeline{{UID: "calc-2", Source: "src", Port: tried, Sink: "two"}},
				Sinks: []dataflow.SinkNode{{UID: "two", Sink: refused}},
			}
		}
		g := dataflow.Graph{
			Sources:   []dataflow.SourceNode{{UID: "src", Reader: tolerant{src}, Ports: 1}},
			Pipelines: []dataflow.Pipeline{{UID: "calc", Source: "src", Sink: "one"}},
			Sinks:     []dataflow.SinkNode{{UID: "one", Sink: &sink{target: one}}},
		}
		e, err := dataflow.NewExecution(g, dataflow.Config{Interval: 50 * time.Millisecond}, &memLog{}, dataflow.Restore{DeadAttempts: []string{"x"}}, dataflow.Listener{})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		one.checkExactlyOnce(t, 200)
		if n := len(e.Stats().Sinks); n != 1 || tried != 1 || refused.closed != 1 {
			t.Errorf("%d sinks, %d tries, closed %d times", n, tried, refused.closed)
		}
	})
}

// tolerant goes on without the growth where it is refused.
type tolerant struct{ *growing }

func (s tolerant) Run(ctx context.Context, out dataflow.Collector) error {
	err := s.growing.Run(ctx, out)
	if errors.Is(err, errCrash) {
		s.at = 1 << 40
		return s.growing.Run(ctx, out)
	}
	return err
}
