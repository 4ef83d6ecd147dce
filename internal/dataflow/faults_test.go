package dataflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/fileio/faultfs"
	"leat/internal/fileio/local"
)

// TestFaultAtEveryCallOfTheLogIsExactlyOnce lets each call of the log's file
// system go wrong in each way; whatever ends the job, the next attempt goes on.
func TestFaultAtEveryCallOfTheLogIsExactlyOnce(t *testing.T) {
	t.Parallel()
	attempts := func(t *testing.T, rules string) int {
		t.Helper()
		fs, tgt, dir := faultfs.New(local.New(), rules), newTarget(), t.TempDir()
		for attempt := range 5 {
			j := &job{
				src:  &counting{total: 200, transaction: 20, batch: 7, pause: 30 * time.Millisecond},
				sink: &sink{target: tgt}, dir: dir, fs: fs, subtasks: 2, attempts: attempt,
				cfg: dataflow.Config{Interval: 100 * time.Millisecond},
			}
			err := j.run(t.Context())
			if err == nil {
				tgt.checkExactlyOnce(t, 200)
				return fs.Total()
			}
			if !errors.Is(err, faultfs.ErrInjected) {
				t.Fatalf("%s: %v", rules, err)
			}
			if fs.Stopped() {
				fs.Set("")
			}
		}
		t.Fatalf("%s: the job never ended", rules)
		return 0
	}
	var calls int
	synctest.Test(t, func(t *testing.T) { calls = attempts(t, "") })
	if calls < 10 {
		t.Fatalf("only %d calls", calls)
	}
	for n := 1; n <= calls; n++ {
		for _, action := range []string{"fail", "lie", "cut", "stop", "stop-after"} {
			synctest.Test(t, func(t *testing.T) { attempts(t, fmt.Sprintf("any#%d %s", n, action)) })
		}
	}
}

// failingLog fails as asked before it writes.
type failingLog struct {
	memLog
	fail func(id dataflow.CheckpointID) error
}

func (l *failingLog) AppendCheckpoint(ctx context.Context, c *dataflow.Checkpoint) error {
	if err := l.fail(c.ID); err != nil {
		return err
	}
	return l.memLog.AppendCheckpoint(ctx, c)
}

func TestLogThatIsAwayIsTriedUntilTheTimeOut(t *testing.T) {
	t.Parallel()
	for _, away := range []time.Duration{3 * time.Second, 8 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var ev events
			begin := time.Now()
			l := &failingLog{fail: func(dataflow.CheckpointID) error {
				if time.Since(begin) < away {
					return retryable("store is away")
				}
				return nil
			}}
			tgt := newTarget()
			e, err := dataflow.NewExecution(dataflow.Graph{
				Sources:   []dataflow.SourceNode{{UID: "src", Reader: &counting{total: 300, transaction: 10, batch: 10, pause: time.Second}, Ports: 1}},
				Pipelines: []dataflow.Pipeline{{UID: "p", Source: "src", Sink: "sink"}},
				Sinks:     []dataflow.SinkNode{{UID: "sink", Sink: &sink{target: tgt, attempt: "a"}}},
			}, dataflow.Config{
				Interval: 10 * time.Second, InitialDelay: 500 * time.Millisecond, Timeout: 5 * time.Second, TolerableFailures: 1,
				RetryBackoff: time.Second, MaxRetryBackoff: time.Second,
			}, l, dataflow.Restore{}, ev.listener())
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			tgt.checkExactlyOnce(t, 300)
			if away < 5*time.Second {
				ev.want(t, "500ms due 1", "500ms started 1 after 0s", "3.5s completed 1 rows=10 epochs=1")
			} else {
				ev.want(t, "500ms due 1", "500ms started 1 after 0s", "4.5s failed 1 (1 in a row)",
					"10.5s due 2", "10.5s started 2 after 0s", "10.5s completed 2 rows=100 epochs=2")
			}
		})
	}
}

// opening is a node that fails or notes its opening and closing.
type opening struct {
	counting
	name   string
	notes  *[]string
	failAt string
}

