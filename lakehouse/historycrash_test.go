package lakehouse_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"testing"
	"time"

	"pgregory.net/rapid"

	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/faultfs"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

func attemptName(n int) string { return fmt.Sprintf("attempt-%04d", n) }

// untilFault writes epochs on fs until something fails. It gives how many
// commits were confirmed and how many were begun.
func (r *historyRun) untilFault(fs fileio.FS) (confirmed, begun int, err error) {
	ctx := r.rt.Context()
	tab, err := lakehouse.Open(ctx, fs, r.tab.Path)
	if err != nil {
		return 0, 0, err
	}
	name := r.name()
	pool := lakehouse.NewWorkPool(2)
	w, err := tab.NewWriter(ctx, lakehouse.WriteConfig{Attempt: name, Budget: lakehouse.NewMemoryBudget(r.s.memory), Pool: pool})
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = w.Close(ctx) }()
	dropped := false
	c := commit.New(fs, tab.Path, tab.Schema, commit.Options{
		Attempt: name, MaxRetries: -1, MinRetryWait: 1, MaxRetryWait: 1, Dropped: func(int64, []spec.CommitMessage) { dropped = true },
	}, nil)
	for i, changes := range r.h.epochs {
		for len(changes) > 0 {
			n := r.cut(changes)
			if err := w.Write(ctx, r.h.batch(tab.Schema, changes[:n])); err != nil {
				return confirmed, begun, err
			}
			changes = changes[n:]
		}
		id := int64(i + 1)
		p, err := w.Prepare(ctx, id)
		if err != nil {
			return confirmed, begun, err
		}
		msgs, err := p.Wait(ctx)
		if err != nil {
			return confirmed, begun, err
		}
		begun++
		dropped = false
		ids, err := c.Commit(ctx, commit.Request{User: "user", Identifier: id, Messages: msgs})
		if err != nil {
			return confirmed, begun, err
		}
		confirmed++
		if err := w.Committed(ctx, id, ids, dropped); err != nil {
			return confirmed, begun, err
		}
		if rapid.IntRange(0, 3).Draw(r.rt, "compact beside") > 0 {
			continue
		}
		job := lakehouse.Compaction{Full: rapid.Bool().Draw(r.rt, "full"), Commit: commit.Options{MaxRetries: -1, MinRetryWait: 1, MaxRetryWait: 1}}
		if _, err := tab.RunCompaction(ctx, lakehouse.WriteConfig{Attempt: r.name()}, job); err != nil {
			return confirmed, begun, err
		}
	}
	return confirmed, begun, nil
}

// reconcile removes what dead attempts left, as a job does when it starts, and
// gives how many epochs are in the table.
func (r *historyRun) reconcile() int {
	ctx := r.rt.Context()
	for n := range r.attempt {
		if err := maintain.RemoveAttempt(ctx, r.tab.FS, r.tab.Path, attemptName(n+1), nil); err != nil {
			r.rt.Fatal(err)
		}
	}
	epochs := int64(0)
	for _, s := range r.snapshots() {
		if s.CommitUser == "user" {
			epochs = max(epochs, s.CommitIdentifier)
		}
	}
	return int(epochs)
}

