package dataflow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/internal/dataflow"
	"leat/internal/dataflow/checkpoint"
	"leat/internal/diag"
	"leat/internal/fileio/local"
)

// events collects what the listener hears, as lines with the time since begin.
type events struct {
	mu    sync.Mutex
	begin time.Time
	lines []string
}

func (ev *events) add(format string, args ...any) {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	ev.lines = append(ev.lines, fmt.Sprintf("%s ", time.Since(ev.begin))+fmt.Sprintf(format, args...))
}

func (ev *events) listener() dataflow.Listener {
	ev.begin = time.Now()
	return dataflow.Listener{
		CheckpointDue:       func(e dataflow.CheckpointDue) { ev.add("due %d", e.ID) },
		CheckpointStarted:   func(e dataflow.CheckpointStarted) { ev.add("started %d after %s", e.ID, e.Waited) },
		CheckpointCompleted: func(e dataflow.CheckpointCompleted) { ev.add("completed %d rows=%d epochs=%d", e.ID, e.Rows, e.Epochs) },
		CheckpointFailed:    func(e dataflow.CheckpointFailed) { ev.add("failed %d (%d in a row)", e.ID, e.InARow) },
		CheckpointSkipped:   func(e dataflow.CheckpointSkipped) { ev.add("skipped %d", e.ID) },
		Committed:           func(e dataflow.Committed) { ev.add("committed %d tries=%d snapshot=%d", e.ID, e.Tries, e.Snapshot) },
	}
}

func (ev *events) want(t *testing.T, want ...string) {
	t.Helper()
	ev.mu.Lock()
	defer ev.mu.Unlock()
	got := ev.lines[:min(len(ev.lines), len(want))]
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

func TestBarrierWaitsForTheEndOfATransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ev events
		// Batches of a transaction come a second apart, so that one of 20 batches lasts
		// 20 s: longer than interval and time-out together.
		j := &job{
			src: &counting{total: 400, transaction: 200, batch: 10, hold: func(context.Context, int64) error {
				time.Sleep(time.Second)
				return nil
			}},
			sink: &sink{target: newTarget()}, dir: t.TempDir(), listen: ev.listener(),
			cfg: dataflow.Config{Interval: 3 * time.Second, InitialDelay: 3500 * time.Millisecond, Timeout: time.Second},
		}
		e, err := j.start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- e.Run(t.Context()) }()
		time.Sleep(10*time.Second + time.Millisecond)
		s := e.Stats()
		if s.Checkpoints.Phase != "due" || s.Sources[0].TransactionRows != 110 {
			t.Errorf("stats in the transaction: %+v, %+v", s.Checkpoints, s.Sources[0])
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		ev.want(t, "3.5s due 1", "20s started 1 after 16.5s", "20s completed 1 rows=200 epochs=1", "20s committed 1 tries=1 snapshot=1",
			"20s due 2", "40s started 2 after 20s", "40s completed 2 rows=200 epochs=1", "40s committed 2 tries=1 snapshot=2")
		// The last one finds the source at its end.
		if want := []int64{200, 400, 400}; !slices.Equal(j.src.edges, want) {
			t.Errorf("barriers at %v, want %v", j.src.edges, want)
		}
		j.sink.target.checkExactlyOnce(t, 400)
	})
}

func TestIdleSourceWritesNoEntries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ev events
		j := &job{
			src: &counting{total: 10, transaction: 10, batch: 10, idle: true}, sink: &sink{target: newTarget()}, dir: t.TempDir(), listen: ev.listener(),
			cfg: dataflow.Config{Interval: 10 * time.Second, InitialDelay: time.Second},
		}
		e, err := j.start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- e.Run(t.Context()) }()
		time.Sleep(45 * time.Second)
		if s := e.Stats().Checkpoints; s.Completed != 2 || s.Skipped != 3 || s.LastID != 2 {
			t.Errorf("stats %+v", s)
		}
		e.Stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		// The second entry records that the committables of the first are committed.
		ev.want(t, "1s due 1", "1s started 1 after 0s", "1s completed 1 rows=10 epochs=1", "1s committed 1 tries=1 snapshot=1",
			"11s due 2", "11s started 2 after 0s", "11s completed 2 rows=0 epochs=1", "11s committed 2 tries=1 snapshot=1",
			"21s due 3", "21s started 3 after 0s", "21s skipped 3", "31s due 4")
	})
}

