package dataflow_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/internal/dataflow"
)

// TestFrozenSinksStayInEveryEntry leaves a sink out: what the checkpoint holds of
// it stays as it is, uncommitted epochs included, and the runs that may have left files of it are kept.
func TestFrozenSinksStayInEveryEntry(t *testing.T) {
	t.Parallel()
	held := dataflow.SinkRecord{DeadAttempts: []string{"first"}, Observed: json.RawMessage(`{"snapshot":7}`), Epochs: []dataflow.Epoch{{ID: 3, Committables: []json.RawMessage{json.RawMessage(`"file"`)}}}}
	l := &memLog{}
	g := dataflow.Graph{
		Sources:   []dataflow.SourceNode{{UID: "src", Reader: &counting{total: 100, transaction: 10, batch: 10, pause: 5 * time.Millisecond}, Ports: 2}},
		Pipelines: []dataflow.Pipeline{{UID: "calc", Source: "src", Sink: "one"}},
		Sinks:     []dataflow.SinkNode{{UID: "one", Sink: &sink{target: newTarget()}}},
	}
	from := dataflow.Restore{
		Checkpoint: &dataflow.Checkpoint{ID: 3, Sinks: map[string]dataflow.SinkRecord{"aside": held, "forgotten": held}}, Frozen: []string{"aside", "unknown"},
		DeadAttempts: []string{"second", "first", "third"},
	}
	want := held
	want.DeadAttempts = []string{"first", "second", "third"} // their files are nobody's until it comes back
	e, err := dataflow.NewExecution(g, dataflow.Config{Interval: 10 * time.Millisecond}, l, from, dataflow.Listener{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(l.entries) < 2 {
		t.Fatalf("%d entries", len(l.entries))
	}
	for _, c := range l.entries {
		if diff := cmp.Diff(want, c.Sinks["aside"]); diff != "" || len(c.Sinks) != 2 {
			t.Errorf("entry %d holds %d sinks (-want +got):\n%s", c.ID, len(c.Sinks), diff)
		}
	}
}
