package dataflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/dataflow"
)

// memLog is a log that keeps entries in memory.
type memLog struct{ entries []*dataflow.Checkpoint }

func (l *memLog) AppendCheckpoint(_ context.Context, c *dataflow.Checkpoint) error {
	l.entries = append(l.entries, c)
	return nil
}

func runGraph(t *testing.T, g dataflow.Graph, cfg dataflow.Config) *memLog {
	t.Helper()
	l := &memLog{}
	e, err := dataflow.NewExecution(g, cfg, l, dataflow.Restore{}, dataflow.Listener{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// emitter emits given batches on port 0, an edge after each.
type emitter struct {
	batches func() []*columnar.Batch
	done    int
}

func (*emitter) Open(context.Context, json.RawMessage) error { return nil }

func (s *emitter) Run(ctx context.Context, out dataflow.Collector) error {
	for _, b := range s.batches() {
		if err := out.Emit(ctx, 0, b); err != nil {
			return err
		}
		s.done++
		if err := out.Edge(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *emitter) SnapshotState(context.Context, dataflow.CheckpointID) (dataflow.SourceState, error) {
	return dataflow.SourceState{Data: json.RawMessage(fmt.Sprint(s.done))}, nil
}

func (*emitter) Close() error { return nil }

// tag is an operator that adds to every value, splitting each batch in two.
type tag struct{ add int64 }

func (o tag) Process(_ context.Context, b *columnar.Batch, out func(*columnar.Batch) error) error {
	defer b.Release()
	v := valuesOf(b)
	for _, part := range [][]int64{v[:len(v)/2], v[len(v)/2:]} {
		moved := make([]int64, len(part))
		for i := range part {
			moved[i] = part[i] + o.add
		}
		if err := out(batchOf(nil, moved...)); err != nil {
			return err
		}
	}
	return nil
}

func TestUnionOfTwoSourcesIsAligned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Two sources of different speed feed one table; the slow one has long
		// transactions. Every committed epoch must hold exactly what both had
		// emitted before their barriers.
		tgt := newTarget()
		fast := &counting{total: 5000, transaction: 10, batch: 10, pause: 20 * time.Millisecond}
		slow := &counting{total: 300, transaction: 30, batch: 3, hold: func(context.Context, int64) error {
			time.Sleep(70 * time.Millisecond)
			return nil
		}}
		s := &sink{target: tgt, attempt: "a"}
		l := runGraph(t, dataflow.Graph{
			Sources: []dataflow.SourceNode{{UID: "fast", Reader: fast, Ports: 1}, {UID: "slow", Reader: slow, Ports: 1}},
			Pipelines: []dataflow.Pipeline{
				{UID: "p1", Source: "fast", Router: modulo{}, Sink: "sink"},
				{UID: "p2", Source: "slow", Router: modulo{}, Operators: []dataflow.Operator{tag{add: 1 << 32}}, Sink: "sink"},
			},
			Sinks: []dataflow.SinkNode{{UID: "sink", Sink: s, Parallelism: 2}},
		}, dataflow.Config{Interval: 300 * time.Millisecond, ChannelBytes: 1000})
		if len(l.entries) < 8 {
			t.Fatalf("only %d checkpoints", len(l.entries))
		}
		files := map[dataflow.CheckpointID][]string{}
		for _, sn := range tgt.snapshots {
			files[sn.epoch] = sn.files
		}
		var rows []int64
		for _, c := range l.entries {
			for _, f := range files[c.ID] {
				rows = append(rows, tgt.files[f].rows...)
			}
			var want []int64
			for uid, add := range map[string]int64{"fast": 0, "slow": 1 << 32} {
				var st countingState
				if err := json.Unmarshal(c.Sources[uid].Data, &st); err != nil {
					t.Fatal(err)
				}
				for v := range st.Next {
					want = append(want, v+add)
				}
			}
			slices.Sort(rows)
			slices.Sort(want)
			if !slices.Equal(rows, want) {
				t.Fatalf("checkpoint %d: %d rows visible, %d were emitted before the barriers", c.ID, len(rows), len(want))
			}
			props := c.Sinks["sink"].Epochs[0].Properties
			if _, ok := props["next.fast"]; !ok && props["next"] == "" {
				t.Errorf("checkpoint %d: positions %v", c.ID, props)
			}
		}
	})
}

func TestFanOutGivesEveryPipelineEveryBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all []*columnar.Batch
		src := &emitter{batches: func() []*columnar.Batch {
			for i := range int64(50) {
				all = append(all, batchOf(nil, 4*i, 4*i+1, 4*i+2, 4*i+3))
			}
			return all
		}}
		a, b := newTarget(), newTarget()
		runGraph(t, dataflow.Graph{
			Sources: []dataflow.SourceNode{{UID: "src", Reader: src, Ports: 2}},
			Pipelines: []dataflow.Pipeline{
				{UID: "p1", Source: "src", Sink: "a"},
				{UID: "p2", Source: "src", Sink: "b", Operators: []dataflow.Operator{tag{add: 1000}, tag{add: 5}}},
				{UID: "p3", Source: "src", Sink: "b"},
			},
			Sinks: []dataflow.SinkNode{{UID: "a", Sink: &sink{target: a, attempt: "a"}}, {UID: "b", Sink: &sink{target: b, attempt: "b"}}},
		}, dataflow.Config{Interval: time.Second, ChannelBytes: 100})
		var wantA, wantB []int64
		for v := range int64(200) {
			wantA, wantB = append(wantA, v), append(wantB, v, v+1005)
		}
		slices.Sort(wantB)
		if d := cmp.Diff(wantA, a.rows(len(a.snapshots)-1)); d != "" {
			t.Errorf("table a: %s", d)
		}
		if d := cmp.Diff(wantB, b.rows(len(b.snapshots)-1)); d != "" {
			t.Errorf("table b: %s", d)
		}
		for i, batch := range all {
			if batch.Cols != nil {
				t.Fatalf("batch %d was not released", i)
			}
		}
	})
}

