package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"leat/internal/fileio"
	"leat/lakehouse/spec"
)

// prepared is what the tries of one part share: its manifests and lists do not
// depend on the snapshot before it.
type prepared struct {
	delta         []spec.ManifestFileMeta
	deltaList     file
	changelogList *file
	// names are all files written so far.
	names []string
	// batch is the one that the files came with.
	batch fileio.Batch
}

type file struct {
	name string
	size int64
}

// prepare writes the manifests of a part and the lists of them.
func (c *Committer) prepare(ctx context.Context, p *part, pre *prepared) error {
	var err error
	pre.batch = c.files()
	if pre.delta, pre.deltaList, err = c.writeListed(ctx, p.entries, pre); err != nil {
		return err
	}
	pre.changelogList = nil
	if len(p.changelog) == 0 {
		return nil
	}
	_, list, err := c.writeListed(ctx, p.changelog, pre)
	pre.changelogList = &list
	return err
}

// writeListed writes entries as manifests and a list of these.
func (c *Committer) writeListed(ctx context.Context, entries []spec.ManifestEntry, pre *prepared) ([]spec.ManifestFileMeta, file, error) {
	metas, names, err := c.writeManifests(ctx, entries)
	pre.names = append(pre.names, names...)
	if err != nil {
		return nil, file{}, err
	}
	list, err := c.writeList(ctx, metas)
	if err != nil {
		return nil, file{}, err
	}
	pre.names = append(pre.names, list.name)
	return metas, list, nil
}

// errUnknown marks a create whose answer did not come: the snapshots after it tell.
var errUnknown = errors.New("outcome unknown")

// publish makes one try: base list, snapshot file, hint. v is the table as of
// the latest snapshot; it is moved on to the new one when that was created.
// false without an error: another snapshot has the id.
func (c *Committer) publish(ctx context.Context, v *view, p *part, pre *prepared) (bool, error) {
	base, scrap, err := c.baseOf(ctx, v, p)
	if err != nil {
		c.discard(ctx, scrap)
		return false, err
	}
	baseList, err := c.writeList(ctx, base)
	if err != nil {
		c.discard(ctx, scrap)
		return false, err
	}
	scrap = append(scrap, baseList.name)
	snap := c.nextSnapshot(v, p, pre, baseList)
	if len(p.index) > 0 || p.partition != nil {
		name, err := c.writeIndexManifest(ctx, v, p)
		if name != nil {
			scrap = append(scrap, *name)
		}
		if err != nil {
			c.discard(ctx, scrap)
			return false, err
		}
		snap.IndexManifest = name
	}
	content, err := spec.MarshalSnapshot(snap)
	if err != nil {
		c.discard(ctx, scrap)
		return false, fmt.Errorf("writing snapshot %d: %w", snap.ID, err)
	}
	err = c.files().Publish(ctx, c.snaps.Path(snap.ID), content)
	if errors.Is(err, fileio.ErrExist) {
		if c.opt.Lost != nil {
			c.opt.Lost(snap.ID)
		}
		c.discard(ctx, scrap)
		return false, nil
	}
	if err != nil {
		c.unsure[p.key()] = true
		c.dropFiles()
		return false, fmt.Errorf("creating snapshot %d: %w: %w", snap.ID, errUnknown, err)
	}
	v.advance(snap, content, base, pre.delta, p.entries)
	c.remember(p, pre.delta)
	if p.user == c.user {
		c.own[p.key()] = snap.ID
	}
	c.seen = snap.ID
	c.writeHints(ctx, snap.ID)
	return true, nil
}

