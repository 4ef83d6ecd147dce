package checkpoint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/dataflow"
	"leat/internal/dataflow/checkpoint"
	"leat/internal/fileio"
	"leat/internal/fileio/faultfs"
	"leat/internal/fileio/local"
)

func saved(id int64) *dataflow.Checkpoint {
	c := numbered(id)
	c.Savepoint = &dataflow.SavepointRef{Name: fmt.Sprintf("savepoint-%d", id), Path: "/s"}
	return c
}

func TestGoingBackVoidsWhatCameAfter(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	s := open(t, local.New(), dir, 9)
	must(t, s.TakeOver(ctx, checkpoint.Takeover{Owner: owner(1), Attempt: "a", CommitUser: "user"}))
	must(t, s.AppendCheckpoint(ctx, saved(1)))
	must(t, s.AppendCheckpoint(ctx, numbered(2)))
	must(t, s.TakeOver(ctx, checkpoint.Takeover{Owner: owner(2), Attempt: "b", CommitUser: "user"}))
	r := checkpoint.Restore{Savepoint: *saved(1).Savepoint, Rewinds: map[string]json.RawMessage{"sink": json.RawMessage(`{"to":3}`)}}
	must(t, s.GoBack(ctx, saved(1), r, "new user"))

	s = open(t, local.New(), dir, 1)
	if got, want := show(s.Entries()), "1:Ta 2:S1 3:C2 4:Tb 5:R1"; got != want {
		t.Fatalf("log %s, want %s", got, want)
	}
	if f := s.Facts(); len(f.Completed) != 1 || f.Completed[0].ID != 1 || len(f.UnknownKinds) != 0 {
		t.Errorf("facts %+v", f)
	}
	latest := s.Latest()
	if s.CommitUser() != "new user" || latest.Restore == nil || cmp.Diff(r, *latest.Restore) != "" {
		t.Errorf("user %s, newest %+v", s.CommitUser(), latest)
	}
	must(t, s.TakeOver(ctx, checkpoint.Takeover{Owner: owner(3), Attempt: "c", CommitUser: s.CommitUser()}))
	got, err := s.Restore(checkpoint.Decision{Action: checkpoint.RestoreAt, ID: 1})
	must(t, err)
	// Both the author of the void checkpoint and the run that went back may have left files.
	if d := cmp.Diff([]string{"a", "b"}, got.DeadAttempts); d != "" || got.NextID != 3 || got.Checkpoint.ID != 1 {
		t.Errorf("restore %+v\n%s", got, d)
	}
	must(t, s.AppendCheckpoint(ctx, numbered(3)))
	s = open(t, local.New(), dir, 1)
	if got, want := show(s.Entries()), "7:C3"; got != want || s.Latest().Restore != nil || s.CommitUser() != "new user" {
		t.Errorf("log %s, want %s; user %s", got, want, s.CommitUser())
	}
}

// TestGoingBackAtEveryCall goes back to a savepoint while one call of the file
// system goes wrong; the process that follows either goes back once more or goes
// on from there, never from a void checkpoint.
func TestGoingBackAtEveryCall(t *testing.T) {
	t.Parallel()
	count := func() int {
		fs := faultfs.New(local.New(), "")
		goBack(t, fs, t.TempDir())
		return fs.Total()
	}()
	for n := 1; n <= count; n++ {
		for _, action := range []string{"fail", "lie", "cut", "stop", "stop-after"} {
			t.Run(fmt.Sprintf("%d %s", n, action), func(t *testing.T) {
				t.Parallel()
				fs := faultfs.New(local.New(), fmt.Sprintf("any#%d %s", n, action))
				dir := t.TempDir()
				goBack(t, fs, dir)
				s := open(t, local.New(), dir, 1)
				if l := s.Latest(); l.Checkpoint.ID != 7 || s.CommitUser() != "user 2" {
					t.Errorf("log %s, user %s", show(s.Entries()), s.CommitUser())
				}
			})
		}
	}
}

// goBack writes checkpoints 3 and 4, goes back to 3 and writes 7.
func goBack(t *testing.T, fs *faultfs.FS, dir string) {
	t.Helper()
	ctx := t.Context()
	steps := []func(*checkpoint.Store) error{
		func(s *checkpoint.Store) error { return s.AppendCheckpoint(ctx, saved(3)) },
		func(s *checkpoint.Store) error { return s.AppendCheckpoint(ctx, numbered(4)) },
		func(s *checkpoint.Store) error {
			return s.GoBack(ctx, saved(3), checkpoint.Restore{Savepoint: *saved(3).Savepoint}, "user 2")
		},
		func(s *checkpoint.Store) error { return s.AppendCheckpoint(ctx, numbered(7)) },
	}
	var s *checkpoint.Store
	for attempt, done := 1, 0; done < len(steps); attempt++ {
		if fs.Stopped() {
			fs.Set("")
		}
		var err error
		if s, err = checkpoint.Open(ctx, fs, dir, checkpoint.Options{}); err != nil {
			continue
		}
		done = doneIn(s)
		user := s.CommitUser()
		if user == "" {
			user = "user 1"
		}
		if err := s.TakeOver(ctx, checkpoint.Takeover{Owner: owner(attempt), Attempt: fmt.Sprint(attempt), CommitUser: user}); err != nil {
			continue
		}
		for done < len(steps) {
			err := steps[done](s)
			if errors.Is(err, checkpoint.ErrFenced) || errors.Is(err, fileio.ErrNotExist) {
				t.Fatalf("step %d: %v", done, err)
			}
			if err == nil {
				done++
			} else if fs.Stopped() {
				break
			}
		}
	}
}

// doneIn tells how many steps of goBack the log shows.
func doneIn(s *checkpoint.Store) int {
	l := s.Latest()
	switch {
	case l == nil:
		return 0
	case l.Kind == checkpoint.KindRestore:
		return 3
	case l.Checkpoint.ID == 3:
		return 1
	case l.Checkpoint.ID == 4:
		return 2
	default:
		return 4
	}
}
