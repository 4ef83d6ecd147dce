package commit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/faultfs"
	"leat/lakehouse/spec"
)

// writer is one job of the random test: it appends, compacts what it believes
// to be live, meets faults, crashes and comes back.
type writer struct {
	name    string
	disk    fileio.FS
	fs      *faultfs.FS
	c       *Committer
	next    int64
	seen    int64
	pending []Request
	rng     *rand.Rand
	// rows maps every file ever made to the epochs whose rows it holds.
	rows map[string][]string
}

func (w *writer) open() {
	opt := fastOptions()
	opt.ManifestMergeMinCount = 2 + w.rng.IntN(4)
	opt.ManifestTargetSize, opt.ManifestFullCompactionSize = 4<<10, 12<<10
	opt.MaxRetries = 3
	w.c = New(w.fs, tablePath, pkSchema(), opt, nil)
}

// prepare makes the next epoch against the table as it is now.
func (w *writer) prepare(ctx context.Context, t *testing.T) {
	t.Helper()
	snaps := NewSnapshots(w.disk, tablePath)
	latest, err := snaps.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.next++
	if len(w.pending) == 0 {
		w.seen = latest
	}
	epoch := fmt.Sprintf("%s-%d", w.name, w.next)
	dt, bucket := fmt.Sprintf("d%d", w.rng.IntN(2)), int32(w.rng.IntN(2))
	m := message(dt, bucket)
	f := dataFile("data-"+epoch, 0, 1, 1)
	m.NewFiles = []spec.DataFileMeta{f}
	w.rows[f.FileName] = []string{epoch}
	if latest > 0 && w.rng.IntN(2) == 0 {
		w.compact(ctx, t, latest, &m, f)
	}
	w.pending = append(w.pending, Request{User: w.name, Identifier: w.next, Messages: []spec.CommitMessage{m}})
}

// compact adds a compaction of the new file and the bucket's live files.
func (w *writer) compact(ctx context.Context, t *testing.T, latest int64, m *spec.CommitMessage, own spec.DataFileMeta) {
	t.Helper()
	s, err := NewSnapshots(w.disk, tablePath).Read(ctx, latest)
	if err != nil {
		t.Fatal(err)
	}
	live, err := NewManifests(w.disk, tablePath).Live(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	before := []spec.DataFileMeta{own}
	for _, e := range live {
		if e.Bucket == m.Bucket && string(e.Partition.Data) == string(m.Partition.Data) {
			before = append(before, e.File)
		}
	}
	after := dataFile("data-c-"+own.FileName, 5, 1, 1)
	for _, b := range before {
		w.rows[after.FileName] = append(w.rows[after.FileName], w.rows[b.FileName]...)
	}
	after.RowCount = int64(len(w.rows[after.FileName]))
	m.CompactBefore, m.CompactAfter = before, []spec.DataFileMeta{after}
}

// step commits the oldest epoch once, whatever comes of it.
func (w *writer) step(ctx context.Context, t *testing.T) {
	t.Helper()
	if w.fs.Stopped() || w.rng.IntN(12) == 0 {
		w.restart(ctx, t)
	}
	if len(w.pending) == 0 {
		return
	}
	if _, err := w.c.Commit(ctx, w.pending[0]); err != nil {
		if !diag.Retryable(err) && !w.fs.Stopped() {
			t.Fatalf("an error that ends the job: %v", err)
		}
		return
	}
	w.pending = w.pending[1:]
}

func (w *writer) restart(ctx context.Context, t *testing.T) {
	t.Helper()
	w.fs.Set("")
	w.open()
	var ids []int64
	for i := range w.pending {
		w.pending[i].CheckAppend = true
		ids = append(ids, w.pending[i].Identifier)
	}
	state, err := w.c.FindCommitted(ctx, w.name, w.seen, ids)
	if err != nil {
		t.Fatal(err)
	}
	w.pending = slices.DeleteFunc(w.pending, func(r Request) bool { return state[r.Identifier] == Committed })
}

// Two writers with faults, crashes and compactions of each other's files: every
// row is there exactly once, however the compactions went.
func TestRandomWritersKeepEveryRowOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	actions := []faultfs.Action{faultfs.Fail, faultfs.Lie, faultfs.Cut, faultfs.Stop, faultfs.StopAfter}
	for seed := range uint64(12) {
		disk := crashfs.New()
		rng := rand.New(rand.NewPCG(seed, 7))
		rows := map[string][]string{}
		var writers []*writer
		for _, name := range []string{"a", "b"} {
			w := &writer{name: name, disk: disk, fs: faultfs.New(disk, ""), rng: rng, rows: rows}
			w.open()
			writers = append(writers, w)
		}
		for range 60 {
			w := writers[rng.IntN(2)]
			if rng.IntN(4) == 0 && !w.fs.Stopped() {
				w.fs.Set(faultfs.Rule{Op: faultfs.Any, N: 1 + rng.IntN(20), Action: actions[rng.IntN(len(actions))]}.String())
			}
			if len(w.pending) < 2 {
				w.prepare(ctx, t)
			}
			w.step(ctx, t)
		}
		var want []string
		for _, w := range writers {
			w.fs.Set("")
			w.restart(ctx, t)
			for tries := 0; len(w.pending) > 0; tries++ {
				if tries > 20 {
					t.Fatalf("seed %d: the job does not come to rest", seed)
				}
				w.step(ctx, t)
			}
			for i := range w.next {
				want = append(want, fmt.Sprintf("%s-%d", w.name, i+1))
			}
		}
		var got []string
		for _, f := range liveNames(ctx, t, disk) {
			got = append(got, rows[f]...)
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, d)
		}
	}
}
