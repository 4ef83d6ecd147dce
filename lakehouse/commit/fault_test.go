package commit

import (
	"context"
	"fmt"
	"hash/fnv"
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

// blind hides snapshot 2 from readers.
type blind struct{ fileio.FS }

func (b blind) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if path == b.Join(tablePath, spec.SnapshotDir, "snapshot-2") {
		return nil, fileio.ErrNotExist
	}
	return b.FS.ReadFile(ctx, path)
}

// epochs is how many a job commits in a fault test.
const epochs = 5

// job is a writer that commits epochs in order, with what a checkpoint entry
// would remember: the epochs not known to be in, and the snapshot seen then.
type job struct {
	disk    fileio.FS
	fs      *faultfs.FS
	c       *Committer
	pending []Request
	seen    int64
	crashes int
}

func newJob(rules string) *job {
	disk := crashfs.New()
	j := &job{disk: disk, fs: faultfs.New(disk, rules)}
	j.c = New(j.fs, tablePath, pkSchema(), j.options(), nil)
	return j
}

func (*job) options() Options {
	o := fastOptions()
	o.ManifestMergeMinCount = 2
	o.MaxRetries = 2
	return o
}

// epoch is request n: a new file, and from the third on a compaction of the two before.
func epoch(n int64) Request {
	r := appendRequest("job", n)
	r.Messages[0].NewIndex = []spec.IndexFileMeta{hashIndex(n)}
	if n > 1 {
		r.Messages[0].GoneIndex = []spec.IndexFileMeta{hashIndex(n - 1)}
	}
	if n%3 == 0 {
		m := &r.Messages[0]
		for i := n - 2; i <= n; i++ {
			m.CompactBefore = append(m.CompactBefore, appendRequest("job", i).Messages[0].NewFiles...)
		}
		m.CompactAfter = []spec.DataFileMeta{dataFile(fmt.Sprintf("data-compact-%d", n), 5, 100*n, 100*n+29)}
	}
	return r
}

func hashIndex(n int64) spec.IndexFileMeta {
	return spec.IndexFileMeta{Type: spec.HashIndex, FileName: fmt.Sprintf("index-job-%d", n), FileSize: 40 * n, RowCount: 10 * n}
}

// run commits epochs 1..n, repeating failed calls and restarting after crashes.
func (j *job) run(ctx context.Context, t *testing.T, n int64) {
	t.Helper()
	for i := range n {
		// The checkpoint entry: durable before the commit.
		latest, err := NewSnapshots(j.disk, tablePath).Latest(ctx)
		if err != nil {
			t.Fatal(err)
		}
		j.seen = latest
		j.pending = append(j.pending, epoch(i+1))
		j.settle(ctx, t)
	}
}

func (j *job) settle(ctx context.Context, t *testing.T) {
	t.Helper()
	for tries := 0; len(j.pending) > 0; tries++ {
		if tries > 20 {
			t.Fatal("the job does not come to rest")
		}
		if j.fs.Stopped() {
			j.restart(ctx, t)
			continue
		}
		if _, err := j.c.Commit(ctx, j.pending[0]); err != nil {
			if !diag.Retryable(err) && !j.fs.Stopped() {
				t.Fatalf("an error that ends the job: %v", err)
			}
			continue
		}
		j.pending = j.pending[1:]
	}
}

func (j *job) restart(ctx context.Context, t *testing.T) {
	t.Helper()
	j.crashes++
	j.fs.Set("")
	j.c = New(j.fs, tablePath, pkSchema(), j.options(), nil)
	var ids []int64
	for i := range j.pending {
		j.pending[i].CheckAppend = true
		ids = append(ids, j.pending[i].Identifier)
	}
	state, err := j.c.FindCommitted(ctx, "job", j.seen, ids)
	if err != nil {
		t.Fatal(err)
	}
	j.pending = slices.DeleteFunc(j.pending, func(r Request) bool { return state[r.Identifier] == Committed })
}