// nextSnapshot gives the snapshot that follows v. What a commit does not touch is carried over.
func (c *Committer) nextSnapshot(v *view, p *part, pre *prepared, baseList file) *spec.Snapshot {
	var total, delta, changelog, nextRow int64
	for i := range p.entries {
		if p.entries[i].Kind == spec.Add {
			delta += p.entries[i].File.RowCount
		} else {
			delta -= p.entries[i].File.RowCount
		}
	}
	for i := range p.changelog {
		changelog += p.changelog[i].File.RowCount
	}
	s := &spec.Snapshot{
		Version: spec.SnapshotVersion, ID: 1, SchemaID: c.schemaID,
		BaseManifestList: baseList.name, BaseManifestListSize: &baseList.size,
		DeltaManifestList: pre.deltaList.name, DeltaManifestListSize: &pre.deltaList.size,
		CommitUser: p.user, CommitIdentifier: p.identifier, CommitKind: p.kind,
		TimeMillis: time.Now().UnixMilli(), Watermark: p.watermark, Properties: p.properties,
		DeltaRecordCount: &delta, ChangelogRecordCount: &changelog, NextRowID: &nextRow,
	}
	if pre.changelogList != nil {
		s.ChangelogManifestList = &pre.changelogList.name
		s.ChangelogManifestListSize = &pre.changelogList.size
	}
	if prev := v.snap; prev != nil {
		s.ID = prev.ID + 1
		// Time travel needs times that do not fall.
		s.TimeMillis = max(s.TimeMillis, prev.TimeMillis)
		if prev.TotalRecordCount != nil {
			total = *prev.TotalRecordCount
		}
		if !p.overwrite {
			s.IndexManifest = prev.IndexManifest
		}
		if prev.NextRowID != nil {
			nextRow = *prev.NextRowID
		}
		if prev.SchemaID == s.SchemaID {
			s.Statistics = prev.Statistics
		}
		if s.Watermark == nil || prev.Watermark != nil && *prev.Watermark > *s.Watermark {
			s.Watermark = prev.Watermark
		}
	}
	total += delta
	s.TotalRecordCount = &total
	p.takeOver(s)
	return s
}

// writeHints updates the hint files; readers do without them, so errors are only
// logged, and no disk is waited for. After a crash the hint of the latest snapshot
// may be the one before: the next create in the folder makes it last.
func (c *Committer) writeHints(ctx context.Context, id int64) {
	if err := c.snaps.proposeHint(ctx, spec.LatestHint, id); err != nil {
		c.log.Warn("latest hint not written", "snapshot", id, "error", err)
	}
	if c.earliestSeen {
		return
	}
	if c.snaps.hint(ctx, spec.EarliestHint) == 0 {
		first, err := c.snaps.Earliest(ctx)
		if err == nil && first > 0 {
			err = c.snaps.proposeHint(ctx, spec.EarliestHint, first)
		}
		if err != nil {
			c.log.Warn("earliest hint not written", "snapshot", id, "error", err)
			return
		}
	}
	c.earliestSeen = true
}

// writeManifests writes entries as manifests that reach the target size, the last one apart.
func (c *Committer) writeManifests(ctx context.Context, entries []spec.ManifestEntry) (metas []spec.ManifestFileMeta, names []string, err error) {
	if len(entries) == 0 {
		return nil, nil, nil
	}
	b, err := spec.WriteManifest(entries)
	if err != nil {
		return nil, nil, err
	}
	// A manifest below the target would be rewritten again and again, so the
	// number of entries that should fill one is taken a quarter larger.
	if fill := int(c.opt.ManifestTargetSize*5/4*int64(len(entries))/int64(len(b))) + 1; fill < len(entries) {
		for chunk := range slices.Chunk(entries, fill) {
			if b, err = spec.WriteManifest(chunk); err != nil {
				return nil, names, err
			}
			if metas, names, err = c.writeManifest(ctx, chunk, b, metas, names); err != nil {
				return nil, names, err
			}
		}
		return metas, names, nil
	}
	return c.writeManifest(ctx, entries, b, nil, nil)
}

