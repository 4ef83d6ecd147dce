package commit

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/fileio/crashfs"
	"leat/lakehouse/spec"
)

// slowMover is a writer that looks whether a name is free, stops, and later
// renames its snapshot over what came there meanwhile.
type slowMover struct {
	fs      *crashfs.FS
	c       *Committer
	content []byte
	id      int64
}

// stop makes the snapshot of r as if nobody had created it yet, and takes it away again.
func (m *slowMover) stop(ctx context.Context, t *testing.T, r Request) {
	t.Helper()
	ids, err := m.c.Commit(ctx, r)
	if err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	m.id = ids[0]
	if m.content, err = m.fs.ReadFile(ctx, m.c.snaps.Path(m.id)); err != nil {
		t.Fatal(err)
	}
	if err := m.fs.Remove(ctx, m.c.snaps.Path(m.id)); err != nil {
		t.Fatal(err)
	}
}

// move does the rename.
func (m *slowMover) move(ctx context.Context, t *testing.T) {
	t.Helper()
	if err := m.fs.Replace(ctx, m.c.snaps.Path(m.id), m.content); err != nil {
		t.Fatal(err)
	}
}

// A snapshot replaced after others were made of it: ours stands again, and the
// other's rows come with the next commit.
func TestReplacedBelowLaterSnapshots(t *testing.T) {
	t.Parallel()
	compaction := func(before, after string) Request {
		m := message("d1", 0)
		m.CompactBefore = []spec.DataFileMeta{dataFile(before, 0, 1, 10)}
		m.CompactAfter = []spec.DataFileMeta{dataFile(after, 5, 1, 10)}
		return Request{User: "java", Identifier: 1, Messages: []spec.CommitMessage{m}}
	}
	for name, tt := range map[string]struct {
		// merge is ManifestMergeMinCount: 2 merges at every commit.
		merge         int
		theirs        Request
		between       func(ctx context.Context, t *testing.T, u, b *Committer)
		history, live []string
	}{
		"below our own": {
			theirs: appendRequest("java", 1), between: commits("u", 3),
			history: []string{"1 APPEND u/1", "2 APPEND u/2", "3 APPEND u/3", "4 APPEND java/1", "5 APPEND u/9"},
			live:    []string{"data-java-1", "data-u-1", "data-u-2", "data-u-3", "data-u-9"},
		},
		"below a neighbour's": {
			theirs: appendRequest("java", 1), between: commits("b", 1),
			history: []string{"1 APPEND u/1", "2 APPEND u/2", "3 APPEND b/1", "4 APPEND java/1", "5 APPEND u/9"},
			live:    []string{"data-b-1", "data-java-1", "data-u-1", "data-u-2", "data-u-9"},
		},
		"manifests merged since": {
			merge: 2, theirs: appendRequest("java", 1), between: commits("b", 1),
			history: []string{"1 APPEND u/1", "2 APPEND u/2", "3 APPEND b/1", "4 APPEND java/1", "5 APPEND u/9"},
			live:    []string{"data-b-1", "data-java-1", "data-u-1", "data-u-2", "data-u-9"},
		},
		"a compaction that still fits": {
			theirs: compaction("data-u-1", "data-c"), between: commits("b", 1),
			history: []string{"1 APPEND u/1", "2 APPEND u/2", "3 APPEND b/1", "4 COMPACT java/1", "5 APPEND u/9"},
			live:    []string{"data-b-1", "data-c", "data-u-2", "data-u-9"},
		},
		"a compaction that does not": {
			theirs: compaction("data-u-1", "data-c"),
			between: func(ctx context.Context, t *testing.T, _, b *Committer) {
				t.Helper()
				r := compaction("data-u-1", "data-d")
				r.User = "b"
				if _, err := b.Commit(ctx, r); err != nil {
					t.Fatal(err)
				}
			},
			history: []string{"1 APPEND u/1", "2 APPEND u/2", "3 COMPACT b/1", "4 APPEND u/9"},
			live:    []string{"data-d", "data-u-2", "data-u-9"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			fs := crashfs.New()
			open := func() *Committer {
				opt := fastOptions()
				opt.ManifestMergeMinCount = tt.merge
				return New(fs, tablePath, pkSchema(), opt, nil)
			}
			u, b := open(), open()
			commits("u", 1)(ctx, t, u, u)
			java := &slowMover{fs: fs, c: open()}
			java.stop(ctx, t, tt.theirs)
			commits("u", 2)(ctx, t, u, u)
			tt.between(ctx, t, u, b)
			java.move(ctx, t)
			if err := u.Settle(ctx); err != nil {
				t.Fatal(err)
			}
			commits("u", 9)(ctx, t, u, u)
			if d := cmp.Diff(tt.history, history(ctx, t, fs)); d != "" {
				t.Errorf("history (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.live, liveNames(ctx, t, fs)); d != "" {
				t.Errorf("live files (-want +got):\n%s", d)
			}
		})
	}
}

// commits makes the commit of an identifier by u, or by b if that is its user.
func commits(user string, identifier int64) func(ctx context.Context, t *testing.T, u, b *Committer) {
	return func(ctx context.Context, t *testing.T, u, b *Committer) {
		t.Helper()
		c := u
		if user == "b" {
			c = b
		}
		if _, err := c.Commit(ctx, appendRequest(user, identifier)); err != nil {
			t.Fatal(err)
		}
	}
}

// A neighbour that has followed our snapshot sees that another took its place
// and does not build on what is gone.
func TestNeighbourSeesReplacedSnapshot(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fs := crashfs.New()
	u, b := New(fs, tablePath, pkSchema(), fastOptions(), nil), New(fs, tablePath, pkSchema(), fastOptions(), nil)
	commits("u", 1)(ctx, t, u, b)
	java := &slowMover{fs: fs, c: New(fs, tablePath, pkSchema(), fastOptions(), nil)}
	java.stop(ctx, t, appendRequest("java", 1))
	commits("u", 2)(ctx, t, u, b)
	if err := b.refresh(ctx); err != nil {
		t.Fatal(err)
	}
	java.move(ctx, t)
	commits("b", 1)(ctx, t, u, b)
	commits("u", 3)(ctx, t, u, b)
	want := []string{"1 APPEND u/1", "2 APPEND java/1", "3 APPEND b/1", "4 APPEND u/2", "5 APPEND u/3"}
	if d := cmp.Diff(want, history(ctx, t, fs)); d != "" {
		t.Errorf("history (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"data-b-1", "data-java-1", "data-u-1", "data-u-2", "data-u-3"}, liveNames(ctx, t, fs)); d != "" {
		t.Errorf("live files (-want +got):\n%s", d)
	}
}

// The end of the snapshots is found whatever the hint says, and where it is
// behind, without listing.
func TestLatestBesideStaleHints(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, last := range []int64{1, 2, 3, 4, 7, 8, 9, 40, 1000} {
		fs := crashfs.New()
		s := NewSnapshots(fs, tablePath)
		for id := max(last-60, 1); id <= last; id++ {
			if err := fs.CreateExclusive(ctx, s.Path(id), []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		for _, hint := range []string{"", "x", "0", "-3", "1", fmt.Sprint(last - 1), fmt.Sprint(last - 30), fmt.Sprint(last - 61), fmt.Sprint(last), fmt.Sprint(last + 1), "99999"} {
			if err := fs.Replace(ctx, fs.Join(s.dir, spec.LatestHint), []byte(hint)); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Latest(ctx); err != nil || got != last {
				t.Errorf("latest of %d with hint %q: %d, %v", last, hint, got, err)
			}
		}
	}
}
