package dataflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"leat/internal/columnar"
	"leat/internal/dataflow"
	"leat/internal/dataflow/checkpoint"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var numbers = &columnar.Schema{Fields: []columnar.Field{{Name: "n", Type: columnar.Of(columnar.BigInt).NotNull()}}}

// batchOf makes a batch of one BIGINT column.
func batchOf(kinds []columnar.RowKind, values ...int64) *columnar.Batch {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(values, nil)
	return columnar.NewBatch(numbers, kinds, []arrow.Array{b.NewArray()}, len(values))
}

func valuesOf(b *columnar.Batch) []int64 { return b.Cols[0].(*array.Int64).Int64Values() }

// errCrash is the death of the process: whoever meets it dies with it.
var errCrash = errors.New("crash")

// crasher dies at the n-th step that it is told of, and at every later one.
type crasher struct {
	mu   sync.Mutex
	seen int
	at   int
	// steps are the names met so far, for finding out what a run does.
	steps []string
}

func (c *crasher) step(name string) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen++
	c.steps = append(c.steps, name)
	if c.at > 0 && c.seen >= c.at {
		return fmt.Errorf("%s: %w", name, errCrash)
	}
	return nil
}

// target is a transactional table that outlives processes: files are durable and
// invisible until a snapshot names them.
type target struct {
	mu        sync.Mutex
	files     map[string]targetFile
	snapshots []targetSnapshot
}

type targetFile struct {
	attempt string
	rows    []int64
}

type targetSnapshot struct {
	epoch dataflow.CheckpointID
	next  string
	files []string
}

func newTarget() *target { return &target{files: map[string]targetFile{}} }

// rows are the visible values of the snapshots up to i, in order of writing.
func (t *target) rows(i int) []int64 {
	var out []int64
	for _, s := range t.snapshots[:i+1] {
		for _, f := range s.files {
			out = append(out, t.files[f].rows...)
		}
	}
	slices.Sort(out)
	return out
}

func (t *target) has(id dataflow.CheckpointID) bool {
	return slices.ContainsFunc(t.snapshots, func(s targetSnapshot) bool { return s.epoch == id })
}

// checkExactlyOnce wants every snapshot to hold exactly the values below its source position.
func (t *target) checkExactlyOnce(tb testing.TB, total int64) {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.snapshots) == 0 {
		tb.Fatal("no snapshot was committed")
	}
	for i, s := range t.snapshots {
		rows := t.rows(i)
		for k, v := range rows {
			if int64(k) != v {
				tb.Fatalf("snapshot %d (epoch %d): value %d at place %d", i, s.epoch, v, k)
			}
		}
		if s.next != fmt.Sprint(len(rows)) {
			tb.Fatalf("snapshot %d (epoch %d) says position %s and holds %d rows", i, s.epoch, s.next, len(rows))
		}
		if i > 0 && t.snapshots[i-1].epoch >= s.epoch {
			tb.Fatalf("epoch %d was committed after %d", s.epoch, t.snapshots[i-1].epoch)
		}
	}
	if n := len(t.rows(len(t.snapshots) - 1)); int64(n) != total {
		tb.Fatalf("the table holds %d rows in the end, want %d", n, total)
	}
	live := map[string]bool{}
	for _, s := range t.snapshots {
		for _, f := range s.files {
			live[f] = true
		}
	}
	for name := range t.files {
		if !live[name] {
			tb.Errorf("file %s was left behind", name)
		}
	}
}

// sink writes into a target. Hooks make it slow, faulty or dying.
type sink struct {
	target  *target
	attempt string
	crash   *crasher
	// wait holds back the acknowledgement of an epoch, commitErr fails a commit.
	wait      func(ctx context.Context, id dataflow.CheckpointID) error
	commitErr func(id dataflow.CheckpointID) error
	write     func(ctx context.Context) error
	// subtasks records which values each writer got, with kinds.
	mu       sync.Mutex
	written  map[int][]string
	recovery *dataflow.SinkRecovery
	closed   int
}

func (s *sink) Recover(_ context.Context, last *dataflow.SinkRecovery) error {
	s.recovery = last
	if last == nil {
		return nil
	}
	if err := s.commit("recover", last.Epochs); err != nil {
		return err
	}
	if err := s.crash.step("clean"); err != nil {
		return err
	}
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	live := map[string]bool{}
	for _, sn := range s.target.snapshots {
		for _, f := range sn.files {
			live[f] = true
		}
	}
	maps.DeleteFunc(s.target.files, func(name string, f targetFile) bool {
		return !live[name] && slices.Contains(last.DeadAttempts, f.attempt)
	})
	return nil
}

func (s *sink) Commit(_ context.Context, epochs []dataflow.Epoch) error {
	if s.commitErr != nil {
		if err := s.commitErr(epochs[len(epochs)-1].ID); err != nil {
			return err
		}
	}
	return s.commit("commit", epochs)
}

func (s *sink) commit(step string, epochs []dataflow.Epoch) error {
	for _, e := range epochs {
		if err := s.crash.step(step + " before"); err != nil {
			return err
		}
		s.target.mu.Lock()
		if !s.target.has(e.ID) {
			sn := targetSnapshot{epoch: e.ID, next: e.Properties["next"]}
			for _, c := range e.Committables {
				var name string
				if err := json.Unmarshal(c, &name); err != nil {
					panic(err)
				}
				if name != "" {
					sn.files = append(sn.files, name)
				}
			}
			if len(sn.files) > 0 {
				s.target.snapshots = append(s.target.snapshots, sn)
			}
		}
		s.target.mu.Unlock()
		if err := s.crash.step(step + " after"); err != nil {
			return err
		}
	}
	return nil
}

