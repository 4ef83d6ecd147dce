package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"leat/internal/dataflow"
	"leat/internal/dataflow/checkpoint"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/faultfs"
	"leat/internal/fileio/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, fs fileio.FS, dir string, retain int) *checkpoint.Store {
	t.Helper()
	s, err := checkpoint.Open(context.Background(), fs, dir, checkpoint.Options{Retain: retain})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func owner(pid int) checkpoint.Owner {
	return checkpoint.Owner{Host: "h", PID: pid, Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func numbered(id int64) *dataflow.Checkpoint {
	return &dataflow.Checkpoint{
		ID: dataflow.CheckpointID(id), Sources: map[string]dataflow.SourceState{"src": {Data: json.RawMessage(fmt.Sprint(id))}},
		Sinks: map[string]dataflow.SinkRecord{},
	}
}

// show gives the log as words: T<attempt> or C<id> by number.
func show(entries []checkpoint.Entry) string {
	var w []string
	for _, e := range entries {
		switch {
		case e.Kind == checkpoint.KindRestore:
			w = append(w, fmt.Sprintf("%d:R%d", e.Number, e.Checkpoint.ID))
		case e.Kind == checkpoint.KindSavepoint:
			w = append(w, fmt.Sprintf("%d:S%d", e.Number, e.Checkpoint.ID))
		case e.Checkpoint != nil:
			w = append(w, fmt.Sprintf("%d:C%d", e.Number, e.Checkpoint.ID))
		case e.Fresh:
			w = append(w, fmt.Sprintf("%d:F%s", e.Number, e.Attempt))
		default:
			w = append(w, fmt.Sprintf("%d:T%s", e.Number, e.Attempt))
		}
	}
	return strings.Join(w, " ")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLogIsReadBackAsWritten(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "job", "log")
	s := open(t, local.New(), dir, 1)
	if len(s.Entries()) != 0 || s.Latest() != nil || s.CommitUser() != "" {
		t.Fatal("a missing folder is not an empty log")
	}
	if err := s.AppendCheckpoint(ctx, numbered(1)); err == nil {
		t.Fatal("a checkpoint was written without a takeover")
	}
	must(t, s.TakeOver(ctx, checkpoint.Takeover{Owner: owner(1), Attempt: "a", CommitUser: "user"}))
	c := numbered(1)
	c.Sinks["k"] = dataflow.SinkRecord{
		Observed: json.RawMessage(`{"snapshot":3}`),
		Epochs:   []dataflow.Epoch{{ID: 1, Properties: map[string]string{"p": "q"}, Committables: []json.RawMessage{json.RawMessage(`["f"]`), nil}}},
	}
	must(t, s.AppendCheckpoint(ctx, c))
	again := open(t, local.New(), dir, 1)
	if again.CommitUser() != "user" {
		t.Errorf("commit user %q", again.CommitUser())
	}
	// A value that was not given is null in the log.
	c.Sinks["k"].Epochs[0].Committables[1] = json.RawMessage("null")
	if d := cmp.Diff(c, again.Latest().Checkpoint); d != "" {
		t.Errorf("checkpoint (-want +got):\n%s", d)
	}
}

func TestPruningKeepsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	write := func(retain int, attempt string, fresh bool, ids ...int64) *checkpoint.Store {
		s := open(t, local.New(), dir, retain)
		must(t, s.TakeOver(ctx, checkpoint.Takeover{Owner: owner(1), Attempt: attempt, CommitUser: "user", Fresh: fresh}))
		for _, id := range ids {
			must(t, s.AppendCheckpoint(ctx, numbered(id)))
		}
		if again := open(t, local.New(), dir, retain); show(again.Entries()) != show(s.Entries()) {
			t.Fatalf("read back %s, have %s", show(again.Entries()), show(s.Entries()))
		}
		return s
	}
	for _, step := range []struct {
		retain  int
		attempt string
		fresh   bool
		ids     []int64
		want    string
		next    dataflow.CheckpointID
		dead    []string
	}{
		{retain: 2, attempt: "a", want: "1:Ta", next: 1},
		{retain: 2, attempt: "b", ids: []int64{1}, want: "1:Ta 2:Tb 3:C1", next: 2},
		{retain: 2, attempt: "c", want: "1:Ta 2:Tb 3:C1 4:Tc", next: 2, dead: []string{"b"}},
		{retain: 2, attempt: "d", ids: []int64{2}, want: "3:C1 4:Tc 5:Td 6:C2", next: 3},
		{retain: 1, attempt: "e", ids: []int64{3, 4, 7}, want: "10:C7", next: 8},
		{retain: 1, attempt: "f", want: "10:C7 11:Tf", next: 8, dead: []string{"e"}},
		{retain: 1, attempt: "g", fresh: true, want: "10:C7 11:Tf 12:Fg", next: 8, dead: []string{"e", "f"}},
		{retain: 1, attempt: "h", ids: []int64{8}, want: "14:C8", next: 9},
	} {
		s := write(step.retain, step.attempt, step.fresh, step.ids...)
		if got := show(s.Entries()); got != step.want {
			t.Fatalf("after %s: log %s, want %s", step.attempt, got, step.want)
		}
		d := checkpoint.Decision{Action: checkpoint.Fresh}
		if l := s.Latest(); l != nil {
			d = checkpoint.Decision{Action: checkpoint.RestoreAt, ID: l.Checkpoint.ID}
		}
		r, err := s.Restore(d)
		must(t, err)
		// Who has written a checkpoint has cleaned up after the attempts before.
		if len(step.ids) == 0 {
			if d := cmp.Diff(step.dead, r.DeadAttempts); d != "" && step.attempt != "a" {
				t.Errorf("dead attempts of %s (-want +got):\n%s", step.attempt, d)
			}
		}
		if r.NextID != step.next {
			t.Errorf("after %s: next id %d, want %d", step.attempt, r.NextID, step.next)
		}
	}
}

func TestRestoreRefusesWhatDecideDidNotFind(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, local.New(), t.TempDir(), 1)
	must(t, s.TakeOver(ctx, checkpoint.Takeover{Owner: owner(1), Attempt: "a", CommitUser: "user"}))
	must(t, s.AppendCheckpoint(ctx, numbered(1)))
	reason := &diag.Error{Msg: "no"}
	for _, d := range []checkpoint.Decision{
		{Action: checkpoint.Fresh},
		{Action: checkpoint.RestoreAt, ID: 2},
		{Action: checkpoint.Refuse, Reason: reason},
	} {
		if _, err := s.Restore(d); err == nil {
			t.Errorf("%+v was carried out", d)
		}
	}
}