func TestSlowAcknowledgementFailsTheCheckpointAndRides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ev events
		tgt := newTarget()
		// Epoch 1 takes 25 s to become durable, all others no time.
		slow := func(_ context.Context, id dataflow.CheckpointID) error {
			if id == 1 {
				time.Sleep(25 * time.Second)
			}
			return nil
		}
		j := &job{
			src: &counting{total: 400, transaction: 10, batch: 10, pause: time.Second}, sink: &sink{target: tgt, wait: slow}, dir: t.TempDir(),
			cfg: dataflow.Config{
				Interval: 10 * time.Second, InitialDelay: 500 * time.Millisecond, Timeout: 5 * time.Second,
				MinPause: 7 * time.Second, TolerableFailures: 2,
			}, listen: ev.listener(),
		}
		if err := j.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		// 500ms + 25s is when epoch 1 is durable: the third checkpoint completes then and carries three.
		ev.want(t, "500ms due 1", "500ms started 1 after 0s", "5.5s failed 1 (1 in a row)",
			"12.5s due 2", "12.5s started 2 after 0s", "17.5s failed 2 (2 in a row)",
			"24.5s due 3", "24.5s started 3 after 0s", "25.5s completed 3 rows=120 epochs=3", "25.5s committed 3 tries=1 snapshot=3",
			"34.5s due 4", "34.5s started 4 after 0s", "34.5s completed 4 rows=100 epochs=1")
		tgt.checkExactlyOnce(t, 400)
	})
}

func TestFailuresBeyondTheToleratedEndTheJob(t *testing.T) {
	t.Parallel()
	for _, tolerable := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			var ev events
			j := &job{
				src: &counting{total: 1 << 40, transaction: 10, batch: 10, pause: time.Second}, dir: t.TempDir(), listen: ev.listener(),
				sink: &sink{target: newTarget(), wait: func(ctx context.Context, _ dataflow.CheckpointID) error {
					<-ctx.Done()
					return ctx.Err()
				}},
				cfg: dataflow.Config{Interval: 10 * time.Second, Timeout: 5 * time.Second, TolerableFailures: tolerable},
			}
			err := j.run(t.Context())
			if !isCode(err, diag.CodeCheckpoint) || !diag.Retryable(err) {
				t.Fatalf("error %v", err)
			}
			if n := len(slices.DeleteFunc(ev.lines, func(s string) bool { return !strings.Contains(s, "failed") })); n != tolerable+1 {
				t.Errorf("%d failed checkpoints, want %d", n, tolerable+1)
			}
		})
	}
}

func TestRetryablePrepareErrorIsTriedAgainAndRides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ev events
		tgt := newTarget()
		var tries atomic.Int32
		j := &job{
			src: &counting{total: 100, transaction: 10, batch: 10, pause: time.Second}, dir: t.TempDir(), listen: ev.listener(), subtasks: 2,
			sink: &sink{target: tgt, wait: func(_ context.Context, id dataflow.CheckpointID) error {
				if id == 1 && tries.Add(1) == 1 {
					return retryable("store is away")
				}
				return nil
			}},
			cfg: dataflow.Config{Interval: 3 * time.Second, InitialDelay: 1500 * time.Millisecond, TolerableFailures: 1},
		}
		if err := j.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		ev.want(t, "1.5s due 1", "1.5s started 1 after 0s", "1.5s failed 1 (1 in a row)",
			"4.5s due 2", "4.5s started 2 after 0s", "4.5s completed 2 rows=30 epochs=2", "4.5s committed 2 tries=1 snapshot=2")
		tgt.checkExactlyOnce(t, 100)
	})
}

func TestFailingCommitHoldsTheNextBarrier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ev events
		tgt := newTarget()
		until := time.Now().Add(20 * time.Second)
		j := &job{
			src: &counting{total: 400, transaction: 10, batch: 10, pause: time.Second}, dir: t.TempDir(), listen: ev.listener(),
			sink: &sink{target: tgt, commitErr: func(dataflow.CheckpointID) error {
				if time.Now().Before(until) {
					return retryable("store is away")
				}
				return nil
			}},
			cfg: dataflow.Config{Interval: time.Second, InitialDelay: 1500 * time.Millisecond, RetryBackoff: time.Second, MaxRetryBackoff: 4 * time.Second},
		}
		if err := j.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		ev.want(t, "1.5s due 1", "1.5s started 1 after 0s", "1.5s completed 1 rows=20 epochs=1",
			"20.5s committed 1 tries=7 snapshot=1", "20.5s due 2")
		tgt.checkExactlyOnce(t, 400)
	})
}

