package dataflow_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"leat/internal/dataflow"
	"leat/internal/diag"
)

func TestBoundedSourceEndsWithACheckpointWhateverTheInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tgt := newTarget()
		j := &job{
			src: &counting{total: 1000, transaction: 70, batch: 30}, sink: &sink{target: tgt}, dir: t.TempDir(), subtasks: 2,
			cfg: dataflow.Config{Interval: time.Hour, InitialDelay: time.Hour},
		}
		begin := time.Now()
		if err := j.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		tgt.checkExactlyOnce(t, 1000)
		if len(tgt.snapshots) != 1 || time.Since(begin) != 0 {
			t.Errorf("%d snapshots after %s, want one at once", len(tgt.snapshots), time.Since(begin))
		}
		if j.sink.closed != 1 {
			t.Errorf("the sink was closed %d times", j.sink.closed)
		}
	})
}

func TestCrashAtEveryStepIsExactlyOnce(t *testing.T) {
	t.Parallel()
	build := func(dir string, tgt *target, c *crasher) *job {
		return &job{
			src:  &counting{total: 600, transaction: 20, batch: 7, pause: 30 * time.Millisecond},
			sink: &sink{target: tgt, crash: c}, dir: dir, subtasks: 2,
			cfg: dataflow.Config{Interval: 100 * time.Millisecond, InitialDelay: 50 * time.Millisecond},
		}
	}
	steps := &crasher{}
	synctest.Test(t, func(t *testing.T) {
		if err := build(t.TempDir(), newTarget(), steps).run(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if len(steps.steps) < 40 {
		t.Fatalf("only %d steps: %v", len(steps.steps), steps.steps)
	}
	for first := 1; first <= len(steps.steps); first++ {
		synctest.Test(t, func(t *testing.T) {
			tgt, dir := newTarget(), t.TempDir()
			// The second attempt dies early too, often within recovery.
			for attempt, at := range []int{first, 1 + first%7, 0} {
				j := build(dir, tgt, &crasher{at: at})
				j.attempts = attempt
				err := j.run(t.Context())
				if at > 0 && !errors.Is(err, errCrash) {
					t.Fatalf("crash at step %d: %v", at, err)
				}
				if at == 0 && err != nil {
					t.Fatal(err)
				}
			}
			tgt.checkExactlyOnce(t, 600)
		})
	}
}

func TestStopMakesAFinalCheckpoint(t *testing.T) {
	t.Parallel()
	for _, idle := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			tgt := newTarget()
			src := &counting{total: 1 << 40, transaction: 10, batch: 10, pause: time.Second, idle: true}
			if idle {
				src.total = 50
			}
			j := &job{src: src, sink: &sink{target: tgt}, dir: t.TempDir(), cfg: dataflow.Config{Interval: time.Hour, InitialDelay: time.Hour}}
			e, err := j.start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() { done <- e.Run(t.Context()) }()
			time.Sleep(2*time.Minute + time.Millisecond)
			e.Stop()
			e.Stop()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			tgt.checkExactlyOnce(t, src.next)
			if err := e.TriggerNow(t.Context()); !errors.Is(err, dataflow.ErrStopped) {
				t.Errorf("a checkpoint after the end: %v", err)
			}
		})
	}
}

func TestCancelCommitsNothingMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tgt := newTarget()
		j := &job{
			src: &counting{total: 1 << 40, transaction: 10, batch: 10, pause: time.Second}, sink: &sink{target: tgt}, dir: t.TempDir(),
			cfg: dataflow.Config{Interval: 10 * time.Second, InitialDelay: 10 * time.Second},
		}
		cause := errors.New("killed")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(35 * time.Second)
			cancel(cause)
		}()
		if err := j.run(ctx); !errors.Is(err, cause) {
			t.Fatalf("Run gave %v", err)
		}
		if len(tgt.snapshots) != 3 {
			t.Errorf("%d snapshots, want 3", len(tgt.snapshots))
		}
	})
}

func TestErrorsCarryTheOperator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &job{
			src:  &counting{total: 100, transaction: 10, batch: 10},
			sink: &sink{target: newTarget(), write: func(context.Context) error { return errors.New("disk on fire") }},
			dir:  t.TempDir(), cfg: dataflow.Config{Interval: time.Second},
		}
		err := j.run(t.Context())
		if err == nil || err.Error() != "operator sink: disk on fire" {
			t.Fatalf("error %v", err)
		}
	})
}

func TestGraphsThatCannotRunAreRefused(t *testing.T) {
	t.Parallel()
	src := dataflow.SourceNode{UID: "s", Reader: &counting{}, Ports: 1}
	snk := dataflow.SinkNode{UID: "k", Sink: &sink{}, Parallelism: 2}
	for want, g := range map[string]dataflow.Graph{
		"no source":   {},
		"used twice":  {Sources: []dataflow.SourceNode{src, src}},
		"port 1":      {Sources: []dataflow.SourceNode{src}, Sinks: []dataflow.SinkNode{snk}, Pipelines: []dataflow.Pipeline{{UID: "p", Source: "s", Port: 1, Sink: "k"}}},
		"not a sink":  {Sources: []dataflow.SourceNode{src}, Pipelines: []dataflow.Pipeline{{UID: "p", Source: "s", Sink: "k"}}},
		"no router":   {Sources: []dataflow.SourceNode{src}, Sinks: []dataflow.SinkNode{snk}, Pipelines: []dataflow.Pipeline{{UID: "p", Source: "s", Sink: "k"}}},
		"no pipeline": {Sources: []dataflow.SourceNode{src}, Sinks: []dataflow.SinkNode{snk}},
	} {
		if _, err := dataflow.NewExecution(g, dataflow.Config{}, nil, dataflow.Restore{}, dataflow.Listener{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func isCode(err error, code diag.Code) bool {
	var e *diag.Error
	return errors.As(err, &e) && e.Code == code
}
