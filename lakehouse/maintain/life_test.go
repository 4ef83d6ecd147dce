package maintain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/configs"
	"leat/internal/fileio"
	"leat/internal/fileio/faultfs"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// needed lists what snapshots, tags and branches refer to, found apart from the
// code under test: snapshot by snapshot, without shortcuts.
func (f *fixture) needed(ctx context.Context) []string {
	f.t.Helper()
	tab, err := openTable(ctx, f.fs, tablePath)
	if err != nil {
		f.t.Fatal(err)
	}
	found := map[string]bool{}
	x := &expiration{table: tab}
	homes := []string{tablePath}
	branches, err := f.fs.List(ctx, tablePath+"/branch")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, b := range branches {
		homes = append(homes, b.Path)
	}
	for _, home := range homes {
		for _, dir := range []string{"snapshot", "tag"} {
			snaps, err := tab.readSnapshots(ctx, home+"/"+dir, dir+"-")
			if err != nil {
				f.t.Fatal(err)
			}
			for _, s := range snaps {
				files, err := x.metadata(ctx, s, nil, false)
				if err != nil {
					f.t.Fatalf("%s %s-%d: %v", home, dir, s.ID, err)
				}
				for _, p := range files {
					found[p] = true
				}
				entries, err := tab.manifests.Live(ctx, s)
				if err != nil {
					f.t.Fatalf("%s %s-%d: %v", home, dir, s.ID, err)
				}
				if s.ChangelogManifestList != nil && dir == "snapshot" {
					metas, err := tab.manifests.List(ctx, *s.ChangelogManifestList)
					if err != nil {
						f.t.Fatal(err)
					}
					more, err := tab.manifests.Read(ctx, metas)
					if err != nil {
						f.t.Fatal(err)
					}
					entries = append(entries, more...)
				}
				for i := range entries {
					p, err := tab.layout.FilePaths(entries[i].Partition, entries[i].Bucket, &entries[i].File)
					if err != nil {
						f.t.Fatal(err)
					}
					found[p[0]] = true
				}
			}
		}
	}
	out := make([]string, 0, len(found))
	for _, p := range slices.Sorted(maps.Keys(found)) {
		out = append(out, strings.TrimPrefix(p, tablePath+"/"))
	}
	return out
}

// whole requires that all that is needed is on disk.
func (f *fixture) whole(what string) {
	f.t.Helper()
	disk := f.disk(f.t.Context())
	for _, p := range f.needed(f.t.Context()) {
		if !slices.Contains(disk, p) {
			f.t.Fatalf("%s: %s is gone", what, p)
		}
	}
}

// clean removes orphans of any age and requires that nothing else is left.
func (f *fixture) clean(what string) {
	f.t.Helper()
	ctx := f.t.Context()
	if _, err := RemoveOrphans(ctx, f.fs, tablePath, OrphanOptions{OlderThan: time.Now().Add(time.Hour)}); err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
	if d := cmp.Diff(f.needed(ctx), f.disk(ctx)); d != "" {
		f.t.Fatalf("%s (-needed +disk):\n%s", what, d)
	}
}

// lived is a table with tags on expired and retained snapshots and a branch
// that was written on.
func lived(t *testing.T) *fixture {
	t.Helper()
	ctx := t.Context()
	f := newFixture(t, nil)
	for i := range 4 {
		f.append("a", fmt.Sprint(i))
	}
	must(t, CreateTag(ctx, f.fs, tablePath, TagOptions{Name: "old", Now: time.Now()}))
	f.commit("a", func(m *spec.CommitMessage) {
		m.CompactBefore = []spec.DataFileMeta{f.file("data-0", 0), f.file("data-1", 0)}
		m.CompactAfter = []spec.DataFileMeta{f.write("a", "data-c1")}
	})
	for i := range 3 {
		f.append("b", fmt.Sprint(10+i))
	}
	must(t, CreateTag(ctx, f.fs, tablePath, TagOptions{Name: "base", Now: time.Now(), Retained: time.Hour}))
	must(t, CreateBranch(ctx, f.fs, tablePath, "dev", "base"))
	f.branchAppend("dev", "x")
	f.expire(all(5))
	f.append("b", "20")
	f.commit("b", func(m *spec.CommitMessage) { m.CompactBefore = []spec.DataFileMeta{f.file("data-10", 0)} })
	must(t, CreateTag(ctx, f.fs, tablePath, TagOptions{Name: "new", Now: time.Now()}))
	f.append("b", "21")
	return f
}