func TestExchangeSplitsPairsThatPartCompany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ins, ub, ua, del = columnar.Insert, columnar.UpdateBefore, columnar.UpdateAfter, columnar.Delete
		s := &sink{target: newTarget(), attempt: "a"}
		src := &emitter{batches: func() []*columnar.Batch {
			return []*columnar.Batch{
				batchOf([]columnar.RowKind{ins, ub, ua, ub, ua, del}, 1, 3, 4, 5, 7, 6),
				batchOf([]columnar.RowKind{ub, ua}, 8, 10),
				batchOf(nil, 20, 21),
			}
		}}
		runGraph(t, dataflow.Graph{
			Sources:   []dataflow.SourceNode{{UID: "src", Reader: src, Ports: 1}},
			Pipelines: []dataflow.Pipeline{{UID: "p", Source: "src", Router: modulo{}, Sink: "k"}},
			Sinks:     []dataflow.SinkNode{{UID: "k", Sink: s, Parallelism: 2}},
		}, dataflow.Config{})
		want := map[int][]string{
			0: {"+I 4", "-D 6", "-U 8", "+U 10", "+I 20"},
			1: {"+I 1", "-D 3", "-U 5", "+U 7", "+I 21"},
		}
		if d := cmp.Diff(want, s.written); d != "" {
			t.Errorf("rows by subtask (-want +got):\n%s", d)
		}
	})
}

func TestBackPressureBoundsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 10_000
		var emitted, written atomic.Int64
		var most int64
		src := &counting{total: 20_000, transaction: 100, batch: 100, hold: func(context.Context, int64) error {
			most = max(most, emitted.Add(100)-written.Load())
			return nil
		}}
		s := &sink{target: newTarget(), attempt: "a", write: func(context.Context) error {
			time.Sleep(10 * time.Millisecond)
			written.Add(100)
			return nil
		}}
		runGraph(t, dataflow.Graph{
			Sources:   []dataflow.SourceNode{{UID: "src", Reader: src, Ports: 1}},
			Pipelines: []dataflow.Pipeline{{UID: "p", Source: "src", Sink: "k"}},
			Sinks:     []dataflow.SinkNode{{UID: "k", Sink: s}},
		}, dataflow.Config{Interval: time.Second, ChannelBytes: limit})
		// A batch of 100 rows is 812 bytes: 12 fit a channel. Two channels, and a batch
		// each in the hands of source, pipeline and writer.
		if most > 27*100 {
			t.Errorf("%d rows were under way at once", most)
		}
		if most < 20*100 {
			t.Errorf("the channels never filled: %d rows under way", most)
		}
	})
}

func TestEmitOnAPortThatIsNotThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := dataflow.NewExecution(dataflow.Graph{
			Sources:   []dataflow.SourceNode{{UID: "src", Reader: &counting{total: 1, transaction: 1, batch: 1, ports: 2}, Ports: 1}},
			Pipelines: []dataflow.Pipeline{{UID: "p", Source: "src", Sink: "k"}},
			Sinks:     []dataflow.SinkNode{{UID: "k", Sink: &sink{target: newTarget()}}},
		}, dataflow.Config{}, &memLog{}, dataflow.Restore{}, dataflow.Listener{})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "operator src: emitting a batch: there is no port 1") {
			t.Errorf("error %v", err)
		}
	})
}

// TestManyTasksAtFullSpeed runs in real time with barriers as fast as they come.
func TestManyTasksAtFullSpeed(t *testing.T) {
	t.Parallel()
	var g dataflow.Graph
	targets := map[string]*target{"k0": newTarget(), "k1": newTarget()}
	const sources, rows = 3, 20_000
	for i := range sources {
		uid := fmt.Sprint("s", i)
		g.Sources = append(g.Sources, dataflow.SourceNode{UID: uid, Reader: &counting{total: rows, transaction: 50, batch: 20}, Ports: 1})
		for k := range targets {
			g.Pipelines = append(g.Pipelines, dataflow.Pipeline{
				UID: uid + k, Source: uid, Router: modulo{}, Operators: []dataflow.Operator{tag{add: int64(i) << 32}}, Sink: k,
			})
		}
	}
	for k, tgt := range targets {
		g.Sinks = append(g.Sinks, dataflow.SinkNode{UID: k, Sink: &sink{target: tgt, attempt: k}, Parallelism: 3})
	}
	l := runGraph(t, g, dataflow.Config{Interval: time.Millisecond, ChannelBytes: 2000})
	var want []int64
	for i := range int64(sources) {
		for v := range int64(rows) {
			want = append(want, i<<32+v)
		}
	}
	for k, tgt := range targets {
		if got := tgt.rows(len(tgt.snapshots) - 1); !slices.Equal(got, want) {
			t.Errorf("table %s holds %d rows, want %d", k, len(got), len(want))
		}
	}
	if len(l.entries) < 3 {
		t.Errorf("only %d checkpoints", len(l.entries))
	}
}
