package paimon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"leat/internal/connect"
	"leat/internal/dataflow"
	"leat/internal/dataflow/checkpoint"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/faultfs"
	"leat/lakehouse"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

const (
	tablePath  = "/lake/db.db/t"
	savepoints = "/savepoints"
	// savedAfter is how many transactions the process that takes the savepoint
	// would read, aheadTo how far the one after it comes.
	savedAfter = 14
	aheadTo    = 21
)

// written is a savepoint as the test writes it.
type written struct {
	Name       string               `json:"name"`
	User       string               `json:"user"`
	Checkpoint *dataflow.Checkpoint `json:"checkpoint"`
	Held       json.RawMessage      `json:"held"`
}

// atHome is a start from a savepoint.
type atHome struct {
	ref        dataflow.SavepointRef
	checkpoint *dataflow.Checkpoint
	rewinds    map[string]json.RawMessage
}

// home compares the table with the savepoint; nil without one, or if the log is
// on its way back to it.
func (s *written) home(ctx context.Context, fs fileio.FS, store *checkpoint.Store) (*atHome, error) {
	if s == nil || store.Latest() != nil && store.Latest().Restore != nil {
		return nil, nil //nolint:nilnil // nothing to go back to
	}
	p, err := newPast(ctx, fs, tablePath, "t", s.Held)
	if err != nil {
		return nil, err
	}
	own := connect.Own{Users: []string{s.User}}
	st, err := p.standing(ctx, own)
	if err != nil {
		return nil, err
	}
	h := &atHome{ref: dataflow.SavepointRef{Name: s.Name}, checkpoint: s.Checkpoint}
	if len(st.Others) > 0 || st.Expired {
		return nil, fmt.Errorf("the only writer has others beside it: %+v", st)
	}
	if !st.Newer() {
		return h, nil
	}
	plan, err := p.plan(ctx, st.Consumers)
	h.rewinds = map[string]json.RawMessage{"sink": plan}
	return h, err
}

func (h *atHome) goBack(ctx context.Context, fs fileio.FS, store *checkpoint.Store, user string) (string, error) {
	if h != nil {
		user = "user-2"
		if err := store.GoBack(ctx, h.checkpoint, checkpoint.Restore{Savepoint: h.ref, Rewinds: h.rewinds}, user); err != nil {
			return user, err
		}
	}
	if l := store.Latest(); l != nil && l.Restore != nil && l.Restore.Rewinds["sink"] != nil {
		return user, rewind(ctx, fs, tablePath, l.Restore.Rewinds["sink"])
	}
	return user, nil
}