// branchAppend commits one new file to a branch: the snapshot of a committer on
// the table's own files, moved to the branch's directory.
func (f *fixture) branchAppend(branch, name string) {
	f.t.Helper()
	ctx := f.t.Context()
	home := spec.BranchPath(f.fs.Join, tablePath, branch)
	snaps := commit.NewSnapshots(f.fs, home)
	latest, err := snaps.Latest(ctx)
	must(f.t, err)
	s, err := snaps.Read(ctx, latest)
	must(f.t, err)
	tab, err := openTable(ctx, f.fs, tablePath)
	must(f.t, err)
	metas, err := tab.manifests.All(ctx, s)
	must(f.t, err)
	meta := f.write("b", "data-"+branch+name)
	entry := spec.ManifestEntry{Kind: spec.Add, Partition: partition("b"), TotalBuckets: -1, File: meta}
	manifest, err := spec.WriteManifest([]spec.ManifestEntry{entry})
	must(f.t, err)
	put := func(n string, b []byte) { must(f.t, f.fs.CreateExclusive(ctx, tablePath+"/manifest/"+n, b)) }
	put("manifest-"+branch+name, manifest)
	delta := metas[0]
	delta.FileName, delta.NumAddedFiles, delta.NumDeletedFiles = "manifest-"+branch+name, 1, 0
	base, err := spec.WriteManifestList(metas)
	must(f.t, err)
	put("manifest-list-base-"+branch+name, base)
	list, err := spec.WriteManifestList([]spec.ManifestFileMeta{delta})
	must(f.t, err)
	put("manifest-list-delta-"+branch+name, list)
	next := *s
	next.ID, next.BaseManifestList, next.DeltaManifestList, next.ChangelogManifestList = s.ID+1, "manifest-list-base-"+branch+name, "manifest-list-delta-"+branch+name, nil
	content, err := spec.MarshalSnapshot(&next)
	must(f.t, err)
	must(f.t, f.fs.CreateExclusive(ctx, snaps.Path(next.ID), content))
	must(f.t, snaps.WriteHint(ctx, spec.LatestHint, next.ID))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// operations are what happens to a table besides commits and expiration.
var operations = map[string]func(ctx context.Context, fs fileio.FS) error{
	"delete tag": func(ctx context.Context, fs fileio.FS) error { return DeleteTag(ctx, fs, tablePath, "old") },
	"replace tag": func(ctx context.Context, fs fileio.FS) error {
		return CreateTag(ctx, fs, tablePath, TagOptions{Name: "old", Replace: true, Now: time.Now()})
	},
	"rename tag": func(ctx context.Context, fs fileio.FS) error { return RenameTag(ctx, fs, tablePath, "old", "older") },
	"roll back": func(ctx context.Context, fs fileio.FS) error {
		_, _, err := Rollback(ctx, fs, tablePath, 10, "")
		return err
	},
	"bring back": func(ctx context.Context, fs fileio.FS) error {
		_, _, _, err := RollbackAsLatest(ctx, fs, tablePath, 0, "old")
		return err
	},
	"delete branch": func(ctx context.Context, fs fileio.FS) error { return DeleteBranch(ctx, fs, tablePath, "dev") },
	"rename branch": func(ctx context.Context, fs fileio.FS) error { return RenameBranch(ctx, fs, tablePath, "dev", "dev2") },
	"create branch": func(ctx context.Context, fs fileio.FS) error { return CreateBranch(ctx, fs, tablePath, "more", "new") },
	"fast-forward":  func(ctx context.Context, fs fileio.FS) error { return FastForward(ctx, fs, tablePath, "dev") },
	"remove orphans": func(ctx context.Context, fs fileio.FS) error {
		_, err := RemoveOrphans(ctx, fs, tablePath, OrphanOptions{OlderThan: time.Now().Add(time.Hour)})
		return err
	},
	"drop partition": func(ctx context.Context, fs fileio.FS) error {
		_, err := DropPartitions(ctx, fs, tablePath, []PartitionSpec{{"dt": "a"}}, true)
		return err
	},
	"truncate": func(ctx context.Context, fs fileio.FS) error { return Truncate(ctx, fs, tablePath) },
	"compact manifests": func(ctx context.Context, fs fileio.FS) error {
		_, err := CompactManifests(ctx, fs, tablePath)
		return err
	},
}

// TestEveryCrashOfALife stops each operation at every call of the disk: nothing
// that is needed goes, the operation can be done again, and a sweep leaves
// nothing else behind.
func TestEveryCrashOfALife(t *testing.T) {
	t.Parallel()
	origin := lived(t)
	origin.whole("before")
	for name, op := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			start := func() *fixture {
				f := origin.clone()
				f.t = t
				return f
			}
			done := start()
			counted := faultfs.New(done.fs, "")
			if err := op(ctx, counted); err != nil {
				t.Fatal(err)
			}
			done.whole("after")
			done.clean("after")
			for _, action := range []faultfs.Action{faultfs.Stop, faultfs.StopAfter} {
				// The state after call n is that before call n+1: of those only some are looked at.
				step := map[faultfs.Action]int{faultfs.Stop: 1, faultfs.StopAfter: 3}[action]
				for n := 1; n <= counted.Total(); n += step {
					what := fmt.Sprintf("call %d %s", n, action)
					f := start()
					err := op(ctx, faultfs.New(f.fs, faultfs.Rule{Op: faultfs.Any, N: n, Action: action}.String()))
					if err != nil && !errors.Is(err, faultfs.ErrInjected) {
						t.Fatalf("%s: %v", what, err)
					}
					f.whole(what)
					if err := op(ctx, f.fs); err != nil && !strings.Contains(err.Error(), "there is no") && !strings.Contains(err.Error(), "exists already") {
						t.Fatalf("%s, again: %v", what, err)
					}
					f.whole(what + ", again")
					f.clean(what)
				}
			}
		})
	}
}

