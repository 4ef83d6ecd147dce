package commit

import (
	"context"

	"leat/internal/columnar"
	"leat/lakehouse/spec"
)

// mergeGroup is manifests to rewrite into one run (merge) or to keep as they are.
type mergeGroup struct {
	metas []spec.ManifestFileMeta
	merge bool
}

// planMinor groups manifests in order: groups that reach the target size are
// merged, the rest only if it counts minCount or more (ManifestFileMerger.java).
// Other than Paimon it leaves a manifest alone that outweighs all after it, or
// each round of small commits would rewrite the files of the whole table.
func planMinor(metas []spec.ManifestFileMeta, target int64, minCount int) []mergeGroup {
	var out []mergeGroup
	var size int64
	from := 0
	for i := range metas {
		if size += metas[i].FileSize; size >= target {
			out = append(out, mergeGroup{metas: metas[from : i+1], merge: i > from})
			from, size = i+1, 0
		}
	}
	rest := metas[from:]
	for len(rest) > 1 && rest[0].FileSize > outweighs*(size-rest[0].FileSize) {
		size -= rest[0].FileSize
		out = append(out, mergeGroup{metas: rest[:1]})
		rest = rest[1:]
	}
	if len(rest) > 0 {
		out = append(out, mergeGroup{metas: rest, merge: len(rest) >= minCount && len(rest) > 1})
	}
	return out
}

// outweighs is how many times larger than all after it a manifest must be to stay as it is.
const outweighs = 4

// needsFull reports whether so many bytes of manifests hold deletions or are
// small that all of them are worth rewriting.
func needsFull(metas []spec.ManifestFileMeta, target, threshold int64) bool {
	var size int64
	for i := range metas {
		if mustChange(&metas[i], target) {
			size += metas[i].FileSize
		}
	}
	return size >= threshold
}

func mustChange(m *spec.ManifestFileMeta, target int64) bool {
	return m.NumDeletedFiles > 0 || m.FileSize < target
}

// mergeManifests gives the base list of the next snapshot: the manifests of the
// last one, merged where that is due. written lists new manifests.
func (c *Committer) mergeManifests(ctx context.Context, metas []spec.ManifestFileMeta) (base []spec.ManifestFileMeta, written []string, err error) {
	if needsFull(metas, c.opt.ManifestTargetSize, c.opt.ManifestFullCompactionSize) {
		var done bool
		base, written, done, err = c.mergeFull(ctx, metas)
		if err != nil || done {
			return base, written, err
		}
	}
	for _, g := range planMinor(metas, c.opt.ManifestTargetSize, c.opt.ManifestMergeMinCount) {
		if !g.merge {
			base = append(base, g.metas...)
			continue
		}
		entries, err := c.manifests.Read(ctx, g.metas)
		if err != nil {
			return nil, written, err
		}
		merged, names, err := c.writeManifests(ctx, cancel(entries))
		written = append(written, names...)
		if err != nil {
			return nil, written, err
		}
		base = append(base, merged...)
	}
	return base, written, nil
}

// mergeFull rewrites every manifest that is small, holds deletions or holds a
// file deleted elsewhere, without deletions and deleted files. A deletion that
// finds no file is dropped: there is nothing older it could speak of. done is
// false where one manifest alone would be rewritten.
func (c *Committer) mergeFull(ctx context.Context, metas []spec.ManifestFileMeta) (base []spec.ManifestFileMeta, written []string, done bool, err error) {
	var change, large []spec.ManifestFileMeta
	for i := range metas {
		if mustChange(&metas[i], c.opt.ManifestTargetSize) {
			change = append(change, metas[i])
		} else {
			large = append(large, metas[i])
		}
	}
	changeEntries, err := c.manifests.Read(ctx, change)
	if err != nil {
		return nil, nil, false, err
	}
	deleted := newDeletions(changeEntries)
	// Large manifests come first: an addition must not follow its deletion.
	var rewrite []spec.ManifestEntry
	rewritten := len(change)
	for i := range large {
		if !deleted.mayTouch(&large[i].PartitionStats, c.partitionTypes) {
			base = append(base, large[i])
			continue
		}
		entries, err := c.manifests.Entries(ctx, large[i].FileName)
		if err != nil {
			return nil, nil, false, err
		}
		if !deleted.touches(entries) {
			base = append(base, large[i])
			continue
		}
		rewrite = append(rewrite, entries...)
		rewritten++
	}
	if rewritten <= 1 {
		return nil, nil, false, nil
	}
	live := cancel(append(rewrite, changeEntries...))
	kept := live[:0]
	for i := range live {
		if live[i].Kind == spec.Add {
			kept = append(kept, live[i])
		}
	}
	merged, written, err := c.writeManifests(ctx, kept)
	return append(base, merged...), written, true, err
}

// deletions is the files that manifests delete, and their partitions.
type deletions struct {
	files      map[string]bool
	partitions map[string]spec.BinaryRow
}

func newDeletions(entries []spec.ManifestEntry) *deletions {
	d := &deletions{files: map[string]bool{}, partitions: map[string]spec.BinaryRow{}}
	for i := range entries {
		if entries[i].Kind == spec.Remove {
			d.files[identity(&entries[i])] = true
			d.partitions[string(entries[i].Partition.Data)] = entries[i].Partition
		}
	}
	return d
}

func (d *deletions) mayTouch(stats *spec.SimpleStats, types []columnar.DataType) bool {
	for _, p := range d.partitions {
		if stats.MayContain(p, types) {
			return true
		}
	}
	return false
}

func (d *deletions) touches(entries []spec.ManifestEntry) bool {
	for i := range entries {
		if d.files[identity(&entries[i])] {
			return true
		}
	}
	return false
}