func abandoned(ctx context.Context, fs fileio.FS, store *checkpoint.Store) ([]string, error) {
	var out []string
	for _, e := range store.Entries() {
		if e.Kind != checkpoint.KindSavepoint {
			continue
		}
		_, err := fs.Stat(ctx, e.Checkpoint.Savepoint.Path)
		if errors.Is(err, fileio.ErrNotExist) {
			out = append(out, e.Checkpoint.Savepoint.Name)
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// save is a process that stops with a savepoint, or ends because it failed to take it.
func (w *world) save(ctx context.Context, fs fileio.FS, name string) error {
	e, err := w.executionOf(ctx, fs, &source{end: savedAfter, stay: true}, nil)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	ref := dataflow.SavepointRef{Name: name, Path: savepoints + "/" + name}
	asked := make(chan error, 1)
	go func() {
		err := e.Savepoint(ctx, dataflow.SavepointRequest{SavepointRef: ref, Stop: true, Write: func(ctx context.Context, s *dataflow.Savepoint) error {
			c := *s.Checkpoint
			c.Sinks = map[string]dataflow.SinkRecord{"sink": {Observed: s.Held["sink"]}}
			b, err := json.Marshal(written{Name: name, User: "user-1", Checkpoint: &c, Held: s.Held["sink"]})
			if err != nil {
				return err
			}
			err = fs.CreateExclusive(ctx, ref.Path, b)
			if there, rerr := fs.ReadFile(ctx, ref.Path); err != nil && rerr == nil && bytes.Equal(there, b) {
				return nil // the answer was lost, as internal/job looks it up
			}
			return mayPass(err, "writing the savepoint")
		}})
		if err != nil {
			end(err)
		}
		asked <- err
	}()
	err = e.Run(ctx)
	return errors.Join(err, <-asked)
}

// saved gives the savepoint on the disk, nil if there is none.
func (w *world) saved(t *testing.T, fs fileio.FS) *written {
	t.Helper()
	infos, err := fs.List(t.Context(), savepoints)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		if strings.HasSuffix(i.Name, ".tmp") {
			continue
		}
		b, err := fs.ReadFile(t.Context(), i.Path)
		if err != nil {
			t.Fatal(err)
		}
		var s written
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	return nil
}

// travel is the life of a job that takes a savepoint, goes on, and goes back to
// it. Every process that the fault kills is followed by another one.
func (w *world) travel(t *testing.T, rules string, rnd *rand.Rand) *faultfs.FS {
	t.Helper()
	fs := faultfs.New(w.disk, rules)
	calls := fs
	// process runs f until it comes to its end.
	process := func(what string, f func(ctx context.Context, fs fileio.FS) error) {
		for try := 0; ; try++ {
			err := untilStop(t, fs, func(ctx context.Context) error { return f(ctx, fs) })
			if err == nil {
				return
			}
			if errors.Is(err, context.DeadlineExceeded) || try > 3 || !fs.Stopped() && !errors.Is(err, faultfs.ErrInjected) && !errors.Is(err, dataflow.ErrStopped) && !diag.Retryable(err) {
				t.Fatalf("%s, %s, try %d: %v", rules, what, try, err)
			}
			if fs.Stopped() {
				w.disk = w.disk.Crash(rnd)
				fs = faultfs.New(w.disk, "")
			}
		}
	}
	names := 0
	process("taking the savepoint", func(ctx context.Context, fs fileio.FS) error {
		if w.saved(t, w.disk) != nil {
			return nil
		}
		names++
		return w.save(ctx, fs, fmt.Sprintf("savepoint-%d", names))
	})
	process("going on", func(ctx context.Context, fs fileio.FS) error { return w.runUpTo(ctx, fs, aheadTo) })
	s := w.saved(t, w.disk)
	back := func(ctx context.Context, fs fileio.FS) error {
		e, err := w.execution(ctx, fs, transactions, s)
		if err != nil {
			return err
		}
		return e.Run(ctx)
	}
	process("going back", func(ctx context.Context, fs fileio.FS) error {
		// Once a checkpoint has followed, the way back is done.
		store, err := checkpoint.Open(ctx, w.disk, "/state/job", checkpoint.Options{})
		if err != nil {
			return err
		}
		if store.CommitUser() == "user-2" && store.Latest().Restore == nil {
			return w.runUpTo(ctx, fs, transactions)
		}
		return back(ctx, fs)
	})
	return calls
}

// checkTravelled wants all transactions once, the commits after the way back by
// the new user, the one tag of the savepoint, and, after deaths of the process
// alone, no file that nothing needs: removals may come undone when power is lost.
func (w *world) checkTravelled(t *testing.T, what string, power bool) {
	t.Helper()
	ctx := t.Context()
	// Files of the last process that failed are removed by the next.
	w.finish(t)
	w.check(t)
	tab, err := lakehouse.Open(ctx, w.disk, tablePath)
	if err != nil {
		t.Fatal(err)
	}
	s := w.saved(t, w.disk)
	h, err := parseHeld(s.Held, "t")
	if err != nil {
		t.Fatal(err)
	}
	last, err := tab.LatestSnapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for id := int64(1); id <= last.ID; id++ {
		snap, err := tab.Snapshot(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{true: "user-1", false: "user-2"}[id <= h.Snapshot]; snap.CommitUser != want {
			t.Fatalf("%s: snapshot %d is by %s, the savepoint is of %d", what, id, snap.CommitUser, h.Snapshot)
		}
	}
	tags, err := maintain.Tags(ctx, w.disk, tablePath)
	if err != nil || len(tags) != 1 || tags[0].Name != s.Name || tags[0].Snapshot.DeltaManifestList != h.Delta {
		t.Fatalf("%s: tags %v, %v; the savepoint is %s", what, tags, err, s.Name)
	}
	if power {
		return
	}
	orphans, err := maintain.RemoveOrphans(ctx, w.disk, tablePath, maintain.OrphanOptions{OlderThan: time.Now().Add(time.Hour), DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	left := slices.DeleteFunc(orphans.Paths, func(p string) bool { return strings.HasSuffix(p, ".tmp") })
	if len(left) > 0 {
		t.Fatalf("%s: left behind: %v", what, left)
	}
}

func TestTravelUndisturbed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.travel(t, "", nil)
	w.checkTravelled(t, "undisturbed", false)
}

// TestTravelAtEveryChange kills the process at the n-th change of the disk while
// it takes a savepoint, goes on, and goes back.
func TestTravelAtEveryChange(t *testing.T) {
	t.Parallel()
	sound := newWorld(t)
	total := sound.travel(t, "", nil).Mutations()
	if total < 50 {
		t.Fatalf("the travel has %d changing calls only: it does not test much", total)
	}
	for i, action := range []string{"stop", "stop-after", "lie", "fail", "cut"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			// Two of three processes die alone, under the third the power is cut.
			for n := 1 + 4*i; n <= total; n += 4 * *stride {
				rules := fmt.Sprintf("mutate#%d %s", n, action)
				var rnd *rand.Rand
				if n%3 == 0 {
					rnd = rand.New(rand.NewPCG(4, uint64(n)))
				}
				w := newWorld(t)
				w.travel(t, rules, rnd)
				w.checkTravelled(t, rules, rnd != nil)
			}
		})
	}
}

// TestStandings tells a savepoint's table from others and sees who wrote since.
func TestStandings(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld(t)
	if err := w.save(ctx, w.disk, "savepoint-1"); err != nil {
		t.Fatal(err)
	}
	s := w.saved(t, w.disk)
	h, err := parseHeld(s.Held, "t")
	if err != nil {
		t.Fatal(err)
	}
	stand := func(own connect.Own) *connect.Standing {
		t.Helper()
		p, err := newPast(ctx, w.disk, tablePath, "t", s.Held)
		if err != nil {
			t.Fatal(err)
		}
		st, err := p.standing(ctx, own)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	if st := stand(connect.Own{}); st.Newer() || st.Latest != h.Snapshot || len(st.Others) > 0 {
		t.Errorf("at the savepoint: %+v", st)
	}
	// Two runs, so that there are two snapshots at least, however few checkpoints each takes.
	for _, to := range []int64{savedAfter + (aheadTo-savedAfter)/2, aheadTo} {
		if err := w.runUpTo(ctx, w.disk, to); err != nil {
			t.Fatal(err)
		}
	}
	latest := stand(connect.Own{Users: []string{"user-1"}})
	if len(latest.Own) == 0 || len(latest.Others) > 0 || latest.Expired {
		t.Errorf("known by its user: %+v", latest)
	}
	if st := stand(connect.Own{Job: "test"}); len(st.Own) != len(latest.Own) {
		t.Errorf("known by its name: %+v", st)
	}
	if st := stand(connect.Own{Job: "other"}); st.Newer() || len(st.Others) == 0 {
		t.Errorf("as another job sees it: %+v", st)
	}

	// The snapshots in between expire: only the log can tell who made them.
	if err := w.disk.Remove(ctx, fmt.Sprintf("%s/snapshot/snapshot-%d", tablePath, h.Snapshot+1)); err != nil {
		t.Fatal(err)
	}
	zero := int64(0)
	for name, tt := range map[string]struct {
		o       *observed
		unknown bool
		others  int
	}{
		"no log":                  {nil, true, 0},
		"a log of another table":  {&observed{Created: 1, Snapshot: 1000, Watched: &zero}, true, 0},
		"an old log":              {&observed{Created: h.Created, Snapshot: 1000}, true, 0},
		"a log that began later":  {&observed{Created: h.Created, Snapshot: 1000, Watched: &latest.Latest}, true, 0},
		"a log that ends earlier": {&observed{Created: h.Created, Snapshot: h.Snapshot, Watched: &zero}, true, 0},
		"a log that saw none":     {&observed{Created: h.Created, Snapshot: 1000, Watched: &zero, Foreign: h.Snapshot}, false, 0},
		"a log that saw one":      {&observed{Created: h.Created, Snapshot: 1000, Watched: &zero, Foreign: h.Snapshot + 1}, false, 1},
	} {
		own := connect.Own{Users: []string{"user-1"}}
		if tt.o != nil {
			if own.Observed, err = json.Marshal(tt.o); err != nil {
				t.Fatal(err)
			}
		}
		st := stand(own)
		if !st.Newer() || !st.Expired || (st.Unknown != [2]int64{}) != tt.unknown || len(st.Others) != tt.others {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// TestPastRefuses what is not the table, or not the snapshot, of the savepoint.
func TestPastRefuses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld(t)
	if err := w.save(ctx, w.disk, "savepoint-1"); err != nil {
		t.Fatal(err)
	}
	good, err := parseHeld(w.saved(t, w.disk).Held, "t")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		path   string
		change func(*held)
		want   string
	}{
		"gone":             {"/lake/db.db/none", func(*held) {}, "it is gone from /lake/db.db/none"},
		"another table":    {tablePath, func(h *held) { h.Created = 5 }, "it is another table"},
		"another snapshot": {tablePath, func(h *held) { h.Delta = "x" }, "is another one than that of the savepoint"},
		"expired":          {tablePath, func(h *held) { h.Snapshot, h.Tag = 999, "none" }, "it has expired, and tag none was deleted"},
	} {
		h := good
		tt.change(&h)
		raw, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		_, err = newPast(ctx, w.disk, tt.path, "t", raw)
		if diag.DomainOf(err) != diag.Guard || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHoldOfAnEmptyTable makes a snapshot to hold.
func TestHoldOfAnEmptyTable(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld(t)
	e, err := w.execution(ctx, w.disk, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan error, 1)
	var got json.RawMessage
	go func() {
		taken <- e.Savepoint(ctx, dataflow.SavepointRequest{SavepointRef: dataflow.SavepointRef{Name: "savepoint-1"}, Stop: true, Write: func(_ context.Context, s *dataflow.Savepoint) error {
			got = s.Held["sink"]
			return nil
		}})
	}()
	// A source without transactions may end before the request is heard.
	err = errors.Join(e.Run(ctx), <-taken)
	if errors.Is(err, dataflow.ErrStopped) {
		return
	}
	h, perr := parseHeld(got, "t")
	if err != nil || perr != nil || h.Snapshot != 1 || h.User != "user-1" || h.Tag != "savepoint-1" {
		t.Errorf("held %+v, %v", h, errors.Join(err, perr))
	}
	tab, err := lakehouse.Open(ctx, w.disk, tablePath)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := tab.LatestSnapshot(ctx); err != nil || s.CommitKind != spec.Append || *s.TotalRecordCount != 0 {
		t.Errorf("snapshot %+v, %v", s, err)
	}
}
