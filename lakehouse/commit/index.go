package commit

import (
	"context"
	"fmt"
	"slices"

	"leat/lakehouse/spec"
)

// indexKey is what an index manifest has one file of: a hash index, or the
// deletion vectors of a bucket. Deletion vectors of tables without buckets come
// in several files, which name tells apart.
type indexKey struct {
	bucketID
	kind, name string
}

func (c *Committer) indexKey(e *spec.IndexManifestEntry) indexKey {
	k := indexKey{bucketID: bucketID{partition: string(e.Partition.Data), bucket: e.Bucket}, kind: e.File.Type}
	if c.unaware && e.File.Type != spec.HashIndex {
		k.name = e.File.FileName
	}
	return k
}

// combineIndex gives the live index files after changes: files that leave are
// taken out first, then a file that comes replaces the one of its key
// (IndexManifestFileHandler.java).
func (c *Committer) combineIndex(live, changes []spec.IndexManifestEntry) []spec.IndexManifestEntry {
	gone := map[string]bool{}
	replaced := map[indexKey]bool{}
	for i := range changes {
		if e := &changes[i]; e.Kind == spec.Remove {
			gone[e.File.FileName] = true
		} else {
			replaced[c.indexKey(e)] = true
		}
	}
	var out []spec.IndexManifestEntry
	for i := range live {
		if e := &live[i]; !gone[e.File.FileName] && !replaced[c.indexKey(e)] {
			out = append(out, *e)
		}
	}
	for i := range changes {
		if changes[i].Kind == spec.Add {
			out = append(out, changes[i])
		}
	}
	return out
}

// writeIndexManifest writes the index manifest after p; nil if no index file is left.
func (c *Committer) writeIndexManifest(ctx context.Context, v *view, p *part) (*string, error) {
	var live []spec.IndexManifestEntry
	if !p.overwrite || p.partition != nil {
		var err error
		if live, err = c.manifests.Index(ctx, v.snap); err != nil {
			return nil, err
		}
	}
	if p.overwrite {
		live = slices.DeleteFunc(live, func(e spec.IndexManifestEntry) bool { return p.partition(e.Partition) })
	}
	entries := c.combineIndex(live, p.index)
	if len(entries) == 0 {
		return nil, nil //nolint:nilnil // a table without index files has no index manifest
	}
	b, err := spec.WriteIndexManifest(entries)
	if err != nil {
		return nil, err
	}
	f, err := c.writeNew(ctx, spec.IndexManifestName, b)
	if err != nil {
		return nil, err
	}
	return &f.name, nil
}

// indexConflict tells why the hash indexes of p cannot be committed: each was
// made from the one it replaces, so another one in its place means that somebody
// else assigned buckets meanwhile, and one key may have two of them.
func (c *Committer) indexConflict(ctx context.Context, p *part) (bucketID, string, error) {
	from := map[bucketID]string{}
	for i := range p.index {
		e := &p.index[i]
		if e.File.Type != spec.HashIndex {
			continue
		}
		id := bucketID{partition: string(e.Partition.Data), bucket: e.Bucket}
		if e.Kind == spec.Remove {
			from[id] = e.File.FileName
		} else if _, ok := from[id]; !ok {
			from[id] = ""
		}
	}
	if len(from) == 0 {
		return bucketID{}, "", nil
	}
	live, err := c.manifests.Index(ctx, c.view.snap)
	if err != nil {
		return bucketID{}, "", err
	}
	now := map[bucketID]string{}
	for i := range live {
		if e := &live[i]; e.File.Type == spec.HashIndex {
			now[bucketID{partition: string(e.Partition.Data), bucket: e.Bucket}] = e.File.FileName
		}
	}
	for id, name := range from {
		if now[id] != name {
			return id, fmt.Sprintf("the index of bucket %d was changed: only one job may write a table with dynamic buckets", id.bucket), nil
		}
	}
	return bucketID{}, "", nil
}

