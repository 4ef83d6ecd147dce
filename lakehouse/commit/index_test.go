package commit

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leat/internal/fileio/crashfs"
	"leat/lakehouse/spec"
)

func indexFile(kind, name string) spec.IndexFileMeta {
	return spec.IndexFileMeta{Type: kind, FileName: name, FileSize: 4, RowCount: 1}
}

// indexNames commits messages and gives the live index files by type and name.
func indexNames(t *testing.T, c *Committer, id int64, m ...spec.CommitMessage) []string {
	t.Helper()
	if _, err := c.Commit(t.Context(), Request{User: "u", Identifier: id, Messages: m}); err != nil {
		t.Fatal(err)
	}
	index, err := c.manifests.Index(t.Context(), c.view.snap)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range index {
		out = append(out, e.File.FileName)
	}
	return out
}

func TestIndexFilesAreCombined(t *testing.T) {
	t.Parallel()
	c := New(crashfs.New(), tablePath, pkSchema(), fastOptions(), nil)
	hash, other, vectors := message("d1", 0), message("d1", 1), message("d1", 0)
	hash.NewIndex = []spec.IndexFileMeta{indexFile(spec.HashIndex, "index-a-0")}
	other.NewIndex = []spec.IndexFileMeta{indexFile(spec.HashIndex, "index-a-1")}
	vectors.CompactNewIndex = []spec.IndexFileMeta{indexFile(spec.DeletionVectorsIndex, "index-a-2")}
	steps := []struct {
		msgs []spec.CommitMessage
		want []string
	}{
		{[]spec.CommitMessage{hash, other}, []string{"index-a-0", "index-a-1"}},
		{[]spec.CommitMessage{vectors}, []string{"index-a-0", "index-a-1", "index-a-2"}},
		// Vectors of a bucket replace those that they were made from, and no others.
		{[]spec.CommitMessage{{Partition: vectors.Partition, TotalBuckets: 2, CompactNewIndex: []spec.IndexFileMeta{indexFile(spec.DeletionVectorsIndex, "index-a-9")}}}, []string{"index-a-0", "index-a-1", "index-a-2"}},
		{[]spec.CommitMessage{{
			Partition: vectors.Partition, TotalBuckets: 2, CompactGoneIndex: vectors.CompactNewIndex,
			CompactNewIndex: []spec.IndexFileMeta{indexFile(spec.DeletionVectorsIndex, "index-a-3")},
		}}, []string{"index-a-0", "index-a-1", "index-a-3"}},
		// A commit without index files carries them over.
		{appendRequest("u", 4).Messages, []string{"index-a-0", "index-a-1", "index-a-3"}},
		{[]spec.CommitMessage{{
			Partition: hash.Partition, TotalBuckets: 2, GoneIndex: hash.NewIndex, NewIndex: []spec.IndexFileMeta{indexFile(spec.HashIndex, "index-a-4")},
			CompactGoneIndex: []spec.IndexFileMeta{indexFile(spec.DeletionVectorsIndex, "index-a-3")},
		}}, []string{"index-a-1", "index-a-4"}},
	}
	for i, s := range steps {
		if d := cmp.Diff(s.want, indexNames(t, c, int64(i+1), s.msgs...)); d != "" {
			t.Errorf("step %d (-want +got):\n%s", i, d)
		}
	}
}

// Two jobs that assign buckets from the same state would give one key two buckets.
func TestSecondWriterOfAnIndexIsAConflict(t *testing.T) {
	t.Parallel()
	fs := crashfs.New()
	first, second := New(fs, tablePath, pkSchema(), fastOptions(), nil), New(fs, tablePath, pkSchema(), fastOptions(), nil)
	m := message("d1", 0)
	m.NewIndex = []spec.IndexFileMeta{indexFile(spec.HashIndex, "index-a-0")}
	indexNames(t, first, 1, m)
	m.NewIndex = []spec.IndexFileMeta{indexFile(spec.HashIndex, "index-b-0")}
	if _, err := second.Commit(t.Context(), Request{User: "v", Identifier: 1, Messages: []spec.CommitMessage{m}}); !errors.Is(err, ErrConflict) {
		t.Errorf("got %v", err)
	}
}