func TestLoserOfACreateIsFenced(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	a, b := open(t, local.New(), dir, 1), open(t, local.New(), dir, 1)
	must(t, a.TakeOver(ctx, checkpoint.Takeover{Owner: owner(11), Attempt: "a", CommitUser: "user"}))
	if err := b.TakeOver(ctx, checkpoint.Takeover{Owner: owner(22), Attempt: "b", CommitUser: "user"}); !errors.Is(err, checkpoint.ErrFenced) {
		t.Fatalf("two takeovers from one state: %v", err)
	}
	b = open(t, local.New(), dir, 1)
	must(t, b.TakeOver(ctx, checkpoint.Takeover{Owner: owner(22), Attempt: "b", CommitUser: "user"}))
	err := a.AppendCheckpoint(ctx, numbered(1))
	if !errors.Is(err, checkpoint.ErrFenced) || diag.DomainOf(err) != diag.Guard || diag.Retryable(err) {
		t.Fatalf("error %v", err)
	}
	if !strings.Contains(err.Error(), "pid 22 on h since 2026-01-02 03:04:05") {
		t.Errorf("the error does not name the successor: %v", err)
	}
	// The successor goes on and prunes the number at which the loser stands.
	for id := int64(1); id < 6; id++ {
		must(t, b.AppendCheckpoint(ctx, numbered(id)))
	}
	if err := a.AppendCheckpoint(ctx, numbered(2)); !errors.Is(err, checkpoint.ErrFenced) {
		t.Fatalf("a pruned number let a fenced writer in: %v", err)
	}
	must(t, b.AppendCheckpoint(ctx, numbered(6)))
	if got, want := show(open(t, local.New(), dir, 1).Entries()), show(b.Entries()); got != want {
		t.Errorf("what the loser left is taken for an entry: %s, want %s", got, want)
	}
}