func (r *historyRun) snapshots() []*spec.Snapshot {
	ctx := r.rt.Context()
	snaps := commit.NewSnapshots(r.tab.FS, r.tab.Path)
	ids, err := snaps.List(ctx)
	if err != nil {
		r.rt.Fatal(err)
	}
	var out []*spec.Snapshot
	for _, id := range ids {
		s, err := snaps.Read(ctx, id)
		if err != nil {
			r.rt.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// checkReferences requires every file that a snapshot names.
func (r *historyRun) checkReferences(paths []string) {
	ctx := r.rt.Context()
	there := map[string]bool{}
	for _, p := range paths {
		there[path.Base(p)] = true
	}
	manifests := commit.NewManifests(r.tab.FS, r.tab.Path)
	for _, s := range r.snapshots() {
		entries, err := manifests.Live(ctx, s)
		if err == nil && s.ChangelogManifestList != nil {
			var metas []spec.ManifestFileMeta
			if metas, err = manifests.List(ctx, *s.ChangelogManifestList); err == nil {
				var changes []spec.ManifestEntry
				changes, err = manifests.Read(ctx, metas)
				entries = append(entries, changes...)
			}
		}
		index, ierr := manifests.Index(ctx, s)
		if err != nil || ierr != nil {
			r.rt.Fatalf("snapshot %d, %+v: %v, %v", s.ID, r.s, err, ierr)
		}
		names := []string{}
		for i := range entries {
			names = append(names, entries[i].File.FileName)
		}
		for i := range index {
			names = append(names, index[i].File.FileName)
		}
		for _, n := range names {
			if !there[n] {
				r.rt.Fatalf("snapshot %d names %s, which is not there, %+v", s.ID, n, r.s)
			}
		}
	}
}

// crashAt writes the history on a disk on which call n to the file system fails,
// or is the last one, loses power, and goes on.
func (r *historyRun) crashAt(rule string, rnd *rand.Rand) (failed bool) {
	ctx := r.rt.Context()
	disk := crashfs.New()
	r.tab = newTable(r.rt, disk, "/wh/db.db/t", r.h.schema(r.s.layout, r.s.options))
	r.folded = map[string]string{}
	confirmed, begun, err := r.untilFault(faultfs.New(disk, rule))
	disk = disk.Crash(rnd)
	r.reopen(disk)
	r.checkReferences(disk.Paths())
	epochs := r.reconcile()
	for epochs < confirmed && r.h.same(epochs) {
		epochs++ // an epoch that changes nothing makes no snapshot
	}
	if epochs < confirmed || epochs > begun {
		r.rt.Fatalf("%s (error %v): %d epochs are in the table, %d were confirmed, %d begun, %+v", rule, err, epochs, confirmed, begun, r.s)
	}
	r.checkReferences(disk.Paths())
	r.check(epochs - 1)
	r.id = int64(begun)
	r.open()
	for i := epochs; i < len(r.h.epochs); i++ {
		r.epoch(r.h.epochs[i], nil, false)
	}
	r.check(len(r.h.epochs) - 1)
	r.close()
	r.reconcile()
	r.checkReferences(disk.Paths())
	orphans, oerr := maintain.RemoveOrphans(ctx, disk, r.tab.Path, maintain.OrphanOptions{OlderThan: time.Now().Add(1e6 * time.Hour), DryRun: true})
	if oerr != nil {
		r.rt.Fatal(oerr)
	}
	if len(orphans.Paths) > 0 {
		r.rt.Fatalf("%s: files belong to no snapshot: %v, %+v", rule, orphans.Paths, r.s)
	}
	return err != nil
}

func (r *historyRun) reopen(fs fileio.FS) {
	tab, err := lakehouse.Open(r.rt.Context(), fs, r.tab.Path)
	if err != nil {
		r.rt.Fatal(err)
	}
	r.tab = tab
}

// TestHistoriesSurviveCrashes breaks a call of flushes, compactions and commits
// of tables of every engine and setting. What was confirmed is there after a
// loss of power, nothing else is to be seen, no snapshot names a file that is
// gone, and the next run ends with the right rows, changelog and files.
func TestHistoriesSurviveCrashes(t *testing.T) {
	t.Parallel()
	runs, failed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHistory(rt)
		r := &historyRun{rt: rt, h: h, s: drawSetting(rt, h)}
		rule := fmt.Sprintf("any#%d %s", rapid.IntRange(1, 60*len(h.epochs)).Draw(rt, "call"), rapid.SampledFrom([]string{"fail", "stop", "stop-after"}).Draw(rt, "action"))
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "power"), 1))
		if runs++; r.crashAt(rule, rnd) {
			failed++
		}
	})
	t.Logf("%d of %d runs failed at a call", failed, runs)
	if failed < runs/5 {
		t.Errorf("%d of %d runs failed, which is too few to mean anything", failed, runs)
	}
}