func (s *sink) Observe(context.Context) (json.RawMessage, error) {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	return json.Marshal(len(s.target.snapshots))
}

func (s *sink) LastSnapshot() int64 {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	return int64(len(s.target.snapshots))
}

func (s *sink) NewWriter(_ context.Context, subtask, _ int) (dataflow.SinkWriter, error) {
	return &writer{sink: s, subtask: subtask}, nil
}

func (s *sink) Close() error { s.closed++; return nil }

type writer struct {
	sink    *sink
	subtask int
	rows    []int64
}

func (w *writer) Write(ctx context.Context, b *columnar.Batch) error {
	defer b.Release()
	w.rows = append(w.rows, valuesOf(b)...)
	w.sink.mu.Lock()
	if w.sink.written == nil {
		w.sink.written = map[int][]string{}
	}
	for i, v := range valuesOf(b) {
		w.sink.written[w.subtask] = append(w.sink.written[w.subtask], fmt.Sprintf("%s %d", b.Kind(i), v))
	}
	w.sink.mu.Unlock()
	if w.sink.write != nil {
		return w.sink.write(ctx)
	}
	return nil
}

func (w *writer) Prepare(_ context.Context, id dataflow.CheckpointID) (dataflow.Prepared, error) {
	p := &prepared{w: w, id: id, rows: w.rows}
	w.rows = nil
	return p, w.sink.crash.step("prepare")
}

func (w *writer) Close() error { return nil }

type prepared struct {
	w    *writer
	id   dataflow.CheckpointID
	rows []int64
}

func (p *prepared) Wait(ctx context.Context) (json.RawMessage, error) {
	s := p.w.sink
	if s.wait != nil {
		if err := s.wait(ctx, p.id); err != nil {
			return nil, err
		}
	}
	if len(p.rows) == 0 {
		return json.RawMessage("null"), nil
	}
	if err := s.crash.step("upload before"); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%d-%d", s.attempt, p.id, p.w.subtask)
	s.target.mu.Lock()
	s.target.files[name] = targetFile{attempt: s.attempt, rows: p.rows}
	s.target.mu.Unlock()
	if err := s.crash.step("upload after"); err != nil {
		return nil, err
	}
	return json.Marshal(name)
}

// modulo routes value v to subtask v mod n.
type modulo struct{}

func (modulo) Route(b *columnar.Batch, n int, out []int32) error {
	for i, v := range valuesOf(b) {
		out[i] = int32(v % int64(n))
	}
	return nil
}

// job is a source, a pipeline and a sink over a target and a log that outlive it.
type job struct {
	src  *counting
	sink *sink
	// keeper is a sink around it that holds savepoints, nil for none.
	keeper dataflow.Sink
	// abandoned are savepoints that earlier runs did not end.
	abandoned []string
	cfg       dataflow.Config
	listen    dataflow.Listener
	fs        fileio.FS
	dir       string
	// subtasks of the sink, 0 means 1.
	subtasks int
	attempts int
}

// start opens the log, takes the job over and makes the execution.
func (j *job) start(ctx context.Context) (*dataflow.Execution, error) {
	j.attempts++
	j.sink.attempt = fmt.Sprintf("attempt%d", j.attempts)
	if j.fs == nil {
		j.fs = local.New()
	}
	store, err := checkpoint.Open(ctx, j.fs, j.dir, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	if err := store.TakeOver(ctx, checkpoint.Takeover{Owner: checkpoint.Self(), Attempt: j.sink.attempt, CommitUser: "user"}); err != nil {
		return nil, err
	}
	facts := store.Facts()
	facts.Sources, facts.Sinks = []string{"src"}, []string{"sink"}
	r, err := store.Restore(checkpoint.Decide(facts))
	if err != nil {
		return nil, err
	}
	r.Abandoned = j.abandoned
	var target dataflow.Sink = j.sink
	if j.keeper != nil {
		target = j.keeper
	}
	g := dataflow.Graph{
		Sources:   []dataflow.SourceNode{{UID: "src", Reader: j.src, Ports: 1}},
		Pipelines: []dataflow.Pipeline{{UID: "calc", Source: "src", Router: modulo{}, Sink: "sink"}},
		Sinks:     []dataflow.SinkNode{{UID: "sink", Sink: target, Parallelism: j.subtasks}},
	}
	return dataflow.NewExecution(g, j.cfg, &crashingLog{Store: store, crash: j.sink.crash}, r, j.listen)
}

func (j *job) run(ctx context.Context) error {
	e, err := j.start(ctx)
	if err != nil {
		return err
	}
	return e.Run(ctx)
}

// crashingLog dies before or after an entry is written.
type crashingLog struct {
	*checkpoint.Store
	crash *crasher
}

func (l *crashingLog) AppendCheckpoint(ctx context.Context, c *dataflow.Checkpoint) error {
	if err := l.crash.step("entry before"); err != nil {
		return err
	}
	if err := l.Store.AppendCheckpoint(ctx, c); err != nil {
		return err
	}
	return l.crash.step("entry after")
}

func retryable(msg string) error {
	return &diag.Error{Domain: diag.External, Code: diag.CodeLakeIO, Msg: msg, Hint: "wait", Retry: true}
}
