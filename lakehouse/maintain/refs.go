package maintain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"leat/lakehouse/spec"
)

// readTags gives the snapshots that tags hold, in order of id.
func (t *table) readTags(ctx context.Context) ([]*spec.Snapshot, error) {
	return t.readSnapshots(ctx, t.fs.Join(t.path, spec.TagDir), spec.TagPrefix)
}

// readSnapshots reads all snapshot files in dir whose names begin with prefix.
func (t *table) readSnapshots(ctx context.Context, dir, prefix string) ([]*spec.Snapshot, error) {
	infos, err := t.fs.List(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	var out []*spec.Snapshot
	for _, i := range infos {
		if i.IsDir || !strings.HasPrefix(i.Name, prefix) {
			continue
		}
		b, err := t.fs.ReadFile(ctx, i.Path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", i.Path, err)
		}
		s, err := spec.ParseSnapshot(b)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", i.Path, err)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *spec.Snapshot) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// previousTag gives the newest tag on a snapshot before id; nil if there is
// none. It is the only one that matters for a file deleted by id: a file is live
// without interruption, so an older tag that holds it is followed by this one.
func previousTag(tags []*spec.Snapshot, id int64) *spec.Snapshot {
	n, _ := slices.BinarySearchFunc(tags, id, func(s *spec.Snapshot, id int64) int { return cmp.Compare(s.ID, id) })
	if n == 0 {
		return nil
	}
	return tags[n-1]
}

// tagsAround gives the tags on snapshots in [begin, end) and the newest before them.
func tagsAround(tags []*spec.Snapshot, begin, end int64) []*spec.Snapshot {
	var out []*spec.Snapshot
	if t := previousTag(tags, begin); t != nil {
		out = append(out, t)
	}
	for _, t := range tags {
		if t.ID >= begin && t.ID < end {
			out = append(out, t)
		}
	}
	return out
}

// nextOfConsumers gives the smallest snapshot that a consumer still has to read; 0 if there is none.
func (t *table) nextOfConsumers(ctx context.Context) (int64, error) {
	dir := t.fs.Join(t.path, spec.ConsumerDir)
	infos, err := t.fs.List(ctx, dir)
	if err != nil {
		return 0, fmt.Errorf("listing consumers: %w", err)
	}
	var least int64
	for _, i := range infos {
		if i.IsDir || !strings.HasPrefix(i.Name, spec.ConsumerPrefix) {
			continue
		}
		b, err := t.fs.ReadFile(ctx, i.Path)
		if err != nil {
			return 0, fmt.Errorf("reading consumer %s: %w", i.Name, err)
		}
		var c struct {
			Next int64 `json:"nextSnapshot"`
		}
		if err := json.Unmarshal(b, &c); err != nil {
			return 0, fmt.Errorf("reading consumer %s: %w", i.Name, err)
		}
		if least == 0 || c.Next < least {
			least = max(c.Next, 1)
		}
	}
	return least, nil
}

// liveFiles gives the paths of the data files that are live at a snapshot.
func (t *table) liveFiles(ctx context.Context, s *spec.Snapshot) (map[string]bool, error) {
	live, err := t.manifests.Live(ctx, s)
	if err != nil {
		return nil, err
	}
	out := make(map[string]bool, len(live))
	for i := range live {
		e := &live[i]
		paths, err := t.layout.FilePaths(e.Partition, e.Bucket, &e.File)
		if err != nil {
			return nil, err
		}
		out[paths[0]] = true
	}
	return out, nil
}

// indexFiles gives the index files of a snapshot's index manifest, if it has one.
func (t *table) indexFiles(ctx context.Context, s *spec.Snapshot) ([]string, error) {
	files, err := t.manifests.Index(ctx, s)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(files))
	for i := range files {
		out[i] = t.layout.IndexPath(&files[i].File)
	}
	return out, nil
}
