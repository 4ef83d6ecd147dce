package dataflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"leat/internal/diag"
)

// TestProtocolScripts runs the checkpoint scripts. Commands:
//
//	job [interval=D] [delay=D] [timeout=D] [min-pause=D] [tolerable=N] [sources=a,b] [sinks=k,l:2] [restored=ID[:committables]]
//	run
//
// run has a step a line and prints what the coordinator has to do, with the time
// since the start:
//
//	+D                           time passes
//	inject SOURCE ID POSITION [last]
//	ack SINK[/SUBTASK] ID VALUE  VALUE - is an empty epoch
//	unready SINK                 a wait failed and is tried again
//	stored | store-failed        the entry is in the log, or not
//	committed | ended SOURCE | stop | now | savepoint NAME [stop]
func TestProtocolScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/protocol", func(t *testing.T, path string) {
		var s *script
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "job":
				s = newScript(t, d)
				return ""
			case "run":
				return s.run(t, d.Input)
			default:
				t.Fatalf("unknown command %s", d.Cmd)
				return ""
			}
		})
	})
}

type script struct {
	p     *protocol
	begin time.Time
	now   time.Time
	entry *Checkpoint
	out   strings.Builder
}

func newScript(t *testing.T, d *datadriven.TestData) *script {
	t.Helper()
	g, from := Graph{}, Restore{}
	cfg := Config{Interval: 10 * time.Second}
	arg := func(key string, f func(string)) {
		if a, ok := d.Arg(key); ok {
			for _, v := range a.Vals {
				f(v)
			}
		}
	}
	span := func(to *time.Duration) func(string) {
		return func(v string) {
			var err error
			if *to, err = time.ParseDuration(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	arg("interval", span(&cfg.Interval))
	arg("delay", span(&cfg.InitialDelay))
	arg("timeout", span(&cfg.Timeout))
	arg("min-pause", span(&cfg.MinPause))
	arg("tolerable", func(v string) { cfg.TolerableFailures = atoi(t, v) })
	arg("restored", func(v string) {
		id, committables, _ := strings.Cut(v, ":")
		from.Checkpoint = &Checkpoint{ID: CheckpointID(atoi(t, id)), Sources: map[string]SourceState{"a": {Data: json.RawMessage("0")}}}
		if committables != "" {
			from.Checkpoint.Sinks = map[string]SinkRecord{"k": {Epochs: []Epoch{{Committables: []json.RawMessage{json.RawMessage(committables)}}}}}
		}
	})
	for uid := range strings.SplitSeq(valueOr(d, "sources", "a"), ",") {
		g.Sources = append(g.Sources, SourceNode{UID: uid, Ports: 1})
	}
	for k := range strings.SplitSeq(valueOr(d, "sinks", "k"), ",") {
		uid, n, _ := strings.Cut(k, ":")
		node := SinkNode{UID: uid}
		if n != "" {
			node.Parallelism = atoi(t, n)
		}
		g.Sinks = append(g.Sinks, node)
		for i := range g.Sources {
			g.Pipelines = append(g.Pipelines, Pipeline{Source: g.Sources[i].UID, Sink: uid})
		}
	}
	begin := time.Unix(0, 0)
	return &script{p: newProtocol(&g, cfg.withDefaults(), &from, begin), begin: begin, now: begin}
}

func valueOr(d *datadriven.TestData, key, def string) string {
	if a, ok := d.Arg(key); ok {
		return strings.Join(a.Vals, ",")
	}
	return def
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *script) run(t *testing.T, input string) string {
	t.Helper()
	s.out.Reset()
	for line := range strings.Lines(input) {
		w := strings.Fields(line)
		if len(w) > 0 {
			s.step(t, w)
		}
		s.act()
	}
	return s.out.String()
}

func (s *script) step(t *testing.T, w []string) {
	t.Helper()
	at := func(uid string) int {
		return max(slices.Index(s.p.sources, uid), slices.IndexFunc(s.p.sinks, func(k sinkShape) bool { return k.uid == uid }))
	}
	if d, ok := strings.CutPrefix(w[0], "+"); ok {
		span, err := time.ParseDuration(d)
		if err != nil {
			t.Fatal(err)
		}
		s.pass(s.now.Add(span))
		return
	}
	switch w[0] {
	case "inject":
		state := SourceState{Data: json.RawMessage(w[3]), Properties: map[string]string{"pos": w[3]}}
		s.p.injectedBy(s.now, at(w[1]), CheckpointID(atoi(t, w[2])), state, len(w) > 4)
	case "ack":
		uid, sub, _ := strings.Cut(w[1], "/")
		value := json.RawMessage(strings.TrimPrefix(w[3], "-"))
		s.p.ackedBy(s.now, at(uid), atoi(t, "0"+sub), CheckpointID(atoi(t, w[2])), value, 1, 10)
	case "unready":
		s.p.ackFailed(s.now, at(w[1]), &diag.Error{Domain: diag.External, Msg: "no space", Hint: "free some", Retry: true})
	case "stored":
		s.p.storedNow(s.now, s.entry, nil)
	case "store-failed":
		s.p.storedNow(s.now, s.entry, errors.New("disk is away"))
	case "committed":
		s.p.committedNow(s.now)
	case "ended":
		s.p.ended[at(w[1])] = true
	case "stop":
		s.p.stopping = true
	case "now":
		s.p.requested = true
	case "savepoint":
		s.p.wanted = append(s.p.wanted, &SavepointRequest{SavepointRef: SavepointRef{Name: w[1]}, Stop: len(w) > 2})
	default:
		t.Fatalf("unknown step %v", w)
	}
	s.p.tick(s.now)
}

// pass lets time pass, waking the protocol whenever it asks for it.
func (s *script) pass(until time.Time) {
	for {
		d, ok := s.p.deadline()
		if !ok || d.After(until) {
			s.now = until
			return
		}
		if d.After(s.now) {
			s.now = d
		}
		s.p.tick(s.now)
		s.act()
	}
}

func (s *script) act() {
	for _, a := range s.p.take() {
		fmt.Fprintf(&s.out, "%s ", s.now.Sub(s.begin))
		switch a.kind {
		case actInject:
			fmt.Fprintf(&s.out, "inject %d final=%v\n", a.id, a.final)
		case actStore:
			s.entry = a.checkpoint
			b, err := json.Marshal(a.checkpoint)
			if err != nil {
				fmt.Fprintln(&s.out, err)
			}
			fmt.Fprintf(&s.out, "store until %s: %s\n", a.until.Sub(s.begin), b)
		case actCommit:
			fmt.Fprintf(&s.out, "commit %d", a.id)
			if r := a.savepoint; r != nil {
				fmt.Fprintf(&s.out, " and take %s", r.Name)
			}
			fmt.Fprintln(&s.out)
		case actFail:
			fmt.Fprintf(&s.out, "end the job: %v, retry=%v\n", a.err, diag.Retryable(a.err))
		case actDone:
			fmt.Fprintf(&s.out, "end the job well\n")
		case actTell:
			fmt.Fprintf(&s.out, "tell %s %+v\n", strings.TrimPrefix(fmt.Sprintf("%T", a.event), "dataflow."), a.event)
		}
	}
}