// writeManifest writes content, the encoded entries, and appends what it wrote to metas and names.
func (c *Committer) writeManifest(ctx context.Context, entries []spec.ManifestEntry, content []byte, metas []spec.ManifestFileMeta, names []string) ([]spec.ManifestFileMeta, []string, error) {
	meta, err := c.describe(entries)
	if err != nil {
		return nil, names, err
	}
	f, err := c.writeNew(ctx, spec.ManifestName, content)
	if err != nil {
		return nil, names, err
	}
	meta.FileName, meta.FileSize = f.name, f.size
	return append(metas, meta), append(names, f.name), nil
}

// describe gives the manifest list row of entries, without name and size.
func (c *Committer) describe(entries []spec.ManifestEntry) (spec.ManifestFileMeta, error) {
	first := &entries[0]
	m := spec.ManifestFileMeta{}
	minBucket, maxBucket := first.Bucket, first.Bucket
	minLevel, maxLevel := first.File.Level, first.File.Level
	partitions := map[string]spec.BinaryRow{}
	for i := range entries {
		e := &entries[i]
		if e.Kind == spec.Add {
			m.NumAddedFiles++
		} else {
			m.NumDeletedFiles++
		}
		m.SchemaID = max(m.SchemaID, e.File.SchemaID)
		minBucket, maxBucket = min(minBucket, e.Bucket), max(maxBucket, e.Bucket)
		minLevel, maxLevel = min(minLevel, e.File.Level), max(maxLevel, e.File.Level)
		partitions[string(e.Partition.Data)] = e.Partition
	}
	m.MinBucket, m.MaxBucket, m.MinLevel, m.MaxLevel = &minBucket, &maxBucket, &minLevel, &maxLevel
	rows := make([]spec.BinaryRow, 0, len(partitions))
	for _, p := range partitions {
		rows = append(rows, p)
	}
	var err error
	if m.PartitionStats, err = spec.RowBounds(rows, c.partitionTypes); err != nil {
		return m, fmt.Errorf("computing partition statistics: %w", err)
	}
	return m, nil
}

func (c *Committer) writeList(ctx context.Context, metas []spec.ManifestFileMeta) (file, error) {
	b, err := spec.WriteManifestList(metas)
	if err != nil {
		return file{}, err
	}
	return c.writeNew(ctx, spec.ManifestListName, b)
}

// files gives the batch that new manifests and lists go into: they become durable
// with the snapshot that names them.
func (c *Committer) files() fileio.Batch {
	if c.batch == nil {
		c.batch = fileio.NewBatch(c.fs)
	}
	return c.batch
}

// dropFiles gives the batch up. What was prepared with it is written again: whether
// it is durable is not known.
func (c *Committer) dropFiles() {
	if c.batch == nil {
		return
	}
	if err := c.batch.Close(); err != nil {
		c.log.Warn("unused manifests not closed", "error", err)
	}
	c.batch = nil
}

// writeNew writes content under the next free name of this attempt.
func (c *Committer) writeNew(ctx context.Context, name func(string, int64) string, content []byte) (file, error) {
	for range maxNameTries {
		f := file{name: name(c.opt.Attempt, c.counter), size: int64(len(content))}
		c.counter++
		err := c.files().Create(ctx, c.manifests.Path(f.name), content)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, fileio.ErrExist) {
			return file{}, fmt.Errorf("writing %s: %w", f.name, err)
		}
		// Another committer of the same attempt, opened before this one.
	}
	return file{}, fmt.Errorf("writing %s: no free name", name(c.opt.Attempt, c.counter))
}

// maxNameTries bounds the search for a free name.
const maxNameTries = 1 << 20

// discard removes files that no snapshot can refer to. What stays is found by
// the attempt in its name.
func (c *Committer) discard(ctx context.Context, names []string) {
	for _, n := range names {
		if err := c.fs.Remove(ctx, c.manifests.Path(n)); err != nil {
			c.log.Warn("unused manifest not removed", "file", n, "error", err)
			return
		}
	}
}