// Whatever call goes wrong, in whatever way, every epoch is in exactly once.
func TestEveryFaultLeavesEachEpochOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	probe := newJob("")
	probe.run(ctx, t, epochs)
	want := liveNames(ctx, t, probe.disk)
	if d := cmp.Diff([]string{"data-compact-3", "data-job-4", "data-job-5"}, want); d != "" {
		t.Fatal(d)
	}
	calls := probe.fs.Total()
	if calls < 50 {
		t.Fatalf("the sequence has %d calls only", calls)
	}
	for _, action := range []faultfs.Action{faultfs.Fail, faultfs.Lie, faultfs.Cut, faultfs.Stop, faultfs.StopAfter} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= calls; n++ {
				j := newJob(faultfs.Rule{Op: faultfs.Any, N: n, Action: action}.String())
				j.run(ctx, t, epochs)
				checkOnce(t, j, fmt.Sprintf("call %d %s", n, action))
			}
		})
	}
	t.Run("outage", func(t *testing.T) {
		t.Parallel()
		for n := 1; n <= calls; n += 3 {
			j := newJob(fmt.Sprintf("any#%d+ fail", n))
			for i := range int64(epochs) {
				j.pending = append(j.pending, epoch(i+1))
			}
			for len(j.pending) > 0 {
				if _, err := j.c.Commit(ctx, j.pending[0]); err != nil {
					break
				}
				j.pending = j.pending[1:]
			}
			j.fs.Set("")
			j.settle(ctx, t)
			checkOnce(t, j, fmt.Sprintf("outage from call %d", n))
		}
	})
}

// checkOnce lets the machine lose its power, so that only what is durable counts, and
// compares the rows: a compaction that a crash lost leaves its inputs live.
func checkOnce(t *testing.T, j *job, what string) {
	t.Helper()
	if disk, ok := j.disk.(*crashfs.FS); ok {
		h := fnv.New64a()
		h.Write([]byte(what))
		j.disk = disk.Crash(rand.New(rand.NewPCG(h.Sum64(), 1)))
	}
	got := map[string]bool{}
	for _, name := range liveNames(t.Context(), t, j.disk) {
		if got[name] {
			t.Errorf("%s: %s is live twice", what, name)
		}
		got[name] = true
	}
	for n := int64(1); n <= epochs; n++ {
		own := got[fmt.Sprintf("data-job-%d", n)]
		merged := got[fmt.Sprintf("data-compact-%d", (n+2)/3*3)]
		if own == merged {
			t.Errorf("%s: rows of epoch %d are there %v/%v: %v", what, n, own, merged, got)
		}
	}
	checkIndex(t, j, what)
	seen := map[string]int{}
	for _, h := range history(t.Context(), t, j.disk) {
		var id int
		var rest string
		if _, err := fmt.Sscanf(h, "%d %s", &id, &rest); err != nil {
			t.Fatal(err)
		}
		seen[h[len(fmt.Sprint(id))+1:]]++
	}
	for k, n := range seen {
		if n != 1 {
			t.Errorf("%s: %s was committed %d times", what, k, n)
		}
	}
}

// checkIndex wants the index of the last epoch, and only that one.
func checkIndex(t *testing.T, j *job, what string) {
	t.Helper()
	latest, err := NewSnapshots(j.disk, tablePath).Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	snap, err := NewSnapshots(j.disk, tablePath).Read(t.Context(), latest)
	if err != nil {
		t.Fatal(err)
	}
	index, err := NewManifests(j.disk, tablePath).Index(t.Context(), snap)
	if err != nil {
		t.Fatal(err)
	}
	want := []spec.IndexManifestEntry{{Partition: partition("d1"), File: hashIndex(epochs)}}
	if d := cmp.Diff(want, index); d != "" {
		t.Errorf("%s: index (-want +got):\n%s", what, d)
	}
}
