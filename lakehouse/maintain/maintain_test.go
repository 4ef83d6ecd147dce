package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/faultfs"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

const (
	tablePath = "/wh/db.db/t"
	attempt   = "11111111-2222-3333-4444-555555555555"
)

func partition(dt string) spec.BinaryRow {
	w := spec.NewRowWriter([]columnar.DataType{columnar.StringType()})
	w.Reset()
	w.SetString(0, dt)
	return w.Row().Clone()
}

// fixture is a table whose data files are really there (with one byte).
type fixture struct {
	t    *testing.T
	fs   fileio.FS
	c    *commit.Committer
	next int64
	// index is the hash index of each partition.
	index map[string]spec.IndexFileMeta
}

func newFixture(t *testing.T, options map[string]string) *fixture {
	t.Helper()
	fs := crashfs.New()
	schema := &spec.TableSchema{
		Version: 3, HighestFieldID: 1, PartitionKeys: []string{"dt"}, Options: options,
		Fields: []columnar.Field{{ID: 0, Name: "id", Type: columnar.Of(columnar.Int)}, {ID: 1, Name: "dt", Type: columnar.StringType()}},
	}
	b, err := spec.MarshalSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.CreateExclusive(t.Context(), tablePath+"/schema/schema-0", b); err != nil {
		t.Fatal(err)
	}
	opt := commit.Options{Attempt: attempt, ManifestMergeMinCount: 3, MinRetryWait: time.Microsecond}
	return &fixture{t: t, fs: fs, c: commit.New(fs, tablePath, schema, opt, nil), index: map[string]spec.IndexFileMeta{}}
}

func (f *fixture) file(name string, level int32) spec.DataFileMeta {
	return spec.DataFileMeta{
		FileName: name, RowCount: 1, FileSize: 1, Level: level, MinKey: spec.EmptyRow(), MaxKey: spec.EmptyRow(),
		KeyStats: spec.EmptyStats(), ValueStats: spec.EmptyStats(),
	}
}

// write puts a file on disk and gives its metadata.
func (f *fixture) write(dt, name string) spec.DataFileMeta {
	f.t.Helper()
	if err := f.fs.CreateExclusive(f.t.Context(), bucketPath(dt)+name, []byte("x")); err != nil {
		f.t.Fatal(err)
	}
	return f.file(name, 0)
}

func bucketPath(dt string) string { return tablePath + "/dt=" + dt + "/bucket-0/" }

func (f *fixture) commit(dt string, fill func(m *spec.CommitMessage)) {
	f.t.Helper()
	f.next++
	m := spec.CommitMessage{Partition: partition(dt), TotalBuckets: -1}
	fill(&m)
	if _, err := f.c.Commit(f.t.Context(), commit.Request{User: "u", Identifier: f.next, Messages: []spec.CommitMessage{m}, ForceSnapshot: true}); err != nil {
		f.t.Fatal(err)
	}
}

// append commits one new file with a changelog file.
func (f *fixture) append(dt, name string) {
	f.t.Helper()
	f.commit(dt, func(m *spec.CommitMessage) {
		m.NewFiles = []spec.DataFileMeta{f.write(dt, "data-"+name)}
		m.Changelog = []spec.DataFileMeta{f.write(dt, "changelog-"+name)}
		if f.next%2 == 0 {
			f.reindex(dt, m)
		}
	})
}

// reindex replaces the hash index of a partition.
func (f *fixture) reindex(dt string, m *spec.CommitMessage) {
	f.t.Helper()
	if old, ok := f.index[dt]; ok {
		m.GoneIndex = []spec.IndexFileMeta{old}
	}
	file := spec.IndexFileMeta{Type: spec.HashIndex, FileName: spec.IndexFileName(attempt, f.next), FileSize: 1, RowCount: 1}
	if err := f.fs.CreateExclusive(f.t.Context(), tablePath+"/index/"+file.FileName, []byte("x")); err != nil {
		f.t.Fatal(err)
	}
	m.NewIndex = []spec.IndexFileMeta{file}
	f.index[dt] = file
}