func TestFilesBroughtBackOutliveExpiration(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := lived(t)
	// A branch loses its first changelog with the table's own.
	must(t, DeleteBranch(ctx, f.fs, tablePath, "dev"))
	before, target, now, err := RollbackAsLatest(ctx, f.fs, tablePath, 9, "")
	if err != nil || before != 13 || target != 9 || now != 14 {
		t.Fatalf("%d, %d, %d, %v", before, target, now, err)
	}
	f.whole("brought back")
	tags, err := Tags(ctx, f.fs, tablePath)
	must(t, err)
	for i := range tags {
		err := DeleteTag(ctx, f.fs, tablePath, tags[i].Name)
		if held := strings.HasPrefix(tags[i].Name, restoreTagPrefix); held != (err != nil) {
			t.Fatalf("deleting tag %s: %v", tags[i].Name, err)
		}
	}
	f.append("b", "30")
	if _, err := ExpireSnapshots(ctx, f.fs, tablePath, all(100)); err != nil {
		t.Fatal(err)
	}
	f.whole("expired")
	tags, err = Tags(ctx, f.fs, tablePath)
	if err != nil || len(tags) != 1 {
		t.Fatalf("tags %v, %v", tags, err)
	}
	must(t, DeleteTag(ctx, f.fs, tablePath, tags[0].Name))
	f.whole("let go")
	f.clean("let go")
}

