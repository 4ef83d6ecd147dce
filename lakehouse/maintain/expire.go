package maintain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"leat/internal/fileio"
	"leat/lakehouse/commit"
	"leat/lakehouse/spec"
)

// ExpireOptions are the table options of snapshot expiration.
type ExpireOptions struct {
	// RetainMin and RetainMax are snapshot.num-retained.min and .max; RetainTime is
	// snapshot.time-retained; Limit is snapshot.expire.limit, snapshots a run.
	RetainMin, RetainMax int64
	RetainTime           time.Duration
	Limit                int64
	// CleanEmptyDirs is snapshot.clean-empty-directories.
	CleanEmptyDirs bool
	// Protect names data files (without directory) that must stay, such as those
	// of prepared epochs that are not committed yet. Expiration stops before a
	// snapshot that would take one of them.
	Protect func(fileName string) bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Expired is what one run removed: snapshots From to To-1, and files by kind.
type Expired struct {
	From, To                  int64
	Data, Changelog, Manifest int
}

// Snapshots is the number of snapshots removed.
func (e Expired) Snapshots() int64 { return e.To - e.From }

// ExpireSnapshots removes the snapshots of the table at path that the options
// let go. A table whose changelog lives longer than its snapshots
// (changelog.num-retained.*, changelog.time-retained) is left alone.
func ExpireSnapshots(ctx context.Context, fs fileio.FS, path string, o ExpireOptions) (Expired, error) {
	t, err := openTable(ctx, fs, path)
	if err != nil {
		return Expired{}, err
	}
	x := &expiration{table: t, opt: o}
	out, err := x.run(ctx)
	if err != nil {
		return out, fmt.Errorf("expiring snapshots of %s: %w", path, err)
	}
	return out, nil
}

// expiration is one run.
type expiration struct {
	*table
	opt  ExpireOptions
	tags []*spec.Snapshot
	done Expired
	// dirs are the bucket directories that lost a file.
	dirs map[string]bool
}

func (x *expiration) run(ctx context.Context) (Expired, error) {
	if x.changelogOutlives() {
		return Expired{}, nil
	}
	begin, end, err := x.window(ctx)
	if err != nil || end <= begin {
		return Expired{}, err
	}
	if x.tags, err = x.readTags(ctx); err != nil {
		return Expired{}, err
	}
	x.done, x.dirs = Expired{From: begin, To: begin}, map[string]bool{}
	err = x.remove(ctx, begin, end)
	if errors.Is(err, fileio.ErrNotExist) && x.passed(ctx, begin) {
		return x.done, nil
	}
	return x.done, err
}

// passed reports whether another expiration has gone beyond the snapshot at
// which this one began: what it removes is what this one would have removed.
func (x *expiration) passed(ctx context.Context, begin int64) bool {
	_, err := x.fs.Stat(ctx, x.snaps.Path(begin))
	return errors.Is(err, fileio.ErrNotExist)
}

// remove removes the snapshots in [begin, end), what names a file after the file.
func (x *expiration) remove(ctx context.Context, begin, end int64) error {
	end, err := x.removeData(ctx, begin, end)
	if err != nil || end <= begin {
		return err
	}
	if err := x.removeChangelog(ctx, begin, end); err != nil {
		return err
	}
	if x.opt.CleanEmptyDirs {
		x.removeEmptyDirs(ctx)
	}
	if err := x.removeManifests(ctx, begin, end); err != nil {
		return err
	}
	for id := begin; id < end; id++ {
		if err := x.fs.Remove(ctx, x.snaps.Path(id)); err != nil {
			return err
		}
		x.done.To = id + 1
	}
	return x.snaps.WriteHint(ctx, spec.EarliestHint, end)
}

// changelogOutlives reports whether changelogs are kept longer than snapshots.
func (x *expiration) changelogOutlives() bool {
	for k := range x.schema.Options {
		if strings.HasPrefix(k, "changelog.num-retained.") || k == "changelog.time-retained" {
			return true
		}
	}
	return false
}

// window gives the snapshots [begin, end) that count and age let go.
func (x *expiration) window(ctx context.Context) (begin, end int64, err error) {
	latest, err := x.snaps.Latest(ctx)
	if err != nil || latest == 0 {
		return 0, 0, err
	}
	earliest, err := x.snaps.Earliest(ctx)
	if err != nil || earliest == 0 {
		return 0, 0, err
	}
	end = min(latest-x.opt.RetainMin+1, earliest+x.opt.Limit)
	next, err := x.nextOfConsumers(ctx)
	if err != nil {
		return 0, 0, err
	}
	if next > 0 {
		end = min(end, next)
	}
	now := time.Now()
	if x.opt.Now != nil {
		now = x.opt.Now()
	}
	young := now.Add(-x.opt.RetainTime).UnixMilli()
	for id := max(latest-x.opt.RetainMax+1, earliest); id < end; id++ {
		snap, err := x.snaps.Read(ctx, id)
		if errors.Is(err, fileio.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		if snap.TimeMillis >= young {
			end = id
		}
	}
	if end <= earliest {
		return 0, 0, nil
	}
	return x.contiguous(ctx, end, next)
}

// contiguous moves the begin to the first snapshot without a hole up to end,
// wherever the hint of the earliest one stands. What lies before a hole was
// expired once, by a run that did not come to its end or whose removals a crash
// of the machine has undone: those snapshots are removed, but not what a consumer waits for.
func (x *expiration) contiguous(ctx context.Context, end, consumers int64) (int64, int64, error) {
	ids, err := x.snaps.List(ctx)
	if err != nil {
		return 0, 0, err
	}
	there := make(map[int64]bool, len(ids))
	for _, id := range ids {
		there[id] = true
	}
	begin := end
	for begin > 1 && there[begin-1] {
		begin--
	}
	for _, id := range ids {
		if id >= begin || consumers > 0 && id >= consumers {
			break
		}
		if err := x.fs.Remove(ctx, x.snaps.Path(id)); err != nil {
			return 0, 0, err
		}
	}
	return begin, min(end, begin+x.opt.Limit), nil
}

// removeData removes the data files that the snapshots up to end, without
// begin, deleted. It gives the end to keep to: earlier if a file is protected.
func (x *expiration) removeData(ctx context.Context, begin, end int64) (int64, error) {
	held := map[int64]map[string]bool{}
	for id := begin + 1; id <= end; id++ {
		snap, err := x.snaps.Read(ctx, id)
		if err != nil {
			return begin, err
		}
		entries, err := x.manifests.Delta(ctx, snap)
		if errors.Is(err, fileio.ErrNotExist) {
			continue // removed by a run that did not come to its end
		}
		if err != nil {
			return begin, err
		}
		gone, err := x.goneFiles(entries)
		if err != nil {
			return begin, err
		}
		for _, g := range gone {
			if x.opt.Protect != nil && x.opt.Protect(g.name) {
				return id - 1, nil
			}
		}
		tag := previousTag(x.tags, id)
		if tag != nil && held[tag.ID] == nil {
			if held[tag.ID], err = x.liveFiles(ctx, tag); err != nil {
				return begin, err
			}
		}
		for _, g := range gone {
			if tag != nil && held[tag.ID][g.paths[0]] {
				continue
			}
			if err := x.removeFiles(ctx, g.paths, &x.done.Data); err != nil {
				return begin, err
			}
			x.dirs[g.dir] = true
		}
	}
	return end, nil
}

// goneFile is a file that a snapshot deleted for good, with its extra files.
type goneFile struct {
	name, dir string
	paths     []string
}

// goneFiles gives the files that entries delete and do not add again: a file
// lifted to another level is both deleted and added, and stays.
func (x *expiration) goneFiles(entries []spec.ManifestEntry) ([]goneFile, error) {
	var gone []goneFile
	kept := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		paths, err := x.layout.FilePaths(e.Partition, e.Bucket, &e.File)
		if err != nil {
			return nil, err
		}
		if e.Kind == spec.Add {
			kept[paths[0]] = true
			continue
		}
		dir, err := x.layout.BucketPath(e.Partition, e.Bucket)
		if err != nil {
			return nil, err
		}
		gone = append(gone, goneFile{name: e.File.FileName, dir: dir, paths: paths})
	}
	out := gone[:0]
	for _, g := range gone {
		if !kept[g.paths[0]] {
			out = append(out, g)
		}
	}
	return out, nil
}

// removeChangelog removes the changelog files of the snapshots in [begin, end).
func (x *expiration) removeChangelog(ctx context.Context, begin, end int64) error {
	for id := begin; id < end; id++ {
		snap, err := x.snaps.Read(ctx, id)
		if err != nil {
			return err
		}
		if snap.ChangelogManifestList == nil {
			continue
		}
		metas, err := x.manifests.List(ctx, *snap.ChangelogManifestList)
		if errors.Is(err, fileio.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		entries, err := x.manifests.Read(ctx, metas)
		if errors.Is(err, fileio.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			paths, err := x.layout.FilePaths(e.Partition, e.Bucket, &e.File)
			if err != nil {
				return err
			}
			if err := x.removeFiles(ctx, paths, &x.done.Changelog); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeManifests removes the lists, manifests, index files and statistics of
// the snapshots in [begin, end) that neither snapshot end nor a tag uses.
func (x *expiration) removeManifests(ctx context.Context, begin, end int64) error {
	first, err := x.snaps.Read(ctx, end)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, s := range append(tagsAround(x.tags, begin, end), first) {
		files, err := x.metadata(ctx, s, nil, false)
		if err != nil {
			return err
		}
		for _, f := range files {
			used[f] = true
		}
	}
	for id := begin; id < end; id++ {
		snap, err := x.snaps.Read(ctx, id)
		if err != nil {
			return err
		}
		files, err := x.metadata(ctx, snap, used, true)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := x.removeFiles(ctx, []string{f}, &x.done.Manifest); err != nil {
				return err
			}
			used[f] = true // gone, and not to be removed twice
		}
	}
	return nil
}

// metadata gives the paths of the lists, manifests, index files and statistics
// of a snapshot that are not in skip: files inside a list before the list, so
// that a list is there until what it names is gone. With tolerant, a list that
// is missing names nothing: an earlier run removed it.
func (x *expiration) metadata(ctx context.Context, s *spec.Snapshot, skip map[string]bool, tolerant bool) ([]string, error) {
	var out []string
	add := func(path string) {
		if !skip[path] {
			out = append(out, path)
		}
	}
	lists := []string{s.BaseManifestList, s.DeltaManifestList}
	if s.ChangelogManifestList != nil {
		lists = append(lists, *s.ChangelogManifestList)
	}
	for _, l := range lists {
		if skip[x.manifests.Path(l)] {
			continue
		}
		metas, err := x.manifests.List(ctx, l)
		// Other writers remove the changelog list of a tagged snapshot.
		mayMiss := tolerant || s.ChangelogManifestList != nil && l == *s.ChangelogManifestList
		if err != nil && (!mayMiss || !errors.Is(err, fileio.ErrNotExist)) {
			return nil, err
		}
		for _, m := range metas {
			add(x.manifests.Path(m.FileName))
		}
		add(x.manifests.Path(l))
	}
	if s.IndexManifest != nil && !skip[x.manifests.Path(*s.IndexManifest)] {
		files, err := x.indexFiles(ctx, s)
		if err != nil && (!tolerant || !errors.Is(err, fileio.ErrNotExist)) {
			return nil, err
		}
		for _, f := range files {
			add(f)
		}
		add(x.manifests.Path(*s.IndexManifest))
	}
	if s.Statistics != nil {
		add(x.fs.Join(x.path, spec.StatsDir, *s.Statistics))
	}
	return out, nil
}

func (x *expiration) removeFiles(ctx context.Context, paths []string, count *int) error {
	for _, p := range paths {
		if err := x.fs.Remove(ctx, p); err != nil {
			return err
		}
		*count++
	}
	return nil
}

// removeEmptyDirs removes bucket directories without files and then their empty
// partition directories. A removal that a new file forestalls fails, which is fine.
func (x *expiration) removeEmptyDirs(ctx context.Context) {
	for dir := range x.dirs {
		for dir != x.path && len(dir) > len(x.path) {
			infos, err := x.fs.List(ctx, dir)
			if err != nil || len(infos) > 0 || x.fs.Remove(ctx, dir) != nil {
				break
			}
			dir = dir[:max(strings.LastIndexByte(dir, '/'), 0)]
		}
	}
}

// table is what all work here needs of a table.
type table struct {
	fs        fileio.FS
	path      string
	schema    *spec.TableSchema
	layout    *spec.Layout
	snaps     *commit.Snapshots
	manifests *commit.Manifests
}

func openTable(ctx context.Context, fs fileio.FS, path string) (*table, error) {
	infos, err := fs.List(ctx, fs.Join(path, spec.SchemaDir))
	if err != nil {
		return nil, fmt.Errorf("listing schemas of %s: %w", path, err)
	}
	latest := int64(-1)
	for _, i := range infos {
		if id, ok := spec.ParseNumbered(i.Name, spec.SchemaPrefix); ok {
			latest = max(latest, id)
		}
	}
	if latest < 0 {
		return nil, fmt.Errorf("opening table %s: no schema: %w", path, fileio.ErrNotExist)
	}
	b, err := fs.ReadFile(ctx, fs.Join(path, spec.SchemaDir, spec.SchemaName(latest)))
	if err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", path, err)
	}
	schema, err := spec.ParseSchema(b)
	if err != nil {
		return nil, err
	}
	return &table{
		fs: fs, path: path, schema: schema, layout: spec.NewLayout(path, schema, fs.Join),
		snaps: commit.NewSnapshots(fs, path), manifests: commit.NewManifests(fs, path),
	}, nil
}
