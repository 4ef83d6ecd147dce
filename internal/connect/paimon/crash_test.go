package paimon

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"leat/catalog"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/dataflow/checkpoint"
	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/faultfs"
	"leat/lakehouse"
	"leat/lakehouse/spec"
)

const (
	transactions = 28
	accounts     = 8
	perEpoch     = 7 // transactions from one barrier to the next, about
)

var accountColumns = &columnar.Schema{Fields: []columnar.Field{
	{ID: 0, Name: "id", Type: columnar.Of(columnar.BigInt).NotNull()},
	{ID: 1, Name: "part", Type: columnar.StringType().NotNull()},
	{ID: 2, Name: "amount", Type: columnar.Of(columnar.BigInt)},
}}

// account is a row; its partition moves now and then.
type account struct {
	part   string
	amount int64
}

// change is a row change of the source.
type change struct {
	kind columnar.RowKind
	id   int64
	row  account
}

// transaction gives the changes of transaction n over the state before it, and
// applies them: a transfer between two accounts, one of which may move to
// another partition, be deleted or come back. The sum stays.
func transaction(n int64, state map[int64]account) []change {
	rnd := rand.New(rand.NewPCG(7, uint64(n)))
	if n == 0 {
		var out []change
		for id := range int64(accounts) {
			state[id] = account{part: "p0", amount: 100}
			out = append(out, change{columnar.Insert, id, state[id]})
		}
		return out
	}
	var out []change
	put := func(id int64, to account) {
		from, had := state[id]
		if had {
			out = append(out, change{columnar.UpdateBefore, id, from}, change{columnar.UpdateAfter, id, to})
		} else {
			out = append(out, change{columnar.Insert, id, to})
		}
		state[id] = to
	}
	a, b := rnd.Int64N(accounts), rnd.Int64N(accounts)
	if a == b {
		b = (b + 1) % accounts
	}
	from, to := state[a], state[b]
	moved := rnd.Int64N(50)
	if from.amount <= moved && from.part != "" {
		// The whole account moves: its row goes.
		out = append(out, change{columnar.Delete, a, from})
		delete(state, a)
		to.amount += from.amount
	} else {
		from.amount, to.amount = from.amount-moved, to.amount+moved
		if rnd.IntN(3) == 0 || from.part == "" {
			from.part = "p" + strconv.Itoa(rnd.IntN(3))
		}
		put(a, from)
	}
	if to.part == "" {
		to.part = "p1"
	}
	put(b, to)
	return out
}

// prefix is the state after transactions 0..n-1.
func prefix(n int64) map[int64]account {
	state := map[int64]account{}
	for i := range n {
		transaction(i, state)
	}
	return state
}

// source emits the transactions before end one by one.
type source struct {
	next  int64
	end   int64
	state map[int64]account
	// stay keeps it at its end until the job is told to stop.
	stay bool
}

func (s *source) Open(_ context.Context, restored json.RawMessage) error {
	if restored != nil {
		if err := json.Unmarshal(restored, &s.next); err != nil {
			return err
		}
	}
	s.state = prefix(s.next)
	return nil
}

