package commit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"leat/internal/diag"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/local"
	"leat/lakehouse/spec"
)

// TestConflicts runs testdata/conflict.txt: several writers on one table.
func TestConflicts(t *testing.T) {
	t.Parallel()
	fs := crashfs.New()
	users := map[string]*Committer{}
	dropped := map[string][]string{}
	datadriven.RunTest(t, "testdata/conflict.txt", func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		switch d.Cmd {
		case "table":
			fs, users, dropped = crashfs.New(), map[string]*Committer{}, map[string][]string{}
			return "ok\n"
		case "live":
			return strings.Join(liveNames(t.Context(), t, fs), " ") + "\n"
		}
		var user string
		var r Request
		d.ScanArgs(t, "user", &user)
		d.ScanArgs(t, "id", &r.Identifier)
		r.User, r.CheckAppend, r.Overwrite = user, d.HasArg("check"), d.HasArg("overwrite")
		r.ForceSnapshot = d.HasArg("force")
		total := 2
		d.MaybeScanArgs(t, "buckets", &total)
		d.MaybeScanArgs(t, "base", &r.Base)
		for line := range strings.Lines(d.Input) {
			r.Messages = append(r.Messages, parseMessage(t, line, int32(total)))
		}
		if users[user] == nil {
			opt := fastOptions()
			opt.Dropped = func(id int64, m []spec.CommitMessage) {
				for _, f := range m {
					dropped[user] = append(dropped[user], fmt.Sprintf("dropped: identifier %d bucket %d", id, f.Bucket))
				}
			}
			users[user] = New(fs, tablePath, pkSchema(), opt, nil)
		}
		ids, err := users[user].Commit(t.Context(), r)
		out := fmt.Sprintf("snapshots %v\n", ids)
		for _, line := range dropped[user] {
			out += line + "\n"
		}
		delete(dropped, user)
		if err != nil {
			out += fmt.Sprintf("conflict: %v\n%v\n", errors.Is(err, ErrConflict), err)
		}
		return out
	})
}

// parseMessage reads "dt/bucket new|log|before|after FILE…".
func parseMessage(t *testing.T, line string, total int32) spec.CommitMessage {
	t.Helper()
	words := strings.Fields(line)
	dt, bucket, _ := strings.Cut(words[0], "/")
	m := message(dt, int32(bucket[0]-'0'))
	m.TotalBuckets = total
	to := map[string]*[]spec.DataFileMeta{
		"new": &m.NewFiles, "log": &m.Changelog, "before": &m.CompactBefore, "after": &m.CompactAfter,
	}
	what := ""
	for _, w := range words[1:] {
		if to[w] != nil {
			what = w
			continue
		}
		f, err := parseFile(w)
		if err != nil {
			t.Fatal(err)
		}
		*to[what] = append(*to[what], f)
	}
	return m
}