func TestLifeOfTags(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := lived(t)
	tags, err := Tags(ctx, f.fs, tablePath)
	must(t, err)
	var names []string
	for _, tag := range tags {
		names = append(names, fmt.Sprintf("%s:%d", tag.Name, tag.Snapshot.ID))
	}
	if d := cmp.Diff([]string{"old:4", "base:9", "new:12"}, names); d != "" {
		t.Errorf("tags (-want +got):\n%s", d)
	}
	if tags[1].Retained != time.Hour || time.Since(tags[1].Created).Abs() > time.Minute {
		t.Errorf("tag base: created %s, retained %s", tags[1].Created, tags[1].Retained)
	}
	if err := DeleteTag(ctx, f.fs, tablePath, "base"); err == nil || !strings.Contains(err.Error(), "branch dev") {
		t.Errorf("deleting the tag of a branch: %v", err)
	}
	if gone, err := ExpireTags(ctx, f.fs, tablePath, time.Now().Add(30*time.Minute), time.Time{}); err != nil || len(gone) > 0 {
		t.Errorf("expired %v too early, %v", gone, err)
	}
	must(t, DeleteBranch(ctx, f.fs, tablePath, "dev"))
	if gone, err := ExpireTags(ctx, f.fs, tablePath, time.Now().Add(2*time.Hour), time.Time{}); err != nil || !cmp.Equal(gone, []string{"base"}) {
		t.Errorf("expired %v, %v", gone, err)
	}
	f.clean("at the end")
}

func TestTagsMakeThemselves(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := newFixture(t, nil)
	f.append("a", "1")
	options := configs.Values{"tag.automatic-creation": {Text: "process-time"}, "tag.num-retained-max": {Text: "2"}, "tag.creation-delay": {Text: "10 min"}}
	u := Upkeep{FS: f.fs, Path: tablePath, Options: options}
	must(t, CreateTag(ctx, f.fs, tablePath, TagOptions{Name: "mine", Now: time.Now()}))
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		now  time.Time
		want []string
	}{
		{day.Add(5 * time.Minute), []string{"2026-02-27", "mine"}},
		{day.Add(time.Hour), []string{"2026-02-27", "2026-02-28", "mine"}},
		{day.Add(2 * time.Hour), []string{"2026-02-27", "2026-02-28", "mine"}},
		{day.Add(25 * time.Hour), []string{"2026-02-28", "2026-03-01", "mine"}},
	} {
		must(t, u.Run(ctx, tt.now))
		tags, err := Tags(ctx, f.fs, tablePath)
		must(t, err)
		var names []string
		for _, tag := range tags {
			names = append(names, tag.Name)
		}
		if d := cmp.Diff(tt.want, names); d != "" {
			t.Errorf("tags at %s (-want +got):\n%s", tt.now, d)
		}
	}
	for _, tt := range []struct{ period, formatter, want string }{
		{"hourly", "with_dashes", "2026-03-01 12"}, {"two-hours", "without_dashes", "20260301 10"}, {"daily", "without_dashes_and_spaces", "20260228"},
	} {
		v := configs.Values{"tag.creation-period": {Text: tt.period}, "tag.period-formatter": {Text: tt.formatter}}
		if got := TagName(v, day.Add(13*time.Hour+30*time.Minute)); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.period, tt.formatter, got, tt.want)
		}
	}
}

func TestYoungFilesAreNoOrphans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := lived(t)
	f.write("b", "data-prepared")
	info, err := f.fs.Stat(ctx, bucketPath("b")+"data-prepared")
	must(t, err)
	got, err := RemoveOrphans(ctx, f.fs, tablePath, OrphanOptions{OlderThan: info.ModTime})
	if err != nil || len(got.Paths) > 0 {
		t.Errorf("removed %v, %v", got.Paths, err)
	}
	got, err = RemoveOrphans(ctx, f.fs, tablePath, OrphanOptions{OlderThan: info.ModTime.Add(1), DryRun: true})
	if err != nil || !slices.Contains(got.Paths, bucketPath("b")+"data-prepared") {
		t.Errorf("found %v, %v", got.Paths, err)
	}
	if _, err := f.fs.Stat(ctx, bucketPath("b")+"data-prepared"); err != nil {
		t.Errorf("a dry run removed: %v", err)
	}
}

