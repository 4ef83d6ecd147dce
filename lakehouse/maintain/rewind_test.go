package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/faultfs"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// gone is a table whose snapshot 4 has expired and is held by a tag; later
// snapshots have one too, and a consumer stands beyond.
func gone(t *testing.T) *fixture {
	t.Helper()
	ctx := t.Context()
	f := newFixture(t, nil)
	for i := range 4 {
		// A tag keeps no changelog.
		f.commit("a", func(m *spec.CommitMessage) { m.NewFiles = []spec.DataFileMeta{f.write("a", fmt.Sprint("data-", i))} })
	}
	must(t, CreateTag(ctx, f.fs, tablePath, TagOptions{Name: "old", Now: time.Now()}))
	f.commit("a", func(m *spec.CommitMessage) {
		m.CompactBefore = []spec.DataFileMeta{f.file("data-0", 0), f.file("data-1", 0)}
		m.CompactAfter = []spec.DataFileMeta{f.write("a", "data-c1")}
	})
	for i := range 5 {
		f.append("b", fmt.Sprint(10+i))
		if i == 2 {
			must(t, CreateTag(ctx, f.fs, tablePath, TagOptions{Name: "later", Now: time.Now()}))
		}
	}
	f.expire(all(7))
	must(t, ResetConsumer(ctx, f.fs, tablePath, "c", 10))
	return f
}

// planned gives the plan as another process reads it.
func planned(t *testing.T, f *fixture, snapshot int64, tag string) *Rewind {
	t.Helper()
	r, err := PlanRewind(t.Context(), f.fs, tablePath, snapshot, tag)
	must(t, err)
	r.Consumers = []string{"c"}
	b, err := json.Marshal(r)
	must(t, err)
	var again Rewind
	must(t, json.Unmarshal(b, &again))
	return &again
}

// checkRewound wants the table at the snapshot with no file more than it needs.
func (f *fixture) checkRewound(what string, snapshot int64) {
	f.t.Helper()
	ctx := f.t.Context()
	f.whole(what)
	if d := cmp.Diff(f.needed(ctx), f.disk(ctx)); d != "" {
		f.t.Fatalf("%s (-needed +disk):\n%s", what, d)
	}
	latest, err := commit.NewSnapshots(f.fs, tablePath).Latest(ctx)
	must(f.t, err)
	consumers, err := Consumers(ctx, f.fs, tablePath)
	must(f.t, err)
	if latest != snapshot || len(consumers) != 1 || consumers[0].Next != snapshot+1 {
		f.t.Fatalf("%s: latest %d, consumers %v", what, latest, consumers)
	}
	tags, err := Tags(ctx, f.fs, tablePath)
	must(f.t, err)
	if len(tags) != 1 || tags[0].Name != "old" {
		f.t.Fatalf("%s: tags %v", what, tags)
	}
}

// TestRewindAtEveryCrash stops the way back at every call of the disk: the next
// process ends it and leaves nothing behind, without a sweep.
func TestRewindAtEveryCrash(t *testing.T) {
	t.Parallel()
	origin := gone(t)
	for name, tt := range map[string]struct {
		snapshot int64
		tag      string
	}{"to a tag": {4, "old"}, "to a snapshot": {9, ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			start := func() *fixture {
				f := origin.clone()
				f.t = t
				if tt.tag == "" {
					must(t, DeleteTag(ctx, f.fs, tablePath, "later"))
				}
				return f
			}
			plan := planned(t, start(), tt.snapshot, tt.tag)
			whole := start()
			counted := faultfs.New(whole.fs, "")
			must(t, plan.Run(ctx, counted, tablePath))
			whole.checkRewound("undisturbed", tt.snapshot)
			for _, action := range []faultfs.Action{faultfs.Stop, faultfs.StopAfter, faultfs.Lie} {
				for n := 1; n <= counted.Total(); n++ {
					what := fmt.Sprintf("call %d %s", n, action)
					f := start()
					err := plan.Run(ctx, faultfs.New(f.fs, faultfs.Rule{Op: faultfs.Any, N: n, Action: action}.String()), tablePath)
					if err != nil && !errors.Is(err, faultfs.ErrInjected) {
						t.Fatalf("%s: %v", what, err)
					}
					f.whole(what)
					must(t, plan.Run(ctx, f.fs, tablePath))
					f.checkRewound(what, tt.snapshot)
				}
			}
		})
	}
}

func TestRewindLeavesWhatOthersWrote(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	origin := gone(t)
	plan := planned(t, origin, 4, "old")

	// Another writer comes after the way back was done: doing it again changes nothing.
	f := origin.clone()
	must(t, plan.Run(ctx, f.fs, tablePath))
	other := newCommitter(t, f.fs)
	commitEmpty(t, other, "other", 1)
	must(t, plan.Run(ctx, f.fs, tablePath))
	if s, err := commit.NewSnapshots(f.fs, tablePath).Read(ctx, 5); err != nil || s.CommitUser != "other" {
		t.Errorf("snapshot 5 is %v, %v", s, err)
	}

	// Another writer on top of what is to go.
	f = origin.clone()
	commitEmpty(t, newCommitter(t, f.fs), "other", 1)
	err := plan.Run(ctx, f.fs, tablePath)
	if diag.DomainOf(err) != diag.Guard || !strings.Contains(err.Error(), "user other has made snapshot 12") {
		t.Errorf("error %v", err)
	}

	// The snapshot is another one by now.
	must(t, plan.Run(ctx, origin.fs, tablePath))
	must(t, origin.fs.Remove(ctx, tablePath+"/snapshot/snapshot-4"))
	b, err := origin.fs.ReadFile(ctx, tablePath+"/tag/tag-old")
	must(t, err)
	must(t, origin.fs.Replace(ctx, tablePath+"/snapshot/snapshot-4", []byte(strings.Replace(string(b), plan.Delta, "manifest-list-other", 1))))
	if err := plan.Run(ctx, origin.fs, tablePath); diag.DomainOf(err) != diag.Guard {
		t.Errorf("another snapshot of the number: %v", err)
	}
}

func newCommitter(t *testing.T, fs fileio.FS) *commit.Committer {
	t.Helper()
	tab, err := openTable(t.Context(), fs, tablePath)
	must(t, err)
	return commit.New(fs, tablePath, tab.schema, commit.Options{Attempt: "feedbeef-0000-4000-8000-000000000000"}, nil)
}

func commitEmpty(t *testing.T, c *commit.Committer, user string, identifier int64) {
	t.Helper()
	_, err := c.Commit(context.Background(), commit.Request{User: user, Identifier: identifier, ForceSnapshot: true})
	must(t, err)
}