func TestSnapshotFields(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fs := crashfs.New()
	c := New(fs, tablePath, pkSchema(), fastOptions(), nil)
	mark := int64(50)
	r := appendRequest("u", 1)
	r.Properties = map[string]string{"leat.job": "orders"}
	r.Watermark = &mark
	r.Messages[0].Changelog = []spec.DataFileMeta{dataFile("changelog-1", 0, 1, 4)}
	r.Messages[0].CompactBefore = r.Messages[0].NewFiles
	r.Messages[0].CompactAfter = []spec.DataFileMeta{dataFile("data-c", 1, 1, 10)}
	if ids, err := c.Commit(ctx, r); err != nil || !slices.Equal(ids, []int64{1, 2}) {
		t.Fatal(ids, err)
	}
	// What a later writer of another kind left: statistics, a newer schema, a time ahead.
	first, err := c.snaps.Read(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	ahead := *first
	stat, index, row := "stat-1", "index-1", int64(77)
	ahead.ID, ahead.CommitUser, ahead.TimeMillis = 3, "java", time.Now().Add(time.Hour).UnixMilli()
	ahead.Statistics, ahead.IndexManifest, ahead.NextRowID = &stat, &index, &row
	b, err := spec.MarshalSnapshot(&ahead)
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.CreateExclusive(ctx, c.snaps.Path(3), b); err != nil {
		t.Fatal(err)
	}
	low := int64(10)
	r = appendRequest("u", 2)
	r.Watermark = &low
	if ids, err := c.Commit(ctx, r); err != nil || !slices.Equal(ids, []int64{4}) {
		t.Fatal(ids, err)
	}
	got, err := c.snaps.Read(ctx, 4)
	if err != nil {
		t.Fatal(err)
	}
	if got.TimeMillis != ahead.TimeMillis || *got.Watermark != 50 || *got.Statistics != "stat-1" || *got.IndexManifest != "index-1" || *got.NextRowID != 77 {
		t.Errorf("not carried over: %+v", got)
	}
	for _, id := range []int64{1, 2} {
		s, err := c.snaps.Read(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if s.Properties["leat.job"] != "orders" || *s.Watermark != 50 {
			t.Errorf("snapshot %d: %+v", id, s)
		}
		if id == 1 && (*s.ChangelogRecordCount != 4 || s.ChangelogManifestList == nil || *s.DeltaRecordCount != 10) {
			t.Errorf("snapshot 1: %+v", s)
		}
		if id == 2 && (*s.ChangelogRecordCount != 0 || s.ChangelogManifestList != nil || *s.DeltaRecordCount != 0) {
			t.Errorf("snapshot 2: %+v", s)
		}
	}
	if latest, earliest := c.snaps.hint(ctx, spec.LatestHint), c.snaps.hint(ctx, spec.EarliestHint); latest != 4 || earliest != 1 {
		t.Errorf("hints %d, %d", latest, earliest)
	}
	// A newer schema ends the statistics and is named by the snapshot.
	if err := fs.CreateExclusive(ctx, tablePath+"/schema/schema-1", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx, appendRequest("u", 3)); err != nil {
		t.Fatal(err)
	}
	if s, err := c.snaps.Read(ctx, 5); err != nil || s.SchemaID != 1 || s.Statistics != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestEmptyRequestMakesNoSnapshot(t *testing.T) {
	t.Parallel()
	fs := crashfs.New()
	c := New(fs, tablePath, pkSchema(), fastOptions(), nil)
	if ids, err := c.Commit(t.Context(), Request{User: "u", Identifier: 1}); err != nil || len(ids) != 0 {
		t.Fatal(ids, err)
	}
	if ids, err := c.Commit(t.Context(), Request{User: "u", Identifier: 2, ForceSnapshot: true}); err != nil || !slices.Equal(ids, []int64{1}) {
		t.Fatal(ids, err)
	}
	if d := cmp.Diff([]string{"1 APPEND u/2"}, history(t.Context(), t, fs)); d != "" {
		t.Error(d)
	}
}

func TestRepeatedRequestCommitsOnce(t *testing.T) {
	t.Parallel()
	fs := crashfs.New()
	c := New(fs, tablePath, pkSchema(), fastOptions(), nil)
	for range 3 {
		if ids, err := c.Commit(t.Context(), appendRequest("u", 7)); err != nil || !slices.Equal(ids, []int64{1}) {
			t.Fatal(ids, err)
		}
	}
	if d := cmp.Diff([]string{"data-u-7"}, liveNames(t.Context(), t, fs)); d != "" {
		t.Error(d)
	}
}

// A process that was taken for dead and its successor have the same user: each epoch goes in once.
func TestDeadProcessStillCommitting(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fs := crashfs.New()
	old := New(fs, tablePath, pkSchema(), fastOptions(), nil)
	if _, err := old.Commit(ctx, appendRequest("job", 1)); err != nil {
		t.Fatal(err)
	}
	successor := New(fs, tablePath, pkSchema(), fastOptions(), nil)
	state, err := successor.FindCommitted(ctx, "job", 0, []int64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[int64]State{1: Committed, 2: NotCommitted}, state); d != "" {
		t.Fatal(d)
	}
	if _, err := old.Commit(ctx, appendRequest("job", 2)); err != nil {
		t.Fatal(err)
	}
	r := appendRequest("job", 2)
	r.CheckAppend = true
	if ids, err := successor.Commit(ctx, r); err != nil || !slices.Equal(ids, []int64{2}) {
		t.Fatal(ids, err)
	}
	if d := cmp.Diff([]string{"1 APPEND job/1", "2 APPEND job/2"}, history(ctx, t, fs)); d != "" {
		t.Error(d)
	}
}

func TestFindCommittedAfterExpiration(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fs := crashfs.New()
	c := New(fs, tablePath, pkSchema(), fastOptions(), nil)
	for i := range int64(4) {
		if _, err := c.Commit(ctx, appendRequest("job", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []int64{1, 2} {
		if err := fs.Remove(ctx, c.snaps.Path(id)); err != nil {
			t.Fatal(err)
		}
	}
	again := New(fs, tablePath, pkSchema(), fastOptions(), nil)
	state, err := again.FindCommitted(ctx, "job", 1, []int64{2, 3, 5})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[int64]State{2: Unknown, 3: Committed, 5: Unknown}, state); d != "" {
		t.Error(d)
	}
	for id, want := range map[int64]bool{2: true, 5: false} {
		if live, err := again.AnyLive(ctx, appendRequest("job", id).Messages); err != nil || live != want {
			t.Errorf("identifier %d: live %v, %v", id, live, err)
		}
	}
	if _, err := again.FindCommitted(ctx, "job", 9, []int64{1}); diag.DomainOf(err) != diag.Guard {
		t.Errorf("a table behind the checkpoint gives %v", err)
	}
}

func TestReplacedSnapshotIsCommittedAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fs := crashfs.New()
	var foreign []int64
	opt := fastOptions()
	opt.Foreign = func(s *spec.Snapshot) { foreign = append(foreign, s.ID) }
	c := New(fs, tablePath, pkSchema(), opt, nil)
	if _, err := c.Commit(ctx, appendRequest("u", 1)); err != nil {
		t.Fatal(err)
	}
	// Another writer saw snapshot 1, we create 2, it then renames its own 2 over ours.
	other := New(fs, tablePath, pkSchema(), fastOptions(), nil)
	if err := other.open(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx, appendRequest("u", 2)); err != nil {
		t.Fatal(err)
	}
	if err := fs.Remove(ctx, c.snaps.Path(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Commit(ctx, appendRequest("java", 1)); err != nil {
		t.Fatal(err)
	}
	ids, err := c.Commit(ctx, appendRequest("u", 3))
	if err != nil || !slices.Equal(ids, []int64{4}) {
		t.Fatal(ids, err)
	}
	want := []string{"1 APPEND u/1", "2 APPEND java/1", "3 APPEND u/2", "4 APPEND u/3"}
	if d := cmp.Diff(want, history(ctx, t, fs)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"data-java-1", "data-u-1", "data-u-2", "data-u-3"}, liveNames(ctx, t, fs)); d != "" {
		t.Error(d)
	}
	if !slices.Equal(foreign, []int64{2}) {
		t.Errorf("foreign snapshots %v", foreign)
	}
}

func TestRolledBackTableStopsTheWriter(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fs := crashfs.New()
	c := New(fs, tablePath, pkSchema(), fastOptions(), nil)
	for i := range int64(2) {
		if _, err := c.Commit(ctx, appendRequest("u", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.Remove(ctx, c.snaps.Path(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx, appendRequest("u", 3)); diag.DomainOf(err) != diag.Guard {
		t.Errorf("got %v", err)
	}
}

func TestWritersRace(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fs := crashfs.New()
	const writers, commits = 3, 15
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			opt := fastOptions()
			opt.MaxRetries = 1000
			opt.ManifestMergeMinCount = 4
			c := New(fs, tablePath, pkSchema(), opt, nil)
			for i := range commits {
				if _, err := c.Commit(ctx, appendRequest(fmt.Sprintf("w%d", w), int64(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := liveNames(ctx, t, fs); len(got) != writers*commits || len(slices.Compact(got)) != writers*commits {
		t.Errorf("%d live files: %v", len(got), got)
	}
}

func TestLostRacesEndWithAnError(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fs := crashfs.New()
	opt := fastOptions()
	opt.MaxRetries = 2
	c := New(blind{fs}, tablePath, pkSchema(), opt, nil)
	if _, err := c.Commit(ctx, appendRequest("u", 1)); err != nil {
		t.Fatal(err)
	}
	// Nobody sees snapshot 2, and nobody can create it either.
	if err := fs.CreateExclusive(ctx, c.snaps.Path(2), []byte("x")); err != nil {
		t.Fatal(err)
	}
	before := len(fs.Paths())
	_, err := c.Commit(ctx, appendRequest("u", 2))
	if !diag.Retryable(err) || !strings.Contains(err.Error(), "3 tries") {
		t.Errorf("got %v", err)
	}
	if after := len(fs.Paths()); after != before {
		t.Errorf("lost tries leave %d files behind", after-before)
	}
}

// Manifests are merged, and what is live stays the same as in a plain model.
func TestManifestMerging(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, opt := range map[string]Options{
		"minor": {ManifestTargetSize: 1 << 20, ManifestMergeMinCount: 4},
		"full":  {ManifestTargetSize: 4 << 10, ManifestMergeMinCount: 30, ManifestFullCompactionSize: 9 << 10},
		"both":  {ManifestTargetSize: 3 << 10, ManifestMergeMinCount: 3, ManifestFullCompactionSize: 12 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs := crashfs.New()
			opt.Attempt, opt.MinRetryWait = "a", time.Microsecond
			c := New(fs, tablePath, pkSchema(), opt, nil)
			rng := rand.New(rand.NewPCG(1, 2))
			model := map[string]spec.CommitMessage{}
			most, fulls := 0, 0
			for i := range int64(120) {
				m := message(fmt.Sprintf("d%d", rng.IntN(5)), int32(rng.IntN(2)))
				f := dataFile(fmt.Sprintf("f%d", i), 0, i, i)
				m.NewFiles = []spec.DataFileMeta{f}
				msgs := []spec.CommitMessage{m}
				if victims := slices.Sorted(maps.Keys(model)); len(victims) > 0 && rng.IntN(2) == 0 {
					v := model[victims[rng.IntN(len(victims))]]
					msgs = append(msgs, spec.CommitMessage{Partition: v.Partition, Bucket: v.Bucket, TotalBuckets: 2, CompactBefore: v.NewFiles})
					delete(model, v.NewFiles[0].FileName)
				}
				model[f.FileName] = m
				if _, err := c.Commit(ctx, Request{User: "u", Identifier: i, Messages: msgs}); err != nil {
					t.Fatal(err)
				}
				most = max(most, len(c.view.metas))
				if needsFull(c.view.metas, c.opt.ManifestTargetSize, c.opt.ManifestFullCompactionSize) {
					fulls++
				}
			}
			if d := cmp.Diff(slices.Sorted(maps.Keys(model)), liveNames(ctx, t, fs)); d != "" {
				t.Errorf("live files (-want +got):\n%s", d)
			}
			if most > 70 {
				t.Errorf("%d manifests in a snapshot: they are not merged", most)
			}
			if fulls > 30 {
				t.Errorf("%d of 120 commits rewrite all manifests", fulls)
			}
		})
	}
}

func TestMessagesSurviveJSON(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fs := crashfs.New()
	c := New(fs, tablePath, pkSchema(), fastOptions(), nil)
	r := appendRequest("u", 1)
	b, err := json.Marshal(r.Messages)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = nil
	if err := json.Unmarshal(b, &r.Messages); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx, r); err != nil {
		t.Fatal(err)
	}
	// The identity after JSON is that of the manifest: a compaction of the same file is no conflict.
	compact := Request{User: "u", Identifier: 2, Messages: []spec.CommitMessage{message("d1", 0)}}
	compact.Messages[0].CompactBefore = appendRequest("u", 1).Messages[0].NewFiles
	if ids, err := c.Commit(ctx, compact); err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
}

func TestCheckFiles(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fs := crashfs.New()
	c := New(fs, tablePath, pkSchema(), fastOptions(), nil)
	r := appendRequest("u", 1)
	if err := c.CheckFiles(ctx, r); diag.DomainOf(err) != diag.Guard || !strings.Contains(err.Error(), "/wh/db.db/t/dt=d1/bucket-0/data-u-1") {
		t.Errorf("got %v", err)
	}
	if err := fs.CreateExclusive(ctx, tablePath+"/dt=d1/bucket-0/data-u-1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := c.CheckFiles(ctx, r); err != nil {
		t.Error(err)
	}
}

// BenchmarkCommit is one small commit to a table of 5,000 files.
func BenchmarkCommit(b *testing.B) {
	fs := local.New()
	opt := fastOptions()
	c := New(fs, b.TempDir(), pkSchema(), opt, nil)
	m := message("d1", 0)
	for i := range 5000 {
		m.NewFiles = append(m.NewFiles, dataFile(fmt.Sprintf("data-%d", i), 0, int64(i), int64(i)))
	}
	if _, err := c.Commit(b.Context(), Request{User: "u", Messages: []spec.CommitMessage{m}}); err != nil {
		b.Fatal(err)
	}
	id := int64(0)
	for b.Loop() {
		id++
		r := appendRequest("u", id)
		r.Messages[0].CompactBefore = r.Messages[0].NewFiles
		if _, err := c.Commit(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