func TestBrokenLogsAreCorrupt(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(dir string) error{
		"cut": func(dir string) error { return os.Truncate(filepath.Join(dir, "entry-0000000002"), 20) },
		"renumbered": func(dir string) error {
			return os.Rename(filepath.Join(dir, "entry-0000000002"), filepath.Join(dir, "entry-0000000003"))
		},
		"needs a later one": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "entry-0000000002"), []byte(`{"version":1,"number":2,"oldest":3,"kind":"takeover"}`), 0o600)
		},
		"version": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "entry-0000000002"), []byte(`{"version":9,"number":2}`), 0o600)
		},
		"no checkpoint": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "entry-0000000002"), []byte(`{"version":1,"number":2,"oldest":1,"kind":"checkpoint"}`), 0o600)
		},
		"gap": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "entry-0000000004"), []byte(`{"version":1,"number":4,"oldest":1,"kind":"takeover"}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, local.New(), dir, 9)
			must(t, s.TakeOver(t.Context(), checkpoint.Takeover{Owner: owner(1), Attempt: "a", CommitUser: "user"}))
			must(t, s.TakeOver(t.Context(), checkpoint.Takeover{Owner: owner(1), Attempt: "b", CommitUser: "user"}))
			must(t, breakIt(dir))
			_, err := checkpoint.Open(t.Context(), local.New(), dir, checkpoint.Options{})
			if diag.DomainOf(err) != diag.Corrupt {
				t.Fatalf("error %v", err)
			}
		})
	}
}

// TestEveryCallMayGoWrong runs a fixed history, once for every call of the file
// system and every way in which it can go wrong. The writer tries a failed step
// again; a stopped one is followed by a new process.
func TestEveryCallMayGoWrong(t *testing.T) {
	t.Parallel()
	count := func() int {
		fs := faultfs.New(local.New(), "")
		history(t, fs, t.TempDir())
		return fs.Total()
	}()
	if count < 20 {
		t.Fatalf("only %d calls", count)
	}
	for n := 1; n <= count; n++ {
		for _, action := range []string{"fail", "lie", "cut", "stop", "stop-after"} {
			t.Run(fmt.Sprintf("%d %s", n, action), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				history(t, faultfs.New(local.New(), fmt.Sprintf("any#%d %s", n, action)), dir)
				checkLog(t, open(t, local.New(), dir, 2).Entries())
			})
		}
	}
}

// history writes checkpoints 1 to 6 by two attempts.
func history(t *testing.T, fs *faultfs.FS, dir string) {
	t.Helper()
	ctx := t.Context()
	var s *checkpoint.Store
	attempt := 0
	// restart is a new process: it reads the log and takes over.
	restart := func() {
		for {
			if fs.Stopped() {
				fs.Set("")
			}
			var err error
			if s, err = checkpoint.Open(ctx, fs, dir, checkpoint.Options{Retain: 2}); err != nil {
				continue
			}
			attempt++
			if err = s.TakeOver(ctx, checkpoint.Takeover{Owner: owner(attempt), Attempt: fmt.Sprint(attempt), CommitUser: "user"}); err == nil {
				return
			}
		}
	}
	for id := int64(1); id <= 6; {
		if id == 1 && s == nil || id == 4 && attempt == 1 {
			restart()
		}
		err := s.AppendCheckpoint(ctx, numbered(id))
		switch {
		case err == nil:
			id++
		case fs.Stopped():
			restart()
			id = 1
			if l := s.Latest(); l != nil {
				id = int64(l.Checkpoint.ID) + 1
			}
		case errors.Is(err, checkpoint.ErrFenced):
			t.Fatalf("the only writer was fenced: %v", err)
		}
	}
}

// checkLog wants no gap, the ids in order without doubles, 6 at the end.
func checkLog(t *testing.T, entries []checkpoint.Entry) {
	t.Helper()
	var ids []dataflow.CheckpointID
	for i, e := range entries {
		if i > 0 && e.Number != entries[i-1].Number+1 {
			t.Errorf("a gap in %s", show(entries))
		}
		if e.Checkpoint != nil {
			ids = append(ids, e.Checkpoint.ID)
		}
	}
	if want := []dataflow.CheckpointID{5, 6}; !slices.Equal(ids[max(0, len(ids)-2):], want) {
		t.Errorf("log %s", show(entries))
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(ids))); !slices.Equal(sorted, ids) {
		t.Errorf("doubled or disordered checkpoints: %s", show(entries))
	}
}

// TestOneOwnerAmongMany lets several processes take over and write in any order:
// what counts is one history, and whoever lost a create stays out.
func TestOneOwnerAmongMany(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		dir, ctx := t.TempDir(), t.Context()
		stores := make([]*checkpoint.Store, 3)
		var want []string
		holder, next, attempt := -1, int64(1), 0
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			p := rapid.IntRange(0, len(stores)-1).Draw(r, "process")
			if stores[p] == nil || rapid.IntRange(0, 3).Draw(r, "take over") == 0 {
				stores[p] = open(t, local.New(), dir, rapid.IntRange(1, 3).Draw(r, "retain"))
				attempt++
				must(t, stores[p].TakeOver(ctx, checkpoint.Takeover{Owner: owner(p), Attempt: fmt.Sprint(attempt), CommitUser: "user"}))
				want = append(want, fmt.Sprint("T", attempt))
				holder = p
				continue
			}
			err := stores[p].AppendCheckpoint(ctx, numbered(next))
			switch {
			case p == holder && err != nil:
				r.Fatalf("the owner was refused: %v", err)
			case p != holder && !errors.Is(err, checkpoint.ErrFenced):
				r.Fatalf("process %d wrote, %d owns the log: %v", p, holder, err)
			case p == holder:
				want = append(want, fmt.Sprint("C", next))
				next++
			}
		}
		got := open(t, local.New(), dir, 1).Entries()
		for i := range got {
			number, word, _ := strings.Cut(show(got[i:i+1]), ":")
			if place := len(want) - len(got) + i; number != fmt.Sprint(place+1) || word != want[place] {
				r.Fatalf("entry %s is %s, want %s", number, word, want[place])
			}
		}
	})
}