func TestCommitErrorThatNoRetryCuresEndsTheJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &job{
			src: &counting{total: 10, transaction: 10, batch: 10}, dir: t.TempDir(),
			sink: &sink{target: newTarget(), commitErr: func(dataflow.CheckpointID) error { return errors.New("no such table") }},
		}
		err := j.run(t.Context())
		if err == nil || err.Error() != "operator sink: committing checkpoint 1: no such table" {
			t.Fatalf("error %v", err)
		}
	})
}

func TestFencedExecutionStopsAndDeletesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tgt := newTarget()
		j := &job{
			src: &counting{total: 1 << 40, transaction: 10, batch: 10, pause: time.Second}, sink: &sink{target: tgt}, dir: t.TempDir(),
			cfg: dataflow.Config{Interval: 10 * time.Second, InitialDelay: 10 * time.Second},
		}
		go func() {
			time.Sleep(25 * time.Second)
			other, err := checkpoint.Open(t.Context(), local.New(), j.dir, checkpoint.Options{})
			if err == nil {
				err = other.TakeOver(t.Context(), checkpoint.Takeover{Owner: checkpoint.Owner{Host: "elsewhere", PID: 7, Since: time.Now()}, Attempt: "other", CommitUser: "user"})
			}
			if err != nil {
				t.Error(err)
			}
		}()
		err := j.run(t.Context())
		if !isCode(err, diag.CodeJobFenced) || !errors.Is(err, checkpoint.ErrFenced) || diag.DomainOf(err) != diag.Guard {
			t.Fatalf("error %v", err)
		}
		if len(tgt.snapshots) != 2 || len(tgt.files) != 3 {
			t.Errorf("%d snapshots of %d files, want 2 of 3", len(tgt.snapshots), len(tgt.files))
		}
	})
}

func TestTriggerNowCommitsBeforeItReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tgt := newTarget()
		j := &job{
			src:  &counting{total: 1 << 40, transaction: 10, batch: 10, pause: time.Second},
			sink: &sink{target: tgt, wait: func(context.Context, dataflow.CheckpointID) error { time.Sleep(2 * time.Second); return nil }},
			dir:  t.TempDir(), cfg: dataflow.Config{Interval: 20 * time.Second, InitialDelay: 30 * time.Second},
		}
		e, err := j.start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- e.Run(t.Context()) }()
		// The second call comes while a periodic checkpoint is under way: that one began
		// before the call and does not count.
		for i, at := range []time.Duration{5500 * time.Millisecond, 19 * time.Second} {
			time.Sleep(at)
			if err := e.TriggerNow(t.Context()); err != nil {
				t.Fatal(err)
			}
			tgt.mu.Lock()
			if n := len(tgt.snapshots); n != 1+2*i {
				t.Errorf("call %d: %d snapshots", i, n)
			}
			tgt.mu.Unlock()
		}
		e.Stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		tgt.checkExactlyOnce(t, j.src.next)
	})
}

func TestShortIntervalHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tgt := newTarget()
		j := &job{
			src: &counting{total: 10000, transaction: 10, batch: 5, pause: 10 * time.Millisecond}, sink: &sink{target: tgt}, dir: t.TempDir(), subtasks: 2,
			cfg: dataflow.Config{Interval: 100 * time.Millisecond},
		}
		if err := j.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		tgt.checkExactlyOnce(t, 10000)
		if n := len(tgt.snapshots); n != 100 {
			t.Errorf("%d snapshots in 10 s, want 100", n)
		}
	})
}

func TestFatalCommitEndsOthersThatRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := &sink{target: newTarget(), attempt: "a", commitErr: func(dataflow.CheckpointID) error { return retryable("store is away") }}
		gone := &sink{target: newTarget(), attempt: "b", commitErr: func(dataflow.CheckpointID) error {
			time.Sleep(time.Minute)
			return errors.New("no such table")
		}}
		e, err := dataflow.NewExecution(dataflow.Graph{
			Sources:   []dataflow.SourceNode{{UID: "src", Reader: &counting{total: 1 << 40, transaction: 10, batch: 10, pause: time.Second}, Ports: 1}},
			Pipelines: []dataflow.Pipeline{{UID: "p1", Source: "src", Sink: "away"}, {UID: "p2", Source: "src", Sink: "gone"}},
			Sinks:     []dataflow.SinkNode{{UID: "away", Sink: away}, {UID: "gone", Sink: gone}},
		}, dataflow.Config{Interval: time.Second}, &memLog{}, dataflow.Restore{}, dataflow.Listener{})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(t.Context()); err == nil || err.Error() != "operator gone: committing checkpoint 1: no such table" {
			t.Fatalf("error %v", err)
		}
	})
}
