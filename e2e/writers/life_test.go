package writers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leat/catalog"
	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/crashfs"
	"leat/internal/fileio/faultfs"
	"leat/internal/fileio/local"
	"leat/lakehouse"
	"leat/lakehouse/commit"
	"leat/lakehouse/maintain"
	"leat/lakehouse/spec"
)

// tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Context() context.Context
}

// life is the life of a table on a disk that breaks: its columns change between
// commits, and what can happen to a table happens at random moments. The model
// knows what every snapshot, tag and branch has to give.
type life struct {
	tester
	draw func(label string, n int) int
	disk *crashfs.FS
	path string
	id   catalog.Identifier

	now   state
	kept  map[int64]state
	tags  map[string]tagged
	bases map[string]string // branch: the tag it was made from
	held  int64             // next snapshot of the consumer, 0 without
	// expired are snapshots whose removal a crash may undo; removed says that
	// something else was removed, of which this must not happen.
	expired map[int64]bool
	removed bool

	epoch, attempts int64
	log             []string
}

// tagged is a tag: its snapshot and what that gives.
type tagged struct {
	id int64
	state
}

func newLife(t tester, draw func(string, int) int) *life {
	l := &life{
		tester: t, draw: draw, disk: crashfs.New(), path: "/wh/d.db/t", id: catalog.Identifier{Database: "d", Table: "t"},
		kept: map[int64]state{}, tags: map[string]tagged{}, bases: map[string]string{}, expired: map[int64]bool{},
	}
	c := catalog.New(l.disk, "/wh")
	nn := columnar.StringType().NotNull()
	schema := &spec.TableSchema{
		Version: spec.SchemaVersion, HighestFieldID: 3, PartitionKeys: []string{"part"}, PrimaryKeys: []string{"part", "k"},
		Fields: []columnar.Field{
			{ID: 0, Name: "part", Type: nn},
			{ID: 1, Name: "k", Type: columnar.Of(columnar.BigInt).NotNull()},
			{ID: 2, Name: "c2", Type: columnar.Of(columnar.Int)},
			{ID: 3, Name: "c3", Type: columnar.StringType()},
		},
		Options: map[string]string{"bucket": "1", "manifest.merge-min-count": "3", "num-sorted-run.compaction-trigger": "3", "file.compression": "uncompressed"},
	}
	if err := errors.Join(c.CreateDatabase(t.Context(), "d", false), c.CreateTable(t.Context(), l.id, schema, false)); err != nil {
		t.Fatalf("%v", err)
	}
	l.now = state{columns: l.columns(), rows: map[rowKey]modelRow{}}
	return l
}

// columns are those of the latest schema.
func (l *life) columns() []column {
	l.Helper()
	s, _, err := catalog.New(l.disk, "/wh").Table(l.Context(), l.id)
	if err != nil {
		l.Fatalf("%v", err)
	}
	var out []column
	for _, f := range s.Fields {
		if f.Name != "part" && f.Name != "k" {
			out = append(out, column{uid: f.ID, name: f.Name, kind: f.Type.Kind})
		}
	}
	return out
}

// steps are what may happen; several of a kind make it likelier.
var steps = []struct {
	name string
	do   func(*life)
}{
	{"write", (*life).write},
	{"write", (*life).write},
	{"write", (*life).write},
	{"alter", (*life).alter},
	{"alter", (*life).alter},
	{"compact", (*life).compact},
	{"expire", (*life).expire},
	{"expire", (*life).expire},
	{"tag", (*life).tag},
	{"branch", (*life).branch},
	{"roll back", (*life).rollBack},
	{"consumer", (*life).consumer},
	{"partitions", (*life).partitions},
	{"sweep", (*life).sweep},
	{"manifests", (*life).manifests},
}

// live takes n steps and looks at the table after each.
func (l *life) live(n int) {
	l.Helper()
	for range n {
		s := steps[l.draw("step", len(steps))]
		l.log = append(l.log, s.name)
		s.do(l)
		l.look()
		if ids := l.ids(); len(ids) > 0 {
			l.check(ids[len(ids)-1])
			l.check(ids[l.draw("looked at", len(ids))])
		}
	}
	l.all()
}

// broken gives the disk with a call that goes wrong, or a sound one.
func (l *life) broken() (fs fileio.FS, sound bool) {
	if l.draw("breaks", 3) != 0 {
		return l.disk, true
	}
	actions := []faultfs.Action{faultfs.Stop, faultfs.StopAfter, faultfs.Fail, faultfs.Lie, faultfs.Cut}
	rule := faultfs.Rule{Op: faultfs.Any, N: 1 + l.draw("call", 60), Action: actions[l.draw("action", len(actions))]}
	l.log = append(l.log, rule.String())
	return faultfs.New(l.disk, rule.String()), false
}