func (f *fixture) tag(name string, snapshot int64) {
	f.t.Helper()
	b, err := f.fs.ReadFile(f.t.Context(), fmt.Sprintf("%s/snapshot/snapshot-%d", tablePath, snapshot))
	if err == nil {
		err = f.fs.Replace(f.t.Context(), tablePath+"/tag/tag-"+name, b)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) expire(o ExpireOptions) Expired {
	f.t.Helper()
	e, err := ExpireSnapshots(f.t.Context(), f.fs, tablePath, o)
	if err != nil {
		f.t.Fatal(err)
	}
	return e
}

// all lets everything go that counts allow.
func all(limit int64) ExpireOptions {
	return ExpireOptions{RetainMin: 1, RetainMax: 1 << 31, Limit: limit, Now: func() time.Time { return time.Now().Add(time.Hour) }}
}

// disk lists the files of the table below the directories that hold data and manifests.
func (f *fixture) disk(ctx context.Context) []string {
	f.t.Helper()
	var out []string
	var walk func(dir string)
	walk = func(dir string) {
		infos, err := f.fs.List(ctx, dir)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, i := range infos {
			switch {
			case !i.IsDir:
				out = append(out, strings.TrimPrefix(i.Path, tablePath+"/"))
			case dir != tablePath || strings.HasPrefix(i.Name, "dt=") || i.Name == "manifest" || i.Name == "index":
				walk(i.Path)
			}
		}
	}
	walk(tablePath)
	slices.Sort(out)
	return out
}

// reachable lists what snapshots and tags refer to: all their manifests, live
// files, changelogs of snapshots, and the files that retained snapshots after
// the first deleted (streaming readers do not need them, but they are only
// removed once that snapshot expires).
func (f *fixture) reachable(ctx context.Context) []string { return f.reachableFrom(ctx, 0) }

// reachableFrom leaves out snapshots before from: those that are being removed.
func (f *fixture) reachableFrom(ctx context.Context, from int64) []string {
	f.t.Helper()
	tab, err := openTable(ctx, f.fs, tablePath)
	if err != nil {
		f.t.Fatal(err)
	}
	found := map[string]bool{}
	note := func(entries []spec.ManifestEntry, err error) {
		if err != nil {
			f.t.Fatal(err)
		}
		for i := range entries {
			p, err := tab.layout.FilePaths(entries[i].Partition, entries[i].Bucket, &entries[i].File)
			if err != nil {
				f.t.Fatal(err)
			}
			found[p[0]] = true
		}
	}
	x := &expiration{table: tab}
	use := func(s *spec.Snapshot) {
		files, err := x.metadata(ctx, s, nil, false)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, p := range files {
			found[p] = true
		}
		note(tab.manifests.Live(ctx, s))
	}
	ids, err := tab.snaps.List(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	ids = slices.DeleteFunc(ids, func(id int64) bool { return id < from })
	for i, id := range ids {
		s, err := tab.snaps.Read(ctx, id)
		if err != nil {
			f.t.Fatal(err)
		}
		use(s)
		if s.ChangelogManifestList != nil {
			metas, err := tab.manifests.List(ctx, *s.ChangelogManifestList)
			if err != nil {
				f.t.Fatal(err)
			}
			note(tab.manifests.Read(ctx, metas))
		}
		if i > 0 {
			note(tab.manifests.Delta(ctx, s))
		}
	}
	tags, err := tab.readTags(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, s := range tags {
		use(s)
	}
	var out []string
	for p := range maps.Keys(found) {
		out = append(out, strings.TrimPrefix(p, tablePath+"/"))
	}
	slices.Sort(out)
	return out
}

// history makes a table with appends, compactions, lifted files and tags.
func history(t *testing.T, seed uint64, commits int, tags bool) *fixture {
	t.Helper()
	f := newFixture(t, nil)
	rng := rand.New(rand.NewPCG(seed, seed))
	live := map[string][]spec.DataFileMeta{}
	for i := range commits {
		dt := fmt.Sprintf("d%d", rng.IntN(2))
		name := fmt.Sprintf("data-f%d", i)
		switch n := len(live[dt]); {
		case n > 2 && rng.IntN(3) == 0: // compaction of all
			f.commit(dt, func(m *spec.CommitMessage) {
				m.CompactBefore = live[dt]
				m.CompactAfter = []spec.DataFileMeta{f.write(dt, name)}
			})
			live[dt] = []spec.DataFileMeta{f.file(name, 0)}
		case n > 0 && rng.IntN(4) == 0: // the last file is lifted
			old := live[dt][n-1]
			lifted := f.file(old.FileName, old.Level+1)
			f.commit(dt, func(m *spec.CommitMessage) {
				m.CompactBefore, m.CompactAfter = []spec.DataFileMeta{old}, []spec.DataFileMeta{lifted}
			})
			live[dt][n-1] = lifted
		default:
			f.append(dt, fmt.Sprintf("f%d", i))
			live[dt] = append(live[dt], f.file(name, 0))
		}
		if tags && rng.IntN(6) == 0 {
			latest, err := commit.NewSnapshots(f.fs, tablePath).Latest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			f.tag(fmt.Sprintf("t%d", i), latest)
		}
	}
	return f
}

// clone copies the files of f into a new file system.
func (f *fixture) clone() *fixture {
	f.t.Helper()
	from, ok := f.fs.(*crashfs.FS)
	if !ok {
		f.t.Fatal("not a crashfs")
	}
	to := crashfs.New()
	for _, p := range from.Paths() {
		b, err := from.ReadFile(f.t.Context(), p)
		if err == nil {
			err = to.CreateExclusive(f.t.Context(), p, b)
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return &fixture{t: f.t, fs: to}
}

// Without tags, what is left on disk is exactly what the retained snapshots refer to.
func TestExpirationLeavesWhatIsReachable(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		f := history(t, seed, 25, false)
		for _, limit := range []int64{3, 7, 1, 100} {
			f.expire(all(limit))
			if d := cmp.Diff(f.reachable(t.Context()), f.disk(t.Context())); d != "" {
				t.Fatalf("seed %d limit %d (-reachable +disk):\n%s", seed, limit, d)
			}
		}
		if ids, err := commit.NewSnapshots(f.fs, tablePath).List(t.Context()); err != nil || len(ids) != 1 {
			t.Errorf("snapshots %v, %v", ids, err)
		}
	}
}

// With tags, everything they refer to is there: reachable reads all of it, and the files exist.
func TestExpirationKeepsTags(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		f := history(t, seed, 25, true)
		for range 4 {
			f.expire(all(8))
			missing(t, f, fmt.Sprintf("seed %d", seed))
		}
	}
}

func missing(t *testing.T, f *fixture, what string) {
	t.Helper()
	missingFrom(t, f, 0, what)
}

func missingFrom(t *testing.T, f *fixture, from int64, what string) {
	t.Helper()
	disk := f.disk(t.Context())
	for _, p := range f.reachableFrom(t.Context(), from) {
		if !slices.Contains(disk, p) {
			t.Fatalf("%s: %s is gone", what, p)
		}
	}
}

// A crash at any call leaves a table that is whole, and the next run ends the work.
func TestEveryCrashOfAnExpiration(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	origin := history(t, 2, 9, false)
	counted := faultfs.New(origin.clone().fs, "")
	whole, err := ExpireSnapshots(ctx, counted, tablePath, all(100))
	if err != nil || whole.Data == 0 || whole.Manifest == 0 {
		t.Fatal(whole, err)
	}
	for _, action := range []faultfs.Action{faultfs.Stop, faultfs.StopAfter, faultfs.Fail} {
		for n := 1; n <= counted.Total(); n++ {
			f := origin.clone()
			fs := faultfs.New(f.fs, faultfs.Rule{Op: faultfs.Any, N: n, Action: action}.String())
			_, err := ExpireSnapshots(ctx, fs, tablePath, all(100))
			if err != nil && !errors.Is(err, faultfs.ErrInjected) {
				t.Fatal(err)
			}
			missingFrom(t, f, whole.To, fmt.Sprintf("call %d %s", n, action))
			if err := RemoveAttempt(ctx, f.fs, tablePath, attempt, nil); err != nil {
				t.Fatalf("call %d %s: the next run: %v", n, action, err)
			}
			missingFrom(t, f, whole.To, fmt.Sprintf("call %d %s, attempt removed", n, action))
			f.expire(all(100))
			if d := cmp.Diff(f.reachable(ctx), f.disk(ctx)); d != "" {
				t.Fatalf("call %d %s (-reachable +disk):\n%s", n, action, d)
			}
		}
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Now().Add(time.Hour) }
	tests := []struct {
		name     string
		opt      ExpireOptions
		consumer string
		from, to int64
	}{
		{name: "least count", opt: ExpireOptions{RetainMin: 4, RetainMax: 100, Limit: 50, Now: now}, from: 1, to: 7},
		{name: "limit", opt: ExpireOptions{RetainMin: 1, RetainMax: 100, Limit: 3, Now: now}, from: 1, to: 4},
		{name: "too young", opt: ExpireOptions{RetainMin: 1, RetainMax: 100, Limit: 50, RetainTime: 2 * time.Hour, Now: now}},
		{name: "too many, however young", opt: ExpireOptions{RetainMin: 1, RetainMax: 6, Limit: 50, RetainTime: 2 * time.Hour, Now: now}, from: 1, to: 5},
		{name: "consumer", opt: ExpireOptions{RetainMin: 1, RetainMax: 100, Limit: 50, Now: now}, consumer: `{"nextSnapshot" : 3}`, from: 1, to: 3},
		{name: "more kept than there are", opt: ExpireOptions{RetainMin: 11, RetainMax: 100, Limit: 50, Now: now}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			for i := range 10 {
				f.append("d", fmt.Sprint(i))
			}
			if tt.consumer != "" {
				if err := f.fs.Replace(t.Context(), tablePath+"/consumer/consumer-c", []byte(tt.consumer)); err != nil {
					t.Fatal(err)
				}
			}
			got := f.expire(tt.opt)
			if got.From != tt.from || got.To != tt.to {
				t.Errorf("expired %d to %d, want %d to %d", got.From, got.To, tt.from, tt.to)
			}
			if tt.to > 0 {
				if id, err := commit.NewSnapshots(f.fs, tablePath).Earliest(t.Context()); err != nil || id != tt.to {
					t.Errorf("earliest %d, %v", id, err)
				}
			}
		})
	}
}

func TestNothingGoesWhereAnswersAreMissing(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"consumer/consumer-c": "{", "tag/tag-x": "{}"} {
		f := history(t, 5, 25, false)
		if err := f.fs.Replace(t.Context(), tablePath+"/"+name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		before := f.disk(t.Context())
		if _, err := ExpireSnapshots(t.Context(), f.fs, tablePath, all(100)); err == nil {
			t.Errorf("%s: no error", name)
		}
		if d := cmp.Diff(before, f.disk(t.Context())); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	f := newFixture(t, map[string]string{"changelog.time-retained": "1 d"})
	for i := range 5 {
		f.append("d", fmt.Sprint(i))
	}
	if got := f.expire(all(100)); got.Snapshots() != 0 {
		t.Errorf("a table with a longer changelog lost snapshots: %+v", got)
	}
}

func TestProtectedFilesStopTheExpiration(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for i := range 3 {
		f.append("d", fmt.Sprint(i))
	}
	for i := range 3 {
		f.commit("d", func(m *spec.CommitMessage) {
			m.CompactBefore = []spec.DataFileMeta{f.file(fmt.Sprintf("data-%d", i), 0)}
		})
	}
	// Snapshots 4 to 9: each request makes an empty APPEND and a COMPACT; file data-1 goes with 7.
	o := all(100)
	o.Protect = func(name string) bool { return name == "data-1" }
	if got := f.expire(o); got.From != 1 || got.To != 6 || got.Data != 1 {
		t.Errorf("expired %+v", got)
	}
	missing(t, f, "protected")
	if got := f.expire(all(100)); got.To != 9 || got.Data != 2 {
		t.Errorf("expired %+v", got)
	}
}

func TestEmptyDirectoriesGo(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.append("old", "a")
	f.commit("old", func(m *spec.CommitMessage) { m.CompactBefore = []spec.DataFileMeta{f.file("data-a", 0)} })
	f.append("new", "b")
	o := all(100)
	o.CleanEmptyDirs = true
	got := f.expire(o)
	if got.Data != 1 || got.Changelog != 1 {
		t.Errorf("expired %+v", got)
	}
	if d := cmp.Diff(f.reachable(t.Context()), f.disk(t.Context())); d != "" {
		t.Error(d)
	}
}

func TestRemoveAttempt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := newFixture(t, nil)
	other := "99999999-2222-3333-4444-555555555555"
	used, gone, kept, foreign := "data-"+attempt+"-0", "data-"+attempt+"-1", "changelog-"+attempt+"-2", "data-"+other+"-0"
	f.commit("d", func(m *spec.CommitMessage) { m.NewFiles = []spec.DataFileMeta{f.write("d", used)} })
	for _, n := range []string{gone, kept, foreign, "." + gone + ".x.tmp"} {
		f.write("d", n)
	}
	f.write("other", "changelog-"+attempt+"-3")
	for _, n := range []string{"index-" + attempt + "-900", "index-" + other + "-1"} {
		if err := f.fs.CreateExclusive(ctx, tablePath+"/index/"+n, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	f.commit("d", func(m *spec.CommitMessage) { f.reindex("d", m) })
	for _, n := range []string{"index-manifest-" + attempt + "-902", "manifest-" + attempt + "-900", "manifest-list-" + attempt + "-901", "manifest-" + other + "-1"} {
		if err := f.fs.CreateExclusive(ctx, tablePath+"/manifest/"+n, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	// A file that only a tag holds, and one that only a branch holds.
	tagged, branched := "data-"+attempt+"-7", "data-"+attempt+"-8"
	f.commit("d", func(m *spec.CommitMessage) { m.NewFiles = []spec.DataFileMeta{f.write("d", tagged)} })
	f.tag("t", 2)
	f.commit("d", func(m *spec.CommitMessage) { m.NewFiles = []spec.DataFileMeta{f.write("d", branched)} })
	b, err := f.fs.ReadFile(ctx, tablePath+"/snapshot/snapshot-3")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.fs.Replace(ctx, tablePath+"/branch/branch-b/snapshot/snapshot-3", b),
		f.fs.Remove(ctx, tablePath+"/snapshot/snapshot-2"), f.fs.Remove(ctx, tablePath+"/snapshot/snapshot-3")); err != nil {
		t.Fatal(err)
	}
	if err := RemoveAttempt(ctx, f.fs, tablePath, attempt, map[string]bool{kept: true}); err != nil {
		t.Fatal(err)
	}
	var data, manifests []string
	for _, p := range f.disk(ctx) {
		if name, ok := strings.CutPrefix(p, "manifest/"); ok {
			manifests = append(manifests, name)
		} else {
			data = append(data, p)
		}
	}
	want := []string{kept, foreign, used, tagged, branched}
	slices.Sort(want)
	for i := range want {
		want[i] = "dt=d/bucket-0/" + want[i]
	}
	want = append(want, "index/"+f.index["d"].FileName, "index/index-"+other+"-1")
	if d := cmp.Diff(want, data); d != "" {
		t.Error(d)
	}
	if slices.ContainsFunc(manifests, func(n string) bool { return strings.Contains(n, "-90") }) || !slices.Contains(manifests, "manifest-"+other+"-1") {
		t.Errorf("manifests %v", manifests)
	}
	missing(t, f, "attempt removed")
	if err := RemoveAttempt(ctx, f.fs, tablePath, "-", nil); err == nil {
		t.Error("an attempt that every name carries was accepted")
	}
}

// Expired is reported in logs.
func TestExpiredIsPlainData(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(Expired{From: 1, To: 3, Data: 2})
	if err != nil || string(b) != `{"From":1,"To":3,"Data":2,"Changelog":0,"Manifest":0}` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestRemoveStaleTemps(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := history(t, 3, 3, false)
	for _, n := range []string{"snapshot/.snapshot-4.x.tmp", "snapshot/.LATEST.x.tmp", "schema/.schema-1.x.tmp", "snapshot/strange.tmp"} {
		if err := f.fs.Replace(ctx, tablePath+"/"+n, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	made, err := f.fs.Stat(ctx, tablePath+"/snapshot/.LATEST.x.tmp")
	if err != nil {
		t.Fatal(err)
	}
	names := func() (out []string) {
		for _, dir := range []string{"schema", "snapshot"} {
			infos, err := f.fs.List(ctx, tablePath+"/"+dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range infos {
				out = append(out, i.Name)
			}
		}
		return out
	}
	before := names()
	if err := RemoveStaleTemps(ctx, f.fs, tablePath, made.ModTime.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, names()); d != "" {
		t.Errorf("files that may be in use went:\n%s", d)
	}
	if err := RemoveStaleTemps(ctx, f.fs, tablePath, made.ModTime.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(before, func(n string) bool { return strings.HasPrefix(n, ".") })
	if d := cmp.Diff(want, names()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
