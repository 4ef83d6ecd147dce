package dataflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"leat/internal/dataflow"
	"leat/internal/diag"
)

// keeping is a sink that holds savepoints by the number of snapshots.
type keeping struct {
	*sink
	held map[string]int
	// holdErr is given by the first calls of Hold.
	holdErr []error
}

func (k *keeping) Hold(_ context.Context, name string, last *dataflow.Epoch) (json.RawMessage, error) {
	if len(k.holdErr) > 0 {
		err := k.holdErr[0]
		k.holdErr = k.holdErr[1:]
		return nil, err
	}
	k.target.mu.Lock()
	defer k.target.mu.Unlock()
	k.held[name] = len(k.target.snapshots)
	return json.Marshal(last.ID)
}

func (k *keeping) Release(_ context.Context, name string) error { delete(k.held, name); return nil }

// begin runs the job with k in place of its sink.
func (k *keeping) begin(t *testing.T, j *job) (*dataflow.Execution, chan error) {
	t.Helper()
	j.keeper = k
	e, err := j.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- e.Run(t.Context()) }()
	return e, done
}

func newKeeping() *keeping {
	return &keeping{sink: &sink{target: newTarget()}, held: map[string]int{}}
}

func TestSavepointWaitsForTransactionAndCommitRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeping()
		failures := 3
		k.commitErr = func(dataflow.CheckpointID) error {
			if failures--; failures >= 0 {
				return retryable("store is away")
			}
			return nil
		}
		j := &job{
			src: &counting{total: 1 << 40, transaction: 100, batch: 10, hold: func(context.Context, int64) error {
				time.Sleep(time.Second)
				return nil
			}},
			sink: k.sink, dir: t.TempDir(), cfg: dataflow.Config{Interval: time.Hour, InitialDelay: time.Hour},
		}
		e, done := k.begin(t, j)
		time.Sleep(4500 * time.Millisecond)
		var written *dataflow.Savepoint
		rows := 0
		tries := 0
		err := e.Savepoint(t.Context(), dataflow.SavepointRequest{
			SavepointRef: dataflow.SavepointRef{Name: "s", Path: "/s"},
			Write: func(_ context.Context, s *dataflow.Savepoint) error {
				if tries++; tries == 1 {
					return retryable("no space")
				}
				written, rows = s, len(k.target.rows(len(k.target.snapshots)-1))
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		var state countingState
		if err := json.Unmarshal(written.Checkpoint.Sources["src"].Data, &state); err != nil {
			t.Fatal(err)
		}
		if state.Next != 100 || rows != 100 || k.held["s"] != 1 || string(written.Held["sink"]) != "1" || written.Checkpoint.Savepoint.Path != "/s" {
			t.Errorf("savepoint at %d with %d rows, held %v, written %+v", state.Next, rows, k.held, written)
		}
		e.Stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func TestStopWithSavepointIsTheLastCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeping()
		j := &job{
			src: &counting{total: 1 << 40, transaction: 10, batch: 10, pause: time.Second}, sink: k.sink, dir: t.TempDir(),
			cfg: dataflow.Config{Interval: 3 * time.Second},
		}
		e, done := k.begin(t, j)
		time.Sleep(10 * time.Second)
		at := 0
		err := e.Savepoint(t.Context(), dataflow.SavepointRequest{
			SavepointRef: dataflow.SavepointRef{Name: "s"}, Stop: true,
			Write: func(_ context.Context, s *dataflow.Savepoint) error { at = int(s.Checkpoint.ID); return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		last := k.target.snapshots[len(k.target.snapshots)-1]
		if int(last.epoch) != at || k.held["s"] != len(k.target.snapshots) {
			t.Errorf("the savepoint is of checkpoint %d and holds %v, the last commit is of %d", at, k.held, last.epoch)
		}
		k.target.checkExactlyOnce(t, j.src.next)
		if err := e.Savepoint(t.Context(), dataflow.SavepointRequest{}); !errors.Is(err, dataflow.ErrStopped) {
			t.Errorf("a savepoint of an ended execution: %v", err)
		}
	})
}

func TestFailedSavepointLetsGo(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]bool{"and the job goes on": false, "and the job restarts": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKeeping()
				j := &job{
					src: &counting{total: 1 << 40, transaction: 10, batch: 10, pause: time.Second}, sink: k.sink, dir: t.TempDir(),
					cfg: dataflow.Config{Interval: 3 * time.Second},
				}
				e, done := k.begin(t, j)
				time.Sleep(time.Second)
				err := e.Savepoint(t.Context(), dataflow.SavepointRequest{
					SavepointRef: dataflow.SavepointRef{Name: "s"}, Stop: stop,
					Write: func(context.Context, *dataflow.Savepoint) error { return errors.New("read-only") },
				})
				if err == nil || len(k.held) != 0 {
					t.Fatalf("error %v, still held %v", err, k.held)
				}
				if stop {
					if err := <-done; !diag.Retryable(err) {
						t.Fatalf("the execution ended with %v", err)
					}
					return
				}
				before := k.LastSnapshot()
				time.Sleep(10 * time.Second)
				if k.LastSnapshot() <= before {
					t.Error("no commit after the failed savepoint")
				}
				e.Stop()
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func TestAbandonedSavepointsReachTheSinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeping()
		j := &job{src: &counting{total: 10, transaction: 10, batch: 10}, sink: k.sink, dir: t.TempDir(), abandoned: []string{"s"}}
		_, done := k.begin(t, j)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if r := k.recovery; r == nil || !slices.Equal(r.Abandoned, []string{"s"}) {
			t.Errorf("the sink was told %+v", r)
		}
	})
}