// crash loses what the disk had not made durable: with expirations alone, also
// some of the removals.
func (l *life) crash() {
	var rnd *rand.Rand
	if !l.removed {
		rnd = rand.New(rand.NewPCG(1, uint64(l.draw("crash", 100))))
	}
	l.disk = l.disk.Crash(rnd)
}

// do carries op out: on a disk that breaks first, and then again on a sound one,
// where an answer of done is the end as well. It reports whether op took place.
func (l *life) do(op func(fs fileio.FS) error, done ...string) bool {
	l.Helper()
	fs, sound := l.broken()
	err := op(fs)
	if err != nil && !sound {
		l.crash()
		if err = op(l.disk); err != nil {
			for _, d := range done {
				if strings.Contains(err.Error(), d) {
					return true
				}
			}
		}
	}
	if domain := diag.DomainOf(err); err != nil && (domain == diag.User || domain == diag.Guard) {
		l.log = append(l.log, "refused: "+err.Error())
		return false
	}
	if err != nil {
		l.Fatalf("%v: %v", l.log, err)
	}
	return true
}

func (l *life) ids() []int64 {
	l.Helper()
	ids, err := commit.NewSnapshots(l.disk, l.path).List(l.Context())
	if err != nil {
		l.Fatalf("%v", err)
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return l.expired[id] })
}

// look takes new snapshots into the model, which give what the table gives now, and old ones out.
func (l *life) look() {
	l.Helper()
	ids := l.ids()
	for _, id := range ids {
		if _, known := l.kept[id]; !known {
			l.kept[id] = l.now.clone()
		}
	}
	for id := range l.kept {
		if !slices.Contains(ids, id) {
			delete(l.kept, id)
		}
	}
}

// read gives the rows of a state of the table as lines.
func (l *life) read(o lakehouse.ScanOptions, columns []column) []string {
	l.Helper()
	t, err := lakehouse.Open(l.Context(), l.disk, l.path)
	if err != nil {
		l.Fatalf("%v", err)
	}
	var out []string
	err = t.Scan(l.Context(), o, func(b *columnar.Batch) error {
		lines, err := linesOf(b, columns)
		out = append(out, lines...)
		return err
	})
	if err != nil {
		l.Fatalf("%v: %v", l.log, err)
	}
	slices.Sort(out)
	return out
}

func (l *life) check(id int64) {
	l.Helper()
	want := l.kept[id]
	if d := cmp.Diff(want.lines(), l.read(lakehouse.ScanOptions{Snapshot: id}, want.columns)); d != "" {
		l.Fatalf("%v\nsnapshot %d (-want +got):\n%s", l.log, id, d)
	}
}

// all looks at every snapshot, tag and branch.
func (l *life) all() {
	l.Helper()
	for id := range l.kept {
		l.check(id)
	}
	for name, tag := range l.tags {
		if d := cmp.Diff(tag.lines(), l.read(lakehouse.ScanOptions{Travel: lakehouse.Travel{Tag: name}}, tag.columns)); d != "" {
			l.Fatalf("%v\ntag %s (-want +got):\n%s", l.log, name, d)
		}
	}
	for branch, base := range l.bases {
		home := spec.BranchPath(l.disk.Join, l.path, branch)
		snaps := commit.NewSnapshots(l.disk, home)
		latest, err := snaps.Latest(l.Context())
		if err != nil {
			l.Fatalf("%v", err)
		}
		s, err := snaps.Read(l.Context(), latest)
		if err != nil {
			l.Fatalf("%v: branch %s: %v", l.log, branch, err)
		}
		want := l.tags[base]
		if d := cmp.Diff(want.lines(), l.read(lakehouse.ScanOptions{At: s}, want.columns)); d != "" {
			l.Fatalf("%v\nbranch %s (-want +got):\n%s", l.log, branch, d)
		}
	}
}

// end lets go of all that is old, sweeps, and requires that nothing else is left
// than what the last snapshot needs.
func (l *life) end() {
	l.Helper()
	ctx := l.Context()
	var err error
	for b := range l.bases {
		err = errors.Join(err, maintain.DeleteBranch(ctx, l.disk, l.path, b))
	}
	for name := range l.tags {
		err = errors.Join(err, maintain.DeleteTag(ctx, l.disk, l.path, name))
	}
	if l.held > 0 {
		err = errors.Join(err, maintain.DeleteConsumer(ctx, l.disk, l.path, "c"))
	}
	for range 100 {
		_, e := maintain.ExpireSnapshots(ctx, l.disk, l.path, maintain.ExpireOptions{RetainMin: 1, RetainMax: 1, Limit: 10, Now: func() time.Time { return time.Now().Add(time.Hour) }})
		err = errors.Join(err, e)
	}
	_, e := maintain.RemoveOrphans(ctx, l.disk, l.path, maintain.OrphanOptions{OlderThan: time.Now().Add(time.Hour)})
	if err = errors.Join(err, e); err != nil {
		l.Fatalf("%v: %v", l.log, err)
	}
	clear(l.tags)
	clear(l.bases)
	l.look()
	if len(l.kept) > 1 || len(l.ids()) != len(l.kept) {
		l.Fatalf("%v: %d snapshots are left", l.log, len(l.kept))
	}
	l.all()
	if d := cmp.Diff(l.needed(), l.files()); d != "" {
		l.Fatalf("%v\nfiles at the end (-needed +there):\n%s", l.log, d)
	}
}

