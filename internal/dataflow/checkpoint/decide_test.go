package checkpoint_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"leat/internal/dataflow"
	"leat/internal/dataflow/checkpoint"
)

// TestDecide runs testdata/decide.txt:
//
//	decide
//	log ID…                      the checkpoints that count; each stores src and sink
//	plan sources=a,b sinks=k     default sources=src sinks=sink
//	flags [fresh] [replace] [ignore-unclaimed] [mirror] [replacing]
//	savepoint ID                 what to start from; it stores src and sink
//	rows SINK…                   tables that hold rows
//	kind NAME                    an entry of that kind is in the log
func TestDecide(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/decide.txt", func(t *testing.T, d *datadriven.TestData) string {
		f := checkpoint.Facts{Sources: []string{"src"}, Sinks: []string{"sink"}}
		for line := range strings.Lines(d.Input) {
			if w := strings.Fields(line); len(w) > 0 {
				addFact(t, &f, w[0], w[1:])
			}
		}
		got := checkpoint.Decide(f)
		var b strings.Builder
		fmt.Fprint(&b, got.Action)
		if got.Action == checkpoint.RestoreAt {
			fmt.Fprintf(&b, " %d", got.ID)
		}
		if r := got.Reason; r != nil {
			fmt.Fprintf(&b, " (%s, domain %d): %s\ndo: %s", r.Code, r.Domain, r.Msg, r.Hint)
		}
		b.WriteString("\n")
		for _, n := range got.Notices {
			fmt.Fprintf(&b, "notice: %s\n", n)
		}
		return b.String()
	})
}

func addFact(t *testing.T, f *checkpoint.Facts, what string, words []string) {
	t.Helper()
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		n, err := strconv.Atoi(value)
		if what == "log" || what == "savepoint" {
			n, err = strconv.Atoi(w)
		}
		switch what + " " + key {
		case "plan sources":
			f.Sources = strings.Split(value, ",")
		case "plan sinks":
			f.Sinks = strings.Split(value, ",")
		case "flags fresh":
			f.Fresh = true
		case "flags replace":
			f.Replace = true
		case "flags mirror":
			f.Mirror = true
		case "flags replacing":
			f.Replacing = true
		case "flags ignore-unclaimed":
			f.IgnoreUnclaimed = true
		default:
			switch what {
			case "log":
				f.Known = true
				f.Completed = append(f.Completed, &dataflow.Checkpoint{
					ID: dataflow.CheckpointID(n), Sources: map[string]dataflow.SourceState{"src": {}}, Sinks: map[string]dataflow.SinkRecord{"sink": {}},
				})
			case "savepoint":
				f.Savepoint = &dataflow.Checkpoint{
					ID: dataflow.CheckpointID(n), Sources: map[string]dataflow.SourceState{"src": {}}, Sinks: map[string]dataflow.SinkRecord{"sink": {}},
					Savepoint: &dataflow.SavepointRef{Name: "savepoint-1"},
				}
			case "rows":
				f.NonEmpty, err = append(f.NonEmpty, w), nil
			case "kind":
				f.UnknownKinds, err = append(f.UnknownKinds, checkpoint.Kind(w)), nil
			default:
				t.Fatalf("unknown fact %s %s", what, w)
			}
		}
		if err != nil && (what == "log" || what == "savepoint") {
			t.Fatal(err)
		}
	}
}