// vectorConflicts finds the buckets of a compaction whose deletion vectors were
// not made from the live ones, or are about files that are neither live nor new.
func (c *Committer) vectorConflicts(ctx context.Context, live *liveSet, p *part) ([]conflict, error) {
	from, order := map[bucketID]string{}, []bucketID{}
	for i := range p.index {
		e := &p.index[i]
		id := bucketID{partition: string(e.Partition.Data), bucket: e.Bucket}
		if e.File.Type != spec.DeletionVectorsIndex {
			continue
		}
		if _, ok := from[id]; !ok {
			from[id] = ""
			order = append(order, id)
		}
		if e.Kind == spec.Remove {
			from[id] = e.File.FileName
		}
	}
	if c.unaware || len(c.keyTypes) == 0 {
		return c.looseVectors(ctx, p)
	}
	if len(order) == 0 {
		return nil, nil
	}
	entries, err := c.manifests.Index(ctx, c.view.snap)
	if err != nil {
		return nil, err
	}
	now := map[bucketID]string{}
	for i := range entries {
		if e := &entries[i]; e.File.Type == spec.DeletionVectorsIndex {
			now[bucketID{partition: string(e.Partition.Data), bucket: e.Bucket}] = e.File.FileName
		}
	}
	var out []conflict
	for _, id := range order {
		if now[id] != from[id] {
			out = append(out, conflict{bucket: id, why: "the deletion vectors of the bucket were changed"})
		} else if name := missingFile(live, id, p); name != "" {
			out = append(out, conflict{bucket: id, why: fmt.Sprintf("file %s, of which rows are deleted, is not live", name)})
		}
	}
	return out, nil
}

// looseVectors is vectorConflicts for an append table, whose deletion vectors are
// in any number of files and may come with any commit: those that p takes away have to be live, and
// no other may be about a file that p takes away.
func (c *Committer) looseVectors(ctx context.Context, p *part) ([]conflict, error) {
	removed := map[bucketID]map[string]bool{}
	for i := range p.entries {
		e := &p.entries[i]
		if id := bucketOf(e); e.Kind == spec.Remove {
			if removed[id] == nil {
				removed[id] = map[string]bool{}
			}
			removed[id][e.File.FileName] = true
		}
	}
	gone := map[string]bucketID{}
	for i := range p.index {
		if e := &p.index[i]; e.Kind == spec.Remove && e.File.Type == spec.DeletionVectorsIndex {
			gone[e.File.FileName] = bucketID{partition: string(e.Partition.Data), bucket: e.Bucket}
		}
	}
	if len(removed)+len(gone) == 0 {
		return nil, nil
	}
	entries, err := c.manifests.Index(ctx, c.view.snap)
	if err != nil {
		return nil, err
	}
	var out []conflict
	for i := range entries {
		e := &entries[i]
		if _, mine := gone[e.File.FileName]; mine || e.File.Type != spec.DeletionVectorsIndex {
			delete(gone, e.File.FileName)
			continue
		}
		id := bucketID{partition: string(e.Partition.Data), bucket: e.Bucket}
		if slices.ContainsFunc(e.File.Vectors, func(v spec.DeletionVectorMeta) bool { return removed[id][v.DataFile] }) {
			out = append(out, conflict{bucket: id, why: "rows of the files were deleted meanwhile"})
		}
	}
	for _, id := range gone {
		out = append(out, conflict{bucket: id, why: "the deletion vectors were changed"})
	}
	return out, nil
}

// missingFile names a file of the new deletion vectors of a bucket that is neither live nor added by p.
func missingFile(live *liveSet, id bucketID, p *part) string {
	names := map[string]bool{}
	for _, f := range live.bucket(id) {
		names[f.name] = true
	}
	for i := range p.entries {
		if e := &p.entries[i]; e.Kind == spec.Add && bucketOf(e) == id {
			names[e.File.FileName] = true
		}
	}
	for i := range p.index {
		e := &p.index[i]
		if e.Kind != spec.Add || e.File.Type != spec.DeletionVectorsIndex || e.Bucket != id.bucket || string(e.Partition.Data) != id.partition {
			continue
		}
		for _, v := range e.File.Vectors {
			if !names[v.DataFile] {
				return v.DataFile
			}
		}
	}
	return ""
}