func (o *opening) note(what string) error {
	*o.notes = append(*o.notes, o.name+" "+what)
	if o.failAt == what {
		return errors.New("no " + what)
	}
	return nil
}

type openingSource struct{ *opening }

func (o openingSource) Open(ctx context.Context, r json.RawMessage) error {
	return errors.Join(o.note("open"), o.counting.Open(ctx, r))
}
func (o openingSource) Close() error { return o.note("close") }
func (o openingSource) Check(context.Context) error {
	return o.note("check")
}

func (o openingSource) Run(context.Context, dataflow.Collector) error { return o.note("run") }

func (o openingSource) SnapshotState(context.Context, dataflow.CheckpointID) (dataflow.SourceState, error) {
	return dataflow.SourceState{}, nil
}

type openingSink struct{ *opening }

func (o openingSink) Recover(context.Context, *dataflow.SinkRecovery) error { return o.note("recover") }

func (o openingSink) NewWriter(context.Context, int, int) (dataflow.SinkWriter, error) {
	return &writer{sink: &sink{target: newTarget()}}, o.note("writer")
}
func (o openingSink) Observe(context.Context) (json.RawMessage, error) { return nil, nil }
func (o openingSink) Commit(context.Context, []dataflow.Epoch) error   { return o.note("commit") }
func (o openingSink) Close() error                                     { return o.note("close") }

func TestOrderOfOpeningAndClosing(t *testing.T) {
	t.Parallel()
	all := []string{"sink recover", "src open", "sink writer", "src run", "sink commit", "src close", "sink close"}
	for _, tc := range []struct {
		failAt, want string
		steps        int
	}{
		{failAt: "recover", steps: 1, want: "operator sink: recovering: no recover"},
		{failAt: "open", steps: 2, want: "operator src: opening: no open"},
		{failAt: "writer", steps: 3, want: "operator sink: opening writer 0: no writer"},
		{failAt: "run", steps: 4, want: "operator src: no run"},
		{failAt: "commit", steps: 5, want: "operator sink: committing checkpoint 1: no commit"},
		{steps: 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			var notes []string
			src := openingSource{&opening{name: "src", notes: &notes, failAt: tc.failAt}}
			snk := openingSink{&opening{name: "sink", notes: &notes, failAt: tc.failAt}}
			e, err := dataflow.NewExecution(dataflow.Graph{
				Sources:   []dataflow.SourceNode{{UID: "src", Reader: src, Ports: 1}},
				Pipelines: []dataflow.Pipeline{{UID: "p", Source: "src", Sink: "sink"}},
				Sinks:     []dataflow.SinkNode{{UID: "sink", Sink: snk}},
			}, dataflow.Config{}, &memLog{}, dataflow.Restore{}, dataflow.Listener{})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Run(t.Context()); (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if want := slices.Concat(all[:tc.steps], all[5:]); !slices.Equal(notes, want) {
				t.Errorf("steps %q, want %q", notes, want)
			}
		})
	}
}

func TestCheckGathersAllFindings(t *testing.T) {
	t.Parallel()
	var notes []string
	a, b := &opening{name: "a", notes: &notes, failAt: "check"}, &opening{name: "b", notes: &notes, failAt: "check"}
	g := dataflow.Graph{Sources: []dataflow.SourceNode{{UID: "a", Reader: openingSource{a}}, {UID: "b", Reader: openingSource{b}}}}
	var list diag.List
	if err := g.Check(t.Context()); !errors.As(err, &list) || len(list) != 2 {
		t.Fatalf("findings %v", err)
	}
	a.failAt, b.failAt = "", ""
	if err := g.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestReaderThatStopsUnasked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &counting{total: 10, transaction: 5, batch: 5, hold: func(context.Context, int64) error { return dataflow.ErrStopped }}
		j := &job{src: src, sink: &sink{target: newTarget()}, dir: t.TempDir()}
		if err := j.run(t.Context()); !errors.Is(err, dataflow.ErrStopped) {
			t.Fatalf("error %v", err)
		}
	})
}