func (s *source) Run(ctx context.Context, out dataflow.Collector) error {
	for s.next < s.end {
		if err := out.Emit(ctx, 0, batchOf(transaction(s.next, s.state))); err != nil {
			return err
		}
		s.next++
		if s.next%perEpoch == 0 {
			// Wait for a barrier, so that every run has several epochs.
			if err := awaitBarrier(ctx, out); err != nil {
				return err
			}
			continue
		}
		if err := out.Edge(ctx); err != nil {
			return err
		}
	}
	for s.stay {
		if err := awaitBarrier(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

func awaitBarrier(ctx context.Context, out dataflow.Collector) error {
	select {
	case <-out.Due():
		return out.Edge(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *source) SnapshotState(context.Context, dataflow.CheckpointID) (dataflow.SourceState, error) {
	b, err := json.Marshal(s.next)
	return dataflow.SourceState{Data: b, Properties: map[string]string{"test.next": strconv.FormatInt(s.next, 10)}}, err
}

func (s *source) Close() error { return nil }

func batchOf(changes []change) *columnar.Batch {
	b := columnar.NewBuilders(memory.DefaultAllocator, accountColumns)
	kinds := make([]columnar.RowKind, len(changes))
	for i, c := range changes {
		kinds[i] = c.kind
		b[0].(*array.Int64Builder).Append(c.id)
		b[1].(*array.StringBuilder).Append(c.row.part)
		b[2].(*array.Int64Builder).Append(c.row.amount)
	}
	cols := make([]arrow.Array, len(b))
	for i := range b {
		cols[i] = b[i].NewArray()
	}
	return columnar.NewBatch(accountColumns, kinds, cols, len(changes))
}

var stride = flag.Int("stride", 2, "distance of the calls that TestStopAtEveryCall breaks")

// world is a disk with a table and a checkpoint log on it.
type world struct {
	disk *crashfs.FS
	def  *connect.Table
	// interval is that of the checkpoints; 0 takes the last one alone.
	interval time.Duration
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, "2")
}

// newWorldOf makes a table of the given number of buckets.
func newWorldOf(t *testing.T, buckets string) *world {
	t.Helper()
	w := &world{disk: crashfs.New(), interval: time.Millisecond}
	c := catalog.New(w.disk, "/lake")
	options := map[string]string{
		"bucket": buckets, "changelog-producer": "input", "num-sorted-run.compaction-trigger": "2", "snapshot.num-retained.min": "1000",
		"bucket-key": "id", "manifest.merge-min-count": "3",
	}
	schema := &spec.TableSchema{Version: 3, Fields: accountColumns.Fields, HighestFieldID: 2, PartitionKeys: []string{"part"}, PrimaryKeys: []string{"part", "id"}, Options: options}
	id := catalog.Identifier{Catalog: "lake", Database: "db", Table: "t"}
	if err := errors.Join(c.CreateDatabase(t.Context(), "db", true), c.CreateTable(t.Context(), id, schema, false)); err != nil {
		t.Fatal(err)
	}
	w.def = &connect.Table{Name: "lake.db.t", Schema: accountColumns, PrimaryKey: schema.PrimaryKeys, PartitionKeys: schema.PartitionKeys, Options: configs.Values{}}
	for k, v := range options {
		w.def.Options[k] = configs.Value{Text: v}
	}
	return w
}

// run is one process of the job on fs: it takes over, restores and runs to the
// end of the source or to the fault.
func (w *world) run(ctx context.Context, fs fileio.FS) error { return w.runUpTo(ctx, fs, transactions) }

func (w *world) runUpTo(ctx context.Context, fs fileio.FS, end int64) error {
	e, err := w.execution(ctx, fs, end, nil)
	if err != nil {
		return err
	}
	return e.Run(ctx)
}

// execution is the start of a process that reads up to end, from a savepoint if one is given.
func (w *world) execution(ctx context.Context, fs fileio.FS, end int64, from *written) (*dataflow.Execution, error) {
	return w.executionOf(ctx, fs, &source{end: end}, from)
}

func (w *world) executionOf(ctx context.Context, fs fileio.FS, src *source, from *written) (*dataflow.Execution, error) {
	log := slog.New(slog.DiscardHandler)
	store, err := checkpoint.Open(ctx, fs, "/state/job", checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	user, attempt := store.CommitUser(), uuid.NewString()
	if user == "" {
		user = "user-1"
	}
	home, err := from.home(ctx, fs, store)
	if err != nil {
		return nil, err
	}
	facts := withGraph(store.Facts())
	if home != nil {
		facts.Savepoint = home.checkpoint
	}
	d := checkpoint.Decide(facts)
	if err := store.TakeOver(ctx, checkpoint.Takeover{Owner: checkpoint.Owner{Host: "test", PID: 1}, Attempt: attempt, CommitUser: user, Fresh: d.Action == checkpoint.Fresh}); err != nil {
		return nil, err
	}
	if user, err = home.goBack(ctx, fs, store, user); err != nil {
		return nil, err
	}
	restore, err := store.Restore(d)
	if err != nil {
		return nil, err
	}
	if restore.Abandoned, err = abandoned(ctx, fs, store); err != nil {
		return nil, err
	}
	s := &sink{
		spec: connect.SinkSpec{UID: "sink", Table: w.def, Job: "test", CommitUser: user, Attempt: attempt}, fs: fs, path: "/lake/db.db/t",
		budget: lakehouse.NewMemoryBudget(1 << 20), pool: lakehouse.NewWorkPool(2), log: log,
	}
	g := dataflow.Graph{
		Sources:   []dataflow.SourceNode{{UID: "source", Reader: src, Ports: 1}},
		Sinks:     []dataflow.SinkNode{{UID: "sink", Sink: s}},
		Pipelines: []dataflow.Pipeline{{UID: "pipe", Source: "source", Sink: "sink"}},
	}
	return dataflow.NewExecution(g, dataflow.Config{Interval: w.interval, RetryBackoff: time.Millisecond, MaxRetryBackoff: time.Millisecond, Log: log}, store, restore, dataflow.Listener{})
}

// runUntilStop runs the job and ends it once its disk has stopped: a commit is
// retried for ever, and a dead process does not wait for that.
func (w *world) runUntilStop(t *testing.T, fs *faultfs.FS) error {
	t.Helper()
	return untilStop(t, fs, func(ctx context.Context) error { return w.run(ctx, fs) })
}

func untilStop(t *testing.T, fs *faultfs.FS, run func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	stopped, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		for !fs.Stopped() {
			select {
			case <-stopped.Done():
				return
			case <-time.After(time.Millisecond):
			}
		}
		end(errDead)
	}()
	err := run(stopped)
	return errors.Join(err, ctx.Err())
}

var errDead = errors.New("the process is dead")

func withGraph(f checkpoint.Facts) checkpoint.Facts {
	f.Sources, f.Sinks = []string{"source"}, []string{"sink"}
	return f
}

// finish runs the job on a sound disk to its end.
func (w *world) finish(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.run(ctx, w.disk); err != nil {
		t.Fatalf("the job does not come to its end on a sound disk: %v", err)
	}
}

// check compares every snapshot with the prefix it names, and the folded
// changelog with the end.
func (w *world) check(t *testing.T) {
	t.Helper()
	tab, err := lakehouse.Open(t.Context(), w.disk, "/lake/db.db/t")
	if err != nil {
		t.Fatal(err)
	}
	last, err := tab.LatestSnapshot(t.Context())
	if err != nil || last == nil {
		t.Fatalf("no snapshot: %v", err)
	}
	folded := map[int64]account{}
	for id := int64(1); id <= last.ID; id++ {
		s, err := tab.Snapshot(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(s.Properties["test.next"], 10, 64)
		if err != nil {
			t.Fatalf("snapshot %d does not say where it ends: %v", id, s.Properties)
		}
		if diff := cmp.Diff(prefix(n), rowsAt(t, tab, id), cmp.AllowUnexported(account{})); diff != "" {
			t.Fatalf("snapshot %d is not the prefix of %d transactions (-want +got):\n%s", id, n, diff)
		}
		if s.CommitKind == spec.Append {
			fold(t, tab, id, folded)
		}
	}
	if diff := cmp.Diff(prefix(transactions), folded, cmp.AllowUnexported(account{})); diff != "" {
		t.Fatalf("the folded changelog is not the source (-want +got):\n%s", diff)
	}
}

func rowsAt(t *testing.T, tab *lakehouse.Table, id int64) map[int64]account {
	t.Helper()
	out := map[int64]account{}
	p, err := tab.ScanPlan(t.Context(), lakehouse.ScanOptions{Snapshot: id})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Splits {
		r := p.Read(t.Context(), &p.Splits[i])
		for {
			b, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changesOf(b) {
				if _, twice := out[c.id]; twice {
					t.Fatalf("snapshot %d holds account %d twice", id, c.id)
				}
				out[c.id] = c.row
			}
			b.Release()
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func changesOf(b *columnar.Batch) []change {
	out := make([]change, b.Rows())
	for i := range out {
		out[i] = change{b.Kind(i), b.Cols[0].(*array.Int64).Value(i), account{b.Cols[1].(*array.String).Value(i), b.Cols[2].(*array.Int64).Value(i)}}
	}
	return out
}

// fold applies the changelog of a snapshot, which is ordered by partition, bucket
// and key: first what goes, then what comes.
func fold(t *testing.T, tab *lakehouse.Table, id int64, into map[int64]account) {
	t.Helper()
	type place struct {
		id   int64
		part string
	}
	state := map[place]account{}
	for k, v := range into {
		state[place{k, v.part}] = v
	}
	err := tab.ReadChangelog(t.Context(), id, func(b *columnar.Batch) error {
		for _, c := range changesOf(b) {
			p := place{c.id, c.row.part}
			had, ok := state[p]
			if c.kind.Retracts() {
				if !ok || had != c.row {
					return fmt.Errorf("%s of account %d takes %v, the table holds %v", c.kind, c.id, c.row, had)
				}
				delete(state, p)
				continue
			}
			if ok {
				return fmt.Errorf("%s of account %d, which is there already", c.kind, c.id)
			}
			state[p] = c.row
		}
		return nil
	})
	if err != nil {
		t.Fatalf("changelog of snapshot %d: %v", id, err)
	}
	clear(into)
	for p, v := range state {
		if _, twice := into[p.id]; twice {
			t.Fatalf("after snapshot %d account %d is in two partitions", id, p.id)
		}
		into[p.id] = v
	}
}

// TestUndisturbed is the sequence without a fault, and counts its calls.
func TestUndisturbed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.finish(t)
	w.check(t)
}

// TestStopAtEveryCall kills the process at the n-th call to the disk, for every
// n, then lets it resume: every snapshot is the prefix it names.
func TestStopAtEveryCall(t *testing.T) {
	t.Parallel()
	sound := newWorld(t)
	counter := faultfs.New(sound.disk, "")
	if err := sound.run(t.Context(), counter); err != nil {
		t.Fatal(err)
	}
	total := counter.Mutations()
	if total < 50 {
		t.Fatalf("the sequence has %d changing calls only: it does not test much", total)
	}
	for i, action := range []string{"stop", "stop-after", "lie", "fail", "cut"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			// Each action takes every second call; the full product is -stride 1.
			for n := 1 + i; n <= total; n += *stride {
				w := newWorld(t)
				if err := w.runUntilStop(t, faultfs.New(w.disk, fmt.Sprintf("mutate#%d %s", n, action))); errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("call %d: the job hangs", n)
				}
				w.disk = w.disk.Crash(rand.New(rand.NewPCG(1, uint64(n))))
				w.finish(t)
				w.check(t)
			}
		})
	}
}

// TestManyCrashes kills one job again and again at random calls.
func TestManyCrashes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(3, seed))
		w := newWorld(t)
		for range 12 {
			if w.runUntilStop(t, faultfs.New(w.disk, fmt.Sprintf("any#%d stop", 20+rnd.IntN(150)))) == nil {
				break
			}
			w.disk = w.disk.Crash(rnd)
		}
		w.finish(t)
		w.check(t)
	}
}