func TestExpirePartitionsByValue(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := newFixture(t, nil)
	for _, dt := range []string{"2026-01-01", "2026-01-02", "2026-01-03", "later"} {
		f.append(dt, dt)
	}
	before := time.Date(2026, 1, 3, 0, 0, 0, 0, time.Local)
	gone, err := ExpirePartitions(ctx, f.fs, tablePath, PartitionExpiry{Before: before})
	if d := cmp.Diff([]string{"dt=2026-01-01", "dt=2026-01-02"}, gone); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	left, err := Partitions(ctx, f.fs, tablePath)
	if err != nil || len(left) != 2 || left[0].Path != "dt=2026-01-03" || left[1].Path != "dt=later" {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := DropPartitions(ctx, f.fs, tablePath, []PartitionSpec{{"dt": "later"}, {"dt": "none"}}, false); err == nil {
		t.Error("a partition that is not there was dropped")
	}
	if left, err := Partitions(ctx, f.fs, tablePath); err != nil || len(left) != 2 {
		t.Errorf("a refused statement dropped: %v, %v", left, err)
	}
	f.whole("after")
}

func TestConsumersHoldAndEnd(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := lived(t)
	must(t, ResetConsumer(ctx, f.fs, tablePath, "c", 11))
	got, err := Consumers(ctx, f.fs, tablePath)
	if err != nil || len(got) != 1 || got[0].ID != "c" || got[0].Next != 11 {
		t.Fatalf("consumers %v, %v", got, err)
	}
	if e := f.expire(all(100)); e.To > 11 {
		t.Errorf("expired %+v under a consumer", e)
	}
	if gone, err := ExpireConsumers(ctx, f.fs, tablePath, got[0].Modified); err != nil || len(gone) > 0 {
		t.Errorf("expired %v, %v", gone, err)
	}
	if gone, err := ExpireConsumers(ctx, f.fs, tablePath, got[0].Modified.Add(1)); err != nil || !cmp.Equal(gone, []string{"c"}) {
		t.Errorf("expired %v, %v", gone, err)
	}
}

func TestExpireChangelogs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := newFixture(t, nil)
	for i := range 6 {
		f.append("a", fmt.Sprint(i))
	}
	// As Java leaves them: changelogs 1 to 3 outlived their snapshots.
	for id := int64(1); id <= 3; id++ {
		b, err := f.fs.ReadFile(ctx, fmt.Sprintf("%s/snapshot/snapshot-%d", tablePath, id))
		must(t, err)
		must(t, f.fs.Replace(ctx, fmt.Sprintf("%s/changelog/changelog-%d", tablePath, id), b))
		must(t, f.fs.Remove(ctx, fmt.Sprintf("%s/snapshot/snapshot-%d", tablePath, id)))
	}
	n, err := ExpireChangelogs(ctx, f.fs, tablePath, ChangelogExpiry{RetainMin: 1, RetainMax: 4, OlderThan: time.Now().Add(-time.Hour)})
	if err != nil || n != 2 {
		t.Fatalf("expired %d, %v", n, err)
	}
	disk := strings.Join(f.disk(ctx), " ")
	for name, want := range map[string]bool{"changelog-0": false, "changelog-1": false, "changelog-2": true, "changelog-3": true, "data-0": true} {
		if got := strings.Contains(disk, "bucket-0/"+name); got != want {
			t.Errorf("%s there: %v, want %v", name, got, want)
		}
	}
	if n, err := ExpireChangelogs(ctx, f.fs, tablePath, ChangelogExpiry{All: true}); err != nil || n != 1 {
		t.Errorf("expired %d, %v", n, err)
	}
	f.whole("after")
}