// files lists the files below the table but schemas and hints.
func (l *life) files() []string {
	var out []string
	for _, p := range l.disk.Paths() {
		rest, in := strings.CutPrefix(p, l.path+"/")
		if in && !strings.HasPrefix(rest, "schema/schema-") && rest != "snapshot/LATEST" && rest != "snapshot/EARLIEST" {
			out = append(out, rest)
		}
	}
	slices.Sort(out)
	return out
}

// needed lists the files of the only snapshot.
func (l *life) needed() []string {
	l.Helper()
	var out []string
	for id := range l.kept {
		ctx, m := l.Context(), commit.NewManifests(l.disk, l.path)
		s, err := commit.NewSnapshots(l.disk, l.path).Read(ctx, id)
		if err != nil {
			l.Fatalf("%v", err)
		}
		metas, err := m.All(ctx, s)
		if err != nil {
			l.Fatalf("%v", err)
		}
		live, err := m.Live(ctx, s)
		if err != nil {
			l.Fatalf("%v", err)
		}
		out = append(out, "snapshot/"+spec.SnapshotName(id), "manifest/"+s.BaseManifestList, "manifest/"+s.DeltaManifestList)
		for i := range metas {
			out = append(out, "manifest/"+metas[i].FileName)
		}
		t, err := lakehouse.Open(ctx, l.disk, l.path)
		if err != nil {
			l.Fatalf("%v", err)
		}
		layout := spec.NewLayout(l.path, t.Schema, l.disk.Join)
		for i := range live {
			p, err := layout.FilePaths(live[i].Partition, live[i].Bucket, &live[i].File)
			if err != nil {
				l.Fatalf("%v", err)
			}
			out = append(out, strings.TrimPrefix(p[0], l.path+"/"))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestLifeOfATable draws lives of a table: every snapshot, tag and branch gives
// what it gave, and in the end nothing is left but what is needed.
func TestLifeOfATable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := newLife(rt, func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, label) })
		l.live(rapid.IntRange(1, 20).Draw(rt, "steps"))
		l.end()
	})
}

// TestPaimonReadsALife lets Paimon read what is left of some lives.
func TestPaimonReadsALife(t *testing.T) {
	t.Parallel()
	java := judge.Java(t)
	seed := time.Now().UnixNano()
	for n := range uint64(4) {
		t.Logf("seed %d %d", seed, n)
		rnd := rand.New(rand.NewPCG(uint64(seed), n))
		l := newLife(t, func(_ string, n int) int { return rnd.IntN(n) })
		l.live(30)
		dir := t.TempDir()
		for _, p := range l.disk.Paths() {
			b, err := l.disk.ReadFile(t.Context(), p)
			if err == nil {
				err = local.New().CreateExclusive(t.Context(), dir+strings.TrimPrefix(p, "/wh"), b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for id, want := range l.kept {
			rows := java.Rows(t, dir, "d.t", "--snapshot", strconv.FormatInt(id, 10))
			if d := cmp.Diff(want.lines(), linesOfRows(rows, want.columns)); d != "" {
				t.Errorf("%v\nsnapshot %d (-want +Paimon):\n%s", l.log, id, d)
			}
		}
		for name, want := range l.tags {
			rows := java.Rows(t, dir, "d.t", "--option", "scan.tag-name="+name)
			if d := cmp.Diff(want.lines(), linesOfRows(rows, want.columns)); d != "" {
				t.Errorf("%v\ntag %s (-want +Paimon):\n%s", l.log, name, d)
			}
		}
	}
}

// linesOfRows gives rows as Paimon reads them in the form of state.lines.
func linesOfRows(rows []judge.Row, columns []column) []string {
	var out []string
	for _, r := range rows {
		cells := []string{fmt.Sprint(r["part"]), fmt.Sprint(r["k"])}
		for _, c := range columns {
			cell := "null"
			if v := r[c.name]; v != nil {
				cell = fmt.Sprint(v)
			}
			cells = append(cells, c.name+"="+cell)
		}
		out = append(out, strings.Join(cells, "|"))
	}
	slices.Sort(out)
	return out
}

// newAttempt names the next run of the writer.
func (l *life) newAttempt() string {
	l.attempts++
	return fmt.Sprintf("attempt-%04d", l.attempts)
}
